"""How likely the members of two groups match one-to-one, for many pairs of groups: belief propagation in each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def _load(weight: Floats, heard: Floats, i: int) -> float:
    """Return one and the sum of what a row hears from its columns."""
    load = 1.0
    for j in range(weight.shape[1]):
        load += weight[i, j] * heard[i, j]
    return load


@kernel
def _answer(weight: Floats, heard: Floats, said: Floats) -> float:
    """Let each row say to each column how free it is of the others; return the largest relative change."""
    changed = 0.0
    for i in range(weight.shape[0]):
        load = _load(weight, heard, i)
        for j in range(weight.shape[1]):
            new = 1 / max(load - weight[i, j] * heard[i, j], 1.0)
            changed = max(changed, abs(new - said[i, j]) / max(new, said[i, j]))
            said[i, j] = new
    return changed


@kernel
def match_members(weight: Floats, start: Ints, rows: Ints, columns: Ints, rounds: int, settled: float) -> Floats:
    """Return the log of the sum over partial matchings of the product of their weights, for each pair of groups.

    The weights of a pair of groups stand row by row from ``start`` on; each is replaced by the probability of its pair
    of members. Both are exact where pairs form no cycle, and Bethe's approximation elsewhere. O(weights × rounds).
    """
    total = np.zeros(len(start))
    for group in range(len(start)):
        a, b = rows[group], columns[group]
        own = weight[start[group] : start[group] + a * b].reshape(a, b)
        up, down = np.ones((a, b)), np.ones((a, b))  # from rows to columns, and back
        for _ in range(rounds):
            changed = _answer(own, down, up)
            if max(changed, _answer(own.T, up.T, down.T)) < settled:
                break
        for i in range(a):
            total[group] += np.log(_load(own, down, i))
        for j in range(b):
            total[group] += np.log(_load(own.T, up.T, j))
        for i in range(a):
            for j in range(b):
                odds = own[i, j] * up[i, j] * down[i, j]
                total[group] -= np.log(1 + odds)
                own[i, j] = odds / (1 + odds)
    return total
