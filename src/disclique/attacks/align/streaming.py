"""Registration against a register of millions: the same map, the same likelihood, the known records in streams.

The map is laid on a *pilot* first: all people of the rarest labels, or a sample. Then everybody who could be a target's
counterpart there is gathered from all pieces, the alignment is settled on these candidates, and the pairs are weighed.
Strangers, labels and the size of the file are those of the whole register throughout (``population``).
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from disclique.attacks.align.density import MotionPrior
from disclique.attacks.align.land import Landing
from disclique.attacks.align.pilot import Piloted, align_pilot, search_further
from disclique.attacks.align.refine import Aligner, Alignment
from disclique.attacks.align.search import CLEAR, SURE, UNKNOWN, Alignments
from disclique.attacks.align.setting import Setting, StreamedInputs, set_up
from disclique.attacks.align.settle import Laid, compare_strangers, measure_gap, settle
from disclique.attacks.claims import FLOOR, make_claims, no_claims
from disclique.attacks.weigh.pairs import (
    AttackInputs,
    describe_alignment,
    drop_unplaced,
    equalise_ties,
    explain_doubt,
    weigh_pairs,
)
from disclique.model import Claims, Json
from disclique.spaces import Points
from disclique.spaces.positions import Motion
from disclique.spaces.rebuild.landmarks import TargetMap

SAMPLE = 1_000_000  # people of a sample: so many tell where people live
PER_PERSON = 3_000  # bytes of memory for one of them, with all that is learned
PARTS = (1.0, 0.5, 0.2, 0.1)  # of the share of common people: what candidates are asked about

_CUT = "the register was searched on a pilot only; a longer search may find an alignment"


def sample_size(memory: int) -> int:
    """Return how many people of a register are held at once."""
    return int(max(min(SAMPLE, memory // PER_PERSON), 1_000))


def link_streamed(target_map: TargetMap, inputs: AttackInputs, *, attack: str, details: Json) -> Claims:
    """Claim what a snooper with the target's map and a register can claim; known rows are those of the register."""
    began, knowledge = perf_counter(), inputs.knowledge
    lost = int((~np.isfinite(target_map.variance)).sum())
    target_map, inputs = drop_unplaced(target_map, inputs)
    assert isinstance(inputs, StreamedInputs)
    details |= {"map": {"misfit": target_map.misfit, "error": float(np.sqrt(target_map.variance.mean()))}}
    details["unlaid"] = lost
    setting = set_up(target_map, inputs)
    why = _explain_hopeless(setting)
    if why:
        return no_claims(why, attack=attack, details=details)
    laid = _lay(setting)
    if laid is None:
        why = "no alignment of the target's map with the register was found"
        return no_claims(why, attack=attack, cut=_CUT, details=details)
    found, laws, gathered = laid.found, laid.laws, laid.gathered
    doubt, cut, aligned = explain_doubt(found), laid.cut, perf_counter()
    details |= {"register": laid.describe(setting)}
    if doubt and not knowledge.bold:
        details |= {"seconds": details.get("seconds", {}) | {"align": aligned - began}}
        details |= {"evidence": found.ranked[0].evidence}
        return no_claims(doubt, attack=attack, cut=cut, details=details)
    inputs.tell("weighing the candidate pairs")
    (target, place, probability), share = weigh_pairs(found, knowledge.common, laws)
    seconds = details.get("seconds", {}) | {"align": aligned - began, "posterior": perf_counter() - aligned}
    details |= describe_alignment(found, share) | {"alignments": len(found.ranked), "seconds": seconds}
    known = gathered.people.rows[place].astype(np.int32)
    claims, tied = equalise_ties((target, known, probability))
    lowest = 0.0 if knowledge.bold else FLOOR
    return make_claims(claims, attack=attack, floor=lowest, cut=cut, doubt=doubt, details=details | tied)


def weigh_masked(masked: Points, inputs: StreamedInputs) -> Claims:
    """Weigh all pairs as a snooper could who was given the masked coordinates themselves (the ceiling)."""
    positions = inputs.known_map.place(masked)
    setting = set_up(TargetMap(positions, np.zeros(len(positions)), 0.0), inputs)
    everybody = setting.model(inputs.survey.sample, setting.classes)
    aligner = Aligner(everybody, setting.target_map, MotionPrior(1.0))
    common = UNKNOWN if inputs.knowledge.common is None else inputs.knowledge.common
    given = Alignment(Motion(np.eye(3), np.zeros(3)), 0.0, 1e6, common, 1e30 * np.eye(3))
    laid = settle(setting, Alignments(aligner, CLEAR, [given], overlapping=True))
    (target, place, probability), share = weigh_pairs(laid.found, inputs.knowledge.common, None)
    claims, tied = equalise_ties((target, laid.gathered.people.rows[place].astype(np.int32), probability))
    return make_claims(claims, attack="ceiling", floor=0.0, details={"common": share} | tied)


def _explain_hopeless(setting: Setting) -> str:
    """Say why nothing can be claimed whatever is tried; empty if something may."""
    related = np.isin(setting.candidates.target_class, setting.candidates.relation[:, 0])
    if not related.any():
        return "no target record has a possible counterpart by its label"
    if np.ptp(setting.target_map.positions[related], axis=0).max() <= 10 * setting.inputs.finest:
        return "all target records lie at one place: their distances say nothing beyond their labels"
    return ""


def _lay(setting: Setting) -> Laid | None:
    """Lay the map on the register: where it fits the land, else where pairs of rare records suggest."""
    piloted, laid = align_pilot(setting), None
    if piloted.found.ranked and (piloted.landing is None or not explain_doubt(piloted.found)):
        laid = _hold_to_pilot(settle(setting, piloted.found), piloted, setting)
        laid = laid if explain_doubt(laid.found) else _recount(laid)
        if not explain_doubt(laid.found):
            return laid
    if piloted.landing is not None and setting.inputs.knowledge.common is not None:
        common = setting.inputs.knowledge.common
        return _hear_people(settle(setting, _trust_land(piloted, piloted.landing, common)), common)
    further = search_further(piloted, setting)
    if further.ranked and (laid is None or _is_better(further, piloted.found)):
        again = _hold_to_pilot(settle(setting, further), piloted._replace(found=further), setting)
        again = again if explain_doubt(again.found) else _recount(again)
        if laid is None or again.found.ranked[0].evidence > laid.found.ranked[0].evidence:
            laid = again
    cut = "" if laid is None or not explain_doubt(laid.found) else further.cut
    return None if laid is None else laid._replace(cut=cut)


def _hold_to_pilot(laid: Laid, piloted: Piloted, setting: Setting) -> Laid:
    """Return an alignment with no more evidence than the pilot gives, where that is everybody who may match.

    The pilot then knows how densely people live around each other, and a sample only about.
    """
    if piloted.inputs.knowledge.noise is None or not np.array_equal(piloted.model.classes, setting.classes):
        return laid
    if piloted.share < 1 or len(piloted.model.people) <= len(setting.inputs.survey.sample):
        return laid
    most = piloted.found.ranked[0].evidence
    held = [replace(one, evidence=min(one.evidence, most)) for one in laid.found.ranked]
    return laid._replace(found=replace(laid.found, ranked=held))


def _trust_land(piloted: Piloted, landing: Landing, common: float) -> Alignments:
    """Return the alignment that the settled land shows beyond doubt.

    Among so many known people single ones tell little, and an error in the density of strangers more than they do; that
    the files share people is known.
    """
    aligner = piloted.found.aligner
    one = Alignment(landing.motion, 0.0, landing.evidence, common, landing.curvature)
    return Alignments(aligner, CLEAR, [one], overlapping=True)


def _hear_people(laid: Laid, common: float) -> Laid:
    """Return what the land tells, in doubt where the candidates do not speak for sharing people.

    Where nobody is shared, targets lie no nearer to counterparts than strangers do. Smaller shares than the given one
    are tried as well: of many targets a few that are off count more than the others would tell.
    """
    found = laid.found
    most = 1 - 0.5 / max(len(found.aligner.who), 1)
    heard = max(compare_strangers(laid, [min(part * common, most) for part in PARTS]))
    if heard >= SURE:
        return laid
    return laid._replace(found=replace(found, ranked=[replace(found.ranked[0], evidence=heard)]))


def _recount(laid: Laid) -> Laid:
    """Return an alignment with no more evidence than there is when strangers are counted over the whole register.

    While motions are searched, a sample tells how densely people live around a candidate, and too low at times.
    """
    if laid.laws is not None:
        return laid
    best = laid.found.ranked[0]
    less = min(compare_strangers(laid, [best.common])[0] - best.ratio, 0.0)
    held = [replace(one, evidence=one.evidence + less) for one in laid.found.ranked]
    return laid._replace(found=replace(laid.found, ranked=held))


def _is_better(further: Alignments, before: Alignments) -> bool:
    """Return True if a further search laid the map elsewhere, with more evidence."""
    best = further.ranked[0]
    elsewhere = measure_gap(further.aligner, best, before.ranked) > 2 * further.aligner.sigma
    return elsewhere and best.evidence > before.ranked[0].evidence
