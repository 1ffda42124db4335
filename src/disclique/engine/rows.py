"""Rows of a product graph that do not fit into memory: their lengths are kept, the rows are made when needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels import demand
from disclique.errors import TooLarge
from disclique.model import FloatArray, IntArray, Rows


class RowsOnDemand(Rows):
    """Where each row would begin and end, and what rows are made from; ``why`` says that they are too large to store.

    Whoever needs them all at once is refused with that: a solver must make rows as it goes.
    """

    source: demand.Source
    why: str

    def __init__(self, offsets: NDArray[np.int64], source: demand.Source, why: str) -> None:
        for name, value in (("offsets", offsets), ("source", source), ("why", why)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"RowsOnDemand({self.order} vertices, {int(self.offsets[-1])} edges)"

    @property
    def neighbours(self) -> IntArray:
        """Refuse: all rows at once are too large."""
        raise TooLarge(f"{self.why}; only the solvers exact and greedy make rows on demand")


def mirror(matrix: FloatArray) -> FloatArray:
    """Return the matrix with what stands above the diagonal also below it: each pair of records has one distance."""
    for i in range(len(matrix)):
        matrix[i + 1 :, i] = matrix[i, i + 1 :]
    return matrix


def source_of(
    intervals: tuple[FloatArray, FloatArray],
    distance: FloatArray,
    places: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    directed: bool,
) -> demand.Source:
    """Return what rows are made from: intervals and distances by places, and the places of the records of vertices."""
    low, high = intervals
    np.fill_diagonal(low, np.inf)
    np.fill_diagonal(high, -np.inf)
    np.fill_diagonal(distance, np.inf)
    target, known = places
    beyond = np.zeros(len(distance), np.int64)
    beyond[known] = np.arange(1, len(known) + 1)  # the last one of each record stays
    return demand.Source(low, high, distance, target, known, beyond, directed)
