"""Metrics: how far two points, vectors or records of mixed tables are apart, and what follows from the way to compare.

A metric is given by its name (``sphere``) or as a function of two rows. What points of it are and can do is said by its
``Measure``; a new way to compare is one more, registered under its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.spaces.base import RECORDS
from disclique.values import FloatArray, IntArray

if TYPE_CHECKING:
    from disclique.spaces.points import Points

VECTORIAL = ("euclidean", "cosine")

Metric = str | Callable[[Any, Any], float]


class Measure:
    """One way to compare rows. The defaults are those of a function of two rows: it compares records pair by pair."""

    name: str = ""
    unit: str | None = None  # of all distances; None where the holder says it
    in_coordinates: bool = False  # whether distances are in the unit of the coordinates
    can_invent: bool = False
    by_ranges: bool = False  # whether distances depend on the ranges of the columns of a file

    def kind(self, columns: int) -> str:
        """Return what rows of so many columns are."""
        return RECORDS

    def adopt(self, metric: Metric, coordinates: Any) -> tuple[Metric, NDArray[Any]]:
        """Return the metric and the rows of a file as they are kept; refuse what cannot be compared."""
        return metric, np.array(coordinates)

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return the distance of each row of ``a`` from the same row of ``b``."""
        raise NotImplementedError

    def pairwise(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return distances from each row of ``a`` to each of ``b``."""
        i, j = np.divmod(np.arange(len(a) * len(b)), max(len(b), 1))
        return self.paired(a[i], b[j]).reshape(len(a), len(b))

    def block(self, points: Points, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances between rows of a file: one value for i to j and j to i, even where rounding gives two."""
        i, j = (part.ravel() for part in np.broadcast_arrays(np.asarray(rows)[:, None], np.asarray(columns)[None, :]))
        if not points.directed:
            i, j = np.minimum(i, j), np.maximum(i, j)
        found = self.paired(points.coordinates[i], points.coordinates[j])
        found[i == j] = 0.0
        if not (np.isfinite(found) & (found >= 0)).all():
            k = int(np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[0])
            raise InputError("metric_gives_no_distance", value=found[k], one=i[k] + 1, other=j[k] + 1)
        return found.reshape(len(rows), len(columns))

    def identify(self, coordinates: NDArray[Any]) -> NDArray[Any]:
        """Return rows that are equal where records are the same."""
        return coordinates

    def invent(self, points: Points, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return rows of people who are in no file, like those of one."""
        raise NotImplementedError

    def share_ranges(self, other: Any, name: str) -> Any:
        """Return this metric for the records of another file, called ``name``, where distances depend on ranges."""
        raise NotImplementedError


class OwnMeasure(Measure):
    """A function of two rows that somebody wrote."""

    def __init__(self, metric: Callable[[Any, Any], float]) -> None:
        self._metric, self.name = metric, getattr(metric, "__name__", str(metric))

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Ask the function for one pair at a time."""
        return np.array([float(self._metric(x, y)) for x, y in zip(a, b, strict=True)], dtype=float)


_MEASURES: dict[str, Measure] = {}


def register_measure(measure: type[Measure]) -> type[Measure]:
    """Let a metric be called by its name."""
    _MEASURES[measure.name] = measure()
    return measure


def measure_of(metric: Metric | Measure) -> Measure:
    """Return how rows are compared by a metric; refuse what is none."""
    if isinstance(metric, Measure):
        return metric
    if callable(metric):
        return OwnMeasure(metric)
    if isinstance(metric, str) and metric in _MEASURES:
        return _MEASURES[metric]
    raise InputError("unknown_metric", metric=repr(metric), metrics=list(_MEASURES))


def pairwise(a: NDArray[Any], b: NDArray[Any], metric: Metric = "sphere") -> FloatArray:
    """Return distances from each point of ``a`` to each point of ``b``, shape (len(a), len(b))."""
    return measure_of(metric).pairwise(a, b)


def paired(a: NDArray[Any], b: NDArray[Any], metric: Metric = "sphere") -> FloatArray:
    """Return the distance of each point of ``a`` from the point of ``b`` in the same row."""
    return measure_of(metric).paired(a, b)


def read_numbers(coordinates: Any, name: str, *, degrees: bool = False) -> FloatArray:
    """Return coordinates as one row of finite numbers per record, two of them where they are ``degrees``."""
    try:
        points = np.array(coordinates).astype(float)
    except (TypeError, ValueError) as error:
        raise InputError("coordinates_not_numbers", error=str(error)) from None
    if degrees and (points.ndim != 2 or points.shape[1] != 2):
        raise InputError("coordinates_no_degrees", shape=str(points.shape), metric=name)
    if points.ndim != 2 or points.shape[1] < 1:
        raise InputError("coordinates_no_table", shape=str(points.shape), metric=name)
    refuse_first(points, ~np.isfinite(points), mark("coordinate_not_finite"))
    return points


def refuse_first(points: FloatArray, bad: NDArray[np.bool_], code: str) -> None:
    """Raise an InputError of this code that names the first bad coordinate."""
    if bad.any():
        i, k = map(int, np.argwhere(bad)[0])
        raise InputError("coordinate_refused", row=i, column=k, value=points[i, k], why=Message(code))
