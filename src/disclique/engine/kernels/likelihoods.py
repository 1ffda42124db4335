"""How likely the published distances of records are for people: sums over references, one pair after the other.

A *column* is a reference: a released record that is known to be somebody's. A pair says that record t is person k. The
record's own column is left out; where a record is known as that of person k, the two records change their places,
so that the truth has as many distances as every other pair, and gives itself away by none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint8]

GAUSSIAN, LAPLACE, WITHIN = 0, 1, 2
NEAR = 0.6  # of a width: what is one value, where there is no noise


class Columns(NamedTuple):
    """Which column each record and each person has, -1 for none; which part is summed, and by which shape of noise."""

    of_record: Ints
    of_person: Ints
    begin: int
    end: int
    shape: int


class Measured(NamedTuple):
    """Distances in widths of the noise: sheets of records, of people, and the log mass at the value that has one.

    A sheet of records goes with the sheet ``which`` of people. Of a record NaN is unpublished, inf the value with a
    mass; of a person NaN says nothing.
    """

    record: Floats  # (sheets, records, columns)
    person: Floats  # (sheets, people, columns)
    mass: Floats  # the same
    which: Ints


class Coded(NamedTuple):
    """Distances as cells of tables that have the log likelihood of each cell of records by cell of people.

    Every column has its table: one that is less sure to be right has a flatter one.
    """

    record: Codes
    person: Codes
    tables: Floats  # (tables, cells of records, cells of people)
    of_column: Ints
    which: Ints


@kernel
def add_measured(t: Ints, k: Ints, data: Measured, columns: Columns, total: Floats) -> None:
    """Add to ``total`` the log likelihood of every pair of a record and a person. O(pairs × columns)."""
    for e in range(len(t)):
        own = columns.of_record[t[e]]
        swapped = columns.of_person[k[e]]
        found = total[e]
        for sheet in range(len(data.which)):
            record = data.record[sheet, t[e]]
            person = data.person[data.which[sheet], k[e]]
            mass = data.mass[data.which[sheet], k[e]]
            for p in range(columns.begin, columns.end):
                if p == own:
                    continue
                q = p
                if p == swapped:
                    if own < 0:
                        continue
                    q = own
                if np.isnan(record[p]) or np.isnan(person[q]):
                    continue
                if np.isinf(record[p]):
                    found += mass[q]
                    continue
                gap = abs(record[p] - person[q])
                if columns.shape == GAUSSIAN:
                    found -= gap * gap / 2
                elif columns.shape == LAPLACE:
                    found -= gap
                elif gap > NEAR:
                    found = -np.inf
                    break
            if found == -np.inf:
                break
        total[e] = found


@kernel
def add_coded(t: Ints, k: Ints, data: Coded, columns: Columns, total: Floats) -> None:
    """Add to ``total`` the log likelihood of every pair of a record and a person, by a table of finite numbers."""
    tables, of_column = data.tables, data.of_column
    for e in range(len(t)):
        own = columns.of_record[t[e]]
        swapped = columns.of_person[k[e]]
        found = total[e]
        for sheet in range(len(data.which)):
            record = data.record[sheet, t[e]]
            person = data.person[data.which[sheet], k[e]]
            for p in range(columns.begin, columns.end):
                found += tables[of_column[p], record[p], person[p]]
            if columns.begin <= own < columns.end:
                found -= tables[of_column[own], record[own], person[own]]
            if columns.begin <= swapped < columns.end and swapped != own:
                found -= tables[of_column[swapped], record[swapped], person[swapped]]
                if own >= 0:
                    found += tables[of_column[swapped], record[swapped], person[own]]
        total[e] = found


@kernel
def _spare_others(value: Floats, group: Ints, top: Ints, rest: Floats, out: Floats) -> float:
    """Move ``out`` half way to 1 / (1 + the sum of the other values of each one's group), and say how far it was.

    The largest value of a group is kept apart from the others: else nothing would be left of these beside it.
    """
    top[:] = -1
    rest[:] = 0.0
    for e in range(len(value)):
        best = top[group[e]]
        if best < 0:
            top[group[e]] = e
        elif value[e] > value[best]:
            top[group[e]] = e
            rest[group[e]] += value[best]
        else:
            rest[group[e]] += value[e]
    moved = 0.0
    for e in range(len(value)):
        best = top[group[e]]
        others = rest[group[e]] if best == e else value[best] + max(rest[group[e]] - value[e], 0.0)
        fresh = 1 / (1 + others)
        moved = max(moved, abs(fresh - out[e]) / fresh)
        out[e] = (fresh + out[e]) / 2
    return moved


@kernel
def marginalise_many(weight: Floats, t: Ints, k: Ints, sizes: tuple[int, int], rounds: int) -> Floats:
    """Return the probability of each pair in a random matching drawn with the product of its weights.

    Belief propagation as in ``marginalise_matchings``, for so many pairs that they must be gone through in their order.
    """
    down, up = np.ones(len(weight)), np.ones(len(weight))
    tops, people = np.empty(sizes[0], np.int64), np.empty(sizes[1], np.int64)
    rests, others = np.empty(sizes[0]), np.empty(sizes[1])
    for _ in range(rounds):
        moved = _spare_others(weight * up, t, tops, rests, down)
        moved = max(moved, _spare_others(weight * down, k, people, others, up))
        if moved < 1e-4:
            break
    both = weight * down * up
    return both / (1 + both)


@kernel
def _spare_classes(value: Floats, group: Ints, many: Floats, top: Ints, rest: Floats, out: Floats) -> float:
    """Move ``out`` half way to 1 / (1 + the sum of the others of each one's group); ``many`` records have a value."""
    top[:] = -1
    rest[:] = 0.0
    for e in range(len(value)):
        best = top[group[e]]
        if best < 0:
            top[group[e]] = e
        elif value[e] > value[best]:
            top[group[e]] = e
            rest[group[e]] += many[best] * value[best]
        else:
            rest[group[e]] += many[e] * value[e]
    moved = 0.0
    for e in range(len(value)):
        best = top[group[e]]
        if best == e:
            others = rest[group[e]] + max(many[e] - 1, 0.0) * value[e]
        else:
            others = many[best] * value[best] + max(rest[group[e]] - value[e], 0.0)
        fresh = 1 / (1 + others)
        moved = max(moved, abs(fresh - out[e]) / fresh)
        out[e] = (fresh + out[e]) / 2
    return moved


@kernel
def marginalise_classes(
    weight: Floats, pairs: tuple[Ints, Ints], many: tuple[Floats, Floats], sizes: tuple[int, int], rounds: int
) -> Floats:
    """Return the probability of each pair of classes in a random matching of their records, for any two of these.

    Belief propagation as in ``marginalise_many``; all records of a class are alike, and so are their messages.
    ``many`` are the records of both classes of each pair.
    """
    down, up = np.ones(len(weight)), np.ones(len(weight))
    tops, people = np.empty(sizes[0], np.int64), np.empty(sizes[1], np.int64)
    rests, others = np.empty(sizes[0]), np.empty(sizes[1])
    for _ in range(rounds):
        moved = _spare_classes(weight * up, pairs[0], many[1], tops, rests, down)
        moved = max(moved, _spare_classes(weight * down, pairs[1], many[0], people, others, up))
        if moved < 1e-4:
            break
    both = weight * down * up
    return both / (1 + both)
