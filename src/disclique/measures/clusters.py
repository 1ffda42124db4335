"""Clusters of records by average linkage, from distances of which some may not be published."""

from __future__ import annotations

import numpy as np

from disclique.model import FloatArray


def cluster(matrix: FloatArray) -> FloatArray:
    """Return average linkage; an unpublished distance is replaced by the shortest way over published ones."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    values = _completed(matrix) if np.isnan(matrix).any() else np.array(matrix)
    values = (values + values.T) / 2
    np.fill_diagonal(values, 0.0)
    return np.asarray(linkage(squareform(values, checks=False), method="average"))


def _completed(values: FloatArray) -> FloatArray:
    """Return the matrix with shortest ways for what is missing, and twice the longest way between separate parts."""
    from scipy.sparse.csgraph import csgraph_from_dense, shortest_path

    graph = csgraph_from_dense(values, null_value=np.nan, nan_null=True)
    ways = shortest_path(graph, directed=True)
    finite = np.isfinite(ways)
    ways[~finite] = 2 * ways[finite].max(initial=1.0)
    return np.where(np.isnan(values), ways, values)
