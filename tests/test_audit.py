"""The audit: what its figures mean, what the snooper knows, the decision, and that it survives being killed."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from disclique.audits import Case, Plan, Snooper, audit, parse_family
from disclique.audits.decision import pareto, search
from disclique.audits.knows import control_files, known_file
from disclique.audits.measure import Risk, rate
from disclique.audits.outlook import trial
from disclique.cli import main
from disclique.data.distances import Matrix, Points, full_matrix
from disclique.data.read import Layout, read
from disclique.data.tables import microdata
from disclique.errors import InputError
from disclique.model import Microdata
from disclique.runs.execute import Serial
from disclique.synthetic.survey import survey, survey_file

SCHEMA = json.loads((resources.files("disclique") / "data" / "result.schema.json").read_text(encoding="utf-8"))
QUICK = ("labels", "clique", "extend")


def people(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{k:03d}" for k in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["young", "middle", "old"], n),
            "lon": rng.uniform(9, 11, n),
            "lat": rng.uniform(49, 51, n),
        }
    )


def data(n: int = 60, seed: int = 0, name: str = "file.csv") -> Microdata:
    return microdata(people(n, seed), ["sex", "age"], coordinates=["lon", "lat"], ids="id", name=name)


def plan(*masks: str, **more: Any) -> Plan:
    given = {"repetitions": 3, "attacks": QUICK, "budget": 0.1, **more}
    return Plan(masks=masks or ("gaussian:sigma=2km",), **given)


def by_spec(result: dict[str, Any]) -> dict[str, Any]:
    return {setting["spec"]: setting for setting in result["settings"]}


def test_interval_is_the_wider_of_student_and_wilson() -> None:
    """Worked out by hand; repetitions that agree are not taken for certainty."""
    shares = np.array([0.2, 0.4, 0.6])
    half = student.ppf(0.975, 2) * shares.std(ddof=1) / np.sqrt(3)
    found = rate([2, 4, 6], [10, 10, 10])
    assert found.value == pytest.approx(0.4)
    assert (found.low, found.high) == (0.0, pytest.approx(min(1, 0.4 + half)))
    nothing = rate([0, 0, 0], [50, 50, 50])
    z = 1.959963984540054
    assert nothing.value == nothing.low == 0
    assert nothing.high == pytest.approx(z**2 / (150 + z**2))
    assert rate([0, 3], [0, 4]).value == pytest.approx(0.75)  # a repetition without a trial has no share
    assert rate([], []).value is None


def test_a_rigid_motion_protects_nothing_and_noise_does(tmp_path: Path) -> None:
    """Every person is found behind the affine mask; far noise hides them; the control shows no true claims."""
    result = audit(Case(plan("affine", "gaussian:sigma=60km"), data()), tmp_path / "out")
    settings = by_spec(result)
    assert settings["affine:mirror=random"]["risk"]["value"] == 1.0
    assert settings["affine:mirror=random"]["usefulness"] == 1.0
    assert settings["gaussian:sigma=60km"]["risk"]["interval"][1] < 0.3
    assert result["verdict"]["status"] == "measured"
    assert "100 %" in result["verdict"]["sentences"][0]
    clique = next(a for a in settings["affine:mirror=random"]["attacks"] if a["attack"] == "clique")
    assert clique["precision"] == 1.0
    assert clique["correct"] == 60
    assert 0 <= clique["control"] < 0.2


def test_independent_noise_on_the_matrix_protects_less_than_noise_on_coordinates(tmp_path: Path) -> None:
    """The same variance of d - d': the strong attack undoes independent noise, the clique alone does not see it."""
    masks = ("gaussian:sigma=12km", "matrix-gaussian:sd=17km")  # 17 = 12·√2
    strong = ("labels", "clique", "register")
    found = by_spec(audit(Case(plan(*masks, attacks=strong), data(90)), tmp_path / "out"))
    variance = [found[mask]["utility"]["variance"] for mask in masks]
    assert variance[0] == pytest.approx(variance[1], rel=0.35)
    assert found[masks[1]]["risk"]["interval"][0] > found[masks[0]]["risk"]["interval"][1]


def test_guessing_is_the_sum_of_one_over_the_group(tmp_path: Path) -> None:
    """The expected hits of a guess, counted by hand: one for every label group of the whole file."""
    file = data()
    result = audit(Case(plan(repetitions=1), file), tmp_path / "out")
    groups = len(set(file.labels.itertuples(index=False, name=None)))
    assert result["settings"][0]["guess"] == pytest.approx(groups)
    assert sum(group["records"] for group in result["file"]["label_groups"]) == 60


def test_the_whole_file_is_the_worst_case_and_comes_in_random_order() -> None:
    """The snooper's rows lie in another order than the release, and the truth follows the ids."""
    case = Case(plan(), data())
    known = known_file(case, 0)
    assert sorted(known.data.ids) == sorted(case.target.ids)
    assert known.data.ids != case.target.ids
    assert [known.data.ids[k] for _, k in known.truth] == [case.target.ids[t] for t, _ in known.truth]
    assert known_file(case, 0).data.ids == known.data.ids
    assert known_file(case, 1).data.ids != known.data.ids


def test_a_drawn_file_has_the_share_asked_for_and_others_like_the_file() -> None:
    """A quarter of the targets, as many records as released, strangers in the same region."""
    case = Case(plan(snooper=Snooper(overlap=0.25)), data())
    known = known_file(case, 0)
    assert (len(known.data), len(known.truth)) == (60, 15)
    places = known.data.distances
    assert isinstance(places, Points)
    assert (np.abs(places.coordinates - [10, 50]) < 3).all()
    rows, strangers = control_files(case, known, 0) or (None, None)
    assert strangers is not None
    assert not set(strangers.ids) & set(case.target.ids)
    assert (len(strangers), len(rows)) == (60, 60)


def test_others_from_a_file_are_never_released_people() -> None:
    """Whoever of the file of others is released too is left out of the strangers."""
    others = microdata(
        people(90, seed=0).iloc[30:], ["sex", "age"], coordinates=["lon", "lat"], ids="id", name="others"
    )
    case = Case(plan(snooper=Snooper(overlap=0.5, others="file")), data(), others=others)
    known = known_file(case, 0)
    assert len(known.truth) == 30
    assert len(known.data) == 30 + 30  # p060 to p089 are strangers
    assert control_files(case, known, 0) is not None


def test_a_given_file_is_linked_through_the_ids(tmp_path: Path) -> None:
    """The truth is the id; a file without a common id has nothing to measure."""
    known = microdata(people(60).iloc[40:], ["sex", "age"], coordinates=["lon", "lat"], ids="id", name="known")
    chosen = plan("affine", snooper=Snooper(given=True), repetitions=1)
    result = audit(Case(chosen, data(), known), tmp_path / "out")
    assert result["snooper"]["common"] == 20
    assert result["settings"][0]["risk"]["value"] == 1.0
    strangers = replace(known, ids=tuple(range(20)))
    with pytest.raises(InputError, match="no id in common"):
        Case(chosen, data(), strangers)


def test_errors_of_the_snooper_lower_the_risk(tmp_path: Path) -> None:
    """Wrong labels hide people from attacks that match labels exactly; wrong places make his map useless."""
    exact = by_spec(audit(Case(plan("affine"), data()), tmp_path / "a"))["affine:mirror=random"]
    chosen = plan("affine", snooper=Snooper(label_error=0.3), attacks=("labels", "clique"))
    wrong = by_spec(audit(Case(chosen, data()), tmp_path / "b"))["affine:mirror=random"]
    places = Snooper(coordinate_error="50km")  # type: ignore[arg-type]
    far = by_spec(audit(Case(plan("affine", snooper=places), data()), tmp_path / "c"))["affine:mirror=random"]
    assert exact["risk"]["value"] == 1
    assert 0.2 < wrong["risk"]["value"] < 0.8
    assert far["risk"]["value"] < 0.5


def test_attacks_that_weigh_evidence_see_through_wrong_labels(tmp_path: Path) -> None:
    """A fifth of the label values is wrong: whoever takes labels at their word loses these people, nobody else does."""
    names = ("clique", "extend", "register", "isomap")
    snooper = Snooper(overlap=0.5, label_error=0.2)
    result = audit(Case(plan("gaussian:sigma=300m", snooper=snooper, attacks=names), data(120)), tmp_path / "out")
    setting = result["settings"][0]
    recall = {one["attack"]: one["recall"] for one in setting["attacks"]}
    assert recall["clique"] < 0.7
    assert min(recall["extend"], recall["register"], recall["isomap"]) > 0.9
    assert setting["insider"] > 0.9


def test_a_matrix_is_audited_without_coordinates(tmp_path: Path) -> None:
    """The control takes one half of the file against the other; an overlap needs a map and says so."""
    file = data(40)
    matrix = replace(file, distances=Matrix(np.round(full_matrix(file.distances), 6)))
    result = audit(Case(plan("round:to=1", "matrix-gaussian:sd=0.5"), matrix), tmp_path / "out")
    assert result["file"]["distances"] == "matrix"
    assert all(setting["risk"]["value"] > 0.9 for setting in result["settings"])
    with pytest.raises(InputError, match="an overlap needs coordinates"):
        Case(plan("round:to=1", snooper=Snooper(overlap=0.5)), matrix)
    with pytest.raises(InputError, match="moves coordinates"):
        Case(plan("gaussian:sigma=1km"), matrix)


def test_a_range_is_geometric_and_runs_from_weak_to_strong() -> None:
    """Metres and kilometres mix; a dial that protects when it falls is turned round; whole numbers stay whole."""
    family = parse_family("gaussian:sigma=100m..1km", 3)
    assert family.settings == ("gaussian:sigma=100m", "gaussian:sigma=316m", "gaussian:sigma=1000m")
    assert parse_family("laplace:epsilon=1/km..4/km", 3).settings[0] == "laplace:epsilon=4/km"
    assert parse_family("knn:k=4..16", 3).settings == ("knn:k=16", "knn:k=8", "knn:k=4")
    assert parse_family("gaussian:sigma=1km", 3).settings == ("gaussian:sigma=1km",)
    for spec, why in {
        "donut:min=1m..2m,max=3m": "not the dial",
        "gaussian:sigma=1m..1deg": "same kind of unit",
        "affine:mirror=a..b": "choose one of",
    }.items():
        with pytest.raises(InputError, match=why):
            parse_family(spec)


def carried_out(family: Any, limit: float, repetitions: int, risk: Callable[[int, int], Risk]) -> tuple[Any, int]:
    """A search with made-up risks: its decision, and how many releases it asked for."""
    made: dict[str, int] = {}

    def look(spec: str) -> Risk | None:
        return risk(family.settings.index(spec), made[spec]) if spec in made else None

    under_way = search(family, limit, repetitions, look)
    while True:
        try:
            for spec, often in next(under_way):
                made[spec] = max(often, made.get(spec, 0))
        except StopIteration as end:
            return end.value, sum(made.values())


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 17),
    st.floats(0.01, 0.9),
    st.floats(0.3, 20),
    st.floats(0, 17),
    st.floats(0, 0.1),
)
def test_the_search_finds_what_the_full_grid_finds(
    steps: int, limit: float, slope: float, middle: float, width: float
) -> None:
    """For every falling risk the same setting as by trying all of them, with no more releases."""
    family = parse_family("gaussian:sigma=100m..5km", steps)

    def risk(place: int, often: int) -> Risk:
        value = float(1 / (1 + np.exp((place - middle) * slope / 3)))
        half = width * np.sqrt(20 / often)
        return Risk("clique", value, max(0, value - half), min(1, value + half), often, False)

    decision, cost = carried_out(family, limit, 20, risk)
    enough = [spec for place, spec in enumerate(family.settings) if risk(place, 20).high <= limit]
    assert decision.setting == (enough[0] if enough else None)
    if len(family.settings) >= 10:
        assert cost <= 20 * len(family.settings)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_the_front_is_what_nothing_beats(points: list[tuple[float, float]]) -> None:
    """Against the definition, point by point."""
    named = [(str(k), risk, use) for k, (risk, use) in enumerate(points)]
    front = set(pareto(named))
    for name, risk, use in named:
        beaten = any(r <= risk and u >= use and (r, u) != (risk, use) for _, r, u in named)
        assert (name in front) == (not beaten)


def test_the_decision_is_confirmed_by_its_neighbours(tmp_path: Path) -> None:
    """The setting found keeps the limit, the next weaker one tried as often does not; the verdict says both."""
    chosen = plan("gaussian:sigma=1km..80km", max_risk=0.3, repetitions=6)
    result = audit(Case(chosen, data(40)), tmp_path / "out")
    decision = result["decisions"][0]
    settings_of = by_spec(result)
    family = chosen.families[0]
    place = family.settings.index(decision["setting"])
    found, weaker = settings_of[decision["setting"]], settings_of[family.settings[place - 1]]
    assert found["meets"]
    assert found["repetitions"] == weaker["repetitions"] == 6
    assert weaker["risk"]["interval"][1] > 0.3
    assert result["verdict"]["status"] == "meets"
    assert len(settings_of) < len(family.settings)
    for spec in family.settings[place : place + 2]:  # the full grid around it says the same
        alone = audit(Case(plan(spec, max_risk=0.3, repetitions=6), data(40)), tmp_path / spec.replace(":", "_"))
        assert alone["settings"][0]["meets"]


def test_no_setting_that_keeps_the_limit_is_said_so(tmp_path: Path) -> None:
    """A range that is too weak has no decision, and the verdict is that nothing tried will do."""
    result = audit(Case(plan("gaussian:sigma=10m..100m", max_risk=0.05), data()), tmp_path / "out")
    assert result["decisions"][0]["setting"] is None
    assert result["verdict"]["status"] == "fails"
    assert "None of the releases tried" in result["verdict"]["sentences"][0]


def test_a_search_cut_short_is_labelled_a_lower_bound(tmp_path: Path) -> None:
    """A budget that ends the clique search shows in the setting, in the attack and in the limits."""
    chosen = plan("gaussian:sigma=40km", budget=1e-9, repetitions=1)
    result = audit(Case(chosen, data(200)), tmp_path / "out")
    assert result["settings"][0]["risk"]["lower_bound"]
    assert any("LOWER BOUND" in line for line in result["limits"])


def test_whoever_knows_how_the_map_lies_is_a_yardstick(tmp_path: Path) -> None:
    """Everybody where nothing is hidden, nobody's without masked points; the strong attack comes near it."""
    masks = ("gaussian:sigma=1m", "gaussian:sigma=25km", "affine", "matrix-gaussian:sd=5km")
    result = audit(Case(plan(*masks, attacks=("labels", "register")), data(90)), tmp_path / "strong")
    near, far, affine, matrix = result["settings"]
    assert near["insider"] == 1.0
    assert affine["insider"] is None
    assert matrix["insider"] is None
    assert far["risk"]["value"] == pytest.approx(far["insider"], abs=0.05)
    assert not any("how the released map lies" in line for line in result["limits"])
    weak = audit(Case(plan(*masks, attacks=("labels",)), data(90)), tmp_path / "weak")
    said = [line for line in weak["limits"] if "how the released map lies" in line]
    assert len(said) == 1
    assert "100 % instead of 0 % with gaussian:sigma=1m" in said[0]
    assert "with gaussian:sigma=25km" in said[0]
    assert "affine" not in said[0]


def test_what_was_tried_for_the_estimate_is_not_run_again(tmp_path: Path) -> None:
    """The trial's releases go to the journal; the figures are those of an audit without a trial."""
    case = Case(plan("affine", "gaussian:sigma=1km..8km", repetitions=4), data(40))
    tried = trial(case, Serial())
    assert tried.releases == 4 + 5 * 4
    assert 0 < tried.seconds < 600
    with_trial = audit(case, tmp_path / "one", tried=tried.records)
    without = audit(case, tmp_path / "two")
    assert len((tmp_path / "one" / "journal.jsonl").read_text(encoding="utf-8").splitlines()) == tried.releases
    for one, two in zip(with_trial["settings"], without["settings"], strict=True):
        assert one["risk"] == two["risk"]
        assert one["insider"] == two["insider"]


def test_the_folder_of_a_study_is_not_taken_for_an_audit(call: Any, tmp_path: Path) -> None:
    """Each says whose the folder is."""
    code, _, _ = call("study", "--n", "20", "--common", "5", "--repetitions", "1", "--no-figures", "--out", tmp_path)
    assert code == 0
    with pytest.raises(InputError, match=r"no audit\.json"):
        audit(Case(plan(), data(20)), tmp_path)


def test_an_attack_that_does_not_apply_says_why(tmp_path: Path) -> None:
    """Registration cannot be carried out without coordinates; the audit goes on and says so."""
    file = data(20)
    matrix = replace(file, distances=Matrix(full_matrix(file.distances)))
    result = audit(Case(plan("round:to=1", attacks=("labels", "register")), matrix), tmp_path / "out")
    register = result["settings"][0]["attacks"][1]
    assert not register["applies"]
    assert register["why"]


def test_the_result_follows_its_schema_and_holds_no_person(tmp_path: Path) -> None:
    """Valid for every mode; without records no id and no coordinate is in it, with records they are."""
    file = data(30)
    assert isinstance(file.distances, Points)
    for k, (with_records, snooper) in enumerate([(False, Snooper()), (True, Snooper(overlap=0.5))]):
        chosen = plan("affine", "knn:k=5", "gaussian:sigma=1km..8km", max_risk=0.9, snooper=snooper)
        result = audit(Case(chosen, file), tmp_path / str(k), with_records=with_records)
        jsonschema.validate(result, SCHEMA)
        text = (tmp_path / str(k) / "result.json").read_text()
        assert json.loads(text) == result
        assert ("p007" in text) == with_records
        assert (f"{file.distances.coordinates[7, 0]:.6f}"[:8] in text) == with_records


def test_records_have_the_risk_of_everybody(tmp_path: Path) -> None:
    """One row a record and setting: its group, how often it was known, and by which attack it was found."""
    file = data()
    audit(Case(plan("affine", "gaussian:sigma=80km", snooper=Snooper(overlap=0.5)), file), tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "records.csv")
    assert len(table) == 2 * 60
    assert table["id"].head(60).tolist() == list(file.ids)
    labels = pd.Series(list(file.labels.itertuples(index=False, name=None)))
    assert table["label_k"].head(60).tolist() == labels.map(labels.value_counts()).tolist()
    affine = table[table["mask"].str.startswith("affine")]
    seen = affine[affine["times_known"] > 0]
    assert seen["times_known"].between(1, 3).all()
    assert (seen["risk"] == 1).all()
    assert (seen["by"] == "clique").all()
    assert affine.loc[affine["times_known"] == 0, "risk"].isna().all()


class Stops:
    """An executor that dies after a number of units, as a machine may."""

    def __init__(self, after: int) -> None:
        self.after = after

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            if self.after == 0:
                raise KeyboardInterrupt
            self.after -= 1
            yield function(item)


@pytest.mark.parametrize("after", [0, 1, 7, 11])
def test_an_interrupted_audit_goes_on_and_ends_the_same(tmp_path: Path, after: int) -> None:
    """Stopped after any unit, resumed, torn line or not: the same figures as without the interruption."""
    chosen = plan("affine", "gaussian:sigma=1km..50km", max_risk=0.3, repetitions=2, attacks=("labels", "clique"))
    case = Case(chosen, data(30))
    whole = audit(case, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        audit(case, tmp_path / "cut", executor=Stops(after))
    assert not (tmp_path / "cut" / "result.json").exists()
    with (tmp_path / "cut" / "journal.jsonl").open("ab") as file:
        file.write(b'{"mask": "aff')
    again = audit(case, tmp_path / "cut")
    figures = ("settings", "decisions", "verdict", "groups", "pareto", "matches")
    for setting in [*whole["settings"], *again["settings"]]:
        for attack in setting["attacks"]:
            attack["seconds"] = 0
    assert {name: whole[name] for name in figures} == {name: again[name] for name in figures}
    with pytest.raises(InputError, match="another"):
        audit(Case(replace(chosen, seed=5), data(30)), tmp_path / "cut")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["disclique", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return run


COLUMNS = ("--id", "id", "--label", "sex", "--label", "age", "--coordinates", "lon,lat")
FAST = ("--repetitions", "2", "--processes", "1", "--attack", "labels", "--attack", "clique")


def test_the_command_writes_result_records_and_report(call: Any, tmp_path: Path) -> None:
    """In a folder with a space and an umlaut, from a file with both; the input stays as it is."""
    folder = tmp_path / "Löhne und Wege"
    folder.mkdir()
    file = folder / "die Datei ü.csv"
    people(30).to_csv(file, index=False)
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    out = folder / "das Ergebnis"
    code, shown, err = call("audit", file, *COLUMNS, *FAST, "--mask", "affine", "--out", out)
    assert code == 0, err
    assert {path.name for path in out.iterdir()} >= {"result.json", "records.csv", "report.html", "journal.jsonl"}
    assert "about 2 releases" in err
    assert "100 %" in err
    assert shown.splitlines()[0].startswith("mask\trisk")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    result = json.loads((out / "result.json").read_text())
    assert result["plan"]["inputs"] == {file.name: before}
    assert str(tmp_path) not in (out / "result.json").read_text()
    code, _, err = call("report", out / "result.json", "--out", folder / "Bericht.html")
    assert code == 0
    assert (folder / "Bericht.html").read_text().startswith("<!doctype html>")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(call: Any, tmp_path: Path) -> None:
    """Masks, the search, attacks, releases and time; the folder is not made."""
    people(30).to_csv(tmp_path / "f.csv", index=False)
    masks = ("--mask", "gaussian:sigma=1km..9km", "--max-risk", "0.1")
    code, _, err = call("audit", tmp_path / "f.csv", *COLUMNS, *FAST, *masks, "--out", tmp_path / "o", "--dry-run")
    assert code == 0
    assert "the smallest of 17 settings" in err
    assert "worst case" in err
    assert not (tmp_path / "o").exists()


def test_options_come_from_a_file_and_the_command_line_wins(call: Any, tmp_path: Path) -> None:
    """Every option by its name in TOML; an unknown one is named."""
    people(30).to_csv(tmp_path / "f.csv", index=False)
    config = tmp_path / "plan.toml"
    config.write_text(
        'id = "id"\nlabel = ["sex", "age"]\ncoordinates = "lon,lat"\nmask = ["affine"]\nrepetitions = 3\n'
        'overlap = 0.5\nattack = ["labels"]\n'
    )
    code, _, err = call(
        *("audit", tmp_path / "f.csv", "--config", config, "--repetitions", "2", "--processes", "1"),
        *("--out", tmp_path / "o"),
    )
    assert code == 0, err
    made = json.loads((tmp_path / "o" / "result.json").read_text())["plan"]
    assert (made["repetitions"], made["snooper"]["overlap"], made["attacks"]) == (2, 0.5, ["labels"])
    config.write_text("masc = 3\n")
    code, _, err = call("audit", tmp_path / "f.csv", "--config", config, "--out", tmp_path / "p")
    assert code == 2
    assert "unknown option 'masc'" in err


BAD = {
    ("--mask", "blur:x=1"): "there is no mask 'blur'",
    ("--mask", "gaussian:sigma=500"): "the unit is missing",
    ("--mask", "affine", "--overlap", "2"): "at most 1",
    ("--mask", "affine", "--max-risk", "7"): "max risk = 7",
    ("--mask", "affine", "--known", "f.csv", "--overlap", ".5"): "say one of them",
    ("--mask", "affine", "--mask", "affine"): "given twice",
    ("--mask", "affine", "--id", "nobody"): "no id column 'nobody'",
    ("--mask", "affine", "--others", "nowhere.csv"): "goes with --overlap",
    ("--mask", "affine", "--repetitions", "0"): "at least one",
    ("--mask", "affine", "--crs", "EPSG:0"): "no such coordinate reference system",
    ("--mask", "affine", "--label-error", "1.5"): "a share lies",
    (): "no mask",
}


@pytest.mark.parametrize("arguments", BAD, ids=lambda a: " ".join(a) or "nothing")
def test_bad_options_end_in_one_sentence(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Exit code 2, one line, no folder."""
    monkeypatch.chdir(tmp_path)
    people(30).to_csv("f.csv", index=False)
    code, out, err = call("audit", "f.csv", *COLUMNS, *arguments, "--out", "o")
    assert code == 2, err
    assert BAD[arguments] in err
    assert (out, err.count("\n")) == ("", 1)
    assert not Path("o").exists()


def test_killed_for_real_it_resumes(tmp_path: Path) -> None:
    """SIGKILL in the middle: no result yet, the input untouched, and the same command finishes."""
    people(60).to_csv(tmp_path / "f.csv", index=False)
    command = [sys.executable, "-m", "disclique", "audit", "f.csv", *COLUMNS, "--mask", "affine", "--out", "o"]
    command += ["--repetitions", "40", "--attack", "clique", "--processes", "1", "--quiet"]
    started = subprocess.Popen(command, cwd=tmp_path)
    journal = tmp_path / "o" / "journal.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (journal.exists() and journal.stat().st_size > 2000):
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.wait()
    before = journal.read_bytes()
    assert 0 < before.count(b"\n") < 40
    assert not (tmp_path / "o" / "result.json").exists()
    done = subprocess.run(command, cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert json.loads((tmp_path / "o" / "result.json").read_text())["settings"][0]["repetitions"] == 40
    assert journal.read_bytes().startswith(before[: before.rfind(b"\n") + 1])


def test_geographic_files_are_converted_by_their_reference_system(tmp_path: Path) -> None:
    """GeoPackage in UTM, GeoJSON, GeoParquet and a shapefile all give the places of the CSV file."""
    geopandas = pytest.importorskip("geopandas", reason="needs the geo extra")
    table = people(20)
    points = geopandas.points_from_xy(table["lon"], table["lat"])
    frame = geopandas.GeoDataFrame(table.drop(columns=["lon", "lat"]), geometry=points, crs=4326)
    frame.to_crs(25832).to_file(tmp_path / "utm.gpkg")
    frame.to_file(tmp_path / "a.geojson")
    frame.to_crs(3035).to_parquet(tmp_path / "a.parquet")
    frame.to_crs(25832).to_file(tmp_path / "a.shp")
    columns = Layout(("sex", "age"), "id")
    wanted = table[["lon", "lat"]].to_numpy()
    for name in ("utm.gpkg", "a.geojson", "a.parquet", "a.shp"):
        found = read(tmp_path / name, columns).distances
        assert isinstance(found, Points)
        np.testing.assert_allclose(found.coordinates, wanted, atol=1e-6)
    (tmp_path / "a.prj").unlink()
    with pytest.raises(InputError, match="does not say its coordinate reference system"):
        read(tmp_path / "a.shp", columns)
    found = read(tmp_path / "a.shp", replace(columns, crs="EPSG:25832")).distances
    assert isinstance(found, Points)
    np.testing.assert_allclose(found.coordinates, wanted, atol=1e-6)
    with pytest.raises(InputError, match="not EPSG:25832"):
        read(tmp_path / "a.geojson", replace(columns, crs="EPSG:25832"))
    projected = frame.to_crs(25832)
    projected.set_geometry(projected.buffer(100)).to_file(tmp_path / "areas.gpkg")
    with pytest.raises(InputError, match="is a Polygon"):
        read(tmp_path / "areas.gpkg", columns)


def test_projected_columns_are_never_taken_for_degrees(tmp_path: Path) -> None:
    """Metres without a reference system are refused; with one they become the right places."""
    from pyproj import Transformer

    table = people(20)
    east, north = Transformer.from_crs(4326, 25832, always_xy=True).transform(table["lon"], table["lat"])
    table.assign(east=east, north=north).to_csv(tmp_path / "f.csv", index=False)
    columns = Layout("sex", "id", "east,north")
    with pytest.raises(InputError, match="latitude lies between"):
        read(tmp_path / "f.csv", columns)
    found = read(tmp_path / "f.csv", replace(columns, crs="EPSG:25832")).distances
    assert isinstance(found, Points)
    np.testing.assert_allclose(found.coordinates, table[["lon", "lat"]].to_numpy(), atol=1e-6)


def test_the_survey_is_the_one_that_the_package_makes() -> None:
    """The bundled file comes out of its function, value by value."""
    pd.testing.assert_frame_equal(pd.read_csv(survey_file(), keep_default_na=False), survey(), check_dtype=False)
    assert len(survey()) == 500


@pytest.mark.slow
def test_on_the_papers_data_the_setting_found_is_confirmed_by_a_full_grid(tmp_path: Path) -> None:
    """500 people of Germany, 50 known: the noise found for a limit of 20 % is the smallest of those around it."""
    from disclique.runs.execute import Processes
    from disclique.synthetic.people import germany

    made = germany(rng=np.random.default_rng(0))
    file = microdata(made.target, made.label_names, coordinates=["lon", "lat"], ids="id", name="paper")
    known = microdata(made.known, made.label_names, coordinates=["lon", "lat"], ids="id", name="known")
    # of a complete matrix isomap finds what register finds, at twice the cost
    attacks = ("labels", "clique", "extend", "register")
    chosen = Plan(("gaussian:sigma=0.02deg..0.5deg",), Snooper(given=True), 10, max_risk=0.2, attacks=attacks)
    found = audit(Case(chosen, file, known), tmp_path / "search", executor=Processes())
    setting = found["decisions"][0]["setting"]
    family = chosen.families[0]
    place = family.settings.index(setting)
    around = family.settings[max(0, place - 2) : place + 3]
    assert len(around) == 5
    grid = audit(Case(replace(chosen, masks=around), file, known), tmp_path / "grid", executor=Processes())
    meets = [s["spec"] for s in grid["settings"] if s["meets"]]
    assert meets[0] == setting
    assert meets == list(around[around.index(setting) :])
