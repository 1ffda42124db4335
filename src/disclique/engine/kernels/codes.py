"""Which tokens set which bits, and which people fit a record by that.

A bit is set if one of the tokens of a record sets it, or by noise. Whether a token sets a bit is learned from records
whose tokens are known, one bit after the other: each token is weighed given what is believed of all others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
SUREST = 1e-6  # no belief is nearer to certainty
FAINT = -7.0  # log odds below which a token is left as it is
HOPELESS = -12.0  # log odds below which a token is not looked at again


class Lessons(NamedTuple):
    """Records whose tokens are known: the bits of each, and the rows of every token, one token after the other."""

    bits: NDArray[np.uint8]  # (bits, records)
    start: Ints  # where the rows of a token begin
    rows: Ints
    weight: Floats  # how much each record counts


class Noise(NamedTuple):
    """The chance that a token sets a bit, that a bit is set by nothing, and that one is not set though it should."""

    prior: float
    stray: float
    lost: float


@kernel
def learn_bits(lessons: Lessons, noise: Noise, rounds: int, believed: Floats) -> None:
    """Write into ``believed`` (bits, tokens) how probable it is that a token sets a bit.

    Costs rounds × tokens of all records × bits, less what is hopeless at the first look.
    """
    count = len(lessons.start) - 1
    prior = np.log(noise.prior / (1 - noise.prior))
    hit, miss = np.log(1 - noise.lost), np.log(noise.lost)
    for b in range(lessons.bits.shape[0]):
        x, belief = lessons.bits[b], believed[b]
        # log of the chance that nobody sets the bit of a record, so far: the share of zeros
        ones, total = 0.0, 0.0
        for r in range(len(x)):
            ones += lessons.weight[r] * x[r]
            total += lessons.weight[r]
        share = min(max((ones + 0.5) / (total + 1.0), noise.stray), 1 - 1e-3)
        gain, loss = hit - np.log(share), miss - np.log(1 - share)
        alive = np.zeros(count, np.int64)
        many = 0
        silent = np.zeros(len(x))
        for t in range(count):
            odds = prior
            for at in range(lessons.start[t], lessons.start[t + 1]):
                r = lessons.rows[at]
                odds += lessons.weight[r] * (gain if x[r] else loss)
            belief[t] = 0.0
            if odds > HOPELESS or lessons.start[t] == lessons.start[t + 1]:
                belief[t] = min(max(1 / (1 + np.exp(-odds)), SUREST), 1 - SUREST)
                alive[many] = t
                many += 1
                for at in range(lessons.start[t], lessons.start[t + 1]):
                    silent[lessons.rows[at]] += np.log(1 - belief[t])
        for _ in range(rounds):
            moved, left = 0.0, 0
            for one in range(many):
                t = alive[one]
                own, odds = np.log(1 - belief[t]), prior
                for at in range(lessons.start[t], lessons.start[t + 1]):
                    r = lessons.rows[at]
                    nobody = min(np.exp(silent[r] - own), 1.0)
                    zero = nobody * (1 - noise.stray) + (1 - nobody) * noise.lost
                    odds += lessons.weight[r] * ((hit - np.log(1 - zero)) if x[r] else (miss - np.log(zero)))
                fresh = min(max(1 / (1 + np.exp(-odds)), SUREST), 1 - SUREST)
                moved = max(moved, abs(fresh - belief[t]))
                belief[t] = fresh
                step = np.log(1 - belief[t]) - own  # as it is kept: rounded
                if step != 0.0:
                    for at in range(lessons.start[t], lessons.start[t + 1]):
                        silent[lessons.rows[at]] += step
                if odds > FAINT:  # others are not looked at again
                    alive[left] = t
                    left += 1
            many = left
            if moved < 1e-3:
                break


class Link(NamedTuple):
    """What a sum of evidence for a bit means: from ``low`` on, in equal steps, log of the chance of a 1 and of a 0."""

    low: float
    step: float
    one: Floats
    zero: Floats


@kernel
def look_up(link: Link, value: float) -> int:
    """Return the cell of a sum."""
    cell = int((value - link.low) / link.step)
    return min(max(cell, 0), len(link.one) - 1)


@kernel
def link_sums(sums: Floats, link: Link, odds: Floats, zeros: Floats) -> None:
    """Write the log odds of a 1 for every bit of every person, and the log likelihood if all bits were 0."""
    for p in range(sums.shape[0]):
        total = 0.0
        for b in range(sums.shape[1]):
            cell = look_up(link, sums[p, b])
            odds[p, b] = link.one[cell] - link.zero[cell]
            total += link.zero[cell]
        zeros[p] = total


class Beam(NamedTuple):
    """What is looked for in the columns of one record: its bits, what bits are set by nothing, and how many to keep."""

    bits: NDArray[np.uint8]
    base: Floats
    link: Link
    width: int


@kernel
def search_columns(beam: Beam, entries: Floats, prior: Floats, ends: Ints, found: Ints, score: Floats) -> int:
    """Find the likeliest combinations of one entry a column; return how many there are.

    ``entries`` (rows, bits) are the sums that the candidates of all columns add, those of column c up to ``ends[c]``,
    ``prior`` their log chances. Written are rows of ``entries`` by column, the best first, and log likelihoods with
    priors. Columns are added one after the other, and the best ``width`` combinations are kept each time.
    """
    columns, length = len(ends), len(beam.base)
    states = np.zeros((beam.width, length), np.float32)
    states[0] = beam.base
    past = np.zeros(beam.width, np.float64)
    chosen = np.full((beam.width, columns), -1, np.int64)
    many, begin = 1, 0
    for c in range(columns):
        options = ends[c] - begin
        values = np.empty(many * options)
        for s in range(many):
            for e in range(options):
                row = entries[begin + e]
                total = past[s] + prior[begin + e]
                for b in range(length):
                    cell = look_up(beam.link, states[s, b] + row[b])
                    total += beam.link.one[cell] if beam.bits[b] else beam.link.zero[cell]
                values[s * options + e] = total
        order = np.argsort(-values)[: beam.width]
        fresh, kept, sums = np.empty_like(states), np.full_like(chosen, -1), np.empty(beam.width)
        for place in range(len(order)):
            s, e = order[place] // options, order[place] % options
            fresh[place] = states[s] + entries[begin + e]
            kept[place] = chosen[s]
            kept[place, c] = begin + e
            sums[place] = past[s] + prior[begin + e]
            score[place] = values[order[place]]
        states, chosen, past, many = fresh, kept, sums, len(order)
        begin = ends[c]
    found[:many] = chosen[:many]
    return many
