"""Audits of files with numbers: usefulness, what is said of them, groups, joint releases, and pages."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import disclique as dq
from builders import refused
from disclique.audits.result import AuditResult, decode_result, encode_result
from disclique.masks.settings import Setting, compare_dials, parse_range, read_dial
from disclique.messages import say

N = 120
NUMBERS = {"km_hospital": "km", "km_station": "km", "income": "none"}


@cache
def town() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    place = rng.normal(0, 4, (N, 2))
    places = rng.uniform(-8, 8, (9, 2))
    far = np.linalg.norm(place[:, None] - places, axis=2)
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "sex": rng.choice(["f", "m"], N),
            "lon": 8.5 + place[:, 0] / 71,
            "lat": 50 + place[:, 1] / 111,
            "km_hospital": far[:, :3].min(axis=1),
            "km_station": far[:, 3:].min(axis=1),
            "income": rng.lognormal(8, 0.5, N).round(),
        }
    )


def without_distances(**numbers: str) -> dq.Microdata:
    return dq.microdata(town(), ["sex"], ids="id", numbers=numbers or NUMBERS, name="town")


def with_places() -> dq.Microdata:
    return dq.microdata(town(), ["sex"], coordinates=["lon", "lat"], ids="id", numbers=NUMBERS, name="town")


@cache
def audited() -> AuditResult:
    masks = ["none | km_*=round:500m..8km | income=classes:2000,3000,5000", "none | drop:income | km_*=gaussian:2km"]
    return dq.audit(
        without_distances(), masks, repetitions=2, max_risk=0.2, attacks=["labels", "numbers"], person_trials=20
    )


@cache
def joint() -> AuditResult:
    return dq.audit(
        with_places(), "gaussian:sigma=3km | km_*=round:1km | drop:income", repetitions=2, attacks="labels",
        person_trials=20,
    )  # fmt: skip


def test_usefulness_of_numbers_is_their_rank_correlation() -> None:
    result = audited()
    assert result.plan.utility == "numbers"
    for s in result.settings:
        if "drop:income" in s.spec:
            continue
        width = float(read_dial(Setting.parse(s.spec), "km_*=round")) / 1000
        kept = []
        for name in NUMBERS:
            true = town()[name].to_numpy()
            if name == "income":
                released = np.searchsorted([2000, 3000, 5000], true, side="right").astype(float)
            else:
                released = np.floor(true / width + 0.5) * width
            kept.append(0.0 if np.ptp(released) == 0 else spearmanr(true, released).statistic)
        assert s.usefulness == pytest.approx(np.mean(kept), abs=1e-9)
        assert s.numbers is not None
        assert s.numbers.kept == s.usefulness
    dropped = next(s for s in result.settings if "drop:income" in s.spec)
    assert dropped.usefulness is not None
    assert dropped.usefulness < 2 / 3


def test_a_setting_says_what_is_done_to_numbers() -> None:
    result = audited()
    first, last = result.settings[0], result.settings[-1]
    assert first.numbers is not None
    assert first.numbers.said.code == "numbers_recoded"
    assert [part.code for part in first.numbers.said.values["parts"]] == ["number_rounded", "number_in_classes"]
    assert last.numbers is not None
    assert [part.code for part in last.numbers.said.values["parts"]] == [
        "number_with_gaussian_noise",
        "numbers_left_out",
    ]
    assert last.labels is None  # nothing is done to labels
    assert [(one.name, one.unit) for one in result.file.numbers] == [
        ("km_hospital", "km"),
        ("km_station", "km"),
        ("income", ""),
    ]
    for language in ("en", "de"):
        page = result.report(language=language)
        assert say(first.numbers.said, language) in page
        assert "km_hospital" in result.annex(language=language)


def test_a_range_over_numbers_is_a_dial() -> None:
    result = audited()
    turned = [s for s in result.settings if s.dial == "km_*=round"]
    assert len(turned) > 2
    assert turned[0].dial_value == 500
    charts = dq.report(result)
    assert "km_*: round (m)" in charts
    one, other = (Setting.parse(f"none | km_*=round:{size}") for size in ("500m", "5km"))
    assert compare_dials([one, other], "km_*=round") == [500, 5000]
    assert parse_range("none | km=round:1km").dial == "km=round"  # also asked for one by one


def test_groups_by_label_and_released_numbers() -> None:
    result = audited()
    for s in result.settings:
        rows = [one for one in result.groups if one.spec == s.spec and one.by == "numbers"]
        assert sum(one.records for one in rows) == (N if "gaussian" not in s.spec else 0)  # noise is shared by nobody
    assert not [one for one in result.groups if one.by == "density"]
    coarse = next(s for s in result.settings if s.spec.startswith("none | km_*=round:8000m"))
    data = town()
    released = pd.DataFrame(
        {
            "sex": data["sex"],
            "a": np.floor(data["km_hospital"] / 8 + 0.5),
            "b": np.floor(data["km_station"] / 8 + 0.5),
            "c": np.searchsorted([2000, 3000, 5000], data["income"], side="right"),
        }
    )
    sizes = released.groupby(list(released))["sex"].transform("size")
    alone = [one.records for one in result.groups if (one.spec, one.by, one.group) == (coarse.spec, "numbers", "1")]
    assert sum(alone) == int((sizes == 1).sum())


def test_a_result_with_numbers_is_read_back() -> None:
    for result in (audited(), joint()):
        assert decode_result(encode_result(result)) == result


def test_a_joint_release_says_what_numbers_add() -> None:
    found = joint().joint
    assert found is not None
    assert found.places
    alone = dq.audit(
        dq.microdata(town(), ["sex"], coordinates=["lon", "lat"], ids="id"),
        "gaussian:sigma=3km",
        repetitions=2,
        attacks="labels",
        person_trials=20,
    )
    numbers = dq.audit(
        without_distances(km_hospital="km", km_station="km"), "none | km_*=round:1km", repetitions=2, attacks="labels",
        person_trials=20,
    )  # fmt: skip
    assert found.both == joint().settings[0].oracle.value  # type: ignore[union-attr]
    assert found.without == pytest.approx(alone.settings[0].oracle.value, abs=0.04)  # type: ignore[union-attr]
    assert found.numbers == pytest.approx(numbers.settings[0].oracle.value, abs=1e-9)  # type: ignore[union-attr]
    assert found.both > max(found.without, found.numbers)
    assert audited().joint is None
    assert alone.joint is None
    assert say(found.message, "de") in joint().report(language="de")


def test_a_number_that_is_left_out_beside_what_is_done_to_it() -> None:
    result = dq.audit(
        without_distances(),
        "none | income=round:100",
        generalise=["drop:income"],
        repetitions=1,
        attacks="labels",
        person_trials=20,
    )
    assert [s.spec for s in result.settings] == ["none | income=round:100", "none | drop:income"]
    assert result.settings[0].risk.value > result.settings[1].risk.value * 0.99


def test_a_measure_of_distances_is_refused_without_them() -> None:
    with refused("utility_of_distances"):
        dq.audit(without_distances(), "none", utility="spearman", repetitions=1)


def test_all_numbers_left_out_leave_labels() -> None:
    result = dq.audit(without_distances(), "none | drop:*", repetitions=1, attacks="labels", person_trials=20)
    assert result.settings[0].usefulness == 0
    assert result.settings[0].risk.value == pytest.approx(2 / N)


def test_withheld_distances_leave_numbers_to_be_said() -> None:
    result = dq.audit(
        with_places(), "withheld | km_*=round:2km | drop:income", repetitions=1, attacks="labels", person_trials=20
    )
    assert result.plan.utility == "numbers"
    assert result.joint is None
    assert result.verdict.reasons[0].values["mask"].code == "numbers_without_distances"
    mixed = dq.audit(
        with_places(), ["withheld | km_*=round:2km", "gaussian:sigma=1km"], repetitions=1, attacks="labels",
        person_trials=20,
    )  # fmt: skip
    assert mixed.plan.utility == "neighbours"
    assert mixed.settings[0].usefulness == 0  # of the distances nothing is left


@pytest.mark.parametrize("how", ["rounded", "floored", "off by 20 m"])
def test_a_known_file_with_other_digits_hides_nobody(how: str) -> None:
    """Numbers that differ by a hair from the snooper's excluded the right people: all looked safe."""
    rng = np.random.default_rng(3)
    true = pd.DataFrame({"id": range(200), "one": rng.gamma(2, 3, 200), "two": rng.gamma(2, 3, 200)})
    change = {
        "rounded": lambda km: (km / 0.1).round() * 0.1,
        "floored": lambda km: np.floor(km / 0.1) * 0.1,
        "off by 20 m": lambda km: km + 0.02 * rng.standard_normal(200),
    }[how]
    asked = {"one": "km", "two": "km"}
    file = dq.microdata(true.assign(**{name: change(true[name]) for name in asked}), ids="id", numbers=asked)
    known = dq.microdata(true, ids="id", numbers=asked)
    options = {"repetitions": 2, "person_trials": 10, "sensitivity": False, "attacks": ["numbers"]}
    for mask in ("none", "none | *=round:200m", "none | *=gaussian:50m"):
        found = dq.audit(file, mask, known=known, **options).settings[0].risk  # type: ignore[arg-type]
        assert found.value > 0.7, mask
