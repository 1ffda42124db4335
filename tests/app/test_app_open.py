"""Open in the app: first rows of every format, roles that are guesses, and the look at the input."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="the app's packages are missing")
pytest.importorskip("python_multipart", reason="the app's packages are missing")
pytest.importorskip("httpx", reason="the app's packages are missing")

import disclique as dq
from app_visitor import Page, Visitor
from disclique.app import roles as previews
from disclique.app.beside import name_files, named
from disclique.app.roles import guess_roles, preview
from disclique.records.formats import list_suffixes
from disclique.synthetic.examples import survey_file
from invented_towns import towns
from plausible_mistakes import list_mistakes, make_files, make_mistake

HTMX = {"hx-request": "true"}
TOWNS = {"id": "pid", "label": ["geschlecht", "altersklasse"], "coordinates": "laenge,breite"}


def put(visitor: Visitor, name: str, table: pd.DataFrame) -> str:
    table.to_csv(visitor.site.places.start / name, index=False)
    return name


def opened(visitor: Visitor, name: str) -> tuple[str, Page]:
    """The work on a file of the folder, and its page."""
    at = visitor.open(name)
    answer = visitor.get(f"{at}/open")
    assert answer.status_code == 200
    return at, Page(answer.text, "open-form")


def guessed(table: pd.DataFrame, folder: Path) -> dict[str, tuple[str, bool]]:
    """Each column with the role guessed, and whether that is doubtful."""
    table.to_csv(folder / "g.csv", index=False)
    found = preview(folder / "g.csv")
    return {guess.column: (guess.role, bool(guess.why)) for guess in guess_roles(found.columns)}


def test_the_survey_is_opened_looked_at_and_confirmed(visitor: Visitor) -> None:
    put(visitor, "survey.csv", pd.read_csv(survey_file()))
    at, page = opened(visitor, "survey.csv")
    roles = {name: value for name, value in page.fields.items() if name.startswith("role:")}
    assert roles == {
        "role:id": "id",
        "role:sex": "label",
        "role:age_class": "label",
        "role:asthma": "sensitive",
        "role:lon": "x",
        "role:lat": "y",
    }
    assert "P070" in page.text  # the first rows
    look = visitor.post(f"{at}/look", page.fields, headers=HTMX)
    assert look.status_code == 200
    for words in ("<svg", "Germany 98", "median 296 km", "k-anonymity k = 3", "lon,lat"):
        assert words in look.text
    assert not visitor.project(at).said  # nothing is kept until it is confirmed
    answer = visitor.post(f"{at}/open", page.fields)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{at}/ask")
    project = visitor.project(at)
    assert project.checked
    assert not project.forced
    asked = {"id": "id", "label": ["sex", "age_class"], "coordinates": "lon,lat", "sensitive": ["asthma"]}
    assert project.said == asked
    assert visitor.get(at).headers["location"] == f"{at}/ask"
    again = Page(visitor.get(f"{at}/open").text, "open-form")
    assert {name: again.fields[name] for name in roles} == roles


def test_a_person_may_say_otherwise(visitor: Visitor) -> None:
    put(visitor, "survey.csv", pd.read_csv(survey_file()))
    at, page = opened(visitor, "survey.csv")
    said = page.fields | {"role:asthma": "label", "role:sex": ""}
    assert visitor.post(f"{at}/open", said).status_code == 303
    assert visitor.project(at).said["label"] == ["age_class", "asthma"]
    for change, words in {
        "role:sex=id": "only one column is the id",
        "role:lat=": "say which column is the other",
        "role:sex=y": "only one column is the latitude",
        "role:sex=king": "there is no role",
        "crs=EPSG:25832": "are degrees, no metres",
        "metric=leagues": "leagues",
        "distances=folder:nothing.csv": "there is no such file",
        "generalise=age=width:age:1..40": "belong to the next step",
        "more_labels=nobody": "nobody",
        "by_position=perhaps": "choose one of the answers",
    }.items():
        name, _, value = change.partition("=")
        before = visitor.project(at)
        answer = visitor.post(f"{at}/open", page.fields | {name: value})
        assert answer.status_code == 422
        assert any(words in alert for alert in Page(answer.text).alerts), (change, Page(answer.text).alerts)
        assert visitor.project(at) == before
        look = visitor.post(f"{at}/look", page.fields | {name: value}, headers=HTMX)
        assert look.status_code == 200
        assert any(words in alert for alert in Page(look.text).alerts)


def test_roles_are_guessed_from_names_and_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 60
    german = pd.DataFrame(
        {
            "Lfd_Nr": range(n),
            "Geschlecht": rng.choice(["m", "w"], n),
            "gebJahr": rng.integers(1930, 1990, n),
            "PLZ": rng.choice(["34117", "34119", "36037"], n),
            "Vorname": rng.choice(["Anna", "Otto", "Ida"], n),
            "Einkommen": rng.normal(2500, 300, n).round(2),
            "Asthma": rng.choice([0, 1], n),
            "Länge": rng.normal(9.5, 0.1, n).round(5),
            "Breite": rng.normal(51.3, 0.1, n).round(5),
        }
    )
    found = guessed(german, tmp_path)
    assert found["Lfd_Nr"] == ("id", False)
    assert found["Geschlecht"] == found["gebJahr"] == found["PLZ"] == ("label", False)
    assert (found["Länge"], found["Breite"]) == (("x", False), ("y", False))
    assert found["Vorname"] == ("", True)  # left out, and that is said
    assert found["Einkommen"] == found["Asthma"] == ("sensitive", True)  # to be confirmed
    plane = german.drop(columns=["Länge", "Breite"]).assign(
        Rechtswert=rng.normal(3_530_000, 9e3, n).round(), Hochwert=rng.normal(5_680_000, 9e3, n).round()
    )
    assert guessed(plane, tmp_path)["Rechtswert"] == ("x", True)
    assert guessed(plane, tmp_path)["Hochwert"] == ("y", True)
    names = german[["Lfd_Nr", "Geschlecht", "Vorname"]].assign(Nachname=rng.choice(["Meyer", "Maier"], n))
    assert guessed(names, tmp_path)["Vorname"] == guessed(names, tmp_path)["Nachname"] == ("text", False)
    coded = names.assign(clk=["".join(rng.choice(["0", "1"], 64)) for _ in range(n)])
    assert guessed(coded, tmp_path)["clk"] == ("encoding", False)
    assert guessed(coded, tmp_path)["Vorname"] == ("", True)


@pytest.mark.parametrize(
    ("change", "doubtful"),
    [
        (lambda t: t.rename(columns={"laenge": "breite", "breite": "laenge"}), {"laenge", "breite"}),
        (lambda t: t.assign(laenge=t.laenge * 1000), {"laenge"}),
        (lambda t: t.drop(columns="breite"), {"laenge"}),
        (lambda t: t.assign(laenge="here"), {"laenge"}),
        (lambda t: t.assign(pid="p1"), {"pid"}),
        (lambda t: t.rename(columns={"laenge": "x", "breite": "y"}), {"x", "y"}),
        (lambda t: t.assign(altersklasse=t.pid), {"altersklasse"}),
    ],
)
def test_what_could_be_something_else_is_marked(change: Any, doubtful: set[str], tmp_path: Path) -> None:
    found = guessed(change(towns(60)), tmp_path)
    assert doubtful <= {name for name, (_, doubt) in found.items() if doubt}


def test_a_mistake_must_be_confirmed(visitor: Visitor) -> None:
    table = towns()
    put(visitor, "p.csv", table.rename(columns={"laenge": "breite", "breite": "laenge"}))
    at, page = opened(visitor, "p.csv")
    assert "are the two swapped?" in page.text
    answer = visitor.post(f"{at}/open", page.fields)
    assert answer.status_code == 422
    shown = Page(answer.text, "open-form")
    assert any("can only be a mistake" in alert for alert in shown.alerts)
    assert not visitor.project(at).checked
    assert "forced" not in shown.fields  # nobody ticks it but the person
    assert visitor.post(f"{at}/open", shown.fields | {"forced": "yes"}).status_code == 303
    assert visitor.project(at).forced
    put(visitor, "p.csv", table)  # mended in the file
    answer = visitor.post(f"{at}/open", shown.fields | {"forced": "yes"})
    assert answer.status_code == 303, Page(answer.text).alerts
    assert not visitor.project(at).forced  # there is nothing to be forced any more


WHOLE = [name for part, name in list_mistakes("whole") if part == "target"]


@pytest.mark.parametrize(
    "names", [WHOLE[::6], pytest.param([name for k, name in enumerate(WHOLE) if k % 6], marks=pytest.mark.slow)]
)
def test_every_plausible_mistake_is_shown(names: list[str], visitor: Visitor) -> None:
    """What a look at one file can see is seen on the page: a remark, or a refusal."""
    files = make_files("whole")
    rng = np.random.default_rng(5)
    unseen = []
    for number, name in enumerate(names):
        changed = make_mistake(files, "target", name, rng)
        try:
            expected = [remark.sentence for remark in dq.inspect(changed.read()["target"]).remarks]
            refused = ""
        except dq.InputError as problem:
            expected, refused = [], str(problem)
        at = visitor.open(put(visitor, f"{number}.csv", changed.target))
        said = {"role:pid": "id", "role:geschlecht": "label", "role:altersklasse": "label"}
        said |= {"role:laenge": "x", "role:breite": "y"}
        look = visitor.post(f"{at}/look", said, headers=HTMX)
        shown = re.sub(r"\s+", " ", Page(f"<p id='all'>{look.text}").by_id["all"])
        tail = [words.split(": ", 1)[-1] for words in expected]  # what comes behind the name of the file
        if not all(words in shown for words in tail) or (refused and not Page(look.text).alerts):
            unseen.append((name, expected, refused))
    assert not unseen


def test_names_and_values_are_never_markup(visitor: Visitor) -> None:
    evil = "<script>alert(1)</script>"
    table = pd.DataFrame(
        {
            "id": [f"{k}" for k in range(20)],
            evil: [evil if k % 2 else "\"'><img src=x>" for k in range(20)],
            "a\"b' onclick=": ["x", "y"] * 10,
            "lon": np.linspace(9, 10, 20),
            "lat": np.linspace(50, 51, 20),
        }
    )
    put(visitor, "p.csv", table)
    at, page = opened(visitor, "p.csv")
    said = page.fields | {f"role:{evil}": "label", "role:a\"b' onclick=": "label"}
    look = visitor.post(f"{at}/look", said, headers=HTMX)
    assert visitor.post(f"{at}/open", said).status_code == 303
    assert visitor.project(at).said["label"] == [evil, "a\"b' onclick="]
    for text in (page.text, look.text, visitor.get(f"{at}/open").text, visitor.get(f"{at}/ask").text):
        shown = Page(text)
        assert not [tag for tag, _ in shown.tags if tag == "img"]
        assert all("src" in about for tag, about in shown.tags if tag == "script")
        assert not [name for _, about in shown.tags for name in about if name.startswith("on") or name == "style"]
        assert evil not in text


def test_no_path_is_shown(visitor: Visitor) -> None:
    put(visitor, "p.csv", towns(30).assign(laenge="nowhere"))
    at, page = opened(visitor, "p.csv")
    said = page.fields | {"role:laenge": "x", "role:breite": "y"}
    places = visitor.site.places
    for answer in (visitor.post(f"{at}/look", said, headers=HTMX), visitor.post(f"{at}/open", said)):
        assert Page(answer.text).alerts
        assert str(places.start) not in answer.text
        assert str(places.private) not in answer.text
        assert "p.csv" in "".join(Page(answer.text).alerts)


def test_distances_come_from_another_file(visitor: Visitor) -> None:
    table = towns(40)
    put(visitor, "p.csv", table[["pid", "geschlecht"]])
    at, page = opened(visitor, "p.csv")
    look = visitor.post(f"{at}/look", page.fields, headers=HTMX)
    assert any("nothing gives distances" in alert for alert in Page(look.text).alerts)
    points = dq.Points(table[["laenge", "breite"]].to_numpy())
    square = points.block(np.arange(40, dtype=np.int32), np.arange(40, dtype=np.int32))
    text = pd.DataFrame((square + square.T) / 2, index=table.pid, columns=list(table.pid)).to_csv()
    answer = visitor.upload(f"{at}/file", "distances", "d.csv", text.encode())
    assert answer.status_code == 303
    again = Page(visitor.get(f"{at}/open").text, "open-form")
    chosen = [about["value"] for tag, about in again.tags if tag == "option" and about["value"].startswith("upload:")]
    said = again.fields | {"distances": chosen[0], "unit": "km"}
    look = visitor.post(f"{at}/look", said, headers=HTMX)
    assert not Page(look.text).alerts
    assert "d.csv" in Page(look.text).by_id["plan-toml"]
    assert visitor.post(f"{at}/open", said).status_code == 303
    assert Page(visitor.get(f"{at}/open").text, "open-form").fields["distances"] == chosen[0]
    assert visitor.upload(f"{at}/file", "distances", "d.exe", b"x").status_code == 422


def test_two_uploads_go_by_their_names(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever works inside the folder, as the process of an audit does, calls them so, too."""
    table = towns(20)
    people = table[["pid", "geschlecht"]].to_csv(index=False).encode()
    answer = visitor.post("/upload", files={"upload": ("people.csv", people)})
    at = answer.headers["location"].removesuffix("/open")
    visitor.upload(
        f"{at}/file", "vectors", "people.csv", table[["pid", "laenge", "breite"]].to_csv(index=False).encode()
    )
    page = Page(visitor.get(f"{at}/open").text, "open-form")
    chosen = [about["value"] for tag, about in page.tags if tag == "option" and about["value"].startswith("upload:")]
    assert visitor.post(f"{at}/open", page.fields | {"vectors": chosen[0], "unit": "km"}).status_code == 303
    project = visitor.project(at)
    assert sorted(name_files(project).values()) == ["people-2.csv", "people.csv"]  # told apart
    assert (named(project).file, named(project).said["vectors"]) == ("people.csv", "people-2.csv")
    inside = {path.removeprefix(f"{project.folder}/"): name for path, name in name_files(project).items()}
    relative = {path: Path(path).relative_to(project.folder) for path in (project.file, project.said["vectors"])}
    seen = replace(project, file=str(relative[project.file]), said={"vectors": str(relative[project.said["vectors"]])})
    monkeypatch.chdir(project.folder)
    assert name_files(seen) == inside


def test_encodings_in_a_column(visitor: Visitor) -> None:
    rng = np.random.default_rng(2)
    codes = ["".join(rng.choice(["0", "1"], 64)) for _ in range(30)]
    put(visitor, "p.csv", pd.DataFrame({"id": range(30), "sex": ["m", "f"] * 15, "clk": codes}))
    at, page = opened(visitor, "p.csv")
    assert visitor.post(f"{at}/open", page.fields).status_code == 303
    assert visitor.project(at).said["encodings"] == "clk"
    again = Page(visitor.get(f"{at}/open").text, "open-form")
    assert again.fields["role:clk"] == "encoding"
    assert visitor.get(f"{at}/ask").status_code == 200


def test_formats_and_parts(visitor: Visitor) -> None:
    start = visitor.site.places.start
    table = towns(30)
    table.to_parquet(start / "a.parquet")
    table.to_csv(start / "b.tsv", sep="\t", index=False)
    table.to_csv(start / "c.csv", sep=";", decimal=",", index=False)
    found = ["a.parquet", "b.tsv", "c.csv"]
    try:
        import openpyxl  # noqa: F401
        import pyreadstat
    except ImportError:
        pass
    else:
        with pd.ExcelWriter(start / "d.xlsx") as book:
            table.to_excel(book, sheet_name="people", index=False)
            table[["pid"]].to_excel(book, sheet_name="other", index=False)
        pyreadstat.write_dta(table, start / "e.dta")
        found.append("e.dta")
        at, page = opened(visitor, "d.xlsx")
        assert any("say which one" in alert for alert in page.alerts)
        assert visitor.post(f"{at}/open", page.fields | {"sheet": "people", "again": "yes"}).status_code == 303
        page = Page(visitor.get(f"{at}/open").text, "open-form")
        assert visitor.post(f"{at}/open", page.fields).status_code == 303
        assert visitor.project(at).said["sheet"] == "people"
    for name in found:
        at, page = opened(visitor, name)
        answer = visitor.post(f"{at}/open", page.fields)
        assert answer.status_code == 303, (name, Page(answer.text).alerts)
        assert visitor.project(at).said == {
            "id": "pid",
            "label": ["geschlecht", "altersklasse"],
            "coordinates": "laenge,breite",
        }


def test_geometries_are_places(visitor: Visitor) -> None:
    pytest.importorskip("pyogrio")
    features = [
        {
            "type": "Feature",
            "properties": {"id": k, "sex": "mf"[k % 2]},
            "geometry": {"type": "Point", "coordinates": [9 + k / 50, 50 + (k * k % 17) / 40]},
        }
        for k in range(30)
    ]
    content = {"type": "FeatureCollection", "features": features}
    (visitor.site.places.start / "g.geojson").write_text(json.dumps(content), encoding="utf-8")
    at, page = opened(visitor, "g.geojson")
    assert "geometry of the file" in page.text
    assert visitor.post(f"{at}/open", page.fields).status_code == 303
    assert visitor.project(at).said == {"id": "id", "label": ["sex"]}


def test_a_wrong_file_is_a_sentence(visitor: Visitor) -> None:
    start = visitor.site.places.start
    (start / "a.csv").write_bytes(b"")
    (start / "b.parquet").write_bytes(b"no such thing")
    (start / "c.xlsx").write_bytes(b"PK\x03\x04 nothing")
    (start / "d.csv").write_bytes(b"\x00\x01\x02" * 100)
    (start / "e.csv").write_text("a,a\n1,2\n", encoding="utf-8")
    (start / "f.geojson").write_text("{}", encoding="utf-8")
    (start / "g.npy").write_bytes(b"no array")
    (start / "h.csv").write_text('a,b\n1,"2\n', encoding="utf-8")
    for path in sorted(start.iterdir()):
        at, page = opened(visitor, path.name)
        assert page.alerts, path.name
        assert str(start) not in page.text
        look = visitor.post(f"{at}/look", page.fields, headers=HTMX)
        assert look.status_code == 200
        assert Page(look.text).alerts
        assert visitor.post(f"{at}/open", page.fields).status_code == 422
    path = start / "gone.csv"
    put(visitor, "gone.csv", towns(20))
    at = visitor.open("gone.csv")
    path.unlink()
    assert Page(visitor.get(f"{at}/open").text).alerts


@pytest.mark.parametrize(("records", "long"), [(9000, 500), (1200, 5000)])
def test_of_a_large_file_only_the_beginning_is_read(tmp_path: Path, records: int, long: int) -> None:
    """So many rows that columns can be judged by them, however long each is."""
    texts = [f'say "{k},\n{k}"' + long * "x" for k in range(records)]
    table = pd.DataFrame({"id": range(records), "text": texts, "lon": 9.5, "lat": 50.5})
    read: list[int] = []

    def seen(path: Path) -> Any:
        found = preview(path)
        read.append(found.read)
        return found

    for name in ("a.csv", "b.parquet"):
        if name.endswith("csv"):
            table.to_csv(tmp_path / name, index=False)
        else:
            table.to_parquet(tmp_path / name)
        found = seen(tmp_path / name)
        assert not found.whole
        assert [column.name for column in found.columns] == list(table.columns)
        assert list(found.columns[1].values[:3]) == list(table.text[:3])
    assert read == [previews.ROWS, previews.ROWS]


def test_what_the_package_reads_can_be_opened(visitor: Visitor) -> None:
    """Every ending of the registry is offered from the folder and taken from a browser; nothing else is."""
    start = visitor.site.places.start
    for suffix in (*list_suffixes(), ".exe", ".xls"):
        (start / f"t{suffix}").write_bytes(b"x")
    assert {path.suffix for path in visitor.site.places.files()} == set(list_suffixes())
    offered = visitor.get("/").text
    assert {suffix for suffix in list_suffixes() if f"<option>t{suffix}</option>" in offered} == set(list_suffixes())


@pytest.mark.parametrize("suffix", [".xlsm", ".por", ".xpt", ".fgb"])
def test_formats_that_few_have_are_previewed(visitor: Visitor, suffix: str) -> None:
    """Roles are guessed from the first rows of each."""
    path, table = visitor.site.places.start / f"t{suffix}", towns(20)[["geschlecht", "laenge", "breite"]]
    table.columns = pd.Index(["SEX", "LON", "LAT"])
    if suffix == ".xlsm":
        pytest.importorskip("openpyxl")
        table.to_excel(path, index=False, engine="openpyxl")
    elif suffix == ".fgb":
        geopandas = pytest.importorskip("geopandas")
        places = geopandas.points_from_xy(table["LON"], table["LAT"], crs=4326)
        geopandas.GeoDataFrame(table[["SEX"]], geometry=places).to_file(path, driver="FlatGeobuf")
    else:
        pyreadstat = pytest.importorskip("pyreadstat")
        (pyreadstat.write_por if suffix == ".por" else pyreadstat.write_xport)(table, str(path))
    _, page = opened(visitor, path.name)
    assert page.fields["role:SEX"] == "label"
    assert ("role:LON" in page.fields) == (suffix != ".fgb")
    assert page.alerts == []


def test_a_large_file_is_looked_at_in_two_steps(visitor: Visitor) -> None:
    """The first rows at once, then all: what is wrong further down is seen, and nothing is confirmed before that."""
    table = towns(5000).assign(remark=900 * "x")
    table.loc[4000, "laenge"] = np.nan
    put(visitor, "p.csv", table)
    at, page = opened(visitor, "p.csv")
    assert "hx-vals" in page.text
    first = visitor.post(f"{at}/look", page.fields | {"first": "yes"}, headers=HTMX).text
    assert not Page(first).alerts
    assert "first rows" in first
    assert "Germany 100" in first
    again = [about for _, about in Page(first).tags if about.get("hx-trigger") == "load"]
    assert [about["hx-post"] for about in again] == [f"{at}/look"]
    whole = visitor.post(f"{at}/look", page.fields, headers=HTMX).text
    assert "4001" in Page(whole).alerts[0]
    assert "first rows" not in whole
    assert visitor.post(f"{at}/open", page.fields | {"first": "yes"}).status_code == 422


def test_many_columns(visitor: Visitor) -> None:
    wide = pd.DataFrame({f"v{k}": (np.arange(20) + k) % 3 for k in range(700)})
    put(visitor, "w.csv", pd.concat([wide, towns(20)], axis=1))
    at, page = opened(visitor, "w.csv")
    assert page.fields["role:pid"] == "id"
    answer = visitor.post(f"{at}/open", page.fields | {"more_labels": "v699"})
    assert answer.status_code == 303, Page(answer.text).alerts
    assert visitor.project(at).said["label"] == ["geschlecht", "altersklasse", "v699"]
