"""Masks that put points at other places by a rule: cells, neighbours, exchanges, a motion of the whole file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.spatial import cKDTree

from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, KM_PER_DEGREE, Spread, chord_km, from_space, to_space, unit_vectors, wrap
from disclique.masks.base import LENGTH, PLACE, PointMask, one_of, parameter_in, place_in
from disclique.masks.laws import ExchangeLaw, HalfWayLaw, PlaceLaw, ReplayLaw, spread_at
from disclique.masks.registry import register_mask
from disclique.messages import Message
from disclique.spaces import Points
from disclique.spaces.metrics import VECTORIAL
from disclique.units import Quantity
from disclique.values import FloatArray


def _centres(x: FloatArray, cell: FloatArray | float) -> FloatArray:
    """Return the middle of the cell that each number falls into, cells counted from 0."""
    return np.asarray((np.floor(x / cell) + 0.5) * cell)


def _length(quantity: Quantity) -> float:
    """Return a length in km, or in the unit of the coordinates where it has none."""
    return quantity.km if quantity.unit else quantity.value


@register_mask
@dataclass(frozen=True)
class GridCells(PointMask):
    """Every point moved to the centre of its grid cell of side ``cell``.

    In degrees the cells are those of longitude and latitude. In m or km they are bands of that height from the equator,
    each cut from Greenwich into the whole number of cells nearest to that width.
    """

    name: ClassVar[str] = "grid"
    summary: ClassVar[Message | None] = Message("mask_does_grid")
    reference: ClassVar[str] = "Curtis, Mills, Agustin and Cockburn 2011, Comput Environ Urban Syst 35:57-64"
    dial: ClassVar[str | None] = "cell"

    cell: Quantity = field(metadata=PLACE)

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the centres of the points' cells."""
        cell, unit = place_in(points, self, "cell")
        if points.metric not in GEOGRAPHIC:
            return _centres(points.coordinates, cell)
        lon, lat = wrap(*points.coordinates.T).T
        height = cell if unit == "deg" else cell / KM_PER_DEGREE
        lat = np.clip(_centres(lat, height), -90, 90)
        if unit == "deg":
            width: FloatArray | float = cell
        else:
            around = 360 * KM_PER_DEGREE * np.cos(np.radians(lat)) / cell
            width = 360 / np.maximum(np.round(around), 1)
        return wrap(_centres(lon, width), lat)

    def displacement_spread(self) -> Spread:
        """Return that of a place uniform in the cell."""
        quantity = self.cell
        side, unit = (quantity.km, "km") if quantity.unit in ("m", "km") else (quantity.value, quantity.unit)
        return Spread(float(side / np.sqrt(12)), float(side / np.sqrt(12)), unit)

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return that anybody can put a point into its cell."""
        return ReplayLaw(self, spread_at(self.displacement_spread(), points))


@register_mask
@dataclass(frozen=True)
class Voronoi(PointMask):
    """Every point moved to the nearest edge of its Voronoi cell: half way to its nearest other place.

    It draws nothing at random and can be undone where two points are each other's nearest.
    """

    name: ClassVar[str] = "voronoi"
    summary: ClassVar[Message | None] = Message("mask_does_voronoi")
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Seidl, Paulus, Jankowski and Regenfelder 2015, Applied Geography 63:253-263"

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the points half way to their neighbours; people who share a place stay together."""
        space = to_space(points.coordinates, points.metric)
        places, which = np.unique(space, axis=0, return_inverse=True)
        if len(places) < 2:
            raise InputError("voronoi_one_place")
        _, nearest = cKDTree(places).query(places, k=2)
        middle = (places + places[nearest[:, 1]]) / 2
        half_way = middle if points.metric == "euclidean" else from_space(middle)
        return np.asarray(half_way[which.ravel()])

    def place_law(self, points: Points | None = None) -> PlaceLaw | None:
        """Return half the way to the nearest place of the release, on a map of two dimensions."""
        return HalfWayLaw() if points is None or points.coordinates.shape[1] == 2 else None


@register_mask
@dataclass(frozen=True)
class Swap(PointMask):
    """Records exchange their places in pairs with another record of the file within ``radius``, drawn at random.

    A variant: the publication draws the new place from all residences around, here they are those of the file. A record
    that finds no partner stays where it is.
    """

    name: ClassVar[str] = "swap"
    summary: ClassVar[Message | None] = Message("mask_does_swap")
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Zhang, Freundschuh, Lenzer and Zandbergen 2017, Cartography and GIS 44:22-34 (variant)"
    dial: ClassVar[str | None] = "radius"

    radius: Quantity = field(metadata=LENGTH)

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the same places, some of them exchanged."""
        space = to_space(points.coordinates, points.metric)
        radius = parameter_in(points.unit, self, "radius")
        reach = chord_km(radius) if points.metric in GEOGRAPHIC else radius
        tree = cKDTree(space)
        owner = np.arange(points.size)
        free = np.ones(points.size, dtype=bool)
        for record in rng.permutation(points.size):
            if free[record]:
                near = np.array(tree.query_ball_point(space[record], reach), dtype=np.int64)
                near = near[free[near] & (near != record)]
                if len(near):
                    partner = near[int(rng.integers(len(near)))]
                    owner[[record, partner]] = partner, record
                    free[[record, partner]] = False
        return np.asarray(points.coordinates[owner])

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return the exchange of places."""
        return ExchangeLaw(_length(self.radius))


@register_mask
@dataclass(frozen=True)
class Affine(PointMask):
    """A random rigid motion of the whole map: every distance stays as it is, so it protects nothing.

    On the sphere a uniform rotation, on the ellipsoid a turn around the Earth's axis, in the plane a rotation and a
    shift; with ``mirror`` ``random`` it is also turned over, or not, with equal chance.
    """

    name: ClassVar[str] = "affine"
    tried: ClassVar[tuple[str, ...] | None] = ()
    summary: ClassVar[Message | None] = Message("mask_does_affine")
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Armstrong, Rushton and Zimmerman 1999, Statistics in Medicine 18:497-525"
    rigid: ClassVar[bool] = True

    mirror: str = field(default="random", metadata=one_of("random", "yes", "no"))

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the points after the motion."""
        turned_over = self.mirror == "yes" or (self.mirror == "random" and rng.random() < 0.5)
        if points.metric == "wgs84":
            lon, lat = points.coordinates.T
            return wrap((-lon if turned_over else lon) + rng.uniform(-180, 180), lat)
        if points.metric not in ("sphere", "euclidean"):
            raise InputError("affine_metric_unknown", metric=points.metric)
        sphere = points.metric == "sphere"
        space = unit_vectors(np.radians(points.coordinates)) if sphere else points.coordinates
        motion = _random_rotation(space.shape[1], rng)
        if turned_over:
            motion[0] *= -1
        if sphere:
            return from_space(space @ motion.T)
        centre = space.mean(axis=0)
        return np.asarray((space - centre) @ motion.T + centre + rng.normal(0, 1, space.shape[1]) * space.std())


@register_mask
@dataclass(frozen=True)
class Rotation(PointMask):
    """A random rotation or mirror image of all vectors, and a shift: every distance stays, so it protects nothing.

    Vectors that are compared by their cosine are not shifted, which would alter it.

    >>> file = Points([[0, 0, 0], [3, 4, 0]], "euclidean")
    >>> turned = Rotation().apply(file, np.random.default_rng(0))
    >>> np.round(turned.block(np.array([0]), np.array([1])), 9)
    array([[5.]])
    """

    name: ClassVar[str] = "rotation"
    tried: ClassVar[tuple[str, ...] | None] = ()
    summary: ClassVar[Message | None] = Message("mask_does_rotation")
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Chen and Liu 2005, IEEE ICDM, 589-592; undone by Giannella, Liu and Kargupta 2013"
    rigid: ClassVar[bool] = True

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the vectors turned."""
        if points.metric not in VECTORIAL:
            raise InputError("rotation_metric_unknown", metric=points.metric)
        vectors = points.coordinates
        motion = _random_rotation(vectors.shape[1], rng)
        motion[0] *= rng.choice([-1.0, 1.0])
        if points.metric == "cosine":
            return np.asarray(vectors @ motion.T)
        centre = vectors.mean(axis=0)
        shift = rng.normal(0, 1, vectors.shape[1]) * vectors.std()
        return np.asarray((vectors - centre) @ motion.T + centre + shift)


def _random_rotation(dimensions: int, rng: np.random.Generator) -> FloatArray:
    """Draw a rotation uniform over all rotations."""
    if dimensions == 1:
        return np.ones((1, 1))
    from scipy.stats import special_ortho_group

    return np.asarray(special_ortho_group.rvs(dimensions, random_state=rng))
