"""MaxCliqueDyn of Konc and Janežič (2007): approximate colouring, with degrees sorted anew near the root only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

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
