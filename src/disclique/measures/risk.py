"""Risk: what an attack's matches are worth against the truth that only the data holder has."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError

Interval = tuple[float, float]
Rows = Sequence[int] | NDArray[Any]


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval | None:
    """The Wilson interval of a share; None where nothing was tried."""
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


def truth_pairs(target: Sequence[Hashable | None], known: Sequence[Hashable | None]) -> dict[int, int]:
    """Known row of each target row that belongs to the same person, rows from 0; None is nobody."""
    rows: dict[Hashable, int] = {}
    for row, person in enumerate(known):
        if person is not None and rows.setdefault(person, row) != row:
            raise InputError(f"truth {person!r} stands in rows {rows[person] + 1} and {row + 1} of the known file")
    found: dict[int, int] = {}
    seen: dict[Hashable, int] = {}
    for row, person in enumerate(target):
        if person is None:
            continue
        if seen.setdefault(person, row) != row:
            raise InputError(f"truth {person!r} stands in rows {seen[person] + 1} and {row + 1} of the target file")
        if person in rows:
            found[row] = rows[person]
    return found


def true_matches(target: Rows, known: Rows, truth: dict[int, int]) -> NDArray[np.bool_]:
    """Which of the claimed pairs (rows from 0) are true."""
    return np.array([truth.get(int(v)) == int(w) for v, w in zip(target, known, strict=True)], dtype=bool)


def risk(true: NDArray[np.bool_], common: int) -> Risk:
    """The worth of claimed matches, given which are true and how many people the files have in common."""
    tp = int(np.count_nonzero(true))
    return Risk(tp=tp, fp=len(true) - tp, fn=common - tp)
