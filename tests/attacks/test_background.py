"""The density of strangers: beside a slow sum, as a density, and whether probabilities made with it hold."""

import importlib.util
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from disclique.attacks.align.likelihood import build_model
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.population import Population
from disclique.attacks.registration import ceiling
from disclique.attacks.weigh.background import Background, learn_background
from disclique.engine.kernels.neighbours import RelatedClasses
from disclique.geodesy import Spread
from disclique.model import Candidates
from disclique.records.labels import Exact, candidates
from disclique.spaces import Points
from disclique.spaces.positions import locate_known
from disclique.synthetic.people import germany
from disclique.values import FloatArray


def _load_worlds() -> ModuleType:
    """The worlds of the benchmark, which lies outside of the package."""
    file = Path(__file__).parents[2] / "benchmarks" / "worlds.py"
    spec = importlib.util.spec_from_file_location("worlds", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["worlds"] = module
    spec.loader.exec_module(module)
    return module


worlds = _load_worlds()
CLASSES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)


def same(classes: int, share: FloatArray) -> RelatedClasses:
    """Each class is related to itself alone."""
    return RelatedClasses(np.arange(classes + 1), np.arange(classes), -np.log(share))


def scene(kind: str, n: int = 300, sigma: float = 1.0) -> tuple[FloatArray, np.ndarray, Background, FloatArray]:
    """Known places, classes, what was learned from them, and the shares of the classes."""
    case = worlds.make_case(kind, sigma, 0.2, 7, n=n)
    classes = case.candidates.known_class.astype(np.int64)
    _, classes = np.unique(classes, return_inverse=True)
    learned = learn_background(locate_known(case.known), classes, sigma)
    return case.known.coordinates, classes, learned, np.bincount(classes) / n


def slow_density(learned: Background, known: FloatArray, x: FloatArray, own: FloatArray | None) -> FloatArray:
    """The mixture as it is defined, record by record; ``own`` is how much each record's label speaks for that of x."""
    square = ((x[:, None] - known[None]) ** 2).sum(axis=2)
    total = np.full(len(x), learned.anywhere * len(known) / learned.area)
    for bells, free, alike in zip(learned.bells, learned.any_label, learned.same_label, strict=True):
        height = np.exp(-square / (2 * bells.variance)) / (2 * np.pi * bells.variance)
        total += (height * (free + alike * (1.0 if own is None else own))).sum(axis=1)
    homes, variance = np.unique(known, axis=0), learned.bells[0].variance
    near = np.exp(-((x[:, None] - homes[None]) ** 2).sum(axis=2) / (2 * variance)) / (2 * np.pi * variance)
    return np.asarray(total + learned.at_home * len(known) / len(homes) * near.sum(axis=1))


@pytest.mark.parametrize("kind", list(worlds.KINDS))
def test_the_density_is_the_sum_over_all_records(kind: str) -> None:
    """Cubes instead of records, and bells cut off, change it by little: most for a single label at a cube's edge."""
    known, classes, learned, share = scene(kind)
    x = np.random.default_rng(1).uniform(5, 95, (200, 2))
    x[:100] = known[:100] + 0.5
    seen = np.arange(200) % len(share)
    found = learned.log_density(np.column_stack((x, np.zeros(200))), seen, same(len(share), share))
    slow = slow_density(learned, known, x, (seen[:, None] == classes[None]) / share[seen][:, None])
    assert np.exp(found) == pytest.approx(slow, rel=0.4)
    assert np.abs(found - np.log(slow)).mean() < 0.03
    parts = learned.any_label.sum() + learned.same_label.sum() + learned.at_home + learned.anywhere
    assert parts == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["villages", "households"])
def test_it_is_a_density_over_places_and_labels(kind: str) -> None:
    """Over the map it sums to the known records; at a place, over the labels by their shares, to that without any."""
    known, _, learned, share = scene(kind)
    grid = np.arange(-60.0, 160.0, 0.8) + 0.4
    x = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    flat = np.column_stack((x, np.zeros(len(x))))
    alone = learn_background(locate_known(Points(known, "euclidean")), np.zeros(len(known), np.int64), 1.0)
    total = np.exp(alone.log_density(flat, np.zeros(len(x), np.int64), same(1, np.ones(1)))).sum() * 0.8**2
    flat_part = alone.anywhere * (len(x) * 0.8**2 / alone.area - 1)  # "anywhere" ends nowhere on this grid
    assert total / len(known) - flat_part == pytest.approx(1.0, abs=0.02)
    some = flat[:: len(flat) // 50]
    by_label = [
        share[c] * np.exp(learned.log_density(some, np.full(len(some), c), same(len(share), share)))
        for c in range(len(share))
    ]
    assert np.sum(by_label, axis=0) == pytest.approx(slow_density(learned, known, some[:, :2], None), rel=0.1)


def test_what_is_there_is_found() -> None:
    """Homes where there are households, labels where they cluster, villages' widths; none of it among the uniform."""
    learned = {kind: scene(kind, n=500)[2] for kind in worlds.KINDS}
    at_home = {kind: one.at_home + one.any_label[0] + one.same_label[0] for kind, one in learned.items()}
    labels = {kind: one.same_label.sum() for kind, one in learned.items()}
    assert at_home["households"] > 0.2
    assert max(at_home[kind] for kind in ("uniform", "clustered labels")) < 0.02
    assert labels["clustered labels"] > 0.3
    assert max(labels[kind] for kind in ("uniform", "villages", "households")) < 0.15
    wide = sum(one.any_label[-2:].sum() + one.anywhere for one in [learned["uniform"]])
    assert wide > 0.8
    assert learned["villages"].any_label[:3].sum() > 0.5


def test_it_does_not_depend_on_the_order_of_the_records() -> None:
    """Shuffled records give the same density."""
    case = worlds.make_case("households", 1.0, 0.2, 3, n=200)
    classes, order = case.candidates.known_class.astype(np.int64), np.random.default_rng(0).permutation(200)
    x = np.column_stack((case.known.coordinates[:50] + 0.3, np.zeros(50)))
    share = np.full(worlds.LABELS, 1 / worlds.LABELS)
    one, other = (
        learn_background(locate_known(Points(case.known.coordinates[rows], "euclidean")), classes[rows], 1.0)
        for rows in (np.arange(200), order)
    )
    seen = classes[:50]
    relation = same(worlds.LABELS, share)
    assert one.log_density(x, seen, relation) == pytest.approx(other.log_density(x, seen, relation), abs=1e-9)


def test_on_the_sphere_it_is_the_same_as_on_a_map_of_it() -> None:
    """People of a part of Germany on the sphere, and on a flat map in kilometres, with the same mixture."""
    table = germany(n_target=400, n_known=400, common=400, rng=np.random.default_rng(0)).target
    lon, lat = table["lon"].to_numpy(), table["lat"].to_numpy()
    near = (np.abs(lon - 9) < 1.5) & (np.abs(lat - 50.5) < 1.0)
    degrees = np.stack((lon, lat), axis=1)[near]
    km = np.radians(degrees) * 6371 * [np.cos(np.radians(50.5)), 1]
    none, relation = np.zeros(len(km), np.int64), same(1, np.ones(1))
    maps = [locate_known(points) for points in (Points(degrees, "sphere"), Points(km, "euclidean"))]
    round_, flat = (learn_background(one, none, 2.0) for one in maps)
    alike = replace(round_, any_label=flat.any_label, same_label=flat.same_label, at_home=flat.at_home)
    alike = replace(alike, anywhere=flat.anywhere, area=flat.area)
    found = [one.log_density(at.positions, none, relation) for one, at in zip((alike, flat), maps, strict=True)]
    assert np.abs(found[0] - found[1]).mean() < 0.05


def test_several_people_at_one_place_are_neither_impossible_nor_told_apart() -> None:
    """Eight at one place, two of them twins, a release without noise: each is found, the twins at one half."""
    rng = np.random.default_rng(2)
    places = rng.uniform(0, 100, (60, 2))
    places[:8] = places[0]
    labels = np.r_[0, 0, 1:7, rng.integers(0, 7, 52)].astype(np.int32)
    both = np.arange(7, dtype=np.int32)
    points = Points(places, "euclidean")
    claims = ceiling(
        points,
        points,
        candidates=Candidates(labels, labels, np.stack((both, both), axis=1)),
        knowledge=Knowledge(Spread(0.0, 0.0, "plane"), common=0.9),
    )
    said = {(int(t), int(k)): float(p) for t, k, p in zip(claims.target, claims.known, claims.probability, strict=True)}
    assert all(said[k, k] > 0.5 for k in range(2, 8))
    twins = [said[t, k] for t in (0, 1) for k in (0, 1)]
    assert max(twins) - min(twins) < 1e-9
    assert 0.4 < twins[0] <= 0.5


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_anybody_known_and_everybody_at_one_place(n: int) -> None:
    """The density is finite and positive."""
    known_map = locate_known(Points(np.full((n, 2), 5.0), "euclidean"))
    learned = learn_background(known_map, np.full(n, -1), 0.0)
    found = learned.log_density(known_map.positions, np.zeros(n, np.int64), same(1, np.ones(1)))
    assert np.isfinite(found).all()


def test_labels_with_errors_speak_as_far_as_they_may_be_right() -> None:
    """With labels that may be wrong, a label's local share is still a share: over all labels they sum to about one."""
    case = worlds.make_case("clustered labels", 1.0, 0.2, 5, n=300)
    both = [pd.DataFrame({"c": side}) for side in (case.candidates.target_class, case.candidates.known_class)]
    may = candidates(*both, comparators={"c": Exact(0.05)})
    known_map = locate_known(case.known)
    model = build_model(Population.of(case.known), may, np.ones((300, 2)))
    learned = model.background(0.0)
    classes = len(model.related.start) - 1
    chance = np.zeros(classes)  # of each target label, for anybody
    for a in range(classes):
        part = slice(model.related.start[a], model.related.start[a + 1])
        chance[a] = (
            0.95 * (model.known_class[:, None] == model.related.known[part][model.related.gain[part] > 0]).mean()
        )
    chance = chance / chance.sum()
    x = known_map.positions[:40]
    total = sum(chance[a] * np.exp(learned.log_density(x, np.full(40, a), model.related)) for a in range(classes))
    assert total == pytest.approx(slow_density(learned, case.known.coordinates, x[:, :2], None), rel=0.25)


@pytest.mark.parametrize("kind", list(worlds.KINDS))
def test_probabilities_hold_elsewhere(kind: str) -> None:
    """Of pairs called so probable as many are true, within .05 and three standard errors, in every class of 100 pairs.

    The map is given, so that only the density is tried; the noise is small, medium and large beside the spacing.
    """
    said, true = [], []
    for seed in range(100, 112):
        for sigma, overlap in ((0.3, 0.2), (1.0, 0.2), (1.0, 0.5), (3.0, 0.5)):
            case = worlds.make_case(kind, sigma, overlap, seed)
            claims = ceiling(case.masked, case.known, candidates=case.candidates, knowledge=case.knowledge)
            said.append(claims.probability)
            true.append(case.truth[claims.target] == claims.known)
    p, right = np.concatenate(said), np.concatenate(true)
    for low, high in pairwise(CLASSES):
        some = (p >= low) & (p < high + 1e-9)
        if some.sum() >= 100:
            error = 3 * np.sqrt(right[some].mean() * (1 - right[some].mean()) / some.sum())
            assert p[some].mean() == pytest.approx(right[some].mean(), abs=0.05 + error), (kind, low, int(some.sum()))
