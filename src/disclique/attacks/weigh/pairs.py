"""From the target's map to claims: find the alignments, weigh the pairs that then lie together, say how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align.density import MotionPrior
from disclique.attacks.align.likelihood import (
    CandidatePairs,
    LikelihoodModel,
    build_model,
    find_pairs,
)
from disclique.attacks.align.noise import estimate_noise
from disclique.attacks.align.polish import START, Polisher
from disclique.attacks.align.refine import Aligner, Alignment
from disclique.attacks.align.search import (
    CLEAR,
    SURE,
    UNKNOWN,
    Alignments,
    Quest,
    StartPairs,
    StepListener,
    assume_overlap,
    build_prior,
    find_alignments,
    find_density_scale,
)
from disclique.attacks.claims import FLOOR, Weighed, make_claims, no_claims
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.weigh.exchange import find_exchanged
from disclique.attacks.weigh.law import LawModel, build_law_model, is_gaussian
from disclique.geodesy import Spread
from disclique.masks.laws import ExchangeLaw
from disclique.model import Candidates, Claims, FloatArray, IntArray, Json
from disclique.spaces import Points
from disclique.spaces.positions import KnownMap, Motion
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.spaces.rebuild.series import SAME, shrink_spread

Ints = NDArray[np.int64]
FINEST = 1e-6  # of the extent of the known file: places nearer than that are one place
GUESSES = (0.5, 0.1, 0.02)  # of the cells of the density: what an unknown displacement is first taken for
MOST_TAKEN = 0.999  # nobody is quite certainly elsewhere
TIE = 1e-3  # probabilities nearer than that are equal
TIED = 0.05  # a tie between pairs less probable than that is none worth naming


@dataclass(frozen=True, eq=False)
class AttackInputs:
    """All that is given besides the target's map.

    ``effort`` is the part of the usual work to be spent on one map of several; of a map of few records even a bold
    snooper is not sure (``overlapping``) that some of them are in the known file.
    """

    known_map: KnownMap
    candidates: Candidates
    knowledge: Knowledge
    start: StartPairs | None = None
    progress: StepListener | None = None
    points: Points | None = None  # of the known file, to which a snooper can apply the rule of a mask
    effort: float = 1.0
    overlapping: bool = True

    def tell(self, step: str) -> None:
        """Tell whoever listens which step begins."""
        if self.progress is not None:
            self.progress(step)

    @property
    def finest(self) -> float:
        """The displacement that counts as none."""
        positions = self.known_map.positions
        return FINEST * max(float(np.linalg.norm(np.ptp(positions, axis=0))) if len(positions) else 0.0, 1e-300)

    def build_model(self, noise: Spread, floor: float) -> LikelihoodModel:
        """Build the model of the known file under a displacement of at least ``floor``."""
        variances = self.known_map.variances(noise, self.knowledge.coordinate_error)
        return build_model(self.known_map, self.candidates, np.maximum(variances, floor**2))

    @property
    def least_difference(self) -> float:
        """By how much two releases of the same records differ at the least if they are not one and the same."""
        if self.knowledge.noise is None:
            return self.finest
        return max(SAME * float(np.sqrt(self.known_map.variances(self.knowledge.noise, 0.0).mean())), self.finest)

    def take_mean(self, copies: Sequence[FloatArray]) -> AttackInputs:
        """Return the same for the mean of several releases, which is displaced less than each."""
        if self.knowledge.noise is None:
            return self
        noise = shrink_spread(self.knowledge.noise, copies, self.known_map)
        return replace(self, knowledge=replace(self.knowledge, noise=noise))

    def build_laws(self, model: LikelihoodModel) -> LawModel | None:
        """Build the model of the exact law of the mask; None where it is Gaussian or not known."""
        law = self.knowledge.law
        if is_gaussian(law) or self.points is None or self.knowledge.noise is None:
            return None
        assert law is not None
        common = UNKNOWN if self.knowledge.common is None else self.knowledge.common
        error, targets = self.knowledge.coordinate_error, len(model.target_class)
        return build_law_model(law, model, self.points, error=error, targets=targets, common=common)


class LaidMap(NamedTuple):
    """The alignments of a map with the known file that are worth considering; None, and why, if there is none."""

    found: Alignments | None
    laws: LawModel | None
    doubt: str
    cut: str


def lay_map(target_map: TargetMap, inputs: AttackInputs) -> LaidMap:
    """Look for the alignments of the target's map with the known file."""
    floor = max(inputs.finest, 0.0 if target_map.variance.any() else 2 * target_map.misfit)
    metric = "plane" if inputs.known_map.flat else "km"
    model = inputs.build_model(inputs.knowledge.noise or Spread(0.0, 0.0, metric), floor)
    if not model.matchable.any():
        return LaidMap(None, None, "no target record has a possible counterpart by its label", "")
    if np.ptp(target_map.positions[model.matchable], axis=0).max() <= 10 * inputs.finest:
        why = "all target records lie at one place: their distances say nothing beyond their labels"
        return LaidMap(None, None, why, "")
    inputs.tell("looking for the alignment with the known file")
    laws = inputs.build_laws(model)
    found, doubt, cut = align_map(model, target_map, laws, inputs=inputs, floor=floor)
    return LaidMap(found if found.ranked else None, laws, doubt, cut)


def link_map(target_map: TargetMap, inputs: AttackInputs, *, attack: str, details: Json) -> Claims:
    """Claim what a snooper with the target's map can claim."""
    began = perf_counter()
    lost = int((~np.isfinite(target_map.variance)).sum())
    target_map, inputs = drop_unplaced(target_map, inputs)
    details |= {"map": {"misfit": target_map.misfit, "error": float(np.sqrt(target_map.variance.mean()))}}
    laid = lay_map(target_map, inputs)
    details["unlaid"] = lost
    found, aligned = laid.found, perf_counter()
    if found is None or (laid.doubt and not inputs.knowledge.bold):
        details |= {"seconds": details.get("seconds", {}) | {"align": aligned - began}}
        details |= {"evidence": None if found is None else found.ranked[0].evidence}
        return no_claims(laid.doubt, attack=attack, cut=laid.cut, details=details)
    inputs.tell("weighing the candidate pairs")
    claims, share = weigh_pairs(found, inputs.knowledge.common, laid.laws)
    seconds = details.get("seconds", {}) | {"align": aligned - began, "posterior": perf_counter() - aligned}
    details |= describe_alignment(found, share) | {"alignments": len(found.ranked), "seconds": seconds}
    claims, tied = equalise_ties(claims)
    details |= tied
    lowest = 0.0 if inputs.knowledge.bold else FLOOR
    return make_claims(claims, attack=attack, floor=lowest, cut=laid.cut, doubt=laid.doubt, details=details)


def drop_unplaced(target_map: TargetMap, inputs: AttackInputs) -> tuple[TargetMap, AttackInputs]:
    """Leave out the target records that the release does not place."""
    lost = ~np.isfinite(target_map.variance)
    if not lost.any():
        return target_map, inputs
    classes = np.where(lost, -1, inputs.candidates.target_class).astype(np.int32)
    candidates = replace(inputs.candidates, target_class=classes)
    kept = replace(target_map, variance=np.where(lost, 0.0, target_map.variance))
    return kept, replace(inputs, candidates=candidates)


def explain_doubt(found: Alignments) -> str:
    """Return why the alignment is doubtful, or an empty text."""
    if found.ranked and found.ranked[0].evidence >= SURE:
        return ""
    best = f"log odds {found.ranked[0].evidence:.1f}, {SURE:.0f} are asked for" if found.ranked else "none was found"
    best += f"; {found.futile}" if found.futile else ""
    return f"no alignment of the target's map with the known file is clearly better than chance ({best})"


def align_map(
    model: LikelihoodModel, target_map: TargetMap, laws: LawModel | None, *, inputs: AttackInputs, floor: float
) -> tuple[Alignments, str, str]:
    """Return the alignments worth considering, why they are in doubt, and what was not tried.

    They are searched as if the displacement were Gaussian. Where its ``laws`` are others, the best are polished and
    compared under these.
    """
    if laws is not None and target_map.copies:
        return align_series(model, target_map, laws, inputs=inputs, floor=floor)
    prior, motions = build_prior(model, target_map, few=inputs.effort < 1)
    common, bold = inputs.knowledge.common, inputs.knowledge.bold and inputs.overlapping
    if laws is None:
        found = choose_alignments(model, target_map, prior, motions, inputs=inputs, floor=floor)
        doubt, cut = explain_doubt(found), found.cut
        if doubt and bold and common is not None:
            found = assume_overlap(found, common)
        return found, doubt, cut
    aligner = Aligner(model, target_map, prior)
    polisher = Polisher(laws, aligner, finest=max(floor, laws.grain), common=common)
    if not laws.labelled:
        inputs.tell("looking for places that coincide")
        error = float(np.sqrt(target_map.variance.mean() + laws.components[0].variance))
        found = polisher.start_from_coincidence(max(floor, 3 * error))
        if found.ranked and found.ranked[0].evidence > CLEAR:
            return found, "", ""
    rough = choose_alignments(model, target_map, prior, motions, inputs=inputs, floor=floor, exact=True)
    inputs.tell("polishing the alignment under the law of the mask")
    found = polisher.polish_all(rough)
    doubt, cut = explain_doubt(found), found.cut
    if doubt and bold and common is not None:
        found = polisher.polish_all(assume_overlap(rough, common))
    return found, doubt, cut


def align_series(
    model: LikelihoodModel, target_map: TargetMap, laws: LawModel, *, inputs: AttackInputs, floor: float
) -> tuple[Alignments, str, str]:
    """Return the alignment of several releases with the known file, found from their mean, each settled by itself."""
    prior, motions = build_prior(model, target_map)
    common = inputs.knowledge.common
    rough = choose_alignments(model, target_map, prior, motions, inputs=inputs, floor=floor, exact=True)
    doubt, cut = explain_doubt(rough), rough.cut
    if doubt and inputs.knowledge.bold and inputs.overlapping and common is not None:
        rough = assume_overlap(rough, common)
    if not rough.ranked:
        return rough, doubt, cut
    inputs.tell("polishing the alignment of every release under the law of the mask")
    finest = max(floor, laws.grain)
    first = Polisher(laws, Aligner(model, target_map, prior), finest=finest, common=common)
    aligner = Aligner(model, first.settle_releases(rough.ranked[0].motion), prior)
    polisher = Polisher(laws.of_series(aligner.target_map.releases), aligner, finest=finest, common=common)
    best = polisher.polish(Motion(np.eye(3), np.zeros(3)), START * aligner.sigma, rough.ranked[0].common)
    found = replace(rough, aligner=aligner, ranked=[best])
    return found, explain_doubt(found), cut


def choose_alignments(
    model: LikelihoodModel,
    target_map: TargetMap,
    prior: MotionPrior,
    motions: list[Motion],
    *,
    inputs: AttackInputs,
    floor: float,
    exact: bool = False,
) -> Alignments:
    """Return the alignments worth considering, under the known or the most likely displacement.

    They may be told apart by an ``exact`` law afterwards.
    """
    knowledge = inputs.knowledge
    quest = Quest(
        share=knowledge.common,
        start=inputs.start,
        tell=inputs.tell,
        effort=inputs.effort,
        bold=knowledge.bold and inputs.overlapping,
        told=knowledge.noise is not None,
        exact=exact,
    )
    if knowledge.noise is not None:
        return find_alignments(Aligner(model, target_map, prior), motions, quest)
    tried, compared = [], 0
    for guess in GUESSES:
        width = max(guess * find_density_scale(prior, model), floor)
        aligner = Aligner(model.with_variances(np.full_like(model.variances, width**2)), target_map, prior)
        found = find_alignments(aligner, motions, quest)
        compared += found.compared
        if found.ranked:
            fitted, best = estimate_noise(aligner, found.ranked[0], floor)
            tried.append(replace(found, aligner=fitted, ranked=[best]))
            if best.evidence > found.clear:
                break
    return replace(max(tried, key=lambda one: one.ranked[0].evidence, default=found), compared=compared)


def weigh_pairs(
    found: Alignments, common: float | None, laws: LawModel | None = None, taken: FloatArray | None = None
) -> tuple[Weighed, float]:
    """Return pairs with probabilities over all alignments worth considering, and the share of common targets.

    ``taken`` are the probabilities that known records are elsewhere: an alignment that needs them is less probable.
    """
    aligner = found.aligner
    sizes = len(aligner.model.target_class), aligner.model.records
    keys, values, shares, prices = [], [], [], np.zeros(len(found.ranked))
    for which, alignment in enumerate(found.ranked):
        pairs = find_aligned_pairs(aligner, alignment, laws)
        share, probability = weigh_matchings(pairs, sizes, common)
        keys.append(pairs.target * sizes[1] + pairs.known)
        values.append(probability)
        shares.append(share)
        if taken is not None:
            both = taken * np.bincount(pairs.known, weights=probability, minlength=sizes[1])
            prices[which] = -np.log1p(-np.minimum(both, MOST_TAKEN)).sum()
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


def equalise_ties(claims: Weighed) -> tuple[Weighed, Json]:
    """Make a target's equally probable counterparts equal to the last digit, and list who has such ties (rows from 1).

    Nobody can tell them apart, so that rounding must not lift one of them above one half.
    """
    target, known, probability = claims
    order = np.lexsort((known, -probability, target))
    rows, fair = target[order], probability[order].copy()
    starts = np.r_[True, rows[1:] != rows[:-1]] if len(rows) else np.zeros(0, dtype=bool)
    which = np.cumsum(starts) - 1  # of the targets, in order
    top = fair[starts]
    equal = fair > top[which] - TIE
    tied = (np.bincount(which, equal, len(top)) > 1) & (top > TIED)
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
