"""Kernels for quasi-cliques: a dense local set around every vertex."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel


class Local(NamedTuple):
    """Room for one neighbourhood: where its vertices stand, who is adjacent, inner degrees, who is still in."""

    place: NDArray[np.int32]  # per vertex of the graph, -1 outside the neighbourhood
    vertex: NDArray[np.int32]
    adjacent: NDArray[np.bool_]
    degree: NDArray[np.int32]
    inside: NDArray[np.bool_]


def new_local(order: int, widest: int) -> Local:
    """Room for neighbourhoods of at most ``widest`` vertices."""
    k = widest + 1
    return Local(
        np.full(order, -1, np.int32),
        np.empty(k, np.int32),
        np.zeros((k, k), np.bool_),
        np.zeros(k, np.int32),
        np.zeros(k, np.bool_),
    )


@kernel
def neighbourhood(offsets: NDArray[np.int64], neighbours: NDArray[np.int32], v: int, local: Local) -> int:
    """Number of vertices of ``v`` and its neighbours, with their inner adjacency in ``local``; O(sum of degrees)."""
    start, stop = offsets[v], offsets[v + 1]
    k = int(stop - start + 1)
    local.vertex[0] = v
    for i in range(start, stop):
        local.vertex[i - start + 1] = neighbours[i]
    for i in range(k):
        local.place[local.vertex[i]] = i
        local.inside[i] = True
        local.degree[i] = 0
    for i in range(k):
        for j in range(k):
            local.adjacent[i, j] = False
    for i in range(k):
        w = local.vertex[i]
        for e in range(offsets[w], offsets[w + 1]):
            j = local.place[neighbours[e]]
            if j >= 0:
                local.adjacent[i, j] = True
                local.degree[i] += 1
    for i in range(k):
        local.place[local.vertex[i]] = -1
    return k


@kernel
def cored(local: Local, k: int, need: float) -> int:
    """How many are left when those with fewer than ``need`` neighbours inside are dropped, again and again; O(k²).

    The first vertex, around which the set is built, is never dropped.
    """
    left = k
    changed = True
    while changed:
        changed = False
        for i in range(1, k):
            if local.inside[i] and local.degree[i] < need:
                local.inside[i] = False
                left -= 1
                changed = True
                for j in range(k):
                    if local.adjacent[i, j]:
                        local.degree[j] -= 1
    return left


@kernel
def thinned(local: Local, k: int, left: int, gamma: float) -> int:
    """Return how many are left when those of least inner degree are dropped one by one until all have γ of the others.

    The first vertex stays; of equal ones the first goes. O(k²).
    """
    while left > 1:
        worst, low = -1, np.int64(k)
        for i in range(1, k):
            if local.inside[i] and local.degree[i] < low:
                worst, low = i, np.int64(local.degree[i])
        if min(low, np.int64(local.degree[0])) >= gamma * (left - 1) - 1e-9:
            return left
        local.inside[worst] = False
        left -= 1
        for j in range(k):
            if local.adjacent[worst, j]:
                local.degree[j] -= 1
    return left


@kernel
def local_sets(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    vertices: NDArray[np.int32],
    local: Local,
    gamma: float,
    least: int,
    sets: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> None:
    """Fill ``sets`` (sizes; members row by row, ascending) with the local set of each of ``vertices``.

    A set that would be smaller than ``least``, or larger than a row, has size 0.
    """
    sizes, members = sets
    for row in range(len(vertices)):
        sizes[row] = 0
        v = vertices[row]
        if offsets[v + 1] - offsets[v] + 1 < least:
            continue
        k = neighbourhood(offsets, neighbours, v, local)
        left = cored(local, k, gamma * (least - 1) - 1e-9)  # the others are in no set of the size asked for
        if left < least:
            continue
        left = thinned(local, k, left, gamma)
        if left < least or left > members.shape[1]:
            continue
        at = 0
        for i in range(k):
            if local.inside[i]:
                members[row, at] = local.vertex[i]
                at += 1
        members[row, :at].sort()
        sizes[row] = at
