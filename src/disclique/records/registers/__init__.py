"""Registers: files of millions of people, read in pieces and never held as a whole.

A register is opened here, of which only the ends of the files are read; ``files`` says what it consists of and reads
its pieces, ``streams`` goes over all of them (one task a piece, wherever tasks run), sums up what they tell and finds
single people. Nothing here attacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from disclique.arguments import check_path
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.model import Microdata
from disclique.records.placing import check_order
from disclique.records.reading import OTHER_NAMES, Layout, read
from disclique.records.registers.files import Batch, Label, Piece, Reader, Register
from disclique.records.registers.streams import (
    InTurn,
    Records,
    Survey,
    check_column,
    draw_people,
    find_people,
    is_drawn,
    name_people,
    stream,
    survey_register,
)

__all__ = [
    "Batch",
    "InTurn",
    "Label",
    "Piece",
    "Records",
    "Register",
    "Survey",
    "check_column",
    "draw_people",
    "find_people",
    "is_drawn",
    "name_people",
    "open_register",
    "read_known",
    "read_register",
    "stream",
    "survey_register",
]

WHOLE = 200_000  # records up to which a file is read as a whole, so that every attack applies
PIECE = 1 << 18  # records of a piece, about: the row groups of a file that are one task
MOST_ROWS = 2**31 - 1  # records: rows are counted in 32 bits
SUFFIXES = (".parquet", ".pq")


def read_register(
    path: str | PathLike[str],
    labels: Sequence[str] = (),
    *,
    coordinates: str | Sequence[str],
    id: str | None = None,
    **columns: Any,
) -> Register:
    """Open a register: a Parquet file, or a folder of them whose subfolders may be called ``column=value``.

    Only the ends of the files are read now. ``coordinates`` are longitude and latitude, or two columns of a plane with
    ``metric="euclidean"``; further ``columns`` are fields of ``Layout``: metric, crs, unit, generalise.

    >>> import disclique as dq, tempfile
    >>> path = f"{tempfile.mkdtemp()}/people.parquet"
    >>> dq.survey().to_parquet(path)
    >>> len(read_register(path, ["sex"], coordinates=["lon", "lat"], id="id"))
    500
    """
    named = {OTHER_NAMES.get(name, name): value for name, value in columns.items()}
    return open_register(
        check_path(path, "path"), Layout(**{"labels": labels, "coordinates": coordinates, "id": id, **named})
    )


def open_register(path: Path, layout: Layout, *, piece: int = PIECE) -> Register:
    """Open a register by a layout, in pieces of about so many records; refuse what cannot be one."""
    if not layout.coordinates or len(layout.coordinates) != 2 or layout.text or layout.encodings is not None:
        raise InputError("register_needs_coordinates", path=path)
    metric = str(layout.metric or "sphere")
    if callable(layout.metric) or metric not in (*GEOGRAPHIC, "euclidean"):
        raise InputError("register_metric", path=path, metric=metric)
    if layout.crs is not None and metric not in GEOGRAPHIC:
        raise InputError("earth_needs_its_metric", path=path)
    if layout.crs is None:
        check_order(layout.coordinates, metric, str(path))
    pieces: list[Piece] = []
    for file in find_files(path):
        first = pieces[-1].first + pieces[-1].rows if pieces else 0
        pieces += _cut(file, _folders(file, path), first, piece)
    if not pieces or not sum(piece.rows for piece in pieces):
        raise InputError("register_without_records", path=path)
    found = Register(str(path), layout, tuple(pieces))
    if len(found) > MOST_ROWS:
        raise InputError("register_too_long", path=path, records=len(found), most=MOST_ROWS)
    _check_columns(found)
    return found


def find_files(path: Path) -> list[Path]:
    """Return the Parquet files of a path, in the order of their names; hidden ones and those of ``_`` are no data."""
    if not path.exists():
        raise InputError("no_such_file", path=path)
    if path.is_file():
        return [path.absolute()]
    inner = sorted(path.rglob("*"), key=lambda one: one.relative_to(path).parts)
    found = [
        one.absolute()
        for one in inner
        if one.suffix.lower() in SUFFIXES
        and one.is_file()
        and not any(part.startswith(("_", ".")) for part in one.relative_to(path).parts)
    ]
    if not found:
        raise InputError("no_parquet_in_folder", path=path)
    return found


def _folders(file: Path, path: Path) -> tuple[tuple[str, str], ...]:
    """Return the columns that the folders between ``path`` and a file tell."""
    if not path.is_dir():
        return ()
    parts = [part.partition("=") for part in file.relative_to(path.absolute()).parts[:-1]]
    return tuple((unquote(name), unquote(value)) for name, sign, value in parts if sign)


def _cut(file: Path, folders: tuple[tuple[str, str], ...], first: int, most: int) -> Iterator[Piece]:
    """Yield the pieces of a file, each of as many row groups as have ``most`` records at the most."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as opened:
            sizes = [opened.metadata.row_group(number).num_rows for number in range(opened.metadata.num_row_groups)]
    except (OSError, pa.ArrowException) as error:
        raise InputError("not_a_parquet_file", path=file, why=str(error).splitlines()[0]) from None
    groups: list[int] = []
    rows, offset = 0, 0
    for number, size in enumerate(sizes):
        if groups and rows + size > most:
            yield Piece(str(file), tuple(groups), first + offset, rows, offset, folders)
            groups, rows, offset = [], 0, offset + rows
        groups.append(number)
        rows += size
    if rows:
        yield Piece(str(file), tuple(groups), first + offset, rows, offset, folders)


def _check_columns(register: Register) -> None:
    """Refuse a register one of whose files lacks a column that is asked for."""
    import pyarrow.parquet as pq

    layout, reader = register.layout, Reader(register)
    wanted = [*reader.needed, *([] if layout.id is None else [layout.id])]
    for file in register.files:
        told = next(dict(piece.folders) for piece in register.pieces if piece.path == str(file))
        names = pq.read_schema(file).names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError("columns_of_one_name", path=file, column=twice)
        for name in wanted:
            if name not in names and name not in told and not (name == layout.id and layout.id_optional):
                there = [repr(one) for one in (*names, *told)]
                raise InputError("no_such_column", file=str(file), column=name, columns=there)


def read_known(path: Path, **columns: Any) -> Microdata | Register:
    """Read a file as ``read`` does; one that is large, or a folder of Parquet files, as a register."""
    layout = {name: value for name, value in columns.items() if name not in ("distances", "vectors")}
    alone = columns.get("distances") is None and columns.get("vectors") is None and layout.get("coordinates")
    alone = alone and not any(layout.get(name) for name in ("numbers", "near"))  # such a file is read whole
    if not alone or not (path.is_dir() or is_large(path)):
        return read(path, **columns)
    found = open_register(path, Layout(**layout))
    return found if len(found) > WHOLE else found.read_whole()


def is_large(path: Path) -> bool:
    """Return True for a file or folder that is to be read in pieces: Parquet, of more than ``WHOLE`` records."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_dir() and path.suffix.lower() not in SUFFIXES:
        return False
    try:
        return bool(sum(pq.read_metadata(file).num_rows for file in find_files(path)) > WHOLE)
    except (OSError, pa.ArrowException):
        return False  # whoever reads it says why it cannot be read
