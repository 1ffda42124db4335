"""Parquet files, in which every column has its type; with geometries in them they are read by ``layers``."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pandas as pd
from pyarrow import ArrowException, Table, parquet

from disclique.errors import InputError
from disclique.records.formats import Format, Part, first_line, plain_dates


def _read_records(path: Path, part: Part, rows: int | None) -> pd.DataFrame:
    """Return the records of a file; an index becomes a column, if it has a name."""
    frame = _read_frame(path, rows)
    new = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return plain_dates(frame.reset_index(drop=len(new) != frame.index.nlevels))


def _read_frame(path: Path, rows: int | None = None) -> pd.DataFrame:
    """Return the frame in a file with its index, or the first ``rows`` of it."""
    try:
        if rows is None:
            return pd.read_parquet(path)
        with parquet.ParquetFile(path) as file:
            some = Table.from_batches(list(islice(file.iter_batches(rows), 1)), file.schema_arrow)
            return pd.DataFrame(some.to_pandas())
    except (OSError, ValueError, ArrowException) as error:
        raise InputError("not_a_parquet_file", path=path, why=first_line(error)) from None


def has_geometries(path: Path) -> bool:
    """Return whether the metadata of a file name a column of geometries."""
    try:
        return path.is_file() and b"geo" in (parquet.read_schema(path).metadata or {})
    except (OSError, ArrowException):
        return False


PARQUET = Format(
    (".parquet",),
    "Parquet",
    table=_read_records,
    grid=lambda path, part: _read_frame(path),
    headed=True,
    places=has_geometries,
)
