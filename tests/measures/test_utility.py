"""Measures of usefulness against other libraries and figures worked out by hand."""

import json

import numpy as np
import pytest
from scipy import stats

from builders import rng
from disclique.errors import InputError
from disclique.masks import Affine, Gaussian, MatrixGaussian, Nearest, Swap, TopCode
from disclique.measures.utility import (
    _MEASURES,
    Measure,
    describe,
    measures,
    rankings,
    register_measure,
    usefulness,
    utility,
)
from disclique.spaces import Matrix, Points, full_matrix


def places(n=200, metric="sphere"):
    return Points(rng(5).uniform([7, 48], [13, 54], (n, 2)), metric)


def measured(mask, file, **more):
    return utility(file, mask.apply(file, rng(1)), rng=rng(2), **more)


def test_measures_of_the_deviation():
    file = places()
    released = MatrixGaussian("10km").apply(file, rng())
    found = utility(file, released, rng=rng())
    d, masked = (full_matrix(which)[np.triu_indices(file.size, 1)] for which in (file, released))
    assert found.pairs == len(d)
    assert found["published"] == 1
    assert found["variance"] == pytest.approx(np.var(d - masked, ddof=1))
    assert found["variance"] == pytest.approx(100, rel=0.05)
    assert found["bias"] == pytest.approx((masked - d).mean())
    assert found["q0.95"] == pytest.approx(np.quantile(d - masked, 0.95))
    assert found["pearson"] == pytest.approx(np.corrcoef(d, masked)[0, 1])
    assert found["spearman"] == pytest.approx(np.corrcoef(stats.rankdata(d), stats.rankdata(masked))[0, 1])
    assert found["wasserstein"] == pytest.approx(np.abs(np.sort(d) - np.sort(masked)).mean())
    assert found["stress"] == pytest.approx(np.sqrt(((d - masked) ** 2).sum() / (d**2).sum()))
    assert found["displacement_mean"] is None


@pytest.mark.parametrize("metric", ["sphere", "wgs84", "euclidean"])
def test_a_rigid_motion_loses_nothing(metric):
    found = measured(Affine(), places(120, metric))
    assert found["variance"] == pytest.approx(0, abs=1e-10)
    assert [found[f"neighbours_{k}"] for k in (5, 10, 25)] == [1, 1, 1]
    assert found["rand_index"] == 1
    assert found["displacement_mean"] > 0
    if metric != "wgs84":
        assert found["displacement_ripley"] == pytest.approx(0, abs=1e-6)


def test_displacement():
    """Gaussian noise of s on both axes moves points by s·√(π/2) on average and the centre hardly."""
    found = measured(Gaussian("2km"), places(2000))
    assert found["displacement_mean"] == pytest.approx(2 * np.sqrt(np.pi / 2), rel=0.05)
    assert found["displacement_median"] == pytest.approx(2 * np.sqrt(2 * np.log(2)), rel=0.05)
    assert found["displacement_max"] > 5
    assert found["displacement_centre_drift"] < 4 * 2 * np.sqrt(2 / 2000)


def test_ripley_agrees_with_pointpats():
    pointpats = pytest.importorskip("pointpats")
    file = Points(rng().uniform(0, 100, (300, 2)), "euclidean")
    moved = Gaussian(10).apply(file, rng())
    found = utility(file, moved, rng=rng())["displacement_ripley"]
    low, high = file.coordinates.min(axis=0), file.coordinates.max(axis=0)
    radii = np.append(np.linspace(0, (high - low).max() / 4, 11), 1e6)  # the last one takes in every pair
    levels = []
    for points in (file, moved):
        _, k = pointpats.k(points.coordinates, support=radii)
        levels.append(np.sqrt(np.prod(high - low) * k[:-1] / k[-1] / np.pi))
    assert found == pytest.approx(np.abs(levels[0] - levels[1]).max())


def test_neighbours_by_brute_force():
    file = places(60)
    released = MatrixGaussian("60km").apply(file, rng())
    found = utility(file, released, rng=rng())
    orders = []
    for which in (file, released):
        values = full_matrix(which)
        np.fill_diagonal(values, np.inf)
        orders.append(np.argsort(values, axis=1))
    for k in (5, 10, 25):
        shares = [len(set(a[:k]) & set(b[:k])) / k for a, b in zip(*orders, strict=True)]
        assert found[f"neighbours_{k}"] == pytest.approx(np.mean(shares))


def test_what_is_not_published_is_not_found():
    found = measured(Nearest(10), places(150))
    assert found["published"] < 0.15
    assert found["variance"] == 0
    assert found["neighbours_5"] == found["neighbours_10"] == found["neighbours"] == 1
    assert 10 / 25 <= found["neighbours_25"] < 0.8
    assert 0 < found["rand_index"] <= 1


def test_clusters_that_are_plain_survive_noise_and_others_do_not():
    centres = np.array([[0, 0], [1000, 0], [0, 1000], [1000, 1000]])
    file = Points(np.repeat(centres, 30, axis=0) + rng().normal(0, 10, (120, 2)), "euclidean")
    assert measured(Gaussian(5), file, groups=4)["rand_index"] == 1
    weak, strong = (measured(Gaussian(sigma), places(200, "euclidean"))["rand_index"] for sigma in (0.05, 5))
    assert strong < 0.2 < weak


def test_more_noise_is_less_useful():
    file = places()
    rows = [measured(Gaussian(f"{sigma}km"), file) for sigma in (1, 5, 25)]
    for name in ("pearson", "spearman"):
        values = [row[name] for row in rows]
        assert values == sorted(values, reverse=True)
    assert [row["neighbours_10"] for row in rows] == sorted((row["neighbours"] for row in rows), reverse=True)
    assert [row["stress"] for row in rows] == sorted(row["stress"] for row in rows)


def test_a_large_file_is_sampled():
    found = measured(Gaussian("1km"), places(3000), sample=200)
    assert found.records == 3000
    assert found.pairs == 200 * 199 / 2
    assert found["variance"] == pytest.approx(2, rel=0.25)


@pytest.mark.parametrize("mask", [Gaussian("10km"), MatrixGaussian("20km")])
def test_the_error_of_a_sample_is_stated(mask):
    """What all 3,000 records give lies within a few standard errors of what samples of 400 say, and not far inside."""
    file = places(3000)
    released = mask.apply(file, rng(1))
    before, after = (full_matrix(which) for which in (file, released))
    upper = np.triu_indices(3000, 1)
    d, masked = before[upper], after[upper]
    far = [np.argsort(side + np.diag(np.full(3000, np.inf)), axis=1)[:, :10] for side in (before, after)]
    kept = np.mean([len(np.intersect1d(a, b)) for a, b in zip(*far, strict=True)]) / 10
    truth = {
        "neighbours_10": kept,
        "pearson": np.corrcoef(d, masked)[0, 1],
        "variance": np.var(d - masked, ddof=1),
        "bias": (masked - d).mean(),
        "stress": np.sqrt(((d - masked) ** 2).sum() / (d**2).sum()),
        "q0.1": np.quantile(d - masked, 0.1),
        "q0.5": np.quantile(d - masked, 0.5),
    }
    found = [utility(file, released, rng=rng(seed), sample=400, groups=2) for seed in range(6)]
    off = np.array([[(one[name] - value) / one.errors[name] for name, value in truth.items()] for one in found])
    assert np.abs(off).max() < 4.5
    assert (np.sqrt((off**2).mean(axis=0)) < 2).all()
    assert np.sqrt((off**2).mean()) > 0.4
    assert found[0].sample == 400
    assert found[0].errors["rand_index"] is None
    assert "displacement_mean" not in found[0].errors
    assert "on a sample of 400" in repr(found[0])
    assert found[0].table().set_index("name")["error"]["bias"] == found[0].errors["bias"]


def test_a_whole_file_has_no_error_and_a_tiny_sample_does_not_pretend_to_one():
    """Nothing is stated where everybody was compared; where groups would be too small the error is not known."""
    whole = measured(Gaussian("1km"), places(60))
    assert (whole.sample, dict(whole.errors)) == (None, {})
    assert "error" not in whole.table().columns
    tiny = measured(Gaussian("1km"), places(60), sample=30)
    assert tiny.sample == 30
    assert set(tiny.errors.values()) == {None}
    half, most = (measured(Gaussian("1km"), places(400), sample=size).errors["bias"] for size in (200, 399))
    assert most < half / 5  # hardly anybody is missing


def test_plain_values_for_json_and_tables():
    found = measured(Swap("50km"), places(60))
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    row = found.row()
    assert row["records"] == 60
    assert {name: row[name] for name in measures()} == dict(found.values)
    assert found.table()["name"].tolist() == list(measures())
    assert "nearest neighbours kept" in found._repr_html_()


def test_odd_files():
    """Two records, constant distances, nothing published: measures that mean nothing are None, never NaN."""
    two = utility(Matrix([[0, 1], [1, 0]]), Matrix([[0, 2], [2, 0]]), rng=rng())
    assert two["bias"] == 1
    assert {two[name] for name in ("variance", "pearson", "rand_index", "neighbours")} == {None}
    flat = measured(TopCode("1m"), places(30))
    assert flat["pearson"] is None
    nothing = Matrix(np.where(np.eye(8), 0, np.nan), unpublished=True)
    lost = utility(Matrix(1 - np.eye(8)), nothing, rng=rng())
    assert (lost["published"], lost["variance"], lost.pairs) == (0, None, 0)
    assert (lost["neighbours_5"], lost["neighbours_10"], lost["neighbours"]) == (0, None, 0)
    directed = Matrix([[0, 1, 2], [3, 0, 4], [5, 6, 0]], directed=True)
    assert utility(directed, directed, rng=rng()).pairs == 6
    with pytest.raises(InputError, match="30 records before and 2 after"):
        utility(places(30), places(2), rng=rng())


def test_a_measure_is_registered_once_and_stands_everywhere():
    """Computed with every other one, chosen by its name, said in its sentence; no name is taken twice."""
    longest = Measure("longest", "longest distance kept", lambda c: float(c.after.max() / c.before.max()), ranks=True)
    register_measure(longest)
    try:
        found = measured(Affine(), places(30))
        assert usefulness(found, "longest") == usefulness(found.to_dict(), "longest") == pytest.approx(1)
        assert rankings()[-1] == "longest"
        assert "longest distance kept" in found.table()["title"].tolist()
        with pytest.raises(InputError, match="already taken"):
            register_measure(longest)
    finally:
        del _MEASURES["longest"]


def test_values_are_said_in_sentences():
    assert str(describe("neighbours", 0.62)) == (
        "Of every record's ten nearest neighbours 62 % are still among its ten nearest"
    )
    assert "0.500 is the rank correlation" in str(describe("spearman", 0.5))
    assert "could not be measured" in str(describe("pearson", None))
    for name in ("nothing", "variance"):
        with pytest.raises(InputError, match="choose one of neighbours, spearman, pearson, rand_index"):
            usefulness({}, name)
