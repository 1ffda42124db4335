"""A matrix of distances that are those of a map, with the places on it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from disclique.spaces.base import Distances, full_matrix, no_join
from disclique.spaces.distances import Matrix, Points
from disclique.spaces.lazy import HiddenRecords
from disclique.spaces.metrics import pairwise
from disclique.values import FloatArray


@dataclass(frozen=True, eq=False)
class ScaledMatrix(Matrix):
    """A matrix with the places to which it was scaled, in coordinates of its own: turned and mirrored anyhow.

    The distances stay those of the matrix. ``error`` is the standard deviation, per axis, of the places, and ``digit``
    the unit of the last digit to which the distances were printed, 0 if they were not.
    """

    map: Points = field(kw_only=True)
    error: float = field(default=0.0, kw_only=True)
    digit: float = field(default=0.0, kw_only=True)

    @classmethod
    def of(cls, matrix: Matrix, places: Points, *, error: float, digit: float) -> ScaledMatrix:
        """Add places to a matrix."""
        given = {part.name: getattr(matrix, part.name) for part in fields(Matrix)}
        return cls(**given, map=places, error=error, digit=digit)

    @property
    def metric(self) -> object:
        """The metric of the map."""
        return self.map.metric

    @property
    def scaled(self) -> bool:
        """True."""
        return True

    def places(self) -> Points:
        """Return the map."""
        return self.map

    def hidden(self) -> Distances:
        """Return the distances without the map."""
        return HiddenRecords(self)

    def select(self, rows: NDArray[np.integer]) -> ScaledMatrix:
        """Return some records, in the order of ``rows``."""
        return replace(self, values=self.values[np.ix_(rows, rows)], map=self.map.select(rows))

    def like(self, places: Points) -> ScaledMatrix:
        """Return other records of the same map: their distances on it, with as many digits."""
        values = self._print(full_matrix(places))
        return replace(self, values=_symmetric(values), map=places)

    @property
    def can_invent(self) -> bool:
        """True: the map says how far an invented person lies from the others."""
        return True

    def invent(self, count: int, rng: np.random.Generator) -> ScaledMatrix:
        """Return people invented on the map."""
        return self.like(self.map.invent(count, rng))

    def can_join(self, other: Distances) -> bool:
        """Say whether both lie on a map of the same metric and unit."""
        return isinstance(other, ScaledMatrix) and self.metric == other.metric and self.unit == other.unit

    def join(self, other: Distances) -> ScaledMatrix:
        """Return the records of both, one after the other; the map says how far one's are from the other's."""
        if not (isinstance(other, ScaledMatrix) and self.can_join(other)):
            raise no_join(self, other)
        between = self._print(pairwise(self.map.coordinates, other.map.coordinates, self.map.metric))
        values = np.block([[self.values, between], [between.T, other.values]])
        return replace(self, values=values, map=self.map.join(other.map))

    def identities(self) -> list[Hashable]:
        """Return what makes two records the same: the first record that lies at no distance."""
        return list(np.argmax(self.values == 0, axis=1).tolist())

    def _print(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.round(values / self.digit) * self.digit) if self.digit else values


def _symmetric(values: FloatArray) -> FloatArray:
    upper = np.triu(values, 1)
    return np.asarray(upper + upper.T)
