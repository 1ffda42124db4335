"""What one file says of the records of another, joined by their ids, and by position only where there are none.

A matrix joined by position although it names its records in another order is a well-formed file of other people's
distances: every attack on it fails, and the release looks safe. Names that are there therefore have to fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.values import FloatArray, canonical


def as_in_r(name: Any) -> str:
    """Return a name as R writes it: without the X that it puts before a number, a dot for every other sign."""
    return re.sub(r"\W", ".", re.sub(r"^X(?=\d)", "", str(name)))


# What may differ, by the code of its message, and how to look past it.
FOLDS: Mapping[str, Callable[[str], str]] = {
    mark("white_space"): lambda text: re.sub(r"\s+", "", text),
    mark("letter_case"): str.casefold,
    mark("leading_zeros"): lambda text: re.sub(r"(?<!\d)0+(?=\d)", "", text),
    mark("decimal_sign"): lambda text: re.sub(r"(?<=\d),(?=\d)", ".", text),
    mark("names_of_r"): as_in_r,
}


def find_twins(
    values: Collection[Hashable | None], others: Collection[Hashable | None]
) -> tuple[tuple[Message, ...], list[Hashable | None]]:
    """Find the values that the others have as well but for their writing; say in what it differs.

    Of several explanations the one that explains most counts, of equally good ones the simplest.

    >>> find_twins(["m", "w", "x"], ["M", "W"]), find_twins(["f"], ["m"])
    (((Message('letter_case'),), ['m', 'w']), ((), []))
    """
    best: tuple[tuple[str, ...], list[Hashable | None]] = ((), [])
    for size in range(1, len(FOLDS) + 1):
        for chosen in combinations(FOLDS, size):
            there = {_fold(other, chosen) for other in others if other is not None}
            found = [value for value in values if value is not None and _fold(value, chosen) in there]
            if len(found) > len(best[1]):
                best = chosen, sorted(found, key=str)
    ending, ended = _find_ending(values, others)
    if len(ended) > len(best[1]):
        return (Message("ending", ending=ending),), ended
    return tuple(map(Message, best[0])), best[1]


LONGEST_ENDING, FEWEST_ENDED = 3, 5


def _find_ending(
    values: Collection[Hashable | None], others: Collection[Hashable | None]
) -> tuple[str, list[Hashable | None]]:
    """Return the same sign or letters at the end of several values without which the others have them, and these."""
    there = {str(other) for other in others if other is not None}
    found: dict[str, list[Hashable | None]] = {}
    for value in values:
        text = str(value)
        for size in range(1, LONGEST_ENDING + 1):
            if text[:-size] in there and not any(sign.isdigit() for sign in text[-size:]):
                found.setdefault(text[-size:], []).append(value)
    ending, ended = max(found.items(), key=lambda one: len(one[1]), default=("", []))
    return (ending, sorted(ended, key=str)) if len(ended) >= FEWEST_ENDED else ("", [])


def _fold(value: Hashable, names: Collection[str]) -> str:
    text = str(value)
    for name in names:
        text = FOLDS[name](text)
    return text


def describe_difference(strange: Collection[Hashable | None], lost: Collection[Hashable | None]) -> Message | None:
    """Return the end of a sentence that says in what values differ, if it is in their writing only; None if it is not.

    >>> str(describe_difference(["p0001", "p0002"], ["P0001", "P0002"]))
    '; they differ only in case'
    """
    folds, twins = find_twins(strange, lost)
    if not twins:
        return None
    if len(set(twins)) >= min(len(set(strange)), len(set(lost))):
        return Message("all_differ_only_in", folds=folds)
    return Message("some_differ_only_in", some=len(set(twins)), folds=folds)


BY_ID, BY_ROW, BY_POSITION = "by id", "by row number", "by position"
EXAMPLES = 3
LONG = 40  # characters of an example
FEW = 5  # records; labels of fewer are 1 to n in some order by chance
INDEX = "(index)"  # what stands for the column where a frame's index names its records
# What R, pandas, Polars, SPSS and Stata call columns that nobody has named.
_DEFAULT = re.compile(r"(|v|x|c|f|col|column|column_|var|unnamed: ?)(0|[1-9]\d*|var\d{5})", re.IGNORECASE)
_NUMBERED = re.compile(r"(\D*?)0*(\d+)")

Order = NDArray[np.int64] | None  # where each record of the table stands; None is the same order


@dataclass(frozen=True, eq=False)
class Roster:
    """The records of a table, by which another file is joined to it.

    ``ids`` are their names, from ``column``; where that is None they are row numbers counted from 1. ``by_position``
    is what the user says: True takes files as they stand, False insists on ids, None joins by ids where there are any.
    """

    ids: tuple[Hashable, ...]
    column: str | None = None
    name: str = "the table"
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    by_position: bool | None = None
    parts: tuple[str, str] = (mark("part_first_column"), mark("part_header"))  # what names rows and columns of a square

    def order(self, found: Sequence[Any] | None, *, where: str | Message, sure: bool = False) -> tuple[Order, str]:
        """Return where each record stands in a file that names its records so, and how that was joined.

        Names that only count (1 to n, 0 to n - 1, V1 to Vn) are ids if the table has the same ones, else they are the
        numbering of a program; not so if they are ``sure`` to be ids.
        """
        names = None if found is None else [canonical(name) for name in found]
        if names is not None and all(name is None for name in names):
            names = None
        if self.by_position or names is None:
            if self.by_position is False:
                raise InputError("no_ids_to_join", where=where)
            return None, BY_POSITION
        _check_names(names, where)
        counted = None if sure else count_of(names)
        if len(names) == len(self.ids) and set(names) == set(self.ids):
            return self._same_names(names, counted, where)
        by_index = self if self.column == INDEX else roster_of_index(self.table, self.name, self.by_position)
        if by_index.column == INDEX and by_index is not self and set(names) == set(by_index.ids):
            return by_index.order(names, where=where)  # cut out of one frame, whose index says which rows are left
        if by_index.column == INDEX and counted is not None:
            by_index._is_numbering(names, counted, where)  # a shuffled frame beside a default index is doubtful
        if counted is None or self.by_position is False or not self._is_numbering(names, counted, where):
            raise self._mismatch(names, where)
        return None, BY_POSITION

    def _same_names(self, names: list[Hashable], counted: range | None, where: str | Message) -> tuple[Order, str]:
        known = BY_ROW if self.column is None else BY_ID
        self._check_row_numbers(where)
        if tuple(names) == self.ids:
            return None, BY_POSITION if self.column is None and self.by_position is None else known
        if counted is not None and self.by_position is None:
            raise self._doubtful(counted, where)
        place = {name: row for row, name in enumerate(names)}
        return np.array([place[record] for record in self.ids], dtype=np.int64), known

    def _is_numbering(self, names: list[Hashable], counted: range, where: str | Message) -> bool:
        """Return whether names that count, and are not the table's, say nothing but the position."""
        numeric = all(isinstance(record, (int, float)) for record in self.ids)
        of_program = isinstance(names[0], str) or not numeric  # V1, or numbers beside ids that are none
        if self.column is None or len(names) != len(self.ids):
            return self.column is None or of_program
        if list(self.ids) in (list(range(len(names))), list(range(1, len(names) + 1))):
            return True  # both count, one of them from 0
        here, there = set(names), set(self.ids)
        strange, lost = [n for n in names if n not in there], [r for r in self.ids if r not in here]
        if len(strange) < len(names) or describe_difference(strange, lost) is not None:
            return False
        numbers = _numbers_in(self.ids)
        shuffled = numbers is not None and set(numbers) == set(counted) and numbers != list(counted)
        if shuffled and (self.column == INDEX or not isinstance(names[0], str)):
            raise self._doubtful(counted, where, alike=self.column == INDEX)
        return of_program

    def _doubtful(self, counted: range, where: str | Message, *, alike: bool = True) -> InputError:
        code = mark("numbers_in_doubt") if alike else mark("numbers_in_doubt_unlike")
        numbers = {"first": counted[0], "last": counted[-1]}
        return InputError(code, where=where, whose=self._whose, examples=_some(self.ids), **numbers)

    def _check_row_numbers(self, where: str | Message) -> None:
        """Raise an error if numbers that would be taken for rows may be ids, in a column that was not named."""
        if self.column is not None or self.by_position is not None:
            return
        for column in self.table.columns:
            if _is_shuffled(self.table[column], len(self.ids)):
                about = {"records": len(self.ids), "column": str(column), "table": self.name}
                raise InputError("row_numbers_may_be_ids", where=where, **about)

    @property
    def _whose(self) -> Message:
        if self.column == INDEX:
            return Message("ids_of_index", table=self.name)
        return Message("ids_of_column", column=self.column, table=self.name)

    def _mismatch(self, names: Sequence[Hashable | None], where: str | Message) -> InputError:
        """Return the error that says that these are not the ids of the table, with examples of both."""
        if self.column is None:
            hint = self._hint(names)
            return InputError("names_without_id_column", where=where, examples=_some(names), hint=hint)
        here, there = set(names), set(self.ids)
        strange = [name for name in names if name not in there]
        lost = [record for record in self.ids if record not in here]
        about = {"where": where, "whose": self._whose}
        unknown = about | {"strange": len(strange), "names": len(names), "examples": _some(strange)}
        if not lost:
            return InputError("ids_not_in_table", **unknown)
        if not strange:
            return InputError("ids_not_in_file", **about, lost=len(lost), examples=_some(lost))
        spelled, other = describe_difference(strange, lost), self._column_with(names)
        if other is not None:
            return InputError("ids_in_other_column", **unknown, other=other)
        return InputError("ids_do_not_match", **unknown, lost=len(lost), absent=_some(lost), spelled=spelled)

    def _column_with(self, names: Sequence[Hashable | None]) -> str | None:
        """Return the column of the table in which these names stand, each of its values once."""
        wanted = set(names)
        for column in self.table.columns:
            values = {canonical(value) for value in self.table[column]}
            if len(values) == len(self.table) and wanted <= values:
                return str(column)
        return None

    def _hint(self, names: Sequence[Hashable | None]) -> Message:
        """Return what to do about names where no id column was named, with the column that has them."""
        column = self._column_with(names)
        if column is not None:
            return Message("id_column_holds_them", column=column)
        return Message("no_id_column_named", table=self.name)

    def for_list(self, pairs: pd.DataFrame, where: str) -> Roster:
        """Return by what a long list of pairs is joined: a frame's index gives way to row numbers counted from 1."""
        if self.column != INDEX or self.by_position is not None:
            return self
        named = {canonical(value) for k in range(2) for value in pd.unique(pairs.iloc[:, k])}
        counted = range(1, len(self.ids) + 1)
        in_index, in_rows = named <= set(self.ids), named <= set(counted)
        if in_index and in_rows and self.ids != tuple(counted):
            raise self._doubtful(counted, where)
        return replace(self, ids=tuple(counted), column=None) if in_rows and not in_index else self

    def rows(self, found: pd.Series[Any], *, file: str, column: int) -> NDArray[np.int64]:
        """Return the row of the table that each entry of a list names, by its id or, where that is so, row number.

        ``column`` is where they stand in the ``file``.
        """
        by_row = self.by_position or self.column is None
        self._check_row_numbers(file)
        row_of = {record: row for row, record in enumerate(range(1, len(self.ids) + 1) if by_row else self.ids)}
        codes, values = pd.factorize(pd.Series(found, dtype=object), use_na_sentinel=False)
        plain = [canonical(value) for value in values]
        rows = np.array([row_of.get(value, -1) for value in plain], dtype=np.int64)
        for line in np.flatnonzero(rows[codes] < 0):
            value, lost = values[codes[line]], [name for name in row_of if name not in set(plain)]
            here = Message("entry_of_list", file=file, row=line + 1, column=column, value=value)
            if by_row:
                advice = None if self.by_position else Message("and_hint", hint=self._hint(plain))
                raise InputError("no_such_row_number", where=here, records=len(self.ids), advice=advice)
            strange = [name for name, row in zip(plain, rows, strict=True) if row < 0]
            about = {"examples": _some(lost or self.ids), "spelled": describe_difference(strange, lost)}
            raise InputError("no_such_id", where=here, whose=self._whose, **about)
        return rows[codes]


def _is_shuffled(column: pd.Series[Any], records: int) -> bool:
    """Return whether a column has the numbers 1 to n in another order than that of the rows."""
    if records < FEW or column.dtype.kind not in "iufOTU":
        return False
    try:
        numbers = pd.to_numeric(column, errors="coerce")
    except TypeError:  # values that are no numbers in any writing, such as lists
        return False
    if numbers.isna().any() or len(numbers) != records:
        return False
    values, counted = numbers.to_numpy(dtype=float), np.arange(1.0, records + 1)
    return bool((np.sort(values) == counted).all() and (values != counted).any())


def roster_of_index(table: pd.DataFrame, name: str, by_position: bool | None = None) -> Roster:
    """Return the records of a frame by its index, if that is more than the default numbering."""
    ids = None if is_default(table.index) else tuple(canonical(value) for value in table.index)
    if ids is None or None in ids or len(set(ids)) != len(ids):  # an index that repeats itself names nobody
        return Roster(tuple(range(1, len(table) + 1)), None, name, table, by_position)
    return Roster(ids, INDEX, name, table, by_position)


def is_default(index: pd.Index[Any]) -> bool:
    """Return whether an index is the numbering that pandas gives; one that was cut out of a longer one is not."""
    return isinstance(index, pd.RangeIndex) and index.step == 1 and index.start in (0, 1)


def names_of_index(index: pd.Index[Any], roster: Roster) -> list[Any]:
    """Return the names in an index; the default numbering is marked as such, unless ids are insisted on."""
    return [f"V{k}" for k in index] if is_default(index) and roster.by_position is None else list(index)


def join_square(
    values: FloatArray, roster: Roster, *, index: list[Any] | None, header: list[Any] | None, name: str
) -> tuple[FloatArray, str]:
    """Return a square matrix in the order of the records, by the names of its rows or columns, and how it was joined.

    What only counts gives way to names; names of rows and columns have to be the same in the same order.
    """
    where = [Message("named_in_part", file=name, part=Message(part)) for part in roster.parts]
    spoken = dict(zip(where, (index, header), strict=True))
    there = {part: names for part, names in spoken.items() if names is not None}
    if roster.by_position or not there:
        return values, roster.order(None, where=name)[1]
    plain = {part: [canonical(value) for value in names] for part, names in there.items()}
    telling = {part: names for part, names in plain.items() if count_of(names) is None} or plain
    if index is not None and header is not None:
        rows, columns = plain.values()
        if (len(telling) == 2 and telling is not plain) or set(rows) == set(columns):
            _check_alike(rows, columns, name, roster.parts)
    own = set(roster.ids)
    if telling is plain:  # both only count, and V1 is surely no id
        part, names = max(telling.items(), key=lambda item: isinstance(item[1][0], str))
    else:  # R may have altered one of them
        part, names = max(telling.items(), key=lambda item: len(own & set(item[1])))
    order, joined = roster.order(names, where=part)
    if order is None or len(names) != len(roster.ids):
        return values, joined
    return np.asarray(values[np.ix_(order, order)]), joined


def _check_alike(index: list[Any], header: list[Any], name: str, parts: tuple[str, str]) -> None:
    about = {"file": name, "rows": Message(parts[0]), "columns": Message(parts[1])}
    if len(index) != len(header):
        raise InputError("square_names_differ_in_number", **about, down=len(index), across=len(header))
    different = [pair for pair in zip(index, header, strict=True) if as_in_r(pair[0]) != as_in_r(pair[1])]
    if not different:
        return
    there, here = ([pair[side] for pair in different] for side in (0, 1))
    shown = {"here": _some(here), "there": _some(there)}
    if sorted(map(str, index)) == sorted(map(str, header)):
        raise InputError("square_names_in_other_order", **about, **shown)
    raise InputError("square_names_others", **about, **shown, spelled=describe_difference(here, there))


def count_of(names: Sequence[Hashable | None]) -> range | None:
    """Return the numbers if the names only count, as programs name rows and columns that nobody has named.

    >>> count_of(["V1", "V2", "V3"]), count_of([0, 1, 2]), count_of([2, 1, 3])
    (range(1, 4), range(0, 3), None)
    """
    parts = [_DEFAULT.fullmatch(str(name)) for name in names]
    if not names or any(part is None for part in parts) or len({part[1].lower() for part in parts if part}) != 1:
        return None
    numbers = [int(re.sub(r"\D", "", part[2])) for part in parts if part]
    counted = range(numbers[0], numbers[0] + len(names))
    return counted if numbers[0] in (0, 1) and numbers == list(counted) else None


def _numbers_in(ids: Sequence[Hashable]) -> list[int] | None:
    """Return the numbers at the end of ids that are otherwise alike: p003 is 3."""
    parts = [_NUMBERED.fullmatch(str(record)) for record in ids]
    if any(part is None for part in parts) or len({part[1] for part in parts if part}) != 1:
        return None
    return [int(part[2]) for part in parts if part]


def _check_names(names: Sequence[Hashable | None], where: str | Message) -> None:
    seen: dict[Hashable, int] = {}
    for place, name in enumerate(names):
        if name is None:
            raise InputError("id_at_place_missing", where=where, place=place + 1)
        if seen.setdefault(name, place) != place:
            raise InputError("id_stands_twice", where=where, name=name, first=seen[name] + 1, second=place + 1)


def _some(names: Sequence[Hashable | None]) -> str:
    shown = ", ".join(text if len(text := repr(name)) <= LONG else f"{text[:LONG]}…" for name in names[:EXAMPLES])
    return f"{shown}, …" if len(names) > EXAMPLES else shown
