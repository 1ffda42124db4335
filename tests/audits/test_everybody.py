"""The second figure of encodings: who is named or read of everybody, and what pairs known beforehand are worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import refused, rng
from disclique.audits.rates import EverybodyRisk, InsiderShare, OracleRisk, SettingRisk
from disclique.audits.result import AuditResult, decode_result, encode_result
from disclique.audits.verdict import FAILS, MEETS, UNPROVEN, Figures, Judgement, Limits, say_curve

FAST = {"attacks": ["labels"], "repetitions": 1, "sensitivity": False, "person_trials": 1}


def draw_file(count: int = 70, seed: int = 0) -> pd.DataFrame:
    """Invent people with names of syllables and a day of birth."""
    draw, ends = rng(seed), ("na", "ro", "ti", "mel", "ko", "sa", "vin", "lu", "der", "ga")
    names = {name: ["".join(draw.choice(ends, 3)) for _ in range(count)] for name in ("first", "last")}
    days = pd.Timestamp("1970-01-01") + pd.to_timedelta(draw.integers(3000, size=count), unit="D")
    return pd.DataFrame(names | {"born": days.strftime("%d.%m.%Y"), "id": [f"p{k}" for k in range(count)]})


def read(table: pd.DataFrame) -> dq.Microdata:
    return dq.microdata(table, [], text=["first", "last", "born"], ids="id")


@pytest.fixture(scope="module")
def found() -> AuditResult:
    """Few of the people are on the snooper's list, and all can be read."""
    masks = ["bloom:length=512", "bloom:length=512,salt=record"]
    return dq.audit(read(draw_file()), masks, overlap=0.4, max_risk=0.3, **FAST)


def test_people_on_no_list_are_read_unless_records_are_salted(found: AuditResult) -> None:
    """The figure is a share of all records; it is in the table, the sentences, the file and the pages."""
    open_, salted = (one.everybody for one in found.settings)
    assert open_ is not None
    assert salted is not None
    assert open_.read > 0.33
    assert open_.high >= open_.value >= open_.read
    assert open_.covered == 1.0
    assert salted.read < 0.01
    assert found.table["everybody"].tolist() == [open_.value, salted.value]
    assert "everybody_found" in [reason.code for reason in found.verdict.reasons]
    assert decode_result(encode_result(found)).settings == found.settings
    assert "chart-curve" in found.report()
    assert "Von allen" in found.report(language="de")


def test_both_curves_rise_over_the_same_points(found: AuditResult) -> None:
    """By distances and by learned code, from no known pair to all others."""
    for one in found.settings:
        assert one.oracle is not None
        for curve in (one.oracle.curve, one.oracle.code_curve):
            assert (np.diff([point.value for point in curve]) > -1e-5).all()
        assert [point.seeds for point in one.oracle.curve] == [point.seeds for point in one.oracle.code_curve]


@pytest.mark.long
def test_a_plain_regression_finds_no_more_than_the_oracle() -> None:
    """Thirty lines that a snooper may write: bits by pieces of text, and the nearest prediction."""
    people = read(draw_file(120, 3))
    mask = "bloom:length=512,flip=0.3"
    audited = dq.audit(people, mask, seeds=50, **FAST).settings[0]
    texts = people.distances.texts()
    assert texts is not None
    encodings = dq.parse_mask(mask).apply(texts, rng(8)).encodings()
    assert encodings is not None
    x, bits = texts.grams.members.toarray(), encodings.opened().astype(float)
    mean = bits[:50].mean(axis=0)
    learned = x[:50].T @ np.linalg.solve(x[:50] @ x[:50].T + 5 * np.eye(50), bits[:50] - mean)
    fit = (bits[50:] - mean) @ (x[50:] @ learned).T
    fit /= np.linalg.norm(x[50:] @ learned, axis=1)
    assert audited.oracle is not None
    assert audited.risk.high >= (fit.argmax(axis=0) == np.arange(70)).mean()


def make_figures(risk: float, everybody: float | None) -> Figures:
    second = None if everybody is None else EverybodyRisk(everybody, everybody + 0.02, 3, 200, 0.0, 1.0, 0.5)
    return Figures(
        SettingRisk(risk, risk + 0.01, "oracle", "oracle", 20), 20, oracle=OracleRisk(risk, risk, 20), everybody=second
    )


@pytest.mark.parametrize(
    ("risk", "everybody", "status"),
    [(0.01, None, MEETS), (0.01, 0.02, MEETS), (0.01, 0.04, UNPROVEN), (0.01, 0.2, FAILS), (0.2, 0.01, FAILS)],
)
def test_a_limit_is_kept_only_if_both_figures_keep_it(risk: float, everybody: float | None, status: str) -> None:
    """By their upper ends."""
    judged = Judgement(make_figures(risk, everybody), Limits(0.05))
    assert judged.status == status


def test_a_sentence_says_where_the_curve_crosses_the_limit(found: AuditResult) -> None:
    """At the better of both ways."""
    setting = found.settings[0]
    assert setting.oracle is not None
    curve, code = (tuple(InsiderShare(n, v) for n, v in zip((0, 10, 50), some, strict=True)) for some in _CURVES)
    known = replace(setting, oracle=replace(setting.oracle, curve=curve, code_curve=code))
    for limit, code_of_message, crossed in (
        (0.04, "curve_crosses", (0, 10, 0.05)),
        (0.1, "curve_crosses_last", (10, 50, 0.6)),
    ):
        said = say_curve(known, replace(found.plan, max_risk=limit))[0]  # type: ignore[arg-type]
        assert said.code == code_of_message
        assert (said.values["before"], said.values["seeds"], said.values["value"]) == crossed
    plan = found.plan
    said = say_curve(known, replace(plan, max_risk=0.7))[0]  # type: ignore[arg-type]
    assert said.code == "curve_below"
    said = say_curve(known, replace(plan, max_risk=0.001))[0]  # type: ignore[arg-type]
    assert said.code == "curve_crosses_at_once"


def test_a_curve_reaches_the_risk(found: AuditResult) -> None:
    """With as many pairs as the risk supposes no curve says that fewer are found."""
    for one in found.settings:
        assert one.oracle is not None
        reached = [point.value for curve in one.oracle.curves for point in curve if point.seeds >= one.oracle.seeds]
        assert max(reached) >= one.oracle.value


def test_a_curve_is_never_below_what_an_attack_found() -> None:
    """Who knows no pair is not kept out where an attack without any finds everybody: each way has its own curve."""
    asked = {**FAST, "attacks": ["profiles", "code"]}
    found = dq.audit(read(draw_file(80)), ["bloom:length=1024"], max_risk=0.1, **asked)  # type: ignore[arg-type]
    (setting,) = found.settings
    assert setting.oracle is not None
    shown = {one.attack: one.risk.value for one in setting.attacks}
    assert min(shown.values()) > 0.9  # type: ignore[type-var]
    for name, curve in (("profiles", setting.oracle.curve), ("code", setting.oracle.code_curve)):
        assert curve[0].seeds == 0
        assert all(point.value >= shown[name] for point in curve)
    codes = [reason.code for reason in found.verdict.reasons]
    assert "curve_crosses_at_once" in codes
    assert "curve_crosses" not in codes


_CURVES = ((0.01, 0.02, 0.03), (0.01, 0.05, 0.6))


@pytest.mark.long
def test_another_dictionary_reads_whom_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python and from the command line; one without the columns is refused."""
    from typer.testing import CliRunner

    from disclique.cli import app

    table = draw_file(60, 5)
    half = table.iloc[:20]
    made = dq.audit(read(table), "bloom:length=512", dictionary=half, **FAST)
    second = made.settings[0].everybody
    assert second is not None
    assert second.read <= second.covered < 0.6
    with refused("dictionary_needs_texts"):
        dq.audit(dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"]), "affine", dictionary=half)
    monkeypatch.chdir(tmp_path)
    table.to_csv("people.csv", index=False)
    half.to_csv("words.csv", index=False)
    asked = "audit people.csv --id id --text first --text last --text born --mask bloom:length=512 --attack labels"
    more = "--repetitions 1 --person-trials 1 --no-sensitivity --dictionary words.csv --out o --yes"
    CliRunner().invoke(app, [*asked.split(), *more.split()])
    written = dq.read_result("o/result.json").settings[0].everybody
    assert written is not None
    assert written.covered < 0.6
