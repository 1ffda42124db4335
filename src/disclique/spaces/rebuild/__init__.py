"""Which method rebuilds the map of a release: landmark columns, a fit to all distances, or to the published ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.errors import InputError
from disclique.spaces.base import Distances
from disclique.spaces.rebuild.incomplete import rebuild_from_incomplete
from disclique.spaces.rebuild.landmarks import (
    TargetMap,
    choose_landmarks,
    measure_distances,
    rebuild_from_landmarks,
    refuse_directed,
)
from disclique.spaces.rebuild.least_squares import rebuild_from_noisy
from disclique.spaces.rebuild.relative import rebuild_from_relative
from disclique.values import FloatArray, IntArray

EXACT = 1e-6  # of the spread of the distances: a misfit that is rounding of floating point numbers
EMBEDDABLE = 0.7  # share of the variance of the distances that a map must explain
ROUGH = 0.02  # of the spread: a misfit from which on it matters what kind of noise there is
TINY = 1e-6  # of the mean distance
BETTER = 0.02  # log likelihood per distance by which a factor must explain the release better
RELATED = 0.3  # share of the variance of the logarithms that the map must explain
CAPPED = 0.01  # share of equal largest values from which on they are a cap, not distances
SHORT = 12  # neighbours kept of a complete matrix when only small distances are trusted


def rebuild_map(target: Distances, radius: float, noise: float | None, relative: float | None = None) -> TargetMap:
    """Rebuild the map of a release of all distances, or nearly all.

    Without noise on the distances themselves a few landmark columns determine it; with it all distances are used. The
    standard deviation of the noise is ``noise``, or ``relative`` that of the logarithm of a factor. Where neither is
    known, the fit that explains the release better is taken.
    """
    refuse_directed(target)
    block, marks = _read_landmark_columns(target)
    if np.isnan(block).any():
        return rebuild_from_incomplete(target, radius, noise=noise or 0.0)
    positions = rebuild_from_landmarks(block, marks.astype(np.int64), radius)
    misfit = float(np.sqrt(np.mean((measure_distances(positions, positions[marks], radius) - block) ** 2)))
    spread = float(block.std())
    if noise == 0 and misfit <= EXACT * spread:
        return TargetMap(positions, np.zeros(target.size), misfit)
    if relative:
        return rebuild_from_relative(target, radius, noise=relative)
    target_map = rebuild_from_noisy(target, radius, noise=noise or None)
    if not noise and misfit > ROUGH * spread:
        better = _try_relative(target, radius, target_map, (block, marks))
        if better is not None:
            return better
    _check_embeddable(target_map.misfit, spread, noise, radius)
    return target_map


def _try_relative(
    target: Distances, radius: float, additive: TargetMap, sample: tuple[FloatArray, IntArray]
) -> TargetMap | None:
    """Return the map under a random factor on each distance, if that explains the release better than an additive one.

    Both laws are held to the same sample of distances; a factor must leave the map something to explain.
    """
    block, marks = sample
    tried = rebuild_from_relative(target, radius, noise=None)
    use = (block > 0) & (np.arange(target.size)[:, None] != marks[None, :])
    published = block[use]
    drawn = [
        np.maximum(measure_distances(one.positions, one.positions[marks], radius)[use], TINY * float(published.mean()))
        for one in (additive, tried)
    ]
    sd, off = float((published - drawn[0]).std()), np.log(published / drawn[1])
    gain = np.log(max(sd, 1e-300)) - np.log(max(float(off.std()), 1e-300)) - float(np.log(published).mean())
    explained = 1 - float(off.var()) / max(float(np.log(published).var()), 1e-300)
    return tried if gain > BETTER and explained > RELATED else None


def rebuild_from_short(
    target: Distances, radius: float, noise: float | None, relative: float | None = None
) -> TargetMap:
    """Rebuild the map of a release of which only the small distances are distances."""
    refuse_directed(target)
    block, _ = _read_landmark_columns(target)
    if not np.isnan(block).any():
        cap = float(block.max(initial=0.0))
        capped = np.mean(block == cap) > CAPPED and cap > 0
        target = ShortDistances(target, np.full(target.size, cap) if capped else _find_neighbour_reach(target))
    return rebuild_from_incomplete(target, radius, noise=noise or 0.0)


def _read_landmark_columns(target: Distances) -> tuple[FloatArray, IntArray]:
    """Return the distances of every record to landmark records, and those records."""
    n = target.size
    marks = choose_landmarks(n).astype(np.int32)
    return target.block(np.arange(n, dtype=np.int32), marks), marks


def _check_embeddable(misfit: float, spread: float, noise: float | None, radius: float) -> None:
    explained = 1 - (misfit / spread) ** 2 if spread > 0 else 1.0
    if explained < EMBEDDABLE and not (noise and misfit < 2 * noise):
        where = "the sphere" if radius else "the plane"
        raise InputError(
            f"the target's distances fit no map on {where}: the best one found explains {max(explained, 0):.0%} of "
            "their variation; registration does not apply, the clique and extend attacks do"
        )


@dataclass(frozen=True, eq=False)
class ShortDistances(Distances):
    """A release without the distances that are not below the reach of either record."""

    whole: Distances
    reach: FloatArray  # (n,)

    @property
    def size(self) -> int:
        """Number of records."""
        return self.whole.size

    @property
    def directed(self) -> bool:
        """True if the distance from i to j may differ from the one from j to i."""
        return self.whole.directed

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``, NaN where they are left out."""
        found = np.array(self.whole.block(rows, columns), dtype=float)
        found[found >= np.maximum(self.reach[rows][:, None], self.reach[columns][None, :])] = np.nan
        return found


def _find_neighbour_reach(target: Distances) -> FloatArray:
    """Return how far the nearest neighbours of each record lie, whose distances may be trusted."""
    n = target.size
    if n <= SHORT + 1:
        return np.full(n, np.inf)
    columns, found = np.arange(n, dtype=np.int32), np.zeros(n)
    step = max(4_000_000 // n, 1)
    for first in range(0, n, step):
        rows = columns[first : first + step]
        found[rows] = np.partition(target.block(rows, columns), SHORT + 1, axis=1)[:, SHORT + 1]
    return found
