"""One work unit of an audit: a release (mask × repetition), attacked in every way and held against both yardsticks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.calibration import Calibration, calibrate
from disclique.attacks.informed import knowledge_of, methods
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.kroll import LabelRule, Search
from disclique.attacks.matches import label_pairs
from disclique.attacks.methods import ByClique, ByExtension, Method
from disclique.attacks.register import ceiling
from disclique.audits.case import Case
from disclique.audits.knows import Known, control_files, known_file
from disclique.data.distances import Points, as_matrix, full_matrix
from disclique.data.labels import Exact
from disclique.data.tables import select_records
from disclique.errors import DiscliqueError
from disclique.masks import Affine, Mask, parse_mask
from disclique.measures.utility import utility
from disclique.model import Budget, Candidates, Claims, Distances, Json, Microdata
from disclique.studies.grid import Unit

MOST_COMMON = 0.99  # no snooper is certain that everybody is in the file
TIES = 20  # maximum cliques listed
SAMPLED = 3  # repetitions in which the control is run and utility is measured
_BY_EVIDENCE = ("extend", "register", "isomap")  # attacks that weigh labels that differ; to the others they are others


def run_unit(case: Case, unit: Unit) -> list[Json]:
    """The records of a unit: one of the release, and one for each attack."""
    mask = parse_mask(unit.mask)
    known = _known(case, unit.repetition)
    released = mask.apply(case.target.distances, case.plan.rng("noise", mask.name, unit.repetition))
    target = replace(case.target, distances=as_matrix(released))
    tries = _methods(case, unit.mask, _share(case, known))
    sampled = unit.repetition < SAMPLED
    control = control_files(case, known, unit.repetition) if sampled else None
    found = _candidates(case, target, known.data)
    records: list[Json] = [
        {
            "release": unit.mask,
            "known": len(known.data),
            "common": known.truth[:, 0].tolist(),
            "guess": _guess(found[False], known),
            "insider": _insider(case, unit.mask, released, known, found[True]),
            "utility": _utility(case, released, unit) if sampled else None,
        }
    ]
    claims = _claims(tries, target, known.data, found)
    false = {} if control is None else _control_claims(case, tries, target, control)
    return records + [{**_judged(tried, known), **false.get(tried.method.name, {})} for tried in claims]


def _share(case: Case, known: Known) -> float:
    """The share of released records that the snooper knows."""
    return min(len(known.truth) / len(case.target), MOST_COMMON)


_known = lru_cache(maxsize=32)(known_file)


@lru_cache(maxsize=64)
def _knowledge(case: Case, spec: str, common: float) -> Knowledge:
    """How the mask works: the snooper is assumed to know it."""
    mask, error = parse_mask(spec), case.coordinate_error
    rng = case.plan.rng("knowledge", mask.name)
    told = knowledge_of(mask, case.points, common=common, coordinate_error=error, rng=rng)
    return replace(told, bold=True)  # known people are in the release, and the snooper may be taken to know that


@lru_cache(maxsize=64)
def _methods(case: Case, spec: str, common: float) -> tuple[Method, ...]:
    """The attacks, each told how the mask works."""
    plan, mask, knowledge = case.plan, parse_mask(spec), _knowledge(case, spec, common)
    search = Search(budget=Budget(work=plan.budget), threads=1, limit=TIES)
    return tuple(methods(plan.names, calibration_of(case, mask), knowledge=knowledge, alpha=plan.alpha, search=search))


def calibration_of(case: Case, mask: Mask) -> Calibration:
    """How far the mask moves distances, simulated on the file's own places, with the snooper's coordinate error."""
    rng = case.plan.rng("calibration", mask.name)
    if case.points is not None:
        found = calibrate(mask, points=case.points.coordinates, metric=case.points.metric, rng=rng)
    else:
        found = _calibrate_matrix(case.target.distances, mask, rng)
    error = case.coordinate_error
    if not error:
        return found
    blurred = found.original + rng.normal(0, np.sqrt(2) * error, found.original.shape)  # two ends of each distance
    return Calibration(cast(Mask, _Lawless(mask)), np.abs(blurred), found.masked)


@dataclass(frozen=True)
class _Lawless:
    """A mask whose law of d - d' no longer holds, because the known distances have errors too."""

    mask: Mask
    law: None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "mask":
            raise AttributeError(name)
        return getattr(self.mask, name)

    def known_interval(self, masked: object, alpha: float) -> None:
        """None: the interval must be simulated."""


def _calibrate_matrix(distances: Distances, mask: Mask, rng: np.random.Generator) -> Calibration:
    """Pairs of the file's own matrix before and after the mask."""
    before, after = full_matrix(distances), full_matrix(mask.apply(distances, rng))
    both = np.triu(~np.isnan(before) & ~np.isnan(after), 1)
    i, j = np.nonzero(both)
    if len(i) < 2:
        i, j = np.nonzero(~np.eye(len(before), dtype=bool))
        return Calibration(mask, np.nan_to_num(before[i, j]), np.nan_to_num(before[i, j]))
    taken = rng.choice(len(i), size=min(len(i), 20_000), replace=False)
    return Calibration(mask, before[i, j][taken], after[i, j][taken])


def _candidates(case: Case, target: Microdata, known: Microdata) -> dict[bool, Candidates]:
    """Who may match by labels: exactly (False), and with the snooper's errors allowed for (True)."""
    exact = LabelRule(case.plan.missing).candidates(target, known)
    error = case.plan.snooper.label_error
    if not error:
        return {False: exact, True: exact}
    rule = LabelRule(case.plan.missing, {str(column): Exact(error) for column in target.labels.columns})
    return {False: exact, True: rule.candidates(target, known)}


def _guess(found: Candidates, known: Known) -> float:
    """Expected correct re-identifications by guessing among the known records that share a label."""
    pairs = label_pairs(found)
    choices = dict(zip(pairs["target_row"] - 1, pairs["candidates"], strict=True))
    related = {(int(a), int(b)) for a, b in found.relation}
    return float(
        sum(
            1 / choices[t]
            for t, k in known.truth.tolist()
            if (int(found.target_class[t]), int(found.known_class[k])) in related
        )
    )


def _insider(case: Case, spec: str, released: Distances, known: Known, found: Candidates) -> int | None:
    """Correct claims of a snooper who need not find out how the released map lies; None where there is no such map.

    Whoever knows the places of a few released records beforehand can lay the map on the known file at once.
    """
    knowledge = _knowledge(case, spec, _share(case, known))
    theirs, mask = known.data.distances, parse_mask(spec)
    there = isinstance(released, Points) and isinstance(theirs, Points) and not callable(theirs.metric)
    if not there or knowledge.noise is None or isinstance(mask, Affine):  # a rigid motion hides nothing anyway
        return None
    assert isinstance(released, Points)
    assert isinstance(theirs, Points)
    rows, others, _ = ceiling(released, theirs, candidates=found, knowledge=knowledge).claimed()
    partner = dict(known.truth.tolist())
    return len([t for t, k in zip(rows.tolist(), others.tolist(), strict=True) if partner.get(t) == k])


def _utility(case: Case, released: Distances, unit: Unit) -> Json:
    rng = case.plan.rng("utility", unit.repetition)
    return utility(case.target.distances, released, rng=rng).to_dict()


@dataclass(frozen=True, eq=False)
class _Tried:
    """An attack that was tried: what it claims, or the sentence that says why it cannot be carried out here."""

    method: Method
    claim: Claims | str
    seconds: float


def _claims(
    tries: Sequence[Method], target: Microdata, known: Microdata, found: dict[bool, Candidates]
) -> list[_Tried]:
    """What every attack claims; the clique is searched once for both attacks that rest on it."""
    made: list[_Tried] = []
    clique: Claims | None = None
    for method in tries:
        begun = time.perf_counter()
        candidates = found[method.name in _BY_EVIDENCE]
        try:
            if isinstance(method, ByExtension) and clique is not None:
                claim: Claims | str = _extended(method, target, known, candidates, clique)
            else:
                claim = method.run(target, known, candidates)
        except (DiscliqueError, ImportError, np.linalg.LinAlgError) as error:
            claim = str(error)  # said in the report; the other attacks go on
        if isinstance(method, ByClique) and isinstance(claim, Claims):
            clique = claim
        made.append(_Tried(method, claim, round(time.perf_counter() - begun, 4)))
    return made


def _extended(method: ByExtension, target: Microdata, known: Microdata, found: Candidates, clique: Claims) -> Claims:
    from disclique.attacks.extend import extend

    anchors = (clique.target, clique.known)
    lengths = (target.distances, known.distances)
    return extend(*lengths, candidates=found, anchors=anchors, spread=method.spread, common=method.common)


def _judged(tried: _Tried, known: Known) -> Json:
    """What the attack claims and which of that is true; or why it does not apply."""
    method, claim = tried.method, tried.claim
    if isinstance(claim, str):
        return {"attack": method.name, "applies": False, "why": claim, "seconds": tried.seconds}
    rows, others, _ = claim.claimed()
    partner = dict(known.truth.tolist())
    pairs = list(zip(rows.tolist(), others.tolist(), strict=True))
    return {
        "attack": method.name,
        "applies": True,
        "why": "",
        "correct": sorted(t for t, k in pairs if partner.get(t) == k),
        "wrong": sorted([t, k] for t, k in pairs if partner.get(t) != k),
        "expected": claim.expected if claim.expected is not None and np.isfinite(claim.expected) else None,
        "proven": claim.details.get("proven"),
        "bound": claim.details.get("bound"),
        "doubtful": claim.doubt,
        "seconds": tried.seconds,
    }


def _control_claims(
    case: Case, tries: Sequence[Method], target: Microdata, control: tuple[NDArray[np.int64], Microdata]
) -> dict[str, Json]:
    """By attack, how many released records it claims to have found in a file that has none of them."""
    rows, strangers = control
    attacked = target if len(rows) == len(target) else select_records(target, rows)
    claims = _claims(tries, attacked, strangers, _candidates(case, attacked, strangers))
    return {
        tried.method.name: {
            "control": len(tried.claim.claimed()[0]),
            "control_targets": len(rows),
        }
        for tried in claims
        if isinstance(tried.claim, Claims)
    }
