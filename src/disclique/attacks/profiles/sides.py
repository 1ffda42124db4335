"""The two files as the attack sees them: single-precision distances on one scale.

By Kerckhoffs' principle the snooper knows the mask, so they mask their own file with it, several times: the mean of the
draws is what the release of a known record should look like, and their spread is the law of its errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from disclique.attacks.profiles.evidence import F4, Ints
from disclique.errors import DiscliqueError
from disclique.masks import Mask
from disclique.spaces import matrix_like, spaced
from disclique.spaces.base import Distances


@dataclass(frozen=True)
class Sampling:
    """How much of each file is held, and how it is made comparable."""

    whole: int = 6000  # records up to which all distances of a file are held at once
    landmarks: int = 2500  # records to which distances are held in a larger file
    draws: int = 5  # times the snooper masks their own file
    paths_at_once: int = 50  # records from which shortest paths are sought: nothing else is heard of meanwhile
    sparse: float = 0.2  # published share below which gaps are filled by shortest paths
    proportion: float = 1e7  # of the largest distance to the smallest from which on logarithms are compared
    smallest: float = 1e-300  # distance whose logarithm counts as 0
    single: float = 1e-6  # of the largest direction of a file: smaller ones are the rounding of single precision
    same_scale: float = 0.2  # relative difference of location and spread up to which two files are on one scale


@dataclass(frozen=True, eq=False)
class Side:
    """One file: its distances in one or several draws, and those to its landmarks, complete and symmetric.

    ``draws`` are held as arrays where the file is small enough. ``expected`` is what a release shows on the mean, if
    that is known; else it is the mean of all draws but the first ``spared``, which are left for trials.
    """

    draws: tuple[F4 | Distances, ...]
    landmarks: Ints
    directed: bool
    expected: F4 | None = None
    exact: bool = False  # what is expected is known, not the mean of some draws
    curve: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None  # bends the scale to that of the other file
    sampling: Sampling = Sampling()
    true: F4 | None = None  # distances before the mask, where the draws are the snooper's own
    spared: int = 1

    @property
    def size(self) -> int:
        """Number of records."""
        first = self.draws[0]
        return len(first) if isinstance(first, np.ndarray) else first.size

    def near(self, draw: int | None) -> F4:
        """Return the distances of every record to the landmarks, as expected or in one draw, without gaps."""
        found = self._bent(self._shown(self.landmarks, draw))
        if self.directed:
            width = len(self.landmarks)
            found = np.asarray((found[:, :width] + found[:, width:]) / 2, np.float32)
        return _without_gaps(found, self.landmarks, self.sampling)

    def profiles(self, anchors: Ints, draw: int | None = None) -> F4:
        """Return distances of every record to the anchors (both ways if directed), as expected or in one draw.

        NaN is a distance that is not published, or that of a record to itself.
        """
        found = self._shown(anchors, draw)
        for begin in range(0, found.shape[1], len(anchors)):
            found[anchors, begin + np.arange(len(anchors))] = np.nan
        return self._bent(found)

    def part(self, rows: Ints) -> Side:
        """Return some of the records of a file that is held as a whole."""

        def some(held: F4 | Distances | None) -> F4:
            assert isinstance(held, np.ndarray)
            return np.asarray(held[np.ix_(rows, rows)])

        expected, true = (None if one is None else some(one) for one in (self.expected, self.true))
        draws = tuple(map(some, self.draws))
        return replace(self, draws=draws, landmarks=np.arange(len(rows)), expected=expected, true=true)

    def _shown(self, columns: Ints, draw: int | None) -> F4:
        if draw is not None:
            return _columns(self.draws[draw], columns, self.directed)
        if self.expected is not None:
            return _columns(self.expected, columns, self.directed)
        return _mean([_columns(source, columns, self.directed) for source in self.draws[self.spared :] or self.draws])

    def _bent(self, found: F4) -> F4:
        return found if self.curve is None else np.interp(found, *self.curve).astype(np.float32)


def _mean(parts: list[F4]) -> F4:
    """Return the mean of the draws, of those that are published."""
    said = sum((~np.isnan(part) for part in parts), np.zeros(parts[0].shape, np.int32))
    total = sum((np.nan_to_num(part) for part in parts), np.zeros(parts[0].shape, np.float32))
    return np.where(said > 0, total / np.maximum(said, 1), np.nan).astype(np.float32)


def _columns(source: F4 | Distances, chosen: Ints, directed: bool) -> F4:
    if isinstance(source, np.ndarray):
        held = source[:, chosen]
        return np.asarray(np.hstack([held, source[chosen].T]) if directed else held, np.float32)
    every, some = np.arange(source.size, dtype=np.int32), chosen.astype(np.int32)
    near = _block(source, every, some)
    return np.hstack([near, _block(source, some, every).T]) if directed else near


def _block(source: Distances, rows: NDArray[np.int32], columns: NDArray[np.int32]) -> F4:
    step = max(1, 20_000_000 // max(len(columns), 1))
    parts = [source.block(rows[k : k + step], columns).astype(np.float32) for k in range(0, len(rows), step)]
    return np.concatenate(parts)


def _without_gaps(near: F4, landmarks: Ints, sampling: Sampling) -> F4:
    """Fill what is not published: by the shortest way over what is, or by the means of both records."""
    gaps = np.isnan(near)
    near[landmarks, np.arange(len(landmarks))] = 0.0
    gaps[landmarks, np.arange(len(landmarks))] = False
    if not gaps.any():
        return near
    if gaps.mean() > 1 - sampling.sparse and len(landmarks) == len(near):
        graph = csr_matrix(np.where(gaps, 0.0, near))
        parts = np.array_split(np.arange(len(near)), -(-len(near) // sampling.paths_at_once))
        ways = np.concatenate([dijkstra(graph, directed=False, indices=part) for part in parts])
        reached = np.isfinite(ways)
        ways[~reached] = 1.5 * ways[reached].max(initial=1.0)
        return np.asarray(ways, np.float32)
    with np.errstate(invalid="ignore"):
        said = ~gaps
        filled = np.where(gaps, 0.0, near)
        middle = filled.sum() / max(said.sum(), 1)
        rows = filled.sum(axis=1) / np.maximum(said.sum(axis=1), 1)
        columns = filled.sum(axis=0) / np.maximum(said.sum(axis=0), 1)
    guess = np.maximum(rows[:, None] + columns[None] - middle, 0.0)
    return np.where(gaps, guess, near).astype(np.float32)


def both_sides(
    target: Distances, known: Distances, mask: Mask | None, rng: np.random.Generator, sampling: Sampling
) -> tuple[Side, Side]:
    """Return both files, the known one as the mask would show it; without a mask the target's scale is bent to it."""
    directed = target.directed or known.directed

    def take(*draws: Distances) -> Side:
        size = draws[0].size
        if size <= sampling.whole:
            return Side(tuple(map(_held, draws)), np.arange(size), directed, sampling=sampling)
        return Side(draws, np.sort(rng.choice(size, sampling.landmarks, replace=False)), directed, sampling=sampling)

    draws = _masked(known, mask, rng, sampling)
    tamed = [_tamed(one, sampling) for one in (target, *draws)]
    if any(one is not other for one, other in zip(tamed, (target, *draws), strict=True)):
        logarithms = replace(sampling, proportion=0.0)
        target, *shown = (_tamed(one, logarithms) for one in (target, *draws))
        draws = tuple(shown)
    theirs = take(target)
    if draws:
        ours = take(*draws)
        if known.size <= sampling.whole:
            ours = replace(ours, true=_held(known))
        expected = _expected(known, mask, ours.draws) if known.size <= sampling.whole else None
        if expected is None and known.size <= sampling.whole:
            mean = _mean([draw for draw in ours.draws[1:] if isinstance(draw, np.ndarray)])
            return theirs, replace(ours, expected=mean)
        return theirs, replace(ours, expected=expected, exact=expected is not None)
    ours = take(known)
    return replace(theirs, curve=_curve(theirs, ours)), ours


def _held(source: Distances) -> F4:
    every = np.arange(source.size, dtype=np.int32)
    return _block(source, every, every)


def _tamed(source: Distances, sampling: Sampling) -> Distances:
    """Return distances of which the largest is not out of all proportion to the smallest: else their logarithms.

    A strong random factor makes them so. Zero stays zero, which no factor changes.
    """
    if source.size > sampling.whole:
        return source
    every = np.arange(source.size, dtype=np.int32)
    values = source.block(every, every)
    there = values[values > 0]
    if not len(there) or there.max() <= sampling.proportion * there.min():
        return source
    with np.errstate(divide="ignore"):
        logs = np.log(values) - np.log(sampling.smallest)
    return matrix_like(np.where(values > 0, np.maximum(logs, 1.0), values), source)


def _masked(known: Distances, mask: Mask | None, rng: np.random.Generator, sampling: Sampling) -> tuple[Distances, ...]:
    """Return draws of the snooper's file under the mask, none where it is not known or does not fit that file."""
    if mask is None or (known.size > sampling.whole and mask.on == "distances"):  # it would form the whole matrix
        return ()
    try:
        return tuple(mask.apply(known, rng) for _ in range(sampling.draws if known.size <= sampling.whole / 2 else 3))
    except DiscliqueError:
        return ()  # the snooper's file is of another kind than the holder's


def _expected(known: Distances, mask: Mask | None, draws: tuple[F4 | Distances, ...]) -> F4 | None:
    """Return the mean of what the mask makes of each distance, where that depends on the distance alone.

    What no draw publishes is expected to be as it is.
    """
    if mask is None or mask.on == "text":
        return None
    true = _held(known)
    if mask.scope == "file":
        mean = _mean([draw for draw in draws[1:] if isinstance(draw, np.ndarray)])
        return np.where(np.isnan(mean), true, mean).astype(np.float32) if np.isnan(mean).any() else None
    before = np.concatenate([true.ravel()] * len(draws))
    after = np.concatenate([draw.ravel() for draw in draws if isinstance(draw, np.ndarray)])
    said = ~(np.isnan(before) | np.isnan(after)) & (before > 0)
    before, after = before[said], after[said]
    bins = np.unique(np.quantile(before, np.linspace(0, 1, 201)))
    place = np.clip(np.searchsorted(bins, before, side="right") - 1, 0, len(bins) - 2)
    count = np.maximum(np.bincount(place, minlength=len(bins) - 1), 1)
    middle = np.bincount(place, weights=before, minlength=len(bins) - 1) / count
    shift = np.bincount(place, weights=after - before, minlength=len(bins) - 1) / count
    return np.asarray(true + np.interp(true, middle, shift), np.float32)


def _curve(target: Side, known: Side) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return how the target's distances are bent to the known file's: quantile by quantile, where the scales differ."""
    grid = np.linspace(0, 1, 101)
    quantiles = []
    for side in (target, known):
        found = side.near(0)
        found = found[spaced(len(found), 1000)]
        quantiles.append(np.quantile(found[found > 0], grid) if (found > 0).any() else grid * 0.0)
    mine, theirs = quantiles
    spread = [q[75] - q[25] for q in quantiles]
    middle = max(abs(theirs[50]), 1e-12)
    alike = target.sampling.same_scale
    if abs(mine[50] - theirs[50]) <= alike * middle and abs(spread[0] - spread[1]) <= alike * max(spread[1], 1e-12):
        return None
    rising = np.concatenate([[True], np.diff(mine) > 0])
    return np.concatenate([[0.0], mine[rising]]), np.concatenate([[0.0], theirs[rising]])
