"""Where each target record stands among the product vertices of a known record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel
from disclique.engine.kernels.merge import Relation


@kernel
def positions(
    target_class: NDArray[np.int64], relation: Relation, width: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int32], NDArray[np.int64]]:
    """Rank of each target record in its class, and per known class its candidates ascending (members, first member).

    Fills ``relation.position``: for each related pair of classes and each target record of the first, its place among
    the candidates of the second.
    """
    classes = relation.classes
    first = np.zeros(classes + 1, np.int64)
    for c in range(classes):
        first[c + 1] = first[c] + width[c]
    head = first[:-1].copy()
    members = np.empty(first[classes], np.int32)
    rank = np.empty(len(target_class), np.uint32)
    seen = np.zeros(len(relation.start) - 1, np.int64)
    for i in range(len(target_class)):
        a = target_class[i]
        rank[i] = seen[a]
        for p in range(relation.start[a], relation.start[a + 1]):
            c = relation.known[p]
            relation.position[relation.place[p] + seen[a]] = head[c] - first[c]
            members[head[c]] = i
            head[c] += 1
        seen[a] += 1
    return rank, members, first


@kernel
def spread(
    known_class: NDArray[np.int64], members: NDArray[np.int32], first: NDArray[np.int64], base: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Index of the target record of every vertex."""
    out = np.empty(base[len(known_class)], np.int32)
    for k in range(len(known_class)):
        c = known_class[k]
        for i in range(first[c + 1] - first[c]):
            out[base[k] + i] = members[first[c] + i]
    return out
