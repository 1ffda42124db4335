"""How much of the distances' usefulness survives a mask.

Everything is measured on the distances that are published, between the same records before (d) and after (d′). Files
too large for all pairs are measured on a random sample of their records.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.data.distances import EARTH_KM, GEOGRAPHIC, Points, full_matrix, paired
from disclique.errors import InputError
from disclique.model import Distances, FloatArray, IntArray, Json

PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
NEIGHBOURS = (5, 10, 25)
_BLOCK = 4_000_000  # entries of the matrix held at a time


@dataclass(frozen=True)
class Displacement:
    """How far points moved, in the unit of the distances (km on the Earth).

    ``centre_drift`` is how far the centre of all points moved; ``ripley`` is the largest change of Ripley's L = √(K/π)
    over ten radii up to a quarter of the extent, without edge correction, None where points are not in two dimensions.
    """

    mean: float
    median: float
    max: float
    centre_drift: float | None
    ripley: float | None


@dataclass(frozen=True)
class Utility:
    """What a release is still good for; None where a measure is not defined (constant distances, nothing published).

    ``published`` is the share of distances released. ``variance`` and ``quantiles`` are those of d - d′ and ``bias`` is
    the mean of d′ - d, positive where released distances are too long. ``stress`` is Kruskal's stress-1 with respect to
    the original. ``neighbours`` is the mean share of a record's k nearest that are still among its k nearest.
    ``rand_index`` compares average-linkage clusterings by the adjusted Rand index, averaged over 2 to 20 groups because
    a single number of groups may fall on a tie.
    """

    records: int
    pairs: int
    published: float
    variance: float | None
    quantiles: dict[str, float] | None
    bias: float | None
    pearson: float | None
    spearman: float | None
    wasserstein: float | None
    stress: float | None
    neighbours: dict[str, float]
    rand_index: float | None
    displacement: Displacement | None

    def to_dict(self) -> Json:
        """All measures as plain values for JSON."""
        return asdict(self)

    def row(self) -> Json:
        """All measures as one flat row of a table."""
        flat: Json = {}
        for name, value in self.to_dict().items():
            if isinstance(value, dict):
                prefix = {"quantiles": "q", "neighbours": "knn_"}.get(name, f"{name}_")
                flat.update({f"{prefix}{key}": part for key, part in value.items()})
            elif name not in ("quantiles", "displacement"):
                flat[name] = value
        return flat


def utility(
    original: Distances, released: Distances, *, rng: np.random.Generator, sample: int = 1000, groups: int = 20
) -> Utility:
    """The usefulness that is left in ``released`` for the records of ``original``, in the same order.

    At most ``sample`` records are compared with one another, and at most so many are asked for their neighbours in the
    whole file; ``groups`` is the largest number of clusters into which the sample is divided.
    """
    if original.size != released.size:
        raise InputError(f"{original.size} records before and {released.size} after the mask: they must be the same")
    if original.size < 2:
        raise InputError(f"{original.size} records: distances need at least 2")
    rows = np.arange(original.size, dtype=np.int32)
    if original.size > sample:
        rows = np.sort(rng.choice(rows, size=sample, replace=False))
    before, after = full_matrix(original, rows=rows), full_matrix(released, rows=rows)
    d, masked, published = _published(before, after, directed=original.directed or released.directed)
    return Utility(
        records=original.size,
        pairs=len(d),
        published=published,
        **_deviation(d, masked),
        **_association(d, masked),
        neighbours=_neighbour_overlap(original, released, rows, rng),
        rand_index=_rand_index(before, after, groups),
        displacement=_displacement(original, released, rows),
    )


def _published(before: FloatArray, after: FloatArray, *, directed: bool) -> tuple[FloatArray, FloatArray, float]:
    """Distances published before and after, as two lists, and the share of the former that is still published."""
    off = ~np.eye(len(before), dtype=bool)
    entries = off if directed else np.triu(off)
    d, masked = before[entries], after[entries]
    there = ~np.isnan(d)
    kept = there & ~np.isnan(masked)
    return d[kept], masked[kept], float(kept.sum() / max(int(there.sum()), 1))


def _deviation(d: FloatArray, masked: FloatArray) -> Json:
    """Moments and quantiles of d - d′."""
    if not len(d):
        return dict.fromkeys(("variance", "quantiles", "bias", "wasserstein", "stress"))
    from scipy.stats import wasserstein_distance

    deviation = d - masked
    found = np.quantile(deviation, PROBABILITIES)
    size = float(np.sqrt(np.sum(d**2)))
    return {
        "variance": float(np.var(deviation, ddof=1)) if len(d) > 1 else None,
        "quantiles": {f"{p:g}": float(q) for p, q in zip(PROBABILITIES, found, strict=True)},
        "bias": float(-deviation.mean()),
        "wasserstein": float(wasserstein_distance(d, masked)),
        "stress": float(np.sqrt(np.sum(deviation**2)) / size) if size > 0 else None,
    }


def _association(d: FloatArray, masked: FloatArray) -> Json:
    """Pearson and Spearman correlation of d and d′."""
    if len(d) < 2 or np.ptp(d) == 0 or np.ptp(masked) == 0:
        return {"pearson": None, "spearman": None}
    from scipy.stats import pearsonr, spearmanr

    return {"pearson": float(pearsonr(d, masked).statistic), "spearman": float(spearmanr(d, masked).statistic)}


def _neighbour_overlap(
    original: Distances, released: Distances, rows: IntArray, rng: np.random.Generator
) -> dict[str, float]:
    """Mean share of the k nearest records that are found again; what is not published is not found."""
    columns = rng.permutation(original.size).astype(np.int32)  # ties are broken by this random order
    shares: dict[int, list[FloatArray]] = {k: [] for k in NEIGHBOURS if k < original.size}
    for some in np.array_split(rows, -(-len(rows) * original.size // _BLOCK)):
        before, after = (_nearest(which, some, columns) for which in (original, released))
        for k, found in shares.items():
            there = before[:, :k] >= 0
            again = (before[:, :k, None] == after[:, None, :k]).any(axis=2) & there
            asked = there.sum(axis=1)
            found.append(again.sum(axis=1)[asked > 0] / asked[asked > 0])
    return {str(k): float(np.concatenate(found).mean()) for k, found in shares.items() if sum(map(len, found))}


def _nearest(distances: Distances, rows: IntArray, columns: IntArray) -> NDArray[np.int64]:
    """The nearest records of each of ``rows`` in order, -1 where no further distance is published."""
    block = np.array(distances.block(rows, columns))
    block[np.isnan(block) | (rows[:, None] == columns[None, :])] = np.inf
    wanted = min(max(NEIGHBOURS), len(columns))
    some = np.argpartition(block, wanted - 1, axis=1)[:, :wanted]
    order = np.take_along_axis(some, np.argsort(np.take_along_axis(block, some, axis=1), axis=1, kind="stable"), axis=1)
    return np.where(np.isinf(np.take_along_axis(block, order, axis=1)), -1, columns[order])


def _rand_index(before: FloatArray, after: FloatArray, groups: int) -> float | None:
    """Mean adjusted Rand index of the clusterings of both matrices into 2 to ``groups`` clusters."""
    from scipy.cluster.hierarchy import cut_tree
    from sklearn.metrics import adjusted_rand_score

    numbers = np.arange(2, min(groups, len(before) - 1) + 1)
    if not len(numbers):
        return None
    one, other = (cut_tree(_tree(matrix), n_clusters=numbers) for matrix in (before, after))
    return float(np.mean([adjusted_rand_score(a, b) for a, b in zip(one.T, other.T, strict=True)]))


def _tree(matrix: FloatArray) -> FloatArray:
    """Average linkage; an unpublished distance is replaced by the shortest way over published ones."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    values = _completed(matrix) if np.isnan(matrix).any() else np.array(matrix)
    values = (values + values.T) / 2
    np.fill_diagonal(values, 0.0)
    return np.asarray(linkage(squareform(values, checks=False), method="average"))


def _completed(values: FloatArray) -> FloatArray:
    """The matrix with shortest ways for what is missing, and twice the longest way between separate parts."""
    from scipy.sparse.csgraph import csgraph_from_dense, shortest_path

    graph = csgraph_from_dense(values, null_value=np.nan, nan_null=True)
    ways = shortest_path(graph, directed=True)
    finite = np.isfinite(ways)
    ways[~finite] = 2 * ways[finite].max(initial=1.0)
    return np.where(np.isnan(values), ways, values)


def _displacement(original: Distances, released: Distances, rows: IntArray) -> Displacement | None:
    """How points moved, where both sides are points of the same space."""
    if not (isinstance(original, Points) and isinstance(released, Points) and original.metric == released.metric):
        return None
    moved = paired(original.coordinates, released.coordinates, original.metric)
    drift: float | None = None
    ripley: float | None = None
    if not callable(original.metric):
        centres = [_centre(points)[None, :] for points in (original, released)]
        drift = float(paired(centres[0], centres[1], original.metric)[0])
        ripley = _ripley_change(*(Points(p.coordinates[rows], p.metric) for p in (original, released)))
    return Displacement(float(moved.mean()), float(np.median(moved)), float(moved.max()), drift, ripley)


def _centre(points: Points) -> FloatArray:
    """The mean point; on the Earth that of the points as vectors, brought back to the surface."""
    if points.metric not in GEOGRAPHIC:
        return np.asarray(points.coordinates.mean(axis=0))
    x, y, z = _flat_space(points).mean(axis=0)
    return np.degrees([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])


def _flat_space(points: Points) -> FloatArray:
    """Coordinates between which straight distances can be taken: km in space for points of the Earth."""
    if points.metric not in GEOGRAPHIC:
        return np.asarray(points.coordinates)
    lon, lat = np.radians(points.coordinates.T)
    return EARTH_KM * np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _ripley_change(before: Points, after: Points) -> float | None:
    """The largest change of Ripley's L over ten radii; both sides with the area of the original's box."""
    if before.coordinates.shape[1] != 2:
        return None
    from scipy.spatial import cKDTree

    low, high = _flat_space(before).min(axis=0), _flat_space(before).max(axis=0)
    extent = float((high - low).max())
    area = _box_area(before)
    if not (extent > 0 and area > 0):
        return None
    radii = np.linspace(0, extent / 4, 11)[1:]
    levels = []
    for points in (before, after):
        tree = cKDTree(_flat_space(points))
        pairs = tree.count_neighbors(tree, radii) - points.size
        levels.append(np.sqrt(area * pairs / (points.size * (points.size - 1)) / np.pi))
    return float(np.abs(levels[0] - levels[1]).max())


def _box_area(points: Points) -> float:
    """Area of the smallest box around the points, km² on the Earth."""
    (west, south), (east, north) = points.coordinates.min(axis=0), points.coordinates.max(axis=0)
    if points.metric not in GEOGRAPHIC:
        return float((east - west) * (north - south))
    strip = np.sin(np.radians(north)) - np.sin(np.radians(south))
    return float(EARTH_KM**2 * np.radians(east - west) * strip)
