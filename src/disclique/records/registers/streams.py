"""Going over a register: one task per piece, what all of its people tell together, and single people found in it.

The first stream counts labels, finds the extent and draws a sample. Which people are in the sample follows from their
row numbers alone, so that it is the same however the register is cut and wherever the pieces are read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Executor, Microdata
from disclique.records.registers.files import Label, Register
from disclique.records.tables import select_records
from disclique.spaces import Points
from disclique.values import FloatArray, canonical

Ints = NDArray[np.int64]
R = TypeVar("R")
LOOK = 20_000  # people who are looked at before the work begins
SEED = 0x5DEECE66D  # of the sample; not of anything that is published
UNUSUAL = r"^\+|^-0|[.eE]"  # numbers written in another way than a program would: 14.0, +14, 1e3
MORE = 6.0  # standard deviations by which more are drawn than are wanted, so that there are enough


class InTurn:
    """One item after the other, in this process."""

    parallel = 1

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Return the results in the order of the items."""
        return map(function, items)


def stream(
    register: Register,
    function: Callable[[Register, int], R],
    *,
    mapper: Executor,
    told: Callable[[float], None] | None = None,
) -> Iterator[tuple[int, R]]:
    """Yield ``function(register, piece)`` for every piece as results come in; ``told`` hears which share is done."""
    many = len(register.pieces)
    for done, result in enumerate(mapper.map(partial(_run_piece, function, register), range(many)), 1):
        if told is not None:
            told(done / many)
        yield result


def _run_piece(function: Callable[[Register, int], R], register: Register, piece: int) -> tuple[int, R]:
    return piece, function(register, piece)


def mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look like chance, different ones for different numbers (splitmix64)."""
    with np.errstate(over="ignore"):
        z = numbers + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def is_drawn(rows: Ints, share: float, seed: int = SEED) -> NDArray[np.bool_]:
    """Return which rows a sample of this share takes; a smaller sample is a part of a larger one."""
    if share >= 1:
        return np.ones(len(rows), dtype=bool)
    start = mix(np.array([seed], dtype=np.uint64))[0]
    with np.errstate(over="ignore"):
        return np.asarray(mix(rows.astype(np.uint64) ^ start) < np.uint64(int(share * 2.0**64)))


@dataclass(frozen=True, eq=False)
class Records:
    """Some records of a register: rows ascending, places, and the classes of their labels."""

    rows: Ints
    coordinates: FloatArray
    classes: Ints

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def join(parts: Iterable[Records]) -> Records:
        """Join records of several pieces, in the order of their rows."""
        listed = list(parts)
        if not listed:
            return Records(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros(0, np.int64))
        rows = np.concatenate([part.rows for part in listed])
        order = np.argsort(rows, kind="stable")
        places = np.concatenate([part.coordinates for part in listed])
        return Records(rows[order], places[order], np.concatenate([part.classes for part in listed])[order])

    def select(self, which: NDArray[Any]) -> Records:
        """Return some of them."""
        return Records(self.rows[which], self.coordinates[which], self.classes[which])


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first stream tells of a register: its labels and how many people have each, its extent, a sample."""

    register: Register
    labels: tuple[Label, ...]  # in the order of their first records
    counts: Ints
    firsts: Ints  # row of the first record of each label
    homes: FloatArray  # and its place
    low: FloatArray
    high: FloatArray
    sample: Records
    share: float  # of the register that the sample was drawn with
    number: dict[Label, int] = field(repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.register)

    @property
    def whole(self) -> bool:
        """True if the sample is everybody."""
        return len(self.sample) == len(self.register)

    @property
    def points(self) -> Points:
        """The places of the sample."""
        return self.register.place(self.sample.coordinates)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The distinct labels, one row each."""
        names = list(self.register.layout.labels)
        columns = {name: [label[k] for label in self.labels] for k, name in enumerate(names)}
        index = range(len(self.labels))
        return pd.DataFrame(columns, index=index, columns=names, dtype=object)

    @cached_property
    def look(self) -> Microdata:
        """Some people to be looked at, drawn by chance, and for every value of a label somebody who has it.

        They are named by their rows.
        """
        drawn = self.sample.select(is_drawn(self.sample.rows, LOOK / max(len(self), 1)))
        rare: dict[tuple[int, Any], int] = {}
        for number, label in enumerate(self.labels):
            for column, value in enumerate(label):
                rare.setdefault((column, value), number)
        more = np.array(sorted(set(rare.values()) or {0}), dtype=np.int64)
        more = more[~np.isin(self.firsts[more], drawn.rows)]
        return self.name_rows(Records.join([drawn, Records(self.firsts[more], self.homes[more], more)]))

    def name_rows(self, people: Records) -> Microdata:
        """Return some records as microdata, named by their rows, from 1."""
        labels = self.frame.iloc[people.classes].reset_index(drop=True)
        ids = tuple((people.rows + 1).tolist())
        return Microdata(labels, labels, self.register.place(people.coordinates), ids, self.register.name)


@dataclass(frozen=True, eq=False)
class _Part:
    """What one piece tells."""

    labels: dict[Label, list[Any]]  # how many have it, the row of the first, and its place
    low: FloatArray
    high: FloatArray
    rows: Ints
    coordinates: FloatArray
    codes: Ints
    ids: NDArray[np.uint64]  # a hash of each


def survey_register(
    register: Register, size: int, *, mapper: Executor | None = None, told: Callable[[float], None] | None = None
) -> Survey:
    """Go over a register once: count its labels, find its extent, check its ids and draw ``size`` people, about."""
    share = min(size / max(len(register), 1), 1.0)
    parts = dict(stream(register, partial(_survey_piece, share=share), mapper=mapper or InTurn(), told=told))
    return _join_parts(register, [parts[k] for k in range(len(parts))], share)


def _survey_piece(register: Register, piece: int, *, share: float) -> _Part:
    named = register.layout.id is not None and register.layout.id in _columns_of(register)
    labels: dict[Label, list[Any]] = {}
    rows, places, codes, ids = [], [], [], []
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for batch in register.batches([piece], ids=named):
        count = np.bincount(batch.codes, minlength=len(batch.labels))
        first = np.unique(batch.codes, return_index=True)[1]
        for label, many, row in zip(batch.labels, count.tolist(), first.tolist(), strict=True):
            labels.setdefault(label, [0, batch.first + row, batch.coordinates[row]])[0] += many
        number = {label: place for place, label in enumerate(labels)}
        everybody = batch.first + np.arange(len(batch), dtype=np.int64)
        drawn = np.flatnonzero(is_drawn(everybody, share))
        low, high = (
            np.minimum(low, batch.coordinates.min(axis=0)),
            np.maximum(high, batch.coordinates.max(axis=0)),
        )
        rows.append(everybody[drawn])
        places.append(batch.coordinates[drawn])
        codes.append(batch.classes(number)[drawn])
        if named:
            ids.append(_hash_ids(register, batch.first, batch.ids))
    return _Part(
        labels,
        low,
        high,
        np.concatenate(rows),
        np.concatenate(places),
        np.concatenate(codes),
        np.concatenate(ids) if ids else np.zeros(0, np.uint64),
    )


def _columns_of(register: Register) -> set[str]:
    return {*register.schema, *(name for name, _ in register.pieces[0].folders)}


def _hash_ids(register: Register, first: int, column: Any) -> NDArray[np.uint64]:
    """Return a hash of every id; refuse one that is missing."""
    import pyarrow as pa

    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise InputError("id_missing", file=register.name, row=first + row + 1, column=register.layout.id)
    if pa.types.is_integer(column.type):
        return mix(column.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64))
    return np.asarray(pd.util.hash_array(column.to_numpy(zero_copy_only=False), categorize=False))


def _join_parts(register: Register, parts: list[_Part], share: float) -> Survey:
    number: dict[Label, int] = {}
    counts: list[int] = []
    firsts: list[int] = []
    homes: list[FloatArray] = []
    found = []
    for part in parts:
        for label, (many, first, home) in sorted(part.labels.items(), key=lambda one: one[1][1]):
            place = number.setdefault(label, len(number))
            if place == len(counts):
                counts.append(0)
                firsts.append(first)
                homes.append(home)
            counts[place] += many
        own = np.array([number[label] for label in part.labels], dtype=np.int64)
        found.append(Records(part.rows, part.coordinates, own[part.codes] if len(part.codes) else part.codes))
    _check_ids(register, np.concatenate([part.ids for part in parts]))
    return Survey(
        register,
        tuple(number),
        np.array(counts, dtype=np.int64),
        np.array(firsts, dtype=np.int64),
        np.array(homes).reshape(-1, 2),
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        Records.join(found),
        share,
        number,
    )


def _check_ids(register: Register, hashed: NDArray[np.uint64]) -> None:
    """Refuse an id that stands in two rows."""
    if not len(hashed):
        return
    ordered = np.sort(hashed)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    for value in np.unique(twice)[:100].tolist():
        rows = np.flatnonzero(hashed == np.uint64(value))
        column = str(register.layout.id)
        ids = [canonical(one) for one in register.take_columns(rows, [column])[column]]
        seen: dict[Any, int] = {}
        for row, one in zip(rows.tolist(), ids, strict=True):
            if seen.setdefault(one, row) != row:
                twice = {"row": row + 1, "column": column, "value": one, "first": seen[one] + 1}
                raise InputError("id_twice", file=register.name, **twice)


def name_people(register: Register, rows: Ints) -> tuple[Hashable, ...]:
    """Return the ids of some rows, in their order; row numbers from 1 where the register has no ids."""
    column = register.layout.id
    if column is None or not len(rows):
        return tuple((rows + 1).tolist())
    ascending, place = np.unique(rows, return_inverse=True)
    named = [canonical(value) for value in register.take_columns(ascending, [column])[column]]
    return tuple(named[k] for k in place.ravel())


def find_people(
    register: Register, people: Iterable[Hashable | None], column: str, *, mapper: Executor | None = None
) -> dict[Hashable, int]:
    """Find the rows of some people by a column that says who is who; refuse one who stands in two rows."""
    wanted = frozenset(person for person in people if person is not None)
    parts = dict(stream(register, partial(_find_in_piece, wanted=wanted, column=column), mapper=mapper or InTurn()))
    rows: dict[Hashable, int] = {}
    for number in range(len(parts)):
        for person, row in parts[number]:
            if rows.setdefault(person, row) != row:
                raise InputError(
                    "person_stands_twice", person=person, first=rows[person] + 1, row=row + 1, name="known"
                )
    return rows


def _find_in_piece(
    register: Register, piece: int, *, wanted: frozenset[Hashable], column: str
) -> list[tuple[Hashable, int]]:
    found = []
    for first, columns in register.columns(piece, [column]):
        for place in _match(columns[column], wanted).tolist():
            person = canonical(columns[column][place].as_py())
            if person in wanted:
                found.append((person, first + place))
    return found


def _match(values: Any, wanted: frozenset[Hashable]) -> Ints:
    """Return the places of values that may be wanted: who looks at them again decides."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = np.array([float(one) for one in wanted if isinstance(one, (int, float))])
        return np.flatnonzero(np.isin(values.to_numpy(zero_copy_only=False).astype(float), numbers))
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return np.arange(len(values))  # whatever it is: one by one
    named = pc.is_in(values, value_set=pa.array([str(one) for one in wanted], type=values.type))
    unusual = pc.fill_null(pc.match_substring_regex(values, UNUSUAL), False)
    return np.flatnonzero(np.asarray(pc.or_(named, unusual)))


def check_column(register: Register, column: object) -> str:
    """Return the name of a column of the register; refuse one that it has not."""
    there = [*register.schema, *(name for name, _ in register.pieces[0].folders)]
    if not isinstance(column, str) or column not in there:
        raise InputError(
            "no_truth_column", name=register.name, column=repr(column), columns=[repr(one) for one in there]
        )
    return column


def draw_people(
    register: Register,
    count: int,
    rng: np.random.Generator,
    *,
    without: Sequence[Hashable] = (),
    mapper: Executor | None = None,
) -> Microdata:
    """Draw people of a register at random, none of those ``without``; all of them where there are no more."""
    seed = int(rng.integers(2**62))
    room = max(len(register) - len(without), 1)
    wanted = count + len(without) * count / room
    share = min((wanted + MORE * np.sqrt(wanted) + 10) / len(register), 1.0)
    rows = np.arange(len(register), dtype=np.int64)
    rows = np.concatenate([part[is_drawn(part, share, seed)] for part in np.array_split(rows, 16)])
    found = register.take(rows)
    strangers = set(without)
    kept = np.array([row for row, person in enumerate(found.ids) if person not in strangers], dtype=np.int64)
    if len(kept) > count:
        kept = np.sort(rng.choice(kept, count, replace=False))
    return select_records(found, kept)
