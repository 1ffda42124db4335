"""How likely single pairs of records are: by their distances to matched ones, and where nobody is twice in a file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.engine.kernels.compiled import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LARGE = 1e100  # a product that has room for one more factor
LEAST = 3  # fewer distances fix no place, not even in the plane


class Anchored(NamedTuple):
    """Distances of all records to the anchors: a row per record, a column per anchor (two if directed)."""

    target: Floats
    known: Floats
    anchor: Ints  # of each column
    target_is: Ints  # the anchor that a target record is, or -1
    known_is: Ints


@kernel
def profile_scores(anchored: Anchored, v: int, spread: float) -> Floats:
    """Return the robust mean squared residual, in units of ``spread``, of target record ``v`` to every known record.

    It is exp(mean log(1 + residual²)) - 1: one false anchor among many weighs little, but a record twice as far away
    still scores higher, so that the scores of strangers spread out as they do on a map. A record's distance to itself
    says nothing, nor does one that is unpublished on either side; fewer than LEAST that remain make the score
    infinite. O(known records × columns).
    """
    scores = np.empty(len(anchored.known))
    mine = anchored.target_is[v]
    for w in range(len(scores)):
        theirs = anchored.known_is[w]
        total = 0.0
        factor = 1.0  # one logarithm for several terms
        said = 0
        for column in range(len(anchored.anchor)):
            anchor = anchored.anchor[column]
            if anchor in (mine, theirs):
                continue
            residual = (anchored.known[w, column] - anchored.target[v, column]) / spread
            if not np.isnan(residual):
                factor *= 1.0 + residual * residual
                said += 1
                if factor > LARGE:
                    total += np.log(factor)
                    factor = 1.0
        scores[w] = np.expm1((total + np.log(factor)) / said) if said >= LEAST else np.inf
    return scores


@kernel
def crowding(scores: Floats, at: Floats, least: int) -> Floats:
    """Return how many of ``scores`` there are per unit around each of ``at``, itself left out.

    ``scores`` ascend. The window grows until it holds ``least`` of them; it ends at 0, where scores end. O(at × log).
    """
    found = np.empty(len(at))
    finite = np.searchsorted(scores, np.inf)
    for i in range(len(at)):
        half = 0.1 * at[i] + 1e-9
        count = 0
        while True:
            low = np.searchsorted(scores, at[i] - half)
            high = np.searchsorted(scores, at[i] + half, side="right")
            count = high - low - 1
            if count >= least or high - low >= finite:
                break
            half *= 1.5
        found[i] = max(count, 1) / (at[i] + half - max(at[i] - half, 0.0))
    return found


@kernel
def _sum_others(value: Floats, order: Ints, start: Ints, out: Floats) -> None:
    """Fill ``out`` with 1 / (1 + the sum of the row's other values), without cancellation."""
    for r in range(len(start) - 1):
        before = 0.0
        for p in range(start[r], start[r + 1]):
            out[order[p]] = before
            before += value[order[p]]
        after = 0.0
        for p in range(start[r + 1] - 1, start[r] - 1, -1):
            e = order[p]
            out[e] = 1 / (1 + out[e] + after)
            after += value[e]


@kernel
def marginalise_matchings(weight: Floats, rows: tuple[Ints, Ints], columns: tuple[Ints, Ints], rounds: int) -> Floats:
    """Return the probability of each edge in a random matching drawn with the product of its edges' weights.

    Belief propagation, exact where the edges form no cycle; ``rows`` and ``columns`` are (order of the edges, start of
    each record's edges in it). Messages are averaged with the last ones, for they would swing between two bounds.
    """
    down, up = np.ones(len(weight)), np.ones(len(weight))
    fresh = np.empty(len(weight))
    for _ in range(rounds):
        _sum_others(weight * up, rows[0], rows[1], fresh)
        moved = 0.0
        for e in range(len(weight)):
            moved = max(moved, abs(fresh[e] - down[e]) / fresh[e])
            down[e] = (fresh[e] + down[e]) / 2
        _sum_others(weight * down, columns[0], columns[1], fresh)
        for e in range(len(weight)):
            moved = max(moved, abs(fresh[e] - up[e]) / fresh[e])
            up[e] = (fresh[e] + up[e]) / 2
        if moved < 1e-4:
            break
    both = weight * down * up
    return both / (1 + both)
