"""Rows of the product graph made when they are asked for, from the distances of both files; nothing of them is stored.

Records are called by their place among those that have a candidate. Two vertices are joined by the same comparison of
the same numbers as in the windows of ``merge``, so that a graph is the same whether its rows are stored or made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel


class Source(NamedTuple):
    """What rows are made from; all empty where rows are stored.

    A record never agrees with itself: the interval of a target record with itself is empty, the known one infinite.
    """

    low: NDArray[np.float64]  # by two target records: open interval of agreeing known distances; NaN where unpublished
    high: NDArray[np.float64]
    distance: NDArray[np.float64]  # by two known records
    target: NDArray[np.uint32]  # place of the target record of each vertex
    known: NDArray[np.uint32]
    beyond: NDArray[np.int64]  # by known record: the vertex behind its own
    directed: bool


_NONE, _NOBODY = np.empty((0, 0)), np.empty(0, np.uint32)
STORED = Source(_NONE, _NONE, _NONE, _NOBODY, _NOBODY, np.empty(0, np.int64), False)


@kernel
def agrees(low: float, high: float, distance: float) -> bool:
    """True if a known distance lies in the interval of a target distance, or neither is published."""
    return ((low < distance) & (distance < high)) | (np.isnan(distance) & np.isnan(low))


@kernel
def joined(source: Source, v: int, u: int) -> bool:
    """True if two vertices are adjacent."""
    s, t = np.uint64(source.target[v]), np.uint64(source.target[u])
    k, m = np.uint64(source.known[v]), np.uint64(source.known[u])
    if not agrees(source.low[s, t], source.high[s, t], source.distance[k, m]):
        return False
    return not source.directed or agrees(source.low[t, s], source.high[t, s], source.distance[m, k])


@kernel
def make_row(source: Source, root: int, out: NDArray[np.uint32]) -> int:
    """Number of the later neighbours of ``root``, written to ``out`` ascending.

    Linear in the vertices behind the root, one comparison each; there must be room for one more than are found.
    """
    t, k = np.uint64(source.target[root]), np.uint64(source.known[root])
    low, high, distance = source.low[t], source.high[t], source.distance[k]
    at = np.uint64(source.beyond[k])
    n = np.uint64(len(source.target))
    hits = np.uint64(0)
    while at < n:
        other = np.uint64(source.known[at])
        d, end = distance[other], np.uint64(source.beyond[other])
        for v in range(at, end):
            s = np.uint64(source.target[v])
            out[hits] = np.uint32(v)
            hit = agrees(low[s], high[s], d)
            if hit and source.directed:
                hit = agrees(source.low[s, t], source.high[s, t], source.distance[other, k])
            hits += np.uint64(hit)
        at = end
    return np.int64(hits)


@kernel
def shared(source: Source, u: int, candidate: NDArray[np.uint32], count: int, hit: NDArray[np.uint32]) -> int:
    """Number of candidates that are later neighbours of ``u``, listed in ``hit``."""
    t, k = np.uint64(source.target[u]), np.uint64(source.known[u])
    low, high, distance = source.low[t], source.high[t], source.distance[k]
    hits = np.uint64(0)
    for i in range(np.uint64(count)):
        v = np.uint64(candidate[i])
        s = np.uint64(source.target[v])
        hit[hits] = candidate[i]
        hits += np.uint64((v > u) & agrees(low[s], high[s], distance[np.uint64(source.known[v])]))
    if not source.directed:
        return np.int64(hits)
    kept = 0
    for i in range(hits):
        if joined(source, u, np.int64(hit[i])):
            hit[kept] = hit[i]
            kept += 1
    return kept
