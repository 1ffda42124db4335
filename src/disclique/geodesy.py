"""Moving points by lengths: great circles on the sphere, geodesics on the ellipsoid, sums in the plane."""

from __future__ import annotations

import numpy as np

from disclique.data.distances import EARTH_KM, Points
from disclique.errors import InputError
from disclique.model import FloatArray


def wrapped(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """(lon, lat) brought back to [-180, 180) and [-90, 90]; a latitude past a pole comes down on the other side."""
    lat = (lat + 180) % 360 - 180
    over = np.abs(lat) > 90
    lat = np.where(over, np.copysign(180, lat) - lat, lat)
    return np.column_stack([(lon + np.where(over, 180, 0) + 180) % 360 - 180, lat])


def shifted(points: Points, east: FloatArray, north: FloatArray) -> FloatArray:
    """Coordinates after a walk straight away from each point, by km on the Earth or coordinate units elsewhere."""
    xy = points.coordinates
    if points.metric == "sphere":
        return _great_circle(xy, np.arctan2(east, north), np.hypot(east, north) / EARTH_KM)
    if points.metric == "wgs84":
        from pyproj import Geod

        bearing = np.degrees(np.arctan2(east, north))
        lon, lat, _ = Geod(ellps="WGS84").fwd(xy[:, 0], xy[:, 1], bearing, np.hypot(east, north) * 1000)
        return wrapped(np.asarray(lon), np.asarray(lat))
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise InputError(f"coordinates of shape {xy.shape}: this mask moves points of a plane")
    return np.asarray(xy + np.column_stack([east, north]))


def walked(points: Points, radius: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Coordinates after a walk of each ``radius`` in a direction uniform in angle."""
    angle = rng.uniform(0, 2 * np.pi, points.size)
    return shifted(points, radius * np.cos(angle), radius * np.sin(angle))


def _great_circle(xy: FloatArray, bearing: FloatArray, arc: FloatArray) -> FloatArray:
    """Where one arrives from each point along a great circle; ``bearing`` from north and ``arc`` in radians."""
    lon, lat = np.radians(xy[:, 0]), np.radians(xy[:, 1])
    up = np.sin(lat) * np.cos(arc) + np.cos(lat) * np.sin(arc) * np.cos(bearing)
    across = np.sin(bearing) * np.sin(arc) * np.cos(lat)
    lon2 = lon + np.arctan2(across, np.cos(arc) - np.sin(lat) * up)
    return wrapped(np.degrees(lon2), np.degrees(np.arcsin(np.clip(up, -1, 1))))


def unit_vectors(xy: FloatArray) -> FloatArray:
    """Points of the sphere as unit vectors, shape (n, 3)."""
    lon, lat = np.radians(xy[:, 0]), np.radians(xy[:, 1])
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def from_vectors(vectors: FloatArray) -> FloatArray:
    """(lon, lat) in degrees of vectors from the centre of the sphere."""
    x, y, z = vectors.T
    return np.column_stack([np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))])


def neighbour_space(points: Points) -> FloatArray:
    """Coordinates in which straight distances order neighbours as the metric does (on the ellipsoid nearly so)."""
    if points.metric in ("sphere", "wgs84"):
        return unit_vectors(points.coordinates) * EARTH_KM
    if points.metric != "euclidean":
        raise InputError("this mask looks for neighbours and takes points with metric sphere, wgs84 or euclidean")
    return np.asarray(points.coordinates)


def chord(km: float) -> float:
    """Straight length through the sphere below a great-circle length, both in km."""
    return float(2 * EARTH_KM * np.sin(min(km / (2 * EARTH_KM), np.pi / 2)))
