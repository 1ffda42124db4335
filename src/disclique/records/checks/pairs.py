"""Two files side by side: whether their ids, labels, places and distances can be those of the same people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from disclique.geodesy import GEOGRAPHIC
from disclique.model import FloatArray, IntArray, Microdata
from disclique.records.checks.lengths import name_unit, sample_block
from disclique.records.checks.people import ENOUGH, compare_people, find_doubles
from disclique.records.checks.places import inspect_places
from disclique.records.checks.values import Meeting, Remark, name_shares, show_length, some
from disclique.records.spellings import find_twins
from disclique.spaces.distances import Points


@dataclass(frozen=True)
class Encounter:
    """How two files meet."""

    shared_ids: int | None
    meetings: tuple[Meeting, ...]
    remarks: tuple[Remark, ...]


def inspect_pair(
    target: Microdata, known: Microdata, *, same_ids: bool = False, forgiven: Collection[str] = (), errors: float = 0.0
) -> Encounter:
    """Look at a release and a known file side by side.

    With ``same_ids`` an id means the same person in both; ``forgiven`` are labels that are compared with errors, and
    ``errors`` is the share of wrong labels that was declared.
    """
    meetings, remarks = [], []
    for column in target.labels.columns:
        if column in known.labels.columns:
            meetings.append(_meet(str(column), target.labels[column], known.labels[column]))
            if column not in forgiven:
                remarks += list(_values(target, known, str(column), meetings[-1]))
    remarks += [*_far_apart(target, known), *_units(target, known)]
    if not same_ids:
        return Encounter(None, tuple(meetings), tuple(remarks))
    here, there = _shared_rows(target, known)
    remarks += [*_ids(target, known, len(here)), *find_doubles(target, known)]
    if len(here) >= ENOUGH:
        remarks += compare_people(target, known, (here, there), forgiven=forgiven, errors=errors)
    return Encounter(len(here), tuple(meetings), tuple(remarks))


def _shared_rows(target: Microdata, known: Microdata) -> tuple[IntArray, IntArray]:
    where = {person: row for row, person in enumerate(known.ids)}
    pairs = [(row, where[person]) for row, person in enumerate(target.ids) if person in where]
    rows = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _meet(column: str, target: pd.Series, known: pd.Series) -> Meeting:
    left, right = (Counter(value for value in side if value is not None) for side in (target, known))
    mine, theirs = set(left) - set(right), set(right) - set(left)
    return Meeting(
        column,
        len(left),
        len(mine),
        sum(left[value] for value in mine),
        len(right),
        len(theirs),
        sum(right[value] for value in theirs),
    )


def _values(target: Microdata, known: Microdata, column: str, found: Meeting) -> Iterator[Remark]:
    """Say whether the values of a label meet."""
    if not found.target_values or not found.known_values:
        return
    left, right = ({value for value in side.labels[column] if value is not None} for side in (target, known))
    what, twins = find_twins(left - right, right - left)
    hint = f": values such as {some(twins)} differ only in {what}; write them alike in both files" if twins else ""
    if not left & right:
        yield Remark(
            f"label {column!r}: no value of {target.name} ({some(sorted(left, key=str))}) occurs in {known.name} "
            f"({some(sorted(right, key=str))}), so that nobody could match"
            + (hint or "; recode one of them, or compare with errors (--compare)"),
            mistake=True,
        )
    elif twins:
        yield Remark(
            f"label {column!r}: {found.target_only} values of {target.name} do not occur in {known.name}{hint}",
            mistake=True,
        )
    elif max(found.target_records / len(target), found.known_records / len(known)) > 0.1:
        yield Remark(
            f"label {found}: they can match nobody. Not in {known.name}: {some(sorted(left - right, key=str))}; not in "
            f"{target.name}: {some(sorted(right - left, key=str))}"
        )


def _ids(target: Microdata, known: Microdata, shared: int) -> Iterator[Remark]:
    """Say whether ids look like the same ones written in another way."""
    mine, theirs = set(target.ids) - set(known.ids), set(known.ids) - set(target.ids)
    what, twins = find_twins(theirs, mine)
    if twins:
        share = len(twins) / max(len(twins) + shared, 1)
        yield Remark(
            f"{known.name}: {len(twins)} ids differ from those of {target.name} only in {what} and count as other "
            "people; write them alike in both files",
            mistake=share > 0.02,
        )


def _far_apart(target: Microdata, known: Microdata) -> Iterator[Remark]:
    """Say whether two files lie in different parts of the world."""
    mine, theirs = _box(target), _box(known)
    if mine is None or theirs is None or mine[2] != theirs[2]:
        return
    (low, high, _), (other_low, other_high, _) = mine, theirs
    if (low > other_high).any() or (other_low > high).any():
        grounds = [inspect_places(data) for data in (target, known)]
        where = [name_shares(one.extent.where[:2]) or str(one.extent) for one in grounds if one is not None]
        yield Remark(
            f"{target.name} and {known.name} have no area in common: {where[0]}; {where[1]}: nobody can be in both",
            mistake=True,
        )


def _box(data: Microdata) -> tuple[FloatArray, FloatArray, bool] | None:
    """Return the ends of the places of a file, and whether they are degrees; None where it has no map."""
    source = data.distances
    if not isinstance(source, Points) or not source.is_map:
        return None
    return source.coordinates.min(axis=0), source.coordinates.max(axis=0), source.metric in GEOGRAPHIC


def _units(target: Microdata, known: Microdata) -> Iterator[Remark]:
    """Compare the lengths of two files where both have some."""
    if isinstance(target.distances, Points) and target.distances.metric in GEOGRAPHIC:
        return
    middle = [_median(data) for data in (target, known)]
    if not all(middle):
        return
    ratio = middle[1] / middle[0]
    if ratio > 30 or ratio < 1 / 30:
        shown = [show_length(m, name_unit(data.distances)) for m, data in zip(middle, (target, known), strict=True)]
        yield Remark(
            f"the median distance is {shown[0]} in {target.name} and {shown[1]} in {known.name}: are both in one unit?",
            mistake=ratio > 300 or ratio < 1 / 300,
        )


def _median(data: Microdata) -> float:
    block = sample_block(data.distances)
    values = block[~np.eye(len(block), dtype=bool)]
    values = values[~np.isnan(values)]
    return float(np.median(values)) if len(values) else 0.0
