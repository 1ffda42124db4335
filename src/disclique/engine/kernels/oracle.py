"""Whose record is whose, by places and labels under the law of a mask: pairs are weighed as they are looked up.

The probability of a pair in a random one-to-one matching, as belief propagation finds it, follows from three numbers:
p (1 - p) = w / (R C), w being the weight of the pair and 1/R and 1/C the probabilities that the record and the person
have no partner. So two numbers for each record and person are all that is kept of hundreds of millions of pairs, whose
weights are worked out again in every round; where pairs are few, they are kept. Only a pair that is the most likely
one of both its sides may be likelier than one half: for that one the sum over all others is kept as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel
from disclique.engine.kernels.grid import Grid, find_rows, find_run
from disclique.engine.kernels.neighbours import RelatedClasses, dot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.int32]
EQUAL = 1e-9  # numbers that differ by less, relatively, are one
HEAVIEST = 1e80  # weight: a product of two is still a number
SMALL = 1e-3  # a probability below which its square root need not be drawn


class Law(NamedTuple):
    """The density of a masked place, in even steps of the distance, or of its square in units of the variance.

    ``variance`` is that of all known places where it is one and the same; else ``scaled`` are east and north of each
    known place in the order of the grid, and ``variances`` their variances.
    """

    table: Floats
    step: float
    reach: float  # in distance, or in standard deviations
    gaussian: bool
    variance: float
    axes: Floats  # (n, 2, 3), or empty
    variances: Floats  # (n, 2), or empty


class Masked(NamedTuple):
    """Released records: where they lie in each release, their classes, and one over the density of strangers there."""

    positions: Floats  # (releases, n, 3)
    classes: Ints
    rarity: Floats
    variance: Floats  # of each one's place, besides the law's


class Question(NamedTuple):
    """Records, people, the law that moved them, and what labels say.

    ``least`` says of each related pair of classes from which part of the greatest density on a pair of them counts.
    """

    masked: Masked
    people: Grid
    law: Law
    related: RelatedClasses
    least: Floats


class Kept(NamedTuple):
    """Pairs that are kept: for each record those from ``start`` on, a person and a weight each."""

    start: Ints
    person: Rows
    weight: Floats


class Side(NamedTuple):
    """What is known of the records, or of the people: ``total`` is one over the probability of no partner.

    ``rest`` is the same without the most likely partner ``top``, which is -1 where two are equally likely; ``faint`` is
    the part of the total that is due to pairs that are not kept.
    """

    total: Floats
    rest: Floats
    top: Ints
    faint: Floats


class Best(NamedTuple):
    """The probability of the most likely partner, and how many partners are as likely."""

    chance: Floats
    many: Ints


@kernel
def _look_up(table: Floats, place: float) -> float:
    """Return the density at a place of the table, 0 outside."""
    cell = int(place)
    if cell >= len(table) - 1:
        return 0.0
    return table[cell] + (place - cell) * (table[cell + 1] - table[cell])


@kernel
def weigh_row(asked: Question, t: int, person: Rows, weight: Floats) -> int:
    """Fill in the people who may be record t, by their place in the grid, with their weights; return how many.

    Arrays are taken out of what is asked first: passing it on for every pair would cost ten times as much.
    """
    masked, grid, law, related, least = asked
    a = masked.classes[t]
    if a < 0:
        return 0
    position, table, places, axes, variances = grid.position, law.table, masked.positions, law.axes, law.variances
    x0, x1, x2 = places[0, t, 0], places[0, t, 1], places[0, t, 2]
    x, y = dot(grid.axes[0], places[0, t]), dot(grid.axes[1], places[0, t])
    gaussian, leaning, releases, own = law.gaussian, len(axes) > 0, len(places), masked.variance[t]
    variance = law.variance + own
    reach = law.reach * np.sqrt(variance) if gaussian else law.reach
    scale, peak = (1 / (law.step * variance), 1 / variance) if gaussian else (1 / law.step, 1.0)
    found = 0
    for q in range(related.start[a], related.start[a + 1]):
        kind, radius = related.known[q], reach
        gain = np.exp(min(related.gain[q], 180.0)) * masked.rarity[t] * peak
        if least[q] >= 1 or (kind + 1) * grid.rows * grid.columns >= len(grid.start):
            continue
        if gaussian and least[q] > 0:
            radius = min(reach, np.sqrt(-2 * np.log(least[q]) * variance))
        furthest = radius * radius
        first, last = find_rows(grid, y, radius)
        for row in range(first, last):
            begin, end = find_run(grid, kind, row, x, y, radius)
            for p in range(begin, end):
                d0, d1, d2 = position[p, 0] - x0, position[p, 1] - x1, position[p, 2] - x2
                square = d0 * d0 + d1 * d1 + d2 * d2
                if square > furthest:
                    continue
                if not gaussian:
                    value = _look_up(table, np.sqrt(square) * scale)
                    for r in range(1, releases):
                        d0 = position[p, 0] - places[r, t, 0]
                        d1 = position[p, 1] - places[r, t, 1]
                        d2 = position[p, 2] - places[r, t, 2]
                        value *= _look_up(table, np.sqrt(d0 * d0 + d1 * d1 + d2 * d2) * scale)
                elif not leaning:
                    value = _look_up(table, square * scale)
                else:
                    east = d0 * axes[p, 0, 0] + d1 * axes[p, 0, 1] + d2 * axes[p, 0, 2]
                    north = d0 * axes[p, 1, 0] + d1 * axes[p, 1, 1] + d2 * axes[p, 1, 2]
                    wide, tall = variances[p, 0] + own, variances[p, 1] + own
                    value = _look_up(table, (east * east / wide + north * north / tall) / law.step)
                    value *= variance / np.sqrt(wide * tall)
                if value > 0:
                    person[found] = p
                    weight[found] = min(gain * value, HEAVIEST)
                    found += 1
    return found


@kernel
def find_pair_chance(w: float, totals: float, rests: float) -> float:
    """Return the probability of a pair from the product of both sides' totals, or of what they are without the pair.

    ``rests`` is 0 unless the pair is the most likely one of both.
    """
    if rests > 0:
        return w / (rests + w)
    product = w / totals
    if product < SMALL:
        return product * (1 + product)
    return 0.5 if product >= 0.25 else 2 * product / (1 + np.sqrt(1 - 4 * product))


@kernel
def _settle(side: Side, at: int, rest: float, top: float, partner: int, calm: bool) -> float:
    """Take over what a round has found of a record; return by how much its logarithm has changed.

    ``calm`` takes the mean with the last round: sums would swing between two bounds.
    """
    rest, before = 1 + side.faint[at] + rest, side.total[at]
    total = rest + top
    if calm:
        total = np.sqrt(total * before)
        if partner == side.top[at]:
            rest = np.sqrt(rest * side.rest[at])
    side.total[at], side.rest[at], side.top[at] = total, rest, partner
    return abs(np.log(total / before))


@kernel
def run_round(asked: Question, odds: float, sides: tuple[Side, Side], calm: bool) -> tuple[float, int]:
    """Bring both sides nearer to what they imply of each other; return the mean change, and the number of pairs."""
    records, people = sides
    totals, rests, tops = people.total, people.rest, people.top
    n, m = len(records.total), len(people.total)
    person, weight = np.empty(m, np.int32), np.empty(m)
    sums, most, best = np.zeros(m), np.zeros(m), np.full(m, -1, np.int64)
    mean, pairs = 0.0, 0
    for t in range(n):
        found = weigh_row(asked, t, person, weight)
        pairs += found
        total, rest, top = records.total[t], records.rest[t], records.top[t]
        own, own_most, own_best = 0.0, 0.0, -1
        for f in range(found):
            p, w = person[f], odds * weight[f]
            if top == p and tops[p] == t:
                part = w / rests[p]
            else:
                part = w / (totals[p] * (1 - find_pair_chance(w, total * totals[p], 0.0)))
            if part > own_most * (1 + EQUAL):
                own, own_most, own_best = own + own_most, part, p
            else:
                own += part
                if part >= own_most * (1 - EQUAL):
                    own_best = -1
        mean += _settle(records, t, own, own_most, own_best, calm) / n
        total, rest, top = records.total[t], records.rest[t], records.top[t]
        for f in range(found):
            p, w = person[f], odds * weight[f]
            if top == p and tops[p] == t:
                part = w / rest
            else:
                part = w / (total * (1 - find_pair_chance(w, total * totals[p], 0.0)))
            if part > most[p] * (1 + EQUAL):
                sums[p] += most[p]
                most[p], best[p] = part, t
            else:
                sums[p] += part
                if part >= most[p] * (1 - EQUAL):
                    best[p] = -1
    for p in range(m):
        mean += _settle(people, p, sums[p], most[p], best[p], calm) / m
    return mean, pairs


@kernel
def start_sides(asked: Question, kept: Kept, odds: float, sides: tuple[Side, Side]) -> int:
    """Guess both sides from the sums of weights, as if those of both sides of a pair were equal; count the pairs.

    ``kept`` are the pairs; without any they are looked up.
    """
    records, people = sides
    n, m, stored = len(records.total), len(people.total), len(kept.start) > 1
    person, weight = np.empty(0 if stored else m, np.int32), np.empty(0 if stored else m)
    sums, own, pairs = np.zeros(m), np.zeros(n), 0
    for t in range(n):
        if stored:
            person, weight = (
                kept.person[kept.start[t] : kept.start[t + 1]],
                kept.weight[kept.start[t] : kept.start[t + 1]],
            )
        found = len(person) if stored else weigh_row(asked, t, person, weight)
        pairs += found
        for f in range(found):
            own[t] += odds * weight[f]
            sums[person[f]] += odds * weight[f]
    for t in range(n):
        records.total[t] = records.rest[t] = (1 + np.sqrt(1 + 4 * own[t])) / 2
    for p in range(m):
        people.total[p] = people.rest[p] = (1 + np.sqrt(1 + 4 * sums[p])) / 2
    return pairs


@kernel
def keep_pairs(asked: Question, odds: float, sides: tuple[Side, Side], faint: float, most: int) -> Kept:
    """Keep the pairs that count; the others, of probabilities below ``faint``, are summed up.

    None are kept where there are more than ``most``.
    """
    records, people = sides
    totals, n, m = people.total, len(records.total), len(people.total)
    person, weight = np.empty(m, np.int32), np.empty(m)
    start = np.zeros(n + 1, np.int64)
    who, how = np.empty(1024, np.int32), np.empty(1024)
    count = 0
    lost, missed = np.zeros(n), np.zeros(m)
    for t in range(n):
        found, total = weigh_row(asked, t, person, weight), records.total[t]
        if count + found > len(who):
            size = max(2 * len(who), count + found)
            grown, heavier = np.empty(size, np.int32), np.empty(size)
            grown[:count], heavier[:count] = who[:count], how[:count]
            who, how = grown, heavier
        for f in range(found):
            p, w = person[f], odds * weight[f]
            if w < faint * total * totals[p]:
                lost[t] += w / totals[p]
                missed[p] += w / total
                continue
            who[count], how[count] = p, weight[f]
            count += 1
        if count > most:
            return Kept(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        start[t + 1] = count
    records.faint[:], people.faint[:] = lost, missed
    return Kept(start, who[:count].copy(), how[:count].copy())


@kernel
def find_best(asked: Question, odds: float, sides: tuple[Side, Side], true: Ints) -> tuple[Best, Best, Floats]:
    """Return the best of every record and of every person, and the chance of each record's ``true`` partner."""
    records, people = sides
    totals, rests, tops = people.total, people.rest, people.top
    n, m = len(records.total), len(people.total)
    person, weight = np.empty(m, np.int32), np.empty(m)
    ours, theirs, right = (
        Best(np.zeros(n), np.zeros(n, np.int64)),
        Best(np.zeros(m), np.zeros(m, np.int64)),
        np.zeros(n),
    )
    top, many = theirs
    for t in range(n):
        found, total = weigh_row(asked, t, person, weight), records.total[t]
        own, alike = 0.0, 0
        for f in range(found):
            p = person[f]
            both = records.rest[t] * rests[p] if records.top[t] == p and tops[p] == t else 0.0
            chance = find_pair_chance(odds * weight[f], total * totals[p], both)
            if chance > own * (1 + EQUAL):
                own, alike = chance, 1
            elif chance >= own * (1 - EQUAL):
                alike += 1
            if chance > top[p] * (1 + EQUAL):
                top[p], many[p] = chance, 1
            elif chance >= top[p] * (1 - EQUAL):
                many[p] += 1
            if true[t] == p:
                right[t] = chance
        ours.chance[t], ours.many[t] = own, alike
    return ours, theirs, right


@kernel
def _leave_out(kept: Kept, edges: Ints, start: Ints, faint: Floats, said: Floats, heard: Floats) -> float:
    """Fill ``heard`` with 1 / (1 + all that the other edges of a record have ``said``); return the largest change.

    ``edges`` are those of each record in turn, from ``start`` on; of none they are in their own order. Messages are
    averaged with the last ones.
    """
    changed = 0.0
    for r in range(len(start) - 1):
        rest, top, at = 1.0 + faint[r], 0.0, -1
        for p in range(start[r], start[r + 1]):
            e = edges[p] if len(edges) else p
            part = kept.weight[e] * said[e]
            if part > top:
                rest, top, at = rest + top, part, e
            else:
                rest += part
        for p in range(start[r], start[r + 1]):
            e = edges[p] if len(edges) else p
            fresh = 1 / (rest if e == at else rest + top - kept.weight[e] * said[e])
            changed = max(changed, abs(fresh - heard[e]) / fresh)
            heard[e] = (fresh + heard[e]) / 2
    return changed


@kernel
def _cut_down(chances: Floats, edges: Ints, start: Ints) -> None:
    """Make the chances of every record sum to 1 at the most."""
    for r in range(len(start) - 1):
        total = 0.0
        for p in range(start[r], start[r + 1]):
            total += chances[edges[p] if len(edges) else p]
        if total > 1:
            for p in range(start[r], start[r + 1]):
                chances[edges[p] if len(edges) else p] /= total


@kernel
def pass_messages(kept: Kept, odds: float, sides: tuple[Side, Side], settled: float, work: float) -> Floats:
    """Return the probability of every kept pair, by belief propagation: exact where pairs form no cycle.

    It begins with what is known of both ``sides``, and ends when nothing changes by more than ``settled`` or ``work``
    pairs have been gone through.
    """
    records, people = sides
    n, m, many = len(records.total), len(people.total), len(kept.weight)
    column = np.zeros(m + 1, np.int64)
    for e in range(many):
        column[kept.person[e] + 1] += 1
    for p in range(m):
        column[p + 1] += column[p]
    head, order, up, down = column[:-1].copy(), np.empty(many, np.int64), np.empty(many), np.ones(many)
    weight = odds * kept.weight
    for t in range(n):
        for e in range(kept.start[t], kept.start[t + 1]):
            p = kept.person[e]
            order[head[p]] = e
            head[p] += 1
            other = 1 - find_pair_chance(weight[e], records.total[t] * people.total[p], 0.0)
            up[e], down[e] = 1 / (people.total[p] * other), 1 / (records.total[t] * other)
    own, spent, none = Kept(kept.start, kept.person, weight), 0.0, np.zeros(0, np.int64)
    while spent < work:
        changed = _leave_out(own, none, kept.start, records.faint, up, down)
        changed = max(changed, _leave_out(own, order, column, people.faint, down, up))
        spent += many + 1
        if changed < settled:
            break
    for e in range(many):
        odds = weight[e] * down[e] * up[e]
        weight[e] = odds / (1 + odds)
    _cut_down(weight, none, kept.start)  # cycles may leave a little more than certainty
    _cut_down(weight, order, column)
    return weight


@kernel
def _take_best(chance: float, at: int, best: Best) -> None:
    if chance > best.chance[at] * (1 + EQUAL):
        best.chance[at], best.many[at] = chance, 1
    elif chance > 0 and chance >= best.chance[at] * (1 - EQUAL):
        best.many[at] += 1


@kernel
def find_best_kept(kept: Kept, chances: Floats, people: int, true: Ints) -> tuple[Best, Best, Floats]:
    """Return the best of every record and of every person, and the chance of each record's ``true`` partner."""
    n = len(kept.start) - 1
    ours, theirs, right = (
        Best(np.zeros(n), np.zeros(n, np.int64)),
        Best(np.zeros(people), np.zeros(people, np.int64)),
        np.zeros(n),
    )
    for t in range(n):
        for e in range(kept.start[t], kept.start[t + 1]):
            _take_best(chances[e], t, ours)
            _take_best(chances[e], kept.person[e], theirs)
            if true[t] == kept.person[e]:
                right[t] = chances[e]
    return ours, theirs, right


@kernel
def count_row(asked: Question, t: int) -> int:
    """Count the people who may be record t."""
    person, weight = np.empty(len(asked.people.member), np.int32), np.empty(len(asked.people.member))
    return weigh_row(asked, t, person, weight)
