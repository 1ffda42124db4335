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
from disclique.spaces.base import Distances
from disclique.values import FloatArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rebuilding:
    """When a map is believed, and how much is done to find one; shares are of what is named."""

    landmarks: int = 200  # records whose distances determine a map without noise
    exact_share: float = 1e-6  # of the spread of the distances: a misfit that is rounding of floating point numbers
    explained_share: float = 0.7  # of the variance of the distances: what a map must explain
    rough_share: float = 0.02  # of the spread: a misfit from which on it matters what kind of noise there is
    tiny_share: float = 1e-6  # of the mean distance: what is no length
    better_log: float = 0.02  # likelihood per distance by which a factor must explain the release better
    related_share: float = 0.3  # of the variance of the logarithms: what the map must explain under a factor
    capped_share: float = 0.01  # of equal largest values, from which on they are a cap, not distances
    short_neighbours: int = 12  # kept of a complete matrix when only small distances are trusted

    # all distances, with noise
    spectral_rows: int = 1500  # of a noisy matrix that the spectral start looks at
    partners: int = 6000  # of each record in the sweeps; more would change nothing that a snooper could use
    sweeps: int = 80
    relaxed_share: float = 0.6  # of a record's own best move: all move at once, and a common stretch would overshoot
    outlier_sd: float = 6.0  # a residual of so many robust standard deviations is no noise
    rounding_share: float = 1e-6  # of a typical length: residuals below are rounding
    error_samples: int = 64  # random errors of the lengths, from which those of the positions are taken

    # some distances
    placed_share: float = 0.9  # of the records that a map must place
    kept_lengths: int = 200  # of each record that are looked at one by one
    thin_lengths: int = 12  # of each record that are enough to find the map
    dense_share: float = 0.2  # of the matrix from which on sweeps over all of it finish the fit
    fold_hops: tuple[int, ...] = (1, 2, 2, 3, 3, 4, 4, 6)  # how far around a fold the map is lifted, by attempt
    crumpled_share: float = 0.08  # of the records near folds from which on the whole map is lifted
    lids: tuple[float, ...] = (1e-4, 1e-2)  # price of leaving the surface, of a record's hold, while unfolding
    lift: float = 0.4  # height at which unfolding starts, in typical lengths
    body_seeds: int = 1000  # records around which a body is looked for
    body_share: float = 1e-5  # of the size of a kernel vector, by which records may leave a body's affine function
    part_records: int = 5  # of a part, at the least: four always fit in some way
    most_parts: int = 60  # that are attacked, the largest ones

    # distances with a random factor each
    core: int = 900  # records that are fitted together; the others are placed among them
    # of the median distance: nearer ones count as that far
    blurs: tuple[float, ...] = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015, 0.007, 0.003)
    stray_blurs: tuple[float, ...] = (0.25, 0.06)  # after which records that went astray are called back
    stray_places: int = 80  # at which a stray record is tried
    witnesses: int = 250  # records by whose distances it is judged
    blur_steps: int = 4  # of Gauss and Newton at each blur
    wild_sd: float = 3.0  # of the logarithm, beyond which a factor counts less
    finest_share: float = 1e-9  # of the median distance


REBUILDING = Rebuilding()


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
        raise InputError("directed_no_map")


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
