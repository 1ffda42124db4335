"""Labels as they were understood: their groups, and columns that are no quasi-identifiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from disclique.data.inspection.values import LabelColumn, Remark, some
from disclique.data.labels import label_tuples
from disclique.model import Microdata
from disclique.quantities import percent

MANY = 20  # records from which a share of different values says something
EMPTY = 0.05  # share of incomplete records that is worth a sentence
UNKNOWN = {"na", "n/a", "nan", "null", "none", "unknown", "unbekannt", "keine angabe", "k.a.", "missing", "?", ".", "-"}
CODES = {-1, -2, -7, -8, -9, -99, -999, 99, 999, 9999}


@dataclass(frozen=True)
class Groups:
    """The label groups of a file, and what is remarkable about its labels."""

    columns: tuple[LabelColumn, ...]
    sizes: tuple[int, ...]
    incomplete: int
    remarks: tuple[Remark, ...]


def inspect_labels(data: Microdata) -> Groups:
    """Look at the labels of a file."""
    labels, remarks, columns = data.labels, [], []
    for name in labels.columns:
        column = labels[name]
        values = Counter(value for value in column if value is not None)
        columns.append(LabelColumn(str(name), len(values), int(column.isna().sum())))
        remarks += list(_column(data.name, str(name), values))
    incomplete = int(labels.isna().any(axis=1).sum())
    if incomplete > EMPTY * len(data):
        remarks.append(
            Remark(
                f"{data.name}: {incomplete} records ({percent(incomplete / len(data))}) have an empty label; an audit "
                "takes it that an empty value may be any value"
            )
        )
    sizes = tuple(sorted(Counter(label_tuples(labels)).values())) if len(labels.columns) else ()
    if not len(labels.columns):
        remarks.append(
            Remark(f"{data.name}: no label is named: are sex, age or the like released, or known to a snooper?")
        )
    return Groups(tuple(columns), sizes, incomplete, (*remarks, *_copies(data)))


def _column(name: str, column: str, values: Counter[Hashable]) -> Iterator[Remark]:
    """Say what is wrong with one label."""
    records, here = sum(values.values()), f"{name}: label {column!r}"
    if not values:
        yield Remark(f"{here} is empty in every record", mistake=True)
        return
    if records >= MANY and len(values) == records:
        yield Remark(
            f"{here} looks like an id: {records} records, as many values; an id is named by --id, and is no label",
            mistake=True,
        )
    elif records >= MANY and len(values) > records / 3:
        yield Remark(
            f"{here} has {len(values)} different values in {records} records: an id, a place or a measurement? "
            "Make it coarser (--generalise) if it is released at all"
        )
    elif len(values) == 1 and records >= MANY:
        yield Remark(f"{here} has the same value in every record, and tells nothing: is it the right column?")
    strange = [value for value in values if _stands_for_nothing(value, values)]
    if strange:
        yield Remark(
            f"{here} has {some(strange)} in {sum(values[value] for value in strange)} records: if that stands for a "
            "missing value leave it empty, since here it is a value like others"
        )
    for what, fold in (("white space", str.strip), ("case", str.casefold)):
        twins: dict[str, set[str]] = {}
        for value in values:
            if isinstance(value, str):
                twins.setdefault(fold(value), set()).add(value)
        pair = next((sorted(found) for found in twins.values() if len(found) > 1), None)
        if pair is not None:
            yield Remark(f"{here} has {some(pair)}, which differ only in {what} and count as different values")


def _stands_for_nothing(value: Hashable, values: Counter[Hashable]) -> bool:
    """Say whether a value looks like a code for a missing one: a word for it, or a number far from the others."""
    if isinstance(value, str):
        return value.strip().casefold() in UNKNOWN
    if value not in CODES or not isinstance(value, (int, float)):
        return False
    others = [other for other in values if isinstance(other, (int, float)) and other not in CODES]
    return bool(others) and (value < 0 <= min(others) or value > 3 * max(others))


def _copies(data: Microdata) -> Iterator[Remark]:
    """Find records that are equal in everything but their id: each makes the other look safe."""
    identities = getattr(data.distances, "identities", None)
    if identities is None or len(data) < MANY or not len(data.labels.columns):
        return
    table = data.table.reset_index(drop=True)
    ids = set(map(str, data.ids))
    rest = [k for k in range(table.shape[1]) if not _is_id(table.iloc[:, k], ids)]
    keys = zip(
        label_tuples(data.labels),
        map(str, identities()),
        zip(*(map(str, table.iloc[:, k]) for k in rest), strict=True) if rest else [()] * len(data),
        strict=True,
    )
    often = Counter(keys)
    twice = sum(count for count in often.values() if count > 1)
    if twice > 0.02 * len(data):
        yield Remark(
            f"{data.name}: {twice} of {len(data)} records are equal to another one in everything but their id: copies? "
            "Each copy hides the other from the attacks, and makes the file look safer than it is"
        )


def _is_id(column: pd.Series[Any], ids: set[str]) -> bool:
    return len(ids) == len(column) and set(column.astype(str)) == ids
