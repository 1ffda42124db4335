"""A map of the risk that is safe to share: rectangles with at least k people each, and the mean risk of each.

Edges lie on lines of a fixed grid with round numbers, never at anybody's place. A rectangle is halved along the grid
line nearest to its middle that leaves enough people on both sides, the longer side first. The rectangles cover the
whole box, so that nothing is said about which parts of one are empty, and the box itself ends at lines of a grid that
is ten times as wide: who lives farthest out is not shown either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.model import FloatArray

PARTS = 4  # lines of the wide grid across the longer side of the file, at the least
FINE = 10  # lines of the fine grid between two of the wide one
WORLD = ((-180.0, 180.0), (-90.0, 90.0))
_SAME = 1e-9


@dataclass(frozen=True)
class MapCell:
    """A rectangle, how many people it has, and their mean risk."""

    west: float
    south: float
    east: float
    north: float
    people: int
    risk: float


@dataclass(frozen=True)
class CoarseMap:
    """The cells of a map under one setting; no cell has fewer than ``k`` people whose risk was measured."""

    spec: str
    k: int
    cells: tuple[MapCell, ...]


@dataclass(frozen=True)
class _Box:
    """Grid lines from ``low`` to ``high`` on both axes, and the people between them."""

    low: tuple[int, int]
    high: tuple[int, int]
    rows: NDArray[np.int64]

    def split(self, axis: int, line: int, below: NDArray[np.bool_]) -> tuple[_Box, _Box]:
        high = tuple(line if k == axis else self.high[k] for k in (0, 1))
        low = tuple(line if k == axis else self.low[k] for k in (0, 1))
        return _Box(self.low, high, self.rows[below]), _Box(low, self.high, self.rows[~below])  # type: ignore[arg-type]


def draw_coarse_map(
    places: FloatArray, risk: FloatArray, *, k: int, spec: str = "", earth: bool = True
) -> CoarseMap | None:
    """Return the map of people at ``places``; None where fewer than 2k have a risk (NaN: not measured).

    >>> rng = np.random.default_rng(0)
    >>> found = draw_coarse_map(rng.uniform(5, 15, (100, 2)), rng.random(100), k=10)
    >>> min(cell.people for cell in found.cells) >= 10, sum(cell.people for cell in found.cells)
    (True, 100)
    """
    there = ~np.isnan(risk)
    extent = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    if int(there.sum()) < 2 * k or not (math.isfinite(extent) and extent > 0):
        return None
    wide = _round_up(extent / PARTS)
    step = wide / FINE
    if step < abs(places).max() * 1e-12:  # the grid is finer than numbers are
        return None
    cell = np.floor(places / step + _SAME).astype(np.int64)  # a place on a line counts to the east and north
    low = np.floor(places.min(axis=0) / wide + _SAME).astype(np.int64) * FINE
    high = (np.floor(places.max(axis=0) / wide + _SAME).astype(np.int64) + 1) * FINE
    if earth:
        ends = np.round(np.array(WORLD) / step).astype(np.int64)
        low, high = np.maximum(low, ends[:, 0]), np.minimum(high, ends[:, 1])
        cell = np.clip(cell, ends[:, 0], ends[:, 1] - 1)
    whole = _Box(_pair(low), _pair(high), np.arange(len(places)))
    return CoarseMap(spec, k, tuple(_describe(box, step, risk) for box in _divide(whole, cell, there, k)))


def _pair(values: NDArray[np.int64]) -> tuple[int, int]:
    return int(values[0]), int(values[1])


def _round_up(length: float) -> float:
    """Return the next number 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(length))
    return next(part * power for part in (1, 2, 5, 10) if part * power >= length * (1 - _SAME))


def _divide(whole: _Box, cell: NDArray[np.int64], there: NDArray[np.bool_], k: int) -> list[_Box]:
    """Halve boxes as long as both halves have k people whose risk is known."""
    done, waiting = [], [whole]
    while waiting:
        box = waiting.pop()
        sides = [box.high[axis] - box.low[axis] for axis in (0, 1)]
        for axis in sorted((0, 1), key=lambda one: -sides[one]):
            halves = _halve(box, axis, cell, there, k)
            if halves is not None:
                waiting += halves
                break
        else:
            done.append(box)
    return sorted(done, key=lambda box: (box.low, box.high))


def _halve(box: _Box, axis: int, cell: NDArray[np.int64], there: NDArray[np.bool_], k: int) -> tuple[_Box, _Box] | None:
    """Cut a box at the line nearest to its middle that leaves enough on both sides; None if none does."""
    middle = (box.low[axis] + box.high[axis]) / 2
    at = cell[box.rows, axis]
    for line in sorted(range(box.low[axis] + 1, box.high[axis]), key=lambda one: (abs(one - middle), one)):
        below = at < line
        counted = there[box.rows]
        if min(int((below & counted).sum()), int((~below & counted).sum())) >= k:
            return box.split(axis, line, below)
    return None


def _describe(box: _Box, step: float, risk: FloatArray) -> MapCell:
    (west, south), (east, north) = ([round(line * step, 12) for line in ends] for ends in (box.low, box.high))
    return MapCell(west, south, east, north, len(box.rows), float(np.nanmean(risk[box.rows])))
