"""Registration against a register of millions: the same map, the same likelihood, the known records in streams.

The map is laid on a *pilot* first: all people of the rarest labels, or a sample. Then everybody who could be a target's
counterpart there is gathered from all pieces, the alignment is settled on these candidates, and the pairs are weighed.
Strangers, labels and the size of the file are those of the whole register throughout (``population``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import FLOOR, make_claims, no_claims
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.register.align import CLEAR, SMALL, SURE, UNKNOWN, Alignments, assume_overlap, build_prior
from disclique.attacks.register.by_law import LawModel
from disclique.attacks.register.density import MotionPrior
from disclique.attacks.register.gather import Candidacy, Gathered, choose_pilot, draw_pilot, gather_candidates
from disclique.attacks.register.land import Landing, fit_land
from disclique.attacks.register.likelihood import REACH, measure_rarity, weigh_labels
from disclique.attacks.register.maps import TargetMap
from disclique.attacks.register.noise import estimate_noise
from disclique.attacks.register.polish import Polisher
from disclique.attacks.register.population import PartModel, Population, model_part
from disclique.attacks.register.positions import KnownMap, Motion
from disclique.attacks.register.refine import Aligner, Alignment
from disclique.attacks.register.weigh import (
    GUESSES,
    AttackInputs,
    choose_alignments,
    describe_alignment,
    drop_unplaced,
    equalise_ties,
    explain_doubt,
    weigh_pairs,
)
from disclique.data.distances import Points
from disclique.data.registers import Mapper, Records, Survey
from disclique.errors import InputError
from disclique.masks.laws import ExchangeLaw, HalfWayLaw, RadialLaw, ReplayLaw
from disclique.model import Candidates, Claims, FloatArray, Json, Spread
from disclique.progress import tell

Ints = NDArray[np.int64]
SAMPLE = 1_000_000  # people of a sample: so many tell where people live
PER_PERSON = 3_000  # bytes of memory for one of them, with all that is learned
PER_PILOT = 1_000  # bytes for one of the pilot
PER_PAIR = 2_500  # bytes for a candidate pair
LEAST_PAIRS = 20  # candidates of a target, however little memory there is
PILOT_PAIRS = 2_000_000.0  # pairs of the pilot that lie near each other: what one look at a motion costs
PILOT = 500_000  # people of a pilot, at the most
EFFORT = 0.2  # of the usual work for a search by pairs of rare records: the pilot is larger than other files
PARTS = (1.0, 0.5, 0.2, 0.1)  # of the share of common people: what candidates are asked about
RIVALS = 6  # alignments around which candidates are gathered
DOUBT = 5.0  # standard deviations of the motion by which candidates are sought farther away
ROUNDS = 3  # streams for candidates, should the motion move away from those gathered


_CUT = "the register was searched on a pilot only; a longer search may find an alignment"


def sample_size(memory: int) -> int:
    """Return how many people of a register are held at once."""
    return int(max(min(SAMPLE, memory // PER_PERSON), 1_000))


@dataclass(frozen=True, eq=False)
class StreamedInputs(AttackInputs):
    """All that is given besides the target's map, where the known file is a register: ``known_map`` is its sample's."""

    survey: Survey = field(kw_only=True)
    mapper: Mapper = field(kw_only=True)
    memory: int = field(kw_only=True)

    def announce(self, step: str) -> Announcer:
        """Tell a step, and return a function that hears how much of it is done."""
        self.tell(step)
        return Announcer(step)


@dataclass(frozen=True)
class Announcer:
    """Tells how far a stream is."""

    step: str

    def __call__(self, share: float) -> None:
        """Tell the share that is done."""
        tell(self.step, share)


def relate_register(candidates: Candidates, survey: Survey) -> Candidates:
    """Return candidates between targets and the *labels* of a register as those between targets and its sample.

    The evidence of a label is that of the whole register.
    """
    evidence = candidates.evidence
    if evidence is None:
        counts = np.where(candidates.known_class >= 0, survey.counts, 0)
        evidence = weigh_labels(candidates.relation.astype(np.int64), counts, len(survey))
    known = candidates.known_class[survey.sample.classes].astype(np.int32)
    return Candidates(candidates.target_class, known, candidates.relation, evidence)


@dataclass(frozen=True, eq=False)
class _Setting:
    """A target's map and a register: what stays the same while the one is laid on the other."""

    target_map: TargetMap
    inputs: StreamedInputs
    population: Population
    floor: float
    noise: Spread  # known, or 0 as long as it is not

    @property
    def candidates(self) -> Candidates:
        return self.inputs.candidates

    @property
    def classes(self) -> Ints:
        """The classes that known records and targets share."""
        return np.unique(self.candidates.relation[:, 1].astype(np.int64))

    def variances(self, known_map: KnownMap) -> FloatArray:
        found = known_map.variances(self.noise, self.inputs.knowledge.coordinate_error)
        return np.maximum(found, self.floor**2)

    def model(self, people: Records, classes: Ints) -> PartModel:
        return model_part(self.population, people, self.candidates, variances=self.variances, classes=classes)


def link_streamed(target_map: TargetMap, inputs: AttackInputs, *, attack: str, details: Json) -> Claims:
    """Claim what a snooper with the target's map and a register can claim; known rows are those of the register."""
    began, knowledge = perf_counter(), inputs.knowledge
    lost = int((~np.isfinite(target_map.variance)).sum())
    target_map, inputs = drop_unplaced(target_map, inputs)
    assert isinstance(inputs, StreamedInputs)
    details |= {"map": {"misfit": target_map.misfit, "error": float(np.sqrt(target_map.variance.mean()))}}
    details["unlaid"] = lost
    setting = _set_up(target_map, inputs)
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


def _set_up(target_map: TargetMap, inputs: StreamedInputs) -> _Setting:
    floor = max(inputs.finest, 0.0 if target_map.variance.any() else 2 * target_map.misfit)
    nothing = Spread(0.0, 0.0, "plane" if inputs.known_map.flat else "km")
    known_class = inputs.candidates.known_class.astype(np.int64)
    population = Population(inputs.survey, inputs.known_map, known_class, inputs.mapper)
    return _Setting(target_map, inputs, population, floor, inputs.knowledge.noise or nothing)


def weigh_masked(masked: Points, inputs: StreamedInputs) -> Claims:
    """Weigh all pairs as a snooper could who was given the masked coordinates themselves (the ceiling)."""
    positions = inputs.known_map.place(masked)
    setting = _set_up(TargetMap(positions, np.zeros(len(positions)), 0.0), inputs)
    everybody = setting.model(inputs.survey.sample, setting.classes)
    aligner = Aligner(everybody, setting.target_map, MotionPrior(1.0))
    common = UNKNOWN if inputs.knowledge.common is None else inputs.knowledge.common
    given = Alignment(Motion(np.eye(3), np.zeros(3)), 0.0, 1e6, common, 1e30 * np.eye(3))
    laid = _settle(setting, Alignments(aligner, CLEAR, [given], overlapping=True))
    (target, place, probability), share = weigh_pairs(laid.found, inputs.knowledge.common, None)
    claims, tied = equalise_ties((target, laid.gathered.people.rows[place].astype(np.int32), probability))
    return make_claims(claims, attack="ceiling", floor=0.0, details={"common": share} | tied)


def _explain_hopeless(setting: _Setting) -> str:
    """Say why nothing can be claimed whatever is tried; empty if something may."""
    related = np.isin(setting.candidates.target_class, setting.candidates.relation[:, 0])
    if not related.any():
        return "no target record has a possible counterpart by its label"
    if np.ptp(setting.target_map.positions[related], axis=0).max() <= 10 * setting.inputs.finest:
        return "all target records lie at one place: their distances say nothing beyond their labels"
    return ""


class _Laid(NamedTuple):
    """The map laid on the register: alignments settled on the candidates, and what was not tried."""

    found: Alignments
    laws: LawModel | None
    gathered: Gathered
    pilot: Alignments
    cut: str = ""

    def describe(self, setting: _Setting) -> Json:
        """Describe the streams in numbers."""
        model = self.pilot.aligner.model
        assert isinstance(model, PartModel)
        survey = setting.inputs.survey
        return {
            "records": len(survey),
            "pieces": len(survey.register.pieces),
            "sample": len(survey.sample),
            "pilot": len(model.people),
            "pilot_log_odds": self.pilot.ranked[0].evidence,
            "candidates": len(self.gathered.people),
            "pairs": self.gathered.pairs,
            "left_out": self.gathered.left_out is not None,
        }


def _lay(setting: _Setting) -> _Laid | None:
    """Lay the map on the register: where it fits the land, else where pairs of rare records suggest."""
    piloted, laid = _align_pilot(setting), None
    if piloted.found.ranked and (piloted.landing is None or not explain_doubt(piloted.found)):
        laid = _hold_to_pilot(_settle(setting, piloted.found), piloted, setting)
        if not explain_doubt(laid.found):
            return laid
    if piloted.landing is not None and setting.inputs.knowledge.common is not None:
        common = setting.inputs.knowledge.common
        return _hear_people(_settle(setting, _trust_land(piloted, piloted.landing, common)), common)
    further = _search_further(piloted, setting)
    if further.ranked and (laid is None or _is_better(further, piloted.found)):
        again = _hold_to_pilot(_settle(setting, further), piloted._replace(found=further), setting)
        if laid is None or again.found.ranked[0].evidence > laid.found.ranked[0].evidence:
            laid = again
    cut = "" if laid is None or not explain_doubt(laid.found) else further.cut
    return None if laid is None else laid._replace(cut=cut)


def _hold_to_pilot(laid: _Laid, piloted: _Piloted, setting: _Setting) -> _Laid:
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


def _trust_land(piloted: _Piloted, landing: Landing, common: float) -> Alignments:
    """Return the alignment that the settled land shows beyond doubt.

    Among so many known people single ones tell little, and an error in the density of strangers more than they do; that
    the files share people is known.
    """
    aligner = piloted.found.aligner
    one = Alignment(landing.motion, 0.0, landing.evidence, common, landing.curvature)
    return Alignments(aligner, CLEAR, [one], overlapping=True)


def _hear_people(laid: _Laid, common: float) -> _Laid:
    """Return what the land tells, in doubt where the candidates speak against sharing people.

    Where nobody is shared, targets lie no nearer to counterparts than strangers do. Smaller shares than the given one
    are tried as well: of many targets a few that are off count more than an error in the density would tell.
    """
    found, aligner = laid.found, laid.found.aligner
    blur = float(np.mean(aligner.find_motion_variance(found.ranked[0])))
    shares = [min(part * common, 1 - 0.5 / max(len(aligner.who), 1)) for part in PARTS]
    motion = found.ranked[0].motion
    heard = max(float(aligner.evaluate(motion, blur, aligner.who, share)[0][0]) for share in shares)
    if heard > 0:
        return laid
    return laid._replace(found=replace(found, ranked=[replace(found.ranked[0], evidence=heard)]))


def _is_better(further: Alignments, before: Alignments) -> bool:
    """Return True if a further search laid the map elsewhere, with more evidence."""
    best = further.ranked[0]
    elsewhere = _gap(further.aligner, best, before.ranked) > 2 * further.aligner.sigma
    return elsewhere and best.evidence > before.ranked[0].evidence


class _Piloted(NamedTuple):
    """The pilot and the alignments of the map with it."""

    model: PartModel
    found: Alignments
    motions: list[Motion]  # that the density of settled places suggests
    inputs: StreamedInputs  # as they are for the pilot
    share: float  # of the people of its labels
    landing: Landing | None = None  # that is beyond doubt by the density of settled places alone


def _align_pilot(setting: _Setting) -> _Piloted:
    """Return the alignments of the map with the pilot; motions are suggested by all targets and the whole sample."""
    inputs, target_map, population = setting.inputs, setting.target_map, setting.population
    everybody = setting.model(inputs.survey.sample, setting.classes)
    rough, motions = build_prior(everybody, target_map)
    variance = everybody.variances.max() + target_map.variance.max()
    pilot = choose_pilot(
        setting.candidates,
        inputs.survey.counts,
        most=max(min(inputs.memory // PER_PILOT // 4, PILOT), 10_000),
        near=population.count_near(REACH * float(np.sqrt(variance))),
        pairs=PILOT_PAIRS,
    )
    told = inputs.announce("reading the people of the rarest labels")
    people = draw_pilot(inputs.survey, pilot, mapper=inputs.mapper, told=told)
    model = setting.model(people, pilot.classes)
    if pilot.share == 1 and len(people) > len(inputs.survey.sample):  # a closer look than the sample's
        least, share = np.sqrt(model.variances.max(axis=1)), len(people) / len(inputs.survey)
        model = replace(model, rarity=measure_rarity(model.known_map, least) * share)
    else:
        model = model.remeasured()
    prior = build_prior(model, target_map)[0]
    knowledge = inputs.knowledge
    if knowledge.common is not None:
        knowledge = replace(knowledge, common=knowledge.common * pilot.share)
    few = replace(inputs, knowledge=knowledge, effort=EFFORT * inputs.effort)
    aligner = Aligner(model, target_map, prior)
    found = Alignments(aligner, CLEAR if len(aligner.who) > SMALL else np.inf, density_motions=motions)
    if rough.density is not None:
        inputs.tell("laying the map on the settled land")
        positions = target_map.positions[everybody.matchable]
        landed = fit_land(rough.density, motions, positions, finest=0.5 * aligner.sigma)
        found = _try_landings(found, landed, few, setting.floor)
        return _Piloted(model, found, motions, few, pilot.share, landed[0] if landed and landed[0].clear else None)
    return _Piloted(model, found, motions, few, pilot.share)


def _try_landings(found: Alignments, landed: list[Landing], inputs: StreamedInputs, floor: float) -> Alignments:
    """Return the alignments from motions that fit the land, under the known or the most likely displacement."""
    aligner, common = found.aligner, inputs.knowledge.common
    share = UNKNOWN if common is None else common
    if inputs.knowledge.noise is not None:
        for one in landed:
            if found.refine_until_clear([one.motion], max(one.width, aligner.sigma), share):
                break
        return found
    tried = [found]
    for guess in GUESSES:
        for one in landed[:1]:
            width = max(4 * guess * one.width, floor)
            variances = np.full_like(aligner.model.variances, width**2)
            own = replace(found, aligner=aligner.with_model(aligner.model.with_variances(variances)), ranked=[])
            own.refine_until_clear([one.motion], max(one.width, width), share)
            fitted, best = estimate_noise(own.aligner, own.ranked[0], floor)
            tried.append(replace(own, aligner=fitted, ranked=[best]))
    return max(tried, key=lambda one: one.ranked[0].evidence if one.ranked else -np.inf)


def _search_further(piloted: _Piloted, setting: _Setting) -> Alignments:
    """Return the alignments with the pilot that a search by pairs of rare records finds."""
    aligner, inputs = piloted.found.aligner, piloted.inputs
    found = choose_alignments(
        piloted.model, setting.target_map, aligner.prior, piloted.motions, inputs=inputs, floor=setting.floor
    )
    common = inputs.knowledge.common
    if inputs.knowledge.bold and common is not None and explain_doubt(found):
        found = replace(assume_overlap(found, common), compared=found.compared)
    return found


def _settle(setting: _Setting, piloted: Alignments) -> _Laid:
    """Gather the candidates around the alignments of the pilot and settle these on them, all targets counted.

    Gathered again where an alignment moves away from the candidates it was settled on.
    """
    inputs, target_map = setting.inputs, setting.target_map
    setting = _take_noise(setting, piloted)
    ranked, prior = piloted.ranked[:RIVALS], None
    aligner = piloted.aligner
    for _ in range(ROUNDS):
        doubt = DOUBT * max(float(np.sqrt(aligner.find_motion_variance(one).max(initial=0.0))) for one in ranked)
        who = _name_candidates(setting, ranked, aligner, doubt)
        told = inputs.announce("gathering the candidates around the targets")
        gathered = gather_candidates(inputs.survey.register, who, mapper=inputs.mapper, told=told)
        model = setting.model(gathered.people, setting.classes).remeasured()
        model = replace(model, left_out=_weigh_left_out(gathered, ranked[0].common, inputs, len(target_map.positions)))
        if piloted.overlapping and piloted.ranked[0].evidence >= SURE:  # the land tells it, and better than people
            again = replace(piloted, aligner=Aligner(model, target_map, aligner.prior))
            break
        if prior is None:
            prior = build_prior(setting.model(inputs.survey.sample, setting.classes), target_map)[0]
        aligner = Aligner(model, target_map, prior)
        again = _refine(aligner, piloted, ranked, inputs.knowledge)
        moved = max(_gap(aligner, one, ranked) for one in again.ranked)
        ranked = again.ranked
        if moved <= max(doubt, 0.1 * aligner.sigma):
            break
    found = _fit_noise(again, setting.floor) if inputs.knowledge.noise is None else again
    aligner = found.aligner
    laws = None if inputs.knowledge.law is None else _build_laws(setting, model)
    if laws is not None:
        inputs.tell("polishing the alignment under the law of the mask")
        finest = max(setting.floor, laws.grain)
        found = Polisher(laws, aligner, finest=finest, common=inputs.knowledge.common).polish_all(found)
    return _Laid(found, laws, gathered, piloted)


def _take_noise(setting: _Setting, piloted: Alignments) -> _Setting:
    """Return the setting with the displacement that the pilot suggests where it is not known."""
    if setting.inputs.knowledge.noise is not None:
        return setting
    east, north = np.sqrt(np.median(piloted.aligner.model.variances, axis=0)).tolist()
    return replace(setting, noise=Spread(east, north, setting.noise.unit))


def _name_candidates(setting: _Setting, ranked: list[Alignment], aligner: Aligner, doubt: float) -> Candidacy:
    """Say who is a candidate under the alignments."""
    inputs, target_map, model = setting.inputs, setting.target_map, aligner.model
    survey, knowledge = inputs.survey, inputs.knowledge
    extra = target_map.variance + (doubt / DOUBT) ** 2
    widest = float(setting.variances(inputs.known_map).max()) * 1.05  # the farthest known record is not in the sample
    own = _find_reach(setting, widest, float(extra.max()))
    none = np.zeros((0, 3))
    return Candidacy(
        {survey.labels[k]: int(k) for k in setting.classes},
        replace(inputs.known_map, positions=none, east=none, north=none),
        tuple(one.motion(target_map.positions) for one in ranked),
        model.target_class,
        model.related,
        model.axes,
        own + doubt,
        extra,
        setting.noise,
        knowledge.coordinate_error,
        setting.floor,
        max(inputs.memory // PER_PAIR // max(len(target_map.positions), 1), LEAST_PAIRS),
    )


def _find_reach(setting: _Setting, variance: float, extra: float) -> float:
    """Return how far from its known record a target may lie, by Gaussian noise or by the law of the mask."""
    gaussian, law, inputs = REACH * float(np.sqrt(variance + extra)), setting.inputs.knowledge.law, setting.inputs
    if isinstance(law, RadialLaw):
        return max(gaussian, law.reach + REACH * float(np.sqrt(extra + inputs.knowledge.coordinate_error**2)))
    if isinstance(law, ReplayLaw):
        few = inputs.survey.points.select(np.arange(min(len(inputs.survey.sample), 5_000)))
        owner, images, _ = law.images(few, inputs.knowledge.coordinate_error)
        off = inputs.known_map.place(images) - inputs.known_map.place(few)[owner]
        return max(gaussian, 1.5 * float(np.linalg.norm(off, axis=1).max(initial=0.0)) + gaussian / 4)
    return gaussian


def _weigh_left_out(gathered: Gathered, common: float, inputs: StreamedInputs, targets: int) -> FloatArray | None:
    """Return the log density of those who were left out as the odds that they are meant, beside strangers."""
    if gathered.left_out is None:
        return None
    share = inputs.knowledge.common if inputs.knowledge.common is not None else common
    share = min(max(share, 1e-9), 1 - 0.5 / max(targets, 1))
    strangers = max(1 - share * targets / max(len(inputs.survey), 1), 0.5 / max(len(inputs.survey), 1))
    return np.asarray(gathered.left_out + np.log(share) - np.log1p(-share) - np.log(strangers))


def _refine(aligner: Aligner, piloted: Alignments, ranked: list[Alignment], knowledge: Knowledge) -> Alignments:
    """Refine alignments on the candidates; a bold snooper in doubt takes the share of common people as given."""
    found = Alignments(aligner, piloted.clear, density_motions=piloted.density_motions)
    for one in ranked:
        share = one.common if knowledge.common is None else knowledge.common
        found.add(aligner.refine(one.motion, aligner.sigma, share))
    if found.ranked[0].evidence >= SURE or not knowledge.bold or knowledge.common is None:
        return found
    again = replace(found, ranked=[], overlapping=True)
    for one in ranked:
        again.add(aligner.refine(one.motion, aligner.sigma, knowledge.common, fixed=True))
    return again


def _gap(aligner: Aligner, one: Alignment, ranked: list[Alignment]) -> float:
    """Return how far an alignment lays any target from where the nearest of those before laid it."""
    positions = aligner.target_map.positions[aligner.who]
    here = one.motion(positions)
    return min(float(np.linalg.norm(other.motion(positions) - here, axis=1).max(initial=0.0)) for other in ranked)


def _fit_noise(found: Alignments, floor: float) -> Alignments:
    """Return the best alignment under the displacement that the candidates suggest."""
    fitted, best = estimate_noise(found.aligner, found.ranked[0], floor)
    return replace(found, aligner=fitted, ranked=[best])


def _build_laws(setting: _Setting, model: PartModel) -> LawModel | None:
    """Build the model of the exact law around the candidates; None where it is Gaussian."""
    survey = setting.inputs.survey
    points = survey.register.place(model.people.coordinates)
    return replace(setting.inputs, points=points).build_laws(model)


def refuse_law(knowledge: Knowledge, records: int) -> None:
    """Refuse laws that depend on all known records at once."""
    if isinstance(knowledge.law, (HalfWayLaw, ExchangeLaw)):
        name = "the mask" if knowledge.mask is None else knowledge.mask.name
        raise InputError(
            f"left out: the register has {records:,} records, and what {name} does to a place depends on all others"
        )
