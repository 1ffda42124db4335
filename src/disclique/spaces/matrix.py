"""A published matrix of distances, also with the map that it makes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.spaces.base import SIZES, Distances, Sizes, digest, full_matrix, say_unit
from disclique.spaces.metrics import pairwise
from disclique.spaces.points import Points
from disclique.units import KM, KM_IN, MINUTES, MINUTES_IN, check_unit
from disclique.values import FloatArray, IntArray

ROUNDING = 512 * np.finfo(float).eps
"""How far two values of one distance may lie apart, relative to the larger: what sums of some hundred double-precision
lengths in another order explain (1e-13), far below what anybody prints or publishes."""

Where = Callable[[int, int], str | Message]


def element(i: int, j: int) -> str:
    """Return how a message names an entry of a matrix that came from no file."""
    return f"distances[{i}, {j}]"


def check_matrix(values: FloatArray, *, directed: bool, unpublished: bool, where: Where = element) -> FloatArray:
    """Return the matrix freed of rounding, or raise an InputError that names the first entry that is no distance.

    A diagonal that is 0 but for rounding becomes 0. Without a direction, two values of one distance that differ by no
    more than ``ROUNDING`` become the smaller of them, which does not depend on the order of the records.
    """
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise InputError("matrix_not_square", where=where(0, 0), shape=" x ".join(map(str, values.shape)))

    def first(bad: NDArray[np.bool_], code: str) -> None:
        if bad.any():
            i, j = map(int, np.argwhere(bad)[0])
            raise InputError(code, where=where(i, j), value=values[i, j])

    absent = np.isnan(values)
    if not unpublished:
        first(absent, mark("entry_not_a_number"))
    first(np.isinf(values), mark("distance_infinite"))
    values = np.array(values)
    diagonal = np.diagonal(values)
    small = np.abs(diagonal) <= ROUNDING * np.nanmax(values, initial=0.0)
    np.fill_diagonal(values, np.where(small | np.isnan(diagonal), 0.0, diagonal))
    first(values < 0, mark("distance_negative"))
    first(np.eye(len(values), dtype=bool) & (values != 0), mark("distance_from_itself"))
    if directed:
        return values
    odd = np.triu(~same_distance(values, values.T) & ~(absent & absent.T))
    if odd.any():
        i, j = map(int, np.argwhere(odd)[0])
        both = {"where": where(i, j), "value": values[i, j], "back": where(j, i), "other": values[j, i]}
        raise InputError("matrix_not_symmetric", **both)
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
    takes_unit: ClassVar[bool] = True
    sizes: Sizes = field(default=SIZES, kw_only=True)

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.values, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError("values_not_numbers", error=str(error)) from None
        said = check_unit(self.unit)
        if said in KM_IN or said in MINUTES_IN:
            values = values if said in (KM, MINUTES) else values * {**KM_IN, **MINUTES_IN}[said]
            object.__setattr__(self, "unit", KM if said in KM_IN else MINUTES)
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

    def as_matrix(self, *, most: int | None = None) -> Matrix:
        """Return it as it is, of however many records."""
        return self

    def content(self) -> object:
        """Return a digest of the values."""
        return digest(self.values)

    def to_map(self, *, radius: float | None = None) -> ScaledMatrix | None:
        """Return the matrix with its places, in the plane or on the Earth as it fits better; None if it fits no map."""
        from disclique.spaces.mapping import make_map

        if radius not in self._maps:
            self._maps[radius] = make_map(self, radius)
        return self._maps[radius]

    @cached_property
    def _maps(self) -> dict[float | None, ScaledMatrix | None]:
        """The maps that were made of this matrix, by the radius asked for: each takes a while."""
        return {}

    def longest(self) -> float:
        """Return the largest distance."""
        return float(np.nanmax(self.values, initial=0.0))

    def __repr__(self) -> str:
        absent = int(np.isnan(self.values).sum())
        notes = [f"{self.size} x {self.size} matrix"]
        notes += ["directed"] if self.directed else []
        notes += [f"{absent} entries unpublished"] if absent else []
        return ", ".join([*notes, *say_unit(self.unit)])


def matrix_like(values: FloatArray, distances: Distances) -> Matrix:
    """Return a matrix in the place of other distances, with their direction and their unit."""
    absent = bool(np.isnan(values).any())
    return Matrix(values, distances.directed, absent, distances.unit, sizes=distances.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class ScaledMatrix(Matrix):
    """A matrix with the places to which it was scaled, in coordinates of its own: turned and mirrored anyhow.

    The distances stay those of the matrix. ``error`` is the standard deviation, per axis, of the places, and ``digit``
    the unit of the last digit to which the distances were printed, 0 if they were not.
    """

    scaled: ClassVar[bool] = True
    keeps_records: ClassVar[bool] = True
    can_invent: ClassVar[bool] = True  # the map says how far an invented person lies from the others

    map: Points = field(kw_only=True)
    error: float = field(default=0.0, kw_only=True)
    digit: float = field(default=0.0, kw_only=True)

    @classmethod
    def of(cls, matrix: Matrix, places: Points, *, error: float, digit: float) -> ScaledMatrix:
        """Add places to a matrix."""
        given = {part.name: getattr(matrix, part.name) for part in fields(Matrix)}
        return cls(**given, map=places, error=error, digit=digit)

    @property
    def metric(self) -> Any:
        """The metric of the map."""
        return self.map.metric

    def to_map(self, *, radius: float | None = None) -> ScaledMatrix | None:
        """Return it as it is, unless another sphere is asked for."""
        return self if radius is None else super().to_map(radius=radius)

    def places(self) -> Points:
        """Return the map."""
        return self.map

    def select(self, rows: NDArray[np.integer]) -> ScaledMatrix:
        """Return some records, in the order of ``rows``."""
        return replace(self, values=self.values[np.ix_(rows, rows)], map=self.map.select(rows))

    def like(self, places: Points) -> ScaledMatrix:
        """Return other records of the same map: their distances on it, with as many digits."""
        upper = np.triu(self._print(full_matrix(places)), 1)
        return replace(self, values=upper + upper.T, map=places)

    def invent(self, count: int, rng: np.random.Generator) -> ScaledMatrix:
        """Return people invented on the map."""
        return self.like(replace(self.map, coordinates=self.map.measure.invent(self.map, count, rng)))

    def append(self, other: Self) -> Self:
        """Return the records of both; the map says how far one's are from the other's."""
        between = self._print(pairwise(self.map.coordinates, other.map.coordinates, self.map.metric))
        values = np.block([[self.values, between], [between.T, other.values]])
        return replace(self, values=values, map=self.map.join(other.map))

    def identities(self) -> list[Hashable]:
        """Return what makes two records the same: the first record that lies at no distance."""
        return list(np.argmax(self.values == 0, axis=1).tolist())

    def _print(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.round(values / self.digit) * self.digit) if self.digit else values
