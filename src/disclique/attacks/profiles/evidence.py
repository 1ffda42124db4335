"""Evidence for every pair of records in a form that never needs the whole table of pairs.

A score that is a product of two short vectors plus a number for each record: Gaussian log likelihoods, correlations and
squared distances all have this form. Scores are computed in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.model import Candidates

F4 = NDArray[np.float32]
Ints = NDArray[np.int64]
BLOCK = 4_000_000  # pairs scored at a time
NEVER = np.float32(-1e6)  # the score of a pair that the labels exclude
HUBS = 10  # neighbours by which a record's popularity is judged


class Evidence(NamedTuple):
    """Score of target record i and known record j: ``left[i] · right[j] + row[i] + column[j]``."""

    left: F4
    right: F4
    row: F4
    column: F4

    def rows(self, rows: Ints | slice) -> F4:
        """Return the scores of some target records with every known record."""
        found: F4 = self.left[rows] @ self.right.T
        found += self.row[rows][:, None]
        found += self.column[None]
        return found

    def times(self, weight: float) -> Evidence:
        """Return the evidence with a weight."""
        share = np.float32(weight)
        return Evidence(self.left * share, self.right, self.row * share, self.column * share)

    def plus(self, other: Evidence) -> Evidence:
        """Return the sum of two pieces of evidence."""
        return Evidence(
            np.hstack([self.left, other.left]),
            np.hstack([self.right, other.right]),
            self.row + other.row,
            self.column + other.column,
        )

    def standardised(self) -> Evidence:
        """Return the evidence in its own standard deviations, as far as it varies beyond rows and columns."""
        some = self.rows(np.unique(np.linspace(0, len(self.left) - 1, 200).astype(np.int64)))
        some -= np.median(some, axis=1, keepdims=True)
        some -= np.median(some, axis=0, keepdims=True)
        return self.times(1 / max(float(some.std()), 1e-12))


def near(a: F4, b: F4) -> Evidence:
    """Return minus half the squared distance of two sets of points, a Gaussian log likelihood."""
    return Evidence(a, b, -((a**2).sum(axis=1)) / 2, -((b**2).sum(axis=1)) / 2)


def correlated(a: F4, b: F4) -> Evidence:
    """Return the correlation of each row of ``a`` with each row of ``b``."""
    none = np.zeros(len(a), np.float32), np.zeros(len(b), np.float32)
    return Evidence(_unit_rows(a), _unit_rows(b), *none)


def _unit_rows(a: F4) -> F4:
    a = a - a.mean(axis=1, keepdims=True)
    return np.asarray(a / (np.linalg.norm(a, axis=1, keepdims=True) + np.float32(1e-9)))


def either(which: Ints, first: Evidence, second: Evidence) -> Evidence:
    """Return evidence that is ``first`` for the target records of which 0, and ``second`` for those of which 1."""
    lefts, rights = [], []
    for number, part in enumerate((first, second)):
        mine = (which == number).astype(np.float32)[:, None]
        lefts += [part.left * mine, mine]
        rights += [part.right, part.column[:, None]]
    row = np.where(which == 0, first.row, second.row).astype(np.float32)
    return Evidence(np.hstack(lefts), np.hstack(rights), row, np.zeros(len(first.right), np.float32))


def fill_gaps(profiles: F4) -> F4:
    """Return distances with gaps filled by the mean of their columns, where they say the least."""
    gaps = np.isnan(profiles)
    if not gaps.any():
        return profiles
    mean = np.where(gaps, 0, profiles).sum(axis=0) / np.maximum((~gaps).sum(axis=0), 1)
    return np.where(gaps, mean, profiles).astype(np.float32)


class Allowed(NamedTuple):
    """What labels say of a pair: a table of classes, or nothing where every pair may match."""

    target: Ints
    known: Ints
    table: F4 | None

    def rows(self, rows: Ints | slice) -> F4 | None:
        """Return the label evidence of some target records with every known record."""
        return None if self.table is None else self.table[self.target[rows][:, None], self.known[None, :]]


def allowed_pairs(candidates: Candidates) -> Allowed:
    """Return what the labels say, the log odds of one person against two strangers of these labels.

    Without evidence of their own, labels that must coincide exclude all other pairs; how rare they are is in the number
    of those that remain.
    """
    target, known = (side.astype(np.int64) for side in (candidates.target_class, candidates.known_class))
    relation = candidates.relation
    one = candidates.evidence is None and len(relation) == 1
    if one and (target == relation[0, 0]).all() and (known == relation[0, 1]).all():
        return Allowed(target, known, None)
    table = np.full((target.max(initial=0) + 2, known.max(initial=0) + 2), NEVER)
    gain = np.zeros(len(relation)) if candidates.evidence is None else candidates.evidence
    table[relation[:, 0], relation[:, 1]] = gain
    return Allowed(target, known, table)  # class -1 is the last row and column: never


def scored(evidence: Evidence, allowed: Allowed) -> Iterator[tuple[slice, F4]]:
    """Return the scores of all pairs, a block of target records at a time."""
    records, others = len(evidence.left), max(len(evidence.right), 1)
    step = max(1, BLOCK // others)
    for begin in range(0, records, step):
        rows = slice(begin, min(begin + step, records))
        score, labels = evidence.rows(rows), allowed.rows(rows)
        yield rows, score if labels is None else score + labels


def mutual_best(evidence: Evidence, allowed: Allowed) -> tuple[Ints, Ints]:
    """Return the pairs that are each other's best, popular records being marked down (CSLS).

    A record that is near to everybody (a hub) would be the best of many; its mean score with its ten best is
    subtracted on both sides (Conneau et al. 2018).
    """
    records, others = len(evidence.left), len(evidence.right)
    hub = np.empty(records, np.float32)
    top = np.full((min(HUBS, records), others), -np.inf, np.float32)
    for rows, block in scored(evidence, allowed):
        hub[rows] = _mean_of_best(block)
        both = np.concatenate([top, block])
        top = np.partition(both, len(both) - len(top), axis=0)[len(both) - len(top) :]
    other_hub = top.mean(axis=0)
    best, score = np.zeros(records, np.int64), np.empty(records, np.float32)
    best_of, best_score = np.zeros(others, np.int64), np.full(others, -np.inf, np.float32)
    for rows, block in scored(evidence, allowed):
        corrected = block - (hub[rows][:, None] + other_hub[None]) / 2
        best[rows] = corrected.argmax(axis=1)
        score[rows] = np.take_along_axis(corrected, best[rows][:, None], axis=1)[:, 0]
        winner = corrected.argmax(axis=0)
        value = corrected[winner, np.arange(others)]
        better = value > best_score
        best_of[better], best_score[better] = winner[better] + rows.start, value[better]
    mutual = np.flatnonzero((best_of[best] == np.arange(records)) & (score > NEVER / 2))
    return mutual, best[mutual]


def _mean_of_best(block: F4) -> F4:
    most = min(HUBS, block.shape[1])
    return np.asarray(np.partition(block, block.shape[1] - most, axis=1)[:, -most:].mean(axis=1))


def best_of_each(evidence: Evidence, allowed: Allowed, most: int) -> tuple[Ints, Ints, F4]:
    """Return the ``most`` best known records of every target record, with their scores."""
    parts = []
    for rows, block in scored(evidence, allowed):
        kept = min(most, block.shape[1])
        order = np.argpartition(-block, kept - 1, axis=1)[:, :kept]
        score = np.take_along_axis(block, order, axis=1)
        target = np.repeat(np.arange(rows.start, rows.stop), kept)
        ok = score.ravel() > NEVER / 2
        parts.append((target[ok], order.ravel()[ok].astype(np.int64), score.ravel()[ok]))
    target, known, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    return target, known, score
