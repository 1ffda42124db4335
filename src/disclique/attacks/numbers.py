"""Numbers as evidence: which pairs of records they allow beside labels, and how well they fit.

What is released as a function of the number separates people as a label does: records get finer classes. Where noise
was added, or the snooper's own number is not exact, the pairs in reach are listed with their log odds. Both are
``Candidates``, so that every attack and the oracle use numbers as they use labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.registry import Attack
from disclique.attacks.shared_errors import weigh_shared_errors
from disclique.engine.kernels.number_pairs import Boxes, People, Related, count_pairs, list_pairs
from disclique.errors import InputError, TooLarge
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.numbers import DECIMALS, Exactly, NumberColumn, Numbers, SharpLaw
from disclique.values import FloatArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Reach:
    """How far numbers are looked for, and how many pairs are kept.

    ``shares`` of the law, of which the largest is taken that leaves no more than ``pairs``: what lies outside is so
    improbable that nobody would be named by it.
    """

    shares: tuple[float, ...] = (1 - 1e-9, 1 - 1e-6, 1 - 1e-4)
    pairs: int = 40_000_000


REACH = Reach()


def add_numbers(
    found: Candidates, target: Numbers, known: Numbers, *, alpha: float | None = None, by: Reach = REACH
) -> Candidates:
    """Return the candidates by labels that numbers allow, too, with the log odds of both.

    With ``alpha`` a number that is not exact agrees or not, such that a true pair agrees in all with that probability.
    """
    pairs = [(column, _counterpart(column, known)) for column in target.columns]
    sharp = [(mine, theirs) for mine, theirs in pairs if isinstance(mine.law, SharpLaw) and not theirs.error]
    soft = [(mine, theirs) for mine, theirs in pairs if not (isinstance(mine.law, SharpLaw) and not theirs.error)]
    if sharp:
        found = _refine(found, sharp)
    if not soft:
        return found
    return (
        _list_within(found, soft, (alpha ** (1 / len(soft)),), by, weigh=False)
        if alpha is not None
        else (_list_within(found, soft, by.shares, by, weigh=True))
    )


def _counterpart(column: NumberColumn, known: Numbers) -> NumberColumn:
    if column.name not in known.names:
        raise InputError("number_not_known", column=column.name, numbers=list(known.names))
    found = known.of(column.name)
    if not isinstance(found.law, Exactly):  # of a class nobody can say which of the released ones it is
        raise InputError("number_known_in_classes", column=column.name)
    return found


Pair = tuple[NumberColumn, NumberColumn]


def _refine(found: Candidates, columns: list[Pair]) -> Candidates:
    """Split the classes by what is released of numbers; one that is missing fits all."""
    mine, theirs = [], []
    for own, other in columns:
        law = own.law
        assert isinstance(law, SharpLaw)
        both = np.concatenate([own.values, law.publish(other.values)])
        codes = pd.factorize(np.round(both, DECIMALS), use_na_sentinel=True)[0].astype(np.int64)
        mine.append(codes[: len(own.values)])
        theirs.append(codes[len(own.values) :])
    own_class, own_rows = _split(found.target_class, mine)
    their_class, their_rows = _split(found.known_class, theirs)
    left, right, place = _join(found, own_rows, their_rows)
    order = np.lexsort((right, left))
    relation = np.column_stack([left, right])[order].astype(np.int32)
    if found.evidence is None:
        return Candidates(own_class, their_class, relation)
    evidence = found.evidence[place[order]]
    return Candidates(own_class, their_class, relation, _normalise(relation, evidence, their_class))


def _split(classes: NDArray[np.int32], codes: list[Ints]) -> tuple[NDArray[np.int32], Ints]:
    """Return finer classes, and for each of them its class and its codes; records of no class stay in none."""
    rows = np.column_stack([classes.astype(np.int64), *codes])
    number = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # one column at a time, so that the numbers stay small
        number = pd.factorize(number * (int(column.max(initial=0)) + 2) + column + 1)[0].astype(np.int64)
    first = np.full(int(number.max(initial=-1)) + 1, -1)
    first[number[::-1]] = np.arange(len(rows))[::-1]
    return np.where(classes >= 0, number, -1).astype(np.int32), rows[first]


def _join(found: Candidates, own: Ints, theirs: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of finer classes whose classes are related and whose codes agree, and the place of the relation.

    Classes of one pattern of missing values are joined by the columns that both sides have.
    """
    relation, width = found.relation.astype(np.int64), own.shape[1] - 1
    parts: list[tuple[Ints, Ints, Ints]] = []
    for rows, mine in _by_pattern(own):
        for others, there in _by_pattern(theirs):
            keys = [k for k in range(width) if mine[k] and there[k]]
            left = pd.DataFrame({"a": own[rows, 0], "own": rows, **{f"n{k}": own[rows, 1 + k] for k in keys}})
            right = pd.DataFrame(
                {"b": theirs[others, 0], "other": others, **{f"n{k}": theirs[others, 1 + k] for k in keys}}
            )
            links = pd.DataFrame({"a": relation[:, 0], "b": relation[:, 1], "place": np.arange(len(relation))})
            met = left.merge(links, on="a").merge(right, on=["b", *(f"n{k}" for k in keys)])
            parts.append((met["own"].to_numpy(), met["other"].to_numpy(), met["place"].to_numpy()))
    none = np.zeros(0, dtype=np.int64)
    return tuple(np.concatenate([none, *column]) for column in zip(*parts, strict=True)) if parts else (none,) * 3  # type: ignore[return-value]


def _by_pattern(rows: Ints) -> list[tuple[Ints, NDArray[np.bool_]]]:
    """Return the classes that have the same values missing, and which they have; those of no class are left out."""
    there = rows[:, 1:] >= 0
    patterns, which = np.unique(there, axis=0, return_inverse=True)
    kept = rows[:, 0] >= 0
    return [(np.flatnonzero((which.ravel() == k) & kept), pattern) for k, pattern in enumerate(patterns)]


def _normalise(relation: NDArray[np.int32], weight: FloatArray, known_class: NDArray[np.int32]) -> FloatArray:
    """Return how much better each pair fits than anybody of the known file would."""
    there = known_class >= 0
    many = np.bincount(known_class[there], minlength=int(relation[:, 1].max(initial=-1)) + 1)
    share = many[relation[:, 1]] / max(len(known_class), 1)
    own = relation[:, 0].astype(np.int64)
    top = np.full(int(own.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(top, own, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        anybody = np.bincount(own, share * np.exp(weight - top[own]), len(top))
        return np.asarray(weight - top[own] - np.log(anybody[own]))


def _list_within(
    found: Candidates, columns: list[Pair], shares: tuple[float, ...], by: Reach, *, weigh: bool
) -> Candidates:
    """Return the pairs of records that lie near enough, by the largest share of the laws that leaves few enough."""
    order = _order_people(found, columns)
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
    ascending = np.lexsort((known, target))
    target, known, place = target[ascending], known[ascending], place[ascending]
    relation = np.column_stack([target, known]).astype(np.int32)
    sides = found.target_class, found.known_class
    classes = [np.where(side >= 0, np.arange(len(side)), -1).astype(np.int32) for side in sides]
    if not weigh:
        return Candidates(classes[0], classes[1], relation)
    by_label = np.zeros(len(found.relation)) if found.evidence is None else found.evidence
    weight = by_label[np.argsort(found.relation[:, 0], kind="stable")][place]
    for mine, theirs in columns:
        weight = weight + _ratio(mine, theirs, target, known)
    weight = weight + weigh_shared_errors(columns, target, known)
    kept = weight > -np.inf
    relation, weight = relation[kept], weight[kept]
    return Candidates(classes[0], classes[1], relation, _normalise(relation, weight, classes[1]))


def _ratio(mine: NumberColumn, theirs: NumberColumn, target: Ints, known: Ints) -> FloatArray:
    """Return how much better numbers fit than those of anybody do; a missing one says nothing."""
    density = mine.log_density(target, theirs.values[known], theirs.error)
    there = ~np.isnan(density)
    size = int(target.max(initial=-1)) + 1
    top = np.full(size, -np.inf)
    np.maximum.at(top, target[there], density[there])
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.bincount(target[there], np.exp(density[there] - top[target[there]]), size)
        many = np.maximum(np.count_nonzero(~np.isnan(theirs.values)), 1)
        anybody = top + np.log(total) - np.log(many)
        return np.asarray(np.where(there, density - anybody[target], 0.0))


def _order_people(found: Candidates, columns: list[Pair]) -> Ints:
    """Return the known records by class and, within it, by the number that tells most of them apart."""
    first = columns[0][1].values
    return np.lexsort((first, found.known_class)).astype(np.int64)


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


def weigh_candidates(candidates: Candidates, common: float | None, name: str, by: Reach = REACH) -> Claims:
    """Return the probability of every pair by what labels and numbers say of it, when nobody is twice in a file."""
    if candidates.count > by.pairs:
        raise TooLarge("too_many_number_pairs", count=candidates.count, most=by.pairs)
    target, known = candidates.pairs()
    odds = candidates.log_odds(target, known)
    share = estimated_share(target, known, odds, sizes=candidates.sizes) if common is None else common
    chances = matching_posterior(target, known, odds, sizes=candidates.sizes, common=share)
    return make_claims((target.astype(np.int32), known.astype(np.int32), chances), attack=name, floor=0.0)
