"""Bounds of a mean risk: beside Clopper and Pearson's, beside simulated weights, and whether they hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from disclique.errors import InputError
from disclique.measures.bounds import LEVEL, lower_end, p_value, repetitions_needed, smooth_upper_end, upper_end

SHARES = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, max_size=30)


@given(st.integers(1, 400), st.data(), st.sampled_from([0.9, 0.95, 0.975, 0.99]))
@settings(max_examples=60, deadline=None)
def test_of_zeros_and_ones_it_is_clopper_and_pearsons(trials: int, data: st.DataObject, level: float) -> None:
    """Both ends, for any number of releases and successes."""
    hits = data.draw(st.integers(0, trials))
    x = np.repeat([0.0, 1.0], [trials - hits, hits])
    high = 1.0 if hits == trials else beta.ppf(level, hits + 1, trials - hits)
    low = 0.0 if hits == 0 else beta.ppf(1 - level, hits, trials - hits + 1)
    assert upper_end(x, level=level) == pytest.approx(high, abs=1e-7)
    assert lower_end(x, level=level) == pytest.approx(low, abs=1e-7)


@pytest.mark.parametrize("releases", [1, 2, 3, 7, 20, 60])
def test_it_is_the_quantile_of_a_mean_with_random_weights(releases: int) -> None:
    """Against weights that were drawn: the share of means above the bound is 1 - level, within simulation error."""
    rng = np.random.default_rng(releases)
    x, top = np.round(0.6 * rng.random(releases) ** 3, 2), 0.8
    weights = rng.dirichlet(np.ones(releases + 1), 100_000)
    means = weights @ np.append(x, top)
    above = (means > upper_end(x, top=top, level=0.95)).mean()
    assert above == pytest.approx(0.05, abs=5 * np.sqrt(0.05 * 0.95 / 100_000))
    assert p_value(x, float(np.quantile(means, 0.8)), top=top) == pytest.approx(0.2, abs=0.007)


@given(SHARES, st.data())
@settings(max_examples=60, deadline=None)
def test_ends_enclose_the_mean_and_move_with_what_is_seen(shares: list[float], data: st.DataObject) -> None:
    """A higher risk, level or top never lowers the upper end; order does not matter; the lower end mirrors it."""
    high, low = upper_end(shares), lower_end(shares)
    mean = float(np.mean(shares))
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    assert low == pytest.approx(1 - upper_end([1 - x for x in shares]), abs=1e-9)
    assert upper_end(shares[::-1]) == high
    at = data.draw(st.integers(0, len(shares) - 1))
    raised = [min(1.0, x + 0.1) if i == at else x for i, x in enumerate(shares)]
    assert upper_end(raised) >= high - 1e-9
    assert upper_end(shares, level=0.99) >= high - 1e-9
    assert upper_end(shares, top=1.5) >= high - 1e-9
    assert upper_end([2 * x for x in shares], top=2.0) == pytest.approx(2 * high, abs=1e-8)
    if 1e-6 < high < 1 - 1e-6 and high > mean + 1e-6:
        assert p_value(shares, high) == pytest.approx(1 - LEVEL, abs=1e-6)


def test_the_ends_hold_on_a_small_simulation() -> None:
    """All or nothing, clustered, alone: Gaffke's end holds in 96 % of 400 audits; Student's kind of end does not.

    The allowance is three standard errors. An attack that succeeds in one of twenty releases is unseen in a third of
    the audits, where the smooth end is far below the truth: the reason for not using it there.
    """
    rng, runs, releases = np.random.default_rng(11), 400, 20
    least = 0.96 - 3 * np.sqrt(0.96 * 0.04 / runs)
    often = 0.05
    laws = {
        "all or nothing": (often, lambda: (rng.random(releases) < often).astype(float)),
        "clustered": (0.1, lambda: rng.binomial(100, rng.beta(0.9, 8.1, releases)) / 100),
        "alone": (0.3, lambda: rng.binomial(100, 0.3, releases) / 100),
    }
    smooth = {}
    for name, (mean, draw) in laws.items():
        samples = [draw() for _ in range(runs)]
        assert np.mean([p_value(x, mean) >= 1 - LEVEL for x in samples]) >= least, name
        smooth[name] = np.mean([smooth_upper_end(x, np.full(releases, 100)) >= mean for x in samples])
    assert smooth["alone"] >= least
    assert smooth["clustered"] >= 0.94 - 3 * np.sqrt(0.94 * 0.06 / runs)
    assert smooth["all or nothing"] < 0.8


def test_the_smooth_end_knows_people_and_releases() -> None:
    """Equal shares are as sure as the people behind them, scattered ones as the releases; one release is one trial."""
    alike = smooth_upper_end([0.1] * 10, [50] * 10)
    assert alike == pytest.approx(beta.ppf(LEVEL, 51, 450), abs=1e-9)
    assert smooth_upper_end([0.0, 0.2] * 5, [50] * 10) > alike
    assert smooth_upper_end([0.1], [1000]) == upper_end([0.1])
    assert smooth_upper_end([0.0] * 5, [20] * 5) == pytest.approx(beta.ppf(LEVEL, 1, 100), abs=1e-9)
    assert smooth_upper_end([1.0] * 5, [20] * 5) == 1.0


@pytest.mark.parametrize(
    ("limit", "shares"), [(0.05, [0.0] * 20), (0.2, [0.0, 0.1, 0.3, 0.05]), (0.5, [0.0, 1.0, 0.0])]
)
def test_so_many_releases_and_no_fewer_are_needed(limit: float, shares: list[float]) -> None:
    """With whole multiples of the observed releases the bound falls under the limit where it is said to."""
    need = repetitions_needed(limit, shares)
    assert need is not None
    times = -(-need // len(shares))
    assert upper_end(shares * times) <= limit
    assert times == 1 or upper_end(shares * (times - 1)) > limit


def test_a_risk_at_the_limit_never_falls_under_it() -> None:
    """However many releases: None, also where the mean is at or above the limit; any will do where top is the limit."""
    assert repetitions_needed(0.05, [0.05] * 20) is None
    assert repetitions_needed(0.05, [0.0, 0.5]) is None
    assert repetitions_needed(1.0, [0.3]) == 1
    assert repetitions_needed(1.0, [1.0]) == 1


@pytest.mark.parametrize(("shares", "said"), [([], "at least one"), ([0.1, 1.2], "between"), ([np.nan], "between")])
def test_what_is_no_risk_is_refused(shares: list[float], said: str) -> None:
    """Nothing, more than the top, and what is not a number."""
    with pytest.raises(InputError, match=said):
        upper_end(shares)
    with pytest.raises(InputError, match="level"):
        upper_end([0.1], level=0.3)
    with pytest.raises(InputError, match="people"):
        smooth_upper_end([0.1, 0.2], [10])
