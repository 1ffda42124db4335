"""Ceilings from ceilings: from the last root to the first, each bounded by those of its later neighbours.

A clique whose first two members are r and u is no larger than 1 + the ceiling of u, nor than 2 + the candidates that
both have in common. Later neighbours are asked in the order of their ceilings, and the rest need not be asked once
none can lift the bound any more: where ceilings are low already, a root costs a few rows instead of hundreds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels import demand
from disclique.engine.kernels.compiled import kernel
from disclique.engine.kernels.roots import ONE, Later, Workspace, candidates, list_marked, marked, set_marks


@kernel
def members(tally: NDArray[np.int64], top: int) -> int:
    """Return the most members of a chain of vertices, ``tally[c]`` of which have ceiling c ≤ ``top``; clears the tally.

    The j-th of z members begins a clique of z - j + 1.
    """
    most, have = top, 0
    for c in range(top, 0, -1):
        if tally[c] > 0:
            most = min(most, c + have)
            have += tally[c]
            tally[c] = 0
    tally[0] = 0
    return min(most, have)


@kernel
def by_ceiling(
    count: int, space: Workspace, ceiling: NDArray[np.int32], tally: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    """List the candidates in ``out`` and their ceilings, which fall, in ``space.degree``; the tally is 0 again then."""
    value = space.hit  # read once: other threads lower ceilings
    top = 0
    for i in range(count):
        value[i] = ceiling[space.candidate[i]]
        top = max(top, np.int64(value[i]))
        tally[value[i]] += 1
    place = 0
    for c in range(top, -1, -1):
        many = tally[c]
        tally[c] = place
        place += many
    for i in range(count):
        c = value[i]
        out[tally[c]] = space.candidate[i]
        space.degree[tally[c]] = c
        tally[c] += 1
    for c in range(top + 1):
        tally[c] = 0


@kernel
def records(later: Later, vertex: NDArray[np.uint32], count: int, seen: NDArray[np.int32], stamp: int) -> int:
    """Number of records among these vertices, of the file that has fewer; all of them where there are no files."""
    if len(later.first) == 0:
        return count
    first, second = 0, 0
    for i in range(count):
        v = vertex[i]
        if seen[0, later.first[v]] != stamp:
            seen[0, later.first[v]] = stamp
            first += 1
        if seen[1, later.second[v]] != stamp:
            seen[1, later.second[v]] = stamp
            second += 1
    return min(first, second)


@kernel
def climb(
    later: Later, span: tuple[int, int], space: Workspace, best: NDArray[np.int64], ceiling: NDArray[np.int32]
) -> bool:
    """Lower the ceilings of the roots in ``span``, from the last to the first; True if it came to its end.

    Each ceiling stays a bound whatever the others are, since they are bounds. ``best[1]`` asks to stop.
    """
    widest = len(space.candidate)
    ranked = np.empty(widest, np.uint32)
    tally = np.zeros(widest + 2, np.int64)
    seen = np.full(space.seen.shape, -1, np.int32)
    stamp = 0
    stored = len(later.source.target) == 0
    for root in range(span[1] - 1, span[0] - 1, -1):
        if best[1] != 0 or space.work[0] > space.work[1]:
            return False
        if ceiling[root] <= 2:
            continue
        count = candidates(later, root, space)
        space.work[0] += count
        by_ceiling(count, space, ceiling, tally, ranked)
        set_marks(count, space, 1)
        most = 1  # the largest clique that begins with the root and one of those asked
        for i in range(count):
            u = np.uint64(ranked[i])
            length = np.int64(later.start[u + ONE] - later.start[u])
            if space.degree[i] < most:
                break
            if length + 1 < most:
                continue
            space.work[0] += length
            if stored:
                hits = marked(later.start, later.row, space.mark, u)
            else:
                hits = demand.shared(later.source, u, space.candidate, count, space.hit)
            behind = min(ceiling[u] - 1, hits)
            if behind + 2 > most:
                space.work[0] += length
                if stored:
                    hits = list_marked(later.start, later.row, space.mark, u, space.hit)
                stamp += 1
                behind = min(behind, records(later, space.hit, hits, seen, stamp))
                for h in range(hits):
                    tally[min(behind, ceiling[space.hit[h]])] += 1
                behind = members(tally, behind)
            most = max(most, behind + 2)
        ceiling[root] = min(ceiling[root], most)
        set_marks(count, space, 0)
    return True


@kernel
def extrapolate(later: Later, end: int, space: Workspace, ceiling: NDArray[np.int32]) -> None:
    """Lower the ceilings of the roots before ``end`` by those of their neighbours and their records alone.

    What a climb that was stopped leaves behind: linear in the edges of these roots.
    """
    tally = np.zeros(len(space.candidate) + 2, np.int64)
    seen = np.full(space.seen.shape, -1, np.int32)
    for root in range(end - 1, -1, -1):
        count = candidates(later, root, space)
        behind = records(later, space.candidate, count, seen, root)
        for i in range(count):
            tally[min(behind, ceiling[space.candidate[i]])] += 1
        ceiling[root] = min(ceiling[root], 1 + members(tally, behind))
