"""Columns of numbers that both sides can know, from a table: ``km_hospital:km``, ``income:none``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from disclique.arguments import show
from disclique.errors import InputError
from disclique.messages import Message
from disclique.numbers import NO_NUMBERS, NumberColumn, Numbers
from disclique.records.formats import no_column
from disclique.units import AROUND, KM, KM_IN, NO_UNIT, UNITS
from disclique.values import FloatArray

Asked = Mapping[str, str] | Iterable[str]


def parse_numbers(asked: Asked | str | None) -> tuple[tuple[str, str], ...]:
    """Read which columns are numbers, and in which unit: ``COLUMN:UNIT``, or a mapping.

    >>> parse_numbers(["km_hospital:km", "income:none"])
    (('km_hospital', 'km'), ('income', 'none'))
    """
    if asked is None:
        return ()
    if isinstance(asked, Mapping):
        found = [(str(name), str(unit)) for name, unit in asked.items()]
    elif isinstance(asked, (str, Iterable)):
        texts = [asked] if isinstance(asked, str) else [one if isinstance(one, str) else ":".join(one) for one in asked]
        found = [(name.strip(), unit.strip()) for name, colon, unit in (text.rpartition(":") for text in texts)]
        for text, (name, _) in zip(texts, found, strict=True):
            if not name:
                raise InputError("number_without_unit", spec=text, units=UNITS)
    else:
        raise InputError("numbers_are_no_columns", numbers=show(asked))
    for name, unit in found:
        if unit not in UNITS:
            raise InputError("unknown_unit", where=name, unit=unit, units=UNITS)
        if [other for other, _ in found].count(name) > 1:
            raise InputError("number_twice", column=name)
    return tuple(found)


def read_numbers(table: pd.DataFrame, asked: Asked | None, name: str) -> Numbers:
    """Return the number columns of a table, lengths in km; an empty cell is missing.

    >>> read_numbers(pd.DataFrame({"way": [500, None]}), {"way": "m"}, "people").columns[0].values
    array([0.5, nan])
    """
    found = parse_numbers(asked)
    return Numbers(tuple(_read(table, column, unit, name) for column, unit in found)) if found else NO_NUMBERS


def _read(table: pd.DataFrame, column: str, unit: str, name: str) -> NumberColumn:
    if column not in table.columns:
        raise no_column(name, column, table.columns)
    if isinstance(table[column], pd.DataFrame):
        raise InputError("columns_of_one_name", path=name, column=column)
    values = _to_numbers(table[column], column, name)
    if unit not in KM_IN:
        return NumberColumn(column, values, NO_UNIT)
    values = values * KM_IN[unit]
    if (largest := float(np.nanmax(np.abs(values), initial=0.0))) > AROUND:
        meant = Message("are_these_metres") if unit == KM else None
        raise InputError("unit_longer_than_earth", file=f"{name}: {column}", unit=unit, largest=largest, meant=meant)
    return NumberColumn(column, values, KM)


def _to_numbers(series: pd.Series, column: str, name: str) -> FloatArray:
    """Return a column as numbers; refuse what is none, and what is not finite."""
    if series.dtype.kind == "b":
        raise InputError("number_is_not", file=name, row=1, column=column, value=series.iloc[0])
    plain = series.astype(object).where(series.notna(), None)
    texts = plain.map(lambda cell: None if cell is None or (isinstance(cell, str) and not cell.strip()) else cell)
    found = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    wrong = texts.notna().to_numpy() & ~np.isfinite(found)
    for row in np.flatnonzero(wrong):
        raise InputError("number_is_not", file=name, row=int(row) + 1, column=column, value=texts.iloc[row])
    return np.asarray(found)
