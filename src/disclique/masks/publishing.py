"""Masks that publish something else than the matrix: a part of it, or the distances of an embedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from disclique.errors import InputError, TooLarge
from disclique.geodesy import EARTH_KM, draw_in_box, to_space
from disclique.masks.base import EntryMask, Mask, one_of, whole
from disclique.masks.registry import register_mask
from disclique.messages import Message
from disclique.spaces import SIZES, Listed, Matrix, Nothing, Points, Unformed, full_matrix, matrix_like, read_in_blocks
from disclique.spaces.base import Distances
from disclique.spaces.metrics import VECTORIAL, paired, pairwise
from disclique.values import FloatArray, IntArray

Ints = NDArray[np.int64]
Found = tuple[Ints, Ints, FloatArray]  # records, their neighbours, the distances


@register_mask
@dataclass(frozen=True)
class AsTheyAre(EntryMask):
    """Distances as they are: of a file that has none, where numbers are released, or to see what no mask gives away."""

    name: ClassVar[str] = "none"
    tried: ClassVar[tuple[str, ...] | None] = ("",)
    summary: ClassVar[Message | None] = Message("mask_does_nothing")
    reference: ClassVar[str] = "no mask"
    rigid: ClassVar[bool] = True

    def apply(self, distances: Distances, rng: np.random.Generator) -> Distances:
        """Return the distances, without what they are between."""
        return distances.as_matrix()

    def perturbed(self, d: FloatArray, rng: np.random.Generator, unit: str | None) -> FloatArray:
        """Return them."""
        return d


@register_mask
@dataclass(frozen=True)
class Withheld(Mask):
    """No distances between records at all: labels and numbers are the release, such as distances to places."""

    name: ClassVar[str] = "withheld"
    tried: ClassVar[tuple[str, ...] | None] = ("",)
    summary: ClassVar[Message | None] = Message("mask_does_withheld")
    on: ClassVar[str] = "distances"
    scope: ClassVar[str] = "entry"
    reference: ClassVar[str] = "no distances"
    withholds: ClassVar[bool] = True

    def apply(self, distances: Distances, rng: np.random.Generator) -> Distances:
        """Return that nothing is published between so many records."""
        return Nothing(distances.size)


@register_mask
@dataclass(frozen=True)
class Nearest(Mask):
    """Only the distances to the ``k`` nearest records, exact; a pair is published if one is near to the other."""

    name: ClassVar[str] = "knn"
    tried: ClassVar[tuple[str, ...] | None] = ("k={half}..1",)
    summary: ClassVar[Message | None] = Message("mask_does_knn")
    on: ClassVar[str] = "distances"
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "a neighbour list, as released for spatial weights (Anselin 1988, Spatial Econometrics)"
    dial: ClassVar[str | None] = "k"
    dial_rises: ClassVar[bool] = False
    replayed: ClassVar[bool] = True

    k: int = field(metadata=whole(1))

    def apply(self, distances: Distances, rng: np.random.Generator) -> Matrix | Listed:
        """Return the matrix with NaN where nothing is published; ties are broken at random.

        Of many records no matrix is formed: the published distances are listed.
        """
        if distances.is_large:
            return list_nearest(distances, self.k, rng)
        values = np.array(full_matrix(distances))
        size = len(values)
        candidates = np.where(np.isnan(values) | np.eye(size, dtype=bool), np.inf, values)
        order = np.lexsort((rng.random((size, size)), candidates))[:, : min(self.k, size)]
        published = np.eye(size, dtype=bool)
        np.put_along_axis(published, order, True, axis=1)
        if not distances.directed:
            published |= published.T
        values[~published] = np.nan
        return matrix_like(values, distances)


@dataclass(frozen=True)
class NeighbourSearch:
    """How neighbours are found by a tree: how far around, and how many of them are held in memory."""

    more: int = 8  # neighbours that are looked at beyond those asked for, among whom ties are broken
    rounding: float = 1e-9  # of a distance, by which straight lengths and those along the Earth may order otherwise
    grain: float = 1e-13  # of the largest coordinate: what floating point loses
    records: int = 20_000  # whose neighbours are held at a time
    pairs: int = SIZES.entries  # that are held at a time, where ties leave open who is near

    def find(self, points: Points, k: int, rng: np.random.Generator) -> Iterator[Found]:
        """Find neighbours by a tree; where ties leave open who is among the nearest, all who may be are compared."""
        places = to_space(points.coordinates, points.metric)
        tree, grain = cKDTree(places), self.grain * float(np.abs(places).max(initial=0.0))
        for rows in np.array_split(np.arange(points.size), -(-points.size // self.records)):
            straight, near = tree.query(places[rows], k=k + 1 + self.more)
            away = _measure_pairs(points, np.repeat(rows, near.shape[1]), near.ravel()).reshape(near.shape)
            away[near == rows[:, None]] = np.inf
            farthest = straight[:, -1]
            if points.metric == "sphere":
                farthest = 2 * EARTH_KM * np.arcsin(np.minimum(farthest / (2 * EARTH_KM), 1))
            lots = np.asarray(rng.random(away.shape))
            order = np.lexsort((lots, away))[:, :k]
            chosen = np.take_along_axis(away, order, axis=1)
            sure = chosen[:, -1] < (1 - self.rounding) * farthest - grain
            names = np.take_along_axis(near, order, axis=1)[sure].ravel().astype(np.int64)
            yield np.repeat(rows[sure], k), names, chosen[sure].ravel()
            reach = (1 + self.rounding) * straight[~sure, k] + grain  # one of those found may be the record itself
            for part, around in self._within(tree, rows[~sure], reach):
                i = np.repeat(np.arange(len(part)), [len(one) for one in around])
                j = np.concatenate([np.asarray(one, dtype=np.int64) for one in around])
                other = part[i] != j
                i, j = i[other], j[other]
                away = _measure_pairs(points, part[i], j)
                kept = _choose_nearest(i, away, k, rng)
                yield part[i[kept]], j[kept], away[kept]

    def _within(self, tree: cKDTree, rows: Ints, reach: FloatArray) -> Iterator[tuple[Ints, list[list[int]]]]:
        """Yield records, some at a time, with all who lie within the reach of each."""
        places = np.asarray(tree.data)
        many = np.cumsum(tree.query_ball_point(places[rows], reach, return_length=True)) if len(rows) else np.zeros(0)
        for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(many // self.pairs)) + 1):
            if len(part):
                yield rows[part], tree.query_ball_point(places[rows[part]], reach[part])


SEARCH = NeighbourSearch()


def list_nearest(distances: Distances, k: int, rng: np.random.Generator, search: NeighbourSearch = SEARCH) -> Listed:
    """Return the distances to the ``k`` nearest records, ties broken at random; a pair is listed if one is near.

    Of points of the Earth or of a Euclidean space they are found by a tree, of others from blocks of their distances.
    """
    size = distances.size
    points = distances.points()
    by_tree = points is not None and points.metric in ("sphere", "euclidean") and k + search.more < size - 1
    parts = search.find(points, k, rng) if points and by_tree else _nearest_by_rows(distances, k, rng)
    first, second, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    if distances.directed:
        order = np.lexsort((second, first))
        return Listed(size, first[order], second[order], value[order], True, distances.unit)
    pair = np.minimum(first, second) * size + np.maximum(first, second)
    pair, where = np.unique(pair, return_index=True)
    return Listed(size, pair // size, pair % size, value[where], False, distances.unit)


def _measure_pairs(points: Points, first: Ints, second: Ints) -> FloatArray:
    """Return distances between records, the same there and back."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return paired(points.coordinates[low], points.coordinates[high], points.metric)


def _choose_nearest(i: Ints, away: FloatArray, k: int, rng: np.random.Generator) -> Ints:
    """Return which pairs hold the ``k`` nearest of each ``i``, ties in random order."""
    lots = rng.random(len(i))
    order = np.lexsort((lots, away, i))
    rank = np.arange(len(i)) - np.searchsorted(i[order], i[order])
    return order[rank < k]


def _nearest_by_rows(distances: Distances, k: int, rng: np.random.Generator) -> Iterator[Found]:
    """Find neighbours from all distances of each record, some records at a time."""
    everybody = np.arange(distances.size)
    for some, block in read_in_blocks(distances, everybody.astype(np.int32)):
        away = np.where(np.isnan(block) | (some[:, None] == everybody[None, :]), np.inf, block)
        limit = np.partition(away, k - 1, axis=1)[:, k - 1 : k] if k < distances.size else np.inf
        i, j = np.nonzero((away <= limit) & np.isfinite(away))
        kept = _choose_nearest(i, away[i, j], k, rng)
        i, j = i[kept], j[kept]
        yield some[i].astype(np.int64), j, away[i, j]


@dataclass(frozen=True, eq=False, repr=False)
class Embedded(Unformed):
    """Distances between the images of the records in a space, divided by ``scale``; the images are not shown."""

    images: FloatArray = field(repr=False)
    metric: str
    scale: float = 1.0
    unit: str | None = None
    directed: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.images)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``."""
        a, b = self.images[rows], self.images[columns]
        found = pairwise(a, b, self.metric) if self.metric in VECTORIAL else cdist(a, b, self.metric)
        return np.asarray(found / self.scale)


def _between(images: Embedded, distances: Distances) -> Matrix | Embedded:
    """Return a matrix in the place of the distances, or of many records what shows its entries."""
    if distances.is_large:
        return images
    values = full_matrix(images)
    return matrix_like((values + values.T) / 2, distances)


@register_mask
@dataclass(frozen=True)
class Lipschitz(Mask):
    """Distances of a Lipschitz embedding: coordinate i of a record is its distance to the nearest of a random set A_i.

    ``sets`` reference sets of ``size`` points each are drawn from the ``records`` of the file or from the ``area``
    (uniformly from the smallest box around the points). Published is the norm of the difference of two embedded
    records, for the norms 1 and 2 divided by sets^(1/norm), so that no distance grows. A variant of the publication,
    whose own choices may differ.
    """

    name: ClassVar[str] = "lipschitz"
    tried: ClassVar[tuple[str, ...] | None] = ("sets=64..1",)
    summary: ClassVar[Message | None] = Message("mask_does_lipschitz")
    on: ClassVar[str] = "distances"
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Kroll and Schnell 2016, International Journal of Health Geographics 15:1 (variant)"
    dial: ClassVar[str | None] = "sets"
    dial_rises: ClassVar[bool] = False
    conditional: ClassVar[bool] = True
    simulated_files: ClassVar[int] = 50
    replayed: ClassVar[bool] = True

    sets: int = field(metadata=whole(1))
    size: int = field(default=1, metadata=whole(1))
    drawn: str = field(default="area", metadata=one_of("area", "records"))
    norm: str = field(default="2", metadata=one_of("1", "2", "inf"))

    def apply(self, distances: Distances, rng: np.random.Generator) -> Matrix | Embedded:
        """Return the distances between the embedded records."""
        if distances.directed:
            raise InputError("lipschitz_directed")
        metric = {"1": "cityblock", "2": "euclidean", "inf": "chebyshev"}[self.norm]
        scale = 1.0 if self.norm == "inf" else self.sets ** (1 / int(self.norm))
        return _between(Embedded(self._embedded(distances, rng), metric, scale, distances.unit), distances)

    def _embedded(self, distances: Distances, rng: np.random.Generator) -> FloatArray:
        """Return one row per record, one column per reference set; an unpublished distance counts as infinite."""
        wanted = self.sets * self.size
        if self.drawn == "records":
            if self.size > distances.size:
                raise InputError("lipschitz_sets_too_large", size=self.size, records=distances.size)
            members = np.concatenate([rng.choice(distances.size, self.size, replace=False) for _ in range(self.sets)])
            found = distances.block(np.arange(distances.size, dtype=np.int32), members.astype(np.int32))
        else:
            own = distances.vectors()
            if own is None:
                raise InputError("lipschitz_needs_coordinates")
            places = draw_in_box(own.coordinates, wanted, own.metric, rng)
            found = pairwise(own.coordinates, places, own.metric)
        nearest = np.where(np.isnan(found), np.inf, found).reshape(distances.size, self.sets, self.size).min(axis=2)
        if not np.isfinite(nearest).all():
            raise InputError("lipschitz_unpublished")
        return np.asarray(nearest)


@register_mask
@dataclass(frozen=True)
class Projection(Mask):
    """Distances after a random Gaussian projection of the records to ``dimensions``, right on average when squared.

    Points of the Earth are projected as places in space (km through the Earth), a matrix by its classical scaling.
    Vectors that are compared by their cosine are so after the projection.
    """

    name: ClassVar[str] = "projection"
    tried: ClassVar[tuple[str, ...] | None] = ("dimensions={columns}..1",)
    summary: ClassVar[Message | None] = Message("mask_does_projection")
    on: ClassVar[str] = "distances"
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Liu, Kargupta and Ryan 2006, IEEE Trans Knowledge and Data Engineering 18:92-106"
    dial: ClassVar[str | None] = "dimensions"
    dial_rises: ClassVar[bool] = False
    conditional: ClassVar[bool] = True
    simulated_files: ClassVar[int] = 400  # one projection per file
    replayed: ClassVar[bool] = True

    dimensions: int = field(metadata=whole(1))

    def apply(self, distances: Distances, rng: np.random.Generator) -> Matrix | Embedded:
        """Return the straight distances between the projected records."""
        places = _places(distances)
        image = places @ rng.normal(0, 1 / np.sqrt(self.dimensions), (places.shape[1], self.dimensions))
        vectors = distances.vectors()
        metric = "cosine" if vectors is not None and vectors.metric == "cosine" else "euclidean"
        return _between(Embedded(image, metric, 1.0, distances.unit), distances)


def _places(distances: Distances) -> FloatArray:
    """Return the records as places of a Euclidean space."""
    if (own := distances.vectors()) is not None:
        return np.asarray(own.coordinates) if own.metric == "cosine" else to_space(own.coordinates, own.metric)
    if distances.directed:
        raise InputError("projection_directed")
    if distances.is_large:
        raise TooLarge("projection_too_many_records", most=distances.sizes.formed_records, records=distances.size)
    values = full_matrix(distances)
    if np.isnan(values).any():
        raise InputError("projection_unpublished")
    squares = values**2
    centred = -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
    eigenvalues, vectors = np.linalg.eigh(centred)
    kept = eigenvalues > 1e-12 * max(float(eigenvalues.max(initial=0.0)), 1e-300)
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]))
