"""Files beside a table: distances, vectors and pairs of people, in the order of its records.

Distances are a square matrix or a long list, from a file of any format or from a frame.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.arguments import check_kind, check_path
from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.records.formats import UNSAID, Format, Part, check_there, format_of, read_table, refuse
from disclique.records.joins import (
    BY_ID,
    BY_ROW,
    Order,
    Roster,
    describe_difference,
    is_default,
    join_square,
    names_of_index,
)
from disclique.spaces.matrix import ROUNDING, Where, check_matrix, same_distance
from disclique.values import FloatArray, canonical

_ID = re.compile(r"|.*(id|nr|key|index|name)|(row|record|case|person)(_?(no|number))?", re.IGNORECASE)


def read_distances(
    path: Path, roster: Roster, *, directed: bool = False, unpublished: bool = False, part: Part = UNSAID
) -> tuple[FloatArray, bool, str]:
    """Return the distances of a file as a square array in the order of the records.

    Beside it stands whether absent ones are allowed, and how the file was joined. It is a square matrix (with or
    without a header and an index) or a long list i, j, distance; names in the header or index decide the order.
    """
    check_there(path)
    name, found, records = str(path), format_of(path), len(roster.ids)
    if found is not None and found.array is not None:
        values, joined = np.asarray(found.array(path), dtype=float), roster.order(None, where=name)[1]
    elif found is not None and found.grid is not None:
        cells = found.grid(path, part)
        first = [str(cell) for cell in (cells.columns if found.headed else cells.iloc[0])]
        if is_list(cells, records, first):
            body = cells if found.headed or _plain_number(first[-1]) else cells.iloc[1:].reset_index(drop=True)
            values, joined = from_list(without_numbering(body, first), roster, directed=directed, name=name)
            return values, True, joined
        if found.headed:
            values, joined = square_of_frame(cells, roster, name=name)
        elif cells.shape[1] == 1 and records > 1:
            raise InputError("one_cell_in_each_row", path=path)
        else:
            body, index, header = split_square(cells, records)
            values, joined = join_square(numbers_of(body, name), roster, index=index, header=header, name=name)
    else:
        raise refuse(path, mark("unknown_distance_file"), _holds_numbers)
    if values.shape != (records, records):
        shape = " x ".join(map(str, values.shape))
        raise InputError("distances_of_other_shape", path=path, shape=shape, records=records)
    values = check_matrix(values, directed=directed, unpublished=unpublished, where=entry_of(name))
    return values, unpublished, joined


def _holds_numbers(found: Format) -> bool:
    return found.grid is not None or found.array is not None


def split_square(cells: pd.DataFrame, records: int) -> tuple[pd.DataFrame, list[Any] | None, list[Any] | None]:
    """Return the distances of a matrix as it is written, and the names in its first column and row, if it has them."""
    while cells.shape[1] > max(records, 1) and cells.iloc[:, -1].isna().all():
        cells = cells.iloc[:, :-1]  # a separator at the end of every line
    rows, columns = cells.shape
    corner: Any = cells.iloc[0, 0]
    words = _has_words(cells.iloc[0, 1:])
    if rows == columns:
        plain = _plain_number(str(corner)) if not pd.isna(corner) else rows == records and not words
        across = down = not plain
    else:
        across = rows == columns + 1 or words
        down = _has_words(cells.iloc[int(across) :, 0]) or (columns == rows + 1 and rows == records)
    header = list(cells.iloc[0, int(down) :]) if across else None
    index = list(cells.iloc[int(across) :, 0]) if down else None
    return cells.iloc[int(across) :, int(down) :], index, header


def _has_words(cells: pd.Series[Any]) -> bool:
    return any(not pd.isna(cell) and not _plain_number(str(cell)) for cell in cells)


def read_vectors(path: Path, roster: Roster, *, id: str | None = None, part: Part = UNSAID) -> tuple[FloatArray, str]:
    """Return the vectors of a file in the order of the records, and how they were joined.

    A NumPy file has one row per record of the table; a table has a column for each number and, as a rule, one of ids.
    """
    check_there(path)
    found = format_of(path)
    if found is not None and found.array is not None:
        values, order, joined = np.asarray(found.array(path), dtype=float), *roster.order(None, where=str(path))
    elif found is not None and found.grid is not None:
        table = read_table(path, part)
        named = id_column(table, id, roster, str(path), words=True)
        order, joined = join_rows(table, named, roster, str(path), sure=named is not None and named == id)
        values = numbers_of(table.drop(columns=[] if named is None else [named]), str(path))
    else:
        raise refuse(path, mark("unknown_vector_file"), _holds_numbers)
    shape = " x ".join(map(str, values.shape))
    if values.ndim != 2 or values.shape[1] < 1:
        raise InputError("vectors_not_an_array", path=path, shape=shape)
    if len(values) != len(roster.ids):
        raise InputError("vectors_of_other_shape", path=path, shape=shape, records=len(roster.ids))
    for row, column in np.argwhere(~np.isfinite(values)):
        raise InputError("vector_not_finite", path=path, row=row + 1, column=column + 1, value=values[row, column])
    return values if order is None else values[order], joined


def id_column(table: pd.DataFrame, id: str | None, roster: Roster, name: str, *, words: bool = False) -> str | None:
    """Return the column of a file beside the table that names its records: the one called so, else one that could.

    With ``words`` a column has to look like one: the others are numbers of vectors.
    """
    if id is not None and id in table.columns:
        return id
    for place, column in enumerate(table.columns):
        values = [canonical(value) for value in table[column]]
        if None in values or len(set(values)) != len(values):
            continue
        if column in roster.table.columns and values == [canonical(value) for value in roster.table[column]]:
            continue  # the same column in the same order
        if not words or _looks_like_ids(str(column), values, roster, first=place == 0):
            return str(column)
    return None


def _looks_like_ids(column: str, values: list[Any], roster: Roster, *, first: bool) -> bool:
    """Return whether a column among those of vectors names records: by its name, its words or the ids in it."""
    if _ID.fullmatch(column) or any(isinstance(value, str) for value in values):
        return True
    if roster.column is not None and 2 * len(set(values) & set(roster.ids)) >= len(values):
        return True
    return first and sorted(values) in (list(range(len(values))), list(range(1, len(values) + 1)))


def join_rows(table: pd.DataFrame, named: str | None, roster: Roster, name: str, *, sure: bool) -> tuple[Order, str]:
    """Return the order of the records in a file beside the table, and how it is joined: by a column, or as it is."""
    if named is None:
        return roster.order(None, where=name)
    return roster.order(list(table[named]), where=Message("named_in_column", file=name, column=named), sure=sure)


def entry_of(name: str) -> Where:
    """Return how messages name an entry of the matrix called ``name``: rows and columns counted from 1."""
    return lambda i, j: Message("entry_of_matrix", file=name, row=i + 1, column=j + 1)


def _plain_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def matrix(source: Any, roster: Roster, *, directed: bool, name: str) -> tuple[FloatArray, bool, str]:
    """Return the distances as a square array in the order of the records.

    Beside it stands whether they came as a long list, and how they were joined.
    """
    if isinstance(source, pd.DataFrame):
        if is_list(source, len(roster.ids), [str(column) for column in source.columns]):
            source = without_numbering(source, [str(column) for column in source.columns])
            values, joined = from_list(source, roster, directed=directed, name=name)
            return values, True, joined
        values, joined = square_of_frame(source, roster, name=name)
        return values, False, joined
    try:
        return np.array(source, dtype=float), False, roster.order(None, where=name)[1]
    except (TypeError, ValueError) as error:
        raise InputError("distances_not_numbers", file=name, why=str(error)) from None


LIST_NAMES = (
    {"i", "from", "source", "origin", "id1", "id_1", "row", "inputid"},
    {"j", "to", "target", "destination", "id2", "id_2", "col", "column", "targetid"},
    {"distance", "d", "dist", "weight", "value", "km", "m", "metres", "meters", "distance_km", "distance_m"},
)


def is_list(cells: pd.DataFrame, records: int, first: list[str]) -> bool:
    """Return whether these are a long list: three columns, and by names or length no matrix of three records."""
    words = [text.strip().lower() for text in first]
    named = len(words) >= 3 and all(text in names for text, names in zip(words[-3:], LIST_NAMES, strict=True))
    if cells.shape[1] == 4:  # with the row names that R and pandas write
        return words[0] in ("", "nan", "unnamed: 0", "none") and (named or records not in (3, 4))
    return cells.shape[1] == 3 and (named or records not in (2, 3) or len(cells) > records + 1)


def without_numbering(pairs: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    """Return a long list without the row names before it."""
    return pairs.iloc[:, len(first) - 3 :]


def square_of_frame(frame: pd.DataFrame, roster: Roster, *, name: str) -> tuple[FloatArray, str]:
    """Return the matrix in a frame, joined by its index, columns or, if it has one more, first column."""
    index = names_of_index(frame.index, roster)
    if frame.shape[1] == len(frame) + 1:
        index, frame = list(frame.iloc[:, 0]), frame.iloc[:, 1:]
    elif is_default(frame.index) and len(frame) and isinstance(canonical(frame.iloc[0, 0]), str):
        raise InputError("rows_beside_ids", file=name, rows=len(frame), columns=frame.shape[1] - 1)
    return join_square(
        numbers_of(frame, name), roster, index=index, header=names_of_index(frame.columns, roster), name=name
    )


def numbers_of(cells: pd.DataFrame, name: str) -> FloatArray:
    """Return the numbers in a frame, perhaps written as text."""
    try:
        return cells.to_numpy(dtype=float)
    except (TypeError, ValueError):
        pass
    parsed = cells.apply(pd.to_numeric, errors="coerce")
    for i, j in np.argwhere((parsed.isna() & cells.notna()).to_numpy()):
        raise InputError("distance_not_a_number", file=name, row=i + 1, column=j + 1, value=cells.iloc[i, j])
    return np.asarray(parsed.to_numpy(dtype=float))


def from_list(pairs: pd.DataFrame, roster: Roster, *, directed: bool, name: str) -> tuple[FloatArray, str]:
    """Return the matrix of a long list i, j, distance, and how it was joined.

    Pairs that are not listed are NaN, that is, not published.
    """
    records = len(roster.ids)
    found = np.full((records, records), np.nan)
    np.fill_diagonal(found, 0.0)
    roster = roster.for_list(pairs, name)
    ends = np.column_stack([roster.rows(pairs.iloc[:, k], file=name, column=k + 1) for k in range(2)])
    numbers = numbers_in(pairs.iloc[:, 2], name)
    for line in np.flatnonzero(numbers < 0):
        raise InputError("listed_distance_negative", file=name, row=line + 1, value=numbers[line])
    for line in np.flatnonzero(pd.DataFrame(ends).duplicated().to_numpy()):
        first = int(np.flatnonzero((ends == ends[line]).all(axis=1))[0])
        twice = {"row": line + 1, "value": numbers[line], "first": first + 1, "other": numbers[first]}
        raise InputError("pair_listed_twice", file=name, **twice)
    itself = ends[:, 0] == ends[:, 1]
    for line in np.flatnonzero(itself & (numbers > ROUNDING * numbers.max(initial=0.0))):
        raise InputError("listed_distance_from_itself", file=name, row=line + 1, value=numbers[line])
    numbers = np.where(itself, 0.0, numbers)
    found[ends[:, 0], ends[:, 1]] = numbers
    if not directed:
        back = found[ends[:, 1], ends[:, 0]]
        for line in np.flatnonzero(~np.isnan(back) & ~same_distance(back, numbers)):
            raise InputError("way_back_differs", file=name, row=line + 1, value=numbers[line], back=back[line])
        found = np.fmin(found, found.T)
    return found, BY_ROW if roster.by_position or roster.column is None else BY_ID


def numbers_in(column: pd.Series[Any], name: str) -> FloatArray:
    """Return the numbers of a column, perhaps written as text."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    for row in np.flatnonzero(~np.isfinite(numbers)):
        cell = {"row": row + 1, "column": str(column.name), "value": column.iloc[row]}
        raise InputError("cell_not_finite", file=name, **cell)
    return numbers


SEED_COLUMNS = ("target_id", "known_id")  # as in a table of matches


def read_seeds(path: str | Path, target: Microdata, known: Microdata) -> tuple[tuple[int, int], ...]:
    """Return the pairs (target row, known row), counted from 0, that a table names by their ids.

    The table has the columns ``target_id`` and ``known_id``, as the matches of an attack have, or two columns, the
    target's first. The id of a record of a file without an id column is its row, counted from 1.

    >>> import disclique as dq, tempfile
    >>> target, known = dq.poets()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "seeds.csv").write_text("target_id,known_id\\n2,1\\n")
    ...     read_seeds(Path(folder, "seeds.csv"), target, known)
    ((1, 0),)
    """
    path = check_path(path, "path")
    for name, data in (("target", target), ("known", known)):
        check_kind(data, Microdata, name, "wanted_microdata")
    table = read_table(path)
    columns = [str(column) for column in table.columns]
    chosen = list(SEED_COLUMNS) if set(SEED_COLUMNS) <= set(columns) else columns
    if len(chosen) != 2:
        mine, theirs = SEED_COLUMNS
        raise InputError("seeds_in_two_columns", path=path, mine=mine, theirs=theirs, columns=list(map(repr, columns)))
    sides = [
        _rows_of([canonical(value) for value in table[column]], data, path, column)
        for column, data in zip(chosen, (target, known), strict=True)
    ]
    return tuple(zip(*sides, strict=True))


def _rows_of(found: Sequence[Hashable | None], data: Microdata, path: Path, column: str) -> list[int]:
    """Return the rows of the records with these ids."""
    where = {value: row for row, value in enumerate(data.ids)}
    rows: list[int] = []
    first: dict[int, int] = {}
    for place, value in enumerate(found):
        row = None if value is None else where.get(value)
        if value is None:
            raise InputError("id_missing", file=str(path), row=place + 1, column=column)
        cell = {"path": path, "row": place + 1, "column": column, "value": value}
        if row is None:
            raise InputError("seed_of_nobody", **cell, file=data.name, spelled=describe_difference([value], data.ids))
        if first.setdefault(row, place) != place:
            raise InputError("seed_twice", **cell, first=first[row] + 1)
        rows.append(row)
    return rows
