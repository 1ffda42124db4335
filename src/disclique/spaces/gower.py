"""Gower's dissimilarity of records with numbers and categories, some of them missing.

J. C. Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27:857-871.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.messages import mark
from disclique.spaces.metrics import Measure, Metric, register_measure
from disclique.spaces.points import Points
from disclique.spaces.vectors import draw_towards
from disclique.units import NO_UNIT
from disclique.values import FloatArray, IntArray, canonical


@dataclass(frozen=True)
class Gower(Measure):
    """Gower's metric: the mean over the columns in which both records have a value.

    A number counts by its difference as a share of the column's range, at most 1; a category by 0 if it is the same and
    1 if not. ``ranges`` has the range of each column, None for a category. The range is that of the file at hand, so
    the same two people lie differently far apart in a file with another range.

    >>> people = mixed_table([[30, "f"], [50, "m"], [40, None]])
    >>> Gower.of(people).pairwise(people, people).tolist()
    [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """

    ranges: tuple[float | None, ...]
    name = "gower"
    unit = NO_UNIT
    can_invent = True
    by_ranges = True

    @classmethod
    def of(cls, table: NDArray[Any]) -> Self:
        """Return the metric with the ranges of a table that ``mixed_table`` made."""
        return cls(tuple(_range(column) for column in table.T))

    def pairwise(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return distances from each record of ``a`` to each of ``b``; NaN where no column has a value in both."""
        total, there = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
        for k, extent in enumerate(self.ranges):
            x, y = _codes(a[:, k], b[:, k]) if extent is None else (_numbers(a[:, k]), _numbers(b[:, k]))
            apart = np.abs(x[:, None] - y[None, :])
            both = ~np.isnan(apart)
            scaled = apart != 0 if not extent else np.minimum(apart / extent, 1.0)
            total += np.where(both, scaled, 0.0)
            there += both
        with np.errstate(invalid="ignore"):
            return np.asarray(total / there)

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Return the distances of records, row by row."""
        return np.array([self(x, y) for x, y in zip(a, b, strict=True)], dtype=float)

    def block(self, points: Points, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances between records of a file; refuse two that have nothing to be compared by."""
        found = self.pairwise(points.coordinates[rows], points.coordinates[columns])
        found[np.asarray(rows)[:, None] == np.asarray(columns)[None, :]] = 0.0
        for i, j in np.argwhere(np.isnan(found)):
            raise InputError("gower_without_common_column", one=rows[i] + 1, other=columns[j] + 1)
        return found

    def invent(self, points: Points, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return records on the way from one of the file to one of its nearest, column by column."""
        one, other, share = draw_towards(points, count, rng)
        found = one.copy()
        for k, extent in enumerate(self.ranges):
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

    def share_ranges(self, other: Gower, name: str) -> Gower:
        """Return this metric for the records of another file, called ``name``, if it has the same columns."""
        if len(self.ranges) != len(other.ranges):
            raise InputError("gower_columns_differ", name=name, found=len(other.ranges), wanted=len(self.ranges))
        for k, (here, there) in enumerate(zip(self.ranges, other.ranges, strict=True)):
            if (here is None) != (there is None):
                code = mark("gower_numbers_here") if here is None else mark("gower_categories_here")
                raise InputError(code, name=name, column=k + 1)
        return self

    def __call__(self, x: NDArray[Any], y: NDArray[Any]) -> float:
        """Return the distance of two records."""
        return float(self.pairwise(np.asarray(x)[None, :], np.asarray(y)[None, :])[0, 0])

    def __str__(self) -> str:
        return self.name


@register_measure
class GowerOfFile(Measure):
    """Gower's metric by its name: that of a file has its ranges."""

    name = "gower"

    def adopt(self, metric: Metric, coordinates: Any) -> tuple[Metric, NDArray[Any]]:
        """Return the metric with the ranges of the file."""
        table = mixed_table(coordinates)
        return Gower.of(table), table

    def paired(self, a: NDArray[Any], b: NDArray[Any]) -> FloatArray:
        """Refuse rows of which nobody knows the file."""
        raise InputError("gower_needs_a_file")


def mixed_table(values: Any, categories: Sequence[bool] | None = None, *, name: str = "coordinates") -> NDArray[Any]:
    """Return a table of numbers, texts and None (missing): a column is of numbers if every value in it is one.

    ``categories`` says of each column that it is of categories even if these are written as numbers.
    """
    frame = pd.DataFrame(values)
    found = np.empty(frame.shape, dtype=object)
    for k in range(frame.shape[1]):
        column = frame.iloc[:, k]
        missing = column.isna().to_numpy()
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        coded = categories is not None and categories[k]
        if coded or np.isnan(numbers[~missing]).any():
            found[:, k] = [None if gone else str(canonical(value)) for gone, value in zip(missing, column, strict=True)]
            continue
        for row in np.flatnonzero(np.isinf(numbers)):
            raise InputError("number_not_finite", name=name, row=row + 1, column=k + 1, value=numbers[row])
        found[:, k] = [None if gone else float(number) for gone, number in zip(missing, numbers, strict=True)]
    return found


def _range(column: NDArray[Any]) -> float | None:
    there = [value for value in column if value is not None]
    if any(isinstance(value, str) for value in there):
        return None
    return float(max(there) - min(there)) if there else 0.0


def _numbers(column: NDArray[Any]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in column], dtype=float)


def _codes(a: NDArray[Any], b: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return numbers that are equal where categories are; NaN where they are missing."""
    codes, _ = pd.factorize(np.concatenate([a, b]))
    found = np.where(codes < 0, np.nan, codes.astype(float))
    return found[: len(a)], found[len(a) :]
