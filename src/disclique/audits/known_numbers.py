"""Numbers of a snooper's own file beside those of the release: rounded as these are, or off by as much as they are.

Taken as exact, numbers that differ by a hair would exclude the right people, and a release that gives everything away
would look safe.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from disclique.attacks.rounding import see_rounding
from disclique.model import Microdata
from disclique.numbers import DECIMALS, NumberColumn, Numbers, Rounded
from disclique.values import FloatArray, IntArray

TO_DEVIATION = 1.4826  # of a Gaussian error, from the median of its size


def fit_known_numbers(target: Microdata, known: Microdata) -> Microdata:
    """Return the snooper's file with its numbers as a snooper would compare them with the release.

    Where the file's numbers look rounded and theirs do not, theirs are rounded; where those of the same people still
    differ as a rule, they are in error by that much.
    """
    seen, _ = see_rounding(target, known)
    rows = {person: row for row, person in enumerate(known.ids)}
    pairs = [(row, rows[person]) for row, person in enumerate(target.ids) if person in rows]
    mine, theirs = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    made = []
    for given in known.numbers.columns:
        column = given
        if column.name in seen.numbers.names:
            law, own = seen.numbers.of(column.name).law, target.numbers.of(column.name).values[mine]
            if isinstance(law, Rounded):
                column = _round_alike(column, law.width, own, theirs)
            column = _with_error(column, own - column.values[theirs])
        made.append(column)
    return replace(known, numbers=Numbers(tuple(made)))


def _round_alike(column: NumberColumn, step: float, own: FloatArray, theirs: IntArray) -> NumberColumn:
    """Return numbers rounded as the file's were: to the nearest multiple, down or up, whatever fits most people."""
    times = np.round(column.values / step, DECIMALS)
    ways = [np.floor(times + 0.5) * step, np.floor(times) * step, np.ceil(times) * step]
    return replace(column, values=max(ways, key=lambda one: (np.abs(own - one[theirs]) < step / 2).sum()))


def _with_error(column: NumberColumn, apart: FloatArray) -> NumberColumn:
    there = np.abs(apart[~np.isnan(apart)])
    usual = float(np.median(there)) if len(there) else 0.0
    return column if usual < 10.0**-DECIMALS else replace(column, error=max(column.error, TO_DEVIATION * usual))
