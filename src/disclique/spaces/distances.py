"""Sources of distances: a published matrix, or points with a metric.

Distances on the Earth (``sphere``, ``wgs84``) are in kilometres between (longitude, latitude) points in degrees; of
others the holder says the unit (``unit_of``), and metres become kilometres. Points may also be vectors of any number of
columns (``euclidean``, ``cosine``) or records of mixed tables (``gower``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, shift, to_space
from disclique.spaces.base import EARTH, FORMED, PLANE, RECORDS, VECTORS, Distances, digest, no_join
from disclique.spaces.gower import Gower, mixed_table
from disclique.spaces.lazy import HiddenRecords
from disclique.spaces.metrics import GOWER, METRICS, VECTORIAL, Metric, find_directions, measure_each, paired, pairwise
from disclique.units import KM, KM_IN, NO_UNIT, check_unit
from disclique.values import FloatArray, IntArray

ZERO = "the vector is zero, and has no direction by which the cosine could compare it"
ROUNDING = 512 * np.finfo(float).eps
"""How far two values of one distance may lie apart, relative to the larger: what sums of some hundred double-precision
lengths in another order explain (1e-13), far below what anybody prints or publishes."""

NEIGHBOUR = 5  # invented people lie about as far from a real one as its fifth neighbour, or towards one of the five

Where = Callable[[int, int], str]


def element(i: int, j: int) -> str:
    """Return how a message names an entry of a matrix that came from no file."""
    return f"distances[{i}, {j}]"


def check_matrix(values: FloatArray, *, directed: bool, unpublished: bool, where: Where = element) -> FloatArray:
    """Return the matrix freed of rounding, or raise an InputError that names the first entry that is no distance.

    A diagonal that is 0 but for rounding becomes 0. Without a direction, two values of one distance that differ by no
    more than ``ROUNDING`` become the smaller of them, which does not depend on the order of the records.
    """
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
    values = np.array(values)
    diagonal = np.diagonal(values)
    small = np.abs(diagonal) <= ROUNDING * np.nanmax(values, initial=0.0)
    np.fill_diagonal(values, np.where(small | np.isnan(diagonal), 0.0, diagonal))
    first(values < 0, "a distance cannot be negative")
    first(np.eye(len(values), dtype=bool) & (values != 0), "the distance of a record from itself must be 0")
    if directed:
        return values
    odd = np.triu(~same_distance(values, values.T) & ~(absent & absent.T))
    if odd.any():
        i, j = map(int, np.argwhere(odd)[0])
        raise InputError(
            f"{where(i, j)} = {values[i, j]}, but {where(j, i)} = {values[j, i]}: the distances are not "
            "symmetric; if they have a direction (travel times), say so (directed)"
        )
    return np.minimum(values, values.T)


def same_distance(a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
    """Return where two values of one distance are equal, or differ only by what floating point explains."""
    return np.asarray(np.abs(a - b) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)))


@dataclass(frozen=True, eq=False)
class Matrix(Distances):
    """Distances as a square matrix; NaN is a distance that was not published.

    ``unit`` is ``km``, ``none`` for what is no length (travel times), or None where nobody said it; values in ``m``
    are converted to kilometres.

    >>> Matrix([[0, 5], [5, 0]])
    2 x 2 matrix
    >>> Matrix([[0, 500], [500, 0]], unit="m").block([0], [1]), Matrix([[0, 500], [500, 0]], unit="m").unit
    (array([[0.5]]), 'km')
    """

    values: FloatArray
    directed: bool = False
    unpublished: bool = False
    unit: str | None = None

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.values, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(f"the distances are not numbers ({error})") from None
        if check_unit(self.unit) == "m":
            values = values * KM_IN["m"]
            object.__setattr__(self, "unit", KM)
        values = check_matrix(values, directed=self.directed, unpublished=self.unpublished)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.values)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``."""
        return np.asarray(self.values[np.ix_(rows, columns)])

    def matrix(self) -> Matrix:
        """Return it as it is."""
        return self

    def as_matrix(self, *, most: int = FORMED) -> Matrix:
        """Return it as it is, of however many records."""
        return self

    def content(self) -> object:
        """Return a digest of the values."""
        return digest(self.values)

    def with_unit(self, unit: str) -> Matrix:
        """Return the same in a unit that was said of it."""
        return replace(self, unit=unit)

    def longest(self) -> float:
        """Return the largest distance."""
        return float(np.nanmax(self.values, initial=0.0))

    def __repr__(self) -> str:
        absent = int(np.isnan(self.values).sum())
        notes = [f"{self.size} x {self.size} matrix"]
        notes += ["directed"] if self.directed else []
        notes += [f"{absent} entries unpublished"] if absent else []
        return ", ".join([*notes, *_said(self.unit)])


def _said(unit: str | None) -> list[str]:
    """Return the unit as it stands in a representation; nothing where nobody said it."""
    return [] if unit is None else ["no unit"] if unit == NO_UNIT else [unit]


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

    def __post_init__(self) -> None:
        if isinstance(self.metric, str) and self.metric == GOWER:
            table = mixed_table(self.coordinates)
            object.__setattr__(self, "coordinates", table)
            object.__setattr__(self, "metric", Gower.of(table))
        points = np.array(self.coordinates)
        if isinstance(self.metric, str) and self.metric in METRICS:
            try:
                points = points.astype(float)
            except (TypeError, ValueError) as error:
                raise InputError(f"the coordinates are not numbers ({error})") from None
            _check_points(points, str(self.metric))
        elif not callable(self.metric):
            measure_each(points[:0], points[:0], self.metric)
        if self._check_unit() == "m":
            points = points * KM_IN["m"]
            object.__setattr__(self, "unit", KM)
        points.setflags(write=False)
        object.__setattr__(self, "coordinates", points)

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.coordinates)

    def _check_unit(self) -> str | None:
        """Return the unit as it was said; where the metric has one, that is it, and no other can be said."""
        said, name = check_unit(self.unit), getattr(self.metric, "__name__", str(self.metric))
        fixed = KM if self.metric in GEOGRAPHIC else NO_UNIT if _is_bare(self.metric) else None
        if fixed is not None:
            if said not in (None, fixed):
                are = "in km" if fixed == KM else "plain numbers"
                raise InputError(
                    f"unit = {said!r}: distances by {name} are {are}; a unit is said of a matrix of distances, or of "
                    "euclidean coordinates"
                )
            object.__setattr__(self, "unit", fixed)
        elif said == "m" and self.metric != "euclidean":
            raise InputError(f"unit = 'm': let the metric {name} return kilometres, and say unit = 'km'")
        return said

    @property
    def is_map(self) -> bool:
        """True if the points lie on the Earth, in a plane or on a line: what needs a map applies to no others."""
        return self.metric in GEOGRAPHIC or (self.metric == "euclidean" and self.coordinates.shape[1] <= 2)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``."""
        if self.metric in ("sphere", *VECTORIAL):
            return pairwise(self.coordinates[rows], self.coordinates[columns], self.metric)
        if isinstance(self.metric, Gower):
            return self._by_gower(rows, columns)
        i, j = (part.ravel() for part in np.broadcast_arrays(np.asarray(rows)[:, None], np.asarray(columns)[None, :]))
        if not self.directed:  # one value for i to j and j to i, even where rounding would give two
            i, j = np.minimum(i, j), np.maximum(i, j)
        found = paired(self.coordinates[i], self.coordinates[j], self.metric)
        found[i == j] = 0.0
        if not (np.isfinite(found) & (found >= 0)).all():
            k = int(np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[0])
            raise InputError(f"the metric gives {found[k]} between records {i[k] + 1} and {j[k] + 1}: not a distance")
        return found.reshape(len(rows), len(columns))

    def _by_gower(self, rows: IntArray, columns: IntArray) -> FloatArray:
        found = pairwise(self.coordinates[rows], self.coordinates[columns], self.metric)
        found[np.asarray(rows)[:, None] == np.asarray(columns)[None, :]] = 0.0
        for i, j in np.argwhere(np.isnan(found)):
            raise InputError(
                f"gower: records {rows[i] + 1} and {columns[j] + 1} have no column in which both have a value, "
                "so there is no distance between them"
            )
        return found

    @property
    def kind(self) -> str:
        """What the points are: on the Earth, in the plane, vectors, or whatever else a metric compares."""
        if self.is_map:
            return EARTH if self.on_earth else PLANE
        return VECTORS if self.metric in VECTORIAL else RECORDS

    @property
    def on_earth(self) -> bool:
        """True for longitudes and latitudes."""
        return self.metric in GEOGRAPHIC

    @property
    def by_ranges(self) -> bool:
        """True for records of a table that are compared by Gower's metric."""
        return isinstance(self.metric, Gower)

    def points(self) -> Points:
        """Return them as they are."""
        return self

    def places(self) -> Points | None:
        """Return the points if they lie on a map."""
        return self if self.is_map else None

    def hidden(self) -> Distances:
        """Return the distances without the coordinates."""
        return HiddenRecords(self)

    def select(self, rows: NDArray[np.integer]) -> Points:
        """Return some of the points, in the order of ``rows``."""
        return replace(self, coordinates=self.coordinates[rows])

    def can_join(self, other: Distances) -> bool:
        """Say whether the other are points in the same metric and unit."""
        return isinstance(other, Points) and self.metric == other.metric and self.unit == other.unit

    def join(self, other: Distances) -> Points:
        """Return the points of both, one after the other."""
        if not (isinstance(other, Points) and self.can_join(other)):
            raise no_join(self, other)
        return replace(self, coordinates=np.concatenate([self.coordinates, other.coordinates]))

    @property
    def can_invent(self) -> bool:
        """True but for a metric of one's own."""
        return self.is_map or self.metric in VECTORIAL or isinstance(self.metric, Gower)

    def invent(self, count: int, rng: np.random.Generator) -> Points:
        """Return points near those of a map, else records on the way from one of the file to one of its nearest."""
        if not self.can_invent:
            return super().invent(count, rng)  # type: ignore[return-value]
        return replace(self, coordinates=(_invent_places if self.is_map else _invent_between)(self, count, rng))

    def with_unit(self, unit: str) -> Points:
        """Return the same in a unit that was said of it."""
        return replace(self, unit=unit)

    def longest(self) -> float:
        """Return a lower bound on the largest distance of Euclidean coordinates."""
        return float(np.ptp(self.coordinates, axis=0).max()) if self.metric == "euclidean" else 0.0

    def with_ranges_of(self, other: Distances, name: str) -> Points:
        """Return the same compared by the ranges of the other file, if Gower's metric compares both."""
        if not (isinstance(self.metric, Gower) and isinstance(other, Points) and isinstance(other.metric, Gower)):
            return self
        return replace(self, metric=other.metric.shared(self.metric, name))

    def content(self) -> object:
        """Return the metric and the coordinates."""
        return str(self.metric), self.coordinates.tolist()

    def identities(self) -> list[Hashable]:
        """Return what makes two records the same: their places; by the cosine their directions."""
        same = np.round(find_directions(self.coordinates), 12) + 0.0 if self.metric == "cosine" else self.coordinates
        return [tuple(row) if isinstance(row, list) else (row,) for row in same.tolist()]

    def __repr__(self) -> str:
        if isinstance(self.metric, Gower):
            return f"{self.size} records of {self.coordinates.shape[1]} columns, {GOWER}"
        told = [] if self.metric in (*GEOGRAPHIC, "cosine") else _said(self.unit)
        name = ", ".join([getattr(self.metric, "__name__", str(self.metric)), *told])
        if self.is_map or callable(self.metric):
            return f"{self.size} points, {name}"
        return f"{self.size} vectors of {self.coordinates.shape[1]} columns, {name}"


def _is_bare(metric: Metric) -> bool:
    """Say whether distances by this metric are plain numbers whatever the coordinates are."""
    return metric == "cosine" or isinstance(metric, Gower)


def _check_points(points: FloatArray, metric: str) -> None:
    if metric in GEOGRAPHIC and (points.ndim != 2 or points.shape[1] != 2):
        raise InputError(
            f"coordinates of shape {points.shape}: {metric} takes one (longitude, latitude) row per record"
        )
    if points.ndim != 2 or points.shape[1] < 1:
        raise InputError(f"coordinates of shape {points.shape}: {metric} takes one row of numbers per record")

    def first(bad: NDArray[np.bool_], why: str) -> None:
        if bad.any():
            i, k = map(int, np.argwhere(bad)[0])
            raise InputError(f"coordinates[{i}, {k}] = {points[i, k]}: {why}")

    first(~np.isfinite(points), "a coordinate must be a finite number")
    if metric == "cosine":
        first((points == 0).all(axis=1, keepdims=True), ZERO)
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


def matrix_like(values: FloatArray, distances: Distances) -> Matrix:
    """Return a matrix in the place of other distances, with their direction and their unit."""
    return Matrix(values, distances.directed, bool(np.isnan(values).any()), distances.unit)


def _invent_places(points: Points, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw homes like those of ``points``: each near one of them, nearer where they are dense."""
    base = rng.integers(points.size, size=count)
    space = to_space(points.coordinates, points.metric)
    reach = cKDTree(space).query(space, k=min(NEIGHBOUR + 1, points.size))[0].reshape(points.size, -1)[:, -1]
    step = rng.normal(0, 1, (count, points.coordinates.shape[1])) * (reach[base] / 2)[:, None]
    near = points.coordinates[base]
    if points.metric == "euclidean":
        return np.asarray(near + step)
    return shift(near, step[:, 0], step[:, 1], str(points.metric))


def _invent_between(points: Points, count: int, rng: np.random.Generator) -> NDArray[np.generic]:
    """Draw a smoothed bootstrap: each a record moved a share of the way to one of its nearest neighbours."""
    base = rng.integers(points.size, size=count)
    towards = _neighbours(points, base, rng)
    share = rng.random(count)
    one, other = points.coordinates[base], points.coordinates[towards]
    if not isinstance(points.metric, Gower):
        return np.asarray(one + share[:, None] * (other - one))
    found = one.copy()
    for k, extent in enumerate(points.metric.ranges):
        both = np.array(
            [a is not None and b is not None for a, b in zip(one[:, k], other[:, k], strict=True)], dtype=bool
        )
        if extent is None:  # a category is that of one of the two
            taken = rng.random(count) < share
            found[taken, k] = other[taken, k]
        else:
            mixed = [a + s * (b - a) for a, b, s in zip(one[both, k], other[both, k], share[both], strict=True)]
            found[both, k] = mixed
    return found


def _neighbours(points: Points, base: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw for each of ``base`` one of the records nearest to it."""
    wanted = min(NEIGHBOUR, points.size - 1)
    if wanted < 1:
        return base
    who, place = np.unique(base, return_inverse=True)
    block = points.block(who.astype(np.int32), np.arange(points.size, dtype=np.int32))
    block[np.arange(len(who)), who] = np.inf
    nearest = np.argpartition(block, wanted - 1, axis=1)[:, :wanted]
    return np.asarray(nearest[place.ravel(), rng.integers(wanted, size=len(base))])
