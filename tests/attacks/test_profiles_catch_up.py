"""Releases off the map that simple attacks broke: salts, noise, rounding, label errors, households, insiders."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import Delaunay
from scipy.stats import norm

import disclique as dq
from disclique.attacks import ProfilesAttack, build_attacks, parse_attacks
from disclique.attacks.act import carry_out, fetcher
from disclique.attacks.profiles.assign import Problem, assign
from disclique.attacks.profiles.groups import Grouping, find_groups
from disclique.attacks.profiles.law import Learning, learn_law
from disclique.attacks.profiles.rehearsal import Yardstick
from disclique.attacks.profiles.starts import by_colours
from disclique.measures.risk import Truth, name_records
from disclique.records.labels import Exact
from disclique.spaces.base import Distances

Rows = NDArray[np.int64]
BLOOM = "bloom:length=1024,bits=10,q=2"
SYLLABLES = (
    "an",
    "be",
    "cor",
    "do",
    "el",
    "fi",
    "ga",
    "hu",
    "il",
    "jo",
    "ka",
    "lu",
    "mar",
    "ne",
    "ot",
    "pa",
    "ri",
    "sa",
)


def people_with_dates(count: int, seed: int = 0) -> dq.Texts:
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        name = "".join(rng.choice(SYLLABLES, 2)) + " " + "".join(rng.choice(SYLLABLES, 3))
        found[f"{name} {rng.integers(1, 13)}/{rng.integers(1, 29)}/{rng.integers(1930, 2005)}"] = None
    return dq.Texts(tuple(found))


def roads(count: int, seed: int = 0) -> dq.Matrix:
    """Travel times on a planar graph, each road of another speed in each direction."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 1, (count, 2))
    ends = np.concatenate([[(a, b), (b, c), (c, a)] for a, b, c in Delaunay(places).simplices])
    ends = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    time = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1) * rng.uniform(0.5, 2, len(ends))
    return dq.Matrix(shortest_path(csr_matrix((time, ends.T), (count, count))), directed=True)


class Files:
    """A release and the snooper's file, everybody in both unless ``common`` says how many; labels if any."""

    def __init__(self, whole: Distances, mask: str, common: int | None = None, labels: Rows | None = None) -> None:
        rng, size = np.random.default_rng(5), whole.size
        self.mask = dq.parse_mask(mask)
        order = rng.permutation(size)
        shown, held = rng.permutation(order), rng.permutation(order)
        if common is not None:
            half = (size + common) // 2
            shown, held = rng.permutation(order[:half]), rng.permutation(order[half - common :])
        group = np.zeros(size, np.int64) if labels is None else labels
        own = [] if labels is None else ["group"]
        self.target, self.known = (
            dq.microdata(pd.DataFrame({"who": rows, "group": group[rows]}), own, distances=distances)
            for rows, distances in ((shown, self.mask.apply(whole.select(shown), rng)), (held, whole.select(held)))
        )
        self.truth = Truth.of_people(shown.tolist(), held.tolist())
        self.rule = dq.LabelRule()

    def attack(self, seeds: int = 0) -> ProfilesAttack:
        told = tuple((int(t), int(k)) for t, k in self.truth.pairs[:seeds])
        return ProfilesAttack.build(dq.Knowledge(mask=self.mask, seeds=told), dq.Search(threads=1, starts=2))

    def run(self, seeds: int = 0) -> tuple[float, dq.Claims]:
        """Return the share of the people whose right record is named, seeds left out, and the claims."""
        attack, related = self.attack(seeds), self.rule.candidates(self.target, self.known)
        claims = attack.run(self.target, self.known, related)
        others = self.truth.without([row for row, _ in attack.told])
        return float(name_records(claims, others, related, attack.told).sum() / max(len(others), 1)), claims

    def precision(self, claims: dq.Claims) -> float:
        rows, others, _ = claims.claimed()
        return float(self.truth.holds(rows, others).mean()) if len(rows) else 1.0


def mean_of(whole: Distances) -> float:
    every = np.arange(whole.size, dtype=np.int32)
    return float(whole.block(every, every).mean())


# What beat it


@pytest.mark.parametrize(("spec", "least"), [("salt=3", 0.98), ("flip=0.1", 0.98), ("diffuse=3", 0.98)])
def test_hardened_encodings_of_names_and_dates(spec: str, least: float) -> None:
    """Salts split a release into groups that are matched by themselves; flips and diffusion leave a law."""
    files = Files(people_with_dates(150), f"{BLOOM},{spec}")
    found, claims = files.run()
    assert found >= least
    assert files.precision(claims) >= 0.95


@pytest.mark.parametrize(("share", "least"), [(0.3, 0.8), (0.5, 0.4)])
def test_noisy_travel_times(share: float, least: float) -> None:
    """Noise of a third and of half the mean travel time; claims are right more often than not."""
    whole = roads(120)
    files = Files(whole, f"matrix-gaussian:sd={share * mean_of(whole):.6g}")
    found, claims = files.run()
    assert found >= least
    assert files.precision(claims) >= 0.6
    assert claims.expected <= 1.3 * found * 120


@pytest.mark.long
def test_a_third_in_common_is_not_promised_for_certain() -> None:
    """Where some anchors are wrong, the trial has wrong ones too: the sum of probabilities is about what is right."""
    whole = roads(500, 4)
    expected, right = 0.0, 0
    for seed in (4, 5):
        files = Files(
            whole.select(np.random.default_rng(seed).permutation(500)), "matrix-gaussian:sd=0.027", common=100
        )
        claims = files.run()[1]
        rows, others, probability = claims.claimed()
        expected, right = expected + probability.sum(), right + int(files.truth.holds(rows, others).sum())
    assert right >= 80
    assert 0.8 <= right / expected <= 1.25


def test_coarsely_rounded_travel_times() -> None:
    """Only a handful of different distances is left."""
    whole = roads(120)
    found, claims = (files := Files(whole, f"round:to={1.2 * mean_of(whole):.6g}")).run()
    assert found >= 0.6
    assert files.precision(claims) >= 0.6


def test_labels_with_errors_are_evidence() -> None:
    """Vectors in strong noise: with labels, of which some are wrong, more is found than without."""
    rng = np.random.default_rng(3)
    group = rng.integers(20, size=120)
    whole = dq.Points(rng.normal(0, 3, (120, 4)), "euclidean")
    with_labels, without = (Files(whole, "gaussian:sigma=2", labels=labels) for labels in (group, None))
    with_labels.rule = dq.LabelRule(comparators={"group": Exact(0.02)})
    assert with_labels.run()[0] >= without.run()[0] + 0.2


# Insiders


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_insiders_never_find_less(share: float) -> None:
    """Of the people who are not told, those who know ten pairs find as many as those who know none."""
    whole = roads(100, 1)
    files = Files(whole, f"matrix-gaussian:sd={share * mean_of(whole):.6g}")
    claims, related = files.run()[1], files.rule.candidates(files.target, files.known)
    others = Truth(files.truth.pairs[10:])
    alone = name_records(claims, others, related).mean()
    assert files.run(10)[0] >= alone - 0.02


def test_groups_of_one_are_no_error() -> None:
    """With many salts some records share theirs with nobody, and have no distance within their group."""
    files = Files(people_with_dates(60), f"{BLOOM},salt=20")
    _, claims = files.run()
    assert np.isfinite(claims.probability).all()
    assert files.precision(claims) >= 0.5 or not claims.claimed()[0].size


def test_insiders_of_a_salted_release_find_what_others_do() -> None:
    """Seeds do not keep the release from being split."""
    assert Files(people_with_dates(120), f"{BLOOM},salt=3").run(12)[0] >= 0.95


# What it must not claim


@pytest.mark.parametrize("kind", ["roads", "names", "salts"])
def test_strangers_are_not_claimed_where_the_mask_is_known(kind: str) -> None:
    """Two halves of the same people without a common one."""
    whole: Distances = roads(200, 2) if kind == "roads" else people_with_dates(200, 2)
    noise = f"matrix-gaussian:sd={0.3 * mean_of(whole):.6g}"
    files = Files(whole, {"roads": noise, "names": f"{BLOOM},flip=0.1", "salts": f"{BLOOM},salt=3"}[kind], common=0)
    claims = files.run()[1]
    assert len(claims.claimed()[0]) <= 1
    assert claims.doubt is not None


@given(spread=st.floats(0.001, 0.1), expected=st.floats(0.5, 2), worth=st.lists(st.floats(-1, 3), max_size=20))
def test_an_assignment_is_trusted_the_more_it_is_worth(spread: float, expected: float, worth: list[float]) -> None:
    """One worth what strangers are usually worth is not, unless these tell nothing; the less they vary, the more."""
    nothing: Any = None
    one, wide = (Yardstick(0.0, sd, expected, 0.05, nothing, nothing, nothing) for sd in (spread, 2 * spread))
    trusts = [one.trust(w, 3.0) for w in sorted(worth)]
    assert all(0 <= trust <= 1 for trust in trusts)
    assert trusts == sorted(trusts)
    assert one.trust(0.0, 3.0) < 0.5
    assert one.trust(6 * spread, 3.0) > wide.trust(6 * spread, 3.0)


# Zeros and ties


def test_households_are_told_by_their_labels_and_no_attack_breaks_down() -> None:
    """A distance of zero stays zero under any factor: the labels of both members tell the household."""
    rng = np.random.default_rng(4)
    homes = dq.Points(np.repeat(rng.uniform(0, 100, (50, 2)), 2, axis=0), "euclidean")
    files = Files(homes, "multiplicative:sd=30", labels=rng.integers(22, size=100))
    assert files.run()[0] >= 0.6
    related = files.rule.candidates(files.target, files.known)
    fetch = fetcher(files.target, files.known, lambda attack: related)
    knowledge = dq.Knowledge(mask=files.mask, relative_noise=30.0, common=1.0, agreement=dq.Within(1))
    for attack in build_attacks(parse_attacks("all"), knowledge, dq.Search(budget=dq.Budget(work=0.1))).values():
        if attack.name != "profiles" and not isinstance(attack, Exception):
            try:
                carry_out(attack, files.target, files.known, related, fetch)
            except dq.DiscliqueError:
                continue  # refused, in a sentence


# The parts, against something slow or known


def test_a_learned_law_is_the_law() -> None:
    """Gaussian noise on normal distances: the log likelihood ratio of the bivariate normal law."""
    rng = np.random.default_rng(0)
    true = rng.normal(10, 1, 200_000)
    shown = true + rng.normal(0, 1, len(true))
    law = learn_law(true, shown, 100, Learning())
    assert law is not None
    grid = np.array([8.8, 9.5, 10.0, 10.7, 11.4])
    table = sum(
        law.shown.read(one, grid.astype(np.float32))[:, None] * law.true.read(other, grid.astype(np.float32))
        for one, other in zip(law.of_shown, law.of_true, strict=True)
    )
    exact = norm.logpdf(grid[:, None], grid[None], 1) - norm.logpdf(grid, 10, np.sqrt(2))[:, None]
    likely = exact > -1.2  # what is hardly ever seen is not said to be impossible
    np.testing.assert_allclose(table[likely], exact[likely], atol=0.15)
    assert (table[~likely] < -1).all()


def test_the_likeliest_of_all_assignments_of_seven_people() -> None:
    """Against all permutations; a start that misses it is rare."""
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        right = rng.normal(0, 2, (7, 7)).astype(np.float32)
        right = np.triu(right, 1) + np.triu(right, 1).T
        order = rng.permutation(7)
        noise = np.triu(rng.normal(0, 0.5, (7, 7)), 1)
        left = (right[np.ix_(order, order)] + noise + noise.T).astype(np.float32)
        np.fill_diagonal(left, 0)
        problem = Problem((left,), (right,), rng.normal(0, 0.1, (7, 7)).astype(np.float32))
        every = [
            problem.value(np.arange(7), np.array(way)) + problem.single[np.arange(7), way].sum()
            for way in permutations(range(7))
        ]
        found = assign(problem, np.zeros((7, 7), np.float32)).value
        assert found <= max(every) + 1e-3
        hits += found >= max(every) - 1e-3
    assert hits >= 14


def test_equal_colours_are_only_of_records_that_equal_distances_cannot_tell() -> None:
    """A path of five: its ends, their neighbours, and the middle; another order is the same."""
    path = np.abs(np.arange(5)[:, None] - np.arange(5)[None]).astype(np.float32)
    order = np.array([3, 0, 4, 1, 2])
    none = np.zeros(5, np.int64)
    odds = by_colours(path[np.ix_(order, order)], path, (none, none))
    assert odds is not None
    ends = np.minimum(order, 4 - order)
    np.testing.assert_array_equal(odds == odds.max(), ends[:, None] == np.minimum(np.arange(5), 4 - np.arange(5))[None])


def test_groups_are_found_where_there_are_some() -> None:
    """Three groups of unequal size; points of one cloud are none."""
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1, 2], [20, 30, 40])
    noise = np.triu(rng.normal(0, 0.05, (90, 90)), 1)
    values = np.where(group[:, None] == group[None], 0.6, 1.0) + noise + noise.T
    np.fill_diagonal(values, 0)
    found = find_groups(values.astype(np.float32), Grouping())
    assert found is not None
    assert len({(int(a), int(b)) for a, b in zip(group, found, strict=True)}) == 3
    np.fill_diagonal(flat := np.where(True, 1.0, values) + noise + noise.T, 0)
    assert find_groups(flat.astype(np.float32), Grouping()) is None
