"""Time one peer on a finished graph and print the result; run as a file, so that only the peer is in memory.

    python peer.py LIBRARY EDGES.npy VERTICES REPEATS SECONDS

Stops repeating once SECONDS are spent. Vertices count from 0.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Solve = Callable[[], tuple[list[int], float]]  # members, seconds


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


def main(library: str, file: str, order: str, repeats: str, seconds: str) -> None:
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


if __name__ == "__main__":
    main(*sys.argv[1:])
