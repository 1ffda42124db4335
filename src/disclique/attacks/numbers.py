"""Numbers as evidence: which pairs of records they allow beside labels, and how well they fit.

What is released as a function of the number separates people as a label does: records get finer classes. Where noise
was added, or the snooper's own number is not exact, the pairs in reach are listed with their log odds. Both are
``Candidates``, so that every attack and the oracle use numbers as they use labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.attacks.beliefs import weigh_candidates
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.luck import measure_luck
from disclique.attacks.registry import Attack
from disclique.attacks.shared_errors import weigh_shared_errors
from disclique.engine.kernels.number_pairs import Boxes, People, Related, count_pairs, list_pairs
from disclique.errors import InputError, TooLarge
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.numbers import DECIMALS, Exactly, NumberColumn, Numbers, SharpLaw
from disclique.records.code_joins import join_codes
from disclique.spaces import spaced
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Pair = tuple[NumberColumn, NumberColumn]


@dataclass(frozen=True)
class Reach:
    """How far numbers are looked for, and how many pairs are kept.

    ``shares`` of the law, of which the largest is taken that leaves no more than ``pairs``: what lies outside is so
    improbable that nobody would be named by it. The last ones are for noise that leaves so many pairs that nobody
    stands out.
    """

    shares: tuple[float, ...] = (1 - 1e-9, 1 - 1e-6, 1 - 1e-4, 0.99, 0.9, 0.5, 0.1)
    pairs: int = 12_000_000  # of some 100 bytes
    agreeing: float = 0.99  # of true pairs, at the least: of whom numbers leave out, distances find nobody any more
    compared: int = 2000  # known numbers, to learn how probable one is for somebody of whom none is known
    probed: int = 1000  # known people who are taken for strangers, to learn how often these fit by chance


REACH = Reach()


def add_numbers(
    found: Candidates, target: Numbers, known: Numbers, *, alpha: float | None = None, by: Reach = REACH
) -> Candidates:
    """Return the candidates by labels that numbers allow, too, with the log odds of both.

    With ``alpha`` a number that is not exact agrees or not, such that a true pair agrees in all with that probability
    at the least.
    """
    pairs = [(column, _counterpart(column, known)) for column in target.columns]
    if not pairs:
        return found
    if alpha is not None:
        sharp, soft = _part(pairs)
        if sharp:
            found = _refine(replace(found, evidence=None), sharp).candidates
        share = max(alpha, by.agreeing)
        return _list_within(found, soft, (share ** (1 / len(soft)),), by).candidates if soft else found
    if found.evidence is None and all(_is_sharp(*pair) and not _has_gaps(*pair) for pair in pairs):
        return _refine(found, pairs).candidates
    return _weigh(found, pairs, by)


def _is_sharp(mine: NumberColumn, theirs: NumberColumn) -> bool:
    return isinstance(mine.law, SharpLaw) and not theirs.error


def _has_gaps(mine: NumberColumn, theirs: NumberColumn) -> bool:
    return bool(np.isnan(mine.values).any() or np.isnan(theirs.values).any())


def _part(pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Return the columns that separate people as labels do, and the others."""
    return [pair for pair in pairs if _is_sharp(*pair)], [pair for pair in pairs if not _is_sharp(*pair)]


@dataclass(frozen=True, eq=False)
class _Fits:
    """Pairs of classes that may match, the log odds of each up to a constant of its record, and how near it comes."""

    candidates: Candidates
    weight: FloatArray
    near: FloatArray  # the log of its density, of that of a number which fits best


def _weigh(found: Candidates, columns: list[Pair], by: Reach) -> Candidates:
    """Return the pairs with their log odds against strangers, who fit by chance as often as known people do."""
    size, (rows, classes) = len(found.target_class), _choose_probes(found, by)
    with_probes = replace(found, target_class=np.append(found.target_class, classes).astype(np.int32))
    sharp, soft = _part([(_append_probes(mine, theirs, rows, found, classes), theirs) for mine, theirs in columns])
    fits = _Fits(with_probes, *(np.zeros(len(found.relation)),) * 2)
    if found.evidence is not None:
        fits = _Fits(with_probes, found.evidence, found.evidence)
    if sharp:
        refined = _refine(with_probes, sharp)
        fits = _Fits(refined.candidates, *(part[refined.place] + refined.weight for part in (fits.weight, fits.near)))
        fits = replace(fits, near=fits.near - refined.weight)
    if soft:
        listed = _list_within(fits.candidates, soft, by.shares, by)
        weight, near = fits.weight[listed.place], fits.near[listed.place]
        for mine, theirs in soft:
            ratio, close = _ratio(mine, theirs, listed.target, listed.known, by)
            weight, near = weight + ratio, near + close
        together = weigh_shared_errors(soft, listed.target, listed.known)
        weight, near = weight + together, near + together
        kept = weight > -np.inf
        relation = listed.candidates.relation[kept]
        fits = _Fits(replace(listed.candidates, relation=relation), weight[kept], near[kept])
    evidence = _normalise(fits, size, rows)
    own = fits.candidates.target_class[:size]
    if soft:  # every record is its own class
        here = fits.candidates.relation[:, 0] < size
        return replace(
            fits.candidates, target_class=own, relation=fits.candidates.relation[here], evidence=evidence[here]
        )
    return replace(fits.candidates, target_class=own, evidence=evidence)


def _choose_probes(found: Candidates, by: Reach) -> tuple[Ints, Ints]:
    """Return some known records and the class of released ones to which each would belong."""
    order = np.lexsort((found.label_odds(), found.relation[:, 1]))
    related = np.full(max(int(found.known_class.max(initial=-1)), int(found.relation[:, 1].max(initial=-1))) + 2, -1)
    related[found.relation[order, 1]] = found.relation[order, 0]  # the last one: that fits best
    there = np.flatnonzero(related[found.known_class] >= 0)  # of no class: the last entry
    rows = there[spaced(len(there), by.probed)] if len(there) else there
    return rows, related[found.known_class[rows]]


def _append_probes(
    mine: NumberColumn, theirs: NumberColumn, rows: Ints, found: Candidates, classes: Ints
) -> NumberColumn:
    """Return the released numbers and those that would be released of some known records."""
    rng = np.random.default_rng(0)  # of people who are taken for strangers; nothing that is published
    true = theirs.values[rows]
    if theirs.error:
        true = true + theirs.error * rng.standard_normal(len(rows))
    order = np.argsort(found.target_class, kind="stable")
    like = order[np.minimum(np.searchsorted(found.target_class[order], classes), len(order) - 1)]
    law = mine.law.select(np.append(np.arange(len(mine.values)), like))
    drawn = law.select(len(mine.values) + np.arange(len(rows))).draw(true, rng)
    return replace(mine, values=np.append(mine.values, drawn), law=law)


def _normalise(fits: _Fits, size: int, probes: Ints) -> FloatArray:
    """Return how much better each pair fits than a stranger does.

    A stranger is like the known people; that they fit any of these as well as somebody does who is one of them is
    rarer, and how rare is learned from the probes, with their own record and without it.
    """
    found, people = fits.candidates, max(len(fits.candidates.known_class), 1)
    own = found.relation[:, 0].astype(np.int64)
    classes = int(max(found.target_class.max(initial=-1), own.max(initial=-1))) + 1
    many = np.bincount(
        found.known_class[found.known_class >= 0], minlength=int(found.relation[:, 1].max(initial=-1)) + 1
    )
    count = many[found.relation[:, 1]].astype(float)
    anybody, near = (_sum_logs(own, part, count, classes) for part in (fits.weight, fits.near))
    probe_class = found.target_class[size:].astype(np.int64)
    itself = np.append(fits.near, -np.inf)[found.place_of(np.arange(size, len(found.target_class)), probes)]
    some = probe_class >= 0
    with_own = near[probe_class[some]]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.minimum(np.exp(itself[some] - with_own), 1.0)
        without = with_own + np.where(share < 1 - 1e-9, np.log1p(-share), -np.inf)
    luck = measure_luck(with_own, np.where(np.isnan(without), -np.inf, without))
    with np.errstate(invalid="ignore"):
        return np.asarray(fits.weight - (anybody - np.log(people) + luck.of(near))[own])


def _sum_logs(group: Ints, value: FloatArray, count: FloatArray, groups: int) -> FloatArray:
    """Return the log of the sum of exponentials in each group, -inf where it is empty."""
    top = np.full(groups, -np.inf)
    np.maximum.at(top, group, value)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(top + np.log(np.bincount(group, count * np.exp(value - top[group]), groups)))


def _counterpart(column: NumberColumn, known: Numbers) -> NumberColumn:
    if column.name not in known.names:
        raise InputError("number_not_known", column=column.name, numbers=list(known.names))
    found = known.of(column.name)
    if not isinstance(found.law, Exactly):  # of a class nobody can say which of the released ones it is
        raise InputError("number_known_in_classes", column=column.name)
    return found


@dataclass(frozen=True, eq=False)
class _Refined:
    """Finer classes, of each pair of them the place in the relation before, and the log odds of what both have."""

    candidates: Candidates
    place: Ints
    weight: FloatArray


def _refine(found: Candidates, columns: list[Pair]) -> _Refined:
    """Split the classes by what is released of numbers; one that is missing fits all, and says nothing."""
    mine, theirs, rarity = [], [], []
    for own, other in columns:
        law = own.law
        assert isinstance(law, SharpLaw)
        both = np.concatenate([own.values, law.publish(other.values)])
        codes = pd.factorize(np.round(both, DECIMALS), use_na_sentinel=True)[0].astype(np.int64)
        mine.append(codes[: len(own.values)])
        theirs.append(codes[len(own.values) :])
        there = theirs[-1][theirs[-1] >= 0]
        with np.errstate(divide="ignore"):
            rarity.append(-np.log(np.bincount(there, minlength=int(codes.max(initial=-1)) + 1) / max(len(there), 1)))
    own_class, own_rows = _split(found.target_class, mine)
    their_class, their_rows = _split(found.known_class, theirs)
    left, right, place = join_codes(own_rows, their_rows, found.relation)
    weight = np.zeros(len(left))
    for k, rare in enumerate(rarity):
        code = own_rows[left, 1 + k]
        both = (code >= 0) & (their_rows[right, 1 + k] >= 0)
        weight[both] += rare[code[both]]
    relation = np.column_stack([left, right]).astype(np.int32)
    return _Refined(Candidates(own_class, their_class, relation), place, weight)


def _split(classes: NDArray[np.int32], codes: list[Ints]) -> tuple[NDArray[np.int32], Ints]:
    """Return finer classes, and for each of them its class and its codes; records of no class stay in none."""
    rows = np.column_stack([classes.astype(np.int64), *codes])
    number = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # one column at a time, so that the numbers stay small
        number = pd.factorize(number * (int(column.max(initial=0)) + 2) + column + 1)[0].astype(np.int64)
    first = np.full(int(number.max(initial=-1)) + 1, -1)
    first[number[::-1]] = np.arange(len(rows))[::-1]
    return np.where(classes >= 0, number, -1).astype(np.int32), rows[first]


@dataclass(frozen=True, eq=False)
class _Listed:
    """Pairs of records, each its own class, and of each pair the place in the relation before."""

    candidates: Candidates
    place: Ints

    @property
    def target(self) -> Ints:
        return self.candidates.relation[:, 0].astype(np.int64)

    @property
    def known(self) -> Ints:
        return self.candidates.relation[:, 1].astype(np.int64)


def _list_within(found: Candidates, columns: list[Pair], shares: tuple[float, ...], by: Reach) -> _Listed:
    """Return the pairs of records that lie near enough, by the largest share of the laws that leaves few enough."""
    columns = _sharpest_first(columns, shares[-1])
    order = np.lexsort((columns[0][1].values, found.known_class)).astype(np.int64)
    people, related = _gather(found, columns, order)
    for share in shares:
        boxes = _make_boxes(found, columns, share)
        counts = np.zeros(len(boxes.classes), dtype=np.int64)
        count_pairs(boxes, people, related, counts)
        if counts.sum() <= by.pairs:
            break
    else:
        raise TooLarge("too_many_number_pairs", count=int(counts.sum()), most=by.pairs)
    start = np.concatenate([[0], np.cumsum(counts)])
    person, place = np.empty(start[-1], dtype=np.int64), np.empty(start[-1], dtype=np.int64)
    if start[-1]:
        list_pairs(boxes, people, related, start, person, place)
    target, known = np.repeat(np.arange(len(counts)), counts), order[person]
    ascending = np.argsort(target * len(found.known_class) + known)
    relation = np.column_stack([target[ascending], known[ascending]]).astype(np.int32)
    sides = found.target_class, found.known_class
    classes = [np.where(side >= 0, np.arange(len(side)), -1).astype(np.int32) for side in sides]
    before = np.argsort(found.relation[:, 0], kind="stable")
    return _Listed(Candidates(classes[0], classes[1], relation), before[place[ascending]])


def _find_anybody(mine: NumberColumn, theirs: NumberColumn, by: Reach) -> FloatArray:
    """Return the log density of each released number for somebody of whom the snooper has none."""
    values = theirs.values[~np.isnan(theirs.values)]
    values = values[spaced(len(values), by.compared)] if len(values) else values
    found, some = np.zeros(len(mine.values)), np.flatnonzero(~np.isnan(mine.values))
    for part in np.array_split(some, max(len(some) * len(values) // 4_000_000, 1)):
        who, rows = np.repeat(np.arange(len(part)), len(values)), np.repeat(part, len(values))
        density = mine.log_density(rows, np.tile(values, len(part)), theirs.error)
        found[part] = _sum_logs(who, density, np.full(len(who), 1 / max(len(values), 1)), len(part))
    return found


def _ratio(
    mine: NumberColumn, theirs: NumberColumn, target: Ints, known: Ints, by: Reach
) -> tuple[FloatArray, FloatArray]:
    """Return how much better numbers fit than anybody's do, and than the same would; a missing one says nothing."""
    density = mine.log_density(target, theirs.values[known], theirs.error)
    there = ~np.isnan(density)
    anybody = np.zeros(len(mine.values))
    if _has_gaps(mine, theirs):  # else it is the same for all of a record, and put right later
        least = _sum_logs(target[there], density[there], np.full(there.sum(), 1 / len(theirs.values)), len(anybody))
        anybody = np.maximum(_find_anybody(mine, theirs, by), least)
    with np.errstate(invalid="ignore"):
        ratio = np.where(there, density - anybody[target], 0.0)
        near = np.where(there, density - mine.log_peak(target, theirs.error), 0.0)
    return np.where(np.isnan(ratio), -np.inf, ratio), near


def _sharpest_first(columns: list[Pair], share: float) -> list[Pair]:
    """Return the columns with the one first that leaves fewest people, by which these are then ordered."""

    def leaves(pair: Pair) -> float:
        mine, theirs = pair
        low, high = mine.law.span(mine.values, theirs.error, share)
        values = np.sort(theirs.values[~np.isnan(theirs.values)])
        some = ~np.isnan(low)
        inside = np.searchsorted(values, high[some], side="right") - np.searchsorted(values, low[some])
        return float(inside.sum() + len(values) * (~some).sum())

    return sorted(columns, key=leaves)


def _gather(found: Candidates, columns: list[Pair], order: Ints) -> tuple[People, Related]:
    classes = found.known_class[order].astype(np.int64)
    relation = found.relation.astype(np.int64)
    most = int(max(classes.max(initial=-1), relation[:, 1].max(initial=-1))) + 1
    start = np.searchsorted(classes, np.arange(most + 1))
    values = np.ascontiguousarray(np.column_stack([theirs.values[order] for _, theirs in columns]), dtype=float)
    by_own = np.argsort(relation[:, 0], kind="stable")
    owns = int(max(found.target_class.max(initial=-1), relation[:, 0].max(initial=-1))) + 1
    begin = np.searchsorted(relation[by_own, 0], np.arange(owns + 1))
    related = Related(begin.astype(np.int64), np.ascontiguousarray(relation[by_own, 1]))
    return People(start.astype(np.int64), values), related


def _make_boxes(found: Candidates, columns: list[Pair], share: float) -> Boxes:
    ends = [mine.law.span(mine.values, theirs.error, share) for mine, theirs in columns]
    low, high = (np.ascontiguousarray(np.column_stack([end[side] for end in ends]), dtype=float) for side in (0, 1))
    room = 10.0**-DECIMALS
    low, high = np.where(np.isnan(low), -np.inf, low - room), np.where(np.isnan(high), np.inf, high + room)
    return Boxes(found.target_class.astype(np.int64), low, high)


@dataclass(frozen=True)
class NumberAttack(Attack):
    """Linkage by labels and numbers alone: the pairs weighed by how well their numbers fit, one-to-one."""

    name: ClassVar[str] = "numbers"
    needs: ClassVar[Message | str] = Message("attack_needs_numbers")
    summary: ClassVar[Message | str] = Message("attack_does_numbers")
    who: ClassVar[Message | str] = Message("attack_who_numbers")
    by_evidence: ClassVar[bool] = True
    without_distances: ClassVar[bool] = True
    cost: ClassVar[int] = 0

    common: float | None = None

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the share of the records that both files have."""
        return cls(knowledge.common)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Weigh every pair that labels and numbers allow."""
        if not len(target.numbers):
            raise InputError("no_numbers_to_link")
        return weigh_candidates(candidates, self.common, self.name)
