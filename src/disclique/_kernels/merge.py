"""Product edges by merging: target and known edges, sorted by distance within each pair of classes, meet in windows.

An *edge* here joins two records of one file. The edges of a file lie in blocks, one a pair of classes, each block with
its published distances ascending and the unpublished ones (NaN) behind them. The known edges that a target edge agrees
with are then one contiguous window of a block: those inside the agreement interval, or the unpublished tail.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique._kernels.compiled import kernel


class TargetEdges(NamedTuple):
    """Edges of the target by block ``a * classes + b``, a ≤ b; ``first`` lies in class a, ``second`` in b."""

    low: NDArray[np.float64]  # open interval of agreeing known distances; NaN where unpublished
    high: NDArray[np.float64]
    back_low: NDArray[np.float64]  # the same for the opposite arcs; empty unless directed
    back_high: NDArray[np.float64]
    first: NDArray[np.int32]  # index of the record within its class
    second: NDArray[np.int32]
    start: NDArray[np.int64]
    middle: NDArray[np.int64]  # end of the published part of each block


class KnownEdges(NamedTuple):
    """Edges of the known file by block; directed: every arc in block c * classes + d, else c ≤ d."""

    distance: NDArray[np.float64]
    back: NDArray[np.float64]  # distance of the opposite arc; empty unless directed
    first: NDArray[np.int32]  # number of the first product vertex of the record
    second: NDArray[np.int32]
    start: NDArray[np.int64]
    middle: NDArray[np.int64]


class Relation(NamedTuple):
    """Which known classes each target class may match, and where its records stand among a known record's vertices."""

    start: NDArray[np.int64]  # by target class
    known: NDArray[np.int64]
    place: NDArray[np.int64]  # of the first entry in ``position``
    position: NDArray[np.int32]
    classes: int  # of the known file


class Half(NamedTuple):
    """Per vertex, the neighbours with smaller numbers; ``head`` moves as a row fills."""

    head: NDArray[np.int64]
    row: NDArray[np.int32]


@kernel
def upper(block: NDArray[np.float64], row: int, at: int, out: tuple[NDArray[np.float64], ...]) -> int:
    """Where the next row goes, after writing distances right of the diagonal and their ends into ``out``."""
    distance, first, second = out
    records = block.shape[1]
    for i in range(block.shape[0]):
        for j in range(row + i + 1, records):
            distance[at] = block[i, j]
            first[at] = row + i
            second[at] = j
            at += 1
    return at


@kernel
def arcs(
    matrix: NDArray[np.float64], group: NDArray[np.int64], every: bool, out: tuple[NDArray[np.float64], ...]
) -> int:
    """Number of arcs written: every ordered pair, or each pair once from its smaller class to its larger."""
    distance, back, first, second = out
    at = 0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[0]):
            once = group[i] < group[j] or (group[i] == group[j] and i < j)
            if i != j and (every or once):
                distance[at] = matrix[i, j]
                back[at] = matrix[j, i]
                first[at] = i
                second[at] = j
                at += 1
    return at


@kernel
def blocks(
    order: NDArray[np.int64],
    edges: tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]],
    group: NDArray[np.int64],
    classes: int,
    directed: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Start and middle of each block, and per place the edge that goes there with its two ends.

    ``order`` sorts the edges by distance, NaN last; a stable counting sort by block keeps that order inside.
    """
    distance, first, second = edges
    count = len(order)
    start = np.zeros(classes * classes + 1, np.int64)
    middle = np.zeros(classes * classes, np.int64)
    key = np.empty(count, np.int64)
    for e in range(count):
        a, b = group[first[e]], group[second[e]]
        if not directed and a > b:
            a, b = b, a
        key[e] = a * classes + b
        start[key[e] + 1] += 1
    for k in range(classes * classes):
        start[k + 1] += start[k]
        middle[k] = start[k]
    head = start[:-1].copy()
    source = np.empty(count, np.int64)
    left = np.empty(count, np.int32)
    right = np.empty(count, np.int32)
    for s in range(count):
        e = order[s]
        k = key[e]
        at = head[k]
        head[k] = at + 1
        i, j = first[e], second[e]
        if not directed and group[i] > group[j]:
            i, j = j, i
        source[at] = e
        left[at] = i
        right[at] = j
        if not np.isnan(distance[e]):
            middle[k] = at + 1
    return start, middle, source, left, right


@kernel
def reach(values: NDArray[np.float64], at: int, end: int, bound: float, closed: bool) -> int:
    """First index from ``at`` whose value lies above ``bound`` (at or above it if ``closed``), by galloping."""
    step = 1
    low = at
    while at < end and (values[at] < bound or (not closed and values[at] == bound)):
        low = at + 1
        at += step
        step *= 2
    high = min(at, end)
    while low < high:
        mid = (low + high) // 2
        if values[mid] < bound or (not closed and values[mid] == bound):
            low = mid + 1
        else:
            high = mid
    return low


@kernel
def windows(
    target: TargetEdges, known: KnownEdges, block: tuple[int, int], out: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> int:
    """Number of agreeing pairs of one target and one known block, with the window of every target edge in ``out``.

    Linear in the two blocks where the interval's ends rise with the distance (then no search starts anew).
    """
    a, b = block
    begin, finish = out
    total = 0
    s, m, e = target.start[a], target.middle[a], target.start[a + 1]
    first, published, last = known.start[b], known.middle[b], known.start[b + 1]
    i, j = first, first
    for edge in range(s, m):
        low, high = target.low[edge], target.high[edge]
        if edge > s and not low >= target.low[edge - 1]:
            i = first
        if edge > s and not high >= target.high[edge - 1]:
            j = first
        if low < high:
            i = reach(known.distance, i, published, low, False)
            j = reach(known.distance, max(i, j), published, high, True)
            begin[edge - s], finish[edge - s] = i, j
            total += j - i
        else:
            begin[edge - s], finish[edge - s] = 0, 0
    for edge in range(m, e):
        begin[edge - s], finish[edge - s] = published, last
    return total + (e - m) * (last - published)


@kernel
def agree(target: TargetEdges, known: KnownEdges, edge: int, other: int) -> bool:
    """True if the opposite arcs of a target and a known edge agree too."""
    distance = known.back[other]
    low = target.back_low[edge]
    if np.isnan(distance):
        return bool(np.isnan(low) and np.isnan(target.back_high[edge]))
    return bool(low < distance and distance < target.back_high[edge])


COUNT, DEGREES, FILL = 0, 1, 2


@kernel
def merge(
    target: TargetEdges,
    known: KnownEdges,
    relation: Relation,
    span: tuple[int, int, int],
    counts: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
    half: Half,
) -> None:
    """Pass over all product edges whose target edge lies in blocks ``span[0]:span[1]``; ``span[2]`` says what to do.

    COUNT adds up the edges of each block in ``counts[0]`` without visiting them (an upper bound if directed); DEGREES
    counts smaller neighbours in ``counts[1]`` and larger ones in ``counts[2]``; FILL writes the smaller end of every edge
    into the row of the larger. Cost: the edges of both files per pair of related classes, and the product edges.
    """
    per_block, smaller, larger = counts
    first_block, last_block, mode = span
    directed = len(known.back) > 0
    groups = len(relation.start) - 1
    longest = 0
    for k in range(first_block, last_block):
        longest = max(longest, target.start[k + 1] - target.start[k])
    begin = np.empty(longest, np.int64)
    finish = np.empty(longest, np.int64)
    for k in range(first_block, last_block):
        s, e = target.start[k], target.start[k + 1]
        if s == e:
            continue
        a, b = k // groups, k % groups
        for p in range(relation.start[a], relation.start[a + 1]):
            for q in range(relation.start[b], relation.start[b + 1]):
                c, d = relation.known[p], relation.known[q]
                swap = not directed and c > d
                both = not directed and c == d
                other = d * relation.classes + c if swap else c * relation.classes + d
                if known.start[other] == known.start[other + 1]:
                    continue
                total = windows(target, known, (k, other), (begin, finish))
                if mode == COUNT:
                    per_block[k] += 2 * total if both else total
                    continue
                if total == 0:
                    continue
                left, right = known.first, known.second
                if swap:
                    left, right = right, left
                for edge in range(s, e):
                    v = relation.position[relation.place[p] + target.first[edge]]
                    w = relation.position[relation.place[q] + target.second[edge]]
                    for other_edge in range(begin[edge - s], finish[edge - s]):
                        if directed and not agree(target, known, edge, other_edge):
                            continue
                        for turn in range(2 if both else 1):
                            if turn == 0:
                                x, y = left[other_edge] + v, right[other_edge] + w
                            else:
                                x, y = right[other_edge] + v, left[other_edge] + w
                            if x < y:
                                x, y = y, x
                            if mode == DEGREES:
                                smaller[x] += 1
                                larger[y] += 1
                            else:
                                half.row[half.head[x]] = y
                                half.head[x] += 1


@kernel
def rows(
    half_start: NDArray[np.int64], half_row: NDArray[np.int32], offsets: NDArray[np.int64], smaller: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Neighbours of every vertex ascending, from each vertex's smaller neighbours in any order.

    Row x of the result is its smaller neighbours, then its larger ones. Visiting x upwards appends x to the larger
    part of its neighbours in order; visiting those parts upwards then orders the smaller parts.
    """
    n = len(offsets) - 1
    neighbours = np.empty(offsets[n], np.int32)
    head = np.empty(n, np.int64)
    for x in range(n):
        head[x] = offsets[x] + smaller[x]
    for x in range(n):
        for i in range(half_start[x], half_start[x + 1]):
            y = half_row[i]
            neighbours[head[y]] = x
            head[y] += 1
    for x in range(n):
        head[x] = offsets[x]
    for y in range(n):
        for i in range(offsets[y] + smaller[y], offsets[y + 1]):
            x = neighbours[i]
            neighbours[head[x]] = y
            head[x] += 1
    return neighbours
