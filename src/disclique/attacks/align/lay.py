"""Where the target's map lies on the known file: the alignments worth considering, and how sure they are.

Of people who are all at hand everybody is looked at. On a register of millions, read in pieces, the map is laid on a
*pilot* first: fitted to the settled land, or by pairs of rare records among all people of the rarest labels, or a
sample. Then everybody who could be a target's counterpart there is gathered from all pieces, and the alignment is
settled on these candidates. Strangers, labels and the size of the file are those of the whole register throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align import AttackInputs
from disclique.attacks.align.density import Landing, MotionPrior, fit_land
from disclique.attacks.align.likelihood import Aligner, Alignment, LikelihoodModel, estimate_noise
from disclique.attacks.align.polish import Polisher
from disclique.attacks.align.search import Alignments, assume_overlap, build_prior, choose_alignments
from disclique.attacks.align.settle import RegisterCase, SettledMap, compare_strangers, measure_farthest, settle
from disclique.attacks.population import measure_rarity
from disclique.attacks.weigh.law import LawModel
from disclique.messages import Message, mark
from disclique.model import Candidates, Executor
from disclique.records.registers import Label, Records, Register, Survey, is_drawn, stream
from disclique.spaces.positions import Motion
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.values import Json

Ints = NDArray[np.int64]
PILOT_SEED = 0x2545F491  # of who is in a thinned pilot


class LaidMap(NamedTuple):
    """The alignments of a map with the known file that are worth considering; None, and why, if there is none.

    Of a register in pieces ``rows`` are those of the candidates, and ``streams`` describes them in numbers.
    """

    found: Alignments | None
    laws: LawModel | None = None
    doubt: Message | None = None
    cut: Message | None = None
    rows: Ints | None = None
    streams: Json | None = None


def lay_map(target_map: TargetMap, inputs: AttackInputs) -> LaidMap:
    """Look for the alignments of the target's map with the known file."""
    floor = inputs.find_floor(target_map)
    if inputs.population.whole:
        model = inputs.build_model(inputs.noise, floor)
        matchable = model.matchable
    else:
        matchable = np.isin(inputs.candidates.target_class, inputs.candidates.relation[:, 0])
    if not matchable.any():
        return LaidMap(None, doubt=Message("no_counterpart_by_label"))
    if np.ptp(target_map.positions[matchable], axis=0).max() <= 10 * inputs.finest:
        return LaidMap(None, doubt=Message("targets_at_one_place"))
    if not inputs.population.whole:
        return lay_in_pieces(RegisterCase(target_map, inputs, floor, inputs.noise))
    inputs.tell(mark("step_aligning"))
    laws = inputs.build_laws(model)
    found, doubt, cut = align_map(model, target_map, laws, inputs=inputs, floor=floor)
    return LaidMap(found if found.ranked else None, laws, doubt, cut)


def drop_unplaced(target_map: TargetMap, inputs: AttackInputs) -> tuple[TargetMap, AttackInputs]:
    """Leave out the target records that the release does not place."""
    lost = ~np.isfinite(target_map.variance)
    if not lost.any():
        return target_map, inputs
    classes = np.where(lost, -1, inputs.candidates.target_class).astype(np.int32)
    candidates = replace(inputs.candidates, target_class=classes)
    kept = replace(target_map, variance=np.where(lost, 0.0, target_map.variance))
    return kept, replace(inputs, candidates=candidates)


def align_map(
    model: LikelihoodModel, target_map: TargetMap, laws: LawModel | None, *, inputs: AttackInputs, floor: float
) -> tuple[Alignments, Message | None, Message | None]:
    """Return the alignments worth considering, why they are in doubt, and what was not tried.

    They are searched as if the displacement were Gaussian. Where its ``laws`` are others, the best are polished and
    compared under these.
    """
    if laws is not None and target_map.copies:
        return align_series(model, target_map, laws, inputs=inputs, floor=floor)
    prior, motions = build_prior(model, target_map, few=inputs.effort < 1)
    common, bold = inputs.knowledge.common, inputs.bold
    if laws is None:
        found = choose_alignments(model, target_map, prior, motions, inputs=inputs, floor=floor)
        doubt, cut = found.doubt, found.cut
        if doubt is not None and bold and common is not None:
            found = assume_overlap(found, common)
        return found, doubt, cut
    aligner = Aligner(model, target_map, prior)
    polisher = Polisher(laws, aligner, finest=max(floor, laws.grain), common=common)
    if not laws.labelled:
        inputs.tell(mark("step_coinciding"))
        error = float(np.sqrt(target_map.variance.mean() + laws.components[0].variance))
        found = polisher.start_from_coincidence(max(floor, 3 * error))
        if found.ranked and found.ranked[0].evidence > aligner.how.clear_log_odds:
            return found, None, None
    exact = replace(inputs, exact=True)
    rough = choose_alignments(model, target_map, prior, motions, inputs=exact, floor=floor)
    inputs.tell(mark("step_polishing"))
    found = polisher.polish_all(rough)
    doubt, cut = found.doubt, found.cut
    if doubt is not None and bold and common is not None:
        found = polisher.polish_all(assume_overlap(rough, common))
    return found, doubt, cut


def align_series(
    model: LikelihoodModel, target_map: TargetMap, laws: LawModel, *, inputs: AttackInputs, floor: float
) -> tuple[Alignments, Message | None, Message | None]:
    """Return the alignment of several releases with the known file, found from their mean, each settled by itself."""
    prior, motions = build_prior(model, target_map)
    common = inputs.knowledge.common
    exact = replace(inputs, exact=True)
    rough = choose_alignments(model, target_map, prior, motions, inputs=exact, floor=floor)
    doubt, cut = rough.doubt, rough.cut
    if doubt is not None and inputs.bold and common is not None:
        rough = assume_overlap(rough, common)
    if not rough.ranked:
        return rough, doubt, cut
    inputs.tell(mark("step_polishing_releases"))
    finest = max(floor, laws.grain)
    first = Polisher(laws, Aligner(model, target_map, prior), finest=finest, common=common)
    aligner = Aligner(model, first.settle_releases(rough.ranked[0].motion), prior)
    polisher = Polisher(laws.of_series(aligner.target_map.releases), aligner, finest=finest, common=common)
    best = polisher.polish(Motion(np.eye(3), np.zeros(3)), aligner.how.start_sd * aligner.sigma, rough.ranked[0].common)
    found = replace(rough, aligner=aligner, ranked=[best])
    return found, found.doubt, cut


def lay_in_pieces(case: RegisterCase) -> LaidMap:
    """Look for the alignments of the target's map with a register that is read in pieces."""
    settled = _search_register(case)
    if settled is None:
        cut = Message("register_searched_on_pilot")
        return LaidMap(None, doubt=Message("no_alignment_with_register"), cut=cut)
    rows, streams = settled.gathered.people.rows, settled.describe(case.survey)
    return LaidMap(settled.found, settled.laws, settled.found.doubt, settled.cut, rows, streams)


def lay_masked(case: RegisterCase) -> SettledMap:
    """Return the map of places that lie truly aligned already, settled on the candidates around them."""
    aligner = Aligner(case.model(case.survey.sample, case.classes), case.target_map, MotionPrior(1.0))
    given = Alignment(Motion(np.eye(3), np.zeros(3)), 0.0, 1e6, case.inputs.share, 1e30 * np.eye(3))
    return settle(case, Alignments(aligner, aligner.how.clear_log_odds, [given], overlapping=True))


class Pilot(NamedTuple):
    """The people on whom the map is first laid: all of the ``classes``, or a ``share`` of them."""

    classes: Ints
    share: float


def choose_pilot(candidates: Candidates, counts: Ints, *, most: int, near: float, pairs: float, enough: int) -> Pilot:
    """Choose whom to align a map with: all people of the rarest labels, or some of all labels where these are too few.

    The pilot has at most ``most`` people, and at most ``pairs`` pairs that lie near each other; ``near`` people of
    whatever label live near anybody; ``enough`` targets should have one of these labels. Restricted to some labels,
    target and register are files like any others: nobody of these labels is missing.
    """
    own = np.bincount(candidates.target_class[candidates.target_class >= 0], minlength=1)
    relation = candidates.relation.astype(np.int64)
    relation = relation[own[relation[:, 0]] > 0]
    classes = np.unique(relation[:, 1])
    targets = np.zeros(len(counts))
    np.add.at(targets, relation[:, 1], own[relation[:, 0]])
    alike = targets[classes] * counts[classes] * near / max(int(counts.sum()), 1)
    order = np.lexsort((classes, counts[classes]))
    fits = (np.cumsum(counts[classes][order]) <= most) & (np.cumsum(alike[order]) <= pairs)
    rare = np.sort(classes[order][fits])
    covered = np.setdiff1d(relation[np.isin(relation[:, 1], rare), 0], relation[~np.isin(relation[:, 1], rare), 0])
    every = int(own[np.unique(relation[:, 0])].sum())
    if len(rare) == len(classes) or own[covered].sum() >= min(enough, every):
        return Pilot(rare, 1.0)
    room = min(most / max(int(counts[classes].sum()), 1), pairs / max(float(alike.sum()), 1e-300))
    return Pilot(classes, min(room, 1.0))


def draw_pilot(survey: Survey, pilot: Pilot, *, mapper: Executor, told: Callable[[float], None] | None) -> Records:
    """Read the people of a pilot; those of the sample where they are enough."""
    if pilot.share <= survey.share:
        sample = survey.sample
        few = is_drawn(sample.rows, pilot.share)
        return sample.select(few & np.isin(sample.classes, pilot.classes))
    number = {survey.labels[k]: int(k) for k in pilot.classes}
    read = partial(_read_classes, number=number, share=pilot.share)
    return Records.join(part for _, part in stream(survey.register, read, mapper=mapper, told=told))


def _read_classes(register: Register, piece: int, *, number: dict[Label, int], share: float) -> Records:
    parts = []
    for batch in register.batches([piece]):
        classes, rows = batch.classes(number), batch.first + np.arange(len(batch), dtype=np.int64)
        kept = np.flatnonzero((classes >= 0) & is_drawn(rows, share, PILOT_SEED))
        parts.append(Records(rows[kept], batch.coordinates[kept], classes[kept]))
    return Records.join(parts)


class PilotAlignment(NamedTuple):
    """The pilot and the alignments of the map with it."""

    model: LikelihoodModel
    found: Alignments
    motions: list[Motion]  # that the density of settled places suggests
    inputs: AttackInputs  # as they are for the pilot
    share: float  # of the people of its labels
    landing: Landing | None = None  # that is beyond doubt by the density of settled places alone


def align_pilot(case: RegisterCase) -> PilotAlignment:
    """Return the alignments of the map with the pilot; motions are suggested by all targets and the whole sample."""
    inputs, target_map, survey, how = case.inputs, case.target_map, case.survey, case.how
    population = inputs.population
    everybody = case.model(survey.sample, case.classes)
    rough, motions = build_prior(everybody, target_map)
    variance = everybody.variances.max() + target_map.variance.max()
    pilot = choose_pilot(
        inputs.candidates,
        survey.counts,
        most=max(min(population.memory // how.pilot_bytes // 4, how.pilot), how.least_pilot),
        near=population.count_near(inputs.thresholds.weigh.reach_sd * float(np.sqrt(variance))),
        pairs=how.pilot_pairs,
        enough=how.enough_targets,
    )
    told = inputs.announce(mark("step_reading_rarest"))
    people = draw_pilot(survey, pilot, mapper=population.mapper, told=told)
    model = case.model(people, pilot.classes)
    if pilot.share == 1 and len(people) > len(survey.sample):  # a closer look than the sample's
        least, share = np.sqrt(model.variances.max(axis=1)), len(people) / len(survey)
        rarity = measure_rarity(model.known_map, least, inputs.thresholds)
        model = replace(model, rarity=rarity * share)
    else:
        model = model.remeasured()
    prior = build_prior(model, target_map)[0]
    knowledge = inputs.knowledge
    if knowledge.common is not None:
        knowledge = replace(knowledge, common=knowledge.common * pilot.share)
    few = replace(inputs, knowledge=knowledge, effort=how.pilot_effort * inputs.effort)
    aligner = Aligner(model, target_map, prior)
    found = Alignments.begin(aligner, motions)
    if rough.density is not None:
        inputs.tell(mark("step_laying_on_land"))
        positions = target_map.positions[everybody.matchable]
        landed = fit_land(rough.density, motions, positions, finest=0.5 * aligner.sigma)
        found = _try_landings(found, landed, few, case.floor)
        return PilotAlignment(
            model, found, motions, few, pilot.share, landed[0] if landed and landed[0].clear else None
        )
    return PilotAlignment(model, found, motions, few, pilot.share)


def _try_landings(found: Alignments, landed: list[Landing], inputs: AttackInputs, floor: float) -> Alignments:
    """Return the alignments from motions that fit the land, under the known or the most likely displacement."""
    aligner, share = found.aligner, inputs.share
    if inputs.knowledge.noise is not None:
        for one in landed:
            if found.refine_until_clear([one.motion], max(one.width, aligner.sigma), share):
                break
        return found
    tried = [found]
    for guess in aligner.how.noise_guesses:
        for one in landed[:1]:
            width = max(4 * guess * one.width, floor)
            variances = np.full_like(aligner.model.variances, width**2)
            own = replace(found, aligner=aligner.with_model(aligner.model.with_variances(variances)), ranked=[])
            own.refine_until_clear([one.motion], max(one.width, width), share)
            fitted, best = estimate_noise(own.aligner, own.ranked[0], floor)
            tried.append(replace(own, aligner=fitted, ranked=[best]))
    return max(tried, key=lambda one: one.ranked[0].evidence if one.ranked else -np.inf)


def search_further(piloted: PilotAlignment, case: RegisterCase) -> Alignments:
    """Return the alignments with the pilot that a search by pairs of rare records finds."""
    aligner, inputs = piloted.found.aligner, piloted.inputs
    found = choose_alignments(
        piloted.model, case.target_map, aligner.prior, piloted.motions, inputs=inputs, floor=case.floor
    )
    common = inputs.knowledge.common
    if inputs.knowledge.bold and common is not None and not found.sure:
        found = replace(assume_overlap(found, common), compared=found.compared)
    return found


def _search_register(case: RegisterCase) -> SettledMap | None:
    """Lay the map on the register: where it fits the land, else where pairs of rare records suggest."""
    piloted, laid = align_pilot(case), None
    if piloted.found.ranked and (piloted.landing is None or piloted.found.sure):
        laid = _hold_to_pilot(settle(case, piloted.found), piloted, case)
        laid = _recount(laid) if laid.found.sure else laid
        if laid.found.sure:
            return laid
    if piloted.landing is not None and case.inputs.knowledge.common is not None:
        common = case.inputs.knowledge.common
        return _hear_people(settle(case, _trust_land(piloted, piloted.landing, common)), common)
    further = search_further(piloted, case)
    if further.ranked and (laid is None or _is_better(further, piloted.found)):
        again = _hold_to_pilot(settle(case, further), piloted._replace(found=further), case)
        again = _recount(again) if again.found.sure else again
        if laid is None or again.found.ranked[0].evidence > laid.found.ranked[0].evidence:
            laid = again
    cut = None if laid is None or laid.found.sure else further.cut
    return None if laid is None else laid._replace(cut=cut)


def _hold_to_pilot(laid: SettledMap, piloted: PilotAlignment, case: RegisterCase) -> SettledMap:
    """Return an alignment with no more evidence than the pilot gives, where that is everybody who may match.

    The pilot then knows how densely people live around each other, and a sample only about.
    """
    part = piloted.model.part
    if piloted.inputs.knowledge.noise is None or part is None or not np.array_equal(part.classes, case.classes):
        return laid
    if piloted.share < 1 or len(part.people) <= len(case.survey.sample):
        return laid
    most = piloted.found.ranked[0].evidence
    held = [replace(one, evidence=min(one.evidence, most)) for one in laid.found.ranked]
    return laid._replace(found=replace(laid.found, ranked=held))


def _trust_land(piloted: PilotAlignment, landing: Landing, common: float) -> Alignments:
    """Return the alignment that the settled land shows beyond doubt.

    Among so many known people single ones tell little, and an error in the density of strangers more than they do; that
    the files share people is known.
    """
    aligner = piloted.found.aligner
    one = Alignment(landing.motion, 0.0, landing.evidence, common, landing.curvature)
    return Alignments(aligner, aligner.how.clear_log_odds, [one], overlapping=True)


def _hear_people(laid: SettledMap, common: float) -> SettledMap:
    """Return what the land tells, in doubt where the candidates do not speak for sharing people.

    Where nobody is shared, targets lie no nearer to counterparts than strangers do. Smaller shares than the given one
    are tried as well: of many targets a few that are off count more than the others would tell.
    """
    found, shares = laid.found, laid.found.aligner.model.thresholds.stream.asked_shares
    most = 1 - 0.5 / max(len(found.aligner.who), 1)
    heard = max(compare_strangers(laid, [min(part * common, most) for part in shares]))
    if heard >= found.aligner.how.sure_log_odds:
        return laid
    return laid._replace(found=replace(found, ranked=[replace(found.ranked[0], evidence=heard)]))


def _recount(laid: SettledMap) -> SettledMap:
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
    elsewhere = measure_farthest(further.aligner, best, before.ranked) > 2 * further.aligner.sigma
    return elsewhere and best.evidence > before.ranked[0].evidence
