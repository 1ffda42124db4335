"""The map of a release whose distances each carry a random factor: fitted to their logarithms.

The noise grows with the distance, so that near neighbours place a record better than everybody else. Least squares on
the distances themselves listen to the far ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

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
from disclique.spaces.rebuild.least_squares import find_tangents, list_rigid_moves, project_to_surface
from disclique.values import FloatArray


def rebuild_from_relative(
    target: Distances, radius: float, *, noise: float | None, how: Rebuilding = REBUILDING
) -> TargetMap:
    """Rebuild the map from a complete matrix whose entries carry independent lognormal factors of mean 1.

    ``noise`` is the standard deviation of their logarithm, estimated from what the map leaves unexplained if it is
    None. The variance of a record's position is that of all positions fitted together: near neighbours move together.
    """
    refuse_directed(target)
    n = target.size
    core = spaced(n, how.core).astype(np.int32)
    published = np.array(target.block(core, core), dtype=float)
    if np.isnan(published).any():
        raise InputError("map_of_unpublished")
    positions = rebuild_from_landmarks(published, np.arange(len(core)), radius)
    fit = _LogFit(published, radius, noise, how)
    if not fit.use.any():  # all records lie at one place
        return TargetMap(np.repeat(positions[:1], n, axis=0), np.zeros(n), 0.0)
    for blur in how.blurs:
        for _ in range(how.blur_steps):
            positions = fit.step(positions, blur)
        if blur in how.stray_blurs:
            positions = _call_back(fit, positions)
    core_variance = fit.find_variances(positions)
    if len(core) == n:
        return TargetMap(positions, core_variance, fit.misfit(positions))
    return _place_others(target, core, TargetMap(positions, core_variance, fit.misfit(positions)), fit)


class _LogFit:
    """Published distances between some records, and Gauss-Newton steps towards the map that their logarithms fit."""

    def __init__(self, published: FloatArray, radius: float, noise: float | None, how: Rebuilding) -> None:
        self.radius, self.told, self.how = radius, noise, how
        self.use = (published > 0) & ~np.eye(len(published), dtype=bool)
        self.log = np.log(np.where(self.use, published, 1.0))
        # the median of a strong factor is far below its mean of 1: lengths on the map are those before it
        middle = float(np.median(self.log[self.use])) if self.use.any() else 0.0
        self.typical = float(np.exp(np.clip(middle + (noise or 0.0) ** 2 / 2, -200, 200)))
        self.published = published

    def deviations(self, drawn: FloatArray) -> tuple[FloatArray, float]:
        """Return how much the logarithms differ from those on the map, freed of the factor's own mean, and their sd."""
        off = self.log - np.log(np.maximum(drawn, self.how.finest_share * self.typical))
        off = np.where(self.use, off, 0.0)
        spread = float(1.4826 * np.median(np.abs(off[self.use] - np.median(off[self.use])))) if self.use.any() else 0.0
        sd = spread if self.told is None else self.told
        return np.where(self.use, off + sd**2 / 2, 0.0), max(sd, 1e-6)

    def step(self, positions: FloatArray, blur: float) -> FloatArray:
        """Return the positions after one step, all records moving together."""
        drawn = measure_distances(positions, positions, self.radius)
        off, sd = self.deviations(drawn)
        damp = 1 / np.maximum(np.abs(off) / (self.how.wild_sd * sd), 1.0)
        weight = np.where(self.use, damp / (drawn**2 + (blur * self.typical) ** 2), 0.0)
        basis = find_tangents(positions, self.radius)
        normal, pull = self._normal(positions, weight, drawn * np.clip(off, -1, 1), basis)
        normal[np.diag_indices_from(normal)] += 1e-6 * np.trace(normal) / len(normal) + 1e-300
        move = cho_solve(cho_factor(normal, overwrite_a=True, check_finite=False), pull, check_finite=False)
        move = move.reshape(-1, 2)
        size = np.linalg.norm(move, axis=1, keepdims=True)
        move = move * np.minimum(1.0, (0.5 * blur + 0.02) * self.typical / np.maximum(size, 1e-300))
        return project_to_surface(positions + np.einsum("na,nak->nk", move, basis), self.radius)

    def _normal(
        self, positions: FloatArray, weight: FloatArray, length: FloatArray | None, basis: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the normal equations of the moves along the tangents, shape (2n, 2n) and (2n,)."""
        n = len(positions)
        here = np.einsum("nak,nk->na", basis, positions)
        u, v = (here[:, a, None] - basis[:, a] @ positions.T for a in (0, 1))
        size = np.hypot(u, v)
        size[size <= 0] = np.inf
        u, v = u / size, v / size
        blocks = np.empty((n, 2, n, 2))
        for a, one in enumerate((u, v)):
            for b, other in enumerate((u, v)):
                cross = weight * one * other.T  # the other end's own direction towards this one
                blocks[:, a, :, b] = cross
                own = (weight * one * (u, v)[b]).sum(axis=1)
                blocks[np.arange(n), a, np.arange(n), b] = own
        pull = np.zeros((n, 2))
        if length is not None:
            pull[:, 0], pull[:, 1] = (weight * u * length).sum(axis=1), (weight * v * length).sum(axis=1)
        return blocks.reshape(2 * n, 2 * n), pull.ravel()

    def find_variances(self, positions: FloatArray) -> FloatArray:
        """Return the variance per axis of each position, a common motion of all being none."""
        drawn = measure_distances(positions, positions, self.radius)
        off, told = self.deviations(drawn)
        sd = max(float(np.sqrt((np.minimum(np.abs(off[self.use]), self.how.wild_sd * told) ** 2).mean())), told)
        weight = np.where(self.use, 1 / (drawn**2 + (self.how.blurs[-1] * self.typical) ** 2), 0.0)
        basis = find_tangents(positions, self.radius)
        normal, _ = self._normal(positions, weight, None, basis)
        moves = np.linalg.qr(list_rigid_moves(positions, basis, self.radius))[0]
        scale = np.trace(normal) / len(normal)
        normal += scale * moves @ moves.T + 1e-9 * scale * np.eye(len(normal))
        inverse = cho_solve(cho_factor(normal), np.eye(len(normal)))
        return np.asarray(sd**2 * (np.diagonal(inverse).reshape(-1, 2).mean(axis=1)))

    def misfit(self, positions: FloatArray) -> float:
        """Return the root mean square difference between published distances and those of the map."""
        drawn = measure_distances(positions, positions, self.radius)
        return float(np.sqrt(np.mean((drawn - self.published)[self.use] ** 2))) if self.use.any() else 0.0


def _score_places(log: FloatArray, drawn: FloatArray, sd: float, wild: float) -> FloatArray:
    """Return how badly each record, a row of ``log``, fits at each place, a row of ``drawn``."""
    want = np.log(np.maximum(drawn, 1e-300)) - sd**2 / 2
    found = np.empty((len(log), len(drawn)))
    for place, here in enumerate(want):
        found[:, place] = _mean_of_said(((log - here) / sd) ** 2, wild)
    return found


def _mean_of_said(square: FloatArray, wild: float) -> FloatArray:
    """Return the mean of each row's squares, large ones cut, without what is not said; 0 where nothing is."""
    said = np.isfinite(square)
    return np.asarray(np.where(said, np.minimum(square, wild**2), 0.0).sum(axis=1) / np.maximum(said.sum(axis=1), 1))


def _call_back(fit: _LogFit, positions: FloatArray) -> FloatArray:
    """Return the positions with every record that fits better where another one is put next to it."""
    n, how = len(positions), fit.how
    if n < 4:
        return positions
    drawn = measure_distances(positions, positions, fit.radius)
    off, sd = fit.deviations(drawn)
    places, witnesses = spaced(n, how.stray_places), spaced(n, how.witnesses)
    log = np.where(fit.use, fit.log, np.nan)[:, witnesses]
    floor = 0.01 * fit.typical  # a place is not nearer to itself than that
    score = _score_places(log, np.maximum(drawn[np.ix_(places, witnesses)], floor), sd, how.wild_sd)
    present = _mean_of_said(np.where(fit.use, (off / sd) ** 2, np.nan)[:, witnesses], how.wild_sd)
    better = score.min(axis=1) < present
    found = positions.copy()
    found[better] = positions[places[score[better].argmin(axis=1)]]
    aside = np.einsum("na,nak->nk", _fan(n) * floor, find_tangents(found, fit.radius))
    return np.where(better[:, None], project_to_surface(found + aside, fit.radius), found)


def _fan(n: int) -> FloatArray:
    """Return a direction for each record, no two alike, so that records put at one place can part."""
    angle = 2.399963 * np.arange(n)
    return np.stack((np.cos(angle), np.sin(angle)), axis=1)


def _place_others(target: Distances, core: NDArray[np.int32], core_map: TargetMap, fit: _LogFit) -> TargetMap:
    """Place every record by its distances to the core, each by itself."""
    n, radius, how = target.size, fit.radius, fit.how
    positions, variance = np.zeros((n, 3)), np.zeros(n)
    own = np.mean(core_map.variance)
    sd = fit.deviations(measure_distances(core_map.positions, core_map.positions, radius))[1]
    places = spaced(len(core), how.stray_places)
    between = np.maximum(measure_distances(core_map.positions[places], core_map.positions, radius), 0.01 * fit.typical)
    rest = np.setdiff1d(np.arange(n, dtype=np.int32), core)
    for begin in range(0, len(rest), 2000):
        rows = rest[begin : begin + 2000]
        published = target.block(rows, core)
        if np.isnan(published).any():
            raise InputError("map_of_unpublished")
        log = np.log(np.maximum(published, how.finest_share * fit.typical))
        at = core_map.positions[places[_score_places(log, between, sd, how.wild_sd).argmin(axis=1)]]
        for blur in how.blurs[2:]:
            setting = blur * fit.typical, sd, radius, float(own)
            for _ in range(how.blur_steps):
                at, spread = _step_alone(at, core_map.positions, log, setting, how.wild_sd)
        positions[rows], variance[rows] = at, spread
    positions[core], variance[core] = core_map.positions, core_map.variance
    return TargetMap(positions, variance, core_map.misfit)


def _step_alone(
    at: FloatArray, core: FloatArray, log: FloatArray, setting: tuple[float, float, float, float], wild: float
) -> tuple[FloatArray, FloatArray]:
    """Return each record after its own step, the core staying, and its variance per axis."""
    blur, sd, radius, own = setting
    drawn = measure_distances(at, core, radius)
    off = log - np.log(np.maximum(drawn, 1e-300)) + sd**2 / 2
    damp = 1 / np.maximum(np.abs(off) / (wild * sd), 1.0)
    weight = damp / (drawn**2 + blur**2 + own / sd**2)  # the core is not quite where it is
    basis = find_tangents(at, radius)
    u, v = (np.einsum("nk,nk->n", basis[:, a], at)[:, None] - basis[:, a] @ core.T for a in (0, 1))
    size = np.maximum(np.hypot(u, v), 1e-300)
    u, v = u / size, v / size
    uu, vv, uv = ((weight * a * b).sum(axis=1) for a, b in ((u, u), (v, v), (u, v)))
    gu, gv = ((weight * a * drawn * np.clip(off, -1, 1)).sum(axis=1) for a in (u, v))
    determinant = np.maximum(uu * vv - uv**2, 1e-9 * (uu + vv) ** 2 + 1e-300)
    move = np.stack(((vv * gu - uv * gv) / determinant, (uu * gv - uv * gu) / determinant), axis=1)
    length = np.linalg.norm(move, axis=1, keepdims=True)
    move = move * np.minimum(1.0, (0.5 * blur + 0.02 * np.median(drawn)) / np.maximum(length, 1e-300))
    moved = project_to_surface(at + np.einsum("na,nak->nk", move, basis), radius)
    return moved, np.asarray(sd**2 * (uu + vv) / (2 * determinant))
