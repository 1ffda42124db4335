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
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.spaces.base import Distances
from disclique.values import FloatArray, IntArray


@dataclass(frozen=True)
class Extension:
    """How matches judge other pairs.

    ``plane`` is the mean and variance of the score of a true pair when points are displaced in the plane, by
    simulation: half of every residual's variance is the record's own displacement, which all its distances share, half
    the anchors'.
    """

    anchors: int = 100  # more of them tell little more and cost time
    neighbours: int = 8  # decoys from which their density is estimated
    rounds: int = 20
    seen: int = 1000  # matches whose distances show the deviation
    consistent: float = 3.0  # standard deviations that the typical residual of a true anchor stays under
    plane: tuple[float, float] = (0.74, 0.143)
    plane_weight: int = 5  # matches that count as much as the expectation in the plane


EXTENSION = Extension()
NORMAL_MEDIAN = 0.6745  # median of |x| for a standard normal x

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
    needs: ClassVar[Message | str] = Message("attack_needs_extend")
    summary: ClassVar[Message | str] = Message("attack_does_extend")
    who: ClassVar[Message | str] = Message("attack_who_extend")
    by_agreement: ClassVar[bool] = True
    most: ClassVar[tuple[int, int] | None] = (10_000, 20_000)
    by_evidence: ClassVar[bool] = True

    clique: Attack | None
    deviation: float | None = None  # standard deviation of d - d′ for a true pair, in the unit of the distances
    common: float | None = None
    otherwise: Attack | None = None
    tuning: Extension = EXTENSION

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
            seen = estimate_deviation(target.distances, known.distances, anchors, self.tuning.seen)
            spread = max(spread or 0.0, seen)  # a mask may also shift all distances
        found = extend(
            (target.distances, known.distances),
            candidates=candidates,
            anchors=anchors,
            spread=spread,
            common=start.details.get("common") if self.common is None else self.common,
            by=self.tuning if by_clique else replace(self.tuning, plane_weight=0),
        )
        found = replace(found, work=start.work, details={**found.details, "start": start.attack})
        cut = Message("rests_on_cut_attack", attack=start.attack, reason=start.cut)
        if start.complete:
            if given_up is None or len(found.claimed()[0]):
                return found
            cut = Message("would_rest_on_clique", reason=given_up)
        return replace(found, cut=cut, most=min(len(target), len(known)))

    def _start(self, fetch: Fetch) -> tuple[Claims, bool, Message | None]:
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
                return other, False, None if clique is None else clique.cut
        if clique is None:
            raise InputError("attack_needs_matches", name=self.name)
        return clique, True, None


@dataclass(frozen=True)
class TrueScores:
    """The law of a true pair's score: a gamma law with this mean and variance.

    Where all scores were alike, as of places that were only exchanged, it is narrow, and not without any width.
    """

    mean: float
    variance: float

    def __post_init__(self) -> None:
        mean = max(self.mean, 1e-9)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "variance", max(self.variance, (1e-3 * mean) ** 2))

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
    files: tuple[Distances, Distances],
    *,
    candidates: Candidates,
    anchors: Anchors,
    spread: float,
    common: float | None = None,
    by: Extension = EXTENSION,
) -> Claims:
    """Find matches that agree in their distances to matches, starting from ``anchors``, until nothing changes.

    ``spread`` is the standard deviation of d - d′ for a true pair, ``common`` the expected share of the target's
    records that are in the known file, estimated if it is None. Off the plane (``plane_weight`` 0) the law of scores is
    learned from the anchors alone. Directed and incomplete distances are fine. Nothing is claimed from fewer than three
    anchors, true or false.
    """
    target, known = files
    if not (np.isfinite(spread) and spread >= 0):
        raise InputError("spread_is_no_deviation", spread=spread)
    spread = max(spread, _exactness(target))
    anchors = _consistent(target, known, anchors, by.consistent * spread)
    law = TrueScores(*by.plane)
    seen: set[tuple[tuple[int, int], ...]] = set()
    found: tuple[ScoredPairs, FloatArray] | None = None
    share, begun = common, len(anchors[0])
    for _ in range(by.rounds):
        key = tuple(sorted(zip(anchors[0].tolist(), anchors[1].tolist(), strict=True)))
        if len(key) < LEAST:
            left = Message("too_few_matches_left", count=len(key), begun=begun, least=LEAST)
            none = Message("too_few_matches_to_start", count=len(key), least=LEAST)
            return no_claims(left if seen else none, attack="extend")
        if key in seen:
            break
        seen.add(key)
        pairs = _pairs(_anchored(target, known, anchors, by.anchors), candidates, law, spread, by.neighbours)
        ratio = law.log_density(pairs.score) - np.log(pairs.crowd) + pairs.gain
        sizes = (target.size, known.size)
        share = common if common is not None else estimated_share(pairs.target, pairs.known, ratio, sizes=sizes)
        posterior = matching_posterior(pairs.target, pairs.known, ratio, sizes=sizes, common=share)
        found = pairs, posterior
        sure = posterior > 0.5
        anchors = pairs.target[sure].astype(np.int32), pairs.known[sure].astype(np.int32)
        law = _law(pairs.score[sure], by)
    assert found is not None
    claims = (found[0].target.astype(np.int32), found[0].known.astype(np.int32), found[1])
    details = {"rounds": len(seen), "anchors": len(anchors[0]), "common": share, "mean_score": law.mean}
    return make_claims(claims, attack="extend", details=details)


def _consistent(target: Distances, known: Distances, anchors: Anchors, most: float) -> Anchors:
    """Return the anchors whose distances to most of the others agree; the rest would only blur the scores."""
    if len(anchors[0]) < LEAST:
        return anchors
    residual = np.abs(known.block(anchors[1], anchors[1]) - target.block(anchors[0], anchors[0]))
    np.fill_diagonal(residual, np.nan)
    silent: NDArray[np.bool_] = np.asarray(np.isnan(residual).all(axis=1))
    typical = np.nanmedian(np.where(silent[:, None], 0.0, residual), axis=1)
    keep = np.asarray(silent | (typical <= most))
    return anchors[0][keep], anchors[1][keep]


def estimate_deviation(target: Distances, known: Distances, anchors: Anchors, seen: int = EXTENSION.seen) -> float:
    """Return the standard deviation of d - d′ that the distances among matches show, by their median; 0 if none do.

    >>> from disclique.spaces import Matrix
    >>> sides = [Matrix(np.array([[0, a, 3], [a, 0, 4], [3, 4, 0.0]])) for a in (2.0, 5.0)]
    >>> estimate_deviation(*sides, (np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32)))
    0.0
    """
    most = np.unique(np.linspace(0, max(len(anchors[0]) - 1, 0), seen).round().astype(np.int64))
    left, right = (side[most] if len(side) else side for side in anchors)
    residual = np.abs(known.block(right, right) - target.block(left, left))[~np.eye(len(left), dtype=bool)]
    residual = residual[~np.isnan(residual)]
    return float(np.median(residual)) / NORMAL_MEDIAN if len(residual) else 0.0


def _exactness(target: Distances) -> float:
    """Return the rounding error of distances, the least spread that can be told from none."""
    row = target.block(np.zeros(1, np.int32), np.arange(target.size, dtype=np.int32))
    largest = np.nanmax(row, initial=0.0)
    return float(largest or 1.0) * 1e-9


def _anchored(target: Distances, known: Distances, anchors: Anchors, most: int) -> Anchored:
    """Return distances of all records to the anchors, to an even choice of them if they are many."""
    chosen = np.unique(np.linspace(0, len(anchors[0]) - 1, most).round().astype(np.int64))
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


def _pairs(anchored: Anchored, candidates: Candidates, law: TrueScores, spread: float, neighbours: int) -> ScoredPairs:
    """Return the candidate pairs that could be true, with the crowd of strangers at their score."""
    reach = law.reach
    none = np.zeros(0, dtype=np.int64)
    parts = [(none, none, np.zeros(0), np.zeros(0), np.zeros(0))]
    for v in np.flatnonzero(candidates.fitting).tolist():
        scores = profile_scores(anchored, v, spread)
        known = candidates.partners(v)
        known = known[scores[known] <= reach]
        if len(known):
            crowd = crowding(np.sort(scores), scores[known], neighbours)
            rows = np.full(len(known), v, dtype=np.int64)
            parts.append((rows, known, scores[known], crowd, candidates.log_odds(rows, known)))
    return ScoredPairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _law(scores: FloatArray, by: Extension) -> TrueScores:
    """Return the law of true scores from those of the present matches.

    While they are few it is held to what is expected in the plane; elsewhere nothing is.
    """
    n, (mean, variance), weight = len(scores), by.plane, by.plane_weight
    if n == 0:
        return TrueScores(mean, variance)
    mean = (float(scores.sum()) + weight * mean) / (n + weight)
    variance = (float(((scores - mean) ** 2).sum()) + weight * variance) / (n + weight)
    return TrueScores(mean, min(max(variance, 1e-3), mean**2 / 1.5))
