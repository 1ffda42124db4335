"""Single people of a register: who stands in which row, and strangers drawn from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Microdata
from disclique.records.registers.files import Register
from disclique.records.registers.streams import InTurn, Mapper, is_drawn, stream
from disclique.values import canonical

Ints = NDArray[np.int64]
UNUSUAL = r"^\+|^-0|[.eE]"  # numbers written in another way than a program would: 14.0, +14, 1e3
MORE = 6.0  # standard deviations by which more are drawn than are wanted, so that there are enough


def name_people(register: Register, rows: Ints) -> tuple[Hashable, ...]:
    """Return the ids of some rows, in their order; row numbers from 1 where the register has no ids."""
    column = register.layout.id
    if column is None or not len(rows):
        return tuple((rows + 1).tolist())
    ascending, place = np.unique(rows, return_inverse=True)
    named = [canonical(value) for value in register.take_columns(ascending, [column])[column]]
    return tuple(named[k] for k in place.ravel())


def find_people(
    register: Register, people: Iterable[Hashable | None], column: str, *, mapper: Mapper | None = None
) -> dict[Hashable, int]:
    """Find the rows of some people by a column that says who is who; refuse one who stands in two rows."""
    wanted = frozenset(person for person in people if person is not None)
    parts = dict(stream(register, partial(_find_in_piece, wanted=wanted, column=column), mapper=mapper or InTurn()))
    rows: dict[Hashable, int] = {}
    for number in range(len(parts)):
        for person, row in parts[number]:
            if rows.setdefault(person, row) != row:
                raise InputError(f"truth {person!r} stands in rows {rows[person] + 1} and {row + 1} of the known file")
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
        raise InputError(f"{register.name}: no truth column {column!r}; it has {', '.join(map(repr, there))}")
    return column


def draw_people(
    register: Register,
    count: int,
    rng: np.random.Generator,
    *,
    without: Sequence[Hashable] = (),
    mapper: Mapper | None = None,
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
    from disclique.records.reading import select_records

    return select_records(found, kept)
