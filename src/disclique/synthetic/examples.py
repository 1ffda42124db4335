"""The paper's two examples as microdata, and the survey of 500 invented people, from files that the package ships."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from disclique.model import Microdata
from disclique.records.reading import read
from disclique.synthetic.people import germany

POETS_FILES = ("poets_target.csv", "poets_target_distances.csv", "poets_known.csv", "poets_known_distances.csv")
CITIES_FILES = ("cities.csv",)


def shipped_files(example: str) -> tuple[str, ...]:
    """Return the names of the data files of an example."""
    return {"poets": POETS_FILES, "cities": CITIES_FILES}[example]


def shipped(name: str) -> Traversable:
    """Return a data file of the package."""
    return files("disclique.synthetic") / "tables" / name


def poets() -> tuple[Microdata, Microdata]:
    """Return target and known file of the paper's example 8; the column ``name`` is the truth.

    >>> target, known = poets()
    >>> len(target), len(known)
    (10, 10)
    """
    return _poets("target"), _poets("known")


def _poets(side: str) -> Microdata:
    with as_file(shipped(f"poets_{side}.csv")) as table, as_file(shipped(f"poets_{side}_distances.csv")) as distances:
        return replace(read(table, distances=distances, labels=["language", "cob"]), name=f"poets ({side})")


def cities() -> Microdata:
    """Return four people and their birth places, the paper's example 2.

    >>> cities().table["name"].tolist()
    ['Alice', 'Bob', 'Eve', 'Walter']
    """
    with as_file(shipped("cities.csv")) as table:
        return replace(read(table, labels=["sex", "yob"], coordinates="lon,lat"), name="cities")


def survey() -> pd.DataFrame:
    """Draw the survey anew: id, sex, age class, an answer, longitude and latitude; nobody in it is real.

    >>> survey().columns.tolist()
    ['id', 'sex', 'age_class', 'asthma', 'lon', 'lat']
    """
    rng = np.random.default_rng(500)
    people = germany(n_target=500, n_known=1, common=0, rng=rng).target
    answers = rng.choice(["none", "mild", "severe"], size=500, p=[0.7, 0.2, 0.1])
    places = people[["lon", "lat"]].round(5)
    return pd.concat([people.drop(columns=["lon", "lat"]).assign(asthma=answers), places], axis=1)


def survey_file() -> Path:
    """Return the file of the survey as it comes with the package."""
    return cast(Path, shipped("survey.csv"))
