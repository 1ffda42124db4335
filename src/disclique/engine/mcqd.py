"""The paper's own solver, MaxCliqueDyn, so that results can be compared with the published method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.engine.kernels import roots
from disclique.engine.kernels import search as kernels
from disclique.engine.stopwatch import Stopwatch
from disclique.errors import TooLarge
from disclique.model import Clique, Graph, ProductGraph


@dataclass(frozen=True)
class DynamicSort:
    """How far down the search sorts candidates anew, the memory it may take, and how often it looks at the clock."""

    sort_share: float = 0.025  # Tlimit of the publication
    bit_bytes: int = 2 * 1024**3  # that rows of bits may take
    steps: int = 2_000  # between two looks at the clock


DYNAMIC_SORT = DynamicSort()


def solve(graph: Graph | ProductGraph, stopwatch: Stopwatch, tuning: DynamicSort = DYNAMIC_SORT) -> Clique:
    """Return a maximum clique with its proof, or what was found when the stopwatch stopped the search."""
    n = graph.order
    plain = graph.graph if isinstance(graph, ProductGraph) else graph
    degree = np.diff(plain.offsets)
    depth = _degeneracy(plain) + 2
    need = n * n // 8 + 8 * n * (depth + 2)
    if need > tuning.bit_bytes:
        raise TooLarge("mcqd_too_large", rows=n, gigabytes=need / 1e9)
    bits = kernels.adjacency(plain.offsets, plain.neighbours)
    levels = _levels(n, depth)
    levels.vertex[0] = np.argsort(-degree, kind="stable")
    widest = int(degree.max(initial=0))
    levels.colour[0] = np.minimum(np.arange(1, n + 1), widest + 1)
    try:
        while kernels.advance(bits, levels, tuning.sort_share, tuning.steps) == kernels.PAUSED:
            stopwatch.spend(tuning.steps * (n / 64 + 1))
            stopwatch.tell(n - int(levels.count[0]), n, int(levels.state[2]))
            if stopwatch.over(int(levels.state[2])):
                break
    except KeyboardInterrupt:
        pass
    size = int(levels.state[2])
    open_ = int(levels.count[0]) if levels.state[0] >= 0 else 0
    bound = size if levels.state[0] < 0 else max(size, min(depth - 1, int(levels.colour[0, open_])))
    return Clique(tuple(levels.best[:size].tolist()), bound)


def _degeneracy(graph: Graph) -> int:
    """Return the largest number of later neighbours in degeneracy order."""
    sequence = roots.degeneracy(graph.offsets, graph.neighbours)
    start, _ = roots.orient(graph.offsets, graph.neighbours, sequence)
    return int(np.diff(start).max(initial=0))


def _levels(vertices: int, depth: int) -> kernels.Levels:
    """Return the state before the first step; a clique has fewer than ``depth`` members."""
    state = np.zeros(3, np.int64)
    state[1] = 1
    count = np.zeros(depth + 1, np.int64)
    count[0] = vertices
    return kernels.Levels(
        np.zeros((depth + 1, vertices), np.int32),
        np.zeros((depth + 1, vertices), np.int32),
        count,
        np.zeros(depth + 1, np.int32),
        np.zeros(depth + 2, np.int64),
        np.zeros(depth + 2, np.int64),
        state,
        np.zeros(depth + 1, np.int32),
    )
