"""What an audit says of sensitive columns: what is told without naming a record, its limit, and what decides."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from disclique.audits import Audit, AuditResult, Snooper, read_result, run_audit
from disclique.audits.facts import InferenceFacts
from disclique.audits.rates import OracleRisk, SettingRisk
from disclique.audits.verdict import Figures, Judgement, Limits
from disclique.errors import InputError
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.sensitive import code_sensitive
from disclique.runs import Processes
from small_files import make_plan, people, without_times

LABELS = ("labels",)


def make_file(values: dict[str, Any], n: int = 60, **more: Any) -> Microdata:
    table = people(n).assign(**values)
    return dq.microdata(table, ["sex"], coordinates=["lon", "lat"], ids="id", sensitive=list(values), **more)


def run(file: Microdata, *masks: str, **more: Any) -> AuditResult:
    return run_audit(Audit(make_plan(*masks, **({"attacks": LABELS} | more)), file))


def households(n: int = 60) -> Microdata:
    """Four people in each place, who share the value; places are far apart, so that only the four are mixed up."""
    home = np.repeat(np.arange(n // 4), 4)
    table = pd.DataFrame(
        {
            "id": range(n),
            "lon": 9.0 + 0.5 * (home % 8),
            "lat": 47 + 0.5 * (home // 8),
            "ill": np.array(["no", "yes"])[home % 2],
        }
    )
    return dq.microdata(table, [], coordinates=["lon", "lat"], ids="id", sensitive=["ill"])


def test_a_value_that_all_candidates_share_is_learned_although_nobody_is_found() -> None:
    """One of four is named in every household, and everybody's value is told: identity keeps its limit, and it fails.

    Half of the households are ill, so that nobody is told right by the distribution in more than half of the cases.
    """
    asked: dict[str, Any] = {"max_risk": 0.4, "repetitions": 4}
    safe = run(households(), "gaussian:sigma=2km", **asked)
    assert safe.verdict.status == "meets"
    (told,) = safe.settings[0].inference
    assert safe.settings[0].risk.value == pytest.approx(0.25, abs=0.05)
    assert told.by_distribution == pytest.approx(8 / 15)
    assert told.value == 1.0
    assert told.certain == 1.0
    assert told.person == 1.0
    assert {row.by for row in told.groups} == {"label", "density"}
    result = run(households(), "gaussian:sigma=2km", max_inference=0.6, **asked)
    assert result.verdict.status == "fails"
    assert result.verdict.reasons[0].code == "inference_above"
    assert result.settings[0].inference[0].meets is False
    assert not result.settings[0].open
    assert result.table["told_ill"].tolist() == [1.0]
    assert (result.people["told_ill"] == 1).all()


def test_a_range_is_searched_until_values_are_hidden_too() -> None:
    """With a limit of inference a stronger setting is found than without one."""
    asked: dict[str, Any] = {"max_risk": 0.4, "repetitions": 4, "person_trials": 10}
    masks = "gaussian:sigma=2km..600km"
    weak, strong = run(households(), masks, **asked), run(households(), masks, max_inference=0.75, **asked)
    assert weak.verdict.status == strong.verdict.status == "meets"
    chosen = [one.setting(one.verdict.setting) for one in (weak, strong)]
    assert chosen[0].dial_value is not None
    assert chosen[1].dial_value is not None
    assert chosen[0].dial_value < chosen[1].dial_value
    assert chosen[1].inference[0].high is not None
    assert chosen[1].inference[0].high <= 0.75
    assert "inference_kept" in [reason.code for reason in strong.verdict.reasons]


def test_a_limit_below_the_distribution_can_never_be_kept() -> None:
    """Nine of ten have the same value: that is said, and it fails however strong the noise is."""
    file = make_file({"ill": np.where(np.arange(60) % 10, "no", "yes")})
    result = run(file, "gaussian:sigma=500km", max_risk=0.9, max_inference=0.5)
    assert result.verdict.status == "fails"
    assert "limit_below_distribution" in [reason.code for reason in result.verdict.reasons]


@pytest.mark.parametrize("mask", ["gaussian:sigma=1km", "gaussian:sigma=40km", "affine", "round:to=80km"])
def test_never_below_identity_or_guessing(mask: str) -> None:
    """Of columns that say much, little or nothing, whatever the mask is, with some values missing."""
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(60) < 0.9, "no", "yes")
    holes = pd.Series(rng.choice(["a", "b", "c"], 60)).where(pd.Series(rng.random(60) < 0.8))
    file = make_file({"each": range(60), "rare": rare, "holes": holes})
    result = run(file, mask, snooper=Snooper(overlap=0.5))
    setting = result.settings[0]
    for told in setting.inference:
        assert told.value is not None
        assert told.high is not None
        assert told.high >= told.value >= max(setting.risk.value, told.by_distribution, told.by_labels)
        assert told.high >= setting.risk.high
    assert setting.inference[2].missing == int(holes.isna().sum())
    chance = result.people["told_holes"]
    assert chance.isna().sum() == setting.inference[2].missing
    assert (chance.dropna() >= result.people["risk"][chance.notna()] - 1e-9).all()


def test_strong_noise_leaves_what_guessing_gives() -> None:
    """A column that has nothing to do with places or labels is told no better than by labels alone, within chance."""
    file = make_file({"coin": np.random.default_rng(5).permutation(np.arange(200) % 2)}, 200)
    (told,) = run(file, "gaussian:sigma=3000km", repetitions=6).settings[0].inference
    assert told.value is not None
    assert told.value == pytest.approx(told.by_labels, abs=0.03)
    assert told.by_distribution == 0.5


def test_numbers_are_grouped_by_tenths() -> None:
    """Many different numbers and dates count by the tenth of the people; few ones and texts by themselves."""
    days = pd.date_range("2001-01-01", periods=60)
    values = {
        "income": np.linspace(1000, 9000, 60).round(2),
        "written": [f"{k}.5" for k in range(60)],
        "born": days,
        "few": np.arange(60) % 20,
        "text": [f"t{k}" for k in range(60)],
        "same": [0.0] * 50 + list(range(1, 11)) * 1,
        "gone": [None, *np.arange(1, 60)],
    }
    found = {one.name: one for one in code_sensitive(make_file(values))}
    assert {name: one.groups for name, one in found.items()} == {
        "income": 10, "written": 10, "born": 10, "few": 0, "text": 0, "same": 0, "gone": 10,
    }  # fmt: skip
    assert np.bincount(found["income"].codes).tolist() == [6] * 10
    assert found["income"].by_distribution == pytest.approx(0.1)
    assert found["text"].by_distribution == pytest.approx(1 / 60)
    assert found["same"].by_distribution == pytest.approx(50 / 60)
    assert found["gone"].missing == 1
    with pytest.raises(InputError, match="has no value"):
        code_sensitive(make_file({"empty": [None] * 60}))


def test_resumed_and_parallel_runs_say_the_same(tmp_path: Path) -> None:
    """In one process or two, begun and gone on with; an audit of other values begins anew."""
    file = make_file({"ill": np.random.default_rng(0).choice(["no", "yes"], 60), "income": np.arange(60.0)})
    plan = make_plan("gaussian:sigma=20km", attacks=LABELS, repetitions=2)
    alone = run_audit(Audit(plan, file), folder=tmp_path / "a")
    again = run_audit(Audit(plan, file), folder=tmp_path / "a")
    both = run_audit(Audit(plan, file), executor=Processes(2))
    assert without_times(alone) == without_times(again) == without_times(both)
    assert alone.people.equals(both.people)
    assert read_result(tmp_path / "a" / "result.json").settings[0].inference == alone.settings[0].inference
    other = replace(file, table=file.table.assign(ill="no"))
    plain = replace(file, roles=replace(file.roles, sensitive=()))
    assert len({Audit(plan, one).digest for one in (file, other, plain)}) == 3


def test_releases_splits_and_a_known_file() -> None:
    """A matrix of which strangers are kept back, two releases, a snooper with a file, insiders without a label."""
    rng = np.random.default_rng(0)
    table = people(40).assign(ill=rng.choice(["no", "yes"], 40))
    way = np.abs(rng.uniform(0, 100, (40, 1)) - rng.uniform(0, 100, (1, 40)))
    roads = dq.microdata(table, ["sex"], distances=np.triu(way, 1) + np.triu(way, 1).T, ids="id", sensitive=["ill"])
    places = dq.microdata(table, ["sex"], coordinates=["lon", "lat"], ids="id", sensitive=["ill"])
    known = dq.microdata(table.iloc[:20], ["sex"], coordinates=["lon", "lat"], ids="id")
    quick: dict[str, Any] = {"attacks": LABELS, "repetitions": 2, "person_trials": 10, "sensitivity": False}
    for result in (
        dq.audit(roads, "matrix-gaussian:sd=30", overlap=0.5, **quick),
        dq.audit(places, "gaussian:sigma=20km", releases=2, **quick),
        dq.audit(places, "gaussian:sigma=20km", known=known, **quick),
        dq.audit(places, "gaussian:sigma=20km", seeds=5, generalise="drop:sex", **quick),
    ):
        for setting in result.settings:
            (told,) = setting.inference
            assert told.value is not None
            assert told.draws >= 2
            assert told.value >= setting.risk.value


def test_what_is_not_measured_is_no_small_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an oracle there is no figure, only why: unproven with a limit, or it fails by what is known anyhow."""

    def refuse(*_: object) -> None:
        raise InputError("oracle_needs_mask")

    monkeypatch.setattr("disclique.audits.yardsticks.ask_oracle", refuse)
    file = make_file({"ill": np.arange(60) % 2})
    for limit, status in ((0.9, "unproven"), (0.4, "fails")):
        result = run(file, "gaussian:sigma=500km", max_risk=0.9, max_inference=limit, repetitions=6)
        (told,) = result.settings[0].inference
        assert told.value is told.high is told.certain is told.person is None
        assert told.why is not None
        assert told.by_distribution == 0.5
        assert result.verdict.status == status
        assert result.people["told_ill"].isna().all()
    codes = [reason.code for reason in result.verdict.reasons]
    assert "told_not_measured" in codes
    assert "could not be measured" in result.report()


def judge(high: float | None, value: float | None, limit: float | None) -> Judgement:
    risk = SettingRisk(0.05, 0.08, "oracle", "oracle", 3)
    facts = InferenceFacts("ill", value, high, 0.3, 0.35, why=None if value is not None else Message("no_oracle"))
    figures = Figures(risk, 3, oracle=OracleRisk(0.05, 0.08, 3), inference=(facts,))
    return Judgement(figures, Limits(0.1, inference=limit))


@given(st.floats(0.35, 1), st.floats(0, 0.2), st.floats(0.1, 0.99))
@settings(deadline=None, max_examples=50)
def test_the_upper_end_decides(value: float, more: float, limit: float) -> None:
    found = judge(min(value + more, 1.0), value, limit)
    assert (found.status == "meets") == (min(value + more, 1.0) <= limit)
    assert (found.status == "fails") == (value > limit)
    assert judge(min(value + more, 1.0), value, None).status == "meets"
    blind = judge(None, None, limit)
    assert blind.status == ("unproven" if limit >= 0.35 else "fails")
    if found.status == "unproven":
        assert found.reason is not None
        assert found.reason.code == "inference_may_be"
    if blind.status == "unproven":
        assert blind.reason is not None
        assert blind.reason.code == "inference_not_measured"


def test_the_limit_needs_columns_and_the_limit_of_risk() -> None:
    with pytest.raises(InputError, match="set max risk too"):
        make_plan(max_inference=0.5)
    with pytest.raises(InputError, match="name at least one"):
        Audit(make_plan(max_risk=0.5, max_inference=0.5), make_file({}))


def test_the_report_says_what_is_learned() -> None:
    file = make_file({"ill": np.arange(60) % 2, "income": np.linspace(1, 9, 60)})
    result = run(file, "gaussian:sigma=20km", repetitions=2)
    page, german = result.report(), result.report(language="de")
    assert "What could be learned without naming anybody" in page
    assert "income is told in 10 groups" in page
    assert "Was sich erfahren lässt" in german
    assert "What could be learned" not in run(make_file({}), "gaussian:sigma=20km", repetitions=2).report()
