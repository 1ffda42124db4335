"""Numbers in every attack: each runs on a map, a matrix and vectors, and finds no fewer people than without numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.masks import parse_mask
from disclique.masks.numbers import NumberRecoding
from disclique.model import Microdata
from disclique.numbers import Numbers
from disclique.records.tables import microdata

NUMBERS = {"km3": "km", "km6": "km", "km12": "km"}
ATTACKS = ("register", "profiles", "equal", "bend", "extend", "clique", "quasi", "isomap")
PEOPLE, STRANGERS = 80, 20


def make_town() -> pd.DataFrame:
    """People of a square town with their distances to the nearest of 3, 6 and 12 places."""
    rng = np.random.default_rng(4)
    homes = rng.uniform(0, 20, (PEOPLE + STRANGERS, 2))
    table = pd.DataFrame({"id": range(len(homes)), "sex": rng.choice(["f", "m"], len(homes))})
    table["x"], table["y"] = homes.T
    for k in (3, 6, 12):
        table[f"km{k}"] = np.linalg.norm(homes[:, None] - rng.uniform(0, 20, (k, 2))[None], axis=2).min(axis=1)
    return table


def make_space(kind: str, homes: np.ndarray, *, masked: bool) -> dq.Points | dq.Matrix:
    """The places, or what only distances are known of, with noise where they are released."""
    rng = np.random.default_rng(9)
    if kind == "map":
        points = dq.Points(homes, "euclidean", unit="km")
        return parse_mask("gaussian:sigma=0.3km").apply(points, rng) if masked else points  # type: ignore[return-value]
    noise = rng.normal(0, 0.05, (len(homes), len(homes) if kind == "matrix" else 6)) * masked
    if kind == "matrix":
        apart = np.triu(np.linalg.norm(homes[:, None] - homes[None], axis=2) + noise, 1)
        return dq.Matrix(np.abs(apart + apart.T))
    spread = homes @ np.random.default_rng(1).normal(0, 1, (2, 6))
    return dq.Points(spread + 0.3 * np.sin(2 * spread) + noise, "euclidean")


def make_files(kind: str, way: str | None, error: float = 0.0) -> tuple[Microdata, Microdata]:
    """A release and a known file that share three quarters of their people, with numbers unless there is no way."""
    table = make_town()
    files = []
    for part, masked in ((table[:PEOPLE], True), (table[STRANGERS:], False)):
        space = make_space(kind, part[["x", "y"]].to_numpy(), masked=masked)
        files.append(microdata(part, ["sex"], distances=space, ids="id", numbers=NUMBERS if way else None))
    target, known = files
    if way:
        target = NumberRecoding((f"km*={way}",)).apply(target, np.random.default_rng(3))
        known = replace(known, numbers=Numbers(tuple(replace(one, error=error) for one in known.numbers.columns)))
    return target, known


def count_found(by: str, kind: str, files: tuple[Microdata, Microdata]) -> int | None:
    """How many people an attack finds; None where it does not apply to such data."""
    told = dq.Knowledge(noise=None, matrix_noise=None, bold=True)
    near, search = dq.Within(0.8 if kind == "map" else 0.15), dq.Search(budget=dq.Budget(work=5), threads=1)
    try:
        found = dq.attack(*files, by=by, truth="id", agreement=near, knowledge=told, search=search)
    except dq.InputError as why:
        if why.message.code != "registration_in_plane_only":
            raise
        return None
    assert found.risk is not None
    return found.risk.tp


@pytest.mark.parametrize("kind", ["map", "matrix", "vectors"])
@pytest.mark.parametrize("by", ATTACKS)
def test_no_attack_finds_fewer_with_numbers(by: str, kind: str) -> None:
    plain = count_found(by, kind, make_files(kind, None))
    ways = (("gaussian:200m", 0.0), ("round:200m", 0.0), ("round:500m", 0.1))
    dear = kind == "map" and by in ("profiles", "register")
    for way, error in ways[:1] if dear else ways:
        found = count_found(by, kind, make_files(kind, way, error))
        assert (found is None) == (plain is None)
        if found is not None and plain is not None:
            assert found >= plain - 2  # of 60; one in a hundred is left out of cliques by its numbers


@pytest.mark.parametrize(
    "written",
    [
        ("<1", "1-5", "5+"),
        ("[,1) km", "[1,5) km", "[5,) km"),
        ("<1000 m", "1000-5000 m", ">=5000 m"),
        ("[,1)", "[1,5)", "[5,)"),
    ],
)
def test_classes_are_read_as_people_write_them(written: tuple[str, ...]) -> None:
    """A released table with texts in the place of numbers: the same people fit as by the numbers themselves."""
    exact = np.array([0.2, 1.0, 4.99, 5.0, 9.0])
    table = pd.DataFrame({"id": range(5), "way": [written[k] for k in (0, 1, 1, 2, 2)]})
    target = microdata(table, [], ids="id", numbers={"way": "km"})
    known = microdata(pd.DataFrame({"id": range(5), "way": exact}), [], ids="id", numbers={"way": "km"})
    fits = dq.LabelRule().candidates(target, known).fitting
    assert fits.tolist() == [1, 2, 2, 2, 2]


def test_rounding_that_nobody_said_is_seen() -> None:
    """Taken as exact, rounded numbers fit nobody: a release that names everybody would look safe."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"id": range(120), "one": rng.gamma(2, 3, 120), "other": rng.gamma(2, 3, 120)})
    asked = {"one": "km", "other": "km"}
    known = dq.microdata(table, ids="id", numbers=asked)
    mixed = table.sample(frac=1, random_state=2).reset_index(drop=True)
    rounded = mixed.assign(**{name: (mixed[name] / 0.1).round() * 0.1 for name in asked})
    target = dq.microdata(rounded.drop(columns="id"), numbers=asked)
    told = dq.attack(target, known, by="numbers", truth=list(mixed["id"]), release="none | *=round:100m")
    seen = dq.attack(target, known, by="numbers", truth=list(mixed["id"]))
    assert told.risk is not None
    assert seen.risk is not None
    assert seen.risk.tp == told.risk.tp > 110
    assert [note.code for note in seen.notes].count("numbers_look_rounded") == 2
    exact = dq.attack(known, known, by="numbers", truth=list(table["id"]))
    assert not [note for note in exact.notes if note.code == "numbers_look_rounded"]
