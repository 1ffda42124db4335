"""Several releases of the same people as one source of distances."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from disclique.errors import InputError
from disclique.spaces.base import SIZES, Distances, Sizes
from disclique.spaces.bits import Encodings
from disclique.values import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ReleaseSeries(Distances):
    """Releases of the same records in the same order, each with its own noise.

    As distances it is their mean, which is what an attack sees that knows of one release only; one that can do more
    takes ``releases`` apart. What no release has published is not published.

    >>> from disclique.spaces import Matrix
    >>> ReleaseSeries((Matrix([[0, 4], [4, 0]]), Matrix([[0, 6], [6, 0]]))).block(np.array([0]), np.array([1]))
    array([[5.]])
    """

    members: tuple[Distances, ...]
    sizes: Sizes = field(default=SIZES, kw_only=True)

    def __post_init__(self) -> None:
        if not self.members:
            raise InputError("series_empty")
        sizes = {one.size for one in self.members}
        if len(sizes) > 1:
            raise InputError("series_of_two_sizes", one=min(sizes), other=max(sizes))

    @property
    def releases(self) -> tuple[Distances, ...]:
        """The releases, to be taken apart."""
        return self.members

    def encodings(self) -> Encodings | None:
        """Return those of all releases that have some, one behind the other."""
        there = [found for one in self.members if (found := one.encodings()) is not None]
        if len(there) < 2:
            return there[0] if there else None
        bits = np.packbits(np.concatenate([one.opened() for one in there], axis=1), axis=1)
        parts = tuple(part for one in there for part in one.parts)
        return replace(there[0], bits=bits, length=sum(parts), parts=parts)

    @property
    def size(self) -> int:
        """Number of records."""
        return self.members[0].size

    @property
    def directed(self) -> bool:
        """True if the distance from i to j may differ from the one from j to i."""
        return any(one.directed for one in self.members)

    @property
    def unit(self) -> str | None:
        """That of the first release: all are in the same one."""
        return self.members[0].unit

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the mean distance from each of ``rows`` to each of ``columns`` over the releases that have it."""
        total, many = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
        for one in self.members:
            found = one.block(rows, columns)
            there = ~np.isnan(found)
            total += np.where(there, found, 0.0)
            many += there
        return np.where(many > 0, total / np.maximum(many, 1), np.nan)

    def __repr__(self) -> str:
        return f"{len(self.members)} releases of {self.size} records"
