"""Matches: the pairs of records that an attack claims, and what it cannot tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.data.distances import Points
from disclique.data.labels import label_tuples
from disclique.errors import InputError
from disclique.model import (
    Agreement,
    Candidates,
    Clique,
    CommonSubgraph,
    FloatArray,
    MaximumCliques,
    Microdata,
    ProductGraph,
)

COLUMNS = ("target_row", "known_row", "target_id", "known_id", "support")


def common_subgraph(clique: Clique, graph: ProductGraph) -> CommonSubgraph:
    """The approximate common subgraph (S, T, φ) that a clique of the product graph stands for (theorem 7)."""
    vertices = np.array(clique.members, dtype=np.int64)
    return CommonSubgraph(tuple(graph.target[vertices].tolist()), tuple(graph.known[vertices].tolist()))


def clique_of(subgraph: CommonSubgraph, graph: ProductGraph) -> tuple[int, ...]:
    """The members, counted from 0, of the clique that an approximate common subgraph stands for (theorem 7)."""
    number = {pair: v for v, pair in enumerate(zip(graph.target.tolist(), graph.known.tolist(), strict=True))}
    try:
        return tuple(sorted(number[pair] for pair in subgraph.pairs))
    except KeyError as error:
        raise InputError(f"pair {error.args[0]}: these records do not share a label") from None


def violation(
    subgraph: CommonSubgraph, target: Microdata, known: Microdata, *, agreement: Agreement, candidates: Candidates
) -> str:
    """Why definition 5 does not hold, in a sentence; empty if (S, T, φ) is an approximate common subgraph."""
    s, t = np.array(subgraph.target, dtype=np.int32), np.array(subgraph.known, dtype=np.int32)
    if len(set(subgraph.target)) != len(s) or len(set(subgraph.known)) != len(t):
        return "φ is not a bijection"
    related = {(int(a), int(b)) for a, b in candidates.relation}
    for v, w in subgraph.pairs:
        if (int(candidates.target_class[v]), int(candidates.known_class[w])) not in related:
            return f"target record {v + 1} and known record {w + 1} do not share a label"
    if len(s) == 0:
        return ""
    wrong = ~_consistent(target.distances.block(s, s), known.distances.block(t, t), agreement)
    np.fill_diagonal(wrong, False)
    for i, j in np.argwhere(wrong):
        return f"the distances of target records {s[i] + 1}, {s[j] + 1} and known records {t[i] + 1}, {t[j] + 1} differ"
    return ""


def _consistent(d_target: FloatArray, d_known: FloatArray, agreement: Agreement) -> NDArray[np.bool_]:
    lo, hi = agreement.interval(d_target)
    agree = (lo < d_known) & (d_known < hi)
    return np.asarray(agree | (np.isnan(d_target) & np.isnan(d_known)))


IdPairs = tuple[Sequence[Hashable], Sequence[Hashable]]


def matches(graph: ProductGraph, cliques: MaximumCliques, *, clique: Clique, ids: IdPairs) -> pd.DataFrame:
    """One row a match of ``clique``, with its support: the share of the maximum cliques that contain it."""
    found = Counter(member for members in cliques.cliques for member in members)
    rows = np.array(clique.members, dtype=np.int64)
    support = [found[member] / cliques.count if cliques.count else 1.0 for member in clique.members]
    return match_table(graph.target[rows], graph.known[rows], ids, support=np.array(support, dtype=float))


def match_table(
    target: NDArray[np.integer], known: NDArray[np.integer], ids: IdPairs, **more: NDArray[np.float64]
) -> pd.DataFrame:
    """Pairs as a table: rows counted from 1, as in the paper, the records' ids, and ``more`` columns."""
    table = pd.DataFrame(
        {
            "target_row": np.asarray(target, dtype=np.int64) + 1,
            "known_row": np.asarray(known, dtype=np.int64) + 1,
            "target_id": pd.Series([ids[0][v] for v in target], dtype=object),
            "known_id": pd.Series([ids[1][w] for w in known], dtype=object),
            **more,
        }
    )
    return table.sort_values(["target_row", "known_row"], ignore_index=True)


def label_pairs(candidates: Candidates) -> pd.DataFrame:
    """How many known records share the label of each target record that has any: linkage without distances.

    A count of 1 that is mutual is a record that its label alone identifies; these are the common subgraphs of
    order 1.
    """
    of_known = np.bincount(candidates.known_class[candidates.known_class >= 0], minlength=_classes(candidates, 1))
    of_target = np.bincount(candidates.target_class[candidates.target_class >= 0], minlength=_classes(candidates, 0))
    a, b = candidates.relation[:, 0], candidates.relation[:, 1]
    fits = np.bincount(a, weights=of_known[b], minlength=len(of_target)).astype(int)  # known records for a class
    rivals = np.bincount(b, weights=of_target[a], minlength=len(of_known)).astype(int)  # target records for a class
    rows = np.flatnonzero(candidates.target_class >= 0)
    count = fits[candidates.target_class[rows]]
    partner = np.full(len(of_target), -1)
    partner[a] = b
    alone = (count == 1) & (rivals[partner[candidates.target_class[rows]]] == 1)
    return pd.DataFrame({"target_row": rows + 1, "candidates": count, "unique": alone})[count > 0]


def _classes(candidates: Candidates, side: int) -> int:
    of_row = candidates.target_class if side == 0 else candidates.known_class
    return int(of_row.max(initial=-1)) + 1


def unique_label_pairs(candidates: Candidates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Target and known rows, from 0, of the pairs that the label alone links: one record of it in either file."""
    alone = label_pairs(candidates)
    target = alone.loc[alone["unique"].astype(bool), "target_row"].to_numpy(dtype=np.int64) - 1
    relation = {int(a): int(b) for a, b in candidates.relation if (candidates.known_class == b).any()}
    known = [
        int(np.flatnonzero(candidates.known_class == relation[int(candidates.target_class[v])])[0]) for v in target
    ]
    return target, np.array(known, dtype=np.int64)


def twins(data: Microdata) -> tuple[tuple[int, ...], ...]:
    """Groups of rows, from 1, that no attack can tell apart: the same label and the same distances to all others."""
    buckets: dict[Hashable, list[list[int]]] = {}
    for row, (label, key) in enumerate(zip(label_tuples(data.labels), _keys(data), strict=True)):
        bucket = buckets.setdefault((label, key), [])
        for group in bucket:
            if _interchangeable(data, group[0], row):
                group.append(row)
                break
        else:
            bucket.append([row])
    groups = [group for bucket in buckets.values() for group in bucket if len(group) > 1]
    return tuple(tuple(row + 1 for row in group) for group in sorted(groups))


def _keys(data: Microdata) -> list[Hashable]:
    """What twins have in common and few others: their point, or their distances in ascending order."""
    if isinstance(data.distances, Points):
        return [tuple(np.atleast_1d(row).tolist()) for row in data.distances.coordinates]
    rows = np.arange(len(data), dtype=np.int32)
    return [np.sort(data.distances.block(rows[i : i + 1], rows)).tobytes() for i in rows]


def _interchangeable(data: Microdata, i: int, j: int) -> bool:
    if isinstance(data.distances, Points):
        return True  # the same point
    rest = np.delete(np.arange(len(data), dtype=np.int32), [i, j])
    pair = np.array([i, j], dtype=np.int32)
    there, back = data.distances.block(pair, rest), data.distances.block(rest, pair)
    return np.array_equal(there[0], there[1], equal_nan=True) and np.array_equal(back[:, 0], back[:, 1], equal_nan=True)
