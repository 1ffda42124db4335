"""What is left of a map where places are released: its centre, how densely people live, ways to fixed places."""

from __future__ import annotations

import numpy as np

from disclique.geodesy import GEOGRAPHIC, box_area, from_space, to_space
from disclique.measures.before_after import BeforeAfter
from disclique.spaces import spaced
from disclique.spaces.metrics import paired, pairwise
from disclique.values import FloatArray

LANDMARKS = 20  # true places to which ways are compared


def centre_drift(found: BeforeAfter) -> float | None:
    """Return how far the mean point moved; on the Earth that of the points in space, brought back to the surface."""
    if found.points is None or found.points[0].metric not in (*GEOGRAPHIC, "euclidean"):
        return None
    centres = []
    for points in found.points:
        middle = to_space(points.coordinates, points.metric).mean(axis=0)[None, :]
        centres.append(from_space(middle) if points.metric in GEOGRAPHIC else middle)
    return float(paired(centres[0], centres[1], found.points[0].metric)[0])


def ripley_change(found: BeforeAfter) -> float | None:
    """Return the largest change of Ripley's L = √(K/π) over ten radii up to a quarter of the extent."""
    both = _ripley(found)
    return None if both is None else float(np.abs(np.sqrt(both[0] / np.pi) - np.sqrt(both[1] / np.pi)).max())


def density_kept(found: BeforeAfter) -> float | None:
    """Return 1 less the mean relative change of Ripley's K over these radii; 0 where it changes by more than itself."""
    both = _ripley(found)
    if both is None or not (both[0] > 0).any():
        return None
    before, after = (one[both[0] > 0] for one in both)
    return max(1 - float(np.mean(np.abs(after - before) / before)), 0.0)


def _ripley(found: BeforeAfter) -> tuple[FloatArray, FloatArray] | None:
    """Return Ripley's K before and after at ten radii up to a quarter of the extent; None where there is no map.

    Both sides are taken with the area of the original's box and without edge correction. Written here on a k-d tree:
    pointpats, with which the tests compare it, would bring geopandas into the core for these ten lines.
    """
    if found.points is None or not found.points[0].is_map or found.points[0].coordinates.shape[1] != 2:
        return None
    from scipy.spatial import cKDTree

    before, after = (to_space(points.coordinates[found.rows], points.metric) for points in found.points)
    extent = float((before.max(axis=0) - before.min(axis=0)).max())
    area = box_area(found.points[0].coordinates[found.rows], found.points[0].metric)
    if not (extent > 0 and area > 0):
        return None
    radii, size = np.linspace(0, extent / 4, 11)[1:], len(found.rows)
    trees = (cKDTree(places) for places in (before, after))
    one, other = (area * (tree.count_neighbors(tree, radii) - size) / (size * (size - 1)) for tree in trees)
    return np.asarray(one), np.asarray(other)


def ways_kept(found: BeforeAfter) -> float | None:
    """Return the mean rank correlation of ways from true and from released places to fixed ones, some of the file's.

    What matters for accessibility: where places are not released, or not where they are, nothing is left of it.
    """
    if found.points is None or not found.points[0].is_map:
        return None
    from scipy.stats import spearmanr

    before, after = (points.coordinates[found.rows] for points in found.points)
    there = found.points[0].coordinates[spaced(found.original.size, LANDMARKS)]
    metric = found.points[0].metric
    one, other = (pairwise(places, there, metric) for places in (before, after))
    kept = [
        float(spearmanr(a, b).statistic) for a, b in zip(one.T, other.T, strict=True) if np.ptp(a) > 0 and np.ptp(b) > 0
    ]
    return float(np.mean(kept)) if kept else None
