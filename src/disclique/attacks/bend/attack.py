"""The attack on releases that bend the map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from disclique.attacks.bend.clouds import Cloud, expect_known, locate_known, scale_target
from disclique.attacks.bend.fit import Fit, Problem, judge
from disclique.attacks.bend.search import bend, find_fits
from disclique.attacks.claims import FLOOR, make_claims, no_claims
from disclique.attacks.equal.belief import weigh_labels
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.posterior import FAINT, matching_posterior
from disclique.attacks.registry import Attack
from disclique.model import Candidates, Claims, FloatArray, Microdata
from disclique.progress import tell

Ints = NDArray[np.int64]
PAIRS = 400_000  # pairs with which the map is fitted; of more, those of some targets
CHUNK = 500  # targets whose pairs are listed together
WORSE = 20.0  # log odds by which a pair of a large file is worse than the best of its target, and is not kept
TRIED = 2  # maps from different starts that are bent
HOPELESS = -30.0  # evidence of a straight map from which on bending it is of no use
CLEAR = 1.5  # evidence for each common record from which on no other start is tried
SURE = 15.0  # evidence below which only a bold snooper claims anything


@dataclass(frozen=True)
class BendAttack(Attack):
    """The release is laid out in space, and a smooth map from the known places to it is fitted.

    For releases that keep neighbours together but not lengths: projections, embeddings of distances to reference
    points, stretched or bent maps. The share in common is estimated where it is not known; seeds are the first pairs.
    """

    name: ClassVar[str] = "bend"
    needs: ClassVar[str] = "all distances, that some dimensions explain; coordinates or distances of the known records"
    summary: ClassVar[str] = (
        "The release laid out in a few dimensions, and the smooth map fitted that takes the known places there: for "
        "projected, embedded or bent maps."
    )
    by_evidence: ClassVar[bool] = True
    by_seeds: ClassVar[bool] = True
    most: ClassVar[tuple[int, int] | None] = (10_000, 20_000)

    knowledge: Knowledge = Knowledge()  # noqa: RUF009 - a frozen value
    seed: int = 0

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the mask, the share of common records and the pairs that an insider knows."""
        return cls(knowledge, search.seed)

    @property
    def told(self) -> tuple[tuple[int, int], ...]:
        """The pairs that an insider knows."""
        return self.knowledge.seeds

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the records that lie together once the known places are bent onto the release."""
        began = perf_counter()
        with threadpool_limits(1):
            tell("laying out both files in space")
            clouds = scale_target(target.distances), [locate_known(known.distances)]
            rng = np.random.default_rng(self.seed)
            if self.knowledge.mask is not None and self.knowledge.mask.scope == "file":
                clouds[1].extend(expect_known(known.distances, self.knowledge.mask, rng))
            total = count_pairs(candidates)
            if not total:
                return no_claims("no target record has a possible counterpart by its label", attack=self.name)
            rows = np.arange(len(target))
            if total > PAIRS:
                told = np.isin(rows, [t for t, _ in self.knowledge.seeds])
                rows = rows[told | (rng.random(len(rows)) < PAIRS / total)]
            fit, problem = self._fit(clouds, list_pairs(candidates, self.knowledge, rows))
            if total > PAIRS:
                fit, problem = judge_others(problem, fit, candidates, self.knowledge)
            return self._claim(problem, fit, perf_counter() - began)

    def _fit(self, clouds: tuple[Cloud, list[Cloud]], pairs: PairList) -> tuple[Fit, Problem]:
        """Return the best map of those from several starts, and the problem that it solves."""
        found: list[tuple[Fit, Problem]] = []
        for known in clouds[1]:
            tell("looking for a map from the known places to the release")
            problem = pairs.pose(clouds[0], known, self.knowledge.common)
            straight = find_fits(problem)
            best = straight[0]
            if best.evidence > HOPELESS:
                tell("bending the map")
                best = max((bend(problem, one) for one in _choose_different(straight)), key=lambda fit: fit.evidence)
            found.append((best, problem))
            if best.evidence > CLEAR * best.common * problem.target.size:
                break
        return max(found, key=lambda one: one[0].evidence)

    def _claim(self, problem: Problem, fit: Fit, seconds: float) -> Claims:
        """Weigh all pairs under the map."""
        assert fit.ratio is not None
        bold, doubt = self.knowledge.bold, ""
        details = {
            "evidence": fit.evidence,
            "degree": fit.basis.degree,
            "bumps": fit.basis.bumps,
            "axes": fit.axes,
            "residuals": fit.sd.tolist(),
            "common": fit.common,
            "seconds": seconds,
        }
        if fit.evidence < SURE:
            doubt = (
                "no smooth map from the known places to the release is clearly better than chance "
                f"(log odds {fit.evidence:.1f}, {SURE:.0f} are asked for)"
            )
            if not bold:
                return no_claims(doubt, attack=self.name, details=details)
        sizes = problem.target.size, problem.known.size
        probability = matching_posterior(problem.i, problem.k, fit.ratio, sizes=sizes, common=fit.common)
        if bold:  # who is least improbable counts, also where others leave no room
            probability = np.maximum(probability, np.exp(np.clip(fit.ratio - 20, -700, np.log(FAINT))))
        pairs = problem.i.astype(np.int32), problem.k.astype(np.int32), probability
        return make_claims(pairs, attack=self.name, floor=0.0 if bold else FLOOR, doubt=doubt, details=details)


@dataclass(frozen=True, eq=False)
class PairList:
    """Pairs of fitting labels, their log odds, and which of them are seeds."""

    i: Ints
    k: Ints
    base: FloatArray
    seeds: tuple[tuple[int, int], ...]

    def pose(self, target: Cloud, known: Cloud, common: float | None) -> Problem:
        """Return the problem with these pairs."""
        told = {t * known.size + k for t, k in self.seeds}
        seeds = np.flatnonzero(np.isin(self.i * known.size + self.k, list(told))) if told else None
        return Problem(target, known, self.i, self.k, self.base, common, seeds)


def count_pairs(candidates: Candidates) -> float:
    """Return how many pairs of records have fitting labels."""
    a, b = (
        np.bincount(rows[rows >= 0], minlength=1 + int(related.max(initial=0))).astype(float)
        for rows, related in zip((candidates.target_class, candidates.known_class), candidates.relation.T, strict=True)
    )
    return float((a[candidates.relation[:, 0]] * b[candidates.relation[:, 1]]).sum())


def list_pairs(candidates: Candidates, knowledge: Knowledge, targets: Ints) -> PairList:
    """List the pairs of fitting labels of some targets; a seed excludes all others of its two records."""
    labels = weigh_labels(candidates)
    knowns = np.arange(len(candidates.known_class))
    partner = dict(knowledge.seeds)
    rows, columns, base = [], [], []
    for begin in range(0, len(targets), CHUNK):
        some = targets[begin : begin + CHUNK]
        odds = labels.fit(some[:, None], knowns[None, :])
        odds[:, list(partner.values())] = -np.inf
        for at, t in enumerate(some.tolist()):
            if t in partner:
                odds[at] = -np.inf
                odds[at, partner[t]] = 0.0
        i, k = np.nonzero(np.isfinite(odds))
        rows.append(some[i])
        columns.append(k)
        base.append(odds[i, k])
    none = np.zeros(0, np.int64)
    return PairList(
        np.concatenate([none, *rows]),
        np.concatenate([none, *columns]),
        np.concatenate([np.zeros(0), *base]),
        knowledge.seeds,
    )


def judge_others(problem: Problem, fit: Fit, candidates: Candidates, knowledge: Knowledge) -> tuple[Fit, Problem]:
    """Return the fit and the problem with all targets, some at a time, without pairs that are hopeless."""
    kept: list[tuple[Ints, Ints, FloatArray, FloatArray]] = []
    alone = replace(fit, weight=None)
    for begin in range(0, problem.target.size, CHUNK):
        pairs = list_pairs(candidates, knowledge, np.arange(begin, min(begin + CHUNK, problem.target.size)))
        part = judge(pairs.pose(problem.target, problem.known, problem.common), alone, crowd=fit.crowd)
        assert part.ratio is not None
        top = np.full(problem.target.size, -np.inf)
        np.maximum.at(top, pairs.i, part.ratio)
        near = part.ratio >= top[pairs.i] - WORSE
        kept.append((pairs.i[near], pairs.k[near], pairs.base[near], part.ratio[near]))
    i, k, base, ratio = (np.concatenate(column) for column in zip(*kept, strict=True))
    whole = PairList(i, k, base, knowledge.seeds).pose(problem.target, problem.known, problem.common)
    return replace(alone, ratio=ratio), whole


def _choose_different(fits: list[Fit]) -> list[Fit]:
    """Return the best maps that do not say the same."""
    chosen: list[Fit] = []
    for fit in fits:
        if all(abs(fit.evidence - other.evidence) > 1.0 for other in chosen):
            chosen.append(fit)
        if len(chosen) == TRIED:
            break
    return chosen
