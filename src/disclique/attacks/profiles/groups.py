"""Whether a release falls into groups by its own distances, as encodings under several salts do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from disclique.attacks.profiles.clouds import find_directions
from disclique.attacks.profiles.evidence import F4, Ints
from disclique.values import FloatArray


@dataclass(frozen=True)
class Grouping:
    """When records count as groups."""

    most: int = 64
    smallest: int = 3  # mean records of a group
    gap: float = 1.2  # ratio of the last eigenvalue of the groups to the next
    tried: int = 3  # gaps
    apart: float = 0.2  # how much of the differences of distances groups must explain


def find_groups(distances: F4, by: Grouping) -> Ints | None:
    """Return the group of each record, None where the distances show none.

    Records of different groups are about equally far from each other, those of one group nearer: the leading
    eigenvectors of closeness tell them, one fewer than there are groups.
    """
    size = len(distances)
    most = min(by.most, size // by.smallest, size - 1)
    if most < 2 or np.isnan(distances[~np.eye(size, dtype=bool)]).any():
        return None
    close = -(distances + distances.T).astype(float) / 2
    rest = close[~np.eye(size, dtype=bool)]
    np.fill_diagonal(close, rest.mean())
    close = close - close.mean(axis=0) - close.mean(axis=1)[:, None] + close.mean()
    if not np.abs(close).max() > 1e-12 * np.abs(rest).max():
        return None
    values, vectors = find_directions(close, most, np.random.default_rng(0).random(size))
    values = np.maximum(values, 1e-12)
    ratio = values[:-1] / values[1:]
    gaps = np.argsort(-ratio, kind="stable")[: by.tried]
    counts = sorted({int(gap) + more for gap in gaps if ratio[gap] >= by.gap for more in (2, 3)})
    found = [_cluster(vectors, values, many) for many in counts if many <= most]
    rated = [(_explained(group, rest), number) for number, group in enumerate(found)]
    if not rated or max(rated)[0] < by.apart:
        return None
    return found[max(rated)[1]]


def _cluster(vectors: FloatArray, values: FloatArray, many: int) -> Ints:
    places = vectors[:, : many - 1] * np.sqrt(values[: many - 1])
    return np.asarray(KMeans(many, n_init=3, random_state=0).fit_predict(places), np.int64)


def _explained(group: Ints, rest: FloatArray) -> float:
    """Return how much of the differences of distances is explained by whether two records are of one group."""
    same = (group[:, None] == group[None])[~np.eye(len(group), dtype=bool)]
    return float(np.corrcoef(same, rest)[0, 1] ** 2) if 0 < same.mean() < 1 else 0.0
