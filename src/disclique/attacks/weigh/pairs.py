"""The probability of the pairs that lie together under the alignments worth considering, and over all parts of a map.

Each part of a map is laid on the known file on its own; nobody is in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from disclique.attacks.align import AttackInputs
from disclique.attacks.align.lay import LaidMap, drop_unplaced, lay_map
from disclique.attacks.align.likelihood import Aligner, Alignment, CandidatePairs, find_pairs
from disclique.attacks.align.search import Alignments
from disclique.attacks.claims import FLOOR, Weighed, make_claims, no_claims
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.thresholds import THRESHOLDS, Weighing
from disclique.attacks.weigh.exchange import find_exchanged
from disclique.attacks.weigh.law import LawModel
from disclique.masks.laws import ExchangeLaw
from disclique.messages import Message, mark
from disclique.model import Claims
from disclique.spaces.rebuild.parts import MapPart, Unplaced
from disclique.values import FloatArray, IntArray, Json

Ints = NDArray[np.int64]
ALMOST = 1 - 1e-9


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


def link_parts(
    parts: list[MapPart], unplaced: Unplaced, inputs: AttackInputs, *, attack: str, why: Message, details: Json
) -> Claims:
    """Claim what a snooper with the maps of several parts can claim; ``why`` says why there is no single map.

    Nobody is in two parts: what is clear of one part counts against alignments of others that need the same people.
    """
    began = perf_counter()
    if not parts:
        details |= {"unlaid": unplaced.records, "parts": {"parts": 0, "laid": 0} | unplaced.to_dict()}
        reason = Message("map_in_no_part", reason=why, unplaced=unplaced.explain())
        return no_claims(reason, attack=attack, details=details)
    total = sum(len(one.rows) for one in parts)
    given = [_select(inputs, part, share=len(part.rows) / total) for part in parts]
    laid = [(part, own, _lay(part, own)) for part, own in zip(parts, given, strict=True)]
    laid.sort(key=lambda one: -_evidence(one[2]))
    bold, knowns = inputs.knowledge.bold, len(inputs.candidates.known_class)
    inputs.tell(mark("step_weighing_parts"))
    places: list[_Place] = []
    for part, own, first in laid:
        places = _add(_Place(part, own, first, _weigh(first, inputs)), places, inputs)
    clear = sum(one.laid.doubt is None for one in places)
    doubtful = sum(int(np.isfinite(one.part.map.variance).sum()) for one in places if one.laid.doubt is not None)
    cuts = [one.laid.cut for one in places if one.laid.cut is not None]
    weighed = [(one.part.rows[one.pairs[0]].astype(np.int32), one.pairs[1], one.pairs[2]) for one in places]
    how = inputs.thresholds.weigh
    claims, tied = equalise_ties(exclude(weighed, knowns), how)
    known, target, probability = equalise_ties((claims[1], claims[0], claims[2]), how)[
        0
    ]  # nor is a part told from its twin
    claims = target, known, probability
    doubt, cut = _explain(unplaced, doubtful, clear), _explain_cut(cuts, len(parts), unplaced)
    details |= {
        "unlaid": unplaced.total + doubtful,
        "parts": {"parts": len(parts), "laid": clear} | unplaced.to_dict(),
        "seconds": details.get("seconds", {}) | {"align": perf_counter() - began},
    } | tied
    if not len(claims[0]):
        return no_claims(doubt or why, attack=attack, cut=cut, details=details)
    return make_claims(claims, attack=attack, floor=0.0 if bold else FLOOR, cut=cut, doubt=doubt, details=details)


def _lay(part: MapPart, own: AttackInputs) -> LaidMap:
    return lay_map(*drop_unplaced(part.map, own))


class _Place(NamedTuple):
    """A part, what is given for it, where it was laid, and its pairs there."""

    part: MapPart
    own: AttackInputs
    laid: LaidMap
    pairs: Weighed

    def cover(self, knowns: int) -> FloatArray:
        """Return the probability that each known record is in this part."""
        return np.minimum(np.bincount(self.pairs[1], weights=self.pairs[2], minlength=knowns), 1.0)


def _weigh(one: LaidMap, inputs: AttackInputs, taken: FloatArray | None = None) -> Weighed:
    """Return the pairs of a part that was laid on the known file; none if it was not, or too doubtfully."""
    if one.found is None or (one.doubt is not None and not inputs.knowledge.bold):
        none = np.zeros(0, np.int32)
        return none, none, np.zeros(0)
    return weigh_pairs(one.found, inputs.knowledge.common, one.laws, taken)[0]


def _add(new: _Place, places: list[_Place], inputs: AttackInputs) -> list[_Place]:
    """Return the parts laid so far and a new one; where it needs the people of another, one of them lies elsewhere."""
    knowns = len(inputs.candidates.known_class)
    covers = [one.cover(knowns) for one in places]
    taken: FloatArray = 1 - np.prod([1 - cover for cover in covers], axis=0) if covers else np.zeros(knowns)
    mine = new.cover(knowns)
    how = inputs.thresholds.weigh
    if mine @ taken <= how.crowded_share * mine.sum():
        free = mine @ taken <= how.untouched_share * mine.sum()
        return [*places, new if free else new._replace(pairs=_weigh(new.laid, inputs, taken))]
    which = int(np.argmax([mine @ cover for cover in covers]))
    there = places[which]
    away, swapped = (_lay(one.part, _leave_out(one.own, taken)) for one in (new, there))
    stay, swap = (
        _evidence(one) + _evidence(other) if other.doubt is None else -np.inf
        for one, other in ((there.laid, away), (new.laid, swapped))
    )
    if not np.isfinite(max(stay, swap)):
        return [*places, new._replace(pairs=_weigh(new.laid, inputs, taken))]
    chance = float(expit(swap - stay)) if np.isfinite(stay) else 1.0
    places = list(places)
    places[which] = there._replace(pairs=_mix(there.pairs, _weigh(swapped, inputs), chance))
    return [
        *places,
        new._replace(laid=away if np.isfinite(stay) else new.laid, pairs=_mix(_weigh(away, inputs), new.pairs, chance)),
    ]


def _mix(one: Weighed, other: Weighed, chance: float) -> Weighed:
    """Return the pairs of two places of a part, the second one with a chance."""
    rows, columns = (np.concatenate((one[side], other[side])) for side in (0, 1))
    chances = np.concatenate(((1 - chance) * one[2], chance * other[2]))
    pairs, where = np.unique(np.stack((rows, columns)), axis=1, return_inverse=True)
    return pairs[0], pairs[1], np.bincount(where.ravel(), weights=chances, minlength=pairs.shape[1]).astype(float)


def _leave_out(own: AttackInputs, taken: FloatArray) -> AttackInputs:
    """Return what is given without the known records that are in another part."""
    return replace(own, candidates=own.candidates.keep_known(~(taken > 0.5)))


def _select(inputs: AttackInputs, part: MapPart, *, share: float) -> AttackInputs:
    """Return what is given for one part: its labels, the start in it, and its share of the work."""
    classes, start = inputs.candidates.target_class[part.rows], inputs.start
    if start is not None:
        number = {int(row): at for at, row in enumerate(part.rows)}
        pairs = [(number[int(t)], int(k)) for t, k in zip(*start, strict=True) if int(t) in number]
        inside = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        start = (inside[:, 0], inside[:, 1]) if len(inside) > 1 else None
    how = inputs.thresholds.weigh
    return replace(
        inputs,
        candidates=replace(inputs.candidates, target_class=classes),
        start=start,
        effort=max(share, how.least_effort),
        overlapping=bool(inputs.share * len(part.rows) >= how.shared_records),
    )


def _evidence(one: LaidMap) -> float:
    return -np.inf if one.found is None else one.found.ranked[0].evidence


def exclude(weighed: list[Weighed], knowns: int) -> Weighed:
    """Return the pairs of all parts when nobody is in two of them: what is probable in one counts against the others.

    >>> one, other = (np.array([row], np.int32) for row in (0, 1))
    >>> exclude([(one, one, np.array([0.9])), (other, one, np.array([0.5]))], 1)[2].round(3).tolist()
    [0.818, 0.091]
    """
    if not weighed:
        none = np.zeros(0, np.int32)
        return none, none, np.zeros(0)
    sums = [np.minimum(np.bincount(known, weights=p, minlength=knowns), ALMOST) for _, known, p in weighed]
    odds: FloatArray = sum((s / (1 - s) for s in sums), np.zeros(knowns))
    kept = [p / ((1 - s) * (1 + odds))[known] for (_, known, p), s in zip(weighed, sums, strict=True)]
    target, known = (np.concatenate([one[side] for one in weighed]) for side in (0, 1))
    return target, known, np.concatenate(kept)


def _explain(unplaced: Unplaced, doubtful: int, clear: int) -> Message | None:
    """Say which records could not be laid on the known file; None if all could."""
    others = Message("other_parts_laid", count=clear)
    lies = Message("parts_doubtful", doubtful=doubtful, records=unplaced.records, others=others)
    reasons = [one for one in (lies if doubtful else None, unplaced.explain()) if one is not None]
    return Message("map_not_of_all_records", reasons=reasons) if reasons else None


def _explain_cut(cuts: list[Message], parts: int, unplaced: Unplaced) -> Message | None:
    """Say what was cut short: a search for an alignment, for a map, or parts that were left out."""
    reasons = [Message("cut_in_parts", cut=cuts[0], cuts=len(cuts), parts=parts)] if cuts else []
    reasons += [Message("parts_map_not_found", records=unplaced.missed)] * bool(unplaced.missed)
    reasons += [Message("parts_left_out", records=unplaced.later)] * bool(unplaced.later)
    return Message("cuts_of_parts", reasons=reasons) if reasons else None
