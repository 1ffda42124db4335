"""Find a release in the app: what careless people ask, what is found, and that only what was audited is released."""

import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import chdir
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

from app_server import wait_for
from app_visitor import Fields, Page, Visitor, visiting
from disclique.advice import read_advice
from disclique.advice.search import Effort
from disclique.app.projects import ABOUT, ADVISE, AUDIT, BEGUN, DONE, PAUSED, RUNNING, WAITING, read_project
from disclique.app.roles import guess_roles, preview
from disclique.app.runner import is_changed
from disclique.app.status import Board
from disclique.app.wishes import read_limit, read_question
from disclique.app.worker import carry_out_advice
from disclique.audits.result import read_result
from disclique.errors import InputError
from disclique.options.advice import AdviceOptions
from invented_towns import towns
from small_files import people

SMALL = Effort(steps=9, people=80, more=2, left_out=(0.1,), arms=1, confirmed=3, audited=2)
LIGHT: dict[str, Any] = {"attack": ["labels"], "repetitions": 2, "person_trials": 10, "sensitivity": False}


def open_file(visitor: Visitor, table: pd.DataFrame, name: str = "p.csv", **roles: str) -> str:
    """A file whose columns are confirmed; return the address of the work."""
    table.to_csv(visitor.site.places.start / name, index=False)
    at = visitor.open(name)
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    answer = visitor.post(f"{at}/open", page.fields | roles)
    assert answer.status_code == 303, Page(answer.text).alerts
    return at


def wishes(visitor: Visitor, at: str) -> Fields:
    """The form as it is shown."""
    return Page(visitor.get(f"{at}/ask").text, "advise-form").fields


def ways(n: int = 60) -> pd.DataFrame:
    """People with distances to places, and none between them."""
    rng = np.random.default_rng(0)
    own = {"km_hospital": rng.gamma(2, 2, n).round(3), "asthma": rng.choice(["none", "mild"], n)}
    return people(n)[["id", "sex", "age"]].assign(**own)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Visitor, str]]:
    """An advice on a small file, with people among the most exposed left out; and where it is."""
    folder = tmp_path_factory.mktemp("advice")
    with visiting(folder) as visitor:
        table = people(40).assign(asthma="no")
        table["lon"], table["lat"] = 9 + (table["lon"] - 9) / 10, 49 + (table["lat"] - 49) / 10
        table.loc[:3, "lon"], table.loc[:3, "lat"] = [7, 8, 12, 13], [53, 47.9, 53.5, 48.5]  # far from all others
        at = open_file(visitor, table)
        visitor.site.projects.save(visitor.project(at).with_said(**LIGHT))
        answer = visitor.post(f"{at}/advise", wishes(visitor, at) | {"limit": "25 %", "place": "kept"})
        assert answer.status_code == 307, Page(answer.text).alerts
        carry_out(visitor, at)
        yield visitor, at


def carry_out(visitor: Visitor, at: str) -> None:
    """What the worker does, with less effort."""
    place = visitor.project(at).folder
    shutil.copyfile(place / ABOUT, place / BEGUN)
    with chdir(place), Board(place) as board:
        begun = read_project(Path.cwd(), BEGUN)
        assert begun is not None
        carry_out_advice(begun, "kept", 1, board, effort=SMALL)
        board.state = DONE


# What is asked


def test_a_limit_is_read_as_people_write_it() -> None:
    assert [read_limit(text) for text in ("0.09", "0,09", "9 %", "9%", " 8,7 % ", ".5", "0")] == [
        0.09,
        0.09,
        0.09,
        0.09,
        0.087,
        0.5,
        0.0,
    ]
    for text in ("", "1", "9", "100 %", "-0.1", "nan", "inf", "a", "0.09.1", "%", "1,000"):
        with pytest.raises(InputError):
            read_limit(text)


CARELESS: dict[str, tuple[Fields, str]] = {
    "no limit": ({"limit": ""}, "which risk is acceptable"),
    "per cent without the sign": ({"limit": "9"}, "for 9 % write 0.09"),
    "every release keeps it": ({"limit": "1"}, "1 excluded"),
    "no purpose": ({"purpose": []}, "what the release will be used for"),
    "no columns": ({"purpose": ["columns"], "column": []}, "choose the columns"),
    "another column": ({"purpose": ["columns"], "column": ["nobody"]}, "nobody"),
    "no such purpose": ({"purpose": ["glory"]}, "glory"),
    "no such snooper": ({"snooper": "king"}, "king"),
    "another folder": ({"place": "../elsewhere"}, "elsewhere"),
}


def test_careless_people_are_told_in_a_sentence(visitor: Visitor) -> None:
    """Nothing is kept of a form that cannot be asked, and it is shown again as it was filled in."""
    at = open_file(visitor, people(40))
    before, form = visitor.project(at), wishes(visitor, at)
    assert (form["limit"], form["purpose"], form["snooper"]) == ("0.09", ["neighbours"], "whole")
    for what, (wrong, words) in CARELESS.items():
        answer = visitor.post(f"{at}/advise", form | wrong)
        page = Page(answer.text, "advise-form")
        assert answer.status_code == 422, what
        assert any(words in alert for alert in page.alerts), (what, page.alerts)
        assert page.fields.get("limit") == (form | wrong)["limit"]
        assert page.fields.get("purpose", []) == [one for one in (form | wrong)["purpose"] if one != "glory"]
    assert visitor.project(at) == before
    assert not [path for path in visitor.site.places.start.iterdir() if path.is_dir()]
    assert visitor.post(f"{at}/advise", form | {"csrf": "no"}).status_code == 403


def test_what_is_asked_is_what_the_command_line_reads(visitor: Visitor, tmp_path: Path) -> None:
    at = open_file(visitor, people(40))
    form = wishes(visitor, at) | {
        "limit": "0,2",
        "purpose": ["clusters", "columns"],
        "column": ["age"],
        "place": "kept",
    }
    assert visitor.post(f"{at}/advise", form | {"snooper": "trader"}).headers["location"] == f"{at}/run/start"
    project = visitor.project(at)
    assert (project.way, project.purpose, project.folder.name) == (ADVISE, ("clusters", "columns:age"), "kept")
    (tmp_path / "a.toml").write_text(project.toml, encoding="utf-8")
    read = AdviceOptions().filled(tmp_path / "a.toml")
    assert (read.limit, read.max_risk, read.mask, read.purpose) == (0.2, None, [], ["clusters", "columns:age"])
    assert (read.scenario, read.overlap) == ("marketer", project.said["overlap"])
    question = read_question(project)
    assert question.limit == 0.2
    assert list(map(str, question.purposes)) == ["clusters", "columns:age"]
    again = wishes(visitor, at)
    assert (again["limit"], again["purpose"], again["column"]) == ("0.2", ["clusters", "columns"], ["age"])
    assert again["snooper"] == "trader"


def test_masks_by_hand_are_another_question(visitor: Visitor) -> None:
    """What was chosen by hand is no part of an advice, and an advice none of an audit by hand."""
    at = open_file(visitor, people(40))
    form = Page(visitor.get(f"{at}/ask").text, "ask-form").fields | {"folder": ""}
    assert visitor.post(f"{at}/ask", form | {"mask": ["gaussian"]}).status_code == 303
    assert visitor.project(at).said["mask"]
    assert visitor.post(f"{at}/advise", wishes(visitor, at) | {"place": ""}).status_code == 307
    assert "mask" not in visitor.project(at).said
    assert visitor.post(f"{at}/ask", form | {"mask": ["gaussian"]}).status_code == 303
    assert (visitor.project(at).way, visitor.project(at).purpose) == (AUDIT, ())


def test_a_file_without_distances_is_offered_what_it_can_be_used_for(visitor: Visitor) -> None:
    at = open_file(visitor, ways())
    page = Page(visitor.get(f"{at}/ask").text, "advise-form")
    offered = [about["value"] for tag, about in page.tags if tag == "input" and about.get("name") == "purpose"]
    assert offered == ["accessibility", "columns"]
    answer = visitor.post(f"{at}/advise", page.fields | {"purpose": ["neighbours"]})
    assert answer.status_code == 422
    assert "no distances" in Page(answer.text).alerts[0]


def test_a_mistake_must_be_called_right(visitor: Visitor) -> None:
    """Coordinates that are swapped are not searched for releases before somebody says that it is so."""
    table = towns(60).rename(columns={"laenge": "breite", "breite": "laenge"})
    table.to_csv(visitor.site.places.start / "p.csv", index=False)
    at = visitor.open("p.csv")
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    assert visitor.post(f"{at}/open", page.fields).status_code == 422
    assert visitor.post(f"{at}/open", page.fields | {"forced": "yes"}).status_code == 303
    form = wishes(visitor, at) | {"place": ""}
    assert "right" in form
    without = {name: value for name, value in form.items() if name != "right"}
    assert visitor.post(f"{at}/advise", without).status_code == 422
    assert visitor.project(at).way == AUDIT
    assert visitor.post(f"{at}/advise", form).status_code == 307
    assert visitor.project(at).said["accept"]


def test_sensitive_columns_are_guessed_and_confirmed(tmp_path: Path, visitor: Visitor) -> None:
    table = people(30).assign(Diagnose="J45", income=range(30), asthma="no", Pegel=1.5, Hochrechnungsfaktor=2.5)
    table.to_csv(tmp_path / "g.csv", index=False)
    guesses = {guess.column: guess for guess in guess_roles(preview(tmp_path / "g.csv").columns)}
    for name, role in {"Diagnose": "sensitive", "income": "sensitive", "asthma": "sensitive", "Pegel": ""}.items():
        assert (guesses[name].role, guesses[name].why is not None) == (role, True)
    assert guesses["Hochrechnungsfaktor"].role == "weight"
    at = open_file(visitor, table, **{"role:asthma": "", "role:Pegel": "plain"})
    said = visitor.project(at).said
    assert (said["sensitive"], said["plain"], said["weight"]) == (
        ["Diagnose", "income"],
        ["Pegel"],
        "Hochrechnungsfaktor",
    )
    again = Page(visitor.get(f"{at}/open").text, "open-form").fields
    assert [again[f"role:{name}"] for name in ("Diagnose", "Pegel", "asthma")] == ["sensitive", "plain", ""]


# What is found


@pytest.mark.long
def test_the_advice_is_shown_with_its_releases(found: tuple[Visitor, str]) -> None:
    visitor, at = found
    advice = read_advice(visitor.project(at).folder / "advice.json")
    assert advice.best is not None
    assert visitor.get(at).headers["location"] == f"{at}/advice"
    for path in ("read", "release"):
        assert visitor.get(f"{at}/{path}").headers["location"] == f"{at}/advice"
    page = Page(visitor.get(f"{at}/advice").text)
    links = [about["href"] for tag, about in page.tags if tag == "a" and "href" in about]
    for number, one in enumerate(advice.releases, 1):
        assert (f"{at}-{number}/release" in links) == (one.status == "meets")
        assert visitor.get(f"{at}-{number}/read").status_code == 200
        assert visitor.get(f"{at}-{number}/download/annex.html").status_code == 200
    frame = visitor.get(f"{at}/pages/advice")
    assert "script-src 'none'" in frame.headers["content-security-policy"]
    assert "<script" not in frame.text
    linked = [
        about["href"] for tag, about in Page(frame.text).tags if tag == "a" and "audits/" in about.get("href", "")
    ]
    assert linked
    for link in linked:
        assert visitor.get(visitor.get(f"{at}/pages/{link}").headers["location"]).status_code == 200
    for wrong in ("0", "99", "x", "1-1", "-1"):
        assert visitor.get(f"{at}-{wrong}/read").status_code == 404
    for step in ("open", "ask", "run", "advice"):
        assert visitor.get(f"{at}-1/{step}").status_code == 404  # a release that was found is not changed


def list_made(visitor: Visitor, at: str, number: int, **more: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make a release that was found; return what is published, and the key."""
    form = Page(visitor.get(f"{at}-{number}/release").text).fields
    assert form["setting"]
    answer = visitor.post(f"{at}-{number}/release", form | {"folder": f"made {number}"} | more)
    assert answer.status_code == 303, Page(answer.text).alerts
    place = visitor.site.places.start / f"made {number}"
    return pd.read_csv(place / "publish" / "release.csv"), pd.read_csv(place / "keep-private" / "release_key.csv")


@pytest.mark.long
def test_any_release_that_keeps_the_limit_is_made_without_those_left_out(found: tuple[Visitor, str]) -> None:
    """The second one too: with its own setting and list; and one more of the same people is asked about."""
    visitor, at = found
    folder = visitor.project(at).folder
    advice = read_advice(folder / "advice.json")
    ids = [f"p{row:03d}" for row in range(40)]
    meeting = [number for number, one in enumerate(advice.releases, 1) if one.status == "meets"]
    assert any(advice.releases[number - 1].left_out for number in meeting)
    for turn, number in enumerate(meeting):
        one = advice.releases[number - 1]
        if turn:
            form = Page(visitor.get(f"{at}-{number}/release").text).fields
            assert visitor.post(f"{at}-{number}/release", form).status_code == 422
        table, key = list_made(visitor, at, number, again="yes")
        result = read_result(folder / one.audit / "result.json")
        assert len(table) == result.file.records == 40 - len(one.left_out)
        assert {*key["id"]} == {*ids} - {ids[row - 1] for row in one.left_out}
        about = json.loads((folder / "releases.json").read_text(encoding="utf-8"))[turn]
        assert about["audited"]
        assert about["setting"] in [setting.spec for setting in result.settings if setting.meets]
        packed = visitor.get(f"{at}-{number}/release/{turn + 1}/release.zip").content
        with zipfile.ZipFile(BytesIO(packed)) as archive:
            assert not [name for name in archive.namelist() if "key" in name or "left_out" in name]
    assert visitor.get(f"{at}/download/left_out_1.csv").status_code == 404
    assert visitor.get(f"{at}/pages/left_out_1.csv").status_code == 404


@pytest.mark.long
def test_what_was_found_is_not_released_for_another_file(found: tuple[Visitor, str]) -> None:
    """Neither after the roles, nor after the file or the list of those left out were changed."""
    visitor, at = found
    form = Page(visitor.get(f"{at}-1/release").text).fields | {"folder": "never", "again": "yes"}
    columns = Page(visitor.get(f"{at}/open").text, "open-form").fields
    assert visitor.post(f"{at}/open", columns | {"role:age": ""}).status_code == 303
    assert is_changed(visitor.project(at))
    page = Page(visitor.get(f"{at}/advice").text)
    assert "changed" in page.by_id
    assert not [about for tag, about in page.tags if tag == "a" and about.get("href", "").endswith("-1/release")]
    answer = visitor.post(f"{at}-1/release", form)
    assert answer.status_code == 422
    assert "were changed since this advice" in Page(answer.text).alerts[0]
    visitor.post(f"{at}/run/back")
    assert not is_changed(visitor.project(at))
    advice = read_advice(visitor.project(at).folder / "advice.json")
    number = next(k for k, one in enumerate(advice.releases, 1) if one.left_out and one.status == "meets")
    places = [
        visitor.site.places.start / "p.csv",
        visitor.project(at).folder / advice.releases[number - 1].list_of_left_out,
    ]
    for place, change in zip(places, (b"p999,f,old,9.5,50.5,no\n", b"p001\n"), strict=True):
        before = place.read_bytes()
        place.write_bytes(before + change)
        form = Page(visitor.get(f"{at}-{number}/release").text).fields | {"folder": "never", "again": "yes"}
        answer = visitor.post(f"{at}-{number}/release", form)
        assert answer.status_code == 422
        assert Page(answer.text).alerts
        place.write_bytes(before)
    # as many people, but one of them another
    listed = pd.read_csv(places[1], dtype=str)
    stranger = next(one for one in pd.read_csv(places[0], dtype=str)["id"] if one not in set(listed["id"]))
    listed.assign(id=[stranger, *listed["id"][1:]]).to_csv(places[1], index=False)
    form = Page(visitor.get(f"{at}-{number}/release").text).fields | {"folder": "never", "again": "yes"}
    assert visitor.post(f"{at}-{number}/release", form).status_code == 422
    assert not (visitor.site.places.start / "never").exists()


@pytest.mark.long
def test_another_question_begins_in_a_folder_of_its_own(found: tuple[Visitor, str]) -> None:
    visitor, at = found
    answer = visitor.post(f"{at}/advise", wishes(visitor, at) | {"limit": "0.4"})
    assert answer.status_code == 307
    assert visitor.post(f"{at}/run/start").headers["location"] == f"{at}/run"
    assert f'action="{at}/run/anew"' in visitor.get(f"{at}/run").text
    assert not visitor.site.runner.busy
    visitor.post(f"{at}/run/back")
    assert visitor.project(at).said["max_risk"] == 0.25
    assert not is_changed(visitor.project(at))


def test_two_searches_at_once_wait_for_each_other_and_go_on(visitor: Visitor) -> None:
    """The second one waits; one that is paused keeps what it has, and a reload asks for nothing twice."""
    first, second = (open_file(visitor, people(40), name) for name in ("a.csv", "b.csv"))
    for at in (first, second):
        assert visitor.post(f"{at}/advise", wishes(visitor, at)).status_code == 307
        visitor.post(f"{at}/run/start")
        visitor.post(f"{at}/run/start")
    states = [visitor.site.runner.state(visitor.project(at)) for at in (first, second)]
    assert states == [RUNNING, WAITING]
    for at in (second, first):
        visitor.post(f"{at}/run/pause")
    assert visitor.site.runner.state(visitor.project(first)) in (PAUSED, "new")
    assert not visitor.site.runner.busy


@pytest.mark.long
def test_a_search_that_was_killed_goes_on(visitor: Visitor) -> None:
    """What was measured is not measured again, and the answer is that of a search that was left alone."""
    whole, cut = (open_file(visitor, ways(), name) for name in ("a.csv", "b.csv"))
    found = {}
    for at in (whole, cut):
        visitor.site.projects.save(visitor.project(at).with_said(**LIGHT))
        form = wishes(visitor, at) | {"limit": "0.5", "place": ""}
        assert visitor.post(f"{at}/advise", form).status_code == 307
        visitor.post(f"{at}/run/start")
        journal = visitor.project(at).folder / "search" / "journal.jsonl"
        if at == cut:
            wait_for(lambda journal=journal: journal.exists() and journal.read_bytes().count(b"\n") > 2, 120)
            running = visitor.site.runner.running
            if running is not None:
                running.process.kill()
            wait_for(lambda: not visitor.site.runner.busy, 60)
            done = journal.read_bytes().rsplit(b"\n", 1)[0]
            visitor.post(f"{at}/run/start")
        wait_for(lambda at=at: visitor.site.runner.state(visitor.project(at)) == DONE, 300)
        found[at] = read_advice(visitor.project(at).folder / "advice.json")
    assert journal.read_bytes().startswith(done)
    assert found[whole].releases
    told = [
        [(one.setting, one.left_out, one.status, one.risk, one.usefulness) for one in found[at].releases]
        for at in (whole, cut)
    ]
    assert told[0] == told[1]
    for at in (whole, cut):
        text = visitor.get(f"{at}/advice", headers={"accept-language": "de"}).text
        assert ("Diese Veröffentlichung erstellen" in text) == (found[at].best is not None)
