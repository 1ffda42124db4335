"""Probabilities of pairs when nobody is twice in a file: marginals of random matchings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def _sum_others(value: Floats, order: Ints, start: Ints, out: Floats) -> None:
    """Fill ``out`` with 1 / (1 + the sum of the row's other values), without cancellation."""
    for r in range(len(start) - 1):
        before = 0.0
        for p in range(start[r], start[r + 1]):
            out[order[p]] = before
            before += value[order[p]]
        after = 0.0
        for p in range(start[r + 1] - 1, start[r] - 1, -1):
            e = order[p]
            out[e] = 1 / (1 + out[e] + after)
            after += value[e]


@kernel
def marginalise_matchings(weight: Floats, rows: tuple[Ints, Ints], columns: tuple[Ints, Ints], rounds: int) -> Floats:
    """Return the probability of each edge in a random matching drawn with the product of its edges' weights.

    Belief propagation, exact where the edges form no cycle; ``rows`` and ``columns`` are (order of the edges, start of
    each record's edges in it). Messages are averaged with the last ones, for they would swing between two bounds.
    """
    down, up = np.ones(len(weight)), np.ones(len(weight))
    fresh = np.empty(len(weight))
    for _ in range(rounds):
        _sum_others(weight * up, rows[0], rows[1], fresh)
        moved = 0.0
        for e in range(len(weight)):
            moved = max(moved, abs(fresh[e] - down[e]) / fresh[e])
            down[e] = (fresh[e] + down[e]) / 2
        _sum_others(weight * down, columns[0], columns[1], fresh)
        for e in range(len(weight)):
            moved = max(moved, abs(fresh[e] - up[e]) / fresh[e])
            up[e] = (fresh[e] + up[e]) / 2
        if moved < 1e-4:
            break
    both = weight * down * up
    return both / (1 + both)
