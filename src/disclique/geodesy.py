"""Points of the Earth: lengths and moves on the sphere and the ellipsoid, and their places in space.

Points are arrays of (longitude, latitude) in degrees, one row per point; lengths are kilometres. The only numbers that
say how large the Earth is stand here. A metric is given by its name; this module knows nothing of records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from disclique.arguments import check_number
from disclique.errors import InputError
from disclique.messages import Message
from disclique.values import FloatArray

EARTH_KM = 6371.0  # the paper's sphere
KM_PER_DEGREE = EARTH_KM * np.pi / 180  # along a meridian
GEOGRAPHIC = ("sphere", "wgs84")
MOVED = 1 << 15  # places that are moved about at a time
SPHERE = (1.0, 0.0)  # the conformal map that leaves points as they are
_AXIS_KM, _ECCENTRICITY2 = 6378.137, 0.0066943799901413165  # of WGS 84


def sphere_km(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return great-circle lengths by the haversine, which keeps its digits for close points; broadcasts.

    >>> round(float(sphere_km(np.array([13.4, 52.5]), np.array([2.35, 48.86]))))
    876
    """
    lon, lat = np.radians(a[..., 0]), np.radians(a[..., 1])
    lon2, lat2 = np.radians(b[..., 0]), np.radians(b[..., 1])
    h = np.sin((lat - lat2) / 2) ** 2 + np.cos(lat) * np.cos(lat2) * np.sin((lon - lon2) / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(h, 0, 1))))


def ellipsoid_km(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the geodesic length on WGS 84 from each point of ``a`` to the point of ``b`` in the same row."""
    from pyproj import Geod

    _, _, metres = Geod(ellps="WGS84").inv(a[:, 0], a[:, 1], b[:, 0], b[:, 1])
    return np.asarray(metres, dtype=float) / 1000


def wrap(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Bring (lon, lat) back to [-180, 180) and [-90, 90]; a latitude past a pole comes down on the other side."""
    lat = (lat + 180) % 360 - 180
    over = np.abs(lat) > 90
    lat = np.where(over, np.copysign(180, lat) - lat, lat)
    return np.column_stack([(lon + np.where(over, 180, 0) + 180) % 360 - 180, lat])


def shift(xy: FloatArray, east: FloatArray, north: FloatArray, metric: str) -> FloatArray:
    """Move each point straight away by lengths in km on the Earth, or in coordinate units in the plane."""
    if metric == "sphere":
        return _great_circle(xy, np.arctan2(east, north), np.hypot(east, north) / EARTH_KM)
    if metric == "wgs84":
        from pyproj import Geod

        bearing = np.degrees(np.arctan2(east, north))
        lon, lat, _ = Geod(ellps="WGS84").fwd(xy[:, 0], xy[:, 1], bearing, np.hypot(east, north) * 1000)
        return wrap(np.asarray(lon), np.asarray(lat))
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise InputError("coordinates_not_of_a_plane", shape=xy.shape)
    return np.asarray(xy + np.column_stack([east, north]))


def shift_nearby(xy: FloatArray, east_north: FloatArray) -> FloatArray:
    """Move points by some km on a locally flat map: good to a part in a thousand for the size of a city."""
    degrees = east_north / KM_PER_DEGREE
    degrees[:, 0] /= np.cos(np.radians(xy[:, 1]))
    return np.asarray(xy + degrees)


def follow_moves(
    measure: Callable[[FloatArray], FloatArray], xy: FloatArray, sd: float, metric: str, nodes: int = 5
) -> FloatArray:
    """Return how a number of each place follows small moves of deviation ``sd`` per axis, shape (n, 4).

    It is the mean of the numbers around, how much they grow for each kilometre to the east and to the north, and the
    variance that is left, by the rule of Gauss and Hermite.
    """
    if xy.shape[1] != 2:  # on a line
        return np.column_stack([measure(xy), np.zeros((len(xy), 2)), np.full(len(xy), sd**2)])
    steps, weights = np.polynomial.hermite_e.hermegauss(nodes)
    share = np.outer(weights, weights).ravel() / weights.sum() ** 2
    east, north = (sd * part.ravel() for part in np.meshgrid(steps, steps))
    found = [np.zeros((0, 4))]
    for some in (xy[first : first + MOVED] for first in range(0, len(xy), MOVED)):
        many, (right, up) = np.repeat(some, len(share), axis=0), (np.tile(one, len(some)) for one in (east, north))
        around = shift(many, right, up, metric)
        numbers = measure(around).reshape(len(some), -1)
        mean, slopes = numbers @ share, [numbers @ (share * side) / sd**2 for side in (east, north)]
        left = (numbers - mean[:, None]) ** 2 @ share - sd**2 * (slopes[0] ** 2 + slopes[1] ** 2)
        found.append(np.column_stack([mean, *slopes, np.maximum(left, 0.0)]))
    return np.concatenate(found)


def walk(xy: FloatArray, radius: FloatArray, metric: str, rng: np.random.Generator) -> FloatArray:
    """Move each point by its ``radius`` in a direction uniform in angle."""
    angle = rng.uniform(0, 2 * np.pi, len(xy))
    return shift(xy, radius * np.cos(angle), radius * np.sin(angle), metric)


def _great_circle(xy: FloatArray, bearing: FloatArray, arc: FloatArray) -> FloatArray:
    """Return where one arrives along a great circle; ``bearing`` from north and ``arc`` in radians."""
    lon, lat = np.radians(xy[:, 0]), np.radians(xy[:, 1])
    up = np.sin(lat) * np.cos(arc) + np.cos(lat) * np.sin(arc) * np.cos(bearing)
    across = np.sin(bearing) * np.sin(arc) * np.cos(lat)
    lon2 = lon + np.arctan2(across, np.cos(arc) - np.sin(lat) * up)
    return wrap(np.degrees(lon2), np.degrees(np.arcsin(np.clip(up, -1, 1))))


def displacement_km(before: FloatArray, after: FloatArray, metric: str) -> tuple[FloatArray, FloatArray]:
    """Return how far each point moved east and north, in km on the Earth (small moves), else in coordinate units."""
    step = after - before
    if metric not in GEOGRAPHIC:
        return step[:, 0], step[:, 1]
    east = ((step[:, 0] + 180) % 360 - 180) * KM_PER_DEGREE * np.cos(np.radians(before[:, 1]))
    return east, step[:, 1] * KM_PER_DEGREE


def unit_vectors(angles: FloatArray) -> FloatArray:
    """Return unit vectors, shape (n, 3), of longitudes and latitudes in radians."""
    lon, lat = angles.T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def to_space(xy: FloatArray, metric: object) -> FloatArray:
    """Return coordinates in which straight distances order neighbours as the metric does (on wgs84 nearly so).

    Points of the Earth become places in space, in km from its centre.
    """
    if metric in GEOGRAPHIC:
        return unit_vectors(np.radians(xy)) * EARTH_KM
    if metric != "euclidean":
        raise InputError("mask_needs_points_with_neighbours")
    return np.asarray(xy)


def from_space(vectors: FloatArray) -> FloatArray:
    """Return (lon, lat) in degrees of vectors from the centre of the Earth."""
    x, y, z = vectors.T
    return np.column_stack([np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))])


def ellipsoid_space(xy: FloatArray) -> FloatArray:
    """Return the places in space, in km from the centre of the Earth, of points on the ellipsoid of WGS 84."""
    normal = unit_vectors(np.radians(xy))
    across = _AXIS_KM / np.sqrt(1 - _ECCENTRICITY2 * normal[:, 2] ** 2)
    return np.asarray(normal * across[:, None] * (1.0, 1.0, 1 - _ECCENTRICITY2))


def ellipsoid_normals(places: FloatArray) -> FloatArray:
    """Return the unit vectors upwards at places in space that lie on the ellipsoid, or a few metres below it."""
    upwards = places * (1.0, 1.0, 1 / (1 - _ECCENTRICITY2))
    return np.asarray(upwards / np.linalg.norm(upwards, axis=-1, keepdims=True))


def arc_bounds(chord: FloatArray, metric: str) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest length on the Earth of ways whose ends are so far apart in a straight line.

    On the ellipsoid they are those on the flattest and on the most curved sphere that touch it.
    """
    flattened = np.sqrt(1 - _ECCENTRICITY2)
    flat, curved = (EARTH_KM,) * 2 if metric == "sphere" else (_AXIS_KM / flattened, _AXIS_KM * flattened**2)
    least, most = (2 * radius * np.arcsin(np.clip(chord / (2 * radius), 0, 1)) for radius in (flat, curved))
    return least, np.where(chord < 2 * curved, most, np.pi * flat)


def chord_km(arc: float) -> float:
    """Return the straight length through the Earth below a great-circle length."""
    return float(2 * EARTH_KM * np.sin(min(arc / (2 * EARTH_KM), np.pi / 2)))


def box_area(xy: FloatArray, metric: object) -> float:
    """Return the area of the smallest box around the points, km² on the Earth."""
    (west, south), (east, north) = xy.min(axis=0), xy.max(axis=0)
    if metric not in GEOGRAPHIC:
        return float((east - west) * (north - south))
    strip = np.sin(np.radians(north)) - np.sin(np.radians(south))
    return float(EARTH_KM**2 * np.radians(east - west) * strip)


def draw_in_box(xy: FloatArray, n: int, metric: object, rng: np.random.Generator) -> FloatArray:
    """Draw ``n`` places uniform (by area on the Earth) in the smallest box around the points."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    if metric not in GEOGRAPHIC:
        return rng.uniform(low, high, (n, len(low)))
    south, north = np.sin(np.radians([low[1], high[1]]))
    return np.column_stack([rng.uniform(low[0], high[0], n), np.degrees(np.arcsin(rng.uniform(south, north, n)))])


def fit_sphere(latitudes: FloatArray) -> tuple[float, tuple[float, float]]:
    """Return radius, exponent and constant of Gauss's map of the ellipsoid onto the sphere at the mean latitude.

    Lengths are kept up to a third-order term: a few metres across a country.
    """
    lat = np.radians(latitudes.mean()) if len(latitudes) else 0.0
    bend = 1 - _ECCENTRICITY2 * np.sin(lat) ** 2
    radius = _AXIS_KM * np.sqrt(1 - _ECCENTRICITY2) / bend
    exponent = float(np.sqrt(1 + _ECCENTRICITY2 * np.cos(lat) ** 4 / (1 - _ECCENTRICITY2)))
    on_sphere = np.arcsin(np.sin(lat) / exponent)
    return float(radius), (exponent, float(np.arctanh(np.sin(on_sphere)) - exponent * _isometric(lat)))


def to_sphere(xy: FloatArray, conformal: tuple[float, float]) -> FloatArray:
    """Return longitudes and latitudes in radians on the sphere that stands for the Earth."""
    angles: FloatArray = np.radians(xy.astype(float))
    if conformal == SPHERE:
        return angles
    exponent, constant = conformal
    lat = np.clip(angles[:, 1], -1.57079, 1.57079)
    return np.stack((exponent * angles[:, 0], np.arcsin(np.tanh(exponent * _isometric(lat) + constant))), axis=1)


def from_sphere(angles: FloatArray, conformal: tuple[float, float]) -> FloatArray:
    """Return (lon, lat) in degrees of places on the sphere that stands for the Earth: ``to_sphere`` undone."""
    if conformal == SPHERE:
        return np.asarray(np.degrees(angles))
    exponent, constant = conformal
    height = (np.arctanh(np.sin(np.clip(angles[:, 1], -1.57079, 1.57079))) - constant) / exponent
    e, lat = np.sqrt(_ECCENTRICITY2), np.arcsin(np.tanh(height))
    for _ in range(6):  # each turn gains two digits and more
        lat = np.arcsin(np.tanh(height + e * np.arctanh(e * np.sin(lat))))
    return np.asarray(np.degrees(np.stack((angles[:, 0] / exponent, lat), axis=1)))


def _isometric(lat: FloatArray | float) -> FloatArray:
    """Return the isometric latitude on the ellipsoid."""
    e = np.sqrt(_ECCENTRICITY2)
    return np.asarray(np.arctanh(np.sin(lat)) - e * np.arctanh(e * np.sin(lat)))


@dataclass(frozen=True)
class Spread:
    """Standard deviations, east and north, of the displacement of a masked point.

    ``deg`` is the paper's mask: the same number of degrees on longitude and latitude, so that the displacement in
    kilometres shrinks eastward with the latitude. ``km`` is metric; ``plane`` (or nothing) is the unit of Euclidean
    coordinates.

    >>> Spread(0.01, 0.01, "deg").unit
    'deg'
    """

    east: float
    north: float
    unit: str = "km"

    def __post_init__(self) -> None:
        if self.unit == "":
            object.__setattr__(self, "unit", "plane")
        if self.unit not in ("km", "deg", "plane"):
            raise InputError("spread_in_unknown_unit", unit=self.unit)
        for name in ("east", "north"):
            value = check_number(getattr(self, name), f"spread {name}", "wanted_deviation")
            if not (np.isfinite(value) and value >= 0):
                raise InputError("spread_is_not", value=value, unit=self.unit, wanted=Message("wanted_deviation"))
