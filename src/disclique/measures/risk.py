"""Risk: what the claims of an attack are worth against the truth that only the data holder has.

What is counted depends on the scenario, in the words of disclosure control: the prosecutor's, the journalist's or the
marketer's.

A *prosecutor* knows that a person took part and names the record that is most probably theirs: the risk is the share of
the known people named rightly, whatever the odds. A *journalist* wants to show one person for certain and claims only
what is more probable than not: the risk is the share of the known people claimed rightly. A *marketer* names a person
for every released record: the risk is the share of the known people who took part and are named for their own.
All three are shares of the same people, so that it makes no release safer to assume that few are known.

Where an attack names nobody, the snooper guesses among those whose label fits; equally probable names share the chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Candidates, Claims
from disclique.values import FloatArray

Interval = tuple[float, float]
Rows = NDArray[np.integer[Any]]
Pairs = Sequence[tuple[int, int]]
SCENARIOS = ("prosecutor", "journalist", "marketer")
EQUAL = 1e-9  # probabilities that differ by less, relatively, are one
RowNumbers = Sequence[int] | NDArray[Any]


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval | None:
    """Return the Wilson interval of a share; None where nothing was tried."""
    if trials == 0:
        return None
    from scipy.stats import binomtest

    found = binomtest(successes, trials).proportion_ci(confidence_level=confidence, method="wilson")
    return float(found.low), float(found.high)


@dataclass(frozen=True)
class Risk:
    """True positives, false positives and false negatives of an attack, and the rates that follow.

    A rate is None ("undefined") where its denominator is zero: nothing claimed, or nobody in common.
    """

    tp: int
    fp: int
    fn: int

    @property
    def found_nobody(self) -> bool:
        """Whether there are common people and none of them is found: that another attack fails too is not said."""
        return self.tp == 0 < self.fn

    @property
    def precision(self) -> float | None:
        """Share of the claimed matches that are true."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    @property
    def recall(self) -> float | None:
        """Share of the common people that are found."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else None

    @property
    def precision_interval(self) -> Interval | None:
        """95 % Wilson interval of the precision."""
        return wilson(self.tp, self.tp + self.fp)

    @property
    def recall_interval(self) -> Interval | None:
        """95 % Wilson interval of the recall."""
        return wilson(self.tp, self.tp + self.fn)


@dataclass(frozen=True, eq=False)
class Truth:
    """Who is who: rows (target, known), counted from 0, of the people in both files; only the data holder has it."""

    pairs: NDArray[np.int64]  # (n, 2)

    def __len__(self) -> int:
        return len(self.pairs)

    @staticmethod
    def of_people(target: Sequence[Hashable | None], known: Sequence[Hashable | None]) -> Truth:
        """Find the rows that belong to the same person; None is nobody."""
        rows = _rows_of(known, "known")
        pairs = [(row, rows[person]) for person, row in _rows_of(target, "target").items() if person in rows]
        return Truth(np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2))

    def without(self, target: RowNumbers) -> Truth:
        """Return who is who among the other people than those of these target rows."""
        return Truth(self.pairs[~np.isin(self.pairs[:, 0], target)])

    def holds(self, target: RowNumbers, known: RowNumbers) -> NDArray[np.bool_]:
        """Say which of the pairs (rows from 0) are one person."""
        rows, others = np.asarray(target, dtype=np.int64), np.asarray(known, dtype=np.int64)
        if not len(self.pairs) or not len(rows):
            return np.zeros(len(rows), dtype=bool)
        ordered = self.pairs[np.argsort(self.pairs[:, 0], kind="stable")]  # no target row stands twice
        at = np.minimum(np.searchsorted(ordered[:, 0], rows), len(ordered) - 1)
        return np.asarray((ordered[at, 0] == rows) & (ordered[at, 1] == others))


def _rows_of(people: Sequence[Hashable | None], name: str) -> dict[Hashable, int]:
    rows: dict[Hashable, int] = {}
    for row, person in enumerate(people):
        if person is not None and rows.setdefault(person, row) != row:
            raise InputError("person_stands_twice", person=person, first=rows[person] + 1, row=row + 1, name=name)
    return rows


@dataclass(frozen=True, eq=False)
class Judged:
    """Claims held against the truth.

    ``correct`` and ``wrong`` are the claimed pairs, rows from 0; ``weighed`` says of every pair that the attack gave a
    probability whether it is one person; ``tied`` counts the correct pairs of every tie.
    """

    risk: Risk
    correct: NDArray[np.int32]  # (n, 2)
    wrong: NDArray[np.int32]  # (n, 2)
    weighed: NDArray[np.bool_]
    tied: tuple[int, ...]


def judge(claims: Claims, truth: Truth, seeds: Pairs = ()) -> Judged:
    """Hold the claims of an attack against the truth: the one place where it is decided what is correct.

    ``seeds`` are pairs that the snooper knew beforehand: these people are neither found nor missed, and a claim about
    their released records is neither right nor wrong.

    >>> from disclique.attacks.claims import make_claims
    >>> pairs = np.array([0, 1], np.int32), np.array([0, 0], np.int32), np.array([0.9, 0.6])
    >>> judge(make_claims(pairs, attack="mine"), Truth(np.array([[0, 0]]))).risk
    Risk(tp=1, fp=1, fn=0)
    >>> judge(make_claims(pairs, attack="mine"), Truth(np.array([[0, 0]])), seeds=[(0, 0)]).risk
    Risk(tp=0, fp=1, fn=0)
    """
    told = [row for row, _ in seeds]
    others = truth.without(told)
    target, known, _ = claims.claimed()
    asked = ~np.isin(target, told)
    target, known = target[asked], known[asked]
    true = others.holds(target, known)
    pairs = np.column_stack([target, known]).astype(np.int32).reshape(-1, 2)
    correct = int(np.count_nonzero(true))
    return Judged(
        risk=Risk(tp=correct, fp=len(true) - correct, fn=len(others) - correct),
        correct=pairs[true],
        wrong=pairs[~true],
        weighed=truth.holds(claims.target, claims.known),
        tied=tuple(int(truth.holds(tie[:, 0], tie[:, 1]).sum()) for tie in claims.ties),
    )


@dataclass(frozen=True)
class Hits:
    """How many people are expected to be identified, by scenario.

    >>> Hits(30, 12, 25).share("prosecutor", 100, 500), Hits(30, 12, 25).share("marketer", 100, 500)
    (0.3, 0.25)
    """

    prosecutor: float = 0.0
    journalist: float = 0.0
    marketer: float = 0.0

    def of(self, scenario: str) -> float:
        """Return the number of people in a scenario."""
        return float(getattr(self, scenario))

    def share(self, scenario: str, common: int, released: int) -> float:
        """Return the risk: a share of the known people who took part."""
        return self.of(scenario) / max(trials(scenario, common, released), 1)


def trials(scenario: str, common: int, released: int) -> int:
    """Return of how many people the risk is a share: the known ones who took part, however many are released."""
    return common


def find_chances(claims: Claims | None, truth: Truth, alike: Candidates, seeds: Pairs, scenario: str) -> FloatArray:
    """Return the chance of each person of ``truth`` to be identified in a scenario by claims, or by guessing.

    ``alike`` are the pairs whose labels fit, ``seeds`` those known beforehand, who are not sought.
    """
    if scenario == "journalist":
        right = np.zeros(0) if claims is None else judge(claims, truth, seeds).correct[:, 0]
        return np.isin(truth.pairs[:, 0], right).astype(float)
    return (name_records if scenario == "prosecutor" else name_people)(claims, truth, alike, seeds)


def name_records(claims: Claims | None, truth: Truth, candidates: Candidates, told: Pairs = ()) -> FloatArray:
    """Return for each true pair the chance that the prosecutor names the right record of that person.

    ``told`` are pairs that were known beforehand: their records are nobody else's. Without ``claims`` all is guessed.

    >>> from disclique.attacks.claims import make_claims
    >>> pairs = np.array([0, 1, 1], np.int32), np.array([0, 0, 1], np.int32), np.array([0.3, 0.1, 0.2])
    >>> alike = Candidates(np.zeros(4, np.int32), np.zeros(3, np.int32), np.zeros((1, 2), np.int32))
    >>> who = Truth(np.array([[0, 0], [2, 1], [3, 2]]))
    >>> name_records(make_claims(pairs, attack="mine"), who, alike)
    array([1.  , 0.  , 0.25])
    """
    return _name(claims, truth.pairs, candidates.swapped, told, 1)


def name_people(claims: Claims | None, truth: Truth, candidates: Candidates, told: Pairs = ()) -> FloatArray:
    """Return for each true pair the chance that the marketer names the right person for that record."""
    return _name(claims, truth.pairs, candidates, told, 0)


def _name(claims: Claims | None, pairs: Rows, candidates: Candidates, told: Pairs, side: int) -> FloatArray:
    """Return the chance that each record of one ``side`` is given its true partner, or that of a guess by labels.

    ``candidates`` are those from that side.
    """
    seeds = np.array(told, dtype=np.int64).reshape(-1, 2)
    asked, right = pairs[:, side], pairs[:, 1 - side]
    ours, theirs, probability = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    if claims is not None:
        keep = (claims.probability > 0) & ~np.isin(claims.target, seeds[:, 0]) & ~np.isin(claims.known, seeds[:, 1])
        both = claims.target[keep].astype(np.int64), claims.known[keep].astype(np.int64)
        ours, theirs, probability = both[side], both[1 - side], claims.probability[keep]
    own, others = candidates.sizes
    top = np.zeros(own)
    np.maximum.at(top, ours, probability)
    best = probability >= top[ours] * (1 - EQUAL)
    many = np.bincount(ours[best], minlength=own)
    by_claim = np.isin(asked * others + right, ours[best] * others + theirs[best]) / np.maximum(many[asked], 1)
    free = np.ones(others, dtype=bool)
    free[seeds[:, 1 - side]] = False
    fitting = np.maximum(candidates.keep_known(free).fitting[asked], 1)
    by_guess = np.where(candidates.allowed(asked, right), 1 / fitting, 0.0)
    return np.where(top[asked] > 0, by_claim, by_guess)
