"""One root at a time: the later neighbours of a vertex in degeneracy order, thinned by their inner degrees.

A clique whose first vertex in the order is r lies in r and its later neighbours; in a clique of s members each of those
has at least s - 2 neighbours among the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique._kernels.compiled import kernel, lowest, popcount


class Right(NamedTuple):
    """Later neighbours in degeneracy order, compressed rows, ascending."""

    start: NDArray[np.int64]
    row: NDArray[np.int32]


class Workspace(NamedTuple):
    """What one thread needs to look at a root."""

    slot: NDArray[np.int32]  # per vertex, 1 + its index among the candidates, or 0; all 0 between calls
    candidate: NDArray[np.int32]
    degree: NDArray[np.int32]
    adjacency: NDArray[np.int64]  # (candidates, words), the rows in use at the top
    bits: NDArray[np.int64]  # (2, words)
    clique: NDArray[np.int32]  # the best clique this thread found, vertices by place
    size: NDArray[np.int64]  # one entry: its size


def new_workspace(vertices: int, widest: int) -> Workspace:
    """Room for roots with at most ``widest`` later neighbours."""
    return Workspace(
        np.zeros(vertices, np.int32),
        np.empty(widest, np.int32),
        np.empty(widest, np.int32),
        np.empty((widest, (widest + 63) // 64), np.int64),
        np.empty((2, (widest + 63) // 64), np.int64),
        np.empty(widest + 1, np.int32),
        np.zeros(1, np.int64),
    )


@kernel
def thin(right: Right, root: int, least: int, space: Workspace) -> int:
    """Number of candidates left at ``root`` for a clique of at least ``least`` members, listed in the workspace.

    Repeats until nothing more falls: cost, the later neighbours of all candidates per round.
    """
    slot, candidate, degree = space.slot, space.candidate, space.degree
    count = right.start[root + 1] - right.start[root]
    for i in range(count):
        candidate[i] = right.row[right.start[root] + i]
    while True:
        if count + 1 < least:
            return 0
        for i in range(count):
            slot[candidate[i]] = i + 1
            degree[i] = 0
        for i in range(count):
            u = candidate[i]
            mine = 0
            for e in range(right.start[u], right.start[u + 1]):
                s = slot[right.row[e]]
                if s > 0:
                    degree[s - 1] += 1
                    mine += 1
            degree[i] += mine
        kept = 0
        for i in range(count):
            slot[candidate[i]] = 0
            if degree[i] >= least - 2:
                candidate[kept] = candidate[i]
                degree[kept] = degree[i]
                kept += 1
        if kept == count:
            return count
        count = kept


@kernel
def matrix(right: Right, count: int, space: Workspace) -> None:
    """Nothing; writes the candidates' adjacency as rows of bits."""
    slot, candidate, adjacency = space.slot, space.candidate, space.adjacency
    words = (count + 63) // 64
    for i in range(count):
        slot[candidate[i]] = i + 1
        for x in range(words):
            adjacency[i, x] = 0
    for i in range(count):
        u = candidate[i]
        for e in range(right.start[u], right.start[u + 1]):
            j = slot[right.row[e]] - 1
            if j >= 0:
                adjacency[i, j // 64] |= np.int64(1) << np.int64(j % 64)
                adjacency[j, i // 64] |= np.int64(1) << np.int64(i % 64)
    for i in range(count):
        slot[candidate[i]] = 0


@kernel
def colours(count: int, enough: int, space: Workspace) -> int:
    """Number of colours that a greedy colouring of the candidates needs, or ``enough`` if it needs that many."""
    words = (count + 63) // 64
    open_, eligible = space.bits[0], space.bits[1]
    for x in range(words):
        open_[x] = -1
    if count % 64 != 0:
        open_[words - 1] = ~(np.int64(-1) << np.int64(count % 64))
    left = count
    used = 0
    while left > 0:
        used += 1
        if used >= enough:
            return used
        for x in range(words):
            eligible[x] = open_[x]
        for w in range(words - 1, -1, -1):  # later vertices lie in denser cores: colour them first
            while eligible[w] != 0:
                b = lowest(eligible[w])
                bit = np.int64(1) << np.int64(b)
                eligible[w] ^= bit
                open_[w] ^= bit
                left -= 1
                for x in range(w + 1):
                    eligible[x] &= ~space.adjacency[64 * w + b, x]
    return used


@kernel
def greedy(root: int, count: int, space: Workspace) -> int:
    """Size of the clique found at ``root`` by always taking the candidate with most neighbours left; kept if best."""
    words = (count + 63) // 64
    left = space.bits[0]
    for x in range(words):
        left[x] = -1
    if count % 64 != 0:
        left[words - 1] = ~(np.int64(-1) << np.int64(count % 64))
    chosen = space.degree  # no longer needed for this root
    size = 0
    while True:
        top, most = -1, -1
        for w in range(words):
            rest = left[w]
            while rest != 0:
                b = lowest(rest)
                rest ^= np.int64(1) << np.int64(b)
                inner = 0
                for x in range(words):
                    inner += popcount(left[x] & space.adjacency[64 * w + b, x])
                if inner > most:
                    top, most = 64 * w + b, inner
        if top < 0:
            break
        for x in range(words):
            left[x] &= space.adjacency[top, x]
        chosen[size] = top
        size += 1
    if size + 1 > space.size[0]:
        space.clique[0] = root
        for i in range(size):
            space.clique[i + 1] = space.candidate[chosen[i]]
        space.size[0] = size + 1
    return size + 1


@kernel
def sift(
    right: Right, span: tuple[int, int], space: Workspace, best: NDArray[np.int64], ceiling: NDArray[np.int32]
) -> int:
    """The next root to look at, after lowering ``ceiling`` (a bound on the cliques of a root) from ``span[0]`` down.

    Stops at ``span[1]`` or when ``best[1]`` asks for it. Roots that may hold a clique of more than ``best[0]`` members get
    a colour bound and a greedy clique, which may raise ``best[0]``; those below it fall for good.
    """
    root = span[0]
    while root > span[1] and best[1] == 0:
        root -= 1
        target = best[0]
        if right.start[root + 1] - right.start[root] + 1 < target:
            continue
        count = thin(right, root, max(target, 1), space)
        if count + 1 < target:
            ceiling[root] = min(ceiling[root], target - 1)
            continue
        ceiling[root] = min(ceiling[root], count + 1)
        matrix(right, count, space)
        ceiling[root] = min(ceiling[root], 1 + colours(count, count + 1, space))
        if ceiling[root] > best[0]:
            size = greedy(root, count, space)
            if size > best[0]:
                best[0] = size
    return root


@kernel
def local(right: Right, root: int, least: int, space: Workspace) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The candidates of ``root`` for a clique of ``least`` members, of high inner degree first, and their adjacency.

    Min-width order: always a candidate of least degree among those left goes to the end.
    """
    count = thin(right, root, least, space)
    words = (count + 63) // 64
    vertex = np.empty(count, np.int32)
    rows = np.zeros((count, words), np.int64)
    if count == 0:
        return vertex, rows
    matrix(right, count, space)
    index = np.empty(count, np.int32)
    degree = space.degree
    for i in range(count):
        degree[i] = 0
        for x in range(words):
            degree[i] += popcount(space.adjacency[i, x])
    for place in range(count - 1, -1, -1):
        least_at = -1
        for i in range(count):
            if degree[i] >= 0 and (least_at < 0 or degree[i] < degree[least_at]):
                least_at = i
        index[least_at] = place
        vertex[place] = space.candidate[least_at]
        degree[least_at] = -1
        for w in range(words):
            rest = space.adjacency[least_at, w]
            while rest != 0:
                b = lowest(rest)
                rest ^= np.int64(1) << np.int64(b)
                if degree[64 * w + b] >= 0:
                    degree[64 * w + b] -= 1
    for i in range(count):
        for w in range(words):
            rest = space.adjacency[i, w]
            while rest != 0:
                b = lowest(rest)
                rest ^= np.int64(1) << np.int64(b)
                j = index[64 * w + b]
                rows[index[i], j // 64] |= np.int64(1) << np.int64(j % 64)
    return vertex, rows


@kernel
def suffix(right: Right) -> int:
    """How many vertices at the end of the degeneracy order are pairwise adjacent: a clique found for nothing."""
    n = len(right.start) - 1
    size = 0
    while size < n and right.start[n - size] - right.start[n - size - 1] == size:
        size += 1
    return size
