"""Product edges by merging: target and known edges, sorted by distance in each pair of classes, meet in windows.

An *edge* here joins two records of one file. The known edges that a target edge agrees with are one contiguous window
of a block of known edges: those inside the agreement interval, or the unpublished tail (condition (b)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel


class TargetEdges(NamedTuple):
    """Edges of the target by block ``a * classes + b``, a ≤ b; ``first`` lies in class a, ``second`` in b."""

    low: NDArray[np.float64]  # open interval of agreeing known distances; NaN where unpublished
    high: NDArray[np.float64]
    back_low: NDArray[np.float64]  # the same for the opposite arcs; empty unless directed
    back_high: NDArray[np.float64]
    first: NDArray[np.uint32]  # rank of the record in its class
    second: NDArray[np.uint32]
    start: NDArray[np.int64]
    middle: NDArray[np.int64]  # end of the published part of each block


class Relation(NamedTuple):
    """Which known classes each target class may match, and where its records stand among a known record's vertices."""

    start: NDArray[np.int64]  # by target class
    known: NDArray[np.int64]
    place: NDArray[np.int64]  # of the first entry in ``position``
    position: NDArray[np.uint32]
    classes: int  # of the known file


class Windows(NamedTuple):
    """Target edges with the known edges they agree with: ``[begin, end)``, and the places of the two target records.

    Known records are called by their first product vertex: known edge k gives {first[k] + left, second[k] + right}.
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    begin: NDArray[np.uint32]
    end: NDArray[np.uint32]
    edge: NDArray[np.int32]


@kernel
def positions(
    target_class: NDArray[np.int64], relation: Relation, width: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.int64]]:
    """Rank of each target record in its class, and per known class its candidates ascending (members, first member).

    Fills ``relation.position``: for each related pair of classes and each target record of the first, its place among
    the candidates of the second.
    """
    classes = relation.classes
    first = np.zeros(classes + 1, np.int64)
    for c in range(classes):
        first[c + 1] = first[c] + width[c]
    head = first[:-1].copy()
    members = np.empty(first[classes], np.int32)
    rank = np.empty(len(target_class), np.uint32)
    seen = np.zeros(len(relation.start) - 1, np.int64)
    for i in range(len(target_class)):
        a = target_class[i]
        rank[i] = seen[a]
        for p in range(relation.start[a], relation.start[a + 1]):
            c = relation.known[p]
            relation.position[relation.place[p] + seen[a]] = head[c] - first[c]
            members[head[c]] = i
            head[c] += 1
        seen[a] += 1
    return rank, members, first


@kernel
def spread(
    known_class: NDArray[np.int64], members: NDArray[np.int32], first: NDArray[np.int64], base: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Index of the target record of every vertex."""
    out = np.empty(base[len(known_class)], np.int32)
    for k in range(len(known_class)):
        c = known_class[k]
        for i in range(first[c + 1] - first[c]):
            out[base[k] + i] = members[first[c] + i]
    return out


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
def weights(target: TargetEdges, known: Edges, relation: Relation) -> NDArray[np.float64]:
    """Return pairs of target and known edges per target block: what a fair share of the work is measured by."""
    groups = len(relation.start) - 1
    out = np.zeros(len(target.start) - 1)
    for k in range(len(out)):
        edges = target.start[k + 1] - target.start[k]
        if edges == 0:
            continue
        a, b = k // groups, k % groups
        for p in range(relation.start[a], relation.start[a + 1]):
            for q in range(relation.start[b], relation.start[b + 1]):
                c, d = relation.known[p], relation.known[q]
                other = min(c, d) * relation.classes + max(c, d)
                out[k] += edges * (1.0 + known.start[other + 1] - known.start[other])
    return out


@kernel
def room(size: int) -> Windows:
    """Room for so many windows."""
    places, ends = np.empty((2, size), np.uint32), np.empty((2, size), np.uint32)
    return Windows(places[0], places[1], ends[0], ends[1], np.empty(size, np.int32))


@kernel
def enlarged(old: Windows, used: int, more: int) -> Windows:
    """Return the same windows with room for at least ``more`` beyond those ``used``."""
    if used + more <= len(old.left):
        return old
    new = room(max(2 * len(old.left), used + more))
    new.left[:used] = old.left[:used]
    new.right[:used] = old.right[:used]
    new.begin[:used] = old.begin[:used]
    new.end[:used] = old.end[:used]
    new.edge[:used] = old.edge[:used]
    return new


@kernel
def windows(target: TargetEdges, known: Edges, relation: Relation, span: tuple[int, int]) -> tuple[Windows, int, int]:
    """Every window of the target blocks in ``span`` that is not empty, their number, and the product edges in them.

    With directed distances only the forward arcs have been compared.
    """
    directed = len(known.back) > 0
    groups = len(relation.start) - 1
    out = room(2 * (target.start[span[1]] - target.start[span[0]]))
    used, total = 0, 0
    for k in range(span[0], span[1]):
        if target.start[k] == target.start[k + 1]:
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
                out = enlarged(out, used, 2 * (target.start[k + 1] - target.start[k]))
                left = relation.position[relation.place[p] :]
                right = relation.position[relation.place[q] :]
                more, edges = meet(target, known, (k, other), (left, right, swap), out, used)
                if both:  # the two known records may also take each other's places
                    for w in range(used, used + more):
                        v = w + more
                        out.left[v], out.right[v] = out.right[w], out.left[w]
                        out.begin[v], out.end[v], out.edge[v] = out.begin[w], out.end[w], out.edge[w]
                    more, edges = 2 * more, 2 * edges
                used, total = used + more, total + edges
    return out, used, total


@kernel
def meet(
    target: TargetEdges,
    known: Edges,
    blocks: tuple[int, int],
    position: tuple[NDArray[np.uint32], NDArray[np.uint32], bool],
    out: Windows,
    used: int,
) -> tuple[int, int]:
    """Number of windows of one target and one known block, written from ``used`` on, and the product edges in them.

    Linear in the edges of both blocks where the interval's ends rise with the distance; otherwise searches start anew.
    """
    k, other = blocks
    left, right, swap = position
    first, published, last = known.start[other], known.middle[other], known.start[other + 1]
    i, j = first, first
    low, high = -np.inf, -np.inf
    at, total = used, 0
    for edge in range(target.start[k], target.start[k + 1]):
        begin, end = published, last
        if edge < target.middle[k]:
            if not target.low[edge] < target.high[edge]:
                continue
            if target.low[edge] < low:
                i = first
            if target.high[edge] < high:
                j = first
            low, high = target.low[edge], target.high[edge]
            i = reach(known.distance, i, published, low, False)
            j = reach(known.distance, max(i, j), published, high, True)
            begin, end = i, j
        if begin == end:
            continue
        one, two = left[target.first[edge]], right[target.second[edge]]
        out.left[at], out.right[at] = (two, one) if swap else (one, two)
        out.begin[at], out.end[at], out.edge[at] = begin, end, edge
        at += 1
        total += end - begin
    return at - used, total


@kernel
def agree(target: TargetEdges, known: Edges, edge: int, other: int) -> bool:
    """True if the opposite arcs of a target and a known edge agree too."""
    distance = known.back[other]
    low = target.back_low[edge]
    if np.isnan(distance) or np.isnan(low):
        return bool(np.isnan(distance) and np.isnan(low))
    return bool(low < distance < target.back_high[edge])


@kernel
def degrees(target: TargetEdges, known: Edges, found: Windows, used: int, larger: NDArray[np.uint32]) -> None:
    """Add up in ``larger`` how many neighbours with larger numbers each vertex has."""
    directed = len(known.back) > 0
    for w in range(used):
        left, right, edge = found.left[w], found.right[w], found.edge[w]
        for other in range(found.begin[w], found.end[w]):
            if directed and not agree(target, known, edge, other):
                continue
            x, y = known.first[other] + left, known.second[other] + right
            larger[min(x, y)] += 1


@kernel
def fill(
    target: TargetEdges,
    known: Edges,
    found: Windows,
    used: int,
    out: tuple[NDArray[np.uint64], NDArray[np.uint32]],
) -> None:
    """Write the larger end of every product edge into the row of the smaller; ``out`` is (heads, rows)."""
    head, row = out
    directed = len(known.back) > 0
    for w in range(used):
        left, right, edge = found.left[w], found.right[w], found.edge[w]
        for other in range(found.begin[w], found.end[w]):
            if directed and not agree(target, known, edge, other):
                continue
            x, y = known.first[other] + left, known.second[other] + right
            low = min(x, y)
            row[head[low]] = max(x, y)
            head[low] += np.uint64(1)


@kernel
def complete(offsets: NDArray[np.int64], later: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Compressed rows with every neighbour of each vertex ascending, from its larger neighbours in any order.

    A row of the result is the smaller neighbours, then the larger ones. Visiting the vertices upwards appends each to
    the smaller part of its neighbours' rows in order; visiting those parts upwards then orders the larger parts.
    """
    n = len(offsets) - 1
    smaller = np.zeros(n, np.int64)
    for e in range(len(later)):
        smaller[later[e]] += 1
    start = np.zeros(n + 1, np.int64)
    for x in range(n):
        start[x + 1] = start[x] + smaller[x] + offsets[x + 1] - offsets[x]
    neighbours = np.empty(start[n], np.int32)
    head = start[:-1].copy()
    for x in range(n):
        for e in range(offsets[x], offsets[x + 1]):
            y = later[e]
            neighbours[head[y]] = x
            head[y] += 1
    for y in range(n):  # each head now stands at the start of the larger part
        for e in range(start[y], start[y] + smaller[y]):
            x = neighbours[e]
            neighbours[head[x]] = y
            head[x] += 1
    return start, neighbours


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
