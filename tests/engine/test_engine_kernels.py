"""Kernels against their slow, obvious twins, and the ways through the engine that small graphs do not take."""

import itertools
from functools import partial

import networkx as nx
import numpy as np
import pytest

from disclique.engine import Solver, exact, is_clique, maximum_clique, maximum_cliques
from disclique.engine.kernels import merge, roots, search
from disclique.engine.product import product_graph
from disclique.engine.stopwatch import Stopwatch
from disclique.errors import TooLarge
from disclique.model import UNLIMITED, Budget, Graph
from instances import instance


def random_graph(order_, density, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((order_, order_)) < density, 1)
    both = upper | upper.T
    offsets = np.concatenate([[0], np.cumsum(both.sum(axis=1))]).astype(np.int64)
    return Graph(offsets, np.nonzero(both)[1].astype(np.int32)), both


def later_of(both):
    upper = np.triu(both, 1)
    start = np.concatenate([[0], np.cumsum(upper.sum(axis=1))]).astype(np.uint64)
    none = np.empty(0, np.int32)
    return roots.Later(start, np.nonzero(upper)[1].astype(np.uint32), none, none, np.zeros((0, 0), np.int64))


def product_of(attack, **more):
    return product_graph(attack.target, attack.known, candidates=attack.candidates, agreement=attack.agreement, **more)


@pytest.mark.parametrize("spread", ["even", "equal", "outlier", "unpublished"])
def test_small_edges_are_sorted_within_their_blocks(spread):
    rng = np.random.default_rng(3)
    n = 40
    values = {
        "even": rng.random((n, n)),
        "equal": np.ones((n, n)),
        "outlier": np.where(rng.random((n, n)) < 0.01, 1e12, rng.random((n, n))),
        "unpublished": np.where(rng.random((n, n)) < 0.5, np.nan, rng.random((n, n))),
    }[spread]
    begin = np.array([0, 1, 15, n])
    group = np.repeat([0, 1, 2], np.diff(begin))
    found = merge.edges(values, begin, np.arange(n, dtype=np.uint32), True, True)
    assert len(found.distance) == n * (n - 1)
    np.testing.assert_array_equal(found.distance, values[found.first, found.second])
    np.testing.assert_array_equal(found.back, values[found.second, found.first])
    for k in range(9):
        block = slice(found.start[k], found.start[k + 1])
        assert (group[found.first[block]] == k // 3).all()
        assert (group[found.second[block]] == k % 3).all()
        np.testing.assert_array_equal(found.distance[block], np.sort(found.distance[block]))  # NaN last
        assert found.middle[k] - found.start[k] == (~np.isnan(found.distance[block])).sum()


def test_small_degeneracy_order_leaves_no_vertex_more_neighbours_than_needed():
    graph, both = random_graph(30, 0.3, 1)
    left = np.ones(30, bool)
    core = 0
    for v in roots.degeneracy(graph.offsets, graph.neighbours):
        degree = (both & left).sum(axis=1)
        core = max(core, degree[left].min())
        assert left[v]
        assert degree[v] <= core
        left[v] = False


def test_small_inner_degrees_count_neighbours_among_candidates():
    _, both = random_graph(50, 0.4, 2)
    later = later_of(both)
    space = roots.new_workspace(later, 50)
    for root in range(50):
        count = roots.candidates(later, root, space)
        roots.inner(later, count, space)
        chosen = space.candidate[:count].astype(int)
        np.testing.assert_array_equal(space.degree[:count], both[np.ix_(chosen, chosen)].sum(axis=1))
        rows = roots.matrix(later, count, space)
        bits = [[int(rows[i, j // 64]) >> (j % 64) & 1 for j in range(count)] for i in range(count)]
        np.testing.assert_array_equal(np.array(bits, bool).reshape(count, count), both[np.ix_(chosen, chosen)])


def test_small_work_is_counted_alike_with_and_without_rows_of_bits():
    """So that a list made without them ends, on a budget, where it would have ended with them."""
    _, both = random_graph(300, 0.2, 3)
    sparse = later_of(both)
    words = np.zeros((300, 320), bool)
    words[:, :300] = both
    rows = np.packbits(words, axis=1, bitorder="little").view("<i8")
    found = []
    for bits in (rows, np.zeros((0, 5), np.int64)):
        later = sparse._replace(bits=bits)
        space = roots.new_workspace(later, 300)
        for root in range(300):
            count = roots.candidates(later, root, space)
            roots.inner(later, count, space)
            found.append((int(space.work[0]), space.degree[:count].tolist()))
    assert found[:300] == found[300:]


def test_small_search_lists_every_clique_of_a_size():
    _, both = random_graph(24, 0.6, 5)
    rows = np.array([[sum(1 << j for j in np.flatnonzero(line))] for line in both], dtype=np.int64)
    cliques = [clique for clique in nx.enumerate_all_cliques(nx.Graph(both)) if len(clique) == 4]
    stack, found = search.new_stack(24, 24), search.new_found(10_000, 24)
    assert search.search(rows, stack, np.zeros(2, np.int64), found, (0, 4, 10**9)) == search.DONE
    listed = {tuple(sorted(members[:4].tolist())) for members in found.members[: found.count[0]]}
    assert found.count[0] == len(listed)
    assert listed == {tuple(sorted(clique)) for clique in cliques}


def test_a_paused_search_goes_on_where_it_was():
    graph, _ = random_graph(120, 0.8, 7)
    whole = maximum_clique(graph, threads=1)
    halting = Solver("exact", partial(exact.solve, tuning=exact.Tuning(branches=3)), "pauses all the time")
    assert maximum_clique(graph, solver=halting, threads=2).members == whole.members


def test_rows_of_bits_and_sparse_rows_give_the_same():
    by_bits = Solver("exact", partial(exact.solve, tuning=exact.Tuning(large_wedges=0)), "by rows of bits")
    for sigma, alpha in ((0.01, 0.9), (0.05, 0.5)):
        product = product_of(instance(sigma, alpha, records=200, common=20))
        sparse = maximum_clique(product, threads=1)
        for threads in (1, 2, 3):
            again = maximum_clique(product, solver=by_bits, threads=threads)
            assert again == sparse
            assert again.trace.bits
            assert maximum_cliques(product, again) == maximum_cliques(product, sparse)
        assert maximum_clique(product.graph).size == sparse.size


def test_ceilings_never_fall_below_the_truth():
    """After sweeping and sifting, every root's ceiling bounds the cliques that start at it, unless they are small."""
    for seed in range(40):
        graph, both = random_graph(40, 0.2 + 0.015 * seed, seed)
        state = exact.ready(graph)
        stopwatch = Stopwatch.start(UNLIMITED, 2, None)
        exact._sweep(state, stopwatch)
        exact.sift(state, stopwatch)
        place = np.argsort(state.vertices)
        truth = np.zeros(40, int)
        for clique in nx.find_cliques(nx.Graph(both)):
            for start in sorted(place[clique]):
                truth[start] = max(truth[start], (place[clique] >= start).sum())
        assert ((state.ceiling >= truth) | (truth < state.best[0])).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_returns_the_incumbent(threads):
    """Whenever it comes: at every call of the listener."""
    graph, _ = random_graph(150, 0.6, 1)
    truth = maximum_clique(graph).size
    for patience in range(60):
        calls = itertools.count()

        def interrupt(*_, calls=calls, patience=patience):
            if next(calls) == patience:
                raise KeyboardInterrupt

        clique = maximum_clique(graph, threads=threads, progress=interrupt)
        assert is_clique(graph, clique.members)
        assert clique.size <= truth <= clique.bound
        assert patience > 0 or not clique.proven
        if next(calls) <= patience:
            break


def test_no_time_at_all_still_gives_a_clique_and_a_bound():
    product = product_of(instance(0.01, 0.9, records=100, common=10))
    clique = maximum_clique(product, budget=Budget(seconds=0))
    assert is_clique(product, clique.members)
    assert 1 <= clique.size < clique.bound
    whole = maximum_clique(product)
    assert whole.proven
    assert clique.size <= whole.size <= clique.bound
    some = maximum_cliques(product, whole, budget=Budget(seconds=0))
    assert not some.complete
    assert some.cliques == (whole.members,)


def test_edges_beyond_the_memory_are_refused_with_the_estimate():
    with pytest.raises(TooLarge, match="edges, which need"):
        product_of(instance(0.05, 0.9, records=400, common=40), memory=5_000_000)
    with pytest.raises(TooLarge, match="records have a candidate"):
        product_of(instance(0.05, 0.9, records=400, common=20), memory=2_000_000)
