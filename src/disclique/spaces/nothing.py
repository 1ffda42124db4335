"""No distances at all: a table of labels and numbers, between whose records nothing is published."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from disclique.spaces.base import NOTHING, SIZES, Distances, Sizes
from disclique.units import NO_UNIT
from disclique.values import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Nothing(Distances):
    """Records without distances: what tells them apart are labels and numbers.

    >>> Nothing(3), Nothing(3).block(np.array([0]), np.array([1, 2]))
    (3 records without distances, array([[nan, nan]]))
    """

    size: int
    sizes: Sizes = field(default=SIZES, kw_only=True)
    directed: ClassVar[bool] = False
    unit: ClassVar[str] = NO_UNIT
    keeps_records: ClassVar[bool] = True

    @property
    def kind(self) -> str:
        """What the distances are between: nothing."""
        return NOTHING

    @property
    def are_published(self) -> bool:
        """False: there are none."""
        return False

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return that none is published, but those of records and themselves."""
        return np.where(np.asarray(rows)[:, None] == np.asarray(columns)[None, :], 0.0, np.nan)

    def content(self) -> object:
        """Return the number of records."""
        return self.size

    def identities(self) -> list[Hashable] | None:
        """Return the same for all: nothing tells them apart."""
        return [0] * self.size

    def select(self, rows: NDArray[np.integer]) -> Distances:
        """Return so many records."""
        return Nothing(len(rows), sizes=self.sizes)

    def append(self, other: Self) -> Self:
        """Return the records of both."""
        return type(self)(self.size + other.size, sizes=self.sizes)

    @property
    def can_invent(self) -> bool:
        """True: there is nothing to invent but labels and numbers."""
        return True

    def invent(self, count: int, rng: np.random.Generator) -> Distances:
        """Return so many records."""
        return Nothing(count, sizes=self.sizes)

    def as_matrix(self, *, most: int | None = None) -> Distances:
        """Return the same: there is no matrix."""
        return self

    def hidden(self) -> Distances:
        """Return the same: there is nothing to hide."""
        return self

    def __repr__(self) -> str:
        return f"{self.size} records without distances"
