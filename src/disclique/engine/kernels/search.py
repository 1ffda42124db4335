"""Bit-parallel branch and bound for a maximum clique in one small dense graph.

Rows of bits, a greedy colouring as bound with Tomita's re-numbering (San Segundo et al. 2011 and 2013, Tomita et al.
2010), and an explicit stack, so that a search may pause after any number of steps and go on later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel, lowest, popcount

DONE, PAUSED, FULL = 0, 1, 2


class Stack(NamedTuple):
    """State of one search; row k belongs to the k-th chosen vertex."""

    candidates: NDArray[np.int64]  # (depth, words)
    branch: NDArray[np.int32]  # (depth, vertices) to branch on, last first
    colour: NDArray[np.int32]  # colour of each, a bound on the clique that it and those before it can form
    left: NDArray[np.int64]  # how many are still to be branched on
    chosen: NDArray[np.int32]
    level: NDArray[np.int64]  # one entry
    scratch: NDArray[np.int64]  # (3 + vertices, words): uncoloured, eligible, then the colour classes
    work: NDArray[np.int64]  # one entry: words looked at so far


class Found(NamedTuple):
    """Cliques found, as rows of local vertices: the best one, or all of one size."""

    members: NDArray[np.int32]  # (capacity, longest)
    count: NDArray[np.int64]  # one entry: rows in use
    size: NDArray[np.int64]  # one entry: members of each


def new_stack(vertices: int, depth: int) -> Stack:
    """Return a stack before the first step, all ``vertices`` candidates, for cliques of at most ``depth`` members."""
    words = (vertices + 63) // 64
    levels = min(vertices, depth) + 2
    candidates = np.zeros((levels, words), np.int64)
    candidates[0] = -1
    if vertices % 64:
        candidates[0, -1] = ~(-1 << (vertices % 64))
    return Stack(
        candidates,
        np.zeros((levels, vertices), np.int32),
        np.zeros((levels, vertices), np.int32),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int32),
        np.full(1, -1, np.int64),
        np.zeros((3 + vertices, words), np.int64),
        np.zeros(1, np.int64),
    )


def new_found(cliques: int, longest: int) -> Found:
    """Room for so many cliques."""
    return Found(np.empty((cliques, longest), np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64))


@kernel
def renumber(adjacency: NDArray[np.int64], classes: NDArray[np.int64], vertex: int, limit: int) -> bool:
    """True if ``vertex`` could join one of the first ``limit`` classes after a neighbour there moved to another."""
    words = adjacency.shape[1]
    for k in range(1, limit + 1):
        conflict = -1
        several = False
        for x in range(words):
            both = classes[k, x] & adjacency[vertex, x]
            if both != 0:
                if conflict >= 0 or popcount(both) > 1:
                    several = True
                    break
                conflict = 64 * x + lowest(both)
        if several:
            continue
        if conflict >= 0:
            moved = False
            for other in range(1, limit + 1):
                if other == k:
                    continue
                free = True
                for x in range(words):
                    if (classes[other, x] & adjacency[conflict, x]) != 0:
                        free = False
                        break
                if free:
                    classes[k, conflict // 64] ^= np.int64(1) << np.int64(conflict % 64)
                    classes[other, conflict // 64] |= np.int64(1) << np.int64(conflict % 64)
                    moved = True
                    break
            if not moved:
                continue
        classes[k, vertex // 64] |= np.int64(1) << np.int64(vertex % 64)
        return True
    return False


@kernel
def colour(adjacency: NDArray[np.int64], stack: Stack, level: int, limit: int) -> int:
    """Number of colours needed; vertices that fit in ``limit`` colours are not listed for branching at ``level``."""
    words = adjacency.shape[1]
    uncoloured, eligible, classes = stack.scratch[0], stack.scratch[1], stack.scratch[2:]
    left = 0
    remaining = 0
    for x in range(words):
        uncoloured[x] = stack.candidates[level, x]
        remaining += popcount(uncoloured[x])
    work = (remaining + 1) * words
    k = 1
    while remaining > 0:
        for x in range(words):
            eligible[x] = uncoloured[x]
            classes[k, x] = 0
        used = False
        for w in range(words):
            while eligible[w] != 0:
                b = lowest(eligible[w])
                bit = np.int64(1) << np.int64(b)
                v = 64 * w + b
                eligible[w] ^= bit
                uncoloured[w] ^= bit
                remaining -= 1
                if k > limit:
                    work += limit * words
                    if limit > 1 and renumber(adjacency, classes, v, limit):
                        continue
                    stack.branch[level, left] = v
                    stack.colour[level, left] = k
                    left += 1
                used = True
                classes[k, w] |= bit
                for x in range(w, words):
                    eligible[x] &= ~adjacency[v, x]
        if used:
            k += 1
    stack.left[level] = left
    stack.work[0] += work
    return k - 1


@kernel
def search(
    adjacency: NDArray[np.int64], stack: Stack, best: NDArray[np.int64], found: Found, plan: tuple[int, int, int]
) -> int:
    """DONE, PAUSED after ``steps``, or FULL when ``found`` has no more room; ``plan`` is (base, exactly, steps).

    ``base`` members are chosen already. If ``exactly`` is 0 each clique larger than ``best[0]`` replaces the one in
    ``found`` and raises ``best[0]``, which other threads share; otherwise every clique of exactly that many members is
    appended. ``best[1]`` other than 0 asks to pause. The stack starts with level -1 and all candidates in row 0.
    """
    base, exactly, steps = plan
    words = adjacency.shape[1]
    level = stack.level[0]
    if level < 0:
        bound = exactly - 1 if exactly > 0 else best[0]
        colour(adjacency, stack, 0, bound - base)
        level = 0
    while level >= 0:
        bound = exactly - 1 if exactly > 0 else best[0]
        at = stack.left[level] - 1
        if at < 0 or base + level + stack.colour[level, at] <= bound:
            level -= 1
            continue
        if steps <= 0 or best[1] != 0:
            stack.level[0] = level
            return PAUSED
        steps -= 1
        stack.left[level] = at
        v = stack.branch[level, at]
        stack.chosen[level] = v
        stack.candidates[level, v // 64] ^= np.int64(1) << np.int64(v % 64)
        some = False
        for x in range(words):
            stack.candidates[level + 1, x] = stack.candidates[level, x] & adjacency[v, x]
            some = some or stack.candidates[level + 1, x] != 0
        size = base + level + 1
        if (exactly == 0 and not some and size > bound) or size == exactly:
            slot = found.count[0] if exactly > 0 else 0
            for i in range(level + 1):
                found.members[slot, i] = stack.chosen[i]
            found.count[0] = slot + 1
            found.size[0] = level + 1
            if exactly == 0:
                best[0] = max(best[0], size)
            elif slot + 1 == len(found.members):
                stack.level[0] = level
                return FULL
        elif some:
            level += 1
            colour(adjacency, stack, level, bound - base - level)
    stack.level[0] = -1
    return DONE


DONE, PAUSED = 0, 1


class Levels(NamedTuple):
    """State of the search; row k belongs to the k-th level of the tree. Counters are kept one level further down."""

    vertex: NDArray[np.int32]  # (levels, vertices): candidates, those with large colours last
    colour: NDArray[np.int32]
    count: NDArray[np.int64]  # candidates left
    chosen: NDArray[np.int32]
    steps: NDArray[np.int64]  # S: steps up to this level
    steps_old: NDArray[np.int64]
    state: NDArray[np.int64]  # level, all steps, size of the best clique
    best: NDArray[np.int32]


@kernel
def adjacency(offsets: NDArray[np.int64], neighbours: NDArray[np.int32]) -> NDArray[np.int64]:
    """Rows of bits of the whole graph."""
    n = len(offsets) - 1
    bits = np.zeros((n, (n + 63) // 64), np.int64)
    for v in range(n):
        for e in range(offsets[v], offsets[v + 1]):
            u = neighbours[e]
            bits[v, u // 64] |= np.int64(1) << np.int64(u % 64)
    return bits


@kernel
def adjacent(bits: NDArray[np.int64], v: int, u: int) -> bool:
    """True if v and u are joined."""
    return bool((bits[v, u // 64] >> np.int64(u % 64)) & 1)


@kernel
def sort_by_degree(bits: NDArray[np.int64], vertex: NDArray[np.int32], count: int) -> None:
    """Sort the first ``count`` vertices by falling degree among themselves, equal degrees as they stood."""
    degree = np.zeros(count, np.int64)
    for i in range(count):
        for j in range(i):
            if adjacent(bits, vertex[i], vertex[j]):
                degree[i] += 1
                degree[j] += 1
    place = np.argsort(-degree, kind="mergesort")
    copy = vertex[:count].copy()
    for i in range(count):
        vertex[i] = copy[place[i]]


@kernel
def colour_sort(bits: NDArray[np.int64], levels: Levels, level: int, size: int) -> None:
    """Colour the candidates of ``level`` greedily, ``size`` vertices being chosen.

    Vertices whose colour is too small to lead to a larger clique stay in front in their old order, with colour 0.
    """
    vertex, colour = levels.vertex[level], levels.colour[level]
    count = levels.count[level]
    least = max(1, levels.state[2] - size + 1)
    classes = np.empty((count + 1, 0 + count), np.int32)
    length = np.zeros(count + 2, np.int64)
    used = 1
    front = 0
    for i in range(count):
        v = vertex[i]
        k = 1
        while True:
            clash = False
            for j in range(length[k]):
                if adjacent(bits, v, classes[k, j]):
                    clash = True
                    break
            if not clash:
                break
            k += 1
        used = max(used, k)
        classes[k, length[k]] = v
        length[k] += 1
        if k < least:
            vertex[front] = v
            colour[front] = 0
            front += 1
    for k in range(least, used + 1):
        for j in range(length[k]):
            vertex[front] = classes[k, j]
            colour[front] = k
            front += 1


@kernel
def advance(bits: NDArray[np.int64], levels: Levels, limit: float, pause: int) -> int:
    """DONE, or PAUSED after ``pause`` further steps; ``limit`` is the share of steps on levels that sort by degree."""
    level = levels.state[0]
    while level >= 0:
        count = levels.count[level]
        size = level  # chosen above this level
        if count == 0 or size + levels.colour[level, count - 1] <= levels.state[2]:
            level -= 1
            continue
        if pause <= 0:
            levels.state[0] = level
            return PAUSED
        pause -= 1
        p = levels.vertex[level, count - 1]
        levels.count[level] = count - 1
        levels.chosen[level] = p
        below = level + 1
        kept = 0
        for i in range(count - 1):
            u = levels.vertex[level, i]
            if adjacent(bits, p, u):
                levels.vertex[below, kept] = u
                kept += 1
        levels.count[below] = kept
        if kept == 0:
            if size + 1 > levels.state[2]:
                levels.state[2] = size + 1
                for i in range(size + 1):
                    levels.best[i] = levels.chosen[i]
            continue
        if levels.steps[below] < limit * levels.state[1]:
            sort_by_degree(bits, levels.vertex[below], kept)
        colour_sort(bits, levels, below, size + 1)
        levels.steps[below] += 1
        levels.state[1] += 1
        level = below
        # entering a level adds what the level above gained since the last visit
        levels.steps[level + 1] += levels.steps[level] - levels.steps_old[level + 1]
        levels.steps_old[level + 1] = levels.steps[level]
    levels.state[0] = -1
    return DONE
