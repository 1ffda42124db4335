"""The edges of one file (pairs of its records) in blocks, one per pair of classes, each sorted by distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

FEW = 32  # so many edges are sorted by insertion


class Edges(NamedTuple):
    """Edges by block ``class of first * classes + class of second``: published distances ascending, then NaN.

    Each pair of records once with the smaller class first, or every ordered pair.
    """

    distance: NDArray[np.float64]
    back: NDArray[np.float64]  # distance the other way; empty unless directed
    first: NDArray[np.uint32]  # what the caller calls the two records
    second: NDArray[np.uint32]
    start: NDArray[np.int64]
    middle: NDArray[np.int64]  # end of the published part of each block


@kernel
def edges(
    matrix: NDArray[np.float64], begin: NDArray[np.int64], name: NDArray[np.uint32], directed: bool, every: bool
) -> Edges:
    """The edges of records that stand class by class, class c from ``begin[c]``; distances from the whole matrix.

    Linear in the edges unless the distances of a block crowd at few values of their range.
    """
    n, classes = len(matrix), len(begin) - 1
    count = n * (n - 1) if every else n * (n - 1) // 2
    out = Edges(
        np.empty(count),
        np.empty(count if directed else 0),
        np.empty(count, np.uint32),
        np.empty(count, np.uint32),
        np.zeros(classes * classes + 1, np.int64),
        np.zeros(classes * classes, np.int64),
    )
    longest = 0
    for c in range(classes):
        longest = max(longest, begin[c + 1] - begin[c])
    value = np.empty(longest * longest)
    ends = np.empty((longest * longest, 2), np.uint32)
    order = np.empty(longest * longest, np.int32)
    used = 0
    for a in range(classes):
        for b in range(classes):
            out.start[a * classes + b] = used
            out.middle[a * classes + b] = used
            if b < a and not every:
                continue
            size = 0
            for i in range(begin[a], begin[a + 1]):
                for j in range(i + 1 if a == b and not every else begin[b], begin[b + 1]):
                    if i != j:
                        value[size] = matrix[i, j]
                        ends[size, 0], ends[size, 1] = i, j
                        size += 1
            out.middle[a * classes + b] += ranked(value, size, order)
            for s in range(size):
                e = order[s]
                i, j = ends[e, 0], ends[e, 1]
                out.distance[used + s] = value[e]
                out.first[used + s], out.second[used + s] = name[i], name[j]
                if directed:
                    out.back[used + s] = matrix[j, i]
            used += size
    out.start[classes * classes] = used
    return out


@kernel
def ranked(value: NDArray[np.float64], size: int, order: NDArray[np.int32]) -> int:
    """Number of values that are not NaN; ``order`` then lists them ascending, and the others behind.

    As many buckets as values over their range, then insertion in each bucket.
    """
    low, high, published = np.inf, -np.inf, 0
    for e in range(size):
        if not np.isnan(value[e]):
            low, high = min(low, value[e]), max(high, value[e])
            published += 1
    scale = published / (high - low) if low < high and high - low < np.inf else 0.0
    bound = np.zeros(published + 2, np.int32)
    bucket = np.empty(size, np.int32)
    for e in range(size):
        at = published  # the last bucket holds NaN
        if not np.isnan(value[e]):
            at = min(np.int64((value[e] - low) * scale), published - 1) if scale > 0 else 0
        bucket[e] = at
        bound[at + 1] += 1
    for b in range(published + 1):
        bound[b + 1] += bound[b]
    for e in range(size - 1, -1, -1):
        bound[bucket[e] + 1] -= 1
        order[bound[bucket[e] + 1]] = e
    for b in range(1, published + 1):  # bound[b] is now where bucket b - 1 begins
        if bound[b + 1] - bound[b] > 1:
            sort(order, bound[b], bound[b + 1], value)
    return published


@kernel
def sort(order: NDArray[np.int32], begin: int, end: int, value: NDArray[np.float64]) -> None:
    """Sort ``order[begin:end]`` by value."""
    if end - begin > FEW:
        part = order[begin:end]
        part[:] = part[np.argsort(value[part])]
        return
    for i in range(begin + 1, end):
        e = order[i]
        j = i
        while j > begin and value[order[j - 1]] > value[e]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = e
