"""The search for the rigid motion that lays the target's map on the known file.

Motions are tried in three turns: those that given matches suggest, those under which both files are dense in the same
places, and those that lay two records of rare labels on two known ones. Each is refined; the best compete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from disclique.attacks.align.density import MotionPrior, align_densities, centre_projection, estimate_density
from disclique.attacks.align.futility import (
    Foretold,
    choose_tilt,
    expect_evidence,
    foretell,
    is_comparable,
    keep_within,
)
from disclique.attacks.align.hypotheses import RarePairSearch
from disclique.attacks.align.likelihood import LikelihoodModel
from disclique.attacks.align.refine import Aligner, Alignment
from disclique.model import FloatArray, IntArray
from disclique.spaces.positions import Motion, fit_motion, follow_step
from disclique.spaces.rebuild.landmarks import TargetMap

UNKNOWN = 0.1  # what the share of common targets is first taken for
CLEAR = 8.0  # log odds above which no further alignment is tried
# Log odds for the alignment below which only a bold snooper claims anything. Chosen on simulated data sets: 96 without
# a common record stayed at 4.0 or less, 48 with 10 common of 500 were at 4.5 or more (σ = .005 and .01 degrees).
SURE = 4.0
LUCK, BAD_LUCK = 2.5, 2.0  # standard deviations by which the true alignment may fit better or worse than foretold
CHANCE = 4.0  # the same of the best of the wrong alignments to which densities leave room
AHEAD = 6.0  # log likelihood by which it must then be ahead of the others
TURNS, TURN_STEPS = 8, 8  # of the best alignment, to see how others fit, and steps in which each is refined
ELSEWHERE = 10.0  # cells of the density: so far apart lie two ways to lay densities on each other
DECIDED = 2.0  # log likelihood, per square root of the targets, by which densities must then prefer one of them
ALL = 0.99  # the share of common targets that promises most, where it is not known
RIVAL = 8.0  # an alignment so much worse than the best is forgotten
SMALL = 40  # so few targets may fit in several ways; all are tried
DENSITY_MOTIONS = 4
LOCAL_BUDGET, GLOBAL_BUDGET = 150_000_000, 600_000_000  # distances compared; a few seconds
SEED = 0  # of the order in which pairs of records are tried; not of anything that is published

StartPairs = tuple[IntArray, IntArray]
StepListener = Callable[[str], None]


@dataclass
class Alignments:
    """The alignments found so far, best first, without those that say the same.

    ``density_motions`` are those that the density of settled places suggests. With ``overlapping`` the files are known
    to share records, so that the alignments compete with each other only, and not with there being none. ``compared``
    is the number of distances after which a search for more was given up; 0 if none was. ``futile`` says why none was
    begun that could not succeed, ``unsought`` whether that is for want of pairs that show it, and not of the truth
    being visible. ``assumed`` are the alignments given that the files share records, if asked for.
    """

    aligner: Aligner
    clear: float
    ranked: list[Alignment] = field(default_factory=list)
    density_motions: list[Motion] = field(default_factory=list)
    overlapping: bool = False
    compared: int = 0
    futile: str = ""
    unsought: bool = False
    assumed: Alignments | None = None

    def weigh(self, price: FloatArray | float = 0.0) -> FloatArray:
        """Return the probability of each alignment; ``price`` is taken from the evidence for each."""
        evidence = np.array([one.evidence for one in self.ranked]) - price
        return np.asarray(softmax(evidence) if self.overlapping else softmax(np.append(evidence, 0.0))[:-1])

    @property
    def cut(self) -> str:
        """What was not tried, in a sentence, where that could have changed the claims; else empty."""
        if self.ranked and self.ranked[0].evidence > CLEAR:
            return ""
        if self.unsought:
            return "no pairs of rare records were tried, which show too little; all records together may show more"
        if not self.compared:
            return ""
        many = f"{self.compared:,}"
        return f"the search for an alignment ended after {many} distance comparisons; a longer one may find more"

    def refine_until_clear(
        self, motions: Iterable[Motion], width: float, common: float, *, most: float = np.inf
    ) -> bool:
        """Refine and add motions; return True once an alignment is beyond doubt, stop after ``most`` comparisons."""
        for motion in motions:
            if self.aligner.compared >= most:
                break
            self.add(self.aligner.refine(motion, width, common))
            if self.ranked[0].evidence > self.clear:
                return True
        return False

    def add(self, one: Alignment) -> None:
        """Add an alignment unless a better one lays the map at the same place."""
        positions = self.aligner.target_map.positions[self.aligner.who]
        here, kept = one.motion(positions), []
        for other in self.ranked:
            if measure_gap(other.motion(positions), here) < 2 * self.aligner.sigma:
                if other.evidence >= one.evidence:
                    return
            else:
                kept.append(other)
        self.ranked = sorted([*kept, one], key=lambda each: -each.evidence)
        self.ranked = [each for each in self.ranked if each.evidence > self.ranked[0].evidence - RIVAL]


def build_prior(
    model: LikelihoodModel, target_map: TargetMap, *, few: bool = False
) -> tuple[MotionPrior, list[Motion]]:
    """Return the prior over motions from the density of settled places, and the motions that fit it best.

    With ``few`` a small map is not held to the density, which would tell little of it.
    """
    positions = target_map.positions[model.matchable]
    volume = 4 * np.pi * max(model.area, 1e-300) / (model.known_map.radius or 1.0) ** 2
    if few and len(positions) <= SMALL:
        return MotionPrior(volume), []
    flat = centre_projection(model.known_map, positions).project(positions)
    density = estimate_density(model.known_map, float(np.percentile(np.linalg.norm(flat, axis=1), 99)))
    if density is None:
        return MotionPrior(volume), []
    motions, integral = align_densities(density, positions, kept=DENSITY_MOTIONS)
    return MotionPrior(volume, density, integral), motions


@dataclass(frozen=True, eq=False)
class Quest:
    """What is known for a search, and what it is for.

    ``share`` is that of common targets, if it is known; ``start`` are matches to begin with; ``effort`` is the part of
    the usual work to be spent. A ``bold`` snooper follows the best alignment even where it is doubtful. The width of
    the displacement is ``told`` or guessed; an ``exact`` law of it may tell alignments apart that the search cannot.
    """

    share: float | None
    start: StartPairs | None
    tell: StepListener
    effort: float = 1.0
    bold: bool = False
    told: bool = True
    exact: bool = False


def find_alignments(aligner: Aligner, motions: list[Motion], quest: Quest) -> Alignments:
    """Return all alignments worth considering: from given matches, from ``motions``, from pairs of rare records.

    ``motions`` are those of the density of settled places. Pairs are searched only where that can find more.
    """
    common, sigma = UNKNOWN if quest.share is None else quest.share, aligner.sigma
    found = Alignments(aligner, CLEAR if len(aligner.who) > SMALL else np.inf, density_motions=motions)
    if quest.start is not None and found.refine_until_clear(align_matches(aligner, quest.start), 3 * sigma, common):
        return found
    density = aligner.prior.density
    if density is not None and found.refine_until_clear(motions, max(0.9 * density.cell, sigma), common):
        return found
    rare = RarePairSearch(aligner, np.random.default_rng(SEED))
    if quest.bold and quest.share is not None and not (found.ranked and found.ranked[0].evidence >= SURE):
        found.assumed = assume_overlap(found, quest.share)
    found.futile = find_futility(found, rare, quest)
    if not found.futile:
        search_pairs(found, rare, quest)
        found.assumed = None
    return found


def search_pairs(found: Alignments, rare: RarePairSearch, quest: Quest) -> None:
    """Add the alignments that pairs of rare records suggest: first around the densest overlap, then everywhere."""
    aligner, density, sigma = found.aligner, found.aligner.prior.density, found.aligner.sigma
    common, sure = UNKNOWN if quest.share is None else quest.share, quest.share is not None
    local, budget = (max(int(quest.effort * most), 1) for most in (LOCAL_BUDGET, GLOBAL_BUDGET))
    compared, most = 0, aligner.compared + budget
    if density is not None and is_comparable(aligner.model.known_map, aligner.target_map.positions[aligner.who]):
        quest.tell("looking around the densest overlap for pairs of rare records")
        for guess in found.density_motions[:2]:
            for batch in rare.propose(common, budget=local, guess=guess, slack=2.5 * density.cell, sure=sure):
                compared += batch.compared
                if found.refine_until_clear(batch.motions, 3 * sigma, common, most=most):
                    return
        budget = local  # the density rarely misleads: in 48 noisy cases a start from the truth found no more
    quest.tell("looking everywhere for pairs of rare records")
    for batch in rare.propose(common, budget=budget, sure=sure):
        compared += batch.compared
        found.compared = compared if batch.untried else 0
        if found.refine_until_clear(batch.motions, 3 * sigma, common, most=most):
            return
        if aligner.compared >= most:
            found.compared = compared + aligner.compared
            return


def find_futility(found: Alignments, rare: RarePairSearch, quest: Quest) -> str:
    """Return why a search for more alignments could not change the claims; empty where it could."""
    aligner, told, size = found.aligner, quest.share, len(found.aligner.who)
    share = keep_within(ALL if told is None else told, size)
    tilt = choose_tilt(aligner)
    foretold = foretell(aligner, aligner.who, noise=1.0 if quest.told else 0.0, tilt=tilt)
    if not (quest.bold or quest.exact):
        positions = aligner.target_map.positions[aligner.who]
        before = [aligner.prior.log_density(motion(positions)) for motion in found.density_motions]
        most = expect_evidence(aligner, foretold, share, max(before, default=-np.log(aligner.prior.volume)), LUCK)
        if most < SURE:
            return f"even of the true one no more than {most:.1f} can be expected"
    if told is not None and quest.told and stands_out(found, share, foretold):
        return "it fits as well as the true one can be expected to"
    if not rare.can_succeed(share, noise=1.0 if quest.told else 0.0, tilt=tilt):
        truth, chance = foretold.expect(size, share, share), foretold.expect_strangers(size, share)
        visible = truth.at_most(LUCK) > chance.at_most(CHANCE)
        found.unsought = visible and not (found.density_motions and is_decided(found, found.density_motions[0]))
        return "pairs of rare records would not tell the true one from chance"
    return ""


def stands_out(found: Alignments, share: float, foretold: Foretold) -> bool:
    """Return True if an alignment fits well enough to be the true one, and far better than others do by chance.

    The others are those found elsewhere, and the best one turned around its middle: in a round city every
    turn lays people on people, and the best of some wrong ones may fit as well as the true one is expected to. Where
    densities do not decide, the best of millions often does, so that nothing stands out.
    """
    ranked = (found.ranked if found.assumed is None else found.assumed.ranked)[:DENSITY_MOTIONS]
    aligner, flat, size = found.aligner, found.aligner.model.known_map.flat, len(found.aligner.who)

    def measure(motion: Motion) -> float:
        return float(aligner.evaluate(motion, 0.0, aligner.who, share)[0][0])

    fits = sorted(((measure(one.motion), at) for at, one in enumerate(ranked)), reverse=True)
    if not fits or (len(fits) > 1 and fits[1][0] > fits[0][0] - AHEAD):
        return False
    fit, best = fits[0][0], ranked[fits[0][1]].motion
    truth, chance = foretold.expect(size, share, share), foretold.expect_strangers(size, share)
    if fit < max(truth.at_least(BAD_LUCK), chance.at_most(CHANCE)) or not is_decided(found, best):
        return False
    pivot = best(aligner.target_map.positions[aligner.who]).mean(axis=0)
    up = np.array([1.0, 0.0, 0.0]) if flat else pivot / max(float(np.linalg.norm(pivot)), 1e-300)
    for angle in 2 * np.pi * np.arange(1, TURNS) / TURNS:
        turned = follow_step(best, angle * up, pivot, flat)
        turned, _, _ = aligner.climb(turned, share, 0.0, aligner.who, TURN_STEPS, fixed=True)
        if measure(turned) > fit - AHEAD:
            return False
    return True


def measure_gap(here: FloatArray, there: FloatArray) -> float:
    """Return the root mean square of the distances between places."""
    return float(np.sqrt(((here - there) ** 2).sum(axis=1).mean()))


def is_decided(found: Alignments, best: Motion) -> bool:
    """Return True if densities leave no room for alignments elsewhere: all others fit them far worse.

    Chance prefers one of several by about the square root of the targets, as in a square without a centre.
    """
    density, aligner = found.aligner.prior.density, found.aligner
    if density is None or not found.density_motions:
        return False
    positions = aligner.target_map.positions[aligner.who]
    laid = [motion(positions) for motion in found.density_motions]
    fits = [density.log_likelihood(places) for places in laid]
    far = [measure_gap(places, laid[0]) > ELSEWHERE * density.cell for places in laid]
    other = max((fit for fit, is_far in zip(fits, far, strict=True) if is_far), default=min(fits))
    near = measure_gap(best(positions), laid[0]) <= ELSEWHERE * density.cell
    return near and other < fits[0] - DECIDED * np.sqrt(len(positions))


def assume_overlap(found: Alignments, share: float) -> Alignments:
    """Return the alignments given that ``share`` of the targets are in the known file.

    The density of strangers is only estimated: with many targets that each tell little, its error drowns the evidence
    for sharing records at all, but not the differences between alignments.
    """
    if found.assumed is not None:
        return found.assumed
    aligner, density = found.aligner, found.aligner.prior.density
    again = Alignments(aligner, np.inf, overlapping=True)
    width = max(0.9 * density.cell, aligner.sigma) if density else aligner.sigma
    for motion in found.density_motions:
        again.add(aligner.refine(motion, width, share, fixed=True))
    for one in found.ranked:
        again.add(aligner.refine(one.motion, aligner.sigma, share, fixed=True))
    return again


def align_matches(aligner: Aligner, start: StartPairs) -> list[Motion]:
    """Return motions that bring given pairs together, robustly: the best motion of two pairs, and its mirror."""
    target, known = (np.asarray(part, dtype=np.int64) for part in start)
    ours, theirs = aligner.target_map.positions[target], aligner.model.known_map.positions[known]
    i, j = np.triu_indices(len(target), 1)
    gap = np.minimum(*(np.linalg.norm(side[i] - side[j], axis=1) for side in (ours, theirs)))
    i, j = i[gap > 0], j[gap > 0]  # two records at one place fix no direction
    long = np.argsort(-np.linalg.norm(ours[i] - ours[j], axis=1), kind="stable")[:500]
    best: dict[bool, tuple[float, Motion]] = {}
    for a, b in zip(i[long], j[long], strict=True):
        for mirror in (False, True):
            motion = fit_motion(ours[[a, b]], theirs[[a, b]], aligner.model.known_map.flat, mirror=mirror)
            miss = float(np.median(np.linalg.norm(motion(ours) - theirs, axis=1)))
            if mirror not in best or miss < best[mirror][0]:
                best[mirror] = (miss, motion)
    return [motion for _, motion in sorted(best.values(), key=lambda one: one[0])]


def find_density_scale(prior: MotionPrior, model: LikelihoodModel) -> float:
    """Return the width of the cells in which the density was estimated, or a length of the known file."""
    return prior.density.cell if prior.density is not None else float(np.sqrt(max(model.area, 1e-300)))
