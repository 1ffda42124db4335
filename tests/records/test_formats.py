"""Files that data centres have: the same table means the same in every format, and traps of formats are told."""

import datetime as dt
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import Run
from disclique.audits.from_options import read_audit
from disclique.options.audits import AuditOptions
from disclique.records.formats import Part, formats, list_suffixes, read_table
from disclique.values import canonical
from packaged import ROOT
from small_files import people

SEXES = {1: "female", 2: "male"}
AGES = {1: "18-39", 2: "40-64", 3: "65+"}


def coded(n: int = 40) -> pd.DataFrame:
    """People as statistical programs have them: labels as codes, numbers as floats, a date, words."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "pid": [f"p{k:03d}" for k in range(n)],
            "sex": rng.integers(1, 3, n).astype(float),
            "age": rng.integers(1, 4, n).astype(float),
            "income": [np.nan, *rng.integers(0, 5000, n - 1).astype(float)],
            "lon": rng.uniform(9, 11, n).round(6),
            "lat": rng.uniform(49, 51, n).round(6),
            "town": rng.choice(["Köln", "Bonn"], n),
            "born": [dt.date(1950 + k, 1 + k % 12, 1 + k % 28) for k in range(n)],
        }
    )


def in_words(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(sex=frame["sex"].map(SEXES), age=frame["age"].map(AGES))


def write(path: Path, frame: pd.DataFrame, labels: dict[str, Any] | None = None, **more: Any) -> Path:
    """The table in the format that the name says; codes with value labels where the format has them."""
    labels = {"sex": SEXES, "age": AGES} if labels is None else labels
    suffix = path.suffix
    if suffix in (".sav", ".zsav", ".dta"):
        pyreadstat = pytest.importorskip("pyreadstat")
        writer = pyreadstat.write_dta if suffix == ".dta" else pyreadstat.write_sav
        writer(frame, str(path), variable_value_labels=labels, **more)
    elif suffix in (".por", ".xpt"):
        pyreadstat = pytest.importorskip("pyreadstat")
        (pyreadstat.write_por if suffix == ".por" else pyreadstat.write_xport)(frame, str(path))
    elif suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    return {str(name): [canonical(value) for value in frame[name]] for name in frame.columns}


def same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    ours, theirs = plain(found), plain(expected)
    assert list(ours) == list(theirs)
    for name in ours:
        if name in ("lon", "lat"):  # SPSS portable files keep fewer digits
            assert ours[name] == pytest.approx(theirs[name], rel=1e-9)
        else:
            assert ours[name] == theirs[name], name


@pytest.mark.parametrize("suffix", [".sav", ".zsav", ".dta", ".xlsx", ".parquet"])
def test_a_table_means_the_same_in_every_format(tmp_path: Path, suffix: str) -> None:
    """Words of value labels, whole numbers, missing values, umlauts and dates, as in the CSV of the same people."""
    frame = coded()
    expected = read_table(write(tmp_path / "t.csv", in_words(frame)))
    given = frame if suffix in (".sav", ".zsav", ".dta") else in_words(frame)
    same(read_table(write(tmp_path / f"t{suffix}", given)), expected)
    columns: dict[str, Any] = {"id": "pid", "labels": ["sex", "age", "born"], "coordinates": "lon,lat"}
    one, two = (dq.read(tmp_path / f"t{ending}", **columns) for ending in (suffix, ".csv"))
    assert one.ids == two.ids
    assert one.labels.equals(two.labels)
    assert two.joined == one.joined == ""
    if given is frame:
        codes = read_table(write(tmp_path / "codes.csv", frame))
        same(read_table(tmp_path / f"t{suffix}", Part(codes=True)), codes)


@pytest.mark.parametrize("suffix", [".por", ".xpt"])
def test_formats_without_labels_have_the_numbers(tmp_path: Path, suffix: str) -> None:
    """SPSS portable and SAS transport files, whose names are short and capital."""
    frame = coded().drop(columns=["born"]).rename(columns=str.upper)
    frame["TOWN"] = frame["TOWN"].str.replace("ö", "oe")
    found = read_table(write(tmp_path / f"t{suffix}", frame)).rename(columns=str.upper)
    same(found, read_table(write(tmp_path / "t.csv", frame)))


def test_only_columns_that_are_labelled_throughout_become_words(tmp_path: Path) -> None:
    """Ages with a label for -9 stay numbers, and -9 a value; what is declared as missing is; labels twice are codes."""
    pytest.importorskip("pyreadstat")
    frame = pd.DataFrame(
        {
            "age": [34.0, 51, -9, 8],
            "sex": [1.0, 2, 9, 2],
            "health": [1.0, 2, -8, 1],
            "twice": [1.0, 2, 3, 1],
            "town": ["b", "k", "b", "k"],
        }
    )
    labels = {
        "age": {-9: "no answer"},
        "sex": {1: "female", 2: "male", 9: "unknown"},
        "health": {1: "good", 2: "bad", -8: "refused"},
        "twice": {1: "yes", 2: "yes", 3: "no"},
        "town": {"b": "Bonn", "k": "Köln"},
    }
    path = write(tmp_path / "t.sav", frame, labels, missing_ranges={"sex": [9], "age": [8]})
    assert plain(read_table(path)) == {
        "age": [34, 51, -9, None],
        "sex": ["female", "male", None, "male"],
        "health": ["good", "bad", "refused", "good"],
        "twice": [1, 2, 3, 1],
        "town": ["Bonn", "Köln", "Bonn", "Köln"],
    }
    assert plain(read_table(path, Part(codes=True)))["sex"] == [1, 2, None, 2]


def test_stata_missing_values_of_every_kind_are_missing(tmp_path: Path) -> None:
    """Written by another program than the one that reads."""
    pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"sex": pd.Categorical(["f", None, "m"]), "x": [1.5, np.nan, 3]})
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    assert plain(read_table(tmp_path / "t.dta")) == {"sex": ["f", None, "m"], "x": [1.5, None, 3]}


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        page = book.create_sheet(title)
        for row in rows:
            page.append(row)
    book.save(path)
    return path


ROWS: list[list[Any]] = [["id", "age", "lon", "lat"], ["0001", "10-14", 9.5, "50.25"], ["0002", "15-19", 10, 51]]


def test_sheets_are_named_or_refused(tmp_path: Path) -> None:
    """One sheet with cells is taken; of several, the one that is said."""
    other = [["a"], [1]]
    path = workbook(tmp_path / "t.xlsx", {"info": other, "people": ROWS, "empty": []})
    with pytest.raises(dq.InputError, match="it has the sheets 'info', 'people'; say which one with --sheet"):
        read_table(path)
    with pytest.raises(dq.InputError, match="no sheet 'persons'; it has 'info', 'people'"):
        read_table(path, Part(sheet="persons"))
    found = dq.read(path, id="id", labels="age", coordinates="lon,lat", sheet="people")
    assert found.ids == ("0001", "0002")
    np.testing.assert_array_equal(found.distances.coordinates, [[9.5, 50.25], [10, 51]])
    one = workbook(tmp_path / "one.xlsx", {"Tabelle1": ROWS, "Tabelle2": [[None, " "]], "Tabelle3": []})
    assert dq.read(one, id="id", coordinates="lon,lat", sheet="people").ids == ("0001", "0002")


def test_cells_around_a_table_are_no_records(tmp_path: Path) -> None:
    """Empty rows and columns anywhere; a title or merged names above the header are told, not read."""
    openpyxl = pytest.importorskip("openpyxl")
    loose = [[None] * 6, [None, *ROWS[0]], [None, *ROWS[1], None], [" "] * 6, [None, *ROWS[2], ""], [None] * 9]
    assert plain(read_table(workbook(tmp_path / "t.xlsx", {"a": loose}))) == plain(
        read_table(workbook(tmp_path / "u.xlsx", {"a": ROWS}))
    )
    for above in (["Erhebung 2024"], ["Person", None, "Ort", None]):
        path = workbook(tmp_path / "t.xlsx", {"a": [above, *ROWS]})
        book = openpyxl.load_workbook(path)
        book["a"].merge_cells("A1:B1")
        book.save(path)
        with pytest.raises(dq.InputError, match=r"the first row names \d of 4 columns.*title or a merged cell"):
            read_table(path)


def test_merged_records_are_told(tmp_path: Path) -> None:
    """A town written once for several records is not missing in the others."""
    openpyxl = pytest.importorskip("openpyxl")
    path = workbook(tmp_path / "t.xlsx", {"a": [["id", "town"], ["a", "Bonn"], ["b", None], ["c", "Köln"]]})
    book = openpyxl.load_workbook(path)
    book["a"].merge_cells("B2:B3")
    book.save(path)
    with pytest.raises(dq.InputError, match="sheet 'a': the cells B2:B3 are merged"):
        read_table(path)


@pytest.mark.parametrize(
    ("value", "says"),
    [("=1+1", r"cell B2 is a formula \(=1\+1\) without the value"), ("#REF!", "cell B2 = #REF!: an error, no value")],
)
def test_cells_without_a_value_are_named(tmp_path: Path, value: str, says: str) -> None:
    """A formula that was never computed, and errors, are not missing values."""
    rows = [list(row) for row in ROWS]
    rows[1][1] = value
    with pytest.raises(dq.InputError, match=says):
        read_table(workbook(tmp_path / "t.xlsx", {"a": rows}))


def test_formulas_have_the_value_that_was_saved(tmp_path: Path) -> None:
    """As a spreadsheet program writes them; an empty text is a missing value, not a formula without one."""
    path = workbook(tmp_path / "t.xlsx", {"a": [["id", "x"], [1, "=1+1"], [2, '=""']]})
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    page = next(name for name in parts if name.startswith("xl/worksheets/"))
    parts[page] = re.sub(rb"<v ?/>|<v></v>", b"<v />", parts[page])  # lxml writes it otherwise
    for here, there in (
        (b'<c r="B2"><f>1+1</f><v /></c>', b'<c r="B2"><f>1+1</f><v>2</v></c>'),
        (b'<c r="B3"><f>""</f><v /></c>', b'<c r="B3" t="str"><f>""</f><v></v></c>'),
    ):
        assert here in parts[page]
        parts[page] = parts[page].replace(here, there)
    with ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert plain(read_table(path)) == {"id": [1, 2], "x": [2, None]}


@pytest.mark.parametrize("damaged", [dt.datetime(2024, 10, 14), "14. Okt", "Oct-14", 45579])
def test_classes_that_became_dates_are_found(tmp_path: Path, damaged: Any) -> None:
    """In labels, ids and sources of labels; a column of dates is fine, and so is one that is not used."""
    rows = [*ROWS, ["0003", damaged, 11, 52]]
    path = workbook(tmp_path / "t.xlsx", {"a": rows})
    for wrong in ({"labels": "age"}, {"id": "age"}, {"labels": "a", "generalise": "a=prefix:age:1"}):
        with pytest.raises(dq.InputError, match=r"row 3, column 'age' = .*: a date among values such as '10-14'.*text"):
            dq.read(path, coordinates="lon,lat", **wrong)
    assert len(dq.read(path, coordinates="lon,lat", id="id")) == 3
    income = [["income", "lon", "lat"], ["0-9999", 9, 50], ["10000-29999", 9, 50], [30000, 9, 51]]
    assert len(dq.read(workbook(tmp_path / "i.xlsx", {"a": income}), labels="income", coordinates="lon,lat")) == 3
    dates = [["born", "lon", "lat"], [dt.date(1980, 5, 1), 9, 50], [None, 9, 50], [dt.datetime(1981, 6, 2), 9, 51]]
    path = workbook(tmp_path / "d.xlsx", {"a": dates})
    assert list(dq.read(path, labels="born", coordinates="lon,lat").labels["born"]) == [
        "1980-05-01",
        None,
        "1981-06-02",
    ]


def test_numbers_stored_as_text_and_words_for_nothing(tmp_path: Path) -> None:
    """As in a CSV file: 14 is 14 however it is stored, 007 is not 7, NA is missing."""
    rows = [["x"], [14], ["14"], [14.0], ["007"], [7], ["NA"], [None], [" f"], [True]]
    found = read_table(workbook(tmp_path / "t.xlsx", {"a": [[*row, "end"] for row in rows]}))
    (tmp_path / "t.csv").write_text("x,end\n14,end\n14,end\n14.0,end\n007,end\n7,end\nNA,end\n,end\n f,end\nTrue,end\n")
    assert (
        plain(found)["x"]
        == plain(read_table(tmp_path / "t.csv"))["x"]
        == [14, 14, 14, "007", 7, None, None, " f", "True"]
    )


def test_layers_and_geoparquet(tmp_path: Path) -> None:
    """A GeoPackage of several layers wants one said; of a file beside distances the attributes are read."""
    geopandas, pyogrio = pytest.importorskip("geopandas"), pytest.importorskip("pyogrio")
    frame = people(6)
    places = geopandas.points_from_xy(frame["lon"], frame["lat"], crs=4326)
    layer = geopandas.GeoDataFrame(frame[["id", "sex"]], geometry=places).to_crs(25832)
    path = tmp_path / "t.gpkg"
    layer.to_file(path, layer="people")
    pyogrio.write_dataframe(pd.DataFrame({"style": ["a"]}), path, layer="layer_styles")  # as QGIS leaves it there
    assert dq.read(path, id="id").ids == tuple(frame["id"])
    layer.iloc[:2].to_file(path, layer="schools")
    with pytest.raises(dq.InputError, match="the layers 'people', 'schools'; say which one with --layer"):
        dq.read(path, id="id")
    with pytest.raises(dq.InputError, match="no layer 'x'; it has 'people', 'schools'"):
        dq.read(path, id="id", layer="x")
    found = dq.read(path, id="id", labels="sex", layer="people")
    np.testing.assert_allclose(found.distances.coordinates, frame[["lon", "lat"]], atol=1e-6)
    assert len(dq.read(path, id="id", layer="schools")) == 2
    layer.to_parquet(tmp_path / "t.parquet")
    layer.to_parquet(tmp_path / "t.geoparquet")
    for name in ("t.parquet", "t.geoparquet"):
        again = dq.read(tmp_path / name, id="id", labels="sex")
        np.testing.assert_allclose(again.distances.coordinates, found.distances.coordinates)
        assert again.ids == found.ids
    np.save(tmp_path / "d.npy", np.ones((6, 6)) - np.eye(6))
    for name in ("t.gpkg", "t.geoparquet", "t.parquet"):
        beside = dq.read(tmp_path / name, id="id", labels="sex", distances=tmp_path / "d.npy", layer="people")
        assert beside.ids == found.ids
        assert beside.labels.equals(found.labels)


def test_an_index_of_a_parquet_file_is_a_column(tmp_path: Path) -> None:
    """As pandas keeps it: one with a name can be the id, one without is nothing."""
    frame = people(5)
    frame.set_index("id").to_parquet(tmp_path / "t.parquet")
    assert dq.read(tmp_path / "t.parquet", id="id", coordinates="lon,lat").ids == tuple(frame["id"])
    frame.iloc[[4, 2, 0]].to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").columns) == list(frame.columns)


@pytest.mark.parametrize("name", ["t.xlsx", "t.sav", "t.dta", "t.sas7bdat", "t.gpkg"])
def test_a_missing_package_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It says how to get it."""
    for package in ("openpyxl", "pyreadstat", "geopandas"):
        monkeypatch.setitem(sys.modules, package, None)  # an import of it fails
    (tmp_path / name).write_bytes(b"x")
    extra = "geo" if name == "t.gpkg" else "stat"
    with pytest.raises(dq.DiscliqueError, match=rf'{name}: .*: pip install "disclique\[{extra}\]"$'):
        dq.read(tmp_path / name, coordinates="lon,lat")


@pytest.mark.parametrize("suffix", list_suffixes(lambda one: one.grid is not None and one.name != "CSV"))
def test_files_that_are_no_such_files_end_in_one_sentence(tmp_path: Path, suffix: str) -> None:
    """Bytes, and a table of another kind under this name."""
    for module in ("openpyxl", "pyreadstat"):
        pytest.importorskip(module)
    for content in (b"\0\1\2\3" * 40, b"id,sex\n1,f\n"):
        (tmp_path / f"t{suffix}").write_bytes(content)
        with pytest.raises(dq.InputError, match=rf"t\{suffix}: not a ") as said:
            dq.read(tmp_path / f"t{suffix}", coordinates="lon,lat")
        assert "\n" not in str(said.value)
        with pytest.raises(dq.InputError, match=rf"t\{suffix}"):
            dq.read(write(tmp_path / "p.csv", people(3)), distances=tmp_path / f"t{suffix}")


def test_every_command_reads_them(run: Run) -> None:
    """Attack, audit, mask, calibrate and study; the snooper's file, others, seeds and lists."""
    pytest.importorskip("openpyxl")
    frame = coded()
    words = in_words(frame)
    write(Path("t.sav"), frame)
    write(Path("k.xlsx"), words)
    write(Path("o.dta"), frame.assign(pid=[f"q{k}" for k in range(len(frame))], lon=frame["lon"] + 0.01))
    workbook(Path("s.xlsx"), {"a": [["target_id", "known_id"], ["p001", "p001"]]})
    columns = ("--id", "pid", "--label", "sex", "--label", "age")
    points = ("--coordinates", "lon,lat")
    seeds = ("--seeds", "s.xlsx", "--attack", "profiles", "--truth", "pid")
    code, _, err = run("attack", "t.sav", "k.xlsx", *columns, *points, *seeds)
    assert code == 0, err
    code, _, err = run(
        "attack", "t.sav", "k.xlsx", *columns, *points, "--within", "1m", "--truth", "pid", "--attack", "clique"
    )
    assert code == 0, err
    assert "recall 1.000" in err
    code, _, err = run("attack", "t.sav", "k.xlsx", *columns, *points, "--within", "1m", "--codes")
    assert (code, "nobody could match" in err) == (2, True)
    told = AuditOptions(id="pid", label=["sex", "age"], coordinates="lon,lat", mask=["affine"])
    for more in ({"known": Path("k.xlsx")}, {"overlap": 0.5, "others": "o.dta"}):
        audit = read_audit(Path("t.sav"), replace(told, **more).filled())
        theirs = audit.known or audit.others
        assert theirs is not None
        assert theirs.labels.equals(audit.target.labels)
        assert len(audit.plan.inputs) == 2
    code, _, err = run("mask", "t.sav", *columns, *points, "--mask", "affine", "--out", "r.csv")
    assert code == 0, err
    assert set(pd.read_csv("r.csv")["sex"]) == set(SEXES.values())
    workbook(
        Path("two.xlsx"),
        {"a": [["x"], [1]], "b": [[*words.drop(columns="income")], *words.drop(columns="income").to_numpy().tolist()]},
    )
    calibrate = ("calibrate", "--mask", "gaussian:sigma=500m", "--pairs", "100", "--points")
    shown = [run(*calibrate, *one)[1] for one in (("k.xlsx",), ("t.sav",), ("two.xlsx", "--sheet", "b"))]
    assert shown[0] == shown[1] == shown[2] != ""
    study = ("study", "--people", "two.xlsx", "--text", "town,pid", "--mask", "bloom", "--n", "20", "--common", "5")
    short = ("--repetitions", "1", "--alpha", "0.5", "--no-figures", "--out", "study")
    assert "say which one with --sheet" in run(*study, *short)[2]
    code, _, err = run(*study, "--sheet", "b", *short)
    assert code == 0, err


GERMANY = np.random.default_rng(1).uniform([8.6, 50.0], [9.2, 50.6], (20, 2))


@pytest.mark.parametrize(
    ("crs", "named"),
    [
        (25832, "EPSG:25832"),
        (25833, "25833"),
        (31467, "EPSG:31467"),
        (3857, "EPSG:3857"),
        (3035, "EPSG:3035"),
        (4647, "EPSG:4647"),
    ],
)
def test_metres_without_a_reference_system_name_the_likely_ones(tmp_path: Path, crs: int, named: str) -> None:
    """By where the numbers lie, against pyproj's own transformation; then the hint, followed, gives the places."""
    from pyproj import Transformer

    x, y = Transformer.from_crs(4326, crs, always_xy=True).transform(*GERMANY.T)
    frame = pd.DataFrame({"x": x, "y": y})
    path = write(tmp_path / "t.csv", frame)
    with pytest.raises(dq.InputError, match=rf"t.csv: row 1, column 'x' = .*metres of a projection.*--crs.*{named}"):
        dq.read(path, coordinates="x,y")
    for given in ({"coordinates": ["x", "y"]}, {"coordinates": frame.to_numpy()}):
        with pytest.raises(dq.InputError, match=rf"{named}.*euclidean"):
            dq.microdata(frame, **given)
    if crs != 3857:  # which holds whatever is turned
        with pytest.raises(dq.InputError, match=rf"{named}.*name the east first|{named}|--crs"):
            dq.read(path, coordinates="y,x")
    found = dq.read(path, coordinates="x,y", crs=f"EPSG:{crs}")
    np.testing.assert_allclose(found.distances.coordinates, GERMANY, atol=1e-5)


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ([[530_000.0, 180_000.0]], "which looks like EPSG:27700"),
        ([[480.5, 5540.5]], "kilometres, it seems: .* EPSG:25832"),
        ([[5_540_000.0, 480_000.0]], "EPSG:25832 .* and name the east first"),
        ([[8.5, 50.0], [8.6, 50.1], [850.0, 50.2]], "row 3 = 850.0: no degrees, as most others are"),
        ([[9e7, 9e7]], "such as --crs EPSG:25832"),
    ],
)
def test_other_numbers_that_are_no_degrees(places: list[list[float]], says: str) -> None:
    """London, kilometres, north before east, a single slip, and nothing that is known."""
    with pytest.raises(dq.InputError, match=says):
        dq.microdata(pd.DataFrame({"x": range(len(places))}), coordinates=np.array(places))


def test_a_reference_system_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Degrees called metres would lie within some metres of each other, and swapped columns on another continent."""
    from pyproj import Transformer

    degrees = write(tmp_path / "d.csv", pd.DataFrame(GERMANY, columns=["x", "y"]))
    with pytest.raises(dq.InputError, match="are degrees, no metres of EPSG:25832: leave --crs out"):
        dq.read(degrees, coordinates="x,y", crs="EPSG:25832")
    assert len(dq.read(degrees, coordinates="x,y", crs="EPSG:4326")) == 20
    x, y = Transformer.from_crs(4326, 25832, always_xy=True).transform(*GERMANY.T)
    metres = write(tmp_path / "m.csv", pd.DataFrame({"x": x, "y": y}))
    for wrong in ({"coordinates": "y,x", "crs": "EPSG:25832"}, {"coordinates": "x,y", "crs": "EPSG:27700"}):
        with pytest.raises(dq.InputError, match=r"east and north swapped|outside the reference system"):
            dq.read(metres, **wrong)


def test_the_registry_is_what_the_page_of_files_promises() -> None:
    """Each format is read as a table or an array and says what its parts are called; what the page names is read."""
    for found in formats().values():
        assert found.table is not None or found.array is not None
        assert (found.section in ("sheet", "layer")) or found.parts is None
        assert found.extra in (None, "stat", "geo")
    page = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\.[a-z0-9]{2,})`", page.partition("### Formats")[2].partition("###")[0]))
    assert {".xlsm", ".por", ".xpt", ".npz"} <= named
    assert named - {".sas7bcat"} <= set(list_suffixes())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".sav"])
def test_some_rows_of_a_file_are_its_first(tmp_path: Path, suffix: str) -> None:
    """At least as many as were asked for, and the same as in all of it."""
    path = write(tmp_path / f"t{suffix}", coded(40))
    every, some = read_table(path), read_table(path, rows=7)
    assert 7 <= len(some) <= 40
    pd.testing.assert_frame_equal(some, every.iloc[: len(some)])
