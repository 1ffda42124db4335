"""Degeneracy order: vertices in the order in which always one of least remaining degree is taken away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel


@kernel
def degeneracy(offsets: NDArray[np.int64], neighbours: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the vertices in degeneracy order, by a bucket queue in time linear in the edges (Matula and Beck)."""
    n = len(offsets) - 1
    degree = np.empty(n, np.int32)
    widest = 0
    for v in range(n):
        degree[v] = offsets[v + 1] - offsets[v]
        widest = max(widest, degree[v])
    start = np.zeros(widest + 2, np.int32)  # first place of each degree among the vertices sorted by degree
    for v in range(n):
        start[degree[v] + 1] += 1
    for d in range(widest + 1):
        start[d + 1] += start[d]
    head = start.copy()
    order = np.empty(n, np.int32)
    place = np.empty(n, np.int32)
    for v in range(n):
        place[v] = head[degree[v]]
        order[place[v]] = v
        head[degree[v]] += 1
    for i in range(n):
        v = order[i]
        least = degree[v]
        for e in range(offsets[v], offsets[v + 1]):
            u = neighbours[e]
            d = degree[u]
            if d > least:  # swap u with the first vertex of its degree, then shrink that bucket from the left
                at, to = place[u], start[d]
                w = order[to]
                order[at], order[to] = w, u
                place[w], place[u] = at, to
                start[d] = to + 1
                degree[u] = d - 1
    return order


@kernel
def orient(
    offsets: NDArray[np.int64], neighbours: NDArray[np.int32], order: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Compressed rows of each vertex's later neighbours, vertices renumbered by their place in ``order``; ascending."""
    n = len(order)
    place = np.empty(n, np.int32)
    for i in range(n):
        place[order[i]] = i
    start = np.zeros(n + 1, np.int64)
    for i in range(n):
        v = order[i]
        count = 0
        for e in range(offsets[v], offsets[v + 1]):
            if place[neighbours[e]] > i:
                count += 1
        start[i + 1] = start[i] + count
    head = start[:-1].copy()
    right = np.empty(start[n], np.int32)
    for i in range(n):
        v = order[i]
        for e in range(offsets[v], offsets[v + 1]):
            j = place[neighbours[e]]
            if j < i:
                right[head[j]] = i
                head[j] += 1
    return start, right
