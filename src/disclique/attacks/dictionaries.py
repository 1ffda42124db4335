"""Dictionaries: what a column of text may say, from public lists of names, places and dates."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Microdata
from disclique.spaces.strings import Texts, normalise, texts_of

_PARTS = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})")
_ORDERS = ("ymd", "dmy", "mdy")


@dataclass(frozen=True)
class DateForm:
    """How dates are written: in which order, with what between, and whether days and months have a leading zero."""

    order: str
    between: str
    zeros: bool

    def read(self, text: str) -> dt.date | None:
        """Return the date; None where it is none of this form."""
        found = _PARTS.fullmatch(text)
        if found is None or found[2] != self.between:
            return None
        parts = dict(zip(self.order, (found[1], found[3], found[4]), strict=True))
        if len(parts["y"]) != 4 or any(len(parts[one]) > 2 for one in "dm"):
            return None
        if self.zeros and any(len(parts[one]) != 2 for one in "dm"):
            return None
        try:
            return dt.date(int(parts["y"]), int(parts["m"]), int(parts["d"]))
        except ValueError:
            return None

    def write(self, day: dt.date) -> str:
        """Return a date as it is written.

        >>> DateForm("mdy", "/", False).write(dt.date(1937, 6, 16))
        '6/16/1937'
        """
        digits = "02" if self.zeros else ""
        parts = {"y": f"{day.year:04}", "m": f"{day.month:{digits}}", "d": f"{day.day:{digits}}"}
        return self.between.join(parts[one] for one in self.order)


def find_date_form(cells: Sequence[str]) -> DateForm | None:
    """Return how the dates of a column are written; None where it has anything else.

    >>> find_date_form(["6/16/1937", "12/1/1970"])
    DateForm(order='mdy', between='/', zeros=False)
    """
    there = [cell for cell in cells if cell]
    if not there:
        return None
    for zeros in (True, False):
        for between in "./-":
            for order in _ORDERS:
                form = DateForm(order, between, zeros)
                if all(form.read(cell) is not None for cell in there):
                    return form
    return None


def every_day(cells: Sequence[str]) -> list[str]:
    """Return all days between the first and the last of a column of dates; nothing where it has none.

    >>> every_day(["30.01.2000", "02.02.2000"])
    ['30.01.2000', '31.01.2000', '01.02.2000', '02.02.2000']
    """
    form = find_date_form(cells)
    if form is None:
        return []
    days = [day for cell in cells if (day := form.read(cell)) is not None]
    first, last = min(days), max(days)
    return [form.write(first + dt.timedelta(days=k)) for k in range((last - first).days + 1)]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """What each column may say, every entry once as it is compared, and how usual each is."""

    entries: tuple[tuple[str, ...], ...]
    usual: tuple[NDArray[np.float32], ...]  # log chances

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def guess(self) -> float:
        """The chance to read somebody by naming the most usual entry of every column."""
        return float(np.exp(sum(float(chances.max()) for chances in self.usual)))

    def covers(self, cells: Sequence[str]) -> bool:
        """Say whether the dictionary has all that somebody's columns say."""
        return all(normalise(cell) in set_ for cell, set_ in zip(cells, self._sets, strict=True))

    @property
    def _sets(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(some) for some in self.entries)


def dictionary_of(texts: Texts, *, like: Texts | None = None) -> Dictionary:
    """Return the dictionary that a list of people gives, column by column; columns of dates have all days between.

    ``like`` are texts as they are released: their columns of dates say how these are written, and only where they have
    cells without text a person may have none.

    >>> found = dictionary_of(Texts(("ann lee", "ann orr"), fields=(("Ann", "Ann"), ("Lee", "Orr"))))
    >>> found.entries, round(found.guess, 6)
    ((('ann',), ('lee', 'orr')), 0.5)
    """
    entries, usual = [], []
    for column, own in zip(texts.fields, (like or texts).fields, strict=True):
        counts = Counter(map(normalise, column))
        blank = sum(not cell for cell in own) / max(len(own), 1)
        counts.pop("", None)
        days = every_day([cell.strip() for cell in own])
        if days:  # any day is as usual as any other
            counts = Counter(dict.fromkeys(map(normalise, days), 1))
        if blank:
            counts[""] = max(round(blank * sum(counts.values())), 1)
        total = sum(counts.values())
        entries.append(tuple(counts))
        usual.append(np.log(np.array([count / total for count in counts.values()], dtype=np.float32)))
    return Dictionary(tuple(entries), tuple(usual))


def read_words(table: pd.DataFrame, target: Microdata, name: str) -> Texts:
    """Return a dictionary from a table that has the columns of text of a file; no row may be empty."""
    own = target.distances.texts()
    if own is None:
        raise InputError("dictionary_needs_texts", file=target.name)
    columns = list(own.columns) or list(map(str, table.columns))
    return texts_of(table.reset_index(drop=True), columns, name=name)


def check_words(words: Texts, target: Microdata) -> None:
    """Refuse a dictionary that does not have the columns of text of a file."""
    own = target.distances.texts()
    if own is None:
        raise InputError("dictionary_needs_texts", file=target.name)
    if len(words.fields) != len(own.fields):
        raise InputError(
            "dictionary_of_other_columns", file=target.name, count=len(own.fields), there=len(words.fields)
        )
    for number, column in enumerate(words.fields):
        if not any(column):
            raise InputError("dictionary_column_empty", column=(own.columns or (str(number + 1),))[number])
