"""Which method rebuilds the map of a release: landmark columns, a fit to all distances, or to the published ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.attacks.register.incomplete import rebuild_from_incomplete
from disclique.attacks.register.least_squares import rebuild_from_noisy
from disclique.attacks.register.maps import (
    TargetMap,
    choose_landmarks,
    measure_distances,
    rebuild_from_landmarks,
    refuse_directed,
)
from disclique.errors import InputError
from disclique.model import Distances, FloatArray, IntArray

EXACT = 1e-6  # of the spread of the distances: a misfit that is rounding of floating point numbers
EMBEDDABLE = 0.7  # share of the variance of the distances that a map must explain
CAPPED = 0.01  # share of equal largest values from which on they are a cap, not distances
SHORT = 12  # neighbours kept of a complete matrix when only small distances are trusted


def rebuild_map(target: Distances, radius: float, noise: float | None) -> TargetMap:
    """Rebuild the map of a release of all distances, or nearly all.

    Without noise on the distances themselves a few landmark columns determine it; with it all distances are used.
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
    target_map = rebuild_from_noisy(target, radius, noise=noise or None)
    _check_embeddable(target_map.misfit, spread, noise, radius)
    return target_map


def rebuild_from_short(target: Distances, radius: float, noise: float | None) -> TargetMap:
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
class ShortDistances:
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
