"""The decision: every combination of what can be known of a setting, and that worse figures never improve it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disclique.audits.facts import FAILS, MEETS, UNPROVEN
from disclique.audits.rates import OracleRisk, SettingRisk
from disclique.audits.verdict import Figures, Judgement, Limits
from disclique.messages import Message

LIMIT, PERSON_LIMIT, WANTED = 0.1, 0.5, 20
RANK = {FAILS: 0, UNPROVEN: 1, MEETS: 2}
ORACLES = ("oracle", "no oracle", "beaten oracle")
WHY = Message("oracle_needs_mask")


def make_risk(value: float, high: float, often: int = WANTED) -> SettingRisk:
    """A risk as it is measured."""
    return SettingRisk(value, high, "oracle", "oracle", often)


RISKS = {  # what the release gives away, and its upper end
    "kept": (0.02, 0.08),
    "just kept": (LIMIT, LIMIT),
    "upper end above": (0.02, 0.2),
    "above": (0.3, 0.4),
    "nothing known": (1.0, 1.0),
}
TRIED = {"all repetitions": WANTED, "a few": 5}
# of the most exposed person: the limit where there is one, and the risk, None where it was not measured
PERSONS = {
    "no limit": (None, None),
    "no limit, measured": (None, 0.9),
    "kept": (PERSON_LIMIT, 0.4),
    "just kept": (PERSON_LIMIT, PERSON_LIMIT),
    "above": (PERSON_LIMIT, 0.7),
    "unknown": (PERSON_LIMIT, None),
}
DOUBTS = {"accepted": None, "doubtful input": Message("input_not_accepted", names=["doubled-records"])}


def judge(risk: str, tried: str, person: str, oracle: str, doubts: str) -> Judgement:
    """The judgement of one combination."""
    limit, exposed = PERSONS[person]
    measured = replace(make_risk(*RISKS[risk], TRIED[tried]), beaten=oracle == "beaten oracle")
    found, why = (None, WHY) if oracle == "no oracle" else (OracleRisk(0.02, 0.08, WANTED), None)
    figures = Figures(measured, WANTED, person=exposed, oracle=found, oracle_why=why, doubt=DOUBTS[doubts])
    return Judgement(figures, Limits(LIMIT, limit))


def expect(risk: str, tried: str, person: str, oracle: str, doubts: str) -> str:
    """The status by a table of words, written down apart from the code."""
    if risk in ("above", "nothing known") or person == "above":
        return FAILS
    shown = risk in ("kept", "just kept") and tried == "all repetitions" and person != "unknown"
    return MEETS if shown and oracle == "oracle" and doubts == "accepted" else UNPROVEN


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("tried", TRIED)
@pytest.mark.parametrize("person", PERSONS)
@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("doubts", DOUBTS)
def test_every_combination_has_its_status_and_reason(
    risk: str, tried: str, person: str, oracle: str, doubts: str
) -> None:
    """Shown to be kept only if all was tried, everybody is under the limits and nothing is hidden."""
    found = judge(risk, tried, person, oracle, doubts)
    assert found.status == expect(risk, tried, person, oracle, doubts)
    assert (found.reason is None) == (found.status == MEETS or (found.status == FAILS and found.hidden is None))


REASONS = {
    ("kept", "all repetitions", "no limit", "no oracle", "accepted"): ("no_oracle", {"why": WHY}),
    ("kept", "all repetitions", "no limit", "beaten oracle", "accepted"): ("oracle_is_wrong", {"attack": "oracle"}),
    ("kept", "all repetitions", "kept", "oracle", "doubtful input"): (
        "input_not_accepted",
        {"names": ("doubled-records",)},
    ),
    ("kept", "all repetitions", "unknown", "oracle", "accepted"): ("persons_not_measured", {}),
    ("kept", "a few", "no limit", "oracle", "accepted"): ("looked_at_a_few_times", {"some": 5, "all": WANTED}),
    ("upper end above", "all repetitions", "no limit", "oracle", "accepted"): (
        "risk_may_be",
        {"high": 0.2, "limit": LIMIT},
    ),
    ("above", "all repetitions", "no limit", "no oracle", "accepted"): ("no_oracle", {"why": WHY}),
}


@pytest.mark.parametrize("case", REASONS, ids=" / ".join)
def test_reasons_are_codes_with_their_figures(case: tuple[str, str, str, str, str]) -> None:
    reason = judge(*case).reason
    assert reason is not None
    assert (reason.code, dict(reason.values)) == REASONS[case]


SHARE = st.floats(0, 1)


@st.composite
def figures(draw: st.DrawFn) -> Figures:
    """Figures that an audit could measure: no upper end is below its mean."""
    value, high = draw(SHARE), draw(SHARE)
    risk = make_risk(value, max(value, high), draw(st.integers(1, WANTED) | st.just(WANTED)))
    risk = replace(risk, beaten=draw(st.booleans()))
    oracle = draw(st.none() | st.builds(OracleRisk, SHARE, SHARE, st.integers(1, 20)))
    doubt = draw(st.sampled_from([None, None, Message("input_not_accepted", names=["places-in-the-sea"])]))
    return Figures(risk, WANTED, person=draw(st.none() | SHARE), oracle=oracle, doubt=doubt)


def worse(one: Figures, by: float) -> list[Figures]:
    """The same figures, each with one thing that is worse, or is no longer known."""
    risk = one.risk

    def rise(value: float) -> float:
        return min(1.0, value + (1 - value) * by)

    value, high = rise(risk.value), rise(risk.high)
    found = [
        replace(one, risk=replace(risk, high=high)),
        replace(one, risk=replace(risk, value=value, high=max(risk.high, value))),
        replace(one, risk=replace(risk, value=value, high=max(high, value), beaten=True)),
        replace(one, risk=replace(risk, repetitions=max(risk.repetitions - 1, 0))),
        replace(one, oracle=None),
        replace(one, doubt=Message("input_not_accepted", names=["doubled-records"])),
    ]
    return found if one.person is None else [*found, replace(one, person=rise(one.person))]


@given(figures(), SHARE, SHARE, st.none() | SHARE)
def test_worse_figures_never_improve_the_status(one: Figures, by: float, limit: float, person: float | None) -> None:
    """Whatever is higher, was tried less often, is doubted or no longer known: the status stays or falls."""
    before = RANK[Judgement(one, Limits(limit, person)).status]
    for other in worse(one, by):
        assert RANK[Judgement(other, Limits(limit, person)).status] <= before, other
    for stricter in (Limits(limit * by, person), Limits(limit, 0.0 if person is None else person * by)):
        assert RANK[Judgement(one, stricter).status] <= before


@given(figures(), SHARE, st.none() | SHARE)
def test_nothing_is_shown_to_be_kept_that_is_above_a_limit(one: Figures, limit: float, person: float | None) -> None:
    """By the definition: an oracle that holds, all repetitions, no doubt, upper end and everybody under the limits."""
    found = Judgement(one, Limits(limit, person))
    shown = (
        one.oracle is not None
        and not one.risk.beaten
        and one.risk.repetitions >= one.repetitions
        and one.doubt is None
        and one.risk.high <= limit
        and (person is None or (one.person is not None and one.person <= person))
    )
    assert (found.status == MEETS) == shown
    if one.risk.value > limit or (person is not None and one.person is not None and one.person > person):
        assert found.status == FAILS
    else:
        assert found.status != FAILS
