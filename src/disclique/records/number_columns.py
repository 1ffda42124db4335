"""Columns of numbers that both sides can know, from a table and into one: ``km_hospital:km``, ``income:none``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from disclique.arguments import show
from disclique.errors import InputError
from disclique.messages import Message
from disclique.model import Microdata
from disclique.numbers import DECIMALS, NO_NUMBERS, Classes, NumberColumn, Numbers
from disclique.records.formats import no_column
from disclique.records.near import Near
from disclique.units import AROUND, KM, KM_IN, NO_UNIT, UNITS, in_words, number
from disclique.values import FloatArray, canonical

Asked = Mapping[str, str] | Iterable[str] | Iterable[tuple[str, str]]


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


def add_near(data: Microdata, nears: Sequence[Near], labels: Sequence[str] = ()) -> Microdata:
    """Return a file with the columns that follow from its places, numbers and, of names, labels.

    What is read from the table already keeps its values; ``labels`` is the order in which they were asked for.
    """
    for near in nears:
        if near.name in data.numbers.names:
            data = replace(data, numbers=_with_measure(data.numbers, near))
        elif near.name not in data.labels.columns:
            data = _add(data, near)
    order = [name for name in labels if name in data.labels.columns]
    rest = [name for name in data.labels.columns if name not in order]
    return replace(data, labels=data.labels[[*order, *rest]])


def _add(data: Microdata, near: Near) -> Microdata:
    if near.name in data.table.columns:
        raise InputError("near_column_there", file=data.name, column=near.name)
    values = near.measure(data.distances.points(), data.ids)
    if near.is_label:
        named = {near.name: np.array([canonical(value) for value in values], dtype=object)}
        return replace(data, table=data.table.assign(**named), labels=data.labels.assign(**named))
    column = NumberColumn(near.name, values.astype(float), near.unit, form=near.released, near=near)
    return replace(data, numbers=data.numbers.beside(Numbers((column,))))


def _with_measure(numbers: Numbers, near: Near) -> Numbers:
    """Return numbers, one of which can be computed for other places, too; the table may hold it in another unit."""
    return Numbers(
        tuple(
            replace(one, form=near.released, near=near) if one.name == near.name and one.unit == near.unit else one
            for one in numbers.columns
        )
    )


def _read(table: pd.DataFrame, column: str, unit: str, name: str) -> NumberColumn:
    if column not in table.columns:
        raise no_column(name, column, table.columns)
    if isinstance(table[column], pd.DataFrame):
        raise InputError("columns_of_one_name", path=name, column=column)
    if (classed := _read_classes(table[column], column, unit)) is not None:
        return classed
    values = _to_numbers(table[column], column, name)
    if unit not in KM_IN:
        return NumberColumn(column, values, NO_UNIT)
    values = values * KM_IN[unit]
    if (largest := float(np.nanmax(np.abs(values), initial=0.0))) > AROUND:
        meant = Message("are_these_metres") if unit == KM else None
        raise InputError("unit_longer_than_earth", file=f"{name}: {column}", unit=unit, largest=largest, meant=meant)
    return NumberColumn(column, values, KM, written=unit)


_END = r"\s*(\d+(?:\.\d+)?)\s*"
_UNIT = r"\s*(km|m)?"
_RELEASED_CLASSES = tuple(
    re.compile(form)
    for form in (
        r"\[\s*([^,\s]*)\s*,\s*([^,\s]*)\s*\)" + _UNIT,  # as write_numbers writes them
        _END + "[-\u2013]" + _END + _UNIT,  # 1-5, with a hyphen or a dash
        "()<" + _END + _UNIT,
        "(?:>=?|\u2265)" + _END + "()" + _UNIT,
        _END + r"()\+" + _UNIT,
    )
)


def _match_class(text: str) -> re.Match[str] | None:
    """Return the ends and the unit of a class: ``[1,5) km``, ``1-5``, ``<1``, ``>=5`` or ``5+``; None if it is none."""
    return next((found for form in _RELEASED_CLASSES if (found := form.fullmatch(text)) is not None), None)


def _read_classes(series: pd.Series, column: str, unit: str) -> NumberColumn | None:
    """Return numbers that were released in classes with that law; None where they are no classes.

    A class has its lower end, and the next one begins where it ends; without a unit it is in that of the column.
    """
    texts = [None if pd.isna(cell) or not str(cell).strip() else str(cell).strip() for cell in series]
    found = {text: _match_class(text) for text in dict.fromkeys(texts) if text is not None}
    forms = {text: form for text, form in found.items() if form is not None}
    if not forms or len(forms) < len(found) or any(form[3] and unit not in KM_IN for form in forms.values()):
        return None
    try:
        ends = {text: tuple(_read_end(form[k], form[3] or unit) for k in (1, 2)) for text, form in forms.items()}
    except ValueError:
        return None
    edges = sorted({end for both in ends.values() for end in both if end is not None})
    low = {text: 0 if both[0] is None else edges.index(both[0]) + 1 for text, both in ends.items()}
    if any(both[1] is not None and edges.index(both[1]) != low[text] for text, both in ends.items()):
        return None  # they overlap, or end before they begin
    values = np.array([np.nan if text is None else float(low[text]) for text in texts])
    kept, written = (KM, unit) if unit in KM_IN else (NO_UNIT, None)
    return NumberColumn(column, values, kept, Classes(tuple(edges)), written=written)


def _read_end(text: str, unit: str | None) -> float | None:
    """Return an end of a class, in km where it is a length; None for none."""
    return round(float(text) * KM_IN.get(unit or "", 1.0), DECIMALS) if text else None


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


@dataclass(frozen=True)
class Digits:
    """With how many digits numbers are written.

    Those below a hundredth of the noise say nothing more of anybody, and leave its law as it was: the variance of the
    noise grows by less than a hundred-thousandth of it.
    """

    of_noise: float = 0.01
    significant: int = 14  # of a number without noise: what arithmetic leaves beyond them is no part of it


DIGITS = Digits()


def round_released(numbers: Numbers, digits: Digits = DIGITS) -> Numbers:
    """Return released numbers with the digits with which they are written."""
    return Numbers(tuple(_round_released(one, digits) for one in numbers.columns))


def _round_released(column: NumberColumn, digits: Digits) -> NumberColumn:
    if column.law.in_classes:
        return column
    scale = _scale(column)
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.ceil(-np.log10(column.law.spread(column.values) / scale * digits.of_noise))
    both = zip((column.values / scale).tolist(), places.tolist(), strict=True)
    values = [round(value, int(many)) if np.isfinite(many) else value for value, many in both]
    return replace(column, values=_tidy(values, digits) * scale)


def _tidy(values: Iterable[float], digits: Digits) -> FloatArray:
    """Return numbers without what arithmetic left behind their digits."""
    return np.array([float(f"{value:.{digits.significant}g}") for value in values], dtype=float)


def _scale(column: NumberColumn) -> float:
    """Return how much one of the unit in which a column is written is in that in which it is kept."""
    return KM_IN.get(column.written or KM, 1.0) if column.unit == KM else 1.0


def write_numbers(numbers: Numbers, digits: Digits = DIGITS) -> dict[str, pd.Series]:
    """Return the columns of a released table, each in the unit in which the file had it.

    A class is written as ``[1,5) km``: from its lower end, which belongs to it, to its upper one, which does not; an
    end that it does not have is empty.

    >>> made = Numbers((NumberColumn("km", np.array([0.0, 2.0, np.nan]), KM, Classes((1.0, 5.0))),))
    >>> write_numbers(made)["km"].tolist()
    ['[,1) km', '[5,) km', None]
    """
    return {one.name: _write(one, digits) for one in numbers.columns}


def _write(column: NumberColumn, digits: Digits) -> pd.Series:
    scale, law = _scale(column), column.law
    if isinstance(law, Classes):
        edges = [number(edge) for edge in _tidy([edge / scale for edge in law.edges], digits).tolist()]
        unit = in_words(column.written or column.unit)
        names = [f"[{low},{high}){unit}" for low, high in zip(("", *edges), (*edges, ""), strict=True)]
        texts = [None if np.isnan(value) else names[int(value)] for value in column.values]
        return pd.Series(texts, dtype=object)
    values = _tidy((column.values / scale).tolist(), digits)
    there = values[~np.isnan(values)]
    whole = bool((there == np.round(there)).all() and (np.abs(there) < 1e15).all())
    return pd.Series(values).astype("Int64" if whole else float)
