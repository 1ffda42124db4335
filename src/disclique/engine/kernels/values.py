"""The mass that people have on the values of released records, from pairs that are weighed as they are looked up.

Records are gone through value by value, so that one number for each person is kept of a value at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel
from disclique.engine.kernels.oracle import EQUAL, Question, Side, find_pair_chance, weigh_row

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Sums(NamedTuple):
    """Of each person: the most mass on one value, how many values have as much, that on their own, and all of it."""

    top: Floats
    many: Ints
    own: Floats
    total: Floats


@kernel
def sum_values(asked: Question, odds: float, sides: tuple[Side, Side], value: Ints, own: Ints) -> Sums:
    """Sum the chances of every person's records by the ``value`` of these, -1 being none; ``own`` are the people's.

    Every pair is weighed once; every value costs a look at everybody.
    """
    records, people = sides
    totals, rests, tops = people.total, people.rest, people.top
    m, order = len(people.total), np.argsort(value)
    person, weight, mass = np.empty(m, np.int32), np.empty(m), np.zeros(m)
    found = Sums(np.zeros(m), np.zeros(m, np.int64), np.zeros(m), np.zeros(m))
    at = 0
    while at < len(order):
        current = value[order[at]]
        mass[:] = 0.0
        while at < len(order) and value[order[at]] == current:
            t = order[at]
            at += 1
            for f in range(weigh_row(asked, t, person, weight)):
                p = person[f]
                both = records.rest[t] * rests[p] if records.top[t] == p and tops[p] == t else 0.0
                mass[p] += find_pair_chance(odds * weight[f], records.total[t] * totals[p], both)
        for p in range(m):
            found.total[p] += mass[p]
            if current < 0 or mass[p] == 0:
                continue
            if current == own[p]:
                found.own[p] = mass[p]
            if mass[p] > found.top[p] * (1 + EQUAL):
                found.top[p], found.many[p] = mass[p], 1
            elif mass[p] >= found.top[p] * (1 - EQUAL):
                found.many[p] += 1
    return found
