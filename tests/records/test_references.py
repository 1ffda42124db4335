"""Distances to public strings and vectors are numbers: what they give away is counted by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq

ASKED = {"repetitions": 2, "person_trials": 10, "sensitivity": False, "attacks": ["numbers"]}
FIRST = [
    "Anna",
    "Hanna",
    "Johann",
    "Johanna",
    "Peter",
    "Petra",
    "Maria",
    "Marie",
    "Karl",
    "Karla",
    "Ulrich",
    "Ulrike",
    "Emil",
    "Emilia",
]
LAST = ["Meier", "Mayer", "Schmidt", "Schmitt", "Becker", "Bäcker", "Wolf", "Wolff"]


def grams(name: str) -> set[str]:
    return {name[at : at + 2] for at in range(len(name) - 1)}


def dice(one: str, other: str) -> float:
    mine, theirs = grams(one.casefold()), grams(other.casefold())
    return 1 - 2 * len(mine & theirs) / (len(mine) + len(theirs))


def test_distances_to_reference_strings(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    names = [f"{first} {last}" for first in FIRST for last in LAST]
    people = pd.DataFrame({"id": range(80), "name": rng.choice(names, 80, replace=False)})
    known = pd.DataFrame({"name": ["Johanna Schmidt", "Peter Wolf", "Emilia Becker"]})
    known.to_csv(tmp_path / "public.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    file = dq.read(tmp_path / "people.csv", id="id", text="name", references=[f"ref={tmp_path / 'public.csv'}"])
    assert file.numbers.names == ("ref_1", "ref_2", "ref_3")
    by_hand = np.array([[dice(name, other) for other in known["name"]] for name in people["name"]])
    found = np.column_stack([column.values for column in file.numbers.columns])
    assert found == pytest.approx(by_hand)
    for width in (0.05, 0.2):
        rounded = list(map(tuple, np.floor(np.round(by_hand / width + 0.5, 9))))
        many = Counter(rounded)
        risk = dq.audit(file, f"withheld | ref_*=round:{width}", **ASKED).settings[0].risk
        assert risk.value == pytest.approx(np.mean([1 / many[one] for one in rounded]), abs=0.01)


def test_distances_to_reference_vectors(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    vectors, public = rng.normal(size=(50, 8)), rng.normal(size=(6, 8))
    np.save(tmp_path / "public.npy", public)
    table = pd.DataFrame({"id": range(50)})
    file = dq.microdata(
        table, coordinates=vectors, metric="euclidean", ids="id", references=[f"ref={tmp_path / 'public.npy'}"]
    )
    found = np.column_stack([column.values for column in file.numbers.columns])
    assert found == pytest.approx(np.linalg.norm(vectors[:, None] - public, axis=2))
    exact = dq.audit(file, "withheld", **ASKED).settings[0].risk
    assert exact.value == 1
    half = dq.audit(file, "withheld | ref_*=gaussian:20", overlap=0.5, **ASKED).settings[0].risk
    assert half.value < 0.5


def test_what_are_no_references(tmp_path: Path) -> None:
    table = pd.DataFrame({"id": range(3), "x": [1.0, 2.0, 3.0], "y": [0.0, 1.0, 2.0]})
    np.save(tmp_path / "public.npy", np.zeros((4, 3)))
    given = {"coordinates": ["x", "y"], "metric": "euclidean", "ids": "id"}
    with pytest.raises(dq.InputError, match="2 numbers"):
        dq.microdata(table, references=[f"ref={tmp_path / 'public.npy'}"], **given)
    with pytest.raises(dq.InputError, match="no such file"):
        dq.microdata(table, references=["ref=nowhere.npy"], **given)
    with pytest.raises(dq.InputError, match="NAME=FILE"):
        dq.microdata(table, references=["nowhere.npy"], **given)
