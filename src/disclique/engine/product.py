"""The product graph: pairs of records whose labels match, joined where the distances agree (definition 6).

And the approximate common subgraphs (definition 5) that its cliques stand for (theorem 7).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.engine.agreement import fit_agreement
from disclique.engine.kernels import demand, merge
from disclique.engine.kernels.compiled import count_cores, run_threads
from disclique.errors import InputError, TooLarge
from disclique.memory import default_memory, say_memory
from disclique.messages import Message
from disclique.model import Agreement, Candidates, Clique, CommonSubgraph, Graph, Microdata, ProductGraph, Rows
from disclique.spaces.base import Distances
from disclique.values import FloatArray, IntArray

CLIMBED = 0.25  # of the pairs of edges at a vertex, about so many are looked at by a search that begins with a climb
LONGEST_SEARCH = 100_000.0  # billions of operations, most of a day: a search that takes longer is refused at once
DISTANCES_AT_A_TIME = 4 * 1024**2


class RowsOnDemand(Rows):
    """Where each row would begin and end, and what rows are made from; ``why`` says that they are too large to store.

    Whoever needs them all at once is refused with that: a solver must make rows as it goes.
    """

    source: demand.Source
    why: Message

    def __init__(self, offsets: NDArray[np.int64], source: demand.Source, why: Message) -> None:
        for name, value in (("offsets", offsets), ("source", source), ("why", why)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"RowsOnDemand({self.order} vertices, {int(self.offsets[-1])} edges)"

    @property
    def neighbours(self) -> IntArray:
        """Refuse: all rows at once are too large."""
        raise TooLarge("rows_on_demand_refused", why=self.why)


def product_graph(
    target: Distances,
    known: Distances,
    *,
    candidates: Candidates,
    agreement: Agreement,
    memory: int | None = None,
    on_demand: float = 0.0,
) -> ProductGraph:
    """Return the product graph of two files, within ``memory`` bytes (by default half of what the machine has).

    Vertices are the candidate pairs, ascending by (known row, target row). Two of them are adjacent if they differ in
    both records and either both distances are published and the known one lies in the agreement interval of the target
    one, or neither is published. If either file is directed this must hold for the distances both ways. Only records
    that have a candidate are asked for their distances.

    Edges that do not fit are refused, unless the search of such a graph, about so many billions of operations, may be
    worth ``on_demand``: then rows are made whenever they are needed. It is the same graph, searched more slowly.
    """
    memory = default_memory() if memory is None else memory
    pairs = _candidate_pairs(candidates, memory)
    agreement = fit_agreement(agreement, target, known)
    files = _both(target, known, pairs, agreement, memory)
    found = _Meeting(len(pairs.target_row), *files, pairs.relation)
    need = 4 * found.edges + 40 * found.order
    if need <= memory:
        later = found.rows()
    else:
        why = Message(
            "product_graph_too_large",
            vertices=found.order,
            edges=found.edges,
            need=say_memory(need),
            memory=say_memory(memory),
        )
        _check_work(found, why, on_demand)
        later = RowsOnDemand(found.offsets(), _source(target, known, pairs, agreement, memory), why)
    return ProductGraph(pairs.target_row, pairs.known_row, later, _complete)


def _both(
    target: Distances, known: Distances, pairs: _CandidatePairs, agreement: Agreement, memory: int
) -> tuple[merge.TargetEdges, merge.Edges]:
    """Return the edges of both files, made side by side."""
    directed = target.directed or known.directed
    made: dict[str, Any] = {}

    def make(side: str) -> None:
        if side == "target":
            made[side] = _target_edges(target, pairs.target, agreement, directed, memory)
        else:
            records = pairs.known
            matrix = _matrix(known, records, memory)
            made[side] = merge.edges(matrix, records.begin, records.name, directed, directed)

    run_threads(make, ("target", "known"))
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
    rank, members, first = merge.positions(target_class, table, width)
    return _CandidatePairs(
        _side(target_rows, target_class, rank),
        _side(known_rows, known_class, base[:-1].astype(np.uint32)),
        table,
        target_rows[merge.spread(known_class, members, first, base)],
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
    need = 16 * order
    if need > memory or order >= 2**31:
        raise TooLarge("too_many_vertices", order=order, need=say_memory(need), memory=say_memory(memory))


def _matrix(distances: Distances, side: _Side, memory: int) -> FloatArray:
    """Return distances among the records of one side, asked for in slices."""
    rows, n = side.rows, len(side.rows)
    need = 24 * n * n + 16 * len(side.begin) ** 2
    if need > memory:
        raise TooLarge("too_many_distances", records=n, need=say_memory(need), memory=say_memory(memory))
    step = max(1, DISTANCES_AT_A_TIME // max(n, 1))
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
    found = merge.edges(_matrix(distances, side, memory), side.begin, side.name, directed, False)
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


class _Meeting:
    """The windows in which the edges of both files meet: how many product edges there are, and their rows."""

    def __init__(self, order: int, target: merge.TargetEdges, known: merge.Edges, relation: merge.Relation) -> None:
        self.order, self._files = order, (target, known)
        workers = count_cores() if len(target.low) > 20_000 else 1
        shares = _shares(merge.weights(target, known, relation), workers)
        self._found: list[tuple[merge.Windows, int, int]] = [()] * len(shares)  # type: ignore[list-item]

        def meet(share: int) -> None:
            self._found[share] = merge.windows(target, known, relation, shares[share])

        run_threads(meet, range(len(shares)))

    @property
    def edges(self) -> int:
        """Number of product edges; of directed files at the most."""
        return sum(total for _, _, total in self._found)

    def _below(self) -> NDArray[np.int64]:
        """Return the larger neighbours of each vertex in the shares up to each."""
        larger = np.zeros((len(self._found), self.order), np.uint32)

        def count(share: int) -> None:
            merge.degrees(*self._files, *self._found[share][:2], larger[share])

        run_threads(count, range(len(self._found)))
        return np.cumsum(larger, axis=0, dtype=np.int64)

    def offsets(self) -> NDArray[np.int64]:
        """Return where rows would begin and end."""
        return np.concatenate([[0], np.cumsum(self._below()[-1])])

    def rows(self) -> Rows:
        """Return every product edge once, in compressed rows of the larger neighbours."""
        below = self._below()
        offsets = np.concatenate([[0], np.cumsum(below[-1])])
        heads = np.concatenate([offsets[:-1][None], offsets[:-1] + below[:-1]]).astype(np.uint64)
        row = np.empty(offsets[-1], np.uint32)

        def write(share: int) -> None:
            merge.fill(*self._files, *self._found[share][:2], (heads[share], row))

        run_threads(write, range(len(self._found)))
        return Rows(offsets, row.view(np.int32))


def _check_work(found: _Meeting, why: Message, allowed: float) -> None:
    """Raise TooLarge if rows on demand are not wanted, or would cost more work than is allowed."""
    work = CLIMBED * found.edges**2 / found.order / 1e9
    if allowed <= 0:
        raise TooLarge("narrow_the_agreement", why=why)
    most = min(allowed, LONGEST_SEARCH)
    if work > most:
        raise TooLarge("too_much_work_on_demand", why=why, work=work, most=most)


def _source(
    target: Distances, known: Distances, pairs: _CandidatePairs, agreement: Agreement, memory: int
) -> demand.Source:
    """Return what rows are made from on demand; raise TooLarge if not even that fits."""
    records = len(pairs.target.rows), len(pairs.known.rows)
    need = 48 * len(pairs.target_row) + 32 * records[0] ** 2 + 8 * records[1] ** 2
    if need > memory:
        raise TooLarge(
            "too_large_on_demand",
            targets=records[0],
            known_records=records[1],
            need=say_memory(need),
            memory=say_memory(memory),
        )
    directed = target.directed or known.directed
    lengths, distance = _matrix(target, pairs.target, memory).copy(), _matrix(known, pairs.known, memory).copy()
    if not directed:
        _mirror(lengths)
        _mirror(distance)
    low, high = (end.reshape(lengths.shape) for end in _intervals(agreement, lengths.ravel()))
    np.fill_diagonal(low, np.inf)  # a record never agrees with itself
    np.fill_diagonal(high, -np.inf)
    np.fill_diagonal(distance, np.inf)
    place = _places(pairs.target.rows, pairs.target_row), _places(pairs.known.rows, pairs.known_row)
    beyond = np.zeros(len(distance), np.int64)
    beyond[place[1]] = np.arange(1, len(place[1]) + 1)  # the last one of each record stays
    return demand.Source(low, high, distance, *place, beyond, directed)


def _mirror(matrix: FloatArray) -> FloatArray:
    """Return the matrix with what stands above the diagonal also below it: each pair of records has one distance."""
    for i in range(len(matrix)):
        matrix[i + 1 :, i] = matrix[i, i + 1 :]
    return matrix


def _places(rows: IntArray, of: IntArray) -> NDArray[np.uint32]:
    """Return the places among ``rows`` of the records ``of``."""
    place = np.zeros(int(rows.max(initial=-1)) + 1, np.uint32)
    place[rows] = np.arange(len(rows))
    return place[of]


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


def member_pairs(graph: ProductGraph, members: tuple[int, ...]) -> IntArray:
    """Return the rows (target, known) of vertices of the product graph, shape (n, 2)."""
    chosen = np.array(members, dtype=np.int64)
    return np.column_stack([graph.target[chosen], graph.known[chosen]]).astype(np.int32)


def common_subgraph(clique: Clique, graph: ProductGraph) -> CommonSubgraph:
    """Return the approximate common subgraph (S, T, φ) that a clique of the product graph stands for (theorem 7)."""
    pairs = member_pairs(graph, clique.members)
    return CommonSubgraph(tuple(pairs[:, 0].tolist()), tuple(pairs[:, 1].tolist()))


def clique_of(subgraph: CommonSubgraph, graph: ProductGraph) -> tuple[int, ...]:
    """Return the members of the clique that an approximate common subgraph stands for (theorem 7)."""
    number = {pair: v for v, pair in enumerate(zip(graph.target.tolist(), graph.known.tolist(), strict=True))}
    try:
        return tuple(sorted(number[pair] for pair in subgraph.pairs))
    except KeyError as error:
        raise InputError("pair_without_shared_label", pair=str(error.args[0])) from None


def violation(
    subgraph: CommonSubgraph, target: Microdata, known: Microdata, *, agreement: Agreement, candidates: Candidates
) -> Message | None:
    """Say why definition 5 does not hold; None if (S, T, φ) is an approximate common subgraph."""
    s, t = np.array(subgraph.target, dtype=np.int32), np.array(subgraph.known, dtype=np.int32)
    if len(set(subgraph.target)) != len(s) or len(set(subgraph.known)) != len(t):
        return Message("not_a_bijection")
    for at in np.flatnonzero(~candidates.allowed(s, t)):
        return Message("records_without_a_shared_label", target=s[at] + 1, known=t[at] + 1)
    if len(s) == 0:
        return None
    agreement = fit_agreement(agreement, target.distances, known.distances)
    wrong = ~_consistent(target.distances.block(s, s), known.distances.block(t, t), agreement)
    np.fill_diagonal(wrong, False)
    for i, j in np.argwhere(wrong):
        rows = {"first": s[i] + 1, "second": s[j] + 1, "first_known": t[i] + 1, "second_known": t[j] + 1}
        return Message("distances_of_pair_differ", rows)
    return None


def _consistent(d_target: FloatArray, d_known: FloatArray, agreement: Agreement) -> NDArray[np.bool_]:
    lo, hi = agreement.interval(d_target)
    agree = (lo < d_known) & (d_known < hi)
    return np.asarray(agree | (np.isnan(d_target) & np.isnan(d_known)))


def warm() -> bool:
    """True if compiled kernels lie in the cache; the first run takes some seconds longer to fill it."""
    cache = getattr(merge.windows, "_cache", None)
    folder = getattr(cache, "cache_path", None)
    return folder is None or any(Path(folder).glob("*.nbi"))
