"""Honest files of many kinds are left in peace: a look that cries wolf is a look that nobody reads."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import squareform

import disclique as dq
from invented_towns import LABELS, distances, on_map, towns

N = 240
NAMES = ("Anna", "Berta", "Carla", "Dora", "Emil", "Fritz", "Gustav", "Hanna", "Ida", "Jakob", "Karl", "Lena", "Max")
FAMILIES = (
    "Abel",
    "Bauer",
    "Cordes",
    "Dietz",
    "Ernst",
    "Falk",
    "Götz",
    "Huber",
    "Ihle",
    "Jung",
    "Kern",
    "Lang",
    "Moll",
)


def people(wide: float, *, home: int = 1, n: int = N, decimals: int = 5) -> pd.DataFrame:
    """People around one place, in homes of up to so many; a child's label is not a parent's."""
    rng = np.random.default_rng(7)
    house = np.repeat(np.arange(n), rng.integers(1, home + 1, n))[:n]
    places = (np.array([9.5, 50.5]) + rng.normal(0, wide, (n, 2))).round(decimals)[house]
    return pd.DataFrame(
        {
            "id": [f"a{k}" for k in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice([*range(0, 90, 10)], n),
            "lon": places[:, 0],
            "lat": places[:, 1],
        }
    )


def mapped(table: pd.DataFrame, name: str = "file") -> dq.Microdata:
    return dq.microdata(table, ["sex", "age"], coordinates=["lon", "lat"], ids="id", name=name)


def german(table: pd.DataFrame) -> dq.Microdata:
    return dq.microdata(table, ["sex", "age_class"], coordinates=["lon", "lat"], ids="id")


def by_matrix(table: pd.DataFrame, values: np.ndarray, unit: str | None) -> dq.Microdata:
    return dq.microdata(table, ["sex", "age"], distances=(values + values.T) / 2, ids="id", unit=unit)


def lengths(table: pd.DataFrame) -> np.ndarray:
    rows = np.arange(len(table))
    return np.array(mapped(table).distances.block(rows, rows))


def minutes(table: pd.DataFrame) -> dq.Microdata:
    """Whole minutes by car, as a router gives them."""
    values = np.round(1.3 * lengths(table) + 3)
    np.fill_diagonal(values, 0)
    return by_matrix(table, values, "none")


def named() -> dq.Microdata:
    rng = np.random.default_rng(3)
    table = people(1.0).assign(name=rng.choice(NAMES, N), family=rng.choice(FAMILIES, N))
    return dq.microdata(table, ["sex", "age"], text=["name", "family"], ids="id")


def vectors() -> dq.Microdata:
    values = np.random.default_rng(3).normal(size=(N, 6))
    return dq.microdata(people(1.0), ["sex", "age"], coordinates=values, metric="euclidean", ids="id")


def in_plane() -> dq.Microdata:
    flat = np.random.default_rng(4).uniform(0, 30_000, (N, 2)).round(1)
    return dq.microdata(people(1.0), ["sex", "age"], coordinates=flat, metric="euclidean", ids="id", unit="m")


FILES: dict[str, Callable[[], dq.Microdata]] = {
    "the survey": lambda: dq.microdata(dq.survey(), ["sex", "age_class"], coordinates=["lon", "lat"], ids="id"),
    "germany, released": lambda: german(dq.germany(rng=np.random.default_rng(1)).target),
    "germany, known": lambda: german(dq.germany(rng=np.random.default_rng(1)).known),
    "seven towns": lambda: on_map(towns()),
    "seven towns, distances": lambda: dq.microdata(towns(), LABELS, distances=distances(towns()), ids="pid", unit="km"),
    "a village": lambda: mapped(people(0.01)),
    "a city": lambda: mapped(people(0.06)),
    "a city to ten metres": lambda: mapped(people(0.06, decimals=4)),
    "a crowded city": lambda: mapped(people(0.06, n=2000)),
    "a country": lambda: mapped(people(1.0)),
    "households of a village": lambda: mapped(people(0.01, home=4)),
    "households of a country": lambda: mapped(people(1.0, home=4)),
    "minutes by car": lambda: minutes(people(1.0)),
    "minutes in a city": lambda: minutes(people(0.2)),
    "distances to the metre": lambda: by_matrix(people(0.5), lengths(people(0.5)).round(3), "km"),
    "distances of a village": lambda: by_matrix(people(0.02), lengths(people(0.02)), "km"),
    "distances of households": lambda: by_matrix(people(0.5, home=3), lengths(people(0.5, home=3)), "km"),
    "names": named,
    "vectors": vectors,
    "a plane in metres": in_plane,
}


@pytest.mark.parametrize("kind", FILES)
def test_an_honest_file_has_no_remark(kind: str) -> None:
    """Neither a household nor a village, neither minutes nor names are mistakes."""
    assert [remark.message for remark in dq.inspect(FILES[kind]()).remarks] == []


def test_little_is_said_of_the_poets() -> None:
    """Towns that many came from, and a century before Christ that might be a code: one remark each, no mistake."""
    for data in dq.poets():
        found = dq.inspect(data)
        assert len(found.remarks) == 1
        assert found.mistakes == ()


@pytest.mark.parametrize("wide", [0.02, 0.06, 1.0])
def test_an_honest_known_file_has_no_remark(wide: float) -> None:
    """Half of the people and as many others, a few metres off, some who moved, one in fifty labels wrong."""
    rng = np.random.default_rng(9)
    table = people(wide, n=400)
    some = table.iloc[100:].copy()
    some[["lon", "lat"]] += rng.normal(0, 5e-5, (300, 2))
    some.loc[some.index[:4], ["lon", "lat"]] = table.loc[:3, ["lon", "lat"]].to_numpy()
    some["age"] = some["age"].where(rng.random(300) > 0.02, 40)
    found = dq.inspect(mapped(table.iloc[:250]), mapped(some, "known"), same_ids=True)
    assert [remark.message for remark in found.remarks] == []


def test_distances_that_are_not_published_are_no_mistake() -> None:
    """Two files of the same people, one of which has few distances, and somebody who has none."""
    table = people(0.5)
    values = lengths(table)
    values[values > 40] = np.nan
    values[0, 1:] = values[1:, 0] = np.nan
    some = dq.microdata(table, ["sex", "age"], distances=values, ids="id", unit="km", unpublished=True)
    found = dq.inspect(some, mapped(table, "known"), same_ids=True)
    assert [remark.message for remark in found.remarks] == []


def test_roads_beside_a_map_are_no_mistake() -> None:
    """It is farther by road, by a third, and not the same everywhere: that is said, and the audit may go on."""
    rng = np.random.default_rng(2)
    table = people(0.5)
    detour = squareform(rng.uniform(1.2, 1.45, N * (N - 1) // 2))
    roads = by_matrix(table, lengths(table) * (detour + np.eye(N)), "km")
    found = dq.inspect(mapped(table), roads, same_ids=True)
    assert found.mistakes == ()
    assert any(remark.message.code == "distances_of_other_length" for remark in found.remarks)
