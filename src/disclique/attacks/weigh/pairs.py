"""The probability of the pairs that lie together under the alignments worth considering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align.likelihood import CandidatePairs, find_pairs
from disclique.attacks.align.refine import Aligner, Alignment
from disclique.attacks.align.search import Alignments
from disclique.attacks.claims import Weighed
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.thresholds import THRESHOLDS, Weighing
from disclique.attacks.weigh.exchange import find_exchanged
from disclique.attacks.weigh.law import LawModel
from disclique.masks.laws import ExchangeLaw
from disclique.model import Claims, FloatArray, IntArray, Json

Ints = NDArray[np.int64]


def weigh_pairs(
    found: Alignments, common: float | None, laws: LawModel | None = None, taken: FloatArray | None = None
) -> tuple[Weighed, float]:
    """Return pairs with probabilities over all alignments worth considering, and the share of common targets.

    ``taken`` are the probabilities that known records are elsewhere: an alignment that needs them is less probable.
    """
    aligner = found.aligner
    sizes = len(aligner.model.target_class), aligner.model.population.size
    keys, values, shares, prices = [], [], [], np.zeros(len(found.ranked))
    for which, alignment in enumerate(found.ranked):
        pairs = find_aligned_pairs(aligner, alignment, laws)
        share, probability = weigh_matchings(pairs, sizes, common)
        keys.append(pairs.target * sizes[1] + pairs.known)
        values.append(probability)
        shares.append(share)
        if taken is not None:
            both = taken * np.bincount(pairs.known, weights=probability, minlength=sizes[1])
            prices[which] = -np.log1p(-np.minimum(both, aligner.model.thresholds.weigh.most_taken)).sum()
    weights = found.weigh(prices)
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    spread = np.concatenate([weight * value for weight, value in zip(weights, values, strict=True)])
    total = np.bincount(where, weights=spread, minlength=len(key)).astype(float)
    rows, columns = (key // sizes[1]).astype(np.int32), (key % sizes[1]).astype(np.int32)
    return (rows, columns, total), float(np.average(shares, weights=weights if weights.sum() > 0 else None))


def find_aligned_pairs(aligner: Aligner, alignment: Alignment, laws: LawModel | None) -> CandidatePairs:
    """Find the pairs that lie together under an alignment, by Gaussian noise or by the exact law."""
    who, target_map = aligner.who, aligner.target_map
    doubt = aligner.find_motion_variance(alignment)
    if laws is None:
        extra = target_map.variance[who] + doubt
        return find_pairs(aligner.model, alignment.motion(target_map.positions[who]), extra, who)
    variance = target_map.variance + alignment.blur
    variance[who] += doubt
    copies = [alignment.motion(positions) for positions in target_map.releases]
    return find_law_pairs(laws.of_series(copies), copies, variance, who, alignment.common)


def find_law_pairs(
    laws: LawModel, copies: Sequence[FloatArray], variance: FloatArray, who: Ints, common: float
) -> CandidatePairs:
    """Find the pairs of the targets ``who`` by the exact law; ``copies`` are all targets' positions in each release."""
    if isinstance(laws.law, ExchangeLaw):
        return find_exchanged(laws, copies, variance, common=common)
    return laws.find_pairs(copies, variance, who)


def weigh_matchings(pairs: CandidatePairs, sizes: tuple[int, int], common: float | None) -> tuple[float, FloatArray]:
    """Return the share of common targets, given or estimated, and the probability of each pair."""
    if common is None:
        common = estimated_share(pairs.target, pairs.known, pairs.ratio, sizes=sizes)
    return common, matching_posterior(pairs.target, pairs.known, pairs.ratio, sizes=sizes, common=common)


def describe_alignment(found: Alignments, share: float) -> Json:
    """Describe the best alignment in numbers."""
    best, deviation = found.ranked[0], np.sqrt(np.median(found.aligner.model.variances, axis=0))
    return {
        "alignment": {
            "turn": best.motion.turn.tolist(),
            "shift": best.motion.shift.tolist(),
            "mirrored": best.motion.mirrored,
            "log_odds": best.evidence,
            "log_likelihood_ratio": best.ratio,
        },
        "noise": {"east": float(deviation[0]), "north": float(deviation[1])},
        "common": share,
    }


def equalise_ties(claims: Weighed, how: Weighing = THRESHOLDS.weigh) -> tuple[Weighed, Json]:
    """Make a target's equally probable counterparts equal to the last digit, and list who has such ties (rows from 1).

    Nobody can tell them apart, so that rounding must not lift one of them above one half.
    """
    target, known, probability = claims
    order = np.lexsort((known, -probability, target))
    rows, fair = target[order], probability[order].copy()
    starts = np.r_[True, rows[1:] != rows[:-1]] if len(rows) else np.zeros(0, dtype=bool)
    which = np.cumsum(starts) - 1  # of the targets, in order
    top = fair[starts]
    equal = fair > top[which] - how.tie
    tied = (np.bincount(which, equal, len(top)) > 1) & (top > how.least_tied)
    lowest = top.copy()
    np.minimum.at(lowest, which[equal], fair[equal])
    fair[equal & tied[which]] = lowest[which][equal & tied[which]]
    found = (rows[starts][tied] + 1).tolist()
    return (rows, known[order], fair), {"ties": {"targets": len(found), "rows": found}}


def best_of_each_target(claims: Claims) -> tuple[IntArray, IntArray]:
    """Return target rows and known rows of each target's most probable pair, however improbable it is.

    Where the probabilities are right, no other choice of one known record per target is expected to be right more
    often: of ``ceiling`` it is the most that any attack with one claim per target finds on average.
    """
    first = np.flatnonzero(np.diff(claims.target, prepend=-1))
    return claims.target[first], claims.known[first]
