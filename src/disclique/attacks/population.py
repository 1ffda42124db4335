"""The known people: everybody of a file in memory, or a sample of a register that is read in pieces.

A file in memory is a population of one piece. What follows from the known people alone (where they lie, how densely,
where strangers live) is worked out once for a population, which is passed to whatever attacks them.

A sample of a register tells how densely people live where they live densely. Elsewhere it does not: where a candidate
is found, others are more likely to live than a sample knows, and a density from the sample alone would make pairs look
too sure. So at the scales at which few of the sample are near, everybody is counted, in a stream over the pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks.thresholds import THRESHOLDS, Thresholds
from disclique.attacks.weigh.background import (
    Background,
    LeftOut,
    Predicted,
    lay_bells,
    learn_background,
    leave_out,
    number_rows,
)
from disclique.engine.kernels.neighbours import RelatedClasses, build_index, count_around, find_near
from disclique.memory import default_memory
from disclique.model import Candidates, Executor, Microdata, smooth_share
from disclique.records.registers import InTurn, Label, Register, Survey, stream, survey_register
from disclique.spaces import Points, spaced
from disclique.spaces.positions import KnownMap, find_east_north, locate_known
from disclique.values import FloatArray

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
class CountedPlaces:
    """Places around which people are counted in bells of some widths.

    ``related`` says which classes speak for that of a place; the person of ``left_out`` is not counted there.
    """

    number: dict[Label, int]  # of all labels
    frame: KnownMap  # the sphere or plane, without records
    axes: FloatArray
    variances: FloatArray
    places: FloatArray
    classes: Ints
    related: RelatedClasses
    left_out: Ints  # rows; -1 is nobody
    reach_sd: float

    def sum_bells(self, register: Register, piece: int) -> FloatArray:
        """Return the bells of everybody in a piece at each place: (any label or by label, scale, place)."""
        total = np.zeros((2, len(self.variances), len(self.places)))
        radius = self.reach_sd * float(np.sqrt(self.variances.max()))
        anybody = RelatedClasses(np.array([0, 1]), np.zeros(1, np.int64), np.zeros(1))
        for batch in register.batches([piece]):
            positions = self.frame.place(register.place(batch.coordinates))
            classes, nothing = batch.classes(self.number), np.zeros(len(batch), np.int64)
            for which, (seen, asked, related) in enumerate(
                ((nothing, np.zeros_like(self.classes), anybody), (classes, self.classes, self.related))
            ):
                index = build_index(positions, seen, self.axes, 2 * radius)
                at, known, relation = find_near(index, self.places, asked, related, radius)
                other = batch.first + known != self.left_out[at]
                at, known, relation = at[other], known[other], relation[other]
                square = ((self.places[at] - positions[known]) ** 2).sum(axis=1)
                odds = np.exp(np.minimum(related.gain[relation], 700.0))
                for scale, variance in enumerate(self.variances.tolist()):
                    height = np.exp(-square / (2 * variance)) / (2 * np.pi * variance)
                    height[square > self.reach_sd**2 * variance] = 0.0
                    total[which, scale] += np.bincount(at, odds * height, len(self.places))
        return total


@dataclass(frozen=True, eq=False)
class CountedBackground(Background):
    """The density of strangers in a register: at the first ``close`` scales from everybody, else from the sample."""

    survey: Survey = field(kw_only=True)
    frame: KnownMap = field(kw_only=True)
    axes: FloatArray = field(kw_only=True)
    mapper: Executor = field(kw_only=True)
    close: int = field(kw_only=True)
    kept: dict[tuple[bytes, bytes, bytes], FloatArray] = field(kw_only=True, default_factory=dict)  # the last answer

    def log_density(self, places: FloatArray, classes: Ints, related: RelatedClasses) -> FloatArray:
        """Return the log density of strangers at places, in records of the whole register per area.

        The last answer is kept: who asks whether people are shared and who weighs them ask about the same places.
        """
        asked = places.tobytes(), classes.tobytes(), related.gain.tobytes()
        if asked not in self.kept:
            found = self._count(places, classes, related)
            self.kept.clear()
            self.kept[asked] = found
        return self.kept[asked]

    def _count(self, places: FloatArray, classes: Ints, related: RelatedClasses) -> FloatArray:
        far = np.arange(len(self.bells)) >= self.close
        rest = replace(self, any_label=self.any_label * far, same_label=self.same_label * far, close=0)
        scale = len(self.survey) / max(len(self.known_class), 1)
        total = np.asarray(Background.log_density(rest, places, classes, related) + np.log(scale))
        if not self.close or not len(places):
            return total
        odds = np.exp(np.minimum(related.gain, 700.0))
        clear = related._replace(gain=np.where(odds >= self.how.faint_odds, related.gain, -np.inf))
        free, same = self.sum_around(LeftOut(np.full(len(places), -1), places, classes), clear)
        left = self.spell(related)[1][classes]
        near = self.any_label[: self.close] @ free + self.same_label[: self.close] @ (same + left * free)
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp(total, np.log(near)))

    def sum_around(self, asked: LeftOut, related: RelatedClasses) -> FloatArray:
        """Return the bells of everybody around places; ``asked.rows`` are the rows that are not counted."""
        around = CountedPlaces(
            self.survey.number,
            self.frame,
            self.axes,
            np.array([one.variance for one in self.bells[: self.close]]),
            asked.places,
            asked.classes,
            related,
            asked.rows,
            self.how.bell_reach_sd,
        )
        parts = dict(stream(self.survey.register, around.sum_bells, mapper=self.mapper))
        ordered = [parts[piece] for piece in range(len(parts))]  # whoever was first
        return np.asarray(np.sum(ordered, axis=0))

    def correct(self, predicted: Predicted, left_out: LeftOut) -> Predicted:
        """Return what is predicted of left-out records, at the close scales from everybody else in the register."""
        if not self.close:
            return predicted
        classes, n = len(self.survey.counts), len(self.survey)
        alone = RelatedClasses(np.arange(classes + 1), np.arange(classes), np.zeros(classes))
        rows = self.survey.sample.rows[left_out.rows]
        own = self.survey.sample.classes[left_out.rows]
        free, same = self.sum_around(LeftOut(rows, left_out.places, own), alone) / (n - 1)
        share = smooth_share(np.maximum(self.survey.counts[own] - 1.0, 0.0), 1.0, n - 1, max(classes, 1))
        unlabelled = left_out.classes < 0
        same = np.where(unlabelled, free, same / share)
        return Predicted(
            np.vstack((free, predicted.free[self.close :])),
            np.vstack((same, predicted.same[self.close :])),
            predicted.at_home,
        )


def count_everybody(
    sample: KnownMap, laid: Background, *, survey: Survey, mapper: Executor, near: Callable[[float], float]
) -> CountedBackground:
    """Learn where strangers live from the bells of a sample and from everybody.

    ``near`` says how many people live within a radius of one of them, on average; everybody is counted at the scales at
    which there are not enough of the sample.
    """
    classes, how = laid.known_class, laid.how
    scale, close = len(survey) / max(len(classes), 1), 0
    for one in laid.bells:
        many = near(one.reach)
        if many > how.crowd * scale:
            break
        close += 1
    none = np.zeros((0, 3))
    found = CountedBackground(
        **vars(laid),
        survey=survey,
        frame=replace(sample, positions=none, east=none, north=none),
        axes=find_east_north(sample, sample.positions.mean(axis=0)),
        mapper=mapper,
        close=close,
    )
    if len(classes) < 3:
        return found
    left_out = leave_out(sample, classes, found.sigma, how.left_out)
    return found.fit(found.correct(found.predict(left_out, sample), left_out))


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
