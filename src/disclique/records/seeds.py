"""Pairs of records that an insider knows to be one person, read from a table of ids."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path

from disclique.arguments import check_kind, check_path
from disclique.errors import InputError
from disclique.model import Microdata
from disclique.records.formats.files import read_table
from disclique.records.spellings import describe_difference
from disclique.values import canonical

COLUMNS = ("target_id", "known_id")  # as in a table of matches


def read_seeds(path: str | Path, target: Microdata, known: Microdata) -> tuple[tuple[int, int], ...]:
    """Return the pairs (target row, known row), counted from 0, that a table names by their ids.

    The table has the columns ``target_id`` and ``known_id``, as the matches of an attack have, or two columns, the
    target's first. The id of a record of a file without an id column is its row, counted from 1.

    >>> import disclique as dq, tempfile
    >>> target, known = dq.poets()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "seeds.csv").write_text("target_id,known_id\\n2,1\\n")
    ...     read_seeds(Path(folder, "seeds.csv"), target, known)
    ((1, 0),)
    """
    path = check_path(path, "path")
    for name, data in (("target", target), ("known", known)):
        check_kind(data, Microdata, name, "wanted_microdata")
    table = read_table(path)
    columns = [str(column) for column in table.columns]
    chosen = list(COLUMNS) if set(COLUMNS) <= set(columns) else columns
    if len(chosen) != 2:
        raise InputError(
            f"{path}: seeds stand in the columns {COLUMNS[0]!r} and {COLUMNS[1]!r}, or in two columns, the target's "
            f"first; it has {', '.join(map(repr, columns))}"
        )
    sides = [
        _rows_of([canonical(value) for value in table[column]], data, path, column)
        for column, data in zip(chosen, (target, known), strict=True)
    ]
    return tuple(zip(*sides, strict=True))


def _rows_of(found: Sequence[Hashable | None], data: Microdata, path: Path, column: str) -> list[int]:
    """Return the rows of the records with these ids."""
    where = {value: row for row, value in enumerate(data.ids)}
    rows: list[int] = []
    first: dict[int, int] = {}
    for place, value in enumerate(found):
        row = None if value is None else where.get(value)
        here = f"{path}: row {place + 1}, column {column!r}"
        if row is None:
            if value is None:
                raise InputError(f"{here}: an id is missing")
            why = describe_difference([value], data.ids)
            raise InputError(f"{here} = {value!r}: no record of {data.name} has this id{'; ' + why if why else ''}")
        if first.setdefault(row, place) != place:
            raise InputError(
                f"{here} = {value!r}: the id stands in row {first[row] + 1} already, but a seed is one person"
            )
        rows.append(row)
    return rows
