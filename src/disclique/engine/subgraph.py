"""Approximate common subgraphs: definition 5 of the paper, and theorem 7, by which cliques stand for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from disclique.engine.agreement import fit_agreement
from disclique.errors import InputError
from disclique.messages import Message
from disclique.model import (
    Agreement,
    Candidates,
    Clique,
    CommonSubgraph,
    FloatArray,
    IntArray,
    Microdata,
    ProductGraph,
)


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
