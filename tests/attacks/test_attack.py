"""The attack against a plain reading of the definitions, on random files."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from disclique.engine.product import clique_of, common_subgraph, product_graph, violation
from disclique.model import Clique, CommonSubgraph
from disclique.records.labels import candidates


def random_file(rng: np.random.Generator, n: int, kind: str) -> dq.Microdata:
    """A small file with three labels; ``kind`` is complete, incomplete or directed."""
    d = rng.integers(0, 12, (n, n)).astype(float)
    if kind != "directed":
        d = np.triu(d, 1) + np.triu(d, 1).T
    np.fill_diagonal(d, 0)
    if kind == "incomplete":
        gone = np.triu(rng.random((n, n)) < 0.3, 1)
        d[gone | gone.T] = np.nan
    frame = pd.DataFrame({"x": rng.choice(list("abc"), n), "who": rng.permutation(100)[:n]})
    return dq.microdata(frame, ["x"], distances=d, directed=kind == "directed", unpublished=kind == "incomplete")


def largest_common_subgraph(target: dq.Microdata, known: dq.Microdata, x: float) -> int:
    """Order of a maximum approximate common subgraph by trying every pair of records, in or out."""
    d1, d2 = (data.distances.values for data in (target, known))
    l1, l2 = (data.labels["x"].tolist() for data in (target, known))

    def fits(a: float, b: float) -> bool:
        return (np.isnan(a) and np.isnan(b)) or abs(b - a) < x

    def grow(chosen: list[tuple[int, int]], rest: list[tuple[int, int]]) -> int:
        best = len(chosen)
        for k, (v, w) in enumerate(rest):
            if all(v != p and w != q and fits(d1[v, p], d2[w, q]) and fits(d1[p, v], d2[q, w]) for p, q in chosen):
                best = max(best, grow([*chosen, (v, w)], rest[k + 1 :]))
        return best

    return grow([], [(v, w) for v, w in itertools.product(range(len(l1)), range(len(l2))) if l1[v] == l2[w]])


@pytest.mark.parametrize("kind", ["complete", "incomplete", "directed"])
def test_attack_equals_trying_everything(kind: str) -> None:
    """250 random pairs of files of each kind: the size is right, definition 5 holds, and theorem 7 leads back."""
    rng = np.random.default_rng(20140213)
    for _ in range(250):
        target, known = (random_file(rng, int(rng.integers(1, 7)), kind) for _ in range(2))
        agreement = dq.Within(float(rng.integers(1, 5)))
        result = dq.attack(target, known, agreement=agreement)
        assert result.clique.proven
        assert result.clique.size == largest_common_subgraph(target, known, agreement.x)
        found = candidates(target.labels, known.labels)
        graph = product_graph(target.distances, known.distances, candidates=found, agreement=agreement)
        for members in result.cliques.cliques:
            subgraph = common_subgraph(Clique(members, len(members)), graph)
            assert violation(subgraph, target, known, agreement=agreement, candidates=found) is None
            assert clique_of(subgraph, graph) == members


def test_checker_of_definition_5_objects() -> None:
    """Every condition of definition 5 is really looked at."""
    frame = pd.DataFrame({"x": ["a", "b", "a"]})
    d = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    data = dq.microdata(frame, ["x"], distances=d)
    other = dq.microdata(frame, ["x"], distances=d * 2)
    rules = {"agreement": dq.Within(1), "candidates": candidates(data.labels, data.labels)}
    assert violation(CommonSubgraph((0, 1, 2), (0, 1, 2)), data, data, **rules) is None
    assert violation(CommonSubgraph((0, 2), (0, 0)), data, data, **rules).code == "not_a_bijection"
    assert violation(CommonSubgraph((0,), (1,)), data, data, **rules).code == "records_without_a_shared_label"
    assert violation(CommonSubgraph((0, 1), (0, 1)), data, other, **rules).code == "distances_of_pair_differ"


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["complete", "incomplete", "directed"]))
def test_row_order_changes_nothing_but_names(seed: int, kind: str) -> None:
    """Shuffled files have the same graph, clique number and number of maximum cliques."""
    rng = np.random.default_rng(seed)
    target, known = (random_file(rng, 9, kind) for _ in range(2))

    def shuffled(data: dq.Microdata) -> dq.Microdata:
        order = rng.permutation(len(data))
        values = data.distances.values[np.ix_(order, order)]
        options = {"directed": data.distances.directed, "unpublished": data.distances.unpublished}
        return dq.microdata(data.table.iloc[order].reset_index(drop=True), ["x"], distances=values, **options)

    plain = dq.attack(target, known, agreement=dq.Within(3), truth="who")
    mixed = dq.attack(shuffled(target), shuffled(known), agreement=dq.Within(3), truth="who")
    of_plain, of_mixed = plain.claims.work, mixed.claims.work
    assert (of_plain.vertices, of_plain.edges) == (of_mixed.vertices, of_mixed.edges)
    assert plain.clique.size == mixed.clique.size
    assert plain.cliques.count == mixed.cliques.count


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), narrow=st.floats(0.5, 6), more=st.floats(0, 6))
def test_wider_tolerance_never_shrinks_the_clique(seed: int, narrow: float, more: float) -> None:
    """The maximum clique is monotone in the tolerance."""
    rng = np.random.default_rng(seed)
    target, known = (random_file(rng, 8, "complete") for _ in range(2))
    small = dq.attack(target, known, agreement=dq.Within(narrow))
    large = dq.attack(target, known, agreement=dq.Within(narrow + more))
    assert small.clique.size <= large.clique.size


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dq.Within(2), dq.Between(-2, 2)),
        (dq.Between(-1, 3), dq.Between(-1, 3)),
    ],
)
def test_equal_agreements_give_equal_results(one: object, other: object) -> None:
    """Within(x) is Between(-x, x), and a run repeats itself."""
    rng = np.random.default_rng(3)
    target, known = (random_file(rng, 12, "complete") for _ in range(2))
    a, b = (dq.attack(target, known, agreement=rule) for rule in (one, other))
    pd.testing.assert_frame_equal(a.matches, b.matches)
    assert a.clique == b.clique


def test_coordinates_equal_their_matrix() -> None:
    """A known file by coordinates is linked as by its matrix, although the matrix is never formed."""
    rng = np.random.default_rng(1)
    points = np.column_stack([rng.uniform(6, 15, 60), rng.uniform(47, 55, 60)])
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 60), "who": np.arange(60)})
    by_points = dq.microdata(frame, ["sex"], coordinates=points)
    rows = np.arange(60)
    by_matrix = dq.microdata(frame, ["sex"], distances=by_points.distances.block(rows, rows), unit="km")
    for metric in ("sphere", "wgs84"):
        target = dq.microdata(frame, ["sex"], coordinates=points + rng.normal(0, 0.005, points.shape), metric=metric)
        one, other = (dq.attack(target, known, agreement=dq.Within(1), truth="who") for known in (by_points, by_matrix))
        pd.testing.assert_frame_equal(one.matches, other.matches)
        assert one.risk.tp > 20


def test_any_metric_may_be_used() -> None:
    """Words with an edit-like distance are microdata in a metric space too."""
    words = np.array(["meier", "maier", "meyer", "schmidt", "schmid"], dtype=object)

    def different_letters(a: str, b: str) -> int:
        return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b, strict=False))

    frame = pd.DataFrame({"x": list("abcde"), "who": range(5)})
    data = dq.microdata(frame, ["x"], coordinates=words, metric=different_letters)
    assert dq.attack(data, data, agreement=dq.Within(0.5), truth="who").risk.tp == 5


def test_no_label_in_common_says_so() -> None:
    """Nothing matches: an empty result with the reason, and undefined precision."""
    target = dq.microdata(pd.DataFrame({"s": ["f ", "f "], "who": [1, 2]}), ["s"], distances=np.zeros((2, 2)))
    known = dq.microdata(pd.DataFrame({"s": ["f", "m"], "who": [1, 2]}), ["s"], distances=np.zeros((2, 2)))
    result = dq.attack(target, known, agreement=dq.Within(1), truth="who")
    assert len(result.matches) == 0
    assert result.clique.size == 0
    assert result.clique.proven
    assert result.risk.precision is None
    assert result.risk.recall == 0
    text = " ".join(result.lines())
    assert "no label in common" in text
    assert "white space" in text
    assert "is found: it claims nothing" in text


def test_results_print_in_a_notebook() -> None:
    """The representations hold the figures and escape what comes from data."""
    frame = pd.DataFrame({"x": ["<b>"], "id": ["<i>"]})
    data = dq.microdata(frame, ["x"], distances=[[0.0]], ids="id")
    result = dq.attack(data, data, agreement=dq.Within(1))
    assert "1 matches" in repr(result)
    assert "<i>" not in result._repr_html_()
    assert "1 records" in repr(data)
