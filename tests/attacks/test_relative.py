"""Maps of releases whose distances each carry a random factor."""

import numpy as np
import pytest

import disclique as dq
from builders import refused
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Knowledge, learn
from disclique.attacks.registration import register
from disclique.geodesy import EARTH_KM, Spread, to_space
from disclique.masks import parse_mask
from disclique.model import Candidates
from disclique.spaces import Matrix, Points, full_matrix, rebuild, spaced
from disclique.spaces.rebuild import relative
from disclique.spaces.rebuild.landmarks import Rebuilding
from disclique.synthetic.people import home_points


def release(n, spec, seed=0, metric="sphere"):
    rng = np.random.default_rng(seed)
    coordinates = home_points(n, rng) if metric == "sphere" else rng.normal(size=(n, 2)) * 200
    points = Points(coordinates, metric)
    return points, parse_mask(spec).apply(points, rng)


def errors(found, points):
    """Distance of each position from the true one after the best rigid motion or mirror, and the share it was said."""
    if points.metric == "sphere":
        a, b = found.positions, to_space(points.coordinates, "sphere")
    else:
        b = np.column_stack((points.coordinates, np.zeros(points.size)))
        a, b = found.positions - found.positions.mean(axis=0), b - b.mean(axis=0)
    u, _, vt = np.linalg.svd(a.T @ b)
    off = np.linalg.norm(a @ (u @ vt) - b, axis=1)
    return off, off / np.sqrt(2 * found.variance)


@pytest.mark.parametrize(("metric", "radius"), [("sphere", EARTH_KM), ("euclidean", 0.0)])
@pytest.mark.parametrize("told", [True, False])
def test_records_lie_where_they_are_said_to_lie(metric, radius, told):
    points, target = release(250, "multiplicative:sd=0.4", metric=metric)
    found = relative.rebuild_from_relative(target, radius, noise=0.4 if told else None)
    off, shares = errors(found, points)
    assert np.median(off) < 0.03 * np.median(full_matrix(points))
    assert 0.75 < np.sqrt(np.mean(np.minimum(shares, 5) ** 2)) < 1.4


def test_records_outside_the_core_are_placed_as_honestly():
    points, target = release(400, "multiplicative:sd=0.3", seed=1)
    found = relative.rebuild_from_relative(target, EARTH_KM, noise=0.3, how=Rebuilding(core=150))
    outside = np.setdiff1d(np.arange(400), spaced(400, 150))
    off, shares = errors(found, points)
    assert np.median(off[outside]) < 3 * np.median(off)
    assert 0.6 < np.sqrt(np.mean(np.minimum(shares[outside], 5) ** 2)) < 1.5


def test_a_fit_to_logarithms_beats_one_to_the_distances():
    points, target = release(250, "multiplicative:sd=0.5", seed=2)
    logs = relative.rebuild_from_relative(target, EARTH_KM, noise=0.5)
    lengths = rebuild.rebuild_from_noisy(target, EARTH_KM, noise=None)
    assert np.median(errors(logs, points)[0]) < 0.5 * np.median(errors(lengths, points)[0])


@pytest.mark.parametrize(("spec", "factor"), [("multiplicative:sd=0.3", True), ("matrix-gaussian:sd=60km", False)])
def test_the_kind_of_noise_is_found_out(spec, factor):
    _, target = release(200, spec, seed=3)
    found = rebuild.rebuild_map(target, EARTH_KM, None)
    other = (
        relative.rebuild_from_relative(target, EARTH_KM, noise=None)
        if factor
        else rebuild.rebuild_from_noisy(target, EARTH_KM, noise=None)
    )
    np.testing.assert_allclose(found.positions, other.positions)


def test_registration_is_told_of_the_factor_and_finds_people():
    points, target = release(300, "multiplicative:sd=0.5", seed=4)
    mask, rng = parse_mask("multiplicative:sd=0.5"), np.random.default_rng(0)
    calibration = calibrate(mask, points=points.coordinates, rng=rng)
    knowledge = learn(mask, calibration, points, common=0.99, rng=rng)
    assert (knowledge.relative_noise, knowledge.matrix_noise) == (0.5, None)
    labels = rng.integers(0, 10, 300).astype(np.int32)
    candidates = Candidates(labels, labels, np.repeat(np.arange(10, dtype=np.int32), 2).reshape(-1, 2))
    for told in (knowledge, Knowledge(Spread(0, 0, "km"), matrix_noise=0.0, common=0.99)):
        claims = register(target, points, candidates=candidates, knowledge=told)
        found, theirs, _ = claims.claimed()
        assert (found == theirs).sum() > 0.9 * 300
        assert (found != theirs).sum() < 0.05 * len(found)


def test_records_at_one_place_and_garbage():
    points, _ = release(40, "affine")
    doubled = Points(np.repeat(points.coordinates[:20], 2, axis=0))
    target = parse_mask("multiplicative:sd=0.2").apply(doubled, np.random.default_rng(0))
    found = relative.rebuild_from_relative(target, EARTH_KM, noise=0.2)
    assert np.isfinite(found.positions).all()
    assert np.isfinite(found.variance).all()
    with refused("map_of_unpublished"):
        relative.rebuild_from_relative(Matrix(np.full((9, 9), np.nan), unpublished=True), EARTH_KM, noise=0.2)
    flat = relative.rebuild_from_relative(Matrix(np.zeros((9, 9))), EARTH_KM, noise=0.2)
    assert np.isfinite(flat.positions).all()


def test_the_mask_says_its_relative_noise():
    mask = parse_mask("multiplicative:sd=0.3")
    masked = mask.apply(Points(np.random.default_rng(0).normal(size=(200, 2)), "euclidean"), np.random.default_rng(1))
    points = Points(np.random.default_rng(0).normal(size=(200, 2)), "euclidean")
    upper = np.triu_indices(200, 1)
    factor = np.log(full_matrix(masked)[upper] / full_matrix(points)[upper])
    assert mask.relative_sd == pytest.approx(factor.std(), rel=0.02)
    assert -(mask.relative_sd**2) / 2 == pytest.approx(factor.mean(), abs=0.01)
    assert parse_mask("matrix-gaussian:sd=1km").relative_sd is None
    with pytest.raises(dq.InputError, match="relative noise"):
        Knowledge(relative_noise=-1.0)
