"""From coincidences to probabilities: pairs of records that confirm each other.

Every coincidence says that two pairs are right together, or that it is chance. Pairs that agree with many others are
believed, and lend their belief to the others; nobody's belief is lent back to where it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.equal.lookup import Hits
from disclique.attacks.posterior import matching_posterior
from disclique.model import Candidates, FloatArray

Ints = NDArray[np.int64]
ROUNDS = 30
SETTLED = 1e-3  # change of the beliefs in one round, after which they are final
LEAST = -700.0  # logarithm of what is not possible
UNLIKELY = 1e-4  # the most that a bold snooper gives a pair which the others leave no room for


class Pairs(NamedTuple):
    """Pairs of a target and a known row that some coincidence speaks for."""

    target: Ints
    known: Ints
    base: FloatArray  # log odds for one person before any distance, but for the common share

    def some(self, which: NDArray[np.bool_]) -> Pairs:
        """Keep only some of them."""
        return Pairs(self.target[which], self.known[which], self.base[which])

    def join(self, more: Pairs) -> Pairs:
        """Return these and some more."""
        return Pairs(
            np.concatenate((self.target, more.target)),
            np.concatenate((self.known, more.known)),
            np.concatenate((self.base, more.base)),
        )


class Ties(NamedTuple):
    """Coincidences as ties between two pairs that are right together."""

    a: Ints
    b: Ints


@dataclass(frozen=True, eq=False)
class LabelTable:
    """How well labels fit: the log odds of each pair of classes, before any distance."""

    target_class: Ints
    known_class: Ints
    odds: FloatArray  # (target classes + 1, known classes + 1), the last ones for records without a class

    def fit(self, target: Ints, known: Ints) -> FloatArray:
        """Return the log odds of pairs, -inf where labels differ."""
        return np.asarray(self.odds[self.target_class[target], self.known_class[known]])


def weigh_labels(candidates: Candidates) -> LabelTable:
    """Return the log odds for one person that labels carry: one among the known records that fit."""
    classes = int(candidates.target_class.max(initial=-1)) + 1, int(candidates.known_class.max(initial=-1)) + 1
    odds = np.full((classes[0] + 1, classes[1] + 1), -np.inf)
    a, b = candidates.relation[:, 0], candidates.relation[:, 1]
    members = np.bincount(candidates.known_class[candidates.known_class >= 0], minlength=classes[1])
    if candidates.evidence is None:
        fitting = np.bincount(a, weights=members[b], minlength=classes[0] + 1)
        odds[a, b] = -np.log(np.maximum(fitting[a], 1.0))
    else:
        odds[a, b] = candidates.evidence - np.log(max(len(candidates.known_class), 1))
    return LabelTable(candidates.target_class.astype(np.int64), candidates.known_class.astype(np.int64), odds)


def tie_pairs(hits: Hits, labels: LabelTable, *, ordered: bool, sizes: tuple[int, int]) -> tuple[Pairs, Ties]:
    """Return the pairs that coincidences speak for, where labels fit, and the ties between them.

    A distance without a direction may lie either way.
    """
    t, j, k, other = hits
    ways = [(t, k, j, other)] if ordered else [(t, k, j, other), (t, other, j, k)]
    left, right = [], []
    for one in ways:
        fits = np.isfinite(labels.fit(one[0], one[1])) & np.isfinite(labels.fit(one[2], one[3]))
        left.append((one[0] * sizes[1] + one[1])[fits])
        right.append((one[2] * sizes[1] + one[3])[fits])
    a, b = np.concatenate(left), np.concatenate(right)
    tie = np.unique(np.stack((np.minimum(a, b), np.maximum(a, b)), axis=1), axis=0)  # a series says it again
    keys, where = np.unique(tie, return_inverse=True)
    where = np.asarray(where, dtype=np.int64).reshape(-1, 2)
    target, known = keys // max(sizes[1], 1), keys % max(sizes[1], 1)
    return Pairs(target, known, labels.fit(target, known)), Ties(where[:, 0], where[:, 1])


def weigh_ties(pairs: Pairs, ties: Ties, *, chance: float, common: float) -> FloatArray:
    """Return the log likelihood ratio of each pair: what the pairs it agrees with say for it."""
    count = len(pairs.target)
    prior = pairs.base + np.log(common) - np.log1p(-common)
    source, goal = np.r_[ties.a, ties.b], np.r_[ties.b, ties.a]
    back = np.r_[np.arange(len(ties.a)) + len(ties.a), np.arange(len(ties.a))]
    message = np.zeros(len(source))
    total = np.zeros(count)
    for _ in range(ROUNDS):
        rival = np.logaddexp(_find_rivals(pairs.target, prior + total), _find_rivals(pairs.known, prior + total))
        own = prior[source] + total[source] - message[back]
        believed = 1 / (1 + np.exp(np.clip(np.logaddexp(0.0, rival[source]) - own, LEAST, -LEAST)))
        fresh = np.log1p(believed / chance)
        moved = float(np.abs(fresh - message).max(initial=0.0))
        message = (message + fresh) / 2
        total = np.bincount(goal, weights=message, minlength=count).astype(float)
        if moved < SETTLED:
            break
    return total


def _find_rivals(record: Ints, log_odds: FloatArray) -> FloatArray:
    """Return, for each pair, the log odds of the best other pair of the same record."""
    order = np.lexsort((-log_odds, record))
    ranked, value = record[order], log_odds[order]
    first = np.r_[True, ranked[1:] != ranked[:-1]] if len(ranked) else np.zeros(0, dtype=bool)
    begin = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    second = np.minimum(begin + 1, len(ranked) - 1)
    next_best = np.where(ranked[second] == ranked[begin], value[second], LEAST)
    next_best = np.where(second > begin, next_best, LEAST)
    out = np.empty(len(record))
    out[order] = np.where(first, next_best[group], value[begin][group])
    return out


def find_probabilities(
    pairs: Pairs, ratio: FloatArray, *, sizes: tuple[int, int], common: float, bold: bool
) -> FloatArray:
    """Return the probability of each pair when nobody is twice in a file; a bold snooper leaves none at 0."""
    found = matching_posterior(pairs.target, pairs.known, ratio + pairs.base, sizes=sizes, common=common)
    if bold:
        alone = np.clip(ratio + pairs.base + np.log(common) - np.log1p(-common), LEAST, np.log(UNLIKELY))
        found = np.maximum(found, np.exp(alone))
    return found
