"""The bundled synthetic survey: 500 invented people of Germany, always the same."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from disclique.synthetic.people import germany

SEED, PEOPLE = 500, 500


def survey() -> pd.DataFrame:
    """Draw the survey anew: id, sex, age class, an answer, longitude and latitude; nobody in it is real.

    >>> survey().columns.tolist()
    ['id', 'sex', 'age_class', 'asthma', 'lon', 'lat']
    """
    rng = np.random.default_rng(SEED)
    people = germany(n_target=PEOPLE, n_known=1, common=0, rng=rng).target
    answers = rng.choice(["none", "mild", "severe"], size=PEOPLE, p=[0.7, 0.2, 0.1])
    places = people[["lon", "lat"]].round(5)
    return pd.concat([people.drop(columns=["lon", "lat"]).assign(asthma=answers), places], axis=1)


def survey_file() -> Path:
    """Return the file of the survey as it comes with the package."""
    return cast(Path, resources.files("disclique.synthetic") / "tables" / "survey.csv")
