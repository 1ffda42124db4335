"""The likelihood of registration: how surely a target record that lies here is one of the known records around.

A target record is common to both files with probability π; it then lies around its known record by the mask's law.
Otherwise it is somebody else, and lies where people of its label live: with the density of the known file there. All
likelihoods are ratios to that local density, so that a motion gains nothing from moving the map to a crowded place.
While motions are searched, the density is a rough one around each known record (``rarity``); pairs are weighed by that
of strangers at the target's place (``background``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks.align.shared import recall
from disclique.attacks.weigh.background import Background, learn_background, smooth_share
from disclique.engine.kernels.alignment import ClassMembers
from disclique.engine.kernels.neighbours import CellIndex, RelatedClasses, build_index, count_around, find_near
from disclique.model import Candidates, FloatArray
from disclique.spaces.positions import KnownMap, find_east_north

Ints = NDArray[np.int64]
NEIGHBOURS = 5  # a density from fewer neighbours is noisy, from more it smears cities
FINE = 0.02  # widths of noise nearer to each other than that, in logs, have one density of strangers
COUNTED = 0.5  # width of the cells in which neighbours are counted, of the radius
REACH = 4.0  # candidates are sought within so many standard deviations


@dataclass(frozen=True, eq=False)
class LikelihoodModel:
    """The known map, the labels of both files, the law of displacement and the density of strangers."""

    known_map: KnownMap
    target_class: Ints
    known_class: Ints
    related: RelatedClasses
    variances: FloatArray  # (known, 2): east and north
    rarity: FloatArray  # (known,): 1 / density of known records around each of them, itself left out
    axes: FloatArray  # (2, 3): directions across the known file

    @property
    def records(self) -> int:
        """Number of known records."""
        return len(self.known_class)

    @property
    def area(self) -> float:
        """The area that the known records occupy."""
        return float(self.rarity.sum())

    def remeasured(self) -> LikelihoodModel:
        """Return the same model with the rarity of each record as it is under its displacement."""
        return replace(self, rarity=measure_rarity(self.known_map, np.sqrt(self.variances.max(axis=1))))

    def crowd(self, who: Ints) -> FloatArray | None:
        """Return the log density of counterparts that were left out around targets; None where none was."""
        return None

    def background(self, blur: float) -> Background:
        """Return the density of strangers, seen under this displacement and a further variance; learned once."""
        width = float(np.log(max(np.median(self.variances) + blur, 1e-300)) / 2)
        key = round(width / FINE)
        return self.recall_strangers(key, lambda: self.learn(float(np.exp(key * FINE))))

    def recall_strangers(self, key: int, make: Callable[[], Background]) -> Background:
        """Return the density of strangers that was learned of this file before under this width, or make it."""
        return recall(self.known_map, ("strangers", key, self.known_class.tobytes()), make)

    def learn(self, sigma: float) -> Background:
        """Learn the density of strangers under noise of this width."""
        return learn_background(self.known_map, self.known_class, sigma)

    @property
    def present(self) -> Ints:
        """The classes that known records have."""
        return np.unique(self.known_class[self.known_class >= 0])

    @property
    def matchable(self) -> NDArray[np.bool_]:
        """True for the targets that have a known record of a related label at all."""
        some = np.isin(self.related.known, self.present)
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


def build_model(known_map: KnownMap, candidates: Candidates, variances: FloatArray) -> LikelihoodModel:
    """Build the model of a known file under a displacement."""
    target_class, known_class = candidates.target_class.astype(np.int64), candidates.known_class.astype(np.int64)
    related = relate_classes(candidates)
    least = np.sqrt(variances.max(axis=1))
    rarity = recall(known_map, ("rarity", least.tobytes()), lambda: measure_rarity(known_map, least))
    axes = find_east_north(known_map, known_map.positions.mean(axis=0))
    return LikelihoodModel(known_map, target_class, known_class, related, variances, rarity, axes)


def relate_classes(candidates: Candidates) -> RelatedClasses:
    """Return the known classes of every target class, with the evidence that each carries."""
    relation, known_class = candidates.relation.astype(np.int64).reshape(-1, 2), candidates.known_class
    classes = int(max(candidates.target_class.max(initial=-1), relation[:, 0].max(initial=-1))) + 1
    order = np.lexsort((relation[:, 1], relation[:, 0]))
    start = np.searchsorted(relation[order, 0], np.arange(classes + 1))
    evidence = candidates.evidence
    if evidence is None:
        evidence = weigh_labels(relation, np.bincount(known_class[known_class >= 0]), len(known_class))
    return RelatedClasses(start.astype(np.int64), relation[order, 1].copy(), np.asarray(evidence, float)[order])


def weigh_labels(relation: Ints, counts: Ints, records: int) -> FloatArray:
    """Return the evidence of a shared label: how much rarer it is than any label.

    ``counts`` are how many of the known ``records`` have each class.
    """
    counts = np.pad(counts, (0, max(int(relation.max(initial=0)) + 1 - len(counts), 0))).astype(float)
    seen = np.bincount(relation[:, 0], weights=counts[relation[:, 1]], minlength=1)
    share = smooth_share(seen, np.bincount(relation[:, 0], minlength=1), records, int((counts > 0).sum()))
    return np.asarray(-np.log(np.minimum(share, 1.0)[relation[:, 0]]))


def measure_rarity(known_map: KnownMap, least: FloatArray) -> FloatArray:
    """Measure the area per known record around each of them, not finer than the noise ``least``.

    The record itself is left out, for it is there by hypothesis; 1 / density is what enters the likelihood, and the
    area to the k-th neighbour over k is its unbiased estimate.
    """
    n = len(known_map.positions)
    if n < 3:
        return np.full(n, max(float(_measure_extent(known_map.positions)) ** 2, 1e-12) / max(n, 1))
    tree = cKDTree(known_map.positions)
    k = min(NEIGHBOURS, n - 1)
    radius = tree.query(known_map.positions, k=[k + 1])[0][:, 0]
    count = np.full(n, float(k))
    coarse = np.flatnonzero(radius < least)
    if len(coarse):
        radius[coarse] = least[coarse]
        axes = find_east_north(known_map, known_map.positions.mean(axis=0))
        index = build_index(known_map.positions, np.zeros(n, np.int64), axes, COUNTED * float(radius[coarse].max()))
        count[coarse] = count_around(index, known_map.positions[coarse], radius[coarse]) - 1
    floor = 1e-9 * max(float(_measure_extent(known_map.positions)), 1e-9)
    return np.asarray(np.pi * np.maximum(radius, floor) ** 2 / np.maximum(count, 1))


def _measure_extent(positions: FloatArray) -> float:
    return float(np.linalg.norm(np.ptp(positions, axis=0))) if len(positions) else 0.0


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
    return REACH * float(np.sqrt(model.variances.max(initial=0.0) + np.max(blur, initial=0.0)))


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
