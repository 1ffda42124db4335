"""The product graph: pairs of records whose labels match, joined where the distances agree (definition 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique._kernels import merge, threads, vertices
from disclique.errors import TooLarge
from disclique.model import Agreement, Candidates, Distances, FloatArray, Graph, IntArray, ProductGraph

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
    """The product graph of two files, within ``memory`` bytes.

    Vertices are the candidate pairs, ascending by (known row, target row). Two of them are adjacent if they differ in
    both records and either both distances are published and the known one lies in the agreement interval of the target
    one, or neither is published. If either file is directed this must hold for the distances both ways. Only records
    that have a candidate are asked for their distances.
    """
    pairs = _pairs(candidates, memory)
    directed = target.directed or known.directed
    target_edges = _target_edges(target, pairs, agreement, directed)
    known_edges = _known_edges(known, pairs, directed)
    graph = _stored(pairs, target_edges, known_edges, memory)
    return ProductGraph(target=pairs.target_row, known=pairs.known_row, graph=graph)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The candidate pairs, and the records and classes that take part in them, renumbered from 0 without gaps."""

    target_rows: IntArray  # records with a candidate, ascending
    known_rows: IntArray
    target_class: NDArray[np.int64]
    known_class: NDArray[np.int64]
    rank: IntArray  # of a target record within its class
    base: IntArray  # first vertex of a known record
    relation: merge.Relation
    target_row: IntArray  # per vertex, rows of the files
    known_row: IntArray


def _pairs(candidates: Candidates, memory: int) -> _Pairs:
    """The candidate pairs in the order of their vertices."""
    relation = candidates.relation
    present = np.isin(relation[:, 0], candidates.target_class) & np.isin(relation[:, 1], candidates.known_class)
    relation = relation[present & (relation >= 0).all(axis=1)].astype(np.int64)
    target_classes, left = np.unique(relation[:, 0], return_inverse=True)
    known_classes, right = np.unique(relation[:, 1], return_inverse=True)
    target_rows = np.flatnonzero(np.isin(candidates.target_class, target_classes)).astype(np.int32)
    known_rows = np.flatnonzero(np.isin(candidates.known_class, known_classes)).astype(np.int32)
    target_class = np.searchsorted(target_classes, candidates.target_class[target_rows]).astype(np.int64)
    known_class = np.searchsorted(known_classes, candidates.known_class[known_rows]).astype(np.int64)
    start = np.searchsorted(left, np.arange(len(target_classes) + 1)).astype(np.int64)
    target_sizes = np.bincount(target_class, minlength=len(target_classes))
    width = np.bincount(right, weights=target_sizes[left], minlength=len(known_classes)).astype(np.int64)
    base = np.concatenate([[0], np.cumsum(width[known_class])])
    _check_vertices(int(base[-1]), memory)
    place = np.concatenate([[0], np.cumsum(target_sizes[left])])[:-1].astype(np.int64)
    table = merge.Relation(
        start, right.astype(np.int64), place, np.empty(int(target_sizes[left].sum()), np.int32), len(known_classes)
    )
    rank, members, first = vertices.positions(target_class, table, width)
    target_row = target_rows[vertices.spread(known_class, members, first, base)]
    known_row = np.repeat(known_rows, width[known_class])
    return _Pairs(
        target_rows,
        known_rows,
        target_class,
        known_class,
        rank,
        base[:-1].astype(np.int32),
        table,
        target_row,
        known_row,
    )


def _check_vertices(order: int, memory: int) -> None:
    """Nothing, or TooLarge if the vertices alone do not fit."""
    if order * 16 > memory or order >= 2**31:
        raise TooLarge(
            f"the product graph has {order:,} vertices (pairs of records with matching labels), which need "
            f"{order * 16 / 1e9:.1f} GB of the {memory / 1e9:.1f} GB allowed; use more selective labels"
        )


def _edges(distances: Distances, rows: IntArray, group: NDArray[np.int64], *, directed: bool, every: bool) -> tuple:  # type: ignore[type-arg]
    """Distances, opposite distances (empty unless directed) and both ends of the edges among ``rows``."""
    n = len(rows)
    count = n * (n - 1) if every else n * (n - 1) // 2
    first, second = np.empty(count, np.int32), np.empty(count, np.int32)
    distance = np.empty(count)
    if directed:
        back = np.empty(count)
        merge.arcs(
            np.ascontiguousarray(distances.block(rows, rows), dtype=np.float64),
            group,
            every,
            (distance, back, first, second),
        )
        return distance, back, first, second
    at = 0
    step = max(1, CHUNK // max(n, 1))
    for row in range(0, n, step):
        block = np.ascontiguousarray(distances.block(rows[row : row + step], rows), dtype=np.float64)
        at = merge.upper(block, row, at, (distance, first, second))
    return distance, np.empty(0), first, second


def _target_edges(target: Distances, pairs: _Pairs, agreement: Agreement, directed: bool) -> merge.TargetEdges:
    """The target's edges in blocks, with the intervals that agree."""
    group = pairs.target_class
    classes = len(pairs.relation.start) - 1
    distance, back, first, second = _edges(target, pairs.target_rows, group, directed=directed, every=False)
    start, middle, source, left, right = merge.blocks(
        np.argsort(distance), (distance, first, second), group, classes, False
    )
    low, high = _intervals(agreement, distance[source])
    back_low, back_high = _intervals(agreement, back[source]) if directed else (back, back)
    return merge.TargetEdges(low, high, back_low, back_high, pairs.rank[left], pairs.rank[right], start, middle)


def _intervals(agreement: Agreement, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Interval ends per distance: NaN exactly where the distance is unpublished, an empty interval for no agreement."""
    published = ~np.isnan(distance)
    if not published.all():
        low, high = np.full(len(distance), np.nan), np.full(len(distance), np.nan)
        low[published], high[published] = _intervals(agreement, distance[published])
        return low, high
    low, high = (np.array(end, dtype=np.float64) for end in agreement.interval(distance))
    empty = ~(low < high)
    low[empty], high[empty] = np.inf, -np.inf
    return low, high


def _known_edges(known: Distances, pairs: _Pairs, directed: bool) -> merge.KnownEdges:
    """The known file's edges in blocks."""
    group = pairs.known_class
    distance, back, first, second = _edges(known, pairs.known_rows, group, directed=directed, every=directed)
    start, middle, source, left, right = merge.blocks(
        np.argsort(distance), (distance, first, second), group, pairs.relation.classes, directed
    )
    back = back[source] if directed else back
    return merge.KnownEdges(distance[source], back, pairs.base[left], pairs.base[right], start, middle)


def _stored(pairs: _Pairs, target: merge.TargetEdges, known: merge.KnownEdges, memory: int) -> Graph:
    """The graph in compressed rows."""
    n = len(pairs.target_row)
    blocks = len(target.start) - 1
    per_block = np.zeros(blocks, np.int64)
    nothing = np.zeros(0, np.int32)
    empty = merge.Half(np.zeros(0, np.int64), nothing)
    merge.merge(target, known, pairs.relation, (0, blocks, merge.COUNT), (per_block, nothing, nothing), empty)
    total = int(per_block.sum())
    if total * 12 + n * 32 > memory:
        raise TooLarge(
            f"the product graph has {n:,} vertices and {total:,} edges, which need {(total * 12 + n * 32) / 1e9:.1f} GB "
            f"of the {memory / 1e9:.1f} GB allowed"
        )
    parts = _shares(per_block, threads.available() if total > 100_000 else 1)
    smaller = np.zeros((len(parts), n), np.int32)
    larger = np.zeros((len(parts), n), np.int32)

    def count(part: int) -> None:
        span = (*parts[part], merge.DEGREES)
        merge.merge(target, known, pairs.relation, span, (per_block, smaller[part], larger[part]), empty)

    threads.run(count, range(len(parts)))
    below = smaller.sum(axis=0, dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(below)])
    heads = start[:-1] + np.concatenate([np.zeros((1, n), np.int64), np.cumsum(smaller, axis=0, dtype=np.int64)[:-1]])
    row = np.empty(start[-1], np.int32)

    def fill(part: int) -> None:
        span = (*parts[part], merge.FILL)
        merge.merge(target, known, pairs.relation, span, (per_block, nothing, nothing), merge.Half(heads[part], row))

    threads.run(fill, range(len(parts)))
    offsets = np.concatenate([[0], np.cumsum(below + larger.sum(axis=0, dtype=np.int64))])
    return Graph(offsets=offsets, neighbours=merge.rows(start, row, offsets, below))


def _shares(weight: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Consecutive spans of about equal weight that cover everything."""
    total = np.cumsum(weight)
    if len(total) == 0:
        return [(0, 0)]
    cuts = np.searchsorted(total, total[-1] * np.arange(1, parts) / parts) + 1
    ends = [0, *np.minimum(cuts, len(weight)).tolist(), len(weight)]
    return list(zip(ends[:-1], ends[1:], strict=True))
