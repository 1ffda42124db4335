"""How far points are from the nearest of many places: points, lines and the borders of areas, on a map.

Everything is a piece of a line: a point is one without length. Pieces are searched in space, where there is neither a
date line nor a pole: a tree finds those whose middle is close in a straight line, the exact length decides among them,
and it is asked for more until no other piece can be nearer. On the Earth pieces are short parts of shortest ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.geodesy import (
    EARTH_KM,
    arc_bounds,
    ellipsoid_km,
    ellipsoid_normals,
    ellipsoid_space,
    from_space,
    to_space,
)
from disclique.spaces.points import Points
from disclique.values import FloatArray

TIE_KM = 1e-9  # nearer by less, and the first in the file is the nearest: lines that meet in a corner are as near


@dataclass(frozen=True)
class SearchSizes:
    """How many pieces are looked at, and how many pairs of a point and a piece are held at a time."""

    points_first: int = 2  # the nearest, and a second one that shows that there is no nearer
    lines_first: int = 8
    more: int = 4  # times as many, where these do not decide
    pairs: int = 1 << 20


SEARCH = SearchSizes()


@dataclass(frozen=True, eq=False)
class Pieces:
    """Places as pieces of lines: where each begins and ends, and to which place it belongs, counted from 0.

    ``places`` is how many there are. Coordinates are degrees ``on_earth``, else those of a plane.
    """

    begin: FloatArray  # shape (m, columns)
    end: FloatArray
    place: NDArray[np.integer]
    places: int
    on_earth: bool = True

    def __post_init__(self) -> None:
        for name in ("begin", "end", "place"):
            kept = np.array(getattr(self, name), dtype=np.int32 if name == "place" else float)
            kept.setflags(write=False)
            object.__setattr__(self, name, kept)


class Found(NamedTuple):
    """How far each point is from the nearest place, which place that is, and at which piece of it."""

    length: FloatArray
    place: NDArray[np.int64]
    piece: NDArray[np.int64]


def find_nearest(points: Points, pieces: Pieces, sizes: SearchSizes = SEARCH) -> Found:
    """Return the nearest place of each point; of places that are as near, the first."""
    once = _first_of_each(pieces)
    search = _Search.of(points, pieces, once)
    found = Found(*(np.zeros(points.size, dtype=kind) for kind in (float, np.int64, np.int64)))
    many, rows = len(once), np.arange(points.size)
    count = min(many, sizes.points_first if search.reach == 0 else sizes.lines_first)
    while len(rows):
        left = [np.zeros(0, dtype=np.int64)]
        for some in _blocks(rows, count, sizes):
            best, undecided = search.nearest(some, count)
            for kept, value in zip(found, best, strict=True):
                kept[some] = value
            left.append(some[undecided])
        rows, count = np.concatenate(left), min(many, count * sizes.more)
    return Found(found.length, found.place, once[found.piece])


def count_within(points: Points, pieces: Pieces, radius: float, sizes: SearchSizes = SEARCH) -> NDArray[np.int64]:
    """Return how many places lie within a length of each point, those at this very length among them."""
    search, counts = _Search.of(points, pieces), np.zeros(points.size, dtype=np.int64)
    for rows in _blocks(np.arange(points.size), 1, sizes):
        many = search.tree.query_ball_point(search.space[rows], search.around(radius), return_length=True)
        parts = np.cumsum(many) // sizes.pairs
        for some in np.split(rows, np.flatnonzero(np.diff(parts)) + 1):
            counts[some] = search.count(some, radius)
    return counts


def _blocks(rows: NDArray[np.int64], each: int, sizes: SearchSizes) -> Iterator[NDArray[np.int64]]:
    step = max(1, sizes.pairs // each)
    return (rows[at : at + step] for at in range(0, len(rows), step))


def _first_of_each(pieces: Pieces) -> NDArray[np.int64]:
    """Return the pieces without those that lie on another one, as on a border that two areas share."""
    turned = pieces.begin[:, 0] > pieces.end[:, 0]
    turned |= (pieces.begin[:, 0] == pieces.end[:, 0]) & (pieces.begin[:, -1] > pieces.end[:, -1])
    ends = [np.where(turned[:, None], *pair) for pair in ((pieces.end, pieces.begin), (pieces.begin, pieces.end))]
    order = np.argsort(pieces.place, kind="stable")
    return np.sort(order[np.unique(np.hstack(ends)[order], axis=0, return_index=True)[1]])


@dataclass(frozen=True, eq=False)
class _Search:
    """Points and pieces in space, prepared for questions."""

    points: Points
    places: NDArray[np.integer]  # of the pieces
    space: FloatArray  # of the points
    middle: FloatArray
    along: FloatArray  # unit vectors from begin to end, 0 for points
    half: FloatArray  # lengths
    tree: cKDTree
    reach: float  # the longest half
    bulge: float  # how far a piece may rise above its straight line

    @classmethod
    def of(cls, points: Points, pieces: Pieces, some: NDArray[np.int64] | slice = slice(None)) -> _Search:
        """Prepare the search for some of the pieces."""
        metric = str(points.metric)
        begin, end, space = (
            ellipsoid_space(xy) if metric == "wgs84" else to_space(xy, metric)
            for xy in (pieces.begin[some], pieces.end[some], points.coordinates)
        )
        step, middle = end - begin, (begin + end) / 2
        length = np.linalg.norm(step, axis=1)
        along = step / np.where(length > 0, length, 1.0)[:, None]
        reach = float(length.max(initial=0.0)) / 2
        bulge = reach**2 / EARTH_KM if points.on_earth else 0.0  # twice that of the sphere: the ellipsoid bends more
        return cls(points, pieces.place[some], space, middle, along, length / 2, cKDTree(middle), reach, bulge)

    def nearest(self, rows: NDArray[np.int64], count: int) -> tuple[Found, NDArray[np.bool_]]:
        """Return the nearest among the first ``count`` pieces by their middles, and where others may be nearer."""
        away, index = (part.reshape(len(rows), count) for part in self.tree.query(self.space[rows], k=count))
        straight = away if self.reach == 0 else self._straight(rows, index)
        every, first = np.arange(len(rows)), straight.argmin(axis=1)
        lengths = np.full(index.shape, np.inf)
        lengths[every, first] = self._exact(rows, index[every, first])
        close = self._bounds(straight - self.bulge)[0] <= lengths[every, first][:, None] + TIE_KM
        close[every, first] = False
        row, column = np.nonzero(close)
        lengths[row, column] = self._exact(rows[row], index[row, column])
        best = lengths.min(axis=1)
        tied = np.where(lengths <= best[:, None] + TIE_KM, self.places[index], np.iinfo(np.int32).max)
        chosen = index[every, tied.argmin(axis=1)]
        undecided = self._bounds(away[:, -1] - self.reach - self.bulge)[0] <= best + TIE_KM
        return Found(best, self.places[chosen], chosen), undecided & (count < len(self.middle))

    def around(self, radius: float) -> float:
        """Return within which straight length of a point the middle of a piece lies that comes within ``radius``."""
        return radius + self.reach + self.bulge + TIE_KM

    def count(self, rows: NDArray[np.int64], radius: float) -> NDArray[np.int64]:
        """Return how many places lie within ``radius`` of each point."""
        lists = self.tree.query_ball_point(self.space[rows], self.around(radius))
        at = np.repeat(np.arange(len(rows)), [len(one) for one in lists])
        index = np.fromiter((piece for one in lists for piece in one), dtype=np.int64, count=len(at))
        straight = self._straight(rows[at], index[:, None])[:, 0]
        least, most = self._bounds(straight - self.bulge)[0], self._bounds(straight + self.bulge)[1]
        inside = most <= radius
        open_end = np.flatnonzero(~inside & (least <= radius + TIE_KM))
        inside[open_end] = self._exact(rows[at[open_end]], index[open_end]) <= radius + TIE_KM
        pairs = np.unique(np.stack((at[inside], self.places[index[inside]])), axis=1)
        return np.bincount(pairs[0], minlength=len(rows))

    def _bounds(self, straight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return between which lengths the way to a piece lies whose straight line is so far away."""
        return arc_bounds(straight, str(self.points.metric)) if self.points.on_earth else (straight, straight)

    def _straight(self, rows: NDArray[np.int64], index: NDArray[np.int64]) -> FloatArray:
        """Return how far points are from the straight lines of pieces, a row of them for each point."""
        away = self.space[rows][:, None, :] - self.middle[index]
        over = np.einsum("nkd,nkd->nk", away, self.along[index])
        away -= np.clip(over, -self.half[index], self.half[index])[:, :, None] * self.along[index]
        return np.asarray(np.linalg.norm(away, axis=2))

    def _exact(self, rows: NDArray[np.int64], index: NDArray[np.int64]) -> FloatArray:
        """Return the lengths from points to pieces, one piece for each of ``rows``."""
        middle, along, half = self.middle[index], self.along[index], self.half[index]
        away = self.space[rows] - middle
        over = np.einsum("nd,nd->n", away, along)
        if self.points.on_earth:
            over = _unbend(over, away, self._upwards(middle))
        foot = middle + np.clip(over, -half, half)[:, None] * along
        if not self.points.on_earth:
            return np.asarray(np.linalg.norm(self.space[rows] - foot, axis=1))
        if self.points.metric == "wgs84":
            return ellipsoid_km(self.points.coordinates[rows], from_space(ellipsoid_normals(foot)))
        foot *= EARTH_KM / np.linalg.norm(foot, axis=1, keepdims=True)
        return self._bounds(np.linalg.norm(self.space[rows] - foot, axis=1))[0]

    def _upwards(self, middle: FloatArray) -> FloatArray:
        if self.points.metric == "wgs84":
            return ellipsoid_normals(middle)
        return np.asarray(middle / np.linalg.norm(middle, axis=1, keepdims=True))


def _unbend(over: FloatArray, away: FloatArray, upwards: FloatArray) -> FloatArray:
    """Return where along a piece the great circle across it meets it, seen from the centre of the Earth.

    From the other half of the Earth the nearer end is the nearest.
    """
    depth = np.einsum("nd,nd->n", away, upwards) + EARTH_KM
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(depth > 0, EARTH_KM * over / depth, np.copysign(np.inf, over))
