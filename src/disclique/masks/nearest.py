"""The nearest records of every record of a large file, without its matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.geodesy import EARTH_KM, to_space
from disclique.model import Distances, FloatArray
from disclique.spaces import Listed, Points, read_in_blocks
from disclique.spaces.lazy import AT_ONCE
from disclique.spaces.metrics import paired

Ints = NDArray[np.int64]
Found = tuple[Ints, Ints, FloatArray]  # records, their neighbours, the distances
MORE = 8  # neighbours that are looked at beyond those asked for, among whom ties are broken
ROUNDING = 1e-9  # of a distance, by which straight lengths and lengths along the Earth may order neighbours otherwise
GRAIN = 1e-13  # of the largest coordinate: what floating point loses
_SOME = 20_000  # records whose neighbours are held at a time


def list_nearest(distances: Distances, k: int, rng: np.random.Generator) -> Listed:
    """Return the distances to the ``k`` nearest records, ties broken at random; a pair is listed if one is near.

    Of points of the Earth or of a Euclidean space they are found by a tree, of others from blocks of their distances.
    """
    size = distances.size
    points = distances.points()
    by_tree = points is not None and points.metric in ("sphere", "euclidean") and k + MORE < size - 1
    parts = _by_tree(points, k, rng) if points and by_tree else _by_rows(distances, np.arange(size), k, rng)
    first, second, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    if distances.directed:
        order = np.lexsort((second, first))
        return Listed(size, first[order], second[order], value[order], True, distances.unit)
    pair = np.minimum(first, second) * size + np.maximum(first, second)
    pair, where = np.unique(pair, return_index=True)
    return Listed(size, pair // size, pair % size, value[where], False, distances.unit)


def _by_tree(points: Points, k: int, rng: np.random.Generator) -> Iterator[Found]:
    """Find neighbours by a tree; where ties leave open who is among the nearest, all who may be are compared."""
    places = to_space(points.coordinates, points.metric)
    tree, grain = cKDTree(places), GRAIN * float(np.abs(places).max(initial=0.0))
    for rows in np.array_split(np.arange(points.size), -(-points.size // _SOME)):
        straight, near = tree.query(places[rows], k=k + 1 + MORE)
        away = _measure(points, np.repeat(rows, near.shape[1]), near.ravel()).reshape(near.shape)
        away[near == rows[:, None]] = np.inf
        farthest = straight[:, -1]
        if points.metric == "sphere":
            farthest = 2 * EARTH_KM * np.arcsin(np.minimum(farthest / (2 * EARTH_KM), 1))
        lots = np.asarray(rng.random(away.shape))
        order = np.lexsort((lots, away))[:, :k]
        chosen = np.take_along_axis(away, order, axis=1)
        sure = chosen[:, -1] < (1 - ROUNDING) * farthest - grain
        names = np.take_along_axis(near, order, axis=1)[sure].ravel().astype(np.int64)
        yield np.repeat(rows[sure], k), names, chosen[sure].ravel()
        reach = (1 + ROUNDING) * straight[~sure, k] + grain  # one of those found may be the record itself
        yield from _within(points, tree, rows[~sure], reach, k, rng)


def _within(
    points: Points, tree: cKDTree, rows: Ints, reach: FloatArray, k: int, rng: np.random.Generator
) -> Iterator[Found]:
    """Choose the nearest of each record among all others within its reach."""
    places = np.asarray(tree.data)
    many = np.cumsum(tree.query_ball_point(places[rows], reach, return_length=True)) if len(rows) else np.zeros(0)
    for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(many // AT_ONCE)) + 1):
        if len(part):
            around = tree.query_ball_point(places[rows[part]], reach[part])
            i = np.repeat(np.arange(len(part)), [len(one) for one in around])
            j = np.concatenate([np.asarray(one, dtype=np.int64) for one in around])
            other = rows[part][i] != j
            i, j = i[other], j[other]
            away = _measure(points, rows[part][i], j)
            kept = _choose(i, away, k, rng)
            yield rows[part][i[kept]], j[kept], away[kept]


def _measure(points: Points, first: Ints, second: Ints) -> FloatArray:
    """Return distances between records, the same there and back."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return paired(points.coordinates[low], points.coordinates[high], points.metric)


def _choose(i: Ints, away: FloatArray, k: int, rng: np.random.Generator) -> Ints:
    """Return which pairs hold the ``k`` nearest of each ``i``, ties in random order."""
    lots = rng.random(len(i))
    order = np.lexsort((lots, away, i))
    rank = np.arange(len(i)) - np.searchsorted(i[order], i[order])
    return order[rank < k]


def _by_rows(distances: Distances, rows: Ints, k: int, rng: np.random.Generator) -> Iterator[Found]:
    """Find neighbours from all distances of each record, some records at a time."""
    everybody = np.arange(distances.size)
    for some, block in read_in_blocks(distances, rows.astype(np.int32)):
        away = np.where(np.isnan(block) | (some[:, None] == everybody[None, :]), np.inf, block)
        limit = np.partition(away, k - 1, axis=1)[:, k - 1 : k] if k < distances.size else np.inf
        i, j = np.nonzero((away <= limit) & np.isfinite(away))
        kept = _choose(i, away[i, j], k, rng)
        i, j = i[kept], j[kept]
        yield some[i].astype(np.int64), j, away[i, j]
