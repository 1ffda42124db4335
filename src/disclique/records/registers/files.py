"""A register on disk: which files and row groups it consists of, and how a piece of it is read.

A register is never held as a whole. What is known of it is where its pieces lie; a piece is read in batches of which
places, labels and ids are arrays, and whoever needs something of all people goes over the pieces.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.memory import say_memory
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.coarsening import Generaliser, parse_generaliser
from disclique.records.formats import plain_dates
from disclique.records.formats.projections import LAT, LON, check_degrees, to_degrees
from disclique.records.reading import Layout
from disclique.records.tables import microdata, say_unit
from disclique.spaces import Points
from disclique.values import FloatArray, IntArray, canonical

BATCH = 1 << 18  # records that are in memory at a time
NOBODY = "__HIVE_DEFAULT_PARTITION__"  # how a folder is called whose records have no value

Label = tuple[Hashable | None, ...]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """Some row groups of one file: the records ``first`` to ``first + rows`` of the register.

    ``offset`` is the row of the file at which it begins, ``folders`` are the columns that the names of its folders
    tell.
    """

    path: str
    groups: tuple[int, ...]
    first: int
    rows: int
    offset: int = 0
    folders: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Batch:
    """Some consecutive records: ``labels`` are the distinct ones of the batch, ``codes`` says which each record has."""

    first: int
    coordinates: FloatArray
    labels: list[Label]
    codes: IntArray
    ids: Any = None  # an arrow array, where it was asked for

    def __len__(self) -> int:
        return len(self.codes)

    def classes(self, number: dict[Label, int]) -> Ints:
        """Return the class of each record by the numbers of labels; -1 for a label that has none."""
        found = np.array([number.get(label, -1) for label in self.labels], dtype=np.int64)
        return found[self.codes] if len(found) else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Register:
    """A file or folder of Parquet files with one record per person, read in pieces.

    It knows where its pieces lie and what its columns mean, and holds no record; it can be sent to other processes,
    which need to see the same files. Rows count over all pieces, files in the order of their names.

    >>> import disclique as dq, pandas as pd, tempfile
    >>> path = f"{tempfile.mkdtemp()}/people.parquet"
    >>> dq.survey().to_parquet(path)
    >>> people = dq.read_register(path, ["sex"], coordinates="lon,lat", id="id")
    >>> len(people), [len(batch) for batch in people.batches()]
    (500, [500])
    """

    path: str
    layout: Layout
    pieces: tuple[Piece, ...] = field(repr=False)

    def __len__(self) -> int:
        return self.pieces[-1].first + self.pieces[-1].rows

    def __repr__(self) -> str:
        quasi = ", ".join(self.layout.labels)
        return f"Register({self.name!r}: {len(self):,} records in {len(self.pieces)} pieces, label ({quasi}))"

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.path

    @property
    def metric(self) -> str:
        """How far apart places are."""
        return str(self.layout.metric or "sphere")

    @property
    def unit(self) -> str | None:
        """The unit of its distances; None where nobody said it."""
        return self.place(np.zeros((0, 2))).unit

    @property
    def files(self) -> tuple[Path, ...]:
        """The files it consists of."""
        return tuple(dict.fromkeys(Path(piece.path) for piece in self.pieces))

    def describe(self, memory: int) -> Message:
        """Return how it is read."""
        return Message(
            "register_read", name=self.name, people=len(self), count=len(self.pieces), memory=say_memory(memory)
        )

    def place(self, coordinates: FloatArray) -> Points:
        """Return coordinates, as batches have them, as points."""
        unit = "km" if self.layout.unit == "m" else self.layout.unit
        return Points(coordinates, self.metric, unit=unit if self.metric == "euclidean" else None)

    def batches(self, pieces: Sequence[int] | None = None, *, ids: bool = False) -> Iterator[Batch]:
        """Read the records of some pieces, or of all, in batches."""
        reader = Reader(self)
        for number in range(len(self.pieces)) if pieces is None else pieces:
            for first, columns in self.columns(number, reader.needed + ([str(self.layout.id)] * ids)):
                yield reader.batch(first, columns, ids=ids)

    def columns(self, number: int, names: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Read some columns of a piece: the row at which a batch begins, and arrow arrays by name."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        piece = self.pieces[number]
        told = dict(piece.folders)
        wanted = [name for name in dict.fromkeys(names) if name not in told]
        first = piece.first
        try:
            with pq.ParquetFile(piece.path) as file:
                for batch in file.iter_batches(BATCH, row_groups=list(piece.groups), columns=wanted):
                    found = {name: batch.column(place) for place, name in enumerate(batch.schema.names)}
                    found |= {name: _repeat(told[name], batch.num_rows) for name in names if name in told}
                    yield first, found
                    first += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            raise InputError("piece_not_readable", path=piece.path, why=str(error).splitlines()[0]) from None
        if first != piece.first + piece.rows:
            raise InputError("piece_changed", path=piece.path)

    def find_pieces(self, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """Yield the pieces that hold ``rows``, ascending, with the places in ``rows`` that each holds."""
        start = np.array([piece.first for piece in self.pieces])
        which = np.searchsorted(start, rows, side="right") - 1
        for number in np.unique(which):
            yield int(number), np.flatnonzero(which == number)

    def take(self, rows: Ints) -> Microdata:
        """Return some records, rows ascending, as microdata: with what labels, ids and coordinates need."""
        layout = self.layout
        names = [*Reader(self).needed, *([] if layout.id is None else [layout.id])]
        return to_microdata(self.take_columns(rows, list(dict.fromkeys(names))), layout, self.name)

    def take_columns(self, rows: Ints, names: Sequence[str]) -> pd.DataFrame:
        """Return columns of some records, rows ascending, as a frame."""
        import pyarrow as pa

        parts = []
        for number, places in self.find_pieces(rows):
            wanted = rows[places]
            for first, found in self.columns(number, names):
                size = len(found[names[0]])
                here = wanted[(wanted >= first) & (wanted < first + size)] - first
                if len(here):
                    parts.append(pa.table({name: found[name].take(pa.array(here)) for name in names}).to_pandas())
        frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(names))
        for name in frame.columns:
            if isinstance(frame[name].dtype, pd.CategoricalDtype):
                frame[name] = frame[name].astype(object)
        return plain_dates(frame)

    def read_whole(self) -> Microdata:
        """Return all records as microdata, with all columns, as ``read`` returns a file; for small ones."""
        names = [*self.schema, *(name for name, _ in self.pieces[0].folders)]
        return to_microdata(self.take_columns(np.arange(len(self)), names), self.layout, self.name)

    @cached_property
    def schema(self) -> tuple[str, ...]:
        """The columns of its files."""
        import pyarrow.parquet as pq

        return tuple(pq.read_schema(self.pieces[0].path).names)


def _repeat(value: str, many: int) -> Any:
    """Return the value that the name of a folder tells, for all of its records."""
    import pyarrow as pa

    if value == NOBODY:
        return pa.nulls(many, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(many, np.int32)), pa.array([value], pa.string()))


def to_microdata(frame: pd.DataFrame, layout: Layout, name: str) -> Microdata:
    """Return records of a register as microdata, as ``read`` does for a file."""
    places = layout.coordinates
    if layout.crs is not None and places is not None:
        frame, places = to_degrees(frame, places, layout.crs, name), (LON, LAT)
    for rule in map(parse_generaliser, layout.generalise):
        frame = rule.apply(frame, name)
    id = layout.id if layout.id in frame.columns else None
    return microdata(
        frame, layout.labels, coordinates=places, metric=layout.metric, ids=id, unit=layout.unit, name=name
    )


class Reader:
    """Turns columns of a register into batches."""

    def __init__(self, register: Register) -> None:
        self.register, self.layout = register, register.layout
        there = {*register.schema, *(name for name, _ in register.pieces[0].folders)}
        rules = {rule.into: rule for rule in map(parse_generaliser, self.layout.generalise)}
        self.rules: list[Generaliser | None] = []
        self.sources: list[str] = []
        for label in self.layout.labels:
            rule = rules.get(label)
            made = rule is not None and (rule.source in there or label not in there)
            self.rules.append(rule if made else None)
            self.sources.append(rule.source if rule is not None and made else label)
        self.coordinates = [str(column) for column in self.layout.coordinates or ()]

    @property
    def needed(self) -> list[str]:
        """The columns to be read."""
        return list(dict.fromkeys([*self.coordinates, *self.sources]))

    def batch(self, first: int, columns: dict[str, Any], *, ids: bool) -> Batch:
        """Return a batch from its columns."""
        places = self._places(first, columns)
        labels, codes = self._labels(columns, len(places))
        return Batch(first, places, labels, codes, columns[str(self.layout.id)] if ids else None)

    def _places(self, first: int, columns: dict[str, Any]) -> FloatArray:
        register, layout = self.register, self.layout
        numbers = np.column_stack([self._numbers(first, name, columns[name]) for name in self.coordinates])
        if layout.crs is not None:
            frame = to_degrees(
                pd.DataFrame(numbers, columns=self.coordinates), self.coordinates, layout.crs, register.name
            )
            return frame[[LON, LAT]].to_numpy(dtype=float)
        if register.metric in GEOGRAPHIC:
            check_degrees(numbers, register.name, self.coordinates, first=first)
        elif layout.unit is not None:
            return np.asarray(say_unit(Points(numbers, register.metric), layout.unit, register.name).coordinates)  # type: ignore[attr-defined]
        return numbers

    def _numbers(self, first: int, name: str, column: Any) -> FloatArray:
        """Return the numbers of a column; refuse what is none."""
        import pyarrow as pa

        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            found = np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)
        else:
            found = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        for row in np.flatnonzero(~np.isfinite(found)):
            value = column[int(row)].as_py() if column[int(row)].is_valid else np.nan
            raise InputError(
                "cell_not_finite", file=self.register.name, row=first + int(row) + 1, column=name, value=value
            )
        return found

    def _labels(self, columns: dict[str, Any], size: int) -> tuple[list[Label], IntArray]:
        """Return the distinct labels and which of them each record has."""
        codes, shown = np.zeros(size, np.int64), []
        for source, rule in zip(self.sources, self.rules, strict=True):
            code, values = self._values(source, rule, columns[source])
            shown.append((code, values))
            codes = np.unique(codes * len(values) + code, return_inverse=True)[1].astype(np.int64).ravel()
        who = np.unique(codes, return_index=True)[1] if size else np.zeros(0, np.int64)
        labels = [tuple(values[code[row]] for code, values in shown) for row in who]
        return labels, codes.astype(np.int32)

    def _values(self, source: str, rule: Generaliser | None, column: Any) -> tuple[Ints, list[Hashable | None]]:
        """Return a code for each record, and the canonical values of the codes."""
        import pyarrow as pa

        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        index = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False).astype(np.int64)
        frame = plain_dates(pd.DataFrame({source: pd.Series(coded.dictionary.to_pylist(), dtype=object)}))
        plain = [*(canonical(value) for value in frame[source]), None]
        if rule is not None:
            plain = [None if value is None else self._generalise(rule, value) for value in plain]
        number: dict[Hashable | None, int] = {}
        recoded = np.array([number.setdefault(value, len(number)) for value in plain], dtype=np.int64)
        return recoded[index], list(number)

    def _generalise(self, rule: Generaliser, value: Hashable) -> Hashable | None:
        try:
            return canonical(rule.rule(value))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                "value_not_generalised", file=self.register.name, column=rule.source, value=value, why=error
            ) from None
