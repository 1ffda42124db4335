"""Points in square cells, so that all around a place are gone through without a list of them; and sums over these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel
from disclique.engine.kernels.neighbours import dot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Grid(NamedTuple):
    """Points in square cells, by class, row and column; all of a class in a row of cells lie side by side."""

    axes: Floats  # (2, 3)
    low: Floats  # (2,): the corner
    width: float
    columns: int
    rows: int
    start: Ints  # (classes × rows × columns + 1,)
    member: Ints  # (n,): which point
    position: Floats  # (n, 3)


@kernel
def build_grid(positions: Floats, classes: Ints, axes: Floats, width: float, most: int) -> Grid:
    """Lay points into cells of at least ``width``, so wide that there are at most ``most`` of them; -1 is no class."""
    n, kinds = len(positions), 1
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    flat = np.empty((n, 2))
    for k in range(n):
        kinds = max(kinds, classes[k] + 1)
        for c in range(2):
            flat[k, c] = dot(axes[c], positions[k])
            low[c], high[c] = min(low[c], flat[k, c]), max(high[c], flat[k, c])
    if n == 0:
        low[:], high[:] = 0.0, 0.0
    wide, tall = high[0] - low[0], high[1] - low[1]
    room = max(most / kinds, 1.0)
    width = max(width, np.sqrt(wide * tall / room), wide / room, tall / room, 1e-300)
    columns, rows = int(wide / width) + 1, int(tall / width) + 1
    cell = np.empty(n, np.int64)
    start = np.zeros(kinds * rows * columns + 1, np.int64)
    for k in range(n):
        if classes[k] < 0:
            continue
        x = min(int((flat[k, 0] - low[0]) / width), columns - 1)
        y = min(int((flat[k, 1] - low[1]) / width), rows - 1)
        cell[k] = (classes[k] * rows + y) * columns + x
        start[cell[k] + 1] += 1
    for c in range(len(start) - 1):
        start[c + 1] += start[c]
    head = start[:-1].copy()
    member, position = np.empty(start[-1], np.int64), np.empty((start[-1], 3))
    for k in range(n):
        if classes[k] < 0:
            continue
        at = head[cell[k]]
        head[cell[k]] += 1
        member[at] = k
        position[at] = positions[k]
    return Grid(axes, low, width, columns, rows, start, member, position)


@kernel
def find_run(grid: Grid, kind: int, row: int, x: float, y: float, reach: float) -> tuple[int, int]:
    """Return where the points of a class begin and end that may lie within ``reach`` of a place in a row of cells."""
    below, above = grid.low[1] + row * grid.width - y, y - grid.low[1] - (row + 1) * grid.width
    off = max(below, above, 0.0)
    if off > reach:
        return 0, 0
    half = np.sqrt(reach * reach - off * off)
    first = np.floor((x - half - grid.low[0]) / grid.width)
    last = np.floor((x + half - grid.low[0]) / grid.width)
    # whoever lies on the far edge is in the last cell
    first, last = min(max(first, 0.0), float(grid.columns - 1)), min(last, float(grid.columns - 1))
    if last < 0 or x - half > grid.low[0] + grid.columns * grid.width:
        return 0, 0
    at = (kind * grid.rows + row) * grid.columns
    return grid.start[at + int(first)], grid.start[at + int(last) + 1]


@kernel
def find_rows(grid: Grid, y: float, reach: float) -> tuple[int, int]:
    """Return the first row of cells within ``reach`` of a place, and the one after the last."""
    first = np.floor((y - reach - grid.low[1]) / grid.width)
    last = np.floor((y + reach - grid.low[1]) / grid.width)
    if last < 0 or y - reach > grid.low[1] + grid.rows * grid.width:
        return 0, 0
    first, last = min(max(first, 0.0), float(grid.rows - 1)), min(last, float(grid.rows - 1))
    return int(first), int(last) + 1


class Cubes(NamedTuple):
    """Known people at one scale, counted in cubes: ``plain`` what each adds for a record of any class, and by class."""

    grid: Grid
    variance: float
    reach: float
    plain: Floats  # (cubes,), in the order of the grid
    count: Floats
    same: Floats  # (classes,): what every person there adds for a record of a class
    start: Ints  # (cubes + 1,)
    classes: Ints  # ascending in each cube
    value: Floats


@kernel
def add_strangers(cubes: Cubes, positions: Floats, classes: Ints, total: Floats) -> None:
    """Add the density of strangers at one scale at each place, for a record of its class."""
    grid, start, kinds = cubes.grid, cubes.start, cubes.classes
    peak, furthest = 1 / (2 * np.pi * cubes.variance), cubes.reach * cubes.reach
    for t in range(len(positions)):
        a = classes[t]
        if a < 0:
            continue
        x, y = dot(grid.axes[0], positions[t]), dot(grid.axes[1], positions[t])
        x0, x1, x2, found = positions[t, 0], positions[t, 1], positions[t, 2], 0.0
        first, last = find_rows(grid, y, cubes.reach)
        for row in range(first, last):
            begin, end = find_run(grid, 0, row, x, y, cubes.reach)
            for p in range(begin, end):
                d0, d1, d2 = grid.position[p, 0] - x0, grid.position[p, 1] - x1, grid.position[p, 2] - x2
                square = d0 * d0 + d1 * d1 + d2 * d2
                if square > furthest:
                    continue
                value = cubes.plain[p] + cubes.same[a] * cubes.count[p]
                low, high = start[p], start[p + 1]
                while low < high:
                    middle = (low + high) // 2
                    if kinds[middle] < a:
                        low = middle + 1
                    else:
                        high = middle
                if low < start[p + 1] and kinds[low] == a:
                    value += cubes.value[low]
                found += value * np.exp(-square / (2 * cubes.variance))
        total[t] += peak * found
