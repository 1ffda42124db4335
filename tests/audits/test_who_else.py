"""Who else lives there: how many people of a population fit what is released of each record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq

HOSPITALS = "lon,lat\n10.02,50.02\n10.08,50.06\n"
ASKED = {"repetitions": 2, "person_trials": 10, "sensitivity": False, "attacks": ["labels"]}


def make_town(folder: Path, dwellings: int = 400, released: int = 60) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(4)
    town = pd.DataFrame(
        {
            "lon": rng.uniform(10, 10.1, dwellings),
            "lat": rng.uniform(50, 50.08, dwellings),
            "sex": rng.choice(["f", "m"], dwellings),
            "persons": rng.integers(1, 5, dwellings),
        }
    )
    people = town.iloc[rng.choice(dwellings, released, replace=False)].drop(columns="persons")
    people = people.assign(id=range(released)).reset_index(drop=True)
    town.to_csv(folder / "town.csv", index=False)
    people.to_csv(folder / "people.csv", index=False)
    (folder / "hospitals.csv").write_text(HOSPITALS)
    return town, people


def measure_km(frame: pd.DataFrame) -> np.ndarray:
    """The way to the nearest hospital on a sphere, by the haversine."""
    lon, lat = np.radians(frame["lon"].to_numpy()), np.radians(frame["lat"].to_numpy())
    ways = []
    for line in HOSPITALS.split()[1:]:
        east, north = np.radians([float(part) for part in line.split(",")])
        half = np.sin((lat - north) / 2) ** 2 + np.cos(lat) * np.cos(north) * np.sin((lon - east) / 2) ** 2
        ways.append(2 * 6371 * np.arcsin(np.sqrt(half)))
    return np.min(ways, axis=0)


def audit(folder: Path, mask: str, people: str | None = "persons", **options: object) -> dq.audits.AuditResult:
    file = dq.read(
        folder / "people.csv", labels=["sex"], id="id", coordinates="lon,lat", near=f"km_h={folder / 'hospitals.csv'}"
    )
    population = dq.read_population(folder / "town.csv", coordinates="lon,lat", people=people)
    return dq.audit(file, mask, population=population, **ASKED | options)


@pytest.mark.parametrize("width", [0.1, 0.5, 2.0])
def test_people_who_fit_are_counted_exactly(tmp_path: Path, width: float) -> None:
    town, people = make_town(tmp_path)
    found = audit(tmp_path, f"withheld | km_h=round:{width}km").settings[0].fitting
    assert found is not None
    rounded = [np.floor(np.round(measure_km(one) / width + 0.5, 9)) for one in (town, people)]
    k = [
        town["persons"][(rounded[0] == mine) & (town["sex"] == sex).to_numpy()].sum()
        for mine, sex in zip(rounded[1], people["sex"], strict=True)
    ]
    assert found.people == town["persons"].sum()
    assert found.quantiles == tuple(np.quantile(k, [0, 0.1, 0.25, 0.5, 0.75], method="lower"))
    assert (found.alone, found.few) == (sum(one == 1 for one in k), sum(one < 5 for one in k))
    assert found.labels == ("sex",)
    assert found.numbers == ("km_h",)
    assert not found.places


def test_noise_counts_people_by_how_well_they_fit(tmp_path: Path) -> None:
    """Each weighs as much as the release is less probable of them than of the true person; nobody is left out."""
    town, _ = make_town(tmp_path)
    wide = audit(tmp_path, "withheld | km_h=gaussian:1000km | drop:sex").settings[0].fitting
    assert wide is not None
    assert wide.quantiles[0] == pytest.approx(town["persons"].sum(), rel=0.01)
    fine, coarse = (audit(tmp_path, f"withheld | km_h=gaussian:{sd}m").settings[0].fitting for sd in (20, 500))
    assert fine is not None
    assert coarse is not None
    assert fine.quantiles[3] < coarse.quantiles[3] < wide.quantiles[3]


def test_masked_places_and_distances_leave_fewer_than_either(tmp_path: Path) -> None:
    make_town(tmp_path)
    settings = ["gaussian:sigma=1km | drop:km_h", "withheld | km_h=round:500m", "gaussian:sigma=1km | km_h=round:500m"]
    apart = [audit(tmp_path, one).settings[0].fitting for one in settings]
    k = [one.quantiles[3] for one in apart if one is not None]
    assert len(k) == 3
    assert k[2] < min(k[:2])
    assert [one.places for one in apart if one is not None] == [True, False, True]
    joint = apart[2]
    assert joint is not None
    assert joint.off is not None
    assert joint.off_alone is not None
    assert joint.off < 0.75 * joint.off_alone
    assert 0.5 < joint.off_alone < 2.5  # about the noise


def test_strangers_live_where_people_do(tmp_path: Path) -> None:
    """Strangers of a drawn known file come from the population: a town of one street makes all of them neighbours."""
    town, _ = make_town(tmp_path)
    town.assign(lon=20.0, lat=40.0).to_csv(tmp_path / "town.csv", index=False)
    far = audit(tmp_path, "withheld | km_h=round:2km | drop:sex", overlap=0.5, scenario="journalist")
    make_town(tmp_path)
    near = audit(tmp_path, "withheld | km_h=round:2km | drop:sex", overlap=0.5, scenario="journalist")
    assert near.settings[0].fitting is not None
    assert far.settings[0].fitting is not None
    assert far.settings[0].fitting.quantiles[4] == 1  # nobody of that town fits
    assert near.settings[0].fitting.quantiles[4] > 1
