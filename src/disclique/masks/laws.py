"""The law of the place that a mask gives to a record: what a snooper knows who knows the mask (Kerckhoffs).

A *place law* says where the masked point of a record lies given its true one. It is another thing than ``Mask.law``,
the law of d - d' for distances. There are five kinds: Gaussian noise, a density that depends on the distance alone
(``RadialLaw``), a rule that anybody can carry out again (``ReplayLaw``), half way to the nearest other place of the
release (``HalfWayLaw``), and the place of another record of the release (``ExchangeLaw``). Densities are per area, on
the Earth per km², in the plane in the unit of the coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ive, ndtri

from disclique.geodesy import Spread, shift
from disclique.spaces import Points
from disclique.spaces.metrics import paired
from disclique.values import FloatArray

if TYPE_CHECKING:
    from disclique.masks.base import Mask

Ints = NDArray[np.int64]
TAIL = 1e-6  # probability beyond the reach of a law that has no end
FINE = 0.02  # of the width of a piece: what is finer than that is not worth telling
FAINTEST = -700.0  # log density: the smallest that is no rounding
LONGEST, ESTIMATED = 1300, 400  # of the reach: the finest length of a law in a table, and of a simulated law
NODES = 32  # places of a known record whose coordinates are in doubt


@dataclass(frozen=True)
class PlaceLaw:
    """The law of a masked place given the true one; ``simulated`` where it is an estimate from draws of the mask.

    One that is not ``exact`` is an approximation, by what it looks at or because it was estimated.
    """

    simulated: bool = field(default=False, kw_only=True)

    @property
    def exact(self) -> bool:
        """True if it is the law itself."""
        return not self.simulated


@dataclass(frozen=True)
class GaussianLaw(PlaceLaw):
    """Gaussian noise with a standard deviation east and one north; 0 where the mask is a motion of the whole map."""

    spread: Spread


class Piece(Protocol):
    """A radial law: a density per area that depends on the distance from the true place."""

    @property
    def low(self) -> float:
        """The distance from which on it has mass."""

    @property
    def high(self) -> float:
        """The distance up to which it has mass, but for ``TAIL``."""

    @property
    def grain(self) -> float:
        """The finest length that matters."""

    def density(self, r: FloatArray) -> FloatArray:
        """Return the density per area at each distance."""

    def cdf(self, r: FloatArray) -> FloatArray:
        """Return the probability of no more than each distance."""


@dataclass(frozen=True)
class Ring:
    """Uniform by area between two circles."""

    low: float
    high: float

    @property
    def grain(self) -> float:
        """A part of the ring's width."""
        return FINE * (self.high - self.low)

    def density(self, r: FloatArray) -> FloatArray:
        """Return one over the area within the ring."""
        inside = (r >= self.low) & (r <= self.high)
        return np.where(inside, 1 / (np.pi * (self.high**2 - self.low**2)), 0.0)

    def cdf(self, r: FloatArray) -> FloatArray:
        """Return the share of the area."""
        return np.clip((r**2 - self.low**2) / (self.high**2 - self.low**2), 0.0, 1.0)


@dataclass(frozen=True)
class Walk:
    """A direction and a length that are both uniform: dense near the true place."""

    high: float
    low: ClassVar[float] = 0.0

    @property
    def grain(self) -> float:
        """A part of the longest walk."""
        return FINE * self.high

    def density(self, r: FloatArray) -> FloatArray:
        """Return the density, which is infinite at the true place."""
        with np.errstate(divide="ignore"):
            return np.where(r <= self.high, 1 / (2 * np.pi * self.high * np.asarray(r, dtype=float)), 0.0)

    def cdf(self, r: FloatArray) -> FloatArray:
        """Return the share of the length."""
        return np.clip(r / self.high, 0.0, 1.0)


@dataclass(frozen=True)
class Exponential:
    """Planar Laplace noise: the density falls by e with every ``step``."""

    step: float
    low: ClassVar[float] = 0.0

    @property
    def high(self) -> float:
        """The distance that is almost never passed."""
        return float(self.step * gammaincinv(2.0, 1 - TAIL))

    @property
    def grain(self) -> float:
        """A part of the step, which is smooth."""
        return 5 * FINE * self.step

    def density(self, r: FloatArray) -> FloatArray:
        """Return the density."""
        return np.asarray(np.exp(-r / self.step) / (2 * np.pi * self.step**2))

    def cdf(self, r: FloatArray) -> FloatArray:
        """Return the distribution of a Gamma(2) length."""
        u = r / self.step
        return np.asarray(1 - (1 + u) * np.exp(-u))


@dataclass(frozen=True)
class HalfWay:
    """Half the way to the nearest of many places of which one is expected per unit of area.

    With ``counted`` the density of places is itself only known from so many neighbours, which leaves more in the tail.
    """

    counted: int | None = None
    low: ClassVar[float] = 0.0

    @property
    def high(self) -> float:
        """The distance that is almost never passed."""
        rare = 100 * TAIL
        if self.counted is None:
            return float(np.sqrt(-np.log(rare) / (4 * np.pi)))
        return float(np.sqrt(self.counted * (rare ** (-1 / self.counted) - 1) / (4 * np.pi)))

    @property
    def grain(self) -> float:
        """A part of the typical distance."""
        return FINE / 4

    def density(self, r: FloatArray) -> FloatArray:
        """Return the density of half the distance to the nearest."""
        u = 4 * np.pi * np.asarray(r, dtype=float) ** 2
        return np.asarray(
            4 * np.exp(-u) if self.counted is None else 4 * (1 + u / self.counted) ** (-self.counted - 1.0)
        )

    def cdf(self, r: FloatArray) -> FloatArray:
        """Return the probability of a nearest place within twice the distance."""
        u = 4 * np.pi * np.asarray(r, dtype=float) ** 2
        return np.asarray(1 - (np.exp(-u) if self.counted is None else (1 + u / self.counted) ** -float(self.counted)))


@dataclass(frozen=True, eq=False)
class RadialTable:
    """The logarithm of a density at evenly spaced distances; nothing lies outside."""

    start: float
    step: float
    values: FloatArray

    @property
    def end(self) -> float:
        """The largest distance in the table."""
        return self.start + self.step * (len(self.values) - 1)

    def look_up(self, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log density at each distance, -inf outside, and its slope."""
        place = (r - self.start) / self.step
        cell = np.clip(place.astype(np.int64), 0, len(self.values) - 2)
        rise = self.values[cell + 1] - self.values[cell]
        found = self.values[cell] + (place - cell) * rise
        outside = (place < 0) | (place > len(self.values) - 1)
        return np.where(outside, -np.inf, found), np.where(outside, 0.0, rise / self.step)


@dataclass(frozen=True)
class RadialLaw(PlaceLaw):
    """A density that depends on the distance from the true place only: a mixture of pieces with their shares.

    >>> law = RadialLaw(((1.0, Ring(1.0, 2.0)),))
    >>> law.density(np.array([0.5, 1.5])) * 3 * np.pi
    array([0., 1.])
    """

    pieces: tuple[tuple[float, Piece], ...]
    tables: dict[float, RadialTable] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def low(self) -> float:
        """The smallest distance that the mask moves a point."""
        return min(piece.low for share, piece in self.pieces if share > 0)

    @property
    def reach(self) -> float:
        """The largest distance that the mask moves a point, or almost never passes."""
        return max(piece.high for share, piece in self.pieces if share > 0)

    @property
    def grain(self) -> float:
        """The finest length that matters, or that a table of moderate length can tell."""
        finest = min(piece.grain for share, piece in self.pieces if share > 0)
        return max(finest, (self.reach - self.low) / (ESTIMATED if self.simulated else LONGEST))

    @property
    def deviation(self) -> float:
        """The standard deviation of the displacement on each axis."""
        edges = np.linspace(self.low, self.reach, 20 * LONGEST)
        return float(np.sqrt((np.diff(self.cdf(edges)) * ((edges[1:] + edges[:-1]) / 2) ** 2).sum() / 2))

    def density(self, r: FloatArray) -> FloatArray:
        """Return the density per area at each distance."""
        total = np.zeros(np.shape(r))
        for share, piece in self.pieces:
            if share > 0:
                total = total + share * piece.density(np.asarray(r, dtype=float))
        return total

    def cdf(self, r: FloatArray) -> FloatArray:
        """Return the probability that a point moves by no more than each distance."""
        total = np.zeros(np.shape(r))
        for share, piece in self.pieces:
            if share > 0:
                total = total + share * piece.cdf(np.asarray(r, dtype=float))
        return total

    def blurred(self, variance: float) -> RadialTable:
        """Return the law with further Gaussian noise of a variance per axis, at least its own grain.

        The variance is rounded, so that few tables are made; a law keeps its own.
        """
        rounded = float(np.exp2(np.round(8 * np.log2(max(variance, self.grain**2))) / 8))
        if rounded not in self.tables:
            self.tables[rounded] = _blur(self, rounded)
        return self.tables[rounded]


def _blur(law: RadialLaw, variance: float) -> RadialTable:
    """Return the table of a law under further noise.

    The convolution of a ring of radius s with the noise is exp(-(r² + s²)/2v) I0(rs/v)/2πv.
    """
    width = float(np.sqrt(variance))
    low, high = max(law.low - 6 * width, 0.0), law.reach + 6 * width
    r = np.linspace(low, high, max(int(np.ceil(5 * (high - low) / width)), 120) + 1)
    total = np.zeros(len(r))
    for share, piece in law.pieces:
        if share == 0:
            continue
        cells = max(int(np.ceil(2 * (piece.high - piece.low) / width)), 6)
        edges = np.linspace(piece.low, piece.high, cells + 1)
        mass, s = np.diff(piece.cdf(edges)), (edges[1:] + edges[:-1]) / 2
        many = min(cells, int(np.ceil(14 * width / (s[1] - s[0]))) + 1)  # the others are too far off to count
        near = np.clip(np.searchsorted(s, r - 7 * width), 0, cells - many)[:, None] + np.arange(many)
        ring = np.exp(-((r[:, None] - s[near]) ** 2) / (2 * variance)) * ive(0, r[:, None] * s[near] / variance)
        total += share * (ring * mass[near]).sum(axis=1) / (2 * np.pi * variance)
    with np.errstate(divide="ignore"):
        return RadialTable(low, float(r[1] - r[0]), np.maximum(np.log(total), FAINTEST))


@dataclass(frozen=True)
class ReplayLaw(PlaceLaw):
    """A rule without chance that looks at one point only, so that a snooper can apply it to each known record.

    Strangers are put by the same rule: ``spread`` is that of a place within its cell, whose area is 12 times the
    product of the two deviations.
    """

    mask: Mask
    spread: Spread

    def images(self, points: Points, error: float) -> tuple[Ints, Points, FloatArray]:
        """Return where the rule puts known points: their rows, the places, and the probability of each place.

        With an ``error`` of the known coordinates a record has several places.
        """
        if error == 0:
            return np.arange(points.size), self._put(points.coordinates, points), np.ones(points.size)
        jittered = jitter(points, error)
        rows = np.repeat(np.arange(points.size), NODES)
        places = self._put(jittered, points)
        keys = np.column_stack((rows, np.round(places.coordinates, 9)))
        _, first, many = np.unique(keys, axis=0, return_index=True, return_counts=True)
        return rows[first], places.select(first), many / NODES

    def _put(self, coordinates: FloatArray, points: Points) -> Points:
        before = Points(coordinates, points.metric, unit=points.unit)
        after = self.mask.apply(before, np.random.default_rng(0)).points()  # nothing is drawn
        assert after is not None
        return after


def jitter(points: Points, error: float) -> FloatArray:
    """Return ``NODES`` places around each point that stand for Gaussian noise, point by point."""
    part = (np.arange(NODES) + 0.5) / NODES
    if points.coordinates.shape[1] != 2:
        steps = np.tile(error * ndtri(part), points.size)
        return np.asarray(np.repeat(points.coordinates, NODES, axis=0) + steps[:, None])
    radius, angle = error * np.sqrt(-2 * np.log1p(-part)), np.arange(NODES) * np.pi * (3 - np.sqrt(5))
    east, north = np.tile(radius * np.cos(angle), points.size), np.tile(radius * np.sin(angle), points.size)
    return shift(np.repeat(points.coordinates, NODES, axis=0), east, north, str(points.metric))


@dataclass(frozen=True)
class HalfWayLaw(PlaceLaw):
    """Half way to the nearest other place of the release.

    A snooper who knows that neighbour carries the rule out; otherwise the law is that of the nearest of places of the
    local density (``HalfWay``).
    """

    @property
    def exact(self) -> bool:
        """False: neighbours who are not known are only taken to be there by their density."""
        return False


@dataclass(frozen=True)
class ExchangeLaw(PlaceLaw):
    """The place of another record of the release within ``radius``, the other record taking one's own; or one's own.

    The places of the release are the true ones: a known record that is released lies exactly at one of them.
    """

    radius: float

    @property
    def exact(self) -> bool:
        """False: who finds nobody free to exchange places with is known on average only."""
        return False

    def stay(self, partners: FloatArray) -> FloatArray:
        """Return the probability that a record with so many others in reach finds none of them free.

        Random pairing leaves about .55 / (n + 1): by simulation on uniform places .23 to .31 against .28 for one other
        record, .11 to .13 against .11 for four, .06 against .06 for eight, .02 against .02 for 28.
        """
        return np.asarray(np.where(partners > 0, 0.55 / (partners + 1.0), 1.0))


@dataclass(frozen=True)
class Simulation:
    """How a law is estimated from draws."""

    draws: int = 6000
    rings: int = 40
    tail_share: float = 0.02  # kept for what was not drawn


SIMULATION = Simulation()


def simulate_law(
    mask: Mask, points: Points | None, rng: np.random.Generator, how: Simulation = SIMULATION
) -> PlaceLaw | None:
    """Estimate the law of a mask from draws at ``points``, by distance only; None where there is no map.

    The density is that of a histogram with about as many draws in every ring. A small share is spread over twice the
    largest distance drawn, so that what was not drawn is not taken to be impossible.
    """
    if points is None or not points.is_map or points.coordinates.shape[1] != 2 or points.size == 0:
        return None
    moved = []
    for _ in range(max(int(np.ceil(how.draws / points.size)), 1)):
        after = mask.apply(points, rng).points()
        if after is None:
            return None
        moved.append(paired(points.coordinates, after.coordinates, points.metric))
    lengths = np.sort(np.concatenate(moved))
    largest = float(lengths[-1])
    if largest == 0:
        return GaussianLaw(Spread(0.0, 0.0, unit_of_places(points)))
    edges = [float(lengths[0])]
    for edge in np.quantile(lengths, np.linspace(0, 1, how.rings + 1)[1:]):
        if edge > edges[-1] + 1e-3 * largest:
            edges.append(float(edge))
    edges[-1] = max(edges[-1], largest)
    if len(edges) == 1:  # all draws are of one length
        edges = [max(edges[0] - 1e-3 * largest, 0.0), edges[0]]
    counts, _ = np.histogram(lengths, edges)
    shares = (1 - how.tail_share) * counts / counts.sum()
    rings = [(float(share), Ring(a, b)) for share, a, b in zip(shares, edges[:-1], edges[1:], strict=True) if share > 0]
    return RadialLaw((*rings, (how.tail_share, Ring(0.0, 2 * largest))), simulated=True)


def spread_at(spread: Spread, points: Points | None) -> Spread:
    """Return a displacement as it is at these places: in a plane of kilometres those of a mask are its own unit."""
    if spread.unit == "km" and unit_of_places(points) == "plane":
        return replace(spread, unit="plane")
    return spread


def unit_of_places(points: Points | None) -> str:
    """Return the unit of displacements: km on the Earth, where points are taken to be if none are given."""
    return "km" if points is None or points.on_earth else "plane"
