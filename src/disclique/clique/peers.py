"""Other solvers behind the same door: the paper's own algorithm, a greedy one, and installed libraries."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from disclique.clique.watch import Watch
from disclique.errors import MissingDependency
from disclique.model import Graph


def _library(name: str) -> Any:
    """The module, or how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f'the solver "{name}" needs the library {name}: pip install "disclique[bench]"'
        ) from error


def _pairs(graph: Graph) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Every edge once, shape (edges, 2), smaller vertex first."""
    source = np.repeat(np.arange(graph.order, dtype=np.int32), np.diff(graph.offsets))
    once = source < graph.neighbours
    return np.stack([source[once], graph.neighbours[once]], axis=1)


def networkx(graph: Graph, watch: Watch) -> tuple[list[int], int]:
    """A maximum clique by networkx (enumeration of maximal cliques); it knows no budget."""
    library = _library("networkx")
    plain = library.Graph()
    plain.add_nodes_from(range(graph.order))
    plain.add_edges_from(_pairs(graph).tolist())
    members, _ = library.max_weight_clique(plain, weight=None)
    return list(members), len(members)


def igraph(graph: Graph, watch: Watch) -> tuple[list[int], int]:
    """A maximum clique by igraph; it knows no budget."""
    plain = _library("igraph").Graph(n=graph.order, edges=_pairs(graph))
    members = plain.largest_cliques()[0]
    return list(members), len(members)


def cliquematch(graph: Graph, watch: Watch) -> tuple[list[int], int]:
    """A maximum clique by cliquematch; it knows no budget here."""
    library = _library("cliquematch")
    pairs = _pairs(graph)
    if len(pairs) == 0:
        return [0], 1
    plain = library.Graph.from_edgelist((pairs + 1).astype(np.uint32), graph.order)
    members = plain.get_max_clique()
    return [int(v) - 1 for v in members], len(members)
