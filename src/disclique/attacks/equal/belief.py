"""From coincidences to probabilities: pairs of records that confirm each other, and people whom only paths lead to.

Every coincidence says that two pairs are right together, or that it is chance. Pairs that agree with many others are
believed, and lend their belief to the others; nobody's belief is lent back to where it came from.

People without a published distance to anybody identified are found by the lengths of paths to those who are: no
straight way is longer than a path, and paths through many short steps are about as long as the way. How much longer
they are, and how much the lengths to several people say together, is learned from those who are identified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from disclique.attacks.equal.lookup import Entries, Hits
from disclique.attacks.posterior import matching_posterior
from disclique.model import Candidates
from disclique.spaces import spaced
from disclique.spaces.base import Distances
from disclique.values import FloatArray

Ints = NDArray[np.int64]
IMPOSSIBLE = -700.0  # logarithm of what is not possible


@dataclass(frozen=True)
class Belief:
    """How beliefs are settled, and how paths are followed."""

    rounds: int = 30
    settled: float = 1e-3  # change of the beliefs in one round, after which they are final
    unlikely: float = 1e-4  # the most that a bold snooper gives a pair which the others leave no room for
    guides: int = 100  # identified people to whom paths are measured, at the most
    fewest_guides: int = 8  # identified people from which on the law of paths can be learned
    nearest: int = 12  # of them, by length of the path, that speak for a pair
    worths: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of one of several lengths, as they err together
    pairs: int = 2_000_000  # weighed at the most
    nearer: float = 1 - 1e-6  # of the longest published distance: what is shorter would be published
    missed: float = 4.0  # log odds against a pair for each distance that should be published and is not
    narrowest: float = 0.02  # relative deviation of paths from ways, at least


BELIEF = Belief()


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


def weigh_base(candidates: Candidates, target: Ints, known: Ints) -> FloatArray:
    """Return the log odds of pairs by their labels, one known record among all; -inf where labels do not fit."""
    return np.asarray(candidates.log_odds(target, known) - np.log(max(candidates.sizes[1], 1)))


def tie_pairs(hits: Hits, candidates: Candidates, *, ordered: bool) -> tuple[Pairs, Ties]:
    """Return the pairs that coincidences speak for, where labels fit, and the ties between them.

    A distance without a direction may lie either way.
    """
    t, j, k, other = hits
    knowns = max(candidates.sizes[1], 1)
    ways = [(t, k, j, other)] if ordered else [(t, k, j, other), (t, other, j, k)]
    left, right = [], []
    for one in ways:
        fits = candidates.allowed(one[0], one[1]) & candidates.allowed(one[2], one[3])
        left.append((one[0] * knowns + one[1])[fits])
        right.append((one[2] * knowns + one[3])[fits])
    a, b = np.concatenate(left), np.concatenate(right)
    tie = np.unique(np.stack((np.minimum(a, b), np.maximum(a, b)), axis=1), axis=0)  # a series says it again
    keys, where = np.unique(tie, return_inverse=True)
    where = np.asarray(where, dtype=np.int64).reshape(-1, 2)
    target, known = keys // knowns, keys % knowns
    return Pairs(target, known, weigh_base(candidates, target, known)), Ties(where[:, 0], where[:, 1])


def weigh_ties(pairs: Pairs, ties: Ties, *, chance: float, common: float, by: Belief = BELIEF) -> FloatArray:
    """Return the log likelihood ratio of each pair: what the pairs it agrees with say for it."""
    count = len(pairs.target)
    prior = pairs.base + np.log(common) - np.log1p(-common)
    source, goal = np.r_[ties.a, ties.b], np.r_[ties.b, ties.a]
    back = np.r_[np.arange(len(ties.a)) + len(ties.a), np.arange(len(ties.a))]
    message = np.zeros(len(source))
    total = np.zeros(count)
    for _ in range(by.rounds):
        rival = np.logaddexp(_find_rivals(pairs.target, prior + total), _find_rivals(pairs.known, prior + total))
        own = prior[source] + total[source] - message[back]
        believed = 1 / (1 + np.exp(np.clip(np.logaddexp(0.0, rival[source]) - own, IMPOSSIBLE, -IMPOSSIBLE)))
        fresh = np.log1p(believed / chance)
        moved = float(np.abs(fresh - message).max(initial=0.0))
        message = (message + fresh) / 2
        total = np.bincount(goal, weights=message, minlength=count).astype(float)
        if moved < by.settled:
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
    next_best = np.where(ranked[second] == ranked[begin], value[second], IMPOSSIBLE)
    next_best = np.where(second > begin, next_best, IMPOSSIBLE)
    out = np.empty(len(record))
    out[order] = np.where(first, next_best[group], value[begin][group])
    return out


def find_probabilities(
    pairs: Pairs, ratio: FloatArray, *, sizes: tuple[int, int], common: float, bold: bool, by: Belief = BELIEF
) -> FloatArray:
    """Return the probability of each pair when nobody is twice in a file; a bold snooper leaves none at 0."""
    found = matching_posterior(pairs.target, pairs.known, ratio + pairs.base, sizes=sizes, common=common)
    if bold:
        alone = np.clip(ratio + pairs.base + np.log(common) - np.log1p(-common), IMPOSSIBLE, np.log(by.unlikely))
        found = np.maximum(found, np.exp(alone))
    return found


class Rest(NamedTuple):
    """The records of both files that nobody has identified."""

    target: Ints
    known: Ints


@dataclass(frozen=True, eq=False)
class Guides:
    """Lengths of paths from every target record to identified ones, and of the ways from every known record."""

    path: FloatArray  # (targets, guides), NaN where there is none
    way: FloatArray  # (known, guides)
    target: Ints  # rows of the guides
    known: Ints
    linked: NDArray[np.bool_]  # (targets, guides): the distance itself is published
    reach: FloatArray  # (targets,): the longest distance that is published of each
    nearest: int  # guides that speak for a pair

    def misfit(self, target: Ints, known: Ints, law: tuple[float, float], *, hide: bool = False) -> FloatArray:
        """Return the mean squared deviation of the paths from the ways of some pairs, in units of the law.

        ``hide`` leaves out published distances and the guide itself: what it would be for a record without any.
        """
        path = self.path[target]
        if hide:
            path = np.where(self.linked[target] | (self.target[None, :] == target[:, None]), np.nan, path)
        nearest = np.argsort(path, axis=1)[:, : self.nearest]
        ranked = np.take_along_axis(path, nearest, axis=1)
        with np.errstate(divide="ignore"):
            off = np.log(ranked) - np.log(np.take_along_axis(self.way[known], nearest, axis=1)) - law[0]
        square = np.where(np.isfinite(ranked), np.minimum((off / law[1]) ** 2, 100.0), 0.0)
        return np.asarray(square.sum(axis=1))


def follow(
    sure: Pairs,
    entries: Entries,
    files: tuple[Distances, Distances, Candidates],
    *,
    common: float,
    by: Belief = BELIEF,
) -> tuple[Pairs, FloatArray] | None:
    """Weigh pairs of the records that ``sure`` leaves, by their paths to those it has; None where that says nothing."""
    target, known, candidates = files
    if (
        len(sure.target) < by.fewest_guides or len(entries.value) > 50 * target.size
    ):  # many distances say more than paths
        return None
    rest = Rest(
        *(np.setdiff1d(np.arange(side.size), own) for side, own in ((target, sure.target), (known, sure.known)))
    )
    pairs = _list_pairs(rest, candidates, by.pairs)
    if pairs is None or not len(pairs.target):
        return None
    guides = _measure(sure, entries, target, known, by)
    score, law = np.zeros(len(pairs.target)), _learn_law(guides, by)
    if law is not None:
        score -= _learn_worth(guides, rest, candidates, law, by) * guides.misfit(pairs.target, pairs.known, law) / 2
    score -= by.missed * _count_missed(guides, pairs, by.nearer)
    top = np.full(target.size, -np.inf)
    np.maximum.at(top, pairs.target, score)
    weight = np.exp(score - top[pairs.target])
    mean = np.bincount(pairs.target, weight, target.size) / np.maximum(
        np.bincount(pairs.target, minlength=target.size), 1
    )
    ratio = np.log(weight) - np.log(mean[pairs.target])
    left = max(common * target.size - len(sure.target), 0.5) / max(len(rest.target), 1)
    probability = matching_posterior(
        pairs.target, pairs.known, ratio + pairs.base, sizes=(target.size, known.size), common=min(left, 0.99)
    )
    return pairs, np.maximum(probability, 1e-6 * weight)


def _list_pairs(rest: Rest, candidates: Candidates, most: int) -> Pairs | None:
    """List the pairs of fitting labels; None where they are too many."""
    fitting = candidates.keep_known(np.isin(np.arange(candidates.sizes[1]), rest.known))
    if len(rest.target) * len(rest.known) > 20 * most or fitting.fitting[rest.target].sum() > most:
        return None
    target, known = fitting.pairs(rest.target)
    return Pairs(target, known, -np.log(fitting.fitting[target]))  # those who are identified are nobody else


def _measure(sure: Pairs, entries: Entries, target: Distances, known: Distances, by: Belief) -> Guides:
    chosen = spaced(len(sure.target), by.guides)
    a, b = sure.target[chosen], sure.known[chosen]
    n = target.size
    graph = csr_matrix((entries.value, (entries.first, entries.second)), (n, n))
    graph = graph.maximum(graph.T)
    path = dijkstra(graph, directed=False, indices=a).T
    path = np.where(np.isfinite(path) & (path > 0), path, np.nan)
    way = known.block(np.arange(known.size, dtype=np.int32), b.astype(np.int32))
    linked = np.asarray(graph[:, a].todense()) > 0
    reach = graph.max(axis=1).toarray().ravel()
    return Guides(path, np.where(way > 0, way, np.nan), a, b, linked, reach, by.nearest)


def _count_missed(guides: Guides, pairs: Pairs, nearer: float) -> FloatArray:
    """Count, for each pair, the guides so near to the known record that their distance would be published.

    Lists of neighbours and truncated or capped releases publish whatever is shorter than the longest distance that they
    publish of one of the two records. Where the guides themselves do not keep to that, nothing is counted.
    """
    reach, way = guides.reach, guides.way[guides.known]
    due = way < nearer * np.maximum(reach[guides.target][:, None], reach[guides.target][None, :])
    if (due & ~guides.linked[guides.target]).any():
        return np.zeros(len(pairs.target))
    missed = np.zeros(len(pairs.target))
    for column, guide in enumerate(guides.target):
        due = guides.way[pairs.known, column] < nearer * np.maximum(reach[pairs.target], reach[guide])
        missed += due & ~guides.linked[pairs.target, column]
    return np.minimum(missed, 3.0)


def _learn_law(guides: Guides, by: Belief) -> tuple[float, float] | None:
    """Return mean and deviation of log(path / way) between the guides that are not linked."""
    with np.errstate(invalid="ignore"):
        off = np.log(guides.path[guides.target]) - np.log(guides.way[guides.known])
    off = off[np.isfinite(off) & ~guides.linked[guides.target]]
    if len(off) < by.fewest_guides:
        return None
    return float(np.median(off)), max(float(1.4826 * np.median(np.abs(off - np.median(off)))), by.narrowest)


def _learn_worth(guides: Guides, rest: Rest, candidates: Candidates, law: tuple[float, float], by: Belief) -> float:
    """Return how much each length counts: what tells the guides best from the other known records of their label."""
    scores = []
    for t, k in zip(guides.target, guides.known, strict=True):
        others = rest.known[candidates.allowed(t, rest.known)][:200]
        both = np.append(k, others)
        scores.append(guides.misfit(np.full(len(both), t), both, law, hide=True))
    likelihood = [sum(-w * own[0] / 2 - np.logaddexp.reduce(-w * own / 2) for own in scores) for w in by.worths]
    return by.worths[int(np.argmax(likelihood))]
