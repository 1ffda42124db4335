"""The map of the target, rebuilt from its distances up to a rigid motion or a mirror image.

Distances to a few landmark records determine it where they carry no noise: by their inner products on the sphere, by
classical scaling in the plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from disclique.errors import InputError
from disclique.spaces.base import Distances, spaced
from disclique.values import FloatArray

Ints = NDArray[np.int64]
LANDMARKS = 200


@dataclass(frozen=True, eq=False)
class TargetMap:
    """Positions of the targets in coordinates of their own, and how far each may be off."""

    positions: FloatArray  # (n, 3); on the sphere of the known map's radius, or with third coordinate 0
    variance: FloatArray  # (n,), per axis, of the error of the position
    misfit: float  # root mean square difference between the published distances and those of the map
    copies: tuple[FloatArray, ...] = ()  # of several releases: the positions in each, laid on each other

    @property
    def releases(self) -> tuple[FloatArray, ...]:
        """The positions in every release."""
        return self.copies or (self.positions,)


def refuse_directed(target: Distances) -> None:
    """Raise an InputError for distances that have no map at all."""
    if target.directed:
        raise InputError("distances with a direction have no map; the clique and extend attacks apply to them")


def choose_landmarks(records: int, most: int = LANDMARKS) -> Ints:
    """Return at most ``most`` rows, evenly spaced."""
    return spaced(records, most)


def measure_distances(a: FloatArray, b: FloatArray, radius: float) -> FloatArray:
    """Return distances on the sphere (or in the plane, radius 0) between positions, shape (len(a), len(b))."""
    square = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * (a @ b.T)
    chord = np.sqrt(np.maximum(square, 0))
    return chord if radius == 0 else np.asarray(2 * radius * np.arcsin(np.minimum(chord / (2 * radius), 1)))


def rebuild_from_landmarks(block: FloatArray, marks: Ints, radius: float) -> FloatArray:
    """Rebuild positions from the distances of every record to the records ``marks``, shape (n, len(marks))."""
    inner = _find_inner_products(block[marks], radius)
    dimension = 2 if radius == 0 else 3
    top = min(dimension, len(marks))
    values, vectors = eigh(inner, subset_by_index=[len(marks) - top, len(marks) - 1])
    keep = values > 1e-14 * max(float(values.max(initial=0.0)), 1e-300)
    anchors = vectors[:, keep] * np.sqrt(values[keep])
    if radius:
        cross = radius**2 * np.cos(block / radius)
    else:
        square = block**2
        cross = (square[marks].mean(axis=0) - square) / 2
        cross -= cross @ np.ones((len(marks), 1)) / len(marks)
    positions = np.zeros((len(block), 3))
    positions[:, : keep.sum()] = cross @ anchors @ np.linalg.pinv(anchors.T @ anchors)
    if radius:
        positions *= radius / np.maximum(np.linalg.norm(positions, axis=1, keepdims=True), 1e-300)
    return positions


def _find_inner_products(distances: FloatArray, radius: float) -> FloatArray:
    """Return inner products of the positions, seen from the Earth's centre or from the middle of the points."""
    if radius:
        return np.asarray(radius**2 * np.cos(distances / radius))
    square = distances**2
    rows = square.mean(axis=0)
    return np.asarray((rows[:, None] + rows[None, :] - rows.mean() - square) / 2)
