"""The functions behind the door: choice of a solver by name, and checks that hold for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np

from disclique.engine import exact, libraries, mcqd
from disclique.engine.stopwatch import Progress, Watch
from disclique.errors import InputError
from disclique.model import UNLIMITED, Budget, Clique, Graph, MaximumCliques, ProductGraph

Solver = Callable[[Graph | ProductGraph, Watch], tuple[list[int], int]]

SOLVERS: dict[str, Solver] = {
    "exact": exact.solve,
    "mcqd": mcqd.solve,
    "greedy": exact.greedy,
    "networkx": libraries.networkx,
    "igraph": libraries.igraph,
    "cliquematch": libraries.cliquematch,
}


def maximum_clique(
    graph: Graph | ProductGraph,
    *,
    solver: str = "exact",
    budget: Budget = UNLIMITED,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Clique:
    """A maximum clique with its proof, or within the budget the largest one found with a bound on all others.

    ``solver`` is one of SOLVERS; ``threads`` defaults to every core at hand; ``progress(done, total, size)`` is called
    now and then. Ctrl-C ends the search like a spent budget. The default solver, if it comes to its end, returns the
    same clique whatever the number of threads: of all maximum cliques of a product graph the one whose members,
    compared one by one, have the smallest numbers; in a plain graph the one that comes first in degeneracy order.
    """
    if solver not in SOLVERS:
        raise InputError(f"solver {solver!r}: choose one of {', '.join(SOLVERS)}")
    begun = time.perf_counter()
    if graph.order == 0:
        return Clique(members=(), bound=0, solver=solver)
    watch = Watch.start(budget, threads, progress)
    members, bound = SOLVERS[solver](graph, watch)
    return Clique(
        members=tuple(sorted(v + 1 for v in members)),
        bound=max(bound, len(members)),
        solver=solver,
        seconds=time.perf_counter() - begun,
    )


def maximum_cliques(
    graph: Graph | ProductGraph, clique: Clique, *, limit: int = 1000, budget: Budget = UNLIMITED
) -> MaximumCliques:
    """All cliques with as many members as ``clique``, ascending, at most ``limit`` of them.

    After ``maximum_clique`` of the same graph only the few roots that it could not rule out are searched again.
    """
    if limit < 1:
        raise InputError(f"limit {limit}: list at least one clique")
    if clique.size == 0:
        return MaximumCliques(cliques=((),), complete=True)
    found, complete = exact.listed(graph, clique.size, limit, Watch.start(budget, 1, None))
    listed = {tuple(sorted(v + 1 for v in members)) for members in found}
    if not complete:  # whatever was cut off, the clique at hand stays
        listed = {clique.members, *sorted(listed - {clique.members})[: limit - 1]}
    return MaximumCliques(cliques=tuple(sorted(listed)), complete=complete)


def is_clique(graph: Graph | ProductGraph, members: Iterable[int]) -> bool:
    """True if ``members``, vertex numbers from 1, are distinct vertices of the graph and pairwise adjacent."""
    rows = graph.later if isinstance(graph, ProductGraph) else graph
    chosen = np.array(sorted(members), dtype=np.int64) - 1
    if len(chosen) and (chosen[0] < 0 or chosen[-1] >= graph.order or (np.diff(chosen) == 0).any()):
        return False
    for i, v in enumerate(chosen):
        row = rows.neighbours[rows.offsets[v] : rows.offsets[v + 1]]
        if not np.isin(chosen[i + 1 :], row).all():
            return False
    return True
