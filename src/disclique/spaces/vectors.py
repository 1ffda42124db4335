"""Vectors: rows of numbers compared by their straight distance or by their directions; two columns are a plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from disclique.messages import mark
from disclique.spaces.base import INVENTION, PLANE, VECTORS, Invention
from disclique.spaces.metrics import Measure, Metric, read_numbers, refuse_first, register_measure
from disclique.spaces.points import Points, draw_near
from disclique.units import NO_UNIT
from disclique.values import FloatArray, IntArray

ZERO = mark("vector_is_zero")  # the code of what is wrong with it


class VectorMeasure(Measure):
    """What vectors have in common: whole blocks are computed at once, exactly symmetric."""

    can_invent = True

    def kind(self, columns: int) -> str:
        """``vectors``."""
        return VECTORS

    def adopt(self, metric: Metric, coordinates: Any) -> tuple[Metric, NDArray[Any]]:
        """Return the rows as finite numbers."""
        return metric, read_numbers(coordinates, self.name)

    def block(self, points: Points, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances between rows of a file."""
        return self.pairwise(points.coordinates[rows], points.coordinates[columns])

    def invent(self, points: Points, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return vectors on the way from one of the file to one of its nearest."""
        one, other, share = draw_towards(points, count, rng)
        return np.asarray(one + share[:, None] * (other - one))


@register_measure
class Euclidean(VectorMeasure):
    """The straight distance, in the unit of the coordinates; one or two columns are a map."""

    name = "euclidean"
    in_coordinates = True

    def kind(self, columns: int) -> str:
        """``plane`` for a plane or a line, else ``vectors``."""
        return PLANE if columns <= 2 else VECTORS

    def pairwise(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return straight distances."""
        return np.asarray(cdist(a, b))

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return straight distances, row by row."""
        return np.asarray(np.sqrt(((a - b) ** 2).sum(axis=1)))

    def invent(self, points: Points, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return places near those of a plane, else vectors between those of the file."""
        if not points.is_map:
            return super().invent(points, count, rng)
        near, step = draw_near(points, count, rng)
        return np.asarray(near + step)


@register_measure
class Cosine(VectorMeasure):
    """1 - cos, as half the squared chord of the directions: exactly 0 between equal vectors, never negative."""

    name = "cosine"
    unit = NO_UNIT

    def adopt(self, metric: Metric, coordinates: Any) -> tuple[Metric, NDArray[Any]]:
        """Return the rows as finite numbers, none of them zero."""
        points = read_numbers(coordinates, self.name)
        refuse_first(points, (points == 0).all(axis=1, keepdims=True), ZERO)
        return metric, points

    def pairwise(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return 1 - cos."""
        return np.asarray(cdist(find_directions(a), find_directions(b), "sqeuclidean") / 2)

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return 1 - cos, row by row."""
        return np.asarray(((find_directions(a) - find_directions(b)) ** 2).sum(axis=1) / 2)

    def identify(self, coordinates: NDArray[Any]) -> NDArray[Any]:
        """Return the directions."""
        return np.asarray(np.round(find_directions(coordinates), 12) + 0.0)


def draw_towards(
    points: Points, count: int, rng: np.random.Generator, how: Invention = INVENTION
) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
    """Draw records, for each of them one of its nearest, and a share of the way between them: a smoothed bootstrap."""
    base = rng.integers(points.size, size=count)
    towards, wanted = base, min(how.nearest_records, points.size - 1)
    if wanted >= 1:
        who, place = np.unique(base, return_inverse=True)
        block = points.block(who.astype(np.int32), np.arange(points.size, dtype=np.int32))
        block[np.arange(len(who)), who] = np.inf
        nearest = np.argpartition(block, wanted - 1, axis=1)[:, :wanted]
        towards = np.asarray(nearest[place.ravel(), rng.integers(wanted, size=len(base))])
    return points.coordinates[base], points.coordinates[towards], rng.random(count)


def find_directions(vectors: FloatArray) -> FloatArray:
    """Return vectors of length 1 in the same directions."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = vectors / np.where(largest > 0, largest, 1.0)  # squares of tiny or huge numbers would be 0 or infinite
    return np.asarray(scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300))
