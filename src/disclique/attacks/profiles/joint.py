"""All distances of both files at once: the law of the mask, learned in groups where a release falls into such."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from disclique.attacks.profiles.assign import Annealing, Problem
from disclique.attacks.profiles.clouds import Turning, features
from disclique.attacks.profiles.evidence import F4, Ints, near
from disclique.attacks.profiles.groups import Grouping, find_groups
from disclique.attacks.profiles.law import Law, Learning, centre, learn_law, mean_curve
from disclique.attacks.profiles.sides import Side
from disclique.attacks.profiles.starts import Starting
from disclique.values import FloatArray


@dataclass(frozen=True)
class Joining:
    """How the whole files are compared; ``learning`` to ``grouping`` are those of the stages."""

    learning: Learning = Learning()  # noqa: RUF009 - frozen values
    annealing: Annealing = Annealing()  # noqa: RUF009
    grouping: Grouping = Grouping()  # noqa: RUF009
    starting: Starting = Starting()  # noqa: RUF009
    least: int = 40  # records of either file: fewer fit by chance
    most: int = 3500  # records of the larger file up to which all distances are compared at once
    starts: tuple[tuple[int, int], ...] = ((300, 14), (600, 4), (1200, 2))  # tried, by records of the larger file
    fewest: int = 1
    climbing: int = 4  # of these, the likeliest, that are gone on from
    expected: float = 0.97  # of what the right assignment is worth at which no other start is tried
    clear: float = 0.7  # of the way from what chance gives to what is expected that an assignment must be worth
    splits: int = 2  # times that the known file is cut into halves and quarters
    spreads: float = 2.5  # standard deviations of what chance gives by which it must be worth more, if not trusted
    trusted: float = 0.9  # probability that it is no chance at which it is trusted
    freedom: float = 3.0  # degrees of freedom of what strangers are worth
    scatter: float = 0.05  # of the way from chance to what is expected: how much right assignments differ at least
    fewer: int = 4  # starts from which strangers are assigned at the most


@dataclass(frozen=True, eq=False)
class Joint:
    """What the snooper knows of their own file and of the mask, ready to be compared with a release."""

    law: Law
    right: tuple[F4, ...]
    centred: bool
    usual: FloatArray  # of each known record, expected
    vary: float  # variance of what is usual around it
    directed: bool
    draws: tuple[F4, ...]
    groups: tuple[Ints, ...]
    by: Joining

    def pose(self, shown: F4, group: Ints, single: F4) -> Problem:
        """Return the problem of a release; ``single`` is evidence for single pairs."""
        left, usual = shown, None
        if self.centred:
            left, usual = centre(shown, group)
        parts = self.law.left(left)
        if group.any():
            same = group[:, None] == group[None]
            parts = tuple(np.where(same, part, np.float32(0)) for part in parts)
        alone = None
        if usual is not None:
            scale = np.float32(1 / np.sqrt(self.vary))
            middle = self.usual.mean()
            theirs, ours = (((side - middle) * scale).astype(np.float32)[:, None] for side in (usual, self.usual))
            alone = near(theirs, ours)
        return Problem(parts, self.right, single, alone, self.directed)

    def part(self, rows: Ints) -> Joint:
        """Return the same of some of the known records."""
        right, draws = (tuple(one[np.ix_(rows, rows)] for one in every) for every in (self.right, self.draws))
        groups = tuple(group[rows] for group in self.groups)
        return replace(self, right=right, usual=self.usual[rows], draws=draws, groups=groups)


def join(target: Side, known: Side, by: Joining) -> tuple[Joint, Ints] | None:
    """Learn the law, and into which groups the release falls; None where it cannot be learned."""
    draws = tuple(draw for draw in known.draws if isinstance(draw, np.ndarray))
    sizes = target.size, known.size
    if known.true is None or len(draws) < 3 or max(sizes) > by.most or min(sizes) < by.least:
        return None
    none = tuple(np.zeros(len(draw), np.int64) for draw in draws)
    best = _best_law(known, draws, none, by)
    group = np.zeros(target.size, np.int64)
    shown = target.draws[0]
    assert isinstance(shown, np.ndarray)
    found = find_groups(shown, by.grouping)
    first = None if found is None else find_groups(draws[0], by.grouping)
    if found is not None and first is not None:
        second = find_groups(draws[1], by.grouping)
        trial = None if second is None else _best_law(known, draws[:2], (first, second), by)
        if trial is not None and second is not None and (best is None or _told(trial) > _told(best)):
            rest = [find_groups(draw, by.grouping) for draw in draws[2:]]
            groups = (first, second, *(one for one in rest if one is not None))
            if len(groups) == len(draws) and (split := _best_law(known, draws, groups, by)) is not None:
                return split, found
    return None if best is None else (best, group)


def _told(joint: Joint) -> float:
    """Return how much the distances of a release tell in all, by the law."""
    same = np.mean([(group[:, None] == group[None]).mean() for group in joint.groups[1:]])
    return float(joint.law.information * same)


def _best_law(known: Side, draws: tuple[F4, ...], groups: tuple[Ints, ...], by: Joining) -> Joint | None:
    """Return the law of distances as they are, or less what is usual for a record, whichever tells people apart."""
    both = [_learn(known, draws, groups, centred=centred, by=by) for centred in (False, True)]
    found = [one for one in both if one is not None]
    return max(found, key=_tell_apart, default=None)


def _tell_apart(joint: Joint) -> float:
    """Return the mean log probability of the right person, for a draw of the known file with all others known."""
    size = len(joint.draws[0])
    problem = joint.pose(joint.draws[0], joint.groups[0], np.zeros((size, size), np.float32))
    score = (problem.slope(np.eye(size, dtype=np.float32)) + problem.single).astype(float)
    score -= score.max(axis=1, keepdims=True)
    return float((np.diag(score) - np.log(np.exp(score).sum(axis=1))).mean())


def _learn(known: Side, draws: tuple[F4, ...], groups: tuple[Ints, ...], *, centred: bool, by: Joining) -> Joint | None:
    true = known.true
    assert true is not None
    size = len(true)
    learned = draws[1:], groups[1:]  # the first is left for trials
    used = [(group[:, None] == group[None]) & ~np.eye(size, dtype=bool) for group in learned[1]]
    shown, usual, vary = learned[0], np.zeros(size), 1.0
    if centred:
        curve = mean_curve(np.concatenate([true[one] for one in used]), _entries(shown, used))
        if len(curve[0]) < 2:
            return None
        true = centre(np.interp(true, *curve).astype(np.float32), np.zeros(size, np.int64))[0]
        parts = [centre(*one) for one in zip(*learned, strict=True)]
        shown = tuple(part[0] for part in parts)
        each = np.stack([part[1] for part in parts])
        usual = each.mean(axis=0)
        trial = centre(draws[0], groups[0])[1]
        vary = float(((trial - usual) ** 2).mean()) + 1e-9 * float(usual.var()) + 1e-30
    law = learn_law(np.concatenate([true[one] for one in used]), _entries(shown, used), size, by.learning)
    if law is None:
        return None
    return Joint(law, law.right(true), centred, usual, vary, known.directed, draws, groups, by)


def _entries(draws: tuple[F4, ...], used: list[NDArray[np.bool_]]) -> F4:
    return np.concatenate([draw[one] for draw, one in zip(draws, used, strict=True)])


def find_features(joint: Joint, shown: F4, group: Ints, turning: Turning) -> tuple[F4, F4]:
    """Return features of a release and of the known file from distances within groups, in units of their noise."""
    ours = np.stack([_features(*one, turning) for one in zip(joint.draws[1:], joint.groups[1:], strict=True)])
    theirs, mean = _features(shown, group, turning), ours.mean(axis=0)
    noise = np.concatenate(ours - mean) * np.sqrt((len(ours) + 1) / max(len(ours) - 1, 1))
    middle = mean.mean(axis=0)
    within = noise.T.astype(float) @ noise / len(noise)
    within += (turning.ridge * np.trace(within) / len(within) + 1e-9) * np.eye(len(within))
    spread = (mean - middle).T.astype(float) @ (mean - middle) / len(mean)
    ratio, directions = eigh(spread, within)
    chosen = directions[:, np.argsort(-ratio)[: turning.features]].astype(np.float32)
    return (theirs - theirs.mean(axis=0)) @ chosen, (mean - middle) @ chosen


def _features(distances: F4, group: Ints, turning: Turning) -> F4:
    """Return features of records from the distances within their groups; one that is alone has those of the average."""
    width = features(np.zeros((2, 2), np.float32), np.arange(2), turning.widths).shape[1]
    found = np.full((len(distances), width), np.nan, np.float32)
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        if len(rows) > 1:
            found[rows] = features(distances[np.ix_(rows, rows)], np.arange(len(rows)), turning.widths)
    alone = np.isnan(found[:, 0])
    found[alone] = found[~alone].mean(axis=0) if not alone.all() else 0.0
    return found
