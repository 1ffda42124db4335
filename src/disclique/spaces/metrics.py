"""Metrics: how far two points, vectors or records of mixed tables are apart, by the name of the way to compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, ellipsoid_km, sphere_km
from disclique.spaces.gower import Gower
from disclique.values import FloatArray

GOWER = "gower"
VECTORIAL = ("euclidean", "cosine")
METRICS = (*GEOGRAPHIC, *VECTORIAL, GOWER)

Metric = str | Callable[[Any, Any], float]


def pairwise(a: NDArray[Any], b: NDArray[Any], metric: Metric = "sphere") -> FloatArray:
    """Return distances from each point of ``a`` to each point of ``b``, shape (len(a), len(b))."""
    if metric == "sphere":
        return sphere_km(a[:, None, :], b[None, :, :])
    if metric == "euclidean":
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(a, b))
    if metric == "cosine":
        return _cosine(a, b)
    if isinstance(metric, Gower):
        return metric.pairwise(a, b)
    i, j = np.divmod(np.arange(len(a) * len(b)), max(len(b), 1))
    return measure_each(a[i], b[j], metric).reshape(len(a), len(b))


def paired(a: NDArray[Any], b: NDArray[Any], metric: Metric = "sphere") -> FloatArray:
    """Return the distance of each point of ``a`` from the point of ``b`` in the same row."""
    if metric == "sphere":
        return sphere_km(a, b)
    if metric == "euclidean":
        return np.asarray(np.sqrt(((a - b) ** 2).sum(axis=1)))
    if metric == "cosine":
        return np.asarray(((find_directions(a) - find_directions(b)) ** 2).sum(axis=1) / 2)
    return measure_each(a, b, metric)


def _cosine(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return 1 - cos, as half the squared chord of the directions: exactly 0 between equal vectors, never negative."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(find_directions(a), find_directions(b), "sqeuclidean") / 2)


def find_directions(vectors: FloatArray) -> FloatArray:
    """Return vectors of length 1 in the same directions."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = vectors / np.where(largest > 0, largest, 1.0)  # squares of tiny or huge numbers would be 0 or infinite
    return np.asarray(scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300))


def measure_each(a: NDArray[Any], b: NDArray[Any], metric: Metric) -> FloatArray:
    """Return the distances of rows by a metric that takes one pair at a time; refuse what is no metric."""
    if metric == "wgs84":
        return ellipsoid_km(a, b)
    if not callable(metric):
        if metric == GOWER:
            raise InputError("gower scales numbers by their range in a file: give the records of a file")
        raise InputError(f"metric {metric!r}: choose one of {', '.join(METRICS)} or give a function of two points")
    return np.array([float(metric(x, y)) for x, y in zip(a, b, strict=True)], dtype=float)
