"""Parquet files, in which every column has its type; with geometries in them they are read by ``layers``."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyarrow import ArrowException, Table, parquet

from disclique.errors import InputError
from disclique.records.formats import Format, Part, check_there, first_line, plain_dates
from disclique.records.formats.layers import write_layer


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
    write=lambda frame, path: frame.to_parquet(path, index=False),
    written=(".parquet",),
    write_places=write_layer,
)


def read_array(path: Path) -> NDArray[Any]:
    """Return the one array of numbers in a file."""
    check_there(path)
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _of_numbers(loaded)
        with loaded:
            if len(loaded.files) != 1:
                raise InputError("several_arrays", path=path, count=len(loaded.files))
            return _of_numbers(loaded[loaded.files[0]])
    except (OSError, ValueError, TypeError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("not_a_numpy_array", path=path, why=first_line(error)) from None


def _of_numbers(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.kind in "buif" else np.asarray(array, dtype=float)


NUMPY = Format((".npy", ".npz"), "NumPy", array=read_array)
