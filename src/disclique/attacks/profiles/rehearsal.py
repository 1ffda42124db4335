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

from disclique.attacks.profiles.anchors import Files, Pairs, Sight
from disclique.attacks.profiles.assign import NEVER, Assignment, Problem, assign, follow
from disclique.attacks.profiles.clouds import Turning, discriminate
from disclique.attacks.profiles.evidence import F4, Allowed, Evidence, Ints
from disclique.attacks.profiles.joint import Joining, Joint, find_features, join
from disclique.attacks.profiles.sides import Side
from disclique.attacks.profiles.starts import by_colours, by_features
from disclique.attacks.profiles.weighed import Weighed, rehearse_chances, weigh_sight


class Yardstick(NamedTuple):
    """What an assignment is held against: chance, the rehearsal, and what scores meant there."""

    enough: float  # worth from which on an assignment is clearly better than chance
    usual: float  # worth of an assignment of strangers
    trial: Evidence
    weighed: Weighed  # of the rehearsal


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

    @property
    def pairs(self) -> Pairs:
        """Everybody's likeliest partner."""
        return Pairs(self.found.target.astype(np.int64), self.found.known.astype(np.int64))

    @property
    def worth(self) -> float:
        """The log likelihood ratio for each pair of distances."""
        return _worth(self.problem, self.group, self.found)

    @property
    def clear(self) -> bool:
        """True if it is clearly better than chance."""
        return self.worth > self.held.enough

    @cached_property
    def weighed(self) -> Weighed:
        """All pairs with their probabilities, as they came true in the rehearsal."""
        look = Sight(self.problem.evidence(self.found.soft), self.held.trial)
        found = weigh_sight(self.files, look, None, self.chance)
        return replace(rehearse_chances(found, self.held.weighed), confirmed=float(self.clear))

    def agrees(self, pairs: Pairs) -> float:
        """Return the share of some pairs that are in the assignment."""
        partner = np.full(self.files.target.size, -1)
        partner[self.found.target] = self.found.known
        return float((partner[pairs.target] == pairs.known).mean()) if len(pairs) else 0.0

    def improved(self, other: Weighed) -> Joined:
        """Go on from another alignment, and return what that leads to if it is likelier."""
        if not len(other.target):
            return self
        soft = np.full(self.problem.shape, 1e-6, np.float32)
        soft[other.target, other.known] += other.probability.astype(np.float32)
        found = follow(self.problem, soft / soft.sum(axis=1, keepdims=True), self.by.annealing)
        return replace(self, found=found) if found.value > self.found.value else self


@dataclass(frozen=True, eq=False)
class Attempt:
    """A release, of others or of one's own, as it is assigned."""

    shown: F4
    group: Ints
    labels: F4
    side: Side


def align_jointly(files: Files, chance: int, by: Joining, turning: Turning, starts: int | None) -> Joined | None:
    """Assign the whole files at once; None where the law of the mask is not known, or they are too large."""
    joined = join(files.target, files.known, by)
    if joined is None:
        return None
    joint, group = joined
    shown = files.target.draws[0]
    assert isinstance(shown, np.ndarray)
    real = Attempt(shown, group, _labels(files), files.target)
    trial = _rehearsed(files, joint)
    most = max(files.target.size, files.known.size)
    tries = next((n for limit, n in by.starts if most <= limit), by.fewest)
    tries = tries if starts is None else max(min(tries, starts), 1)
    problem, found, number = _solve(joint, real, files, turning, list(range(tries)), chance)
    again = [number, *(start for start in range(tries) if start != number)]
    rehearsal, tried, _ = _solve(joint, trial, files, turning, again, chance)
    evidence = rehearsal.evidence(tried.soft)
    usual, spread = by_chance(joint, files, chance)
    expected = max(_worth(rehearsal, trial.group, tried), joint.law.information)
    enough = usual + max(by.clear * (expected - usual), by.spreads * spread)
    held = Yardstick(enough, usual, evidence, _weigh_trial(files, trial, evidence, chance))
    return Joined(files, problem, group, found, by, held, chance)


def _weigh_trial(files: Files, trial: Attempt, evidence: Evidence, chance: int) -> Weighed:
    """Weigh the rehearsal as if it were the release."""
    allowed = files.allowed
    if allowed.table is not None:
        allowed = allowed._replace(target=_own_class(allowed))
    return weigh_sight(replace(files, target=trial.side, allowed=allowed), Sight(evidence, evidence), None, chance)


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


def _rehearsed(files: Files, joint: Joint) -> Attempt:
    """Return a draw of the snooper's own file as a release, with the same people known beforehand."""
    every = np.arange(files.known.size)
    labels = _tell(_trial_labels(files.allowed, every, every), Pairs(files.seeds.known, files.seeds.known))
    return Attempt(joint.draws[0], joint.groups[0], labels, replace(files.known, draws=joint.draws[:1], expected=None))


def _solve(
    joint: Joint, one: Attempt, files: Files, turning: Turning, numbers: list[int], chance: int
) -> tuple[Problem, Assignment, int]:
    """Return the problem, its likeliest assignment of those from some starts, and the number of that start.

    No more are tried once one is worth what the right one is expected to be.
    """
    problem, by = joint.pose(one.shown, one.group, one.labels), joint.by
    order = np.random.default_rng(chance).permutation(len(one.shown))  # of equal ones the first must not be the right
    mixed = problem.mixed(order)
    best, number = None, 0
    features = None
    for start in numbers:
        if start % 2 == 0 and features is None:
            features = _find_features(joint, one, files, turning, chance)
        prior = _prior(start, one, joint, files, features, chance)
        if prior is None:
            continue
        found = assign(mixed, prior[order], by.annealing)
        if best is None or found.value > best.value:
            best, number = found, start
        if _worth(mixed, one.group[order], best) >= by.expected * joint.law.information:
            break
    assert best is not None
    soft = np.empty_like(best.soft)
    soft[order] = best.soft
    return problem, Assignment(soft, order[best.target], best.known, best.value), number


def _find_features(joint: Joint, one: Attempt, files: Files, turning: Turning, chance: int) -> tuple[F4, F4]:
    if one.group.any():
        return find_features(joint, one.shown, one.group, turning)
    known = replace(files.known, draws=files.known.draws[1:])
    return discriminate(one.side, known, np.random.default_rng(chance), turning)


def _prior(
    start: int, one: Attempt, joint: Joint, files: Files, features: tuple[F4, F4] | None, chance: int
) -> F4 | None:
    """Return the log odds to start from: features, nothing, features weighed at random, colours, faint chance."""
    if start == 1:
        return np.zeros(one.labels.shape, np.float32)
    if start % 2 and start > 3:
        chances = np.random.default_rng([chance, start]).normal(0, joint.by.starting.faint, one.labels.shape)
        return np.asarray(chances, np.float32)
    if start == 3:
        if not np.array_equal(joint.draws[0], joint.draws[1], equal_nan=True):
            return None  # the mask draws at random: no distance is the same number on both sides
        classes = np.zeros(len(one.shown), np.int64), np.zeros(files.known.size, np.int64)
        return by_colours(one.shown, joint.draws[1], classes, joint.by.starting)
    assert features is not None
    return by_features(*features, None if start == 0 else np.random.default_rng([chance, start]))


def _worth(problem: Problem, group: Ints, found: Assignment) -> float:
    """Return the log likelihood ratio of an assignment for each pair of distances that is compared."""
    own = group[found.target]
    many = int((own[:, None] == own[None]).sum()) - len(own)
    return problem.value(found.target, found.known) / max(many if problem.directed else many / 2, 1)


def by_chance(joint: Joint, files: Files, chance: int) -> tuple[float, float]:
    """Return what an assignment of strangers is worth for each pair of distances, and how much that varies.

    Halves and quarters of a draw of the known file are assigned to others of the file itself. What they share by
    their kind does not change with their number, what is fitted by chance falls like its root.
    """
    rng, size = np.random.default_rng(chance), files.known.size
    half, quarter = (
        np.array([one for _ in range(joint.by.splits) for one in _strangers(joint, files, rng, pieces)])
        for pieces in (2, 4)
    )
    root = np.sqrt(np.array([2, 4]) / size)  # one over the root of the records
    here = 1 / np.sqrt(min(files.target.size, files.known.size))
    reach = (here - root[0]) / (root[1] - root[0])
    falls = max(float(quarter.mean() - half.mean()), 0.0)
    varies = np.sqrt((half.var() / root[0] ** 2 + quarter.var() / root[1] ** 2) / 2)
    errors = ((1 - reach) * root[0]) ** 2 / len(half) + (reach * root[1]) ** 2 / len(quarter) + here**2
    return float(half.mean() + reach * falls), float(varies * np.sqrt(errors))


def _strangers(joint: Joint, files: Files, rng: np.random.Generator, pieces: int) -> list[float]:
    """Return what assignments of parts of the known file to other parts are worth."""
    worth = []
    parts = np.array_split(rng.permutation(files.known.size), pieces)
    for number, rows in enumerate(parts):
        others, group = parts[(number + 1) % pieces], joint.groups[0][rows]
        labels = _trial_labels(files.allowed, rows, others)
        problem = joint.part(others).pose(joint.draws[0][np.ix_(rows, rows)], group, labels)
        best = assign(problem, np.zeros(problem.shape, np.float32), joint.by.annealing)
        worth.append(_worth(problem, group, best))
    return worth


def _trial_labels(allowed: Allowed, rows: Ints, others: Ints) -> F4:
    """Return what labels say of some known records, as a release would show them, and others of the file."""
    if allowed.table is None:
        return np.zeros((len(rows), len(others)), np.float32)
    own = _own_class(allowed)[rows][:, None]
    return np.maximum(allowed.table[own, allowed.known[others][None]], NEVER).astype(np.float32)


def _own_class(allowed: Allowed) -> Ints:
    """Return the class that each known record would most probably have in the target."""
    assert allowed.table is not None
    return np.asarray(allowed.table.argmax(axis=0)[allowed.known])
