"""A release opened again by what others use: all released columns, masked places as the file had them, no id.

The bytes of every published file are searched for ids and true places, as text and as numbers.
"""

import base64
import json
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import refused, rng
from clkhash_peer import read_clks
from conftest import Run
from disclique.records.formats import format_of
from disclique.releases import Use, write_release

geopandas = pytest.importorskip("geopandas")
pytest.importorskip("pyreadstat")
N = 50
LABELS, KEPT = ["sex", "age"], ["asthma", "income"]
MASK = "gaussian:sigma=2km"


def survey() -> pd.DataFrame:
    """Return a survey of ten columns: an id, a name, labels, a number, what it was made for, a weight, homes."""
    chance = rng(11)
    return pd.DataFrame(
        {
            "id": [f"person-{k:05d}" for k in chance.permutation(N)],
            "name": [f"Nameof{k:05d}" for k in chance.permutation(N)],
            "sex": chance.choice(["f", "m"], N),
            "age": chance.integers(18, 80, N),
            "km_school": chance.gamma(2, 2.0, N).round(2),
            "asthma": chance.choice(["yes", "no"], N),
            "income": (chance.integers(10, 40, N) * 100).astype(float),
            "weight": chance.uniform(1.0, 9.0, N).round(6),
            "east": chance.uniform(500_000, 600_000, N).round(3),
            "north": chance.uniform(5_500_000, 5_600_000, N).round(3),
        }
    )


def write(people: pd.DataFrame, path: Path) -> dict[str, object]:
    """Write the survey in the format of an ending, and return how its places are read."""
    if path.suffix in (".gpkg", ".geojson", ".shp", ".geoparquet"):
        points = geopandas.points_from_xy(people["east"], people["north"])
        layer = geopandas.GeoDataFrame(people.drop(columns=["east", "north"]), geometry=points, crs="EPSG:25832")
        layer.to_parquet(path) if path.suffix == ".geoparquet" else layer.to_file(path)
        return {}
    writers = {
        ".xlsx": lambda: people.to_excel(path, index=False),
        ".dta": lambda: people.to_stata(path, write_index=False, version=118),
        ".parquet": lambda: people.to_parquet(path, index=False),
        ".csv": lambda: people.to_csv(path, index=False),
    }
    writers[path.suffix]()
    return {"coordinates": "east,north", "crs": "EPSG:25832"}


def read(path: Path, **columns: object) -> dq.Microdata:
    """Read the survey with a role for every released column."""
    roles = {"sensitive": ["asthma"], "plain": ["income"], "weight": "weight", "numbers": {"km_school": "km"}}
    return dq.read(path, labels=LABELS, id="id", **roles, **columns)  # type: ignore[arg-type]


def open_again(path: Path) -> pd.DataFrame:
    """Open a released table as its users do, places as two columns."""
    if path.suffix in (".gpkg", ".geojson", ".shp", ".geoparquet"):
        layer = geopandas.read_parquet(path) if path.suffix == ".geoparquet" else geopandas.read_file(path)
        assert layer.crs == "EPSG:25832"
        places = {"east": layer.geometry.x, "north": layer.geometry.y}
        return pd.DataFrame(layer.drop(columns=layer.geometry.name)).assign(**places)
    readers = {".xlsx": pd.read_excel, ".dta": pd.read_stata, ".parquet": pd.read_parquet, ".csv": pd.read_csv}
    return readers[path.suffix](path)


def unpack(path: Path) -> Iterable[bytes]:
    """Return the bytes of a file, and what is packed in it."""
    raw = path.read_bytes()
    yield raw
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    if raw.startswith(b"PAR1"):
        yield pd.read_parquet(path).to_csv().encode()
        yield from (np.ascontiguousarray(c).tobytes() for _, c in pd.read_parquet(path).select_dtypes("number").items())


def secrets_of(data: dq.Microdata, people: pd.DataFrame) -> list[bytes]:
    """Return ids, names, weights and true places as text, and places as the bytes of numbers."""
    words = [*people["id"], *people["name"], *(f"{value:.6f}" for value in people["weight"])]
    points = data.distances.points()
    assert points is not None
    values = [*points.coordinates.ravel(), *people["east"], *people["north"]]
    words += [f"{value:.7g}" if value < 1000 else f"{value:.3f}" for value in values]
    packed = [struct.pack(form, value) for value in values for form in ("<d", ">d", "<f", ">f")]
    return [word.encode() for word in words] + packed


@pytest.mark.parametrize("suffix", [".gpkg", ".geojson", ".shp", ".geoparquet", ".xlsx", ".dta", ".parquet", ".csv"])
def test_a_survey_comes_back_in_its_own_format_without_ids_and_homes(tmp_path: Path, suffix: str) -> None:
    """Every released column, masked places about 2 km from the true ones in metres of the file's system."""
    people = survey()
    data = read(tmp_path / f"survey{suffix}", **write(people, tmp_path / f"survey{suffix}"))
    made = dq.release(data, MASK, 2**120 + 5, as_="places")
    files = write_release(made, tmp_path / "out" / f"r{suffix}", key=tmp_path / "key.csv")
    table = open_again(tmp_path / "out" / f"r{suffix}")
    assert list(table.columns) == ["record", "sex", "age", "km_school", "asthma", "income", "east", "north"]
    assert table["record"].tolist() == list(range(1, N + 1))
    true = people.iloc[pd.read_csv(tmp_path / "key.csv")["file_row"] - 1].reset_index(drop=True)
    for column in ("sex", "age", "km_school", "asthma", "income"):
        assert table[column].tolist() == true[column].tolist(), column
    moved = (table[["east", "north"]] - true[["east", "north"]]).to_numpy()
    assert 1500 < moved.std() < 2500
    assert np.abs(moved).min() > 0
    assert (table[["east", "north"]] % 1 == 0).all(axis=None)  # noise of 2 km leaves no millimetres
    published = [file.path for file in files if file.use is Use.PUBLISH]
    published += [path for path in (tmp_path / "out").glob("r.*") if path not in published]
    found = secrets_of(data, people)
    for path in published:
        for content in unpack(path):
            assert [secret for secret in found if secret in content] == [], path
    whole = (tmp_path / "key.csv").read_bytes()
    assert all(name.encode() in whole for name in people["id"])  # the search finds what is there


def test_the_search_finds_places_that_are_there(tmp_path: Path) -> None:
    """The same search in the file itself, so that it can fail."""
    people = survey()
    for suffix in (".gpkg", ".xlsx", ".dta", ".parquet"):
        path = tmp_path / f"survey{suffix}"
        data = read(path, **write(people, path))
        found = secrets_of(data, people)
        there = {secret for content in unpack(path) for secret in found if secret in content}
        assert len(there) >= 3 * N, suffix


def test_a_release_of_places_is_what_an_attack_reads_again(tmp_path: Path) -> None:
    """The own reader has the same places, and their distances are those of the mask but for rounding."""
    path = tmp_path / "survey.gpkg"
    data = read(path, **write(survey(), path))
    made = dq.release(data, MASK, 7, as_="places")
    made.save(tmp_path / "r.gpkg")
    again = dq.read(tmp_path / "r.gpkg", labels=LABELS, id="record")
    masked = made.masked.points()
    assert masked is not None
    assert again.distances.points().coordinates == pytest.approx(masked.coordinates, abs=2e-5)  # type: ignore[union-attr]
    assert again.ids == tuple(range(1, N + 1))


def test_vectors_go_in_and_out_as_numpy(tmp_path: Path, run: Run) -> None:
    """Row k is record k, noise is as large as it was said, and only as many digits as that leaves."""
    chance = rng(4)
    vectors = chance.normal(size=(N, 6))
    np.save(tmp_path / "v.npy", vectors)
    survey().to_csv(tmp_path / "f.csv", index=False)
    ask = ("mask", "f.csv", "--id", "id", "--label", "sex", "--plain", "asthma", "--vectors", "v.npy")
    code, _, err = run(*ask, "--mask", "gaussian:sigma=0.5", "--as", "vectors", "--out", "r.csv", "--key", "k.csv")
    assert code == 0, err
    released, table = np.load(tmp_path / "r_vectors.npy"), pd.read_csv(tmp_path / "r.csv")
    assert list(table.columns) == ["record", "sex", "asthma"]
    noise = released - vectors[pd.read_csv(tmp_path / "k.csv")["file_row"] - 1]
    assert 0.4 < noise.std() < 0.6
    np.testing.assert_array_equal(released, np.round(released, 4))
    raw = (tmp_path / "r_vectors.npy").read_bytes()
    assert not any(struct.pack(form, value) in raw for value in vectors.ravel() for form in ("<d", "<f"))
    read = dq.read(tmp_path / "r.csv", labels=["sex"], id="record", vectors=tmp_path / "r_vectors.npy")
    np.testing.assert_array_equal(read.distances.points().coordinates, released)  # type: ignore[union-attr]


def test_encodings_made_elsewhere_are_released_as_they_were_written(tmp_path: Path) -> None:
    """A column of base64 under its own name: the same bits in another order, with the warning that they are as such."""
    bits = rng(6).integers(0, 256, (N, 32), dtype=np.uint8)
    people = survey().assign(clk=[base64.b64encode(row.tobytes()).decode() for row in bits])
    people.to_csv(tmp_path / "f.csv", index=False)
    data = dq.read(tmp_path / "f.csv", labels=["sex"], id="id", encodings="clk", plain=["asthma"])
    made = dq.release(data, "none", as_="encodings")
    assert [warning.code for warning in made.warnings] == ["encodings_released_as_they_are"]
    files = made.save(tmp_path / "r.csv")
    table = pd.read_csv(files["table"], dtype=str)
    assert list(table.columns) == ["record", "sex", "asthma", "clk"]
    assert sorted(table["clk"]) == sorted(people["clk"])
    assert table["clk"].tolist() == people["clk"].iloc[made.key].tolist()
    again = dq.read(files["table"], labels=["sex"], id="record", encodings="clk")
    np.testing.assert_array_equal(again.distances.bits, bits[made.key])  # type: ignore[attr-defined]
    with refused("column_of_two_roles"):
        dq.read(tmp_path / "f.csv", encodings="clk", plain=["clk"])


def test_clks_are_read_by_clkhash(tmp_path: Path) -> None:
    bits = rng(6).integers(0, 256, (5, 32), dtype=np.uint8)
    people = pd.DataFrame({"clk": [base64.b64encode(row.tobytes()).decode() for row in bits]})
    people.to_csv(tmp_path / "f.csv", index=False)
    made = dq.release(dq.read(tmp_path / "f.csv", encodings="clk"), "none", as_="encodings")
    ours = ["".join(map(str, np.unpackbits(row))) for row in bits]
    assert sorted(read_clks(made.table["clk"].tolist())) == sorted(ours)


def test_plane_coordinates_in_metres_come_back_in_metres(tmp_path: Path) -> None:
    people = survey()
    people.to_csv(tmp_path / "f.csv", index=False)
    data = dq.read(tmp_path / "f.csv", id="id", coordinates="east,north", metric="euclidean", unit="m")
    made = dq.release(data, MASK, 3, as_="places")
    assert list(made.table.columns) == ["record", "east", "north"]
    moved = made.table[["east", "north"]].to_numpy() - people[["east", "north"]].to_numpy()[made.key]
    assert 1500 < moved.std() < 2500
    with refused("layer_without_crs"):
        made.save(tmp_path / "r.gpkg")
    assert not list(tmp_path.glob("r*"))


REFUSED = {
    ("none", "places"): "places_as_they_are",
    ("affine", "places"): "places_moved_all_alike",
    ("round:to=1km", "places"): "mask_makes_no_places",
    ("matrix-gaussian:sd=1km", "places"): "mask_makes_no_places",
    ("knn:k=3", "vectors"): "mask_makes_no_vectors",
    ("withheld", "places"): "mask_makes_no_places",
    ("withheld", "distances"): "no_distances_released",
    (MASK, "vectors"): "vectors_are_places",
    (MASK, "encodings"): "mask_makes_no_encodings",
    (MASK, "map"): "unknown_form",
}


@pytest.mark.parametrize("asked", REFUSED, ids=" ".join)
def test_true_and_missing_places_are_refused(asked: tuple[str, str]) -> None:
    """A map that is only turned is the true map; a mask of distances makes none."""
    people = survey().assign(lon=rng(1).uniform(9, 11, N), lat=rng(2).uniform(49, 51, N))
    data = dq.microdata(people, ["sex"], coordinates=["lon", "lat"], ids="id")
    with refused(REFUSED[asked]):
        dq.release(data, asked[0], 1, as_=asked[1])


def test_what_a_form_gives_away_is_said() -> None:
    """Exchanged places are true ones; turned vectors keep every distance; noise needs no warning."""
    chance = rng(3)
    people = survey().assign(lon=chance.uniform(9, 11, N), lat=chance.uniform(49, 51, N))
    homes = dq.microdata(people, ["sex"], coordinates=["lon", "lat"], ids="id")
    vectors = dq.microdata(people, ["sex"], coordinates=chance.normal(size=(N, 5)), metric="euclidean", ids="id")
    seed = 2**120
    for data, mask, form, codes in (
        (homes, "swap:radius=50km", "places", ["places_are_those_of_others"]),
        (homes, "grid:cell=10km", "places", []),
        (homes, "affine", "distances", ["distances_released_as_they_are"]),
        (vectors, "rotation", "vectors", ["vectors_turned_all_alike"]),
        (vectors, "voronoi", "vectors", []),  # a rule that anybody can replay, which the oracle does
        (homes, "affine", "none", []),
    ):
        made = dq.release(data, mask, seed, as_=form)
        assert [warning.code for warning in made.warnings] == codes, mask
        assert made.form == form


def test_a_file_of_geometries_needs_places(tmp_path: Path) -> None:
    path = tmp_path / "survey.gpkg"
    made = dq.release(read(path, **write(survey(), path)), MASK, 1)
    with refused("geometries_need_places"):
        made.save(tmp_path / "r.gpkg")
    with refused("no_distances_beside"):
        dq.release(dq.cities(), MASK, 1, as_="places").save(tmp_path / "r.csv", kind="npy")
    assert [one.name for one in tmp_path.iterdir()] == ["survey.gpkg"]


def test_coordinate_columns_and_categories_do_not_slip_through(tmp_path: Path) -> None:
    """A projected coordinate is no plain column; a category that nobody released has is not in the file."""
    people = survey()
    people.to_csv(tmp_path / "f.csv", index=False)
    with refused("column_of_two_roles"):
        dq.read(tmp_path / "f.csv", coordinates="east,north", crs="EPSG:25832", plain=["east"])
    with refused("column_is_hidden"):
        labelled = dq.read(tmp_path / "f.csv", labels=["east"], coordinates="east,north", crs="EPSG:25832")
        dq.release(labelled, MASK, 1)
    frame = people.assign(group=pd.Categorical(["a"] * N, categories=["a", "secret-of-another"]))
    data = dq.microdata(frame, ["sex"], coordinates=rng(1).uniform(40, 50, (N, 2)), plain=["group"])
    dq.release(data, MASK, 1).save(tmp_path / "r.parquet")
    assert all(b"secret-of-another" not in path.read_bytes() for path in tmp_path.glob("r*"))
    frame.attrs["who"] = "person-00001"
    dq.release(dq.microdata(frame, ["sex"], distances=data.distances), MASK, 1).save(tmp_path / "s.parquet")
    assert b"person-00001" not in (tmp_path / "s.parquet").read_bytes()


@pytest.mark.parametrize("last", ["words", "table"])
def test_nothing_is_left_of_a_release_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """The last file fails, or the third that is put in place: nothing is there; with force all is as before."""
    made = dq.release(dq.cities(), MASK, 1)
    before = made.save(tmp_path / "old" / "r.csv", key=tmp_path / "k.csv")
    content = {path: path.read_bytes() for path in before.values()}
    other = dq.release(dq.cities(), MASK, 2)

    def fail(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    moved: list[str] = []

    def move(source: object, target: object) -> None:
        if ".unfinished-" not in str(target):
            moved.append(str(target))
            if len(moved) == 3:
                fail()
        Path(str(source)).rename(str(target))

    if last == "words":
        monkeypatch.setattr("disclique.releases.files.write_words", fail)
    else:
        monkeypatch.setattr("disclique.records.write.os.replace", move)
    with refused("not_writable_because"):
        other.save(tmp_path / "new" / "deep" / "r.csv", key=tmp_path / "k2.csv")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "k2.csv").exists()
    assert len(moved) == (0 if last == "words" else 3)
    moved.clear()
    with refused("not_writable_because"):
        other.save(tmp_path / "old" / "r.csv", key=tmp_path / "k.csv", force=True)
    assert {path: path.read_bytes() for path in content} == content
    assert sorted(tmp_path.rglob("*")) == sorted([tmp_path / "old", *content])


def test_a_release_that_is_replaced_leaves_nothing_beside_the_new_one(tmp_path: Path) -> None:
    """Distances of the first release beside the places of the second would tell more than either."""
    dq.release(dq.cities(), MASK, 1).save(tmp_path / "r.csv")
    (tmp_path / "mine.csv").write_text("x")
    written = dq.release(dq.cities(), MASK, 2, as_="places").save(tmp_path / "r.csv", force=True)
    assert set(tmp_path.iterdir()) == {*written.values(), tmp_path / "mine.csv"}
    assert not (tmp_path / "r_distances.csv").exists()


def test_the_notes_say_what_was_done(tmp_path: Path) -> None:
    """In both languages: how far places were moved on average, what was done to each column, what joins the files."""
    path = tmp_path / "survey.gpkg"
    data = read(path, **write(survey(), path))
    setting = f"{MASK} | age=width:age:10 | km_school=round:1km"
    for language in ("en", "de"):
        made = dq.release(data, setting, 5, as_="places", language=language)
        made.save(tmp_path / f"{language}.gpkg")
        words = (tmp_path / f"{language}_about.txt").read_text()
        mean = json.loads((tmp_path / f"{language}_about.json").read_text())["done"]
        assert any("moved by 2." in line for line in mean)  # of Gaussian noise sigma √(π/2) = 2.5 km
        for column in ("record", "sex", "age", "km_school", "asthma", "income"):
            assert f"- {column}: " in words
    assert "verschoben" in words
    assert "sigma=2km" not in words


def test_of_a_few_people_no_mean_move_is_told() -> None:
    """From the mean of one or two the place could be worked out to a circle."""
    few = dq.release(dq.cities(), MASK, 1, as_="places")
    assert [one.code for one in few.about.done] == ["mask_does_gaussian"]


@pytest.mark.parametrize(("mask", "code"), [("bloom", "text_was_encoded"), ("mainzelliste", "text_was_encoded_openly")])
def test_notes_say_whether_there_is_a_key(mask: str, code: str, tmp_path: Path) -> None:
    pd.DataFrame({"first": ["Anna", "Otto"], "last": ["Maier", "Weber"]}).to_csv(tmp_path / "f.csv", index=False)
    made = dq.release(dq.read(tmp_path / "f.csv", text=["first", "last"]), mask, 1, as_="encodings")
    assert code in [one.code for one in made.about.done]


def test_every_format_that_is_written_is_read() -> None:
    from disclique.records.formats import list_written

    for suffix in (*list_written(), *list_written(places=True)):
        found = format_of(Path(f"x{suffix}"))
        assert found is not None
        assert found.table is not None, suffix
