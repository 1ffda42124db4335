"""Other people's clique solvers: as choices of ``disclique clique --solver``, and timed on a finished graph.

    python benchmarks/peers.py clique FILE --solver igraph [--count] [--json F]
    python benchmarks/peers.py time LIBRARY EDGES.npy VERTICES REPEATS SECONDS

The first is the command of the package, with these solvers besides its own. The second prints seconds, clique and peak
of memory as one line of JSON; it imports nothing but NumPy and the library, so that only these are in memory.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from disclique.engine import Solver
    from disclique.engine.stopwatch import Stopwatch
    from disclique.model import Clique, Graph, ProductGraph

PEERS = ("igraph", "cliquematch", "networkx")
Solve = Callable[[], tuple[list[int], float]]  # members, seconds


def solvers() -> dict[str, Solver]:
    """Return the peers by name, as rows of the package's registry."""
    from disclique.engine import Solver

    found = {"networkx": networkx, "igraph": igraph, "cliquematch": cliquematch}
    return {name: Solver(name, find, "the library of that name", extra="bench") for name, find in found.items()}


def load_library(name: str) -> Any:
    """Return the module, or how to get it."""
    from disclique.errors import MissingDependency

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f'the solver "{name}" needs the library {name}: pip install "disclique[bench]"'
        ) from error


def _edge_list(graph: Graph | ProductGraph) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return every edge once, shape (edges, 2), smaller vertex first."""
    from disclique.model import ProductGraph

    rows = graph.later if isinstance(graph, ProductGraph) else graph
    source = np.repeat(np.arange(graph.order, dtype=np.int32), np.diff(rows.offsets))
    once = source < rows.neighbours
    return np.stack([source[once], rows.neighbours[once]], axis=1)


def networkx(graph: Graph | ProductGraph, stopwatch: Stopwatch) -> Clique:
    """Return a maximum clique by networkx (enumeration of maximal cliques); it knows no budget."""
    load_library("networkx")
    return _proven(_networkx(_edge_list(graph), graph.order)()[0])


def igraph(graph: Graph | ProductGraph, stopwatch: Stopwatch) -> Clique:
    """Return a maximum clique by igraph; it knows no budget."""
    load_library("igraph")
    return _proven(_igraph(_edge_list(graph), graph.order)()[0])


def _proven(members: list[int]) -> Clique:
    from disclique.model import Clique

    return Clique(tuple(members), len(members))


_CLIQUEMATCH = """
import os, sys, numpy, cliquematch
graph = cliquematch.Graph.from_edgelist(numpy.load(sys.argv[1]), int(sys.argv[2]))
print("clique", *graph.get_max_clique(), flush=True)
os._exit(0)
"""
_TRIES = 3


def cliquematch(graph: Graph | ProductGraph, stopwatch: Stopwatch) -> Clique:
    """Return a maximum clique by cliquematch, or a single vertex if the budget ends before.

    It runs in a process of its own, since freeing its graphs can crash the interpreter (version 3.0.2), and again where
    it finds no clique at all, as now and then on the smallest graphs of a busy machine.
    """
    from disclique.errors import DiscliqueError
    from disclique.model import Clique

    load_library("cliquematch")
    pairs = _edge_list(graph)
    if len(pairs) == 0:
        return Clique((0,), 1)
    seconds = stopwatch.deadline - time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edges.npy"
        np.save(file, (pairs + 1).astype(np.uint32))
        command = [sys.executable, "-c", _CLIQUEMATCH, str(file), str(graph.order)]
        for _ in range(_TRIES):
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=min(seconds, 1e6), check=False)
            except subprocess.TimeoutExpired:
                return Clique((0,), graph.order)
            answers = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("clique ")]
            if done.returncode == 0 and answers:
                return Clique(tuple(int(v) - 1 for v in answers[0]), len(answers[0]))
    raise DiscliqueError(f"cliquematch ended with code {done.returncode}: {done.stderr.strip()[-200:]}")


def peak() -> float:
    """Return the peak memory of this process in MB.

    Not from ``getrusage`` where that can be avoided: a child's figure there starts at its parent's.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _clocked(solve: Callable[[], Any]) -> tuple[list[int], float]:
    begun = time.perf_counter()
    members = solve()
    return list(members), time.perf_counter() - begun


def _networkx(edges: Any, order: int) -> Solve:
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(order))
    graph.add_edges_from(edges.tolist())
    return lambda: _clocked(lambda: networkx.max_weight_clique(graph, weight=None)[0])


def _igraph(edges: Any, order: int) -> Solve:
    import igraph

    graph = igraph.Graph(n=order, edges=edges)
    return lambda: _clocked(lambda: graph.largest_cliques()[0])


def _cliquematch(edges: Any, order: int) -> Solve:
    import cliquematch

    made = []  # kept alive: freeing such a graph may crash the interpreter

    def solve() -> tuple[list[int], float]:
        made.append(cliquematch.Graph.from_edgelist((edges + 1).astype(np.uint32), order))
        members, seconds = _clocked(made[-1].get_max_clique)
        return [v - 1 for v in members], seconds

    return solve


def time_peer(library: str, file: str, order: str, repeats: str, seconds: str) -> None:
    """Print seconds, the clique and the peak of memory as one line of JSON."""
    made = {"networkx": _networkx, "igraph": _igraph, "cliquematch": _cliquematch}[library]
    solve = made(np.load(file), int(order))
    times: list[float] = []
    members: list[int] = []
    while len(times) < int(repeats) and sum(times) < float(seconds):
        members, elapsed = solve()
        times.append(elapsed)
    found = {"clique": times, "build": [], "members": [int(v) for v in members], "proven": True, "peak": peak()}
    print("\n" + json.dumps(found), flush=True)
    os._exit(0)


def main() -> None:
    """Do what the command line asks for."""
    if sys.argv[1:2] == ["time"]:
        time_peer(*sys.argv[2:])
    from disclique.cli import main as command_line
    from disclique.engine import SOLVERS

    SOLVERS.update(solvers())
    command_line()


if __name__ == "__main__":
    main()
