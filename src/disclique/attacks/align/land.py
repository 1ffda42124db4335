"""From rough motions to those under which the map fits the settled land, ever finer.

Among millions of known records single people tell nothing of a motion that is kilometres off: too many of the same
label are near. Towns and villages do, if the density is looked at closely: the likelihood of the targets as draws from
it is climbed in cells half as wide each time. It needs no common record, and tells a motion to a small part of the
width of a village.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

from disclique.attacks.align.density import FLOOR, SMOOTH, TEMPER, SettlementDensity
from disclique.model import FloatArray
from disclique.spaces.positions import KnownMap, Motion, find_east_north, follow_step

MOST_CELLS = 3000  # on a side of the finest grid
CROWD = 4.0  # known records in a cell that is settled as on average: fewer would be noise
STEPS = 200  # looks at the density for one motion and one grid
AWAY, DIRECTIONS = (16.0, 24.0, 32.0), 8  # cells away, and ways to go: motions that are wrong for certain
FIRM = 8.0  # standard deviations beyond these: the best of all wrong motions nearby would be at four or so
LEAST_BEND = 0.05  # log likelihood per square cell
SAME = 2.0  # cells: motions that lie nearer to each other are one


class Landing(NamedTuple):
    """A motion that fits the land, how well it does, and to which width it was fitted.

    ``score`` is by how many standard deviations it fits better than motions that lay the map some cells away, which are
    as good by chance; ``curvature`` is that of the likelihood over small motions.
    """

    motion: Motion
    likelihood: float
    width: float
    score: float
    curvature: FloatArray  # (3, 3)

    @property
    def clear(self) -> bool:
        """True if it cannot be chance that the map lies so."""
        return self.score > FIRM

    @property
    def evidence(self) -> float:
        """The log odds that it lies so rather than some cells away, about."""
        return TEMPER * self.score * abs(self.score) / 2


def fit_land(
    density: SettlementDensity, motions: list[Motion], positions: FloatArray, *, finest: float
) -> list[Landing]:
    """Fit motions to the density of the known records in ever finer cells, not finer than ``finest``; best first."""
    known_map = density.known_map
    points = density.projection.project(known_map.positions)
    grid, landed = density, list(motions)
    while True:
        landed = [_climb(grid, motion, positions) for motion in landed]
        landed = _leave_twins(grid, landed, positions)
        cell = grid.cell / 2
        settled = len(np.unique(np.floor(points / cell).astype(np.int64) @ np.array([1 << 32, 1])))
        wide = int(np.ceil(2 * grid.span))
        if cell < finest or wide > MOST_CELLS or len(points) < CROWD * settled:
            break
        grid = _grid(density, points, cell, wide)
    found = [_assess(grid, motion, positions) for motion in landed]
    return sorted(found, key=lambda one: -one.likelihood)


def _grid(density: SettlementDensity, points: FloatArray, cell: float, wide: int) -> SettlementDensity:
    """Return the density in other cells; the grid has a margin of some cells, and is as low beyond it."""
    margin = 8
    size = wide + 2 * margin
    at = np.floor((points - density.low) / cell).astype(np.int64)
    inside = ((at >= -margin) & (at < wide + margin)).all(axis=1)
    at = at[inside] % size  # it wraps around, as that of the whole file does
    counts = np.bincount(at[:, 0] * size + at[:, 1], minlength=size * size).reshape(size, size).astype(np.float32)
    counts = gaussian_filter(counts, SMOOTH, mode="wrap")
    logs = np.log(counts + FLOOR * float(counts.sum()) / wide**2)
    return SettlementDensity(density.known_map, density.projection, density.low, cell, wide, logs)


def _climb(grid: SettlementDensity, motion: Motion, positions: FloatArray) -> Motion:
    """Return the best motion near ``motion``: no slopes are needed where there are three numbers to find."""
    around = _Around(grid, motion, positions)

    def miss(numbers: FloatArray) -> float:
        return -around.look(numbers)

    start = np.vstack((np.zeros(3), np.eye(3))) * 2.0
    how = {"initial_simplex": start - start.mean(axis=0), "maxfev": STEPS, "xatol": 0.02, "fatol": 0.05}
    found = minimize(miss, np.zeros(3), method="Nelder-Mead", options=how)
    return around.move(found.x) if found.fun < miss(np.zeros(3)) else motion


class _Around:
    """Motions around one, told by three numbers, each of about a cell."""

    def __init__(self, grid: SettlementDensity, motion: Motion, positions: FloatArray) -> None:
        here = motion(positions)
        self.grid, self.motion, self.positions, self.pivot = grid, motion, positions, here.mean(axis=0)
        arm = max(float(np.sqrt(((here - self.pivot) ** 2).sum(axis=1).mean())), 1e-12)
        self.basis = _small_motions(grid.known_map, self.pivot, arm, grid.cell)

    def move(self, numbers: FloatArray) -> Motion:
        return follow_step(self.motion, self.basis @ numbers, self.pivot, self.grid.known_map.flat)

    def look(self, numbers: FloatArray) -> float:
        return self.grid.log_likelihood(self.move(numbers)(self.positions))


def _assess(grid: SettlementDensity, motion: Motion, positions: FloatArray) -> Landing:
    """Return how well a motion fits the land, beside others that lay the map some cells away."""
    around, best = _Around(grid, motion, positions), grid.log_likelihood(motion(positions))
    turn = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    away = np.array(
        [
            [
                around.look(np.array([spin * cells, cells * np.cos(one), cells * np.sin(one)]))
                for spin in (-0.5, 0.0, 0.5)
                for one in turn
            ]
            for cells in AWAY
        ]
    )
    chance = float(np.sqrt(away.var(axis=1).mean()))  # at one distance: with the distance the fit gets worse
    score = (best - float(away.mean())) / max(chance, 1e-9 * max(abs(best), 1.0))
    step, eye = 1.0, np.eye(3)
    bends = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            ends = [around.look(step * (a * eye[i] + b * eye[j])) for a in (1, -1) for b in (1, -1)]
            bends[i, j] = -(ends[0] - ends[1] - ends[2] + ends[3]) / (4 * step**2)
    values, axes = np.linalg.eigh((bends + bends.T) / 2)
    bends = axes @ np.diag(np.maximum(values, LEAST_BEND)) @ axes.T  # a flat direction is one that is not known
    back = np.linalg.inv(around.basis)
    return Landing(motion, best, grid.cell, score, back.T @ bends @ back)


def _small_motions(known_map: KnownMap, pivot: FloatArray, arm: float, cell: float) -> FloatArray:
    """Return small motions, in columns, that move the targets by about a cell: a turn on the spot, east and north."""
    if known_map.flat:
        return np.diag([cell / arm, cell, cell])
    up = pivot / max(float(np.linalg.norm(pivot)), 1e-300)
    east, north = find_east_north(known_map, pivot)
    reach = cell / known_map.radius
    return np.stack((up * cell / arm, north * reach, -east * reach), axis=1)


def _leave_twins(grid: SettlementDensity, motions: list[Motion], positions: FloatArray) -> list[Motion]:
    """Return the motions without those that lay the map at the same place as one before."""
    kept: list[Motion] = []
    few = positions[:: max(len(positions) // 200, 1)]
    for motion in motions:
        gaps = [np.sqrt(((motion(few) - one(few)) ** 2).sum(axis=1).mean()) for one in kept]
        if all(gap > SAME * grid.cell for gap in gaps):
            kept.append(motion)
    return kept
