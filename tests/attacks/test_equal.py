"""The attack by equal distances, on files whose truth is known and on files that have none."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import mask_in_order
from disclique.attacks import EqualAttack, Knowledge, LabelRule
from disclique.attacks.equal.belief import Pairs, Ties, weigh_ties
from disclique.attacks.equal.lookup import (
    Tolerance,
    list_entries,
    look_up,
    measure_repeats,
)
from disclique.model import Microdata
from disclique.spaces import Matrix, Points, ReleaseSeries, full_matrix
from disclique.spaces.mapping import find_printed_unit

EXACT = Tolerance(1e-12, 0.0)


def people(source, labels=None):
    distances = Points(source, "euclidean") if isinstance(source, np.ndarray) else source
    rows = range(distances.size)
    table = pd.DataFrame(index=rows) if labels is None else pd.DataFrame({"label": labels})
    return Microdata(pd.DataFrame(index=rows), table, distances, tuple(rows))


def draw_files(n=150, common=40, seed=0, labels=3):
    """Return places and labels of two files; the first ``common`` records of the first are in the second, shuffled."""
    rng = np.random.default_rng(seed)
    places, kinds = rng.normal(size=(2 * n - common, 2)) * 100, rng.integers(0, max(labels, 1), 2 * n - common)
    known = np.r_[np.arange(common), np.arange(n, 2 * n - common)]
    known = known[rng.permutation(len(known))]
    truth = {(t, int(np.flatnonzero(known == t)[0])) for t in range(common)}
    own = (places[:n], kinds[:n].tolist() if labels else None)
    theirs = (places[known], kinds[known].tolist() if labels else None)
    return own, theirs, truth


def run(target, known, **knowledge):
    attack = EqualAttack(Knowledge(**knowledge))
    return attack.run(target, known, LabelRule().candidates(target, known))


def claimed(claims):
    return {(int(t), int(k)) for t, k in zip(*claims.claimed()[:2], strict=True)}


def nearest_only(places, k=6):
    return mask_in_order(people(places), f"knn:k={k}", seed=0).distances


@pytest.mark.parametrize("labels", [0, 3])
def test_neighbour_lists_name_whoever_has_a_common_neighbour(labels):
    own, theirs, truth = draw_files(labels=labels)
    lists = nearest_only(own[0])
    target, known = people(lists, own[1]), people(*theirs)
    found = claimed(run(target, known))
    # brute force: two common neighbours with a published distance settle a record beyond doubt
    published = ~np.isnan(full_matrix(lists)[:40, :40]) & ~np.eye(40, dtype=bool)
    certain = {pair for pair in truth if published[pair[0]].sum() >= 2}
    assert len(certain) >= 10
    assert certain <= found <= truth


def test_everybody_is_found_by_capped_distances_when_all_are_known():
    own, _, _ = draw_files()
    capped = mask_in_order(people(own[0]), "topcode:max=40", seed=0).distances
    claims = run(people(capped), people(own[0]))
    apart = (full_matrix(capped) < 40).sum(axis=1) > 3
    found = claimed(claims)
    assert found <= {(t, t) for t in range(150)}
    assert {(t, t) for t in np.flatnonzero(apart)} <= found


def test_a_bold_snooper_follows_paths_to_people_without_a_common_neighbour():
    people_ = dq.microdata(dq.survey(), ["sex", "age_class"], coordinates=["lon", "lat"], ids="id")
    rng = np.random.default_rng(5)
    rows = np.sort(rng.choice(500, 120, replace=False))
    target = replace(people_, distances=mask_in_order(people_, "knn:k=5", seed=1).distances)
    known = replace(
        people_,
        table=people_.table.iloc[rows].reset_index(drop=True),
        labels=people_.labels.iloc[rows].reset_index(drop=True),
        distances=people_.distances.select(rows),
        ids=tuple(people_.ids[r] for r in rows),
    )
    claims = run(target, known, bold=True)
    best = {}
    for t, k, p in zip(claims.target, claims.known, claims.probability, strict=True):
        if p > best.get(k, (0.0, -1))[0]:
            best[int(k)] = (p, int(t))
    exact = {k for _, k in claimed(claims)}
    others = [k for k in range(120) if k not in exact]
    right = np.mean([best[k][1] == rows[k] for k in others])
    group = people_.labels.astype(str).agg("-".join, axis=1)
    guess = np.mean([1 / (group == group[rows[k]]).sum() for k in others])
    assert all(int(rows[k]) == t for t, k in claimed(claims))
    assert len(others) >= 10
    assert right > 0.4 > 5 * guess


@pytest.mark.parametrize("seed", range(12))
def test_strangers_are_never_claimed(seed):
    own, _, _ = draw_files(seed=seed)
    others, _, _ = draw_files(seed=seed + 1000)
    target = people(nearest_only(own[0]) if seed % 2 else Points(own[0], "euclidean").as_matrix(), own[1])
    claims = run(target, people(*others), common=0.3)
    assert not len(claims.target)
    assert claims.doubt.code == "equal_by_chance"


@pytest.mark.parametrize("spec", ["matrix-gaussian:sd=3", "multiplicative:sd=0.1", "round:to=10"])
def test_altered_distances_claim_nothing_and_say_why(spec):
    own, theirs, _ = draw_files()
    noisy = mask_in_order(people(own[0]), spec, seed=0).distances
    claims = run(people(noisy, own[1]), people(*theirs))
    assert not len(claims.target)
    assert claims.doubt


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_printed_digits_are_equal_enough(digits):
    own, theirs, truth = draw_files()
    printed = Matrix(np.round(full_matrix(Points(own[0], "euclidean")), digits))
    assert claimed(run(people(printed, own[1]), people(*theirs))) == truth
    assert find_printed_unit(printed.values[printed.values > 0]) == pytest.approx(10.0**-digits)


def test_single_precision_is_equal_enough():
    own, theirs, truth = draw_files()
    single = full_matrix(Points(own[0], "euclidean")).astype(np.float32).astype(float)
    assert claimed(run(people(Matrix(single), own[1]), people(*theirs))) == truth


def test_directed_matrices_on_both_sides():
    own, theirs, truth = draw_files(labels=0)

    def travel(places):
        straight = full_matrix(Points(places, "euclidean"))
        return Matrix(straight * (1 + 0.1 * (places[:, :1] > places[None, :, 0])), directed=True)

    assert claimed(run(people(travel(own[0])), people(travel(theirs[0])))) == truth


def test_each_release_of_a_series_is_looked_up():
    own, theirs, truth = draw_files()
    exact = full_matrix(Points(own[0], "euclidean"))
    gone = np.triu(np.random.default_rng(0).random(exact.shape) < 0.5, 1)
    gone, own_place = gone | gone.T, np.eye(len(exact), dtype=bool)
    halves = [Matrix(np.where(hidden & ~own_place, np.nan, exact), unpublished=True) for hidden in (gone, ~gone)]
    assert claimed(run(people(ReleaseSeries(tuple(halves)), own[1]), people(*theirs))) == truth


def test_part_of_the_distances_may_carry_noise():
    own, theirs, truth = draw_files()
    exact = full_matrix(Points(own[0], "euclidean"))
    rng = np.random.default_rng(1)
    noise = np.triu(np.where(rng.random(exact.shape) < 0.7, rng.uniform(1, 2, exact.shape), 0.0), 1)
    assert claimed(run(people(Matrix(exact + noise + noise.T), own[1]), people(*theirs))) == truth


def test_twins_at_one_place_share_the_probability():
    own, theirs, truth = draw_files(labels=0)
    twin = next(k for t, k in truth if t == 7)
    doubled = np.vstack((theirs[0], theirs[0][twin]))
    claims = run(people(Points(own[0], "euclidean").as_matrix()), people(doubled))
    shares = claims.probability[claims.target == 7]
    assert sorted(claims.known[claims.target == 7].tolist()) == [twin, len(doubled) - 1]
    assert shares == pytest.approx([0.5, 0.5], abs=0.01)
    assert claimed(claims) == {pair for pair in truth if pair[0] != 7}


@pytest.mark.parametrize("letters", [8, 12, 40])
def test_distances_that_repeat_by_nature_are_no_evidence(letters):
    rng = np.random.default_rng(letters)
    for _ in range(4):
        words = rng.integers(0, 2, (2, 100, letters))
        one, other = (Matrix((side[:, None, :] != side[None, :, :]).sum(axis=2).astype(float)) for side in words)
        assert not len(run(people(one), people(other), common=0.5).claimed()[0])


@pytest.mark.parametrize(
    "values",
    [
        np.ones((30, 30)) - np.eye(30),
        np.full((30, 30), np.nan),
        np.zeros((30, 30)),
        np.zeros((1, 1)),
    ],
)
def test_garbage_claims_nothing(values):
    own, _, _ = draw_files()
    target = people(Matrix(values, unpublished=True))
    for bold in (False, True):
        claims = run(target, people(own[0]), bold=bold)
        assert not len(claims.claimed()[0])
        assert claims.doubt


def test_coincidences_are_those_of_brute_force():
    own, theirs, _ = draw_files(40, 12)
    entries = list_entries(Points(own[0], "euclidean"), ordered=False, rng=np.random.default_rng(0))
    known = Points(theirs[0], "euclidean")
    found = look_up(entries, known, EXACT, ordered=False, rng=np.random.default_rng(0))
    a, b = full_matrix(Points(own[0], "euclidean")), full_matrix(known)
    expected = {
        (i, j, k, m)
        for i in range(40)
        for j in range(i + 1, 40)
        for k, m in np.argwhere(np.triu(np.abs(b - a[i, j]) <= 1e-12 * a[i, j], 1))
    }
    assert set(zip(*(column.tolist() for column in found.hits), strict=True)) == expected
    assert len(expected) == 12 * 11 // 2
    assert found.compared == (40 * 39 / 2) ** 2


def test_repeats_are_told_from_people_at_one_place():
    rng = np.random.default_rng(0)
    places = np.repeat(rng.normal(size=(60, 2)), 2, axis=0)  # couples: each distance occurs four times
    assert measure_repeats(Points(places, "euclidean"), EXACT, ordered=False, rng=rng) == 0
    values = full_matrix(Points(places[::2], "euclidean"))
    printed = Matrix(np.round(values, 2))  # some hundred values for 1770 pairs: a few of them are equal
    assert 1e-4 < measure_repeats(printed, EXACT, ordered=False, rng=rng) < 0.1


def test_two_pairs_do_not_confirm_each_other_in_a_circle():
    chance, base, common = 1e-4, -np.log(50.0), 0.2
    pairs = Pairs(np.array([0, 1]), np.array([5, 6]), np.full(2, base))
    ratio = weigh_ties(pairs, Ties(np.array([0]), np.array([1])), chance=chance, common=common)
    prior = np.exp(base) * common / (1 - common)
    exactly = np.log1p(prior / (1 + prior) / chance)  # the other one is as probable as it is without this one
    assert ratio == pytest.approx([exactly, exactly], rel=0.01)
