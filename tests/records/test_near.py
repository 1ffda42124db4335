"""Distances to places against brute force: pyproj for geodesics, densely sampled lines, plain loops for all else."""

from __future__ import annotations

import itertools
import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod, Transformer
from scipy.optimize import minimize_scalar

import disclique as dq
from builders import refused, rng
from disclique.geodesy import ellipsoid_km, shift, sphere_km
from disclique.records.checks.near import inspect_near
from disclique.records.near import Ground, parse_near, parse_wish
from disclique.spaces.metrics import pairwise
from disclique.spaces.nearest import Pieces, SearchSizes, count_within, find_nearest

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")
GEOD = Geod(ellps="WGS84")
METRICS = ("sphere", "wgs84")
AROUND = {  # people and places about here, as (lon, lat, degrees)
    "town": (13.4, 52.5, 0.5),
    "date line": (179.9, -17.0, 1.0),
    "north pole": (0.0, 89.5, 0.4),
    "south pole": (100.0, -89.8, 0.2),
    "equator": (-0.1, 0.1, 2.0),
}


def scatter(where: str, n: int, seed: int) -> np.ndarray:
    """Return places around one of the world's corners, some of them beyond the date line or around the pole."""
    lon, lat, wide = AROUND[where]
    away = rng(seed).uniform(-wide, wide, (n, 2)) * ([180 / wide, 1.0] if "pole" in where else [1.0, 1.0])
    return np.column_stack([(lon + away[:, 0] + 180) % 360 - 180, np.clip(lat + away[:, 1], -90, 90)])


def brute(people: np.ndarray, places: np.ndarray, metric: str) -> np.ndarray:
    """Return all distances, by pyproj on the ellipsoid and by the law of the haversine on the sphere."""
    if metric == "wgs84":
        i, j = (part.ravel() for part in np.indices((len(people), len(places))))
        metres = GEOD.inv(people[i, 0], people[i, 1], places[j, 0], places[j, 1])[2]
        return np.asarray(metres).reshape(len(people), -1) / 1000
    return pairwise(people, places, metric)


def write_layer(path: Path, geometries: list, crs: object = 4326, **columns: list) -> Path:
    """Write a layer of these geometries."""
    frame = geopandas.GeoDataFrame(columns, geometry=geometries, crs=crs)
    frame.to_file(path)
    return path


def along(people: np.ndarray, corners: np.ndarray, metric: str, steps: int = 400) -> np.ndarray:
    """Return distances to a line that is straight in degrees, the short way round: sampled, and again at the best."""
    turns = np.cumsum((np.diff(corners[:, 0], prepend=corners[0, 0]) + 180) % 360 - 180)
    unrolled = np.column_stack([corners[0, 0] + turns, corners[:, 1]])
    best = np.full(len(people), np.inf)
    for a, b in itertools.pairwise(unrolled):
        low, high = np.zeros(len(people)), np.ones(len(people))
        for _ in range(3):
            share = low[:, None] + np.linspace(0, 1, steps) * (high - low)[:, None]
            places = (a + share[:, :, None] * (b - a)).reshape(-1, 2)
            places[:, 0] = (places[:, 0] + 180) % 360 - 180
            one = dq.Points(np.repeat(people, steps, axis=0), metric).coordinates
            away = (ellipsoid_km if metric == "wgs84" else sphere_km)(one, places).reshape(-1, steps)
            best, step = np.minimum(best, away.min(axis=1)), (high - low) / (steps - 1)
            middle = low + away.argmin(axis=1) * step
            low, high = np.maximum(middle - step, 0), np.minimum(middle + step, 1)
    return best


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("where", AROUND)
def test_the_nearest_of_many_points(where: str, metric: str) -> None:
    people, places = scatter(where, 300, 1), scatter(where, 40, 2)
    all_lengths = brute(people, places, metric)
    found = find_nearest(dq.Points(people, metric), Pieces(places, places, np.arange(40), 40))
    np.testing.assert_allclose(found.length, all_lengths.min(axis=1), rtol=0, atol=1e-8)
    assert (found.place == all_lengths.argmin(axis=1)).all()
    radius = float(np.median(all_lengths))
    counts = count_within(dq.Points(people, metric), Pieces(places, places, np.arange(40), 40), radius)
    assert (counts == (all_lengths <= radius).sum(axis=1)).all()


@pytest.mark.parametrize("metric", METRICS)
def test_places_all_over_the_world(metric: str) -> None:
    """Chords order places on the ellipsoid wrongly when they are thousands of kilometres away."""
    draw = rng(3)
    people, places = (
        np.column_stack([draw.uniform(-180, 180, n), np.degrees(np.arcsin(draw.uniform(-1, 1, n)))]) for n in (400, 12)
    )
    all_lengths = brute(people, places, metric)
    found = find_nearest(dq.Points(people, metric), Pieces(places, places, np.arange(12), 12))
    np.testing.assert_allclose(found.length, all_lengths.min(axis=1), rtol=0, atol=1e-8)
    assert (found.place == all_lengths.argmin(axis=1)).all()
    antipodes = np.column_stack([(places[:, 0] + 360) % 360 - 180, -places[:, 1]])
    far = find_nearest(dq.Points(antipodes, metric), Pieces(places[:1], places[:1], [0], 1)).length
    np.testing.assert_allclose(
        far, brute(antipodes, places[:1], metric)[:, 0], rtol=0, atol=1e-3
    )  # the haversine itself is no better here


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("where", ["town", "date line", "equator"])
def test_lines_and_borders(tmp_path: Path, where: str, metric: str) -> None:
    people, corners = scatter(where, 60, 4), scatter(where, 12, 5)
    lon, lat, wide = AROUND[where]
    if where == "date line":
        corners[:, 0] %= 360  # as GeoJSON of one's own may have it
    lines = [corners[:4], corners[4:8]]
    ring = np.array([[lon - 0.3 * wide, lat], [lon, lat + 0.2 * wide], [lon + 0.2 * wide, lat - 0.3 * wide]])
    ring = np.vstack([ring, ring[:1]])
    shapes = [*map(shapely.LineString, lines), shapely.Polygon(ring)]
    path = write_layer(tmp_path / "roads.gpkg", shapes, name=["one", "two", "three"])
    near = parse_near(f"km=  {path}")
    got = near.measure(dq.Points(people, metric))
    each = np.column_stack([along(people, part, metric) for part in [*lines, ring]])
    np.testing.assert_allclose(got, each.min(axis=1), rtol=0, atol=1.5e-4)  # a piece leaves its parallel by less
    named = parse_near(f"km={path} as=name").measure(dq.Points(people, metric))
    sure = np.sort(each, axis=1)[:, 1] - each.min(axis=1) > 0.01
    assert (named == np.array(["one", "two", "three"], dtype=object)[each.argmin(axis=1)])[sure].all()
    radius = round(float(np.median(each)), 3)
    counts = parse_near(f"km={path} as=count:within={radius}km").measure(dq.Points(people, metric))
    clear = (np.abs(each - radius) > 0.01).all(axis=1)
    assert (counts == (each <= radius).sum(axis=1))[clear].all()


@pytest.mark.parametrize("metric", METRICS)
def test_lines_over_the_pole_and_along_a_parallel(tmp_path: Path, metric: str) -> None:
    people = np.array([[90.0, 89.9], [10.0, 89.0], [-109.0, 50.0], [-109.0, 48.0], [-100.0, 49.0]])
    parallel = np.array([[-123.0, 49.0], [-95.0, 49.0]])
    meridian = np.array([[0.0, 85.0], [0.0, 90.0], [180.0, 90.0], [180.0, 85.0]])
    path = write_layer(tmp_path / "lines.geojson", [shapely.LineString(parallel), shapely.LineString(meridian)])
    got = parse_near(f"km={path}").measure(dq.Points(people, metric))
    wanted = np.minimum(*(along(people, line, metric) for line in (parallel, meridian)))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-4)
    assert got[4] < 2e-4  # on the border, far from the great circle between its ends


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("where", AROUND)
def test_one_piece_is_a_shortest_way(where: str, metric: str) -> None:
    """From near and from afar, to a tenth of a millimetre for the kilometres around, by a search along the geodesic."""
    draw, geod = rng(14), GEOD if metric == "wgs84" else Geod(a=6371000, b=6371000)
    begin = scatter(where, 30, 15)
    end = shift(begin, *draw.normal(0, 0.7, (2, 30)), metric)
    people = shift(begin, *(draw.normal(0, 1, (2, 30)) * draw.choice([0.5, 5, 50, 1500], 30)), metric)
    for a, b, person in zip(begin, end, people, strict=True):
        azimuth, _, length = geod.inv(*a, *b)

        def away(metres: float, a: np.ndarray = a, person: np.ndarray = person, azimuth: float = azimuth) -> float:
            return float(geod.inv(*person, *geod.fwd(*a, azimuth, metres)[:2])[2]) / 1000

        inside = minimize_scalar(away, bounds=(0, length), method="bounded", options={"xatol": 1e-3}).fun
        wanted = min(inside, away(0.0), away(length))
        got = find_nearest(dq.Points([person], metric), Pieces([a], [b], [0], 1)).length[0]
        assert got == pytest.approx(wanted, rel=2e-9, abs=1e-7)


def test_the_seam_of_a_map_is_no_border(tmp_path: Path) -> None:
    """An island across the date line comes in two parts; what parts them is nobody's border."""
    west, east = shapely.box(178, -18, 180, -16), shapely.box(-180, -18, -179, -16)
    path = write_layer(tmp_path / "fiji.gpkg", [shapely.MultiPolygon([west, east])])
    away = parse_near(f"km={path}").measure(dq.Points([[179.99, -17.0], [-179.5, -17.0]]))
    border = np.array([[178, -18], [-179, -18], [-179, -16], [178, -16], [178, -18]], dtype=float)
    wanted = along(np.array([[179.99, -17.0], [-179.5, -17.0]]), border, "sphere")
    np.testing.assert_allclose(away, wanted, rtol=0, atol=1.5e-4)


def test_a_parallel_round_the_earth_is_a_border(tmp_path: Path) -> None:
    """The treaty of the Antarctic holds south of 60 degrees; the pole and the date line are no end of it."""
    south = shapely.Polygon([(-180, -60), (180, -60), (180, -90), (-180, -90)])
    near = parse_near(f"km={write_layer(tmp_path / 'south.gpkg', [south])}")
    away = near.measure(dq.Points([[10.0, -61.0], [180.0, -62.0], [0.0, -90.0]]))
    np.testing.assert_allclose(away, np.array([1, 2, 30]) * np.pi * 6371 / 180, rtol=0, atol=2e-4)
    with refused("near_without_places"):
        parse_near(f"km={write_layer(tmp_path / 'world.gpkg', [shapely.box(-180, -90, 180, 90)])}")


@pytest.mark.parametrize("ending", ["gpkg", "geojson", "shp", "csv"])
def test_every_kind_of_file_gives_the_same(tmp_path: Path, ending: str) -> None:
    places, people = scatter("town", 20, 6), dq.Points(scatter("town", 50, 7))
    wanted = find_nearest(people, Pieces(places, places, np.arange(20), 20)).length
    path, names = tmp_path / f"my places.{ending}", [f"p{k}" for k in range(20)]
    if ending == "csv":
        pd.DataFrame({"label": names, "Lat": places[:, 1], "Lng": places[:, 0]}).to_csv(path, index=False)
    else:
        write_layer(path, list(shapely.points(places)), label=names)
    near = parse_near(f"km_x={path}   as=length")
    np.testing.assert_allclose(near.measure(people), wanted, rtol=0, atol=1e-9)
    named = parse_near(f"x={path} as=name column=label").measure(people)
    assert set(named) <= set(names)
    assert near == pickle.loads(pickle.dumps(near))
    assert hash(near) == hash(parse_near(f"km_x={path}"))
    assert near != parse_near(f"km_x={path} as=name column=label")


@pytest.mark.parametrize("ending", ["gpkg", "csv"])
def test_places_in_metres_of_a_projection(tmp_path: Path, ending: str) -> None:
    places, people = scatter("town", 15, 8), dq.Points(scatter("town", 40, 9), "wgs84")
    east, north = Transformer.from_crs(4326, 25833, always_xy=True).transform(*places.T)
    path = tmp_path / f"utm.{ending}"
    if ending == "csv":
        pd.DataFrame({"x": east, "y": north}).to_csv(path, index=False)
        near = parse_near(f"km={path} coordinates=x,y crs=EPSG:25833")
        same = parse_near(f"km={path}", Ground(columns=("x", "y"), crs="EPSG:25833"))  # as the people have them
        assert near == same
    else:
        write_layer(path, list(shapely.points(east, north)), crs=25833)
        near = parse_near(f"km={path}")
    np.testing.assert_allclose(near.measure(people), brute(people.coordinates, places, "wgs84").min(1), atol=1e-6)


def test_places_in_a_plane(tmp_path: Path) -> None:
    people, places = rng(10).uniform(0, 9000, (80, 2)), rng(11).uniform(0, 9000, (7, 2))
    pd.DataFrame({"x": places[:, 0], "y": places[:, 1]}).to_csv(tmp_path / "places.csv", index=False)
    plane = Ground(on_earth=False, columns=("x", "y"), unit="m")
    near = parse_near(f"km={tmp_path / 'places.csv'}", plane)
    points = dq.Points(people, "euclidean", unit="m")
    all_km = np.linalg.norm(people[:, None] - places[None], axis=2) / 1000
    np.testing.assert_allclose(near.measure(points), all_km.min(axis=1), atol=1e-12)
    line = shapely.LineString(places)
    path = write_layer(tmp_path / "lines.gpkg", [line, shapely.box(0, 0, 9000, 9000)], crs=25832)
    wanted = shapely.distance(
        shapely.points(people), shapely.MultiLineString([line, shapely.box(0, 0, 9e3, 9e3).exterior])
    )
    np.testing.assert_allclose(parse_near(f"km={path}", plane).measure(points), wanted / 1000, atol=1e-9)
    one = parse_near("km=point:0,3000", plane).measure(points)
    np.testing.assert_allclose(one, np.hypot(people[:, 0], people[:, 1] - 3000) / 1000, atol=1e-12)


def test_travel_times(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("person,north,south\na,12,30\nb,,7\nc,,\n")
    ids = ("c", "a", "b")
    np.testing.assert_array_equal(parse_near(f"t=travel:{path}").measure(None, ids), [np.nan, 12, 7])
    assert parse_near(f"t=travel:{path} as=name").measure(None, ids).tolist() == [None, "north", "south"]
    assert parse_near(f"t=travel:{path} as=count:within=12").measure(None, ids).tolist() == [0, 1, 1]
    by_road = parse_near(f"t=travel:{path} unit=m as=classes:5m,10m")
    assert by_road.unit == "km"
    assert by_road.form.breaks == (0.005, 0.01)
    np.testing.assert_allclose(by_road.measure(None, ("a",)), [0.012])
    with refused("near_lacks_persons", lost=1, people=2):
        by_road.measure(None, ("a", "z"))


def test_places_that_are_as_near() -> None:
    """Of equal places the first is the nearest, however many pieces are looked at."""
    places = np.repeat([[13.0, 52.0], [13.2, 52.0]], 30, axis=0)[::-1]
    pieces = Pieces(places, places, np.arange(60), 60)
    found = find_nearest(dq.Points([[13.0, 52.1], [13.1, 52.3], [13.2, 52.0]]), pieces)
    assert found.place.tolist() == [30, 0, 0]
    assert count_within(dq.Points([[13.2, 52.0]]), pieces, 0.0).tolist() == [30]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(METRICS),
    st.sampled_from(sorted(AROUND)),
    st.floats(0, 50),
    st.booleans(),
)
def test_laws_of_the_nearest(seed: int, metric: str, where: str, step: float, lines: bool) -> None:
    """It is no farther than any place, changes by no more than one moves, and does not depend on the sizes of work."""
    people, begin = dq.Points(scatter(where, 6, seed % 1000), metric), scatter(where, 9, seed % 997)
    draw = rng(seed)
    end = shift(begin, *draw.normal(0, 0.4, (2, 9)), metric) if lines else begin
    pieces = Pieces(begin, end, np.arange(9), 9)
    found = find_nearest(people, pieces)
    assert (found.length[:, None] <= brute(people.coordinates, begin, metric) + 1e-7).all()
    angle = draw.uniform(0, 2 * np.pi, 6)
    moved = shift(people.coordinates, step * np.cos(angle), step * np.sin(angle), metric)
    after = find_nearest(dq.Points(moved, metric), pieces).length
    assert (np.abs(after - found.length) <= step * (1 + 1e-9) + 1e-5).all()
    few = find_nearest(people, pieces, SearchSizes(1, 1, 2, 3))
    np.testing.assert_allclose(few.length, found.length, rtol=0, atol=1e-9)
    radius = float(np.median(found.length))
    within = count_within(people, pieces, radius, SearchSizes(pairs=4))
    assert ((within > 0) == (found.length <= radius + 1e-9)).all()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hospital", "near_form"),
        ("=places.csv", "near_form"),
        ("km=", "near_form"),
        ("km=point:", "near_form"),
        ("km=a.csv as=", "near_form"),
        ("km=a.csv as=name as=length", "near_form"),
        ("km=a.csv as=classs:1km", "near_unknown_form"),
        ("km=a.csv as=classes", "near_form_of"),
        ("km=a.csv as=classes:5km,1km", "near_form_of"),
        ("km=a.csv as=classes:0km,1km", "near_form_of"),
        ("km=a.csv as=classes:1,5", "quantity_in_another_unit"),
        ("km=a.csv as=classes:near,far", "not_a_quantity"),
        ("km=a.csv as=name:x", "near_form_of"),
        ("km=a.csv as=count:2km", "near_form_of"),
        ("km=a.csv as=count:within=-1km", "near_form_of"),
        ("km=a.csv unit=km", "near_unit"),
        ("t=travel:a.csv unit=miles", "near_unit"),
        ("t=travel:a.csv as=classes:5km", "quantity_in_another_unit"),
    ],
)
def test_wishes_that_cannot_be_read(text: str, code: str) -> None:
    with refused(code):
        parse_wish(text)


@given(st.text(alphabet="km=:, asclenuoritwhpf1.-xt\u00e9", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(dq.InputError):
        wish = parse_wish(text)
        assert wish.name
        assert wish.source


def test_what_a_wish_may_say() -> None:
    wish = parse_wish("km near=/a b/c d.gpkg  layer=my roads as=classes:500m,2km crs=EPSG:25832")
    assert (wish.name, wish.source, wish.layer, wish.crs) == ("km near", "/a b/c d.gpkg", "my roads", "EPSG:25832")
    assert wish.form.breaks == (0.5, 2.0)


@pytest.mark.parametrize(
    ("content", "said", "code"),
    [
        ("a,b\n1,2\n", "", "near_without_coordinates"),
        ("lon,lat\n", "", "file_without_records"),
        ("", "", "file_empty"),
        ("lon,lat\n13,\n", "", "cell_not_finite"),
        ("lon,lat\n13,x\n", "", "cell_not_finite"),
        ("lon,lat\n390000,5800000\n", "", "metres_not_degrees"),
        ("lon,lat\n13,95\n", "", "latitude_out_of_range"),
        ("lon,lat\n13,52\n", "coordinates=x,y", "no_such_column"),
        ("lon,lat\n13,52\n", "coordinates=lon", "two_columns_of_places"),
        ("lon,lat\n13,52\n", "crs=EPSG:25832", "degrees_not_metres"),
        ("lon,lat\n13,52\n", "crs=nonsense", "no_such_crs"),
        ("lon,lat\n13,52\n", "as=name", "near_without_names"),
        ("lon,lat\n13,52\n", "as=name column=x", "no_such_column"),
        ("lon,lat,name\n13,52,\n", "as=name", "near_place_without_name"),
    ],
)
def test_tables_that_hold_no_places(tmp_path: Path, content: str, said: str, code: str) -> None:
    path = tmp_path / "places.csv"
    path.write_text(content)
    with refused(code):
        parse_near(f"km={path} {said}")


def test_layers_that_hold_no_places(tmp_path: Path) -> None:
    point = shapely.Point(13, 52)
    cases = {
        "near_without_places": write_layer(tmp_path / "empty.gpkg", []),
        "near_crs_not_said": write_layer(tmp_path / "bare.shp", [point]),
        "record_without_geometry": write_layer(tmp_path / "gap.gpkg", [point, None]),
        "outside_the_system": write_layer(tmp_path / "far.gpkg", [shapely.Point(1e12, 1e12)], crs=25832),
        "metres_not_degrees": write_layer(tmp_path / "metres.geojson", [shapely.Point(390000, 5800000)]),
    }
    (tmp_path / "bare.prj").unlink()
    for code, path in cases.items():
        with refused(code):
            parse_near(f"km={path}")
    with refused("no_such_file"):
        parse_near(f"km={tmp_path / 'none.gpkg'}")
    good = write_layer(tmp_path / "good.gpkg", [point])
    with refused("crs_is_another"):
        parse_near(f"km={good} crs=EPSG:25832")
    with refused("near_degrees_beside_plane"):
        parse_near(f"km={good}", Ground(on_earth=False, unit="m"))
    with refused("near_point"):
        parse_near("km=point:13.4")


def test_people_who_have_no_such_distance(tmp_path: Path) -> None:
    near = parse_near("km=point:13.4,52.5")
    for points in (None, dq.Points(np.eye(5), "cosine"), dq.Points(np.eye(5), "euclidean", unit="km")):
        with refused("near_needs_coordinates"):
            near.measure(points)
    with refused("near_on_other_ground"):
        near.measure(dq.Points([[1.0, 2.0]], "euclidean", unit="km"))
    with refused("near_plane_without_unit"):
        parse_near("km=point:1,2", Ground(on_earth=False))
    with refused("near_crs_in_plane"):
        parse_near("km=point:1,2 crs=EPSG:25832", Ground(on_earth=False, unit="m"))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("id\na\n", "near_travel_without_places"),
        ("id,x\na,1\na,2\n", "id_twice"),
        ("id,x\n,1\n", "id_missing"),
        ("id,x\na,-1\n", "near_travel_negative"),
        ("id,x\na,soon\n", "cell_not_finite"),
    ],
)
def test_travel_times_that_are_none(tmp_path: Path, content: str, code: str) -> None:
    path = tmp_path / "times.csv"
    path.write_text(content)
    with refused(code):
        parse_near(f"t=travel:{path}")


def test_the_look_at_places(tmp_path: Path) -> None:
    people = dq.Points(scatter("town", 200, 12))

    def look(places: np.ndarray) -> list[str]:
        path = tmp_path / "places.csv"
        pd.DataFrame(places, columns=["lon", "lat"]).to_csv(path, index=False)
        return [remark.message.code for remark in inspect_near(parse_near(f"km={path}"), people, "people.csv")]

    assert look(scatter("town", 30, 13)) == []
    assert look(np.array([[2.35, 48.86], [5.37, 43.3]])) == ["near_in_another_country"]
    assert look(np.array([[-30.0, 40.0]])) == ["near_far_away"]
    assert look(people.coordinates) == ["near_places_are_people"]
    swapped = inspect_near(parse_near("km=point:52.5,13.4"), people, "people.csv")
    assert [remark.message.code for remark in swapped] == ["near_far_away"]
    assert swapped[0].likely_wrong
