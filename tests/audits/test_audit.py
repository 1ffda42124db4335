"""The audit: what its figures mean, what the snooper knows, and what they are when work was cut short."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

import disclique as dq
from disclique.audits import Audit, AuditResult, Plan, Snooper, run_audit
from disclique.audits.known_file import draw_control, draw_known_file
from disclique.audits.rates import rate
from disclique.errors import InputError
from disclique.messages import Message
from disclique.records.tables import microdata
from disclique.runs import Processes
from disclique.spaces import Matrix, Points, full_matrix
from small_files import make_audit, make_file, make_plan, people, without_times


def test_the_interval_is_over_releases() -> None:
    """Clopper and Pearson's by hand where releases have all or nothing; people of one release add nothing to it."""
    nothing = rate([0.0, 0.0, 0.0])
    assert nothing.value == nothing.low == 0
    assert nothing.high == pytest.approx(1 - 0.025 ** (1 / 3))
    some = rate([0.0, 1.0, 1.0, 0.0])
    assert some.value == 0.5
    assert (some.low, some.high) == (pytest.approx(beta.ppf(0.025, 2, 3)), pytest.approx(beta.ppf(0.975, 3, 2)))
    assert rate([]).value is None


def test_a_rigid_motion_protects_nothing_and_noise_does() -> None:
    """Every person is found behind the affine mask; far noise hides them; the control shows no true claims."""
    result = run_audit(make_audit("affine", "gaussian:sigma=60km", attacks=("labels", "clique")))
    affine = result.setting("affine:mirror=random")
    assert affine.risk.value == 1.0
    assert affine.usefulness == 1.0
    far = result.setting("gaussian:sigma=60km")
    assert far.guess < far.risk.value < 0.7
    assert affine.oracle is not None
    assert affine.oracle.value == 1.0
    assert result.verdict.status == "measured"
    assert result.verdict.reasons[0].values["gives"] == Message(
        "gives_prosecutor", share=1.0, high=affine.risk.high, most=None
    )
    assert affine.risk.found is not None
    assert (affine.risk.found.attack, affine.risk.found.value, affine.risk.found.releases) == ("clique", 1.0, 3)
    clique = next(one for one in affine.attacks if one.attack == "clique")
    assert clique.precision.value == 1.0
    assert clique.recall.value == clique.named.value == 1.0
    assert clique.control is not None
    assert 0 <= clique.control < 0.2


def test_independent_noise_on_the_matrix_protects_less_than_noise_on_coordinates() -> None:
    """The same variance of d - d': whoever knows all the others undoes independent noise."""
    masks = ("gaussian:sigma=12km", "matrix-gaussian:sd=17km")  # 17 = 12·√2
    plan = make_plan(*masks, attacks=("labels",))
    points, matrix = run_audit(Audit(plan, make_file(60))).settings
    assert points.utility
    assert matrix.utility
    assert points.utility["variance"] == pytest.approx(matrix.utility["variance"], rel=0.35)
    assert matrix.risk.value > points.risk.value + 0.05


def test_guessing_is_the_sum_of_one_over_the_group() -> None:
    """The expected share of a guess, counted by hand: one person for every label group of the whole file."""
    file = make_file()
    result = run_audit(Audit(make_plan(repetitions=1, attacks=("labels",)), file))
    groups = len(set(file.labels.itertuples(index=False, name=None)))
    assert result.settings[0].guess == pytest.approx(groups / 60)
    assert sum(group.records for group in result.file.label_groups) == 60


def test_the_whole_file_is_the_worst_case_and_comes_in_random_order() -> None:
    """The snooper's rows lie in another order than the release, and the truth follows the ids."""
    audit = make_audit()
    known = draw_known_file(audit, 0)
    assert sorted(known.data.ids) == sorted(audit.target.ids)
    assert known.data.ids != audit.target.ids
    assert [known.data.ids[k] for _, k in known.truth.pairs] == [audit.target.ids[t] for t, _ in known.truth.pairs]
    assert draw_known_file(audit, 0).data.ids == known.data.ids
    assert draw_known_file(audit, 1).data.ids != known.data.ids


def test_a_drawn_file_has_the_share_asked_for_and_others_like_the_file() -> None:
    """A quarter of the targets, as many records as released, strangers in the same region."""
    audit = make_audit(snooper=Snooper(overlap=0.25))
    known = draw_known_file(audit, 0)
    assert (len(known.data), len(known.truth)) == (60, 15)
    places = known.data.distances
    assert isinstance(places, Points)
    assert (np.abs(places.coordinates - [10, 50]) < 3).all()
    control = draw_control(audit, known, 0)
    assert control is not None
    rows, strangers = control.rows, control.data
    assert not set(strangers.ids) & set(audit.target.ids)
    assert (len(strangers), len(rows)) == (60, 60)


def test_others_from_a_file_are_never_released_people() -> None:
    """Whoever of the file of others is released too is left out of the strangers."""
    table = people(90, seed=0).iloc[30:]
    others = microdata(table, ["sex", "age"], coordinates=["lon", "lat"], ids="id", name="others")
    audit = Audit(make_plan(snooper=Snooper(overlap=0.5, others="file")), make_file(), others=others)
    known = draw_known_file(audit, 0)
    assert len(known.truth) == 30
    assert len(known.data) == 30 + 30  # p060 to p089 are strangers
    assert draw_control(audit, known, 0) is not None


def test_a_given_file_is_linked_through_the_ids() -> None:
    """The truth is the id; a file without a common id has nothing to measure."""
    known = microdata(people(60).iloc[40:], ["sex", "age"], coordinates=["lon", "lat"], ids="id", name="known")
    result = dq.audit(make_file(), "affine", known=known, repetitions=1, attacks=["clique"], budget=0.1)
    assert result.snooper.common == 20
    assert result.settings[0].risk.value == 1.0
    with pytest.raises(InputError, match="no id in common"):
        dq.audit(make_file(), "affine", known=replace(known, ids=tuple(range(20))))


def test_errors_of_the_snooper_lower_the_risk() -> None:
    """Wrong places make their map useless; wrong labels hide people from the clique, and not from who weighs them."""
    wrong = make_audit("affine", n=40, snooper=Snooper(label_error=0.3), attacks=("clique",))
    far = make_audit("affine", n=40, snooper=Snooper(coordinate_error="50km"), attacks=("labels",))  # type: ignore[arg-type]
    mistaken, misplaced = (run_audit(one).settings[0] for one in (wrong, far))
    assert mistaken.risk.value == 1
    assert mistaken.risk.found is not None
    assert 0.2 < mistaken.risk.found.value < 0.8
    assert misplaced.guess < misplaced.risk.value < 0.7


def test_attacks_that_weigh_evidence_see_through_wrong_labels() -> None:
    """A fifth of the label values is wrong: whoever takes labels at their word loses these people, nobody else does."""
    names = ("clique", "extend", "register", "isomap")
    snooper = Snooper(overlap=0.5, label_error=0.2)
    audit = make_audit("gaussian:sigma=300m", n=60, snooper=snooper, attacks=names, repetitions=2)
    setting = run_audit(audit).settings[0]
    recall = {one.attack: one.recall.value or 0.0 for one in setting.attacks}
    assert recall["clique"] < 0.7
    assert min(recall["extend"], recall["register"], recall["isomap"]) > 0.9
    assert setting.oracle is not None
    assert setting.oracle.value > 0.9


def test_a_matrix_is_audited_without_coordinates() -> None:
    """One that fits a map is audited on it; of another one the file is split for an overlap."""
    file = make_file(40)
    matrix = replace(file, distances=Matrix(np.round(full_matrix(file.distances), 6)))
    result = run_audit(Audit(make_plan("round:to=1", "matrix-gaussian:sd=0.5", attacks=("labels",)), matrix))
    assert result.file.distances == "matrix"
    assert all(setting.risk.value > 0.9 for setting in result.settings)
    whole = dq.audit(matrix, "round:to=1", overlap=0.5, repetitions=1, attacks=["labels"])
    assert (whole.file.records, whole.snooper.records) == (40, 40)
    matrix = replace(file, distances=Matrix(np.sqrt(full_matrix(file.distances))))
    split = dq.audit(matrix, "round:to=1", overlap=0.5, repetitions=1, attacks=["labels"])
    assert (split.file.records, split.snooper.records) == (40, 27)
    with pytest.raises(InputError, match="moves coordinates"):
        dq.audit(matrix, "gaussian:sigma=1km")


def test_the_number_is_that_of_the_oracle_and_attacks_stand_beside_it() -> None:
    """Everybody where nothing is hidden; the strong attack comes near, labels alone do not: the number is the same."""
    masks = ("gaussian:sigma=1m", "gaussian:sigma=25km", "affine", "matrix-gaussian:sd=5km")
    result = run_audit(make_audit(*masks, n=60, attacks=("labels", "register"), repetitions=2))
    for setting in result.settings:
        assert setting.oracle is not None
        assert setting.risk.found is not None
        assert setting.risk.value == pytest.approx(setting.oracle.value, abs=0.02)
        assert setting.risk.high >= setting.oracle.high
        assert setting.risk.found.value == pytest.approx(setting.oracle.value, abs=0.1)
    assert [s.oracle.value for s in result.settings if s.oracle][::2] == [1.0, 1.0]
    weak = run_audit(make_audit(*masks, n=60, attacks=("labels",), repetitions=2, max_risk=0.3))
    (line,) = [line for line in weak.limits if line.code == "oracle_finds_more"]
    cases = [case for case in line.values["cases"] if isinstance(case, Message)]  # type: ignore[union-attr]
    assert [case.values["setting"] for case in cases] == [s.brief for s in weak.settings]
    assert cases[0].values["share"] == 1.0
    assert weak.verdict.status == "fails"
    for one, other in zip(weak.settings, result.settings, strict=True):
        assert one.risk.value == pytest.approx(other.risk.value, abs=0.02)


def test_an_attack_that_does_not_apply_says_why() -> None:
    """Registration cannot be carried out on distances that fit no map; the audit goes on and says so."""
    file = make_file(20)
    matrix = replace(file, distances=Matrix(np.sqrt(full_matrix(file.distances))))
    result = run_audit(Audit(make_plan("round:to=1", attacks=("labels", "register")), matrix))
    register = result.settings[0].attacks[1]
    assert not register.applies
    assert register.why is not None
    assert any(line.code == "not_carried_out" and line.values["attack"] == "register" for line in result.limits)


def test_records_have_the_risk_of_everybody(tmp_path: Path) -> None:
    """A row per record and setting: its group, how often it was known, and by which attack it was found."""
    file = make_file()
    masks = ("affine", "gaussian:sigma=80km")
    audit = Audit(make_plan(*masks, snooper=Snooper(overlap=0.5), attacks=("labels", "clique")), file)
    result = run_audit(audit, folder=tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "records.csv")
    pd.testing.assert_frame_equal(table.fillna({"by": ""}), result.people, check_dtype=False)
    assert len(table) == 2 * 60
    assert table["id"].head(60).tolist() == list(file.ids)
    labels = pd.Series(list(file.labels.itertuples(index=False, name=None)))
    assert table["label_k"].head(60).tolist() == labels.map(labels.value_counts()).tolist()
    affine = table[table["mask"].str.startswith("affine")]
    seen = affine[affine["asked"] > 0]
    assert seen["asked"].between(1, 3).all()
    assert (seen["risk"] == 1).all()
    assert (seen["by"] == "oracle").all()
    assert (seen["risk_clique"] == 1).all()
    assert affine.loc[affine["asked"] == 0, "risk"].isna().all()
    chosen = table[table["mask"] == result.verdict.setting]
    assert (chosen["by"] == "oracle").all()
    assert (chosen["asked"] >= 20).all()
    assert chosen["risk"].mean() == pytest.approx(result.people_risk[0].mean)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditResult, AuditResult, Path]:
    """The same audit in memory and in a folder."""
    folder = tmp_path_factory.mktemp("audit")
    audit = make_audit("affine", "gaussian:sigma=5km..50km", n=30, max_risk=0.5, attacks=("labels",))
    return run_audit(audit), run_audit(audit, folder=folder), folder


def test_an_audit_in_memory_is_the_one_in_a_folder(pair: tuple[AuditResult, AuditResult, Path]) -> None:
    """Neither figures nor people differ, and what was written is read as it was."""
    here, there, folder = pair
    assert without_times(here) == without_times(there)
    pd.testing.assert_frame_equal(here.people, there.people)
    assert dq.read_result(folder / "result.json") == there


def test_a_result_shows_itself(pair: tuple[AuditResult, AuditResult, Path], tmp_path: Path) -> None:
    """Table, people, plot, report and notebook; the people of a result that was read lie beside its file."""
    result, _, folder = pair
    assert result.table["mask"].tolist() == [setting.spec for setting in result.settings]
    assert result.table["risk"].tolist() == [setting.risk.value for setting in result.settings]
    assert len(result.people) == 30 * len(result.settings)
    page = result.report(tmp_path / "page.html")
    assert page.startswith("<!doctype html>")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page == dq.report(result, figures="page_figures")
    drawn = result.plot()
    assert drawn.axes
    assert result.verdict.sentences[0] in str(result)
    assert "<table" in result._repr_html_()
    evil = replace(result, verdict=replace(result.verdict, reasons=(Message("<script>"),)))
    assert "<script>" not in evil._repr_html_()
    with pytest.raises(AttributeError, match=r"records\.csv beside the file"):
        _ = dq.read_result(folder / "result.json").people


def test_an_unknown_option_is_named() -> None:
    """Through the door of Python, as on the command line."""
    with pytest.raises(InputError, match="unknown option 'repetition'; there are alpha, attacks"):
        dq.audit(make_file(20), "affine", repetition=3)


@pytest.mark.slow
def test_on_the_papers_data_the_setting_found_is_confirmed_by_a_full_grid() -> None:
    """500 people of Germany, 50 known: the noise found for a limit of 50 % is the smallest of those around it."""
    made = dq.germany(rng=np.random.default_rng(0))
    file = microdata(made.target, made.label_names, coordinates=["lon", "lat"], ids="id", name="paper")
    known = microdata(made.known, made.label_names, coordinates=["lon", "lat"], ids="id", name="known")
    chosen = Plan(("gaussian:sigma=0.2deg..2deg",), Snooper(given=True), 6, max_risk=0.5, attacks=("labels",))
    found = run_audit(Audit(chosen, file, known), executor=Processes())
    setting = found.decisions[0].setting
    assert setting is not None
    settings = tuple(map(str, chosen.ranges[0].settings))
    place = settings.index(setting)
    around = settings[max(0, place - 2) : place + 3]
    assert len(around) == 5
    grid = run_audit(Audit(replace(chosen, masks=around), file, known), executor=Processes())
    meets = [s.spec for s in grid.settings if s.meets]
    assert meets[0] == setting
    assert meets == list(around[around.index(setting) :])
