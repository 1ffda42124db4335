"""What risk means, in the words of disclosure control: the prosecutor's, the journalist's and the marketer's.

A *prosecutor* knows that a person took part and names the record that is most probably theirs: the risk is the share of
the known people named rightly, whatever the odds. A *journalist* wants to show one person for certain and claims only
what is more probable than not: the risk is the share of the known people claimed rightly. A *marketer* names a person
for every released record: the risk is the share of the whole file named rightly.

Where an attack names nobody, the snooper guesses among those whose label fits; equally probable names share the chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.measures.risk import Truth
from disclique.model import Candidates, Claims, FloatArray

Rows = NDArray[np.integer[Any]]
SCENARIOS = ("prosecutor", "journalist", "marketer")
EQUAL = 1e-9  # probabilities that differ by less, relatively, are one


@dataclass(frozen=True)
class Hits:
    """How many people are expected to be identified, by scenario.

    >>> Hits(30, 12, 25).share("prosecutor", 100, 500), Hits(30, 12, 25).share("marketer", 100, 500)
    (0.3, 0.05)
    """

    prosecutor: float = 0.0
    journalist: float = 0.0
    marketer: float = 0.0

    def of(self, scenario: str) -> float:
        """Return the number of people in a scenario."""
        return float(getattr(self, scenario))

    def share(self, scenario: str, common: int, released: int) -> float:
        """Return the risk: a share of the known people who took part, or of the whole file."""
        return self.of(scenario) / max(trials(scenario, common, released), 1)


def trials(scenario: str, common: int, released: int) -> int:
    """Return of how many people the risk is a share."""
    return released if scenario == "marketer" else common


def name_records(
    claims: Claims | None, truth: Truth, candidates: Candidates, told: Sequence[tuple[int, int]] = ()
) -> FloatArray:
    """Return for each true pair the chance that the prosecutor names the right record of that person.

    ``told`` are pairs that were known beforehand: their records are nobody else's. Without ``claims`` all is guessed.

    >>> from disclique.attacks.claims import make_claims
    >>> pairs = np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.int32), np.array([0.3, 0.1, 0.2])
    >>> alike = Candidates(np.zeros(4, np.int32), np.zeros(3, np.int32), np.zeros((1, 2), np.int32))
    >>> who = Truth(np.array([[0, 0], [2, 1], [3, 2]]))
    >>> name_records(make_claims(pairs, attack="mine"), who, alike)
    array([1.  , 0.  , 0.25])
    """
    return _name(claims, truth.pairs[:, ::-1], (candidates.known_class, candidates.target_class), candidates, told, 1)


def name_people(
    claims: Claims | None, truth: Truth, candidates: Candidates, told: Sequence[tuple[int, int]] = ()
) -> FloatArray:
    """Return for each true pair the chance that the marketer names the right person for that record."""
    return _name(claims, truth.pairs, (candidates.target_class, candidates.known_class), candidates, told, 0)


def _name(
    claims: Claims | None,
    pairs: Rows,
    classes: tuple[Rows, Rows],
    candidates: Candidates,
    told: Sequence[tuple[int, int]],
    side: int,
) -> FloatArray:
    """Return the chance that the first of each pair is given the second one; ``side`` is the column asked for."""
    seeds = np.array(told, dtype=np.int64).reshape(-1, 2)
    asked, named = pairs[:, 0], pairs[:, 1]
    none: Rows = np.zeros(0, np.int32)
    ours, theirs, probability = none, none, np.zeros(0)
    if claims is not None:
        columns = (claims.target, claims.known)
        keep = (claims.probability > 0) & ~np.isin(claims.target, seeds[:, 0]) & ~np.isin(claims.known, seeds[:, 1])
        ours, theirs, probability = columns[side][keep], columns[1 - side][keep], claims.probability[keep]
    top = np.zeros(len(classes[0]))
    np.maximum.at(top, ours, probability)
    best = probability >= top[ours] * (1 - EQUAL)
    many = np.bincount(ours[best], minlength=len(top))
    answers = set(zip(ours[best].tolist(), theirs[best].tolist(), strict=True))
    right = np.array([pair in answers for pair in zip(asked.tolist(), named.tolist(), strict=True)], dtype=float)
    by_claim = right / np.maximum(many[asked], 1)
    return np.where(top[asked] > 0, by_claim, _guess(pairs, classes, candidates, seeds[:, 1 - side], side))


def _guess(pairs: Rows, classes: tuple[Rows, Rows], candidates: Candidates, taken: Rows, side: int) -> FloatArray:
    """Return the chance of a guess among all on the other side whose label fits."""
    own, other = classes
    relation = candidates.relation[:, [side, 1 - side]].astype(np.int64)
    free = np.ones(len(other), dtype=bool)
    free[taken] = False
    sizes = np.bincount(other[free & (other >= 0)], minlength=int(relation[:, 1].max(initial=-1)) + 1)
    classes_there = int(max(own.max(initial=-1), relation[:, 0].max(initial=-1))) + 1
    fitting = np.bincount(relation[:, 0], weights=sizes[relation[:, 1]], minlength=classes_there + 1)
    related = {(int(a), int(b)) for a, b in relation}
    mine, rest = own[pairs[:, 0]], other[pairs[:, 1]]
    possible = np.array([(int(a), int(b)) in related for a, b in zip(mine, rest, strict=True)], dtype=bool)
    return np.where(possible, 1 / np.maximum(fitting[mine], 1), 0.0)
