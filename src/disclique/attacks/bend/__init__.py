"""The attack on releases that bend the map: projections, embeddings, any smooth image of it.

``fit`` lays the records of both files into a space each and finds the map from the known cloud to the target's together
with who is who. Here is where the fit starts, how far the map may bend, and what is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from disclique.attacks.bend.fit import (
    FINEST,
    FITTING,
    LAYOUT,
    Basis,
    Cloud,
    Fit,
    Fitting,
    Layout,
    Problem,
    anneal,
    expect_known,
    find_responsibilities,
    judge,
    locate_known,
    regress,
    scale_target,
)
from disclique.attacks.claims import FLOOR, make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.posterior import FAINT, matching_posterior
from disclique.attacks.registry import Attack
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.progress import tell
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Plan = tuple[tuple[Basis, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Tuning:
    """From how many starts maps are sought, and when they are believed; ``layout`` and ``fitting`` are of the stages.

    ``plans`` are functions and widths in turn: straight maps, narrow widths for few common records; bent ones.
    """

    layout: Layout = LAYOUT
    fitting: Fitting = FITTING
    pairs: int = 400_000  # with which the map is fitted; of more, those of some targets
    targets_at_once: int = 500  # whose pairs are listed together
    worse: float = 20.0  # log odds by which a pair of a large file is worse than the best of its target, and is dropped
    tried: int = 2  # maps from different starts that are bent
    hopeless: float = -30.0  # log odds of a straight map from which on bending it is of no use
    clear: float = 1.5  # log odds for each common record from which on no other start is tried
    sure: float = 15.0  # log odds below which only a bold snooper claims anything
    turns: int = 48  # angles tried, each also mirrored
    refined: int = 6  # starts that are refined
    wide: float = 0.2  # width of the residuals when turns are compared
    plans: tuple[Plan, ...] = (
        ((Basis(1), (0.14, 0.1, 0.07, 0.05, 0.035)),),
        ((Basis(1), (0.3, 0.2, 0.14, 0.1, 0.07, 0.05)),),
        ((Basis(1), (0.2,)), (Basis(2), (0.17, 0.14, 0.1)), (Basis(3), (0.1, 0.07, 0.05))),
    )
    bases: tuple[Basis, ...] = (*(Basis(degree) for degree in range(1, 6)), Basis(3, 24), Basis(3, 48), Basis(3, 80))
    gain: float = 3.0  # log odds by which a map that bends more must be better
    unknown: float = 0.3  # share of common records that is taken at first where nobody knows it


@dataclass(frozen=True)
class BendAttack(Attack):
    """The release is laid out in space, and a smooth map from the known places to it is fitted.

    For releases that keep neighbours together but not lengths: projections, embeddings of distances to reference
    points, stretched or bent maps. The share in common is estimated where it is not known; seeds are the first pairs.
    """

    name: ClassVar[str] = "bend"
    needs: ClassVar[Message | str] = Message("attack_needs_bend")
    summary: ClassVar[Message | str] = Message("attack_does_bend")
    who: ClassVar[Message | str] = Message("attack_who_bend")
    by_evidence: ClassVar[bool] = True
    by_seeds: ClassVar[bool] = True
    most: ClassVar[tuple[int, int] | None] = (10_000, 20_000)

    knowledge: Knowledge = Knowledge()  # noqa: RUF009 - a frozen value
    seed: int = 0
    tuning: Tuning = Tuning()

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
            tell(Message("step_laying_out"))
            layout, most = self.tuning.layout, self.tuning.pairs
            theirs, ours = scale_target(target.distances, layout), [locate_known(known.distances, layout)]
            rng = np.random.default_rng(self.seed)
            if self.knowledge.mask is not None and self.knowledge.mask.scope == "file":
                ours.extend(expect_known(known.distances, self.knowledge.mask, rng, layout))
            total = candidates.count
            if not total:
                return no_claims(Message("no_counterpart_by_label"), attack=self.name)
            rows = np.arange(len(target))
            if total > most:
                told = np.isin(rows, [t for t, _ in self.knowledge.seeds])
                rows = rows[told | (rng.random(len(rows)) < most / total)]
            fit, problem = self._fit(theirs, ours, self._list_pairs(candidates, rows))
            if total > most:
                fit, problem = self._judge_others(problem, fit, candidates)
            return self._claim(problem, fit, perf_counter() - began)

    def _fit(self, target: Cloud, clouds: list[Cloud], pairs: PairList) -> tuple[Fit, Problem]:
        """Return the best map of those from several starts, and the problem that it solves."""
        tuning = self.tuning
        found: list[tuple[Fit, Problem]] = []
        for known in clouds:
            tell(Message("step_looking_for_map"))
            problem = pairs.pose(target, known, self.knowledge.common, tuning.fitting)
            straight = find_fits(problem, tuning)
            best = straight[0]
            if best.evidence > tuning.hopeless:
                tell(Message("step_bending"))
                bent = [bend(problem, one, tuning) for one in _choose_different(straight, tuning.tried)]
                best = max(bent, key=lambda fit: fit.evidence)
            found.append((best, problem))
            if best.evidence > tuning.clear * best.common * problem.target.size:
                break
        return max(found, key=lambda one: one[0].evidence)

    def _claim(self, problem: Problem, fit: Fit, seconds: float) -> Claims:
        """Weigh all pairs under the map."""
        assert fit.ratio is not None
        bold, sure, doubt = self.knowledge.bold, self.tuning.sure, None
        details = {
            "evidence": fit.evidence,
            "degree": fit.basis.degree,
            "bumps": fit.basis.bumps,
            "axes": fit.axes,
            "residuals": fit.sd.tolist(),
            "common": fit.common,
            "seconds": seconds,
        }
        if fit.evidence < sure:
            doubt = Message("no_smooth_map", evidence=fit.evidence, sure=sure)
            if not bold:
                return no_claims(doubt, attack=self.name, details=details)
        sizes = problem.target.size, problem.known.size
        probability = matching_posterior(problem.i, problem.k, fit.ratio, sizes=sizes, common=fit.common)
        if bold:  # who is least improbable counts, also where others leave no room
            probability = np.maximum(probability, np.exp(np.clip(fit.ratio - 20, -700, np.log(FAINT))))
        pairs = problem.i.astype(np.int32), problem.k.astype(np.int32), probability
        return make_claims(pairs, attack=self.name, floor=0.0 if bold else FLOOR, doubt=doubt, details=details)

    def _list_pairs(self, candidates: Candidates, targets: Ints) -> PairList:
        """List the pairs of fitting labels of some targets; a seed excludes all others of its two records."""
        seeds = dict(self.knowledge.seeds)
        rows, columns = candidates.pairs(targets)
        free = ~(np.isin(rows, list(seeds)) | np.isin(columns, list(seeds.values())))
        told = np.array([(t, seeds[t]) for t in targets.tolist() if t in seeds], np.int64).reshape(-1, 2)
        rows, columns = np.r_[rows[free], told[:, 0]], np.r_[columns[free], told[:, 1]]
        base = candidates.log_odds(rows, columns) - np.log(max(candidates.sizes[1], 1))
        base[len(base) - len(told) :] = 0.0
        place = np.empty(candidates.sizes[0], np.int64)
        place[targets] = np.arange(len(targets))
        order = np.lexsort((columns, place[rows]))
        return PairList(rows[order], columns[order], base[order], self.knowledge.seeds)

    def _judge_others(self, problem: Problem, fit: Fit, candidates: Candidates) -> tuple[Fit, Problem]:
        """Return the fit and the problem with all targets, some at a time, without pairs that are hopeless."""
        kept: list[tuple[Ints, Ints, FloatArray, FloatArray]] = []
        alone, step = replace(fit, weight=None), self.tuning.targets_at_once
        both = problem.target, problem.known, problem.common, problem.fitting
        for begin in range(0, problem.target.size, step):
            pairs = self._list_pairs(candidates, np.arange(begin, min(begin + step, problem.target.size)))
            part = judge(pairs.pose(*both), alone, crowd=fit.crowd)
            assert part.ratio is not None
            top = np.full(problem.target.size, -np.inf)
            np.maximum.at(top, pairs.i, part.ratio)
            near = part.ratio >= top[pairs.i] - self.tuning.worse
            kept.append((pairs.i[near], pairs.k[near], pairs.base[near], part.ratio[near]))
        i, k, base, ratio = (np.concatenate(column) for column in zip(*kept, strict=True))
        return replace(alone, ratio=ratio), PairList(i, k, base, self.knowledge.seeds).pose(*both)


@dataclass(frozen=True, eq=False)
class PairList:
    """Pairs of fitting labels, their log odds, and which of them are seeds."""

    i: Ints
    k: Ints
    base: FloatArray
    seeds: tuple[tuple[int, int], ...]

    def pose(self, target: Cloud, known: Cloud, common: float | None, fitting: Fitting) -> Problem:
        """Return the problem with these pairs."""
        told = {t * known.size + k for t, k in self.seeds}
        seeds = np.flatnonzero(np.isin(self.i * known.size + self.k, list(told))) if told else None
        return Problem(target, known, self.i, self.k, self.base, common, seeds, fitting)


def _choose_different(fits: list[Fit], most: int) -> list[Fit]:
    """Return the best maps that do not say the same."""
    chosen: list[Fit] = []
    for fit in fits:
        if all(abs(fit.evidence - other.evidence) > 1.0 for other in chosen):
            chosen.append(fit)
        if len(chosen) == most:
            break
    return chosen


def find_fits(problem: Problem, tuning: Tuning) -> list[Fit]:
    """Return maps from several starts, straight ones and bent ones, by falling evidence."""
    starts = sorted(list_starts(problem, tuning), key=lambda fit: -fit.evidence)[: tuning.refined]
    found = [_follow_plan(problem, start, plan) for start in starts for plan in tuning.plans]
    return sorted(found, key=lambda fit: -fit.evidence)


def _follow_plan(problem: Problem, fit: Fit, plan: Plan) -> Fit:
    for basis, widths in plan:
        if basis != fit.basis:
            fit = _rebase(problem, judge(problem, fit), basis)
        fit = anneal(problem, fit, widths)
    return fit


def _rebase(problem: Problem, fit: Fit, basis: Basis) -> Fit:
    """Return the map made of other functions, fitted to the same pairs; the same one where they are too few."""
    functions = basis.of(problem.known.places[:1], problem.known).shape[1]
    blank = replace(fit, basis=basis, coefficients=np.zeros((functions, fit.axes)))
    tried = regress(problem, blank, find_responsibilities(problem, fit), narrowest=FINEST)
    return fit if tried is blank else tried


def list_starts(problem: Problem, tuning: Tuning) -> list[Fit]:
    """List first maps: turns and mirror images of the widest axes, and the one that seeds or labels' centres give."""
    target, known = problem.target.places, problem.known.places
    axes = min(2, target.shape[1])
    basis, common = Basis(), problem.common or tuning.unknown
    starts: list[Fit] = []
    if problem.seeds is not None and len(problem.seeds) > known.shape[1]:
        weight = np.zeros(len(problem.i))
        weight[problem.seeds] = 1.0
        whole = np.zeros((known.shape[1] + 1, target.shape[1]))
        blank = Fit(basis, whole, np.ones(target.shape[1]), common)
        starts.append(regress(problem, blank, weight, narrowest=tuning.wide))
    judged = [judge(problem, start) for start in starts]
    crowd = None  # the same for all turns of two axes
    for coefficients in _list_turns(axes, known.shape[1], tuning.turns):
        judged.append(judge(problem, Fit(basis, coefficients, np.full(axes, tuning.wide), common), crowd=crowd))
        crowd = judged[-1].crowd if axes > 1 else None
    return judged


def _list_turns(axes: int, across: int, turns: int) -> list[FloatArray]:
    """List coefficients that turn, and mirror, the widest axes of the known cloud onto those of the target."""
    found = []
    for turn in np.arange(turns) * 2 * np.pi / turns:
        first, second = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
        for mirror in (1, -1) if axes == 2 and across > 1 else (1,):
            coefficients = np.zeros((across + 1, axes))
            wanted = np.stack((first, mirror * second), axis=1)[: min(across, 2), :axes]
            coefficients[1 : 1 + len(wanted)] = wanted
            found.append(coefficients)
    return found


def use_all_axes(problem: Problem, fit: Fit) -> Fit:
    """Return the fit extended to all axes of the target."""
    axes = problem.target.places.shape[1]
    judged = judge(problem, fit)
    if fit.axes == axes:
        return judged
    wide = np.zeros((len(fit.coefficients), axes))
    wide[:, : fit.axes] = fit.coefficients
    blank = replace(judged, coefficients=wide, sd=np.r_[fit.sd, np.ones(axes - fit.axes)])
    return regress(problem, blank, find_responsibilities(problem, judged), narrowest=FINEST)


def bend(problem: Problem, fit: Fit, tuning: Tuning) -> Fit:
    """Return the best map of those that bend more and more, each started from the last.

    First only the widest axes of the target are mapped, then all: the narrow axes of a bent cloud are curved where the
    wide ones are straight, so that they say nothing at first.
    """
    best = _raise(problem, settle(problem, fit), tuning, 0)
    if best.axes == problem.target.places.shape[1]:
        return best
    wide = settle(problem, use_all_axes(problem, best))
    return _raise(problem, wide, tuning, tuning.bases.index(best.basis))


def _raise(problem: Problem, best: Fit, tuning: Tuning, begin: int) -> Fit:
    for basis in tuning.bases[begin + 1 :]:
        functions = basis.of(problem.known.places[:1], problem.known).shape[1]
        if functions > 0.5 * (best.common * problem.target.size):
            break
        tried = _rebase(problem, best, basis)
        if tried is best:
            break
        tried = settle(problem, tried)
        if tried.evidence > best.evidence + tuning.gain:
            best = tried
    return best


def settle(problem: Problem, fit: Fit) -> Fit:
    """Repeat until the evidence does not grow, and judge every pair by the map without it."""
    best = judge(problem, fit, fair=True)
    for _ in range(12):
        fit = anneal(problem, fit, (FINEST,), rounds=3)
        fair = judge(problem, fit, fair=True)
        if not fair.evidence > best.evidence + 0.5:
            break
        best = fair
    return best
