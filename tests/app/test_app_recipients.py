"""Recipients in the app: cards are blocks of the command line's file, each has a verdict, and all hold the release."""

import json
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

import disclique as dq
from app_visitor import Fields, Page, Visitor, visiting
from disclique.app.projects import ABOUT, BEGUN, DONE, RECIPIENTS, read_project
from disclique.app.runner import is_changed
from disclique.app.status import Board, read_status
from disclique.app.worker import carry_out_for_recipients
from disclique.audits.recipients import read_recipients
from disclique.audits.result import read_result
from disclique.options.audits import AuditOptions
from small_files import people, without_times

HTMX = {"hx-request": "true"}
LIGHT: Fields = {"repetitions": "6", "person_trials": "10", "attack": ["labels"], "seed": "3"}


def open_file(visitor: Visitor, table: pd.DataFrame, name: str = "p.csv") -> str:
    """A file whose columns are confirmed; return the address of the work."""
    table.to_csv(visitor.site.places.start / name, index=False)
    at = visitor.open(name)
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    answer = visitor.post(f"{at}/open", page.fields)
    assert answer.status_code == 303, Page(answer.text).alerts
    return at


def form_of(visitor: Visitor, at: str) -> Fields:
    return Page(visitor.get(f"{at}/ask").text, "ask-form").fields


def change(visitor: Visitor, at: str, form: Fields, **what: str) -> Fields:
    """Press a button of the cards, as a browser without scripts does; return the form that is shown then."""
    answer = visitor.post(f"{at}/ask/recipients", form | what)
    assert answer.status_code == 200, Page(answer.text).alerts
    return Page(answer.text, "ask-form").fields


def add(visitor: Visitor, at: str, form: Fields, *names: str) -> Fields:
    for name in names:
        form = change(visitor, at, form, add=name)
    return form


def keep(visitor: Visitor, at: str, form: Fields) -> Any:
    """Keep the plan; return the project."""
    answer = visitor.post(f"{at}/ask", form | {"folder": ""})
    assert answer.status_code == 303, Page(answer.text).alerts
    return visitor.project(at)


READY = ("neighbour", "employer", "insurer", "researcher", "everybody")


def test_five_clicks_are_the_five_ready_recipients(visitor: Visitor) -> None:
    at = open_file(visitor, people(40))
    form = add(visitor, at, form_of(visitor, at), *READY)
    assert "who" not in form  # one snooper is no longer asked about
    project = keep(visitor, at, form | {"mask": ["gaussian"]})
    assert project.recipients == tuple({"name": name, "like": name} for name in READY)
    again = form_of(visitor, at)
    assert keep(visitor, at, again).recipients == project.recipients


def test_cards_are_blocks_of_the_file(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is edited is what ``[[recipient]]`` says; what a ready one says anyway is not said again."""
    start = visitor.site.places.start
    people(70, seed=4).iloc[20:].to_csv(start / "register.csv", index=False)
    at = open_file(visitor, people(40, seed=4))
    form = add(visitor, at, form_of(visitor, at), "insurer", "insurer", "researcher", "own")
    assert form["recipient:1:overlap"] == "0.9"
    form |= {
        "mask": ["gaussian"],
        "max_risk": "0.2",
        "recipient:1:name": "health insurer",
        "recipient:1:known": "folder:register.csv",
        "recipient:1:max_risk": "0.1",
        "recipient:2:label_error": "0",
        "recipient:3:overlap": "",  # the whole file: no longer like a researcher
        "recipient:4:name": "ministry",
        "recipient:4:title": "They pay for it",
        "recipient:4:overlap": "0.3",
        "recipient:4:coordinate_error": "200m",
        "recipient:4:seeds": "3",
        "recipient:4:scenario": "journalist",
        "recipient:4:labels": "sex",
    }
    project = keep(visitor, at, form)
    assert project.recipients == (
        {"name": "health insurer", "like": "insurer", "known": str(start / "register.csv"), "max_risk": 0.1},
        {"name": "insurer 2", "like": "insurer", "label_error": 0.0},
        {"name": "researcher", "label_error": 0.05, "scenario": "marketer"},
        {
            "name": "ministry",
            "title": "They pay for it",
            "labels": ["sex"],
            "overlap": 0.3,
            "coordinate_error": "200m",
            "seeds": 3,
            "scenario": "journalist",
        },
    )
    side = Page(visitor.post(f"{at}/plan", form, headers=HTMX).text)
    assert "plan-command" not in side.by_id  # which could not say it
    monkeypatch.chdir(start)
    Path("audit.toml").write_text(side.by_id["plan-toml"], encoding="utf-8")
    blocks = tomllib.loads(side.by_id["plan-toml"])["recipient"]
    assert [block["name"] for block in blocks] == ["health insurer", "insurer 2", "researcher", "ministry"]
    assert blocks[0]["known"] == "register.csv"
    read = read_recipients(Path("audit.toml"))
    assert read[0].given == {"label_error": 0.02, "scenario": "marketer", "known": "register.csv", "max_risk": 0.1}
    assert read[2].given == {"label_error": 0.05, "scenario": "marketer"}
    assert AuditOptions().filled(Path("audit.toml")).max_risk == 0.2
    assert keep(visitor, at, form_of(visitor, at)).recipients == project.recipients


def test_labels_are_known_unless_somebody_was_asked(visitor: Visitor) -> None:
    """A form in which labels are not asked for says nothing of them: all are known, which is the worst case."""
    at = open_file(visitor, people(40))
    form = add(visitor, at, form_of(visitor, at), "neighbour") | {"mask": ["gaussian"]}
    none = {name: value for name, value in form.items() if name != "recipient:1:labels"}
    assert keep(visitor, at, none).recipients[0]["labels"] == []
    unasked = {name: value for name, value in none.items() if name != "recipient:1:labels_shown"}
    assert "labels" not in keep(visitor, at, unasked).recipients[0]


def test_cards_come_and_go(visitor: Visitor) -> None:
    """Somebody else begins as the snooper whom the form described; without a card there is one snooper again."""
    at = open_file(visitor, people(40))
    form = form_of(visitor, at) | {"overlap": "0.4", "seeds": "2"}
    form = add(visitor, at, form, "own")
    assert (form["recipient:1:overlap"], form["recipient:1:seeds"]) == ("0.4", "2")
    form = change(visitor, at, add(visitor, at, form, "employer"), remove="1")
    assert {name.split(":")[1] for name in form if name.startswith("recipient:")} == {"2"}
    part = visitor.post(f"{at}/ask/recipients", form | {"remove": "2"}, headers=HTMX).text
    assert 'name="who" value="whole" checked' in part
    form = change(visitor, at, form, remove="2")
    assert not any(name.startswith("recipient:") for name in form)
    assert keep(visitor, at, form | {"mask": ["gaussian"]}).recipients == ()


WRONG = {
    "recipient:1:name=../up": "name of a recipient",
    "recipient:1:name=": "name of a recipient",
    "recipient:2:name=Neighbour": "two recipients",
    "recipient:1:overlap=2": "overlap",
    "recipient:1:overlap=x": "write a number",
    "recipient:1:known=folder:../../etc/passwd": "no such file",
    "recipient:1:coordinate_error=5miles": "coordinate error",
    "recipient:1:scenario=burglar": "scenario",
    "recipient:1:like=king": "king",
    "recipient:1:labels=hair": "hair",
    "recipient:1:max_risk=0.1": "limit",  # the other one has none
    "overlap=0.2": "overlap",  # what one snooper holds does not stand beside recipients
}


def test_what_cannot_be_read_of_a_card_is_said_and_not_kept(visitor: Visitor) -> None:
    at = open_file(visitor, people(40))
    form = add(visitor, at, form_of(visitor, at), "neighbour", "everybody") | {"mask": ["gaussian"]}
    before = visitor.project(at)
    for case, words in WRONG.items():
        name, _, value = case.partition("=")
        answer = visitor.post(f"{at}/ask", form | {name: value, "folder": ""})
        page = Page(answer.text, "ask-form")
        assert answer.status_code == 422, case
        assert any(words in alert for alert in page.alerts), (case, page.alerts)
        if name.startswith("recipient:1:name"):
            assert page.fields[name] == value  # shown again as it was filled in
    assert visitor.project(at) == before
    many = dict.fromkeys((f"recipient:{n}:name" for n in range(1, 30)), "x")
    assert visitor.post(f"{at}/ask/recipients", form | many | {"add": "employer"}).status_code == 422
    assert visitor.post(f"{at}/ask/recipients", form | {"add": "king"}).status_code == 422


def test_a_strange_folder_cannot_name_files_elsewhere(visitor: Visitor, tmp_path: Path) -> None:
    """What a folder says of recipients is not read unless all files that it names lie where the server may look."""
    at = open_file(visitor, people(40))
    keep(visitor, at, add(visitor, at, form_of(visitor, at), "insurer") | {"mask": ["gaussian"]})
    place = visitor.project(at).folder / ABOUT
    about = json.loads(place.read_bytes())
    about["recipients"][0]["known"] = str(tmp_path.parent / "secret.csv")
    place.write_text(json.dumps(about), encoding="utf-8")
    assert visitor.get(f"{at}/ask").status_code == 404


# What is found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Visitor, str]]:
    """A finished audit for two recipients: what keeps the limit of one of them does not keep that of the other."""
    with visiting(tmp_path_factory.mktemp("recipients")) as visitor:
        at = open_file(visitor, people(60))
        form = add(visitor, at, form_of(visitor, at), "insurer", "everybody")
        form |= LIGHT | {"mask": ["gaussian"], "max_risk": "0.2", "recipient:1:name": "our insurer"}
        form |= {"dial:gaussian:sigma:a": "60km", "dial:gaussian:sigma:b": "", "more_masks": "gaussian:sigma=500km"}
        form |= {"recipient:1:max_risk": "0.95", "folder": "kept"}
        form.pop("sensitivity", None)
        answer = visitor.post(f"{at}/start", form)
        assert answer.status_code == 307, Page(answer.text).alerts
        place = visitor.project(at).folder
        shutil.copyfile(place / ABOUT, place / BEGUN)
        with chdir(place), Board(place) as board:
            begun = read_project(Path.cwd(), BEGUN)
            assert begun is not None
            carry_out_for_recipients(begun, "kept", 1, board)
            board.state = DONE
        yield visitor, at


def test_each_has_the_result_of_an_audit_for_them_alone(found: tuple[Visitor, str]) -> None:
    """To the last digit that of the Python door for the same people."""
    visitor, at = found
    folder = visitor.project(at).folder
    table = pd.read_csv(visitor.site.places.start / "p.csv")
    data = dq.microdata(table, ["sex", "age"], coordinates=["lon", "lat"], ids="id", name="p.csv")
    own = [
        dq.Recipient("our insurer", like="insurer", max_risk=0.95),
        dq.Recipient("everybody", like="everybody"),
    ]
    masks = ["gaussian:sigma=60km", "gaussian:sigma=500km"]
    light: dict[str, Any] = {"attacks": ["labels"], "repetitions": 6, "person_trials": 10, "seed": 3}
    theirs = dq.audit(data, masks, recipients=own, max_risk=0.2, sensitivity=False, **light)
    for name, result in theirs.results.items():
        ours = without_times(read_result(folder / "recipients" / name / "result.json"))
        expected = without_times(result)
        assert ours.settings == expected.settings
        assert ours.verdict == expected.verdict
    facts = visitor.site.results.recipients(visitor.project(at))
    assert facts.settings == theirs.settings
    assert facts.verdict == theirs.verdict
    assert read_status(folder).words.share == 1.0


def test_read_shows_all_and_each(found: tuple[Visitor, str]) -> None:
    visitor, at = found
    assert visitor.get(at).headers["location"] == f"{at}/recipients"
    assert visitor.get(f"{at}/read").headers["location"] == f"{at}/recipients"
    text = visitor.get(f"{at}/recipients").text
    for part in (f"{at}-1/read", f"{at}-2/read", f"{at}/pages/recipients", f"{at}/release"):
        assert f'"{part}"' in text
    page = visitor.get(f"{at}/pages/recipients")
    assert "script-src 'none'" in page.headers["content-security-policy"]
    assert "our insurer" in page.text
    links = [about["href"] for tag, about in Page(page.text).tags if tag == "a"]
    assert links == ["recipients/our%20insurer/report.html", "recipients/everybody/report.html"]
    led = visitor.get(f"{at}/pages/{links[0]}")
    assert led.headers["location"] == f"{at}-1/pages/report"
    assert visitor.get(led.headers["location"]).status_code == 200
    own = visitor.get(f"{at}-1/read").text
    assert "our insurer" in own
    assert f"{at}/recipients" in own
    assert "Zurück zu allen Empfängern" in visitor.get(f"{at}-1/read", headers={"accept-language": "de"}).text
    saved = visitor.get(f"{at}/recipients/save/recipients.json")
    assert saved.json()["kind"] == "disclique recipients"
    assert "attachment" in visitor.get(f"{at}/recipients/save/recipients.html").headers["content-disposition"]
    for missing in (f"{at}-3/read", f"{at}-0/read", f"{at}-x/read", f"{at}/recipients/save/records.csv"):
        assert visitor.get(missing).status_code == 404
    assert visitor.post(f"{at}/exposed").status_code == 404
    assert visitor.post(f"{at}-1/exposed").status_code == 200
    for said in (text, page.text, own):
        assert str(visitor.site.places.start) not in said


def test_what_is_asked_anew_is_another_plan(found: tuple[Visitor, str]) -> None:
    visitor, at = found
    project = visitor.project(at)
    assert not is_changed(project)
    form = form_of(visitor, at)
    assert keep(visitor, at, form) == project
    keep(visitor, at, form | {"recipient:1:overlap": "0.5"})
    assert is_changed(visitor.project(at))
    assert visitor.post(f"{at}-1/release", {"setting": "gaussian:sigma=500km", "folder": "x"}).status_code == 422
    visitor.post(f"{at}/run/back")
    assert visitor.project(at) == project


def test_only_what_keeps_every_limit_is_released_without_a_word(found: tuple[Visitor, str]) -> None:
    """Weak noise keeps the insurer's limit and not everybody's: for all it must be confirmed, for them alone not."""
    visitor, at = found
    weak, strong = "gaussian:sigma=60km", "gaussian:sigma=500km"
    facts = visitor.site.results.recipients(visitor.project(at))
    status = {one.spec: (one.status, one.of("our insurer").status) for one in facts.settings}  # type: ignore[union-attr]
    assert status == {weak: ("fails", "meets"), strong: ("meets", "meets")}
    page = Page(visitor.get(f"{at}/release").text)
    assert page.fields["setting"] == strong
    assert visitor.post(f"{at}/release", {"setting": weak, "folder": "weak"}).status_code == 422
    assert not (visitor.site.places.start / "weak").exists()
    made = visitor.post(f"{at}/release", {"setting": strong, "folder": "for all"})
    assert made.status_code == 303
    assert (visitor.site.places.start / "for all" / "publish" / "release.csv").exists()
    again = visitor.post(f"{at}-1/release", {"setting": weak, "folder": "for one"})
    assert again.status_code == 422  # the same people, once more
    more = {"setting": weak, "folder": "for one", "again": "yes"}
    assert visitor.post(f"{at}-1/release", more).status_code == 303
    assert visitor.project(at).answer.name == RECIPIENTS


def test_an_estimate_looks_at_every_recipient(visitor: Visitor) -> None:
    from disclique.app.estimates import Expected, estimate

    at = open_file(visitor, people(40))
    form = add(visitor, at, form_of(visitor, at), "neighbour", "everybody") | LIGHT | {"mask": ["gaussian"]}
    project = keep(visitor, at, form | {"dial:gaussian:sigma:b": ""})
    heard: list[Expected] = []
    estimate(project, heard.append)
    assert heard[-1].problem is None
    assert str(heard[-1].takes).startswith("neighbour: ")
    assert "everybody: " in str(heard[-1].takes)
