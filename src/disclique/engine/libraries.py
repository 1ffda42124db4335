"""Solvers of other libraries behind the same door, imported when they are asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from disclique.engine.stopwatch import Stopwatch
from disclique.errors import DiscliqueError, MissingDependency
from disclique.model import Clique, Graph, ProductGraph


def load_library(name: str) -> Any:
    """Return the module, or how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f'the solver "{name}" needs the library {name}: pip install "disclique[bench]"'
        ) from error


def _edge_list(graph: Graph | ProductGraph) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return every edge once, shape (edges, 2), smaller vertex first."""
    rows = graph.later if isinstance(graph, ProductGraph) else graph
    source = np.repeat(np.arange(graph.order, dtype=np.int32), np.diff(rows.offsets))
    once = source < rows.neighbours
    return np.stack([source[once], rows.neighbours[once]], axis=1)


def networkx(graph: Graph | ProductGraph, stopwatch: Stopwatch) -> Clique:
    """Return a maximum clique by networkx (enumeration of maximal cliques); it knows no budget."""
    library = load_library("networkx")
    plain = library.Graph()
    plain.add_nodes_from(range(graph.order))
    plain.add_edges_from(_edge_list(graph).tolist())
    members, _ = library.max_weight_clique(plain, weight=None)
    return Clique(tuple(members), len(members))


def igraph(graph: Graph | ProductGraph, stopwatch: Stopwatch) -> Clique:
    """Return a maximum clique by igraph; it knows no budget."""
    plain = load_library("igraph").Graph(n=graph.order, edges=_edge_list(graph))
    members = plain.largest_cliques()[0]
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
