"""The decision: every combination of what can be known of a setting, and that worse figures never improve it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disclique.audits.facts import FAILS, MEETS, UNPROVEN, InsiderShare
from disclique.audits.rates import OracleRisk, SettingRisk
from disclique.audits.verdict import Figures, Judgement, Limits

LIMIT, PERSON_LIMIT, WANTED = 0.1, 0.5, 20
RANK = {FAILS: 0, UNPROVEN: 1, MEETS: 2}


def make_risk(
    value: float, high: float, *, often: int = WANTED, cut: bool = False, by_oracle: bool = True
) -> SettingRisk:
    """A risk as it is measured: cut short it might have found everybody, unless the oracle says what there is."""
    most = 1.0 if cut and not by_oracle else max(value, high)
    return SettingRisk(
        attack="clique",
        value=value,
        interval=(0.0, most if cut and not by_oracle else high),
        repetitions=often,
        lower_bound=cut and not by_oracle,
        cut=("clique",) if cut else (),
        most=most,
        measured_high=high,
        by_oracle=by_oracle,
    )


# what was measured: mean and upper end of the risk
MEASURED = {
    "kept": make_risk(0.02, 0.08),
    "upper end above": make_risk(0.02, 0.2),
    "mean above": make_risk(0.3, 0.4),
    "not measured": SettingRisk(None, 1.0, (0.0, 1.0), WANTED, lower_bound=True),
    "cut short": make_risk(0.02, 0.08, cut=True, by_oracle=False),
    "cut short, bounded by the oracle": make_risk(0.02, 0.08, cut=True),
    "tried a few times": make_risk(0.02, 0.08, often=5),
}
# of the most exposed person, where there is a limit for them: kept or not, None where it was not measured
PERSONS = {
    "no limit": (None, None),
    "kept": (PERSON_LIMIT, 0.4),
    "above": (PERSON_LIMIT, 0.7),
    "unknown": (PERSON_LIMIT, None),
}
# what may be hidden: the oracle, or the insider who finds most
HIDDEN = {
    "oracle": (OracleRisk(0.02, 0.08, WANTED), None),
    "harmless insider": (None, InsiderShare(10, 0.05)),
    "insider finds more": (None, InsiderShare(10, 0.6)),
    "nobody asked": (None, None),
}


def judge(measured: str, person: str, hidden: str) -> Judgement:
    """The judgement of one combination."""
    limit, exposed = PERSONS[person]
    oracle, insider = HIDDEN[hidden]
    figures = Figures(MEASURED[measured], WANTED, person=exposed, oracle=oracle, insider=insider)
    return Judgement(figures, Limits(LIMIT, limit))


def expect(measured: str, person: str, hidden: str) -> str:
    """The status by a table of words, written down apart from the code."""
    if measured in ("mean above", "not measured") or person == "above":
        return FAILS
    shown = measured in ("kept", "cut short, bounded by the oracle")
    return MEETS if shown and person != "unknown" and hidden in ("oracle", "harmless insider") else UNPROVEN


@pytest.mark.parametrize("measured", MEASURED)
@pytest.mark.parametrize("person", PERSONS)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_every_combination_has_its_status_and_reason(measured: str, person: str, hidden: str) -> None:
    """Shown to be kept only if all was tried, everybody is under the limits and nothing is hidden."""
    found = judge(measured, person, hidden)
    assert found.status == expect(measured, person, hidden)
    assert (found.reason is None) == (found.status == MEETS or (found.status == FAILS and found.hidden is None))


REASONS = {
    ("kept", "no limit", "nobody asked"): "not_modelled_and_no_insider",
    ("kept", "kept", "insider finds more"): "only_way_in_hidden",
    ("kept", "unknown", "oracle"): "persons_not_measured",
    ("cut short", "no limit", "harmless insider"): "cut_might_find",
    ("tried a few times", "no limit", "oracle"): "looked_at_a_few_times",
    ("upper end above", "no limit", "harmless insider"): "risk_may_be",
}


@pytest.mark.parametrize("case", REASONS, ids=" / ".join)
def test_reasons_are_codes_with_their_figures(case: tuple[str, str, str]) -> None:
    reason = judge(*case).reason
    assert reason is not None
    assert reason.code == REASONS[case]


def test_a_reason_carries_figure_and_limit() -> None:
    figures = Figures(make_risk(0.02, 0.09), WANTED, oracle=OracleRisk(0.07, 0.09, WANTED))
    reason = Judgement(figures, Limits(0.05)).reason
    assert reason is not None
    assert (reason.code, reason.values) == ("oracle_above", {"value": 0.07, "high": 0.09, "limit": 0.05})
    few = Figures(replace(make_risk(0.02, 0.09, by_oracle=False), needed=72), WANTED, insider=InsiderShare(10, 0.0))
    reason = Judgement(few, Limits(0.05)).reason
    assert reason is not None
    assert (reason.code, reason.values) == ("too_few_repetitions", {"some": WANTED, "needed": 72})


SHARE = st.floats(0, 1)


@st.composite
def figures(draw: st.DrawFn) -> Figures:
    """Figures that an audit could measure: no upper end is below a mean, and no more is cut than could be found."""
    value, high, most, measured = (draw(SHARE) for _ in range(4))
    risk = SettingRisk(
        attack="clique",
        value=value,
        interval=(0.0, max(value, high)),
        repetitions=draw(st.integers(1, WANTED)),
        lower_bound=draw(st.booleans()),
        cut=draw(st.sampled_from([(), ("clique",)])),
        most=max(value, most),
        measured_high=max(value, measured),
        needed=draw(st.none() | st.integers(1, 99)),
        by_oracle=draw(st.booleans()),
    )
    oracle = draw(st.none() | st.builds(OracleRisk, SHARE, SHARE, st.integers(1, 20)))
    insider = draw(st.none() | st.builds(InsiderShare, st.sampled_from([10, 50]), SHARE))
    return Figures(risk, WANTED, person=draw(st.none() | SHARE), oracle=oracle, insider=insider)


def worse(one: Figures, by: dict[str, float]) -> list[Figures]:
    """The same figures, each with one thing that is worse, or is no longer known."""
    risk, rise = one.risk, lambda value, key: value + (1 - value) * by[key]
    high, most = rise(risk.interval[1], "high"), rise(risk.most, "most")
    value = rise(risk.value, "value")
    found = [
        replace(one, risk=replace(risk, interval=(0.0, high))),
        replace(one, risk=replace(risk, most=most)),
        replace(one, risk=replace(risk, value=value, interval=(0.0, max(high, value)), most=max(most, value))),
        replace(one, risk=replace(risk, measured_high=rise(risk.measured_high, "high"))),
        replace(one, risk=replace(risk, cut=("clique",), lower_bound=True)),
        replace(one, oracle=None),
        replace(one, oracle=None, insider=None),
    ]
    if one.person is not None:
        found.append(replace(one, person=rise(one.person, "person")))
    if one.insider is not None:
        found.append(replace(one, insider=replace(one.insider, value=rise(one.insider.value, "insider"))))
    return found


@given(
    figures(),
    st.fixed_dictionaries(dict.fromkeys(("value", "high", "most", "person", "insider"), SHARE)),
    SHARE,
    st.none() | SHARE,
)
def test_worse_figures_never_improve_the_status(
    one: Figures, by: dict[str, float], limit: float, person: float | None
) -> None:
    """Whatever is measured higher, cut short or no longer known: the status stays or falls."""
    limits = Limits(limit, person)
    before = RANK[Judgement(one, limits).status]
    for other in worse(one, by):
        assert RANK[Judgement(other, limits).status] <= before, other
    for stricter in (
        Limits(limit * (1 - by["value"]), person),
        Limits(limit, 0.0 if person is None else person * by["person"]),
    ):
        assert RANK[Judgement(one, stricter).status] <= before


@given(figures(), SHARE, st.none() | SHARE)
def test_nothing_is_shown_to_be_kept_that_is_above_a_limit(one: Figures, limit: float, person: float | None) -> None:
    """Against the definition: tried in full, the upper end and everybody under the limits, nothing hidden."""
    found = Judgement(one, Limits(limit, person))
    if found.status == MEETS:
        assert one.risk.repetitions >= one.repetitions
        assert one.risk.interval[1] <= limit
        assert person is None or (one.person is not None and one.person <= person)
        assert one.oracle is not None or (one.insider is not None and one.insider.value <= limit)
    if one.risk.value > limit:
        assert found.status == FAILS
    assert found.status == FAILS or not (person is not None and one.person is not None and one.person > person)
