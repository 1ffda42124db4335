"""Distances of many records, of which no matrix is formed: computed when they are asked for, or listed.

A release shows distances and nothing from which they come. Of few records that is a matrix; of more it would
take gigabytes, and these sources stand in its place. An attack can ask them for any block of distances, and for nothing
else: they have no coordinates, strings or exact distances to show.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from disclique.errors import InputError
from disclique.spaces.base import SIZES, Distances, Sizes
from disclique.values import FloatArray, IntArray

Ints = NDArray[np.int64]


class Unformed(Distances):
    """Distances that show nothing but themselves: subclasses have ``size``, ``directed``, ``unit`` and ``block``."""

    def hidden(self) -> Unformed:
        """Return it as it is."""
        return self

    def select(self, rows: NDArray[np.integer]) -> Distances:
        """Return the distances between some records, in the order of ``rows``: of few of them a matrix."""
        few = len(rows) <= self.sizes.formed_records
        return super().select(rows) if few else self.part(np.asarray(rows, dtype=np.int32))

    def part(self, rows: IntArray) -> Unformed:
        """Return the distances between some records without forming a matrix of however few."""
        return Hidden(self, rows)

    def __repr__(self) -> str:
        way = ", directed" if self.directed else ""
        return f"distances of {self.size:,} records{way}, computed when asked for"


@dataclass(frozen=True, eq=False, repr=False)
class Derived(Unformed):
    """Distances that are computed from those of a source: a subclass says how, by ``block``."""

    source: Distances = field(repr=False)

    @property
    def size(self) -> int:
        """Number of records."""
        return self.source.size

    @property
    def directed(self) -> bool:
        """True if the distance from i to j may differ from the one from j to i."""
        return self.source.directed

    @property
    def unit(self) -> str | None:
        """The unit of the distances, None where nobody said it."""
        return self.source.unit

    @property
    def sizes(self) -> Sizes:
        """Those of the source."""
        return self.source.sizes

    def with_sizes(self, sizes: Sizes) -> Self:
        """Return the same of a source of which more or less is held at a time."""
        return replace(self, source=self.source.with_sizes(sizes))


@dataclass(frozen=True, eq=False, repr=False)
class Hidden(Derived):
    """The distances of a source, or between some of its records, without what they are computed from.

    >>> from disclique.spaces import Points
    >>> places = Points([[0, 0], [3, 4], [6, 8]], "euclidean")
    >>> Hidden(places).block(np.array([0]), np.array([1, 2])), Hidden(places, np.array([2, 1])).size
    (array([[ 5., 10.]]), 2)
    """

    rows: IntArray | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Number of records."""
        return self.source.size if self.rows is None else len(self.rows)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``."""
        if self.rows is None:
            return self.source.block(rows, columns)
        return self.source.block(self.rows[rows], self.rows[columns])

    def part(self, rows: IntArray) -> Hidden:
        """Return the distances between some records, without forming a matrix."""
        return type(self)(self.source, rows if self.rows is None else self.rows[rows])

    def identities(self) -> list[Hashable] | None:
        """Return for every record the number of the first one that is the same, where the source knows that."""
        numbers: dict[Hashable, int] = {}
        if (named := self.source.identities()) is None:
            return None
        whose = range(len(named)) if self.rows is None else self.rows.tolist()
        return [numbers.setdefault(named[row], row) for row in whose]


@dataclass(frozen=True, eq=False, repr=False)
class Listed(Unformed):
    """Distances of which only some are published, as a list: ``value[k]`` is that from ``first[k]`` to ``second[k]``.

    Without a direction every pair stands in the list once. What is not listed is NaN, as in a matrix.

    >>> near = Listed(3, np.array([0]), np.array([1]), np.array([7.0]))
    >>> near, near.block(np.array([1]), np.array([0, 1, 2]))
    (1 distances of 3 records, array([[ 7.,  0., nan]]))
    """

    size: int
    first: Ints = field(repr=False)
    second: Ints = field(repr=False)
    value: FloatArray = field(repr=False)
    directed: bool = False
    unit: str | None = None
    sizes: Sizes = field(default=SIZES, kw_only=True)

    def __post_init__(self) -> None:
        if not len(self.first) == len(self.second) == len(self.value):
            raise InputError("list_of_unequal_columns")

    @cached_property
    def _numbers(self) -> Any:
        """The matrix of line numbers, counted from 1, in compressed rows: a published 0 must not be lost."""
        lines = np.arange(1, len(self.value) + 1)
        ends = self.first, self.second
        if not self.directed:
            lines = np.concatenate([lines, lines])
            ends = np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])
        return sparse.csr_matrix((lines, ends), (self.size, self.size))

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``, NaN where they are not published."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        some = self._numbers[rows]
        if not (len(columns) == self.size and np.array_equal(columns, np.arange(self.size))):
            some = some[:, columns]
        found, there = np.full((len(rows), len(columns)), np.nan), some.tocoo()
        found[there.row, there.col] = self.value[there.data - 1]
        found[rows[:, None] == columns[None, :]] = 0.0
        return found

    def listed(self) -> Listed:
        """Return it as it is."""
        return self

    def part(self, rows: IntArray) -> Unformed:
        """Return the distances between some records, in the order of ``rows``, by which the list is ordered, too."""
        chosen = rows.astype(np.int64)
        if len(np.unique(chosen)) < len(chosen):
            return super().part(rows)
        number = np.full(self.size, -1)
        number[chosen] = np.arange(len(chosen))
        first, second = number[self.first], number[self.second]
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        kept = np.flatnonzero((first >= 0) & (second >= 0))
        kept = kept[np.lexsort((second[kept], first[kept]))]
        return replace(self, size=len(chosen), first=first[kept], second=second[kept], value=self.value[kept])

    def __repr__(self) -> str:
        return f"{len(self.value):,} distances of {self.size:,} records"
