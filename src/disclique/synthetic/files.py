"""Files as people have them, of invented people, to try commands on: one for each kind of release.

Each is drawn from a fixed seed, the same on every machine: patients with distances to places, names with their
encodings, homes with travel times, texts with their embeddings.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from importlib import resources

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay, cKDTree

from disclique.errors import InputError
from disclique.masks import Bloom
from disclique.spaces.strings import texts_of
from disclique.synthetic.people import germany
from disclique.values import FloatArray

Files = dict[str, pd.DataFrame | np.ndarray | str]

_TOWNS = ("Kassel", "Fulda", "Marburg", "Gießen", "Hanau", "Wetzlar", "Baunatal", "Korbach", "Eschwege", "Hofgeismar")


def example(name: str) -> Files:
    """Return the files of an example of invented people, by the names under which they are written.

    ``hospital`` has patients with distances to places, ``names`` a list of names with their encodings, ``travel`` homes
    with minutes between them, and ``embeddings`` texts as vectors.

    >>> list(example("travel"))
    ['homes.csv', 'minutes.csv']
    """
    if name not in _DRAWN:
        raise InputError("unknown_example", example=name, choices=list(_DRAWN))
    return _DRAWN[name]()


def example_names() -> tuple[str, ...]:
    """Return the examples that are files of invented people.

    >>> example_names()
    ('hospital', 'names', 'travel', 'embeddings')
    """
    return tuple(_DRAWN)


def _town(count: int, rng: np.random.Generator) -> FloatArray:
    """Return homes of a town and its surroundings in km: four in ten near the centre, others in villages around."""
    centres = np.vstack([np.zeros((1, 2)), rng.uniform(-18, 18, size=(11, 2))])
    place = rng.choice(len(centres), size=count, p=np.array([0.4, *np.full(11, 0.6 / 11)]))
    return centres[place] + rng.normal(size=(count, 2)) * np.where(place == 0, 2.5, 0.9)[:, None]


def _people(count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return ids and labels."""
    drawn = germany(n_target=count, n_known=1, common=0, rng=rng).target
    return drawn[["id", "sex", "age_class"]]


def _hospital() -> Files:
    """Draw patients with distances to places, addresses deleted, as geocoding services hand them out."""
    rng = np.random.default_rng(2401)
    homes = _town(600, rng)
    people = _people(600, rng)
    for name, places in (("hospital", 3), ("pharmacy", 14), ("school", 9)):
        there = _town(places, rng)
        people[f"m_{name}"] = (1000 * cKDTree(there).query(homes)[0]).round().astype(int)
    people["diagnosis"] = rng.choice(["asthma", "diabetes", "hypertension", "none"], size=600, p=[0.1, 0.1, 0.3, 0.5])
    return {"patients.csv": people}


def _names() -> Files:
    """Draw a list of names with birthdays, and their encodings under a secret key."""
    rng = np.random.default_rng(2402)
    count = 300
    listed = pd.read_csv(str(resources.files("disclique.synthetic") / "tables" / "german_names.csv"))
    first, last = (listed["name"][listed["kind"] == kind].tolist() for kind in ("first", "last"))
    rare = 1 / np.arange(1, len(last) + 1) ** 0.7  # names as unequal as in a directory
    people = pd.DataFrame(
        {
            "id": [f"P{number:04d}" for number in range(1, count + 1)],
            "first": rng.choice(first, size=count),
            "last": rng.choice(last, size=count, p=rare / rare.sum()),
            "born": (np.datetime64("1930-01-01") + rng.integers(0, 75 * 365, size=count)).astype(str),
            "town": rng.choice(_TOWNS, size=count),
        }
    )
    made = Bloom(length=1024, bits=10).apply(texts_of(people, ["first", "last", "born"], name="people"), rng)
    clks = [base64.b64encode(row.tobytes()).decode("ascii") for row in made.bits]
    return {"people.csv": people, "clks.json": json.dumps({"clks": clks})}


def _travel() -> Files:
    """Draw homes along a net of roads, and the minutes by car between any two; ways there and back differ."""
    rng = np.random.default_rng(2403)
    crossings = np.vstack([_town(240, rng), rng.uniform(-20, 20, size=(60, 2))])
    sides = Delaunay(crossings).simplices
    roads = np.unique(np.sort(np.vstack([sides[:, [0, 1]], sides[:, [1, 2]], sides[:, [0, 2]]]), axis=1), axis=0)
    roads = roads[rng.random(len(roads)) < 0.8]
    length = np.linalg.norm(crossings[roads[:, 0]] - crossings[roads[:, 1]], axis=1)
    speed = rng.choice([30.0, 50.0, 80.0], size=len(roads), p=[0.4, 0.4, 0.2])
    minutes = np.concatenate([60 * length / speed + 0.2, 60 * length / speed + rng.uniform(0.2, 1.0, len(roads))])
    both = np.vstack([roads, roads[:, ::-1]])
    net = coo_matrix((minutes, (both[:, 0], both[:, 1])), shape=(len(crossings), len(crossings)))
    time = dijkstra(net.tocsr())
    whole = np.flatnonzero(np.isfinite(time[0]) & np.isfinite(time[:, 0]))
    homes = rng.choice(whole, size=150, replace=False)
    people = _people(150, rng).assign(asthma=rng.choice(["no", "yes"], size=150, p=[0.85, 0.15]))
    table = pd.DataFrame(time[np.ix_(homes, homes)].round(1), columns=list(people["id"]))
    table.insert(0, "id", list(people["id"]))
    return {"homes.csv": people, "minutes.csv": table}


def _embeddings() -> Files:
    """Draw texts of patients as vectors, as models of language make them: topics, and what is a person's own."""
    rng = np.random.default_rng(2404)
    topics = rng.normal(size=(12, 32))
    of = rng.integers(12, size=300)
    vectors = topics[of] + 0.5 * rng.normal(size=(300, 32))
    people = _people(300, rng).assign(ward=rng.choice(["A", "B", "C", "D"], size=300))
    return {"texts.csv": people, "embeddings.npy": vectors.round(4)}


_DRAWN: dict[str, Callable[[], Files]] = {
    "hospital": _hospital,
    "names": _names,
    "travel": _travel,
    "embeddings": _embeddings,
}
