"""Columns that are released as they are and could say who somebody is: found where they are, and only there."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from builders import rng

N = 60
FIRST = ("Anna", "Otto", "Ida", "Karl", "Mia", "Paul", "Emma", "Ben")
LAST = ("Meier", "Weber", "Kern", "Lee", "Roth", "Schulz", "Vogel", "Braun", "Wolf")


def inspect(values: Sequence[Any], *, name: str = "extra", role: str = "plain") -> list[tuple[str, bool]]:
    """Return what is remarked of a column that is released beside homes and ids."""
    chance = rng(2)
    people = pd.DataFrame(
        {
            "who": [f"case-{k:04d}" for k in chance.permutation(N)],
            "sex": chance.choice(["f", "m"], N),
            "x": chance.uniform(9, 11, N),
            "y": chance.uniform(49, 51, N),
            name: values,
        }
    )
    file = dq.microdata(people, ["sex"], coordinates=["x", "y"], ids="who", **{role: [name]})  # type: ignore[arg-type]
    return [
        (one.message.code, one.mistake)
        for one in dq.inspect(file).remarks
        if one.message.code.startswith("released_column")
    ]


def ids() -> list[str]:
    """Return the ids of the file that is looked at."""
    return [f"case-{k:04d}" for k in rng(2).permutation(N)]


def homes() -> np.ndarray:
    """Return the longitudes of the file."""
    chance = rng(2)
    chance.permutation(N), chance.choice(["f", "m"], N)
    return chance.uniform(9, 11, N)


WRONG: dict[str, Callable[[], Sequence[Any]]] = {
    "released_column_is_id": ids,
    "released_column_follows_id": lambda: [f"sample of {id}" for id in ids()],
    "released_column_of_emails": lambda: [f"{LAST[k % 9]}{k}@example.org" if k % 3 else None for k in range(N)],
    "released_column_of_phones": lambda: [f"+49 30 {n}" for n in rng(5).integers(10**6, 10**7, N)],
    "released_column_of_dates": lambda: [f"{1950 + k % 40}-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(N)],
    "released_column_of_coordinates": lambda: np.round(3.4e6 + 7e4 * homes(), 0).tolist(),
    "released_column_of_names": lambda: [f"{FIRST[k % 8]} {LAST[k % 9]}" for k in range(N)],
    "released_column_of_long_texts": lambda: [
        f"patient no. {k} told that it had begun in the spring" for k in range(N)
    ],
    "released_column_is_precise": lambda: rng(6).uniform(10000, 90000, N).round(2).tolist(),
    "released_column_nearly_unique": lambda: [int(k) for k in rng(7).permutation(9000)[:N]],
}
RIGHT: dict[str, Callable[[], Sequence[Any]]] = {
    "yes and no": lambda: rng(8).choice(["yes", "no"], N).tolist(),
    "ages": lambda: rng(8).integers(18, 80, N).tolist(),
    "years": lambda: rng(8).integers(1940, 2000, N).tolist(),
    "days of a few visits": lambda: [f"2024-03-{1 + k % 5:02d}" for k in range(N)],
    "weights in kg": lambda: rng(8).normal(75, 9, N).round(0).tolist(),
    "diagnoses": lambda: rng(8).choice(["J45.0", "E11.9", "I10", "M54.5"], N).tolist(),
    "nothing": lambda: [None] * N,
    "a long answer of few": lambda: rng(8).choice(["I agree with what was said in the last interview", "I do not"], N),
}


@pytest.mark.parametrize("code", WRONG)
@pytest.mark.parametrize("role", ["plain", "sensitive"])
def test_a_column_that_could_identify_is_seen(code: str, role: str) -> None:
    """By its own code, whichever role releases it; only the ids themselves can be nothing but a mistake."""
    assert inspect(WRONG[code](), role=role) == [(code, code == "released_column_is_id")]


@pytest.mark.parametrize("what", RIGHT)
def test_a_column_of_a_survey_is_not(what: str) -> None:
    assert inspect(RIGHT[what]()) == []


def test_numbers_of_rows_and_latitudes_are_seen_by_what_they_are() -> None:
    """A serial number in the order of the file leads back to it; a latitude needs only its name."""
    assert inspect([100 + 5 * k for k in range(N)]) == [("released_column_follows_id", False)]
    latitudes = [f"{value:.5f}" for value in rng(9).uniform(47, 55, N)]
    assert inspect(latitudes, name="lat") == [("released_column_of_coordinates", False)]
    assert inspect(latitudes)[0][0] != "released_column_of_coordinates"


def test_an_audit_does_not_begin_with_ids_among_the_released_columns() -> None:
    """It would call safe what names everybody; accepted by its name it is carried out."""
    people = dq.survey().iloc[:30].assign(copy=lambda table: table["id"])
    file = dq.microdata(people, ["sex"], coordinates=["lon", "lat"], ids="id", plain=["copy"])
    with pytest.raises(dq.InputError) as error:
        dq.audit(file, attacks=["labels"], repetitions=1)
    assert "released-column-is-id" in str(error.value)
