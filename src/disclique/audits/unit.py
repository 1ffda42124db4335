"""One unit of an audit carried out: a release, attacked in every way and held against all yardsticks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from disclique.attacks import Attack, Ceiling, Knowledge, LabelRule, Search, Tried, learn, parse_attacks, run_attacks
from disclique.attacks.calibration import Calibration, calibrate, calibrate_matrix
from disclique.attacks.labels import expected_guesses
from disclique.attacks.register import best_of_each_target, ceiling
from disclique.attacks.registry import Oracle
from disclique.audits.definition import Audit
from disclique.audits.known_file import KnownFile, Pairs, draw_control, draw_known_file
from disclique.audits.plan import RAISE
from disclique.audits.records import Attempt, ReleaseRecord, Seeded
from disclique.data.distances import Points, as_matrix
from disclique.data.labels import Exact
from disclique.data.tables import select_records
from disclique.errors import DiscliqueError
from disclique.masks import Mask, parse_mask
from disclique.measures.risk import judge
from disclique.measures.utility import utility
from disclique.model import Budget, Candidates, Distances, Microdata
from disclique.runs import Unit

MOST_COMMON = 0.99  # no snooper is certain that everybody is in the file
TIES = 20  # maximum cliques listed
STARTS, STARTS_ON_MAP = 8, 4  # alignments that profiles tries; on a map others find what it would
SAMPLED = 3  # repetitions in which the control is run, insiders are asked, and utility is measured
INSIDERS = (10, 50)  # true pairs that insiders know beforehand


def run_unit(audit: Audit, unit: Unit) -> ReleaseRecord:
    """Mask the file, attack the release, and judge what was claimed.

    With more effort only the attacks that rest on a budgeted search are repeated.
    """
    mask = parse_mask(unit.mask)
    known = _known_file(audit, unit.repetition)
    masked = mask.apply(known.released.distances, audit.chance.rng("noise", mask.name, unit.repetition))
    target = replace(known.released, distances=as_matrix(masked))
    attacks = build_attacks(audit, unit, known)
    choose = _candidates(audit, target, known.data)
    tries = run_attacks(attacks, target, known.data, choose)
    attempts = []
    for tried in tries:
        attempt, attack = _attempt(tried, known), attacks[tried.spec]
        if attempt.cut:
            oracle = Oracle(target, known.data, choose(attack), known.truth)
            attempt = replace(attempt, most=_find_most(attack, oracle))
        attempts.append(attempt)
    common = tuple(known.rows[known.sought.pairs[:, 0]].tolist())
    empty = ReleaseRecord(len(known.data), common, 0.0, None, None, None, tuple(attempts), len(target))
    if unit.effort:
        return empty
    sampled = unit.repetition < SAMPLED
    insider, ceiling = _measure_ceiling(audit, unit.mask, masked, known)
    rng = audit.chance.rng("utility", unit.repetition)
    return replace(
        empty,
        guess=expected_guesses(_exact(audit, target, known.data), known.sought),
        insider=insider,
        ceiling=ceiling,
        utility=utility(known.released.distances, masked, rng=rng, mask=mask).to_dict() if sampled else None,
        attempts=tuple(_with_control(audit, unit, attempts, attacks, target, known) if sampled else attempts),
        seeded=_ask_insiders(audit, unit, target, known, tries) if sampled else (),
    )


def _share(known: KnownFile) -> float:
    """Return the share of released records that the snooper knows."""
    return min(len(known.truth) / len(known.released), MOST_COMMON)


_known_file = lru_cache(maxsize=32)(draw_known_file)


def build_attacks(audit: Audit, unit: Unit, known: KnownFile, seeds: Pairs | None = None) -> dict[str, Attack]:
    """Build the attacks, each told how the mask works; with more effort only those that rest on a budgeted search.

    An insider is told the ``seeds``, by default those of the known file.
    """
    plan = audit.plan
    starts = STARTS_ON_MAP if audit.points is not None and audit.points.is_map else STARTS
    search = Search(budget=Budget(work=plan.budget * RAISE**unit.effort), threads=1, limit=TIES, starts=starts)
    specs = [spec for spec in parse_attacks(plan.attacks) if spec.kind.by_agreement or not unit.effort]
    knowledge = _knowledge(audit, unit.mask, _share(known))
    knowledge = replace(knowledge, seeds=known.seeds if seeds is None else seeds)
    return {spec.spec: spec.build(knowledge, search) for spec in specs}


@lru_cache(maxsize=64)
def _knowledge(audit: Audit, spec: str, common: float) -> Knowledge:
    """Return what the snooper knows: how the mask works, and that known people are in the release."""
    mask, error = parse_mask(spec), audit.coordinate_error
    calibration = calibrate_for(audit, mask)
    rng = audit.chance.rng("knowledge", mask.name)
    told = learn(mask, calibration, audit.points, common=common, coordinate_error=error, rng=rng)
    return replace(told, bold=True).at(audit.plan.alpha, calibration)


def calibrate_for(audit: Audit, mask: Mask) -> Calibration:
    """Simulate how far the mask moves distances, on the file's own places, with the snooper's coordinate error."""
    rng = audit.chance.rng("calibration", mask.name)
    if audit.points is not None:
        found = calibrate(mask, points=audit.points.coordinates, metric=audit.points.metric, rng=rng)
    else:
        found = calibrate_matrix(mask, audit.target.distances, rng=rng)
    if not audit.coordinate_error:
        return found
    vectors = audit.points is not None and not audit.points.is_map
    across = audit.points.coordinates.shape[1] - 1 if audit.points is not None and vectors else 0
    return found.blurred(audit.coordinate_error, rng, across=across)


def _exact(audit: Audit, target: Microdata, known: Microdata) -> Candidates:
    return LabelRule(audit.plan.missing).candidates(target, known)


def _candidates(audit: Audit, target: Microdata, known: Microdata) -> Callable[[Attack], Candidates]:
    """Return who may match by labels: exactly, or with errors allowed for where an attack weighs evidence."""
    exact = weighed = _exact(audit, target, known)
    error = audit.plan.snooper.label_error
    if error:
        comparators = {str(column): Exact(error) for column in target.labels.columns}
        weighed = LabelRule(audit.plan.missing, comparators).candidates(target, known)
    return lambda attack: weighed if attack.by_evidence else exact


def _find_most(attack: Attack, oracle: Oracle) -> int | None:
    """Return how many people an attack that was cut short could have found; None where nobody knows."""
    try:
        return attack.find_most(oracle)
    except DiscliqueError:
        return None


def _attempt(tried: Tried, known: KnownFile) -> Attempt:
    """Judge what the attack claims; or say why it does not apply."""
    if tried.claims is None:
        return Attempt(tried.spec, why=tried.why or "it failed", seconds=tried.seconds)
    claims = tried.claims
    judged = judge(claims, known.truth, known.seeds)
    rows = known.rows
    return Attempt(
        attack=tried.spec,
        correct=tuple(sorted(rows[judged.correct[:, 0]].tolist())),
        wrong=tuple(sorted((int(rows[t]), int(k)) for t, k in judged.wrong)),
        expected=claims.expected if claims.expected is not None and np.isfinite(claims.expected) else None,
        cut=claims.cut,
        doubt=claims.doubt,
        seconds=tried.seconds,
    )


def _measure_ceiling(audit: Audit, spec: str, masked: Distances, known: KnownFile) -> tuple[int | None, int | None]:
    """Count what a snooper finds who need not find out how the released map lies: surely, and at the very most.

    Whoever knows the places of a few released records beforehand can lay the map on the known file at once. The second
    count names the most probable record for every target: no attack with one claim for each target does better on
    average, where the displacement is exactly Gaussian.
    """
    knowledge, mask = _knowledge(audit, spec, _share(known)), parse_mask(spec)
    theirs = known.data.distances
    if not (isinstance(masked, Points) and isinstance(theirs, Points) and masked.is_map and theirs.is_map):
        return None, None
    if knowledge.noise is None or mask.rigid:  # a rigid motion hides nothing anyway
        return None, None
    target = replace(known.released, distances=masked)
    candidates = _candidates(audit, target, known.data)(Ceiling(knowledge))
    claims = ceiling(masked, theirs, candidates=candidates, knowledge=knowledge)
    best = None
    if mask.gaussian:
        bound = ceiling(masked, theirs, candidates=candidates, knowledge=knowledge, bound=True)
        best = int(known.sought.holds(*best_of_each_target(bound)).sum())
    return judge(claims, known.truth, known.seeds).risk.tp, best


def _ask_insiders(
    audit: Audit, unit: Unit, target: Microdata, known: KnownFile, tries: Sequence[Tried]
) -> tuple[Seeded, ...]:
    """Count what insiders find who know some true pairs beforehand: by the attacks that start from these, or any other.

    ``tries`` are the attacks without seeds, which an insider can carry out as well.
    """
    if known.seeds:  # the attacks themselves are those of an insider
        return ()
    found = []
    for count in INSIDERS:
        if count > len(known.truth) / 2:  # too few people are left to be found
            continue
        insider = known.with_seeds(count, audit.chance.rng("insider", count, unit.repetition))
        attacks = build_attacks(audit, unit, insider)
        attacks = {spec: attack for spec, attack in attacks.items() if attack.by_seeds}
        told = run_attacks(attacks, target, known.data, _candidates(audit, target, known.data))
        if any(one.claims is not None for one in told):
            claims = [one.claims for one in (*told, *tries) if one.claims is not None]
            hits = [judge(one, known.truth, insider.seeds).risk.tp for one in claims]
            found.append(Seeded(count, max(hits), len(insider.sought)))
    return tuple(found)


def _with_control(
    audit: Audit,
    unit: Unit,
    attempts: Sequence[Attempt],
    attacks: dict[str, Attack],
    target: Microdata,
    known: KnownFile,
) -> list[Attempt]:
    """Add how many released records each attack claims to have found in a file that has none of them."""
    control = draw_control(audit, known, unit.repetition)
    if control is None:
        return list(attempts)
    rows, strangers = control.rows, control.data
    attacked = target if len(rows) == len(target) else select_records(target, rows)
    if known.seeds:
        attacks = build_attacks(audit, unit, known, control.seeds)
    tries = run_attacks(attacks, attacked, strangers, _candidates(audit, attacked, strangers))
    told = [row for row, _ in control.seeds]
    claimed = {
        one.spec: int((~np.isin(one.claims.claimed()[0], told)).sum()) for one in tries if one.claims is not None
    }
    return [
        replace(attempt, control=claimed[attempt.attack], control_targets=len(rows) - len(told))
        if attempt.applies and attempt.attack in claimed
        else attempt
        for attempt in attempts
    ]
