"""The oracle for encodings by how many bits they have: a long text sets more of them, whatever the key.

Salts and diffusion hide which bits belong to which text, not how many there are. What texts weigh is learned by
encoding them under keys of one's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.laws import LEARNING, Learning, chance_of
from disclique.attacks.oracle.profiles import WEIGHING, Scored, Weighing, claim_scored, list_pairs
from disclique.masks.base import Mask
from disclique.model import Claims
from disclique.spaces.base import Distances
from disclique.values import FloatArray

Law = tuple[FloatArray, FloatArray]  # mean weights, a row a text and a column an encoding; the variance of each
ROUNDING = 1 / 12  # variance of a count as that of a number that was rounded


def weigh_bits(
    masked: Sequence[Distances], holder: Holder, by: Weighing = WEIGHING, learning: Learning = LEARNING
) -> Claims | None:
    """Claim pairs by the number of bits alone; None where there are none, or all have as many."""
    mask = holder.knowledge.mask
    shown = [_count_bits(one) for one in masked]
    if mask is None or any(one is None or len(one) != holder.exact.distances.size for one in shown):
        return None
    own, theirs = (_recall(holder, file.distances, learning.weighed) for file in (holder.exact, holder.known))
    if own is None or theirs is None or own[0].shape[1] != theirs[0].shape[1]:
        return None
    rows, others = holder.truth.pairs.T
    people = theirs[0].copy()
    people[others] = own[0][rows]  # errors of the list are not counted in its favour
    spread = own[1] * (1 + 1 / learning.weighed) + ROUNDING
    if not (own[0].var(axis=0) > own[1] / learning.weighed).any():
        return None
    t, k = list_pairs(holder, by)
    strangers = np.setdiff1d(np.arange(len(own[0])), rows)
    score, fits = np.zeros(len(t)), np.zeros(len(strangers))
    for one in shown:
        assert one is not None
        score -= ((one[t] - people[k]) ** 2 / (2 * spread)).sum(axis=1)
        fits -= ((one[strangers] - own[0][strangers]) ** 2 / (2 * spread)).sum(axis=1)
    return claim_scored(Scored(t, k, score, strangers, fits), holder, by)


def _recall(holder: Holder, texts: Distances, count: int) -> Law | None:
    """Return the law of texts' weights, drawn once for all questions about them."""
    strings, mask, told = texts.identities(), holder.knowledge.mask, holder.knowledge.learned
    assert mask is not None
    key = ("weights", count, None if strings is None else tuple(strings))
    if strings is None or key not in told:
        told[key] = _draw_weights(mask, texts, count)
    found: Law | None = told[key]
    return found


def _draw_weights(mask: Mask, texts: Distances, count: int) -> Law | None:
    """Return the mean weight of each text in each encoding of a person, and the variance of what keys and noise do."""
    rng = chance_of(mask.spec, texts.size)
    draws = [_count_bits(mask.apply(texts, rng)) for _ in range(count)]
    there = [one for one in draws if one is not None and len(one) == texts.size]
    if len(there) < count:
        return None
    weights = np.stack(there)
    return weights.mean(axis=0), weights.var(axis=0, ddof=1).mean(axis=0)


def _count_bits(distances: Distances) -> FloatArray | None:
    """Return how many bits each encoding of each person has (a column each)."""
    found = distances.encodings()
    return None if found is None else np.stack([piece.weights for piece in found.pieces], axis=1).astype(float)
