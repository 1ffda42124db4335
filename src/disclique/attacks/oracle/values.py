"""What a posterior over records says of a value that is released with them, without naming a record.

The mass of every person's candidates is summed by their values, and the snooper tells the value with the most of it. A
person who is sought took part: what says that nobody of the release is them does not count. A record without a value
tells nothing, but leaves doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from disclique.attacks.knowledge import Holder
from disclique.measures.risk import EQUAL
from disclique.model import Candidates, Claims
from disclique.values import FloatArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Telling:
    """When a value is told for certain: ``certain`` is the share of the mass over records that it has then."""

    certain: float = 0.999


TELLING = Telling()


@dataclass(frozen=True, eq=False)
class Told:
    """What is told of one column about every person sought, in their order.

    ``right`` is the chance that it is the person's value, NaN where the person has none; ``certain`` says that all
    their candidates have it.
    """

    right: FloatArray
    certain: NDArray[np.bool_]

    def at(self, rows: NDArray[np.bool_], other: Told) -> Told:
        """Return the same with some people as another one says."""
        right, certain = self.right.copy(), self.certain.copy()
        right[rows], certain[rows] = other.right, other.certain
        return Told(right, certain)


@dataclass(frozen=True, eq=False)
class Masses:
    """The mass that people have on values: the most on a single one, on how many, on their own, and on all records."""

    top: FloatArray
    many: Ints
    own: FloatArray
    total: FloatArray

    def select(self, rows: Ints) -> Masses:
        """Return those of some people; -1 is somebody of whom nothing is known."""
        top, own, total = (np.append(one, 0.0)[rows] for one in (self.top, self.own, self.total))
        return Masses(top, np.append(self.many, 0)[rows], own, total)

    @staticmethod
    def of_pairs(person: Ints, value: Ints, mass: FloatArray, own: Ints) -> Masses:
        """Sum the mass of pairs of a person and a record's value (-1: none); ``own`` are the values of all people."""
        total, some = np.bincount(person, mass, len(own)).astype(float), value >= 0
        shape = len(own), int(max(value.max(initial=-1), own.max(initial=-1))) + 1
        sums = csr_array((mass[some], (person[some], value[some])), shape=shape)
        return Masses.of_sums(sums, total, np.arange(len(own)), own)

    @staticmethod
    def of_sums(sums: csr_array, total: FloatArray, row: Ints, own: Ints) -> Masses:
        """Take the masses of people from rows of sums by value; ``own`` is the value of each, -1 if there is none."""
        sums.sum_duplicates()
        rows, values = sums.shape
        group = np.repeat(np.arange(rows), np.diff(sums.indptr))
        mass = np.asarray(sums.data)
        top = np.zeros(rows)
        np.maximum.at(top, group, mass)
        many = np.bincount(group[(mass > 0) & (mass >= top[group] * (1 - EQUAL))], minlength=rows)
        keys, asked = group * values + sums.indices, row * values + own
        at = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
        there = (own >= 0) & (row >= 0) & (np.append(keys, -1)[at] == asked)
        found = Masses(top, many, np.zeros(rows), total).select(row)
        return Masses(found.top, found.many, np.where(there, np.append(mass, 0.0)[at], 0.0), found.total)


def tell(masses: Sequence[Masses], holder: Holder, by: Telling = TELLING) -> tuple[Told, ...]:
    """Return what is told of each column from the masses of the people sought; of whom there is none it is guessed."""
    return tuple(
        _decide(one, own, guess, by)
        for one, own, guess in zip(masses, list_own(holder), guess_values(holder), strict=True)
    )


def _decide(masses: Masses, own: Ints, guess: Told | None, by: Telling) -> Told:
    """Tell the value with the most mass; several with as much share the chance."""
    told = (masses.own > 0) & (masses.own >= masses.top * (1 - EQUAL))
    right, known = told / np.maximum(masses.many, 1), masses.top > 0
    certain = told & (masses.own >= by.certain * masses.total)
    if guess is not None:
        right, certain = np.where(known, right, guess.right), np.where(known, certain, guess.certain)
    return Told(np.where(own >= 0, right, np.nan), certain & (own >= 0))


def list_own(holder: Holder) -> list[Ints]:
    """Return the values of the people sought, by column; -1 is none."""
    return [values[holder.sought.pairs[:, 0]].astype(np.int64) for values in holder.values]


def tell_claims(claims: Claims, holder: Holder) -> tuple[Told, ...]:
    """Return what is told of each column from the probabilities of pairs; those known beforehand are nobody else."""
    if not holder.values:
        return ()
    seeds = np.array(holder.seeds, dtype=np.int64).reshape(-1, 2)
    keep = (claims.probability > 0) & ~np.isin(claims.target, seeds[:, 0]) & ~np.isin(claims.known, seeds[:, 1])
    target, known = claims.target[keep].astype(np.int64), claims.known[keep].astype(np.int64)
    return tell_pairs(target, known, claims.probability[keep], holder)


def tell_pairs(target: Ints, known: Ints, mass: FloatArray, holder: Holder) -> tuple[Told, ...]:
    """Return what is told of each column from the mass of pairs of a released and a known row."""
    who, found = holder.sought.pairs[:, 1], []
    for values, own in zip(holder.values, list_own(holder), strict=True):
        everybody = np.full(holder.candidates.sizes[1], -1)
        everybody[who] = own
        found.append(Masses.of_pairs(known, values[target].astype(np.int64), mass, everybody).select(who))
    return tell(found, holder)


def tell_classes(candidates: Candidates, chance: FloatArray, holder: Holder) -> tuple[Told, ...]:
    """Return what is told of each column from the chances of related classes: of any two of their records."""
    return tell(_sum_classes(candidates, chance, holder), holder)


def guess_values(holder: Holder) -> tuple[Told, ...]:
    """Return what is told by labels alone: the value most frequent among records whose label fits, or among all."""
    if not holder.values:
        return ()
    alike = holder.alike or holder.candidates
    told = np.array(holder.seeds, dtype=np.int64).reshape(-1, 2)[:, 0]
    target = alike.target_class.copy()
    target[told] = -1
    free = Candidates(target, alike.known_class, alike.relation)
    masses = _sum_classes(free, np.ones(len(alike.relation)), holder)
    return tuple(
        _decide(one, own, _guess_anyhow(values, own), TELLING)
        for one, own, values in zip(masses, list_own(holder), holder.values, strict=True)
    )


def _guess_anyhow(values: NDArray[np.integer], own: Ints) -> Told:
    """Tell everybody the most frequent value of the release."""
    counts = np.bincount(values[values >= 0], minlength=1)
    best = counts == counts.max()
    right = np.where(own >= 0, best[np.maximum(own, 0)] / best.sum(), np.nan)
    return Told(right, np.zeros(len(own), dtype=bool))


def _sum_classes(candidates: Candidates, chance: FloatArray, holder: Holder) -> list[Masses]:
    relation = candidates.relation.astype(np.int64)
    classes = [
        1 + int(max(own.max(initial=-1), relation[:, side].max(initial=-1)))
        for side, own in enumerate((candidates.target_class, candidates.known_class))
    ]
    pairs = csr_array((chance, (relation[:, 1], relation[:, 0])), shape=(classes[1], classes[0]))
    target = candidates.target_class.astype(np.int64)
    total = np.asarray(pairs @ np.bincount(target[target >= 0], minlength=classes[0]).astype(float))
    row, found = candidates.known_class[holder.sought.pairs[:, 1]].astype(np.int64), []
    for values, own in zip(holder.values, list_own(holder), strict=True):
        some = (target >= 0) & (values >= 0)
        shape = classes[0], int(values.max(initial=-1)) + 1
        table = csr_array((np.ones(int(some.sum())), (target[some], values[some].astype(np.int64))), shape=shape)
        found.append(Masses.of_sums(csr_array(pairs @ table), total, row, own))
    return found
