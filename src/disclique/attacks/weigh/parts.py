"""The parts of a map laid on the known file, each on its own, and claims over all of them."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from disclique.attacks.align.inputs import AttackInputs
from disclique.attacks.align.lay import drop_unplaced, lay_map
from disclique.attacks.align.pilot import LaidMap
from disclique.attacks.claims import FLOOR, Weighed, make_claims, no_claims
from disclique.attacks.weigh.pairs import equalise_ties, weigh_pairs
from disclique.messages import Message
from disclique.model import Claims, FloatArray, Json
from disclique.spaces.rebuild.parts import MapPart, Unplaced

ALMOST = 1 - 1e-9


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
    inputs.tell("step_weighing_parts")
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
    classes = np.where(taken > 0.5, -1, own.candidates.known_class).astype(np.int32)
    return replace(own, candidates=replace(own.candidates, known_class=classes))


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
