"""Motions under which places of the target coincide with known ones exactly, whatever their labels.

Where a mask only exchanges places, a common person's place is in both files. Two such places have the same distance in
both, which hardly any other two have: a few hundred pairs of places are enough to find the motion.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.model import FloatArray
from disclique.spaces.positions import KnownMap, Motion

Ints = NDArray[np.int64]
MOST_PAIRS = 1_000_000  # known pairs whose distances are compared
TRIED = 4000  # pairs of target places
BY_CHANCE = 3.0  # other known pairs of one distance: with more of them this is no way to find a motion
VERIFIED = 3000  # pairs of one distance of which the motions are tried
SHOWN = 60  # places on which a motion is tried first
MATCHES = 6  # coincidences besides the two that a motion was made from


def find_coinciding(positions: FloatArray, known_map: KnownMap, tolerance: float, *, kept: int) -> list[Motion]:
    """Return the ``kept`` motions under which most places coincide up to ``tolerance``, best first; perhaps none."""
    ours, theirs = (np.unique(np.round(side, 9), axis=0) for side in (positions, known_map.positions))
    if len(ours) < 3 or len(theirs) < 3:
        return []
    first, second, lengths = _find_known_pairs(theirs)
    if len(lengths) == 0:
        return []
    low, high = float(lengths[0]), float(lengths[-1])
    if len(lengths) * 4 * tolerance > BY_CHANCE * max(high - low, 1e-300):
        return []
    found: list[tuple[int, int, Motion]] = []
    tree, verified = cKDTree(theirs), 0
    extent = float(np.linalg.norm(np.ptp(ours, axis=0)))
    shown = ours[:: max(len(ours) // SHOWN, 1)]
    for a, b in _draw_target_pairs(ours, low, high):
        length = float(np.linalg.norm(ours[a] - ours[b]))
        near = slice(*np.searchsorted(lengths, [length - 2 * tolerance, length + 2 * tolerance]))
        for c, d in zip(first[near], second[near], strict=True):
            for one, other in ((c, d), (d, c)):
                for mirror in (False, True):
                    motion = _lay(ours[[a, b]], theirs[[one, other]], known_map.flat, mirror)
                    slack = tolerance * (1 + 4 * extent / length)  # a short pair fixes the direction less well
                    if _count_hits(motion(shown), tree, slack):
                        found.append((_count_hits(motion(ours), tree, slack), len(found), motion))
            verified += 1
        best = max((hits for hits, _, _ in found), default=0)
        if verified >= VERIFIED or best > MATCHES + len(ours) // 50:
            break
    found.sort(key=lambda one: (-one[0], one[1]))
    return [motion for hits, _, motion in found[:kept] if hits > MATCHES]


def _count_hits(moved: FloatArray, tree: cKDTree, slack: float) -> int:
    """Return how many places coincide with known ones."""
    return int(np.isfinite(tree.query(moved, distance_upper_bound=slack)[0]).sum())


def _find_known_pairs(places: FloatArray) -> tuple[Ints, Ints, FloatArray]:
    """Return pairs of known places, all of them or the nearest ones, ordered by their distance."""
    size = len(places)
    if size * (size - 1) // 2 <= MOST_PAIRS:
        first, second = np.triu_indices(size, 1)
    else:
        tree = cKDTree(places)
        many = max(MOST_PAIRS // size, 2)
        _, near = tree.query(places, k=many + 1)
        first, second = np.repeat(np.arange(size), many), near[:, 1:].ravel()
        once = np.unique(np.stack((np.minimum(first, second), np.maximum(first, second)), axis=1), axis=0)
        first, second = once[:, 0], once[:, 1]
    lengths = np.linalg.norm(places[first] - places[second], axis=1)
    order = np.argsort(lengths, kind="stable")
    order = order[len(order) // 4 :]  # the shortest fix no direction
    return first[order], second[order], lengths[order]


def _draw_target_pairs(places: FloatArray, low: float, high: float) -> Iterator[tuple[int, int]]:
    """Yield pairs of target places of lengths that known pairs have, every place about equally often."""
    size, tree = len(places), cKDTree(places)
    rng = np.random.default_rng(0)  # of the order in which pairs are tried; not of anything that is published
    order = rng.permutation(size)
    for turn in range(TRIED):
        a = order[turn % size]
        near = tree.query_ball_point(places[a], high, return_sorted=True)
        b = near[int(rng.integers(len(near)))]
        if b != a and np.linalg.norm(places[a] - places[b]) >= low:
            yield int(a), int(b)


def _lay(ours: FloatArray, theirs: FloatArray, flat: bool, mirror: bool) -> Motion:
    """Return the motion, mirrored or not, that lays one pair of places on another of the same length."""
    frames = []
    for (a, b), side in ((ours, 1.0), (theirs, -1.0 if mirror else 1.0)):
        middle, along = (a + b) / 2, b - a
        up = np.array([0.0, 0.0, 1.0]) if flat else middle / np.linalg.norm(middle)
        along = along - (along @ up) * up
        along = along / np.linalg.norm(along)
        frames.append((middle, np.stack((up, along, side * np.cross(up, along)), axis=1)))
    (middle, own), (there, other) = frames
    turn = other @ own.T
    return Motion(turn, there - turn @ middle if flat else np.zeros(3))
