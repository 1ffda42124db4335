"""One unit of a study carried out: a noise draw, attacked with every α and in every way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.attacks import Attack, Outcome, act, fetcher, parse_attacks
from disclique.errors import InputError
from disclique.model import Claims, Microdata
from disclique.runs import Unit
from disclique.studies.definition import FULL, Study
from disclique.studies.draws import Draw, draw

BINS = 10  # classes of probability in which claims are compared with the truth


@dataclass(frozen=True)
class Cell:
    """One attack on one noise draw, measured: a row of the results.

    ``bound`` is the most that could have been claimed where a search tells, and ``proven`` says that the claim reaches
    it. ``tp_mean``, ``tp_min`` and ``tp_max`` are over all ties. ``weighed`` counts the pairs with a probability in
    each of ten equal classes, ``weight`` sums their probabilities and ``right`` counts the true ones.
    """

    mask: str
    alpha: float | None
    repetition: int
    attack: str
    dataset: int
    seed: int
    vertices: int
    edges: int
    size: int
    bound: int | None
    proven: bool
    tp: int
    fp: int
    fn: int
    precision: float | None
    recall: float | None
    ties: int
    ties_complete: bool
    tp_mean: float
    tp_min: float
    tp_max: float
    expected: float | None
    weighed: list[int] | None
    weight: list[float] | None
    right: list[float] | None
    seconds: float
    labels: str = FULL


def run_unit(study: Study, unit: Unit) -> list[Cell]:
    """Carry out a unit: a cell for each α and attack, and one for each attack that needs no α."""
    made = draw(study, unit)
    return [_cell(study, unit, made, alpha, one) for alpha, tried in _tried(study, unit, made) for one in tried]


def _tried(study: Study, unit: Unit, made: Draw) -> Iterator[tuple[float | None, list[Outcome]]]:
    """Run the attacks of every α, those that share a start together, and then those that need no α."""
    specs = parse_attacks(study.grid.attacks)
    # chance follows from the mask alone: levels of labels share their noise
    search = replace(study.search, seed=study.chance.seed("guess", unit.setting.mask.spec, unit.repetition))
    for alpha in (*study.grid.alphas, None):
        used = [spec for spec in specs if spec.kind.by_agreement == (alpha is not None)]
        knowledge = made.knowledge if alpha is None else made.knowledge.at(alpha, made.calibration)
        found = []
        for points in (False, True):
            some = {spec.spec: spec.build(knowledge, search) for spec in used if spec.kind.sees_points == points}
            found += _run(some, made.masked_target if points else made.target, made)
        place = [spec.spec for spec in specs]
        yield alpha, sorted(found, key=lambda tried: place.index(tried.spec))


def _run(attacks: dict[str, Attack], target: Microdata, made: Draw) -> list[Outcome]:
    """Run attacks; in a study one that cannot be carried out is an error, since a cell would be missing."""
    tried = act(attacks, fetcher(target, made.known, lambda attack: made.candidates), truth=made.truth, seeds=())
    for one in tried:
        if one.refusal is not None:
            raise InputError(f"attack {one.spec}: {one.refusal}")
    return tried


def _cell(study: Study, unit: Unit, made: Draw, alpha: float | None, tried: Outcome) -> Cell:
    """Measure the claims of one attack."""
    claims, judged = tried.claims, tried.judged
    assert claims is not None
    assert judged is not None
    size, work = len(judged.correct) + len(judged.wrong), claims.work
    tied = judged.tied or (judged.risk.tp,)
    unknown = claims.most is None and not claims.complete  # work was cut short, and nothing tells how much was missed
    most = min(len(made.target), len(made.known)) if unknown else claims.most
    return Cell(
        mask=unit.setting.mask.spec,
        alpha=alpha,
        repetition=unit.repetition,
        attack=tried.spec,
        dataset=unit.repetition % study.people.datasets,
        seed=study.chance.seed("noise", unit.setting.mask.spec, unit.repetition),
        vertices=work.vertices if work else 0,
        edges=work.edges if work else 0,
        size=size,
        bound=most,
        proven=size == most,
        tp=judged.risk.tp,
        fp=judged.risk.fp,
        fn=judged.risk.fn,
        precision=judged.risk.precision,
        recall=judged.risk.recall,
        ties=len(tied),
        ties_complete=bool(claims.ties and work and work.cliques.complete),
        tp_mean=float(np.mean(tied)),
        tp_min=min(tied),
        tp_max=max(tied),
        expected=claims.expected,
        **_reliability(claims, judged.weighed),
        seconds=tried.seconds,
        labels=unit.setting.labels.spec or FULL,
    )


def _reliability(claims: Claims, true: NDArray[np.bool_]) -> dict[str, Any]:
    """Count the pairs in each class of probability, their probabilities, and how many of them were true."""
    if claims.expected is None:
        return {"weighed": None, "weight": None, "right": None}
    of_pair = np.minimum((claims.probability * BINS).astype(np.int64), BINS - 1)
    sums = {"weighed": None, "weight": claims.probability, "right": true.astype(float)}
    return {name: np.bincount(of_pair, weights=values, minlength=BINS).tolist() for name, values in sums.items()}


@dataclass(frozen=True, eq=False)
class Example:
    """One cell of a study with the matches it claims, for a picture: rows counted from 1 and a column ``true``."""

    unit: Unit
    alpha: float
    target: Microdata
    known: Microdata
    matches: pd.DataFrame


def make_example(study: Study, unit: Unit, alpha: float) -> Example:
    """Carry out a cell once more, by the study's first attack."""
    made = draw(study, unit)
    spec = parse_attacks(study.grid.attacks[:1])[0]
    attack = spec.build(made.knowledge.at(alpha, made.calibration), study.search)
    claims = _run({spec.spec: attack}, made.masked_target if spec.kind.sees_points else made.target, made)[0].claims
    assert claims is not None
    rows, others, _ = claims.claimed()
    true = made.truth.holds(rows, others)
    table = pd.DataFrame({"target_row": rows + 1, "known_row": others + 1, "true": true})
    return Example(unit, alpha, made.masked_target, made.known, table)


def typical_examples(study: Study) -> list[Example]:
    """Carry out the first repetition at the corners of the grid: weak and strong masks, small and large α."""
    alphas = sorted(study.grid.alphas)
    first = study.grid.settings[0]
    masks = dict.fromkeys((first.mask, study.grid.settings[-1].mask))
    both = dict.fromkeys((alphas[len(alphas) // 4], alphas[-1]))
    return [make_example(study, Unit(replace(first, mask=mask), 0), alpha) for mask in masks for alpha in both]
