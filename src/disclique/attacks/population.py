"""The known people: everybody of a file in memory, or a sample of a register that is read in pieces.

A file in memory is a population of one piece. What follows from the known people alone (where they lie, how densely,
where strangers live) is worked out once for a population, which is passed to whatever attacks them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks.thresholds import THRESHOLDS, Thresholds
from disclique.attacks.weigh.background import (
    Background,
    count_everybody,
    lay_bells,
    learn_background,
    number_rows,
)
from disclique.engine.kernels.neighbours import build_index, count_around
from disclique.memory import default_memory
from disclique.model import Candidates, Executor, FloatArray, Microdata
from disclique.records.registers import InTurn, Register, Survey, survey_register
from disclique.spaces import Points, spaced
from disclique.spaces.positions import KnownMap, find_east_north, locate_known

Ints = NDArray[np.int64]
T = TypeVar("T")
MOST_KEPT = 400_000  # records of all that is kept of one population together; some hundred megabytes at the most


@dataclass(frozen=True, eq=False)
class Population:
    """The known people, those at hand laid out on the map.

    ``survey`` is that of a register of whom only a sample is at hand, unless it fits; streams over it run where
    ``mapper`` runs them and take about ``memory`` bytes together. ``kept`` is what was worked out once.
    """

    points: Points
    known_map: KnownMap
    survey: Survey | None = None
    mapper: Executor = field(default_factory=InTurn)
    memory: int = 0
    thresholds: Thresholds = THRESHOLDS
    kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, known: Points | Population, thresholds: Thresholds = THRESHOLDS) -> Population:
        """Return the population of points in memory; one that was prepared stays as it is."""
        if isinstance(known, Population):
            return known
        return cls(known, locate_known(known), thresholds=thresholds)

    @classmethod
    def of_register(
        cls,
        register: Register,
        *,
        mapper: Executor | None = None,
        memory: int | None = None,
        told: Callable[[float], None] | None = None,
        thresholds: Thresholds = THRESHOLDS,
    ) -> Population:
        """Go over a register once, and hold as many of its people as fit into some bytes."""
        allowed, how = default_memory() if memory is None else memory, thresholds.stream
        size = int(max(min(how.sample, allowed // how.sample_bytes), how.least_sample))
        survey = survey_register(register, size, mapper=mapper, told=told)
        points = survey.points
        return cls(points, locate_known(points), survey, mapper or InTurn(), allowed, thresholds)

    @property
    def whole(self) -> bool:
        """True if everybody is at hand."""
        return self.survey is None or self.survey.whole

    @property
    def size(self) -> int:
        """Number of people."""
        return self.points.size if self.survey is None else len(self.survey)

    @property
    def scale(self) -> float:
        """How many people one of those at hand stands for."""
        return self.size / max(self.points.size, 1)

    def keep(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what was worked out before, or work it out; of many things the last ones are kept."""
        found: T | None = self.kept.pop(what, None)
        if found is None:
            found = make()
        self.kept[what] = found
        for old in list(self.kept)[: -max(MOST_KEPT // max(self.points.size, 1), 1)]:
            self.kept.pop(old, None)
        return found

    def relate(self, candidates: Candidates) -> Candidates:
        """Return candidates between targets and the *labels* of a register as those between targets and its sample.

        The evidence of a label is that of the whole register.
        """
        assert self.survey is not None
        evidence = candidates.label_odds(self.survey.counts)
        known = candidates.known_class[self.survey.sample.classes].astype(np.int32)
        return Candidates(candidates.target_class, known, candidates.relation, evidence)

    def find_strangers(self, classes: Ints, variance: float) -> Background:
        """Return the density of strangers, seen under noise of this variance, by the classes of those at hand."""
        fine = self.thresholds.weigh.same_width_log
        width = round(float(np.log(max(variance, 1e-300)) / 2) / fine)
        return self.keep(
            ("strangers", width, classes.tobytes()), lambda: self._learn(classes, float(np.exp(width * fine)))
        )

    def _learn(self, classes: Ints, sigma: float) -> Background:
        how = self.thresholds.weigh
        if self.survey is None or self.whole:
            return learn_background(self.known_map, classes, sigma, how)
        laid = lay_bells(self.known_map, classes, sigma, how)
        return count_everybody(self.known_map, laid, survey=self.survey, mapper=self.mapper, near=self.count_near)

    @cached_property
    def tree(self) -> cKDTree:
        """The tree of the places at hand."""
        return cKDTree(self.known_map.positions)

    @cached_property
    def area(self) -> float:
        """The area on which the people of a register live."""
        assert self.survey is not None
        rows = spaced(self.points.size, self.thresholds.stream.probed)
        few = self.known_map.select(rows)
        return float(self.measure_rarity(few, np.zeros(len(rows)), self.survey.sample.rows[rows]).mean() * self.size)

    def count_near(self, radius: float) -> float:
        """Return how many people live within a radius of one of them, on average."""
        rows = spaced(self.points.size, self.thresholds.stream.probed)
        near = self.tree.query_ball_point(self.known_map.positions[rows], radius, return_length=True)
        return float(np.mean(near - 1) * self.scale)

    def measure_rarity(self, known_map: KnownMap, least: FloatArray, rows: Ints | None = None) -> FloatArray:
        """Measure the area per person around some people, not finer than the noise ``least``.

        They are everybody, or ``rows`` of a register, of whom those in the sample are left out themselves.
        """
        if rows is None:
            return self.keep(("rarity", least.tobytes()), lambda: measure_rarity(known_map, least, self.thresholds))
        assert self.survey is not None
        positions, how = known_map.positions, self.thresholds
        if not len(positions):
            return np.zeros(0)
        if self.points.size <= how.weigh.neighbours:
            extent = float(np.linalg.norm(self.survey.high - self.survey.low))
            return np.full(len(positions), max(extent**2, 1e-12) / max(self.size, 1))
        probe = spaced(len(positions), how.stream.probed)
        near = self.tree.query(positions[probe], k=[self.neighbours])[0][:, 0]
        if len(positions) > how.stream.probed and np.mean(near < least[probe]) > 0.5:
            cube, _ = number_rows(np.floor(positions / (how.stream.cube_share * float(least.min()))))
            first = np.unique(cube, return_index=True)[1]
            if 2 * len(first) < len(positions):
                return self._measure(positions[first], least[first], rows[first])[cube]
        return self._measure(positions, least, rows)

    @property
    def neighbours(self) -> int:
        """How many of the sample a density is counted by: as many would smear villages over the fields around them."""
        most = self.thresholds.weigh.neighbours
        return int(np.clip(round(most / self.scale), 1, most))

    def _measure(self, positions: FloatArray, least: FloatArray, rows: Ints) -> FloatArray:
        assert self.survey is not None
        own = np.isin(rows, self.survey.sample.rows)
        both = self.tree.query(positions, k=[self.neighbours, self.neighbours + 1])[0]
        radius, count = np.where(own, both[:, 1], both[:, 0]), np.full(len(positions), float(self.neighbours))
        coarse = np.flatnonzero(radius < least)
        if len(coarse):
            radius[coarse] = least[coarse]
            near = self.tree.query_ball_point(positions[coarse], radius[coarse], return_length=True)
            count[coarse] = near - own[coarse]
        radius = np.maximum(radius, 1e-9 * max(self.known_map.extent, 1e-9))
        return np.asarray(np.pi * radius**2 / np.maximum(count, 1) / self.scale)


@dataclass(frozen=True, eq=False)
class PreparedFile(Microdata):
    """Microdata with what attacks work out from the known side alone, once for however many releases."""

    @cached_property
    def population(self) -> Population | None:
        """The people of the file, by their coordinates or by the places to which a matrix was scaled."""
        points = self.distances.vectors()
        if points is None and (scaled := self.distances.to_map()) is not None:
            points = scaled.places()
        return None if points is None else Population.of(points)


def prepare(known: Microdata) -> PreparedFile:
    """Return a known file as one that several releases are attacked with: what they share is worked out once.

    >>> import disclique as dq
    >>> known = prepare(dq.cities())
    >>> prepare(known) is known
    True
    """
    if isinstance(known, PreparedFile):
        return known
    return PreparedFile(**{one.name: getattr(known, one.name) for one in fields(Microdata)})


def measure_rarity(known_map: KnownMap, least: FloatArray, thresholds: Thresholds = THRESHOLDS) -> FloatArray:
    """Measure the area per known record around each of them, not finer than the noise ``least``.

    The record itself is left out, for it is there by hypothesis; 1 / density is what enters the likelihood, and the
    area to the k-th neighbour over k is its unbiased estimate.
    """
    n, how = len(known_map.positions), thresholds.weigh
    if n < 3:
        return np.full(n, max(known_map.extent**2, 1e-12) / max(n, 1))
    tree = cKDTree(known_map.positions)
    k = min(how.neighbours, n - 1)
    radius = tree.query(known_map.positions, k=[k + 1])[0][:, 0]
    count = np.full(n, float(k))
    coarse = np.flatnonzero(radius < least)
    if len(coarse):
        radius[coarse] = least[coarse]
        axes = find_east_north(known_map, known_map.positions.mean(axis=0))
        width = how.counted_share * float(radius[coarse].max())
        index = build_index(known_map.positions, np.zeros(n, np.int64), axes, width)
        count[coarse] = count_around(index, known_map.positions[coarse], radius[coarse]) - 1
    floor = 1e-9 * max(known_map.extent, 1e-9)
    return np.asarray(np.pi * np.maximum(radius, floor) ** 2 / np.maximum(count, 1))
