"""``disclique audit``: what it writes and says, its options and exit statuses, and the files it reads."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import Run
from disclique.audits.result import decode_result
from disclique.errors import InputError
from disclique.records.reading import Layout, read
from disclique.spaces import Points
from disclique.synthetic.examples import survey, survey_file
from small_files import COLUMNS, FAST, LIGHT, people


def result_in(folder: str) -> Any:
    return json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))


def test_the_command_writes_result_records_and_report(run: Run, tmp_path: Path) -> None:
    """In a folder with a space and an umlaut, from a file with both; the input stays as it is."""
    folder = Path("Löhne und Wege")
    folder.mkdir()
    file = folder / "die Datei ü.csv"
    people(30).to_csv(file, index=False)
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    out = folder / "das Ergebnis"
    code, shown, err = run("audit", str(file), *COLUMNS, *FAST, "--mask", "affine", "--out", str(out))
    assert code == 0, err
    assert {path.name for path in out.iterdir()} >= {"result.json", "records.csv", "report.html", "journal.jsonl"}
    assert "about 2 releases" in err
    assert "100 %" in err
    assert shown.splitlines()[0].startswith("mask\trisk")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert result_in(str(out))["plan"]["inputs"] == {file.name: before}
    assert str(tmp_path) not in (out / "result.json").read_text(encoding="utf-8")
    code, _, err = run("report", str(out / "result.json"), "--out", str(folder / "Bericht.html"))
    assert code == 0
    assert (folder / "Bericht.html").read_text(encoding="utf-8").startswith("<!doctype html>")


STATUS = {
    "measured": ((), 0),
    "meets": (("--max-risk", "0.99", "--mask", "round:to=1000km", "--attack", "labels"), 0),
    "unproven": (("--max-risk", "0.9", "--mask", "gaussian:sigma=100km", "--attack", "labels"), 3),
    "fails": (("--max-risk", "0.1"), 4),
}


@pytest.mark.parametrize("status", STATUS)
def test_the_exit_status_is_the_verdict(run: Run, status: str) -> None:
    """0 only if the limit is shown to be kept or none was set, 3 if it is not shown, 4 if it is broken."""
    people(60).to_csv("f.csv", index=False)
    arguments, wanted = STATUS[status]
    masks = () if "--mask" in arguments else ("--mask", "affine", "--attack", "clique")
    quick = (
        "--repetitions",
        "1",
        "--processes",
        "1",
        *LIGHT,
        "--quiet",
        "--out",
        "o",
    )
    code, out, err = run("audit", "f.csv", *COLUMNS, *masks, *arguments, *quick)
    assert (code, out, err) == (wanted, "", "")
    assert result_in("o")["verdict"]["status"] == status
    assert f'class="verdict {status}"' in Path("o/report.html").read_text(encoding="utf-8")
    again, _, _ = run("audit", "f.csv", *COLUMNS, *masks, *arguments, *quick)
    assert again == wanted


def test_names_that_others_rely_on_are_in_the_result(run: Run) -> None:
    """As other programs read them."""
    people(30).to_csv("f.csv", index=False)
    code, _, err = run("audit", "f.csv", *COLUMNS, *FAST, "--mask", "affine", "--max-risk", ".5", "--out", "o")
    assert code == 4, err
    found = result_in("o")
    setting = found["settings"][0]
    assert setting["spec"] == "affine:mirror=random"
    assert (setting["risk"]["value"], setting["risk"]["high"], setting["risk"]["by"]) == (1.0, 1.0, "oracle")
    assert setting["risk"]["found"]["value"] == 1.0
    assert found["verdict"]["status"] == "fails"
    assert decode_result(Path("o/result.json").read_bytes()).version == found["version"] == 9


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(run: Run) -> None:
    """Masks, the search, attacks, releases and time; the folder is not made."""
    people(30).to_csv("f.csv", index=False)
    masks = ("--mask", "gaussian:sigma=1km..9km", "--max-risk", "0.1")
    code, _, err = run("audit", "f.csv", *COLUMNS, *FAST, *masks, "--out", "o", "--dry-run")
    assert code == 0
    assert "the smallest of 17 settings" in err
    assert "worst case" in err
    assert not Path("o").exists()


def test_options_come_from_a_file_and_the_command_line_wins(run: Run) -> None:
    """Every option by its name in TOML; an unknown one is named."""
    people(30).to_csv("f.csv", index=False)
    config = Path("plan.toml")
    config.write_text(
        'id = "id"\nlabel = ["sex", "age"]\ncoordinates = "lon,lat"\nmask = ["affine"]\nrepetitions = 3\n'
        'overlap = 0.5\nattack = ["labels"]\n'
    )
    more = ("--config", "plan.toml", "--repetitions", "2", "--processes", "1", "--out", "o")
    code, _, err = run("audit", "f.csv", *more)
    assert code == 0, err
    made = result_in("o")["plan"]
    assert (made["repetitions"], made["snooper"]["overlap"], made["attacks"]) == (2, 0.5, ["labels"])
    config.write_text("masc = 3\n")
    code, _, err = run("audit", "f.csv", "--config", "plan.toml", "--out", "p")
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
    ("--mask", "affine", "--repetitions", "0"): "at least 1",
    ("--mask", "affine", "--crs", "EPSG:0"): "no such coordinate reference system",
    ("--mask", "affine", "--label-error", "1.5"): "a share lies",
    ("--mask", "affine", "--attack", "ceiling"): "an audit measures it anyway",
    ("--mask", "affine", "--attack", "telepathy"): "there is no attack 'telepathy'",
}


@pytest.mark.parametrize("arguments", BAD, ids=lambda a: " ".join(a) or "nothing")
def test_bad_options_end_in_one_sentence(run: Run, arguments: tuple[str, ...]) -> None:
    """Exit code 2, one line, no folder."""
    people(30).to_csv("f.csv", index=False)
    code, out, err = run("audit", "f.csv", *COLUMNS, *arguments, "--out", "o")
    assert code == 2, err
    assert BAD[arguments] in err
    assert (out, err.count("\n")) == ("", 1)
    assert not Path("o").exists()


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
    with pytest.raises(InputError, match=r"metres of a projection.*EPSG:25832"):
        read(tmp_path / "f.csv", columns)
    found = read(tmp_path / "f.csv", replace(columns, crs="EPSG:25832")).distances
    assert isinstance(found, Points)
    np.testing.assert_allclose(found.coordinates, table[["lon", "lat"]].to_numpy(), atol=1e-6)


def test_the_survey_is_the_one_that_the_package_makes() -> None:
    """The bundled file comes out of its function, value by value."""
    pd.testing.assert_frame_equal(pd.read_csv(survey_file(), keep_default_na=False), survey(), check_dtype=False)
    assert len(survey()) == 500
