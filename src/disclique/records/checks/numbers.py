"""Numbers as they were understood: columns that are no numbers, no lengths, or finer than anybody meant.

Numbers in one file that are not in the unit of the other agree with nobody's, and the release looks safe because of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.numbers import DECIMALS, NumberColumn
from disclique.records.checks.values import NumberLook, Remark, show_length
from disclique.spaces.metrics import paired
from disclique.units import KM, KM_IN, NO_UNIT
from disclique.values import FloatArray, IntArray


@dataclass(frozen=True)
class NumberLimits:
    """From when on numbers are remarkable."""

    many_records: int = 20  # from which shares say something
    empty_share: float = 0.05
    heaped_share: float = 0.8  # of the numbers that are multiples of one step
    steps_km: tuple[float, ...] = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
    steps: tuple[float, ...] = (10_000.0, 5000.0, 1000.0, 500.0, 100.0, 50.0, 10.0, 5.0)
    fine_share: float = 0.5  # of the numbers with more digits than meant
    finest_km: float = 1e-3
    decimals: int = 6
    codes: int = 2  # different numbers
    coded_records: int = 3  # that have the same number far from all others …
    coded_share: float = 0.01  # … and their share
    dense: float = 2.0  # how far whole numbers in order spread, for each of them, where they count records
    halfway_km: float = 20_038.0  # no two places of the Earth lie farther apart
    far_times: float = 3.0  # the extent of the file
    unit_ratio: tuple[float, float] = (700.0, 1400.0)  # of the medians, where one file has metres
    other_ratio: float = 30.0
    people: int = 10  # in both files, from which agreement says something
    related: float = 0.5  # correlation of the numbers of the same people


NUMBER_LIMITS = NumberLimits()


def inspect_numbers(
    data: Microdata, limits: NumberLimits = NUMBER_LIMITS
) -> tuple[tuple[NumberLook, ...], list[Remark]]:
    """Look at the numbers of a file."""
    looks, remarks = [], []
    extent = _measure_extent(data) if len(data.numbers) else None
    for column in data.numbers.columns:
        there = column.values[~np.isnan(column.values)]
        classes = column.law.in_classes
        # of few people a median is somebody's number, and of classes it is none
        median = float(f"{np.median(there):.2g}") if len(there) and not classes else None
        different = len(np.unique(there))
        looks.append(NumberLook(column.name, column.unit or NO_UNIT, different, len(data) - len(there), median))
        if classes:
            continue
        remarks += list(_look_at(data, column, there, different, limits))
        lengths = list(_as_lengths(data, column, there, extent, limits)) if column.unit == KM and len(there) else []
        remarks += lengths or list(_stand_for_missing(data, column, there, limits))
    return tuple(looks), remarks


def _stand_for_missing(
    data: Microdata, column: NumberColumn, there: FloatArray, limits: NumberLimits
) -> Iterator[Remark]:
    """Say whether one number far from all others occurs again and again, as 999 does where nothing is known."""
    if len(there) < limits.many_records or column.near is not None:
        return
    for value, rest in ((there.max(), there[there < there.max()]), (there.min(), there[there > there.min()])):
        many = int((there == value).sum())
        if not len(rest) or many < max(limits.coded_records, limits.coded_share * len(there)):
            continue
        far = value > limits.far_times * max(float(rest.max()), 0.0) and float(value).is_integer()
        if far or (value < 0 <= rest.min()):
            here = {"file": data.name, "column": column.name}
            yield Remark(Message("number_stands_for_missing", here, value=f"{value:g}", records=many))


def _look_at(
    data: Microdata, column: NumberColumn, there: FloatArray, different: int, limits: NumberLimits
) -> Iterator[Remark]:
    """Say what is wrong with a column, whatever it measures."""
    here, empty = {"file": data.name, "column": column.name}, len(data) - len(there)
    if not len(there):
        yield Remark(Message("number_always_empty", here), mistake=True)
        return
    if empty > limits.empty_share * len(data):
        yield Remark(Message("number_often_empty", here, records=empty, share=empty / len(data)))
    if len(there) < limits.many_records:
        return
    if different == 1:
        yield Remark(Message("number_of_one_value", here))
    elif different <= limits.codes:
        yield Remark(Message("number_looks_like_code", here, different=different))
    elif _counts_records(there, different):
        dense = float(np.ptp(there)) < limits.dense * len(there)
        yield Remark(Message("number_looks_like_id", here, records=len(there)), mistake=dense)
    elif column.near is None:
        yield from _digits(column, there, different, here, limits)


def _counts_records(there: FloatArray, different: int) -> bool:
    steps = np.diff(there)
    return different == len(there) and not np.any(there % 1) and bool((steps > 0).all() or (steps < 0).all())


def _digits(
    column: NumberColumn, there: FloatArray, different: int, here: dict[str, str], limits: NumberLimits
) -> Iterator[Remark]:
    """Say whether numbers were rounded already, or are finer than anybody meant."""
    length, scale = column.unit == KM, KM_IN.get(column.written or KM, 1.0) if column.unit == KM else 1.0
    alone = different / len(there)
    if (step := _find_step(there, limits.steps_km if length else limits.steps, limits.heaped_share)) is not None:
        share = _share_of_multiples(there, step)
        yield Remark(Message("number_rounded_already", here, share=share, step=show_length(step, KM if length else "")))
    elif length and 1 - _share_of_multiples(there, limits.finest_km) >= limits.fine_share:
        yield Remark(Message("number_finer_than_metre", here, share=alone))
    elif not length and 1 - _share_of_multiples(there / scale, 10.0**-limits.decimals) >= limits.fine_share:
        yield Remark(Message("number_of_many_decimals", here, decimals=limits.decimals, share=alone))


def _find_step(there: FloatArray, steps: tuple[float, ...], share: float) -> float | None:
    """Return the largest step of which most numbers are multiples."""
    other = there[there != 0]  # nothing is a multiple of every step
    return next((step for step in steps if len(other) and _share_of_multiples(other, step) >= share), None)


def _share_of_multiples(numbers: FloatArray, step: float) -> float:
    times = numbers / step
    return float((np.abs(times - np.round(times)) * step < 10.0**-DECIMALS).mean())


def _as_lengths(
    data: Microdata, column: NumberColumn, there: FloatArray, extent: float | None, limits: NumberLimits
) -> Iterator[Remark]:
    """Say whether numbers can be lengths on the Earth, and ways of people who live where the file says."""
    here = {"file": data.name, "column": column.name}
    if negative := int((there < 0).sum()):
        yield Remark(Message("number_negative_length", here, records=negative))
    if longer := int((there > limits.halfway_km).sum()):
        yield Remark(Message("number_longer_than_earth", here, records=longer), mistake=True)
    elif extent and (far := int((there > limits.far_times * extent).sum())):
        lengths = {"usual": show_length(float(np.median(there)), KM), "extent": show_length(extent, KM)}
        most = np.median(there) > limits.far_times * extent
        code = mark("numbers_longer_than_extent") if most else mark("some_numbers_longer_than_extent")
        yield Remark(Message(code, here, records=far, times=limits.far_times, **lengths))


def _measure_extent(data: Microdata) -> float | None:
    """Return how far across the places of most people are, in km; None where there is no map of them."""
    points = data.distances.points()
    if points is None or not points.is_map or points.unit != KM:
        return None
    places = points.coordinates
    middle = np.broadcast_to(np.median(places, axis=0), places.shape)
    return 2 * float(np.quantile(paired(places, middle, points.metric), 0.9))


def compare_numbers(
    target: Microdata, known: Microdata, rows: tuple[IntArray, IntArray] | None, limits: NumberLimits = NUMBER_LIMITS
) -> Iterator[Remark]:
    """Compare the numbers of two files; ``rows`` say who is the same person, None that nobody knows."""
    for mine in target.numbers.columns:
        if mine.law.in_classes or mine.name not in known.numbers.names:
            continue
        theirs = known.numbers.of(mine.name)
        if theirs.law.in_classes:
            continue
        files = {"target": target.name, "known": known.name, "column": mine.name}
        found = list(_medians(mine, theirs, files, limits))
        yield from found or _same_people(mine, theirs, rows, files, limits)


def _medians(mine: NumberColumn, theirs: NumberColumn, files: dict[str, str], limits: NumberLimits) -> Iterator[Remark]:
    sides = [one.values[~np.isnan(one.values)] for one in (mine, theirs)]
    middle = [float(np.median(np.abs(one))) if len(one) else 0.0 for one in sides]
    if not all(middle):
        return
    times, unit = max(middle) / min(middle), KM if mine.unit == KM else ""
    shown = dict(zip(("mine", "theirs"), (show_length(one, unit) for one in middle), strict=True))
    if limits.unit_ratio[0] <= times <= limits.unit_ratio[1]:
        yield Remark(Message("number_in_another_unit", files, **shown), mistake=True)
    elif times > limits.other_ratio:
        yield Remark(Message("number_medians_differ", files, **shown))


def _same_people(
    mine: NumberColumn,
    theirs: NumberColumn,
    rows: tuple[IntArray, IntArray] | None,
    files: dict[str, str],
    limits: NumberLimits,
) -> Iterator[Remark]:
    """Say whether the numbers of the same people have nothing to do with one another."""
    if rows is None:
        return
    left, right = mine.values[rows[0]], theirs.values[rows[1]]
    both = ~np.isnan(left) & ~np.isnan(right)
    left, right = left[both], right[both]
    if len(left) < limits.people or not (np.ptp(left) and np.ptp(right)):
        return
    related = float(np.corrcoef(left, right)[0, 1])
    if related < limits.related:
        yield Remark(Message("people_have_other_numbers", files, people=len(left), related=related))
