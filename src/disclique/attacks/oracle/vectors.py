"""The oracle for vectors whose mask moves each of them: by the law of the masked vector given the true one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.laws import chance_of
from disclique.attacks.oracle.profiles import WEIGHING, Scored, Weighing, claim_scored, list_pairs
from disclique.masks.laws import ExchangeLaw
from disclique.model import Claims
from disclique.spaces import Points
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Score = Callable[[Ints, FloatArray], FloatArray]  # records and the vectors of people, one to one: log likelihoods


def weigh_vectors(
    masked: Sequence[Points], theirs: Points, own: Points, holder: Holder, by: Weighing = WEIGHING
) -> Claims | None:
    """Claim pairs of masked vectors and people by the exact law of the mask; None where that is not written down."""
    score = _find_law(masked, own, holder)
    if score is None:
        return None
    t, k = list_pairs(holder, by)
    strangers = np.setdiff1d(np.arange(own.size), holder.truth.pairs[:, 0])
    parts = np.array_split(np.arange(len(t)), max(len(t) * own.coordinates.shape[1] // 10_000_000, 1))
    found = np.concatenate([score(t[part], theirs.coordinates[k[part]]) for part in parts])
    return claim_scored(Scored(t, k, found, strangers, score(strangers, own.coordinates[strangers])), holder, by)


def _find_law(masked: Sequence[Points], own: Points, holder: Holder) -> Score | None:
    mask, error = holder.knowledge.mask, holder.knowledge.coordinate_error
    assert mask is not None
    numbers = all(one.coordinates.dtype.kind in "fiu" for one in (own, *masked))
    spread = mask.displacement_spread()
    if not numbers:
        return None
    if mask.rigid and error:
        return _gaussian(own.coordinates, error**2)
    if mask.gaussian and spread is not None:
        mean = np.mean([one.coordinates for one in masked], axis=0)
        return _gaussian(mean, spread.east**2 / len(masked) + error**2)
    law = mask.place_law(own)
    if isinstance(law, ExchangeLaw) and not error:
        return _exchanged(masked, own, law)
    rng = chance_of(mask.spec, own.size)
    if not error and all(np.array_equal(_draw(holder, own, rng), one.coordinates) for one in masked):
        return _replayed(masked[0].coordinates, own.coordinates)
    return None


def _draw(holder: Holder, own: Points, rng: np.random.Generator) -> FloatArray:
    assert holder.knowledge.mask is not None
    found = holder.knowledge.mask.apply(own, rng).points()
    assert found is not None
    return found.coordinates


def _gaussian(centre: FloatArray, variance: float) -> Score:
    return lambda t, vectors: np.asarray(-((centre[t] - vectors) ** 2).sum(axis=1) / (2 * variance))


def _exchanged(masked: Sequence[Points], own: Points, law: ExchangeLaw) -> Score:
    """Return the law of vectors that exchange their places: the own one, or that of one of those around."""

    def score(t: Ints, vectors: FloatArray) -> FloatArray:
        people, which = np.unique(vectors, axis=0, return_inverse=True)
        around = np.zeros(len(people))
        for part in np.array_split(np.arange(len(people)), max(len(people) * own.size // 4_000_000, 1)):
            apart = np.sqrt(((people[part][:, None] - own.coordinates[None]) ** 2).sum(axis=2))
            around[part] = (apart <= law.radius).sum(axis=1) - (apart == 0).any(axis=1)
        partners = np.maximum(around, 0)[which.ravel()]
        stay = law.stay(partners)
        total = np.zeros(len(t))
        for one in masked:
            apart = np.sqrt(((one.coordinates[t] - vectors) ** 2).sum(axis=1))
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = np.where(apart <= law.radius * (1 + 1e-9), np.log((1 - stay) / partners), -np.inf)
                total += np.where(apart == 0, np.log(stay), moved)
        return total

    return score


def _replayed(images: FloatArray, own: FloatArray) -> Score:
    """Return the law of a rule without chance: a person is put where those of the same vector are."""
    at = {tuple(vector): tuple(image) for vector, image in zip(own.tolist(), images.tolist(), strict=True)}
    shown = [tuple(image) for image in images.tolist()]

    def score(t: Ints, vectors: FloatArray) -> FloatArray:
        same = [at.get(tuple(vector)) == shown[row] for row, vector in zip(t.tolist(), vectors.tolist(), strict=True)]
        return np.where(same, 0.0, -np.inf)

    return score
