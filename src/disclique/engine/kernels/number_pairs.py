"""Pairs of a released and a known record whose classes are related and whose numbers lie near enough."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Boxes(NamedTuple):
    """Released records: their class, and for each number the ends between which the known one must lie."""

    classes: Ints
    low: Floats  # (records, numbers), of a missing number from -inf …
    high: Floats  # … to inf


class People(NamedTuple):
    """Known records by their class and, within it, by the first number, the missing ones last."""

    start: Ints  # where the records of each class begin
    values: Floats  # (records, numbers)


class Related(NamedTuple):
    """For each released class the places ``start[c]`` to ``start[c + 1]`` of ``known``, a known class each."""

    start: Ints
    known: Ints


@kernel
def count_pairs(boxes: Boxes, people: People, related: Related, counts: Ints) -> None:
    """Count the pairs of every released record."""
    nobody = np.zeros(0, dtype=np.int64)
    for row in range(len(boxes.classes)):
        counts[row] = _meet(row, boxes, people, related, nobody, nobody, 0)


@kernel
def list_pairs(boxes: Boxes, people: People, related: Related, start: Ints, person: Ints, place: Ints) -> None:
    """List the pairs of every released record from its start on: the known record, and the place of the relation."""
    for row in range(len(boxes.classes)):
        if start[row + 1] > start[row]:
            _meet(row, boxes, people, related, person, place, start[row])


@kernel
def _meet(row: int, boxes: Boxes, people: People, related: Related, person: Ints, place: Ints, at: int) -> int:
    own, found = boxes.classes[row], 0
    if own < 0:
        return 0
    write = len(person) > 0
    for link in range(related.start[own], related.start[own + 1]):
        theirs = related.known[link]
        begin, end = people.start[theirs], people.start[theirs + 1]
        low, high = boxes.low[row, 0], boxes.high[row, 0]
        first, last = begin, end
        while first < last:  # the first one that is not below; a missing number is not
            middle = (first + last) // 2
            if people.values[middle, 0] < low:
                first = middle + 1
            else:
                last = middle
        for other in range(first, end):
            value = people.values[other, 0]
            if value > high:  # only the missing ones behind can still fit
                for rest in range(_find_missing(people.values, other, end), end):
                    if _fits(row, rest, boxes, people):
                        if write:
                            person[at + found], place[at + found] = rest, link
                        found += 1
                break
            if _fits(row, other, boxes, people):
                if write:
                    person[at + found], place[at + found] = other, link
                found += 1
    return found


@kernel
def _find_missing(values: Floats, begin: int, end: int) -> int:
    """Return the first place at which the first number is missing."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if np.isnan(values[middle, 0]):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _fits(row: int, other: int, boxes: Boxes, people: People) -> bool:
    for number in range(people.values.shape[1]):
        value = people.values[other, number]
        if value < boxes.low[row, number] or value > boxes.high[row, number]:  # a missing one is neither
            return False
    return True
