"""The exact solver: sweep all roots, sift those that remain, search the few that still may hold a larger clique.

Vertices stand in a fixed order: by number in a product graph, in degeneracy order in a plain one. A root is a vertex
with its later neighbours; its *ceiling* bounds the cliques whose first vertex it is. Large graphs are climbed first,
which lowers all ceilings at a small part of the cost of a sweep. Sweeping and sifting lower them further, the highest
first, so that the bound falls steadily, and find good cliques on the way; branch and bound settles the roots whose
ceiling is still above the best clique. A last pass picks the clique to return, so that neither the number of threads
nor their timing shows. Nothing is kept between two searches: what one learned, and a listing of all maximum cliques can
use, is in the clique.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels import climb, demand, roots, search, sweep
from disclique.engine.kernels.compiled import run_threads
from disclique.engine.product import RowsOnDemand
from disclique.engine.stopwatch import Stopwatch
from disclique.model import Clique, Graph, ProductGraph
from disclique.values import IntArray

Bits = NDArray[np.int64]  # a set of local vertices, or a row of them for each


@dataclass(frozen=True)
class Tuning:
    """From which sizes on a search takes other ways, and how often it looks at the clock; no clique depends on it."""

    wedges: int = 10_000_000  # pairs of edges between two looks at the clock
    branches: int = 20_000  # between two looks at the clock
    bit_bytes: int = 256 * 1024**2  # that rows of bits may take
    large_wedges: int = 80_000_000  # pairs of edges from which rows of bits pay, or a climb
    block_roots: int = 512  # whose rows of bits stay in the cache
    climb_share: float = 0.8  # of the time or work, at the most: the bound comes from the climb, and the best roots
    taste_roots: int = 64  # swept before a climb, so that there is a clique if it takes all the time


TUNING = Tuning()


@dataclass(frozen=True, eq=False)
class Trace:
    """Where a search of ``graph`` could not rule out a clique of ``size`` members; no other use is safe.

    A trace is about one graph object and does not keep it alive; a copy or a pickle of it is None.
    """

    graph: weakref.ref[Graph | ProductGraph]
    size: int
    roots: IntArray  # read-only; places in the fixed order
    bits: bool  # whether rows of bits were used

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@dataclass(eq=False)
class State:
    """One graph made ready for search, and what is known about it so far; vertices are places in the fixed order."""

    later: roots.Later
    vertices: IntArray | None  # the vertex at each place; None if they are the same
    ceiling: IntArray
    best: NDArray[np.int64]  # size of the best clique, a flag that stops every kernel, one that it is large enough
    clique: list[int]
    tuning: Tuning = TUNING
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def order(self) -> int:
        """Number of vertices."""
        return len(self.ceiling)

    @property
    def edges(self) -> int:
        """Number of edges."""
        return int(self.later.start[-1])

    @property
    def large(self) -> bool:
        """True if a plain sweep is not the fastest way."""
        return self.edges**2 / self.order > self.tuning.large_wedges

    @property
    def stored(self) -> bool:
        """True if rows are in memory, False if they are made on demand."""
        return len(self.later.source.target) == 0

    @property
    def climbs(self) -> bool:
        """True if a climb is: the graph is large, and rows of bits would take too much."""
        return self.large and not (self.stored and self.order**2 // 8 <= self.tuning.bit_bytes)

    def keep(self, places: list[int]) -> None:
        """Take over a clique if it is larger than the best so far."""
        with self.lock:
            if len(places) > len(self.clique):
                self.clique = places
            self.best[0] = max(int(self.best[0]), len(self.clique))

    def names(self, places: list[int]) -> tuple[int, ...]:
        """Return the vertices at these places, ascending."""
        return tuple(sorted(places if self.vertices is None else self.vertices[places].tolist()))

    def answer(self, graph: Graph | ProductGraph) -> Clique:
        """Return the best clique, the bound, and the trace unless an interrupt lost a larger clique."""
        size, trace = len(self.clique), None
        if self.best[0] == size:
            roots = np.flatnonzero(self.ceiling >= size).astype(np.int32)
            roots.flags.writeable = False
            trace = Trace(weakref.ref(graph), size, roots, len(self.later.bits) > 0)
        return Clique(self.names(self.clique), max(size, int(self.ceiling.max(initial=0))), trace=trace)

    def workspace(self) -> roots.Workspace:
        """Scratch memory for one thread."""
        widest = int(np.diff(self.later.start.view(np.int64)).max(initial=0))
        return roots.new_workspace(self.later, widest)


Step = Callable[[State, Stopwatch], None]


def solve(graph: Graph | ProductGraph, stopwatch: Stopwatch, tuning: Tuning = TUNING) -> Clique:
    """Return a maximum clique with its proof, or what was found when the stopwatch stopped the search."""
    return run(graph, stopwatch, climb_roots, _sweep, sift, settle, choose, tuning=tuning)


def greedy(graph: Graph | ProductGraph, stopwatch: Stopwatch) -> Clique:
    """Return the best clique of a greedy choice at every promising root, and a bound; no search."""
    return run(graph, stopwatch, climb_roots, _sweep, sift)


def run(graph: Graph | ProductGraph, stopwatch: Stopwatch, *steps: Step, tuning: Tuning = TUNING) -> Clique:
    """Return what is known after these steps, or when an interrupt came."""
    state = ready(graph, tuning)
    try:
        for step in steps:
            step(state, stopwatch)
    except KeyboardInterrupt:
        state.best[1] = 1
    return state.answer(graph)


def list_cliques(
    graph: Graph | ProductGraph, clique: Clique, limit: int, stopwatch: Stopwatch
) -> tuple[list[tuple[int, ...]], bool]:
    """Return at most ``limit`` cliques of as many members as ``clique``, and whether these are all."""
    state, size, trace = ready(graph), clique.size, clique.trace
    if isinstance(trace, Trace) and trace.graph() is graph and trace.size == size:
        left = trace.roots.tolist()
        if trace.bits:  # not set again for a few roots, but the work is counted as before
            state.later = state.later._replace(bits=np.zeros((0, (state.order + 63) // 64), np.int64))
    else:
        state.best[:] = size, 0, 1
        climb_roots(state, stopwatch)
        _sweep(state, stopwatch)
        sift(state, stopwatch)
        left = np.flatnonzero(state.ceiling >= size).tolist()
    found: list[list[int]] = []
    space = state.workspace()
    for root in left:
        if len(found) > limit or stopwatch.over(0):
            break
        found += _at_root(state, root, size, limit + 1 - len(found), stopwatch, space)
    complete = len(found) <= limit and not stopwatch.over(0)
    return [state.names(places) for places in found[:limit]], complete


def ready(graph: Graph | ProductGraph, tuning: Tuning = TUNING) -> State:
    """Return the state before a search of this graph."""
    vertices, source = None, demand.STORED
    if isinstance(graph, ProductGraph) and isinstance(graph.later, RowsOnDemand):
        start, row, source = graph.later.offsets, np.empty(0, np.int32), graph.later.source
        first, second = graph.target, graph.known
    elif isinstance(graph, ProductGraph):
        start, row = graph.later.offsets, graph.later.neighbours
        first, second = graph.target, graph.known
    else:
        vertices = roots.degeneracy(graph.offsets, graph.neighbours)
        start, row = roots.orient(graph.offsets, graph.neighbours, vertices)
        first = second = np.empty(0, np.int32)
    later = roots.Later(start.view(np.uint64), row.view(np.uint32), first, second, np.zeros((0, 0), np.int64), source)
    ceiling = (np.diff(start) + 1).astype(np.int32)
    return State(later, vertices, ceiling, np.array([1, 0, 0], np.int64), [0], tuning)


def _shared(work: Callable[[Callable[[], int], roots.Workspace], None], state: State, threads: int) -> None:
    """Run ``work(next, workspace)`` in every thread; ``next()`` counts 0, 1, 2 … over all of them."""
    taken = iter(range(2**62))

    def one(_: int) -> None:
        work(lambda: next(taken), state.workspace())

    def stop() -> None:
        state.best[1] = 1

    run_threads(one, range(threads), stop)


Look = Callable[[roots.Later, Any, roots.Workspace, NDArray[np.int64], IntArray], None]


def _pass(state: State, stopwatch: Stopwatch, look: Look, parts: Sequence[Any], threads: int) -> None:
    """Have a kernel lower the ceilings of these parts of the roots, and keep the cliques it finds on the way."""

    def work(turn: Callable[[], int], space: roots.Workspace) -> None:
        while (at := turn()) < len(parts) and not stopwatch.over(len(state.clique)) and not state.best[1]:
            space.work[1] = stopwatch.left()
            look(state.later, parts[at], space, state.best, state.ceiling)
            stopwatch.spend(_worked(space))
            state.keep(space.clique[: space.size[0]].tolist())
            stopwatch.tell(at + 1, len(parts), len(state.clique))

    _shared(work, state, threads)


def _parts(which: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """Return these roots in parts of ``size``."""
    return [which[at : at + size] for at in range(0, len(which), size)]


def _chunk(state: State, threads: int) -> int:
    """Return the number of roots between two looks at the clock."""
    wedges = (state.edges / state.order) ** 2 + 1  # of a root
    return int(min(max(16, state.tuning.wedges / wedges), 1 + state.order // (8 * threads)))


def climb_roots(state: State, stopwatch: Stopwatch) -> None:
    """Lower the ceilings of a large graph from the last root to the first, within most of what may be spent."""
    if not state.climbs:
        return
    highest = np.argsort(-state.ceiling, kind="stable")[: state.tuning.taste_roots]
    _pass(state, stopwatch, sweep.sweep, _parts(highest, 1), 1)
    chunk, within = _chunk(state, stopwatch.threads), stopwatch.part(state.tuning.climb_share)
    ends = range(state.order, 0, -chunk)
    done = np.zeros(len(ends), bool)

    def work(turn: Callable[[], int], space: roots.Workspace) -> None:
        while (at := turn()) < len(ends) and not within.over(len(state.clique)) and not state.best[1]:
            space.work[1] = within.left()
            span = max(0, ends[at] - chunk), ends[at]
            done[at] = climb.climb(state.later, span, space, state.best, state.ceiling)
            within.spend(worked := _worked(space))
            stopwatch.spend(worked)
            stopwatch.tell(at + 1, len(ends), len(state.clique))

    _shared(work, state, stopwatch.threads)
    if not done.all() and state.stored and not state.best[1]:
        climb.extrapolate(state.later, ends[int(done.argmin())], state.workspace(), state.ceiling)


def _sweep(state: State, stopwatch: Stopwatch) -> None:
    """Lower the ceiling of every root by its inner degrees; after a climb there is nothing left but to sift.

    From the side where a large clique is met soon: the start of an arbitrary order, since that is where the first of
    many members lies; the end of a degeneracy order, where the dense part is.
    """
    n, threads = state.order, stopwatch.threads if state.edges > 20_000 else 1
    if state.climbs:
        return
    if state.large:
        _set_bits(state, threads)
        block = state.tuning.block_roots
        spans = [(first, min(n, first + block)) for first in range(0, n, block)]
        _pass(state, stopwatch, sweep.sweep_bits, spans if state.vertices is None else spans[::-1], threads)
    else:
        parts = _parts(np.arange(n), _chunk(state, stopwatch.threads))
        _pass(state, stopwatch, sweep.sweep, parts if state.vertices is None else parts[::-1], threads)


def _set_bits(state: State, threads: int) -> None:
    """Add to the state the rows of bits that make dense graphs fast."""
    n = state.order
    state.later = state.later._replace(bits=np.zeros((n, (n + 63) // 64), np.int64))
    share = 64 * (n // (64 * threads * 4) + 1)
    taken = iter(range(0, n, share))

    def work(_: int) -> None:
        for first in taken:
            sweep.bit_rows(state.later, (first, min(n, first + share)))

    run_threads(work, range(threads))


def sift(state: State, stopwatch: Stopwatch) -> None:
    """Lower the ceiling of roots that may still hold a clique as large as the best, after a climb the highest first.

    There the bound falls steadily so, and the first roots hold cliques that spare the others.
    """
    left = np.flatnonzero(state.ceiling >= state.best[0])
    if state.climbs:
        left = left[np.argsort(-state.ceiling[left], kind="stable")]
    parts = _parts(left, 4 if state.climbs else 16)
    _pass(state, stopwatch, sweep.sift, parts, stopwatch.threads if len(parts) > 2 else 1)


def settle(state: State, stopwatch: Stopwatch) -> None:
    """Search every root whose ceiling is above the best clique, high ceilings first."""
    left = np.flatnonzero(state.ceiling > state.best[0])
    left = left[np.argsort(-state.ceiling[left], kind="stable")].tolist()

    def work(turn: Callable[[], int], space: roots.Workspace) -> None:
        while (at := turn()) < len(left) and not stopwatch.over(len(state.clique)) and not state.best[1]:
            stopwatch.tell(at, len(left), len(state.clique))
            if state.ceiling[left[at]] > state.best[0]:
                _search_root(state, left[at], stopwatch, space)

    _shared(work, state, min(stopwatch.threads, max(1, len(left))))


def _search_root(state: State, root: int, stopwatch: Stopwatch, space: roots.Workspace) -> None:
    """Settle whether ``root`` holds a larger clique than the best, unless the stopwatch stops it before."""
    vertex, adjacency = roots.local(state.later, root, int(state.best[0]) + 1, space)
    stopwatch.spend(_worked(space))
    stack = search.new_stack(len(vertex), int(state.ceiling[root]))
    found = search.new_found(1, len(vertex))
    outcome = search.DONE if len(vertex) == 0 else search.PAUSED
    while outcome == search.PAUSED:
        outcome = search.search(adjacency, stack, state.best, found, (1, 0, state.tuning.branches))
        stopwatch.spend(_worked(stack))
        if found.count[0]:
            state.keep([root, *vertex[found.members[0, : found.size[0]]].tolist()])
        if outcome == search.PAUSED and (stopwatch.over(len(state.clique)) or state.best[1]):
            return
    state.ceiling[root] = min(int(state.ceiling[root]), int(state.best[0]))


def _worked(where: search.Stack | roots.Workspace) -> int:
    """Return the work done there since this was last asked."""
    work = int(where.work[0])
    where.work[0] = 0
    return work


def _at_root(
    state: State, root: int, size: int, limit: int, stopwatch: Stopwatch, space: roots.Workspace
) -> list[list[int]]:
    """At most ``limit`` cliques of ``size`` members whose first vertex is ``root``."""
    if size == 1:
        return [[root]]
    vertex, adjacency = roots.local(state.later, root, size, space)
    stopwatch.spend(_worked(space))
    everyone = roots.everything(len(vertex))
    found = _inside(adjacency, everyone, (1, size, state.tuning.branches), limit, stopwatch)
    return [[root, *vertex[members].tolist()] for members in found]


def _inside(
    adjacency: Bits, among: Bits, aim: tuple[int, int, int], limit: int, stopwatch: Stopwatch
) -> list[IntArray]:
    """At most ``limit`` cliques among these bits.

    ``aim`` is (members already chosen, members in the end, branches between two looks at the clock).
    """
    if aim[0] == aim[1]:
        return [np.empty(0, np.int32)]
    if not among.any():
        return []
    stack = search.new_stack(len(adjacency), aim[1] - aim[0])
    stack.candidates[0] = among
    found = search.new_found(limit, len(adjacency))
    going = np.zeros(2, np.int64)
    outcome = search.PAUSED
    while outcome == search.PAUSED and not stopwatch.over(0):
        outcome = search.search(adjacency, stack, going, found, aim)
        stopwatch.spend(_worked(stack))
    return list(found.members[: found.count[0], : aim[1] - aim[0]])


def choose(state: State, stopwatch: Stopwatch) -> None:
    """Take the first of all cliques as large as the best, if there is time."""
    if not stopwatch.over(len(state.clique)):
        state.clique = _first(state, len(state.clique), stopwatch) or state.clique


def _first(state: State, size: int, stopwatch: Stopwatch) -> list[int] | None:
    """The clique of ``size`` members that comes first when members are compared in the fixed order, one by one."""
    if size == 1:
        return [0]
    space = state.workspace()
    for root in np.flatnonzero(state.ceiling >= size).tolist():
        vertex, adjacency = roots.local(state.later, root, size, space)
        stopwatch.spend(_worked(space))
        among = roots.everything(len(vertex))
        found = _inside(adjacency, among, (1, size, state.tuning.branches), 1, stopwatch)
        if found:
            smallest = _smallest(adjacency, vertex, found[0], state.tuning.branches, stopwatch)
            return [root, *vertex[smallest].tolist()]
        if stopwatch.over(0):
            return None
        state.ceiling[root] = size - 1
    return None


def _smallest(adjacency: Bits, vertex: IntArray, clique: IntArray, branches: int, stopwatch: Stopwatch) -> list[int]:
    """Return the first clique, vertices compared one by one, with as many members as ``clique``.

    Goes through the vertices upwards and takes each that some clique of full size contains together with those taken;
    the clique at hand answers for its own first member.
    """
    size = len(clique)
    rest = sorted(clique.tolist(), key=lambda i: int(vertex[i]))
    among = roots.everything(len(vertex))
    taken: list[int] = []
    for i in np.argsort(vertex).tolist():
        word, bit = i // 64, np.int64(1) << np.int64(i % 64)
        if len(taken) == size or stopwatch.over(0):
            break
        if not among[word] & bit:
            continue
        among[word] ^= bit
        inside = among & adjacency[i]
        if i != rest[len(taken)]:
            found = _inside(adjacency, inside, (len(taken) + 1, size, branches), 1, stopwatch)
            if not found:
                continue
            rest = [*taken, i, *sorted(found[0].tolist(), key=lambda j: int(vertex[j]))]
        taken.append(i)
        among = inside
    return taken + rest[len(taken) :]
