"""The clusters of a survey, and the law of the one displaced point that the households of a cluster share.

What belongs to a record follows from its place: the table of a ``Survey`` says for every place of the file its cluster,
and for every cluster where it lies, whether it is urban and in which district. So the same facts are found for a part
of the file, and for people whom the snooper knows. A place that is not in the table is a cluster by itself, urban or
rural like the nearest place of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.geodesy import shift, to_space
from disclique.masks.laws import NODES, PlaceLaw, RadialLaw, jitter
from disclique.records.areas import NOWHERE, Areas
from disclique.spaces import Points
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Integration:
    """How the share of a law that lies inside a district is computed.

    With 2,048 nodes it is right to half a per cent at places of all kinds; below ``thin`` more are taken.
    """

    nodes: int = 2048
    thin: float = 0.2
    more: int = 16  # times as many nodes there
    at_once: int = 2_000_000  # nodes
    kept: int = 4  # answers that a law keeps


INTEGRATION = Integration()


@dataclass(frozen=True, eq=False)
class Located:
    """What is known of some places: their cluster, where it lies, whether it is urban, and its district."""

    cluster: Ints
    centre: FloatArray  # (n, 2)
    urban: Flags
    district: Ints

    def select(self, rows: NDArray[np.integer]) -> Located:
        """Return some of the places."""
        return Located(self.cluster[rows], self.centre[rows], self.urban[rows], self.district[rows])

    def join(self, other: Located) -> Located:
        """Return the places of both."""
        both = ((getattr(self, name), getattr(other, name)) for name in ("cluster", "centre", "urban", "district"))
        return Located(*(np.concatenate(pair) for pair in both))


@dataclass(frozen=True, eq=False)
class Survey:
    """The places of a file with their clusters, and of each cluster its centre, kind and district.

    ``told`` says that a column of the file says who is urban; ``alone`` that no two records share a cluster.
    """

    places: Points
    cluster: Ints  # of each place
    centre: FloatArray  # (clusters, 2)
    urban: Flags  # of each cluster
    district: Ints  # of each cluster
    areas: Areas | None = None
    told: bool = False
    alone: bool = False
    same: float = field(default=1e-6, kw_only=True)  # km, or units of the plane: places nearer than that are one

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(to_space(self.places.coordinates, self.places.metric))

    def locate(self, points: Points) -> Located:
        """Return what is known of places, of the file or elsewhere."""
        away, nearest = self._tree.query(to_space(points.coordinates, points.metric))
        cluster = self.cluster[nearest]
        centre, district = self.centre[cluster].copy(), self.district[cluster].copy()
        urban, strange = self.urban[cluster], np.flatnonzero(away > self.same)
        if len(strange):
            where = points.coordinates[strange]
            centre[strange] = where
            district[strange] = NOWHERE if self.areas is None else self.areas.find(where)
            _, own = np.unique(where, axis=0, return_inverse=True)
            cluster[strange] = len(self.centre) + own.ravel()
        return Located(cluster, centre, urban, district)

    @property
    def widest(self) -> float:
        """How far a place of the file lies from the centre of its cluster, at the most."""
        if len(self.places.coordinates) == len(self.centre):
            return 0.0
        apart = self._tree.data - to_space(self.centre, self.places.metric)[self.cluster]
        return float(np.linalg.norm(apart, axis=1).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class SurveyLaw(PlaceLaw):
    """A walk from the centre of the cluster, as long as its kind may go, drawn again until it ends in the district.

    The density of a masked place given the true one is that of the walk over the share of all walks that end in the
    district, and nothing in another district. Those of one cluster have one draw together. ``urban``, ``rural`` and
    ``either`` are the walks; the last one is taken where nobody is told who is urban. ``located`` says what is known of
    the people asked about, where that is more than follows from their places.
    """

    survey: Survey
    urban: RadialLaw
    rural: RadialLaw
    either: RadialLaw
    located: Located | None = None
    how: Integration = INTEGRATION
    kept: dict[bytes, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    __eq__, __hash__ = object.__eq__, object.__hash__  # those of any law do not look at the survey

    @property
    def reach(self) -> float:
        """The largest distance between a masked place and the true one."""
        return max(one.reach for one in (self.urban, self.rural, self.either)) + self.survey.widest

    def locate(self, points: Points) -> Located:
        """Return what is known of people at some places."""
        return self.located if self.located is not None else self.survey.locate(points)

    def by_kind(self, located: Located) -> list[tuple[RadialLaw, Ints]]:
        """Return each walk with the rows of those who take it."""
        if not self.survey.told:
            return [(self.either, np.arange(len(located.urban)))]
        both = ((self.urban, np.flatnonzero(located.urban)), (self.rural, np.flatnonzero(~located.urban)))
        return [(law, rows) for law, rows in both if len(rows)]

    def spread(self, located: Located, error: float, metric: str) -> tuple[Ints, Located, float]:
        """Return places that stand for centres known with an error: whose they are, and the error that is left."""
        if not error or self.survey.areas is None:
            return np.arange(len(located.urban)), located, error
        owner = np.repeat(np.arange(len(located.urban)), NODES)
        around = jitter(Points(located.centre, metric), error)
        found = Located(located.cluster[owner], around, located.urban[owner], self.survey.areas.find(around))
        return owner, found, error / np.sqrt(NODES)

    def find_shares(self, located: Located, metric: str) -> FloatArray:
        """Return the share of all walks from each place that end in its district."""
        if self.survey.areas is None:
            return np.ones(len(located.urban))
        asked = located.centre.tobytes() + located.urban.tobytes() + located.district.tobytes()
        if asked not in self.kept:
            shares = np.ones(len(located.urban))
            for law, rows in self.by_kind(located):
                shares[rows] = measure_shares(law, located.select(rows), self.survey.areas, metric, self.how)
            self.kept[asked] = shares
            for old in list(self.kept)[: -self.how.kept]:
                self.kept.pop(old, None)
        return self.kept[asked]


def measure_shares(
    law: RadialLaw, located: Located, areas: Areas, metric: str, how: Integration = INTEGRATION
) -> FloatArray:
    """Return the share of walks from each place that end in its district; all do where no border is in reach.

    Direction and length are uniform, so that the share is that of the nodes of a lattice in both.
    """
    places = np.column_stack((located.centre, located.district))
    once, where = np.unique(places, axis=0, return_inverse=True)
    centre, district = once[:, :2].astype(float), once[:, 2].astype(np.int64)
    shares = np.zeros(len(once))
    for part, walk in law.pieces:
        if part > 0:
            near = np.flatnonzero(areas.find_near_border(centre, district, walk.high))
            inside = np.ones(len(once))
            inside[near] = _count_inside(centre[near], district[near], areas, (walk.high, metric), how)
            shares += part * inside
    return np.asarray(shares[where.ravel()])


def _count_inside(
    centre: FloatArray, district: Ints, areas: Areas, walk: tuple[float, str], how: Integration
) -> FloatArray:
    found = _sample(centre, district, areas, walk, how.nodes, how.at_once)
    few = np.flatnonzero(found < how.thin)
    if len(few):
        found[few] = _sample(centre[few], district[few], areas, walk, how.nodes * how.more, how.at_once)
    return found


def _sample(
    centre: FloatArray, district: Ints, areas: Areas, walk: tuple[float, str], nodes: int, at_once: int
) -> FloatArray:
    number = np.arange(nodes)
    length, angle = walk[0] * (number + 0.5) / nodes, 2 * np.pi * np.mod(number * GOLDEN, 1.0)
    east, north = length * np.sin(angle), length * np.cos(angle)
    found, chunk = np.empty(len(centre)), max(at_once // nodes, 1)
    for first in range(0, len(centre), chunk):
        some = centre[first : first + chunk]
        many = len(some)
        ends = shift(np.repeat(some, nodes, axis=0), np.tile(east, many), np.tile(north, many), walk[1])
        inside = areas.hold(ends, np.repeat(district[first : first + chunk], nodes))
        found[first : first + chunk] = inside.reshape(many, nodes).mean(axis=1)
    return np.maximum(found, 0.5 / nodes)  # the place itself lies inside
