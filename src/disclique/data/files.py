"""Files in and out: tables, distance matrices and lists; every result is written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.data.distances import Matrix, check_matrix
from disclique.data.generalise import Generaliser
from disclique.data.labels import canonical
from disclique.data.tables import entry_of, from_list, microdata, record_ids
from disclique.errors import InputError
from disclique.model import FloatArray, Microdata

TABLES = (".csv", ".tsv", ".txt", ".parquet")
MATRICES = (*TABLES, ".npy", ".npz")
MISSING = ("", "NA", "NaN")  # cells that hold no value; anything else is a value
_LIST_NAMES = ({"i", "from", "source", "id1"}, {"j", "to", "target", "id2"}, {"distance", "d", "dist", "weight"})


@dataclass(frozen=True)
class Source:
    """Where one side of an attack comes from: a table, and either a file of distances or coordinate columns.

    ``scale`` turns the unit of the distance file into kilometres (1 leaves it as it is).
    """

    table: Path
    distances: Path | None = None
    coordinates: tuple[str, ...] | None = None
    metric: str = "sphere"
    ids: str | None = None
    directed: bool = False
    unpublished: bool = False
    scale: float = 1.0

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return (self.table,) if self.distances is None else (self.table, self.distances)


def read_microdata(source: Source, labels: Sequence[str], generalisers: Sequence[Generaliser] = ()) -> Microdata:
    """Microdata from files; every complaint names the file, row, column and value."""
    name = str(source.table)
    if (source.distances is None) == (source.coordinates is None):
        what = "neither is given" if source.distances is None else "both are given"
        raise InputError(f"{name}: give either a distance file or coordinate columns; {what}")
    frame = read_table(source.table)
    for generaliser in generalisers:
        frame = generaliser.apply(frame, name)
    ids = source.ids if source.ids in frame.columns else None
    if source.distances is None:
        return microdata(frame, labels, coordinates=source.coordinates, metric=source.metric, ids=ids, name=name)
    values, absent = read_distances(
        source.distances, record_ids(frame, ids, name), directed=source.directed, unpublished=source.unpublished
    )
    matrix = Matrix(values * source.scale, source.directed, absent)
    return microdata(frame, labels, distances=matrix, ids=ids, name=name)


def read_table(path: Path) -> pd.DataFrame:
    """The records of a CSV, TSV or Parquet file; text files keep every cell as written."""
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
    """The distances of a file as a square array in the order of ``ids``, and whether absent ones are allowed.

    The file is a square matrix (CSV or TSV with or without a header and an index, NPY, NPZ, Parquet) or a long list
    i, j, distance. A header or index that holds the record ids decides the order.
    """
    _exists(path)
    name, suffix = str(path), path.suffix.lower()
    if suffix in (".npy", ".npz"):
        values = _read_numpy(path)
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
    check_matrix(values, directed=directed, unpublished=unpublished, where=entry_of(name))
    return values, unpublished


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


def _read_numpy(path: Path) -> FloatArray:
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return np.asarray(loaded, dtype=float)
        with loaded:
            if len(loaded.files) != 1:
                raise InputError(f"{path}: holds {len(loaded.files)} arrays; save the distance matrix alone")
            return np.asarray(loaded[loaded.files[0]], dtype=float)
    except (OSError, ValueError, TypeError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a NumPy array of numbers ({str(error).splitlines()[0]})") from None


def _read_text(path: Path) -> pd.DataFrame:
    """The cells of a text file as they are written; a cell without a value is NaN."""
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
    """What parts the cells: a sign that stands equally often in the first lines; the comma may be a decimal one."""
    lines = [line for line in text[: 1 << 16].splitlines() if line.strip()][:5]
    counts = {sign: {line.count(sign) for line in lines} for sign in "\t;|,"}
    return next((sign for sign, found in counts.items() if len(found) == 1 and found != {0}), ",")


def _with_header(cells: pd.DataFrame) -> pd.DataFrame:
    """The table whose column names stand in the first row."""
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
    """Decimal commas turned into points, as semicolon files of many countries need; other cells stay."""
    return column.str.replace(r"^([+-]?\d+),(\d+)$", r"\1.\2", regex=True)


def _plain_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_list(cells: pd.DataFrame, records: int, first: list[str]) -> bool:
    """Whether the file is a long list: three columns, and by its names or its length no matrix of three records."""
    if cells.shape[1] != 3:
        return False
    named = all(text.strip().lower() in names for text, names in zip(first, _LIST_NAMES, strict=True))
    return named or records not in (2, 3)


def _matrix_of_cells(cells: pd.DataFrame, names: list[str] | None, ids: Sequence[Hashable], *, name: str) -> FloatArray:
    """Numbers of a matrix written as text, its header and index found, taken off and used for the order."""
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
    """Where each record stands in the file, if the header or index names the records; None if it does not."""
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


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to; it takes the place of ``path`` only when the block has ended well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        if path.is_dir():
            raise InputError(f"{path}: cannot be written (it is a folder)")
        os.chmod(draft, 0o666 & ~_umask())
        draft.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_writable(paths: Sequence[Path | None]) -> None:
    """Raise before a long run if one of its results could not be written at the end."""
    for path in paths:
        if path is None:
            continue
        folder = path.parent
        while not folder.exists():
            folder = folder.parent
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError(f"{path}: cannot be written")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, TSV or Parquet by the ending of its name."""
    writers: dict[str, Callable[[Path], Any]] = {
        ".csv": lambda to: frame.to_csv(to, index=False),
        ".tsv": lambda to: frame.to_csv(to, index=False, sep="\t"),
        ".parquet": lambda to: frame.to_parquet(to, index=False),
    }
    if path.suffix.lower() not in writers:
        raise InputError(f"{path}: unknown kind of table {path.suffix!r}; use {', '.join(writers)}")
    with whole_file(path) as draft:
        writers[path.suffix.lower()](draft)


def write_json(content: dict[str, Any], path: Path) -> None:
    """Write a result as JSON; numbers that are not finite become null, so that every reader takes it."""
    text = json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(path) as draft:
        draft.write_text(text + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """``value`` in types that JSON has."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (np.bool_, bool)):
        return bool(value)
    if isinstance(value, (np.integer, int)):
        return int(value)
    if isinstance(value, (np.floating, float)):
        return float(value) if np.isfinite(value) else None
    return value if value is None or isinstance(value, str) else str(value)


def sha256(path: Path) -> str:
    """Hash of a file's content, by which a run can be repeated on the same input."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


@cache
def versions() -> dict[str, str]:
    """The versions on which a result depends."""
    import platform
    from importlib.metadata import version

    packages = ("disclique", "numpy", "scipy", "numba", "pandas")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
