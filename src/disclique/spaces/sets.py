"""Sets of many records, kept sparse: what two of them share is what Dice and Jaccard count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from disclique.values import FloatArray, IntArray


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
