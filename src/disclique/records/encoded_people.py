"""Encodings of people from columns and from files: one or several for each person, joined by ids or in their order."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.messages import Message
from disclique.records.companions import id_column, join_rows
from disclique.records.formats import UNSAID, Part, format_of, read_table
from disclique.records.formats.encoded import ENCODED
from disclique.records.formats.households import is_mapping, people_of, spread
from disclique.records.joins import BY_ID, BY_POSITION, Roster
from disclique.spaces import Encodings
from disclique.spaces.bit_forms import encodings_of_array, form_of, join_parts, parse_parts
from disclique.spaces.bits import COLUMN

_NAMED = re.compile(
    rf"({COLUMN}s?|clks?|bloom(_?filter)?|c?bf|[ar]bf|bf_indices|bit_?vector)[ _-]?\w{{0,12}}", re.IGNORECASE
)


def name_columns(asked: str | None, there: Collection[object]) -> tuple[str, ...]:
    """Return the columns that are named, several with commas between; none where a file is meant.

    >>> name_columns("clk1,clk2", ["id", "clk1", "clk2"]), name_columns("clks.json", ["id"])
    (('clk1', 'clk2'), ())
    """
    if asked is None:
        return ()
    if asked in there:
        return (asked,)
    parts = tuple(part.strip() for part in asked.split(","))
    return parts if all(part in there for part in parts) else ()


def name_files(asked: str) -> list[Path]:
    """Return the files that are named, several with commas between; those that are not there, too."""
    return [Path(asked)] if Path(asked).exists() else [Path(part.strip()) for part in asked.split(",")]


def encode_columns(
    table: pd.DataFrame, columns: Sequence[str], metric: str | None, *, name: str, gaps: bool = False
) -> tuple[Encodings, str | None]:
    """Return the encodings in columns of a table, and how they are written; None where that differs.

    With ``gaps`` somebody may have none of them, because there are others elsewhere.
    """
    made = parse_parts({column: list(table[column]) for column in columns}, metric, name=name, gaps=gaps)
    forms = {form_of(list(table[column])) for column in columns}
    return made, forms.pop() if len(forms) == 1 else None


def read_encodings(
    paths: Sequence[Path], roster: Roster, *, id: str | None = None, metric: str | None = None, part: Part = UNSAID
) -> tuple[Encodings, str, str | None]:
    """Return the encodings of files in the order of the records, how they were joined, and how they are written.

    A table has them in its only column beside ``id``, or in those called so; a column ``id`` decides the order. A NumPy
    array holds 0 and 1, one column a bit, or packed bytes. Several files are parts of one encoding; behind a file of
    households stands the table that says who lives in which.
    """
    homes = {path: table for path in paths[1:] if (table := _mapping_of(path, part)) is not None}
    alone = len(paths) - len(homes) == 1
    read: list[_Read] = []
    for path, behind in zip(paths, (*paths[1:], None), strict=True):
        if path not in homes:
            asked = _Asked(path, id, metric, part, not alone, homes.get(behind) if behind else None)
            read.append(_read_file(asked, roster))
    made = [one.made for one in read]
    for row in np.flatnonzero(sum(one.weights for one in made) == 0) if not alone else ():
        files = [repr(path.name) for path in paths]
        raise InputError("encoding_missing_everywhere", name=roster.name, row=row + 1, columns=files)
    joins, forms = {one.joined for one in read}, {one.form for one in read}
    joined = joins.pop() if len(joins) == 1 else BY_POSITION  # what is joined least surely is said
    return made[0] if alone else join_parts(made), joined, forms.pop() if len(forms) == 1 else None


@dataclass(frozen=True, eq=False)
class _Asked:
    """A file of encodings, how it is read, and perhaps who lives in which of its households."""

    path: Path
    id: str | None
    metric: str | None
    part: Part
    gaps: bool
    homes: pd.DataFrame | None


@dataclass(frozen=True, eq=False)
class _Read:
    """What a file of encodings holds, how it was joined, and how it is written."""

    made: Encodings
    joined: str
    form: str | None = None


def _mapping_of(path: Path, part: Part) -> pd.DataFrame | None:
    """Return the table that says who lives in which household; None where a file is another one."""
    kind = format_of(path)
    if kind is None or kind.table is None or kind.grid is None:
        return None
    table = read_table(path, part)
    return table if is_mapping(table) else None


def _read_file(asked: _Asked, roster: Roster) -> _Read:
    path, name, kind = asked.path, str(asked.path), format_of(asked.path)
    if kind is not None and kind.array is not None:
        found = encodings_of_array(kind.array(path), asked.metric or "dice", name=name)
        _check_number(path, found.size, roster)
        return _Read(found, roster.order(None, where=name)[1])
    table = read_table(path, asked.part)
    columns = _columns_in(table, asked.id, name)
    if asked.homes is not None:
        table = spread(table, people_of(asked.homes, name, roster.ids), name)
        made, form = encode_columns(table, columns, asked.metric, name=name, gaps=asked.gaps)
        return _Read(made, BY_POSITION if roster.column is None else BY_ID, form)
    rest = table.drop(columns=columns)
    named = id_column(rest, asked.id, roster, name) if len(rest.columns) else None
    order, joined = join_rows(table, named, roster, name, sure=named is not None and named == asked.id)
    _check_number(path, len(table), roster)
    made, form = encode_columns(table, columns, asked.metric, name=name, gaps=asked.gaps)
    return _Read(made if order is None else made.select(order), joined, form)


def _check_number(path: Path, encodings: int, roster: Roster) -> None:
    """Refuse a file that has encodings of others, such as of households without who lives there."""
    records = len(roster.ids)
    if encodings != records:
        hint = Message("perhaps_of_households") if encodings < records else None
        raise InputError("other_number_of_encodings", path=path, encodings=encodings, records=records, hint=hint)


def _columns_in(table: pd.DataFrame, id: str | None, name: str) -> list[str]:
    """Return the columns of a file that are encodings."""
    if said := table.attrs.get(ENCODED):
        return [str(column) for column in said]
    others = [str(column) for column in table.columns if column != id]
    if len(others) == 1:
        return others
    exact = [column for column in others if column.lower() in (COLUMN, "clk")]
    if len(exact) == 1:
        return exact
    named = [column for column in others if _NAMED.fullmatch(column)]
    if named:
        return named
    raise InputError("which_column_of_encodings", file=name, column=COLUMN, columns=others)
