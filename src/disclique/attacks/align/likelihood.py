"""The likelihood of registration: how surely a target record that lies here is one of the known records around.

A target record is common to both files with probability π; it then lies around its known record by the mask's law.
Otherwise it is somebody else, and lies where people of its label live: with the density of the known file there. All
likelihoods are ratios to that local density, so that a motion gains nothing from moving the map to a crowded place.
While motions are searched, the density is a rough one around each known record (``rarity``); pairs are weighed by that
of strangers at the target's place (``weigh.background``).

From a rough motion Newton's steps climb the likelihood to the best one nearby, first blurred and then ever sharper; the
evidence for it is the integral over motions. Where the displacement is not known, it is estimated along.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from disclique.attacks.align.density import MotionPrior
from disclique.attacks.population import Population
from disclique.attacks.thresholds import Thresholds
from disclique.attacks.weigh.background import Background
from disclique.engine.kernels.alignment import ClassMembers, KnownRecords, evaluate_likelihood
from disclique.engine.kernels.neighbours import CellIndex, RelatedClasses, build_index, find_near
from disclique.model import Candidates
from disclique.records.registers import Records
from disclique.spaces.positions import KnownMap, Motion, find_east_north, follow_step
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.values import FloatArray

Ints = NDArray[np.int64]


class PeopleAtHand(NamedTuple):
    """Some people of a register that is read in pieces, and the classes whose people they may be.

    ``sample_class`` are the classes of the sample by which strangers are told, -1 for a label that matches nobody;
    ``left_out`` is, for every target, the log density of possible counterparts that are not at hand.
    """

    people: Records
    classes: Ints
    sample_class: Ints
    left_out: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class LikelihoodModel:
    """The known map, the labels of both files, the law of displacement and the density of strangers.

    With ``part`` it is the model of a whole register of which some people are ``known_map``: class counts, rarity,
    strangers and sizes are those of everybody. A density from the few alone would be too low, and pairs would look too
    sure.
    """

    population: Population
    known_map: KnownMap
    target_class: Ints
    known_class: Ints
    related: RelatedClasses
    variances: FloatArray  # (known, 2): east and north
    rarity: FloatArray  # (known,): 1 / density of known records around each of them, itself left out
    axes: FloatArray  # (2, 3): directions across the known file
    part: PeopleAtHand | None = None

    @property
    def thresholds(self) -> Thresholds:
        """Those of registration."""
        return self.population.thresholds

    @property
    def area(self) -> float:
        """The area that the known records occupy."""
        return float(self.rarity.sum()) if self.part is None else self.population.area

    def remeasured(self) -> LikelihoodModel:
        """Return the same model with the rarity of each record as it is under its displacement."""
        least = np.sqrt(self.variances.max(axis=1)) if len(self.variances) else np.zeros(0)
        rows = None if self.part is None else self.part.people.rows
        return replace(self, rarity=self.population.measure_rarity(self.known_map, least, rows))

    def crowd(self, who: Ints) -> FloatArray | None:
        """Return the log density of counterparts that were left out around targets; None where none was."""
        return None if self.part is None or self.part.left_out is None else self.part.left_out[who]

    def background(self, blur: float) -> Background:
        """Return the density of strangers, seen under this displacement and a further variance; learned once."""
        classes = self.known_class if self.part is None else self.part.sample_class
        return self.population.find_strangers(classes, float(np.median(self.variances) + blur))

    @property
    def matchable(self) -> NDArray[np.bool_]:
        """True for the targets that have a known record of a related label at all."""
        present = np.unique(self.known_class[self.known_class >= 0]) if self.part is None else self.part.classes
        some = np.isin(self.related.known, present)
        many = np.diff(np.concatenate(([0], np.cumsum(some)))[self.related.start])
        return np.asarray((self.target_class >= 0) & (np.append(many, 0)[self.target_class] > 0))

    def with_variances(self, variances: FloatArray) -> LikelihoodModel:
        """Return the same model under another law of displacement."""
        return replace(self, variances=variances)


class CandidatePairs(NamedTuple):
    """Candidate pairs near each other under a motion, with the log likelihood ratio of each."""

    target: Ints
    known: Ints
    ratio: FloatArray  # log of the likelihood as this pair over the likelihood as somebody else
    residual: FloatArray  # (pairs, 2): east and north
    variance: FloatArray  # (pairs, 2)


def build_model(population: Population, candidates: Candidates, variances: FloatArray) -> LikelihoodModel:
    """Build the model of people who are all at hand under a displacement."""
    known_map, known_class = population.known_map, candidates.known_class.astype(np.int64)
    rarity = population.measure_rarity(known_map, np.sqrt(variances.max(axis=1)))
    axes = find_east_north(known_map, known_map.positions.mean(axis=0))
    related, target_class = relate_classes(candidates), candidates.target_class.astype(np.int64)
    return LikelihoodModel(population, known_map, target_class, known_class, related, variances, rarity, axes)


def relate_classes(candidates: Candidates) -> RelatedClasses:
    """Return the known classes of every target class, with the evidence that each carries."""
    relation = candidates.relation.astype(np.int64).reshape(-1, 2)
    classes = int(max(candidates.target_class.max(initial=-1), relation[:, 0].max(initial=-1))) + 1
    order = np.lexsort((relation[:, 1], relation[:, 0]))
    start = np.searchsorted(relation[order, 0], np.arange(classes + 1))
    return RelatedClasses(start.astype(np.int64), relation[order, 1].copy(), candidates.label_odds()[order])


def group_by_class(model: LikelihoodModel) -> ClassMembers:
    """Return the known records by class; a class that only the relation names is empty."""
    classes = model.known_class
    kept = np.flatnonzero(classes >= 0)
    member = kept[np.argsort(classes[kept], kind="stable")]
    many = 1 + max(int(classes.max(initial=-1)), int(model.related.known.max(initial=-1)))
    start = np.searchsorted(classes[member], np.arange(many + 1))
    return ClassMembers(start.astype(np.int64), member, model.known_map.positions[member])


def index_known(model: LikelihoodModel, radius: float) -> CellIndex:
    """Index the known records so that those of a class within ``radius`` are found at once."""
    return build_index(model.known_map.positions, model.known_class, model.axes, 2 * radius)


def find_reach(model: LikelihoodModel, blur: FloatArray | float) -> float:
    """Return how far apart candidates may lie."""
    return model.thresholds.weigh.reach_sd * float(
        np.sqrt(model.variances.max(initial=0.0) + np.max(blur, initial=0.0))
    )


def find_pairs(model: LikelihoodModel, positions: FloatArray, blur: FloatArray, who: Ints) -> CandidatePairs:
    """Find candidate pairs of the targets ``who`` at ``positions``, each blurred by a further variance ``blur``."""
    radius = find_reach(model, blur)
    at, known, relation = find_near(
        index_known(model, radius), positions, model.target_class[who], model.related, radius
    )
    offset = positions[at] - model.known_map.positions[known]
    east, north = model.known_map.east[known], model.known_map.north[known]
    residual = np.stack(((offset * east).sum(axis=1), (offset * north).sum(axis=1)), axis=1)
    variance = model.variances[known] + blur[at, None]
    here, row = np.unique(at, return_inverse=True)
    background = model.background(float(np.median(blur)) if len(blur) else 0.0)
    strangers = background.log_density(positions[here], model.target_class[who[here]], model.related)
    crowd = model.crowd(who[here])
    if crowd is not None:
        strangers = np.logaddexp(strangers, crowd)
    ratio = model.related.gain[relation] - strangers[row]
    ratio -= np.log(2 * np.pi * np.sqrt(variance.prod(axis=1))) + (residual**2 / variance).sum(axis=1) / 2
    return CandidatePairs(who[at], known, ratio, residual, variance)


@dataclass(frozen=True, eq=False)
class Alignment:
    """A motion that lays the map on the known file.

    ``evidence`` is the log of the odds that the files share records and lie so, against sharing none: the likelihood
    ratio of the best motion, less the room it was chosen from. ``common`` is the share of common targets it suggests,
    ``blur`` the variance with which the exact law of the mask is best seen, where that is used.
    """

    motion: Motion
    ratio: float
    evidence: float
    common: float
    curvature: FloatArray  # (3, 3), of the log likelihood over small motions
    blur: float = 0.0


class Aligner:
    """Refines motions of one map under one model; keeps the indexes it has built for each width."""

    def __init__(self, model: LikelihoodModel, target_map: TargetMap, prior: MotionPrior) -> None:
        self.model, self.target_map, self.prior = model, target_map, prior
        self.how = model.thresholds.align
        self.who = np.flatnonzero(model.matchable)
        self._records: dict[float, KnownRecords] = {}
        self.compared = 0  # distances, to refine motions

    @property
    def sigma(self) -> float:
        """Typical standard deviation, per axis, of a common target's distance from its known record."""
        return float(np.sqrt(self.model.variances.mean() + self.target_map.variance.mean()))

    @property
    def price(self) -> float:
        """What fitting the share of common targets costs: the usual price of one parameter."""
        return float(0.5 * np.log(max(len(self.who), 2)))

    def with_model(self, model: LikelihoodModel) -> Aligner:
        """Return the aligner of the same map and prior under another model."""
        return Aligner(model, self.target_map, self.prior)

    def find_records(self, radius: float) -> KnownRecords:
        """Return the known records as they are looked up within a radius."""
        if radius not in self._records:
            model, index = self.model, index_known(self.model, radius)
            axes = np.stack((model.known_map.east[index.member], model.known_map.north[index.member]), axis=1)
            laws = model.rarity[index.member], model.variances[index.member]
            self._records[radius] = KnownRecords(index, model.related, *laws, axes, model.known_map.flat)
        return self._records[radius]

    def evaluate(
        self, motion: Motion, blur: float, who: Ints, common: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return likelihood, slope and curvature at a motion; ``blur`` is a further variance (see the kernel)."""
        extra = self.target_map.variance[who] + blur
        records = self.find_records(find_reach(self.model, float(extra.max(initial=0.0))))
        here, classes = motion(self.target_map.positions[who]), self.model.target_class[who]
        found = evaluate_likelihood(records, here, classes, extra, common, here.mean(axis=0))
        self.compared += int(found[0][5])
        return found

    def refine(self, motion: Motion, width: float, common: float, *, fixed: bool = False) -> Alignment:
        """Find the best motion near ``motion``, with a likelihood blurred by ``width`` and then ever less.

        The share of common targets is fitted along, unless it is ``fixed``.
        """
        least, how = self.sigma, self.how
        stages = max(int(np.ceil(np.log2(max(width / least, 1.0)) / 0.7)), 0)
        common = min(max(common, 1.0 / max(len(self.who), 1)), 1 - 0.5 / max(len(self.who), 1))
        few = self.who[:: max(len(self.who) // how.refined_targets, 1)]
        for stage in range(stages):
            blur = (width * 2 ** (-0.7 * stage)) ** 2 - least**2
            motion, common, _ = self.climb(motion, common, max(blur, 0.0), few, how.blurred_steps, fixed=fixed)
        if len(few) < len(self.who):
            motion, common, _ = self.climb(motion, common, 0.0, few, how.last_steps, fixed=fixed)
        last = how.last_steps if len(few) == len(self.who) else how.final_steps
        motion, common, curvature = self.climb(motion, common, 0.0, self.who, last, fixed=fixed)
        return self.assess(motion, common, curvature)

    def climb(
        self, motion: Motion, common: float, blur: float, who: Ints, steps: int, *, fixed: bool = False
    ) -> tuple[Motion, float, FloatArray]:
        """Take up to ``steps`` Newton steps; return motion, share of common targets (fitted or fixed) and curvature."""
        curvature, most, how = np.eye(3), max(len(who), 1), self.how
        held: tuple[float, Motion, float] | None = None  # the likelihood before a long step, and where a safe one leads
        for turn in range(steps):
            sums, slope, curves = self.evaluate(motion, blur, who, common)
            if held is not None and sums[0] < held[0]:
                (_, motion, common), held = held, None
                continue
            floor = np.diag(self.prior_curvature() + how.rounding_share * np.trace(curves[0]))
            curvature = regularise(curves, floor)
            step: FloatArray = np.linalg.solve(curvature, slope).astype(float)
            pivot = motion(self.target_map.positions[who]).mean(axis=0)
            fitted = common if fixed else min(max(float(sums[1]) / most, 1.0 / most), 1 - 0.5 / most)
            settled = abs(fitted - common) < 1e-4 and float(step @ curvature @ step) < 1e-6
            safe = follow_step(motion, step, pivot, self.model.known_map.flat)
            if settled:
                return safe, fitted, curvature
            if turn >= how.futile_steps and not fixed and sums[0] < self.price:
                return safe, fitted, curvature
            if turn < how.safe_steps or turn == steps - 1 or blur:
                motion, common, held = safe, fitted, None
                continue
            held = float(sums[0]), safe, fitted
            step = np.linalg.solve(straighten(curves, floor, how.flattest_share), slope).astype(float)
            motion = follow_step(motion, step, pivot, self.model.known_map.flat)
            common = common if fixed else hasten_share(common, sums, most)
        return motion, common, curvature

    def prior_curvature(self) -> FloatArray:
        """Return the curvature of a flat prior: any angle, any place among the known records."""
        room = self.model.area
        if self.model.known_map.flat:
            return np.array([1 / (2 * np.pi) ** 2, 1 / room, 1 / room])
        return np.full(3, 1 / (2 * np.pi) ** 2)

    def assess(self, motion: Motion, common: float, curvature: FloatArray) -> Alignment:
        """Return the motion with the evidence for it (Laplace's approximation of the integral over motions)."""
        sums, _, _ = self.evaluate(motion, 0.0, self.who, common)
        before = self.prior.log_density(motion(self.target_map.positions[self.who]))
        total = float(sums[0])
        return Alignment(motion, total, total + self.price_motion(before, curvature), common, curvature)

    def price_motion(self, before: float, curvature: FloatArray) -> float:
        """Return what a peak of the likelihood loses to the room it was chosen from, and to the fitted share."""
        peak = 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(curvature)[1]
        return float(min(before + peak, 0.0) - self.price)

    def find_motion_variance(self, alignment: Alignment) -> FloatArray:
        """Return the variance, per axis, of each target's position that comes from the uncertainty of the motion."""
        here = alignment.motion(self.target_map.positions[self.who])
        doubt = np.linalg.inv(alignment.curvature)
        if not self.model.known_map.flat:
            along = np.einsum("ij,jk,ik->i", here, doubt, here)
            return np.asarray(((here**2).sum(axis=1) * np.trace(doubt) - along) / 2)
        arm = np.cross(np.array([0.0, 0.0, 1.0]), here - here.mean(axis=0))
        square = (arm**2).sum(axis=1) * doubt[0, 0] + 2 * (arm[:, :2] @ doubt[0, 1:]) + doubt[1, 1] + doubt[2, 2]
        return np.asarray(square / 2)


def regularise(curves: FloatArray, floor: FloatArray) -> FloatArray:
    """Return the observed curvature where it is one of a peak, else the larger one, which never oversteps."""
    observed: FloatArray = curves[1] + floor
    peaked = np.linalg.eigvalsh(observed - 0.1 * curves[0]).min() > 0
    return observed if peaked else np.asarray(curves[0] + floor)


def straighten(curves: FloatArray, floor: FloatArray, flattest: float) -> FloatArray:
    """Return the observed curvature made that of a peak, for steps that may be too long."""
    values, vectors = eigh(curves[1] + floor, curves[0] + floor)  # of the larger one, so that none is above 1
    frame = (curves[0] + floor) @ vectors
    return np.asarray(frame @ np.diag(np.maximum(np.abs(values), flattest)) @ frame.T)


def hasten_share(common: float, sums: FloatArray, targets: int) -> float:
    """Return the share of common targets after Newton's step, which may be too long."""
    slope = (float(sums[1]) / targets - common) * targets / (common * (1 - common))
    fitted = common + slope / max(float(sums[4]), 1e-300)
    return min(max(fitted, common / 4, 1.0 / targets), 1 - (1 - common) / 4, 1 - 0.5 / targets)


def estimate_noise(aligner: Aligner, start: Alignment, floor: float) -> tuple[Aligner, Alignment]:
    """Return the aligner under the most likely displacement, and the alignment refined under it.

    The likelihood is a ratio to a background that does not depend on the width, so widths can be compared: the best of
    a falling series is taken, and then the deviations east and north are fitted to the pairs (EM).
    """
    model, widest = aligner.model, 4 * float(np.sqrt(aligner.model.variances.mean()))
    best, best_width, motion, common = -np.inf, widest, start.motion, start.common
    kept = start
    for step in range(aligner.how.noise_halvings):
        width = widest * 2 ** (-0.5 * step)
        if width < floor:
            break
        tried = aligner.with_model(model.with_variances(np.full_like(model.variances, width**2)))
        motion, common, curvature = tried.climb(motion, common, 0.0, tried.who, 6)
        one = tried.assess(motion, common, curvature)
        if one.ratio > best:
            best, best_width, kept = one.ratio, width, one
        elif one.ratio < best - 30 - 0.1 * abs(best):
            break
    return _fit_deviations(aligner, kept, best_width, floor)


def _fit_deviations(aligner: Aligner, start: Alignment, width: float, floor: float) -> tuple[Aligner, Alignment]:
    """Fit the deviations east and north by expectation and maximisation from a first width."""
    model = aligner.model
    variance, motion, common = np.array([width**2, width**2]), start.motion, start.common
    tried, curvature = aligner, np.eye(3)
    for _ in range(aligner.how.noise_rounds):
        tried = aligner.with_model(model.with_variances(np.tile(variance, (len(model.variances), 1))))
        motion, common, curvature = tried.climb(motion, common, 0.0, tried.who, 2)
        sums, _, _ = tried.evaluate(motion, 0.0, tried.who, common)
        fresh = sums[2:4] / max(float(sums[1]), 1e-12)
        fresh = np.maximum(fresh, floor**2)
        done = bool(np.abs(np.log(fresh / variance)).max() < 1e-3)
        variance = fresh
        if done:
            break
    tried = aligner.with_model(tried.model.remeasured())
    return tried, tried.assess(motion, common, curvature)
