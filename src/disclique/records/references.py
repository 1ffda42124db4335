"""Distances to public reference strings or vectors, in whatever space the records are: numbers like any other.

Reference-based encodings and embeddings by known sets release, instead of names or vectors, how far each lies from
references that everybody has. The snooper computes the same from their own names or vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from disclique.errors import InputError
from disclique.model import Microdata
from disclique.numbers import NumberColumn, Numbers
from disclique.records.companions import numbers_in
from disclique.records.formats import no_column, read_table
from disclique.spaces.base import Distances, in_parts
from disclique.spaces.strings import texts_of
from disclique.units import KM, NO_UNIT
from disclique.values import FloatArray

BLOCK = 2_000_000  # distances at a time
ARRAYS = (".npy",)


@dataclass(frozen=True, eq=False)
class Reference:
    """One reference: ``row`` of ``references``, which are records of the same space as those that are measured."""

    references: Distances
    row: int
    by_place: ClassVar[bool] = False
    by_record: ClassVar[bool] = True
    in_length: ClassVar[bool] = False

    def measure(self, records: Distances, ids: Any = ()) -> FloatArray:
        """Return how far each record lies from the reference."""
        both = records.join(self.references)
        there = np.array([records.size + self.row], dtype=np.int32)
        rows = np.arange(records.size, dtype=np.int32)
        parts = [both.block(some, there)[:, 0] for _, some in in_parts(rows, 1, BLOCK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def digest(self) -> str:
        """What tells it from every other."""
        return repr((self.references.content(), self.row))


def add_references(data: Microdata, asked: tuple[str, ...]) -> Microdata:
    """Return a file with a column ``NAME_1``, ``NAME_2``, … for each reference of the files asked for."""
    for spec in asked:
        name, equals, source = spec.partition("=")
        if not (equals and name.strip() and source.strip()):
            raise InputError("reference_form", spec=spec)
        data = _add(data, name.strip(), _read_references(Path(source.strip()), data))
    return data


def _add(data: Microdata, name: str, references: Distances) -> Microdata:
    unit = KM if data.distances.unit == KM else NO_UNIT
    made = []
    for row in range(references.size):
        near = Reference(references, row)
        made.append(NumberColumn(f"{name}_{row + 1}", near.measure(data.distances), unit, near=near))
    return replace(data, numbers=data.numbers.beside(Numbers(tuple(made))))


def _read_references(path: Path, data: Microdata) -> Distances:
    """Read references of the kind of the records: strings from columns of the same names, or rows of numbers."""
    if not path.is_file():
        raise InputError("no_such_file", path=path)
    texts, vectors = data.distances.texts(), data.distances.vectors()
    if texts is not None:
        table = read_table(path)
        columns = list(texts.columns) if set(texts.columns) <= set(table.columns) else list(table.columns)
        if len(columns) != len(texts.columns) and len(columns) != 1:
            raise no_column(str(path), texts.columns[0], table.columns)
        return replace(texts_of(table, columns, texts.metric, name=str(path)), columns=texts.columns)
    if vectors is None:
        raise InputError("references_need_records", file=data.name)
    if path.suffix.lower() in ARRAYS:
        values = np.load(path, allow_pickle=False)
    else:
        table = read_table(path)
        values = np.column_stack([numbers_in(table[column], str(path)) for column in table.columns])
    values = np.asarray(values, dtype=float)
    width = vectors.coordinates.shape[1]
    if values.ndim != 2 or values.shape[1] != width or not np.isfinite(values).all():
        raise InputError("references_of_other_width", path=path, wanted=width, shape=str(values.shape))
    return replace(vectors, coordinates=values)
