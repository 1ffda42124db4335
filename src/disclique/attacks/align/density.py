"""Rough motions from the density of settled places, and how well a motion lays the map on it.

Two files from one population are dense in the same places, whether they share a record or not. The histogram of the
targets, turned and mirrored in steps, is correlated with the log of the smoothed density of the known records.

Among millions of known records single people tell nothing of a motion that is kilometres off: too many of the same
label are near. Towns and villages do, if the density is looked at closely: the likelihood of the targets as draws from
it is climbed in cells half as wide each time. It needs no common record, and tells a motion to a small part of the
width of a village.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.optimize import minimize

from disclique.attacks.thresholds import Aligning
from disclique.spaces.positions import KnownMap, Motion, find_east_north, follow_step
from disclique.values import FloatArray


@dataclass(frozen=True, eq=False)
class MapProjection:
    """An azimuthal projection: a flat map around a centre that keeps distance and direction from it."""

    centre: FloatArray
    axes: FloatArray  # (2, 3)
    radius: float

    def project(self, positions: FloatArray) -> FloatArray:
        """Return coordinates on the flat map, shape (n, 2)."""
        if self.radius == 0:
            return np.asarray((positions - self.centre) @ self.axes.T)
        flat = positions @ self.axes.T
        sine = np.linalg.norm(flat, axis=1)
        angle = np.arctan2(sine, positions @ self.centre / self.radius)
        return np.asarray(flat * (self.radius * angle / np.maximum(sine, 1e-300))[:, None])

    def unproject(self, point: FloatArray) -> FloatArray:
        """Return the position in space of a point of the flat map."""
        offset, away = point @ self.axes, float(np.linalg.norm(point))
        if self.radius == 0 or away == 0:
            return np.asarray(self.centre + offset)
        angle = away / self.radius
        return np.asarray(np.cos(angle) * self.centre + self.radius * np.sin(angle) * offset / away)


def centre_projection(known_map: KnownMap, positions: FloatArray) -> MapProjection:
    """Return the projection around the middle of positions."""
    centre, radius = positions.mean(axis=0), known_map.radius
    norm = float(np.linalg.norm(centre))
    if not known_map.flat:
        centre = centre * (radius / norm) if norm > 1e-9 * radius else np.array([radius, 0.0, 0.0])
    return MapProjection(centre, find_east_north(known_map, centre), radius)


@dataclass(frozen=True, eq=False)
class SettlementDensity:
    """The density of the known records on a flat map: log of the smoothed counts in square cells."""

    known_map: KnownMap
    projection: MapProjection
    low: FloatArray  # projected corner of the first cell
    cell: float
    span: int  # cells across
    log_density: FloatArray  # (size, size), wraps around
    how: Aligning

    def log_likelihood(self, positions: FloatArray) -> float:
        """Return the log likelihood of records at ``positions`` as draws from this density, tempered."""
        at = (self.projection.project(positions) - self.low) / self.cell - 0.5
        inside = np.clip(at, -1.0, self.span)
        return self.how.temper * float(map_coordinates(self.log_density, inside.T, order=1, mode="grid-wrap").sum())


def estimate_density(known_map: KnownMap, reach: float, how: Aligning) -> SettlementDensity | None:
    """Estimate the density of the known records; None if all are at one place.

    The grid has a margin for a map that extends ``reach`` from its middle.
    """
    projection = centre_projection(known_map, known_map.positions)
    points = projection.project(known_map.positions)
    low, high = np.percentile(points, [0.5, 99.5], axis=0)
    cells, cell = how.cells, float((high - low).max()) / how.cells
    if not cell > 0:
        return None
    margin = min(int(np.ceil(reach / cell)) + 2, 2 * cells)
    size = fft.next_fast_len(cells + 2 * margin, real=True)
    counts = gaussian_filter(_count_cells((points - low) / cell, size).astype(float), how.smooth_cells, mode="wrap")
    logs = np.log(counts + how.floor_share * counts.sum() / cells**2)
    return SettlementDensity(known_map, projection, low, cell, cells, logs, how)


@dataclass(frozen=True, eq=False)
class MotionPrior:
    """The prior density of motions, per solid angle (or area) and angle.

    Half of the probability goes to any place among the known records, half to places as densely settled as the map
    says, which holds if both files are drawn from one population and not if the target is one region's.
    """

    volume: float  # all motions: mirror, angle, place
    density: SettlementDensity | None = None
    integral: float = 0.0

    def log_density(self, positions: FloatArray) -> float:
        """Return the log of the prior density at the motion that has laid the map at ``positions``."""
        anywhere = -np.log(self.volume)
        if self.density is None:
            return float(anywhere)
        return float(np.logaddexp(anywhere, self.density.log_likelihood(positions) - self.integral) - np.log(2))


def align_densities(density: SettlementDensity, positions: FloatArray, *, kept: int) -> tuple[list[Motion], float]:
    """Return the ``kept`` best motions, best first, and the log of the integral of the tempered likelihood.

    Motions are measured by solid angle (or area) times angle.
    """
    own = centre_projection(density.known_map, positions)
    flat = own.project(positions)
    size, angles, temper = len(density.log_density), density.how.angles, density.how.temper
    spectrum = fft.rfft2(density.log_density.astype(np.float32))
    found = []
    for mirror in (1.0, -1.0):
        for k in range(angles):
            turn = _turn_plane(2 * np.pi * k / angles, mirror)
            counts = fft.rfft2(_count_cells(flat @ turn.T / density.cell, size).astype(np.float32))
            score = temper * fft.irfft2(spectrum * np.conj(counts), s=(size, size))
            best = int(np.argmax(score))
            mass = float(np.exp(np.maximum(score - score.flat[best], -60)).sum())
            found.append((float(score.flat[best]), mass, k, mirror, best))
    tops, masses = np.array([one[0] for one in found]), np.array([one[1] for one in found])
    volume = (density.cell / (density.known_map.radius or 1.0)) ** 2 * 2 * np.pi / angles
    integral = float(tops.max() + np.log((np.exp(tops - tops.max()) * masses).sum() * volume))
    chosen: list[Motion] = []
    taken: list[tuple[int, float]] = []
    for _, _, k, mirror, best in sorted(found, key=lambda one: -one[0]):
        if all(m != mirror or min((k - j) % angles, (j - k) % angles) > 2 for j, m in taken):
            taken.append((k, mirror))
            chosen.append(_place_in_cell(density, own, best, _turn_plane(2 * np.pi * k / angles, mirror)))
        if len(chosen) == kept:
            break
    return chosen, integral


def _turn_plane(angle: float, mirror: float) -> FloatArray:
    return np.array([[np.cos(angle), -mirror * np.sin(angle)], [np.sin(angle), mirror * np.cos(angle)]])


def _count_cells(points: FloatArray, size: int) -> NDArray[np.int64]:
    """Return counts in unit cells that wrap around after ``size``."""
    at = np.floor(points).astype(np.int64) % size
    return np.bincount(at[:, 0] * size + at[:, 1], minlength=size * size).reshape(size, size)


def _place_in_cell(density: SettlementDensity, own: MapProjection, best: int, turn: FloatArray) -> Motion:
    """Return the motion of space that puts the map's middle into a cell of the grid, turned by ``turn``."""
    size = len(density.log_density)
    shift = np.array(np.unravel_index(best, (size, size)), float)
    shift -= size * (shift > (size + density.span) / 2)
    place = density.low + shift * density.cell
    there = density.projection.unproject(place)
    if density.known_map.flat:
        space = np.eye(3)
        space[:2, :2] = turn
        return Motion(space, there - space @ own.centre)
    up = there / density.known_map.radius
    east = density.projection.unproject(place + np.array([1e-4 * density.known_map.radius, 0.0])) - there
    east -= (east @ up) * up
    east /= np.linalg.norm(east)
    to = np.vstack((up, turn.T @ np.stack((east, np.cross(up, east)))))
    source = np.vstack((own.centre / density.known_map.radius, own.axes))
    return Motion(to.T @ source, np.zeros(3))


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
    how: Aligning

    @property
    def clear(self) -> bool:
        """True if it cannot be chance that the map lies so."""
        return self.score > self.how.firm_sd

    @property
    def evidence(self) -> float:
        """The log odds that it lies so rather than some cells away, about."""
        return self.how.temper * self.score * abs(self.score) / 2


def fit_land(
    density: SettlementDensity, motions: list[Motion], positions: FloatArray, *, finest: float
) -> list[Landing]:
    """Fit motions to the density of the known records in ever finer cells, not finer than ``finest``; best first."""
    how, points = density.how, density.projection.project(density.known_map.positions)
    grid, landed = density, list(motions)
    while True:
        landed = [_climb(grid, motion, positions) for motion in landed]
        landed = _leave_twins(grid, landed, positions)
        cell = grid.cell / 2
        settled = len(np.unique(np.floor(points / cell).astype(np.int64) @ np.array([1 << 32, 1])))
        wide = int(np.ceil(2 * grid.span))
        if cell < finest or wide > how.most_cells or len(points) < how.cell_people * settled:
            break
        grid = _grid(density, points, cell, wide)
    found = [_assess(grid, motion, positions) for motion in landed]
    return sorted(found, key=lambda one: -one.likelihood)


def _grid(density: SettlementDensity, points: FloatArray, cell: float, wide: int) -> SettlementDensity:
    """Return the density in other cells; the grid has a margin of some cells, and is as low beyond it."""
    margin, how = 8, density.how
    size = wide + 2 * margin
    at = np.floor((points - density.low) / cell).astype(np.int64)
    inside = ((at >= -margin) & (at < wide + margin)).all(axis=1)
    at = at[inside] % size  # it wraps around, as that of the whole file does
    counts = np.bincount(at[:, 0] * size + at[:, 1], minlength=size * size).reshape(size, size).astype(np.float32)
    counts = gaussian_filter(counts, how.smooth_cells, mode="wrap")
    logs = np.log(counts + how.floor_share * float(counts.sum()) / wide**2)
    return SettlementDensity(density.known_map, density.projection, density.low, cell, wide, logs, how)


def _climb(grid: SettlementDensity, motion: Motion, positions: FloatArray) -> Motion:
    """Return the best motion near ``motion``: no slopes are needed where there are three numbers to find."""
    around = _Around(grid, motion, positions)

    def miss(numbers: FloatArray) -> float:
        return -around.look(numbers)

    start = np.vstack((np.zeros(3), np.eye(3))) * 2.0
    how = {"initial_simplex": start - start.mean(axis=0), "maxfev": grid.how.looks, "xatol": 0.02, "fatol": 0.05}
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
    how = grid.how
    turn = 2 * np.pi * np.arange(how.directions) / how.directions
    away = np.array(
        [
            [
                around.look(np.array([spin * cells, cells * np.cos(one), cells * np.sin(one)]))
                for spin in (-0.5, 0.0, 0.5)
                for one in turn
            ]
            for cells in how.away_cells
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
    bends = axes @ np.diag(np.maximum(values, how.least_bend)) @ axes.T  # a flat direction is one that is not known
    back = np.linalg.inv(around.basis)
    return Landing(motion, best, grid.cell, score, back.T @ bends @ back, how)


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
        if all(gap > grid.how.same_cells * grid.cell for gap in gaps):
            kept.append(motion)
    return kept
