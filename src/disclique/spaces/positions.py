"""Where records lie: the Earth or the plane as positions in space, with east and north at each known record.

On the sphere a position is a vector of the sphere's radius and a motion is a rotation or a mirror image of space; in
the plane the third coordinate is 0 and a motion also shifts. Both are ``x -> turn @ x + shift``, so that everything
behind this file is written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from disclique.errors import InputError
from disclique.geodesy import EARTH_KM, SPHERE, Spread, fit_sphere, from_sphere, to_sphere, unit_vectors
from disclique.messages import mark
from disclique.spaces import Points
from disclique.values import FloatArray


class Motion(NamedTuple):
    """A rigid motion, perhaps with a mirror: ``x -> turn @ x + shift``."""

    turn: FloatArray  # (3, 3), orthogonal
    shift: FloatArray  # (3,), 0 on the sphere

    def __call__(self, positions: FloatArray) -> FloatArray:
        """Move positions, shape (n, 3)."""
        return np.asarray(positions @ self.turn.T + self.shift)

    @property
    def mirrored(self) -> bool:
        """True if the motion turns a left hand into a right hand."""
        return bool(np.linalg.det(self.turn) < 0)


@dataclass(frozen=True, eq=False)
class KnownMap:
    """Positions of the known records in space, and the directions in which their errors are stated."""

    positions: FloatArray  # (n, 3), in distance units
    east: FloatArray  # (n, 3), unit vectors
    north: FloatArray
    radius: float  # of the sphere; 0 means the plane
    conformal: tuple[float, float] = SPHERE  # exponent and constant of the map from the ellipsoid to the sphere

    @property
    def flat(self) -> bool:
        """True in the plane."""
        return self.radius == 0

    def variances(self, noise: Spread, error: float) -> FloatArray:
        """Return the variance east and north of a masked point around each known record, shape (n, 2)."""
        east, north = np.full(len(self.positions), noise.east), np.full(len(self.positions), noise.north)
        if noise.unit == "deg":
            if self.flat:
                raise InputError("spread_in_degrees_in_plane")
            degree = np.radians(1.0) * self.radius
            east = east * degree * np.hypot(self.positions[:, 0], self.positions[:, 1]) / self.radius
            north = north * degree
        elif (noise.unit == "plane") != self.flat and (noise.east or noise.north):
            raise InputError(
                mark("spread_unit_in_plane") if self.flat else mark("spread_unit_on_earth"), unit=noise.unit
            )
        return np.stack((east, north), axis=1) ** 2 + error**2

    def locate(self, known: Points) -> KnownMap:
        """Locate other records of the same metric on the same sphere or plane."""
        return locate_known(known) if self.flat else _on_sphere(known.coordinates, self.radius, self.conformal)

    def place(self, known: Points) -> FloatArray:
        """Return positions in space of other points of the same metric."""
        if self.flat:
            return _flat(known.coordinates)
        return self.radius * unit_vectors(to_sphere(known.coordinates, self.conformal))

    def unplace(self, positions: FloatArray) -> FloatArray:
        """Return the coordinates of positions: ``place`` undone."""
        if self.flat:
            return np.asarray(positions[:, :2])
        x, y, z = positions.T
        return from_sphere(np.stack((np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))), axis=1), self.conformal)

    def displace(self, rows: NDArray[np.integer], away: FloatArray) -> FloatArray:
        """Return the positions of some records, each moved east and north by a row of ``away``."""
        return np.asarray(self.positions[rows] + away[:, :1] * self.east[rows] + away[:, 1:] * self.north[rows])

    @property
    def extent(self) -> float:
        """How far the records reach."""
        return float(np.linalg.norm(np.ptp(self.positions, axis=0))) if len(self.positions) else 0.0

    @property
    def frame(self) -> KnownMap:
        """The same sphere or plane without any record."""
        none = np.zeros((0, 3))
        return replace(self, positions=none, east=none, north=none)

    def select(self, rows: NDArray[np.integer]) -> KnownMap:
        """Return some of the records."""
        return replace(self, positions=self.positions[rows], east=self.east[rows], north=self.north[rows])


def find_east_north(known_map: KnownMap, centre: FloatArray) -> FloatArray:
    """Return east and north at a place, shape (2, 3)."""
    if known_map.flat:
        return np.eye(3)[:2]
    up = centre / max(float(np.linalg.norm(centre)), 1e-300) if np.linalg.norm(centre) > 0 else np.eye(3)[0]
    pole = np.eye(3)[2] if abs(up[2]) < 0.999 else np.eye(3)[0]
    east = np.cross(pole, up)
    east /= np.linalg.norm(east)
    return np.stack((east, np.cross(up, east)))


def locate_known(known: Points) -> KnownMap:
    """Locate the known records in space; refuse a metric that has no map."""
    if known.metric == "euclidean":
        positions = _flat(known.coordinates)
        east, north = np.zeros_like(positions), np.zeros_like(positions)
        east[:, 0] = north[:, 1] = 1
        return KnownMap(positions, east, north, 0.0)
    if known.metric not in ("sphere", "wgs84"):
        raise InputError("registration_needs_map")
    radius, conformal = (EARTH_KM, SPHERE) if known.metric == "sphere" else fit_sphere(known.coordinates[:, 1])
    return _on_sphere(known.coordinates, radius, conformal)


def _on_sphere(coordinates: FloatArray, radius: float, conformal: tuple[float, float]) -> KnownMap:
    angles = to_sphere(coordinates, conformal)
    (lon, lat), zero = angles.T, np.zeros(len(angles))
    east = np.stack((-np.sin(lon), np.cos(lon), zero), axis=1)
    north = np.stack((-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)), axis=1)
    return KnownMap(radius * unit_vectors(angles), east, north, radius, conformal)


def _flat(coordinates: FloatArray) -> FloatArray:
    if coordinates.shape[1] > 2:
        raise InputError("registration_in_plane_only", columns=coordinates.shape[1])
    positions = np.zeros((len(coordinates), 3))
    positions[:, : coordinates.shape[1]] = coordinates
    return positions


def fit_motion(ours: FloatArray, theirs: FloatArray, flat: bool, *, mirror: bool) -> Motion:
    """Return the motion, mirrored or not, that brings positions together with the least squares."""
    flip = np.diag([1.0, -1.0 if mirror else 1.0, 1.0])
    if not flat:
        return Motion(Rotation.align_vectors(theirs, ours @ flip)[0].as_matrix() @ flip, np.zeros(3))
    centre, there = ours.mean(axis=0), theirs.mean(axis=0)
    up, weights = np.eye(3)[2:], np.r_[np.inf, np.ones(len(ours))]  # the plane stays: up is aligned exactly
    pairs = np.vstack((up, theirs - there)), np.vstack((up, (ours - centre) @ flip))
    turn = Rotation.align_vectors(*pairs, weights=weights)[0].as_matrix() @ flip
    return Motion(turn, there - turn @ centre)


def follow_step(motion: Motion, step: FloatArray, pivot: FloatArray, flat: bool) -> Motion:
    """Return the motion followed by a small one.

    On the sphere ``step`` is a rotation vector, in the plane an angle about ``pivot`` and a shift.
    """
    if not flat:
        return Motion(Rotation.from_rotvec(step).as_matrix() @ motion.turn, motion.shift)
    turn = Rotation.from_rotvec([0.0, 0.0, step[0]]).as_matrix()
    shift = turn @ (motion.shift - pivot) + pivot + np.array([step[1], step[2], 0.0])
    return Motion(turn @ motion.turn, shift)


def average_places(copies: Sequence[FloatArray], radius: float, placed: FloatArray | None = None) -> FloatArray:
    """Return the mean of positions, on the sphere if there is one; of those that are ``placed``."""
    weight = np.ones((len(copies), len(copies[0]))) if placed is None else placed.astype(float)
    total = (np.asarray(copies) * weight[:, :, None]).sum(axis=0)
    mean = total / np.maximum(weight.sum(axis=0), 1.0)[:, None]
    if radius:
        mean *= radius / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    return np.asarray(mean)


def lay_on(ours: FloatArray, theirs: FloatArray, flat: bool) -> Motion:
    """Return the motion, mirrored or not, that brings positions together with the least squares of both."""
    tried = [fit_motion(ours, theirs, flat, mirror=mirror) for mirror in (False, True)]
    return min(tried, key=lambda one: float(((one(ours) - theirs) ** 2).sum()))
