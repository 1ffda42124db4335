"""Matched pairs as anchors: they judge all pairs, and pairs become anchors, from a few right ones among many to all.

Records are compared by their distances to the pairs that agree best with each other; what that is worth ``sight`` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from disclique.attacks.profiles.evidence import F4, Allowed, Evidence, Ints, Scoring, correlated, fill_gaps, mutual_best
from disclique.attacks.profiles.sides import Side
from disclique.spaces import spaced

FEWEST_PAIRS = 10  # anchors at least, and pairs from which a law can be learned


@dataclass(frozen=True)
class Anchoring:
    """How pairs become anchors, and how far anchors are trusted."""

    rounds: int = 24
    growths: int = 8  # times that three more rounds are tried
    kept: float = 0.3  # share of the pairs that serve as anchors, the best by their agreement with the others
    compared: int = 1000  # pairs over which agreement is measured
    prior: float = 0.35  # weight of the start beside the anchors, both in standard deviations
    complete: float = 0.98  # published share from which gaps may be filled by means
    anchors: int = 600  # from which records are looked at
    explained: float = 1.2  # variance of errors, relative to the mask's, up to which it explains them
    telling: float = 0.02  # variance of the records relative to the errors below which a direction says nothing
    strong: float = 1.0  # the same from which on errors are compared
    one_kind: float = 2.0  # variance of the worst errors, relative to the usual or the best, up to which all are alike
    one_list: float = 1.5  # the same beside the worst errors of a list that is supposed to be misspelled
    sound: float = 1.5  # mean square error at an anchor, relative to that at most, up to which it is used
    rounding: float = 1e-6  # variance of errors, relative to that of the distances, that single precision leaves
    wider: float = 1.1  # errors of pairs that were found are smaller than those of all true pairs


class Pairs(NamedTuple):
    """Rows of both files that may be one person, one to one."""

    target: Ints
    known: Ints

    def __len__(self) -> int:
        return len(self.target)

    def some(self, chosen: Ints) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.target[chosen], self.known[chosen])

    def evenly(self, most: int) -> Pairs:
        """Return at most so many of the pairs, evenly chosen."""
        return self.some(spaced(len(self), most))

    def first(self, share: float) -> Pairs:
        """Return a share of the pairs, the first ones, but not too few."""
        return self.some(np.arange(min(max(int(share * len(self)), FEWEST_PAIRS), len(self))))


NOBODY_PAIRED = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))


def with_seeds(pairs: Pairs, seeds: Pairs) -> Pairs:
    """Return the pairs, those that contradict the seeds left out and the seeds put in."""
    if not len(seeds):
        return pairs
    free = ~(np.isin(pairs.target, seeds.target) | np.isin(pairs.known, seeds.known))
    return Pairs(*(np.concatenate([seed, side[free]]) for seed, side in zip(seeds, pairs, strict=True)))


@dataclass(frozen=True, eq=False)
class Files:
    """Both files, what labels allow, the pairs known beforehand, and how anchors are found between them."""

    target: Side
    known: Side
    allowed: Allowed
    seeds: Pairs
    scoring: Scoring = Scoring()  # noqa: RUF009 - a frozen value
    anchoring: Anchoring = Anchoring()
    astray: Ints | None = None  # whom each known record is, in trials, when it is an anchor: another one if it is wrong
    copies: tuple[Side, ...] = ()  # each of the known file and behind it the same records with more errors

    def best(self, evidence: Evidence) -> Pairs:
        """Return the pairs that are each other's best, and the seeds."""
        return with_seeds(Pairs(*mutual_best(evidence, self.allowed, self.scoring)), self.seeds)

    def agreeing(self, pairs: Pairs) -> Pairs:
        """Return the pairs that agree best with the others."""
        if len(pairs) < FEWEST_PAIRS:
            return pairs
        best = np.argsort(-self.agreement(pairs), kind="stable")
        return pairs.some(np.sort(best[: max(int(self.anchoring.kept * len(pairs)), FEWEST_PAIRS)]))

    def judge(self, pairs: Pairs) -> Evidence:
        """Return how alike records are in their distances to the pairs that agree best with the others."""
        most = min(max(int(self.anchoring.kept * len(pairs)), FEWEST_PAIRS), self.anchoring.compared)
        best = np.argsort(-self.agreement(pairs), kind="stable")
        return self.anchored(with_seeds(pairs.some(np.sort(best[:most])), self.seeds))

    def refine(self, start: Evidence) -> Pairs:
        """Return pairs that agree with each other, from evidence in which few of the best pairs are right.

        In every round the third of the pairs whose distances to the other pairs agree best become anchors; all records
        are compared by their distances to these, and those that are each other's best are the pairs of the next round.
        The start counts less and less.
        """
        rounds = self.anchoring.rounds
        prior = start.standardised().times(self.anchoring.prior)
        pairs = self.best(start)
        for done in range(rounds):
            if len(pairs) < FEWEST_PAIRS:
                break
            pairs = self.best(self.judge(pairs).standardised().plus(prior.times(1 - done / (rounds - 1))))
        return pairs

    def grow(self, pairs: Pairs) -> Pairs:
        """Go on with pairs alone, as long as they fit better; a slow start may still win."""
        best = self.fit(pairs)
        for _ in range(self.anchoring.growths):
            if len(pairs) < FEWEST_PAIRS:
                break
            later = pairs
            for _ in range(3):
                later = self.best(self.judge(later))
                if len(later) < FEWEST_PAIRS:
                    return pairs
            now = self.fit(later)
            if now <= best:
                break
            pairs, best = later, now
        return pairs

    def agreement(self, pairs: Pairs) -> F4:
        """Return the correlation of both rows of each pair over the other pairs."""
        over = pairs.evenly(self.anchoring.compared)
        x, y = self.target.profiles(over.target)[pairs.target], self.known.profiles(over.known)[pairs.known]
        said = ~(np.isnan(x) | np.isnan(y))
        count = np.maximum(said.sum(axis=1, keepdims=True), 1)
        x, y = (np.where(said, side, 0) for side in (x, y))
        x, y = (np.where(said, side - side.sum(axis=1, keepdims=True) / count, 0) for side in (x, y))
        scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)) + 1e-12
        return np.asarray((x * y).sum(axis=1) / scale, np.float32)

    def fit(self, pairs: Pairs) -> float:
        """Return how well an alignment fits, to compare alignments: the correlation of all distances within the pairs.

        It is weighted by the root of their number, for more pairs are harder to fit by chance.
        """
        if len(pairs) < FEWEST_PAIRS:
            return 0.0
        over = pairs.evenly(self.anchoring.compared)
        x = self.target.profiles(over.target)[over.target].ravel()
        y = self.known.profiles(over.known)[over.known].ravel()
        said = ~(np.isnan(x) | np.isnan(y))
        if said.sum() < FEWEST_PAIRS or not (x[said].std() > 0 and y[said].std() > 0):
            return 0.0
        return float(np.corrcoef(x[said], y[said])[0, 1] * np.sqrt(len(pairs)))

    def anchored(self, anchors: Pairs) -> Evidence:
        """Return how alike the distances to the anchors are, of every pair of records.

        Where much is unpublished only the published distances are compared, by their squared differences.
        """
        x, y = self.target.profiles(anchors.target), self.known.profiles(anchors.known)
        said = ~np.isnan(x)
        if said.mean() >= self.anchoring.complete * (1 - 1 / max(len(x), 2)):
            return correlated(fill_gaps(x), fill_gaps(y))
        y = fill_gaps(y)
        middle = np.float32(np.nanmean(y))
        x, y = np.where(said, x - middle, 0).astype(np.float32), y - middle
        count = np.maximum(said.sum(axis=1, keepdims=True), 1).astype(np.float32)
        left = np.hstack([2 * x, -said.astype(np.float32)]) / count
        row = -(x**2).sum(axis=1) / count[:, 0]
        return Evidence(left, np.hstack([y, y**2]), row, np.zeros(len(y), np.float32))
