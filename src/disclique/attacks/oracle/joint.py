"""Masked places beside numbers that follow from the true ones: the product of the laws, pair by pair.

What is released of numbers leaves few people. These are listed, and each is weighed by where the mask put the record,
too. Whoever is not known is like the people whose numbers fit; or, where that leaves more of them, like those who live
around there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align.likelihood import relate_classes
from disclique.attacks.beliefs import find_odds
from disclique.attacks.knowledge import Holder
from disclique.attacks.population import Population
from disclique.engine.kernels.oracle import Kept
from disclique.masks.laws import RadialLaw
from disclique.model import Candidates
from disclique.spaces.positions import KnownMap
from disclique.values import FloatArray

Ints = NDArray[np.int64]
LogDensity = Callable[[Ints, Ints], FloatArray]  # of masked places of records given people, one to one
CHUNK = 2_000_000  # pairs that are weighed in one go
FLAT_SLACK, EARTH_SLACK = 1e-9, 2e-3  # of a distance: how far it may be off, that of a sphere on the Earth
SHARP = 0.1  # of the grain of a law: a finer error of places does not blur it


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """The pairs that numbers and labels allow, by record, and the log odds of each by these."""

    target: Ints
    known: Ints
    odds: FloatArray

    @staticmethod
    def of(candidates: Candidates) -> ListedPairs:
        """List them."""
        target, known = candidates.pairs()
        odds = np.append(find_odds(candidates), -np.inf)[candidates.place_of(target, known)]
        return ListedPairs(target, known, odds)

    def measure(self, density: LogDensity) -> FloatArray:
        """Return the log density of each pair, a part of them at a time."""
        parts = np.array_split(np.arange(len(self.target)), max(len(self.target) // CHUNK, 1))
        return np.concatenate([density(self.target[part], self.known[part]) for part in parts])

    def weigh(self, density: FloatArray, strangers: FloatArray, holder: Holder) -> Kept:
        """Return the weight of each pair against a stranger.

        ``strangers`` is the log density of these around each record (or each pair), in known people per area, by the
        labels alone: no more of them can have such numbers as well.
        """
        records, people = holder.candidates.sizes
        by_label = holder.alike or holder.candidates
        label = np.append(by_label.label_odds(), 0.0)[by_label.place_of(self.target, self.known)]
        rows = self.target
        with np.errstate(invalid="ignore"):  # of records that fit nobody
            fitting = _sum_logs(rows, density + self.odds, records) - _sum_logs(rows, self.odds, records)
        like_them = fitting + np.log(people)
        told = _find_top(rows, self.odds - label, records)  # how much numbers may tell at the most
        around = (strangers if len(strangers) == len(rows) else strangers[rows]) + told[rows]
        with np.errstate(invalid="ignore"):
            ratio = density + self.odds - np.minimum(like_them[rows], around)
        ratio = np.where(np.isnan(ratio), -np.inf, ratio)
        start = np.searchsorted(rows, np.arange(records + 1)).astype(np.int64)
        return Kept(start, self.known.astype(np.int32), np.exp(np.minimum(ratio, 180.0)))


def _find_top(group: Ints, value: FloatArray, groups: int) -> FloatArray:
    top = np.full(groups, -np.inf)
    np.maximum.at(top, group, value)
    return top


def _sum_logs(group: Ints, value: FloatArray, groups: int) -> FloatArray:
    """Return the log of the sum of exponentials in each group."""
    top = _find_top(group, value, groups)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(finite + np.log(np.bincount(group, np.exp(value - finite[group]), groups)))


def gaussian_density(
    known_map: KnownMap, positions: FloatArray, variance: FloatArray, variances: FloatArray
) -> LogDensity:
    """Return the density of places around known ones by Gaussian noise, each with a further variance."""

    def find(t: Ints, k: Ints) -> FloatArray:
        offset = positions[t] - known_map.positions[k]
        wide = variances[k] + variance[t, None]
        east, north = ((offset * axis[k]).sum(axis=1) for axis in (known_map.east, known_map.north))
        squares = east**2 / wide[:, 0] + north**2 / wide[:, 1]
        return np.asarray(-squares / 2 - np.log(2 * np.pi) - 0.5 * np.log(wide.prod(axis=1)))

    return find


def radial_density(known_map: KnownMap, copies: Sequence[FloatArray], law: RadialLaw, variance: float) -> LogDensity:
    """Return the density of places by their distance from known ones, in all releases together.

    A law with sharp edges is taken as it is unless known places are in doubt: what lies beyond an edge is excluded.
    """
    radius, slack = known_map.radius, EARTH_SLACK if known_map.radius else FLAT_SLACK
    table = law.blurred(variance) if law.simulated or variance > (SHARP * law.grain) ** 2 else None

    def look_up(r: FloatArray) -> FloatArray:
        if table is not None:
            return table.look_up(r)[0]
        with np.errstate(divide="ignore"):
            return np.log(np.minimum(np.maximum(law.density(r * (1 - slack)), law.density(r * (1 + slack))), 1e100))

    def find(t: Ints, k: Ints) -> FloatArray:
        total = np.zeros(len(t))
        for places in copies:
            r = np.linalg.norm(places[t] - known_map.positions[k], axis=1)
            if radius:
                r = 2 * radius * np.arcsin(np.minimum(r / (2 * radius), 1.0))
            total += look_up(r)
        return total

    return find


def find_strangers_by_label(
    holder: Holder, population: Population, positions: FloatArray, variance: float
) -> FloatArray:
    """Return the log density of strangers at the place of every record, with its label, in known people per area."""
    by_label = holder.alike or holder.candidates
    background = population.find_strangers(by_label.known_class.astype(np.int64), variance)
    return background.log_density(positions, by_label.target_class.astype(np.int64), relate_classes(by_label))
