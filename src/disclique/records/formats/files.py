"""Tables, distance matrices, lists, vectors and encodings from files of every kind, as the cells stand in them.

Every file comes in through ``read_table`` or ``read_cells``, whatever its kind, so that the same table means the same
from CSV, a spreadsheet, Stata, SPSS or SAS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import FloatArray
from disclique.records.formats import layers, statistics, workbooks
from disclique.records.formats.workbooks import MISSING, plain_dates
from disclique.records.joins import Order, Roster, join_square
from disclique.records.squares import from_list, is_list, numbers_of, square_of_frame, without_numbering
from disclique.records.tables import entry_of
from disclique.spaces.bits import COLUMN, Encodings, encodings_of_array, parse_encodings
from disclique.spaces.distances import check_matrix
from disclique.values import canonical

TEXT = (".csv", ".tsv", ".txt")
TABLES = (*TEXT, ".parquet", *workbooks.SUFFIXES, *statistics.SUFFIXES)
ARRAYS = (".npy", ".npz")
_ID = re.compile(r"|.*(id|nr|key|index|name)|(row|record|case|person)(_?(no|number))?", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """Which part of a file is meant, and in which words: the sheet of a workbook, the layer, codes or their labels."""

    sheet: str | None = None
    layer: str | None = None
    codes: bool = False


WHOLE = Part()


def read_table(path: Path, part: Part = WHOLE) -> pd.DataFrame:
    """Return the records of a file; text files keep every cell as written, geometries are left out."""
    _exists(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        frame = plain_dates(_read_parquet(path))
    elif suffix in TEXT:
        frame = _with_header(_read_text(path))
    elif suffix in workbooks.SUFFIXES:
        frame = workbooks.read_sheet(path, part.sheet)
    elif suffix in statistics.SUFFIXES:
        frame = statistics.read_statfile(path, codes=part.codes)
    elif suffix in layers.SUFFIXES:
        frame = plain_dates(layers.read_attributes(path, part.layer))
    else:
        known = ", ".join((*TABLES, *layers.SUFFIXES))
        raise InputError(f"{path}: unknown kind of table {path.suffix!r}; use {known}{_advice(suffix)}")
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise InputError(f"{path}: the file has no records")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"{path}: several columns are called {str(twice[0])!r}")
    return frame


def _advice(suffix: str) -> str:
    old = {".xls": "spreadsheet", ".ods": "spreadsheet", ".numbers": "spreadsheet", ".rds": "R", ".rdata": "R"}
    return f"; save it from the {old[suffix]} program as .xlsx or .csv" if suffix in old else ""


def read_distances(
    path: Path, roster: Roster, *, directed: bool = False, unpublished: bool = False, part: Part = WHOLE
) -> tuple[FloatArray, bool, str]:
    """Return the distances of a file as a square array in the order of the records.

    Beside it stands whether absent ones are allowed, and how the file was joined. It is a square matrix (with or
    without a header and an index) or a long list i, j, distance; names in the header or index decide the order.
    """
    _exists(path)
    name, suffix, records = str(path), path.suffix.lower(), len(roster.ids)
    if suffix in ARRAYS:
        values, joined = np.asarray(load_numpy(path), dtype=float), roster.order(None, where=name)[1]
    elif suffix in (".parquet", *statistics.SUFFIXES):
        frame = read_table(path, Part(codes=True)) if suffix != ".parquet" else _read_parquet(path, index=True)
        first = [str(column) for column in frame.columns]
        if is_list(frame, records, first):
            return _listed(without_numbering(frame, first), roster, directed=directed, name=name)
        values, joined = square_of_frame(frame, roster, name=name)
    elif suffix in TABLES:
        cells = _read_text(path, square=True) if suffix in TEXT else workbooks.read_cells(path, part.sheet)
        first = [str(cell) for cell in cells.iloc[0]]
        if is_list(cells, records, first):
            body = cells if _plain_number(first[-1]) else cells.iloc[1:].reset_index(drop=True)
            return _listed(without_numbering(body, first), roster, directed=directed, name=name)
        if cells.shape[1] == 1 and records > 1:
            raise InputError(f"{path}: one cell in each row; cells are separated by commas, semicolons, tabs or |")
        body, index, header = split_square(cells, records)
        values, joined = join_square(numbers_of(body, name), roster, index=index, header=header, name=name)
    else:
        known = ", ".join((*TABLES, *ARRAYS))
        raise InputError(f"{path}: unknown kind of distance file {suffix!r}; use {known}{_advice(suffix)}")
    if values.shape != (records, records):
        shape = " x ".join(map(str, values.shape))
        raise InputError(f"{path}: the distances are {shape}, but the table has {records} records")
    values = check_matrix(values, directed=directed, unpublished=unpublished, where=entry_of(name))
    return values, unpublished, joined


def _listed(pairs: pd.DataFrame, roster: Roster, *, directed: bool, name: str) -> tuple[FloatArray, bool, str]:
    values, joined = from_list(pairs, roster, directed=directed, name=name)
    return values, True, joined


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


def read_vectors(path: Path, roster: Roster, *, id: str | None = None, part: Part = WHOLE) -> tuple[FloatArray, str]:
    """Return the vectors of a file in the order of the records, and how they were joined.

    A NumPy file has one row per record of the table; a table has a column for each number and, as a rule, one of ids.
    """
    _exists(path)
    if path.suffix.lower() in ARRAYS:
        values, order, joined = np.asarray(load_numpy(path), dtype=float), *roster.order(None, where=str(path))
    elif path.suffix.lower() in TABLES:
        table = read_table(path, part)
        named = _id_column(table, id, roster, str(path), words=True)
        order, joined = _join_rows(table, named, roster, str(path), sure=named is not None and named == id)
        values = numbers_of(table.drop(columns=[] if named is None else [named]), str(path))
    else:
        known = ", ".join((*ARRAYS, *TABLES))
        raise InputError(f"{path}: unknown kind of vector file {path.suffix!r}; use {known}")
    shape = " x ".join(map(str, values.shape))
    if values.ndim != 2 or values.shape[1] < 1:
        raise InputError(f"{path}: an array of shape {shape}: vectors are an array of records x columns")
    if len(values) != len(roster.ids):
        raise InputError(f"{path}: the vectors are {shape}, but the table has {len(roster.ids)} records")
    for row, column in np.argwhere(~np.isfinite(values)):
        raise InputError(f"{path}: row {row + 1}, column {column + 1} = {values[row, column]}: not a finite number")
    return values if order is None else values[order], joined


def read_encodings(
    path: Path, roster: Roster, *, id: str | None = None, metric: str = "dice", part: Part = WHOLE
) -> tuple[Encodings, str]:
    """Return the encodings of a file in the order of the records, and how they were joined.

    A table has them in its only column beside ``id``, or in the one called ``encoding`` or ``clk``; a column ``id``
    decides the order. A NumPy array holds 0 and 1, one column a bit, or packed bytes.
    """
    name, order = str(path), None
    if path.suffix.lower() in ARRAYS:
        found, joined = encodings_of_array(load_numpy(path), metric, name=name), roster.order(None, where=name)[1]
    else:
        table = read_table(path, part)
        column = _column_in(table, id, name)
        found = parse_encodings(list(table[column]), metric, name=name, column=column)
        named = _id_column(table.drop(columns=column), id, roster, name)
        order, joined = _join_rows(table, named, roster, name, sure=named is not None and named == id)
    if found.size != len(roster.ids):
        raise InputError(f"{path}: {found.size} encodings, but the table has {len(roster.ids)} records")
    return found if order is None else found.select(order), joined


def _id_column(table: pd.DataFrame, id: str | None, roster: Roster, name: str, *, words: bool = False) -> str | None:
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


def _join_rows(table: pd.DataFrame, named: str | None, roster: Roster, name: str, *, sure: bool) -> tuple[Order, str]:
    if named is None:
        return roster.order(None, where=name)
    return roster.order(list(table[named]), where=f"{name}, column {named!r}", sure=sure)


def _column_in(table: pd.DataFrame, id: str | None, name: str) -> str:
    others = [str(column) for column in table.columns if column != id]
    if len(others) == 1:
        return others[0]
    named = [column for column in others if column.lower() in (COLUMN, "clk")]
    if len(named) == 1:
        return named[0]
    raise InputError(f"{name}: which column holds the encodings? call one {COLUMN!r}; it has {', '.join(others)}")


def _exists(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder, not a file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty")


def _read_parquet(path: Path, *, index: bool = False) -> pd.DataFrame:
    """Return the frame in a Parquet file; an ``index`` that is not kept becomes a column, if it has a name."""
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a Parquet file ({str(error).splitlines()[0]})") from None
    if index:
        return frame
    new = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(drop=len(new) != frame.index.nlevels)


def load_numpy(path: Path) -> NDArray[Any]:
    """Return the one array of numbers in an NPY or NPZ file."""
    _exists(path)
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _of_numbers(loaded)
        with loaded:
            if len(loaded.files) != 1:
                raise InputError(f"{path}: holds {len(loaded.files)} arrays; save the one that is meant alone")
            return _of_numbers(loaded[loaded.files[0]])
    except (OSError, ValueError, TypeError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a NumPy array of numbers ({str(error).splitlines()[0]})") from None


def _of_numbers(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.kind in "buif" else np.asarray(array, dtype=float)


_QUOTED = re.compile(r'"[^"]*"')


def _read_text(path: Path, *, square: bool = False) -> pd.DataFrame:
    """Return the cells of a text file as they are written; a cell without a value is NaN.

    In a ``square`` the cell above the row names may be absent, as R's write.table leaves it; in a table a name too few
    is an error.
    """
    text = _decoded(path)
    lines = [_QUOTED.sub("", line) for line in text[: 1 << 22].splitlines()[:9] if line.strip()][:5]
    separator = "\t" if path.suffix.lower() == ".tsv" else _separator(lines, square=square)
    width = [line.count(separator) for line in lines]
    if square and len(width) > 2 and len(set(width[1:])) == 1 and width[0] == width[1] - 1:
        text = separator + text
    try:
        frame = pd.read_csv(
            StringIO(text), sep=separator, header=None, dtype=str, keep_default_na=False, na_values=list(MISSING)
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path}: cannot be read as a table ({str(error).strip().splitlines()[-1]})") from None
    return frame.apply(_with_decimal_point) if separator == ";" else frame


def _separator(lines: list[str], *, square: bool) -> str:
    """Return what separates cells: a sign equally often in each of the first lines; the comma may be a decimal one."""
    signs = "\t;|, " if square else "\t;|,"  # R's write.table writes blanks
    counts = {sign: {line.count(sign) for line in lines[square and len(lines) > 2 :]} for sign in signs}
    return next((sign for sign, found in counts.items() if len(found) == 1 and found != {0}), ",")


def _with_header(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table whose column names stand in the first row."""
    body = cells.iloc[1:].reset_index(drop=True)
    return body.set_axis(["" if pd.isna(name) else str(name) for name in cells.iloc[0]], axis=1)


def _decoded(path: Path) -> str:
    raw = path.read_bytes()
    if b"\0" in raw[:4096] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: this is not a text file")
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")  # what spreadsheets of Western Europe still write


def _with_decimal_point(column: pd.Series[Any]) -> pd.Series[Any]:
    """Turn decimal commas into points, as semicolon files of many countries need; other cells stay."""
    return column.str.replace(r"^([+-]?\d+),(\d+)$", r"\1.\2", regex=True)


def _plain_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
