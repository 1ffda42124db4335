"""One root at a time: a vertex and its later neighbours in a fixed order of the vertices, thinned by inner degrees.

A clique whose first vertex is r lies in r and its later neighbours; in a clique of s members each of those has at least
s - 2 neighbours among the others. Indices in the inner loops are unsigned, which spares a test for negative ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels import demand
from disclique.engine.kernels.compiled import kernel, lowest, popcount

ONE = np.uint64(1)
ENDLESS = 2**62


class Later(NamedTuple):
    """Later neighbours of each vertex in compressed rows, and two free colourings (empty where there are none).

    Vertices with the same ``first`` are never adjacent, nor are those with the same ``second``: product vertices that
    share a record. Where rows are made on demand, ``row`` is empty and ``start`` still tells how long they are.
    """

    start: NDArray[np.uint64]
    row: NDArray[np.uint32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    bits: NDArray[np.int64]  # (vertices, words): all neighbours as bits, where that pays; else no rows, see ``inner``
    source: demand.Source = demand.STORED


class Workspace(NamedTuple):
    """What one thread needs to look at a root."""

    mark: NDArray[np.uint8]  # per vertex, 1 for candidates; all 0 between calls
    slot: NDArray[np.uint32]  # index of a marked vertex among the candidates
    candidate: NDArray[np.uint32]
    degree: NDArray[np.int32]  # of each candidate among the candidates
    hit: NDArray[np.uint32]
    mask: NDArray[np.int64]  # one row: bits of the candidates; all 0 between calls
    seen: NDArray[np.int32]  # (2, records): the last root at which a colour of the free colourings was seen
    clique: NDArray[np.int32]  # the best clique this thread found
    size: NDArray[np.int64]  # one entry: its size
    work: NDArray[np.int64]  # words and neighbours looked at since somebody asked, and how many may be


def new_workspace(later: Later, widest: int) -> Workspace:
    """Room for roots with at most ``widest`` later neighbours."""
    n = len(later.start) - 1
    colours = 1 + max(int(later.first.max(initial=0)), int(later.second.max(initial=0)))
    return Workspace(
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint32),
        np.empty(widest + 1, np.uint32),
        np.empty(widest, np.int32),
        np.empty(widest + 1, np.uint32),
        np.zeros((1, later.bits.shape[1]), np.int64),
        np.full((2, colours), -1, np.int32),
        np.empty(widest + 1, np.int32),
        np.zeros(1, np.int64),
        np.array([0, ENDLESS], np.int64),
    )


@kernel
def candidates(later: Later, root: int, space: Workspace) -> int:
    """Number of later neighbours of ``root``, listed in the workspace."""
    if len(later.source.target) > 0:
        return demand.make_row(later.source, root, space.candidate)
    begin = np.int64(later.start[root])
    count = np.int64(later.start[root + 1]) - begin
    for i in range(count):
        space.candidate[i] = later.row[begin + i]
    return count


@kernel
def set_marks(count: int, space: Workspace, value: int) -> None:
    """Mark the candidates, or unmark them with the value 0."""
    for i in range(count):
        space.mark[space.candidate[i]] = value


@kernel
def marked(start: NDArray[np.uint64], row: NDArray[np.uint32], mark: NDArray[np.uint8], v: int) -> int:
    """Number of marked vertices in the row of ``v``; alone and with few arguments it was measured to be faster."""
    u, found = np.uint64(v), np.uint64(0)
    for e in range(start[u], start[u + ONE]):
        found += np.uint64(mark[row[e]])
    return np.int64(found)


@kernel
def list_marked(
    start: NDArray[np.uint64], row: NDArray[np.uint32], mark: NDArray[np.uint8], v: int, hit: NDArray[np.uint32]
) -> int:
    """Do the same, and list them in ``hit``: gathered without a branch, since no hit can be predicted."""
    u, hits = np.uint64(v), np.uint64(0)
    for e in range(start[u], start[u + ONE]):
        x = row[e]
        hit[hits] = x
        hits += np.uint64(mark[x])
    return np.int64(hits)


@kernel
def inner(later: Later, count: int, space: Workspace) -> None:
    """Count for every candidate its neighbours among the candidates.

    Where ``bits`` has words but no rows, the work is counted as if it had: a budget then ends at the same point.
    """
    if len(later.bits) > 0:
        inner_bits(later, count, space)
        return
    slot, candidate, degree, hit = space.slot, space.candidate, space.degree, space.hit
    stored = len(later.source.target) == 0
    work = np.int64(0)
    set_marks(count, space, 1)
    for i in range(count):
        slot[candidate[i]] = i
        degree[i] = 0
    for i in range(count):
        u = np.uint64(candidate[i])
        work += np.int64(later.start[u + ONE] - later.start[u])
        if stored:
            hits = np.uint64(list_marked(later.start, later.row, space.mark, u, hit))
        else:
            hits = np.uint64(demand.shared(later.source, u, candidate, count, hit))
        for h in range(hits):
            degree[slot[hit[h]]] += 1
        degree[i] += np.int32(hits)
    set_marks(count, space, 0)
    if later.bits.shape[1] > 0:
        low, high = later.bits.shape[1], 0
        for i in range(count):
            low, high = min(low, candidate[i] // 64), max(high, candidate[i] // 64 + 1)
        work = np.int64(count * max(high - low, 0))
    space.work[0] += work


@kernel
def common(a: NDArray[np.int64], i: int, b: NDArray[np.int64], j: int, span: tuple[int, int]) -> int:
    """Number of bits that row i of ``a`` and row j of ``b`` share in the words of ``span``."""
    row, other = np.uint64(i), np.uint64(j)
    count = 0
    for x in range(np.uint64(span[0]), np.uint64(span[1])):
        count += popcount(a[row, x] & b[other, x])
    return count


@kernel
def inner_bits(later: Later, count: int, space: Workspace) -> None:
    """Do the same from rows of bits: one pass over a row per candidate."""
    bits, mask = later.bits, space.mask[0]
    low, high = len(mask), 0
    for i in range(count):
        u = np.int64(space.candidate[i])
        mask[u // 64] |= np.int64(1) << np.int64(u % 64)
        low, high = min(low, u // 64), max(high, u // 64 + 1)
    for i in range(count):
        u = np.int64(space.candidate[i])
        space.degree[i] = common(bits, u, space.mask, 0, (low, high))
    for x in range(low, high):
        mask[x] = 0
    space.work[0] += count * max(high - low, 0)


@kernel
def height(degree: NDArray[np.int32], count: int, tally: NDArray[np.uint32]) -> int:
    """Largest s such that s - 1 candidates have inner degree s - 2 or more: a bound on the cliques of the root."""
    for d in range(count):
        tally[d] = 0
    for i in range(count):
        tally[degree[i]] += 1
    have = 0
    for d in range(count - 1, -1, -1):
        have += np.int64(tally[d])
        if have >= d + 1:
            return d + 2
    return 1


@kernel
def keep(count: int, least: int, space: Workspace) -> int:
    """Number of candidates with inner degree ``least`` or more, moved to the front."""
    kept = 0
    for i in range(count):
        if space.degree[i] >= least:
            space.candidate[kept] = space.candidate[i]
            space.degree[kept] = space.degree[i]
            kept += 1
    return kept


@kernel
def thin(later: Later, count: int, least: int, space: Workspace) -> int:
    """Number of candidates left for a clique of at least ``least`` members, given their inner degrees; 0 if none.

    Those of too small an inner degree go, until no more do.
    """
    while count + 1 >= least and count > 0:
        kept = keep(count, least - 2, space)
        if kept == count:
            return count
        count = kept
        inner(later, count, space)
    return 0


@kernel
def matrix(later: Later, count: int, space: Workspace) -> NDArray[np.int64]:
    """Return the candidates' adjacency as rows of bits."""
    slot, candidate = space.slot, space.candidate
    rows = np.zeros((count, (count + 63) // 64), np.int64)
    space.work[0] += count * count
    if len(later.bits) > 0:
        for i in range(count):
            u = np.int64(candidate[i])
            for j in range(count):
                v = np.int64(candidate[j])
                rows[i, j // 64] |= ((later.bits[u, v // 64] >> np.int64(v % 64)) & np.int64(1)) << np.int64(j % 64)
        return rows
    stored = len(later.source.target) == 0
    set_marks(count, space, 1)
    for i in range(count):
        slot[candidate[i]] = i
    for i in range(count):
        u = np.uint64(candidate[i])
        if stored:
            hits = list_marked(later.start, later.row, space.mark, u, space.hit)
        else:
            hits = demand.shared(later.source, u, candidate, count, space.hit)
        for h in range(hits):
            j = np.int64(slot[space.hit[h]])
            rows[i, j // 64] |= np.int64(1) << np.int64(j % 64)
            rows[j, i // 64] |= np.int64(1) << np.int64(i % 64)
    set_marks(count, space, 0)
    return rows


@kernel
def everything(count: int) -> NDArray[np.int64]:
    """Bits of all candidates."""
    bits = np.full((count + 63) // 64, -1, np.int64)
    if count % 64 != 0:
        bits[count // 64] = ~(np.int64(-1) << np.int64(count % 64))
    return bits


@kernel
def local(later: Later, root: int, least: int, space: Workspace) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The candidates of ``root`` for a clique of ``least`` members, of high inner degree first, and their adjacency.

    Min-width order: always a candidate of least degree among those left goes to the end.
    """
    count = candidates(later, root, space)
    space.candidate[:count].sort()  # rows stand in any order: which cliques come first must not depend on it
    inner(later, count, space)
    count = thin(later, count, least, space)
    words = (count + 63) // 64
    vertex = np.empty(count, np.int32)
    ordered = np.zeros((count, words), np.int64)
    if count == 0:
        return vertex, ordered
    rows = matrix(later, count, space)
    index = np.empty(count, np.int32)
    degree = space.degree
    for place in range(count - 1, -1, -1):
        lowest_at = -1
        for i in range(count):
            if degree[i] >= 0 and (lowest_at < 0 or degree[i] < degree[lowest_at]):
                lowest_at = i
        index[lowest_at] = place
        vertex[place] = space.candidate[lowest_at]
        degree[lowest_at] = -1
        for w in range(words):
            rest = rows[lowest_at, w]
            while rest != 0:
                b = lowest(rest)
                rest ^= np.int64(1) << np.int64(b)
                if degree[64 * w + b] >= 0:
                    degree[64 * w + b] -= 1
    for i in range(count):
        for w in range(words):
            rest = rows[i, w]
            while rest != 0:
                b = lowest(rest)
                rest ^= np.int64(1) << np.int64(b)
                j = index[64 * w + b]
                ordered[index[i], j // 64] |= np.int64(1) << np.int64(j % 64)
    return vertex, ordered


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
