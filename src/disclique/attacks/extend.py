"""Extension: from a few matches to many, by the distances to them, in any metric space.

The paper remarks that three identified people fix a place on the map. In general, a pair of records whose distances
to all matched records agree is a match itself; the new matches judge the old ones in turn, and those that lose their
support are dropped.

The law of the mask enters by its second moments only: the deviation of d - d′, and how residuals of displaced points go
together. Where the law has a sharp form (a ring, a grid, exchanged places), ``register`` uses it and finds more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gamma

from disclique.attacks.act import fetcher
from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.kroll import CliqueAttack
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.registry import Attack, Fetch, attacks
from disclique.engine.kernels.pairs import LEAST, Anchored, crowding, profile_scores
from disclique.errors import InputError
from disclique.model import Candidates, Claims, Distances, FloatArray, IntArray, Microdata

MOST_ANCHORS = 100  # more of them tell little more and cost time
NEIGHBOURS = 8  # decoys from which their density is estimated
ROUNDS = 20
MOST_SEEN = 1000  # matches whose distances show the deviation
NORMAL_MEDIAN = 0.6745  # median of |x| for a standard normal x
CONSISTENT = 3.0  # standard deviations that the typical residual of a true anchor stays under
# Mean and variance of the score of a true pair when points are displaced in the plane, by simulation: half of every
# residual's variance is the record's own displacement, which all its distances share, half the anchors'.
PLANE = (0.74, 0.143)
WEIGHT_OF_PLANE = 5  # matches that count as much as this expectation

Ints = NDArray[np.int64]
Anchors = tuple[IntArray, IntArray]


class ScoredPairs(NamedTuple):
    """Candidate pairs with the score of their profiles and how crowded that score is with decoys."""

    target: Ints
    known: Ints
    score: FloatArray
    crowd: FloatArray  # known records per unit of score, of the labels that fit
    gain: FloatArray  # evidence of the labels


@dataclass(frozen=True)
class ExtendAttack(Attack):
    """Matches as anchors: every other pair is judged by its distances to them, and so on until stable.

    The anchors are the matches of the ``clique``. Where it has fewer than three, was refused or is not known, they are
    those of ``otherwise``, and the deviation is at least what their distances show.
    """

    name: ClassVar[str] = "extend"
    needs: ClassVar[str] = "any distances, directed or incomplete ones too"
    summary: ClassVar[str] = (
        "The clique's pairs as anchors, those of profiles where it has too few; every other pair is judged by its "
        "distances to them, by the probability that it is one person."
    )
    by_agreement: ClassVar[bool] = True
    most: ClassVar[tuple[int, int] | None] = (10_000, 20_000)
    by_evidence: ClassVar[bool] = True

    clique: Attack | None
    deviation: float | None = None  # standard deviation of d - d′ for a true pair, in the unit of the distances
    common: float | None = None
    otherwise: Attack | None = None

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the snooper's ≈ and the deviation of distances, as far as they are known."""
        clique = None if knowledge.agreement is None else CliqueAttack.build(knowledge, search)
        otherwise = attacks()["profiles"].build(knowledge, search)
        return cls(clique, knowledge.known_deviation, knowledge.common, otherwise)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Search for the anchors first, then link what they support."""
        return self.run_from(fetcher(target, known, lambda attack: candidates), target, known, candidates)

    def run_from(self, fetch: Fetch, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link what matches support; a clique search that was cut short cuts this one short too, if it rests on it."""
        start, by_clique, given_up = self._start(fetch)
        anchors, spread = start.claimed()[:2], self.deviation
        if not by_clique or spread is None:
            seen = estimate_deviation(target.distances, known.distances, anchors)
            spread = max(spread or 0.0, seen)  # a mask may also shift all distances
        found = extend(
            target.distances,
            known.distances,
            candidates=candidates,
            anchors=anchors,
            spread=spread,
            common=start.details.get("common") if self.common is None else self.common,
            plane=by_clique,
        )
        found = replace(found, work=start.work, details={**found.details, "start": start.attack})
        cut = f"it rests on the {start.attack}: {start.cut}"
        if start.complete:
            if not given_up or len(found.claimed()[0]):
                return found
            cut = f"it would rather rest on the clique: {given_up}"
        return replace(found, cut=cut, most=min(len(target), len(known)))

    def _start(self, fetch: Fetch) -> tuple[Claims, bool, str]:
        """Return the claims to start from, whether they are a clique's, and what cut short a clique left aside."""
        clique = None
        try:
            clique = None if self.clique is None else fetch(self.clique)
        except InputError:
            if self.otherwise is None:
                raise
        few = clique is None or len(clique.claimed()[0]) < LEAST or "thinned" in clique.details
        if few and self.otherwise is not None:
            other = fetch(self.otherwise)
            if clique is None or len(other.claimed()[0]) >= LEAST:
                return other, False, "" if clique is None else clique.cut
        if clique is None:
            raise InputError(f"the attack {self.name} needs matches to start from: give an agreement such as Within(5)")
        return clique, True, ""


@dataclass(frozen=True)
class TrueScores:
    """The law of a true pair's score: a gamma law with this mean and variance."""

    mean: float
    variance: float

    def log_density(self, score: FloatArray) -> FloatArray:
        """Log density at each score, level below the mode: too good an agreement never speaks against a pair."""
        shape = self.mean**2 / self.variance
        scale = self.mean / shape
        mode = (shape - 1) * scale
        total = 1 + mode * gamma.pdf(mode, shape, scale=scale) - gamma.cdf(mode, shape, scale=scale)
        return np.asarray(gamma.logpdf(np.maximum(score, mode), shape, scale=scale) - np.log(total))

    @property
    def reach(self) -> float:
        """A score that a true pair hardly exceeds."""
        shape = self.mean**2 / self.variance
        return float(gamma.isf(1e-4, shape, scale=self.mean / shape))


def extend(
    target: Distances,
    known: Distances,
    *,
    candidates: Candidates,
    anchors: Anchors,
    spread: float,
    common: float | None = None,
    plane: bool = True,
) -> Claims:
    """Find matches that agree in their distances to matches, starting from ``anchors``, until nothing changes.

    ``spread`` is the standard deviation of d - d′ for a true pair, ``common`` the expected share of the target's
    records that are in the known file, estimated if it is None. Off the ``plane`` the law of scores is learned from the
    anchors alone. Directed and incomplete distances are fine. Nothing is
    claimed from fewer than three anchors, true or false.
    """
    if not (np.isfinite(spread) and spread >= 0):
        raise InputError(f"spread = {spread}: a standard deviation is a finite number from 0 up")
    spread = max(spread, _exactness(target))
    anchors = _consistent(target, known, anchors, spread)
    law = TrueScores(*PLANE)
    seen: set[tuple[tuple[int, int], ...]] = set()
    found: tuple[ScoredPairs, FloatArray] | None = None
    share, begun = common, len(anchors[0])
    for _ in range(ROUNDS):
        key = tuple(sorted(zip(anchors[0].tolist(), anchors[1].tolist(), strict=True)))
        if len(key) < LEAST:
            left = f"{len(key)} of {begun} matches are left" if seen else f"{len(key)} matches to start from"
            why = f"{left}: at least {LEAST} are needed to judge others by their distances"
            return no_claims(why, attack="extend")
        if key in seen:
            break
        seen.add(key)
        pairs = _pairs(_anchored(target, known, anchors), candidates, law, spread)
        ratio = law.log_density(pairs.score) - np.log(pairs.crowd) + pairs.gain
        sizes = (target.size, known.size)
        share = common if common is not None else estimated_share(pairs.target, pairs.known, ratio, sizes=sizes)
        posterior = matching_posterior(pairs.target, pairs.known, ratio, sizes=sizes, common=share)
        found = pairs, posterior
        sure = posterior > 0.5
        anchors = pairs.target[sure].astype(np.int32), pairs.known[sure].astype(np.int32)
        law = _law(pairs.score[sure], plane=plane)
    assert found is not None
    claims = (found[0].target.astype(np.int32), found[0].known.astype(np.int32), found[1])
    details = {"rounds": len(seen), "anchors": len(anchors[0]), "common": share, "mean_score": law.mean}
    return make_claims(claims, attack="extend", details=details)


def _consistent(target: Distances, known: Distances, anchors: Anchors, spread: float) -> Anchors:
    """Return the anchors whose distances to most of the others agree; the rest would only blur the scores."""
    if len(anchors[0]) < LEAST:
        return anchors
    residual = np.abs(known.block(anchors[1], anchors[1]) - target.block(anchors[0], anchors[0]))
    np.fill_diagonal(residual, np.nan)
    silent: NDArray[np.bool_] = np.asarray(np.isnan(residual).all(axis=1))
    typical = np.nanmedian(np.where(silent[:, None], 0.0, residual), axis=1)
    keep = np.asarray(silent | (typical <= CONSISTENT * spread))
    return anchors[0][keep], anchors[1][keep]


def estimate_deviation(target: Distances, known: Distances, anchors: Anchors) -> float:
    """Return the standard deviation of d - d′ that the distances among matches show, by their median; 0 if none do.

    >>> from disclique.spaces.distances import Matrix
    >>> sides = [Matrix(np.array([[0, a, 3], [a, 0, 4], [3, 4, 0.0]])) for a in (2.0, 5.0)]
    >>> estimate_deviation(*sides, (np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32)))
    0.0
    """
    most = np.unique(np.linspace(0, max(len(anchors[0]) - 1, 0), MOST_SEEN).round().astype(np.int64))
    left, right = (side[most] if len(side) else side for side in anchors)
    residual = np.abs(known.block(right, right) - target.block(left, left))[~np.eye(len(left), dtype=bool)]
    residual = residual[~np.isnan(residual)]
    return float(np.median(residual)) / NORMAL_MEDIAN if len(residual) else 0.0


def _exactness(target: Distances) -> float:
    """Return the rounding error of distances, the least spread that can be told from none."""
    row = target.block(np.zeros(1, np.int32), np.arange(target.size, dtype=np.int32))
    largest = np.nanmax(row, initial=0.0)
    return float(largest or 1.0) * 1e-9


def _anchored(target: Distances, known: Distances, anchors: Anchors) -> Anchored:
    """Return distances of all records to the anchors, to an even choice of them if they are many."""
    chosen = np.unique(np.linspace(0, len(anchors[0]) - 1, MOST_ANCHORS).round().astype(np.int64))
    left, right = (np.asarray(side)[chosen].astype(np.int32) for side in anchors)
    number = np.arange(len(left), dtype=np.int64)
    directed = target.directed or known.directed
    blocks = []
    for distances, rows in ((target, left), (known, right)):
        every = np.arange(distances.size, dtype=np.int32)
        block = distances.block(every, rows)
        blocks.append(np.hstack([block, distances.block(rows, every).T]) if directed else block)
    is_anchor = [np.full(distances.size, -1, dtype=np.int64) for distances in (target, known)]
    is_anchor[0][left], is_anchor[1][right] = number, number
    columns = np.concatenate([number, number]) if directed else number
    return Anchored(np.ascontiguousarray(blocks[0]), np.ascontiguousarray(blocks[1]), columns, *is_anchor)


def _pairs(anchored: Anchored, candidates: Candidates, law: TrueScores, spread: float) -> ScoredPairs:
    """Return the candidate pairs that could be true, with the crowd of strangers at their score."""
    records = len(candidates.known_class)
    gains = _gains(candidates, records)
    reach = law.reach
    parts = []
    for v, own in enumerate(candidates.target_class):
        if own < 0 or own not in gains:
            continue
        scores = profile_scores(anchored, v, spread)
        related, gain = gains[int(own)]
        fits = np.flatnonzero(scores[related] <= reach)
        if len(fits):
            at = scores[related[fits]]
            crowd = crowding(np.sort(scores), at, NEIGHBOURS)
            parts.append((np.full(len(fits), v, dtype=np.int64), related[fits], at, crowd, gain[fits]))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return ScoredPairs(none, none, np.zeros(0), np.zeros(0), np.zeros(0))
    return ScoredPairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _gains(candidates: Candidates, records: int) -> dict[int, tuple[Ints, FloatArray]]:
    """Known records of each target class, and the evidence of their labels: how rare it is to share them."""
    members: dict[int, list[Ints]] = {}
    weights: dict[int, list[FloatArray]] = {}
    for k, (a, b) in enumerate(candidates.relation.tolist()):
        rows = np.flatnonzero(candidates.known_class == b)
        members.setdefault(a, []).append(rows)
        weights.setdefault(a, []).append(
            np.full(len(rows), 0.0 if candidates.evidence is None else candidates.evidence[k])
        )
    found = {}
    for a, parts in members.items():
        rows, gain = np.concatenate(parts), np.concatenate(weights[a])
        order = np.argsort(rows, kind="stable")
        if candidates.evidence is None and len(rows):
            gain = gain - np.log(len(rows) / records)
        found[a] = rows[order], gain[order]
    return found


def _own_scores(target: Distances, known: Distances, anchors: Anchors, spread: float) -> FloatArray:
    """Return the scores of the anchors themselves."""
    anchored = _anchored(target, known, anchors)
    found = [profile_scores(anchored, int(v), spread)[w] for v, w in zip(*anchors, strict=True)]
    return np.array([score for score in found if np.isfinite(score)])


def _law(scores: FloatArray, *, plane: bool) -> TrueScores:
    """Return the law of true scores from those of the present matches.

    While they are few it is held to what is expected in the ``plane``; elsewhere nothing is.
    """
    n = len(scores)
    if n == 0:
        return TrueScores(*PLANE)
    weight = WEIGHT_OF_PLANE if plane else 0
    mean = (float(scores.sum()) + weight * PLANE[0]) / (n + weight)
    variance = (float(((scores - mean) ** 2).sum()) + weight * PLANE[1]) / (n + weight)
    return TrueScores(mean, min(max(variance, 1e-3), mean**2 / 1.5))
