"""The map that a file's own distances make: a snooper without coordinates, or a data holder, scales a matrix to one.

Distances of a plane or of the Earth, exact or printed with a few digits, fit a map but for rounding. Travel times,
distances between texts or in many dimensions fit none, and stay distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.spatial import cKDTree

from disclique.attacks.equal.lookup import find_printed_unit
from disclique.attacks.knowledge import Knowledge
from disclique.errors import DiscliqueError
from disclique.geodesy import EARTH_KM, KM_PER_DEGREE, from_space
from disclique.model import Distances, FloatArray
from disclique.spaces import Matrix, Points, ScaledMatrix
from disclique.spaces.positions import Motion, fit_motion, locate_known
from disclique.spaces.rebuild.incomplete import rebuild_from_incomplete
from disclique.spaces.rebuild.landmarks import (
    TargetMap,
    choose_landmarks,
    measure_distances,
    rebuild_from_landmarks,
)
from disclique.spaces.rebuild.least_squares import rebuild_from_noisy
from disclique.units import NO_UNIT

FEWEST = 10  # records; of fewer almost any distances fit a map
EXACT = 1e-6  # of the spread of the distances: a misfit that is rounding of floating point numbers
FITS = 0.05  # of the spread: a larger misfit is no map's, unless rounding explains it
ROUGH = 0.2  # of the spread: a misfit that is too large even for rounded distances
CURVED = 0.5  # of the plane's misfit, that of the sphere must be smaller than
TRIMS = 20  # times that a fit is repeated with those whom it brings together best
FAR = 4.0  # times the usual distance at which somebody is left out of it
ANCHORS = 3  # people in both files by whom two maps can be laid on each other


def find_places(distances: Distances) -> Points | None:
    """Return the coordinates of the records, or the map that their distances make; None if there is none."""
    if isinstance(distances, Points):
        return distances if distances.is_map else None
    scaled = scale_matrix(distances)
    return None if scaled is None else scaled.places()


def scale_matrix(distances: Distances, *, radius: float | None = None) -> ScaledMatrix | None:
    """Return the matrix with its places, in the plane or on the Earth as it fits better; None if it fits no map.

    ``radius`` is that of the sphere to be used, 0 for the plane.
    """
    if isinstance(distances, ScaledMatrix) and radius is None:
        return distances
    if not isinstance(distances, Matrix) or distances.directed or distances.size < FEWEST:
        return None
    return None if radius not in (None, 0.0, EARTH_KM) else _scale(distances, radius)


def learn_scaled(knowledge: Knowledge, scaled: ScaledMatrix) -> Knowledge:
    """Return what the snooper knows on a map scaled from distances: its places are not exact, and lie anyhow.

    Where the places really are is not known there, so that a displacement in degrees is taken as if at the equator, and
    of a mask's law only the spread is left.
    """
    noise, unit = knowledge.noise, "plane" if scaled.metric == "euclidean" else "km"
    if noise is not None:
        size = KM_PER_DEGREE if noise.unit == "deg" else 1.0
        noise = replace(noise, east=size * noise.east, north=size * noise.north, unit=unit)
    error = float(np.hypot(knowledge.coordinate_error, scaled.error))
    return replace(knowledge, noise=noise, coordinate_error=error, law=None)


@lru_cache(maxsize=4)
def _scale(matrix: Matrix, radius: float | None) -> ScaledMatrix | None:
    spread = float(np.nanstd(matrix.values[np.triu_indices(matrix.size, 1)]))
    if not spread > 0:
        return None
    radii = _list_radii(matrix) if radius is None else [radius]
    try:
        found = [(one, _rebuild(matrix, one, spread)) for one in radii]
    except DiscliqueError:  # too few distances are published
        return None
    chosen, best = found[0]
    for one, other in found[1:]:
        if other.misfit < CURVED * best.misfit:
            chosen, best = one, other
    pairs = matrix.size * (matrix.size - 1) / 2
    misfit = best.misfit * np.sqrt(pairs / (pairs - 2 * matrix.size + 3))
    digit = _find_digit(matrix.values[matrix.values > 0])
    allowed = min(float(np.hypot(FITS * spread, digit / np.sqrt(12))), ROUGH * spread)
    if misfit > allowed or not np.isfinite(best.variance).all():
        return None
    error = float(np.sqrt(best.variance.mean() + _find_common_misfit(matrix, best.positions, chosen)))
    return ScaledMatrix.of(matrix, _make_points(best.positions, chosen, matrix.unit), error=error, digit=digit)


def _find_digit(values: FloatArray) -> float:
    """Return the unit of the last digit of printed numbers; 0 if they were not."""
    coarse = [unit for unit in (1000.0, 100.0, 10.0) if len(values) and not np.any(values % unit)]
    return coarse[0] if coarse else find_printed_unit(values)


def _find_common_misfit(matrix: Matrix, positions: FloatArray, radius: float) -> float:
    """Return the variance of what the map misses and neighbours have in common, which many distances do not average.

    Of distances that are curved in another way than the map they miss the same; of rounded ones, nothing.
    """
    marks = choose_landmarks(matrix.size)
    missed = matrix.values[:, marks] - measure_distances(positions, positions[marks], radius)
    beside = cKDTree(positions).query(positions, k=2)[1][:, 1]
    itself = np.arange(matrix.size)[:, None] == marks[None, :]
    use = ~itself & (beside[:, None] != marks[None, :]) & np.isfinite(missed) & np.isfinite(missed[beside])
    return max(float(np.mean((missed * missed[beside])[use])), 0.0) if use.any() else 0.0


def _list_radii(matrix: Matrix) -> list[float]:
    """List the spheres on which the records may lie, the plane (0) first."""
    longest = float(np.nanmax(matrix.values, initial=0.0))
    on_earth = matrix.unit != NO_UNIT and longest <= np.pi * EARTH_KM
    return [0.0, EARTH_KM] if on_earth else [0.0]


def _rebuild(matrix: Matrix, radius: float, spread: float) -> TargetMap:
    """Return the map of the matrix: from a few columns where it is exact, by least squares where it is not."""
    if np.isnan(matrix.values).any():
        return rebuild_from_incomplete(matrix, radius)
    marks = choose_landmarks(matrix.size)
    block = matrix.values[:, marks]
    positions = rebuild_from_landmarks(block, marks, radius)
    misfit = float(np.sqrt(np.mean((measure_distances(positions, positions[marks], radius) - block) ** 2)))
    if misfit <= EXACT * spread:
        return TargetMap(positions, np.full(matrix.size, misfit**2), misfit)
    return rebuild_from_noisy(matrix, radius, noise=None)


def _make_points(positions: FloatArray, radius: float, unit: str | None) -> Points:
    """Return positions as points: in the plane, or on the Earth around the place where meridian and equator meet."""
    if not radius:
        return Points(positions[:, :2], "euclidean", unit=unit)
    middle = positions.mean(axis=0) / radius
    basis = np.linalg.qr(np.column_stack((middle, np.eye(3))))[0].T  # the first axis goes through the middle
    front = basis * np.sign(basis[0] @ middle) if basis[0] @ middle else basis
    return Points(from_space(positions @ front.T), "sphere")


def scale_together(
    target: Distances, known: Distances, pairs: Sequence[tuple[int, int]]
) -> tuple[Distances, Distances] | None:
    """Return two files with their places on one map; ``pairs`` are the rows of the people who are in both.

    None if neither is a matrix, one of them fits no map, or too few people tell how one lies on the other.
    """
    if isinstance(known, Points) or isinstance(target, Points):
        fixed, loose = (known, target) if isinstance(known, Points) else (target, known)
        if not (isinstance(fixed, Points) and fixed.is_map and isinstance(loose, Matrix)):
            return None
        turned = [(a, b) if fixed is known else (b, a) for a, b in pairs]
        laid = lay_on(loose, fixed, turned)
        return None if laid is None else ((laid, known) if fixed is known else (target, laid))
    scaled = scale_matrix(target)
    laid = None if scaled is None else lay_on(known, scaled.places(), [(b, a) for a, b in pairs])
    return None if scaled is None or laid is None else (scaled, laid)


def lay_on(loose: Distances, reference: Points, pairs: Sequence[tuple[int, int]]) -> ScaledMatrix | None:
    """Return a matrix with its map laid on that of another file; ``pairs`` are the same people, here and there."""
    there = locate_known(reference)
    scaled = scale_matrix(loose, radius=there.radius)
    if scaled is None or len(pairs) < ANCHORS:
        return None
    own, (rows, others) = locate_known(scaled.places()), np.array(pairs, dtype=np.int64).T
    here, fixed = own.positions[rows], there.positions[others]
    motions = [_fit_most(here, fixed, there.flat, mirror=mirror) for mirror in (False, True)]
    moved = min(motions, key=lambda one: float(np.median(_apart(one, here, fixed))))(own.positions)
    places = moved[:, :2] if there.flat else from_space(moved)
    return replace(scaled, map=Points(places, reference.metric, unit=reference.unit))


def _fit_most(here: FloatArray, fixed: FloatArray, flat: bool, *, mirror: bool) -> Motion:
    """Return the motion that brings most people together: a few who moved house must not turn the map of all others."""
    kept = np.arange(len(here))
    for _ in range(TRIMS):
        away = _apart(fit_motion(here[kept], fixed[kept], flat, mirror=mirror), here, fixed)
        kept = np.argsort(away, kind="stable")[: max(ANCHORS, len(here) // 2 + 1)]
    near = np.flatnonzero(away <= max(FAR * float(np.median(away)), float(away[kept].max())))
    return fit_motion(here[near], fixed[near], flat, mirror=mirror)


def _apart(motion: Motion, here: FloatArray, fixed: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(motion(here) - fixed, axis=1))
