"""Both files as clouds of points, and the map from the known cloud to the target's, fitted together with who is who.

The target becomes a cloud by classical scaling, the known file by its places. Given the map, every pair of fitting
labels has a likelihood against two strangers; given these, the map is a weighted regression. Both are repeated while
the width of the residuals falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial import cKDTree
from scipy.special import gammaln

from disclique.errors import DiscliqueError, InputError
from disclique.geodesy import to_space
from disclique.masks import Mask
from disclique.spaces import Matrix, full_matrix, spaced
from disclique.spaces.base import Distances
from disclique.spaces.rebuild.landmarks import refuse_directed
from disclique.values import FloatArray

Ints = NDArray[np.int64]
FINEST = 1e-9  # width of residuals, in standard deviations of the cloud, that is rounding
HIGHEST = 500.0  # of a logarithm


@dataclass(frozen=True)
class Layout:
    """How files are laid out in space."""

    dimensions: int = 6  # of a cloud at the most
    landmarks: int = 1500  # records whose distances are scaled; the others are placed among them
    explained: float = 0.7  # share of the eigenvalues' mass that the dimensions must hold
    rounding: float = 1e-8  # a dimension of less than that share of the first one's variance is rounding
    draws: int = 20  # times the snooper masks their own file, to see how it bends on the mean


@dataclass(frozen=True)
class Fitting:
    """How a map is fitted."""

    step: float = 0.01  # over which the slope of the map is taken
    crowd: int = 8  # neighbours by which the density of the cloud is measured
    seen: float = 1e-6  # a pair less probable than that does not pull at the map
    own: float = 0.95  # a pair that determines the map more than that by itself confirms nothing


LAYOUT, FITTING = Layout(), Fitting()
BENDING_AXES = 3  # of the known cloud, in which the map may bend


@dataclass(frozen=True, eq=False)
class Cloud:
    """Records as points of a space, centred, each axis of standard deviation 1, the widest first.

    ``sheet`` is how many of the axes are free: places on the Earth lie in a sheet of two.
    """

    places: FloatArray  # (n, dimensions)
    sheet: int

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.places)


def scale_target(target: Distances, layout: Layout = LAYOUT) -> Cloud:
    """Return the cloud of a complete release; an InputError says why there is none."""
    refuse_directed(target)
    if target.size < 4:
        raise InputError("fewer_than_four_records")
    places, explained = _scale(target, layout)
    if explained < layout.explained:
        raise InputError("target_fits_no_space", dimensions=layout.dimensions, explained=explained)
    return _whiten(places, places.shape[1], layout)


def locate_known(known: Distances, layout: Layout = LAYOUT) -> Cloud:
    """Return the cloud of the known records, from their coordinates or by classical scaling of their distances."""
    scaled = known.to_map()
    known = known if scaled is None else scaled.places()
    vectors = known.vectors()
    if vectors is not None and vectors.on_earth:
        return _whiten(to_space(vectors.coordinates, vectors.metric), 2, layout)
    if vectors is not None:
        places = np.asarray(vectors.coordinates, dtype=float)
        if vectors.metric == "cosine":
            places = places / np.linalg.norm(places, axis=1, keepdims=True)
        if len(places) > 1:
            return _whiten(places, layout.dimensions, layout)
    refuse_directed(known)
    if known.size < 4:
        raise InputError("fewer_than_four_known")
    places, explained = _scale(known, layout)
    if explained < layout.explained:
        raise InputError("known_fits_no_space", dimensions=layout.dimensions)
    return _whiten(places, places.shape[1], layout)


def _scale(source: Distances, layout: Layout) -> tuple[FloatArray, float]:
    """Return places by classical scaling, and the share of the eigenvalues' mass that they hold."""
    marks = spaced(source.size, layout.landmarks).astype(np.int32)
    square = np.asarray(full_matrix(source, rows=marks)) ** 2
    if np.isnan(square).any():
        raise InputError("bend_needs_all_distances")
    mean = square.mean(axis=0)
    values, vectors = eigh((mean[:, None] + mean[None, :] - mean.mean() - square) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = np.flatnonzero(values[: layout.dimensions] > layout.rounding * max(float(values[0]), 1e-300))
    if not len(keep):
        raise InputError("all_at_one_place")
    explained = float(values[keep].sum() / np.abs(values).sum())
    axes = vectors[:, keep] / np.sqrt(values[keep])
    if len(marks) == source.size:
        return vectors[:, keep] * np.sqrt(values[keep]), explained
    rows, found = np.arange(source.size, dtype=np.int32), np.zeros((source.size, len(keep)))
    for begin in range(0, source.size, 2000):
        block = source.block(rows[begin : begin + 2000], marks)
        if np.isnan(block).any():
            raise InputError("bend_needs_all_distances")
        found[begin : begin + 2000] = (mean - block**2) @ axes / 2
    return found, explained


def _whiten(places: FloatArray, sheet: int, layout: Layout) -> Cloud:
    """Return the places in their principal axes, each of standard deviation 1."""
    centred = places - places.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / max(len(centred), 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = np.flatnonzero(values[: layout.dimensions] > layout.rounding * max(float(values[0]), 1e-300))
    if not len(keep):
        raise InputError("all_at_one_place")
    return Cloud(np.asarray(centred @ vectors[:, keep] / np.sqrt(values[keep])), min(sheet, len(keep)))


@dataclass(frozen=True)
class Basis:
    """Functions of the known places of which the map is made: polynomials, and bumps around some places.

    Of degree 1 all axes take part, of higher ones the first few.
    """

    degree: int = 1
    bumps: int = 0

    def of(self, places: FloatArray, cloud: Cloud) -> FloatArray:
        """Return the functions at some places, the constant first."""
        columns = [np.ones(len(places)), *places.T]
        bent = places[:, : min(cloud.sheet, BENDING_AXES)]
        for degree in range(2, self.degree + 1):
            columns.extend(
                np.prod(bent[:, list(chosen)], axis=1) / degree
                for chosen in combinations_with_replacement(range(bent.shape[1]), degree)
            )
        if self.bumps:
            centres, width = find_centres(cloud, self.bumps)
            square = ((bent[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
            columns.extend(np.exp(-square / (2 * width**2)).T)
        return np.stack(columns, axis=1)

    def price(self, functions: int) -> FloatArray:
        """Return the ridge of each function: bumps must be worth their while, polynomials are free."""
        price = np.full(functions, 1e-9)
        if self.bumps:
            price[functions - self.bumps :] = 1e-3
        return price


def find_centres(cloud: Cloud, count: int) -> tuple[FloatArray, float]:
    """Return places spread over the cloud, each the farthest from those before, and how far apart they lie."""
    places = cloud.places[:, : min(cloud.sheet, BENDING_AXES)]
    chosen = [int(np.argmin((places**2).sum(axis=1)))]
    gap = ((places - places[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(min(count, len(places)) - 1):
        chosen.append(int(np.argmax(gap)))
        gap = np.minimum(gap, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
    repeated = np.resize(np.array(chosen), count)
    return places[repeated], 1.5 * max(float(np.sqrt(gap.max(initial=0.0))), 1e-3)


def expect_known(known: Distances, mask: Mask, rng: np.random.Generator, layout: Layout = LAYOUT) -> list[Cloud]:
    """Return the cloud that the known file becomes on the mean under the mask; none where the mask does not take it."""
    if known.size > layout.landmarks:
        return []
    try:
        square = sum(full_matrix(mask.apply(known, rng)) ** 2 for _ in range(layout.draws)) / layout.draws
        places = _scale(Matrix(np.sqrt(square)), layout)[0]
        return [_whiten(places, locate_known(known, layout).sheet, layout)]
    except DiscliqueError:
        return []


@dataclass(frozen=True, eq=False)
class Problem:
    """Both clouds and the pairs of records that may be one person."""

    target: Cloud
    known: Cloud
    i: Ints  # target rows of the pairs
    k: Ints  # known rows
    base: FloatArray  # log odds for one person by the labels alone
    common: float | None = None
    seeds: Ints | None = None  # numbers of the pairs that are known beforehand
    fitting: Fitting = FITTING


def measure_crowd(places: FloatArray, dimensions: int, neighbours: int = FITTING.crowd) -> FloatArray:
    """Return the log density of a cloud, of mass 1, at its own points, over two units or as far as the nearest few lie.

    It is that of a sheet of so many ``dimensions``, which may be fewer than those of the space around it.
    """
    n = len(places)
    tree = cKDTree(places)
    near = min(neighbours, n - 1)
    radius = tree.query(places, k=near + 1)[0][:, -1] if near else np.ones(n)
    radius = np.maximum(radius, 2.0) * (1 + 1e-9)
    many = tree.query_ball_point(places, radius, return_length=True)
    ball = dimensions / 2 * np.log(np.pi) - gammaln(dimensions / 2 + 1)
    return np.asarray(np.log(many / n) - ball - dimensions * np.log(radius))


@dataclass(frozen=True, eq=False)
class Fit:
    """A map, how far it is off on each axis of the target, and how probable each pair is under it."""

    basis: Basis
    coefficients: FloatArray  # (functions, axes)
    sd: FloatArray  # (axes,)
    common: float
    inverse: FloatArray | None = None  # of the normal matrix, to know how sure the map is of itself
    weight: FloatArray | None = None  # (pairs,) with which the map was fitted
    evidence: float = -np.inf  # log likelihood ratio against files of strangers
    ratio: FloatArray | None = None  # (pairs,) log likelihood ratio against two strangers
    crowd: FloatArray | None = None  # (known,) log density of strangers on the map

    @property
    def axes(self) -> int:
        """How many axes of the target it maps to."""
        return len(self.sd)


def judge(problem: Problem, fit: Fit, *, fair: bool = False, crowd: FloatArray | None = None) -> Fit:
    """Return the fit with the ratio of every pair and the evidence of all.

    ``fair`` takes every pair by the map fitted without it. ``crowd`` is the density of strangers where it has been
    measured on nearly the same map.
    """
    known, places = problem.known, problem.known.places
    functions = fit.basis.of(places, known)
    image = functions @ fit.coefficients
    residual = problem.target.places[problem.i, : fit.axes] - image[problem.k]
    unsure = np.ones(len(places))
    if fit.inverse is not None:
        unsure += _measure_leverage(functions, fit.inverse)
        if fair and fit.weight is not None:
            own = fit.weight * (unsure[problem.k] - 1)
            residual = residual / (1 - np.minimum(own, problem.fitting.own))[:, None]
    flat = min(known.sheet, fit.axes)
    square = _square_along_sheet(problem, fit, residual / fit.sd, image) / unsure[problem.k]
    crowd = measure_crowd(image / fit.sd, flat, problem.fitting.crowd) if crowd is None else crowd
    level = -flat / 2 * np.log(2 * np.pi * unsure) - crowd
    ratio = -square / 2 + level[problem.k] + problem.base
    weight = np.exp(np.minimum(ratio + np.log(fit.common) - np.log1p(-fit.common), HIGHEST))
    row = np.bincount(problem.i, weights=weight, minlength=problem.target.size)
    there = np.bincount(problem.i, minlength=problem.target.size) > 0
    evidence = float((np.log1p(-fit.common) + np.log1p(row[there])).sum())
    return replace(fit, ratio=ratio, evidence=evidence, crowd=crowd)


def _square_along_sheet(problem: Problem, fit: Fit, off: FloatArray, image: FloatArray) -> FloatArray:
    """Return the squared residuals of the pairs, without what any record of the target lies off the known sheet.

    A stranger lies as far off the sheet as anybody, which therefore tells nothing; only a pair that is farther off
    than the sheet next to the target is less probable.
    """
    square = np.asarray((off**2).sum(axis=1))
    if fit.axes <= problem.known.sheet:
        return square
    tangents = _find_tangents(problem, fit)
    along = (tangents[problem.k] * off[:, :, None]).sum(axis=1)
    across = np.maximum(square - (along**2).sum(axis=1), 0.0)
    places = problem.target.places[:, : fit.axes] / fit.sd
    nearest = cKDTree(image / fit.sd).query(places)[1]
    gap = places - image[nearest] / fit.sd
    beside = (gap**2).sum(axis=1) - (np.einsum("ias,ia->is", tangents[nearest], gap) ** 2).sum(axis=1)
    return np.asarray((along**2).sum(axis=1) + np.maximum(across - beside[problem.i], 0.0))


def _find_tangents(problem: Problem, fit: Fit) -> FloatArray:
    """Return orthonormal directions of the sheet at each known record, on the map in units of the residuals."""
    known, places = problem.known, problem.known.places
    slopes = []
    for axis in range(known.sheet):
        aside = np.zeros(places.shape[1])
        aside[axis] = problem.fitting.step
        there, here = (fit.basis.of(places + way * aside, known) @ fit.coefficients for way in (1, -1))
        slopes.append((there - here) / fit.sd)
    return np.asarray(np.linalg.qr(np.stack(slopes, axis=2))[0])


def find_responsibilities(problem: Problem, fit: Fit) -> FloatArray:
    """Return how probably each pair is one person, nobody being more than one."""
    assert fit.ratio is not None
    odds = np.exp(np.minimum(fit.ratio + np.log(fit.common) - np.log1p(-fit.common), HIGHEST))
    found = odds / (1 + np.bincount(problem.i, weights=odds, minlength=problem.target.size))[problem.i]
    rivals = np.bincount(problem.k, weights=found, minlength=problem.known.size)
    found = found / np.maximum(rivals, 1.0)[problem.k]
    if problem.seeds is not None:
        found[problem.seeds] = 1.0
    return np.asarray(found)


def regress(problem: Problem, fit: Fit, weight: FloatArray, *, narrowest: float) -> Fit:
    """Return the map fitted to the pairs by their weights, and its residuals' widths as if each were left out."""
    use = np.flatnonzero(weight > problem.fitting.seen)
    mass = float(weight[use].sum())
    functions = fit.basis.of(problem.known.places, problem.known)
    if mass < 2 * problem.known.sheet + 2:  # fewer than determine anything
        return fit
    k, w = problem.k[use], weight[use]
    goal = problem.target.places[problem.i[use], : fit.axes]
    # the pairs of a known record have its functions in common: they are added up before these are multiplied
    many = np.bincount(k, w, len(functions))
    goals = np.column_stack([np.bincount(k, w * axis, len(functions)) for axis in goal.T])
    normal = functions.T @ (functions * many[:, None]) + mass * np.diag(fit.basis.price(functions.shape[1]))
    inverse = np.asarray(np.linalg.pinv(normal, rcond=1e-13, hermitian=True), dtype=float)
    coefficients = inverse @ (functions.T @ goals)
    own = np.minimum(w * _measure_leverage(functions, inverse)[k], problem.fitting.own)
    residual = (goal - (functions @ coefficients)[k]) / (1 - own)[:, None]
    sd = np.sqrt((w[:, None] * residual**2).sum(axis=0) / mass)
    common = fit.common
    if problem.common is None:
        common = float(np.clip(mass / problem.target.size, 2 / problem.target.size, 1 - 0.5 / problem.target.size))
    return replace(
        fit,
        coefficients=coefficients,
        sd=np.maximum(sd, narrowest),
        inverse=inverse,
        weight=weight,
        common=common,
    )


def _measure_leverage(functions: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return of each record how much the map follows it: the diagonal of the hat matrix, for a weight of one."""
    return np.asarray(((functions @ inverse) * functions).sum(axis=1))


def anneal(problem: Problem, fit: Fit, widths: Sequence[float], *, rounds: int = 2) -> Fit:
    """Repeat fitting and judging while the residuals may become as narrow as each of ``widths``."""
    for width in widths:
        crowd = None
        for _ in range(rounds):
            judged = judge(problem, replace(fit, sd=np.maximum(fit.sd, width)), crowd=crowd)
            crowd = judged.crowd
            fit = regress(problem, judged, find_responsibilities(problem, judged), narrowest=max(width, FINEST))
    return judge(problem, fit)
