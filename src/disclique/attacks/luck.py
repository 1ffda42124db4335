"""How often strangers fit known people by chance, as well as somebody does who is one of them.

A record that fits nobody but one person may be that person, or a stranger who happens to be alike. How much rarer the
second is, the known file tells by itself: each of its people is a stranger to all others (as in the estimate of Good
and Turing of what was seen once).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.values import FloatArray

# of the people who are known themselves: the parts between which it is told how well a record fits
PARTS = (0.001, 0.01, 0.05, 0.125, 0.25, 0.5, 0.75, 0.9)
FEWEST = 10  # people, in the least part
CROWD = 5.0  # known people who fit: of so many one more or less tells nothing
UNSEEN = 0.5  # strangers, in every part: none was seen to fit is not that none ever does


@dataclass(frozen=True, eq=False)
class Luck:
    """For each part of how well records fit, the log of how much rarer a stranger is there than a known person."""

    edges: FloatArray
    rarer: FloatArray

    def of(self, near: FloatArray) -> FloatArray:
        """Return it of records that fit so well."""
        return np.asarray(self.rarer[np.searchsorted(self.edges, near - 1e-9)])


def measure_luck(known: FloatArray, strangers: FloatArray, parts: tuple[float, ...] = PARTS) -> Luck:
    """Learn from how well people fit who are known, and strangers; -inf fits nobody.

    >>> found = measure_luck(np.zeros(99), np.full(99, -np.inf))  # nobody fits anybody else
    >>> np.exp(found.of(np.zeros(1))).round(3).tolist()
    [0.005]
    """
    some = known[np.isfinite(known)]
    if not len(some):
        return Luck(np.zeros(0), np.zeros(1))
    told = [part for part in parts if part * len(some) >= FEWEST]
    edges = np.quantile(some, told, method="nearest") if told else np.zeros(0)
    edges = np.append(np.unique(edges[edges < np.log(CROWD)]), np.log(CROWD))
    fit = strangers[np.isfinite(strangers)]
    here, there = (
        np.bincount(np.searchsorted(edges, side - 1e-9), minlength=len(edges) + 1) + UNSEEN for side in (some, fit)
    )
    return Luck(edges, np.append(np.log(there / here)[:-1], 0.0))


def count_luck(known_class: NDArray[np.int32]) -> Luck:
    """Learn from classes of known people, in which all fit each other."""
    own = known_class[known_class >= 0]
    many = np.bincount(own)[own].astype(float) if len(own) else np.zeros(0)
    with np.errstate(divide="ignore"):
        return measure_luck(np.log(many), np.log(many - 1))
