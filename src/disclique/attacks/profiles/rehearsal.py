"""What an assignment of the whole files is worth: rehearsed on the snooper's own file, and held against chance.

The snooper masks their own file, forgets who is who, and assigns it by the same steps: how often a score was right then
is what it means now. And they assign parts of their own file to other parts, where nobody is common: what that is worth
is chance, and falls with the number of people in a known way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import t as student

from disclique.attacks.profiles.anchors import Files, Pairs
from disclique.attacks.profiles.assign import NEVER, Assignment, Problem, follow
from disclique.attacks.profiles.clouds import Turning
from disclique.attacks.profiles.evidence import F4, Evidence, Ints
from disclique.attacks.profiles.joint import Joining, Joint, join
from disclique.attacks.profiles.sight import Sight
from disclique.attacks.profiles.solve import Attempt, compared, own_class, solve, trial_labels, worth_of
from disclique.attacks.profiles.strangers import worth_by_chance
from disclique.attacks.profiles.weighed import Judged, Weighed, rehearse_chances, weigh_sight
from disclique.values import FloatArray


class Yardstick(NamedTuple):
    """What an assignment is held against: chance, the rehearsal, and what scores meant there."""

    usual: float  # worth of an assignment of strangers
    spread: float  # standard deviation of that
    expected: float  # worth of the right assignment
    scatter: float  # standard deviation of that
    trial: Evidence
    weighed: Weighed  # of the rehearsal
    who: Ints  # known records that the rehearsal released

    def trust(self, worth: float, freedom: float) -> float:
        """Return how probable it is that an assignment worth that is the right one and not one of strangers.

        What strangers reach is known from a few trials only, hence Student's law. The right one may be worth anything
        from there to what is expected where all are common and no list has errors.
        """
        width = max(self.expected - self.usual, self.scatter)
        strangers = student.logpdf(max(worth, self.usual), freedom, self.usual, self.spread)
        return float(expit(-np.log(width) - strangers))

    def clear(self, worth: float, by: Joining) -> bool:
        """Return whether an assignment worth that is clearly better than chance."""
        beyond = worth - self.usual
        if not beyond > by.clear * (self.expected - self.usual):
            return False
        return beyond > by.spreads * self.spread or self.trust(worth, by.freedom) > by.trusted


@dataclass(frozen=True, eq=False)
class Joined:
    """The likeliest assignment of the whole files that was found, weighed."""

    files: Files
    problem: Problem
    group: Ints
    found: Assignment
    by: Joining
    held: Yardstick
    chance: int
    judged: Judged | None = None  # what the meaning of scores becomes beside the release

    @property
    def pairs(self) -> Pairs:
        """Everybody's likeliest partner."""
        return Pairs(self.found.target.astype(np.int64), self.found.known.astype(np.int64))

    @property
    def worth(self) -> float:
        """The log likelihood ratio for each pair of distances."""
        return worth_of(self.problem, self.group, self.found)

    @property
    def clear(self) -> bool:
        """True if it is clearly better than chance."""
        return self.held.clear(self.worth, self.by)

    @property
    def trust(self) -> float:
        """How probable it is that it is no chance."""
        return self.held.trust(self.worth, self.by.freedom)

    @cached_property
    def weighed(self) -> Weighed:
        """All pairs with their probabilities, as they came true in the rehearsal."""
        look = Sight(self.problem.evidence(self.found.soft), self.held.trial, who=self.held.who)
        found = weigh_sight(self.files, look, None, self.chance, judged=self.judged)
        return replace(rehearse_chances(found, self.held.weighed, self.held.who), confirmed=float(self.clear))

    def agrees(self, pairs: Pairs) -> float:
        """Return the share of some pairs that are in the assignment."""
        partner = np.full(self.files.target.size, -1)
        partner[self.found.target] = self.found.known
        return float((partner[pairs.target] == pairs.known).mean()) if len(pairs) else 0.0

    def improved(self, target: Ints, known: Ints, chances: FloatArray) -> Joined:
        """Go on from other pairs, and return what that leads to if it is likelier."""
        if not len(target):
            return self
        soft = np.full(self.problem.shape, 1e-6, np.float32)
        soft[target, known] += chances.astype(np.float32)
        found = follow(self.problem, soft / soft.sum(axis=1, keepdims=True), self.by.annealing)
        return replace(self, found=found) if found.value > self.found.value else self


def align_jointly(files: Files, chance: int, by: Joining, turning: Turning, starts: int | None) -> Joined | None:
    """Assign the whole files at once; None where the law of the mask is not known, or they are too large."""
    joined = join(files.target, files.known, by)
    if joined is None:
        return None
    joint, group = joined
    shown = files.target.draws[0]
    assert isinstance(shown, np.ndarray)
    real = Attempt(shown, group, _labels(files), files.target)
    who = _released(files, chance)
    trial = _rehearsed(files, joint, who)
    most = max(files.target.size, files.known.size)
    tries = next((n for limit, n in by.starts if most <= limit), by.fewest)
    tries = tries if starts is None else max(min(tries, starts), 1)
    problem, found, number = solve(joint, real, files, turning, list(range(tries)), chance)
    again = [number, *(start for start in range(tries) if start != number)]
    rehearsal, tried, _ = solve(joint, trial, files, turning, again, chance)
    evidence = rehearsal.evidence(tried.soft)
    usual, spread = worth_by_chance(joint, files, turning, list(range(min(tries, by.fewer))), chance)
    expected = max(worth_of(rehearsal, trial.group, tried), joint.law.information)
    same = compared(trial.group)
    scatter = max(by.scatter * abs(expected - usual), np.sqrt(2 * abs(joint.law.information) / max(same, 1)), 1e-12)
    weighed = _weigh_trial(files, trial, evidence, who, chance)
    held = Yardstick(usual, max(spread, 1e-12), expected, scatter, evidence, weighed, who)
    return Joined(files, problem, group, found, by, held, chance)


def _weigh_trial(files: Files, trial: Attempt, evidence: Evidence, who: Ints, chance: int) -> Weighed:
    """Weigh the rehearsal as if it were the release."""
    allowed = files.allowed
    if allowed.table is not None:
        allowed = allowed._replace(target=own_class(allowed)[who])
    look = Sight(evidence, evidence, who=who)
    return weigh_sight(replace(files, target=trial.side, allowed=allowed), look, None, chance)


def _labels(files: Files) -> F4:
    """Return the log odds of all pairs by labels, and by the seeds."""
    labels = files.allowed.rows(slice(None))
    shape = files.target.size, files.known.size
    found = np.zeros(shape, np.float32) if labels is None else np.maximum(labels, NEVER).astype(np.float32)
    return _tell(found, files.seeds)


def _tell(labels: F4, seeds: Pairs) -> F4:
    labels[seeds.target] = NEVER
    labels[:, seeds.known] = NEVER
    labels[seeds.target, seeds.known] = 0
    return labels


def _released(files: Files, chance: int) -> Ints:
    """Return the known records of a rehearsal: as many as the release has, among them those known beforehand.

    Scores grow with the number of records that say something of each other: a rehearsal of more people would promise
    larger ones than the release can have.
    """
    many, seeds = files.known.size, files.seeds.known
    if files.target.size >= many:
        return np.arange(many)
    others = np.setdiff1d(np.arange(many), seeds)
    chosen = np.random.default_rng(chance).choice(others, files.target.size - len(seeds), replace=False)
    return np.sort(np.concatenate([seeds, chosen]))


def _rehearsed(files: Files, joint: Joint, who: Ints) -> Attempt:
    """Return a draw of some known records as a release, with the same people known beforehand."""
    labels = trial_labels(files.allowed, who, np.arange(files.known.size))
    labels = _tell(labels, Pairs(np.searchsorted(who, files.seeds.known), files.seeds.known))
    shown = joint.draws[0][np.ix_(who, who)]
    side = replace(files.known, draws=(shown,), landmarks=np.arange(len(who)), expected=None)
    return Attempt(shown, joint.groups[0][who], labels, side)
