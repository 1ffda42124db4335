"""The parts of registration against slow, obvious twins."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from disclique.attacks.align.density import MotionPrior, centre_projection
from disclique.attacks.align.likelihood import Aligner, LikelihoodModel, build_model, index_known
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.population import Population, measure_rarity
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.registration import best_of_each_target, ceiling
from disclique.attacks.weigh.background import learn_background
from disclique.attacks.weigh.pairs import equalise_ties
from disclique.engine.kernels.alignment import AlignmentSearch, KnownRecords, evaluate_likelihood, score_motion
from disclique.engine.kernels.neighbours import build_index, find_near
from disclique.geodesy import Spread
from disclique.model import Candidates
from disclique.spaces import Points, full_matrix
from disclique.spaces.metrics import pairwise
from disclique.spaces.positions import Motion, follow_step, locate_known
from disclique.spaces.rebuild.landmarks import TargetMap, rebuild_from_landmarks


def small_scene(n: int = 60, flat: bool = True) -> tuple[LikelihoodModel, np.ndarray]:
    """A known file of two classes, and targets near its first records."""
    rng = np.random.default_rng(n)
    if flat:
        known = Points(rng.uniform(0, 30, (n, 2)), "euclidean")
        noise = Spread(0.8, 1.2, "plane")
    else:
        known = Points(np.stack((rng.uniform(9, 9.4, n), rng.uniform(50, 50.3, n)), axis=1))
        noise = Spread(0.01, 0.01, "deg")
    label = np.arange(n, dtype=np.int32) % 2
    known_map = locate_known(known)
    candidates = Candidates(label[: n // 2], label, np.array([[0, 0], [1, 1]], np.int32))
    model = build_model(Population.of(known), candidates, known_map.variances(noise, 0.0))
    jitter = rng.normal(0, 1, (n // 2, 2))
    return model, known_map.positions[: n // 2] + jitter[:, :1] * known_map.east[: n // 2] + jitter[
        :, 1:
    ] * known_map.north[: n // 2]


def brute_matching(weight: np.ndarray) -> np.ndarray:
    """Probability of each edge over all matchings of a small bipartite graph."""
    edges = [(i, j) for i in range(weight.shape[0]) for j in range(weight.shape[1]) if weight[i, j] > 0]
    total, found = 0.0, np.zeros_like(weight)
    for size in range(len(edges) + 1):
        for chosen in combinations(edges, size):
            rows, columns = {i for i, _ in chosen}, {j for _, j in chosen}
            if len(rows) == len(columns) == size:
                value = float(np.prod([weight[e] for e in chosen]))
                total += value
                for e in chosen:
                    found[e] += value
    return found / total


@pytest.mark.parametrize("tree", [True, False])
def test_matching_posterior_is_that_of_all_matchings(tree: bool) -> None:
    """Exact where the pairs form no cycle, and close where they form one."""
    rng = np.random.default_rng(0)
    ratio = rng.normal(1, 2, (3, 4))
    if tree:
        ratio[0, 2:] = ratio[1, 0] = ratio[1, 3] = ratio[2, :2] = -np.inf
    common, strangers = 0.4, 1 - 0.4 * 3 / 4
    i, j = np.nonzero(np.isfinite(ratio))
    found = matching_posterior(i, j, ratio[i, j], sizes=(3, 4), common=common)
    true = brute_matching(np.exp(ratio) * common / (1 - common) / strangers)
    assert found == pytest.approx(true[i, j], abs=1e-3 if tree else 0.05)


def test_the_best_of_each_target_is_that_of_all_matchings() -> None:
    """Three targets and four known records in the plane, against every matching weighed by hand."""
    known = np.array([[0.0, 0.0], [2.0, 0.0], [0.5, 2.0], [2.5, 2.5]])
    masked = np.array([[0.9, 0.3], [1.4, 0.8], [2.0, 2.3]])
    square = ((masked[:, None] - known[None]) ** 2).sum(axis=2)
    bell = np.exp(-square / 2) / (2 * np.pi)
    one_label = Candidates(np.zeros(3, np.int32), np.zeros(4, np.int32), np.zeros((1, 2), np.int32))
    knowledge = Knowledge(Spread(1, 1, "plane"), common=0.6)
    places = Points(masked, "euclidean"), Points(known, "euclidean")
    learned = learn_background(locate_known(places[1]), np.zeros(4, np.int64), 1.0)
    strangers = np.full(3, learned.anywhere * 4 / learned.area)
    parts = zip(learned.bells, learned.any_label + learned.same_label, strict=True)
    for place, (bells, share) in enumerate(parts):
        near = share + (learned.at_home if place == 0 else 0.0)  # every home has one known record here
        strangers += near * (np.exp(-square / (2 * bells.variance)) / (2 * np.pi * bells.variance)).sum(axis=1)
    true = brute_matching(bell / strangers[:, None] * 0.6 / 0.4 / (1 - 0.6 * 3 / 4))
    claims = ceiling(*places, candidates=one_label, knowledge=knowledge)
    assert len(claims.target) == 12  # none left out
    assert claims.probability == pytest.approx(true[claims.target, claims.known], abs=0.06)
    target, best = best_of_each_target(claims)
    assert target.tolist() == [0, 1, 2]
    assert best.tolist() == true.argmax(axis=1).tolist()


def test_the_share_is_the_one_that_the_posterior_expects() -> None:
    """Expectation and maximisation stop where belief and prior agree."""
    rng = np.random.default_rng(1)
    target = np.arange(200)
    ratio = np.where(target < 60, 8.0, -4.0) + rng.normal(0, 1, 200)
    share = estimated_share(target, target, ratio, sizes=(200, 400))
    assert share == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("flat", [True, False])
def test_neighbours_are_all_within_the_radius(flat: bool) -> None:
    """The hashed cells find what a comparison of all pairs finds."""
    model, places = small_scene(flat=flat)
    index = build_index(model.known_map.positions, model.known_class, model.axes, 2 * 3.0)
    target, known, relation = find_near(index, places, model.target_class, model.related, 3.0)
    gap = np.linalg.norm(places[:, None] - model.known_map.positions[None], axis=2)
    expected = np.argwhere((gap <= 3.0) & (model.target_class[:, None] == model.known_class[None]))
    assert sorted(zip(target.tolist(), known.tolist(), strict=True)) == sorted(map(tuple, expected.tolist()))
    assert (model.related.known[relation] == model.known_class[known]).all()


def slow_likelihood(model: LikelihoodModel, places: np.ndarray, extra: np.ndarray, common: float) -> float:
    """Log likelihood ratio of the targets, term by term."""
    total = 0.0
    for i, place in enumerate(places):
        here = 1 - common
        for j, home in enumerate(model.known_map.positions):
            if model.target_class[i] != model.known_class[j]:
                continue
            east, north = (place - home) @ model.known_map.east[j], (place - home) @ model.known_map.north[j]
            a, b = model.variances[j] + extra[i]
            bell = np.exp(-(east**2 / a + north**2 / b) / 2) / (2 * np.pi * np.sqrt(a * b))
            here += common * bell * model.rarity[j] * np.exp(model.related.gain[model.known_class[j]])
        total += np.log(here)
    return total


@pytest.mark.parametrize("flat", [True, False])
def test_slope_and_curvature_are_those_of_the_likelihood(flat: bool) -> None:
    """The kernel against differences of the plain likelihood."""
    model, places = small_scene(flat=flat)
    extra, common = np.linspace(0.1, 0.3, len(places)), 0.6
    index, known_map = index_known(model, 40.0), model.known_map
    axes = np.stack((known_map.east, known_map.north), axis=1)[index.member]
    laws = model.rarity[index.member], model.variances[index.member]
    records = KnownRecords(index, model.related, *laws, axes, flat)
    pivot = places.mean(axis=0)
    sums, slope, curve = evaluate_likelihood(records, places, model.target_class, extra, common, pivot)
    step = 1e-4 if flat else 1e-6
    scale = np.array([step, 10 * step, 10 * step]) if flat else np.full(3, step)

    def at(change: np.ndarray) -> float:
        motion = follow_step(Motion(np.eye(3), np.zeros(3)), change, pivot, flat)
        return slow_likelihood(model, motion(places), extra, common)

    assert sums[0] == pytest.approx(at(np.zeros(3)), abs=1e-5)
    for k in range(3):
        unit = np.eye(3)[k] * scale[k]
        up, down = at(unit), at(-unit)
        assert slope[k] == pytest.approx((up - down) / (2 * scale[k]), rel=1e-2, abs=1e-3 * np.abs(slope).max())
        second = (up - 2 * sums[0] + down) / scale[k] ** 2
        # the curvature leaves out how the slopes themselves turn, which is small beside the rest
        assert -curve[1, k, k] == pytest.approx(second, rel=0.1, abs=0.02 * abs(curve[0, k, k]))
    assert (np.linalg.eigvalsh(curve[0] - curve[1]) > -1e-9 * np.abs(curve[0]).max()).all()


def test_a_hypothesis_is_scored_by_the_likelihood() -> None:
    """The score of a motion is the plain likelihood with one round width, without the pair it was made from."""
    model, places = small_scene()
    wide = LikelihoodModel(**{**vars(model), "variances": np.full_like(model.variances, 4.0)})
    index = index_known(wide, 6.0)
    search = AlignmentSearch(index, wide.related, wide.rarity, 4.0, 0.5, True, len(places), places, np.inf)
    turn, shift = np.eye(3), np.zeros(3)
    found, _ = score_motion(search, turn, shift, places, wide.target_class, np.array([0, 1]))
    rest = LikelihoodModel(**{**vars(wide), "target_class": wide.target_class[2:]})
    slow = slow_likelihood(rest, places[2:], np.zeros(len(places) - 2), 0.5)
    assert found == pytest.approx(slow, abs=0.02 * len(places))  # the kernel cuts the bells off at three widths


def test_rarity_is_the_area_of_a_record() -> None:
    """On average the estimate is the area per record, near or far from the noise's own scale."""
    rng = np.random.default_rng(0)
    known_map = locate_known(Points(rng.uniform(0, 100, (4000, 2)), "euclidean"))
    inner = np.all((known_map.positions[:, :2] > 10) & (known_map.positions[:, :2] < 90), axis=1)
    for least in (0.0, 5.0):
        assert measure_rarity(known_map, np.full(4000, least))[inner].mean() == pytest.approx(
            100 * 100 / 4000, rel=0.05
        )


@pytest.mark.parametrize("metric", ["sphere", "euclidean"])
def test_landmark_columns_determine_the_map(metric: str) -> None:
    """A few columns give every distance back."""
    rng = np.random.default_rng(0)
    points = Points(np.stack((rng.uniform(6, 15, 80), rng.uniform(47, 55, 80)), axis=1), metric)
    marks = np.arange(0, 80, 8)
    radius = 6371.0 if metric == "sphere" else 0.0
    positions = rebuild_from_landmarks(full_matrix(points)[:, marks], marks, radius)
    chord = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    found = 2 * radius * np.arcsin(chord / (2 * radius)) if radius else chord
    assert found == pytest.approx(full_matrix(points), abs=1e-6)


def test_the_ellipsoid_is_laid_on_a_sphere() -> None:
    """Distances on the sphere that stands for the Earth are those of the ellipsoid to metres."""
    rng = np.random.default_rng(0)
    points = Points(np.stack((rng.uniform(6, 15, 60), rng.uniform(47, 55, 60)), axis=1), "wgs84")
    known_map = locate_known(points)
    chord = np.linalg.norm(known_map.positions[:, None] - known_map.positions[None], axis=2)
    found = 2 * known_map.radius * np.arcsin(chord / (2 * known_map.radius))
    assert np.abs(found - full_matrix(points)).max() < 0.02
    assert known_map.place(points) == pytest.approx(known_map.positions)


def test_a_chart_keeps_distance_and_direction_from_its_middle() -> None:
    """Charts are azimuthal and equidistant, and lead back into space."""
    rng = np.random.default_rng(0)
    points = np.stack((rng.uniform(6, 15, 50), rng.uniform(47, 55, 50)), axis=1)
    known_map = locate_known(Points(points))
    chart = centre_projection(known_map, known_map.positions)
    flat = chart.project(known_map.positions)
    back = np.array([chart.unproject(point) for point in flat])
    assert back == pytest.approx(known_map.positions, abs=1e-6)
    lon, lat = np.degrees(np.arctan2(chart.centre[1], chart.centre[0])), np.degrees(np.arcsin(chart.centre[2] / 6371))
    assert np.linalg.norm(flat, axis=1) == pytest.approx(pairwise(points, np.array([[lon, lat]]))[:, 0], abs=1e-6)


def test_refinement_finds_the_way_back() -> None:
    """From a motion that is off by several deviations the likelihood leads back to the true one."""
    rng = np.random.default_rng(5)
    n = 200
    known = Points(np.stack((rng.uniform(9, 12, n), rng.uniform(50, 52, n)), axis=1))
    known_map = locate_known(known)
    label = rng.integers(0, 8, n).astype(np.int32)
    both = np.arange(8, dtype=np.int32)
    candidates = Candidates(label[:100], label, np.stack((both, both), axis=1))
    model = build_model(Population.of(known), candidates, known_map.variances(Spread(0.5, 0.5, "km"), 0.0))
    places = known_map.positions[:100] + 0.5 * rng.normal(size=(100, 3))
    aligner = Aligner(model, TargetMap(places, np.zeros(100), 0.0), MotionPrior(1.0))
    start = Motion(Rotation.from_rotvec([5e-4, -4e-4, 3e-4]).as_matrix(), np.zeros(3))
    alignment = aligner.refine(start, 4.0, 0.9)
    assert np.linalg.norm(start(places) - places, axis=1).mean() > 2
    assert np.linalg.norm(alignment.motion(places) - places, axis=1).mean() < 0.2
    assert alignment.common > 0.95
    assert aligner.find_motion_variance(alignment).max() < 0.1


def test_rounding_breaks_no_tie() -> None:
    """Counterparts that differ in the last digits only are made equal, and named."""
    claims = (np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 2, 3], np.int32), np.array([0.5001, 0.4999, 0.9, 0.1]))
    (target, known, probability), details = equalise_ties(claims)
    assert probability.tolist() == [0.4999, 0.4999, 0.9, 0.1]
    assert details == {"ties": {"targets": 1, "rows": [1]}}
    assert target.tolist() == [0, 0, 1, 1]
    assert known.tolist() == [0, 1, 2, 3]
