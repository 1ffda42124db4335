"""Where distances come from: a published matrix, or points with a metric.

Distances on the Earth (``sphere``, ``wgs84``) are in kilometres between (longitude, latitude) points in degrees; the
others are in the unit of their source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import FloatArray, IntArray

EARTH_KM = 6371.0  # the paper's sphere
METRICS = ("sphere", "wgs84", "euclidean")
GEOGRAPHIC = ("sphere", "wgs84")

Metric = str | Callable[[Any, Any], float]
Where = Callable[[int, int], str]


def pairwise(a: NDArray[Any], b: NDArray[Any], metric: Metric = "sphere") -> FloatArray:
    """Distances from each point of ``a`` to each point of ``b``, shape (len(a), len(b))."""
    if metric == "sphere":
        return _sphere(a[:, None, :], b[None, :, :])
    if metric == "euclidean":
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(a, b))
    i, j = np.divmod(np.arange(len(a) * len(b)), max(len(b), 1))
    return _one_by_one(a[i], b[j], metric).reshape(len(a), len(b))


def paired(a: NDArray[Any], b: NDArray[Any], metric: Metric = "sphere") -> FloatArray:
    """Distance of each point of ``a`` from the point of ``b`` in the same row."""
    if metric == "sphere":
        return _sphere(a, b)
    if metric == "euclidean":
        return np.asarray(np.sqrt(((a - b) ** 2).sum(axis=1)))
    return _one_by_one(a, b, metric)


def _sphere(a: FloatArray, b: FloatArray) -> FloatArray:
    """Great-circle distances in km by the haversine, which keeps its digits for close points; broadcasts."""
    lon, lat = np.radians(a[..., 0]), np.radians(a[..., 1])
    lon2, lat2 = np.radians(b[..., 0]), np.radians(b[..., 1])
    h = np.sin((lat - lat2) / 2) ** 2 + np.cos(lat) * np.cos(lat2) * np.sin((lon - lon2) / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(h, 0, 1))))


def _one_by_one(a: NDArray[Any], b: NDArray[Any], metric: Metric) -> FloatArray:
    if metric == "wgs84":
        from pyproj import Geod

        _, _, metres = Geod(ellps="WGS84").inv(a[:, 0], a[:, 1], b[:, 0], b[:, 1])
        return np.asarray(metres, dtype=float) / 1000
    if not callable(metric):
        raise InputError(f"metric {metric!r}: choose one of {', '.join(METRICS)} or give a function of two points")
    return np.array([float(metric(x, y)) for x, y in zip(a, b, strict=True)], dtype=float)


def element(i: int, j: int) -> str:
    """How a message names an entry of a matrix that came from no file."""
    return f"distances[{i}, {j}]"


def check_matrix(values: FloatArray, *, directed: bool, unpublished: bool, where: Where = element) -> None:
    """Raise an InputError that names the first entry that cannot be a distance."""
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        shape = " x ".join(map(str, values.shape))
        raise InputError(f"{where(0, 0)}: the distances are {shape}, but a distance matrix is square")

    def first(bad: NDArray[np.bool_], why: str) -> None:
        if bad.any():
            i, j = map(int, np.argwhere(bad)[0])
            raise InputError(f"{where(i, j)} = {values[i, j]}: {why}")

    absent = np.isnan(values)
    if not unpublished:
        first(absent, "not a number; if it means that the distance is not published, say so (unpublished)")
    first(np.isinf(values), "a distance cannot be infinite")
    first(values < 0, "a distance cannot be negative")
    diagonal = np.zeros(values.shape, dtype=bool)
    np.fill_diagonal(diagonal, np.diagonal(values) != 0)
    first(diagonal & ~absent, "the distance of a record from itself must be 0")
    if not directed:
        odd = np.triu((values != values.T) & ~(absent & absent.T))
        if odd.any():
            i, j = map(int, np.argwhere(odd)[0])
            raise InputError(
                f"{where(i, j)} = {values[i, j]}, but {where(j, i)} = {values[j, i]}: the distances are not "
                "symmetric; if they have a direction (travel times), say so (directed)"
            )


@dataclass(frozen=True, eq=False)
class Matrix:
    """Distances as a square matrix; NaN is a distance that was not published."""

    values: FloatArray
    directed: bool = False
    unpublished: bool = False

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=float)
        check_matrix(values, directed=self.directed, unpublished=self.unpublished)
        np.fill_diagonal(values, 0.0)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.values)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Distances from each of ``rows`` to each of ``columns``."""
        return np.asarray(self.values[np.ix_(rows, columns)])

    def __repr__(self) -> str:
        absent = int(np.isnan(self.values).sum())
        notes = [f"{self.size} x {self.size} matrix"]
        notes += ["directed"] if self.directed else []
        notes += [f"{absent} entries unpublished"] if absent else []
        return ", ".join(notes)


@dataclass(frozen=True, eq=False)
class Points:
    """Distances as points with a metric; the matrix is never formed as a whole.

    ``coordinates`` has one row a record: (longitude, latitude) in degrees for ``sphere`` and ``wgs84``, any number
    of columns for ``euclidean``, and whatever a metric of one's own takes.
    """

    coordinates: NDArray[Any]
    metric: Metric = "sphere"
    directed: bool = False

    def __post_init__(self) -> None:
        points = np.array(self.coordinates)
        if self.metric in METRICS:
            points = points.astype(float)
            _check_points(points, str(self.metric))
        elif not callable(self.metric):
            _one_by_one(points[:0], points[:0], self.metric)
        points.setflags(write=False)
        object.__setattr__(self, "coordinates", points)

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.coordinates)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Distances from each of ``rows`` to each of ``columns``."""
        if self.metric in ("sphere", "euclidean"):
            return pairwise(self.coordinates[rows], self.coordinates[columns], self.metric)
        i, j = (part.ravel() for part in np.broadcast_arrays(np.asarray(rows)[:, None], np.asarray(columns)[None, :]))
        if not self.directed:  # one value for i to j and j to i, even where rounding would give two
            i, j = np.minimum(i, j), np.maximum(i, j)
        found = paired(self.coordinates[i], self.coordinates[j], self.metric)
        found[i == j] = 0.0
        if not (np.isfinite(found) & (found >= 0)).all():
            k = int(np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[0])
            raise InputError(f"the metric gives {found[k]} between records {i[k] + 1} and {j[k] + 1}: not a distance")
        return found.reshape(len(rows), len(columns))

    def __repr__(self) -> str:
        return f"{self.size} points, {getattr(self.metric, '__name__', self.metric)}"


def _check_points(points: FloatArray, metric: str) -> None:
    if points.ndim != 2 or (metric in GEOGRAPHIC and points.shape[1] != 2):
        raise InputError(f"coordinates of shape {points.shape}: {metric} takes one (longitude, latitude) row a record")

    def first(bad: NDArray[np.bool_], why: str) -> None:
        if bad.any():
            i, k = map(int, np.argwhere(bad)[0])
            raise InputError(f"coordinates[{i}, {k}] = {points[i, k]}: {why}")

    first(~np.isfinite(points), "a coordinate must be a finite number")
    if metric in GEOGRAPHIC:
        column = np.arange(2)[None, :]
        first(
            (np.abs(points) > 90) & (column == 1),
            "a latitude lies between -90 and 90; are longitude and latitude swapped?",
        )
        first(
            (np.abs(points) > 360) & (column == 0),
            "a longitude lies between -180 and 360 degrees; are these metres of a projection? then use euclidean",
        )


def full_matrix(distances: Matrix | Points | Any, *, rows: IntArray | None = None) -> FloatArray:
    """The distances between ``rows`` (all records by default) as one square array."""
    index = np.arange(distances.size, dtype=np.int32) if rows is None else rows
    return np.asarray(distances.block(index, index))
