"""Registration as an attack: from the target's map to probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import Weighed, make_claims, no_claims
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.register.align import Found, Start, Tell, align, granted, land_cell, terrain
from disclique.attacks.register.likelihood import Pairs, Scene, cells_of, pairs_near, reach, scene_of
from disclique.attacks.register.maps import Map
from disclique.attacks.register.noise import estimate_noise
from disclique.attacks.register.positions import Frame
from disclique.attacks.register.posterior import estimated_share, matching_posterior
from disclique.attacks.register.refine import Aligner, Alignment
from disclique.model import Candidates, Claims, FloatArray, Json, Spread

Ints = NDArray[np.int64]
# Log odds for the alignment below which only a bold snooper claims anything. Chosen on simulated data sets: 96 without
# a common record stayed at 4.0 or less, 48 with 10 common of 500 were at 4.5 or more (σ = .005 and .01 degrees).
SURE = 4.0
FINEST = 1e-6  # of the extent of the known file: places nearer than that are one place
GUESSES = (0.5, 0.1, 0.02)  # of the grain of the land: what an unknown displacement is first taken for
TIE = 1e-3  # probabilities nearer than that are equal
TIED = 0.05  # a tie between pairs less probable than that is none worth naming


@dataclass(frozen=True, eq=False)
class Task:
    """All that is given besides the target's map."""

    frame: Frame
    candidates: Candidates
    knowledge: Knowledge
    start: Start | None = None
    tell: Tell = lambda _: None

    @property
    def finest(self) -> float:
        """The displacement that counts as none."""
        positions = self.frame.positions
        return FINEST * max(float(np.linalg.norm(np.ptp(positions, axis=0))) if len(positions) else 0.0, 1e-300)

    def scene(self, noise: Spread, floor: float) -> Scene:
        """The known file under a displacement."""
        variances = self.frame.variances(noise, self.knowledge.coordinate_error)
        return scene_of(self.frame, self.candidates, np.maximum(variances, floor**2))


def link(chart: Map, task: Task, method: str, details: Json) -> Claims:
    """What a snooper with the target's map can claim."""
    began = perf_counter()
    chart, task = placed_only(chart, task)
    floor = max(task.finest, 0.0 if chart.variance.any() else 2 * chart.misfit)
    metric = "plane" if task.frame.flat else "km"
    scene = task.scene(task.knowledge.noise or Spread(0.0, 0.0, metric), floor)
    details |= {"map": {"misfit": chart.misfit, "error": float(np.sqrt(chart.variance.mean()))}}
    if not scene.alive.any():
        return no_claims("no target record has a possible counterpart by its label", attack=method, details=details)
    if np.ptp(chart.positions[scene.alive], axis=0).max() <= 10 * task.finest:
        why = "all target records lie at one place: their distances say nothing beyond their labels"
        return no_claims(why, attack=method, details=details)
    task.tell("looking for the alignment with the known file")
    aligner, found = best_alignment(scene, chart, task, floor)
    aligned = perf_counter()
    doubt = _doubt(found)
    if doubt and task.knowledge.bold and task.knowledge.common is not None:
        found = granted(found, task.knowledge.common)
    if doubt and not (task.knowledge.bold and found.ways):
        details |= {"seconds": details.get("seconds", {}) | {"align": aligned - began}}
        details |= {"evidence": found.ways[0].evidence if found.ways else None}
        return no_claims(doubt, attack=method, details=details)
    task.tell("weighing the candidate pairs")
    claims, share = weigh(aligner, found, task)
    seconds = details.get("seconds", {}) | {"align": aligned - began, "posterior": perf_counter() - aligned}
    details |= describe(aligner, found.ways[0], share) | {"ways": len(found.ways), "seconds": seconds}
    claims, tied = evened(claims)
    details |= tied
    return make_claims(claims, attack=method, doubt=doubt, details=details)


def placed_only(chart: Map, task: Task) -> tuple[Map, Task]:
    """Map and task without the target records that the release does not place."""
    lost = ~np.isfinite(chart.variance)
    if not lost.any():
        return chart, task
    classes = np.where(lost, -1, task.candidates.target_class).astype(np.int32)
    candidates = replace(task.candidates, target_class=classes)
    kept = replace(chart, variance=np.where(lost, 0.0, chart.variance))
    return kept, replace(task, candidates=candidates)


def _doubt(found: Found) -> str:
    """Why the alignment is doubtful, or nothing."""
    if found.ways and found.ways[0].evidence >= SURE:
        return ""
    best = f"log odds {found.ways[0].evidence:.1f}, {SURE:.0f} are asked for" if found.ways else "none was found"
    return f"no alignment of the target's map with the known file is clearly better than chance ({best})"


def best_alignment(scene: Scene, chart: Map, task: Task, floor: float) -> tuple[Aligner, Found]:
    """The alignments worth considering, under the known or the most likely displacement."""
    prior, motions = terrain(scene, chart)
    share = task.knowledge.common
    if task.knowledge.noise is not None:
        aligner = Aligner(scene, chart, prior)
        return aligner, align(aligner, motions, share, task.start, task.tell)
    best: tuple[Aligner, Found] | None = None
    for guess in GUESSES:
        width = max(guess * land_cell(prior.land, scene), floor)
        aligner = Aligner(scene.widened(np.full_like(scene.variances, width**2)), chart, prior)
        found = align(aligner, motions, share, task.start, task.tell)
        if found.ways:
            fitted, way = estimate_noise(aligner, found.ways[0], floor)
            if best is None or way.evidence > best[1].ways[0].evidence:
                best = fitted, replace(found, aligner=fitted, ways=[way])
            if way.evidence > found.clear:
                break
    return best if best is not None else (aligner, found)


def weigh(aligner: Aligner, found: Found, task: Task) -> tuple[Weighed, float]:
    """Target rows, known rows and probabilities over all alignments worth considering, and the share of common ones."""
    belief = found.belief
    sizes = len(aligner.scene.target_class), len(aligner.scene.known_class)
    keys, values, shares = [], [], []
    for way, weight in zip(found.ways, belief, strict=True):
        positions = way.motion(aligner.map.positions[aligner.who])
        extra = aligner.map.variance[aligner.who] + aligner.wobble(way)
        pairs = candidate_pairs(aligner.scene, positions, extra, aligner.who)
        share, probability = posterior(pairs, sizes, task.knowledge.common)
        keys.append(pairs.target * sizes[1] + pairs.known)
        values.append(weight * probability)
        shares.append(weight * share)
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(where, weights=np.concatenate(values), minlength=len(key)).astype(float)
    rows, columns = (key // sizes[1]).astype(np.int32), (key % sizes[1]).astype(np.int32)
    return (rows, columns, total), float(sum(shares) / belief.sum())


def candidate_pairs(scene: Scene, positions: FloatArray, extra: FloatArray, who: Ints) -> Pairs:
    """Candidate pairs of the targets ``who`` at ``positions``, by target row of the file."""
    pairs = pairs_near(scene, positions, extra, cells_of(scene, reach(scene, extra)), who)
    return pairs._replace(target=who[pairs.target])


def posterior(pairs: Pairs, sizes: tuple[int, int], common: float | None) -> tuple[float, FloatArray]:
    """The share of common targets, given or estimated, and the probability of each pair."""
    if common is None:
        common = estimated_share(pairs.target, pairs.known, pairs.ratio, sizes=sizes)
    return common, matching_posterior(pairs.target, pairs.known, pairs.ratio, sizes=sizes, common=common)


def describe(aligner: Aligner, way: Alignment, share: float) -> Json:
    """The alignment in numbers."""
    deviation = np.sqrt(np.median(aligner.scene.variances, axis=0))
    return {
        "alignment": {
            "turn": way.motion.turn.tolist(),
            "shift": way.motion.shift.tolist(),
            "mirrored": way.motion.mirrored,
            "log_odds": way.evidence,
            "log_likelihood_ratio": way.ratio,
        },
        "noise": {"east": float(deviation[0]), "north": float(deviation[1])},
        "common": share,
    }


def evened(claims: Weighed) -> tuple[Weighed, Json]:
    """Claims in which a target's equally probable counterparts are equal to the last digit, and who has such ties.

    Nobody can tell them apart, so that rounding must not lift one of them above one half (rows from 1).
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
