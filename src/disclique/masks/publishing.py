"""Masks that publish something else than the matrix: a part of it, or the distances of an embedding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from disclique.errors import InputError, TooLarge
from disclique.geodesy import draw_in_box, to_space
from disclique.masks.base import Mask, one_of, whole
from disclique.masks.nearest import list_nearest
from disclique.masks.registry import register_mask
from disclique.model import Distances, FloatArray, IntArray
from disclique.spaces import FORMED, Listed, Matrix, Unformed, full_matrix, matrix_like
from disclique.spaces.metrics import VECTORIAL, pairwise


@register_mask
@dataclass(frozen=True)
class Nearest(Mask):
    """Only the distances to the ``k`` nearest records, exact; a pair is published if one is near to the other."""

    name: ClassVar[str] = "knn"
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
        if distances.size > FORMED:
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
    if images.size > FORMED:
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
            raise InputError("mask lipschitz: it takes distances without a direction")
        metric = {"1": "cityblock", "2": "euclidean", "inf": "chebyshev"}[self.norm]
        scale = 1.0 if self.norm == "inf" else self.sets ** (1 / int(self.norm))
        return _between(Embedded(self._embedded(distances, rng), metric, scale, distances.unit), distances)

    def _embedded(self, distances: Distances, rng: np.random.Generator) -> FloatArray:
        """Return one row per record, one column per reference set; an unpublished distance counts as infinite."""
        wanted = self.sets * self.size
        if self.drawn == "records":
            if self.size > distances.size:
                raise InputError(f"mask lipschitz, size = {self.size}: the file has only {distances.size} records")
            members = np.concatenate([rng.choice(distances.size, self.size, replace=False) for _ in range(self.sets)])
            found = distances.block(np.arange(distances.size, dtype=np.int32), members.astype(np.int32))
        else:
            own = distances.vectors()
            if own is None:
                raise InputError("mask lipschitz: reference points of the area need coordinates; write drawn=records")
            places = draw_in_box(own.coordinates, wanted, own.metric, rng)
            found = pairwise(own.coordinates, places, own.metric)
        nearest = np.where(np.isnan(found), np.inf, found).reshape(distances.size, self.sets, self.size).min(axis=2)
        if not np.isfinite(nearest).all():
            raise InputError("mask lipschitz: some records have no published distance to a reference set")
        return np.asarray(nearest)


@register_mask
@dataclass(frozen=True)
class Projection(Mask):
    """Distances after a random Gaussian projection of the records to ``dimensions``, right on average when squared.

    Points of the Earth are projected as places in space (km through the Earth), a matrix by its classical scaling.
    Vectors that are compared by their cosine are so after the projection.
    """

    name: ClassVar[str] = "projection"
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
        raise InputError("mask projection: it takes distances without a direction")
    if distances.size > FORMED:
        raise TooLarge(
            f"mask projection: it makes a space of the whole matrix, of at most {FORMED:,} records; of these "
            f"{distances.size:,} it needs the coordinates"
        )
    values = full_matrix(distances)
    if np.isnan(values).any():
        raise InputError("mask projection: it takes a complete matrix, but some distances are not published")
    squares = values**2
    centred = -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
    eigenvalues, vectors = np.linalg.eigh(centred)
    kept = eigenvalues > 1e-12 * max(float(eigenvalues.max(initial=0.0)), 1e-300)
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]))
