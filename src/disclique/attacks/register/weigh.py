"""From the target's map to claims: find the alignments, weigh the pairs that then lie together, say how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import Weighed, make_claims, no_claims
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.register.align import (
    Alignments,
    StartPairs,
    StepListener,
    assume_overlap,
    build_prior,
    find_alignments,
    find_density_scale,
)
from disclique.attacks.register.likelihood import (
    CandidatePairs,
    LikelihoodModel,
    build_model,
    find_pairs,
)
from disclique.attacks.register.maps import TargetMap
from disclique.attacks.register.noise import estimate_noise
from disclique.attacks.register.positions import KnownMap
from disclique.attacks.register.posterior import estimated_share, matching_posterior
from disclique.attacks.register.refine import Aligner
from disclique.model import Candidates, Claims, FloatArray, IntArray, Json, Spread

Ints = NDArray[np.int64]
# Log odds for the alignment below which only a bold snooper claims anything. Chosen on simulated data sets: 96 without
# a common record stayed at 4.0 or less, 48 with 10 common of 500 were at 4.5 or more (σ = .005 and .01 degrees).
SURE = 4.0
FINEST = 1e-6  # of the extent of the known file: places nearer than that are one place
GUESSES = (0.5, 0.1, 0.02)  # of the cells of the density: what an unknown displacement is first taken for
TIE = 1e-3  # probabilities nearer than that are equal
TIED = 0.05  # a tie between pairs less probable than that is none worth naming


@dataclass(frozen=True, eq=False)
class AttackInputs:
    """All that is given besides the target's map."""

    known_map: KnownMap
    candidates: Candidates
    knowledge: Knowledge
    start: StartPairs | None = None
    progress: StepListener | None = None

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


def link_map(target_map: TargetMap, inputs: AttackInputs, *, attack: str, details: Json) -> Claims:
    """Claim what a snooper with the target's map can claim."""
    began = perf_counter()
    target_map, inputs = drop_unplaced(target_map, inputs)
    floor = max(inputs.finest, 0.0 if target_map.variance.any() else 2 * target_map.misfit)
    metric = "plane" if inputs.known_map.flat else "km"
    model = inputs.build_model(inputs.knowledge.noise or Spread(0.0, 0.0, metric), floor)
    details |= {"map": {"misfit": target_map.misfit, "error": float(np.sqrt(target_map.variance.mean()))}}
    if not model.matchable.any():
        return no_claims("no target record has a possible counterpart by its label", attack=attack, details=details)
    if np.ptp(target_map.positions[model.matchable], axis=0).max() <= 10 * inputs.finest:
        why = "all target records lie at one place: their distances say nothing beyond their labels"
        return no_claims(why, attack=attack, details=details)
    inputs.tell("looking for the alignment with the known file")
    found = choose_alignments(model, target_map, inputs=inputs, floor=floor)
    aligned = perf_counter()
    doubt, cut = _explain_doubt(found), found.cut
    if doubt and inputs.knowledge.bold and inputs.knowledge.common is not None:
        found = assume_overlap(found, inputs.knowledge.common)
    if doubt and not (inputs.knowledge.bold and found.ranked):
        details |= {"seconds": details.get("seconds", {}) | {"align": aligned - began}}
        details |= {"evidence": found.ranked[0].evidence if found.ranked else None}
        return no_claims(doubt, attack=attack, cut=cut, details=details)
    inputs.tell("weighing the candidate pairs")
    claims, share = weigh_pairs(found, inputs.knowledge.common)
    seconds = details.get("seconds", {}) | {"align": aligned - began, "posterior": perf_counter() - aligned}
    details |= describe_alignment(found, share) | {"alignments": len(found.ranked), "seconds": seconds}
    claims, tied = equalise_ties(claims)
    details |= tied
    return make_claims(claims, attack=attack, cut=cut, doubt=doubt, details=details)


def drop_unplaced(target_map: TargetMap, inputs: AttackInputs) -> tuple[TargetMap, AttackInputs]:
    """Leave out the target records that the release does not place."""
    lost = ~np.isfinite(target_map.variance)
    if not lost.any():
        return target_map, inputs
    classes = np.where(lost, -1, inputs.candidates.target_class).astype(np.int32)
    candidates = replace(inputs.candidates, target_class=classes)
    kept = replace(target_map, variance=np.where(lost, 0.0, target_map.variance))
    return kept, replace(inputs, candidates=candidates)


def _explain_doubt(found: Alignments) -> str:
    """Return why the alignment is doubtful, or an empty text."""
    if found.ranked and found.ranked[0].evidence >= SURE:
        return ""
    best = f"log odds {found.ranked[0].evidence:.1f}, {SURE:.0f} are asked for" if found.ranked else "none was found"
    return f"no alignment of the target's map with the known file is clearly better than chance ({best})"


def choose_alignments(
    model: LikelihoodModel, target_map: TargetMap, *, inputs: AttackInputs, floor: float
) -> Alignments:
    """Return the alignments worth considering, under the known or the most likely displacement."""
    prior, motions = build_prior(model, target_map)
    find = partial(find_alignments, share=inputs.knowledge.common, start=inputs.start, tell=inputs.tell)
    if inputs.knowledge.noise is not None:
        return find(Aligner(model, target_map, prior), motions)
    tried, compared = [], 0
    for guess in GUESSES:
        width = max(guess * find_density_scale(prior, model), floor)
        aligner = Aligner(model.with_variances(np.full_like(model.variances, width**2)), target_map, prior)
        found = find(aligner, motions)
        compared += found.compared
        if found.ranked:
            fitted, best = estimate_noise(aligner, found.ranked[0], floor)
            tried.append(replace(found, aligner=fitted, ranked=[best]))
            if best.evidence > found.clear:
                break
    return replace(max(tried, key=lambda one: one.ranked[0].evidence, default=found), compared=compared)


def weigh_pairs(found: Alignments, common: float | None) -> tuple[Weighed, float]:
    """Return pairs with probabilities over all alignments worth considering, and the share of common targets."""
    aligner, probabilities = found.aligner, found.probabilities
    sizes = len(aligner.model.target_class), len(aligner.model.known_class)
    keys, values, shares = [], [], []
    for alignment, weight in zip(found.ranked, probabilities, strict=True):
        positions = alignment.motion(aligner.target_map.positions[aligner.who])
        extra = aligner.target_map.variance[aligner.who] + aligner.find_motion_variance(alignment)
        pairs = find_pairs(aligner.model, positions, extra, aligner.who)
        share, probability = weigh_matchings(pairs, sizes, common)
        keys.append(pairs.target * sizes[1] + pairs.known)
        values.append(weight * probability)
        shares.append(weight * share)
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(where, weights=np.concatenate(values), minlength=len(key)).astype(float)
    rows, columns = (key // sizes[1]).astype(np.int32), (key % sizes[1]).astype(np.int32)
    return (rows, columns, total), float(sum(shares) / probabilities.sum())


def level_strangers(model: LikelihoodModel, pairs: CandidatePairs) -> CandidatePairs:
    """Return the pairs with one density of strangers per target, the mean over its candidates.

    The model takes it around each known record, which also ranks a target's candidates by how sparsely people live
    around them. It is the target that may be a stranger: its candidates differ in their likelihoods only.
    """
    rarity, targets = model.rarity[pairs.known], len(model.target_class)
    likelihood, top = pairs.ratio - np.log(rarity), np.full(targets, -np.inf)
    np.maximum.at(top, pairs.target, likelihood)
    weight = np.exp(likelihood - top[pairs.target])
    total, size = (np.bincount(pairs.target, values, targets)[pairs.target] for values in (weight * rarity, weight))
    return pairs._replace(ratio=likelihood + np.log(total / size))


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
    first = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]]) if len(rows) else np.zeros(0, np.int64)
    many = np.diff(np.r_[first, len(rows)])
    tied = []
    for at, size in zip(first[many > 1], many[many > 1], strict=True):
        equal = int((fair[at : at + size] > fair[at] - TIE).sum())
        if equal > 1 and fair[at] > TIED:
            fair[at : at + equal] = fair[at : at + equal].min()
            tied.append(int(rows[at]) + 1)
    return (rows, known[order], fair), {"ties": {"targets": len(tied), "rows": tied}}


def best_of_each_target(claims: Claims) -> tuple[IntArray, IntArray]:
    """Return target rows and known rows of each target's most probable pair, however improbable it is.

    Where the probabilities are right, no other choice of one known record per target is expected to be right more
    often: of ``ceiling(..., bound=True)`` it is the most that any attack with one claim per target finds on average.
    """
    first = np.flatnonzero(np.diff(claims.target, prepend=-1))
    return claims.target[first], claims.known[first]
