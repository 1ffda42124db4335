"""Labels as they were understood: their groups, and columns that are no quasi-identifiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.records.checks.pairs import number_labels
from disclique.records.checks.values import LabelColumn, Remark, some
from disclique.records.labels import label_tuples
from disclique.spaces import read_in_blocks, spaced

UNKNOWN = {"", "na", "n/a", "nan", "null", "none", "unknown", "unbekannt", "keine angabe", "k.a.", "missing", *"?.-"}
CODES = {-1, -2, -7, -8, -9, -99, -999, 9, 99, 999, 9999}


@dataclass(frozen=True)
class LabelLimits:
    """From when on labels are remarkable."""

    many_records: int = 20  # from which a share of different values says something
    empty_share: float = 0.05
    largest_code: int = 7  # of a label beside which a 9 is hardly its next one
    copied_share: float = 0.02
    alike_share: float = 0.1  # of the pairs at one place, beyond chance, that are more alike than a household is
    sampled_records: int = 300  # whose nearest people are looked at
    close_ratio: float = 0.05  # how much closer a copy is than the next one
    paired_share: float = 0.1  # of the records from which this is no chance


LABEL_LIMITS = LabelLimits()


@dataclass(frozen=True)
class Groups:
    """The label groups of a file, and what is remarkable about its labels."""

    columns: tuple[LabelColumn, ...]
    sizes: tuple[int, ...]
    incomplete: int
    remarks: tuple[Remark, ...]


def inspect_labels(data: Microdata, limits: LabelLimits = LABEL_LIMITS) -> Groups:
    """Look at the labels of a file."""
    labels, remarks, columns = data.labels, [], []
    for name in labels.columns:
        column = labels[name]
        values = Counter(value for value in column if value is not None)
        columns.append(LabelColumn(str(name), len(values), int(column.isna().sum())))
        remarks += list(_column(data.name, str(name), values, limits))
    incomplete = int(labels.isna().any(axis=1).sum())
    if incomplete > limits.empty_share * len(data):
        share = incomplete / len(data)
        remarks.append(Remark(Message("labels_empty", file=data.name, records=incomplete, share=share)))
    sizes = tuple(sorted(Counter(label_tuples(labels)).values())) if len(labels.columns) else ()
    if not len(labels.columns):
        remarks.append(Remark(Message("no_label_named", file=data.name)))
    return Groups(tuple(columns), sizes, incomplete, (*remarks, *_same_twice(data, limits), *_copies(data, limits)))


def _column(name: str, column: str, values: Counter[Hashable], limits: LabelLimits) -> Iterator[Remark]:
    """Say what is wrong with one label."""
    here, records = {"file": name, "column": column}, sum(values.values())
    if not values:
        yield Remark(Message("label_always_empty", here), mistake=True)
        return
    if records >= limits.many_records and len(values) == records:
        yield Remark(Message("label_looks_like_id", here, records=records), mistake=True)
    elif records >= limits.many_records and len(values) > records / 3:
        yield Remark(Message("label_of_many_values", here, different=len(values), records=records))
    elif len(values) == 1 and records >= limits.many_records:
        yield Remark(Message("label_of_one_value", here))
    strange = [value for value in values if _stands_for_nothing(value, values, limits.largest_code)]
    if strange:
        often = sum(values[value] for value in strange)
        yield Remark(Message("label_stands_for_nothing", here, examples=some(strange), records=often))
    for what, fold in ((mark("white_space"), str.strip), (mark("letter_case"), str.casefold)):
        twins: dict[str, set[str]] = {}
        for value in values:
            if isinstance(value, str):
                twins.setdefault(fold(value), set()).add(value)
        pair = next((sorted(found) for found in twins.values() if len(found) > 1), None)
        if pair is not None:
            yield Remark(Message("label_written_twice", here, examples=some(pair), fold=Message(what)))


def _stands_for_nothing(value: Hashable, values: Counter[Hashable], largest: int) -> bool:
    """Say whether a value looks like a code for a missing one: a word for it, or a number far from the others."""
    if isinstance(value, str) and value.strip().casefold() in UNKNOWN:
        return True
    number = _as_number(value)
    if number not in CODES:
        return False
    others = [other for other in map(_as_number, values) if other is not None and other not in CODES]
    if not others:  # a bare 99 beside words, each of them a class
        return len(values) > 2 and sum(_as_number(other) is None for other in values) == len(values) - 1
    if number == 9:
        return len(others) > 1 and max(others) <= largest and all(float(other).is_integer() for other in others)
    return number < 0 <= min(others) or number > 3 * max(others)


def _as_number(value: Hashable) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except ValueError:
        return None


def _same_twice(data: Microdata, limits: LabelLimits) -> Iterator[Remark]:
    """Find labels that tell the same: each value of the one goes with one value of the other."""
    names = list(data.labels.columns)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            pairs = {pair for pair in zip(data.labels[one], data.labels[other], strict=True) if None not in pair}
            left, right = ({pair[side] for pair in pairs} for side in (0, 1))
            if len(data) >= limits.many_records and len(left) > 1 and len(left) == len(right) == len(pairs):
                yield Remark(Message("labels_tell_the_same", file=data.name, one=one, other=other))


def _copies(data: Microdata, limits: LabelLimits) -> Iterator[Remark]:
    """Find records that are equal in everything but their id: each makes the other look safe."""
    if len(data) < limits.many_records or not len(data.labels.columns):
        return
    identities = data.distances.identities()
    if identities is None:
        yield from _near_copies(data, limits)
        return
    table = data.table.reset_index(drop=True)
    ids = set(map(str, data.ids))
    rest = [k for k in range(table.shape[1]) if not _is_id(table.iloc[:, k], ids)]
    rows = [list(map(str, table.iloc[:, k])) for k in rest]
    what = _number_rows([label_tuples(data.labels), *rows])
    where = _number_rows([list(map(str, identities))])
    often = np.bincount(_number_rows([what, where]))
    twice = int(often[often > 1].sum())
    together, chance = _pairs(np.bincount(where)), 2 * _pairs(np.bincount(what)) / len(data) ** 2
    alike = chance + limits.alike_share * (1 - chance)
    if twice > limits.copied_share * len(data) and _pairs(often) > alike * together:
        yield Remark(Message("records_copied", file=data.name, twice=twice, records=len(data)))
    elif data.distances.points() is not None:
        yield from _near_copies(data, limits)


def _number_rows(columns: Sequence[Sequence[Any] | np.ndarray]) -> np.ndarray:
    """Return numbers that are equal for records that are equal in all columns: quick for millions of them."""
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if isinstance(column, np.ndarray):
            one = column
        else:
            values = np.empty(len(column), dtype=object)
            values[:] = column
            one = pd.factorize(values)[0]
        found = pd.factorize(found * (int(one.max()) + 1) + one)[0]
    return found


def _pairs(often: np.ndarray) -> float:
    """Return how many pairs there are within groups of these sizes."""
    return float((often * (often - 1) / 2).sum())


def _near_copies(data: Microdata, limits: LabelLimits) -> Iterator[Remark]:
    """Find records that come in pairs: the nearest one has the same label and is far closer than the second nearest.

    Of people scattered at random one in 400 has one so close; that a copy is not quite the same is what another
    geocoder leaves. Records at one place have been compared in full, unless there are only distances.
    """
    rows = spaced(len(data), limits.sampled_records).astype(np.int32)
    beside, two = [], []
    for here, block in read_in_blocks(data.distances, rows):
        found = np.where(np.isnan(block), np.inf, block)
        found[np.arange(len(here)), here] = np.inf
        who = np.argpartition(found, 1, axis=1)[:, :2]
        beside.append(who[:, 0])
        two.append(np.take_along_axis(found, who, axis=1))
    nearest, second = np.concatenate(two).T
    label = number_labels(data)
    twins = (
        (label[rows] == label[np.concatenate(beside)])
        & np.isfinite(second)
        & (nearest <= limits.close_ratio * second)
        & (second > 0)
    )
    if data.distances.points() is not None:
        twins &= nearest > 0
    if twins.sum() > max(3, limits.paired_share * len(rows)):
        yield Remark(Message("records_have_twins", file=data.name, share=twins.mean()))


def _is_id(column: pd.Series[Any], ids: set[str]) -> bool:
    return len(ids) == len(column) and set(column.astype(str)) == ids
