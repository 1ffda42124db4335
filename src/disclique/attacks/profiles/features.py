"""What can be told of a record without knowing any match: the law of its distances, and of its neighbours'.

Quantiles of a record's distances hardly change when other people of the same kind are in the file. How much they do,
the snooper learns from their own file: features of one record among two different halves of it, under different draws
of the mask, differ by the noise; the directions in which records differ more than that are the ones to look at
(Fisher's discriminants).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from disclique.attacks.profiles.evidence import F4, Ints
from disclique.attacks.profiles.sides import Side

WIDTHS = (10, 50)  # neighbours over which features are averaged
DIRECTIONS = 16
RIDGE = 0.5  # noise that is not learned from a file, relative to the noise that is
TRIALS = 20  # pairs of halves by which the noise is learned
LEARNED = 1000  # records from which it is learned in each trial
_NEAR = np.geomspace(1e-3, 0.5, 20)
_FAR = 1 - np.geomspace(0.02, 0.4, 6)


def features(near: F4, columns: Ints) -> F4:
    """Return the features of every record from its distances to the records ``columns``, shape (records, 5 × 28)."""
    own, order = _laws(near, columns)
    parts = [own]
    for width in WIDTHS:
        neighbours = own[columns[order[:, : min(width, max(len(columns) // 4, 1))]]]
        parts += [neighbours.mean(axis=1), neighbours.std(axis=1)]
    return np.concatenate(parts, axis=1)


def _laws(near: F4, columns: Ints) -> tuple[F4, Ints]:
    """Return quantiles, mean and spread of each record's distances to others, and its neighbours, nearest first."""
    values = near.copy()
    values[columns, np.arange(len(columns))] = np.inf  # itself
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)[:, : max(len(columns) - 1, 1)]
    place = np.concatenate([_NEAR, _FAR]) * (ranked.shape[1] - 1)
    low = place.astype(np.int64)
    share = (place - low).astype(np.float32)
    high = np.minimum(low + 1, ranked.shape[1] - 1)
    quantiles = ranked[:, low] * (1 - share) + ranked[:, high] * share
    moments = np.stack([ranked.mean(axis=1), ranked.std(axis=1)], axis=1)
    return np.concatenate([quantiles, moments], axis=1), order[:, : max(WIDTHS)]


def discriminate(target: Side, known: Side, rng: np.random.Generator) -> tuple[F4, F4]:
    """Return a few features of every record of both files, in units of their noise, the telling ones first."""
    theirs = features(target.near(0), target.landmarks)
    draws = [known.near(draw) for draw in range(len(known.draws))]
    ours = np.mean([features(near, known.landmarks) for near in draws], axis=0)
    noise = _noise(draws, known.landmarks, rng)
    scale = np.concatenate([theirs - theirs.mean(axis=0), ours - ours.mean(axis=0)]).std(axis=0) + 1e-12
    theirs, ours, noise = (theirs - theirs.mean(axis=0)) / scale, (ours - ours.mean(axis=0)) / scale, noise / scale
    within = (noise.T @ noise).astype(float) / (2 * len(noise))
    within += RIDGE * np.trace(within) / len(within) * np.eye(len(within)) + 1e-9 * np.eye(len(within))
    both = np.concatenate([theirs, ours])
    ratio, directions = eigh((both.T @ both).astype(float) / len(both), within)
    chosen = directions[:, np.argsort(-ratio)[:DIRECTIONS]].astype(np.float32)
    return np.asarray(theirs @ chosen, np.float32), np.asarray(ours @ chosen, np.float32)


def _noise(draws: list[F4], landmarks: Ints, rng: np.random.Generator) -> F4:
    """Return differences of one record's features between two halves of the known file."""
    found = []
    records = len(draws[0])
    for _ in range(TRIALS):
        order = rng.permutation(len(landmarks))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        chosen = rng.integers(len(draws), size=2) if len(draws) < 2 else rng.choice(len(draws), 2, replace=False)
        looked = np.sort(rng.choice(records, min(records, LEARNED), replace=False))
        pair = []
        for half, draw in zip(halves, chosen, strict=True):
            rows = np.unique(np.concatenate([looked, landmarks[half]]))
            columns = np.searchsorted(rows, landmarks[half])
            some = features(draws[draw][np.ix_(rows, half)], columns)
            pair.append(some[np.searchsorted(rows, looked)] - some.mean(axis=0))
        found.append(pair[0] - pair[1])
    return np.concatenate(found)
