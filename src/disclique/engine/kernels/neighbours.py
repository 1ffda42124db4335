"""Neighbours by class: known records in a hash of square cells, so that those around a place are found in O(1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class CellIndex(NamedTuple):
    """Known records in hashed square cells, one set of cells per class.

    Cells are squares of the plane on which ``axes`` project; a projection never lengthens, so records nearer than half
    a cell lie in the cells around. Records of other places or classes that share a bucket are told apart by ``cell``.
    """

    axes: Floats  # (2, 3)
    width: float
    start: Ints  # (buckets + 1,)
    member: Ints  # known records in bucket order
    cell: Ints  # (n, 3): class, column and row, in bucket order
    position: Floats  # (n, 3), in bucket order


class RelatedClasses(NamedTuple):
    """Compressed rows of the relation: ``known[start[a]:start[a + 1]]`` are the known classes of target class a."""

    start: Ints
    known: Ints
    gain: Floats  # log of the evidence of each related pair of classes


@kernel
def dot(a: Floats, b: Floats) -> float:
    """Return the inner product of two vectors of three; a library call would cost ten times as much."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def find_bucket(a: int, x: int, y: int, mask: int) -> int:
    """Return the bucket of the cell (x, y) of class a."""
    h = (a * 73856093) ^ (x * 19349663) ^ (y * 83492791)
    return (h ^ (h >> 13)) & mask


@kernel
def build_index(positions: Floats, classes: Ints, axes: Floats, width: float) -> CellIndex:
    """Build the index with cells of ``width``; O(n). Records without a class (-1) are left out."""
    n = len(positions)
    size = 1
    while size < 2 * n:
        size *= 2
    cell = np.empty((n, 3), np.int64)
    start = np.zeros(size + 1, np.int64)
    for k in range(n):
        cell[k, 0] = classes[k]
        for c in range(2):
            cell[k, c + 1] = int(np.floor(dot(axes[c], positions[k]) / width))
        if classes[k] >= 0:
            start[find_bucket(cell[k, 0], cell[k, 1], cell[k, 2], size - 1) + 1] += 1
    for b in range(size):
        start[b + 1] += start[b]
    head = start[:-1].copy()
    kept = start[size]
    member, sorted_cell = np.empty(kept, np.int64), np.empty((kept, 3), np.int64)
    sorted_position = np.empty((kept, 3))
    for k in range(n):
        if classes[k] < 0:
            continue
        b = find_bucket(cell[k, 0], cell[k, 1], cell[k, 2], size - 1)
        member[head[b]] = k
        sorted_cell[head[b]] = cell[k]
        sorted_position[head[b]] = positions[k]
        head[b] += 1
    return CellIndex(axes, width, start, member, sorted_cell, sorted_position)


@kernel
def find_around(index: CellIndex, x: Floats, classes: Ints, radius: float, found: Ints) -> int:
    """Fill ``found`` with (place in ``classes``, place in bucket order) of the records near x; return how many.

    Stops when ``found`` is full. ``radius`` is at most half a cell.
    """
    mask = len(index.start) - 2
    column = int(np.floor(dot(index.axes[0], x) / index.width - 0.5))
    row = int(np.floor(dot(index.axes[1], x) / index.width - 0.5))
    count = 0
    for q in range(len(classes)):
        for c in range(column, column + 2):
            for r in range(row, row + 2):
                b = find_bucket(classes[q], c, r, mask)
                for p in range(index.start[b], index.start[b + 1]):
                    if index.cell[p, 0] != classes[q] or index.cell[p, 1] != c or index.cell[p, 2] != r:
                        continue
                    d0 = index.position[p, 0] - x[0]
                    d1 = index.position[p, 1] - x[1]
                    d2 = index.position[p, 2] - x[2]
                    if d0 * d0 + d1 * d1 + d2 * d2 <= radius * radius:
                        if count == len(found):
                            return count
                        found[count, 0] = q
                        found[count, 1] = p
                        count += 1
    return count


@kernel
def find_near(
    index: CellIndex, positions: Floats, classes: Ints, related: RelatedClasses, radius: float
) -> tuple[Ints, Ints, Ints]:
    """Return target rows, known rows and relation rows of all related pairs within ``radius``, by target row."""
    found = np.empty((1024, 2), np.int64)
    target, known = np.empty(1024, np.int64), np.empty(1024, np.int64)
    relation = np.empty(1024, np.int64)
    total = 0
    for i in range(len(positions)):
        a = classes[i]
        if a < 0:
            continue
        first = related.start[a]
        count = find_around(index, positions[i], related.known[first : related.start[a + 1]], radius, found)
        while count == len(found):
            found = np.empty((4 * len(found), 2), np.int64)
            count = find_around(index, positions[i], related.known[first : related.start[a + 1]], radius, found)
        if total + count > len(target):
            size = max(2 * len(target), total + count)
            grown = np.empty((3, size), np.int64)
            grown[0, :total], grown[1, :total], grown[2, :total] = target[:total], known[:total], relation[:total]
            target, known, relation = grown[0], grown[1], grown[2]
        for f in range(count):
            target[total] = i
            known[total] = index.member[found[f, 1]]
            relation[total] = first + found[f, 0]
            total += 1
    return target[:total].copy(), known[:total].copy(), relation[:total].copy()


@kernel
def count_around(index: CellIndex, positions: Floats, radii: Floats) -> Ints:
    """Count the records of class 0 within a radius of each position."""
    counts = np.zeros(len(positions), np.int64)
    start, cell, place, mask, width = index.start, index.cell, index.position, len(index.start) - 2, index.width
    for i in range(len(positions)):
        x0, x1, x2 = positions[i, 0], positions[i, 1], positions[i, 2]
        column, row = dot(index.axes[0], positions[i]) / width, dot(index.axes[1], positions[i]) / width
        reach, away = radii[i] * radii[i], radii[i] / width
        for c in range(int(np.floor(column - away)), int(np.floor(column + away)) + 1):
            for r in range(int(np.floor(row - away)), int(np.floor(row + away)) + 1):
                b = find_bucket(0, c, r, mask)
                for p in range(start[b], start[b + 1]):
                    if cell[p, 1] != c or cell[p, 2] != r:
                        continue
                    d0, d1, d2 = place[p, 0] - x0, place[p, 1] - x1, place[p, 2] - x2
                    if d0 * d0 + d1 * d1 + d2 * d2 <= reach:
                        counts[i] += 1
    return counts


class CountedCubes(NamedTuple):
    """Records counted in cubes: how many, the sorted classes of each cube's records, and the homes there."""

    count: Floats  # (cubes,)
    start: Ints  # (cubes + 1,)
    classes: Ints  # by cube
    homes: Floats  # (cubes,), or empty: homes are not asked for


@kernel
def sum_bells(
    index: CellIndex, cubes: CountedCubes, places: Floats, left_out: tuple[Ints, Ints], bell: tuple[float, float]
) -> Floats:
    """Sum the heights of the bells around each place over the records, those of its class, and the homes, in rows.

    ``index`` holds the middles of the cubes, ``left_out`` the cube and the class of each place's own record, which is
    not counted (its home is), and ``bell`` is a variance and a reach of at most half a cell of the index.
    """
    start, cell, middle, mask, width = index.start, index.cell, index.position, len(index.start) - 2, index.width
    found, wide, reach, peak = np.zeros((3, len(places))), bell[0], bell[1] ** 2, 1 / (2 * np.pi * bell[0])
    for i in range(len(places)):
        own, label = left_out[0][i], left_out[1][i]
        x0, x1, x2 = places[i, 0], places[i, 1], places[i, 2]
        column = int(np.floor(dot(index.axes[0], places[i]) / width - 0.5))
        row = int(np.floor(dot(index.axes[1], places[i]) / width - 0.5))
        for c in range(column, column + 2):
            for r in range(row, row + 2):
                b = find_bucket(0, c, r, mask)
                for p in range(start[b], start[b + 1]):
                    if cell[p, 1] != c or cell[p, 2] != r:
                        continue
                    square = (middle[p, 0] - x0) ** 2 + (middle[p, 1] - x1) ** 2 + (middle[p, 2] - x2) ** 2
                    if square > reach:
                        continue
                    cube = index.member[p]
                    height, itself = peak * np.exp(-square / (2 * wide)), 1.0 if cube == own else 0.0
                    found[0, i] += (cubes.count[cube] - itself) * height
                    labels = cubes.classes[cubes.start[cube] : cubes.start[cube + 1]]
                    alike = np.searchsorted(labels, label + 1) - np.searchsorted(labels, label)
                    found[1, i] += (alike - itself) * height
                    if len(cubes.homes):
                        found[2, i] += cubes.homes[cube] * height
    return found
