"""What columns of distances to places give away: the table and the picture of docs/howto/places.md.

An invented city of 100,000 dwellings, of which 1,000 people are released with sex and 11 age classes, and with the
distance to the nearest of its hospitals, stations, pharmacies, schools and to its centre. Every row of the table is a
setting that is audited: for how many a snooper who knows that they took part, and where they live, names the right
record, and for how many records only one dwelling of the city fits.

    python benchmarks/places.py               # the table into the page, some minutes
    python benchmarks/places.py --picture     # docs/img/places-rings.png
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import disclique as dq

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "howto" / "places.md"
PICTURE = HERE.parent / "docs" / "img" / "places-rings.png"
BEGIN, END = "<!-- places: begin -->\n", "<!-- places: end -->"
FACILITIES = {"hospital": 6, "station": 12, "pharmacy": 60, "centre": 1, "school": 90}
KM_PER_DEGREE = 6371 * np.pi / 180
MIDDLE = (9.0, 50.0)


@dataclass(frozen=True)
class City:
    """Dwellings and facilities, in degrees."""

    dwellings: np.ndarray
    facilities: dict[str, np.ndarray]


def to_degrees(km: np.ndarray) -> np.ndarray:
    """Return offsets in km from the middle of the city as longitude and latitude."""
    lat = MIDDLE[1] + km[:, 1] / KM_PER_DEGREE
    return np.column_stack([MIDDLE[0] + km[:, 0] / KM_PER_DEGREE / np.cos(np.radians(MIDDLE[1])), lat])


def build_city(dwellings: int = 100_000, seed: int = 1) -> City:
    """Invent a city about 20 km across: quarters that are denser towards the middle, and streets within them."""
    rng = np.random.default_rng(seed)
    quarters = rng.normal(scale=4.0, size=(400, 2))
    weight = rng.gamma(1.0, size=400) * np.exp(-((quarters**2).sum(axis=1)) / 60)
    of = rng.choice(400, dwellings, p=weight / weight.sum())
    homes = quarters[of] + rng.normal(scale=0.35, size=(dwellings, 2))
    places = {
        name: homes[rng.choice(dwellings, count, replace=False)] + rng.normal(scale=0.05, size=(count, 2))
        for name, count in FACILITIES.items()
        if name != "centre"
    }
    places["centre"] = np.zeros((1, 2))
    return City(to_degrees(homes), {name: to_degrees(places[name]) for name in FACILITIES})


def release_people(city: City, count: int = 1000, seed: int = 2) -> pd.DataFrame:
    """Draw the people who took part, with sex and age class."""
    rng = np.random.default_rng(seed)
    homes = city.dwellings[rng.choice(len(city.dwellings), count, replace=False)]
    ages = np.array([5, 6, 7, 9, 10, 11, 13, 13, 11, 9, 6]) / 100
    labels = {"sex": rng.choice(["f", "m"], count), "age": rng.choice(11, count, p=ages)}
    return pd.DataFrame({"id": range(count), **labels, "lon": homes[:, 0], "lat": homes[:, 1]})


ROWS = [  # columns that are released, and what is done to them
    (("hospital",), "round:100m"),
    (("hospital", "station"), "round:100m"),
    (("hospital", "station", "pharmacy"), "round:100m"),
    (("hospital", "station", "pharmacy"), "round:500m"),
    (("hospital", "station", "pharmacy"), "round:1km"),
    (("hospital", "station", "pharmacy"), "classes:1km,2km,5km"),
    (tuple(FACILITIES), "round:100m"),
    (tuple(FACILITIES), "round:1km"),
    (tuple(FACILITIES), "classes:1km,2km,5km"),
]


def write_setting(columns: tuple[str, ...], way: str, *, labels: bool) -> str:
    """Return the setting in which some columns are released."""
    parts = [f"km_{name}={way}" if name in columns else f"drop:km_{name}" for name in FACILITIES]
    return " | ".join(["withheld", *parts, *(() if labels else ("drop:sex", "drop:age"))])


def measure(city: City, people: pd.DataFrame) -> list[str]:
    """Audit every row, and return the lines of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people.to_csv(folder / "people.csv", index=False)
        pd.DataFrame(city.dwellings, columns=["lon", "lat"]).to_csv(folder / "city.csv", index=False)
        near = []
        for kind, places in city.facilities.items():
            pd.DataFrame(places, columns=["lon", "lat"]).to_csv(folder / f"{kind}.csv", index=False)
            near.append(f"km_{kind}={folder / kind}.csv")
        file = dq.read(folder / "people.csv", labels=["sex", "age"], id="id", coordinates="lon,lat", near=near)
        lived = dq.read_population(folder / "city.csv", coordinates="lon,lat")
        lines = []
        for columns, way in ROWS:
            both = [write_setting(columns, way, labels=labels) for labels in (True, False)]
            asked = {"repetitions": 1, "person_trials": 10, "sensitivity": False, "attacks": ["labels"]}
            found = dq.audit(file, both, population=lived, **asked)
            with_labels, without = found.settings
            alone = without.fitting.alone / without.fitting.records
            said = f"{with_labels.risk.value:.0%} / {without.risk.value:.0%}"
            lines.append(f"| {', '.join(columns)} | `{way}` | {said} | {alone:.0%} |")
            print(lines[-1], flush=True)
    return lines


def write_table(lines: list[str]) -> None:
    """Put the table into the page."""
    head = "| released: distance to the nearest | as | right record (with labels / without) | only one dwelling fits |"
    text = "\n".join(["", head, "|---|---|---|---|", *lines, "", ""])
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{text}{END}{rest.split(END)[1]}", encoding="utf-8")


def draw_rings(city: City, people: pd.DataFrame) -> None:
    """Draw the dwellings that fit one record as columns are added, each rounded to 100 m."""
    import matplotlib.pyplot as plt

    kinds = ("hospital", "station", "pharmacy")
    ways = {}
    for kind in kinds:
        near = dq.microdata(
            pd.DataFrame(np.vstack([people[["lon", "lat"]].to_numpy(), city.dwellings]), columns=["lon", "lat"]),
            coordinates=["lon", "lat"],
            near=_write_places(city.facilities[kind], kind),
        )
        ways[kind] = np.floor(near.numbers.columns[0].values / 0.1 + 0.5)
    counts = {row: _fit(ways, kinds, row, len(people)).sum() for row in range(len(people))}
    # somebody whom three columns leave alone, and who lies well inside
    chosen = next(row for row, count in counts.items() if count == 1 and _is_inside(people.iloc[row]))
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharex=True, sharey=True)
    lon, lat = city.dwellings.T
    for number, ax in enumerate(axes, 1):
        fits = _fit(ways, kinds[:number], chosen, len(people))
        ax.scatter(lon, lat, s=0.3, color="#d5dbe1", linewidths=0, rasterized=True)
        ax.scatter(lon[fits], lat[fits], s=9, color="#b3261e", linewidths=0)
        ax.plot(*city.facilities[kinds[number - 1]].T, "x", color="#1f4e79", markersize=6)
        ax.set_title(
            f"{', '.join(kinds[:number])}: {fits.sum():,} dwelling{'s' if fits.sum() != 1 else ''}", fontsize=11
        )
        ax.set_aspect(1 / np.cos(np.radians(MIDDLE[1])))
        ax.axis("off")
    span = 11 / KM_PER_DEGREE
    axes[0].set_ylim(MIDDLE[1] - span, MIDDLE[1] + span)
    axes[0].set_xlim(MIDDLE[0] - span / 0.64, MIDDLE[0] + span / 0.64)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


def _is_inside(person: pd.Series) -> bool:
    away = np.hypot((person["lon"] - MIDDLE[0]) * 0.64, person["lat"] - MIDDLE[1]) * KM_PER_DEGREE
    return 2 < away < 6


def _fit(ways: dict[str, np.ndarray], kinds: tuple[str, ...], row: int, people: int) -> np.ndarray:
    return np.logical_and.reduce([ways[kind][people:] == ways[kind][row] for kind in kinds])


def _write_places(places: np.ndarray, kind: str) -> str:
    path = Path(tempfile.gettempdir()) / f"{kind}.csv"
    pd.DataFrame(places, columns=["lon", "lat"]).to_csv(path, index=False)
    return f"km={path}"


def main() -> None:
    """Make the table or the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", action="store_true")
    asked = parser.parse_args()
    city = build_city()
    people = release_people(city)
    if asked.picture:
        draw_rings(city, people)
    else:
        write_table(measure(city, people))


if __name__ == "__main__":
    main()
