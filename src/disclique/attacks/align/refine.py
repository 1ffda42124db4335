"""From a rough motion to the best one nearby, and the evidence for it.

Newton's steps climb the likelihood, first blurred and then ever sharper; the evidence is its integral over motions.
Where the displacement of the target's points is not known, it is estimated along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from disclique.attacks.align.density import MotionPrior
from disclique.attacks.align.likelihood import LikelihoodModel, find_reach, index_known
from disclique.engine.kernels.alignment import KnownRecords, evaluate_likelihood
from disclique.model import FloatArray
from disclique.spaces.positions import Motion, follow_step
from disclique.spaces.rebuild.landmarks import TargetMap

Ints = NDArray[np.int64]


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
