"""Distances to places from file to verdict: the same on both sides, for strangers, and for coordinates that are off."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import disclique as dq
from builders import refused, rng
from disclique.attacks import Knowledge
from disclique.audits.definition import Audit
from disclique.audits.known_file import add_errors, invent_people
from disclique.audits.run import make_plan
from disclique.cli import app
from disclique.spaces.metrics import paired, pairwise

PEOPLE = 150
QUICKLY = {"repetitions": 1, "seed": 2, "attacks": ["numbers"], "sensitivity": False, "person_trials": 1}


def town(n: int, seed: int) -> pd.DataFrame:
    """Return people, or places, of a town."""
    draw = rng(seed)
    where = draw.uniform((13.1, 52.35), (13.7, 52.65), (n, 2))
    return pd.DataFrame({"id": [f"p{k}" for k in range(n)], "sex": draw.choice(["f", "m"], n)}).assign(
        lon=where[:, 0], lat=where[:, 1]
    )


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """Write hospitals and stations; return what to ask for."""
    for name, many, seed in (("hospitals", 6, 21), ("stations", 12, 22)):
        town(many, seed).assign(name=[f"{name} {k}" for k in range(many)]).to_csv(tmp_path / f"{name}.csv", index=False)
    hospitals, stations = tmp_path / "hospitals.csv", tmp_path / "stations.csv"
    return [
        f"km_hospital={hospitals}",
        f"km_station={stations} as=classes:1km,2km,4km",
        f"hospital={hospitals} as=name",
        f"stations={stations} as=count:within=6km",
    ]


def read_people(near: list[str], people: pd.DataFrame | None = None, **more: object) -> dq.Microdata:
    """Return people with their distances to places."""
    table = town(PEOPLE, 20) if people is None else people
    return dq.microdata(table, ["sex"], coordinates=["lon", "lat"], ids="id", near=near, **more)


def nearest(people: pd.DataFrame, file: str) -> np.ndarray:
    """Return all distances to the places of a file, by brute force."""
    there = pd.read_csv(file)
    return pairwise(people[["lon", "lat"]].to_numpy(), there[["lon", "lat"]].to_numpy())


def test_columns_of_every_form(places: list[str], tmp_path: Path) -> None:
    data, people = read_people(places), town(PEOPLE, 20)
    hospitals, stations = (nearest(people, str(tmp_path / f"{one}.csv")) for one in ("hospitals", "stations"))
    columns = {one.name: one for one in data.numbers.columns}
    np.testing.assert_allclose(columns["km_hospital"].values, hospitals.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(columns["km_station"].values, stations.min(axis=1), atol=1e-9)
    assert columns["stations"].values.tolist() == (stations <= 6).sum(axis=1).tolist()
    assert [one.unit for one in columns.values()] == ["km", "km", "none"]
    assert data.labels["hospital"].tolist() == [f"hospitals {k}" for k in hospitals.argmin(axis=1)]
    people.to_csv(tmp_path / "people.csv", index=False)
    read = dq.read(tmp_path / "people.csv", labels=["sex"], id="id", coordinates="lon,lat", near=places)
    assert read.numbers.content() == data.numbers.content()
    assert read.labels.equals(data.labels)


def test_people_in_metres(tmp_path: Path) -> None:
    """Columns of a table of places that are called as those of people are in their reference system, or plane."""
    people, places = (pd.DataFrame(rng(k).uniform(0, 9000, (n, 2)), columns=["x", "y"]) for k, n in ((7, 40), (8, 5)))
    east, north = 380_000, 5_800_000
    for name, frame in (("people", people), ("places", places)):
        frame.assign(x=frame["x"] + east, y=frame["y"] + north).to_csv(tmp_path / f"{name}.csv", index=False)
    flat = np.linalg.norm(people.to_numpy()[:, None] - places.to_numpy()[None], axis=2).min(axis=1) / 1000
    asked = {"coordinates": "x,y", "near": f"km={tmp_path / 'places.csv'}"}
    plane = dq.read(tmp_path / "people.csv", metric="euclidean", unit="m", **asked)
    np.testing.assert_allclose(plane.numbers.columns[0].values, flat, atol=1e-9)
    earth = dq.read(tmp_path / "people.csv", metric="wgs84", crs="EPSG:25833", **asked)
    np.testing.assert_allclose(earth.numbers.columns[0].values, flat, rtol=1e-3)  # the scale of UTM
    with refused("near_plane_without_unit"):
        dq.read(tmp_path / "people.csv", metric="euclidean", **asked)


def test_the_look_names_places_of_another_country(tmp_path: Path) -> None:
    pd.DataFrame({"lon": [2.35, 5.37], "lat": [48.86, 43.3]}).to_csv(tmp_path / "paris.csv", index=False)
    found = dq.inspect(read_people([f"km={tmp_path / 'paris.csv'}"]))
    assert "near-in-another-country" in [one.name for one in found.remarks]


def test_risk_is_that_of_who_shares_all_that_is_released(places: list[str], tmp_path: Path) -> None:
    """Rounded lengths, classes, a name and a count are functions of the place: the risk is 1 / k of the crowd."""
    data, people = read_people(places), town(PEOPLE, 20)
    hospitals, stations = (nearest(people, str(tmp_path / f"{one}.csv")) for one in ("hospitals", "stations"))
    shown = list(
        zip(
            people["sex"],
            hospitals.argmin(axis=1),
            np.floor(hospitals.min(axis=1) / 3 + 0.5),
            np.searchsorted([1, 2, 4], stations.min(axis=1), side="right"),
            (stations <= 6).sum(axis=1),
            strict=True,
        )
    )
    crowd = Counter(shown)
    wanted = float(np.mean([1 / crowd[one] for one in shown]))
    found = dq.audit(data, ["withheld | km_hospital=round:3km"], **QUICKLY)
    assert 0.2 < wanted < 0.9
    assert found.table["risk"].iloc[0] == pytest.approx(wanted, abs=0.01)


def test_strangers_have_the_distances_of_where_they_live(places: list[str]) -> None:
    data = read_people(places)
    audit = Audit(make_plan(["gaussian:sigma=2km"]), data)
    others = invent_people(audit, 40, rng(3))
    for column in others.numbers.columns:
        np.testing.assert_array_equal(column.values, column.near.measure(others.distances.points(), others.ids))


def test_a_snooper_whose_coordinates_are_off(places: list[str]) -> None:
    data = read_people(places)
    audit = Audit(make_plan(["gaussian:sigma=2km"], coordinate_error="300m"), data)
    theirs = add_errors(audit, data, rng(4))
    moved = theirs.distances.points()
    apart = paired(moved.coordinates, data.distances.coordinates)
    for column, before in zip(theirs.numbers.columns, data.numbers.columns, strict=True):
        if column.unit == "km":
            np.testing.assert_array_equal(column.values, column.near.measure(moved, data.ids))
            assert (np.abs(column.values - before.values) <= apart + 1e-9).all()
            assert column.error == pytest.approx(0.3)
        else:  # how far off a count is has no such law: they are taken to know it
            np.testing.assert_array_equal(column.values, before.values)
            assert column.error == 0


def test_errors_of_coordinates_make_a_release_no_riskier(places: list[str]) -> None:
    data, asked = read_people(places[:2], town(60, 20)), ["withheld | km_station=round:200m"]
    found = [dq.audit(data, asked, coordinate_error=error, **QUICKLY) for error in (None, "300m", "3km")]
    risks = [one.table["risk"].iloc[0] for one in found]
    assert risks[0] == 1.0  # exact lengths
    assert risks[0] > risks[1] > risks[2]


def test_an_attack_on_what_somebody_released(places: list[str]) -> None:
    """The release has a column and no coordinates; the snooper computes theirs."""
    made = read_people(places[:1]).numbers.columns[0].values
    order = rng(5).permutation(PEOPLE)
    table = town(PEOPLE, 20)[["id", "sex"]].assign(km_hospital=made * 1000).iloc[order].reset_index(drop=True)
    target = dq.microdata(table, ["sex"], ids="id", numbers={"km_hospital": "m"}, near=places[:1])
    known = read_people(places[:1], numbers={"km_hospital": "m"})
    assert dq.attack(target, known, by="numbers", truth="id").risk.recall == 1.0
    vague = dq.attack(target, known, by="numbers", truth="id", knowledge=Knowledge(coordinate_error=2.0))
    assert vague.risk.recall < 0.5


def test_commands(places: list[str], tmp_path: Path) -> None:
    made = read_people(places[:1])
    people, release = tmp_path / "people.csv", tmp_path / "release.csv"
    town(PEOPLE, 20).to_csv(people, index=False)
    town(PEOPLE, 20)[["id", "sex"]].assign(km_hospital=made.numbers.columns[0].values).to_csv(release, index=False)
    both = ["--label", "sex", "--id", "id", "--near", places[0]]
    run = CliRunner().invoke(
        app,
        [
            *("attack", str(release), str(people), *both, "--number", "km_hospital:km"),
            *("--known-coordinates", "lon,lat", "--attack", "numbers", "--truth", "id"),
            *("--json", str(tmp_path / "found.json")),
        ],
    )
    assert run.exit_code == 0, run.output
    entry = pd.read_json(tmp_path / "found.json", typ="series")
    assert entry["attacks"][0]["tp"] == PEOPLE
    masks = ["--mask", "withheld | km_hospital=round:1km", "--repetitions", "1"]
    masks += ["--attack", "numbers", "--no-sensitivity", "--person-trials", "1", "--yes"]
    run = CliRunner().invoke(
        app, ["audit", str(people), "--out", str(tmp_path / "out"), *both, "--coordinates", "lon,lat", *masks]
    )
    assert run.exit_code == 0, run.output
    assert "hospitals.csv" in (tmp_path / "out" / "result.json").read_text()


def test_what_cannot_be_computed(places: list[str], tmp_path: Path) -> None:
    people = town(20, 6)
    with refused("near_needs_coordinates"):
        dq.microdata(people, ["sex"], distances=np.zeros((20, 20)), near=places[0])
    with refused("near_column_there"):
        read_people(places[:1], people.assign(km_hospital=1.0))
    with refused("number_twice"):
        read_people([places[0], places[0]])
    with refused("argument_is_not"):
        read_people([3])
    people.to_csv(tmp_path / "people.csv", index=False)
    with refused("near_needs_coordinates"):
        dq.read(tmp_path / "people.csv", labels=["sex"], near=places)
    times = tmp_path / "times.csv"
    people[["id"]].assign(a=1.0, b=2.0).to_csv(times, index=False)
    alone = dq.read(tmp_path / "people.csv", labels=["sex"], id="id", near=f"minutes=travel:{times}")
    assert alone.numbers.columns[0].values.tolist() == [1.0] * 20
    with refused("near_lacks_persons"):
        dq.microdata(town(30, 6), ids="id", near=f"minutes=travel:{times}")
