"""Ceilings: how large a clique each root may hold at most, and good cliques on the way.

Sweeping looks at the inner degrees of every root once, from sparse rows or, where there are very many edges, from rows
of bits; sifting goes to the end of what thinning and colouring can tell about the few roots that remain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels import demand
from disclique.engine.kernels.compiled import kernel, lowest, popcount
from disclique.engine.kernels.roots import (
    ONE,
    Later,
    Workspace,
    candidates,
    common,
    everything,
    height,
    inner,
    marked,
    matrix,
    set_marks,
    thin,
)


@kernel
def distinct(colour: NDArray[np.int32], root: int, count: int, seen: NDArray[np.int32], space: Workspace) -> int:
    """Number of colours of a free colouring among the candidates."""
    found = 0
    for i in range(count):
        c = colour[space.candidate[i]]
        if seen[c] != root:
            seen[c] = root
            found += 1
    return found


@kernel
def colours(rows: NDArray[np.int64]) -> int:
    """Number of colours that a greedy colouring of the candidates needs."""
    count, words = rows.shape
    uncoloured = everything(count)
    eligible = np.empty(words, np.int64)
    used = 0
    while count > 0:
        used += 1
        for x in range(words):
            eligible[x] = uncoloured[x]
        for w in range(words):
            while eligible[w] != 0:
                b = lowest(eligible[w])
                bit = np.int64(1) << np.int64(b)
                eligible[w] ^= bit
                uncoloured[w] ^= bit
                count -= 1
                for x in range(w, words):
                    eligible[x] &= ~rows[64 * w + b, x]
    return used


@kernel
def greedy(rows: NDArray[np.int64], root: int, space: Workspace, best: NDArray[np.int64]) -> None:
    """Build a clique at ``root`` by always taking the candidate with most neighbours left, kept if best."""
    count, words = rows.shape
    left = everything(count)
    chosen = space.degree  # no longer needed for this root
    size, looked = 0, 0
    while True:
        top, most = -1, -1
        for w in range(words):
            rest = left[w]
            while rest != 0:
                b = lowest(rest)
                rest ^= np.int64(1) << np.int64(b)
                looked += words
                neighbours = 0
                for x in range(words):
                    neighbours += popcount(left[x] & rows[64 * w + b, x])
                if neighbours > most:
                    top, most = 64 * w + b, neighbours
        if top < 0:
            break
        for x in range(words):
            left[x] &= rows[top, x]
        chosen[size] = top
        size += 1
    space.work[0] += looked
    best[0] = max(best[0], size + 1)
    if size + 1 > space.size[0]:
        space.size[0] = size + 1
        space.clique[0] = root
        for i in range(size):
            space.clique[i + 1] = space.candidate[chosen[i]]


@kernel
def hopeless(later: Later, count: int, least: int, space: Workspace) -> bool:
    """True if no candidate can be the second member of a clique of ``least``: too few later neighbours in common.

    Rows that are too short, or too near to the end of the order, are not even read, so that this costs less than half
    of the inner degrees.
    """
    many = np.uint64(max(0, least - 2))
    mark, candidate = space.mark, space.candidate
    last = np.uint64(beyond(count, least - 2, len(mark), space))
    stored = len(later.source.target) == 0
    found, work = False, np.int64(0)
    set_marks(count, space, 1)
    for i in range(count):
        u = np.uint64(candidate[i])
        length = later.start[u + ONE] - later.start[u]
        if u >= last or length < many:
            continue
        work += np.int64(length)
        if stored:
            both = np.uint64(marked(later.start, later.row, mark, u))
        else:
            both = np.uint64(demand.shared(later.source, u, candidate, count, space.hit))
        if both >= many:
            found = True
            break
    set_marks(count, space, 0)
    space.work[0] += work
    return not found


@kernel
def beyond(count: int, many: int, vertices: int, space: Workspace) -> int:
    """Return a vertex from which on no candidate has ``many`` candidates behind it, found by rough counting."""
    shift = 0
    while vertices >> shift > 128:
        shift += 1
    tally = np.zeros(129, np.int64)
    for i in range(count):
        tally[np.int64(space.candidate[i]) >> shift] += 1
    behind = 0
    for b in range(128, -1, -1):
        if behind + tally[b] > many:
            return (b + 1) << shift
        behind += tally[b]
    return 0


@kernel
def adjacent(later: Later, v: int, u: int) -> bool:
    """True if two vertices are joined."""
    if len(later.bits) > 0:
        return (later.bits[v, u // 64] >> np.int64(u % 64)) & np.int64(1) != 0
    if len(later.source.target) > 0:
        return demand.joined(later.source, v, u)
    low, high = np.uint64(min(v, u)), np.uint32(max(v, u))
    found = np.uint64(0)
    for e in range(later.start[low], later.start[low + ONE]):
        found += np.uint64(later.row[e] == high)
    return found > 0


@kernel
def around_top(later: Later, count: int, space: Workspace) -> int:
    """Number of candidates left when only the one of largest inner degree and its neighbours stay."""
    top = 0
    for i in range(count):
        if space.degree[i] > space.degree[top]:
            top = i
    u = np.int64(space.candidate[top])
    kept = 0
    for i in range(count):
        v = np.int64(space.candidate[i])
        if i == top or adjacent(later, v, u):
            space.candidate[kept] = space.candidate[i]
            kept += 1
    return kept


@kernel
def appraise(
    later: Later, root: int, count: int, space: Workspace, best: NDArray[np.int64], ceiling: NDArray[np.int32]
) -> None:
    """Lower the ceiling to what the inner degrees give; look for a clique if it is above the best."""
    least = best[0]
    ceiling[root] = min(ceiling[root], height(space.degree, count, space.hit))
    if ceiling[root] < least:
        return
    count = thin(later, count, least, space)
    ceiling[root] = min(ceiling[root], max(least - 1, height(space.degree, count, space.hit)))
    if ceiling[root] > best[0] and best[2] == 0:
        count = around_top(later, count, space)
        greedy(matrix(later, count, space), root, space, best)


@kernel
def sweep(
    later: Later, roots: NDArray[np.int64], space: Workspace, best: NDArray[np.int64], ceiling: NDArray[np.int32]
) -> None:
    """Lower the ceilings of ``roots`` by one look at their inner degrees.

    Tries for a clique where that may pay. ``best`` is the size of the best clique, a flag that asks to stop, and one
    that no larger clique is wanted. Cost: for each root the later neighbours of its later neighbours.
    """
    for root in roots:
        least = best[0]  # read once: other threads raise it
        if ceiling[root] < least or best[1] != 0 or space.work[0] > space.work[1]:
            continue
        count = candidates(later, root, space)
        if least > 2 and hopeless(later, count, least, space):
            ceiling[root] = least - 1
            continue
        inner(later, count, space)
        appraise(later, root, count, space, best, ceiling)


@kernel
def bit_rows(later: Later, span: tuple[int, int]) -> None:
    """Set the bits of all edges whose smaller vertex lies in ``span``, which starts at a multiple of 64.

    Spans given to different threads then touch different words.
    """
    bits = later.bits
    for p in range(span[0], span[1]):
        for e in range(later.start[p], later.start[p + 1]):
            u = np.int64(later.row[e])
            bits[p, u // 64] |= np.int64(1) << np.int64(u % 64)
            bits[u, p // 64] |= np.int64(1) << np.int64(p % 64)


@kernel
def later_bits(
    later: Later, span: tuple[int, int], least: int, ceiling: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Bits of the later neighbours of each root in ``span``, which roots are alive, and where their lists begin."""
    bits = later.bits
    first, last = span
    mask = np.zeros((last - first, bits.shape[1]), np.int64)
    alive = np.zeros((last - first + 63) // 64, np.int64)
    place = np.zeros(last - first + 1, np.int64)
    for q in range(last - first):
        root = first + q
        place[q + 1] = place[q]
        if ceiling[root] < least:
            continue
        alive[q // 64] |= np.int64(1) << np.int64(q % 64)
        place[q + 1] += np.int64(later.start[root + 1]) - np.int64(later.start[root])
        for x in range(root // 64, bits.shape[1]):
            mask[q, x] = bits[root, x]
        mask[q, root // 64] &= np.int64(-2) << np.int64(root % 64)
    return mask, alive, place


@kernel
def sweep_bits(
    later: Later, span: tuple[int, int], space: Workspace, best: NDArray[np.int64], ceiling: NDArray[np.int32]
) -> None:
    """Do the same as ``sweep`` from rows of bits, for a span that starts at a multiple of 64.

    The rows of the roots in the span stay in the cache while the rows of all later vertices pass by once: what counts
    here is not how many words are compared but from how far they come.
    """
    bits = later.bits
    first, last = span
    w0 = first // 64
    mask, alive, place = later_bits(later, span, best[0], ceiling)
    head = place.copy()
    vertex = np.empty(place[last - first], np.uint32)
    degree = np.empty(place[last - first], np.int32)
    for u in range(first + 1, len(ceiling)):
        for w in range(min(len(alive), u // 64 - w0 + 1)):
            rest = bits[u, w0 + w] & alive[w]
            if w0 + w == u // 64:
                rest &= ~(np.int64(-1) << np.int64(u % 64))
            while rest != 0:
                b = lowest(rest)
                rest ^= np.int64(1) << np.int64(b)
                q = 64 * w + b
                vertex[head[q]] = u
                degree[head[q]] = common(bits, u, mask, q, (w0 + w, bits.shape[1]))
                head[q] += 1
                space.work[0] += bits.shape[1] - w0 - w
    for q in range(last - first):
        count = place[q + 1] - place[q]
        if count > 0 and best[1] == 0 and space.work[0] <= space.work[1]:
            for i in range(count):
                space.candidate[i] = vertex[place[q] + i]
                space.degree[i] = degree[place[q] + i]
            appraise(later, first + q, count, space, best, ceiling)


@kernel
def sift(
    later: Later, roots: NDArray[np.int64], space: Workspace, best: NDArray[np.int64], ceiling: NDArray[np.int32]
) -> None:
    """Lower the ceilings of ``roots`` by thinning to the end, the free colourings and a greedy one.

    A root below ``best[0]`` falls for good; one at it may still hold another clique of that size.
    """
    for root in roots:
        least = best[0]
        if ceiling[root] < least or best[1] != 0 or space.work[0] > space.work[1]:
            continue
        count = candidates(later, root, space)
        inner(later, count, space)
        count = thin(later, count, least, space)
        if count + 1 < least:
            ceiling[root] = least - 1
            continue
        ceiling[root] = min(ceiling[root], count + 1)
        if len(later.first) > 0:
            ceiling[root] = min(ceiling[root], 1 + distinct(later.first, root, count, space.seen[0], space))
            ceiling[root] = min(ceiling[root], 1 + distinct(later.second, root, count, space.seen[1], space))
        if ceiling[root] < least:
            continue
        rows = matrix(later, count, space)
        space.work[0] += count * rows.shape[1]
        ceiling[root] = min(ceiling[root], 1 + colours(rows))
        if ceiling[root] > best[0] and best[2] == 0:
            greedy(rows, root, space, best)
