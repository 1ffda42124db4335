"""Maps rebuilt from noisy matrices and from releases that keep only some distances."""

import numpy as np
import pytest

from builders import refused
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.registration import isomap, register
from disclique.errors import InputError
from disclique.geodesy import EARTH_KM, Spread
from disclique.masks import parse_mask
from disclique.model import Candidates
from disclique.spaces import Matrix, Points, full_matrix
from disclique.spaces.rebuild.incomplete import (
    MapInParts,
    collect_pairs,
    find_determined,
    rebuild_from_incomplete,
    sample_lengths,
)
from disclique.spaces.rebuild.least_squares import (
    Lengths,
    differentiate_lengths,
    find_tangents,
    measure_residuals,
    project_to_surface,
    rebuild_from_noisy,
    to_chords,
)
from disclique.synthetic.people import home_points


def homes(n, seed=0):
    return home_points(n, np.random.default_rng(seed))


def on_earth(degrees):
    lon, lat = np.radians(degrees).T
    return EARTH_KM * np.stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)), axis=1)


def off(found, true, radius=EARTH_KM):
    """Distance of each position from the true one after the best rigid motion or mirror of all that are placed."""
    placed = np.isfinite(found.variance)
    a, b = found.positions[placed], true[placed]
    if radius == 0:
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    u, _, vt = np.linalg.svd(a.T @ b)
    return np.linalg.norm(a @ (u @ vt) - b, axis=1)


def nearest(points, k, to=0.0, metric="sphere"):
    """The k nearest neighbours of each record, rounded if asked for."""
    release = parse_mask(f"knn:k={k}").apply(Points(points, metric), np.random.default_rng(0))
    return release if to == 0 else Matrix(np.round(release.values / to) * to, unpublished=True)


def under(points, limit):
    values = full_matrix(Points(points))
    return Matrix(np.where(values < limit, values, np.nan), unpublished=True)


def with_noise(points, sd, metric="sphere", seed=1):
    values = full_matrix(Points(points, metric))
    error = np.triu(np.random.default_rng(seed).normal(scale=sd, size=values.shape), 1)
    noisy = np.maximum(values + error + error.T, 0)
    np.fill_diagonal(noisy, 0)
    return Matrix(noisy)


@pytest.mark.parametrize("sd", [7, 20, 50])
@pytest.mark.parametrize("told", [True, False])
def test_noise_of_a_matrix_averages_out(sd, told):
    points = homes(500)
    found = rebuild_from_noisy(with_noise(points, sd), EARTH_KM, noise=sd if told else None)
    per_axis = np.sqrt((off(found, on_earth(points)) ** 2).mean() / 2)
    assert per_axis < 1.2 * sd * np.sqrt(2 / 500)
    assert np.sqrt(found.variance.mean()) == pytest.approx(per_axis, rel=0.15)
    assert found.misfit == pytest.approx(sd, rel=0.03)


def test_noise_averages_out_in_the_plane():
    points = np.random.default_rng(3).normal(size=(300, 2)) * [100, 40]
    found = rebuild_from_noisy(with_noise(points, 5, "euclidean"), 0.0, noise=None)
    error = off(found, np.column_stack((points, np.zeros(300))), 0)
    assert np.sqrt((error**2).mean() / 2) < 1.3 * 5 * np.sqrt(2 / 300)
    assert not found.positions[:, 2].any()


def test_a_noisy_map_of_a_clean_matrix_is_the_map():
    points = homes(200)
    found = rebuild_from_noisy(Points(points), EARTH_KM, noise=0.0)
    assert off(found, on_earth(points)).max() < 1e-3
    assert found.misfit < 1e-3


def test_ten_nearest_neighbours_give_the_whole_map():
    points = homes(2000)
    found = rebuild_from_incomplete(nearest(points, 10), EARTH_KM)
    error = off(found, on_earth(points))
    assert len(error) >= 0.98 * 2000
    assert error.max() < 1e-3
    assert found.misfit < 1e-3


def test_ten_nearest_neighbours_rounded_to_a_kilometre_are_enough():
    points = homes(2000, 2)
    found = rebuild_from_incomplete(nearest(points, 10, to=1.0), EARTH_KM)
    error = off(found, on_earth(points))
    assert len(error) >= 0.98 * 2000
    assert np.median(error) < 0.5
    claimed = np.sqrt(2 * found.variance[np.isfinite(found.variance)])
    assert np.sqrt(np.mean((error / claimed) ** 2)) == pytest.approx(1, abs=0.35)


def test_distances_under_50_km_give_the_whole_map_of_2000():
    points = homes(2000, 3)
    found = rebuild_from_incomplete(under(points, 50), EARTH_KM)
    error = off(found, on_earth(points))
    assert 0.98 * 2000 <= len(error) < 2000  # this file has people whom nobody lives near to
    assert error.max() < 1e-2


def test_a_release_that_keeps_most_lengths_averages_their_noise():
    points = homes(400)
    values = np.where(full_matrix(Points(points)) < 400, with_noise(points, 5).values, np.nan)
    found = rebuild_from_incomplete(Matrix(values, unpublished=True), EARTH_KM, noise=5.0)
    assert np.sqrt((off(found, on_earth(points)) ** 2).mean() / 2) < 1.8 * 5 * np.sqrt(2 / 400)


@pytest.mark.slow
def test_ten_nearest_neighbours_of_5000():
    points = homes(5000)
    found = rebuild_from_incomplete(nearest(points, 10), EARTH_KM)
    error = off(found, on_earth(points))
    assert len(error) >= 0.98 * 5000
    assert np.quantile(error, 0.99) < 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_four_neighbours_and_50_km_among_500_determine_no_map(seed):
    points = homes(500, seed)
    for release in (nearest(points, 4), under(points, 50)):
        with pytest.raises(MapInParts):
            rebuild_from_incomplete(release, EARTH_KM)


def test_a_failed_search_is_not_called_protection():
    points, rng = homes(90), np.random.default_rng(0)
    values = nearest(points, 12).values.copy()
    wrong = rng.uniform(1, 3, (15, 90))  # a sixth of the records has lengths that fit nowhere
    values[:15] *= wrong
    values[:, :15] = values[:15].T
    values[:15, :15] = np.triu(values[:15, :15]) + np.triu(values[:15, :15], 1).T
    release = Matrix(values, unpublished=True)
    same = np.zeros(90, np.int32)
    labels = Candidates(same, same, np.zeros((1, 2), np.int32))
    for attack in (register, isomap):
        claims = attack(release, Points(points), candidates=labels, knowledge=Knowledge(Spread(1, 1), common=1.0))
        assert len(claims.target) == 0
        assert claims.doubt.code == "map_not_found"
        assert claims.cut.code == "map_search_ended"
    free = isomap(nearest(points, 3), Points(points), candidates=labels, knowledge=Knowledge(Spread(1, 1)))
    assert free.doubt.code == "map_not_of_all_records"
    assert free.complete


def test_parts_are_counted_in_the_message():
    points = np.random.default_rng(0).normal(size=(60, 2))
    values = full_matrix(Points(points, "euclidean"))
    values[:40, 40:] = values[40:, :40] = np.nan
    with refused("map_left_in_parts", parts=2, largest=40, records=60):
        rebuild_from_incomplete(Matrix(values, unpublished=True), 0.0)


def test_too_few_lengths_are_counted_in_the_message():
    values = np.full((6, 6), np.nan)
    for k in range(6):
        values[k, (k + 1) % 6] = values[(k + 1) % 6, k] = 1
    with refused("map_of_too_few_distances", distances=6, records=6, needed=9):
        rebuild_from_incomplete(Matrix(values, unpublished=True), 0.0)


def test_directed_distances_have_no_map():
    values = np.array([[0, 1.0, 2], [2, 0, 1], [1, 1, 0]])
    for rebuild in (rebuild_from_incomplete, rebuild_from_noisy):
        with refused("directed_no_map"):
            rebuild(Matrix(values, directed=True), 0.0, noise=0.0)


def test_a_noisy_map_refuses_unpublished_distances():
    with refused("map_of_unpublished"):
        rebuild_from_noisy(nearest(homes(50), 5), EARTH_KM, noise=1.0)


@pytest.mark.parametrize("to", [0.0, 0.02])
def test_neighbours_in_the_plane(to):
    points = np.random.default_rng(5).uniform(size=(400, 2)) * [10, 4]
    release = nearest(points, 10, to=to, metric="euclidean")
    found = rebuild_from_incomplete(release, 0.0)
    error = off(found, np.column_stack((points, np.zeros(400))), 0)
    assert len(error) >= 395
    assert np.median(error) < max(to, 1e-6)
    assert not found.positions[:, 2].any()


def test_the_order_of_the_records_does_not_matter():
    points = homes(400, 7)
    release = nearest(points, 10, to=0.1)
    one = rebuild_from_incomplete(release, EARTH_KM)
    order = np.random.default_rng(1).permutation(400)
    two = rebuild_from_incomplete(Matrix(release.values[np.ix_(order, order)], unpublished=True), EARTH_KM)
    assert np.array_equal(np.isfinite(one.variance)[order], np.isfinite(two.variance))
    assert off(two, one.positions[order]).max() < 0.02
    assert two.misfit == pytest.approx(one.misfit, rel=0.01)


@pytest.mark.parametrize("radius", [0.0, EARTH_KM])
def test_degenerate_releases(radius):
    same = rebuild_from_incomplete(Matrix(np.zeros((5, 5))), radius)
    assert np.ptp(same.positions, axis=0).max() == 0
    two = rebuild_from_incomplete(Matrix(np.array([[0, 3.0], [3, 0]])), radius)
    assert np.linalg.norm(two.positions[0] - two.positions[1]) == pytest.approx(3, rel=1e-5)
    assert rebuild_from_incomplete(Matrix(np.zeros((1, 1))), radius).positions.shape == (1, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_noisy_maps_of_few_records(n):
    points = np.arange(2.0 * n).reshape(n, 2)
    found = rebuild_from_noisy(Points(points, "euclidean"), 0.0, noise=1.0)
    assert np.isfinite(found.positions).all()
    assert off(found, np.column_stack((points, np.zeros(n))), 0).max() < 1e-6
    assert np.isfinite(rebuild_from_noisy(Matrix(np.zeros((n, n))), EARTH_KM, noise=None).positions).all()


def test_coarse_rounding_gives_a_map_with_large_errors_or_none():
    points = homes(300)
    release = nearest(points, 12, to=40.0)
    try:
        found = rebuild_from_incomplete(release, EARTH_KM, noise=40 / np.sqrt(12))
    except InputError:
        return
    assert np.sqrt(np.median(found.variance)) > 2
    assert np.isfinite(found.positions).all()


def test_records_on_a_line():
    at = np.arange(60.0)
    values = np.abs(at[:, None] - at)
    values[values > 6] = np.nan
    found = rebuild_from_incomplete(Matrix(values, unpublished=True), 0.0)
    assert np.ptp(found.positions, axis=0).max() == pytest.approx(59, rel=1e-3)


def pairs_of(*groups):
    """All pairs within each group of records, as lengths between random places."""
    pairs = np.array(sorted({(a, b) for group in groups for a in group for b in group if a < b}))
    places = np.zeros((pairs.max() + 1, 3))
    places[:, :2] = np.random.default_rng(0).normal(size=(len(places), 2))
    chord = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
    return places, Lengths(pairs[:, 0], pairs[:, 1], chord, len(places), 0.0)


def test_determined_sees_what_may_flip():
    assert find_determined(*pairs_of(range(4))).all()
    assert find_determined(*pairs_of(range(6), range(3, 8))).all()  # three records in common
    hinged = find_determined(*pairs_of(range(8), (6, 7, 8, 9)))  # two in common: a hinge
    assert hinged[:8].all()
    assert not hinged[8:].any()
    pendant = find_determined(*pairs_of(range(6), (5, 6), (4, 6)))  # two lengths: two places
    assert pendant[:6].all()
    assert not pendant[6]


def test_slopes_are_the_derivatives_of_the_lengths():
    rng = np.random.default_rng(2)
    for radius in (0.0, 10.0):
        positions = project_to_surface(rng.normal(size=(6, 3)), radius)
        i, j = np.triu_indices(6, 1)
        published = Lengths(i, j, np.ones(15), 6, radius)
        basis, step = find_tangents(positions, radius), rng.normal(size=(6, 2)) * 1e-6
        after_step = positions + np.einsum("na,nak->nk", step, basis)
        difference = measure_residuals(after_step, published) - measure_residuals(positions, published)
        assert np.allclose(difference, differentiate_lengths(positions, published, basis) @ step.ravel(), atol=1e-10)


def test_published_pairs_are_those_that_either_side_lists():
    values = full_matrix(Points(homes(30)))
    release, share = collect_pairs(Matrix(values))
    assert share == 1
    assert len(release.i) == 30 * 29 / 2
    assert np.array_equal(release.arc, values[release.members[release.i], release.members[release.j]])


def test_a_guide_keeps_every_record_held():
    points = homes(300)
    release, _ = collect_pairs(Points(points))
    published = Lengths(release.i, release.j, to_chords(release.arc, EARTH_KM), 300, EARTH_KM)
    sample = sample_lengths(published)
    assert len(sample.which) <= 12 * 300
    few = published.some(sample.which)
    assert np.bincount(np.concatenate((few.i, few.j)), minlength=300).min() >= 12
    assert sample.weight.sum() == pytest.approx(len(published.chord), rel=0.2)
