"""The roots of one search handed to workers, in processes or on a cluster, that share the size of the best clique.

Every worker makes the graph itself, once, from what it is given once: the distances are small beside the edges. The
roots are climbed here and go out in batches, the highest ceilings first, each with the size of the best clique so far.
What comes back is ceilings and cliques. A batch that is lost is searched again by whoever runs the workers; one that
never comes back leaves its ceilings as they were. So the clique is the same as on one machine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.engine import exact
from disclique.engine.stopwatch import Stopwatch
from disclique.model import Budget, Clique, Executor, ProductGraph


@dataclass(frozen=True, eq=False)
class Workers:
    """Who searches, and how each of them makes the graph: a function without arguments that can be sent to them.

    Roots go out in about ``batches`` parts of ``fewest`` roots or more, so that the last ends soon after the others.
    """

    executor: Executor
    make: Callable[[], ProductGraph]
    batches: int = 200
    fewest: int = 16
    tuning: exact.Tuning = exact.TUNING


@dataclass(frozen=True, eq=False)
class _Task:
    """The graph of one search; a worker, who is sent it once, makes it once for all batches."""

    make: Callable[[], ProductGraph]
    order: int
    size: int
    tuning: exact.Tuning

    @cached_property
    def ready(self) -> exact.State:
        """The graph before its search."""
        graph = self.make()
        if (graph.order, graph.size) != (self.order, self.size):
            raise AssertionError("the worker made another graph: it must have the same version of disclique")
        return exact.ready(graph, self.tuning)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Task, (self.make, self.order, self.size, self.tuning)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Roots with their ceilings, the size of the best clique, and the seconds that are left."""

    roots: NDArray[np.int64]
    ceiling: NDArray[np.int32]
    best: int
    seconds: float | None

    def __repr__(self) -> str:
        return f"{len(self.roots)} roots from {int(self.roots[0]) + 1} on"


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What a batch gave: its roots with their ceilings now, and a clique larger than the best, if one was found."""

    roots: NDArray[np.int64]
    ceiling: NDArray[np.int32]
    clique: list[int]


def solve(graph: ProductGraph, stopwatch: Stopwatch, workers: Workers) -> Clique:
    """Return a maximum clique with its proof, found by workers, or what was found when the stopwatch stopped it."""
    hand_out = partial(_hand_out, graph=graph, workers=workers)
    return exact.run(graph, stopwatch, exact.climb_roots, hand_out, exact.settle, exact.choose, tuning=workers.tuning)


def _hand_out(state: exact.State, stopwatch: Stopwatch, graph: ProductGraph, workers: Workers) -> None:
    """Have workers lower the ceilings of all roots to the best clique, and keep the cliques they find."""
    left = np.flatnonzero(state.ceiling >= state.best[0])
    left = left[np.argsort(-state.ceiling[left], kind="stable")]
    size = max(workers.fewest, len(left) // workers.batches)
    task = _Task(workers.make, graph.order, graph.size, workers.tuning)
    taken = 0

    def batches() -> Iterator[_Batch]:
        nonlocal taken
        for first in range(0, len(left), size):
            taken = first
            roots = left[first : first + size]
            roots = roots[state.ceiling[roots] >= state.best[0]]
            if stopwatch.over(len(state.clique)):
                return
            if len(roots):
                seconds = None if stopwatch.deadline == float("inf") else stopwatch.deadline - time.perf_counter()
                yield _Batch(roots, state.ceiling[roots], int(state.best[0]), seconds)

    for found in workers.executor.map(partial(_search, task), batches()):
        state.ceiling[found.roots] = np.minimum(state.ceiling[found.roots], found.ceiling)
        state.keep(found.clique)
        stopwatch.tell(min(taken, len(left)), len(left), len(state.clique))


def _search(task: _Task, batch: _Batch) -> _Outcome:
    """Search the roots of a batch, in a worker."""
    ceiling = np.zeros_like(task.ready.ceiling)
    ceiling[batch.roots] = batch.ceiling
    best = np.array([batch.best, 0, 0], np.int64)
    state = replace(task.ready, ceiling=ceiling, best=best, clique=[], lock=threading.Lock())
    seconds = None if batch.seconds is None else max(batch.seconds, 1e-3)
    stopwatch = Stopwatch.start(Budget(seconds=seconds), 1, None)
    exact.sift(state, stopwatch)
    exact.settle(state, stopwatch)
    larger = state.clique if len(state.clique) > batch.best else []
    return _Outcome(batch.roots, state.ceiling[batch.roots], larger)
