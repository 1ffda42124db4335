"""From a few right pairs among many to all of them: anchors judge pairs, pairs become anchors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from disclique.attacks.profiles.evidence import F4, Allowed, Evidence, Ints, correlated, fill_gaps, mutual_best
from disclique.attacks.profiles.sides import Side

ROUNDS = 24
GROWTHS = 8  # times that three more rounds are tried
KEPT = 0.3  # share of the pairs that serve as anchors, the best by their agreement with the others
LEAST = 10  # anchors at least, and pairs from which a law can be learned
MOST = 1000  # pairs over which agreement is measured
PRIOR = 0.35  # weight of the start beside the anchors, both in standard deviations
COMPLETE = 0.98  # published share from which gaps may be filled by means


class Pairs(NamedTuple):
    """Rows of both files that may be one person, one to one."""

    target: Ints
    known: Ints

    def __len__(self) -> int:
        return len(self.target)

    def some(self, chosen: Ints) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.target[chosen], self.known[chosen])

    def first(self, share: float) -> Pairs:
        """Return a share of the pairs, the first ones, but not too few."""
        return self.some(np.arange(min(max(int(share * len(self)), LEAST), len(self))))


NO_PAIRS = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))


def refine(target: Side, known: Side, start: Evidence, allowed: Allowed, seeds: Pairs) -> Pairs:
    """Return pairs that agree with each other, from evidence in which few of the best pairs are right.

    In every round the third of the pairs whose distances to the other pairs agree best become anchors; all records are
    compared by their distances to these, and those that are each other's best are the pairs of the next round. The
    start counts less and less.
    """
    prior = start.standardised().times(PRIOR)
    pairs = with_seeds(Pairs(*mutual_best(start, allowed)), seeds)
    for done in range(ROUNDS):
        if len(pairs) < LEAST:
            break
        anchors = _anchors(target, known, pairs, seeds)
        evidence = anchored(target, known, anchors).standardised().plus(prior.times(1 - done / (ROUNDS - 1)))
        pairs = with_seeds(Pairs(*mutual_best(evidence, allowed)), seeds)
    return pairs


def grow(target: Side, known: Side, pairs: Pairs, allowed: Allowed, seeds: Pairs) -> Pairs:
    """Go on with pairs alone, as long as they fit better; a slow start may still win."""
    best = fit(target, known, pairs)
    for _ in range(GROWTHS):
        if len(pairs) < LEAST:
            break
        later = pairs
        for _ in range(3):
            evidence = anchored(target, known, _anchors(target, known, later, seeds))
            later = with_seeds(Pairs(*mutual_best(evidence, allowed)), seeds)
            if len(later) < LEAST:
                return pairs
        now = fit(target, known, later)
        if now <= best:
            break
        pairs, best = later, now
    return pairs


def with_seeds(pairs: Pairs, seeds: Pairs) -> Pairs:
    """Return the pairs, those that contradict the seeds left out and the seeds put in."""
    if not len(seeds):
        return pairs
    free = ~(np.isin(pairs.target, seeds.target) | np.isin(pairs.known, seeds.known))
    return Pairs(*(np.concatenate([seed, side[free]]) for seed, side in zip(seeds, pairs, strict=True)))


def _anchors(target: Side, known: Side, pairs: Pairs, seeds: Pairs) -> Pairs:
    """Return the pairs that agree best with the others."""
    best = np.argsort(-agreement(target, known, pairs), kind="stable")
    return with_seeds(pairs.some(np.sort(best[: min(max(int(KEPT * len(pairs)), LEAST), MOST)])), seeds)


def agreement(target: Side, known: Side, pairs: Pairs) -> F4:
    """Return the correlation of both rows of each pair over the other pairs."""
    over = pairs.some(np.unique(np.linspace(0, len(pairs) - 1, MOST).astype(np.int64)))
    x, y = target.profiles(over.target)[pairs.target], known.profiles(over.known)[pairs.known]
    said = ~(np.isnan(x) | np.isnan(y))
    count = np.maximum(said.sum(axis=1, keepdims=True), 1)
    x, y = (np.where(said, side, 0) for side in (x, y))
    x, y = (np.where(said, side - side.sum(axis=1, keepdims=True) / count, 0) for side in (x, y))
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)) + 1e-12
    return np.asarray((x * y).sum(axis=1) / scale, np.float32)


def fit(target: Side, known: Side, pairs: Pairs) -> float:
    """Return how well an alignment fits, to compare alignments: the correlation of all distances within the pairs.

    It is weighted by the root of their number, for more pairs are harder to fit by chance.
    """
    if len(pairs) < LEAST:
        return 0.0
    over = pairs.some(np.unique(np.linspace(0, len(pairs) - 1, MOST).astype(np.int64)))
    x, y = target.profiles(over.target)[over.target].ravel(), known.profiles(over.known)[over.known].ravel()
    said = ~(np.isnan(x) | np.isnan(y))
    if said.sum() < LEAST or not (x[said].std() > 0 and y[said].std() > 0):
        return 0.0
    return float(np.corrcoef(x[said], y[said])[0, 1] * np.sqrt(len(pairs)))


def anchored(target: Side, known: Side, anchors: Pairs) -> Evidence:
    """Return how alike the distances to the anchors are, of every pair of records.

    Where much is unpublished only the published distances are compared, by their squared differences.
    """
    x, y = target.profiles(anchors.target), known.profiles(anchors.known)
    said = ~np.isnan(x)
    if said.mean() >= COMPLETE * (1 - 1 / max(len(x), 2)):
        return correlated(fill_gaps(x), fill_gaps(y))
    y = fill_gaps(y)
    middle = np.float32(np.nanmean(y))
    x, y = np.where(said, x - middle, 0).astype(np.float32), y - middle
    count = np.maximum(said.sum(axis=1, keepdims=True), 1).astype(np.float32)
    left = np.hstack([2 * x, -said.astype(np.float32)]) / count
    row = -(x**2).sum(axis=1) / count[:, 0]
    return Evidence(left, np.hstack([y, y**2]), row, np.zeros(len(y), np.float32))
