"""One number: what a release gives away, whoever measures it; the oracle decides and attacks demonstrate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disclique as dq
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle import Answer
from disclique.audits import Audit, AuditResult, Snooper, run_audit
from disclique.audits.facts import SettingFacts
from disclique.errors import InputError
from disclique.masks import masks
from disclique.measures.risk import SCENARIOS
from disclique.spaces import Matrix, full_matrix
from disclique.spaces.base import Distances
from small_files import make_audit, make_file, make_plan

LIGHT: dict[str, Any] = {"attacks": ("labels", "register"), "person_trials": 10}


def find(result: AuditResult, code: str) -> list[dict[str, Any]]:
    """The values of the cautions and limits of a code."""
    return [dict(one.values) for one in (*result.verdict.cautions, *result.limits) if one.code == code]


# -- an oracle that is wrong -----------------------------------------------------------------------------------------


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that finds nobody, whatever it is asked."""

    def answer(masked: Sequence[Distances], holder: Holder) -> Answer:
        return Answer({name: np.zeros(len(holder.sought)) for name in SCENARIOS})

    monkeypatch.setattr("disclique.audits.yardsticks.ask_oracle", answer)


@pytest.mark.usefixtures("blind")
def test_an_oracle_that_is_wrong_is_beaten() -> None:
    """A rigid motion hides nobody from registration: that counts, all releases are attacked, and it is said."""
    result = run_audit(make_audit("affine", n=40, repetitions=5, max_risk=0.9, **LIGHT))
    (setting,) = result.settings
    assert setting.oracle is not None
    assert setting.oracle.value == 0.0
    assert setting.risk.beaten
    assert (setting.risk.value, setting.risk.by) == (1.0, "register")
    assert setting.risk.found is not None
    assert setting.risk.found.releases == 5
    assert not setting.meets
    assert result.verdict.status == "fails"
    assert find(result, "oracle_beaten") == [{"attack": "register", "value": 1.0}]
    assert find(result, "oracle_beaten_at") == [{"settings": (setting.brief,)}]


@pytest.mark.usefixtures("blind")
def test_neighbours_of_a_setting_whose_oracle_was_beaten_are_attacked_in_full() -> None:
    """By the oracle the weakest setting would do; every setting that looks safe by it is attacked until none is."""
    plan = {"repetitions": 4, "max_risk": 0.3, "person_trials": 10, "attacks": ("labels",)}
    result = run_audit(make_audit("gaussian:sigma=100m..1km", n=30, **plan))
    assert result.verdict.status == "unproven"  # guesses by labels are under the limit, their upper end is not
    assert result.decisions[0].setting is None
    beaten = [setting for setting in result.settings if setting.risk.beaten]
    assert beaten
    order = [setting.spec for setting in result.settings]
    for setting in beaten:
        place = order.index(setting.spec)
        for near in result.settings[max(place - 1, 0) : place + 2]:
            assert [one.releases for one in near.attacks] == [4], near.spec
    assert not any(setting.meets for setting in result.settings)
    assert find(result, "oracle_beaten_at") == [{"settings": tuple(setting.brief for setting in beaten)}]


@pytest.mark.usefixtures("blind")
def test_no_limit_is_kept_by_attacks_where_the_oracle_is_wrong() -> None:
    """All that attacks find is under the limit, with its upper end: who is wrong once may be wrong again."""
    asked = {"repetitions": 5, "max_risk": 0.9, "person_trials": 10, "attacks": ("labels",)}
    result = run_audit(make_audit("gaussian:sigma=900km", n=30, **asked))
    assert result.settings[0].risk.beaten
    assert result.settings[0].risk.high <= 0.9
    assert result.verdict.status == "unproven"
    why = result.settings[0].open_why
    assert why is not None
    assert why.code == "oracle_is_wrong"


def test_without_an_oracle_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The risk is that of attacks, with an end that holds for any law of them; the verdict is never that it is kept."""

    def refuse(masked: Sequence[Distances], holder: Holder) -> Answer:
        raise InputError("oracle_needs_mask")

    monkeypatch.setattr("disclique.audits.yardsticks.ask_oracle", refuse)
    strong = run_audit(make_audit("gaussian:sigma=900km", n=30, max_risk=0.99, attacks=("labels",)))
    (setting,) = strong.settings
    assert setting.oracle is None
    assert strong.people_risk == ()
    assert setting.risk.found is not None
    assert setting.risk.value >= max(setting.risk.found.value, setting.guess)
    assert strong.verdict.status == "unproven"
    assert (setting.open, setting.open_why.code) == (True, "no_oracle")  # type: ignore[union-attr]
    assert [one["setting"] for one in find(strong, "not_modelled")] == [setting.brief]
    assert setting.risk.value < setting.risk.high < 0.99
    file = make_file(20)
    bare = replace(file, distances=Matrix(np.sqrt(full_matrix(file.distances))))
    none = run_audit(Audit(make_plan("round:to=1", max_risk=0.99, attacks=("register",)), bare))
    assert not none.settings[0].attacks[0].applies
    assert (none.settings[0].risk.value, none.settings[0].risk.high) == (1.0, 1.0)
    assert none.verdict.status == "fails"
    assert find(none, "nothing_known_of_risk") == [{}]


def test_insiders_who_have_fewer_people_to_guess_among_beat_no_oracle() -> None:
    """Noise that leaves nothing but labels: of thirty people ten are known, and the others are guessed more easily."""
    result = run_audit(make_audit("gaussian:sigma=900km", n=30, max_risk=0.6, attacks=("labels",)))
    assert not result.settings[0].risk.beaten
    assert result.verdict.status == "meets"


# -- the headline is never below anything ----------------------------------------------------------------------------

FITTING = {  # every mask of the registry that takes a map, at a setting that hides some people of a small one
    "affine": "affine",
    "dhs": "dhs:urban=10km,rural=25km,far=50km",
    "disc": "disc:max=40km",
    "donut": "donut:min=16km,max=32km",
    "gaussian": "gaussian:sigma=20km",
    "grid": "grid:cell=50km",
    "knn": "knn:k=5",
    "laplace": "laplace:epsilon=0.1/km",
    "lipschitz": "lipschitz:sets=20",
    "matrix-gaussian": "matrix-gaussian:sd=50km",
    "matrix-laplace": "matrix-laplace:b=50km",
    "multiplicative": "multiplicative:sd=0.5",
    "none": "none",
    "projection": "projection:dimensions=2",
    "round": "round:to=50km",
    "swap": "swap:radius=50km",
    "topcode": "topcode:max=50km",
    "voronoi": "voronoi",
    "within": "within:size=50km,by=sex,how=gaussian",
}


def test_every_mask_that_takes_a_map_is_tried() -> None:
    others = {name for name, kind in masks().items() if kind.on == "text"} | {"rotation", "withheld"}
    assert set(masks()) <= set(FITTING) | others


def check_one_number(setting: SettingFacts) -> None:
    """The one number is the largest of all that was measured, and its end is not below it."""
    risk = setting.risk
    shown = [one.risk.value for one in setting.attacks if one.applies and one.risk.value is not None]
    told = [setting.guess, *shown, *([] if setting.oracle is None else [setting.oracle.value])]
    assert risk.value >= max(told) - 1e-9
    if risk.by == "insider":  # counts only where the oracle is wrong
        assert risk.beaten
    else:
        assert risk.value == pytest.approx(max(told))
    assert risk.high >= risk.value
    assert risk.highest >= risk.value - 1e-9
    assert setting.oracle is None or risk.high >= setting.oracle.high
    assert (None if risk.found is None else risk.found.value) == max(shown, default=None)
    assert setting.oracle is not None, "every mask of a map has one"


@st.composite
def plans(draw: st.DrawFn) -> Audit:
    """Any mask, any snooper, any scenario, once or twice released."""
    overlap = draw(st.none() | st.sampled_from([0.3, 0.6, 1.0]))
    error = draw(st.none() | st.none() | st.sampled_from(["1km", "30km"]))
    wrong = draw(st.just(0.0) | st.sampled_from([0.02, 0.2]))
    snooper = Snooper(overlap=overlap, label_error=wrong, coordinate_error=error)
    asked = {
        "scenario": draw(st.sampled_from(SCENARIOS)),
        "releases": draw(st.sampled_from([1, 1, 2])),
        "seed": draw(st.integers(0, 99)),
        "max_risk": draw(st.none() | st.sampled_from([0.1, 0.5])),
        "attacks": draw(st.sampled_from([("labels",), ("labels", "clique"), ("labels", "register")])),
        "person_trials": 10,
    }
    spec = FITTING[draw(st.sampled_from(sorted(FITTING)))]
    return Audit(make_plan(spec, snooper=snooper, repetitions=2, **asked), make_file(20, 1))


@pytest.mark.long
@settings(max_examples=12)
@given(plans())
def test_the_headline_is_never_below_what_anybody_finds(audit: Audit) -> None:
    result = run_audit(audit)
    for setting in result.settings:
        check_one_number(setting)
        assert setting.meets is not True or setting.risk.high <= (audit.plan.max_risk or 0.0)
    snooper = audit.plan.snooper
    assert len(result.favours) >= (snooper.label_error > 0) + (snooper.coordinate_error is not None)


# -- what attacks demonstrate does not decide ------------------------------------------------------------------------


def test_weak_attacks_and_all_attacks_give_the_same_risk_and_verdict() -> None:
    """Whoever asks for labels alone reads the same number, the same setting and the same decision."""
    file = make_file(40)
    asked = {"repetitions": 4, "max_risk": 0.5}
    weak, strong = (
        run_audit(Audit(make_plan("gaussian:sigma=20km..400km", **asked, attacks=names), file))
        for names in (("labels",), ("all",))
    )
    assert weak.verdict.status == strong.verdict.status == "meets"
    assert weak.verdict.setting == strong.verdict.setting
    assert [one.spec for one in weak.settings] == [one.spec for one in strong.settings]
    for one, other in zip(weak.settings, strong.settings, strict=True):
        assert one.risk.value == pytest.approx(other.risk.value, abs=0.02)
        assert one.meets == other.meets
        assert one.oracle == other.oracle
    assert len(weak.setting(weak.verdict.setting).attacks) < len(strong.setting(strong.verdict.setting).attacks)


def test_attacks_demonstrate_on_few_settings_and_few_releases() -> None:
    """The verdict's setting, the next weaker one, and every fixed mask, three releases each; ``thorough`` on all."""
    masks_ = ("affine", "gaussian:sigma=20km..400km")
    plan = make_plan(*masks_, attacks=("labels",), repetitions=4, max_risk=0.5, person_trials=10)
    result = run_audit(Audit(plan, make_file(40)))
    names = [setting.spec for setting in result.settings]
    place = names.index(result.verdict.setting)
    often = {one.spec: one.risk.found.releases for one in result.settings if one.risk.found is not None}
    assert often == {names[0]: 3, names[place - 1]: 3, names[place]: 3}
    assert all(setting.repetitions == 4 for setting in result.settings)
    thorough = run_audit(Audit(replace(plan, thorough=True), make_file(40)))
    assert [one.risk.found.releases for one in thorough.settings if one.risk.found] == [4] * len(names)
    assert thorough.verdict.setting == result.verdict.setting


# -- what is assumed in the holder's favour --------------------------------------------------------------------------

FAVOURS: dict[str, dict[str, Any]] = {
    "assumed_coordinate_error": {"coordinate_error": "20km"},
    "assumed_label_error": {"label_error": 0.3},
    "assumed_overlap": {"overlap": 0.3},
    "assumed_strangers": {"overlap": 0.3, "size": 200},
}


@pytest.mark.parametrize("sensitivity", [False, True])
@pytest.mark.parametrize("code", FAVOURS)
def test_what_is_assumed_in_ones_favour_is_said_with_the_risk_without_it(code: str, *, sensitivity: bool) -> None:
    """In the result and on the first screen of the report, whether or not other assumptions are asked about."""
    asked = {"attacks": "labels", "repetitions": 8, "person_trials": 10, "sensitivity": sensitivity}
    result = dq.audit(make_file(50), "gaussian:sigma=12km", **asked, **FAVOURS[code])
    (favour,) = [one for one in result.favours if one.said.code == code]
    risk = result.settings[0].risk
    assert favour.risk is not None
    assert favour.high is not None
    assert favour.high >= favour.risk >= risk.value - 0.02
    if code != "assumed_overlap":  # to know more people of a release helps little where each is found alone
        assert favour.risk > risk.value
    page = result.report()
    assert page.index('class="favours"') < page.index("<h2>")
    varied = {one.varied for one in result.sensitivity.points} if result.sensitivity is not None else set()
    assert ("label-error" in varied) == (sensitivity or code == "assumed_label_error")


def test_nothing_is_said_to_be_in_ones_favour_in_the_worst_case() -> None:
    result = dq.audit(make_file(20), "affine", attacks="labels", repetitions=1, person_trials=1, sensitivity=False)
    assert result.favours == ()
    assert result.sensitivity is None
    journalist = dq.audit(
        make_file(30),
        "gaussian:sigma=30km",
        scenario="journalist",
        attacks="labels",
        repetitions=3,
        sensitivity=False,
        person_trials=10,
    )
    (favour,) = journalist.favours
    assert favour.said.code == "assumed_journalist"
    assert favour.risk is not None
    assert favour.risk >= journalist.settings[0].risk.value
