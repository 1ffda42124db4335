"""Who lives in which household, as CODI writes it: encodings of households become encodings of the people there.

Either each household has the positions of its people among the encodings of people, counted from 0
(``HOUSEHOLD_POSITION,PAT_CLK_POSITIONS``), or each person has the position of their household
(``household_position,pid``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.values import canonical

HOUSEHOLD, POSITIONS, PERSON = "household_position", "pat_clk_positions", "pid"


def _lower(table: pd.DataFrame) -> list[str]:
    return [str(column).strip().lower() for column in table.columns]


def is_mapping(table: pd.DataFrame) -> bool:
    """Say whether a table tells who lives in which household."""
    names = _lower(table)
    return HOUSEHOLD in names and (POSITIONS in names or PERSON in names)


def people_of(table: pd.DataFrame, name: str, ids: Sequence[Hashable] | None = None) -> list[int | None]:
    """Return the household of each person, counted from 0; None for somebody of whom nothing is said.

    ``ids`` are those of the people in their order, which a table with ``pid`` needs.
    """
    table = table.set_axis(_lower(table), axis=1)
    homes = [_position(value, name, row) for row, value in enumerate(table[HOUSEHOLD])]
    pairs: list[tuple[int, int, int]] = []  # person, household, row
    if POSITIONS in table.columns:
        for row, (home, given) in enumerate(zip(homes, table[POSITIONS], strict=True)):
            parts = [] if pd.isna(given) else str(given).split(",")
            pairs += [(_position(part, name, row), home, row) for part in parts]
    elif ids is None:
        raise InputError("households_need_ids", path=name)
    else:
        where = {person: row for row, person in enumerate(ids)}
        for row, (home, given) in enumerate(zip(homes, table[PERSON], strict=True)):
            person = canonical(given)
            if person not in where:
                raise InputError("household_of_nobody", path=name, row=row + 1, person=str(given))
            pairs.append((where[person], home, row))
    found: list[int | None] = [None] * (1 + max((one for one, _, _ in pairs), default=-1) if ids is None else len(ids))
    for person, home, row in pairs:
        if person >= len(found):
            raise InputError("household_of_nobody", path=name, row=row + 1, person=str(person))
        if found[person] not in (None, home):
            raise InputError("person_in_two_households", path=name, row=row + 1, person=str(person))
        found[person] = home
    return found


def _position(value: Any, name: str, row: int) -> int:
    text = str(value).strip()
    if not text.isdecimal():
        raise InputError("household_not_a_position", path=name, row=row + 1, value=text)
    return int(text)


def spread(frame: pd.DataFrame, people: Sequence[int | None], name: str) -> pd.DataFrame:
    """Return a row for each person with the encodings of their household; empty where there is none."""
    last = max((home for home in people if home is not None), default=-1)
    if last >= len(frame):
        raise InputError("household_beyond_the_last", path=name, position=last, households=len(frame))
    rows = np.array([-1 if home is None else home for home in people], dtype=np.int64)
    found = frame.iloc[np.maximum(rows, 0)].reset_index(drop=True).astype(object)
    found[rows < 0] = None
    found.attrs = dict(frame.attrs)
    return found
