"""Both files as clouds of points, one turned onto the other.

Kernel principal components of two files of the same kind of people are nearly the same functions, whoever is in them,
up to a rotation of similar ones. The rotation is found by alternating soft pairs (Sinkhorn) and Procrustes, from the
features on, with more and more dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from disclique.attacks.profiles.evidence import F4, Allowed, Evidence, Ints, either, near
from disclique.attacks.profiles.sides import Side

Part = NDArray[np.bool_] | slice
DIMENSIONS = 120
STEPS = (4, 8, 12, 20, 30, 60)
HEAT = 0.5  # share of a cloud's variance within which records pair at first
SURE = 0.995  # no direction is known better than that
FREE = 3  # pairs for each dimension of a rotation that they fix
SINKHORN = 15
SAMPLE = 2000  # records of each file from which a rotation is found


def embed(side: Side, draw: int | None) -> F4:
    """Return the leading kernel principal components of a file as expected or in one draw, by its landmarks."""
    closeness = -side.near(draw).astype(float)
    among = closeness[side.landmarks]
    among = (among + among.T) / 2
    columns = among.mean(axis=0)
    centred = among - columns - columns[:, None] + among.mean()
    size = len(centred)
    kept = min(DIMENSIONS, size - 1)
    if kept < 1:
        return np.zeros((side.size, 1), np.float32)
    if kept > size // 3:
        values, vectors = np.linalg.eigh(centred)
    else:
        values, vectors = eigsh(centred, k=kept, which="LA", v0=np.ones(size))
    order = np.argsort(-values)[:kept]
    values, vectors = np.maximum(values[order], 1e-12 * max(values.max(), 1e-300)), vectors[:, order]
    if len(closeness) == size:
        return np.asarray(vectors * np.sqrt(values), np.float32)
    rest = closeness - closeness.mean(axis=1, keepdims=True) - columns + among.mean()  # Nyström
    return np.asarray(rest @ (vectors / np.sqrt(values)), np.float32)


def sinkhorn(score: F4) -> F4:
    """Return soft pairs: rows that sum to one, columns that sum to the same."""
    pairs = np.exp(np.minimum(score - score.max(axis=1, keepdims=True), 0))
    level = np.float32(pairs.shape[0] / pairs.shape[1])
    for _ in range(SINKHORN):
        pairs *= level / (pairs.sum(axis=0, keepdims=True) + np.float32(1e-30))
        pairs /= pairs.sum(axis=1, keepdims=True) + np.float32(1e-30)
    return np.asarray(pairs)


class Clouds:
    """The clouds of both files, and a sample of each from which rotations are found."""

    def __init__(self, target: Side, known: Side, allowed: Allowed, rng: np.random.Generator) -> None:
        self.target, self.known, self.allowed = embed(target, 0), embed(known, None), allowed
        width = min(self.target.shape[1], self.known.shape[1])  # a small file has fewer directions
        self.target, self.known = self.target[:, :width], self.known[:, :width]
        self.shown = embed(known, 0) if len(known.draws) > 1 else None
        self.rows, self.columns = (
            np.arange(len(side)) if len(side) <= 2 * SAMPLE else np.sort(rng.choice(len(side), SAMPLE, replace=False))
            for side in (self.target, self.known)
        )
        self.labels = None if allowed.table is None else allowed.rows(self.rows)[:, self.columns]  # type: ignore[index]

    def _pairs(self, evidence: Evidence) -> F4:
        score = Evidence(evidence.left, evidence.right[self.columns], evidence.row, evidence.column[self.columns]).rows(
            self.rows
        )
        return sinkhorn(score if self.labels is None else score + self.labels)

    def by_heat(self, prior: Evidence, steps: Sequence[int], last: float, inner: int = 2) -> Evidence:
        """Turn the target's cloud, pairing within a distance that shrinks from step to step, from HEAT to ``last``."""
        found = prior
        for dimensions, heat in zip(steps, np.geomspace(HEAT, last, len(steps)), strict=True):
            y = self.known[:, :dimensions]
            scale = np.float32(1 / np.sqrt(heat * y.var(axis=0).sum() + 1e-30))
            for _ in range(inner):
                x = self._turned(self._pairs(found), dimensions)
                found = prior.plus(near(x * scale, y * scale))
        return found

    def by_correlation(self, prior: Evidence, steps: Sequence[int], inner: int = 4) -> Evidence:
        """Turn the target's cloud, weighing each direction by how well the pairs agree in it."""
        found = prior
        for dimensions in steps:
            y = _unit(self.known[:, :dimensions])
            for _ in range(inner):
                pairs = self._pairs(found)
                x = _unit(self._turned(pairs, dimensions))
                expected = pairs @ y[self.columns]
                agreement = (x[self.rows] * expected).mean(axis=0) / np.sqrt(
                    np.maximum((expected**2).mean(axis=0), 1e-3)
                )
                found = prior.plus(likelihood(x, y, agreement))
        return found

    def by_pairs(self, target: Ints, known: Ints, weight: F4, *, halves: bool) -> tuple[Evidence, Evidence]:
        """Turn the target's cloud by pairs; return the evidence for it and that for the known file as shown.

        With ``halves``, as with anchors, each half of the pairs is looked at in the cloud that the other half turns.
        """
        if not halves:
            return self._by_part(target, known, weight, slice(None), slice(None))
        parts = [target % 2 == half for half in range(2)]
        looks = [self._by_part(target, known, weight, parts[half], parts[1 - half]) for half in range(2)]
        found = []
        partner = np.zeros(len(self.known), np.int64)
        partner[known] = target
        for number, seen in enumerate((1 - np.arange(len(self.target)) % 2, 1 - partner % 2)):
            found.append(either(seen, looks[0][number], looks[1][number]))
        return found[0], found[1]

    def _by_part(self, target: Ints, known: Ints, weight: F4, own: Part, others: Part) -> tuple[Evidence, Evidence]:
        """Turn the cloud by some pairs; how well each direction agrees is seen in others, or in the known file."""
        pairs = max(int(weight[own].sum() / FREE), STEPS[0])
        dimensions = min(STEPS[-1], self.target.shape[1], self.known.shape[1], pairs)
        cloud, y = self.known[:, :dimensions], _unit(self.known[:, :dimensions])
        x = _unit(_turn(self.target[:, :dimensions], cloud, target[own], known[own], weight[own]))
        if self.shown is None:
            theirs, ours, share = x[target[others]], y[known[others]], weight[others]
            scale = np.sqrt((share @ theirs**2) * (share @ ours**2)) + 1e-12
            agreement = np.asarray((share @ (theirs * ours)) / scale, np.float32)
            sure = np.flatnonzero(share > 0.5)
            shown = y + (theirs - ours)[sure[np.arange(len(y)) % max(len(sure), 1)]] if len(sure) else y
        else:
            shown = np.empty_like(y)
            odd = np.arange(len(y)) % 2 == 1
            for fold in (odd, ~odd):  # a record must not turn the cloud in which it is looked at
                rows = np.flatnonzero(~fold)[: max(int(weight.sum()), dimensions)]
                every = np.ones(len(rows), np.float32)
                shown[fold] = _unit(_turn(self.shown[:, :dimensions], cloud, rows, rows, every))[fold]
            agreement = (shown * y).mean(axis=0)
        return likelihood(x, y, agreement), likelihood(shown, y, agreement)

    def _turned(self, pairs: F4, dimensions: int) -> F4:
        x, y = self.target[:, :dimensions], self.known[:, :dimensions]
        left, _, right = np.linalg.svd((x[self.rows].T @ (pairs @ y[self.columns])).astype(float))
        return np.asarray(x @ (left @ right).astype(np.float32))


def _turn(x: F4, y: F4, rows: Ints, columns: Ints, weight: F4) -> F4:
    """Turn points by the orthogonal map that brings some of them closest to their partners."""
    left, _, right = np.linalg.svd(((x[rows] * weight[:, None]).T @ y[columns]).astype(float))
    return np.asarray(x @ (left @ right).astype(np.float32))


def _unit(points: F4) -> F4:
    return np.asarray(points / np.sqrt((points**2).mean(axis=0) + np.float32(1e-30)))


def likelihood(x: F4, y: F4, correlation: F4) -> Evidence:
    """Return the log likelihood ratio of pairs against strangers, for normal coordinates with these correlations."""
    rho = np.clip(correlation, 0, SURE).astype(np.float32)
    weight = np.asarray(rho / (1 - rho**2))
    level = np.float32(np.log1p(-(rho**2)).sum() / 2)
    row, column = (-((side**2) @ (rho * weight)) / 2 for side in (x, y))
    return Evidence(x * weight, y, (row - level).astype(np.float32), column.astype(np.float32))
