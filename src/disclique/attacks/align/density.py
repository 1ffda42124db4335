"""Rough motions from the density of settled places, and how well a motion lays the map on it.

Two files from one population are dense in the same places, whether they share a record or not. The histogram of the
targets, turned and mirrored in steps, is correlated with the log of the smoothed density of the known records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.ndimage import gaussian_filter, map_coordinates

from disclique.model import FloatArray
from disclique.spaces.positions import KnownMap, Motion, find_east_north

CELLS = 90  # across the known file
ANGLES = 180
SMOOTH = 1.5  # cells
FLOOR = 0.05  # of the mean density: nobody known lives there, yet somebody may
TEMPER = 0.5  # the density is itself an estimate, so its likelihood is believed half


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

    def log_likelihood(self, positions: FloatArray) -> float:
        """Return the log likelihood of records at ``positions`` as draws from this density, tempered."""
        at = (self.projection.project(positions) - self.low) / self.cell - 0.5
        inside = np.clip(at, -1.0, self.span)
        return TEMPER * float(map_coordinates(self.log_density, inside.T, order=1, mode="grid-wrap").sum())


def estimate_density(known_map: KnownMap, reach: float) -> SettlementDensity | None:
    """Estimate the density of the known records; None if all are at one place.

    The grid has a margin for a map that extends ``reach`` from its middle.
    """
    projection = centre_projection(known_map, known_map.positions)
    points = projection.project(known_map.positions)
    low, high = np.percentile(points, [0.5, 99.5], axis=0)
    cell = float((high - low).max()) / CELLS
    if not cell > 0:
        return None
    margin = min(int(np.ceil(reach / cell)) + 2, 2 * CELLS)
    size = fft.next_fast_len(CELLS + 2 * margin, real=True)
    counts = gaussian_filter(_count_cells((points - low) / cell, size).astype(float), SMOOTH, mode="wrap")
    return SettlementDensity(known_map, projection, low, cell, CELLS, np.log(counts + FLOOR * counts.sum() / CELLS**2))


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
    size = len(density.log_density)
    spectrum = fft.rfft2(density.log_density.astype(np.float32))
    found = []
    for mirror in (1.0, -1.0):
        for k in range(ANGLES):
            turn = _turn_plane(2 * np.pi * k / ANGLES, mirror)
            counts = fft.rfft2(_count_cells(flat @ turn.T / density.cell, size).astype(np.float32))
            score = TEMPER * fft.irfft2(spectrum * np.conj(counts), s=(size, size))
            best = int(np.argmax(score))
            mass = float(np.exp(np.maximum(score - score.flat[best], -60)).sum())
            found.append((float(score.flat[best]), mass, k, mirror, best))
    tops, masses = np.array([one[0] for one in found]), np.array([one[1] for one in found])
    volume = (density.cell / (density.known_map.radius or 1.0)) ** 2 * 2 * np.pi / ANGLES
    integral = float(tops.max() + np.log((np.exp(tops - tops.max()) * masses).sum() * volume))
    chosen: list[Motion] = []
    taken: list[tuple[int, float]] = []
    for _, _, k, mirror, best in sorted(found, key=lambda one: -one[0]):
        if all(m != mirror or min((k - j) % ANGLES, (j - k) % ANGLES) > 2 for j, m in taken):
            taken.append((k, mirror))
            chosen.append(_place_in_cell(density, own, best, _turn_plane(2 * np.pi * k / ANGLES, mirror)))
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
