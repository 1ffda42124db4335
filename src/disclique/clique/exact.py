"""The exact solver: degeneracy order, thinned and coloured roots, then branch and bound on the few that remain.

Every root r (a vertex with its later neighbours in degeneracy order) has a ceiling, a bound on the cliques that start
at r. Sifting lowers all ceilings cheaply and finds good cliques on the way; searching settles the roots whose ceiling
is still above the best clique; a last sequential pass picks the clique that is returned, so that neither the number of
threads nor their timing can be seen in the result.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique._kernels import order, roots, search
from disclique.clique.watch import Watch
from disclique.model import Graph

CHUNK = 256  # roots sifted between looks at the clock
STEPS = 20_000  # branches between looks at the clock


@dataclass(eq=False)
class _State:
    """One graph made ready for search, and what is known about it so far."""

    order: NDArray[np.int32]
    right: roots.Right
    ceiling: NDArray[np.int32]
    best: NDArray[np.int64]  # size of the best clique, and a flag that stops every kernel
    clique: list[int]  # places in the order
    widest: int

    def keep(self, places: list[int]) -> None:
        """Nothing; takes over a clique if it is larger than the best so far."""
        if len(places) > len(self.clique):
            self.clique = places
        self.best[0] = max(int(self.best[0]), len(self.clique))

    def bound(self) -> int:
        """An upper bound on every clique."""
        return max(len(self.clique), int(self.ceiling.max(initial=0)))

    def names(self, places: list[int]) -> list[int]:
        """The vertices at these places."""
        return [int(self.order[place]) for place in places]


_states: weakref.WeakKeyDictionary[Graph, _State] = weakref.WeakKeyDictionary()


def solve(graph: Graph, watch: Watch) -> tuple[list[int], int]:
    """Vertices of a maximum clique and a bound that equals its size, unless the watch stopped the search."""
    state = _prepare(graph)
    try:
        _sift(state, watch)
        _settle(state, watch)
        if not watch.over(len(state.clique)):
            state.clique = (_listed(state, len(state.clique), 1, watch) or [state.clique])[0]
    except KeyboardInterrupt:
        state.best[1] = 1
    return state.names(state.clique), state.bound()


def sift(graph: Graph, watch: Watch) -> tuple[list[int], int]:
    """The best clique of a greedy choice at every promising vertex, and a bound; no search."""
    state = _prepare(graph)
    try:
        _sift(state, watch)
    except KeyboardInterrupt:
        state.best[1] = 1
    return state.names(state.clique), state.bound()


def enumerate_size(graph: Graph, size: int, limit: int, watch: Watch) -> tuple[list[list[int]], bool]:
    """At most ``limit`` cliques of ``size`` vertices, and whether these are all."""
    state = _prepare(graph)
    if len(state.clique) < size:
        state.best[0] = size  # the caller has one, so roots below it need not be looked at
        _sift(state, watch)
    found = _listed(state, size, limit + 1, watch)
    complete = len(found) <= limit and not watch.over(0)
    return [state.names(places) for places in found[:limit]], complete


def _prepare(graph: Graph) -> _State:
    """The state of an earlier search of this graph, or a new one."""
    if graph in _states:
        state = _states[graph]
        state.best[1] = 0
        return state
    sequence = order.degeneracy(graph.offsets, graph.neighbours)
    right = roots.Right(*order.orient(graph.offsets, graph.neighbours, sequence))
    later = np.diff(right.start)
    state = _State(
        order=sequence,
        right=right,
        ceiling=(later + 1).astype(np.int32),
        best=np.zeros(2, np.int64),
        clique=[],
        widest=int(later.max(initial=0)),
    )
    size = roots.suffix(right)
    state.keep(list(range(graph.order - size, graph.order)))
    _states[graph] = state
    return state


def _in_threads(work: Callable[[], None], state: _State, count: int) -> None:
    """Nothing, after ``work`` ran in ``count`` threads; an interrupt stops them all before it goes on."""
    if count == 1:
        work()
        return
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            state.best[1] = 1
            errors.append(error)

    workers = [threading.Thread(target=guarded, daemon=True) for _ in range(count)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            while worker.is_alive():
                worker.join(0.2)
    except KeyboardInterrupt:
        state.best[1] = 1
        for worker in workers:
            worker.join()
        raise
    if errors:
        raise errors[0]


def _sift(state: _State, watch: Watch) -> None:
    """Nothing; lowers the ceiling of every root, last places first."""
    n = len(state.order)
    lock = threading.Lock()
    next_root = n

    def work() -> None:
        nonlocal next_root
        space = roots.new_workspace(n, state.widest)
        while True:
            with lock:
                first = next_root
                next_root = last = max(0, first - CHUNK)
                watch.tell(n - first, n, len(state.clique))
            if first == 0 or watch.over(len(state.clique)):
                return
            while first > last and not state.best[1]:
                first = roots.sift(state.right, (first, last), space, state.best, state.ceiling)
            with lock:
                state.keep(space.clique[: space.size[0]].tolist())
            if state.best[1]:
                return

    _in_threads(work, state, watch.threads if n > 4 * CHUNK else 1)


def _settle(state: _State, watch: Watch) -> None:
    """Nothing; searches every root whose ceiling is above the best clique."""
    open_roots = np.flatnonzero(state.ceiling > state.best[0])[::-1].tolist()
    lock = threading.Lock()
    taken = 0

    def work() -> None:
        nonlocal taken
        space = roots.new_workspace(len(state.order), state.widest)
        while True:
            with lock:
                at, taken = taken, taken + 1
                watch.tell(min(at, len(open_roots)), len(open_roots), len(state.clique))
            if at >= len(open_roots) or watch.over(len(state.clique)) or state.best[1]:
                return
            root = open_roots[at]
            if state.ceiling[root] > state.best[0] and not _search_root(state, root, space, watch, lock):
                return

    _in_threads(work, state, min(watch.threads, max(1, len(open_roots))))


def _search_root(state: _State, root: int, space: roots.Workspace, watch: Watch, lock: threading.Lock) -> bool:
    """True once no clique at ``root`` is larger than the best one; false if the watch stopped it before."""
    vertex, adjacency = roots.local(state.right, root, int(state.best[0]) + 1, space)
    stack = _stack(len(vertex), int(state.ceiling[root]))
    found = _room(1, len(vertex))
    outcome = search.PAUSED
    while outcome == search.PAUSED and len(vertex):
        outcome = search.search(adjacency, stack, state.best, found, (1, 0, STEPS))
        if found.count[0]:
            with lock:
                state.keep([root, *vertex[found.members[0, : found.size[0]]].tolist()])
        if outcome == search.PAUSED and (watch.over(len(state.clique)) or state.best[1]):
            return False
    state.ceiling[root] = min(int(state.ceiling[root]), int(state.best[0]))
    return True


def _listed(state: _State, size: int, limit: int, watch: Watch) -> list[list[int]]:
    """At most ``limit`` cliques of ``size`` members as places in the order, root by root from the last."""
    found: list[list[int]] = []
    space = roots.new_workspace(len(state.order), state.widest)
    for root in np.flatnonzero(state.ceiling >= size)[::-1].tolist():
        if len(found) >= limit or watch.over(0) or state.best[1]:
            break
        if size == 1:
            found.append([root])
            continue
        vertex, adjacency = roots.local(state.right, root, size, space)
        if len(vertex) == 0:
            continue
        room = _room(limit - len(found), len(vertex))
        stack = _stack(len(vertex), size)
        outcome = search.PAUSED
        while outcome == search.PAUSED and not watch.over(0):
            outcome = search.search(adjacency, stack, state.best, room, (1, size, STEPS))
        found += [[root, *vertex[members].tolist()] for members in room.members[: room.count[0], : size - 1]]
    return found


def _stack(vertices: int, depth: int) -> search.Stack:
    """A stack that starts with all vertices as candidates."""
    stack = search.new_stack(vertices, min(vertices, depth))
    if vertices:
        stack.candidates[0] = -1
        if vertices % 64:
            stack.candidates[0, -1] = ~(-1 << (vertices % 64))
    return stack


def _room(cliques: int, longest: int) -> search.Found:
    """Room for so many cliques."""
    return search.Found(np.empty((cliques, longest), np.int32), np.zeros(1, np.int64), np.zeros(1, np.int64))
