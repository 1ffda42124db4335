"""Figures that other tools give: their own published examples, brute force, and closed forms."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import hyp2f1

from disclique.measures.disclosure import (
    PITMAN,
    ZAYATZ,
    count_addresses,
    count_fits,
    count_members,
    count_spatial_k,
    estimate_individual_risk,
    estimate_population_unique,
    measure_diversity,
    number_classes,
)
from disclique.measures.risk import wilson

# Becker, B. and Kohavi, R. (1996): Adult. UCI Machine Learning Repository, CC BY 4.0; see NOTICE
ADULT = Path(__file__).with_name("adult.parquet")
WEIGHTS = np.array([18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0])
KEYS = pd.DataFrame({"A": [2, 3, 2, 2, 3, 3, 1, 2], "B": [3, 3, 3, 3, 3, 3, 4, 3], "C": [1, 3, 1, 2, 1, 1, 1, 1]})


@pytest.fixture(scope="module")
def adult() -> np.ndarray:
    """The classes of ARX's example, by all nine of its quasi-identifiers."""
    return number_classes(pd.read_parquet(ADULT))


def test_the_prosecutor_risk_is_that_of_arx(adult: np.ndarray) -> None:
    members = count_members(adult)
    assert len(adult) == 30162
    assert len(np.unique(adult)) / len(adult) == 0.6465751607983555
    assert (1 / members).mean() == pytest.approx(0.6465751607983555, abs=1e-14)
    assert 1 / members.min() == 1.0


@pytest.mark.parametrize(
    ("fraction", "published", "model"),
    [
        (0.01, 0.1446083531167384, PITMAN),
        (0.1, 0.27684993883653597, PITMAN),
        (0.2, 0.3577099234829125, ZAYATZ),
        (1.0, 0.5142895033485844, ZAYATZ),
    ],
)
def test_the_population_uniqueness_is_that_of_arx(
    adult: np.ndarray, fraction: float, published: float, model: str
) -> None:
    found = estimate_population_unique(np.bincount(adult), fraction)
    assert found.share == pytest.approx(published, abs=1e-9)
    assert found.model == model


def test_zayatz_is_the_fallback_of_arx(adult: np.ndarray) -> None:
    """ARX publishes what it says of a tenth if Pitman's equations are not solved."""
    found = estimate_population_unique(np.bincount(adult), 0.1000001)
    assert found.model == ZAYATZ
    assert found.share == pytest.approx(0.3207402393466189, abs=1e-6)


@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.3, 1.0])
def test_nobody_is_alone_in_the_population_who_is_not_in_the_sample(fraction: float) -> None:
    found = estimate_population_unique(np.array([2, 3, 7]), fraction)
    assert (found.share, found.model) == (0.0, "")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.floats(0.001, 1))
@settings(max_examples=80, deadline=None)
def test_no_more_are_alone_in_the_population_than_in_the_sample(sizes: list[int], fraction: float) -> None:
    members = np.array(sizes)
    found = estimate_population_unique(members, fraction)
    alone = (members == 1).sum() / members.sum()
    assert 0 <= found.share <= 1
    if found.model == ZAYATZ:
        assert found.share <= alone + 1e-9
    if fraction == 1:
        assert found.share == pytest.approx(alone)


@pytest.mark.parametrize(("theta", "alpha"), [(50.0, 0.6), (500.0, 0.8), (10.0, 0.9)])
def test_a_population_of_known_uniqueness_is_estimated(theta: float, alpha: float) -> None:
    """A sample of a tenth of people whose classes are Pitman's: drawn one by one as the model says."""
    rng, people = np.random.default_rng(2), 20_000
    sizes: list[int] = []
    owner = np.zeros(people, dtype=int)  # the class of each person, so that one is drawn by its size
    for n in range(people):
        if rng.random() < (theta + alpha * len(sizes)) / (theta + n):
            owner[n] = len(sizes)
            sizes.append(1)
            continue
        while True:  # a class by its size less alpha: the class of a person, refused with alpha over its size
            drawn = owner[rng.integers(n)]
            if rng.random() >= alpha / sizes[drawn]:
                break
        owner[n] = drawn
        sizes[drawn] += 1
    true = (np.array(sizes) == 1).sum() / people
    sample = rng.choice(owner, people // 10, replace=False)
    counts = np.bincount(sample)
    found = estimate_population_unique(counts[counts > 0], 0.1)
    assert found.model == PITMAN
    assert found.share == pytest.approx(true, rel=0.25)


def test_frequencies_with_missing_values_are_those_of_sdcmicro() -> None:
    keys = pd.DataFrame({"A": [2, 3, None, 2, 1, None, 1, 2]})
    assert count_fits(keys).tolist() == [5, 3, 8, 5, 4, 8, 4, 5]
    assert count_fits(keys, WEIGHTS).tolist() == [133.0, 92.5, 394.0, 133.0, 262.5, 394.0, 262.5, 133.0]


def test_individual_risks_are_those_of_sdcmicro() -> None:
    found = estimate_individual_risk(count_fits(KEYS), count_fits(KEYS, WEIGHTS))
    published = [0.01369863, 0.08579129, 0.01369863, 0.17707583, 0.01877883, 0.01877883, 0.03931625, 0.01369863]
    assert found == pytest.approx(published, abs=5e-9)


def test_individual_risks_with_missing_values_are_those_of_sdcmicro() -> None:
    keys = KEYS.assign(A=[2, 3, 2, 2, 3, 3, 1, None], C=[1, 3, None, 2, 1, 1, None, 1])
    found = estimate_individual_risk(count_fits(keys), count_fits(keys, WEIGHTS))
    published = [0.013698630, 0.085791288, 0.010554090, 0.032466112, 0.009836066, 0.009836066, 0.039316254, 0.005973716]
    assert found == pytest.approx(published, abs=5e-9)


def test_without_weights_the_individual_risk_is_one_over_k() -> None:
    fits = count_fits(KEYS)
    assert estimate_individual_risk(fits, fits) == pytest.approx(1 / fits)
    assert estimate_individual_risk(fits, fits / 2) == pytest.approx(1 / fits)  # weights that stand for too few


@pytest.mark.parametrize("fits", [1, 2, 3, 4, 10])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.2, 0.7])
def test_the_individual_risk_is_near_its_closed_form(fits: int, share: float) -> None:
    """The mean of 1/F of a negative binomial F; exact for one and two records, a little too high for more."""
    exact = share**fits / fits * hyp2f1(fits, fits, fits + 1, 1 - share)
    found = float(estimate_individual_risk(np.array([float(fits)]), np.array([fits / share]))[0])
    assert found == pytest.approx(exact, rel=1e-6 if fits <= 2 else 0.06)
    assert found >= exact - 1e-9


VALUES = st.sampled_from(["a", "b", None])


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=25))
@settings(max_examples=80, deadline=None)
def test_frequencies_are_counted_as_one_by_one(rows: list[tuple[str | None, ...]]) -> None:
    cells = pd.DataFrame(rows, columns=["x", "y", "z"])
    weights = np.arange(1.0, len(rows) + 1)

    def fit(one: tuple[str | None, ...], other: tuple[str | None, ...]) -> bool:
        return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))

    fitting = np.array([[fit(one, other) for other in rows] for one in rows])
    assert count_fits(cells).tolist() == fitting.sum(axis=1).tolist()
    assert count_fits(cells, weights) == pytest.approx(fitting @ weights)
    members = count_members(number_classes(cells))
    assert members.tolist() == [rows.count(row) for row in rows]
    assert (members <= count_fits(cells)).all()  # a missing value as a value of its own never looks safer


def test_diversity_is_that_of_sdcmicro() -> None:
    """Its test of missing keys: three, two and two different values."""
    keys = pd.DataFrame(
        {
            "sex": ["female", "female", "female", "male", "male", "female", "female"],
            "occupation": [None, None, None, "teacher", "teacher", "nurse", "nurse"],
            "ethnicity": ["other"] * 5 + ["majority"] * 2,
        }
    )
    classes, values = number_classes(keys), pd.Series([1, 0, 2, 1, 0, 0, 1])
    found = {one: measure_diversity(classes[classes == one], values[classes == one]) for one in range(3)}
    assert [one.distinct for one in found.values() if one] == [3, 2, 2]
    assert [one.entropy for one in found.values() if one] == pytest.approx([3, 2, 2])
    whole = measure_diversity(classes, values)
    assert whole is not None
    assert whole.distinct == 2


def test_a_missing_value_makes_nothing_more_diverse() -> None:
    classes = np.array([0, 0, 1, 1])
    found = measure_diversity(classes, pd.Series(["ill", None, "ill", "well"], dtype=object))
    assert found is not None
    assert (found.distinct, found.entropy) == (1, 1.0)
    assert measure_diversity(classes, pd.Series([None] * 4, dtype=object)) is None


def test_spatial_k_is_that_of_maskmypy() -> None:
    """Its line of seven addresses."""
    addresses = np.array([[x, 0.0] for x in (0, 1, 2, 3, 4, 5, 7)])
    home = np.array([[0.0, 0], [0, 0], [0, 0], [0, 0], [-7, 0]])
    released = np.array([[1.0, 0], [2, 0], [3, 0], [-1, 0], [0, 0]])
    assert count_addresses(home, released, addresses).tolist() == [3, 5, 6, 2, 8]


def test_a_home_counts_once() -> None:
    """Among records MaskMyPy's line gives the same, but that nobody hides behind their own home."""
    line = np.array([[x, 0.0] for x in (0, 1, 2, 3, 4, 5, 7)])
    moved = [np.vstack([[to, 0.0], line[1:]]) for to in (1, 2, 3, -1)]
    assert [int(count_spatial_k(line, places)[0]) for places in moved] == [3, 5, 6, 1]


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_spatial_k_is_counted_as_one_by_one(columns: int) -> None:
    rng = np.random.default_rng(columns)
    homes = np.repeat(rng.normal(size=(30, columns)), 2, axis=0)  # two people in each home
    released = homes + rng.normal(scale=0.4, size=homes.shape)
    far = np.linalg.norm(released[:, None] - homes[None], axis=2)
    expected = (far <= np.diag(far)[:, None] + 1e-9).sum(axis=1)
    assert count_spatial_k(homes, released).tolist() == expected.tolist()
    assert (count_spatial_k(homes, homes) == 2).all()


@pytest.mark.parametrize(("hits", "trials", "middle", "half"), [(850, 1000, 0.849, 0.022), (100, 100, 0.9815, 0.0185)])
def test_wilsons_interval_is_that_of_anonymeter(hits: int, trials: int, middle: float, half: float) -> None:
    found = wilson(hits, trials)
    assert found is not None
    low, high = found
    digits = 3 if trials == 1000 else 4
    assert (round((low + high) / 2, digits), round((high - low) / 2, digits)) == (middle, half)


def test_every_class_of_a_full_table_is_as_large() -> None:
    cells = pd.DataFrame(list(product("ab", "xy")) * 3, columns=["one", "two"])
    assert count_members(number_classes(cells)).tolist() == [3] * 12
    assert count_members(number_classes(pd.DataFrame(index=range(5)))).tolist() == [5] * 5
