"""The paper's own examples: every printed figure is reproduced from the shipped data."""

import itertools

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.engine.product import product_graph
from disclique.records.labels import candidates
from disclique.spaces import full_matrix
from disclique.synthetic.examples import cities, poets

TABLE_4 = [(1, 1), (2, 2), (3, 3), (6, 3), (4, 4), (7, 4), (3, 6), (6, 6), (4, 7), (7, 7), (2, 9)]
PRINTED = [343.6, 1264.0, 930.9, 1052.9, 877.5, 1869.1]


def test_cities_give_the_printed_matrix() -> None:
    """Example 2: the six distances to the printed digit."""
    found = full_matrix(cities().distances)
    assert [round(found[i, j], 1) for i, j in itertools.combinations(range(4), 2)] == PRINTED


def test_cities_by_the_cosine_formula_of_the_paper() -> None:
    """The haversine that the software uses equals the paper's formula."""
    lon, lat = np.radians(cities().distances.coordinates).T
    cosine = np.sin(lat[:, None]) * np.sin(lat) + np.cos(lat[:, None]) * np.cos(lat) * np.cos(lon[:, None] - lon)
    np.testing.assert_allclose(full_matrix(cities().distances), 6371 * np.arccos(np.clip(cosine, -1, 1)), atol=1e-3)


def test_poets_product_graph_is_the_printed_one() -> None:
    """Example 8: the eleven vertices in the order of table 4, and nine edges."""
    target, known = poets()
    graph = product_graph(
        target.distances,
        known.distances,
        candidates=candidates(target.labels, known.labels),
        agreement=dq.Within(5),
    )
    assert [(int(v) + 1, int(w) + 1) for v, w in zip(graph.target, graph.known, strict=True)] == TABLE_4
    assert (graph.order, graph.size) == (11, 9)


def test_poets_attack_finds_the_unique_clique() -> None:
    """Example 8: the clique {1, 2, 3, 5}, from 0 here; four true matches, each supported by every maximum clique."""
    target, known = poets()
    result = dq.attack(target, known, agreement=dq.Within(5), truth="name")
    assert result.clique.members == (0, 1, 2, 4)
    assert result.clique.proven
    assert result.clique.bound == 4
    assert result.cliques.count == 1
    assert result.cliques.complete
    assert list(zip(result.matches["target_row"], result.matches["known_row"], strict=True)) == [
        (1, 1), (2, 2), (3, 3), (4, 4)
    ]  # fmt: skip
    assert result.matches["true"].all()
    assert (result.matches["support"] == 1).all()
    assert (result.risk.precision, result.risk.recall) == (1.0, 1.0)


def test_poets_names_the_tie_that_cannot_be_resolved() -> None:
    """Records 9 and 10 share label and birth place; the label alone identifies Boccaccio only."""
    target, known = poets()
    result = dq.attack(target, known, agreement=dq.Within(5))
    assert result.twins == ((9, 10),)
    assert (result.baseline.pairs, result.baseline.unique) == (11, 1)
    assert result.risk is None
    assert any("9 and 10 cannot be told apart" in line for line in result.lines())


def test_loop_example_has_no_pair() -> None:
    """Example 10 of the text: V = {1}, W = {2, 3} at ε/2 apart gives no clique of two, whatever ε."""
    one = dq.microdata(pd.DataFrame({"x": ["a"]}), ["x"], distances=[[0.0]])
    two = dq.microdata(pd.DataFrame({"x": ["a", "a"]}), ["x"], distances=[[0.0, 0.5], [0.5, 0.0]])
    result = dq.attack(one, two, agreement=dq.Within(1))
    assert (result.claims.work.vertices, result.claims.work.edges) == (2, 0)
    assert result.clique.size == 1
    assert result.cliques.count == 2
    assert result.matches["support"].tolist() == [0.5]


@pytest.mark.parametrize("x", [0.5, 1.0])
def test_agreement_is_strict(x: float) -> None:
    """|d - d'| < x excludes a difference of exactly x."""
    frame = pd.DataFrame({"x": ["a", "b"]})
    target = dq.microdata(frame, ["x"], distances=[[0.0, 10.0], [10.0, 0.0]])
    known = dq.microdata(frame, ["x"], distances=[[0.0, 10.5], [10.5, 0.0]])
    assert dq.attack(target, known, agreement=dq.Within(x)).clique.size == (1 if x == 0.5 else 2)
