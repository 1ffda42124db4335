"""The decision of an audit: the smallest sufficient setting, and ``meets`` only where it is shown."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from builders import mask_in_order
from disclique.attacks import ExtendAttack, attacks
from disclique.audits import AuditResult, MaskRange, parse_range, run_audit
from disclique.audits.exposure import Findings
from disclique.audits.facts import Decision
from disclique.audits.rates import Found, OracleRisk, SettingRisk
from disclique.audits.release_records import Attempt, InsiderHits, OracleRecord, ReleaseRecord
from disclique.audits.search import pareto, search_range
from disclique.audits.summarise import Context, summarise
from disclique.audits.verdict import Figures, Judgement, Limits
from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.measures.risk import Hits
from disclique.messages import Message
from small_files import make_audit, make_file, make_plan


def written(mask: MaskRange) -> tuple[str, ...]:
    """The settings of a range as texts."""
    return tuple(map(str, mask.settings))


def test_a_range_is_geometric_and_runs_from_weak_to_strong() -> None:
    """Metres and kilometres mix; a dial that protects when it falls is turned round; whole numbers stay whole."""
    found = parse_range("gaussian:sigma=100m..1km", 3)
    assert written(found) == ("gaussian:sigma=100m", "gaussian:sigma=316m", "gaussian:sigma=1000m")
    assert written(parse_range("laplace:epsilon=1/km..4/km", 3))[0] == "laplace:epsilon=4/km"
    assert written(parse_range("knn:k=4..16", 3)) == ("knn:k=16", "knn:k=8", "knn:k=4")
    assert written(parse_range("gaussian:sigma=1km", 3)) == ("gaussian:sigma=1km",)
    for spec, why in {
        "donut:min=1m..2m,max=3m": "not the dial",
        "gaussian:sigma=1m..1deg": "same kind of unit",
        "affine:mirror=a..b": "choose one of",
    }.items():
        with pytest.raises(InputError, match=why):
            parse_range(spec)


def carried_out(mask: MaskRange, limit: float, high: Callable[[int], float]) -> tuple[Decision, list[Setting]]:
    """A search with made-up risks by the place of a setting: its decision, and the settings it looked at."""
    measured: list[Setting] = []

    def judge_made_up(setting: Setting) -> Judgement | None:
        if setting not in measured:
            return None
        risk = high(mask.settings.index(setting))
        figures = Figures(SettingRisk(risk, risk, "oracle", "oracle", 3), 3, oracle=OracleRisk(risk, risk, 3))
        return Judgement(figures, Limits(limit))

    under_way = search_range(mask, judge_made_up)
    for _ in range(100):
        try:
            wanted = next(under_way)
        except StopIteration as end:
            return end.value, measured
        assert wanted
        assert not set(wanted) & set(measured)  # nothing is asked for twice
        measured += wanted
    raise AssertionError("the search does not end")


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 17), st.floats(0.01, 0.9), st.floats(0.3, 20), st.floats(0, 17))
def test_the_search_finds_what_the_full_grid_finds(steps: int, limit: float, slope: float, middle: float) -> None:
    """For every falling risk the same setting as by trying all of them, with fewer of them looked at."""
    mask = parse_range("gaussian:sigma=100m..5km", steps)

    def high(place: int) -> float:
        return float(1 / (1 + np.exp((place - middle) * slope / 3)))

    decision, measured = carried_out(mask, limit, high)
    enough = [spec for place, spec in enumerate(written(mask)) if high(place) <= limit]
    assert decision.setting == (enough[0] if enough else None)
    assert set(decision.evaluated) == set(map(str, measured))
    if len(mask.settings) >= 16:
        assert len(measured) <= 11
    if decision.setting is None:
        assert decision.why.code == "strongest_above"
    elif decision.setting == written(mask)[0]:
        assert decision.why.code == "weakest_suffices"
    else:
        weaker = mask.settings[written(mask).index(decision.setting) - 1]
        assert weaker in measured
        assert decision.why == Message("next_weaker_not_enough", setting=weaker.brief)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 17), st.data())
def test_the_search_never_chooses_a_setting_below_one_that_fails(steps: int, data: st.DataObject) -> None:
    """Also where risk does not fall with the dial: everything stronger that was looked at keeps the limit, too."""
    mask = parse_range("gaussian:sigma=100m..5km", steps)
    risks = data.draw(st.lists(st.sampled_from([0.1, 0.9]), min_size=len(mask.settings), max_size=len(mask.settings)))
    decision, measured = carried_out(mask, 0.5, lambda place: risks[place])
    looked = {str(setting): risks[mask.settings.index(setting)] for setting in measured}
    if decision.setting is None:
        assert risks[-1] > 0.5
    else:
        place = written(mask).index(decision.setting)
        assert all(looked[spec] <= 0.5 for spec in written(mask)[place:] if spec in looked)
        assert place == 0 or looked[written(mask)[place - 1]] > 0.5


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_the_front_is_what_nothing_beats(points: list[tuple[float, float]]) -> None:
    """Against the definition, point by point."""
    named = [(str(k), risk, use) for k, (risk, use) in enumerate(points)]
    front = set(pareto(named))
    for name, risk, use in named:
        beaten = any(r <= risk and u >= use and (r, u) != (risk, use) for _, r, u in named)
        assert (name in front) == (not beaten)


def test_the_decision_is_confirmed_by_its_neighbours() -> None:
    """The setting found keeps the limit, the next weaker one tried as often does not; the verdict says both."""
    asked: dict[str, Any] = {"max_risk": 0.5, "repetitions": 4, "attacks": ("labels",)}
    plan = make_plan("gaussian:sigma=20km..400km", **asked)
    result = run_audit(make_audit(*plan.masks, n=40, **asked))
    decision, mask = result.decisions[0], plan.ranges[0]
    assert decision.setting is not None
    place = written(mask).index(decision.setting)
    found, weaker = result.setting(decision.setting), result.setting(written(mask)[place - 1])
    assert found.meets
    assert found.repetitions == weaker.repetitions == 4
    assert weaker.risk.high > 0.5
    assert (result.verdict.status, result.verdict.setting) == ("meets", decision.setting)
    assert len(result.settings) < len(mask.settings)
    around = written(mask)[place : place + 2]  # the full grid around it says the same
    grid = run_audit(make_audit(*around, n=40, **asked))
    assert all(setting.meets for setting in grid.settings)


def test_no_setting_that_keeps_the_limit_is_said_so() -> None:
    """A range that is too weak has no decision, and the verdict is that nothing tried will do."""
    result = run_audit(make_audit("gaussian:sigma=10m..100m", n=30, max_risk=0.05, attacks=("labels",)))
    assert result.decisions[0].setting is None
    assert result.verdict.status == "fails"
    assert result.verdict.reasons[0].code == "verdict_fails"


def test_a_search_cut_short_is_said_and_decides_nothing() -> None:
    """A spent budget shows in the attack; the risk is what the release gives away, as with the search completed."""
    asked: dict[str, Any] = {"n": 30, "attacks": ("clique",), "repetitions": 1, "max_risk": 0.2}
    cut = run_audit(make_audit(budget=1e-9, **asked))
    setting = cut.settings[0]
    assert setting.attacks[0].cut == 1
    assert setting.risk.found is not None
    assert setting.risk.found.cut
    assert cut.verdict.status == "fails"
    done = run_audit(make_audit(**asked)).settings[0]
    assert done.risk.found is not None
    assert not done.risk.found.cut
    assert (setting.risk.value, setting.risk.high, setting.oracle) == (done.risk.value, done.risk.high, done.oracle)
    page = cut.report()
    assert "(cut short)" in page


@pytest.mark.parametrize("name", ["clique", "extend"])
def test_a_search_cut_short_is_a_lower_bound_in_an_attack(name: str) -> None:
    """Named or built, with the truth or without it; an unlimited search is none."""
    file = make_file()
    target = mask_in_order(file, "gaussian:sigma=2km", 0)
    for budget in (dq.Budget(work=1e-9), dq.Budget(seconds=0)):
        search = dq.Search(budget=budget)
        built = attacks()[name].build(dq.Knowledge(agreement=dq.Within(3)), search)
        if isinstance(built, ExtendAttack):
            built = replace(built, otherwise=None)  # else it rests on profiles, which was not cut short
            found = dq.attack(target, file, by=built, truth="id")
        else:
            found = dq.attack(target, file, by=name, agreement=dq.Within(3), search=search, truth="id")
        for result in (found, dq.attack(target, file, by=built)):
            assert result.lower_bound
            assert result.to_dict()["lower_bound"] is True
            assert "LOWER BOUND" in repr(result)
    assert not dq.attack(target, file, by=name, agreement=dq.Within(3)).lower_bound


COMMON = 40
ATTEMPT = st.tuples(st.integers(0, COMMON), st.booleans(), st.booleans())


def record_of(
    attempts: Sequence[tuple[int, bool, bool]], oracle: int | None, guess: int = 0, insider: int | None = None
) -> ReleaseRecord:
    """A release on which each attack found the first so many people, perhaps cut short, perhaps not carried out."""
    made = [
        Attempt(
            name,
            correct=tuple(range(found)),
            hits=Hits(found, found, found),
            cut=Message("the budget") if cut else None,
        )
        if applies
        else Attempt(name, why=Message("it does not apply"))
        for name, (found, cut, applies) in zip(("clique", "labels"), attempts, strict=False)
    ]
    asked = (
        OracleRecord(why=Message("not modelled"))
        if oracle is None
        else OracleRecord(hits=Hits(oracle, oracle, oracle), sought=COMMON)
    )
    seeded = () if insider is None else (InsiderHits(10, Hits(insider, insider, insider), COMMON - 10),)
    guessed = Hits(guess, guess, guess)
    return ReleaseRecord(
        COMMON, tuple(range(COMMON)), COMMON, guessed, oracle=asked, attempts=tuple(made), seeded=seeded
    )


def summary(records: dict[int, ReleaseRecord], limit: float, repetitions: int) -> AuditResult:
    """The result of an audit of one mask with these records."""
    asked: dict[str, Any] = {"max_risk": limit, "repetitions": repetitions, "attacks": ("clique", "labels")}
    audit = make_audit("affine", n=COMMON, **asked)
    return summarise(audit, Findings({audit.plan.settings[0]: records}, (), 0.0), Context())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(ATTEMPT, ATTEMPT), min_size=1, max_size=4),
    st.lists(st.none() | st.integers(0, COMMON), min_size=4, max_size=4)
    | st.lists(st.integers(0, COMMON), min_size=4, max_size=4),
    st.integers(0, COMMON),
    st.none() | st.integers(0, COMMON - 10),
    st.floats(0.001, 0.99),
)
def test_meets_only_where_it_is_shown(
    drawn: list[tuple[tuple[int, bool, bool], ...]],
    oracles: list[int | None],
    guess: int,
    insider: int | None,
    limit: float,
) -> None:
    """Hand-made records: never without an oracle in every release, nor all repetitions, nor above any figure."""
    records = {k: record_of(one, oracles[k], guess, insider) for k, one in enumerate(drawn[:3])}
    result = summary(records, limit, 3)
    setting = result.settings[0]
    told = [oracles[k] for k in records]
    there = [one for one in told if one is not None]
    means = [
        float(np.mean(found)) / COMMON
        for which in (0, 1)
        if (found := [one[which][0] for one in drawn[:3] if one[which][2]])
    ]
    known = len(there) == len(told)
    if known:
        least = max([guess / COMMON, float(np.mean(there)) / COMMON, *means])
        assert setting.risk.value >= least - 1e-9
    elif not means:
        assert (setting.risk.value, setting.risk.high) == (1.0, 1.0)
    assert setting.risk.high >= setting.risk.value
    assert setting.risk.highest >= setting.risk.value - 1e-9 or not (known or means)
    if setting.meets:
        assert known
        assert not setting.risk.beaten
        assert len(records) == 3
        assert setting.risk.high <= limit
    assert (result.verdict.status == "meets") == setting.meets
    if not setting.meets and setting.risk.value <= limit:
        assert result.verdict.status == "unproven"
        assert setting.open_why is not None


def test_the_oracle_decides_and_an_attack_that_beats_it_counts() -> None:
    """By hand, on twenty releases of 40 people: what the oracle finds, what attacks find, and what follows."""
    for found, oracle, status, by in [
        (2, 4, "meets", "oracle"),  # .1, at most .12
        (4, 4, "meets", "oracle"),
        (2, None, "unproven", "clique"),  # 20 releases with .05 each, and nothing known beyond
        (2, 30, "fails", "oracle"),
        (6, 4, "unproven", "clique"),  # beaten: the oracle is wrong
        (30, 4, "fails", "clique"),
    ]:
        records = dict.fromkeys(range(20), record_of([(found, False, True)], oracle))
        result = summary(records, 0.3, 20)
        (setting,) = result.settings
        assert (result.verdict.status, setting.risk.by) == (status, by), (found, oracle)
        assert setting.risk.value == pytest.approx(max(found, oracle or 0) / COMMON)
        assert setting.risk.beaten == (oracle is not None and found > oracle)
        assert setting.risk.found is not None
        assert setting.risk.found.value == pytest.approx(found / COMMON)


def test_an_attack_that_is_lucky_beats_no_oracle() -> None:
    """Up to the upper end, or two people of a hundred on the same releases, an attack may find more by chance."""
    records = {k: record_of([(5, False, True)] if k < 3 else [], 5 if k < 3 else 4) for k in range(20)}
    risk = summary(records, 0.3, 20).settings[0].risk
    assert (risk.beaten, risk.by, risk.value) == (False, "clique", 0.125)
    assert risk.found == Found("clique", 0.125, pytest.approx(risk.found.high if risk.found else 0), 3)
    assert risk.high >= 0.125


def test_insiders_count_where_there_is_no_oracle() -> None:
    """What one finds who knows ten people: a risk where nothing else is known; beside an oracle only if they beat it.

    Of the thirty others they find a larger share by guessing alone: only finds beyond those of the oracle beat it.
    """
    for oracle, insider, by in [
        (None, 20, "insider"),
        (30, 20, "oracle"),
        (4, 20, "insider"),
        (20, 20, "oracle"),
        (19, 20, "oracle"),
    ]:
        records = dict.fromkeys(range(20), record_of([(2, False, True)], oracle, insider=insider))
        risk = summary(records, 0.99, 20).settings[0].risk
        assert risk.by == by, oracle
        assert risk.beaten == (oracle == 4)
        assert risk.highest >= risk.value
        assert risk.found is not None
        assert risk.found.attack == "clique"  # what is shown in practice needs no inside knowledge


def test_the_most_exposed_person_can_break_the_second_limit() -> None:
    """A mean risk that keeps its limit is not enough where one person is found for certain."""
    asked: dict[str, Any] = {"n": 40, "max_risk": 0.6, "repetitions": 4, "attacks": ("labels",)}
    mask = "gaussian:sigma=150km"
    free = run_audit(make_audit(mask, **asked))
    assert free.verdict.status == "meets"
    bound = run_audit(make_audit(mask, max_risk_person=0.2, **asked))
    assert bound.verdict.status == "fails"
    assert bound.settings[0].person is not None
    assert bound.settings[0].person > 0.2
    assert bound.verdict.reasons[0].code == "person_above"
    loose = run_audit(make_audit(mask, max_risk_person=0.999, **asked))
    assert loose.verdict.status == "meets"
