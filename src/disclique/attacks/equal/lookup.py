"""Published distances that occur in the known file too, and how many would by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from disclique.spaces.base import Distances
from disclique.spaces.matrix import ROUNDING
from disclique.values import FloatArray, IntArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Lookup:
    """How much is looked up at once, and what counts as a coincidence."""

    shared: int = 32  # entries: a value that more share is no evidence: a cap, a grid
    at_once: int = 2_000_000  # distances looked at together
    entries: int = 12_000_000  # published distances held at once; of more a random part is taken
    hits: int = 3_000_000  # coincidences held at once; of more a random part is taken
    window: int = 200  # widths of the tolerance, on either side, in which the rate of chance is counted
    split: int = 1200  # known records among which equal distances of different people are counted
    distinct: float = 0.2  # values for each known distance, below which they repeat by their nature
    widths: tuple[float, ...] = (ROUNDING, 1e-10, 1.2e-7)  # relative: rounding, many printed digits, single precision


LOOKUP = Lookup()


class Entries(NamedTuple):
    """Published distances in ascending order, with the target rows between which they lie."""

    first: IntArray
    second: IntArray
    value: FloatArray

    def some(self, which: NDArray[np.bool_]) -> Entries:
        """Keep only some of them."""
        return Entries(self.first[which], self.second[which], self.value[which])


class Hits(NamedTuple):
    """Coincidences: the entry of the target rows ``t`` and ``j`` equals the known distance of ``k`` and ``other``."""

    t: Ints
    j: Ints
    k: Ints
    other: Ints


@dataclass(frozen=True)
class Tolerance:
    """How far two values of one distance may lie apart: relative to the value, and half a unit of the last digit."""

    relative: float
    absolute: float

    def of(self, value: FloatArray) -> FloatArray:
        """Return it for each value."""
        return np.asarray(self.relative * np.abs(value) + self.absolute)


def list_entries(target: Distances, *, ordered: bool, rng: np.random.Generator, by: Lookup = LOOKUP) -> Entries:
    """List the published distances above 0, of each release of a series; of very many a random part."""
    total = target.size * (target.size - 1) // (1 if ordered else 2) * len(target.releases)
    share = min(by.entries / max(total, 1), 1.0)
    parts = [
        Entries(first, second, value).some(rng.random(len(value)) < share) if share < 1 else (first, second, value)
        for release in target.releases
        for first, second, value in _read_blocks(release, ordered, by.at_once)
    ]
    if not parts:
        return Entries(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    first, second, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(value, kind="stable")
    return Entries(first[order], second[order], value[order])


def _read_blocks(source: Distances, ordered: bool, at_once: int) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield rows, columns and values of the published distances above 0, each once unless ``ordered``."""
    n = source.size
    columns = np.arange(n, dtype=np.int32)
    step = max(at_once // max(n, 1), 1)
    for begin in range(0, n, step):
        rows = columns[begin : begin + step]
        rest = columns if ordered else columns[begin:]
        block = source.block(rows, rest)
        use = (block > 0) & ((rest[None, :] != rows[:, None]) if ordered else (rest[None, :] > rows[:, None]))
        i, j = np.nonzero(use)
        yield rows[i], rest[j], block[i, j]


def drop_shared(entries: Entries, tolerance: Tolerance, most: int) -> Entries:
    """Leave out the values that more than ``most`` entries share."""
    width = tolerance.of(entries.value)
    low = np.searchsorted(entries.value, entries.value - width, "left")
    high = np.searchsorted(entries.value, entries.value + width, "right")
    return entries.some(high - low <= most)


@dataclass(frozen=True, eq=False)
class Coincidences:
    """The coincidences, of how large a part of the entries, and what chance has to do with them."""

    hits: Hits
    part: float  # of the entries, of which the coincidences are held
    compared: float  # pairs of a published and a known distance, all entries
    near: float  # known distances near the published ones, brought down to the width of the tolerance


def look_up(
    entries: Entries,
    known: Distances,
    tolerance: Tolerance,
    *,
    ordered: bool,
    rng: np.random.Generator,
    by: Lookup = LOOKUP,
) -> Coincidences:
    """Look up every published distance among the known ones, block by block.

    Beside the equal ones those nearby are counted, which no common record explains.
    """
    ticket = rng.random(len(entries.value))  # of too many coincidences those of the lowest tickets are kept
    part, near, known_total = 1.0, 0.0, 0
    kept: list[tuple[Ints, Ints, Ints]] = []
    for block in _read_blocks(known, ordered, by.at_once):
        order = np.argsort(block[2], kind="stable")
        rows, columns, values = block[0][order], block[1][order], block[2][order]
        known_total += len(values)
        width = tolerance.of(values)
        low, high = _between(entries.value, values, width)
        far = _between(entries.value, values, by.window * width)
        close = _between(entries.value, values, 2 * width)
        near += float((far[1] - far[0] - (close[1] - close[0])).sum()) / (by.window - 2)
        many = high - low
        at = np.flatnonzero(many)
        where = np.repeat(at, many[at])
        entry = low[where] + np.arange(len(where)) - np.repeat(np.cumsum(many[at]) - many[at], many[at])
        chosen = ticket[entry] <= part
        kept.append((entry[chosen], rows[where[chosen]].astype(np.int64), columns[where[chosen]].astype(np.int64)))
        while sum(len(one[0]) for one in kept) > by.hits:
            part /= 2
            kept = [tuple(column[ticket[one[0]] <= part] for column in one) for one in kept]  # type: ignore[misc]
    entry, k, other = (np.concatenate(column) if kept else np.zeros(0, np.int64) for column in zip(*kept, strict=True))
    hits = Hits(entries.first[entry].astype(np.int64), entries.second[entry].astype(np.int64), k, other)
    return Coincidences(hits, part, float(len(entries.value)) * known_total, near)


def _between(sorted_values: FloatArray, middle: FloatArray, width: FloatArray) -> tuple[Ints, Ints]:
    low = np.searchsorted(sorted_values, middle - width, "left")
    return low, np.searchsorted(sorted_values, middle + width, "right")


def measure_repeats(
    known: Distances, tolerance: Tolerance, *, ordered: bool, rng: np.random.Generator, by: Lookup = LOOKUP
) -> float:
    """Return how probably two distances between different known people are equal.

    Half of the records is held against the other half, those at one place together in one of them. It tells distances
    that repeat by their nature (edit distances, grids) from real coincidences, which a look nearby cannot. Where there
    are few values, the rate differs too much from one to the other: then it is 1.
    """
    n = known.size
    rows = np.sort(rng.choice(n, min(n, by.split), replace=False)).astype(np.int32)
    values = known.block(rows, rows)
    place = connected_components(csr_matrix(values == 0), directed=False)[1]
    if _count_distinct(values[np.ix_(*2 * (np.unique(place, return_index=True)[1],))]) < by.distinct:
        return 1.0
    half = rng.random(place.max(initial=0) + 1)[place] < 0.5
    sides = []
    for side in (half, ~half):
        block = values[np.ix_(side, side)]
        use = ~np.eye(len(block), dtype=bool) if ordered else np.triu(np.ones(block.shape, dtype=bool), 1)
        sides.append(np.sort(block[use & (block > 0)]))
    if not (len(sides[0]) and len(sides[1])):
        return 0.0
    low, high = _between(sides[0], sides[1], tolerance.of(sides[1]))
    own = _between(sides[0], sides[0], tolerance.of(sides[0]))
    shared = np.r_[0, np.cumsum(own[1] - own[0] > by.shared)]  # these are left out of the target as well
    equal = (high - low) - (shared[high] - shared[low])
    return float(equal.sum()) / (float(len(sides[0])) * len(sides[1]))


def _count_distinct(values: FloatArray) -> float:
    """Return how many different values there are for each entry, the most frequent one, perhaps a cap, left out."""
    entries = values[(values > 0) & ~np.eye(len(values), dtype=bool)]
    many = np.unique(entries, return_counts=True)[1]
    rest = len(entries) - int(many.max(initial=0))
    return 2 * (len(many) - 1) / rest if rest else 0.0
