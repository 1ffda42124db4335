"""People in seven German towns, in a file with German column names, as a new user would bring it."""

import numpy as np
import pandas as pd

import disclique as dq

TOWNS = {
    "Köln": (6.96, 50.94),
    "Kassel": (9.48, 51.31),
    "Gera": (12.08, 50.88),
    "Ulm": (9.99, 48.40),
    "Celle": (10.08, 52.62),
    "Fulda": (9.68, 50.55),
    "Bamberg": (10.89, 49.89),
}
AGES = ["0-17", "18-29", "30-44", "45-59", "60-74", "75+"]
LABELS = ["geschlecht", "altersklasse"]
PLACES = ["laenge", "breite"]


def towns(n: int = 140, seed: int = 0, ids: str = "p{:04d}") -> pd.DataFrame:
    """People of seven towns, each some kilometres wide; rows and ids in random orders."""
    rng = np.random.default_rng(seed)
    middle = np.array(list(TOWNS.values()))[rng.integers(len(TOWNS), size=n)]
    places = middle + rng.normal(0, 0.03, (n, 2)) * [1.5, 1]
    return pd.DataFrame(
        {
            "pid": [ids.format(k + 1) for k in rng.permutation(n)],
            "geschlecht": rng.choice(["m", "w"], n),
            "altersklasse": rng.choice(AGES, n, p=[0.17, 0.14, 0.19, 0.2, 0.18, 0.12]),
            "laenge": places[:, 0].round(6),
            "breite": places[:, 1].round(6),
        }
    )


def on_map(table: pd.DataFrame, name: str = "personen.csv") -> dq.Microdata:
    """The people with their places."""
    return dq.microdata(table, LABELS, coordinates=PLACES, ids="pid", name=name)


def distances(table: pd.DataFrame) -> pd.DataFrame:
    """Their distances in kilometres, named by their ids."""
    found = dq.Points(table[PLACES].to_numpy()).block(np.arange(len(table)), np.arange(len(table)))
    return pd.DataFrame((found + found.T) / 2, index=list(table["pid"]), columns=list(table["pid"]))
