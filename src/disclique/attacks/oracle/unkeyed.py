"""The oracle for encodings without a key: whoever holds a list encodes it themselves and compares bit by bit.

Everybody on the list is named by an encoding that nobody else shares. Noise is weighed by how many bits differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer
from disclique.attacks.oracle.profiles import NAME, WEIGHING, Scored, Weighing, claim_scored, list_pairs
from disclique.model import Claims
from disclique.spaces.base import Distances
from disclique.values import FloatArray

Codes = NDArray[np.uint8]
Ints = NDArray[np.int64]


def ask_unkeyed(masked: Sequence[Distances], holder: Holder, by: Weighing = WEIGHING) -> Answer:
    """Say of every person sought how surely those name them who encode a list of their own.

    A person's entry there is taken to be as it is in the file: errors of the list are not counted in its favour.
    """
    mask = holder.knowledge.mask
    assert mask is not None
    if not mask.noise:
        return Answer.of_claims(_name_equal(masked[0], holder), holder)
    t, k = list_pairs(holder, by)
    plain, rng = mask.without_noise(), np.random.default_rng(0)  # without a key nothing is drawn
    own, theirs = (_codes(plain.apply(file.distances, rng)) for file in (holder.exact, holder.known))
    people = theirs.copy()
    rows, others = holder.truth.pairs.T
    people[others] = own[rows]
    worth = np.log((1 - mask.noise) / mask.noise) / mask.copies  # nats for each bit that is as it should be
    strangers = np.setdiff1d(np.arange(len(own)), rows)
    score, fits = np.zeros(len(t)), np.zeros(len(strangers))
    for one in masked:
        shown = _codes(one)
        differ = _count_differing(shown, people)
        score -= worth * differ[t, k]
        fits -= worth * np.unpackbits(shown[strangers] ^ own[strangers], axis=1).sum(axis=1)
    return Answer.of_claims(claim_scored(Scored(t, k, score, strangers, fits), holder, by), holder)


def _name_equal(masked: Distances, holder: Holder) -> Claims:
    """Name for every known person the released records with the encoding that is theirs, as labels allow."""
    codes = masked.identities()
    assert codes is not None
    same: dict[Hashable, list[int]] = {}
    for row, code in enumerate(codes):
        same.setdefault(code, []).append(row)
    rows, people, chances = [], [], []
    for target, known in holder.truth.pairs.tolist():
        twins = np.array(same[codes[target]], dtype=np.int32)
        twins = twins[holder.candidates.allowed(twins, known)]
        odds = holder.candidates.log_odds(twins, np.full(len(twins), known))
        weight = np.exp(odds - odds.max(initial=-np.inf)) if len(twins) else odds
        rows.append(twins)
        people.append(np.full(len(twins), known, np.int32))
        chances.append(weight / max(weight.sum(), 1e-300))
    none = np.zeros(0, np.int32)
    parts = np.concatenate([*rows, none]), np.concatenate([*people, none]), np.concatenate([*chances, np.zeros(0)])
    return make_claims(parts, attack=NAME, floor=0.0)


def _codes(encodings: Distances) -> Codes:
    """Return the bits of every record, packed."""
    rows = encodings.identities()
    assert rows is not None
    return np.stack([np.frombuffer(row, dtype=np.uint8) for row in rows if isinstance(row, bytes)])


def _count_differing(one: Codes, other: Codes) -> FloatArray:
    """Return in how many bits each code differs from each of others; counts below 2^24 are exact."""
    left, right = (np.unpackbits(codes, axis=1).astype(np.float32) for codes in (one, other))
    shared = left @ right.T
    return np.asarray(left.sum(axis=1)[:, None] + right.sum(axis=1)[None] - 2 * shared, dtype=float)
