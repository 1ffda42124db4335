"""One error of a snooper's coordinates in several numbers: what follows from a place is off together, not by itself.

Taken for independent, the errors of two distances to places in the same direction would count twice, and that of two in
different ones would say less than it does: three exact lengths and a place that is some hundred metres off name most
people. How numbers follow the place is ``NumberColumn.drift``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.numbers import Exchanged, NumberColumn, SharpLaw
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Pair = tuple[NumberColumn, NumberColumn]


@dataclass(frozen=True)
class Sharing:
    """How far the model of a shared error is believed.

    Lengths bend, and another place becomes the nearest. Measured against 3,000 simulated places of each person (one to
    five columns, errors of 100 m to 1 km) people are found as often but for 2 of 100, where errors of 1 km bend most.
    """

    bend: float = 0.1  # of the error: what a straight line does not follow, at the least
    doubt: float = 0.05  # share of people to whom errors are taken for independent
    pairs: int = 1 << 20  # at a time


SHARING = Sharing()


def weigh_shared_errors(pairs: list[Pair], target: Ints, known: Ints, by: Sharing = SHARING) -> FloatArray:
    """Return by how much the log density of pairs of records changes when their errors are not independent."""
    columns = [(mine, theirs) for mine, theirs in pairs if theirs.drift is not None and not _is_vague(mine)]
    found = np.zeros(len(target))
    if len(columns) > 1:
        for first in range(0, len(target), by.pairs):
            some = slice(first, first + by.pairs)
            found[some] = _weigh(columns, target[some], known[some], by)
    return found


def _is_vague(column: NumberColumn) -> bool:
    return isinstance(column.law, Exchanged)  # it may be anybody's number


def _weigh(columns: list[Pair], target: Ints, known: Ints, by: Sharing) -> FloatArray:
    error = max(theirs.error for _, theirs in columns)
    alone = together = np.zeros(len(target))
    inner = np.zeros((len(target), 2, 2)) + np.eye(2) / error**2  # the precision of the place, and what it is told
    told = np.zeros((len(target), 2))
    for mine, theirs in columns:
        assert theirs.drift is not None
        middle, variance = _find_middle(mine)
        mean, slopes, left = (theirs.drift[known][:, part] for part in (0, slice(1, 3), 3))
        released, noise = middle[target], variance[target]
        rest = left + noise + (by.bend * error) ** 2
        off, apart = released - mean, released - theirs.values[known]
        there = np.isfinite(noise) & np.isfinite(off) & np.isfinite(apart)
        off, apart, rest, noise = (np.where(there, one, 0.0) for one in (off, apart, rest, noise))
        own, rest = error**2 + noise, np.where(there, rest, 1.0)
        sure = there / rest
        alone = alone + there * -0.5 * (apart**2 / own + np.log(own))
        together = together - 0.5 * (off**2 * sure + np.where(there, np.log(rest), 0.0))
        inner += np.einsum("n,ni,nj->nij", sure, slopes, slopes)
        told += (sure * off)[:, None] * slopes
    (a, b), (_, d) = inner[:, 0].T, inner[:, 1].T
    size = a * d - b**2
    quadratic = (d * told[:, 0] ** 2 - 2 * b * told[:, 0] * told[:, 1] + a * told[:, 1] ** 2) / size
    together = together + 0.5 * quadratic - 0.5 * (np.log(size) + 4 * np.log(error))
    return np.asarray(np.logaddexp(np.log1p(-by.doubt) + together - alone, np.log(by.doubt)))


def _find_middle(column: NumberColumn) -> tuple[FloatArray, FloatArray]:
    """Return where the numbers lie of which each is released, and their variance; infinite where all are possible."""
    law = column.law
    if not isinstance(law, SharpLaw):
        return column.values, law.spread(column.values) ** 2
    low, high = law.interval(column.values)
    with np.errstate(invalid="ignore"):
        return (low + high) / 2, (high - low) ** 2 / 12
