"""Several recipients of one release: each as if they were alone, and the strictest decides for all."""

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import disclique as dq
from builders import refused
from conftest import Run
from disclique.audits.recipient_facts import read_recipients_file, recipients_schema
from disclique.audits.recipients import list_ready, parse_recipients
from disclique.audits.result import encode_result
from disclique.messages import has_sentence
from disclique.options.audits import RECIPIENT_ROWS, SNOOPER_ROWS
from small_files import COLUMNS, LIGHT, make_file, people, without_times

SEARCHED = ["gaussian:sigma=20km..400km", "affine"]
ASKED: dict[str, Any] = {
    "repetitions": 4,
    "attacks": ["labels"],
    "person_trials": 20,
    "sensitivity": False,
    "max_risk": 0.5,
}
WHO: dict[str, dict[str, Any]] = {  # what is said of each, as it would be said of one snooper
    "insurer": {"overlap": 0.75, "label_error": 0.1},
    "the press": {},
    "ministry": {"labels": ["sex"], "coordinate_error": "2km", "scenario": "marketer", "max_risk": 0.2},
}


class Stops:
    """An executor that dies after a number of units."""

    parallel = 1

    def __init__(self, after: int) -> None:
        self.after = after

    def map(self, function: Any, items: Any) -> Any:
        for item in items:
            if self.after == 0:
                raise KeyboardInterrupt
            self.after -= 1
            yield function(item)


def ask(folder: Path | None = None, **more: Any) -> dq.RecipientsResult:
    recipients = [dq.Recipient(name, **given) for name, given in WHO.items()]
    return dq.audit(make_file(30), SEARCHED, recipients=recipients, folder=folder, **(ASKED | more))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an audit for three recipients, one of whom has a limit of their own."""
    place = tmp_path_factory.mktemp("several")
    ask(place)
    return place


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    return read_recipients_file(folder / "recipients.json")


@pytest.mark.parametrize("name", WHO)
def test_a_recipient_in_one_run_is_one_alone(folder: Path, name: str) -> None:
    """To the last digit: result but for times, and the risk of every person; what others chose is no part of it."""
    alone = dq.audit(make_file(30), SEARCHED, **(ASKED | WHO[name]))
    place = folder / "recipients" / name
    there = dq.read_result(place / "result.json")
    assert encode_result(without_times(there)) == encode_result(without_times(alone))
    assert (place / "records.csv").read_text(encoding="utf-8") == alone.people.to_csv(index=False)
    assert there.command == alone.command
    assert {path.name for path in place.iterdir()} >= {"journal.jsonl", "report.html", "annex.html"}


def test_what_one_search_chose_is_measured_for_all(folder: Path, found: Any) -> None:
    results = {name: dq.read_result(folder / "recipients" / name / "result.json") for name in WHO}
    chosen = {result.verdict.setting for result in results.values()}
    chosen |= {one.setting for result in results.values() for one in result.decisions if one.setting}
    assert len(chosen) > 1  # they differ, or there is nothing to see
    table = {one.spec: one for one in found.settings}
    for spec in chosen:
        assert [one.recipient for one in table[spec].recipients] == list(WHO)
    new = [(spec, name) for spec in chosen for name in WHO if spec not in {s.spec for s in results[name].settings}]
    assert new  # somebody's search had not come to it


@pytest.mark.parametrize("name", WHO)
def test_the_setting_for_everybody_is_measured_as_if_it_were_the_only_one(found: Any, name: str) -> None:
    """By an audit that tries nothing else: same risk, same upper end, same status."""
    setting = next(one for one in found.settings if one.spec == found.verdict.setting)
    alone = dq.audit(make_file(30), [setting.spec], **(ASKED | WHO[name]))
    told = setting.of(name)
    assert (told.risk, told.high, told.person, told.status) == (
        alone.settings[0].risk.value,
        alone.settings[0].risk.high,
        alone.settings[0].person,
        alone.verdict.status,
    )
    assert told.limit == WHO[name].get("max_risk", ASKED["max_risk"])


def test_the_strictest_recipient_decides(found: Any) -> None:
    """By going through the table: only what meets for all counts, and of this the most useful one."""
    worst = ["meets", "unproven", "fails"]
    whole = [one for one in found.settings if len(one.recipients) == len(WHO)]
    for one in found.settings:
        here = [risk.status for risk in one.recipients]
        assert one.status == (max(here, key=worst.index) if one in whole else None)
    best = min((one.status for one in whole), key=worst.index)
    assert found.verdict.status == best
    chosen = next(one for one in whole if one.spec == found.verdict.setting)
    assert chosen.status == best
    if best == "meets":
        assert chosen.usefulness == max(one.usefulness for one in whole if one.status == "meets")
    assert chosen.of(chosen.strictest).status == best
    assert found.verdict.reasons[0].values["name"] == chosen.strictest


@pytest.mark.long
def test_an_interrupted_run_goes_on_and_ends_the_same(folder: Path, tmp_path: Path, found: Any) -> None:
    """Stopped in the second audit, and once more when settings of others are measured."""
    lines = [len((folder / "recipients" / name / "journal.jsonl").read_text().splitlines()) for name in WHO]
    for after in (lines[0] + 3, sum(lines) - lines[0] - 6):
        with pytest.raises(KeyboardInterrupt):
            ask(tmp_path, executor=Stops(after))
    ask(tmp_path)
    assert replace(read_recipients_file(tmp_path / "recipients.json"), made="") == replace(found, made="")


@pytest.mark.parametrize("status", ["meets", "fails"])
def test_the_exit_status_is_that_of_a_release_to_all(run: Run, status: str) -> None:
    """Of a recipient whose limit is kept and one whose limit decides; the pages are there, in German."""
    people(30).to_csv("f.csv", index=False)
    limit = {"meets": "max-risk = 0.99", "fails": "max-risk = 0.02"}[status]
    Path("a.toml").write_text(
        f"""mask = ["round:to=2000km"]\n{limit}\n
[[recipient]]
name = "our insurer"
like = "insurer"
title = "<b>The insurer</b>"
known-size = 60
max-risk = 0.99

[[recipient]]
name = "none"
labels = []
""",
        encoding="utf-8",
    )
    quick = ("--repetitions", "2", "--processes", "1", "--attack", "labels", *LIGHT, "--language", "de")
    code, shown, err = run(
        "audit", "f.csv", *COLUMNS, *quick, "--config", "a.toml", "--recipient", "everybody", "--out", "o"
    )
    assert code == {"meets": 0, "fails": 4}[status], err
    made = json.loads(Path("o/recipients.json").read_text(encoding="utf-8"))
    assert made["verdict"]["status"] == status
    assert [one["name"] for one in made["recipients"]] == ["our insurer", "none", "everybody"]
    first, second, _ = made["recipients"]
    assert (first["snooper"]["overlap"], first["snooper"]["size"], first["scenario"]) == (0.9, 60, "marketer")
    assert second["snooper"]["labels"] == ["none"]
    assert shown.startswith("setting\trecipient\trisk\thigh")
    page = Path("o/recipients.html").read_text(encoding="utf-8")
    assert f'class="verdict {status}" id="verdict"' in page
    assert "Die Empfänger" in page
    assert "&lt;b&gt;The insurer" in page
    assert 'href="recipients/our%20insurer/report.html"' in page
    assert (Path("o") / first["folder"] / "report.html").exists()
    repeated = json.loads(Path("o/recipients/our insurer/result.json").read_text(encoding="utf-8"))["command"]
    assert "--known-size 60" in repeated
    assert "--recipient" not in repeated


def test_a_dry_run_for_recipients_writes_nothing(run: Run) -> None:
    people(30).to_csv("f.csv", index=False)
    named = ("--recipient", "neighbour", "--recipient", "employer")
    code, _, err = run("audit", "f.csv", *COLUMNS, "--mask", "affine", *named, "--out", "o", "--dry-run")
    assert code == 0
    assert "recipient neighbour:" in err
    assert "recipient employer:" in err
    assert not Path("o").exists()


def test_a_label_that_is_not_known_is_as_if_it_were_not_there() -> None:
    """Risk and guess are those of a file without the label; the other way round more is found."""
    quick = ASKED | {"repetitions": 2, "max_risk": None}
    masks = ["gaussian:sigma=50km"]
    fewer = dq.microdata(people(30), ["sex"], coordinates=["lon", "lat"], ids="id", name="file.csv")
    without = dq.audit(fewer, masks, **quick).settings[0]
    less = dq.audit(make_file(30), masks, labels=["sex"], **quick)
    held = dq.audit(make_file(30), masks, labels=["sex"], known=fewer, **quick).settings[0]
    assert (less.settings[0].risk.value, less.settings[0].guess) == (without.risk.value, without.guess)
    assert (held.risk.value, held.guess) == (without.risk.value, without.guess)
    assert dq.audit(make_file(30), masks, **quick).settings[0].risk.value > without.risk.value
    assert dq.audit(make_file(30), masks, labels=[], **quick).settings[0].guess == pytest.approx(1 / 30)
    assert "assumed_labels_unknown" in {one.said.code for one in less.favours}


def test_ready_recipients_have_words_and_sources_and_can_be_asked() -> None:
    for one in list_ready().values():
        for language in ("en", "de"):
            assert all(has_sentence(said, language) for said in (one.title, one.about, one.assumed))
        assert one.source
    quick = ASKED | {"repetitions": 1, "max_risk": None, "person_trials": 1}
    found = dq.audit(make_file(30), ["round:to=90km"], recipients=list(list_ready()), **quick)
    assert found.verdict.status == "measured"
    assert list(found.results) == list(list_ready())
    assert found.results["everybody"].snooper.mode == "whole"
    assert found.table.groupby("setting").size().tolist() == [len(list_ready())]


def test_what_is_said_of_a_recipient_follows_from_the_options() -> None:
    assert set(SNOOPER_ROWS) <= set(RECIPIENT_ROWS)
    assert {"known", "known_distances", "scenario", "max_risk", "max_risk_person"} <= set(RECIPIENT_ROWS)
    assert not {"masks", "seed", "repetitions", "population", "recipient"} & set(RECIPIENT_ROWS)
    file = make_file(5)
    assert dq.Recipient("a", like="insurer", known=file).given == {
        "known": file,
        "label_error": 0.02,
        "scenario": "marketer",
    }


def test_careless_recipients_are_refused() -> None:
    file = make_file(10)

    def ask(*recipients: Any, **more: Any) -> None:
        dq.audit(file, ["affine"], recipients=list(recipients), repetitions=1, **more)

    with refused("no_recipients"):
        ask()
    with refused("recipient_twice", name="Neighbour"):
        ask("neighbour", dq.Recipient("Neighbour"))
    with refused("unknown_recipient", name="neighbor"):
        ask("neighbor")
    with refused("problem_of_recipient", name="a"):
        dq.Recipient("a", overlapp=0.5)
    with refused("problem_of_recipient", name="a"):
        dq.Recipient("a", like="aunt")
    with refused("problem_of_recipient", name="a"):
        ask(dq.Recipient("a", labels=["shoe size"]))
    with refused("problem_of_recipient", name="a"):
        ask(dq.Recipient("a", overlap=80))
    for name in ("", "../a", "a/b", ".a", "a.", 3):
        with refused("recipient_name_unfit"):
            dq.Recipient(name)  # type: ignore[arg-type]
    with refused("not_recipients"):
        ask(7)
    with refused("not_recipients"):
        parse_recipients({"name": "a"})
    with refused("snooper_beside_recipients", option="overlap"):
        ask("neighbour", overlap=0.5)
    with refused("recipient_without_limit", name="neighbour"):
        ask("neighbour", dq.Recipient("b", max_risk=0.1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[recipient]\nname = 'a'\n", "[[recipient]]"),
        ("recipient = []\n", "no recipient"),
        ("[[recipient]]\noverlap = 0.5\n", "name"),
        ("[[recipient]]\nname = 'a'\nseed = 3\n", "'seed'"),
        ("[[recipient]]\nname = 'a'\ntitle = 3\n", "title"),
        ("[[recipient]]\nname = 'a'\noverlap = 'x'\n", "recipient a"),
        ("overlap = 0.5\n[[recipient]]\nname = 'a'\n", "overlap"),
        ("[[recipient]]\nname = 'a'\n[[recipient]]\nname = 'a'\n", "two recipients"),
        ("[[recipient]]\nname = 'a'\nlabels = ['shoe']\n", "'shoe'"),
        ("[[recipient]]\nname = 'a'\nknown = 'nowhere.csv'\n", "nowhere.csv"),
    ],
)
def test_careless_blocks_are_refused_before_any_work(run: Run, text: str, said: str) -> None:
    people(10).to_csv("f.csv", index=False)
    Path("a.toml").write_text(text, encoding="utf-8")
    code, _, err = run("audit", "f.csv", *COLUMNS, "--mask", "affine", "--config", "a.toml", "--out", "o")
    assert code == 2
    assert said in err
    assert not Path("o").exists()


def test_the_folder_of_an_audit_for_one_snooper_is_not_taken(tmp_path: Path) -> None:
    quick: dict[str, Any] = {"repetitions": 1, "attacks": ["labels"], "person_trials": 1, "sensitivity": False}
    dq.audit(make_file(8), ["affine"], folder=tmp_path, **quick)
    with refused("folder_of_one_audit"):
        dq.audit(make_file(8), ["affine"], recipients=["everybody"], folder=tmp_path, **quick)


def test_the_schema_is_that_of_the_classes(folder: Path) -> None:
    import jsonschema

    written = json.loads((resources.files("disclique") / "audits" / "recipients.schema.json").read_text("utf-8"))
    assert written == json.loads(json.dumps(recipients_schema()))
    jsonschema.validate(json.loads((folder / "recipients.json").read_text(encoding="utf-8")), written)
    with refused("no_result_of_recipients"):
        read_recipients_file(folder / "recipients" / "insurer" / "result.json")


def test_the_page_needs_no_network_and_speaks_both_languages(found: Any) -> None:
    for language in ("en", "de"):
        page = dq.recipients_page(found, language=language)
        assert "http" not in page.replace("http-equiv", "")
        assert all(name in page for name in WHO)
        assert page.count('class="own"') == 1
