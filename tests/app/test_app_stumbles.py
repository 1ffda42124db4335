"""What people stumbled over in the app: each was seen once, and is held here."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

import disclique as dq
from app_visitor import Fields, Page, Visitor
from disclique.app.fields import read_number, with_point
from disclique.app.projects import RUNNING
from disclique.app.publishing import list_releases
from disclique.app.status import Status, Words, write_status
from disclique.errors import InputError
from small_files import people

HTMX = {"hx-request": "true"}
LIGHT: dict[str, Any] = {"attack": ["labels"], "repetitions": 1, "person_trials": 5, "sensitivity": False}


def open_file(visitor: Visitor, table: pd.DataFrame, name: str = "p.csv") -> str:
    """A file whose columns are confirmed; return the address of the work."""
    table.to_csv(visitor.site.places.start / name, index=False)
    at = visitor.open(name)
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    answer = visitor.post(f"{at}/open", page.fields)
    assert answer.status_code == 303, Page(answer.text).alerts
    return at


def form_of(visitor: Visitor, at: str, form: str = "ask-form") -> Fields:
    return Page(visitor.get(f"{at}/{'ask' if form != 'open-form' else 'open'}").text, form).fields


def keep(visitor: Visitor, at: str, form: Fields) -> Any:
    answer = visitor.post(f"{at}/ask", form | {"folder": ""})
    assert answer.status_code == 303, Page(answer.text).alerts
    return visitor.project(at)


def test_a_pdf_called_csv_offers_no_way_on(visitor: Visitor) -> None:
    """It is refused in words; the only way is to another file."""
    pdf = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
    (visitor.site.places.start / "paper.csv").write_bytes(pdf)
    at = visitor.open("paper.csv")
    page = Page(visitor.get(f"{at}/open").text)
    assert page.alerts
    assert not [about for tag, about in page.tags if tag == "button" and "primary" in about.get("class", "")]
    assert [about["href"] for tag, about in page.tags if tag == "a" and "primary" in about.get("class", "")] == ["/"]
    open_ = open_file(visitor, people(30))  # where a file can be read there is a way on
    assert "go on" in visitor.get(f"{open_}/open").text


def test_many_columns_have_a_table_of_their_own_height(visitor: Visitor) -> None:
    """All are in the form, in a part of the page that scrolls, with a field to filter it and a button that stays."""
    answers = pd.DataFrame({f"q{k:03d}": np.arange(20) % 3 for k in range(401)})
    wide = pd.concat([people(20), answers], axis=1)
    wide.to_csv(visitor.site.places.start / "wide.csv", index=False)
    at = visitor.open("wide.csv")
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    classes = [about.get("class", "") for _, about in page.tags]
    assert "wide tall" in classes
    assert "actions stay" in classes
    assert any("data-filter" in about for _, about in page.tags)
    assert not any(name in page.fields for name in ("", "filter"))  # what is typed there is no part of the form
    few = open_file(visitor, people(30))
    small = visitor.get(f"{few}/open").text
    assert "wide tall" not in small
    assert "actions stay" not in small


def test_dials_begin_with_the_lengths_of_the_file(visitor: Visitor) -> None:
    """Of a national survey the range ends at half of nearly the longest way, not at some kilometres."""
    survey = dq.survey()
    at = open_file(visitor, survey)
    form = form_of(visitor, at)
    low, high = (float(form[f"dial:gaussian:sigma:{end}"].removesuffix("km")) for end in "ab")
    lon, lat = np.radians(survey["lon"].to_numpy()), np.radians(survey["lat"].to_numpy())
    cosine = np.sin(lat)[:, None] * np.sin(lat) + np.cos(lat)[:, None] * np.cos(lat) * np.cos(lon[:, None] - lon)
    ways = 6371 * np.arccos(np.clip(cosine, -1, 1))
    np.fill_diagonal(ways, np.nan)
    assert high == pytest.approx(np.nanquantile(ways, 0.95) / 2, rel=0.1)
    assert low == pytest.approx(np.median(np.nanmin(ways, axis=1)) / 2, rel=0.35)  # by some records, two digits
    town = survey.assign(lon=9 + survey["lon"] / 1000, lat=50 + survey["lat"] / 1000)
    near = form_of(visitor, open_file(visitor, town, "town.csv"))
    assert float(near["dial:gaussian:sigma:b"].removesuffix("km")) < high / 100
    assert keep(visitor, at, form | {"mask": ["gaussian", "donut", "round"], "max_risk": "0.1"}).said["mask"]


def test_no_card_reads_to_to(visitor: Visitor) -> None:
    at = open_file(visitor, people(30))
    text = visitor.get(f"{at}/ask").text
    assert re.search(r'<label for="dial:round:to:a">to</label>', text)
    assert re.search(r'<label for="dial:round:to:b">up to</label>', text)


def test_begun_before_can_be_forgotten(visitor: Visitor) -> None:
    """The last five are shown, the others folded; one or all are taken off, and their folders stay."""
    places = visitor.site.places
    people(30).to_csv(places.start / "p.csv", index=False)
    projects = [visitor.project(visitor.open("p.csv")) for _ in range(7)]
    kept = visitor.site.projects.keep(projects[0], "kept")
    page = visitor.get("/").text
    assert page.index("2 that are older") > page.index(projects[6].id)
    visitor.post("/forget", {"project": kept.id})
    assert kept.id not in visitor.get("/").text
    assert visitor.get(f"/work/{kept.id}/open").status_code == 200  # it is there, and so is what was released
    assert kept.folder.is_dir()
    visitor.post("/forget", {"project": projects[1].id})
    assert not projects[1].folder.exists()
    write_status(projects[2].folder, Status(state=RUNNING))
    visitor.site.runner.waiting.append(projects[2].id)
    visitor.post("/forget")
    left = visitor.get("/").text
    assert [one.id in left for one in projects] == [False, False, True, False, False, False, False]
    visitor.post("/list")
    assert kept.id in visitor.get("/").text


def test_progress_is_said_in_per_cent(visitor: Visitor) -> None:
    """A value below one is read out as nothing: the bar counts to 100."""
    at = open_file(visitor, people(30))
    project = visitor.project(at)
    write_status(project.folder, Status(state=RUNNING, words=Words(share=0.424)))
    (project.folder / "journal.jsonl").write_text("", encoding="utf-8")
    visitor.site.runner.running = type("Running", (), {"id": project.id})()  # type: ignore[assignment]
    try:
        page = Page(visitor.get(f"{at}/run").text)
    finally:
        visitor.site.runner.running = None
    (bar,) = [about for tag, about in page.tags if tag == "progress"]
    assert (bar["max"], bar["value"]) == ("100", "42.4")
    assert bar["aria-valuetext"].startswith("42")
    (part,) = [about for tag, about in page.tags if about.get("id") == "progress"]
    assert part["data-told"].startswith("40 ")


def test_no_page_on_the_way_is_missing(visitor: Visitor) -> None:
    """An address to which a form was sent can be opened again, as whoever chooses another language there does."""
    at = open_file(visitor, people(30))
    for form in ("start", "advise", "ask/recipients"):
        assert visitor.post(f"{at}/{form}", {"limit": "x"}).status_code in (200, 422)
        back = visitor.post("/language", {"language": "de", "back": f"{at}/{form}"}).headers["location"]
        led = visitor.get(back)
        assert led.headers.get("location") == f"{at}/ask"
    assert visitor.get("/favicon.ico").headers["content-type"] == "image/svg+xml"  # of a report in a tab of its own
    for path in ("/choose", "/upload", f"{at}/run/start", f"{at}/undo"):
        assert visitor.get(path).status_code == 303, path


NUMBERS = {"0.09": 0.09, "0,09": 0.09, " 9 % ": 0.09, "9%": 0.09, "8,7\u202f%": 0.087, "9\u00a0%": 0.09, ",5": 0.5}


def test_numbers_are_read_as_people_write_them(visitor: Visitor) -> None:
    for text, value in NUMBERS.items():
        if text != ",5":
            assert read_number(text, "", share=True) == value
    for text in ("1,000", "12,345", "0.1,2", "%", "9 %%", "1e999", ",", "nan", "9 %"):
        with pytest.raises(InputError):
            read_number(text, "")
    assert [with_point(text) for text in ("0,5km", "0,5 km", "-1,5", "1,000m", "1km,5km", "a,b")] == [
        "0.5km",
        "0.5km",
        "-1.5",
        "1,000m",
        "1km,5km",
        "a,b",
    ]
    at = open_file(visitor, people(40).assign(km_hospital=np.arange(40) / 3))
    form = form_of(visitor, at) | {"mask": ["gaussian"], "max_risk": "9 %", "max_risk_person": "0,5", "overlap": "30%"}
    form |= {"dial:gaussian:sigma:a": "0,5km", "dial:gaussian:sigma:b": "", "coordinate_error": "0,2km"}
    form |= {"number:km_hospital:how": "round", "number:km_hospital:a": "1,5km", "number:km_hospital:b": ""}
    said = keep(visitor, at, form).said
    assert (said["max_risk"], said["max_risk_person"], said["overlap"]) == (0.09, 0.5, 0.3)
    assert said["mask"] == ["gaussian:sigma=0.5km | km_hospital=round:1.5km"]
    assert said["coordinate_error"] == "0.2km"


def test_coarser_labels_are_shown_with_their_counts(visitor: Visitor) -> None:
    """Before and after, counted by hand."""
    table = people(40).assign(age=np.repeat([18, 21, 25, 39, 62], 8))
    at = open_file(visitor, table)
    form = form_of(visitor, at) | {"how:age": "width", "from:age": "10", "to:age": "20", "how:sex": "drop"}
    page = visitor.post(f"{at}/recoded", form, headers=HTMX).text
    ages = page[page.index("What becomes of age") : page.index("</table>", page.index("What becomes of age"))]
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", ages, re.S)[1:]]
    assert rows[0][:5] == ["as", "it", "is", "5", "8"]
    by = {row[0]: row for row in rows[1:]}
    ten, twenty = by["age=width:age:10"], by["age=width:age:20"]
    assert ten[1:3] == ["4", "8"]  # 10-19, 20-29 (21 and 25), 30-39, 60-69
    assert twenty[1:3] == ["3", "8"]  # 0-19, 20-39 (21, 25 and 39), 60-79
    assert "(24)" in " ".join(twenty)
    assert "left out" in page
    assert "no label" in visitor.post(f"{at}/recoded", form | {"more_rules": "x=width:x:1..9"}, headers=HTMX).text
    opened = form_of(visitor, at, "open-form") | {"generalise": "young=classes:age:20,40"}
    made = visitor.post(f"{at}/made", opened, headers=HTMX).text
    assert "[20,40) (24)" in made


def test_the_last_change_can_be_undone(visitor: Visitor) -> None:
    at = open_file(visitor, people(40))
    first = keep(visitor, at, form_of(visitor, at) | {"mask": ["gaussian"], "max_risk": "0.1"})
    second = keep(visitor, at, form_of(visitor, at) | {"max_risk": "0.3"})
    keep(visitor, at, form_of(visitor, at))  # which changes nothing
    third = keep(visitor, at, form_of(visitor, at) | {"mask": ["donut"]})
    assert len({str(one.said) for one in (first, second, third)}) == 3
    for expected in (second, first):
        assert "Undo" in visitor.get(f"{at}/ask").text
        assert visitor.post(f"{at}/undo").headers["location"] == f"{at}/ask"
        assert visitor.project(at) == expected
    visitor.post(f"{at}/undo")
    assert not visitor.project(at).said.get("mask")
    visitor.post(f"{at}/undo")
    assert visitor.post(f"{at}/undo").status_code == 422
    assert "Undo" not in visitor.get(f"{at}/open").text


def test_a_release_is_shown_before_and_after(visitor: Visitor) -> None:
    """The counts of the published file itself, and the distances of both."""
    from contextlib import chdir

    from disclique.app.projects import ABOUT, BEGUN
    from disclique.app.status import Board
    from disclique.app.worker import carry_out_project

    at = open_file(visitor, people(40).assign(age=np.arange(40) % 30))
    form = form_of(visitor, at) | {"how:age": "width", "from:age": "10", "to:age": "10"}
    keep(visitor, at, form | {"mask": ["gaussian"], "dial:gaussian:sigma:a": "50km", "dial:gaussian:sigma:b": ""})
    project = visitor.site.projects.save(visitor.project(at).with_said(**LIGHT))
    (project.folder / BEGUN).write_bytes((project.folder / ABOUT).read_bytes())
    with chdir(project.folder), Board(project.folder) as board:
        carry_out_project(project, "audit", 1, board)
    setting = next(one["spec"] for one in json.loads(project.result.read_bytes())["settings"])
    made = visitor.post(f"{at}/release", {"setting": setting, "folder": "out", "confirm": "yes"})
    assert made.status_code == 303, Page(made.text).alerts
    (found,) = list_releases(visitor.project(at))
    changes = {one.name: one for one in found.changes}
    table = pd.read_csv(Path(visitor.site.places.start) / "out" / "publish" / "release.csv")
    counts, sexes, ways = changes["age"].counts, changes["sex"].counts, changes[""].figures
    assert counts is not None
    assert sexes is not None
    assert ways is not None
    assert counts[0].different == 30
    assert dict(counts[1].commonest) == dict(table["age"].map(str).value_counts())
    assert sexes[0].different == sexes[1].different == 2
    assert ways[1].mean > ways[0].mean
    text = visitor.get(f"{at}/release").text
    assert "Before and after" in text
    assert "30 values" in text


def test_the_limit_of_a_person_is_offered_beside_the_usual_one(visitor: Visitor) -> None:
    at = open_file(visitor, people(40))
    text = visitor.get(f"{at}/ask").text
    assert text.count("meant for the most exposed person") == 2  # in both forms
    assert text.count("howto/limits") == 2
    form = Page(text, "advise-form").fields
    assert form["person"] == ""
    assert visitor.post(f"{at}/advise", form | {"person": "2", "place": ""}).status_code == 422
    answer = visitor.post(f"{at}/advise", form | {"person": "9 %", "place": ""})
    assert answer.status_code == 307
    project = visitor.project(at)
    assert (project.said["max_risk"], project.said["max_risk_person"]) == (0.09, 0.09)
    assert "max-risk-person = 0.09" in project.toml
    assert Page(visitor.get(f"{at}/ask").text, "advise-form").fields["person"] == "0.09"
