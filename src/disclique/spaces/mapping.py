"""The map that a matrix makes: a snooper without coordinates, or a data holder, scales distances to one.

Distances of a plane or of the Earth, exact or printed with a few digits, fit a map but for rounding. Travel times,
distances between texts or in many dimensions fit none, and stay distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from disclique.errors import DiscliqueError
from disclique.geodesy import EARTH_KM, from_space
from disclique.spaces.base import Distances, spaced
from disclique.spaces.matrix import Matrix, ScaledMatrix
from disclique.spaces.points import Points
from disclique.spaces.positions import Motion, fit_motion, locate_known
from disclique.spaces.rebuild.incomplete import rebuild_from_incomplete
from disclique.spaces.rebuild.landmarks import (
    REBUILDING,
    TargetMap,
    measure_distances,
    rebuild_from_landmarks,
)
from disclique.spaces.rebuild.least_squares import rebuild_from_noisy
from disclique.units import KM
from disclique.values import FloatArray

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class MapFit:
    """When distances are those of a map; misfits are shares of the standard deviation of the distances."""

    fewest_records: int = 10  # of fewer almost any distances fit a map
    exact_misfit: float = 1e-6  # rounding of floating point numbers
    good_misfit: float = 0.05  # a larger one is no map's, unless rounding explains it
    rough_misfit: float = 0.2  # too large even for rounded distances
    curved_share: float = 0.5  # of the plane's misfit, that of the sphere must be smaller than


@dataclass(frozen=True)
class Overlay:
    """How one map is laid on another by the people whom two files share."""

    fewest_people: int = 3
    rounds: int = 20  # times that a fit is repeated with those whom it brings together best
    far_medians: float = 4.0  # median distances at which somebody is left out of it


MAP_FIT, OVERLAY = MapFit(), Overlay()


def make_map(matrix: Matrix, radius: float | None = None, fit: MapFit = MAP_FIT) -> ScaledMatrix | None:
    """Return the matrix with its places, in the plane or on the Earth as it fits better; None if it fits no map.

    ``radius`` is that of the sphere to be used, 0 for the plane.
    """
    if matrix.directed or matrix.size < fit.fewest_records or radius not in (None, 0.0, EARTH_KM):
        return None
    spread = float(np.nanstd(matrix.values[np.triu_indices(matrix.size, 1)]))
    if not spread > 0:
        return None
    try:
        found = [(one, _rebuild(matrix, one, fit.exact_misfit * spread)) for one in _list_radii(matrix, radius)]
    except DiscliqueError:  # too few distances are published
        return None
    chosen, best = found[0]
    for one, other in found[1:]:
        if other.misfit < fit.curved_share * best.misfit:
            chosen, best = one, other
    pairs = matrix.size * (matrix.size - 1) / 2
    misfit = best.misfit * np.sqrt(pairs / (pairs - 2 * matrix.size + 3))
    digit = _find_digit(matrix.values[matrix.values > 0])
    allowed = min(float(np.hypot(fit.good_misfit * spread, digit / np.sqrt(12))), fit.rough_misfit * spread)
    if misfit > allowed or not np.isfinite(best.variance).all():
        return None
    error = float(np.sqrt(best.variance.mean() + _find_common_misfit(matrix, best.positions, chosen)))
    return ScaledMatrix.of(matrix, _make_points(best.positions, chosen, matrix.unit), error=error, digit=digit)


def find_printed_unit(values: FloatArray, most_decimals: int = 12) -> float:
    """Return the unit of the last digit of numbers that were printed with few decimals; 0 if they were not.

    >>> find_printed_unit(np.array([1.25, 3.5, 0.75])), find_printed_unit(np.array([0.1, 1 / 3]))
    (0.01, 0.0)
    """
    some = values[:: max(len(values) // 2000, 1)]
    if not len(some):
        return 0.0
    for digits in range(most_decimals + 1):
        scaled = some * 10.0**digits
        noise = 8 * np.finfo(float).eps * np.abs(scaled)
        if float(noise.max()) > 0.01:  # so many digits that any number looks printed
            return 0.0
        if bool((np.abs(scaled - np.round(scaled)) <= noise).all()):
            return float(10.0**-digits)
    return 0.0


def _find_digit(values: FloatArray) -> float:
    """Return the unit of the last digit of printed numbers, which may stand before the point; 0 if they were not."""
    coarse = [unit for unit in (1000.0, 100.0, 10.0) if len(values) and not np.any(values % unit)]
    return coarse[0] if coarse else find_printed_unit(values)


def _find_common_misfit(matrix: Matrix, positions: FloatArray, radius: float) -> float:
    """Return the variance of what the map misses and neighbours have in common, which many distances do not average.

    Of distances that are curved in another way than the map they miss the same; of rounded ones, nothing.
    """
    marks = spaced(matrix.size, REBUILDING.landmarks)
    missed = matrix.values[:, marks] - measure_distances(positions, positions[marks], radius)
    beside = cKDTree(positions).query(positions, k=2)[1][:, 1]
    itself = np.arange(matrix.size)[:, None] == marks[None, :]
    use = ~itself & (beside[:, None] != marks[None, :]) & np.isfinite(missed) & np.isfinite(missed[beside])
    return max(float(np.mean((missed * missed[beside])[use])), 0.0) if use.any() else 0.0


def _list_radii(matrix: Matrix, radius: float | None) -> list[float]:
    """List the spheres on which the records may lie, the plane (0) first."""
    if radius is not None:
        return [radius]
    longest = float(np.nanmax(matrix.values, initial=0.0))
    on_earth = matrix.unit in (None, KM) and longest <= np.pi * EARTH_KM
    return [0.0, EARTH_KM] if on_earth else [0.0]


def _rebuild(matrix: Matrix, radius: float, exact: float) -> TargetMap:
    """Return the map of the matrix: from a few columns where it is ``exact``, by least squares where it is not."""
    if np.isnan(matrix.values).any():
        return rebuild_from_incomplete(matrix, radius)
    marks = spaced(matrix.size, REBUILDING.landmarks)
    block = matrix.values[:, marks]
    positions = rebuild_from_landmarks(block, marks, radius)
    misfit = float(np.sqrt(np.mean((measure_distances(positions, positions[marks], radius) - block) ** 2)))
    if misfit <= exact:
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


def scale_together(target: Distances, known: Distances, pairs: Pairs) -> tuple[Distances, Distances] | None:
    """Return two files with their places on one map; ``pairs`` are the rows of the people who are in both.

    None if neither is a matrix, one of them fits no map, or too few people tell how one lies on the other.
    """
    turned = [(b, a) for a, b in pairs]
    if (reference := known.points()) is not None:
        laid = lay_matrix_on(target, reference, pairs)
        return None if laid is None else (laid, known)
    if (reference := target.points()) is not None:
        laid = lay_matrix_on(known, reference, turned)
        return None if laid is None else (target, laid)
    scaled = target.to_map()
    laid = None if scaled is None else lay_matrix_on(known, scaled.places(), turned)
    return None if scaled is None or laid is None else (scaled, laid)


def lay_matrix_on(loose: Distances, reference: Points, pairs: Pairs, overlay: Overlay = OVERLAY) -> ScaledMatrix | None:
    """Return a matrix with its map laid on that of another file; ``pairs`` are the same people, here and there."""
    if loose.matrix() is None or not reference.is_map:
        return None
    there = locate_known(reference)
    scaled = loose.to_map(radius=there.radius)
    if scaled is None or len(pairs) < overlay.fewest_people:
        return None
    own, (rows, others) = locate_known(scaled.places()), np.array(pairs, dtype=np.int64).T
    here, fixed = own.positions[rows], there.positions[others]
    motions = [_fit_most(here, fixed, there.flat, mirror=mirror, overlay=overlay) for mirror in (False, True)]
    moved = min(motions, key=lambda one: float(np.median(_apart(one, here, fixed))))(own.positions)
    places = moved[:, :2] if there.flat else from_space(moved)
    return replace(scaled, map=Points(places, reference.metric, unit=reference.unit))


def _fit_most(here: FloatArray, fixed: FloatArray, flat: bool, *, mirror: bool, overlay: Overlay) -> Motion:
    """Return the motion that brings most people together: a few who moved house must not turn the map of all others."""
    kept = np.arange(len(here))
    for _ in range(overlay.rounds):
        away = _apart(fit_motion(here[kept], fixed[kept], flat, mirror=mirror), here, fixed)
        kept = np.argsort(away, kind="stable")[: max(overlay.fewest_people, len(here) // 2 + 1)]
    near = np.flatnonzero(away <= max(overlay.far_medians * float(np.median(away)), float(away[kept].max())))
    return fit_motion(here[near], fixed[near], flat, mirror=mirror)


def _apart(motion: Motion, here: FloatArray, fixed: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(motion(here) - fixed, axis=1))
