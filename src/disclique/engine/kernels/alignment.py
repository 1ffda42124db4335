"""Kernels of the search for an alignment: likelihood with slope and curvature, and motions from pairs of records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel
from disclique.engine.kernels.neighbours import CellIndex, RelatedClasses, dot, find_bucket

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LOOKUP = 20  # looking up a place costs about as much as comparing so many distances


class KnownRecords(NamedTuple):
    """What the likelihood of a target at some place needs of the known records, in the bucket order of the index."""

    index: CellIndex
    related: RelatedClasses
    rarity: Floats  # (n,): 1 / density of known records around each
    variance: Floats  # (n, 2): east and north
    axes: Floats  # (n, 2, 3): east and north
    flat: bool


@kernel
def _fill_lever(at: Floats, pivot: Floats, flat: bool, out: Floats) -> None:
    """Fill ``out`` with how a position moves under a small motion: (turns, directions).

    On the sphere the motion is a vector of turns; in the plane an angle about ``pivot`` and two shifts.
    """
    out[:] = 0.0
    if flat:
        out[0, 0], out[0, 1] = pivot[1] - at[1], at[0] - pivot[0]
        out[1, 0] = out[2, 1] = 1.0
    else:
        out[0, 1], out[0, 2] = -at[2], at[1]
        out[1, 0], out[1, 2] = at[2], -at[0]
        out[2, 0], out[2, 1] = -at[1], at[0]


@kernel
def _add_square(lever: Floats, part: Floats, out: Floats) -> None:
    """Add lever · part · leverᵀ, where ``part`` is symmetric: (00, 01, 02, 11, 12, 22)."""
    for r in range(3):
        l0, l1, l2 = lever[r, 0], lever[r, 1], lever[r, 2]
        x0 = l0 * part[0] + l1 * part[1] + l2 * part[2]
        x1 = l0 * part[1] + l1 * part[3] + l2 * part[4]
        x2 = l0 * part[2] + l1 * part[4] + l2 * part[5]
        for c in range(3):
            out[r, c] += x0 * lever[c, 0] + x1 * lever[c, 1] + x2 * lever[c, 2]


@kernel
def _add_moments(records: KnownRecords, p: int, offset: tuple[float, float, float], extra: float, out: Floats) -> None:
    """Add what the known record ``p`` says of a target this far from it, but for its label and the share.

    To ``out``: the likelihood ratio; times the squares of the displacement east and north (2); times the slope along
    each direction (3), its squares (6, symmetric) and its curvature if this were the record (6).
    """
    axes, variance = records.axes, records.variance
    e0, e1, e2 = axes[p, 0, 0], axes[p, 0, 1], axes[p, 0, 2]
    n0, n1, n2 = axes[p, 1, 0], axes[p, 1, 1], axes[p, 1, 2]
    east = offset[0] * e0 + offset[1] * e1 + offset[2] * e2
    north = offset[0] * n0 + offset[1] * n1 + offset[2] * n2
    v0, v1 = variance[p, 0] + extra, variance[p, 1] + extra
    a, z = east / v0, north / v1
    w = records.rarity[p] * np.exp(-(a * east + z * north) / 2) / np.sqrt(v0 * v1)
    s0, s1 = variance[p, 0] / v0, variance[p, 1] / v1  # of a residual: displacement, not error of the map
    out[0] += w
    out[1] += w * s0 * (s0 * east * east + extra)
    out[2] += w * s1 * (s1 * north * north + extra)
    g0, g1, g2 = -(a * e0 + z * n0), -(a * e1 + z * n1), -(a * e2 + z * n2)
    out[3] += w * g0
    out[4] += w * g1
    out[5] += w * g2
    out[6] += w * g0 * g0
    out[7] += w * g0 * g1
    out[8] += w * g0 * g2
    out[9] += w * g1 * g1
    out[10] += w * g1 * g2
    out[11] += w * g2 * g2
    w0, w1 = w / v0, w / v1
    out[12] += w0 * e0 * e0 + w1 * n0 * n0
    out[13] += w0 * e0 * e1 + w1 * n0 * n1
    out[14] += w0 * e0 * e2 + w1 * n0 * n2
    out[15] += w0 * e1 * e1 + w1 * n1 * n1
    out[16] += w0 * e1 * e2 + w1 * n1 * n2
    out[17] += w0 * e2 * e2 + w1 * n2 * n2


@kernel
def evaluate_likelihood(
    records: KnownRecords, positions: Floats, classes: Ints, extra: Floats, common: float, pivot: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the log likelihood ratio of the targets at ``positions``, and its slope and curvature over small motions.

    These are ([log likelihood, expected number of common targets, expected squares of the displacement east and north,
    curvature over the share of common targets, distances compared], slope (3,), curvature (2, 3, 3)): the curvature if
    it were known who is who, and the observed one, which is less (Louis's formula). ``extra`` is each target's variance
    besides the displacement.
    """
    index = records.index
    first, theirs, gain = records.related.start, records.related.known, records.related.gain
    start, cell, place = index.start, index.cell, index.position
    mask, width, reach = len(start) - 2, index.width, (index.width / 2) ** 2
    sums, slope, curve = np.zeros(6), np.zeros(3), np.zeros((2, 3, 3))
    lever, own, one, every = np.empty((3, 3)), np.empty(3), np.empty(18), np.empty(18)
    for i in range(len(positions)):
        at = positions[i]
        column = int(np.floor(dot(index.axes[0], at) / width - 0.5))
        row = int(np.floor(dot(index.axes[1], at) / width - 0.5))
        every[:] = 0.0
        for q in range(first[classes[i]], first[classes[i] + 1]):
            one[:] = 0.0
            for c in range(column, column + 2):
                for r in range(row, row + 2):
                    b = find_bucket(theirs[q], c, r, mask)
                    sums[5] += start[b + 1] - start[b]
                    for p in range(start[b], start[b + 1]):
                        if cell[p, 0] != theirs[q] or cell[p, 1] != c or cell[p, 2] != r:
                            continue
                        d0, d1, d2 = at[0] - place[p, 0], at[1] - place[p, 1], at[2] - place[p, 2]
                        if d0 * d0 + d1 * d1 + d2 * d2 <= reach:
                            _add_moments(records, p, (d0, d1, d2), extra[i], one)
            if one[0] > 0:
                every += common * np.exp(gain[q]) / (2 * np.pi) * one
        total = 1 - common + every[0]
        sums[0] += np.log(total)
        sums[4] += ((1 - 1 / total) / common) ** 2
        every /= total
        sums[1:4] += every[:3]
        _fill_lever(at, pivot, records.flat, lever)
        for r in range(3):
            own[r] = dot(lever[r], every[3:6])
            slope[r] += own[r]
        _add_square(lever, every[12:], curve[0])
        _add_square(lever, every[12:] - every[6:12], curve[1])
        for r in range(3):
            for c in range(3):
                curve[1, r, c] += own[r] * own[c]
    return sums, slope, curve


class AlignmentSearch(NamedTuple):
    """What a motion is scored by.

    A target record is common with probability ``common``, and then lies around its known record with ``variance``
    in each direction.
    """

    index: CellIndex
    related: RelatedClasses
    rarity: Floats  # of each known record: 1 / density of known records around it
    variance: float
    common: float
    flat: bool
    shown: int  # how many of the targets a hypothesis is scored on
    expected: Floats  # where each target is thought to lie, and how far off that may be (inf: nothing is thought)
    slack: float


@kernel
def _fill_pose(a: Floats, b: Floats, side: float, flat: bool, out: Floats) -> None:
    """Fill ``out`` with the columns (middle, along, across) of the pair a, b, and its middle in the last column."""
    middle, along = (a + b) / 2, b - a
    if flat:
        out[:, 0] = 0.0
        out[2, 0] = 1.0
    else:
        out[:, 0] = middle / np.sqrt(dot(middle, middle))
        along = along - dot(along, out[:, 0]) * out[:, 0]
    out[:, 1] = along / np.sqrt(dot(along, along))
    out[0, 2] = side * (out[1, 0] * out[2, 1] - out[2, 0] * out[1, 1])
    out[1, 2] = side * (out[2, 0] * out[0, 1] - out[0, 0] * out[2, 1])
    out[2, 2] = side * (out[0, 0] * out[1, 1] - out[1, 0] * out[0, 1])
    for c in range(3):
        out[c, 3] = middle[c] if flat else 0.0


@kernel
def score_motion(
    search: AlignmentSearch, turn: Floats, shift: Floats, positions: Floats, classes: Ints, pair: Ints
) -> tuple[float, int]:
    """Return the log likelihood ratio of the targets under a motion, against strangers, and the work it took.

    The ``pair`` of targets that the motion was made from is left out. Wrong motions are many: a score no better than
    that of strangers is given up once a few common records should have shown themselves.
    """
    index, related, rarity = search.index, search.related, search.rarity  # taken apart once: it is not free
    axes, start, member, cell, place = index.axes, index.start, index.member, index.cell, index.position
    first, theirs, gain = related.start, related.known, related.gain
    mask, width, double = len(start) - 2, index.width, 2 * search.variance
    reach, peak = 9 * search.variance, search.common / (np.pi * double)
    check = min(max(8, int(3 / search.common)), search.shown // 4 + 8)
    first_shown = (pair[0] * 31 + pair[1] * 17) % search.shown  # not the same few records for all hypotheses
    total, work = 0.0, 0
    for k in range(search.shown):
        i = (k + first_shown) % search.shown
        if i == pair[0] or i == pair[1]:
            continue
        x0, x1, x2 = positions[i, 0], positions[i, 1], positions[i, 2]
        y0 = turn[0, 0] * x0 + turn[0, 1] * x1 + turn[0, 2] * x2 + shift[0]
        y1 = turn[1, 0] * x0 + turn[1, 1] * x1 + turn[1, 2] * x2 + shift[1]
        y2 = turn[2, 0] * x0 + turn[2, 1] * x1 + turn[2, 2] * x2 + shift[2]
        column = int(np.floor((axes[0, 0] * y0 + axes[0, 1] * y1 + axes[0, 2] * y2) / width - 0.5))
        row = int(np.floor((axes[1, 0] * y0 + axes[1, 1] * y1 + axes[1, 2] * y2) / width - 0.5))
        here = 1 - search.common
        for q in range(first[classes[i]], first[classes[i] + 1]):
            work += LOOKUP
            for c in range(column, column + 2):
                for r in range(row, row + 2):
                    b = find_bucket(theirs[q], c, r, mask)
                    for p in range(start[b], start[b + 1]):
                        work += 1
                        if cell[p, 0] != theirs[q] or cell[p, 1] != c or cell[p, 2] != r:
                            continue
                        square = (place[p, 0] - y0) ** 2 + (place[p, 1] - y1) ** 2 + (place[p, 2] - y2) ** 2
                        if square <= reach:
                            here += peak * rarity[member[p]] * np.exp(gain[q] - square / double)
        total += np.log(here)
        if k >= check:
            if total < max(-1.0, check * np.log(1 - search.common) / 2):
                break
            check *= 2
    return total, work


class ClassMembers(NamedTuple):
    """Known records by class: ``member[start[b]:start[b + 1]]``, with their positions."""

    start: Ints
    member: Ints
    position: Floats


@kernel
def _may_lie_at(search: AlignmentSearch, target: int, position: Floats) -> bool:
    """Return True if a target may lie at ``position`` by where it is expected."""
    if search.slack == np.inf:
        return True
    square = 0.0
    for c in range(3):
        square += (search.expected[target, c] - position[c]) ** 2
    return square <= search.slack * search.slack


@kernel
def _fill_motion(ours: Floats, theirs: Floats, turn: Floats, shift: Floats) -> None:
    """Fill the motion that carries one pose onto the other."""
    for r in range(3):
        for c in range(3):
            turn[r, c] = theirs[r, 0] * ours[c, 0] + theirs[r, 1] * ours[c, 1] + theirs[r, 2] * ours[c, 2]
        shift[r] = theirs[r, 3] - (turn[r, 0] * ours[0, 3] + turn[r, 1] * ours[1, 3] + turn[r, 2] * ours[2, 3])


@kernel
def try_pairs(
    search: AlignmentSearch,
    members: ClassMembers,
    pairs: Ints,
    positions: Floats,
    classes: Ints,
    limits: tuple[float, int, int],
) -> tuple[Floats, int, int]:
    """Find the best motions that lay a pair of targets on a pair of known records at the same distance.

    ``limits`` are the tolerance of the distance, the budget and how many motions to keep. Rows of the first array:
    score, then the 3 x 3 turn and the shift. Then how many pairs were used up and what that cost in distances compared.
    Stops after the pair that exhausts the budget.
    """
    tolerance, budget, kept = limits
    best = np.full((kept, 13), -np.inf)
    ours, theirs = np.empty((3, 4)), np.empty((3, 4))
    turn, shift = np.empty((3, 3)), np.empty(3)
    cost, used = 0, 0
    for u in range(len(pairs)):
        if cost >= budget:
            break
        used += 1
        i1, i2 = pairs[u]
        gap = positions[i2] - positions[i1]
        length = np.sqrt(dot(gap, gap))
        low, high = max(length - tolerance, 0.0) ** 2, (length + tolerance) ** 2
        _fill_pose(positions[i1], positions[i2], 1.0, search.flat, ours)
        for q1 in range(search.related.start[classes[i1]], search.related.start[classes[i1] + 1]):
            b1 = search.related.known[q1]
            for q2 in range(search.related.start[classes[i2]], search.related.start[classes[i2] + 1]):
                b2 = search.related.known[q2]
                for p1 in range(members.start[b1], members.start[b1 + 1]):
                    cost += 1
                    if not _may_lie_at(search, i1, members.position[p1]):
                        continue
                    for p2 in range(members.start[b2], members.start[b2 + 1]):
                        cost += 1
                        d0 = members.position[p1, 0] - members.position[p2, 0]
                        d1 = members.position[p1, 1] - members.position[p2, 1]
                        d2 = members.position[p1, 2] - members.position[p2, 2]
                        square = d0 * d0 + d1 * d1 + d2 * d2
                        if square < low or square > high or square == 0.0:
                            continue
                        if not _may_lie_at(search, i2, members.position[p2]):
                            continue
                        for side in range(2):
                            _fill_pose(
                                members.position[p1], members.position[p2], 1.0 - 2.0 * side, search.flat, theirs
                            )
                            _fill_motion(ours, theirs, turn, shift)
                            value, work = score_motion(search, turn, shift, positions, classes, pairs[u])
                            cost += work
                            worst = np.argmin(best[:, 0])
                            if value > best[worst, 0]:
                                best[worst, 0] = value
                                best[worst, 1:10] = turn.copy().reshape(9)
                                best[worst, 10:] = shift
    return best, used, cost
