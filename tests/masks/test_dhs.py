"""The displacement of surveys: clusters, urban and rural, and districts, against arithmetic and brute force."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import disclique as dq
from builders import rng
from conftest import Run
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Holder, learn
from disclique.attacks.oracle import Answer, ask_oracle
from disclique.attacks.population import prepare
from disclique.engine.kernels.members import match_members
from disclique.masks import Mask, parse_mask
from disclique.masks.surveys import SurveyLaw, measure_shares
from disclique.measures.risk import Truth
from disclique.messages import say
from disclique.spaces import Points
from disclique.spaces.metrics import paired
from disclique.values import FloatArray
from small_files import LIGHT

geopandas = pytest.importorskip("geopandas", reason="needs the geo extra")

WEST, SOUTH, SIDE = 30.0, 0.0, 0.1  # districts are squares of 11 km at the equator
KM = 6371 * np.pi / 180  # of a degree
Data = dq.Microdata


def write_districts(path: Path, columns: int = 8, crs: int = 4326) -> Path:
    """Write square districts, 11 km wide, to a GeoPackage."""
    from shapely import box, segmentize

    corners = [(WEST + SIDE * i, SOUTH + SIDE * j) for i in range(columns) for j in range(columns)]
    squares = [segmentize(box(x, y, x + SIDE, y + SIDE), SIDE / 20) for x, y in corners]
    geopandas.GeoDataFrame({"name": range(len(squares))}, geometry=squares, crs=4326).to_crs(crs).to_file(path)
    return path


def square_of(places: FloatArray) -> FloatArray:
    """The district of each place, by its digits."""
    return np.floor((places - [WEST, SOUTH]) / SIDE)


def people(places: FloatArray, **columns: Any) -> Data:
    table = pd.DataFrame({"lon": places[:, 0], "lat": places[:, 1], **columns})
    labels = [name for name in columns if name in ("sex", "age")]
    return dq.microdata(table, labels, coordinates=["lon", "lat"])


def places_of(file: Data) -> FloatArray:
    points = file.distances.points()
    assert points is not None
    return points.coordinates


def households(clusters: int, size: int, *, seed: int = 0, apart: float = 0.0, columns: int = 8) -> Data:
    """Households in clusters, every second one urban, with sex and age; ``apart`` degrees from their middle."""
    draw = rng(seed)
    middle = draw.uniform(0.01, SIDE - 0.01, (clusters, 2)) + np.array([WEST, SOUTH])
    middle += SIDE * draw.integers(columns, size=(clusters, 2))
    which = np.repeat(np.arange(clusters), size)
    places = middle[which] + apart * draw.uniform(-1, 1, (len(which), 2))
    n = len(which)
    told = {"ea": which + 100, "place": np.where(which % 2 == 0, "U", "R")}
    return people(places, **told, sex=draw.choice(["f", "m"], n), age=draw.integers(11, size=n))


def test_a_cluster_has_one_point_that_stays_in_its_district(tmp_path: Path) -> None:
    """All members get the same point: around the mean of their places, as far as their kind may go."""
    file = households(400, 5, apart=0.002)
    spec = f"dhs:cluster=ea,residence=place,within={write_districts(tmp_path / 'd.gpkg')},far-share=0.1"
    moved = parse_mask(spec).prepare(file).apply(file.distances, rng(1)).points()
    assert moved is not None
    after, before = moved.coordinates.reshape(400, 5, 2), places_of(file).reshape(400, 5, 2)
    assert (after == after[:, :1]).all()
    assert len(np.unique(after[:, 0], axis=0)) == 400
    assert (square_of(after[:, 0]) == square_of(before[:, 0])).all()
    length = paired(before.mean(axis=1), after[:, 0], "sphere")
    urban = np.arange(400) % 2 == 0
    assert length[urban].max() < 2.001
    assert 4 < np.sort(length[~urban])[-20] <= length[~urban].max() < 10.001


def test_without_a_column_those_at_one_place_are_a_cluster() -> None:
    file = households(50, 4)
    points = file.distances.points()
    assert points is not None
    for mask in (parse_mask("dhs"), parse_mask("dhs").prepare(file)):
        moved = mask.apply(points, rng(1)).points()
        assert moved is not None
        assert len(np.unique(moved.coordinates, axis=0)) == 50
        same = moved.coordinates.reshape(50, 4, 2)
        assert (same == same[:, :1]).all()


def test_no_point_leaves_its_district_in_100000_draws(tmp_path: Path) -> None:
    draw = rng(2)
    places = draw.uniform([WEST, SOUTH], [WEST + 8 * SIDE, SOUTH + 8 * SIDE], (100_000, 2))
    file = people(places, place=draw.choice(["1", "2"], len(places)))
    mask = parse_mask(f"dhs:residence=place,within={write_districts(tmp_path / 'd.gpkg')}").prepare(file)
    moved = mask.apply(file.distances, rng(3)).points()
    assert moved is not None
    assert (square_of(moved.coordinates) == square_of(places)).all()
    assert np.hypot(*(moved.coordinates - places).T).max() * KM > 5


def draw_inside(place: FloatArray, n: int, seed: int, urban: bool) -> FloatArray:
    """Moves in km from a place, by drawing all and leaving out those that end in another square: plane geometry."""
    draw = rng(seed)
    far = np.where(draw.random(n) < 0.01, 10.0, 5.0)
    length, angle = np.where(urban, 2.0, far) * draw.random(n), draw.uniform(0, 2 * np.pi, n)
    moves = np.column_stack((length * np.cos(angle), length * np.sin(angle)))
    return moves[(square_of(place + moves / KM) == square_of(place[None])).all(axis=1)]


@pytest.mark.parametrize("urban", [True, False])
def test_moments_and_coverage_of_the_truncated_law(tmp_path: Path, urban: bool) -> None:
    """At a place near a corner: moments, quantiles, and the share of the law inside, as by rejection in the plane."""
    corner = np.array([WEST + 3 * SIDE + 0.004, SOUTH + 0.007])
    many = 40_000
    places = corner + 1e-9 * np.arange(many)[:, None]  # each is a cluster
    file = people(places, ea=np.arange(many), place=["urban" if urban else "rural"] * many)
    path = write_districts(tmp_path / "d.gpkg")
    mask = parse_mask(f"dhs:cluster=ea,residence=place,within={path}").prepare(file)
    moved = mask.apply(file.distances, rng(4)).points()
    assert moved is not None
    found, wanted = (moved.coordinates - places) * KM, draw_inside(corner, 1_000_000, 5, urban)
    for axis in range(2):
        assert stats.ks_2samp(found[:, axis], wanted[:, axis]).pvalue > 0.001
        assert found[:, axis].mean() == pytest.approx(wanted[:, axis].mean(), abs=0.03)
    assert np.cov(found.T) == pytest.approx(np.cov(wanted.T), abs=0.08)
    law = mask.place_law()
    assert isinstance(law, SurveyLaw)
    share = law.find_shares(law.locate(Points(places[:1])), "sphere")[0]
    assert share == pytest.approx(len(wanted) / 1_000_000, abs=0.003)
    for radius in (0.5, 1.0, 1.8):  # P(r < radius) by the density over the part of each circle that lies inside
        inside = draw_inside(corner, 1_000_000, 6, urban)
        assert (np.hypot(*found.T) < radius).mean() == pytest.approx((np.hypot(*inside.T) < radius).mean(), abs=0.01)


def test_shares_are_exact_to_one_in_a_hundred(tmp_path: Path) -> None:
    """At 30 places of all kinds, against a million draws each."""
    path = write_districts(tmp_path / "d.gpkg")
    file = people(rng(7).uniform([WEST, SOUTH], [WEST + SIDE, SOUTH + SIDE], (30, 2)), place=["R"] * 30)
    law = parse_mask(f"dhs:residence=place,within={path}").prepare(file).place_law()
    points = file.distances.points()
    assert isinstance(law, SurveyLaw)
    assert points is not None
    located = law.locate(points)
    found = law.find_shares(located, "sphere")
    wanted = [len(draw_inside(place, 300_000, 8, False)) / 300_000 for place in points.coordinates]
    assert found == pytest.approx(wanted, rel=0.01)
    assert law.survey.areas is not None
    assert measure_shares(law.urban, located, law.survey.areas, "wgs84") == pytest.approx(
        measure_shares(law.urban, located, law.survey.areas, "sphere"), abs=0.01
    )


def test_where_no_border_is_near_it_is_the_law_and_the_draw_of_before(tmp_path: Path) -> None:
    """In one large district the same points are drawn as without any, and the density is the same."""
    from shapely import box

    geopandas.GeoDataFrame(geometry=[box(20, -10, 40, 10)], crs=4326).to_file(tmp_path / "one.gpkg")
    file = households(60, 1)
    plain, kept = (parse_mask(f"dhs{one}").prepare(file) for one in ("", f":within={tmp_path / 'one.gpkg'}"))
    one, other = (mask.apply(file.distances, rng(9)).points() for mask in (plain, kept))
    assert one is not None
    assert other is not None
    assert (one.coordinates == other.coordinates).all()
    law, points = kept.place_law(), file.distances.points()
    assert isinstance(law, SurveyLaw)
    assert points is not None
    assert (law.find_shares(law.locate(points), "sphere") == 1).all()
    r = np.linspace(0.01, 12, 500)
    assert law.either.density(r) == pytest.approx(plain.place_law().density(r))  # type: ignore[union-attr]
    walk = [2 * np.pi * r * one.density(r) for one in (law.urban, law.rural)]
    assert walk[0] == pytest.approx(np.where(r <= 2, 1 / 2, 0))
    assert walk[1] == pytest.approx(0.99 * np.where(r <= 5, 1 / 5, 0) + 0.01 * np.where(r <= 10, 1 / 10, 0))
    hits = [ask(mask, file, 1)[0].of("prosecutor").mean() for mask in (plain, kept)]
    assert hits[0] == pytest.approx(hits[1], abs=0.03)


def ask(mask: Mask, file: Data, seed: int) -> tuple[Answer, Points | None]:
    """Ask the oracle who is who in a release of the file, all of whom are known; and return the masked points."""
    draw = rng(seed)
    points = file.distances.points()
    assert points is not None
    about = calibrate(parse_mask("gaussian:sigma=1km"), rng=draw)
    told = learn(mask, about, points, common=0.99, rng=draw)
    pairs = np.column_stack([np.arange(len(file))] * 2)
    candidates = dq.LabelRule().candidates(file, file)
    masked = mask.apply(file.distances, draw)
    asked = ask_oracle([masked], Holder(file, prepare(file), candidates, Truth(pairs), told))
    return asked, masked.points()


def permanent(weight: FloatArray) -> FloatArray:
    """The sum over one-to-one matchings that use a pair, of the product of weights, for every pair."""
    found, rows = np.zeros(weight.shape), np.arange(len(weight))
    for columns in permutations(rows):
        found[rows, columns] += weight[rows, columns].prod()
    return found


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1)])
def test_members_of_two_groups_match_as_by_a_list_of_all_ways(shape: tuple[int, int]) -> None:
    """Where there is no cycle: nobody matches, or one pair does."""
    weight = rng(3).uniform(0.1, 9, shape)
    found, (rows, columns) = weight.ravel().copy(), (np.array([size]) for size in shape)
    total = match_members(found, np.zeros(1, np.int64), rows, columns, 100, 1e-9)
    assert total[0] == pytest.approx(np.log(1 + weight.sum()))
    assert found == pytest.approx(weight.ravel() / (1 + weight.sum()))


@pytest.mark.parametrize(("sexes", "ages"), [("f", 1), ("fm", 1), ("fm", 3)])  # labels name no cluster, some, all
def test_the_oracle_is_brute_force_over_clusters_and_their_members(sexes: str, ages: int, tmp_path: Path) -> None:
    """200 people in 40 clusters, 5 in each of 8 districts: all ways to lay groups on clusters, and members within."""
    draw, size = rng(11), 5
    corner = np.array([WEST, SOUTH]) + SIDE * np.column_stack((np.repeat(np.arange(8), size), np.zeros(40)))
    middle = corner + draw.uniform(0.03, 0.07, (40, 2))  # all within reach of each other
    which = np.repeat(np.arange(40), size)
    n = len(which)
    sex, age = draw.choice(list(sexes), n), draw.integers(ages, size=n)
    file = people(middle[which], ea=which, place=np.where(which % 2, "R", "U"), sex=sex, age=age)
    mask = parse_mask(f"dhs:cluster=ea,residence=place,within={write_districts(tmp_path / 'd.gpkg')}").prepare(file)
    law = mask.place_law()
    assert isinstance(law, SurveyLaw)
    share = law.find_shares(law.locate(Points(middle)), "sphere")
    gaps = []
    for seed in range(6):
        answer, moved = ask(mask, file, seed)
        assert moved is not None
        places = moved.coordinates[::size]
        chance = np.zeros((n, n))
        for first in range(0, 40, size):
            some = np.arange(first, first + size)
            r = np.array([[paired(middle[[c]], places[[g]], "sphere")[0] for c in some] for g in some])
            far = np.where(r <= 5, 0.99 / 5, 0) + np.where(r <= 10, 0.01 / 10, 0)
            density = np.where(some % 2, far, np.where(r <= 2, 1 / 2, 0)) / r / share[some]
            inner = {}
            for g in some:
                for c in some:
                    ours, theirs = np.arange(size) + size * g, np.arange(size) + size * c
                    alike = (sex[ours][:, None] == sex[theirs]) & (age[ours][:, None] == age[theirs])
                    inner[g, c] = permanent(alike.astype(float))
            labels = np.array([[inner[g, c].sum() / size for c in some] for g in some])
            outer = permanent(density * labels)
            for g in some:
                for c in some:
                    if labels[g - first, c - first]:
                        found = outer[g - first, c - first] / outer[g - first].sum()
                        within = inner[g, c] / labels[g - first, c - first]
                        chance[size * g : size * (g + 1), size * c : size * (c + 1)] = found * within
        top = chance.max(axis=0)
        many = (chance >= top * (1 - 1e-9)).sum(axis=0)
        wanted = np.where(np.diag(chance) >= top * (1 - 1e-9), 1 / many, 0)
        gaps.append(answer.of("prosecutor").mean() - wanted.mean())
        assert wanted.mean() > 0.1
    assert abs(np.mean(gaps)) < 0.01
    assert np.abs(gaps).max() < 0.03


def test_labels_of_a_whole_cluster_tell_more_than_those_of_each_member(tmp_path: Path) -> None:
    """One draw for all is no more than one: without labels five members are as hard to find as one of them, times 5."""
    path = write_districts(tmp_path / "d.gpkg", 2)
    alone, together = households(60, 1, columns=2), households(60, 5, columns=2)
    found = []
    for file in (alone, together):
        bare = dq.microdata(file.table, coordinates=["lon", "lat"])
        mask = parse_mask(f"dhs:cluster=ea,residence=place,within={path}").prepare(bare)
        found.append(np.mean([ask(mask, bare, seed)[0].of("prosecutor").mean() for seed in range(5)]))
    assert found[1] == pytest.approx(found[0] / 5, abs=0.03)
    mask = parse_mask(f"dhs:cluster=ea,residence=place,within={path}").prepare(together)
    assert ask(mask, together, 0)[0].of("prosecutor").mean() > 0.8


def test_few_known_people_and_an_error_of_their_places(tmp_path: Path) -> None:
    """Who knows some members finds these; an error of 100 m hardly matters beside kilometres; others are not found."""
    file = households(60, 5, columns=3)
    mask = parse_mask(f"dhs:cluster=ea,residence=place,within={write_districts(tmp_path / 'd.gpkg', 3)}").prepare(file)
    some = np.arange(0, 300, 5)
    columns = {name: file.table[name][some].to_numpy() for name in ("sex", "age")}
    known = people(places_of(file)[some], **columns)
    near = people(places_of(known) + rng(1).normal(0, 1e-3, (60, 2)), **columns)
    draw = rng(0)
    told = [
        learn(mask, calibrate(parse_mask("gaussian:sigma=1km"), rng=draw), file.distances.points(), common=0.2,
              coordinate_error=error, rng=draw)
        for error in (0.0, 0.11)
    ]  # fmt: skip
    masked = mask.apply(file.distances, draw)
    truth, found = Truth(np.column_stack((some, np.arange(60)))), []
    for theirs, knowledge in zip((known, near), told, strict=True):
        candidates = dq.LabelRule().candidates(file, theirs)
        found.append(ask_oracle([masked], Holder(file, prepare(theirs), candidates, truth, knowledge)))
    rates = [one.of("prosecutor").mean() for one in found]
    guess = 1 / dq.LabelRule().candidates(file, known).swapped.fitting.mean()
    assert rates[0] > 3 * guess
    assert rates[1] == pytest.approx(rates[0], abs=0.12)


def test_a_mask_that_knows_a_file_is_not_taken_for_another_one() -> None:
    """What is known of one setting of an audit must not be told of the next."""
    file = households(30, 3)
    one, other = (parse_mask(spec).prepare(file) for spec in ("dhs:cluster=ea", "dhs:cluster=ea,urban=1km"))
    assert len({one, other, one}) == 2
    assert one != other
    assert one.place_law() != other.place_law()


def test_audit_and_release_with_districts(run: Run, tmp_path: Path) -> None:
    """From Python and from the command line: a mask told by columns, districts in another reference system."""
    file = households(40, 4, columns=4)
    path = write_districts(tmp_path / "d.gpkg", 4, crs=32636)
    spec = f"dhs:cluster=ea,residence=place,within={path}"
    fast = {"attacks": ["labels"], "repetitions": 1, "person_trials": 10, "sensitivity": False}
    audited = dq.audit(file, [spec, "dhs"], **fast)
    found = [one.oracle for one in audited.settings]
    assert all(one is not None and not one.learned for one in found)
    made = dq.release(file, spec, seed=1)
    moved = made.masked.points()
    assert moved is not None
    assert (square_of(moved.coordinates) == square_of(places_of(file)[made.key])).all()
    assert f"within={path}" in made.mask
    file.table.assign(id=np.arange(len(file))).to_csv(tmp_path / "people.csv", index=False)
    columns = ("--id", "id", "--coordinates", "lon,lat", "--label", "sex", "--label", "age")
    asked = (
        "--mask",
        "dhs:cluster=ea,residence=place,within=d.gpkg",
        "--out",
        "out",
        "--processes",
        "1",
        *LIGHT,
    )
    code, _, err = run("audit", "people.csv", *columns, *asked, "--attack", "labels", "--repetitions", "1")
    assert code in (0, 1), err
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert "cluster=ea" in result["settings"][0]["spec"]
    assert any(name.endswith("d.gpkg") for name in map(str, result["plan"]["inputs"]))


BAD = {
    "districts of points": ("areas_not_polygons", "area", "Fläche"),
    "no reference system": ("areas_without_crs", "reference system", "bezugssystem"),
    "no such column": ("no_such_column", "village", "village"),
    "no such file": ("no_such_file", "nowhere.gpkg", "nowhere.gpkg"),
    "plane": ("districts_need_degrees", "--crs", "--crs"),
    "in no district": ("place_in_no_district", "row 2", "Zeile 2"),
    "in two districts": ("cluster_in_two_districts", "two districts", "zwei Bezirken"),
    "neither urban nor rural": ("residence_unknown", "neither urban", "weder städtisch"),
    "urban and rural": ("cluster_urban_and_rural", "one cluster", "einem Cluster"),
    "two clusters at a place": ("place_in_two_clusters", "same place", "selben Ort"),
    "no cluster": ("cluster_missing", "is empty", "ist leer"),
    "not told": ("mask_not_prepared", "leave out", "weg"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_does_not_fit_is_said_in_one_sentence(what: str, tmp_path: Path) -> None:
    code, english, german = BAD[what]
    path = write_districts(tmp_path / "d.gpkg", 2)
    places = np.array([[30.05, 0.05], [30.15, 0.05], [30.05, 0.15]])
    columns: dict[str, list[object]] = {"ea": [1, 2, 3], "place": ["U", "R", "R"]}
    spec = f"dhs:cluster=ea,residence=place,within={path}"
    frame = geopandas.read_file(path)
    if what == "districts of points":
        geopandas.GeoDataFrame(geometry=geopandas.points_from_xy([30, 31], [0, 1]), crs=4326).to_file(path)
    elif what == "no reference system":
        path = tmp_path / "bare.gpkg"
        with pytest.warns(UserWarning, match="crs"):
            frame.set_crs(None, allow_override=True).to_file(path)
        spec = f"dhs:within={path}"
    elif what == "no such column":
        spec = "dhs:cluster=village"
    elif what == "no such file":
        spec = f"dhs:within={tmp_path / 'nowhere.gpkg'}"
    elif what == "in no district":
        places[1] = [31, 5]
    elif what in ("in two districts", "urban and rural"):
        columns["ea"] = [1, 2, 1]
        places[2] = [30.06, 0.06] if what == "urban and rural" else places[2]
        columns["place"] = ["U", "R", "R"] if what == "urban and rural" else ["U", "R", "U"]
    elif what == "neither urban nor rural":
        columns["place"] = ["U", "peri-urban", "R"]
    elif what == "two clusters at a place":
        places[1] = places[0]
    elif what == "no cluster":
        columns["ea"] = [1, None, 3]
    file = people(places, **columns)
    if what == "plane":
        file = dq.microdata(file.table, coordinates=["lon", "lat"], metric="euclidean", unit="km")
    apply: Callable[[], object] = partial(dq.release, file, spec, seed=1)
    if what == "not told":
        apply = partial(parse_mask(spec).apply, file.distances, rng())
    with pytest.raises(dq.DiscliqueError) as problem:
        apply()
    assert problem.value.message.code == code
    assert english in str(problem.value)
    told = say(problem.value.message, "de")
    assert german in told
    assert "\n" not in told
