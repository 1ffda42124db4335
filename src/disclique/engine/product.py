"""The product graph: pairs of records whose labels match, joined where the distances agree (definition 6)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.engine.agreement import fit_agreement
from disclique.engine.kernels import edges, merge, threads, vertices
from disclique.errors import TooLarge
from disclique.model import Agreement, Candidates, Distances, FloatArray, Graph, IntArray, ProductGraph, Rows

DEFAULT_MEMORY = 2 * 1024**3  # bytes that the graph may take
CHUNK = 4 * 1024**2  # distances asked for at a time


def product_graph(
    target: Distances,
    known: Distances,
    *,
    candidates: Candidates,
    agreement: Agreement,
    memory: int = DEFAULT_MEMORY,
) -> ProductGraph:
    """Return the product graph of two files, within ``memory`` bytes.

    Vertices are the candidate pairs, ascending by (known row, target row). Two of them are adjacent if they differ in
    both records and either both distances are published and the known one lies in the agreement interval of the target
    one, or neither is published. If either file is directed this must hold for the distances both ways. Only records
    that have a candidate are asked for their distances.
    """
    pairs = _candidate_pairs(candidates, memory)
    agreement = fit_agreement(agreement, target, known)
    later = _later(pairs, *_both(target, known, pairs, agreement, memory), memory)
    return ProductGraph(pairs.target_row, pairs.known_row, later, _complete)


def _both(
    target: Distances, known: Distances, pairs: _CandidatePairs, agreement: Agreement, memory: int
) -> tuple[merge.TargetEdges, edges.Edges]:
    """Return the edges of both files, made side by side."""
    directed = target.directed or known.directed
    made: dict[str, Any] = {}

    def make(side: str) -> None:
        if side == "target":
            made[side] = _target_edges(target, pairs.target, agreement, directed, memory)
        else:
            records = pairs.known
            matrix = _matrix(known, records, memory)
            made[side] = edges.edges(matrix, records.begin, records.name, directed, directed)

    threads.run(make, ("target", "known"))
    return made["target"], made["known"]


@dataclass(frozen=True, eq=False)
class _Side:
    """The records of one file that have a candidate, class by class."""

    rows: IntArray
    begin: NDArray[np.int64]  # first record of each class
    name: NDArray[np.uint32]  # target: rank in the class; known: number of the record's first vertex


@dataclass(frozen=True, eq=False)
class _CandidatePairs:
    """The candidate pairs in the order of their vertices, and the records and classes that take part."""

    target: _Side
    known: _Side
    relation: merge.Relation
    target_row: IntArray  # per vertex
    known_row: IntArray


def _candidate_pairs(candidates: Candidates, memory: int) -> _CandidatePairs:
    """Return the candidate pairs; classes are numbered anew, without those that have no counterpart."""
    relation = candidates.relation
    present = np.isin(relation[:, 0], candidates.target_class) & np.isin(relation[:, 1], candidates.known_class)
    relation = relation[present & (relation >= 0).all(axis=1)].astype(np.int64)
    target_rows, target_class, left = _active(candidates.target_class, relation[:, 0])
    known_rows, known_class, right = _active(candidates.known_class, relation[:, 1])
    target_sizes = np.bincount(target_class, minlength=left.max(initial=-1) + 1)
    classes = int(right.max(initial=-1)) + 1
    width = np.bincount(right, weights=target_sizes[left], minlength=classes).astype(np.int64)
    base = np.concatenate([[0], np.cumsum(width[known_class])])
    _check_vertices(int(base[-1]), memory)
    start = np.searchsorted(left, np.arange(len(target_sizes) + 1)).astype(np.int64)
    place = np.concatenate([[0], np.cumsum(target_sizes[left])])
    table = merge.Relation(start, right, place[:-1], np.empty(int(place[-1]), np.uint32), classes)
    rank, members, first = vertices.positions(target_class, table, width)
    return _CandidatePairs(
        _side(target_rows, target_class, rank),
        _side(known_rows, known_class, base[:-1].astype(np.uint32)),
        table,
        target_rows[vertices.spread(known_class, members, first, base)],
        np.repeat(known_rows, width[known_class]),
    )


def _active(classes: IntArray, related: NDArray[Any]) -> tuple[IntArray, NDArray[np.int64], NDArray[np.int64]]:
    """Records whose class is related to any, their classes numbered from 0, and so those of the relation."""
    kept, renumbered = np.unique(related, return_inverse=True)
    rows = np.flatnonzero(np.isin(classes, kept)).astype(np.int32)
    return rows, np.searchsorted(kept, classes[rows]).astype(np.int64), renumbered.astype(np.int64)


def _side(rows: IntArray, group: NDArray[np.int64], name: NDArray[np.uint32]) -> _Side:
    """Return the records class by class."""
    order = np.argsort(group, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(group))]).astype(np.int64)
    return _Side(rows[order], begin, name[order])


def _check_vertices(order: int, memory: int) -> None:
    """Raise TooLarge if the vertices alone do not fit."""
    if order * 16 > memory or order >= 2**31:
        raise TooLarge(
            f"the product graph has {order:,} vertices (pairs of records with matching labels), which need "
            f"{order * 16 / 1e9:.1f} GB of the {memory / 1e9:.1f} GB allowed; use more selective labels"
        )


def _matrix(distances: Distances, side: _Side, memory: int) -> FloatArray:
    """Return distances among the records of one side, asked for in slices."""
    rows, n = side.rows, len(side.rows)
    need = 24 * n * n + 16 * len(side.begin) ** 2
    if need > memory:
        raise TooLarge(
            f"{n:,} records have a candidate; their distances need {need / 1e9:.1f} GB of the {memory / 1e9:.1f} GB "
            "allowed; use more selective labels"
        )
    step = max(1, CHUNK // max(n, 1))
    if step >= n:
        return np.ascontiguousarray(distances.block(rows, rows), dtype=np.float64)
    matrix = np.empty((n, n))
    for row in range(0, n, step):
        matrix[row : row + step] = distances.block(rows[row : row + step], rows)
    return matrix


def _target_edges(
    distances: Distances, side: _Side, agreement: Agreement, directed: bool, memory: int
) -> merge.TargetEdges:
    """Return the target's edges in blocks, with the intervals that agree."""
    found = edges.edges(_matrix(distances, side, memory), side.begin, side.name, directed, False)
    low, high = _intervals(agreement, found.distance)
    back_low, back_high = _intervals(agreement, found.back) if directed else (found.back, found.back)
    return merge.TargetEdges(low, high, back_low, back_high, found.first, found.second, found.start, found.middle)


def _intervals(agreement: Agreement, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Interval ends per distance: NaN exactly where the distance is unpublished, an empty interval for no agreement."""
    missing = np.isnan(distance)
    if missing.any():
        low, high = np.full(len(distance), np.nan), np.full(len(distance), np.nan)
        low[~missing], high[~missing] = _intervals(agreement, distance[~missing])
        return low, high
    low, high = (np.array(end, dtype=np.float64) for end in agreement.interval(distance))
    empty = ~(low < high)
    low[empty], high[empty] = np.inf, -np.inf
    return low, high


def _later(pairs: _CandidatePairs, target: merge.TargetEdges, known: edges.Edges, memory: int) -> Rows:
    """Return every product edge once, in compressed rows of the larger neighbours."""
    n = len(pairs.target_row)
    workers = threads.available() if len(target.low) > 20_000 else 1
    shares = _shares(merge.weights(target, known, pairs.relation), workers)
    found: list[tuple[merge.Windows, int, int]] = [()] * len(shares)  # type: ignore[list-item]
    larger = np.zeros((len(shares), n), np.uint32)

    def meet(share: int) -> None:
        found[share] = merge.windows(target, known, pairs.relation, shares[share])

    def count(share: int) -> None:
        merge.degrees(target, known, *found[share][:2], larger[share])

    threads.run(meet, range(len(shares)))
    _check_edges(n, sum(total for _, _, total in found), memory)
    threads.run(count, range(len(shares)))
    below = np.cumsum(larger, axis=0, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(below[-1])])
    heads = np.concatenate([offsets[:-1][None], offsets[:-1] + below[:-1]]).astype(np.uint64)
    row = np.empty(offsets[-1], np.uint32)

    def write(share: int) -> None:
        merge.fill(target, known, *found[share][:2], (heads[share], row))

    threads.run(write, range(len(shares)))
    return Rows(offsets, row.view(np.int32))


def _check_edges(order: int, size: int, memory: int) -> None:
    """Raise TooLarge if the edges do not fit."""
    need = 4 * size + 40 * order
    if need > memory:
        raise TooLarge(
            f"the product graph has {order:,} vertices and {size:,} edges, which need {need / 1e9:.1f} GB of the "
            f"{memory / 1e9:.1f} GB allowed; use a narrower agreement or more selective labels"
        )


def _complete(later: Rows) -> Graph:
    """Return the graph with every edge stored both ways, rows ascending."""
    return Graph(*merge.complete(later.offsets, later.neighbours))


def _shares(weight: FloatArray, parts: int) -> list[tuple[int, int]]:
    """Consecutive spans of about equal weight that cover everything."""
    total = np.cumsum(weight)
    if len(total) == 0:
        return [(0, 0)]
    cuts = np.searchsorted(total, total[-1] * np.arange(1, parts) / parts) + 1
    ends = [0, *np.minimum(cuts, len(weight)).tolist(), len(weight)]
    return list(itertools.pairwise(ends))
