"""Columns that are released as they are: does one of them say who somebody is?

An audit weighs what labels, numbers and distances give away. A plain or sensitive column is not compared with anything,
so that a name, an address or a serial number in it would make every figure worth nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.records.checks.values import Remark
from disclique.records.formats import as_text
from disclique.records.formats.projections import is_latitude, is_longitude
from disclique.values import FloatArray

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]{2,}")
_PHONE = re.compile(r"(\+|00|0)[\d ()/.-]{6,}|\d{2,5}[ /-][\d ()/-]{5,}")
_DAY_OF_YEAR = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([ T].*)?")
_NUMBER = re.compile(r"[+-]?\d+([.]\d+)?([eE][+-]?\d+)?")
_NOT_IN_A_NUMBER = re.compile(r"\D")


@dataclass(frozen=True)
class Suspicion:
    """When the values of a column look like those of an identifier."""

    most: float = 0.5  # share of the values that have a form, from which on the column is of it
    unique: float = 0.9  # share of different values, from which on a column tells nearly everybody apart
    named: float = 0.5  # the same for texts: names repeat
    fewest: int = 20  # records below which everything is nearly unique
    few: int = 5  # records below which nothing is said
    days: int = 10  # different dates, from which on they are not those of a few visits
    phone_digits: int = 7
    long: int = 40  # letters of a text in which anything may stand
    decimals: int = 3  # of degrees: 100 m on the ground
    digits: int = 6  # of a number that nobody shares by chance
    alike: float = 0.999  # rank correlation with a coordinate


SUSPICION = Suspicion()


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as texts, without what is missing, and as numbers where all of them are."""

    name: str
    texts: tuple[str, ...]
    rows: tuple[int, ...]

    @property
    def distinct(self) -> float:
        """The share of different values."""
        return len(set(self.texts)) / max(len(self.texts), 1)

    @property
    def numbers(self) -> FloatArray | None:
        """The values as numbers, None if one is none."""
        return np.array(self.texts, dtype=float) if all(map(_NUMBER.fullmatch, self.texts)) else None

    def share(self, fits: Callable[[str], object]) -> float:
        """Return the share of values that fit."""
        return sum(bool(fits(text)) for text in self.texts) / max(len(self.texts), 1)


def inspect_released(data: Microdata, by: Suspicion = SUSPICION) -> list[Remark]:
    """Look at the columns that are released as they are for what could say who somebody is."""
    found = []
    for name in data.roles.released:
        if name == data.roles.weight:
            continue
        column = _read(name, data.table[name].tolist())
        if len(column.texts) >= by.few and (code := _suspect(column, data, by)) is not None:
            about = Message(code, file=data.name, column=name, share=column.distinct)
            found.append(Remark(about, mistake=code == IS_ID))
    return found


IS_ID = mark("released_column_is_id")


def _read(name: str, values: Sequence[object]) -> _Column:
    there = [(row, as_text(value)) for row, value in enumerate(values) if not pd.isna(value)]  # type: ignore[call-overload]
    kept = [(row, str(text).strip()) for row, text in there if isinstance(text, str) and text.strip()]
    return _Column(name, tuple(text for _, text in kept), tuple(row for row, _ in kept))


def _suspect(column: _Column, data: Microdata, by: Suspicion) -> str | None:
    """Return the code of what a column looks like, the worst first; None for nothing."""
    ids = [str(as_text(data.ids[row])) for row in column.rows]
    if data.roles.id is not None and list(column.texts) == ids:
        return IS_ID
    if column.distinct == 1 and _follows(column, ids):
        return mark("released_column_follows_id")
    if column.share(_EMAIL.fullmatch) >= by.most:
        return mark("released_column_of_emails")
    if _is_coordinate(column, data, by):
        return mark("released_column_of_coordinates")
    if column.share(_DAY_OF_YEAR.fullmatch) >= by.most:
        return mark("released_column_of_dates") if len(set(column.texts)) >= by.days else None
    if column.share(lambda text: _is_phone(text, by)) >= by.most and len(set(column.texts)) >= by.days:
        return mark("released_column_of_phones")
    return _suspect_values(column, by)


def _suspect_values(column: _Column, by: Suspicion) -> str | None:
    """Say whether values tell nearly everybody apart: numbers by their digits, texts by their length."""
    if len(column.texts) < by.fewest:
        return None
    if column.numbers is not None:
        if column.distinct < by.unique:
            return None
        digits = np.median([len(_NOT_IN_A_NUMBER.sub("", text).strip("0")) for text in column.texts])
        return mark("released_column_is_precise") if digits >= by.digits else mark("released_column_nearly_unique")
    if np.median([len(text) for text in column.texts]) >= by.long and len(set(column.texts)) >= by.days:
        return mark("released_column_of_long_texts")
    return mark("released_column_of_names") if column.distinct >= by.named else None


def _is_phone(text: str, by: Suspicion) -> bool:
    return _PHONE.fullmatch(text) is not None and len(_NOT_IN_A_NUMBER.sub("", text)) >= by.phone_digits


def _follows(column: _Column, ids: list[str]) -> bool:
    """Say whether a column leads back to the ids: it holds them, is in their order, or numbers the rows of the file."""
    if all(len(id) > 1 and id in text for id, text in zip(ids, column.texts, strict=True)):
        return True
    numbers = column.numbers
    if numbers is None:
        return False
    steps = np.diff(numbers)
    if len(steps) and steps[0] != 0 and np.array_equal(steps, np.diff(column.rows) * steps[0]):
        return True
    if not all(map(_NUMBER.fullmatch, ids)):
        return False
    own = np.array(ids, dtype=float)
    slope = np.diff(numbers) / np.where(np.diff(own) == 0, np.nan, np.diff(own))
    return bool(np.isfinite(slope).all() and np.allclose(slope, slope[0]) and slope[0] != 0)


def _is_coordinate(column: _Column, data: Microdata, by: Suspicion) -> bool:
    """Say whether a column is one of coordinates: by its name, or because it goes with those of the file."""
    numbers = column.numbers
    if numbers is None or len(set(column.texts)) < by.days:
        return False
    decimals = np.median([len(text.partition(".")[2]) for text in column.texts])
    if (is_latitude(column.name) or is_longitude(column.name)) and decimals >= by.decimals:
        return True
    points = data.distances.points()
    if points is None or points.coordinates.dtype.kind not in "fiu" or len(numbers) < by.fewest:
        return False
    ranks = rankdata(numbers)
    own = points.coordinates[list(column.rows)]
    return any(_correlate(ranks, rankdata(own[:, axis])) >= by.alike for axis in range(own.shape[1]))


def _correlate(one: FloatArray, other: FloatArray) -> float:
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(abs(np.corrcoef(one, other)[0, 1]))
