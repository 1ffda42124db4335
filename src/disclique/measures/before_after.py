"""The same records before and after a mask, and how far what is measured on some of them may be off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from disclique.spaces import Points, full_matrix
from disclique.spaces.base import Distances
from disclique.spaces.metrics import paired
from disclique.values import FloatArray, IntArray

PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
NEIGHBOURS = (5, 10, 25)
GROUPS = 20  # into which a sample is divided to see how much it matters who is in it
FEWEST = 20  # records in such a group


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """The same records before and after a mask, from which every measure is computed.

    Pairs are taken between the records ``rows``; ``order`` is a random order of all records, by which ties between
    neighbours are broken; ``groups`` is the largest number of clusters. ``across`` are released distances from some
    records to the same ones with typing errors, masked under the same key, where the mask can do that. ``numbers`` are
    the columns of numbers before and after, None for one that is left out.
    """

    original: Distances
    released: Distances
    rows: IntArray
    order: IntArray
    groups: int = 20
    across: FloatArray | None = None
    numbers: tuple[tuple[FloatArray, FloatArray | None], ...] = ()

    @cached_property
    def before(self) -> FloatArray:
        """The original distances between ``rows``."""
        return full_matrix(self.original, rows=self.rows)

    @cached_property
    def after(self) -> FloatArray:
        """The released distances between ``rows``."""
        return full_matrix(self.released, rows=self.rows)

    @cached_property
    def pairs(self) -> tuple[FloatArray, FloatArray, float]:
        """Distances published before and after, and the share of the former that is still published."""
        off = ~np.eye(len(self.before), dtype=bool)
        entries = off if self.original.directed or self.released.directed else np.triu(off)
        d, masked = self.before[entries], self.after[entries]
        there = ~np.isnan(d)
        kept = there & ~np.isnan(masked)
        return d[kept], masked[kept], float(kept.sum() / max(int(there.sum()), 1))

    @cached_property
    def deviation(self) -> FloatArray:
        """d - d′ of every pair."""
        return np.asarray(self.pairs[0] - self.pairs[1])

    @cached_property
    def quantiles(self) -> dict[float, float]:
        """Quantiles of d - d′ by probability; empty where there are no pairs."""
        found = np.quantile(self.deviation, PROBABILITIES).tolist() if len(self.deviation) else ()
        return dict(zip(PROBABILITIES, found, strict=False))

    @cached_property
    def shares_kept(self) -> dict[int, FloatArray]:
        """Of each of ``rows`` the share of its k nearest records that are found again, by k; NaN where it has none."""
        shares: dict[int, list[FloatArray]] = {k: [] for k in NEIGHBOURS if k < self.original.size}
        for some in np.array_split(self.rows, -(-len(self.rows) * self.original.size // self.original.sizes.entries)):
            before, after = (_nearest(which, some, self.order) for which in (self.original, self.released))
            for k, found in shares.items():
                there = before[:, :k] >= 0
                again = (before[:, :k, None] == after[:, None, :k]).any(axis=2) & there
                asked = there.sum(axis=1)
                found.append(np.where(asked > 0, again.sum(axis=1) / np.maximum(asked, 1), np.nan))
        return {k: np.concatenate(found) for k, found in shares.items()}

    @cached_property
    def neighbours_kept(self) -> dict[int, float]:
        """Mean share of the k nearest records that are found again, by k; what is not published is not found."""
        asked = {k: shares[~np.isnan(shares)] for k, shares in self.shares_kept.items()}
        return {k: float(shares.mean()) for k, shares in asked.items() if len(shares)}

    @cached_property
    def points(self) -> tuple[Points, Points] | None:
        """Both sides, where they are points of the same space."""
        one, other = self.original.points(), self.released.points()
        return None if one is None or other is None or one.metric != other.metric else (one, other)

    @cached_property
    def moved(self) -> FloatArray | None:
        """How far each point moved, in the unit of the distances."""
        if self.points is None:
            return None
        one, other = self.points
        return paired(one.coordinates, other.coordinates, one.metric)

    @property
    def is_sample(self) -> bool:
        """True if not all records are compared."""
        return len(self.rows) < self.original.size

    def some(self, which: NDArray[np.int64]) -> BeforeAfter:
        """Return some of the records that are compared, with what was found of them already."""
        rows = self.rows[which]
        return _Part(self.original, self.released, rows, self.order, self.groups, whole=self, which=which)


@dataclass(frozen=True, eq=False)
class _Part(BeforeAfter):
    """Some of the records that are compared: ``which`` of the ``whole`` sample."""

    whole: BeforeAfter = field(kw_only=True)
    which: NDArray[np.int64] = field(kw_only=True)

    @cached_property
    def before(self) -> FloatArray:
        """Distances before, of these records."""
        return self.whole.before[np.ix_(self.which, self.which)]

    @cached_property
    def after(self) -> FloatArray:
        """Distances after, of these records."""
        return self.whole.after[np.ix_(self.which, self.which)]

    @cached_property
    def shares_kept(self) -> dict[int, FloatArray]:
        """Shares of neighbours kept, of these records."""
        return {k: shares[self.which] for k, shares in self.whole.shares_kept.items()}


def estimate_errors(
    found: BeforeAfter,
    computes: Mapping[str, Callable[[BeforeAfter], float | None]],
    rng: np.random.Generator,
) -> dict[str, float | None]:
    """Return the standard error of what is computed on a sample, as an estimate of what all records would give.

    The sample is divided at random into groups, and the spread of what these give says how much it matters who is in
    the sample (random groups; Wolter 2007, Introduction to Variance Estimation, chapter 2); of records drawn without
    putting them back the larger the share, the less. None where a group is too small or has no such value.
    """
    errors: dict[str, float | None] = dict.fromkeys(computes)
    groups = min(GROUPS, len(found.rows) // FEWEST)
    if groups < 2:
        return errors
    parts = [found.some(part) for part in np.array_split(rng.permutation(len(found.rows)), groups)]
    left = 1 - len(found.rows) / found.original.size
    for name, compute in computes.items():
        values = [value for value in map(compute, parts) if value is not None]
        if len(values) == groups:
            errors[name] = float(np.std(values, ddof=1) * np.sqrt(left / groups))
    return errors


def _nearest(distances: Distances, rows: IntArray, columns: IntArray) -> NDArray[np.int64]:
    """Return the nearest records of each of ``rows`` in order, -1 where no further distance is published."""
    block = np.array(distances.block(rows, columns))
    block[np.isnan(block) | (rows[:, None] == columns[None, :])] = np.inf
    wanted = min(max(NEIGHBOURS), len(columns))
    some = np.argpartition(block, wanted - 1, axis=1)[:, :wanted]
    order = np.take_along_axis(some, np.argsort(np.take_along_axis(block, some, axis=1), axis=1, kind="stable"), axis=1)
    return np.where(np.isinf(np.take_along_axis(block, order, axis=1)), -1, columns[order])


def cluster(matrix: FloatArray) -> FloatArray:
    """Return average linkage; an unpublished distance is replaced by the shortest way over published ones."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    values = _complete_matrix(matrix) if np.isnan(matrix).any() else np.array(matrix)
    values = (values + values.T) / 2
    np.fill_diagonal(values, 0.0)
    return np.asarray(linkage(squareform(values, checks=False), method="average"))


def _complete_matrix(values: FloatArray) -> FloatArray:
    """Return the matrix with shortest ways for what is missing, and twice the longest way between separate parts."""
    from scipy.sparse.csgraph import csgraph_from_dense, shortest_path

    graph = csgraph_from_dense(values, null_value=np.nan, nan_null=True)
    ways = shortest_path(graph, directed=True)
    finite = np.isfinite(ways)
    ways[~finite] = 2 * ways[finite].max(initial=1.0)
    return np.where(np.isnan(values), ways, values)
