"""Risk: what the claims of an attack are worth against the truth that only the data holder has."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Claims

Interval = tuple[float, float]
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
            raise InputError(f"truth {person!r} stands in rows {rows[person] + 1} and {row + 1} of the {name} file")
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


def judge(claims: Claims, truth: Truth, seeds: Sequence[tuple[int, int]] = ()) -> Judged:
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
