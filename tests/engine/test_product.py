"""The product graph, against a plain reading of definition 6."""

import itertools

import networkx as nx
import numpy as np
import pytest

from disclique.engine import is_clique, maximum_clique, maximum_cliques
from disclique.engine.product import product_graph
from disclique.errors import TooLarge
from disclique.model import Candidates


class Table:
    """A matrix of distances that counts what it was asked for."""

    def __init__(self, values, directed=False):
        self.values = np.asarray(values, dtype=float)
        self.directed = directed
        self.asked = 0

    @property
    def size(self):
        return len(self.values)

    def block(self, rows, columns):
        self.asked += len(rows) * len(columns)
        return self.values[np.ix_(rows, columns)]


class Offsets:
    """lo < d - d' < hi."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def interval(self, distance):
        return distance + self.low, distance + self.high


class Folding:
    """An agreement whose interval does not rise with the distance, and is empty for some distances."""

    def interval(self, distance):
        middle = np.abs(6 - distance)
        return np.where(distance == 3, 9.0, middle - 1.5), np.where(distance == 3, 1.0, middle + 0.75)


def by_definition(target, known, candidates, agreement):
    """Vertices and edges of definition 6, in the words of the paper."""
    related = {tuple(pair) for pair in candidates.relation.tolist()}
    vertices = [
        (v, w)
        for w in range(known.size)
        for v in range(target.size)
        if (candidates.target_class[v], candidates.known_class[w]) in related
    ]

    def agrees(v1, v2, w1, w2):
        d1, d2 = target.values[v1, v2], known.values[w1, w2]
        if np.isnan(d1) or np.isnan(d2):
            return np.isnan(d1) and np.isnan(d2)
        low, high = agreement.interval(np.array([d1]))
        return low[0] < d2 < high[0]

    edges = set()
    for (i, (v1, w1)), (j, (v2, w2)) in itertools.combinations(enumerate(vertices), 2):
        if v1 != v2 and w1 != w2 and agrees(v1, v2, w1, w2) and agrees(v2, v1, w2, w1):
            edges.add((i, j))
    return vertices, edges


def random_files(rng, largest=9):
    """Two small files with integer distances (so that interval ends are hit), some unpublished, some directed."""
    directed = rng.random() < 0.3
    missing = rng.choice([0, 0, 0.2, 0.7])

    def file(n):
        values = rng.integers(0, 8, (n, n)).astype(float)
        values[rng.random((n, n)) < missing] = np.nan
        if not directed:
            values = np.triu(values, 1) + np.triu(values, 1).T
        np.fill_diagonal(values, 0)
        return Table(values, directed)

    n1, n2 = (int(x) for x in rng.integers(1, largest, 2))
    classes = int(rng.integers(1, 4))
    target_class = rng.integers(-1 if rng.random() < 0.3 else 0, classes, n1).astype(np.int32)
    known_class = rng.integers(-1 if rng.random() < 0.3 else 0, classes, n2).astype(np.int32)
    if rng.random() < 0.5:
        relation = np.repeat(np.arange(classes), 2).reshape(-1, 2)
    else:
        every = np.array(list(itertools.product(range(classes), range(classes))))
        relation = every[rng.random(len(every)) < 0.6]
    candidates = Candidates(target_class, known_class, relation.astype(np.int32).reshape(-1, 2))
    agreement = Folding() if rng.random() < 0.2 else Offsets(-rng.integers(0, 3) - 0.5, rng.integers(0, 3) + 0.0)
    return file(n1), file(n2), candidates, agreement


def check(target, known, candidates, agreement):
    """The product graph equals the definition, and its maximum clique is one."""
    vertices, edges = by_definition(target, known, candidates, agreement)
    product = product_graph(target, known, candidates=candidates, agreement=agreement)
    assert list(zip(product.target.tolist(), product.known.tolist(), strict=True)) == vertices
    graph = product.graph
    source = np.repeat(np.arange(product.order), np.diff(graph.offsets))
    found = list(zip(source.tolist(), graph.neighbours.tolist(), strict=True))
    assert found == sorted(edges | {(j, i) for i, j in edges})
    assert product.order == len(vertices)
    assert product.size == len(edges)
    return product, edges


def test_small_product_graphs_follow_the_definition():
    rng = np.random.default_rng(11)
    for _ in range(12):
        check(*random_files(rng, largest=5))


def test_product_graphs_follow_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        product, edges = check(*random_files(rng, largest=int(rng.integers(3, 8))))
        clique = maximum_clique(product, threads=1)
        assert clique.proven
        assert is_clique(product, clique.members)
        reference = nx.Graph(list(edges))
        reference.add_nodes_from(range(product.order))
        cliques = [tuple(sorted(members)) for members in nx.find_cliques(reference)]
        size = max(map(len, cliques), default=0)
        largest = sorted(members for members in cliques if len(members) == size)
        assert clique.members == (largest[0] if largest else ())  # of several the one with the smallest numbers
        assert maximum_cliques(product, clique, limit=10**6).cliques == (tuple(largest) or ((),))


def test_small_only_candidates_are_asked_for_distances():
    target = Table(np.zeros((3, 3)))
    known = Table(np.zeros((50, 50)))
    known_class = np.full(50, 7, np.int32)
    known_class[[4, 9]] = 0
    candidates = Candidates(np.zeros(3, np.int32), known_class, np.array([[0, 0]], np.int32))
    product = product_graph(target, known, candidates=candidates, agreement=Offsets(-1, 1))
    assert product.known.tolist() == [4, 4, 4, 9, 9, 9]
    assert known.asked <= 4


def test_small_no_label_in_common_gives_an_empty_graph():
    table = Table(np.zeros((3, 3)))
    candidates = Candidates(np.zeros(3, np.int32), np.ones(3, np.int32), np.zeros((0, 2), np.int32))
    product = product_graph(table, table, candidates=candidates, agreement=Offsets(-1, 1))
    assert product.order == product.size == 0
    assert maximum_clique(product).members == ()


def test_small_loops_give_no_edge():
    """Example 9 of the paper: V = {1}, W = {2, 3}; one record cannot be matched twice."""
    candidates = Candidates(np.zeros(1, np.int32), np.zeros(2, np.int32), np.array([[0, 0]], np.int32))
    product = product_graph(Table([[0]]), Table([[0, 0], [0, 0]]), candidates=candidates, agreement=Offsets(-5, 5))
    assert product.order == 2
    assert product.size == 0
    assert maximum_clique(product).size == 1


def test_small_too_large_is_refused_with_the_estimate():
    table = Table(np.zeros((300, 300)))
    same = np.zeros(300, np.int32)
    candidates = Candidates(same, same, np.array([[0, 0]], np.int32))
    with pytest.raises(TooLarge, match="90,000 vertices"):
        product_graph(table, table, candidates=candidates, agreement=Offsets(-1, 1), memory=10**6)
