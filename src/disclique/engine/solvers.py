"""The solvers by name, the functions that call them, and plain graphs from files to try them on.

A new solver is a function in a file and a line in SOLVERS.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from disclique.arguments import check_kind, check_whole, show
from disclique.engine import cluster, exact, mcqd
from disclique.engine.cluster import Workers
from disclique.engine.kernels import demand
from disclique.engine.product import RowsOnDemand
from disclique.engine.stopwatch import CliqueProgress, Stopwatch
from disclique.errors import InputError
from disclique.model import UNLIMITED, Budget, Clique, Graph, MaximumCliques, ProductGraph


@dataclass(frozen=True)
class Solver:
    """A way to find a maximum clique, under the name that users choose it by.

    ``find`` takes a graph that is not empty and returns a clique with a bound; ``summary`` says in a few words what it
    is. ``extra`` names the extra of the package that it needs; ``proves`` is False where its bound may stay above the
    clique however long it runs; ``product`` is True where it takes product graphs only.
    """

    name: str
    find: Callable[[Graph | ProductGraph, Stopwatch], Clique]
    summary: str
    extra: str = ""
    proves: bool = True
    product: bool = False

    @property
    def description(self) -> str:
        """The name with what a user should know of it, in one line."""
        more = ["no proof"] * (not self.proves) + ["product graphs only"] * self.product
        more += [f"needs the extra {self.extra}"] * bool(self.extra)
        return f"{self.name} ({'; '.join([self.summary, *more])})"


SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver("exact", exact.solve, "disclique's own, the fastest"),
        Solver("mcqd", mcqd.solve, "MaxCliqueDyn, the paper's"),
        Solver("greedy", exact.greedy, "a quick first choice", proves=False),
    )
}


def find_solver(name: str) -> Solver:
    """Return a solver by its name."""
    if name not in SOLVERS:
        raise InputError("unknown_solver", given=repr(name), solvers=list(SOLVERS))
    return SOLVERS[name]


def maximum_clique(
    graph: Graph | ProductGraph,
    *,
    solver: str | Solver = "exact",
    budget: Budget = UNLIMITED,
    threads: int | None = None,
    progress: CliqueProgress | None = None,
    workers: Workers | None = None,
) -> Clique:
    """Return a maximum clique with its proof, or within the budget the largest one found with a bound on all others.

    ``solver`` is one of SOLVERS, or one that is not among them; ``threads`` defaults to every core at hand;
    ``progress(done, total, size)`` is called now and then. Ctrl-C ends the search like a spent budget. The default
    solver, if it comes to its end, returns the same clique whatever the number of threads: of all maximum cliques of a
    product graph the one whose members, compared one by one, have the smallest numbers; in a plain graph the one that
    comes first in degeneracy order.

    ``workers`` search the roots of a product graph elsewhere, if the solver is ``exact`` and the budget not one of
    work, which ends at the same point only if it is spent in one place.

    >>> maximum_clique(graph_of(np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), 4)).members
    (0, 1, 2)
    """
    if not isinstance(graph, (Graph, ProductGraph)):
        raise InputError("not_a_graph", graph=show(graph))
    check_kind(budget, Budget, "budget", "wanted_budget")
    chosen = solver if isinstance(solver, Solver) else find_solver(solver)
    if chosen.product and not isinstance(graph, ProductGraph):
        raise InputError("solver_of_product_graphs", name=chosen.name)
    begun = time.perf_counter()
    if graph.order == 0:
        return Clique(members=(), bound=0, solver=chosen.name)
    stopwatch = Stopwatch.start(budget, threads, progress)
    if workers is not None and isinstance(graph, ProductGraph) and chosen.name == "exact" and budget.work is None:
        found = cluster.solve(graph, stopwatch, workers)
    else:
        found = chosen.find(graph, stopwatch)
    return replace(
        found,
        members=tuple(sorted(found.members)),
        bound=max(found.bound, found.size),
        solver=chosen.name,
        seconds=time.perf_counter() - begun,
    )


def maximum_cliques(
    graph: Graph | ProductGraph, clique: Clique, *, limit: int = 1000, budget: Budget = UNLIMITED
) -> MaximumCliques:
    """Return all cliques with as many members as ``clique``, ascending, at most ``limit`` of them.

    They are maximum cliques if ``clique`` is proven. If not, a larger one may exist: it is not looked for, and parts of
    it are listed like any other clique of this size. Where ``clique`` comes from the solver ``exact`` or ``greedy``
    and this very graph, only the few roots that the solver could not rule out are searched.

    >>> path = graph_of(np.array([[0, 1], [1, 2]]), 3)
    >>> maximum_cliques(path, maximum_clique(path)).cliques
    ((0, 1), (1, 2))
    """
    check_whole(limit, "limit", 1)
    check_kind(clique, Clique, "clique", "wanted_clique")
    if not is_clique(graph, clique.members):
        raise InputError("not_a_clique", size=clique.size)
    if clique.size == 0:
        return MaximumCliques(cliques=((),), complete=True)
    found, complete = exact.list_cliques(graph, clique, limit, Stopwatch.start(budget, 1, None))
    listed = set(found)
    if not complete:  # whatever was cut off, the clique at hand stays
        listed = {clique.members, *sorted(listed - {clique.members})[: limit - 1]}
    return MaximumCliques(cliques=tuple(sorted(listed)), complete=complete)


def is_clique(graph: Graph | ProductGraph, members: Iterable[int]) -> bool:
    """Return True if ``members``, counted from 0, are distinct vertices of the graph and pairwise adjacent."""
    rows = graph.later if isinstance(graph, ProductGraph) else graph
    chosen = np.array(sorted(members), dtype=np.int64)
    if len(chosen) and (chosen[0] < 0 or chosen[-1] >= graph.order or (np.diff(chosen) == 0).any()):
        return False
    if isinstance(rows, RowsOnDemand):
        return all(demand.joined(rows.source, v, u) for v, u in itertools.combinations(chosen.tolist(), 2))
    larger = np.zeros(graph.order, dtype=bool)  # the members above the one looked at
    larger[chosen] = True
    for above, v in zip(range(len(chosen) - 1, -1, -1), chosen.tolist(), strict=True):
        larger[v] = False
        if np.count_nonzero(larger[rows.neighbours[rows.offsets[v] : rows.offsets[v + 1]]]) != above:
            return False
    return True


def read_graph(path: Path) -> Graph:
    """Return the graph of a DIMACS file (``p edge n m``, ``e u v``) or of a plain edge list (``u v``); vertices from 1.

    Edges may be listed twice or in both directions; further columns, such as weights, are not read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("graph_unreadable", path=path, error=error) from None
    order, ends = 0, []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith(("c", "#", "%")):
            continue
        if words[0] == "p":
            order = _vertex(words[2] if len(words) > 2 else "", path, number, least=0)
            continue
        pair = words[1:3] if words[0] == "e" else words[:2]
        if len(pair) != 2:
            raise InputError("edge_not_of_two", path=path, number=number, line=line)
        u, v = (_vertex(word, path, number) for word in pair)
        if u == v:
            raise InputError("edge_to_itself", path=path, number=number, line=line)
        ends.append((u - 1, v - 1))
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)
    largest = int(edges.max(initial=-1)) + 1
    if order and largest > order:
        raise InputError("vertex_beyond_declared", path=path, largest=largest, order=order)
    if not order and not largest:
        raise InputError("graph_without_edges", path=path)
    return graph_of(edges, order or largest)


def _vertex(word: str, path: Path, line: int, least: int = 1) -> int:
    try:
        number = int(word)
    except ValueError:
        number = least - 1
    if number < least:
        raise InputError("vertex_not_a_number", path=path, line=line, word=word, least=least)
    return number


def graph_of(edges: NDArray[np.int64], order: int) -> Graph:
    """Return the graph with these edges, pairs of vertices from 0; an edge given twice counts once."""
    first, second = np.concatenate([edges, edges[:, ::-1]]).T
    source, end = np.divmod(np.unique(first * order + second), order)  # rows would be sorted far more slowly
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=order))]).astype(np.int64)
    return Graph(offsets, end.astype(np.int32))
