"""Searches at the edge of time and memory: bounds that hold when a search is stopped, rows that are made on demand."""

import itertools
import os
import pickle
import signal
from functools import partial

import networkx as nx
import numpy as np
import pytest
from test_product import random_files
from typer.testing import CliRunner

import disclique as dq
from builders import mask_in_order
from disclique.cli import app
from disclique.engine import Solver, exact, is_clique, maximum_clique, maximum_cliques
from disclique.engine.cluster import Workers
from disclique.engine.kernels import climb, demand, roots
from disclique.engine.product import RowsOnDemand, product_graph
from disclique.engine.stopwatch import Stopwatch
from disclique.errors import TooLarge
from disclique.model import UNLIMITED, Budget, Graph
from instances import instance

pytestmark = pytest.mark.long


CLIMBING = exact.Tuning(large_wedges=0, bit_bytes=0, taste_roots=2)  # small graphs take the way of large ones
CLIMBER = Solver("exact", partial(exact.solve, tuning=CLIMBING), "as a large graph is searched")


def random_graph(rng, order):
    upper = np.triu(rng.random((order, order)) < rng.uniform(0.1, 0.9), 1)
    both = upper | upper.T
    offsets = np.concatenate([[0], np.cumsum(both.sum(axis=1))]).astype(np.int64)
    return Graph(offsets, np.nonzero(both)[1].astype(np.int32)), nx.Graph(both)


def random_product(rng, **more):
    """A product graph of two small files, and its reference."""
    files = instance(float(rng.choice([0.01, 0.05, 0.3])), 0.5, records=int(rng.integers(50, 80)), common=8)
    graph = product_graph(files.target, files.known, candidates=files.candidates, agreement=files.agreement, **more)
    whole = product_graph(files.target, files.known, candidates=files.candidates, agreement=files.agreement)
    return graph, nx_of(whole)


def nx_of(graph):
    reference = nx.Graph()
    reference.add_nodes_from(range(graph.order))
    rows = graph.later
    for v in range(graph.order):
        reference.add_edges_from((v, int(u)) for u in rows.neighbours[rows.offsets[v] : rows.offsets[v + 1]])
    return reference


def largest_from(reference, place):
    """The size of the largest clique whose first vertex is each one, by listing; ``place`` is the order."""
    truth = np.zeros(len(place), int)
    for clique in nx.find_cliques(reference):
        for start, members in zip(sorted(place[clique]), range(len(clique), 0, -1), strict=True):
            truth[start] = max(truth[start], members)
    return truth


@pytest.mark.parametrize("kind", ["plain", "product"])
def test_a_climb_never_lowers_a_ceiling_below_the_truth(kind):
    rng = np.random.default_rng(11)
    for trial in range(30):
        graph, reference = random_graph(rng, 35) if kind == "plain" else random_product(rng)
        if graph.order == 0:
            continue
        state = exact.ready(graph, CLIMBING)
        place = np.arange(graph.order) if state.vertices is None else np.argsort(state.vertices)
        truth = largest_from(reference, place)
        degrees = state.ceiling.copy()
        if trial % 2:  # what remains of a climb that did not begin
            climb.extrapolate(state.later, graph.order, state.workspace(), state.ceiling)
            assert (state.ceiling >= truth).all()
        exact.climb_roots(state, Stopwatch.start(UNLIMITED, 1 + trial % 3, None))
        assert (state.ceiling >= np.minimum(truth, state.best[0] - 1)).all()
        assert state.ceiling.sum() < degrees.sum()


@pytest.mark.parametrize("kind", ["plain", "product"])
def test_the_bound_of_a_stopped_search_holds(kind):
    """Wherever the work ends, and it comes down to the proof."""
    rng = np.random.default_rng(12)
    stopped = 0
    for _ in range(25):
        graph, reference = random_graph(rng, 60) if kind == "plain" else random_product(rng)
        truth = max(map(len, nx.find_cliques(reference)))
        for work in 10.0 ** rng.uniform(-7, -4 if kind == "product" else -3, 6):
            found = maximum_clique(graph, solver=CLIMBER, budget=Budget(work=work))
            assert found.size <= truth <= found.bound
            assert is_clique(graph, found.members)
            stopped += not found.proven
        whole = maximum_clique(graph, solver=CLIMBER, threads=1)
        assert whole.size == whole.bound == truth
        assert maximum_clique(graph, solver=CLIMBER, threads=2) == whole
    assert stopped > 20


def test_a_climb_changes_nothing_but_the_time():
    files = instance(0.05, 0.5, records=120, common=20)
    graph = product_graph(files.target, files.known, candidates=files.candidates, agreement=files.agreement)
    climbed = [maximum_clique(graph, solver=CLIMBER, threads=threads) for threads in (1, 2, 3)]
    listed = maximum_cliques(graph, climbed[0])
    plain = maximum_clique(graph)
    assert all(one == plain for one in climbed)
    assert maximum_cliques(graph, plain) == listed


def test_the_members_of_a_chain_are_as_many_as_their_ceilings_allow():
    """Against all subsets: the j-th of z members has a ceiling of z - j + 1 or more."""
    rng = np.random.default_rng(13)
    for _ in range(200):
        ceilings = rng.integers(0, 7, rng.integers(0, 7)).tolist()
        top = 7
        tally = np.bincount(ceilings, minlength=top + 1).astype(np.int64)
        most = max(
            z
            for z in range(len(ceilings) + 1)
            for chosen in itertools.permutations(ceilings, z)
            if all(c >= z - j for j, c in enumerate(chosen))
        )
        assert climb.members(tally, top) == most
        assert not tally.any()


def test_neighbours_in_common_are_counted_and_listed():
    rng = np.random.default_rng(14)
    graph, reference = random_graph(rng, 50)
    state = exact.ready(graph)
    later, place, space = state.later, np.argsort(state.vertices), state.workspace()
    for root in range(50):
        count = roots.candidates(later, root, space)
        chosen = set(space.candidate[:count].tolist())
        roots.set_marks(count, space, 1)
        for u in sorted(chosen):
            both = {v for v in place[list(reference[state.vertices[u]])].tolist() if v > u} & chosen
            assert roots.marked(later.start, later.row, space.mark, u) == len(both)
            listed = roots.list_marked(later.start, later.row, space.mark, u, space.hit)
            assert set(space.hit[:listed].tolist()) == both
        roots.set_marks(count, space, 0)


def on_demand(files):
    """The product graph as it is stored, and with so little memory that rows are made, or None."""
    target, known, candidates, agreement = files
    stored = product_graph(target, known, candidates=candidates, agreement=agreement)
    less = 4 * stored.size + 40 * stored.order - 1
    if less < 48 * stored.order + 32 * target.size**2 + 8 * known.size**2:
        return stored, None
    made = product_graph(target, known, candidates=candidates, agreement=agreement, memory=less, on_demand=1e3)
    assert isinstance(made.later, RowsOnDemand)
    return stored, made


def parts(files):
    return files.target, files.known, files.candidates, files.agreement


@pytest.mark.parametrize("climbs", [False, True])
def test_rows_made_on_demand_are_the_rows_that_would_be_stored(climbs):
    """Unpublished and directed distances, labels that match several others, agreements of any kind; one row by one."""
    solver = CLIMBER if climbs else "exact"
    rng = np.random.default_rng(15)
    tried, directed = 0, 0
    while tried < 15:
        files = random_files(rng, largest=22)
        stored, made = on_demand(files)
        if made is None:
            continue
        tried += 1
        directed += files[0].directed
        rows, out = stored.later, np.empty(stored.order + 1, np.uint32)
        assert (made.order, made.size) == (stored.order, stored.size)
        for v in range(stored.order):
            row = rows.neighbours[rows.offsets[v] : rows.offsets[v + 1]]
            count = demand.make_row(made.later.source, v, out)
            assert out[:count].tolist() == sorted(row.tolist())
        expected = maximum_clique(stored, solver=solver)
        assert maximum_clique(made, solver=solver, threads=1) == expected
        assert maximum_clique(made, solver=solver, threads=2) == expected
        assert maximum_cliques(made, expected, limit=50) == maximum_cliques(stored, expected, limit=50)
        assert is_clique(made, expected.members)
        assert is_clique(made, (0, 1)) == is_clique(stored, (0, 1))
    assert directed


def test_a_stopped_search_of_rows_on_demand_has_a_bound_that_holds():
    stored, made = on_demand(parts(instance(0.2, 0.9, records=200, common=30)))
    truth = maximum_clique(stored)
    for work in (1e-5, 1e-4, 1e-3, 1e-2):
        found = maximum_clique(made, budget=Budget(work=work))
        assert found.size <= truth.size <= found.bound
        assert is_clique(stored, found.members)


def test_whoever_needs_all_rows_at_once_is_refused():
    """A graph without edges, as an empty array would make it, looks safe."""
    _, made = on_demand(parts(instance(0.2, 0.9, records=200, common=30)))
    again = pickle.loads(pickle.dumps(made.later))
    assert again.order == made.order
    for ask in (lambda: made.graph, lambda: again.neighbours, lambda: maximum_clique(made, solver="mcqd")):
        with pytest.raises(TooLarge, match=r"edges, which need .* make rows on demand"):
            ask()
    assert "edges" in repr(made)


def test_edges_that_do_not_fit_are_made_where_the_budget_allows_it():
    target, known, candidates, agreement = parts(instance(0.3, 0.9, records=200, common=30))
    graph = product_graph(target, known, candidates=candidates, agreement=agreement)
    tight = {"candidates": candidates, "agreement": agreement, "memory": 4 * graph.size}
    for work, says in ((0.0, "allowed; use a narrower"), (1e-6, "to make them on demand takes about")):
        with pytest.raises(TooLarge, match=says):
            product_graph(target, known, on_demand=work, **tight)
    assert product_graph(target, known, on_demand=10, **tight).size == graph.size
    with pytest.raises(TooLarge, match="from which edges could be made on demand, need"):
        product_graph(target, known, on_demand=10, **(tight | {"memory": 35 * 200**2}))


class Recorded:
    """Runs batches here and notes them; some it loses, as a worker that dies does, and runs again."""

    def __init__(self, lose=0):
        self.batches, self.lose = [], lose

    def map(self, function, items):
        function = pickle.loads(pickle.dumps(function))
        for item in items:
            self.batches.append(item)
            if self.lose and len(self.batches) % self.lose == 0:
                function(item)
            yield function(pickle.loads(pickle.dumps(item)))


def make_graph(sigma=0.05, records=150):
    files = instance(sigma, 0.5, records=records, common=20)
    return product_graph(files.target, files.known, candidates=files.candidates, agreement=files.agreement)


@pytest.mark.parametrize("climbs", [False, True])
def test_workers_find_the_clique_that_is_found_here(climbs):
    solver, tuning = (CLIMBER, CLIMBING) if climbs else ("exact", exact.TUNING)
    for sigma in (0.01, 0.05):
        graph = make_graph(sigma)
        here = maximum_clique(graph, solver=solver)
        for lose in (0, 2):
            workers = Workers(Recorded(lose), partial(make_graph, sigma), batches=10, tuning=tuning)
            there = maximum_clique(graph, workers=workers)
            assert there == here
            assert maximum_cliques(graph, there) == maximum_cliques(graph, here)
            best = [batch.best for batch in workers.executor.batches]
            assert best == sorted(best)  # what one batch found spares the next ones


def test_what_workers_leave_undone_is_no_proof():
    graph = make_graph()
    whole = maximum_clique(graph)
    workers = Workers(Recorded(), make_graph)
    found = maximum_clique(graph, workers=workers, budget=Budget(seconds=1e-9))
    assert not workers.executor.batches
    assert found.size <= whole.size <= found.bound
    assert not found.proven
    with pytest.raises(AssertionError, match="another graph"):
        maximum_clique(graph, workers=Workers(Recorded(), partial(make_graph, 0.01)))


def attacked(**how):
    """An attack on masked people of the survey, and what is compared of it."""
    everybody = dq.survey()
    target = dq.microdata(everybody[:160], ["sex"], coordinates=["lon", "lat"], ids="id")
    known = dq.microdata(everybody[100:260], ["sex"], coordinates=["lon", "lat"], ids="id")
    release = mask_in_order(target, "gaussian:sigma=0.02deg", seed=1)
    found = dq.attack(release, known, agreement=dq.Within(1.5), truth="id", search=dq.Search(**how))
    return found.clique, found.risk, found.matches.to_dict("list"), found.claims.work.edges


@pytest.mark.parametrize("executor", [dq.Processes(2), dq.OnDask("local", 2)], ids=lambda one: type(one).__name__)
def test_processes_and_dask_workers_search_for_the_clique_of_an_attack(executor):
    if isinstance(executor, dq.OnDask):
        pytest.importorskip("distributed")
    clique, *rest = attacked(executor=executor)
    assert [clique, *rest] == list(attacked())
    assert clique.proven
    assert clique.size > 5


def test_an_attack_with_little_memory_finds_the_same():
    whole, little = attacked(), attacked(memory=LITTLE)
    assert little == whole
    assert 4 * whole[-1] > LITTLE


LITTLE = 1_750_000  # bytes


def die_once(flag, make):
    """Make the graph, but kill the first worker that is asked to."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return make()
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("executor", [dq.Processes(2), dq.OnDask("local", 2)], ids=lambda one: type(one).__name__)
def test_a_killed_worker_costs_its_batch_only(executor, tmp_path):
    if isinstance(executor, dq.OnDask):
        pytest.importorskip("distributed")
    graph = make_graph()
    workers = Workers(executor, partial(die_once, tmp_path / "died", make_graph), batches=10)
    assert maximum_clique(graph, workers=workers) == maximum_clique(graph)
    assert (tmp_path / "died").exists()


def test_the_command_takes_the_memory(tmp_path):
    people = dq.survey()[:12]
    people.to_csv(tmp_path / "people.csv", index=False)
    words = ["attack", *[str(tmp_path / "people.csv")] * 2, "--label", "sex", "--coordinates", "lon,lat"]
    words += ["--id", "id", "--within", "1km", "--attack", "clique", "--force", "--memory"]
    refused = CliRunner().invoke(app, [*words, "4"])
    assert "memory '4': write an amount with its unit" in str(refused.exception)
    done = CliRunner().invoke(app, [*words, "1GB"])
    assert done.exit_code == 0, done.output
    assert "12" in done.output
