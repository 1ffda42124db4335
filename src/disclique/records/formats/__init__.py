"""File formats: a registry of readers by the ending of a file. Nothing here knows what the columns mean.

Every table comes in through ``read_table``, whatever its kind, so that it means the same from CSV, a spreadsheet,
Stata, SPSS or SAS. Every ``Format`` that a module of this folder holds is read; commands, the app and messages list and
open what is there, so that one more format is one more value in one file.
"""

from __future__ import annotations

import datetime as dt
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError, MissingDependency
from disclique.messages import Message, mark
from disclique.values import canonical

MISSING = ("", "NA", "NaN")  # cells of text that hold no value; anything else is a value
DAY = (dt.date, dt.datetime, pd.Timestamp)
SHEET, LAYER = "sheet", "layer"
# What is not read, and what to do about it.
UNREAD = MappingProxyType(
    dict.fromkeys((".xls", ".ods", ".numbers"), Message("save_from_spreadsheet"))
    | dict.fromkeys((".rds", ".rdata"), Message("save_from_r"))
)


@dataclass(frozen=True)
class Part:
    """Which part of a file is meant, and in which words: the sheet of a workbook, the layer, codes or their labels."""

    sheet: str | None = None
    layer: str | None = None
    codes: bool = False


UNSAID = Part()


@dataclass(frozen=True)
class PlaceColumns:
    """Two columns of a table that are places, and how a file of geometries holds them.

    ``crs`` is the reference system of their numbers, None where they have none; ``geometry`` and ``layer`` are what
    the column of geometries and the layer are called; ``given`` says that they come from a file of geometries.
    """

    names: tuple[str, str]
    crs: str | None = None
    geometry: str = "geometry"
    layer: str | None = None
    given: bool = False


Reader = Callable[[Path, Part, int | None], pd.DataFrame]


@dataclass(frozen=True)
class Format:
    """A kind of file, and what can be read of it.

    ``table`` reads records, of a large file at least the first ``rows`` if not all are wanted. ``grid`` reads what may
    be a matrix or list of distances, as it is written; with ``headed`` the names of its columns stand above it.
    ``array`` reads numbers alone. ``parts`` lists what a file has several of, which is called ``section``; ``places``
    says whether a file holds geometries. With ``family`` files of the same name belong to it. ``extra`` is the extra
    of this package that has what the reader imports, ``begins`` the beginning of a large file cut where a row ends.
    In one that is ``typed`` numbers are no texts. ``write`` writes a table, under the endings ``written``;
    ``write_places`` one in which two columns are places, as geometries.
    """

    suffixes: tuple[str, ...]
    name: str
    table: Reader | None = None
    grid: Callable[[Path, Part], pd.DataFrame] | None = None
    headed: bool = False
    array: Callable[[Path], NDArray[Any]] | None = None
    parts: Callable[[Path], tuple[str, ...]] | None = None
    section: str = ""
    places: Callable[[Path], bool] | None = None
    family: bool = False
    extra: str | None = None
    begins: Callable[[Path, int], bytes | None] | None = None
    typed: bool = True
    write: Callable[[pd.DataFrame, Path], None] | None = None
    written: tuple[str, ...] = ()
    write_places: Callable[[pd.DataFrame, Path, PlaceColumns], None] | None = None


@cache
def formats() -> MappingProxyType[str, Format]:
    """Return every format by its endings: what needs no extra first, what has geometries last."""
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    known = [one for module in modules for one in vars(module).values() if isinstance(one, Format)]
    ordered = sorted(known, key=lambda one: (one.grid is None, one.extra is not None))
    return MappingProxyType({suffix: one for one in ordered for suffix in one.suffixes})


def format_of(path: Path) -> Format | None:
    """Return the format of a file by its ending; None where nothing reads it."""
    return formats().get(path.suffix.lower())


def list_suffixes(wanted: Callable[[Format], bool] = lambda one: True) -> tuple[str, ...]:
    """Return the endings of formats that can do what is wanted.

    >>> list_suffixes(lambda one: one.array is not None)
    ('.npy', '.npz')
    """
    return tuple(suffix for suffix, one in formats().items() if wanted(one))


def list_written(*, places: bool = False) -> tuple[str, ...]:
    """Return the endings under which tables are written, or those whose files can hold places as geometries.

    >>> list_written()
    ('.csv', '.tsv', '.parquet', '.xlsx', '.dta', '.json')
    """
    known = formats().items()
    if places:
        return tuple(suffix for suffix, one in known if one.write_places is not None)
    return tuple(suffix for suffix, one in known if suffix in one.written)


def refuse(path: Path, code: str, wanted: Callable[[Format], bool]) -> InputError:
    """Return the error for a file that nothing reads as what is wanted."""
    return InputError(
        code, path=path, suffix=path.suffix, known=list_suffixes(wanted), advice=UNREAD.get(path.suffix.lower())
    )


def no_column(file: str, column: object, there: Iterable[object]) -> InputError:
    """Return the error for a column that a table does not have."""
    return InputError("no_such_column", file=file, column=column, columns=[repr(str(name)) for name in there])


def need(package: str, path: Path) -> ModuleType:
    """Return a package that a reader needs; an error that says which extra has it, if it is not there."""
    try:
        return import_module(package)
    except ImportError:
        found = format_of(path)
        extra = "geo" if found is None or found.extra is None else found.extra  # geometries in a Parquet file
        raise MissingDependency("packages_missing", path=path, extra=extra) from None


def read_table(path: Path, part: Part = UNSAID, *, rows: int | None = None) -> pd.DataFrame:
    """Return the records of a file, or at least its first ``rows``; text files keep every cell as written.

    Geometries are left out.
    """
    check_there(path)
    found = format_of(path)
    if found is None or found.table is None:
        raise refuse(path, "unknown_table", lambda one: one.table is not None)
    frame = found.table(path, part, rows)
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise InputError("file_without_records", path=path)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError("columns_of_one_name", path=path, column=twice[0])
    return frame


def has_places(path: Path) -> bool:
    """Return whether a file holds geometries, from which places come."""
    found = format_of(path)
    return found is not None and found.places is not None and found.places(path)


def list_parts(path: Path) -> tuple[str, ...]:
    """Return the sheets or layers of a file, if it has several; none of one that cannot be read: reading says why."""
    found = format_of(path)
    parts = () if found is None or found.parts is None else found.parts(path)
    return parts if len(parts) > 1 else ()


WHICH_PART = {"sheet": mark("say_which_sheet"), "layer": mark("say_which_layer")}
NO_SUCH_PART = {"sheet": mark("no_such_sheet"), "layer": mark("no_such_layer")}


def choose_part(path: Path, section: str, names: list[str], wanted: str | None) -> str:
    """Return the sheet or layer that is meant; of several it has to be said."""
    if len(names) == 1 or wanted in names:
        return names[0] if len(names) == 1 else str(wanted)
    there = {"path": path, f"{section}s": list(map(repr, names))}
    if wanted is None:
        raise InputError(WHICH_PART[section], **there)
    raise InputError(NO_SUCH_PART[section], **there, **{section: wanted})


def check_there(path: Path) -> None:
    """Raise an error unless there is a file with something in it."""
    if not path.exists():
        raise InputError("no_such_file", path=path)
    if path.is_dir():
        raise InputError("folder_not_file", path=path)
    if path.stat().st_size == 0:
        raise InputError("file_empty", path=path)


def first_line(error: Exception) -> str:
    """Return the first line of what another package says of a file."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def as_text(value: Any) -> Any:
    """Return a value as text, as a CSV file would have it; NaN stays NaN."""
    if value is pd.NaT:
        return np.nan
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(sep=" ")
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    plain = canonical(value)
    return np.nan if plain is None else plain if isinstance(plain, str) else str(plain)


def plain_dates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its columns of dates as text, year-month-day, as other kinds of files have them."""
    changed = {}
    for name, column in frame.items():
        dates = pd.api.types.is_datetime64_any_dtype(column.dtype)
        if column.dtype == object:
            there = column[column.notna()]
            dates = bool(len(there)) and all(isinstance(value, DAY) for value in there)
        if dates:
            changed[name] = column.map(as_text, na_action="ignore").astype(object)
    return frame.assign(**changed) if changed else frame  # type: ignore[arg-type]
