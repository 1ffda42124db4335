"""Points with a metric: places of the Earth, and whatever else another metric compares.

Distances on the Earth (``sphere``, ``wgs84``) are in kilometres between (longitude, latitude) points in degrees; of
others the holder says the unit, and metres become kilometres.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.errors import InputError
from disclique.geodesy import ellipsoid_km, shift, sphere_km, to_space
from disclique.messages import mark
from disclique.spaces.base import EARTH, INVENTION, MAPS, RECORDS, SIZES, Distances, Invention, Sizes, say_unit
from disclique.spaces.metrics import (
    Measure,
    Metric,
    measure_of,
    read_numbers,
    refuse_first,
    register_measure,
)
from disclique.units import KM, KM_IN, MINUTES_IN, check_unit
from disclique.values import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Points(Distances):
    """Distances as points with a metric; the matrix is never formed as a whole.

    >>> Points([[13.4, 52.5], [2.35, 48.86]])
    2 points, sphere

    ``coordinates`` has one row per record: (longitude, latitude) in degrees for ``sphere`` and ``wgs84``, any number
    of columns for ``euclidean`` and ``cosine`` (1 - cos), numbers and categories for ``gower``, which becomes the
    metric with the ranges of this file, and whatever a metric of one's own takes. ``unit`` is that of the distances:
    ``km`` on the Earth, ``none`` by cosine and gower; of Euclidean coordinates and of a metric of one's own the holder
    says it, as of a ``Matrix``.

    >>> Points([[1, "a"], [3, "b"]], "gower").metric
    Gower(ranges=(2.0, None))
    """

    coordinates: NDArray[Any]
    metric: Metric = "sphere"
    directed: bool = False
    unit: str | None = None
    sizes: Sizes = field(default=SIZES, kw_only=True)
    takes_unit: ClassVar[bool] = True
    keeps_records: ClassVar[bool] = True

    def __post_init__(self) -> None:
        metric, points = self.measure.adopt(self.metric, self.coordinates)
        object.__setattr__(self, "metric", metric)
        if self._check_unit() == "m":
            points = points * KM_IN["m"]
            object.__setattr__(self, "unit", KM)
        points.setflags(write=False)
        object.__setattr__(self, "coordinates", points)

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.coordinates)

    @property
    def measure(self) -> Measure:
        """How the metric compares, and what follows from it."""
        return measure_of(self.metric)

    def _check_unit(self) -> str | None:
        """Return the unit as it was said; where the metric has one, that is it, and no other can be said."""
        said, measure = check_unit(self.unit), self.measure
        if said in MINUTES_IN:
            raise InputError("coordinates_are_no_times", unit=said)
        if measure.unit is not None:
            if said not in (None, measure.unit):
                code = mark("metric_in_km") if measure.unit == KM else mark("metric_without_unit")
                raise InputError(code, unit=said, metric=measure.name)
            object.__setattr__(self, "unit", measure.unit)
        elif said == "m" and not measure.in_coordinates:
            raise InputError("own_metric_in_metres", metric=measure.name)
        return said

    @property
    def kind(self) -> str:
        """What the points are: on the Earth, in the plane, vectors, or whatever else a metric compares."""
        return self.measure.kind(self.coordinates.shape[1] if self.coordinates.ndim > 1 else 1)

    @property
    def is_map(self) -> bool:
        """True if the points lie on the Earth, in a plane or on a line: what needs a map applies to no others."""
        return self.kind in MAPS

    @property
    def on_earth(self) -> bool:
        """True for longitudes and latitudes."""
        return self.kind == EARTH

    @property
    def by_ranges(self) -> bool:
        """True for records of a table that are compared by Gower's metric."""
        return self.measure.by_ranges

    def points(self) -> Points:
        """Return them as they are."""
        return self

    def vectors(self) -> Points | None:
        """Return them if they are rows of numbers whose metric has a name."""
        return None if self.kind == RECORDS else self

    def places(self) -> Points | None:
        """Return them if they lie on a map."""
        return self if self.is_map else None

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``."""
        return self.measure.block(self, rows, columns)

    def select(self, rows: NDArray[np.integer]) -> Points:
        """Return some of the points, in the order of ``rows``."""
        return replace(self, coordinates=self.coordinates[rows])

    def append(self, other: Self) -> Self:
        """Return the points of both.

        >>> Points([[0, 0]], "euclidean").join(Points([[3, 4]], "euclidean")).block([0], [1])
        array([[5.]])
        """
        return replace(self, coordinates=np.concatenate([self.coordinates, other.coordinates]))

    @property
    def can_invent(self) -> bool:
        """True but for a metric of one's own."""
        return self.measure.can_invent

    def invent(self, count: int, rng: np.random.Generator) -> Distances:
        """Return points near those of a map, else records on the way from one of the file to one of its nearest."""
        if not self.can_invent:
            return super().invent(count, rng)
        return replace(self, coordinates=self.measure.invent(self, count, rng))

    def longest(self) -> float:
        """Return a lower bound on the largest distance of Euclidean coordinates."""
        return float(np.ptp(self.coordinates, axis=0).max()) if self.measure.in_coordinates else 0.0

    def with_ranges_of(self, other: Distances, name: str) -> Points:
        """Return the same compared by the ranges of the other file, if Gower's metric compares both."""
        if not (isinstance(other, Points) and self.by_ranges and other.by_ranges):
            return self
        return replace(self, metric=other.measure.share_ranges(self.measure, name))

    def content(self) -> object:
        """Return the metric and the coordinates."""
        return str(self.metric), self.coordinates.tolist()

    def identities(self) -> list[Hashable]:
        """Return what makes two records the same: their places; by the cosine their directions."""
        same = self.measure.identify(self.coordinates).tolist()
        return [tuple(row) if isinstance(row, list) else (row,) for row in same]

    def __repr__(self) -> str:
        if self.by_ranges:
            return f"{self.size} records of {self.coordinates.shape[1]} columns, {self.metric}"
        name = ", ".join([self.measure.name, *(say_unit(self.unit) if self.measure.unit is None else [])])
        if self.is_map or callable(self.metric):
            return f"{self.size} points, {name}"
        return f"{self.size} vectors of {self.coordinates.shape[1]} columns, {name}"


class EarthMeasure(Measure):
    """What metrics of the Earth have in common: kilometres between (longitude, latitude) in degrees."""

    unit = KM
    can_invent = True

    def kind(self, columns: int) -> str:
        """``coordinates``."""
        return EARTH

    def adopt(self, metric: Metric, coordinates: Any) -> tuple[Metric, NDArray[Any]]:
        """Return longitudes and latitudes; refuse what cannot be degrees."""
        points, column = read_numbers(coordinates, self.name, degrees=True), np.arange(2)[None, :]
        refuse_first(points, (np.abs(points) > 90) & (column == 1), mark("no_latitude"))
        refuse_first(points, (np.abs(points) > 360) & (column == 0), mark("no_longitude"))
        return metric, points

    def invent(self, points: Points, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return places near those of the file."""
        near, step = draw_near(points, count, rng)
        return shift(near, step[:, 0], step[:, 1], self.name)


@register_measure
class Sphere(EarthMeasure):
    """Along great circles of the paper's sphere."""

    name = "sphere"

    def pairwise(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return lengths of great circles."""
        return sphere_km(a[:, None, :], b[None, :, :])

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return lengths of great circles, row by row."""
        return sphere_km(a, b)

    def block(self, points: Points, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances between rows of a file, exactly symmetric."""
        return self.pairwise(points.coordinates[rows], points.coordinates[columns])


@register_measure
class Ellipsoid(EarthMeasure):
    """Along geodesics of WGS 84."""

    name = "wgs84"

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return lengths of geodesics, row by row."""
        return ellipsoid_km(a, b)


def draw_near(
    points: Points, count: int, rng: np.random.Generator, how: Invention = INVENTION
) -> tuple[FloatArray, FloatArray]:
    """Draw places of a map and a step from each, shorter where places are dense."""
    base = rng.integers(points.size, size=count)
    space = to_space(points.coordinates, points.metric)
    reach = cKDTree(space).query(space, k=min(how.nearest_records + 1, points.size))[0].reshape(points.size, -1)[:, -1]
    step = rng.normal(0, 1, (count, points.coordinates.shape[1])) * (reach[base] / 2)[:, None]
    return points.coordinates[base], step
