"""The people of a register as a sample of them tells: how densely they live, and a model of some of them.

A model of few records that is held to the whole register: class counts, rarity, strangers and sizes are those of
everybody, whichever records it has at hand. A density from the few alone would be too low, and pairs would look too
sure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks.align.likelihood import NEIGHBOURS, LikelihoodModel, relate_classes
from disclique.attacks.align.shared import recall
from disclique.attacks.weigh.background import Background, number_rows
from disclique.attacks.weigh.nearby import learn_streamed
from disclique.model import Candidates, FloatArray
from disclique.records.registers import Mapper, Records, Survey
from disclique.spaces import spaced
from disclique.spaces.positions import KnownMap, find_east_north

Ints = NDArray[np.int64]
FINE = 0.25  # of the noise: places in one cube of this width have one rarity
PROBED = 2000  # people by whom it is found out how crowded a register is


@dataclass(frozen=True, eq=False)
class Population:
    """A register, with a sample of its people laid out on the map."""

    survey: Survey
    known_map: KnownMap  # of the sample
    classes: Ints  # of the sample; -1 for a label that matches nobody
    mapper: Mapper  # where streams over the register run

    @property
    def size(self) -> int:
        """Number of people in the register."""
        return len(self.survey)

    @property
    def scale(self) -> float:
        """How many people one of the sample stands for."""
        return self.size / max(len(self.survey.sample), 1)

    @property
    def neighbours(self) -> int:
        """How many of the sample a density is counted by: as many would smear villages over the fields around them."""
        return int(np.clip(round(NEIGHBOURS / self.scale), 1, NEIGHBOURS))

    @cached_property
    def tree(self) -> cKDTree:
        """The tree of the sample's places."""
        return cKDTree(self.known_map.positions)

    @cached_property
    def area(self) -> float:
        """The area on which the people live."""
        rows = spaced(len(self.survey.sample), PROBED)
        here = self.known_map
        few = replace(here, positions=here.positions[rows], east=here.east[rows], north=here.north[rows])
        rarity = self.measure_rarity(few, np.zeros(len(rows)), self.survey.sample.rows[rows])
        return float(rarity.mean() * self.size)

    def learn(self, sigma: float) -> Background:
        """Learn the density of strangers under noise of this width."""
        return learn_streamed(
            self.known_map, self.classes, sigma, survey=self.survey, mapper=self.mapper, near=self.count_near
        )

    def count_near(self, radius: float) -> float:
        """Return how many people live within a radius of one of them, on average."""
        rows = spaced(len(self.survey.sample), PROBED)
        near = self.tree.query_ball_point(self.known_map.positions[rows], radius, return_length=True)
        return float(np.mean(near - 1) * self.scale)

    def measure_rarity(self, known_map: KnownMap, least: FloatArray, rows: Ints) -> FloatArray:
        """Measure the area per person around some people of the register, not finer than the noise ``least``.

        As ``measure_rarity`` of a whole file does; ``rows`` says who of them is in the sample and is left out.
        """
        positions, n = known_map.positions, len(self.survey.sample)
        if not len(positions):
            return np.zeros(0)
        if n <= NEIGHBOURS:
            extent = float(np.linalg.norm(self.survey.high - self.survey.low))
            return np.full(len(positions), max(extent**2, 1e-12) / max(self.size, 1))
        probe = spaced(len(positions), PROBED)
        near = self.tree.query(positions[probe], k=[self.neighbours])[0][:, 0]
        if len(positions) > PROBED and np.mean(near < least[probe]) > 0.5:
            cube, _ = number_rows(np.floor(positions / (FINE * float(least.min()))))
            first = np.unique(cube, return_index=True)[1]
            if 2 * len(first) < len(positions):
                return self._measure(positions[first], least[first], rows[first])[cube]
        return self._measure(positions, least, rows)

    def _measure(self, positions: FloatArray, least: FloatArray, rows: Ints) -> FloatArray:
        own = np.isin(rows, self.survey.sample.rows)
        both = self.tree.query(positions, k=[self.neighbours, self.neighbours + 1])[0]
        radius, count = np.where(own, both[:, 1], both[:, 0]), np.full(len(positions), float(self.neighbours))
        coarse = np.flatnonzero(radius < least)
        if len(coarse):
            radius[coarse] = least[coarse]
            near = self.tree.query_ball_point(positions[coarse], radius[coarse], return_length=True)
            count[coarse] = near - own[coarse]
        extent = float(np.linalg.norm(np.ptp(self.known_map.positions, axis=0)))
        radius = np.maximum(radius, 1e-9 * max(extent, 1e-9))
        return np.asarray(np.pi * radius**2 / np.maximum(count, 1) / self.scale)


@dataclass(frozen=True, eq=False)
class PartModel(LikelihoodModel):
    """The model of a whole register of which some records are at hand.

    ``people`` are these records, ``classes`` those whose records they may be: a target of another label is left out.
    ``left_out`` is, for every target, the log density of possible counterparts that are not at hand.
    """

    population: Population = field(kw_only=True)
    people: Records = field(kw_only=True)
    classes: Ints = field(kw_only=True)
    left_out: FloatArray | None = field(kw_only=True, default=None)

    @property
    def records(self) -> int:
        """Number of people in the register."""
        return self.population.size

    @property
    def area(self) -> float:
        """The area on which the people of the register live."""
        return self.population.area

    @property
    def present(self) -> Ints:
        """The classes of which known records are looked at."""
        return self.classes

    def remeasured(self) -> PartModel:
        """Return the same model with the rarity of each record as it is under its displacement."""
        return replace(self, rarity=self._rarity())

    def learn(self, sigma: float) -> Background:
        """Learn the density of strangers in the register under noise of this width."""
        return self.population.learn(sigma)

    def recall_strangers(self, key: int, make: Callable[[], Background]) -> Background:
        """Return what was learned of the whole register, whichever part is at hand."""
        return recall(self.population.known_map, ("strangers", key), make)

    def crowd(self, who: Ints) -> FloatArray | None:
        """Return the log density of counterparts that were left out around targets."""
        return None if self.left_out is None else self.left_out[who]

    def _rarity(self) -> FloatArray:
        least = np.sqrt(self.variances.max(axis=1)) if len(self.variances) else np.zeros(0)
        return self.population.measure_rarity(self.known_map, least, self.people.rows)


def model_part(
    population: Population,
    people: Records,
    candidates: Candidates,
    *,
    variances: Callable[[KnownMap], FloatArray],
    classes: Ints,
) -> PartModel:
    """Build the model of a register with some of its people at hand, their rarity not yet measured.

    ``candidates`` carry the evidence of labels, ``variances`` tells those of the displacement around known records.
    """
    known_map = population.known_map.locate(population.survey.register.place(people.coordinates))
    return PartModel(
        known_map,
        candidates.target_class.astype(np.int64),
        people.classes,
        relate_classes(candidates),
        variances(known_map),
        np.zeros(len(people)),
        find_east_north(known_map, population.known_map.positions.mean(axis=0)),
        population=population,
        people=people,
        classes=classes,
    )
