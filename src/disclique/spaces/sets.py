"""Sets of many records, kept sparse: what two of them share is what Dice and Jaccard count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from disclique.values import FloatArray, IntArray

_CELLS = 1 << 22  # distances that are computed at a time: what is in between takes several times their memory


def in_parts(rows: IntArray, width: int) -> Iterator[tuple[slice, IntArray]]:
    """Return the rows of a block in parts, each with its place, such that ``width`` numbers for each row are few.

    >>> [(place.start, part.size) for place, part in in_parts(np.arange(5), _CELLS // 2)]
    [(0, 2), (2, 2), (4, 1)]
    """
    step = max(1, _CELLS // max(width, 1))
    for start in range(0, len(rows), step):
        yield slice(start, start + step), rows[start : start + step]


@dataclass(frozen=True, eq=False)
class Sets:
    """A set for each record, to count what two of them share; row i of the sparse ``members`` marks set i.

    >>> from scipy.sparse import csr_matrix
    >>> Sets(csr_matrix([[1, 1, 0], [0, 1, 1]])).shared(np.array([0]), np.array([0, 1]))
    array([[2., 1.]])
    """

    members: Any

    @cached_property
    def _turned(self) -> Any:
        return self.members.T.tocsr()

    def shared(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return how much each of ``rows`` shares with each of ``columns``; exact."""
        if 2 * len(columns) < self.members.shape[0]:
            return np.asarray((self.members[rows] @ self.members[columns].T).toarray(), dtype=float)
        counts = (self.members[rows] @ self._turned).toarray()  # choosing among all is cheaper than turning most
        return np.asarray(counts[:, columns], dtype=float)
