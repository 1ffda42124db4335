"""From a rough alignment with a register to one that is settled on the candidates of all pieces.

The candidates around the targets are found piece by piece, each piece a task of its own; what the pieces bring is put
together in a way that does not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align import AttackInputs
from disclique.attacks.align.likelihood import (
    Aligner,
    Alignment,
    LikelihoodModel,
    PeopleAtHand,
    estimate_noise,
    find_pairs,
    relate_classes,
)
from disclique.attacks.align.polish import Polisher
from disclique.attacks.align.search import Alignments, build_prior
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.thresholds import Streaming
from disclique.attacks.weigh.law import LawModel
from disclique.engine.kernels.neighbours import RelatedClasses, build_index, find_near
from disclique.geodesy import Spread
from disclique.masks.laws import RadialLaw, ReplayLaw
from disclique.masks.surveys import SurveyLaw
from disclique.messages import Message, mark
from disclique.model import Executor
from disclique.records.registers import Label, Records, Register, Survey, stream
from disclique.spaces.positions import KnownMap, find_east_north
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.values import FloatArray, Json

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RegisterCase:
    """A target's map and a register that is read in pieces: what stays the same while the one is laid on the other."""

    target_map: TargetMap
    inputs: AttackInputs
    floor: float
    noise: Spread  # known, or 0 as long as it is not

    @property
    def survey(self) -> Survey:
        """What the first stream over the register told."""
        assert self.inputs.population.survey is not None
        return self.inputs.population.survey

    @property
    def how(self) -> Streaming:
        """The thresholds of streams."""
        return self.inputs.thresholds.stream

    @property
    def classes(self) -> Ints:
        """The classes that known records and targets share."""
        return np.unique(self.inputs.candidates.relation[:, 1].astype(np.int64))

    def variances(self, known_map: KnownMap) -> FloatArray:
        """Return the variance of the displacement around known records, east and north."""
        found = known_map.variances(self.noise, self.inputs.knowledge.coordinate_error)
        return np.maximum(found, self.floor**2)

    def model(self, people: Records, classes: Ints) -> LikelihoodModel:
        """Build the model of the register with some of its people at hand, their rarity not yet measured."""
        candidates, population = self.inputs.candidates, self.inputs.population
        known_map = population.known_map.locate(self.survey.register.place(people.coordinates))
        return LikelihoodModel(
            population,
            known_map,
            candidates.target_class.astype(np.int64),
            people.classes,
            relate_classes(candidates),
            self.variances(known_map),
            np.zeros(len(people)),
            find_east_north(known_map, population.known_map.positions.mean(axis=0)),
            PeopleAtHand(people, classes, candidates.known_class.astype(np.int64)),
        )


class NearPairs(NamedTuple):
    """Pairs of targets and known records near each other, with the log of how probable the place is."""

    target: Ints
    row: Ints
    weight: FloatArray
    coordinates: FloatArray
    classes: Ints

    def best(self, most: int) -> NearPairs:
        """Return the ``most`` likeliest pairs of each target, ordered by target and falling likelihood."""
        order = np.lexsort((self.row, -self.weight, self.target))
        target = self.target[order]
        start = np.flatnonzero(np.diff(target, prepend=-1))
        size = np.diff(np.append(start, len(target)))
        rank = np.arange(len(target)) - np.repeat(start, size)
        return self.select(order[rank < most])

    def select(self, which: Ints) -> NearPairs:
        """Return some of the pairs."""
        return NearPairs._make(column[which] for column in self)

    def once(self) -> NearPairs:
        """Return each pair once, with its highest weight."""
        order = np.lexsort((-self.weight, self.row, self.target))
        target, row = self.target[order], self.row[order]
        new = np.r_[True, (target[1:] != target[:-1]) | (row[1:] != row[:-1])] if len(order) else np.zeros(0, bool)
        return self.select(order[new])

    @staticmethod
    def join(parts: list[NearPairs]) -> NearPairs:
        """Join pairs of several batches."""
        return NearPairs._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


NO_PAIRS = NearPairs(*(np.zeros(0, np.int64),) * 2, np.zeros(0), np.zeros((0, 2)), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Candidacy:
    """Who is a candidate: a known record of a related label within ``reach`` of a target under one of the alignments.

    Of each target the ``most`` likeliest are kept; the density of the others is summed up.
    """

    number: dict[Label, int]  # of the related labels
    frame: KnownMap  # the sphere or plane, without records
    copies: tuple[FloatArray, ...]  # positions of the targets under each alignment
    target_class: Ints
    related: RelatedClasses
    axes: FloatArray
    reach: float
    extra: FloatArray  # (targets,): variance besides the displacement
    noise: Spread
    error: float
    floor: float
    most: int

    def variances(self, known_map: KnownMap) -> FloatArray:
        """Return the variance of the displacement around known records, east and north."""
        return np.maximum(known_map.variances(self.noise, self.error), self.floor**2)

    def find(self, register: Register, piece: int) -> tuple[NearPairs, FloatArray]:
        """Find the candidates of a piece, and the sum of the densities of all of them at each target."""
        kept, mass = NO_PAIRS, np.zeros(len(self.target_class))
        for batch in register.batches([piece]):
            pairs = self._find_in_batch(register, batch.classes(self.number), batch.first, batch.coordinates)
            mass += np.bincount(pairs.target, np.exp(pairs.weight), len(mass))
            kept = NearPairs.join([kept, pairs]).best(self.most)
        return kept, mass

    def _find_in_batch(self, register: Register, classes: Ints, first: int, coordinates: FloatArray) -> NearPairs:
        some = np.flatnonzero(classes >= 0)
        if not len(some):
            return NO_PAIRS
        places = self.frame.place(register.place(coordinates[some]))
        index = build_index(places, classes[some], self.axes, 2 * self.reach)
        parts = []
        for positions in self.copies:
            at, known, relation = find_near(index, positions, self.target_class, self.related, self.reach)
            theirs, where = np.unique(known, return_inverse=True)
            known_map = self.frame.locate(register.place(coordinates[some[theirs]]))
            variance = self.variances(known_map)[where] + self.extra[at, None]
            offset = positions[at] - places[known]
            square = np.zeros(len(at))
            for axis, direction in enumerate((known_map.east, known_map.north)):
                square += (offset * direction[where]).sum(axis=1) ** 2 / variance[:, axis]
            weight = self.related.gain[relation] - np.log(2 * np.pi * np.sqrt(variance.prod(axis=1))) - square / 2
            row = some[known]
            parts.append(NearPairs(at, first + row, weight, coordinates[row], classes[row]))
        return parts[0] if len(parts) == 1 else NearPairs.join(parts).once()


class CandidatePeople(NamedTuple):
    """The candidates around the targets, and of each target the log density of those that were left out."""

    people: Records
    left_out: FloatArray | None
    pairs: int


def gather_candidates(
    register: Register, who: Candidacy, *, mapper: Executor, told: Callable[[float], None] | None
) -> CandidatePeople:
    """Find the candidates in all pieces of a register."""
    masses: dict[int, FloatArray] = {}
    kept = NO_PAIRS
    for piece, (pairs, mass) in stream(register, who.find, mapper=mapper, told=told):
        masses[piece] = mass
        kept = NearPairs.join([kept, pairs]).best(who.most)
    total = np.sum([masses[piece] for piece in range(len(masses))], axis=0)  # in one order, whoever was first
    rest = total - np.bincount(kept.target, np.exp(kept.weight), len(total))
    full = np.bincount(kept.target, minlength=len(total)) >= who.most
    left_out = np.where(full & (rest > 1e-9 * total), rest, 0.0)
    row, place = np.unique(kept.row, return_index=True)
    people = Records(row, kept.coordinates[place], kept.classes[place])
    with np.errstate(divide="ignore"):
        return CandidatePeople(people, np.log(left_out) if left_out.any() else None, len(kept.target))


class SettledMap(NamedTuple):
    """The map laid on the register: alignments settled on the candidates, and what was not tried."""

    found: Alignments
    laws: LawModel | None
    gathered: CandidatePeople
    pilot: Alignments
    cut: Message | None = None

    def describe(self, survey: Survey) -> Json:
        """Describe the streams in numbers."""
        part = self.pilot.aligner.model.part
        return {
            "records": len(survey),
            "pieces": len(survey.register.pieces),
            "sample": len(survey.sample),
            "pilot": 0 if part is None else len(part.people),
            "pilot_log_odds": self.pilot.ranked[0].evidence,
            "candidates": len(self.gathered.people),
            "pairs": self.gathered.pairs,
            "left_out": self.gathered.left_out is not None,
        }


def settle(case: RegisterCase, piloted: Alignments) -> SettledMap:
    """Gather the candidates around the alignments of the pilot and settle these on them, all targets counted.

    Gathered again where an alignment moves away from the candidates it was settled on.
    """
    inputs, target_map = case.inputs, case.target_map
    case = _take_noise(case, piloted)
    how = case.how
    ranked, prior = piloted.ranked[: how.rivals], None
    aligner = piloted.aligner
    for _ in range(how.rounds):
        doubt = how.doubt_sd * max(float(np.sqrt(aligner.find_motion_variance(one).max(initial=0.0))) for one in ranked)
        who = _name_candidates(case, ranked, aligner, doubt)
        told = inputs.announce(mark("step_gathering"))
        gathered = gather_candidates(case.survey.register, who, mapper=inputs.population.mapper, told=told)
        model = case.model(gathered.people, case.classes).remeasured()
        assert model.part is not None
        left_out = _weigh_left_out(gathered, ranked[0].common, inputs, len(target_map.positions))
        model = replace(model, part=model.part._replace(left_out=left_out))
        if piloted.overlapping and piloted.sure:  # the land tells it, and better than people
            again = _sharpen(replace(piloted, aligner=Aligner(model, target_map, aligner.prior)), doubt, how)
            break
        if prior is None:
            prior = build_prior(case.model(case.survey.sample, case.classes), target_map)[0]
        aligner = Aligner(model, target_map, prior)
        again = _refine(aligner, piloted, ranked, inputs.knowledge)
        moved = max(measure_farthest(aligner, one, ranked) for one in again.ranked)
        ranked = again.ranked
        if moved <= max(doubt, 0.1 * aligner.sigma):
            break
    found = again
    if inputs.knowledge.noise is None:
        fitted, best = estimate_noise(again.aligner, again.ranked[0], case.floor)
        found = replace(again, aligner=fitted, ranked=[best])
    aligner = found.aligner
    assert model.part is not None
    points = case.survey.register.place(model.part.people.coordinates)
    laws = inputs.build_laws(model, points)
    if laws is not None:
        inputs.tell(mark("step_polishing"))
        finest = max(case.floor, laws.grain)
        found = Polisher(laws, aligner, finest=finest, common=inputs.knowledge.common).polish_all(found)
    return SettledMap(found, laws, gathered, piloted)


def _sharpen(landed: Alignments, doubt: float, how: Streaming) -> Alignments:
    """Return the alignment that the land shows, moved to where people fit best if they tell it more sharply.

    The land tells a motion to some ten metres; under a smaller displacement that would part people from their records.
    """
    aligner, one = landed.aligner, landed.ranked[0]
    width = max(doubt / how.doubt_sd, aligner.sigma)
    if doubt <= how.sharp_share * how.doubt_sd * aligner.sigma:
        return landed
    moved = aligner.refine(one.motion, width, one.common, fixed=True)
    before = float(aligner.evaluate(one.motion, 0.0, aligner.who, one.common)[0][0])
    if moved.ratio < before + aligner.how.clear_log_odds or measure_farthest(aligner, moved, [one]) > doubt:
        return landed
    return replace(landed, ranked=[replace(moved, evidence=one.evidence)])


def _take_noise(case: RegisterCase, piloted: Alignments) -> RegisterCase:
    """Return the setting with the displacement that the pilot suggests where it is not known."""
    if case.inputs.knowledge.noise is not None:
        return case
    east, north = np.sqrt(np.median(piloted.aligner.model.variances, axis=0)).tolist()
    return replace(case, noise=Spread(east, north, case.noise.unit))


def _name_candidates(case: RegisterCase, ranked: list[Alignment], aligner: Aligner, doubt: float) -> Candidacy:
    """Say who is a candidate under the alignments."""
    inputs, target_map, model = case.inputs, case.target_map, aligner.model
    survey, how = case.survey, case.how
    extra = target_map.variance + (doubt / how.doubt_sd) ** 2
    widest = float(case.variances(inputs.known_map).max()) * 1.05  # the farthest known record is not in the sample
    own = _find_reach(case, widest, float(extra.max()))
    return Candidacy(
        {survey.labels[k]: int(k) for k in case.classes},
        inputs.known_map.frame,
        tuple(one.motion(target_map.positions) for one in ranked),
        model.target_class,
        model.related,
        model.axes,
        own + doubt,
        extra,
        case.noise,
        inputs.knowledge.coordinate_error,
        case.floor,
        max(inputs.population.memory // how.pair_bytes // max(len(target_map.positions), 1), how.least_pairs),
    )


def _find_reach(case: RegisterCase, variance: float, extra: float) -> float:
    """Return how far from its known record a target may lie, by Gaussian noise or by the law of the mask."""
    inputs, law, reach_sd = case.inputs, case.inputs.knowledge.law, case.inputs.thresholds.weigh.reach_sd
    gaussian, error = reach_sd * float(np.sqrt(variance + extra)), inputs.knowledge.coordinate_error
    if isinstance(law, (RadialLaw, SurveyLaw)):
        return max(gaussian, law.reach + reach_sd * float(np.sqrt(extra + error**2)))
    if isinstance(law, ReplayLaw):
        few = inputs.population.points.select(np.arange(min(inputs.population.points.size, 5_000)))
        owner, images, _ = law.images(few, error)
        off = inputs.known_map.place(images) - inputs.known_map.place(few)[owner]
        return max(gaussian, 1.5 * float(np.linalg.norm(off, axis=1).max(initial=0.0)) + gaussian / 4)
    return gaussian


def _weigh_left_out(gathered: CandidatePeople, common: float, inputs: AttackInputs, targets: int) -> FloatArray | None:
    """Return the log density of those who were left out as the odds that they are meant, beside strangers."""
    if gathered.left_out is None:
        return None
    share = inputs.knowledge.common if inputs.knowledge.common is not None else common
    share = min(max(share, 1e-9), 1 - 0.5 / max(targets, 1))
    people = max(inputs.population.size, 1)
    strangers = max(1 - share * targets / people, 0.5 / people)
    return np.asarray(gathered.left_out + np.log(share) - np.log1p(-share) - np.log(strangers))


def _refine(aligner: Aligner, piloted: Alignments, ranked: list[Alignment], knowledge: Knowledge) -> Alignments:
    """Refine alignments on the candidates; a bold snooper in doubt takes the share of common people as given."""
    found = Alignments(aligner, piloted.clear, density_motions=piloted.density_motions)
    for one in ranked:
        share = one.common if knowledge.common is None else knowledge.common
        found.add(aligner.refine(one.motion, aligner.sigma, share))
    if found.sure or not knowledge.bold or knowledge.common is None:
        return found
    again = replace(found, ranked=[], overlapping=True)
    for one in ranked:
        again.add(aligner.refine(one.motion, aligner.sigma, knowledge.common, fixed=True))
    return again


def measure_farthest(aligner: Aligner, one: Alignment, ranked: list[Alignment]) -> float:
    """Return how far an alignment lays any target from where the nearest of those before laid it."""
    positions = aligner.target_map.positions[aligner.who]
    here = one.motion(positions)
    return min(float(np.linalg.norm(other.motion(positions) - here, axis=1).max(initial=0.0)) for other in ranked)


def compare_strangers(laid: SettledMap, shares: Sequence[float]) -> list[float]:
    """Return the log odds for sharing people rather than none under the best alignment, for shares of common targets.

    Strangers are counted over the whole register, and counterparts that were left out are counted as such.
    """
    aligner, best = laid.found.aligner, laid.found.ranked[0]
    model, who, target_map = aligner.model, aligner.who, aligner.target_map
    extra = target_map.variance[who] + aligner.find_motion_variance(best)
    positions = best.motion(target_map.positions[who])
    pairs = find_pairs(model, positions, extra, who)
    here, row = np.unique(pairs.target, return_inverse=True)
    places = positions[np.searchsorted(who, here)]
    background = model.background(float(np.median(extra)) if len(extra) else 0.0)
    strangers = background.log_density(places, model.target_class[here], model.related)
    crowd = model.crowd(here)
    top = np.zeros(len(here)) if crowd is None else np.logaddexp(strangers, crowd) - strangers
    gain = np.bincount(row, np.exp(np.minimum(pairs.ratio + top[row], 700.0)), len(here))
    if laid.gathered.left_out is not None:
        gain += np.exp(laid.gathered.left_out[here] - strangers)
    alone = len(who) - len(here)
    return [float(np.log1p(share * (gain - 1)).sum() + alone * np.log1p(-share)) for share in shares]
