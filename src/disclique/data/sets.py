"""Sets of many records, kept sparse: what two of them share is what Dice and Jaccard count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from disclique.model import FloatArray, IntArray

_CELLS = 1 << 22  # distances for which shared elements are counted at a time: a sparse product needs thrice that


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
        found = np.empty((len(rows), len(columns)))
        most = 2 * len(columns) >= self.members.shape[0]  # then choosing among all is cheaper than turning some
        across = self._turned if most else self.members[columns].T.tocsr()
        step = max(1, _CELLS // max(across.shape[1], 1))
        for start in range(0, len(rows), step):
            counts = (self.members[rows[start : start + step]] @ across).toarray()
            found[start : start + step] = counts[:, columns] if most else counts
        return found
