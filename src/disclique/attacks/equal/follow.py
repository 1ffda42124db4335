"""People without a published distance to anybody identified: they are found by the lengths of paths to those who are.

No straight way is longer than a path, and paths through many short steps are about as long as the way. How much longer
they are, and how much the lengths to several people say together, is learned from those who are identified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from disclique.attacks.equal.belief import LabelTable, Pairs
from disclique.attacks.equal.lookup import Entries
from disclique.attacks.posterior import matching_posterior
from disclique.model import Distances, FloatArray

Ints = NDArray[np.int64]
GUIDES = 100  # identified people to whom paths are measured, at the most
FEWEST = 8  # identified people from which on the law of paths can be learned
NEAREST = 12  # of them, by length of the path, that speak for a pair
WORTH = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # how much one of several lengths counts, as they err together
PAIRS = 2_000_000  # pairs weighed at the most
NEARER = 1 - 1e-6
MISSED = 4.0  # log odds against a pair for each distance that should be published and is not
NARROWEST = 0.02  # relative deviation of paths from ways, at least


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

    def misfit(self, target: Ints, known: Ints, law: tuple[float, float], hide: bool = False) -> FloatArray:
        """Return the mean squared deviation of the paths from the ways of some pairs, in units of the law.

        ``hide`` leaves out published distances and the guide itself: what it would be for a record without any.
        """
        path = self.path[target]
        if hide:
            path = np.where(self.linked[target] | (self.target[None, :] == target[:, None]), np.nan, path)
        nearest = np.argsort(path, axis=1)[:, :NEAREST]
        ranked = np.take_along_axis(path, nearest, axis=1)
        with np.errstate(divide="ignore"):
            off = np.log(ranked) - np.log(np.take_along_axis(self.way[known], nearest, axis=1)) - law[0]
        square = np.where(np.isfinite(ranked), np.minimum((off / law[1]) ** 2, 100.0), 0.0)
        return np.asarray(square.sum(axis=1))


def follow(
    sure: Pairs, entries: Entries, files: tuple[Distances, Distances, LabelTable], *, common: float
) -> tuple[Pairs, FloatArray] | None:
    """Weigh pairs of the records that ``sure`` leaves, by their paths to those it has; None where that says nothing."""
    target, known, labels = files
    if len(sure.target) < FEWEST or len(entries.value) > 50 * target.size:  # many distances say more than paths
        return None
    rest = Rest(
        *(np.setdiff1d(np.arange(side.size), own) for side, own in ((target, sure.target), (known, sure.known)))
    )
    pairs = _list_pairs(rest, labels)
    if pairs is None or not len(pairs.target):
        return None
    guides = _measure(sure, entries, target, known)
    score, law = np.zeros(len(pairs.target)), _learn_law(guides)
    if law is not None:
        score -= _learn_worth(guides, rest, labels, law) * guides.misfit(pairs.target, pairs.known, law) / 2
    score -= MISSED * _count_missed(guides, pairs)
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


def _list_pairs(rest: Rest, labels: LabelTable) -> Pairs | None:
    """List the pairs of fitting labels; None where they are too many."""
    if len(rest.target) * len(rest.known) > 20 * PAIRS:
        return None
    fits = np.isfinite(labels.fit(rest.target[:, None], rest.known[None, :]))
    i, j = np.nonzero(fits)
    if len(i) > PAIRS:
        return None
    fewer = np.maximum(fits.sum(axis=1), 1)  # those who are identified are nobody else
    return Pairs(rest.target[i], rest.known[j], -np.log(fewer[i]))


def _measure(sure: Pairs, entries: Entries, target: Distances, known: Distances) -> Guides:
    chosen = np.unique(np.linspace(0, len(sure.target) - 1, min(len(sure.target), GUIDES)).astype(int))
    a, b = sure.target[chosen], sure.known[chosen]
    n = target.size
    graph = csr_matrix((entries.value, (entries.first, entries.second)), (n, n))
    graph = graph.maximum(graph.T)
    path = dijkstra(graph, directed=False, indices=a).T
    path = np.where(np.isfinite(path) & (path > 0), path, np.nan)
    way = known.block(np.arange(known.size, dtype=np.int32), b.astype(np.int32))
    linked = np.asarray(graph[:, a].todense()) > 0
    reach = graph.max(axis=1).toarray().ravel()
    return Guides(path, np.where(way > 0, way, np.nan), a, b, linked, reach)


def _count_missed(guides: Guides, pairs: Pairs) -> FloatArray:
    """Count, for each pair, the guides so near to the known record that their distance would be published.

    Lists of neighbours and truncated or capped releases publish whatever is shorter than the longest distance that they
    publish of one of the two records. Where the guides themselves do not keep to that, nothing is counted.
    """
    reach, way = guides.reach, guides.way[guides.known]
    due = way < NEARER * np.maximum(reach[guides.target][:, None], reach[guides.target][None, :])
    if (due & ~guides.linked[guides.target]).any():
        return np.zeros(len(pairs.target))
    missed = np.zeros(len(pairs.target))
    for column, guide in enumerate(guides.target):
        due = guides.way[pairs.known, column] < NEARER * np.maximum(reach[pairs.target], reach[guide])
        missed += due & ~guides.linked[pairs.target, column]
    return np.minimum(missed, 3.0)


def _learn_law(guides: Guides) -> tuple[float, float] | None:
    """Return mean and deviation of log(path / way) between the guides that are not linked."""
    with np.errstate(invalid="ignore"):
        off = np.log(guides.path[guides.target]) - np.log(guides.way[guides.known])
    off = off[np.isfinite(off) & ~guides.linked[guides.target]]
    if len(off) < FEWEST:
        return None
    return float(np.median(off)), max(float(1.4826 * np.median(np.abs(off - np.median(off)))), NARROWEST)


def _learn_worth(guides: Guides, rest: Rest, labels: LabelTable, law: tuple[float, float]) -> float:
    """Return how much each length counts: what tells the guides best from the other known records of their label."""
    scores = []
    for t, k in zip(guides.target, guides.known, strict=True):
        others = rest.known[np.isfinite(labels.fit(np.full(len(rest.known), t), rest.known))][:200]
        both = np.append(k, others)
        scores.append(guides.misfit(np.full(len(both), t), both, law, hide=True))
    likelihood = [sum(-w * own[0] / 2 - np.logaddexp.reduce(-w * own / 2) for own in scores) for w in WORTH]
    return WORTH[int(np.argmax(likelihood))]
