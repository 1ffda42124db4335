"""Both files as clouds of points, one turned onto the other, and what tells records apart without any match.

Kernel principal components of two files of the same kind of people are nearly the same functions, whoever is in them,
up to a rotation of similar ones. The rotation is found by alternating soft pairs (Sinkhorn) and Procrustes, with more
and more dimensions, from the features of records on: quantiles of a record's distances, and of its neighbours', hardly
change when other people of the same kind are in the file. How much they do, the snooper learns from their own file:
features of one record among two different halves of it, under different draws of the mask, differ by the noise; the
directions in which records differ more than that are the ones to look at (Fisher's discriminants).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, polar
from scipy.sparse.linalg import ArpackError, eigsh

from disclique.attacks.profiles.evidence import F4, Allowed, Evidence, Ints, either, near
from disclique.attacks.profiles.sides import Side
from disclique.values import FloatArray

Part = NDArray[np.bool_] | slice
NEAR_QUANTILES = np.geomspace(1e-3, 0.5, 20)
FAR_QUANTILES = 1 - np.geomspace(0.02, 0.4, 6)


@dataclass(frozen=True)
class Turning:
    """How clouds are made and turned, and which features they are first turned by."""

    dimensions: int = 120
    steps: tuple[int, ...] = (4, 8, 12, 20, 30, 60)  # dimensions that are turned, in turn
    heat: float = 0.5  # share of a cloud's variance within which records pair at first
    surest: float = 0.995  # correlation: no direction is known better than that
    pairs_of_dimension: int = 3  # pairs for each dimension of a rotation that they fix
    sinkhorn: int = 15  # rounds
    sample: int = 2000  # records of each file from which a rotation is found
    many: int = 2500  # records of the smaller file from which on clouds are turned slowly: few of a sample are common
    slowly: tuple[int, ...] = (4, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100)  # dimensions, in turn
    coldest: float = 0.01  # share of a cloud's variance within which records pair at last where it is turned slowly
    larger_sample: int = 4000  # records of each file from which it is turned slowly
    rows_at_once: int = 2000  # records whose features are found at once: memory is that of the distances alone
    widths: tuple[int, ...] = (10, 50)  # neighbours over which features are averaged
    features: int = 16
    ridge: float = 0.5  # noise that is not learned from a file, relative to the noise that is
    trials: int = 20  # pairs of halves by which the noise is learned
    learned: int = 1000  # records from which it is learned in each trial


def embed(side: Side, draw: int | None, dimensions: int) -> F4:
    """Return the leading kernel principal components of a file as expected or in one draw, by its landmarks."""
    near = side.near(draw)
    among = -near[side.landmarks].astype(float)
    among = (among + among.T) / 2
    columns = among.mean(axis=0)
    centred = among - columns - columns[:, None] + among.mean()
    size = len(centred)
    kept = min(dimensions, size - 1)
    if kept < 1:
        return np.zeros((side.size, 1), np.float32)
    values, vectors = find_directions(centred, kept, np.ones(size))
    told = max(int((values > side.sampling.single * values.max()).sum()), 1)  # of the others rounding made what is seen
    values, vectors = np.maximum(values[:told], 1e-300), vectors[:, :told]
    if side.size == size:
        return np.asarray(vectors * np.sqrt(values), np.float32)
    places, found = vectors / np.sqrt(values), np.empty((side.size, told), np.float32)
    for begin in range(0, side.size, size):  # Nyström
        part = -near[begin : begin + size].astype(float)
        part -= part.mean(axis=1, keepdims=True) + columns - among.mean()
        found[begin : begin + size] = part @ places
    return found


def find_directions(matrix: FloatArray, many: int, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a symmetric matrix, largest first, and their vectors.

    Where records are alike the matrix has few directions, and the search from a vector ends without an answer.
    """
    size = len(matrix)
    if many > size // 3:
        values, vectors = np.linalg.eigh(matrix)
    else:
        try:
            values, vectors = eigsh(matrix, k=many, which="LA", v0=start)
        except ArpackError:
            values, vectors = eigh(matrix, subset_by_index=(size - many, size - 1))
    order = np.argsort(-values)[:many]
    return values[order], vectors[:, order]


def sinkhorn(score: F4, rounds: int) -> F4:
    """Return soft pairs: rows that sum to one, columns that sum to the same.

    What is next to nothing is nothing: products with numbers that are too small for their exponent take fifty times as
    long on many processors.
    """
    pairs = np.exp(np.minimum(score - score.max(axis=1, keepdims=True), 0))
    pairs[pairs < np.finfo(np.float32).tiny] = 0
    level = np.float32(pairs.shape[0] / pairs.shape[1])
    nothing = np.float32(1e-30)
    for _ in range(rounds):
        pairs *= level / (pairs.sum(axis=0, keepdims=True) + nothing)
        pairs /= pairs.sum(axis=1, keepdims=True) + nothing
    pairs[pairs < nothing] = 0
    return np.asarray(pairs)


class Clouds:
    """The clouds of both files, and a sample of each from which rotations are found."""

    def __init__(self, target: Side, known: Side, allowed: Allowed, rng: np.random.Generator, turning: Turning) -> None:
        self.turning, most = turning, turning.dimensions
        self.target, self.known = embed(target, 0, most), embed(known, None, most)
        self.shown = embed(known, 0, most) if len(known.draws) > 1 else None
        every = (self.target, self.known) if self.shown is None else (self.target, self.known, self.shown)
        width = min(cloud.shape[1] for cloud in every)  # a small file has fewer directions
        self.target, self.known = self.target[:, :width], self.known[:, :width]
        self.slow = min(target.size, known.size) > turning.many
        some = turning.larger_sample if self.slow else turning.sample
        self.rows, self.columns = (
            np.arange(len(side)) if len(side) <= 2 * some else np.sort(rng.choice(len(side), some, replace=False))
            for side in (self.target, self.known)
        )
        self.labels = None if allowed.table is None else allowed.rows(self.rows)[:, self.columns]  # type: ignore[index]

    def _pairs(self, evidence: Evidence) -> F4:
        score = Evidence(evidence.left, evidence.right[self.columns], evidence.row, evidence.column[self.columns]).rows(
            self.rows
        )
        return sinkhorn(score if self.labels is None else score + self.labels, self.turning.sinkhorn)

    def by_heat(self, prior: Evidence, last: float, inner: int = 2) -> Evidence:
        """Turn the target's cloud, pairing within a distance that shrinks from step to step, down to ``last``."""
        found, steps = prior, self.turning.slowly if self.slow else self.turning.steps
        for dimensions, heat in zip(steps, np.geomspace(self.turning.heat, last, len(steps)), strict=True):
            y = self.known[:, :dimensions]
            scale = np.float32(1 / np.sqrt(heat * y.var(axis=0).sum() + 1e-30))
            for _ in range(inner):
                x = self._turned(self._pairs(found), dimensions)
                found = prior.plus(near(x * scale, y * scale))
        return found

    def by_correlation(self, prior: Evidence, inner: int = 4) -> Evidence:
        """Turn the target's cloud, weighing each direction by how well the pairs agree in it."""
        found, steps = prior, self.turning.steps
        for dimensions in (*steps, steps[-1]):
            y = _unit(self.known[:, :dimensions])
            for _ in range(inner):
                pairs = self._pairs(found)
                x = _unit(self._turned(pairs, dimensions))
                expected = pairs @ y[self.columns]
                agreement = (x[self.rows] * expected).mean(axis=0) / np.sqrt(
                    np.maximum((expected**2).mean(axis=0), 1e-3)
                )
                found = prior.plus(self._weigh(x, y, agreement))
        return found

    def turned_by(self, target: Ints, known: Ints) -> Evidence:
        """Turn the target's cloud by pairs that may be wrong, all of them alike; every direction counts as it is."""
        most = self.turning.slowly[-1]
        cloud = self.known[:, :most]
        return near(_turn(self.target[:, :most], cloud, target, known, np.ones(len(target), np.float32)), cloud)

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
        steps = self.turning.steps
        pairs = max(int(weight[own].sum() / self.turning.pairs_of_dimension), steps[0])
        dimensions = min(steps[-1], self.target.shape[1], self.known.shape[1], pairs)
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
        return self._weigh(x, y, agreement), self._weigh(shown, y, agreement)

    def _turned(self, pairs: F4, dimensions: int) -> F4:
        x, y = self.target[:, :dimensions], self.known[:, :dimensions]
        return _turn_by(x, x[self.rows].T @ (pairs @ y[self.columns]))

    def _weigh(self, x: F4, y: F4, correlation: F4) -> Evidence:
        return likelihood(x, y, np.clip(correlation, 0, self.turning.surest).astype(np.float32))


def _turn(x: F4, y: F4, rows: Ints, columns: Ints, weight: F4) -> F4:
    """Turn points by the orthogonal map that brings some of them closest to their partners."""
    return _turn_by(x, np.asarray((x[rows] * weight[:, None]).T @ y[columns], np.float32))


def _turn_by(x: F4, moments: F4) -> F4:
    """Turn points by the orthogonal map nearest to the moments of pairs: Procrustes' solution."""
    return np.asarray(x @ polar(moments.astype(float))[0].astype(np.float32))


def _unit(points: F4) -> F4:
    return np.asarray(points / np.sqrt((points**2).mean(axis=0) + np.float32(1e-30)))


def likelihood(x: F4, y: F4, rho: F4) -> Evidence:
    """Return the log likelihood ratio of pairs against strangers, for normal coordinates with these correlations."""
    weight = np.asarray(rho / (1 - rho**2))
    level = np.float32(np.log1p(-(rho**2)).sum() / 2)
    row, column = (-((side**2) @ (rho * weight)) / 2 for side in (x, y))
    return Evidence(x * weight, y, (row - level).astype(np.float32), column.astype(np.float32))


def features(near: F4, columns: Ints, widths: Sequence[int], at_once: int = Turning.rows_at_once) -> F4:
    """Return the features of every record from its distances to the records ``columns``, shape (records, 5 × 28).

    So many rows ``at_once`` are ranked, which changes nothing but memory.
    """
    starts = range(0, len(near), at_once)
    laws = [_laws(near, columns, max(widths), slice(row, row + at_once)) for row in starts]
    own = np.concatenate([law for law, _ in laws])
    parts = []
    for law, order in laws:
        found = [law]
        for width in widths:
            neighbours = own[columns[order[:, : min(width, max(len(columns) // 4, 1))]]]
            found += [neighbours.mean(axis=1), neighbours.std(axis=1)]
        parts.append(np.concatenate(found, axis=1))
    return np.concatenate(parts)


def _laws(near: F4, columns: Ints, neighbours: int, rows: slice) -> tuple[F4, Ints]:
    """Return quantiles, mean and spread of the distances of some records, and their neighbours, nearest first."""
    values = near[rows].copy()
    own = np.flatnonzero((columns >= rows.start) & (columns < rows.stop))
    values[columns[own] - rows.start, own] = np.inf  # itself
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)[:, : max(len(columns) - 1, 1)]
    place = np.concatenate([NEAR_QUANTILES, FAR_QUANTILES]) * (ranked.shape[1] - 1)
    low = place.astype(np.int64)
    share = (place - low).astype(np.float32)
    high = np.minimum(low + 1, ranked.shape[1] - 1)
    quantiles = ranked[:, low] * (1 - share) + ranked[:, high] * share
    moments = np.stack([ranked.mean(axis=1), ranked.std(axis=1)], axis=1)
    return np.concatenate([quantiles, moments], axis=1), order[:, :neighbours]


def discriminate(target: Side, known: Side, rng: np.random.Generator, turning: Turning) -> tuple[F4, F4]:
    """Return a few features of every record of both files, in units of their noise, the telling ones first."""
    theirs = features(target.near(0), target.landmarks, turning.widths)
    draws = [known.near(draw) for draw in range(len(known.draws))]
    ours = np.mean([features(near, known.landmarks, turning.widths) for near in draws], axis=0)
    noise = _noise(draws, known.landmarks, rng, turning)
    scale = np.concatenate([theirs - theirs.mean(axis=0), ours - ours.mean(axis=0)]).std(axis=0) + 1e-12
    theirs, ours, noise = (theirs - theirs.mean(axis=0)) / scale, (ours - ours.mean(axis=0)) / scale, noise / scale
    within = (noise.T @ noise).astype(float) / (2 * len(noise))
    within += turning.ridge * np.trace(within) / len(within) * np.eye(len(within)) + 1e-9 * np.eye(len(within))
    both = np.concatenate([theirs, ours])
    ratio, directions = eigh((both.T @ both).astype(float) / len(both), within)
    chosen = directions[:, np.argsort(-ratio)[: turning.features]].astype(np.float32)
    return np.asarray(theirs @ chosen, np.float32), np.asarray(ours @ chosen, np.float32)


def _noise(draws: list[F4], landmarks: Ints, rng: np.random.Generator, turning: Turning) -> F4:
    """Return differences of one record's features between two halves of the known file."""
    found = []
    records = len(draws[0])
    for _ in range(turning.trials):
        order = rng.permutation(len(landmarks))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        chosen = rng.integers(len(draws), size=2) if len(draws) < 2 else rng.choice(len(draws), 2, replace=False)
        looked = np.sort(rng.choice(records, min(records, turning.learned), replace=False))
        pair = []
        for half, draw in zip(halves, chosen, strict=True):
            rows = np.unique(np.concatenate([looked, landmarks[half]]))
            columns = np.searchsorted(rows, landmarks[half])
            some = features(draws[draw][np.ix_(rows, half)], columns, turning.widths)
            pair.append(some[np.searchsorted(rows, looked)] - some.mean(axis=0))
        found.append(pair[0] - pair[1])
    return np.concatenate(found)
