"""The search for the rigid motion that lays the target's map on the known file.

Motions are tried in three turns: those that given matches suggest, those under which both files are dense in the same
places, and those that lay two targets whose labels few known records share on every two of those at the same distance,
each scored by where it lays the other targets. Each is refined; the best compete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from disclique.attacks.align import AttackInputs, StartPairs
from disclique.attacks.align.density import MotionPrior, align_densities, centre_projection, estimate_density
from disclique.attacks.align.futility import find_futility, foretell, is_comparable, measure_gap
from disclique.attacks.align.likelihood import (
    Aligner,
    Alignment,
    LikelihoodModel,
    estimate_noise,
    group_by_class,
    index_known,
)
from disclique.engine.kernels.alignment import AlignmentSearch, ClassMembers, try_pairs
from disclique.messages import Message, mark
from disclique.spaces.positions import Motion, fit_motion
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.values import FloatArray

Ints = NDArray[np.int64]
SEED = 0  # of the order in which pairs of records are tried; not of anything that is published


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
    futile: Message | None = None
    unsought: bool = False
    assumed: Alignments | None = None

    @classmethod
    def begin(cls, aligner: Aligner, motions: list[Motion]) -> Alignments:
        """Return none as yet; of a map of few targets no single alignment is clear."""
        how = aligner.how
        clear = how.clear_log_odds if len(aligner.who) > how.few_targets else np.inf
        return cls(aligner, clear, density_motions=motions)

    @property
    def sure(self) -> bool:
        """True if the best alignment is clearly better than chance."""
        return bool(self.ranked) and self.ranked[0].evidence >= self.aligner.how.sure_log_odds

    @property
    def doubt(self) -> Message | None:
        """Why the alignment is doubtful, if it is."""
        if self.sure:
            return None
        best = Message("no_alignment_found")
        if self.ranked:
            best = Message("best_log_odds", evidence=self.ranked[0].evidence, asked=self.aligner.how.sure_log_odds)
        return Message("alignment_doubtful", reasons=[one for one in (best, self.futile) if one is not None])

    def weigh(self, price: FloatArray | float = 0.0) -> FloatArray:
        """Return the probability of each alignment; ``price`` is taken from the evidence for each."""
        evidence = np.array([one.evidence for one in self.ranked]) - price
        return np.asarray(softmax(evidence) if self.overlapping else softmax(np.append(evidence, 0.0))[:-1])

    @property
    def cut(self) -> Message | None:
        """What was not tried, where that could have changed the claims."""
        if self.ranked and self.ranked[0].evidence > self.aligner.how.clear_log_odds:
            return None
        if self.unsought:
            return Message("rare_pairs_not_tried")
        return Message("alignment_search_ended", compared=self.compared) if self.compared else None

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
        self.ranked = [
            each for each in self.ranked if each.evidence > self.ranked[0].evidence - self.aligner.how.rival_log_odds
        ]


def build_prior(
    model: LikelihoodModel, target_map: TargetMap, *, few: bool = False
) -> tuple[MotionPrior, list[Motion]]:
    """Return the prior over motions from the density of settled places, and the motions that fit it best.

    With ``few`` a small map is not held to the density, which would tell little of it.
    """
    positions, how = target_map.positions[model.matchable], model.thresholds.align
    volume = 4 * np.pi * max(model.area, 1e-300) / (model.known_map.radius or 1.0) ** 2
    if few and len(positions) <= how.few_targets:
        return MotionPrior(volume), []
    flat = centre_projection(model.known_map, positions).project(positions)
    density = estimate_density(model.known_map, float(np.percentile(np.linalg.norm(flat, axis=1), 99)), how)
    if density is None:
        return MotionPrior(volume), []
    motions, integral = align_densities(density, positions, kept=how.density_motions)
    return MotionPrior(volume, density, integral), motions


def find_alignments(aligner: Aligner, motions: list[Motion], inputs: AttackInputs) -> Alignments:
    """Return all alignments worth considering: from given matches, from ``motions``, from pairs of rare records.

    ``motions`` are those of the density of settled places. Pairs are searched only where that can find more.
    """
    common, sigma, start = inputs.share, aligner.sigma, inputs.start
    found = Alignments.begin(aligner, motions)
    if start is not None and found.refine_until_clear(align_matches(aligner, start), 3 * sigma, common):
        return found
    density = aligner.prior.density
    if density is not None and found.refine_until_clear(motions, max(0.9 * density.cell, sigma), common):
        return found
    rare = RarePairSearch(aligner, np.random.default_rng(SEED))
    if inputs.bold and inputs.knowledge.common is not None and not found.sure:
        found.assumed = assume_overlap(found, common)
    found.futile = find_futility(found, rare, inputs)
    if found.futile is None:
        search_pairs(found, rare, inputs)
        found.assumed = None
    return found


def search_pairs(found: Alignments, rare: RarePairSearch, inputs: AttackInputs) -> None:
    """Add the alignments that pairs of rare records suggest: first around the densest overlap, then everywhere."""
    aligner, density, sigma = found.aligner, found.aligner.prior.density, found.aligner.sigma
    common, sure, how = inputs.share, inputs.knowledge.common is not None, aligner.how
    local, budget = (max(int(inputs.effort * most), 1) for most in (how.local_comparisons, how.global_comparisons))
    compared, most = 0, aligner.compared + budget
    if density is not None and is_comparable(aligner.model.known_map, aligner.target_map.positions[aligner.who]):
        inputs.tell(mark("step_around_overlap"))
        for guess in found.density_motions[:2]:
            for batch in rare.propose(common, budget=local, guess=guess, slack=2.5 * density.cell, sure=sure):
                compared += batch.compared
                if found.refine_until_clear(batch.motions, 3 * sigma, common, most=most):
                    return
        budget = local  # the density rarely misleads: in 48 noisy cases a start from the truth found no more
    inputs.tell(mark("step_everywhere"))
    for batch in rare.propose(common, budget=budget, sure=sure):
        compared += batch.compared
        found.compared = compared if batch.untried else 0
        if found.refine_until_clear(batch.motions, 3 * sigma, common, most=most):
            return
        if aligner.compared >= most:
            found.compared = compared + aligner.compared
            return


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


def choose_alignments(
    model: LikelihoodModel,
    target_map: TargetMap,
    prior: MotionPrior,
    motions: list[Motion],
    *,
    inputs: AttackInputs,
    floor: float,
) -> Alignments:
    """Return the alignments worth considering, under the known or the most likely displacement."""
    if inputs.knowledge.noise is not None:
        return find_alignments(Aligner(model, target_map, prior), motions, inputs)
    tried, compared = [], 0
    cell = prior.density.cell if prior.density is not None else float(np.sqrt(max(model.area, 1e-300)))
    for guess in model.thresholds.align.noise_guesses:
        width = max(guess * cell, floor)
        aligner = Aligner(model.with_variances(np.full_like(model.variances, width**2)), target_map, prior)
        found = find_alignments(aligner, motions, inputs)
        compared += found.compared
        if found.ranked:
            fitted, best = estimate_noise(aligner, found.ranked[0], floor)
            tried.append(replace(found, aligner=fitted, ranked=[best]))
            if best.evidence > found.clear:
                break
    return replace(max(tried, key=lambda one: one.ranked[0].evidence, default=found), compared=compared)


class Batch(NamedTuple):
    """Motions worth refining, best first, the distances compared to find them, and the pairs not yet tried."""

    motions: list[Motion]
    compared: int
    untried: int


class RarePairSearch:
    """The search for motions that lay two targets of rare labels on two known records at the same distance."""

    def __init__(self, aligner: Aligner, rng: np.random.Generator) -> None:
        model = aligner.model
        self.aligner, self.how = aligner, aligner.how
        how = self.how
        self.sigma = float(np.sqrt(np.median(model.variances) + np.median(aligner.target_map.variance)))
        self.members = group_by_class(model)
        many = _count_counterparts(model, self.members)[model.target_class[aligner.who]]
        rarest = aligner.who[np.lexsort((rng.random(len(many)), many))]
        pairs = self._order_pairs(rarest[: how.rare_targets], np.sort(many)[: how.rare_targets], rng)
        shown = self.scored = rng.permutation(rarest[: how.scored_targets])
        self.shown = len(shown)
        order = np.concatenate((shown, np.setdiff1d(np.unique(pairs), shown)))
        place = np.full(len(model.target_class), -1)
        place[order] = np.arange(len(order))
        self.pairs = place[pairs]
        self.positions, self.classes = aligner.target_map.positions[order], model.target_class[order]
        self.index = index_known(model, 6 * self.sigma)

    def _order_pairs(self, rare: Ints, many: Ints, rng: np.random.Generator) -> Ints:
        """Return pairs of targets far apart, those with the fewest possible counterparts first."""
        i, j = np.triu_indices(len(rare), 1)
        positions = self.aligner.target_map.positions[rare]
        gap = np.linalg.norm(positions[i] - positions[j], axis=1)
        far = gap >= max(0.6 * float(np.quantile(gap, 0.9)) if len(gap) else 0.0, 4 * self.sigma)
        i, j = i[far], j[far]
        cost = np.log2(np.maximum(many[i].astype(float) * many[j], 1)).astype(int)
        return np.stack((rare[i], rare[j]), axis=1)[np.lexsort((rng.random(len(cost)), cost))]

    def can_succeed(self, share: float, *, noise: float, tilt: float) -> bool:
        """Return False if the true motion would not be among the best: its score would drown in those of chance.

        A motion made from two common targets is off by what displaced them; of many, some are off by little.
        """
        how = self.how
        foretold = foretell(self.aligner, self.scored, noise=noise * how.nearly_variance, blur=4.0, tilt=tilt)
        believed = min(share, how.most_common_share)
        truth = foretold.expect(self.shown, share, believed)
        return truth.at_most(how.pair_luck_sd) > foretold.expect_strangers(self.shown, believed).at_most(
            how.pair_chance_sd
        )

    def propose(
        self, common: float, *, budget: int, guess: Motion | None = None, slack: float = np.inf, sure: bool = False
    ) -> Iterator[Batch]:
        """Yield batches of motions until ``budget`` distances are compared: all, or those within ``slack`` of a guess.

        If the share of common records is ``sure``, stop once so many pairs were tried that many must have been true.
        """
        model, variance = self.aligner.model, (2 * self.sigma) ** 2
        expected = self.positions if guess is None else guess(self.positions)
        common = min(common, self.how.most_common_share)
        search = AlignmentSearch(
            self.index, model.related, model.rarity, variance, common, model.known_map.flat, self.shown, expected, slack
        )
        pairs, spent, batch = self.pairs, 0, max(budget // 16, 1)
        if sure:
            pairs = pairs[: int(np.ceil(self.how.enough_pairs / common**2))]
        while len(pairs) and spent < budget:
            limits = (2.5 * np.sqrt(2) * self.sigma, min(batch, budget - spent), self.how.kept_motions)
            best, used, cost = try_pairs(search, self.members, pairs, self.positions, self.classes, limits)
            spent += cost
            pairs = pairs[used:]
            batch *= 2
            best = best[np.argsort(-best[:, 0], kind="stable")]
            motions = [Motion(row[1:10].reshape(3, 3), row[10:]) for row in best if np.isfinite(row[0])]
            yield Batch(motions, cost, len(pairs))


def _count_counterparts(model: LikelihoodModel, members: ClassMembers) -> Ints:
    """Count the known records that may be the counterpart of a target of each class."""
    counts = np.concatenate(([0], np.cumsum(np.diff(members.start)[model.related.known])))
    return np.asarray(np.diff(counts[model.related.start]))
