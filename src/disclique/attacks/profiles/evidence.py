"""Evidence for every pair of records in a form that never needs the whole table of pairs, and what it means.

A score that is a product of two short vectors plus a number for each record: Gaussian log likelihoods, correlations and
squared distances all have this form. Scores are computed in blocks of rows. What a score means is learned by trial:
known records, as a release might show them, are scored against the known file, where the right one and all strangers
are known; no law of scores is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.meaning import Meaning, learn_meaning
from disclique.model import Candidates
from disclique.spaces import spaced
from disclique.values import FloatArray

F4 = NDArray[np.float32]
Ints = NDArray[np.int64]
NEVER = np.float32(-1e6)  # the score of a pair that the labels exclude


@dataclass(frozen=True)
class Scoring:
    """How pairs are scored and weighed against each other."""

    pairs_at_once: int = 4_000_000
    hubs: int = 10  # neighbours by which a record's popularity is judged
    rivals: int = 20  # known records that a target record is weighed against
    trials: int = 1000  # known records by which scores are given a meaning
    few: int = 100  # trials below which they are not doubted: chance would decide


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
        some = self.rows(spaced(len(self.left), 200))
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

    @property
    def hard(self) -> Allowed:
        """What the labels exclude, without their evidence: that is added when scores have got their meaning."""
        if self.table is None:
            return self
        return self._replace(table=np.where(self.table <= NEVER / 2, NEVER, 0).astype(np.float32))


def allowed_pairs(candidates: Candidates) -> Allowed:
    """Return what the labels say beyond what they exclude.

    That is not ``Candidates.label_odds``: scores get their meaning among the records that labels allow, so that how
    rare these are is in the scores. Only where labels may be wrong is there evidence that tells allowed ones apart.
    """
    target, known = (side.astype(np.int64) for side in (candidates.target_class, candidates.known_class))
    relation = candidates.relation
    if candidates.evidence is None and candidates.count == len(target) * len(known):
        return Allowed(target, known, None)
    table = np.full((target.max(initial=0) + 2, known.max(initial=0) + 2), NEVER)
    table[relation[:, 0], relation[:, 1]] = 0.0 if candidates.evidence is None else candidates.evidence
    return Allowed(target, known, table)  # class -1 is the last row and column: never


def scored(evidence: Evidence, allowed: Allowed, scoring: Scoring) -> Iterator[tuple[slice, F4]]:
    """Return the scores of all pairs, a block of target records at a time."""
    records, others = len(evidence.left), max(len(evidence.right), 1)
    step = max(1, scoring.pairs_at_once // others)
    for begin in range(0, records, step):
        rows = slice(begin, min(begin + step, records))
        score, labels = evidence.rows(rows), allowed.rows(rows)
        yield rows, score if labels is None else score + labels


def mutual_best(evidence: Evidence, allowed: Allowed, scoring: Scoring) -> tuple[Ints, Ints]:
    """Return the pairs that are each other's best, popular records being marked down (CSLS).

    A record that is near to everybody (a hub) would be the best of many; its mean score with its ten best is
    subtracted on both sides (Conneau et al. 2018).
    """
    records, others = len(evidence.left), len(evidence.right)
    hub = np.empty(records, np.float32)
    top = np.full((min(scoring.hubs, records), others), -np.inf, np.float32)
    for rows, block in scored(evidence, allowed, scoring):
        best = min(scoring.hubs, others)
        hub[rows] = np.partition(block, others - best, axis=1)[:, -best:].mean(axis=1)
        both = np.concatenate([top, block])
        top = np.partition(both, len(both) - len(top), axis=0)[len(both) - len(top) :]
    other_hub = top.mean(axis=0)
    best_row, score = np.zeros(records, np.int64), np.empty(records, np.float32)
    best_of, best_score = np.zeros(others, np.int64), np.full(others, -np.inf, np.float32)
    for rows, block in scored(evidence, allowed, scoring):
        corrected = block - (hub[rows][:, None] + other_hub[None]) / 2
        best_row[rows] = corrected.argmax(axis=1)
        score[rows] = np.take_along_axis(corrected, best_row[rows][:, None], axis=1)[:, 0]
        winner = corrected.argmax(axis=0)
        value = corrected[winner, np.arange(others)]
        better = value > best_score
        best_of[better], best_score[better] = winner[better] + rows.start, value[better]
    mutual = np.flatnonzero((best_of[best_row] == np.arange(records)) & (score > NEVER / 2))
    return mutual, best_row[mutual]


def best_of_each(evidence: Evidence, allowed: Allowed, scoring: Scoring) -> tuple[Ints, Ints, F4]:
    """Return the best known records of every target record, with their scores."""
    parts = []
    for rows, block in scored(evidence, allowed, scoring):
        kept = min(scoring.rivals, block.shape[1])
        order = np.argpartition(-block, kept - 1, axis=1)[:, :kept]
        score = np.take_along_axis(block, order, axis=1)
        target = np.repeat(np.arange(rows.start, rows.stop), kept)
        ok = score.ravel() > NEVER / 2
        parts.append((target[ok], order.ravel()[ok].astype(np.int64), score.ravel()[ok]))
    target, known, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    return target, known, score


def try_out(
    trial: Evidence, allowed: Allowed, rng: np.random.Generator, scoring: Scoring, who: Ints | None = None
) -> Meaning | None:
    """Score known records, as a release might show them, against all known records; None if labels allow none.

    ``who`` are the known records that the trial shows, where these are not all.
    """
    _, own, strangers = try_records(trial, allowed, rng, scoring, who)
    return learn_meaning(own, strangers)


def try_records(
    trial: Evidence, allowed: Allowed, rng: np.random.Generator, scoring: Scoring, who: Ints | None = None
) -> tuple[Ints, FloatArray, FloatArray]:
    """Return some known records, their scores with themselves, and the best of those with others."""
    who = np.arange(len(trial.right)) if who is None else who
    records = len(trial.right)
    shown = np.sort(rng.choice(len(who), min(len(who), scoring.trials), replace=False))
    some, looked = Evidence(trial.left[shown], trial.right, trial.row[shown], trial.column), who[shown]
    # the class that each would most probably have in the target
    own_class = np.zeros(records, np.int64) if allowed.table is None else allowed.table.argmax(axis=0)[allowed.known]
    labels = Allowed(own_class[looked], allowed.known, allowed.hard.table)
    own = np.empty(len(looked))
    strangers = np.full((len(looked), max(min(scoring.rivals, records - 1), 1)), float(NEVER))
    for rows, block in scored(some, labels, scoring):
        place, mine = np.arange(rows.stop - rows.start), looked[rows]
        own[rows] = block[place, mine]
        block[place, mine] = NEVER
        most = strangers.shape[1]
        strangers[rows] = np.partition(block, records - most, axis=1)[:, -most:]
    possible = own > NEVER / 2
    return looked[possible], own[possible], strangers[possible]
