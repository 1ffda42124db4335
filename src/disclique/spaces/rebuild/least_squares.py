"""Maps fitted to lengths by least squares.

A sparse Gauss-Newton fit serves a few lengths per record, sweeps over all of it a whole noisy matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg, splu

from disclique.errors import InputError
from disclique.spaces.base import Distances, spaced
from disclique.spaces.rebuild.landmarks import (
    REBUILDING,
    Rebuilding,
    TargetMap,
    measure_distances,
    rebuild_from_landmarks,
    refuse_directed,
)
from disclique.values import FloatArray

Ints = NDArray[np.int64]
CHUNK = 4_000_000  # entries of the matrix looked at together
_CG_STEPS = 200


class Lengths(NamedTuple):
    """Published lengths between pairs of records, as straight chords through the sphere."""

    i: Ints
    j: Ints
    chord: FloatArray
    records: int
    radius: float
    how: Rebuilding = REBUILDING

    @property
    def typical(self) -> float:
        """The mean length; above 0 even if most are rounded to it."""
        return max(float(self.chord.mean()), 1e-12) if len(self.chord) else 1.0

    def some(self, which: Ints) -> Lengths:
        """Keep only the lengths ``which``."""
        return self._replace(i=self.i[which], j=self.j[which], chord=self.chord[which])


def to_chords(arcs: FloatArray, radius: float) -> FloatArray:
    """Return the straight lengths of great-circle distances; in the plane the distances themselves."""
    return np.asarray(2 * radius * np.sin(np.minimum(arcs / (2 * radius), np.pi / 2))) if radius else arcs


def project_to_surface(positions: FloatArray, radius: float) -> FloatArray:
    """Return the positions pulled back onto the sphere or into the plane."""
    if radius:
        return np.asarray(positions * (radius / np.linalg.norm(positions, axis=1, keepdims=True)))
    return np.asarray(positions * np.array([1.0, 1.0, 0.0]))


def find_tangents(positions: FloatArray, radius: float) -> FloatArray:
    """Return two unit vectors along the sphere or plane at each position, shape (n, 2, 3)."""
    n = len(positions)
    if not radius:
        return np.tile(np.eye(3)[:2], (n, 1, 1))
    up = positions / np.linalg.norm(positions, axis=1, keepdims=True)
    aside = np.eye(3)[np.argmin(np.abs(up), axis=1)]
    first = np.cross(aside, up)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack((first, np.cross(up, first)), axis=1)


def measure_heights(positions: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
    """Return how far each position is above the sphere or plane, and the direction that is up."""
    if radius:
        norm = np.linalg.norm(positions, axis=1)
        return norm - radius, positions / norm[:, None]
    return positions[:, 2], np.tile(np.eye(3)[2], (len(positions), 1))


def measure_residuals(positions: FloatArray, published: Lengths) -> FloatArray:
    """Return length on the map less published length, of every pair."""
    offset = positions[published.i] - positions[published.j]
    return np.asarray(np.sqrt((offset**2).sum(axis=1)) - published.chord)


def estimate_spread(values: FloatArray) -> float:
    """Return the robust standard deviation around 0."""
    return float(1.4826 * np.median(np.abs(values))) if len(values) else 0.0


def find_outlier_bound(r: FloatArray, published: Lengths) -> float:
    """Return the size above which a residual is no noise but a fold."""
    return published.how.outlier_sd * max(estimate_spread(r), published.how.rounding_share * published.typical)


def differentiate_lengths(positions: FloatArray, published: Lengths, basis: FloatArray | None) -> sparse.csr_matrix:
    """Return the derivatives of the lengths by the positions: along ``basis``, or in all of space."""
    offset = positions[published.i] - positions[published.j]
    unit = offset / np.maximum(np.sqrt((offset**2).sum(axis=1)), 1e-12)[:, None]
    if basis is None:
        here, there, k = unit, unit, 3
    else:
        here, there = (np.einsum("ek,eak->ea", unit, basis[end]) for end in (published.i, published.j))
        k = 2
    axes, edges = np.arange(k), len(unit)
    columns = np.concatenate((published.i[:, None] * k + axes, published.j[:, None] * k + axes), axis=1)
    values = np.concatenate((here, -there), axis=1)
    starts = np.arange(0, 2 * k * edges + 1, 2 * k)
    return sparse.csr_matrix((values.ravel(), columns.ravel(), starts), (edges, k * published.records))


def factorise(normal: sparse.spmatrix) -> LinearOperator:
    """Return the inverse of a symmetric positive definite matrix, as an operator."""
    lu = splu(
        normal.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True, "Equil": False},
    )
    return LinearOperator(normal.shape, matvec=lu.solve, matmat=lu.solve, dtype=float)


class LengthSample(NamedTuple):
    """Some of the lengths and how many each stands for: enough to precondition the solver."""

    which: Ints
    weight: FloatArray


@dataclass(frozen=True)
class FitOptions:
    """What a fit minimises: ``scale`` of Cauchy's loss (None: squares), and ``lid``, the price of squared heights.

    With a lid the map may leave the sphere or plane into the third dimension, where a folded map can unfold.
    """

    scale: float | None = None
    lid: float | None = None
    steps: int = 30
    gain: float = 1e-3  # stop once a step saves less than this share of the loss

    def loss(self, positions: FloatArray, published: Lengths) -> float:
        """Return the sum to be minimised."""
        r = measure_residuals(positions, published)
        total = r @ r if self.scale is None else self.scale**2 * np.log1p((r / self.scale) ** 2).sum()
        if self.lid is None:
            return float(total)
        return float(total + self.lid * (measure_heights(positions, published.radius)[0] ** 2).sum())

    def weights(self, r: FloatArray) -> FloatArray:
        """Return the weight of each length: one that fits badly counts little."""
        return np.ones_like(r) if self.scale is None else 1 / (1 + (r / self.scale) ** 2)


def fit_positions(
    positions: FloatArray,
    published: Lengths,
    options: FitOptions,
    *,
    sample: LengthSample | None = None,
    free: Ints | None = None,
) -> FloatArray:
    """Return the positions after Levenberg-Marquardt steps.

    Where there are very many lengths a ``sample`` preconditions the solver; only the ``free`` records move, if given.
    """
    damping, loss = 1e-3, options.loss(positions, published)
    enough = (1e-9 * published.typical) ** 2 * len(published.chord)
    for _ in range(options.steps):
        after_step = _take_step(positions, published, options, damping, (sample, free))
        after = options.loss(after_step, published)
        if after < loss:
            saved = loss - after
            positions, loss, damping = after_step, after, max(damping / 8, 1e-9)
            if saved < options.gain * (after + saved) or after < enough:
                break
        else:
            damping *= 8
            if damping > 1e5:
                break
    return positions


def _take_step(
    positions: FloatArray,
    published: Lengths,
    options: FitOptions,
    damping: float,
    only: tuple[LengthSample | None, Ints | None],
) -> FloatArray:
    """Return the positions after one damped Gauss-Newton step."""
    sample, free = only
    at = np.arange(published.records) if free is None else free
    r = measure_residuals(positions, published)
    root = np.sqrt(options.weights(r))
    basis = None if options.lid is not None else find_tangents(positions, published.radius)
    slope = differentiate_lengths(positions, published, basis).multiply(root[:, None]).tocsr()
    axes = 3 if basis is None else 2
    if free is not None:
        slope = slope[:, (free[:, None] * axes + np.arange(axes)).ravel()]
    pull, extra = slope.T @ (root * r), None
    if options.lid is not None:
        height, up = measure_heights(positions[at], published.radius)
        blocks = options.lid * up[:, :, None] * up[:, None, :]
        extra = sparse.bsr_matrix((blocks, np.arange(len(at)), np.arange(len(at) + 1))).tocsr()
        pull += (options.lid * height[:, None] * up).ravel()
    step = np.zeros((published.records, axes))
    step[at] = -_solve_step(slope, extra, pull, damping, sample).reshape(len(at), axes)
    if basis is None:
        return np.asarray(positions + step)
    return project_to_surface(positions + np.einsum("na,nak->nk", step, basis), published.radius)


def _solve_step(
    slope: sparse.csr_matrix,
    extra: sparse.csr_matrix | None,
    pull: FloatArray,
    damping: float,
    sample: LengthSample | None,
) -> FloatArray:
    """Solve the damped normal equations."""
    diagonal = np.asarray(slope.multiply(slope).sum(axis=0)).ravel()
    damp = sparse.diags(damping * np.maximum(diagonal, 1e-9 * max(float(diagonal.max()), 1e-300)))
    if extra is not None:
        damp = damp + extra
    if sample is None:
        return np.asarray(factorise(slope.T @ slope + damp) @ pull)
    few = slope[sample.which]
    near = factorise(few.T @ few.multiply(sample.weight[:, None]) + damp)
    whole = LinearOperator(near.shape, matvec=lambda v: slope.T @ (slope @ v) + damp @ v, dtype=float)
    return np.asarray(cg(whole, pull, rtol=1e-5, atol=0.0, maxiter=_CG_STEPS, M=near)[0])


def estimate_errors(
    positions: FloatArray, published: Lengths, *, fixed: NDArray[np.bool_], noise: float, sample: LengthSample | None
) -> FloatArray:
    """Estimate the variance per axis of each position, by passing random errors of the lengths through the fit.

    A common motion of the map is no error. Infinite for records that are not ``fixed``.
    """
    r, rng = measure_residuals(positions, published), np.random.default_rng(0)
    samples = published.how.error_samples
    fits = np.abs(r) <= find_outlier_bound(r, published)
    spare = max(int(fits.sum()) - 2 * published.records, len(r) // 10, 1)
    variance = max(noise**2, float((r[fits] ** 2).sum()) / spare)
    basis = find_tangents(positions, published.radius)
    root = np.sqrt(fits.astype(float))
    if sample is not None:
        published, root = published.some(sample.which), root[sample.which] * np.sqrt(sample.weight)
    slope = differentiate_lengths(positions, published, basis).multiply(root[:, None]).tocsr()
    loose = 1e-6  # inverse variance of the unheld, so that everything has a finite one
    size = slope.shape[1]
    push = slope.T @ rng.normal(size=(len(root), samples)) + np.sqrt(loose) * rng.normal(size=(size, samples))
    shift = factorise(slope.T @ slope + loose * sparse.identity(size)) @ push
    motions = list_rigid_moves(positions, basis, published.radius)
    weight = np.repeat(fixed.astype(float), 2)
    for _ in range(3):  # the motion is judged by the records that are held best
        root = np.sqrt(weight)[:, None]
        left = shift - motions @ np.linalg.lstsq(motions * root, shift * root, rcond=None)[0]
        square = (left.reshape(-1, 2, samples) ** 2).mean(axis=(1, 2))
        weight = np.repeat(fixed / np.maximum(square, 1e-12), 2)
    return np.where(fixed, variance * square, np.inf)


def list_rigid_moves(positions: FloatArray, basis: FloatArray, radius: float) -> FloatArray:
    """Return the three small rigid motions as moves along the tangents, shape (2n, 3)."""
    if radius:
        moves = np.stack([np.cross(axis, positions) for axis in np.eye(3)], axis=2)
    else:
        turn = np.cross(np.eye(3)[2], positions - positions.mean(axis=0))
        moves = np.stack([np.tile(axis, (len(positions), 1)) for axis in np.eye(3)[:2]] + [turn], axis=2)
    return np.asarray(np.einsum("nak,nkm->nam", basis, moves).reshape(-1, 3))


def rebuild_from_noisy(
    target: Distances, radius: float, *, noise: float | None, how: Rebuilding = REBUILDING
) -> TargetMap:
    """Rebuild the map from a complete matrix whose entries carry independent noise of standard deviation ``noise``.

    Every record has a length to every other one, so that the noise averages out: what is left of it on each axis is
    about ``noise * sqrt(2 / n)``. With ``noise`` None it is estimated from what the map leaves unexplained.
    """
    refuse_directed(target)
    n = target.size
    rows = np.arange(n, dtype=np.int32)
    marks = spaced(n, how.spectral_rows if n <= 2 * how.spectral_rows else how.landmarks)
    block = target.block(rows, marks.astype(np.int32))
    if np.isnan(block).any():
        raise InputError("map_of_unpublished")
    positions = rebuild_from_landmarks(block, marks, radius)
    del block
    partners = rows if n <= how.partners else spaced(n, how.partners).astype(np.int32)
    return sweep_positions(target, radius, positions, partners=partners, noise=noise, how=how)


class SweepResult(NamedTuple):
    """What one sweep over all lengths gives."""

    step: FloatArray  # (n, 2): each record's own best move along the tangents, the others staying
    trace: FloatArray  # (n,): mean over the axes of the inverse curvature
    squares: float  # mean squared residual


def sweep_positions(
    target: Distances,
    radius: float,
    positions: FloatArray,
    *,
    partners: NDArray[np.int32],
    noise: float | None,
    how: Rebuilding = REBUILDING,
) -> TargetMap:
    """Fit the map by least-squares sweeps over the published lengths from every record to the ``partners``."""
    n, share = len(positions), 4 / max(len(partners) - 1, 5)  # share of the residuals that the fit has eaten
    fewest = float(np.sqrt(1 / max(len(partners), 1)))
    sweep, first = _sweep_once(target, radius, positions, partners), 0.0
    for _ in range(how.sweeps):
        basis = find_tangents(positions, radius)
        positions = project_to_surface(
            positions + how.relaxed_share * np.einsum("na,nak->nk", sweep.step, basis), radius
        )
        move, scale = float(np.sqrt((sweep.step**2).mean())), float(np.sqrt(sweep.squares))
        first = max(first, move)
        if move <= max(0.01 * scale * fewest, 1e-9 * first):
            break
        sweep = _sweep_once(target, radius, positions, partners)
    own = float(np.sqrt(sweep.squares / (1 - share)))
    sd = own if noise is None else max(noise, own)
    return TargetMap(positions, sd**2 * sweep.trace * np.ones(n), float(np.sqrt(sweep.squares)))


def _sweep_once(target: Distances, radius: float, positions: FloatArray, partners: NDArray[np.int32]) -> SweepResult:
    """Return each record's own Gauss-Newton step, from its lengths to the partners."""
    n, others = len(positions), positions[partners]
    step, trace, total, count = np.zeros((n, 2)), np.zeros(n), 0.0, 0
    basis = find_tangents(positions, radius)
    for at in range(0, n, max(CHUNK // len(partners), 1)):
        rows = np.arange(at, min(at + max(CHUNK // len(partners), 1), n), dtype=np.int32)
        drawn = measure_distances(positions[rows], others, radius)
        r = drawn - target.block(rows, partners)
        use = np.isfinite(r) & (partners[None, :] != rows[:, None])
        r[~use] = 0.0
        total, count = total + float((r**2).sum()), count + int(use.sum())
        here = (basis[rows] * positions[rows, None, :]).sum(axis=2)
        u, v = (here[:, a, None] - basis[rows, a] @ others.T for a in (0, 1))
        size = np.hypot(u, v)
        size[~(use & (size > 0))] = np.inf
        u, v = u / size, v / size
        uu, vv, uv = ((a * b).sum(axis=1) for a, b in ((u, u), (v, v), (u, v)))
        gu, gv = (u * r).sum(axis=1), (v * r).sum(axis=1)
        determinant = np.maximum(uu * vv - uv**2, 1e-9 * (uu + vv) ** 2 + 1e-300)
        step[rows, 0], step[rows, 1] = (uv * gv - vv * gu) / determinant, (uv * gu - uu * gv) / determinant
        trace[rows] = (uu + vv) / (2 * determinant)
    return SweepResult(step, trace, total / max(count, 1))
