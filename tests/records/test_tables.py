"""The friendly door from Python: every wrong input has its sentence, and distances mean what they say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse.csgraph import shortest_path

import disclique as dq
from disclique.attacks.claims import find_twins as twins
from disclique.measures.risk import Risk, wilson
from disclique.records.labels import candidates
from disclique.records.reading import Layout, read
from disclique.records.tables import select_records
from disclique.spaces import full_matrix
from disclique.spaces.metrics import paired, pairwise

FRAME = pd.DataFrame({"x": ["a", "b"], "lon": [10.0, 11.0], "lat": [50.0, 51.0], "id": ["p", "q"]})
SQUARE = [[0.0, 2.0], [2.0, 0.0]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"distances": [[0, 1], [1, 0]], "coordinates": ["lon", "lat"]}, "not several"),
        ({}, "one of distances, coordinates and text"),
        ({"distances": [[0, 1], [2, 0]]}, "not symmetric"),
        ({"distances": [[0, -1], [-1, 0]]}, "row 1, column 2 = -1.0: a distance cannot be negative"),
        ({"distances": [[0, np.inf], [np.inf, 0]]}, "infinite"),
        ({"distances": [[0, np.nan], [np.nan, 0]]}, "not published"),
        ({"distances": [[1, 1], [1, 0]]}, "itself"),
        ({"distances": np.zeros((3, 3))}, "2 records, but distances between 3"),
        ({"distances": np.zeros((2, 3))}, "square"),
        ({"distances": [["0", "x"], ["x", "0"]]}, "not numbers"),
        ({"coordinates": ["lat", "lon", "lon"]}, "two columns"),
        ({"coordinates": np.zeros((3, 2))}, "3 coordinates"),
        ({"coordinates": [[50.0, 100.0], [50.0, 100.0]]}, "swapped"),
        ({"coordinates": [[4e5, 5.0], [4e5, 5.0]]}, "euclidean"),
        ({"coordinates": ["lon", "lat"], "metric": "taxi"}, "choose one of"),
        ({"coordinates": ["lon", "lat"], "ids": "name"}, "no column 'name'"),
        ({"coordinates": ["lon", "lat"], "directional": True}, "unknown option"),
    ],
)
def test_wrong_input_is_explained(options: dict[str, object], said: str) -> None:
    """Each with its own sentence."""
    with pytest.raises(dq.InputError, match=said):
        dq.microdata(FRAME, ["x"], **options)


def test_tables_are_checked() -> None:
    """Not a frame, no records, unknown label, ids twice."""
    for table, labels, said in (
        ([1, 2], ["x"], "DataFrame"),
        (FRAME.iloc[:0], ["x"], "no records"),
        (FRAME, ["y"], "no column 'y'"),
        (pd.concat([FRAME[["x"]], FRAME[["x"]]], axis=1), ["x"], "several columns"),
    ):
        with pytest.raises(dq.InputError, match=said):
            dq.microdata(table, labels, distances=SQUARE)
    with pytest.raises(dq.InputError, match="row 1 already"):
        dq.microdata(FRAME.assign(id="p"), ["x"], distances=SQUARE, ids="id")


def test_long_list_is_a_matrix_with_gaps() -> None:
    """Pairs that are not listed are unpublished; both directions may be listed if they agree."""
    frame = pd.DataFrame({"x": list("abcd")})
    pairs = pd.DataFrame({"i": [1, 2, 3, 1], "j": [2, 1, 4, 1], "distance": [5.0, 5.0, 7.0, 0.0]})
    found = dq.microdata(frame, ["x"], distances=pairs).distances.values
    expected = np.full((4, 4), np.nan)
    np.fill_diagonal(expected, 0)
    expected[0, 1] = expected[1, 0] = 5
    expected[2, 3] = expected[3, 2] = 7
    np.testing.assert_array_equal(found, expected)


def test_values_are_frozen() -> None:
    """Neither the matrix nor the microdata can be changed behind the attack's back, and the caller's array is not."""
    given = np.array(SQUARE)
    data = dq.microdata(FRAME, ["x"], distances=given)
    with pytest.raises(ValueError, match="read-only"):
        data.distances.values[0, 1] = 3
    with pytest.raises(AttributeError):
        data.name = "other"
    given[0, 1] = 9
    assert data.distances.values[0, 1] == 2


def test_metrics_agree_with_scipy_and_pyproj() -> None:
    """Pairwise and paired distances by independent ways."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-80, 80, (2, 20, 2))
    np.testing.assert_allclose(pairwise(a, b, "euclidean"), np.linalg.norm(a[:, None] - b[None], axis=2))
    for metric in ("sphere", "wgs84", "euclidean"):
        np.testing.assert_allclose(np.diagonal(pairwise(a, b, metric)), paired(a, b, metric))
    assert np.abs(pairwise(a, b, "sphere") / pairwise(a, b, "wgs84") - 1).max() < 0.006  # the Earth's flattening
    for metric in ("sphere", "wgs84", "euclidean"):
        full = full_matrix(dq.Points(a, metric))
        assert (full == full.T).all()
        assert (np.diagonal(full) == 0).all()


def test_twins_need_label_and_all_distances() -> None:
    """Same place, or apart but alike to everybody else; another label or another distance breaks the tie."""
    frame = pd.DataFrame({"x": list("aaaab")})
    d = np.array([[0, 3, 1, 1, 1], [3, 0, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 0]], float)
    assert twins(dq.microdata(frame, ["x"], distances=d)) == ((1, 2), (3, 4))
    d[4, 2] = d[2, 4] = 0.5
    assert twins(dq.microdata(frame, ["x"], distances=d)) == ((1, 2),)
    points = np.array([[1.0, 1], [1, 1], [2, 2], [2, 2], [2, 2]])
    assert twins(dq.microdata(frame, ["x"], coordinates=points)) == ((1, 2), (3, 4))


@pytest.mark.parametrize(("tp", "fp", "fn"), [(0, 0, 0), (0, 0, 5), (0, 3, 0), (4, 1, 2), (50, 0, 0)])
def test_rates_and_their_intervals(tp: int, fp: int, fn: int) -> None:
    """Undefined where nothing was tried; the interval is Wilson's formula."""
    found = Risk(tp, fp, fn)
    assert (found.precision is None) == (tp + fp == 0)
    assert (found.recall is None) == (tp + fn == 0)
    if tp + fp:
        n, p, z = tp + fp, tp / (tp + fp), stats.norm.ppf(0.975)
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        assert found.precision_interval == pytest.approx((centre - half, centre + half), abs=1e-12)
    assert wilson(0, 0) is None


@pytest.mark.parametrize(
    ("rule", "lo", "hi"),
    [
        (dq.Within(2), 8, 12),
        (dq.Relative(0.1), 9, 11),
        (dq.Between(-1, 3), 9, 13),
        (dq.quantiles(stats.norm(0, 2), 0.5), 10 + stats.norm.ppf(0.25) * 2, 10 + stats.norm.ppf(0.75) * 2),
    ],
)
def test_agreement_intervals(rule: object, lo: float, hi: float) -> None:
    """The interval around a target distance of 10."""
    assert np.array(rule.interval(np.array([10.0]))).ravel() == pytest.approx([lo, hi])


def test_zero_agrees_with_zero_relatively() -> None:
    """A shared residence is evidence, and nothing else agrees with it."""
    lo, hi = dq.Relative(0.5).interval(np.array([0.0]))
    assert lo[0] < 0 < hi[0]
    assert not lo[0] < 1e-300 < hi[0]


@pytest.mark.parametrize(
    "wrong", [lambda: dq.Within(0), lambda: dq.Within(float("nan")), lambda: dq.Relative(-1), lambda: dq.Between(1, 1)]
)
def test_wrong_agreements_are_refused(wrong: object) -> None:
    """A tolerance is a positive number, an interval has a smaller end first."""
    with pytest.raises(dq.InputError):
        wrong()


@pytest.mark.parametrize("alpha", [0, 1, -0.5, 2])
def test_alpha_is_a_probability(alpha: float) -> None:
    """Strictly between 0 and 1."""
    with pytest.raises(dq.InputError, match="alpha"):
        dq.quantiles(stats.norm(), alpha)


def relabelled(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    return dq.Matrix(values[np.ix_(order, order)]).values


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 200))
def test_rounding_is_settled_whatever_the_order(seed: int, n: int, ulps: int) -> None:
    """A matrix asymmetric by some last digits becomes symmetric bit by bit, alike in every order of the records."""
    rng = np.random.default_rng(seed)
    exact = full_matrix(dq.Points(rng.uniform(0, 1000, (n, 2)), "euclidean"))
    given = exact * (1 + rng.integers(-ulps, ulps + 1, (n, n)) * np.finfo(float).eps / 2)
    np.fill_diagonal(given, rng.uniform(0, 1e-16, n))
    found, order = dq.Matrix(given).values, rng.permutation(n)
    assert (found == found.T).all()
    assert (np.diagonal(found) == 0).all()
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    np.testing.assert_array_equal(relabelled(given, order), found[np.ix_(order, order)])
    pairs = pd.DataFrame([(i + 1, j + 1, given[i, j]) for i in range(n) for j in range(n)])
    if len(pairs) != 3:
        listed = dq.microdata(pd.DataFrame({"x": range(n)}), distances=pairs).distances
        np.testing.assert_array_equal(listed.values, found)


@given(st.integers(0, 10_000), st.integers(4, 11))
def test_what_somebody_printed_differently_is_refused(seed: int, digits: int) -> None:
    """Digits cut on one side only, up to eleven of them, are no rounding of the machine."""
    value = np.random.default_rng(seed).uniform(1, 1000)
    other = value * (1 + 10.0**-digits)
    for distances in (
        [[0, value], [other, 0]],
        pd.DataFrame({"i": [1, 2], "j": [2, 1], "distance": [value, other]}),
        [[other - value, value], [value, 0]],
    ):
        with pytest.raises(dq.InputError, match=r"not symmetric|way back|itself"):
            dq.microdata(FRAME, distances=distances)


def test_shortest_paths_are_a_matrix() -> None:
    """Ways summed up in two orders differ in their last digits; one-way streets stay refused."""
    rng = np.random.default_rng(1)
    steps = np.where(rng.random((60, 60)) < 0.1, rng.uniform(1, 100, (60, 60)), 0)
    ways = shortest_path(np.maximum(steps, steps.T), directed=False)
    assert (ways != ways.T).any()
    np.testing.assert_array_equal(dq.Matrix(ways).values, np.minimum(ways, ways.T))
    np.testing.assert_array_equal(dq.Matrix(ways, directed=True).values, ways)
    with pytest.raises(dq.InputError, match="not symmetric"):
        dq.Matrix(shortest_path(rng.uniform(1, 100, (60, 60))))


def test_labels_are_optional(tmp_path: Path) -> None:
    """Without label columns all records share one label and every pair is a candidate, read from files too."""
    data = dq.microdata(FRAME, distances=SQUARE)
    assert data.labels.shape == (2, 0)
    for missing in ("never", "any"):
        found = candidates(data.labels, data.labels, missing=missing)
        assert found.target_class.tolist() == found.known_class.tolist() == [0, 0]
        assert found.relation.tolist() == [[0, 0]]
    FRAME.to_csv(tmp_path / "f.csv", index=False)
    assert read(tmp_path / "f.csv", coordinates="lon,lat").labels.shape == (2, 0)
    both = dq.attack(data, data, agreement=dq.Within(1))
    assert len(both.matches) == 2


def test_a_file_is_read_as_its_layout_says(tmp_path: Path) -> None:
    """Plain strings will do; columns overrule a layout; an id that is named must be there unless it may be absent."""
    path, matrix = tmp_path / "f.csv", tmp_path / "d.csv"
    FRAME.to_csv(path, index=False)
    np.savetxt(matrix, 1000 * np.array(SQUARE), delimiter=",")
    layout = Layout("x", "id", "lon, lat")
    assert layout == Layout(["x"], "id", ("lon", "lat"))
    data = read(str(path), layout, metric="wgs84")
    assert (data.ids, list(data.labels.columns), data.distances.metric) == (("p", "q"), ["x"], "wgs84")
    scaled = read(path, layout, coordinates=None, distances=str(matrix), unit="m")
    np.testing.assert_array_equal(scaled.distances.values, SQUARE)
    assert read(path, layout, id="name", id_optional=True).ids == (1, 2)
    for wrong, said in (
        ({"id": "name"}, "no id column 'name'"),
        ({"distances": matrix}, "are given; distances come from one of them"),
        ({"coordinates": None}, "nothing gives distances"),
        ({"unit": "miles"}, "choose one of m, km"),
    ):
        with pytest.raises(dq.InputError, match=said):
            read(path, layout, **wrong)


def test_parts_and_matrices_of_microdata() -> None:
    """Some records in another order keep their distances; points become a matrix, or too many of them its entries."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": range(9)})
    places = rng.uniform(40, 50, (9, 2))
    for metric in ("sphere", "wgs84", "euclidean"):
        data = dq.microdata(frame, ["x"], coordinates=places, metric=metric)
        whole = data.distances.as_matrix()
        assert isinstance(whole, dq.Matrix)
        assert whole.as_matrix() is whole
        shown = data.distances.as_matrix(most=8)
        assert not hasattr(shown, "coordinates")
        np.testing.assert_allclose(full_matrix(shown), whole.values, rtol=1e-15)
        rows = np.array([4, 0, 7])
        for source in (data, dq.microdata(frame, ["x"], distances=whole)):
            some = select_records(source, rows)
            assert some.table["x"].tolist() == list(some.labels["x"]) == [4, 0, 7]
            assert some.ids == (5, 1, 8)
            np.testing.assert_allclose(full_matrix(some.distances), whole.values[np.ix_(rows, rows)])
