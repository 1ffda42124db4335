"""Populations from tables, layers and rasters: places, persons, and where people live within a cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyproj import Geod, Transformer

import disclique as dq
from builders import refused, rng
from disclique.messages import say
from disclique.records.population import Inhabitants, Strips, _read_raster, read_population
from disclique.records.reading import Layout
from disclique.values import FloatArray

geopandas = pytest.importorskip("geopandas", reason="needs the geo extra")
rasterio = pytest.importorskip("rasterio", reason="needs the geo extra")
WEST, NORTH, SIDE = 4_320_000.0, 3_210_000.0, 1000.0  # in EPSG:3035, Germany


def dwellings(n: int = 30) -> pd.DataFrame:
    places = rng(1).uniform([9, 50], [9.5, 50.5], (n, 2))
    return pd.DataFrame({"lon": places[:, 0], "lat": places[:, 1], "rooms": rng(2).integers(1, 6, n), "sex": "f"})


def write_raster(path: Path, values: FloatArray, crs: str | None = "EPSG:3035", **more: object) -> Path:
    """Write a GeoTIFF of one band, or of several, with cells of 1 km."""
    bands = values[None] if values.ndim == 2 else values
    corner = rasterio.Affine(SIDE, 0, WEST, 0, -SIDE, NORTH)
    count, height, width = bands.shape
    profile = {"driver": "GTiff", "count": count, "height": height, "width": width, "dtype": "float32", "crs": crs}
    with rasterio.open(path, "w", **profile, transform=corner, **more) as file:
        file.write(bands.astype("float32"))
    return path


def counts() -> FloatArray:
    values = np.zeros((5, 4))
    values[0, 1], values[2, 3], values[4, 0], values[3, 3] = 12, 7.5, 3, -1
    return values


def middles(rows: list[int], columns: list[int]) -> FloatArray:
    """The middles of cells in degrees, by pyproj."""
    change = Transformer.from_crs(3035, 4326, always_xy=True)
    east, north = WEST + SIDE * (np.array(columns) + 0.5), NORTH - SIDE * (np.array(rows) + 0.5)
    return np.column_stack(change.transform(east, north))


def test_dwellings_of_a_table_are_one_person_each_or_as_many_as_a_column_says(tmp_path: Path) -> None:
    table = dwellings()
    table.to_csv(tmp_path / "d.csv", index=False)
    table.to_parquet(tmp_path / "d.parquet")
    for name in ("d.csv", "d.parquet"):
        found = read_population(tmp_path / name, Layout(coordinates="lon,lat"))
        assert (len(found), found.total, found.cells) == (30, 30, None)
        assert list(found.table.columns) == ["rooms", "sex"]
        np.testing.assert_allclose(found.places.coordinates, table[["lon", "lat"]])
    found = read_population(tmp_path / "d.csv", Layout(coordinates="lon,lat", metric="wgs84"), people="rooms")
    assert found.total == table["rooms"].sum()
    assert list(found.table.columns) == ["sex"]
    assert found.places.metric == "wgs84"


def test_rows_with_nobody_or_without_a_number_are_left_out(tmp_path: Path) -> None:
    table = dwellings().assign(persons=["0", "", *["2"] * 28])
    table.to_csv(tmp_path / "d.csv", index=False)
    found = read_population(tmp_path / "d.csv", Layout(coordinates="lon,lat"), people="persons")
    assert (len(found), found.total) == (28, 56)
    np.testing.assert_allclose(found.places.coordinates, table[["lon", "lat"]][2:])


def test_a_table_in_another_reference_system_or_in_a_plane(tmp_path: Path) -> None:
    table = dwellings()
    east, north = Transformer.from_crs(4326, 3035, always_xy=True).transform(table["lon"], table["lat"])
    table.assign(x=east, y=north).to_csv(tmp_path / "d.csv", index=False)
    found = read_population(tmp_path / "d.csv", Layout(coordinates="x,y", crs="EPSG:3035"), cell="100m")
    np.testing.assert_allclose(found.places.coordinates, table[["lon", "lat"]], atol=1e-7)
    assert {"x", "y"}.isdisjoint(found.table.columns)
    plane = read_population(tmp_path / "d.csv", Layout(coordinates="x,y", metric="euclidean", unit="m"), cell="100m")
    np.testing.assert_allclose(plane.places.coordinates, np.column_stack((east, north)) / 1000)
    assert plane.cells is not None
    np.testing.assert_allclose(plane.cells, np.broadcast_to(0.1 * np.eye(2), (30, 2, 2)))


def check_even(found: Inhabitants, side: float) -> None:
    """The first 400 persons of a cell fill it evenly, and only it."""
    rows = np.zeros(400, dtype=np.int64)
    spread = found.spread(rows, np.arange(400)).coordinates
    assert (spread == found.spread(rows, np.arange(400)).coordinates).all()
    assert spread[0] == pytest.approx(found.places.coordinates[0])
    centre, geod = found.places.coordinates[0], Geod(ellps="WGS84")
    azimuth, _, metres = geod.inv(*np.tile(centre, (400, 1)).T, *spread.T)
    assert metres.max() < side / np.sqrt(2) * 1.01
    assert metres.max() > 0.6 * side
    east, north = metres * np.sin(np.radians(azimuth)), metres * np.cos(np.radians(azimuth))
    for axis in (east, north):
        assert abs(axis.mean()) < 0.02 * side
        assert axis.std() == pytest.approx(side / np.sqrt(12), rel=0.05)


def test_cells_of_a_raster(tmp_path: Path) -> None:
    """Those with persons, at their middles; people of one are spread over a square kilometre."""
    path = write_raster(tmp_path / "p.tif", counts(), nodata=-1)
    found = read_population(path)
    assert found.people.tolist() == [12, 7.5, 3]
    np.testing.assert_allclose(found.places.coordinates, middles([0, 2, 4], [1, 3, 0]), atol=1e-9)
    check_even(found, SIDE)
    few = found.select(np.array([2]))
    assert few.people.tolist() == [3]
    assert few.cells is not None
    by_strips = _read_raster(path, Layout(), Strips(cells=4))
    assert by_strips.people.tolist() == [12, 7.5, 3]
    np.testing.assert_array_equal(by_strips.places.coordinates, found.places.coordinates)
    bare = write_raster(tmp_path / "bare.tif", np.maximum(counts(), 0), crs=None)
    np.testing.assert_allclose(
        read_population(bare, Layout(crs="EPSG:3035")).places.coordinates, found.places.coordinates, atol=1e-9
    )


def test_cells_of_a_layer_are_those_of_the_raster(tmp_path: Path) -> None:
    """Squares with a column of persons, in their own reference system and in degrees; dwellings as points."""
    from shapely import box

    rows, columns = [0, 2, 4, 1], [1, 3, 0, 0]
    corners = [(WEST + SIDE * column, NORTH - SIDE * (row + 1)) for row, column in zip(rows, columns, strict=True)]
    squares = [box(x, y, x + SIDE, y + SIDE) for x, y in corners]
    frame = geopandas.GeoDataFrame({"persons": [12, 7.5, 3, 0], "kind": list("abcd")}, geometry=squares, crs=3035)
    frame.to_file(tmp_path / "grid.gpkg")
    found = read_population(tmp_path / "grid.gpkg", people="persons")
    assert found.people.tolist() == [12, 7.5, 3]
    assert found.table["kind"].tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(found.places.coordinates, middles(rows, columns)[:3], atol=1e-9)
    check_even(found, SIDE)
    frame.set_geometry(frame.centroid).to_crs(4326).to_file(tmp_path / "points.gpkg")
    points = read_population(tmp_path / "points.gpkg", people="persons", cell="1km")
    np.testing.assert_allclose(points.places.coordinates, found.places.coordinates, atol=1e-7)
    check_even(points, SIDE)
    assert read_population(tmp_path / "points.gpkg").total == 4


BAD = {
    "no coordinates": ("population_without_places", "needs places", "braucht Orte"),
    "nobody": ("population_without_people", "nobody lives", "wohnt niemand"),
    "no such column": ("no_such_column", "persons", "persons"),
    "negative": ("people_negative", "row 3", "Zeile 3"),
    "no number": ("cell_not_a_number", "many", "many"),
    "areas without persons": ("cells_without_people", "how many persons", "wie viele Personen"),
    "lines": ("population_of_lines", "LineString", "LineString"),
    "raster without system": ("raster_without_crs", "reference system", "bezugssystem"),
    "raster of another system": ("crs_is_another", "25832", "25832"),
    "negative cell": ("raster_negative", "nodata", "Nodata"),
    "several bands": ("raster_with_bands", "2 bands", "2 Bänder"),
    "raster in a plane": ("earth_needs_its_metric", "sphere", "sphere"),
    "no raster": ("file_not_readable", "p.tif", "p.tif"),
    "empty raster": ("population_without_people", "nobody lives", "wohnt niemand"),
    "cell without unit": ("cell_without_unit", "5km", "5km"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_population_is_said_in_one_sentence(what: str, tmp_path: Path) -> None:
    from shapely import LineString, box

    code, english, german = BAD[what]
    path, layout, people, cell = tmp_path / "p.csv", Layout(coordinates="lon,lat"), None, None
    persons: list[object] = [1] * 30
    if what in ("nobody", "negative", "no number", "no such column"):
        people = "persons"
        persons = {"nobody": [0] * 30, "negative": [1, 2, -1] * 10, "no number": ["many", *"1" * 29]}.get(what, persons)
    table = dwellings()
    (table if what == "no such column" else table.assign(persons=persons)).to_csv(path, index=False)
    if what == "no coordinates":
        layout = Layout()
    elif what == "cell without unit":
        cell = "5"
    elif what in ("areas without persons", "lines"):
        shape = box(9, 50, 10, 51) if what != "lines" else LineString([(9, 50), (10, 51)])
        path, layout = tmp_path / "p.gpkg", Layout()
        geopandas.GeoDataFrame({"a": [1]}, geometry=[shape], crs=4326).to_file(path)
    elif "raster" in what or what in ("negative cell", "several bands"):
        values = np.maximum(counts(), 0 if what != "negative cell" else -1)
        values = np.stack([values] * 2) if what == "several bands" else 0 * values if what == "empty raster" else values
        crs = None if what == "raster without system" else "EPSG:3035"
        path = write_raster(tmp_path / "p.tif", values, crs)
        layout = Layout(crs="EPSG:25832" if what == "raster of another system" else None)
        if what == "raster in a plane":
            layout = Layout(metric="euclidean", unit="km")
        if what == "no raster":
            path.write_text("no raster")
    with refused(code):
        read_population(path, layout, people=people, cell=cell)
    with pytest.raises(dq.InputError) as problem:
        read_population(path, layout, people=people, cell=cell)
    assert english in str(problem.value)
    told = say(problem.value.message, "de")
    assert german in told
    assert "\n" not in told
