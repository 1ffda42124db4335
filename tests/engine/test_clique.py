"""Maximum cliques, against networkx and against listing by hand."""

import itertools
import pickle
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import peers
from disclique.cli import app
from disclique.engine import SOLVERS, Solver, is_clique, maximum_clique, maximum_cliques
from disclique.engine.product import product_graph
from disclique.errors import InputError
from disclique.model import Budget, Clique, Graph, ProductGraph
from instances import instance


def graph_of(order, edges):
    """The graph on 0..order-1 in compressed rows."""
    rows = [[] for _ in range(order)]
    for u, v in edges:
        rows[u].append(v)
        rows[v].append(u)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    neighbours = np.array([u for row in rows for u in sorted(row)], dtype=np.int32)
    return Graph(offsets=offsets, neighbours=neighbours)


def random_graph(rng, largest=40):
    """A random graph of random density, as it is and for networkx."""
    n = int(rng.integers(1, largest))
    density = rng.random()
    edges = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    reference = nx.Graph()
    reference.add_nodes_from(range(n))
    reference.add_edges_from(edges)
    return graph_of(n, edges), reference


def all_maximum(reference):
    """Every maximum clique of a networkx graph."""
    cliques = [tuple(sorted(clique)) for clique in nx.find_cliques(reference)]
    size = max(map(len, cliques))
    return sorted(clique for clique in cliques if len(clique) == size)


def all_of_size(graph, size):
    """Every clique of so many members, larger ones' parts included, by plain enumeration."""
    rows = graph.later if isinstance(graph, ProductGraph) else graph
    reference = nx.Graph()
    reference.add_nodes_from(range(graph.order))
    for v in range(graph.order):
        reference.add_edges_from((v, int(u)) for u in rows.neighbours[rows.offsets[v] : rows.offsets[v + 1]])
    cliques = itertools.takewhile(lambda clique: len(clique) <= size, nx.enumerate_all_cliques(reference))
    return sorted(tuple(sorted(clique)) for clique in cliques if len(clique) == size)


def small_product(seed):
    """A product graph of few enough vertices to list its cliques by hand."""
    files = instance(0.05, 0.5, records=24 + seed, common=8)
    return product_graph(files.target, files.known, candidates=files.candidates, agreement=files.agreement)


def check(graph, reference, threads=1):
    """The exact solver, the list of all maximum cliques and the check of a clique against networkx."""
    expected = all_maximum(reference)
    clique = maximum_clique(graph, threads=threads)
    assert clique.proven
    assert clique.size == clique.bound == len(expected[0])
    assert clique.members in expected
    assert is_clique(graph, clique.members)
    everything = maximum_cliques(graph, clique, limit=5000)
    assert everything.complete
    assert list(everything.cliques) == expected


def test_small_random_graphs_agree_with_networkx():
    rng = np.random.default_rng(5)
    for _ in range(12):
        check(*random_graph(rng, largest=12))


def test_random_graphs_agree_with_networkx():
    rng = np.random.default_rng(1)
    for trial in range(500):
        graph, reference = random_graph(rng, largest=26)
        check(graph, reference, threads=1 + trial % 2)


@pytest.fixture
def others(monkeypatch):
    """Other people's solvers among our own, as the benchmarks offer them."""
    for name, solver in peers.solvers().items():
        monkeypatch.setitem(SOLVERS, name, solver)


@pytest.mark.parametrize("solver", [*SOLVERS, *peers.PEERS])
def test_small_every_solver_agrees_on_the_size(solver, others):
    pytest.importorskip(solver if solver in peers.PEERS else "numpy")
    rng = np.random.default_rng(2)
    for _ in range(2 if solver == "cliquematch" else 8):
        graph, reference = random_graph(rng, largest=14)
        size = len(all_maximum(reference)[0])
        clique = maximum_clique(graph, solver=solver)
        assert is_clique(graph, clique.members)
        assert clique.solver == solver
        assert clique.size <= size <= clique.bound
        if SOLVERS[solver].proves:
            assert clique.proven
            assert clique.size == size


@pytest.mark.parametrize("solver", sorted({*SOLVERS, *peers.PEERS} - {"exact"}))
def test_solvers_agree_with_the_exact_one(solver, others):
    pytest.importorskip(solver if solver in peers.PEERS else "numpy")
    rng = np.random.default_rng(3)
    for _ in range(8 if solver == "cliquematch" else 60):
        graph, _ = random_graph(rng, largest=40)
        size = maximum_clique(graph, threads=1).size
        other = maximum_clique(graph, solver=solver)
        assert is_clique(graph, other.members)
        assert other.size <= size <= other.bound
        assert not SOLVERS[solver].proves or other.size == size


def test_small_corner_cases():
    empty = graph_of(0, [])
    assert maximum_clique(empty) == Clique(members=(), bound=0)
    lonely = graph_of(3, [])
    clique = maximum_clique(lonely)
    assert clique.size == 1
    assert clique.proven
    assert maximum_cliques(lonely, clique).cliques == ((0,), (1,), (2,))
    complete = graph_of(70, itertools.combinations(range(70), 2))
    assert maximum_clique(complete).members == tuple(range(70))


def test_small_is_clique_refuses_what_is_none():
    path = graph_of(3, [(0, 1), (1, 2)])
    assert is_clique(path, [0, 1])
    assert is_clique(path, [])
    assert is_clique(path, [2])
    for members in ([0, 2], [0, 0], [-1, 0], [2, 3]):
        assert not is_clique(path, members)


def test_small_wrong_parameters_are_named():
    path = graph_of(3, [(0, 1), (1, 2)])
    with pytest.raises(InputError, match="solver 'best'"):
        maximum_clique(path, solver="best")
    with pytest.raises(InputError, match="threads 0"):
        maximum_clique(path, threads=0)
    with pytest.raises(InputError, match="limit = 0"):
        maximum_cliques(path, maximum_clique(path), limit=0)


def test_small_a_capped_list_says_so():
    """The complement of 12 disjoint edges has 2^12 maximum cliques."""
    pairs = {(2 * i, 2 * i + 1) for i in range(12)}
    graph = graph_of(24, [pair for pair in itertools.combinations(range(24), 2) if pair not in pairs])
    clique = maximum_clique(graph)
    assert clique.size == 12
    some = maximum_cliques(graph, clique, limit=10)
    assert some.count == 10
    assert not some.complete
    assert all(is_clique(graph, members) for members in some.cliques)


def dense_random(order, density, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((order, order)) < density, 1)
    both = upper | upper.T
    offsets = np.concatenate([[0], np.cumsum(both.sum(axis=1))]).astype(np.int64)
    return Graph(offsets=offsets, neighbours=np.nonzero(both)[1].astype(np.int32))


def test_a_budget_gives_a_clique_and_a_bound():
    graph = dense_random(600, 0.9, seed=4)
    clique = maximum_clique(graph, budget=Budget(work=0.5))
    assert is_clique(graph, clique.members)
    assert 20 < clique.size < clique.bound <= 600


@pytest.mark.parametrize("work", [0.0001, 0.003, 0.1])
def test_a_budget_of_work_gives_the_same_clique_every_time(work):
    """Whatever the machine does meanwhile, and however many threads are offered."""
    graph = dense_random(600, 0.9, seed=4)
    found = [maximum_clique(graph, budget=Budget(work=work), threads=threads) for threads in (1, 2, None)]
    assert not found[0].proven
    assert is_clique(graph, found[0].members)
    assert len({(clique.members, clique.bound) for clique in found}) == 1
    listed = [maximum_cliques(graph, found[0], limit=3, budget=Budget(work=work)).cliques for _ in range(2)]
    assert found[0].members in listed[0]
    assert listed[0] == listed[1]


def test_enough_work_comes_to_the_proof():
    graph = dense_random(200, 0.5, seed=4)
    clique = maximum_clique(graph, budget=Budget(work=50))
    assert clique == maximum_clique(graph)
    with pytest.raises(InputError, match="needs some"):
        Budget(work=0)


def test_a_target_size_ends_the_search():
    graph = dense_random(300, 0.9, seed=4)
    clique = maximum_clique(graph, budget=Budget(size=10))
    assert clique.size >= 10
    assert is_clique(graph, clique.members)


def test_threads_do_not_change_the_clique():
    for seed in range(10):
        graph = dense_random(1500, 0.05, seed)
        one = maximum_clique(graph, threads=1)
        assert one == maximum_clique(graph, threads=2) == maximum_clique(graph, threads=5)


def test_progress_is_told():
    heard = []
    maximum_clique(dense_random(400, 0.3, 1), progress=lambda done, total, size: heard.append((done, total, size)))
    assert heard
    assert all(0 <= done <= total for done, total, _ in heard)


@pytest.mark.parametrize("kind", ["plain", "product"])
def test_answers_do_not_depend_on_what_was_asked_before(kind, others):
    """All solvers in all orders on one graph object: each answer as on a graph of its own, each list as by hand."""
    rng = np.random.default_rng(8)
    solvers = ("exact", "mcqd", "greedy", "networkx")
    for trial in range(12 if kind == "plain" else 4):
        graph = random_graph(rng, largest=22)[0] if kind == "plain" else small_product(trial)
        alone = {}
        for name in solvers:
            fresh = replace(graph)
            clique = maximum_clique(fresh, solver=name, threads=1)
            alone[name] = clique, maximum_cliques(fresh, clique, limit=10**5)
            assert list(alone[name][1].cliques) == all_of_size(graph, clique.size)
            assert alone[name][1].complete
        for sequence in itertools.permutations(solvers):
            for name in sequence:
                clique = maximum_clique(graph, solver=name, threads=1)
                assert (clique, maximum_cliques(graph, clique, limit=10**5)) == alone[name]


def test_small_a_clique_serves_only_the_graph_it_was_found_in():
    """What the solver learned is of no use for another graph, another size or another process, and does no harm."""
    rng = np.random.default_rng(9)
    for _ in range(40):
        graph, reference = random_graph(rng, largest=14)
        clique = maximum_clique(graph, threads=1)
        expected = all_maximum(reference)
        assert list(maximum_cliques(replace(graph), clique).cliques) == expected
        copy = pickle.loads(pickle.dumps(clique))
        assert copy == clique
        assert copy.trace is None
        assert list(maximum_cliques(graph, copy).cliques) == expected
        part = replace(clique, members=clique.members[1:])
        assert list(maximum_cliques(graph, part, limit=10**5).cliques) == (all_of_size(graph, part.size) or [()])
        more = graph_of(graph.order + 1, [*reference.edges, *((v, graph.order) for v in range(graph.order))])
        assert list(maximum_cliques(more, clique, limit=10**5).cliques) == all_of_size(more, clique.size)
    path = graph_of(3, [(0, 1), (1, 2)])
    with pytest.raises(InputError, match="no clique of this graph"):
        maximum_cliques(path, Clique(members=(0, 1, 2), bound=3))


@pytest.mark.parametrize("solver", ["exact", "mcqd"])
def test_a_list_that_was_cut_short_is_never_called_complete(solver):
    graph = dense_random(70, 0.6, seed=2)
    clique = maximum_clique(graph, solver=solver)
    smaller = replace(clique, members=clique.members[1:])
    for given in (clique, smaller):
        whole = maximum_cliques(graph, given, limit=10**5)
        assert whole.complete
        assert whole.cliques == tuple(all_of_size(graph, given.size))
        outcomes = set()
        for work in np.geomspace(1e-9, 1e-2, 30):
            some = maximum_cliques(graph, given, limit=10**5, budget=Budget(work=float(work)))
            assert given.members in some.cliques
            assert set(some.cliques) <= set(whole.cliques)
            assert some == whole or not some.complete
            outcomes.add(some.complete)
        assert outcomes == {True, False}


def test_small_a_solver_is_added_in_one_place(monkeypatch, tmp_path):
    """One line in the registry: the function, the help, the choice by name, the messages and ``all`` know it."""

    def last_vertex(graph, stopwatch):
        return Clique(members=(graph.order - 1,), bound=graph.order)

    def first_pair(graph, stopwatch):
        return Clique(members=(0,), bound=graph.order)

    monkeypatch.setitem(SOLVERS, "tiny", Solver("tiny", last_vertex, "the last vertex", proves=False))
    monkeypatch.setitem(SOLVERS, "paired", Solver("paired", first_pair, "the first pair", product=True))
    path = graph_of(3, [(0, 1), (1, 2)])
    found = maximum_clique(path, solver="tiny")
    assert (found.members, found.bound, found.solver) == ((2,), 3, "tiny")
    with pytest.raises(InputError, match="greedy, tiny"):
        maximum_clique(path, solver="best")
    with pytest.raises(InputError, match="product graphs only"):
        maximum_clique(path, solver="paired")
    assert maximum_clique(small_product(0), solver="paired").size == 1
    file = tmp_path / "path.clq"
    file.write_text("1 2\n2 3\n", encoding="utf-8")
    shown = " ".join(CliRunner().invoke(app, ["clique", "--help"]).output.replace("│", " ").split())
    assert "tiny (the last vertex; no proof)" in shown
    assert "paired (the first pair; product graphs only)" in shown
    results = CliRunner().invoke(app, ["clique", str(file), "--solver", "all"])
    assert results.exception is None
    assert "tiny" in results.output
    assert "paired" not in results.output
    single = CliRunner().invoke(app, ["clique", str(file), "--solver", "tiny"])
    assert "members: 3" in single.stderr
