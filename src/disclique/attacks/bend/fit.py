"""The map from the known cloud to the target's and who is who, fitted together.

Given the map, every pair of fitting labels has a likelihood against two strangers; given these, the map is a weighted
regression. Both are repeated while the width of the residuals falls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import gammaln

from disclique.attacks.bend.clouds import Basis, Cloud
from disclique.model import FloatArray

Ints = NDArray[np.int64]
FINEST = 1e-9  # width of residuals, in standard deviations of the cloud, that is rounding
STEP = 0.01  # over which the slope of the map is taken
CROWD = 8  # neighbours by which the density of the cloud is measured
SEEN = 1e-6  # a pair less probable than that does not pull at the map
OWN = 0.95  # a pair that determines the map more than that by itself confirms nothing
LARGEST = 500.0  # of a logarithm


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


def measure_crowd(places: FloatArray, dimensions: int) -> FloatArray:
    """Return the log density of a cloud, of mass 1, at its own points, over two units or as far as the nearest few lie.

    It is that of a sheet of so many ``dimensions``, which may be fewer than those of the space around it.
    """
    n = len(places)
    tree = cKDTree(places)
    near = min(CROWD, n - 1)
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
        unsure += np.einsum("kf,fg,kg->k", functions, fit.inverse, functions)
        if fair and fit.weight is not None:
            own = fit.weight * (unsure[problem.k] - 1)
            residual = residual / (1 - np.minimum(own, OWN))[:, None]
    flat = min(known.sheet, fit.axes)
    square = _square_along_sheet(problem, fit, residual / fit.sd, image) / unsure[problem.k]
    crowd = measure_crowd(image / fit.sd, flat) if crowd is None else crowd
    level = -flat / 2 * np.log(2 * np.pi * unsure) - crowd
    ratio = -square / 2 + level[problem.k] + problem.base
    weight = np.exp(np.minimum(ratio + np.log(fit.common) - np.log1p(-fit.common), LARGEST))
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
    along = np.einsum("pas,pa->ps", tangents[problem.k], off)
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
        aside[axis] = STEP
        there, here = (fit.basis.of(places + way * aside, known) @ fit.coefficients for way in (1, -1))
        slopes.append((there - here) / fit.sd)
    return np.asarray(np.linalg.qr(np.stack(slopes, axis=2))[0])


def find_responsibilities(problem: Problem, fit: Fit) -> FloatArray:
    """Return how probably each pair is one person, nobody being more than one."""
    assert fit.ratio is not None
    odds = np.exp(np.minimum(fit.ratio + np.log(fit.common) - np.log1p(-fit.common), LARGEST))
    found = odds / (1 + np.bincount(problem.i, weights=odds, minlength=problem.target.size))[problem.i]
    rivals = np.bincount(problem.k, weights=found, minlength=problem.known.size)
    found = found / np.maximum(rivals, 1.0)[problem.k]
    if problem.seeds is not None:
        found[problem.seeds] = 1.0
    return np.asarray(found)


def regress(problem: Problem, fit: Fit, weight: FloatArray, *, narrowest: float) -> Fit:
    """Return the map fitted to the pairs by their weights, and its residuals' widths as if each were left out."""
    use = np.flatnonzero(weight > SEEN)
    mass = float(weight[use].sum())
    functions = fit.basis.of(problem.known.places, problem.known)
    if mass < 2 * problem.known.sheet + 2:  # fewer than determine anything
        return fit
    rows, w = functions[problem.k[use]], weight[use]
    goal = problem.target.places[problem.i[use], : fit.axes]
    normal = rows.T @ (rows * w[:, None]) + mass * np.diag(fit.basis.price(functions.shape[1]))
    inverse = np.asarray(np.linalg.pinv(normal, rcond=1e-13, hermitian=True), dtype=float)
    coefficients = inverse @ (rows.T @ (goal * w[:, None]))
    own = np.minimum(w * np.einsum("ef,fg,eg->e", rows, inverse, rows), OWN)
    residual = (goal - rows @ coefficients) / (1 - own)[:, None]
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


def anneal(problem: Problem, fit: Fit, widths: list[float], *, rounds: int = 2) -> Fit:
    """Repeat fitting and judging while the residuals may become as narrow as each of ``widths``."""
    for width in widths:
        crowd = None
        for _ in range(rounds):
            judged = judge(problem, replace(fit, sd=np.maximum(fit.sd, width)), crowd=crowd)
            crowd = judged.crowd
            fit = regress(problem, judged, find_responsibilities(problem, judged), narrowest=max(width, FINEST))
    return judge(problem, fit)
