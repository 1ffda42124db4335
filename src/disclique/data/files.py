"""Tables, distance matrices, lists and encodings from text, Parquet and NumPy files, as the cells stand in them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.data.distances import check_matrix
from disclique.data.encodings import COLUMN, Encodings, encodings_of_array, parse_encodings
from disclique.data.labels import canonical
from disclique.data.tables import entry_of, from_list
from disclique.errors import InputError
from disclique.model import FloatArray

TABLES = (".csv", ".tsv", ".txt", ".parquet")
MATRICES = (*TABLES, ".npy", ".npz")
MISSING = ("", "NA", "NaN")  # cells that hold no value; anything else is a value
_LIST_NAMES = ({"i", "from", "source", "id1"}, {"j", "to", "target", "id2"}, {"distance", "d", "dist", "weight"})


def read_table(path: Path) -> pd.DataFrame:
    """Return the records of a CSV, TSV or Parquet file; text files keep every cell as written."""
    _exists(path)
    if path.suffix.lower() == ".parquet":
        frame = _read_parquet(path)
    elif path.suffix.lower() in TABLES:
        frame = _with_header(_read_text(path))
    else:
        raise InputError(f"{path}: unknown kind of table {path.suffix!r}; use {', '.join(TABLES)}")
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise InputError(f"{path}: the file has no records")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"{path}: several columns are called {str(twice[0])!r}")
    return frame


def read_distances(
    path: Path, ids: Sequence[Hashable], *, directed: bool = False, unpublished: bool = False
) -> tuple[FloatArray, bool]:
    """Return the distances of a file as a square array in the order of ``ids``, and whether absent ones are allowed.

    The file is a square matrix (CSV or TSV with or without a header and an index, NPY, NPZ, Parquet) or a long list
    i, j, distance. A header or index that holds the record ids decides the order.
    """
    _exists(path)
    name, suffix = str(path), path.suffix.lower()
    if suffix in (".npy", ".npz"):
        values = np.asarray(load_numpy(path), dtype=float)
    elif suffix == ".parquet":
        frame = _read_parquet(path)
        if _is_list(frame, len(ids), [str(c) for c in frame.columns]):
            return from_list(frame, ids, directed=directed, name=name), True
        cells = frame.reset_index(drop=True)
        values = _matrix_of_cells(cells, [str(c) for c in frame.columns], ids, name=name)
    elif suffix in TABLES:
        cells = _read_text(path)
        first = [str(c) for c in cells.iloc[0]]
        if _is_list(cells, len(ids), first):
            body = cells if _plain_number(first[2]) else cells.iloc[1:].reset_index(drop=True)
            return from_list(body, ids, directed=directed, name=name), True
        values = _matrix_of_cells(cells, None, ids, name=name)
    else:
        raise InputError(f"{path}: unknown kind of distance file {suffix!r}; use {', '.join(MATRICES)}")
    if values.shape != (len(ids), len(ids)):
        shape = " x ".join(map(str, values.shape))
        raise InputError(f"{path}: the distances are {shape}, but the table has {len(ids)} records")
    return check_matrix(values, directed=directed, unpublished=unpublished, where=entry_of(name)), unpublished


def read_vectors(path: Path, records: int) -> FloatArray:
    """Return the vectors of a NumPy file, one row per record of the table."""
    _exists(path)
    if path.suffix.lower() not in (".npy", ".npz"):
        raise InputError(f"{path}: unknown kind of vector file {path.suffix!r}; use .npy or .npz")
    values = np.asarray(load_numpy(path), dtype=float)
    shape = " x ".join(map(str, values.shape))
    if values.ndim != 2 or values.shape[1] < 1:
        raise InputError(f"{path}: an array of shape {shape}: vectors are an array of records x columns")
    if len(values) != records:
        raise InputError(f"{path}: the vectors are {shape}, but the table has {records} records")
    for row, column in np.argwhere(~np.isfinite(values)):
        raise InputError(f"{path}: row {row + 1}, column {column + 1} = {values[row, column]}: not a finite number")
    return values


def read_encodings(path: Path, ids: Sequence[Hashable], *, id: str | None = None, metric: str = "dice") -> Encodings:
    """Return the encodings of a file in the order of ``ids``.

    A table has them in its only column beside ``id``, or in the one called ``encoding`` or ``clk``; a column ``id``
    decides the order. A NumPy array holds 0 and 1, one column a bit, or packed bytes.
    """
    if path.suffix.lower() in (".npy", ".npz"):
        found = encodings_of_array(load_numpy(path), metric, name=str(path))
    else:
        table = read_table(path)
        column = _column_in(table, id, str(path))
        found = parse_encodings(list(table[column]), metric, name=str(path), column=column)
        if id is not None and id in table.columns:
            return found.select(_rows_of([canonical(value) for value in table[id]], ids, str(path), id))
    if found.size != len(ids):
        raise InputError(f"{path}: {found.size} encodings, but the table has {len(ids)} records")
    return found


def _column_in(table: pd.DataFrame, id: str | None, name: str) -> str:
    others = [str(column) for column in table.columns if column != id]
    if len(others) == 1:
        return others[0]
    named = [column for column in others if column.lower() in (COLUMN, "clk")]
    if len(named) == 1:
        return named[0]
    raise InputError(f"{name}: which column holds the encodings? call one {COLUMN!r}; it has {', '.join(others)}")


def _rows_of(found: Sequence[Hashable | None], ids: Sequence[Hashable], name: str, column: str) -> NDArray[np.int64]:
    where = {value: row for row, value in enumerate(found)}
    if len(where) != len(found):
        twice = next(row for row, value in enumerate(found) if where[value] != row)
        raise InputError(f"{name}: row {twice + 1}, column {column!r} = {found[twice]!r}: the id stands there twice")
    for record in ids:
        if record not in where:
            raise InputError(f"{name}: column {column!r}: the record {record!r} of the table has no encoding")
    return np.array([where[record] for record in ids], dtype=np.int64)


def _exists(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder, not a file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty")


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a Parquet file ({str(error).splitlines()[0]})") from None


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


def _read_text(path: Path) -> pd.DataFrame:
    """Return the cells of a text file as they are written; a cell without a value is NaN."""
    text = _decoded(path)
    separator = "\t" if path.suffix.lower() == ".tsv" else _separator(text)
    try:
        frame = pd.read_csv(
            StringIO(text), sep=separator, header=None, dtype=str, keep_default_na=False, na_values=list(MISSING)
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path}: cannot be read as a table ({str(error).strip().splitlines()[-1]})") from None
    return frame.apply(_with_decimal_point) if separator == ";" else frame


def _separator(text: str) -> str:
    """Return what separates cells: a sign equally often in each of the first lines; the comma may be a decimal one."""
    lines = [line for line in text[: 1 << 16].splitlines() if line.strip()][:5]
    counts = {sign: {line.count(sign) for line in lines} for sign in "\t;|,"}
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


def _is_list(cells: pd.DataFrame, records: int, first: list[str]) -> bool:
    """Return whether the file is a long list: three columns, and by names or length no matrix of three records."""
    if cells.shape[1] != 3:
        return False
    named = all(text.strip().lower() in names for text, names in zip(first, _LIST_NAMES, strict=True))
    return named or records not in (2, 3)


def _matrix_of_cells(cells: pd.DataFrame, names: list[str] | None, ids: Sequence[Hashable], *, name: str) -> FloatArray:
    """Return the numbers of a matrix written as text, in the order that its header or index gives."""
    records = len(ids)
    header: list[Any] | None = names
    if names is None and len(cells) == records + 1:
        header = list(cells.iloc[0])
        cells = cells.iloc[1:]
    index: list[Any] | None = None
    if cells.shape[1] == records + 1:
        index = list(cells.iloc[:, 0])
        cells = cells.iloc[:, 1:]
        header = header[1:] if header is not None else None
    values = _numbers(cells, name)
    if values.shape == (records, records):
        rows, columns = _order(index, ids, name), _order(header, ids, name)
        down, across = rows or columns, columns or rows  # one that names the records speaks for both
        if down and across:
            values = values[np.ix_(down, across)]
    return values


def _order(labels: list[Any] | None, ids: Sequence[Hashable], name: str) -> list[int] | None:
    """Return where each record stands in the file, if the header or index names the records; None if it does not."""
    if labels is None:
        return None
    found = {canonical(label): position for position, label in enumerate(labels)}
    if len(found) != len(ids):
        return None
    if set(found) == set(ids):
        return [found[record] for record in ids]
    shared = set(found) & set(ids)
    if shared and ids != tuple(range(1, len(ids) + 1)):
        lost = next(record for record in ids if record not in found)
        raise InputError(f"{name}: the record {lost!r} of the table is not in the header of the distances")
    return None


def _numbers(cells: pd.DataFrame, name: str) -> FloatArray:
    try:
        return cells.to_numpy(dtype=float)
    except (TypeError, ValueError):
        pass
    parsed = cells.apply(pd.to_numeric, errors="coerce")
    for i, j in np.argwhere((parsed.isna() & cells.notna()).to_numpy()):
        raise InputError(f"{name}: row {i + 1}, column {j + 1} = {cells.iloc[i, j]!r}: not a number")
    return np.asarray(parsed.to_numpy(dtype=float))
