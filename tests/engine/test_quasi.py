"""Quasi-cliques: every answer is one, has one match per record, and keeps what a clique loses."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from disclique.engine import maximum_clique
from disclique.engine.kernels import quasi as kernels
from disclique.engine.product import product_graph
from disclique.engine.quasi import is_quasi_clique, quasi_clique
from disclique.errors import InputError
from disclique.model import Budget, Graph, ProductGraph, Rows
from disclique.runs import Unit
from disclique.studies import StudyDraws, define_study


def product(n: int, p: float, seed: int, planted: int = 0, share: float = 1.0) -> ProductGraph:
    """A random product graph of n × n records; the pairs (i, i) of the first records are joined with ``share``."""
    rng = np.random.default_rng(seed)
    known, target = np.divmod(np.arange(n * n, dtype=np.int32), n)
    adjacent = rng.random((n * n, n * n)) < p
    same = np.flatnonzero((target == known) & (target < planted))
    adjacent[np.ix_(same, same)] = rng.random((len(same), len(same))) < share
    adjacent = np.triu(adjacent, 1)
    adjacent &= (target[:, None] != target) & (known[:, None] != known)
    whole = Graph(*_rows(adjacent | adjacent.T))
    return ProductGraph(target, known, Rows(*_rows(adjacent)), lambda later: whole)


def _rows(adjacent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum(adjacent.sum(axis=1))]).astype(np.int64)
    return offsets, np.nonzero(adjacent)[1].astype(np.int32)


def as_networkx(graph: Graph) -> nx.Graph:
    found = nx.Graph()
    found.add_nodes_from(range(graph.order))
    for v in range(graph.order):
        found.add_edges_from((v, int(w)) for w in graph.neighbours[graph.offsets[v] : graph.offsets[v + 1]])
    return found


@pytest.mark.parametrize("gamma", [0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_every_answer_is_a_one_to_one_quasi_clique(gamma: float, seed: int) -> None:
    graph = product(8, 0.25, seed)
    found = quasi_clique(graph, gamma=gamma)
    members = np.array(found.members)
    assert len(set(graph.target[members])) == len(set(graph.known[members])) == found.size
    inside = as_networkx(graph.graph).subgraph(members.tolist())
    need = np.ceil(gamma * (found.size - 1) - 1e-9)
    assert min(d for _, d in inside.degree()) >= need
    assert is_quasi_clique(graph, found.members, gamma)
    assert found.size <= found.bound
    assert found == quasi_clique(graph, gamma=gamma)
    larger = [v for v in range(graph.order) if v not in members and _fits(graph, members, v, gamma)]
    assert not larger, "a pair that fits was left out"


def _fits(graph: ProductGraph, members: np.ndarray, v: int, gamma: float) -> bool:
    if graph.target[v] in graph.target[members] or graph.known[v] in graph.known[members]:
        return False
    return is_quasi_clique(graph, tuple(int(w) for w in (*members, v)), gamma)


def test_a_planted_set_with_missing_edges_is_found_where_the_clique_loses_it() -> None:
    graph = product(25, 0.02, 1, planted=20, share=0.6)
    found = set(quasi_clique(graph, gamma=0.45).members)
    truth = {i * 25 + i for i in range(20)}
    assert len(found & truth) >= 19
    assert maximum_clique(graph).size <= 10


def test_gamma_one_gives_a_clique() -> None:
    graph = product(7, 0.4, 3)
    found = quasi_clique(graph, gamma=1.0)
    assert found.size <= maximum_clique(graph).size
    assert as_networkx(graph.graph).subgraph(found.members).size() == found.size * (found.size - 1) / 2


def test_local_sets_match_a_plain_twin() -> None:
    graph = product(6, 0.35, 5).graph
    local = kernels.new_local(graph.order, int(np.diff(graph.offsets).max()))
    vertices = np.arange(graph.order, dtype=np.int32)
    sizes, members = np.zeros(graph.order, np.int32), np.zeros((graph.order, 64), np.int32)
    for gamma in (0.4, 0.7, 1.0):
        kernels.local_sets(graph.offsets, graph.neighbours, vertices, local, gamma, 3, (sizes, members))
        for v in range(graph.order):
            expected = _plain_local_set(as_networkx(graph), v, gamma)
            found = members[v, : sizes[v]].tolist()
            assert found == (expected if len(expected) >= 3 else [])


def _plain_local_set(graph: nx.Graph, v: int, gamma: float) -> list[int]:
    inside = [v, *sorted(graph[v])]
    while len(inside) > 1:
        degree = {w: len(set(graph[w]) & set(inside)) for w in inside}
        if min(degree.values()) >= gamma * (len(inside) - 1) - 1e-9:
            break
        inside.remove(min(inside[1:], key=lambda w: degree[w]))
    return sorted(inside)


def test_the_odd_cases() -> None:
    empty = np.zeros(0, np.int32)
    assert quasi_clique(ProductGraph(empty, empty, Graph(np.zeros(1, np.int64), empty))).members == ()
    lonely = ProductGraph(np.zeros(1, np.int32), np.zeros(1, np.int32), Graph(np.zeros(2, np.int64), empty))
    assert quasi_clique(lonely).members == (0,)
    assert quasi_clique(product(5, 0.5, 0), budget=Budget(seconds=0)).size >= 1
    for gamma in (0.0, 1.2):
        with pytest.raises(InputError, match="gamma"):
            quasi_clique(lonely, gamma=gamma)


def test_noise_on_the_matrix_hides_from_the_clique_but_not_from_the_quasi_clique() -> None:
    study = define_study(
        {"mask": "matrix-gaussian:sd=5km", "n": 150, "common": 40, "repetitions": 1, "attack": ["clique", "quasi"]}
    )
    made = StudyDraws(study).draw(Unit(study.grid.settings[0], 0))
    graph = product_graph(
        made.target.distances,
        made.known.distances,
        candidates=made.candidates,
        agreement=made.calibration.agreement(0.5),
    )

    def true(members: tuple[int, ...]) -> int:
        chosen = np.array(members)
        return int(made.truth.holds(graph.target[chosen], graph.known[chosen]).sum())

    assert true(quasi_clique(graph, gamma=0.4).members) >= 30
    assert true(maximum_clique(graph).members) <= 12
