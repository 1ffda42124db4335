"""Strangers: how densely people who are in nobody's known file live around a place, and with which labels.

A target that is not in the known file is one more person from the population that the known file was drawn from. Where
such a person lives, and with which label, is predicted from the known records alone, as a mixture: with some
probability near a known record, at one of several scales from "in the same home" to "somewhere in the region", and with
either any label or the label of that record; or in a known home, whether many of its people are known or one. The
probabilities are learned from the known file by leaving each record out in turn and predicting it from the others
(expectation and maximisation). Villages, households and labels that cluster in space are found that way where there are
any, and cost little where there are none.

A stranger is seen after the mask, so that all of this is blurred by the noise: nobody's density becomes infinite where
several people live at one place. At each scale records are counted in cubes smaller than the bell that is laid around
them, so that a place has a bounded number of neighbours at every scale and the cost is O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from disclique.attacks.thresholds import THRESHOLDS, Weighing
from disclique.engine.kernels.neighbours import (
    CellIndex,
    CountedCubes,
    RelatedClasses,
    build_index,
    sum_bells,
)
from disclique.model import smooth_share
from disclique.spaces.positions import KnownMap, find_east_north
from disclique.values import FloatArray

Ints = NDArray[np.int64]
TINY = 1e-12  # of the coordinates: cells are no smaller
BATCH = 4000  # places looked up at a time


@dataclass(frozen=True, eq=False)
class Bells:
    """The known records at one scale: counted in cubes, with a bell around the middle of each."""

    variance: float  # per axis: of the scale and of the mask
    cell: Ints  # (known,): the cube of each record
    centre: FloatArray  # (cubes, 3)
    count: FloatArray  # (cubes,)
    reach: float  # of a bell

    @cached_property
    def tree(self) -> cKDTree:
        """The tree of the cubes' middles."""
        return cKDTree(self.centre)

    def height(self, places: FloatArray, centres: FloatArray) -> FloatArray:
        """Return the height at each place of the bell around its own centre."""
        square = ((places - centres) ** 2).sum(axis=1)
        high = np.exp(-square / (2 * self.variance)) / (2 * np.pi * self.variance)
        return np.where(square <= self.reach**2, high, 0.0)

    def index(self, known_map: KnownMap) -> CellIndex:
        """Index the middles of the cubes so that those within reach are found at once."""
        axes = find_east_north(known_map, known_map.positions.mean(axis=0))
        width = max(2 * self.reach, TINY * float(np.abs(self.centre).max()))  # cells are numbered by whole numbers
        return build_index(self.centre, np.zeros(len(self.centre), np.int64), axes, width)

    def count_labels(self, known_class: Ints, homes: FloatArray) -> CountedCubes:
        """Count the records in each cube, with their classes in order and the homes there."""
        start = np.concatenate(([0], np.cumsum(self.count.astype(np.int64))))
        return CountedCubes(self.count, start, known_class[np.lexsort((known_class, self.cell))], homes)

    def around(self, places: FloatArray) -> tuple[Ints, Ints, FloatArray]:
        """Return places, cubes and the height of the bell for all that are within reach."""
        found = cKDTree(places).sparse_distance_matrix(self.tree, self.reach, output_type="ndarray")
        height = np.exp(-(found["v"] ** 2) / (2 * self.variance)) / (2 * np.pi * self.variance)
        return found["i"], found["j"], height


def _build_bells(positions: FloatArray, scale: float, sigma: float, how: Weighing) -> Bells:
    variance = scale**2 + sigma**2
    cell, count = number_rows(np.floor(positions / (how.cube_sd * np.sqrt(variance))))
    centre = np.stack([np.bincount(cell, positions[:, axis]) for axis in range(3)], axis=1) / count[:, None]
    return Bells(variance, cell, centre, count.astype(float), float(how.bell_reach_sd * np.sqrt(variance)))


def number_rows(rows: FloatArray) -> tuple[Ints, Ints]:
    """Number the distinct rows in the order of their values; return the number of each row, and how many have it."""
    order = np.lexsort(rows.T)
    ordered = rows[order]
    new = np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1)))
    number = np.empty(len(rows), np.int64)
    number[order] = np.cumsum(new) - 1
    return number, np.bincount(number)


def _choose_scales(sigma: float, extent: float, how: Weighing) -> FloatArray:
    """Return the home itself and scales from the noise's to a quarter of the known file's extent."""
    most = max(extent / 4, sigma)
    step = max(how.scale_step, (most / sigma) ** (1 / (how.scales - 1)))
    many = int(np.ceil(np.log(most / sigma) / np.log(step))) + 1
    return np.concatenate(([0.0], sigma * step ** np.arange(many)))


class LabelCounts:
    """How much the labels of the records in each cube speak for a class; ``copies`` are known classes × classes."""

    def __init__(self, bells: Bells, known_class: Ints, copies: csr_array) -> None:
        some = np.flatnonzero(known_class >= 0)
        shape = len(bells.count), copies.shape[0]
        table = csr_array((np.ones(len(some)), (bells.cell[some], known_class[some])), shape=shape) @ copies
        table.sort_indices()
        self.width = table.shape[1]
        self.keys = np.repeat(np.arange(shape[0]), np.diff(table.indptr)) * self.width + table.indices
        self.value = table.data

    def look_up(self, cube: Ints, classes: Ints) -> FloatArray:
        """Return entries of the table; absent ones are 0."""
        if not len(self.keys):
            return np.zeros(len(cube))
        asked = cube * self.width + classes
        at = np.minimum(np.searchsorted(self.keys, asked), len(self.keys) - 1)
        return np.where(self.keys[at] == asked, self.value[at], 0.0)


@dataclass(frozen=True, eq=False)
class Homes:
    """The distinct places of the known records, counted in the cubes of the smallest bells."""

    count: FloatArray  # (cubes,)
    total: int
    alone: NDArray[np.bool_]  # (known,): nobody else is known there


def _count_homes(positions: FloatArray, bells: Bells) -> Homes:
    home, many = number_rows(positions)
    cell = np.empty(len(many), np.int64)
    cell[home] = bells.cell
    count = np.bincount(cell, minlength=len(bells.count)).astype(float)
    return Homes(count, len(many), many[home] == 1)


class Predicted(NamedTuple):
    """The density at each left-out record (columns), after the mask, from the others' places and labels.

    By scale, near a record of whatever label and near one of the same label; and in one of the others' homes.
    """

    free: FloatArray
    same: FloatArray
    at_home: FloatArray


@dataclass(frozen=True, eq=False)
class Background:
    """The density of strangers after the mask; the first of ``bells`` is that of the homes themselves.

    The parts of the mixture, which sum to 1: near a known record of whatever label, by scale; near one of the same
    label, by scale; in a known home; anywhere.
    """

    bells: tuple[Bells, ...]
    homes: Homes
    any_label: FloatArray
    same_label: FloatArray
    at_home: float
    anywhere: float
    area: float
    known_class: Ints
    how: Weighing

    def log_density(self, places: FloatArray, classes: Ints, related: RelatedClasses) -> FloatArray:
        """Return the log density of strangers at places, in known records per area, relative to the label's share.

        ``classes`` are the target classes seen there; ``related`` says how much each known class speaks for them.
        """
        copies, rest = self.spell(related)
        known = len(self.known_class)
        total = np.full(len(places), self.anywhere * known / self.area)
        for scale, bells in enumerate(self.bells):
            free, same, home = self.any_label[scale], self.same_label[scale], self.at_home if scale == 0 else 0.0
            if free + same + home < self.how.nobody:
                continue
            labels = LabelCounts(bells, self.known_class, copies)
            for first in range(0, len(places), BATCH):
                place, cube, height = bells.around(places[first : first + BATCH])
                seen = classes[first + place]
                weight = (free + same * rest[seen]) * bells.count[cube] + same * labels.look_up(cube, seen)
                if home:
                    weight += home * known / self.homes.total * self.homes.count[cube]
                part = total[first : first + BATCH]
                part += np.bincount(place, weight * height, len(part))
        return np.asarray(np.log(total))

    @property
    def sigma(self) -> float:
        """The width of the noise."""
        return float(np.sqrt(self.bells[0].variance))

    def predict(self, left_out: LeftOut, known_map: KnownMap) -> Predicted:
        """Predict records that are left out in turn from the others."""
        order, places, own = left_out
        n, many = len(self.known_class), int(self.known_class.max(initial=-1)) + 1
        count = np.bincount(self.known_class[self.known_class >= 0], minlength=many + 1)[own].astype(float)
        share = smooth_share(np.maximum(count - 1, 0.0), 1.0, n - 1, max(many, 1))
        free, same = np.empty((2, len(self.bells), len(order)))
        at_home, alone = np.empty(0), self.homes.alone[order]
        for row, one in enumerate(self.bells):
            none = np.empty(0) if row else self.homes.count
            cubes, gone = one.count_labels(self.known_class, none), (one.cell[order], own)
            found = sum_bells(one.index(known_map), cubes, places, gone, (one.variance, one.reach))
            free[row] = found[0] / (n - 1)
            same[row] = np.where(own >= 0, found[1] / share, found[0]) / (n - 1)  # no label: any will do
            if row == 0:
                mine = one.height(places, one.centre[one.cell[order]])
                at_home = (found[2] - alone * mine) / np.maximum(self.homes.total - alone, 1)
        return Predicted(free, same, at_home)

    def fit(self, predicted: Predicted) -> Self:
        """Return the mixture with the shares that predict the left-out records best."""
        many, anywhere = len(self.bells), np.full_like(predicted.at_home, 1 / self.area)
        share = _fit_mixture(np.vstack((*predicted, anywhere)), self.how, least=(many - 1, 2 * many + 1))
        free, same = share[:many], share[many:-2]
        return replace(self, any_label=free, same_label=same, at_home=float(share[-2]), anywhere=float(share[-1]))

    def spell(self, related: RelatedClasses) -> tuple[csr_array, FloatArray]:
        """Return known classes × target classes, how much one speaks for the other, and per target class what is left.

        On average over the population that is 1; where labels may be wrong, what the many faint ones say is put into
        one number.
        """
        targets = len(related.start) - 1
        column = np.repeat(np.arange(targets), np.diff(related.start))
        odds = np.exp(np.minimum(related.gain, 700.0))
        kept = odds >= self.how.faint_odds
        classes = 1 + max(int(self.known_class.max(initial=-1)), int(related.known.max(initial=-1)))
        table = csr_array((odds[kept], (related.known[kept], column[kept])), shape=(classes, targets))
        present = np.bincount(self.known_class[self.known_class >= 0], minlength=classes) / len(self.known_class)
        return table, np.maximum(1 - present @ table, 0.0)


def learn_background(
    known_map: KnownMap, known_class: Ints, sigma: float, how: Weighing = THRESHOLDS.weigh
) -> Background:
    """Learn where strangers live, and with which labels, from the known file and the width of the noise."""
    found = lay_bells(known_map, known_class, sigma, how)
    if len(known_class) < 3:
        return found
    return found.fit(found.predict(leave_out(known_map, known_class, found.sigma, how.left_out), known_map))


def lay_bells(known_map: KnownMap, known_class: Ints, sigma: float, how: Weighing) -> Background:
    """Return the parts of the mixture for noise of this width, of which only *anywhere* has a share as yet."""
    positions = known_map.positions
    extent = float(np.linalg.norm(np.ptp(positions, axis=0)))
    sigma = max(sigma, 1e-9 * extent, 1e-100)  # its square must still be a number
    scales = _choose_scales(sigma, extent, how)
    bells = tuple(_build_bells(positions, float(scale), sigma, how) for scale in scales)
    sides = np.sort(np.ptp(positions, axis=0))[::-1] + 4 * sigma
    homes, none = _count_homes(positions, bells[0]), np.zeros(len(bells))
    return Background(bells, homes, none, none, 0.0, 1.0, float(sides[0] * sides[1]), known_class, how)


def _fit_mixture(parts: FloatArray, how: Weighing, *, least: tuple[int, ...]) -> FloatArray:
    """Return the shares of the parts (rows) that predict the records (columns) best, by EM.

    A part must explain some records, but for those that are ``least``: what is left if nothing is found.
    """
    share = np.full(len(parts), 1 / len(parts))
    needed = np.full(len(parts), how.needed_records)
    needed[list(least)] = 0.0
    for _ in range(how.mixture_rounds):
        weight = share[:, None] * parts
        found = (weight / weight.sum(axis=0)).sum(axis=1)
        fresh = np.maximum(found - needed, how.least_part * parts.shape[1])
        fresh /= fresh.sum()
        settled = float(np.abs(fresh - share).max()) < 1e-4
        share = fresh
        if settled:
            break
    return share


class LeftOut(NamedTuple):
    """Records that are left out in turn, where a mask puts them, and their classes."""

    rows: Ints
    places: FloatArray
    classes: Ints


def leave_out(known_map: KnownMap, known_class: Ints, sigma: float, most: int) -> LeftOut:
    """Choose at most so many records to be left out in turn, and mask their places.

    The noise is no random one: directions and lengths are spread evenly over the records, in the order of their places.
    """
    order = np.lexsort((known_class, *known_map.positions.T))
    order = order[:: max(-(-len(known_class) // most), 1)]
    step = np.arange(1, len(order) + 1)
    away = sigma * np.sqrt(-2 * np.log((step * 0.7548776662466927) % 1.0))[:, None]  # the evenly spread sequence of R₂
    angle = 2 * np.pi * ((step * 0.5698402909980532) % 1.0)[:, None]
    places = known_map.positions[order]
    places = places + away * (np.cos(angle) * known_map.east[order] + np.sin(angle) * known_map.north[order])
    return LeftOut(order, places, known_class[order])
