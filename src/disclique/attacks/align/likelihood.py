"""The likelihood of registration: how surely a target record that lies here is one of the known records around.

A target record is common to both files with probability π; it then lies around its known record by the mask's law.
Otherwise it is somebody else, and lies where people of its label live: with the density of the known file there. All
likelihoods are ratios to that local density, so that a motion gains nothing from moving the map to a crowded place.
While motions are searched, the density is a rough one around each known record (``rarity``); pairs are weighed by that
of strangers at the target's place (``weigh.background``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.population import Population
from disclique.attacks.thresholds import Thresholds
from disclique.attacks.weigh.background import Background
from disclique.engine.kernels.alignment import ClassMembers
from disclique.engine.kernels.neighbours import CellIndex, RelatedClasses, build_index, find_near
from disclique.model import Candidates, FloatArray
from disclique.records.registers import Records
from disclique.spaces.positions import KnownMap, find_east_north

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
