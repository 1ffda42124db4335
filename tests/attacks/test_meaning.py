"""What scores mean: laws of sums against files whose truth is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import disclique as dq
from builders import draw_people, rng
from disclique.attacks.meaning import Bells, Mixture, Steps, Tilt, learn_meaning
from disclique.synthetic.people import misspell


def draw_sums(seed: int, share: float, records: int, trials: int) -> dict[str, np.ndarray]:
    """Draw sums of strangers N(0, 1) and best scores of right partners N(5, 1), and a trial without partners."""
    draw = rng(seed)
    there = draw.random(records) < share
    rest = draw.normal(size=records)
    total = np.where(there, np.logaddexp(rest, draw.normal(5.0, 1.0, records)), rest)
    below = np.where(there, rest, rest - 1.0)  # without its best, which of strangers is a stranger
    return {"there": there, "total": total, "rest": below, "without": draw.normal(size=trials)}


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
def test_how_many_have_their_partner_is_found_out(share: float) -> None:
    """And the chances add up to those who do, class by class within .05, also from a small trial."""
    drawn = draw_sums(1, share, 6000, 150)
    law = Mixture.among(drawn["total"], drawn["rest"], drawn["without"], np.ones(150))
    assert law.share == pytest.approx(share, abs=0.05)
    chance = law.chance(drawn["total"])
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.01)):
        some = (chance >= low) & (chance < high)
        if some.sum() >= 100:
            assert abs(chance[some].mean() - drawn["there"][some].mean()) < 0.05


def test_a_trial_of_easy_ones_is_mended_by_everybody() -> None:
    """Strangers of those in the trial are further off than others: by the trial alone many strangers would pass."""
    drawn = draw_sums(2, 0.1, 6000, 300)
    easy = drawn["without"] - 0.5
    wrong = {}
    for name, law in {
        "trial": Mixture.of(drawn["total"], easy, np.ones(300)),
        "everybody": Mixture.among(drawn["total"], drawn["rest"], easy, np.ones(300)),
    }.items():
        wrong[name] = law.chance(drawn["total"])[~drawn["there"]].sum()
    assert wrong["everybody"] < 0.5 * wrong["trial"]


@given(st.integers(0, 1000), st.sampled_from(["steps", "mixture", "bells"]))
def test_more_never_means_less(seed: int, kind: str) -> None:
    """The odds that the right one is there never fall with the sum."""
    drawn = draw_sums(seed, 0.4, 200, 60)
    total, there = drawn["total"], drawn["there"].astype(float)
    ones = np.ones(len(total))
    if there.min() == there.max():
        return
    law = {
        "steps": lambda: Steps.of(total, there, ones),
        "bells": lambda: Bells.of(total, there, ones),
        "mixture": lambda: Mixture.among(total, drawn["rest"], drawn["without"], np.ones(60)),
    }[kind]()
    odds = law.odds(np.sort(total))
    assert np.isfinite(odds).all()
    assert (np.diff(odds) >= -1e-9).all()


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_odds_that_rise_as_a_line_are_that_line(share: float) -> None:
    """Sums of N(0, 1) without and N(3, 1) with the right one: the log odds are 3 x - 4.5."""
    draw = rng(9)
    total = draw.normal(3.0 * (draw.random(4000) < share), 1.0)
    line = Tilt.of(total, draw.normal(size=4000), np.ones(4000), 0.5)
    assert line.share == pytest.approx(share, abs=0.03)
    place = np.array([1.5, 2.0, 3.0])
    assert line.odds(place) == pytest.approx(3 * place - 4.5, abs=0.6)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_sums_as_frequent_with_as_without_the_right_one_are_not_believed_for_a_step_of_chance(share: float) -> None:
    """Sums of N(0, 1) and N(1.5, 1): of those said to be so probable as many have their partner."""
    draw = rng(10)
    there = draw.random(600) < share
    total = draw.normal(1.5 * there, 1.0)
    law = Mixture.of(total, draw.normal(size=600), np.ones(600))
    chance = law.chance(total)
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.01)):
        some = (chance >= low) & (chance < high)
        if some.sum() > 50:
            assert chance[some].mean() == pytest.approx(there[some].mean(), abs=0.12)
    assert chance.sum() <= there.sum() + 60


@pytest.mark.parametrize("trials", [2, 10, 50])
def test_bells_far_apart_promise_no_more_than_their_trials_can(trials: int) -> None:
    """What is known from few trials is not known for certain, however well it separated them."""
    total = np.concatenate([np.arange(trials) % 2, 1000 + np.arange(trials) % 2]).astype(float)
    found = Bells.of(total, np.repeat([0, 1], trials), np.ones(2 * trials))
    assert found.odds(np.array([1000.0, 5000.0])) == pytest.approx(np.log(2 * trials + 1))


@pytest.mark.parametrize("trials", [4, 40, 400])
def test_a_step_promises_no_more_than_its_trials_can(trials: int) -> None:
    """Sums that only right ones of a trial reach: the fewer these are, the less such a sum says."""
    low = np.linspace(0, 1, 1000)
    total = np.concatenate([low, np.linspace(2, 3, trials)])
    there = np.concatenate([np.arange(1, 1001) % 2, np.ones(trials)])
    best = Steps.of(total, there, np.ones(len(total))).odds(np.array([2.5]))[0]
    assert best == pytest.approx(np.log(2 * trials + 1))


def test_scores_that_are_log_likelihoods_mean_what_they_say() -> None:
    """The slope of right ratios is 1; doubled, it is a half."""
    draw = rng(3)
    shift = 2.0
    own = norm.logpdf(x := draw.normal(shift, 1, 3000), shift) - norm.logpdf(x)
    strangers = norm.logpdf(y := draw.normal(0, 1, (3000, 30)), shift) - norm.logpdf(y)
    found, steep = learn_meaning(own, strangers), learn_meaning(2 * own, 2 * strangers)
    assert found is not None
    assert steep is not None
    assert found.slope == pytest.approx(1.0, abs=0.08)
    assert steep.slope == pytest.approx(found.slope / 2, rel=0.02)


@pytest.mark.long
@pytest.mark.parametrize("common", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_strangers_are_not_taken_for_people_of_a_list_with_errors(common: int) -> None:
    """500 released people, 500 on a list with a typing error in every third; an insider knows some of the pairs."""
    mask = dq.parse_mask("bloom:length=512,bits=6")
    people = draw_people(1000 - common, seed=5).assign(person=np.arange(1000 - common))
    ways = ["first", "last", "born"]
    texts = dq.microdata(people, [], text=ways, id="person").distances.texts()
    assert texts is not None
    released, listed = np.arange(500), np.arange(500 - common, 1000 - common)
    bits = mask.apply(texts.select(released), rng(6))
    spoiled = misspell(texts.select(listed), rng(7), 0.33)
    target, known = (
        dq.microdata(pd.DataFrame({"person": rows}), [], distances=distances)
        for rows, distances in ((released, bits), (listed, spoiled))
    )
    told = [(500 - common + k, k) for k in range(0, common, 2)]
    found = dq.attack(target, known, by="code", knowledge=dq.Knowledge(mask=mask, seeds=told), truth="person")
    assert found.risk is not None
    assert found.risk.fp < 0.02 * (500 - common)
    assert found.risk.recall > 0.8
    claims = found.claims
    right = target.table["person"].to_numpy()[claims.target] == known.table["person"].to_numpy()[claims.known]
    assert abs(claims.probability.sum() - right.sum()) < 0.1 * common
