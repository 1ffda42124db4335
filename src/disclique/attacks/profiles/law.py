"""What a published distance says of a true one: the law of the mask, as the snooper learns it from draws of their own.

They mask their own file and count which distance becomes which. The log likelihood ratio of a published and a true
distance is a table; a few products of a function of the one and a function of the other make nearly all of it, so that
all pairs of pairs are compared by products of matrices. A distance of zero, one that many share and one that is not
published are values of their own: they say more than their size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from disclique.attacks.profiles.evidence import F4, Ints
from disclique.values import FloatArray


@dataclass(frozen=True)
class Learning:
    """How finely the law is learned."""

    bins: int = 32  # of distances that are not shared by many
    shared: float = 1 / 64  # of all distances: a value as frequent as that has a bin of its own
    values: int = 64  # different distances up to which each has one
    smooth: float = 1.0  # bins over which counts are smoothed
    unseen: float = 0.05  # of the expected count is added: what was never seen is not impossible
    ranks: tuple[tuple[int, int], ...] = ((300, 5), (600, 3), (1200, 2))  # products kept, by records
    kept: float = 0.99  # of the table's variance


class Scale(NamedTuple):
    """Bins of distances: values with one of their own, the edges of the others, and last a bin of "no distance"."""

    values: FloatArray
    edges: FloatArray

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.values) + max(len(self.edges) - 1, 0) + 1

    @staticmethod
    def of(found: FloatArray, by: Learning) -> Scale:
        """Choose bins for distances."""
        found = found[~np.isnan(found)]
        values, counts = np.unique(found, return_counts=True)
        if len(values) <= by.values:
            return Scale(values, np.zeros(0))
        own = values[(counts > by.shared * len(found)) | ((values == 0) & (counts > 1))]
        rest = found[~np.isin(found, own)]
        edges = np.unique(np.quantile(rest, np.linspace(0, 1, by.bins + 1))) if len(rest) else np.zeros(0)
        return Scale(own, edges if len(edges) > 1 else np.zeros(0))

    def number(self, found: FloatArray | F4) -> Ints:
        """Return the bin of each distance."""
        if not len(self.edges):
            middle = (self.values[1:] + self.values[:-1]) / 2
            place = np.searchsorted(middle, found)
        else:
            place = len(self.values) + np.clip(
                np.searchsorted(self.edges, found, side="right") - 1, 0, len(self.edges) - 2
            )
            if len(self.values):
                at = np.clip(np.searchsorted(self.values, found), 0, len(self.values) - 1)
                place = np.where(self.values[at] == found, at, place)
        return np.where(np.isnan(found), self.size - 1, place).astype(np.int64)

    def read(self, table: FloatArray, found: F4) -> F4:
        """Return the entry of a table for each distance, straight between the middles of bins."""
        place = self.number(found)
        value = table[place]
        if len(self.edges):
            middle = (self.edges[1:] + self.edges[:-1]) / 2
            inner = table[len(self.values) : self.size - 1]
            between = (place >= len(self.values)) & (place < self.size - 1)
            value = np.where(between, np.interp(found, middle, inner), value)
        return np.asarray(value, np.float32)

    def smoothed(self, counts: FloatArray, width: float) -> FloatArray:
        """Return counts (rows are bins) smoothed over neighbouring bins."""
        counts = counts.copy()
        inner = slice(len(self.values), self.size - 1)
        if len(self.edges) > 2:
            counts[inner] = gaussian_filter1d(counts[inner], width, axis=0, mode="nearest")
        return counts


class Law(NamedTuple):
    """Functions of published and of true distances; the sum of their products is the log likelihood ratio."""

    shown: Scale
    true: Scale
    of_shown: FloatArray  # (products, bins)
    of_true: FloatArray
    information: float  # mean of the ratio over true pairs

    def left(self, found: F4) -> tuple[F4, ...]:
        """Return the functions of published distances."""
        return tuple(_without_diagonal(self.shown.read(table, found)) for table in self.of_shown)

    def right(self, found: F4) -> tuple[F4, ...]:
        """Return the functions of true distances."""
        return tuple(_without_diagonal(self.true.read(table, found)) for table in self.of_true)


def _without_diagonal(values: F4) -> F4:
    np.fill_diagonal(values, 0.0)
    return values


def learn_law(true: FloatArray | F4, shown: FloatArray | F4, records: int, by: Learning) -> Law | None:
    """Learn the law from true distances and what became of them; None where nothing can be told."""
    scales = Scale.of(np.asarray(shown, float), by), Scale.of(np.asarray(true, float), by)
    rows, columns = scales[0].number(shown), scales[1].number(true)
    shape = scales[0].size, scales[1].size
    counts = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    if not counts.sum() or min(len(np.unique(rows)), len(np.unique(columns))) < 2:
        return None
    seen = counts / counts.sum()
    counts = scales[1].smoothed(scales[0].smoothed(counts, by.smooth).T, by.smooth).T
    total = counts.sum()
    first, second = counts.sum(axis=1) / total, counts.sum(axis=0) / total
    expected = total * first[:, None] * second[None]
    ratio = np.log((counts + by.unseen * expected + 1e-9) / ((1 + by.unseen) * expected + 1e-9))
    weight = np.sqrt(np.maximum(first, 1e-12)[:, None] * np.maximum(second, 1e-12)[None])
    left, size, right = np.linalg.svd(ratio * weight, full_matrices=False)
    most = next((rank for limit, rank in by.ranks if records <= limit), 1)
    told = np.cumsum(size**2) / max(float((size**2).sum()), 1e-300)
    rank = min(int(np.searchsorted(told, by.kept)) + 1, most, len(size))
    root = np.sqrt(size[:rank])[:, None]
    of_shown = left.T[:rank] * root / np.sqrt(np.maximum(first, 1e-12))
    of_true = right[:rank] * root / np.sqrt(np.maximum(second, 1e-12))
    return Law(*scales, of_shown, of_true, float((seen * (of_shown.T @ of_true)).sum()))


def mean_curve(true: FloatArray | F4, shown: FloatArray | F4, bins: int = 100) -> tuple[FloatArray, FloatArray]:
    """Return the mean of what becomes of a distance, at the means of bins of it."""
    both = ~(np.isnan(true) | np.isnan(shown))
    true, shown = np.asarray(true[both], float), np.asarray(shown[both], float)
    edges = np.unique(np.quantile(true, np.linspace(0, 1, bins + 1)))
    place = np.clip(np.searchsorted(edges, true, side="right") - 1, 0, max(len(edges) - 2, 0))
    many = np.bincount(place)
    there = many > 0
    x, y = (np.bincount(place, weights=side)[there] / many[there] for side in (true, shown))
    return x, y


def centre(values: F4, group: NDArray[np.int64]) -> tuple[F4, FloatArray]:
    """Return distances less what is usual for both records within their group, and what is usual for each record."""
    found, usual = values.astype(float), np.zeros(len(values))
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        part = found[np.ix_(rows, rows)]
        np.fill_diagonal(part, np.nan)
        said = ~np.isnan(part)
        many = np.maximum(said.sum(axis=1), 1)
        filled = np.where(said, part, 0)
        whole = filled.sum() / max(said.sum(), 1)
        down, across = filled.sum(axis=0) / np.maximum(said.sum(axis=0), 1), filled.sum(axis=1) / many
        part = part - across[:, None] - down[None] + whole
        np.fill_diagonal(part, 0.0)
        found[np.ix_(rows, rows)] = part
        usual[rows] = (across + down) / 2
    return found.astype(np.float32), usual
