"""The attack on bent releases: smooth images of the known places, undone against the truth."""

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import mask_in_order
from disclique.attacks import BendAttack, Knowledge, LabelRule
from disclique.attacks.bend import Tuning
from disclique.attacks.bend.fit import (
    Basis,
    Cloud,
    Fit,
    Problem,
    find_responsibilities,
    judge,
    locate_known,
    measure_crowd,
    regress,
    scale_target,
)
from disclique.errors import InputError
from disclique.model import Microdata
from disclique.spaces import Matrix, Points, full_matrix

KINDS = 8


def people(source, labels):
    distances = Points(source, "euclidean") if isinstance(source, np.ndarray) else source
    rows = range(distances.size)
    return Microdata(pd.DataFrame(index=rows), pd.DataFrame({"label": labels}), distances, tuple(rows))


def draw_files(n=160, common=80, seed=0):
    """Return both files, and the true pairs: the first ``common`` records of the first are in the second, shuffled."""
    rng = np.random.default_rng(seed)
    towns = rng.normal(size=(12, 2)) * 100
    count = 2 * n - common
    places = towns[rng.integers(0, 12, count)] + rng.normal(size=(count, 2)) * 40
    labels = rng.integers(0, KINDS, count)
    known = rng.permutation(np.r_[np.arange(common), np.arange(n, count)])
    truth = {(t, int(np.flatnonzero(known == t)[0])) for t in range(common)}
    return people(places[:n], labels[:n].tolist()), people(places[known], labels[known].tolist()), truth


def released(microdata, spec, seed=0):
    masked = mask_in_order(microdata, spec, seed=seed)
    return people(masked.distances.as_matrix(), microdata.labels["label"].tolist())


def run(target, known, **knowledge):
    return BendAttack(Knowledge(**knowledge)).run(target, known, LabelRule().candidates(target, known))


def share_right(claims, truth):
    best = {}
    for t, k, p in zip(claims.target, claims.known, claims.probability, strict=True):
        if p > best.get(int(k), (0.0, -1))[0]:
            best[int(k)] = (p, int(t))
    return np.mean([best.get(k, (0.0, -1))[1] == t for t, k in truth])


def test_a_projection_is_undone_without_a_seed():
    own, known, truth = draw_files()
    claims = run(released(own, "projection:dimensions=2"), known, common=0.5)
    assert {(int(t), int(k)) for t, k in zip(*claims.claimed()[:2], strict=True)} == truth
    assert claims.details["degree"] == 1


def test_a_lipschitz_embedding_is_undone_without_a_seed():
    own, known, truth = draw_files(common=120)
    mask = dq.parse_mask("lipschitz:sets=20")
    claims = run(released(own, "lipschitz:sets=20"), known, mask=mask)
    assert share_right(claims, truth) > 0.9
    assert claims.details["degree"] > 1
    right = sum((int(t), int(k)) in truth for t, k in zip(*claims.claimed()[:2], strict=True))
    assert right > 0.75 * len(claims.claimed()[0])
    assert claims.details["common"] == pytest.approx(0.75, abs=0.15)


def test_two_matrices_suffice():
    own, known, truth = draw_files()
    bare = people(known.distances.as_matrix(), known.labels["label"].tolist())
    claims = run(released(own, "projection:dimensions=2"), bare, common=0.5)
    assert share_right(claims, truth) > 0.98


def test_seeds_are_first_pairs_and_stay():
    own, known, truth = draw_files(60, 40, seed=3)
    seeds = tuple(sorted(truth))[:8]
    attack = BendAttack(Knowledge(seeds=seeds, common=2 / 3, bold=True))
    target = released(own, "projection:dimensions=2", seed=4)
    blind = people(target.distances, [0] * 60), people(known.distances, [0] * 60)
    claims = attack.run(*blind, LabelRule().candidates(*blind))
    assert attack.told == seeds
    assert share_right(claims, truth) == 1.0


@pytest.mark.parametrize("seed", range(10))
def test_strangers_are_never_claimed(seed):
    spec = ["projection:dimensions=2", "lipschitz:sets=20"][seed % 2]
    common = [0.3, None, 0.9][seed % 3]
    own, _, _ = draw_files(90, 10, seed)
    _, others, _ = draw_files(90, 10, seed + 500)
    claims = run(released(own, spec), others, common=common)
    assert not len(claims.target)
    assert claims.doubt.code == "no_smooth_map"


def test_a_bold_snooper_weighs_every_pair():
    own, known, _ = draw_files(60, 30)
    claims = run(released(own, "projection:dimensions=2"), known, common=0.5, bold=True)
    labels = own.labels["label"].to_numpy()[:, None] == known.labels["label"].to_numpy()[None, :]
    assert len(claims.target) == labels.sum()
    assert (claims.probability > 0).mean() > 0.9


def test_what_has_no_cloud_is_refused():
    own, known, _ = draw_files(30, 10)
    labels = own.labels["label"].tolist()
    rng = np.random.default_rng(0)
    noise = np.triu(rng.uniform(1, 2, (30, 30)), 1)
    refused = {
        "not published": released(own, "knn:k=3"),
        "fit no space": people(Matrix(noise + noise.T), labels),
        "one place": people(Matrix(np.zeros((30, 30))), labels),
        "direction": people(Matrix(np.abs(noise), directed=True), labels),
        "fewer than four": people(np.zeros((1, 2)), [0]),
    }
    for said, target in refused.items():
        with pytest.raises(InputError, match=said):
            run(target, known)


def test_more_pairs_than_fit_at_once():
    own, known, truth = draw_files()
    target = released(own, "projection:dimensions=2")
    attack = BendAttack(Knowledge(common=0.5), tuning=Tuning(pairs=2000))  # about two thirds of the targets
    assert share_right(attack.run(target, known, LabelRule().candidates(target, known)), truth) > 0.98


def test_twins_at_one_place_cannot_be_told_apart():
    own, known, truth = draw_files(seed=2)
    t, k = min(truth)
    places = np.vstack((known.distances.coordinates, known.distances.coordinates[k]))
    labels = [*known.labels["label"].tolist(), known.labels["label"].iloc[k]]
    claims = run(released(own, "projection:dimensions=2"), people(places, labels), common=0.5)
    mine = claims.target == t
    assert sorted(claims.known[mine].tolist()) == [k, len(places) - 1]
    assert claims.probability[mine] == pytest.approx([0.5, 0.5], abs=0.05)


def test_scaling_gives_the_published_distances_back():
    own, _, _ = draw_files(50, 10)
    cloud = scale_target(own.distances.as_matrix())
    assert cloud.places.shape == (50, 2)
    assert cloud.places.std(axis=0) == pytest.approx([1, 1])
    turned = np.linalg.lstsq(
        cloud.places, own.distances.coordinates - own.distances.coordinates.mean(axis=0), rcond=None
    )
    again = full_matrix(Points(cloud.places @ turned[0], "euclidean"))
    np.testing.assert_allclose(again, full_matrix(own.distances), atol=1e-6)


def test_places_on_the_earth_are_a_sheet_in_space():
    rng = np.random.default_rng(0)
    cloud = locate_known(Points(np.column_stack((rng.uniform(6, 15, 80), rng.uniform(47, 55, 80)))))
    assert cloud.sheet == 2
    assert cloud.places.shape == (80, 3)


def test_the_regression_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    known = Cloud(rng.normal(size=(40, 2)), 2)
    basis = Basis(3)
    functions = basis.of(known.places, known)
    truth = rng.normal(size=(functions.shape[1], 2))
    target = Cloud(functions @ truth + 0.01 * rng.normal(size=(40, 2)), 2)
    problem = Problem(target, known, np.arange(40), np.arange(40), np.zeros(40), 0.9)
    weight = rng.uniform(0.2, 1, 40)
    fit = regress(problem, Fit(basis, np.zeros_like(truth), np.ones(2), 0.9), weight, narrowest=1e-9)
    root = np.sqrt(weight)[:, None]
    exact = np.linalg.lstsq(functions * root, target.places * root, rcond=None)[0]
    np.testing.assert_allclose(fit.coefficients, exact, atol=1e-5)
    judged = judge(problem, fit)
    assert judged.evidence > 0
    assert (find_responsibilities(problem, judged) <= 1).all()


def test_the_density_of_an_even_sheet_is_even():
    rng = np.random.default_rng(0)
    side = 100.0
    places = np.column_stack((rng.uniform(0, side, (4000, 2)), np.zeros((4000, 3))))  # a sheet in five dimensions
    inside = ((places[:, :2] > 10) & (places[:, :2] < 90)).all(axis=1)
    found = measure_crowd(places, 2)[inside]
    assert np.median(found) == pytest.approx(-np.log(side**2), abs=0.25)
