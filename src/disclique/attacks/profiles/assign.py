"""Who is who as one question: the assignment under which all distances together are likeliest, by the law of the mask.

The likelihood of an assignment is a sum over pairs of pairs, a quadratic assignment. Each record's soft partners are
weighed by those of all others, from a high temperature, at which only features count, down to that at which the score
is the log likelihood: the posterior in the mean field, annealed. Hard assignments are compared by their likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from disclique.attacks.profiles.clouds import sinkhorn
from disclique.attacks.profiles.evidence import F4, Evidence, Ints

NEVER = np.float32(-200.0)  # log odds of what labels or seeds exclude


@dataclass(frozen=True)
class Annealing:
    """How an assignment is cooled down."""

    hottest: float = 0.1  # weight of the log likelihood at first; 1 in the end
    steps: int = 25
    inner: int = 2  # rounds at each step
    sinkhorn: int = 15
    settled: float = 0.01  # largest change of a soft pair at which cooling is over
    sharp: float = 0.9  # mean of the surest partners from which on that is looked at
    polished: int = 20  # times that a hard assignment is improved by itself
    again: int = 4  # times that is cooled down from what the surest pairs say
    gain: float = 0.01  # of its log likelihood that it must gain to go on
    surest: float = 0.15  # share of all pairs that are the surest
    told: float = 2.0  # standard deviation of the log odds that they give


ANNEALING = Annealing()


class Problem(NamedTuple):
    """Functions of both files' distances whose products are log likelihood ratios, and evidence for single pairs."""

    left: tuple[F4, ...]
    right: tuple[F4, ...]
    labels: F4  # (targets, known): log odds by labels and seeds
    alone: Evidence | None = None  # of records by themselves: what is usual for them
    directed: bool = False

    @property
    def single(self) -> F4:
        """Return the log odds of single pairs."""
        return self.labels if self.alone is None else self.labels + self.alone.rows(slice(None))

    @property
    def shape(self) -> tuple[int, int]:
        """Records of both files."""
        return self.labels.shape[0], self.labels.shape[1]

    def mixed(self, order: Ints) -> Problem:
        """Return the same problem with the target's records in another order."""
        left = tuple(one[np.ix_(order, order)] for one in self.left)
        alone = self.alone
        if alone is not None:
            alone = alone._replace(left=alone.left[order], row=alone.row[order])
        return self._replace(left=left, labels=self.labels[order], alone=alone)

    def slope(self, pairs: F4) -> F4:
        """Return what all other pairs say of each pair: the log likelihood ratio of its distances to them."""
        total = np.zeros(self.shape, np.float32)
        for left, right in zip(self.left, self.right, strict=True):
            total += left @ pairs @ right.T
            if self.directed:
                total += left.T @ pairs @ right
        return total

    def evidence(self, pairs: F4) -> Evidence:
        """Return the same as evidence, with that of records by themselves, without labels."""
        lefts, rights = [], []
        for left, right in zip(self.left, self.right, strict=True):
            lefts.append(left @ pairs)
            rights.append(right)
            if self.directed:
                lefts.append(left.T @ pairs)
                rights.append(right.T)
        none = (np.zeros(size, np.float32) for size in self.shape)
        found = Evidence(np.hstack(lefts), np.hstack(rights), *none)
        return found if self.alone is None else found.plus(self.alone)

    def value(self, rows: Ints, columns: Ints) -> float:
        """Return the log likelihood ratio of the distances between the pairs of an assignment."""
        total = 0.0
        for left, right in zip(self.left, self.right, strict=True):
            total += float((left[np.ix_(rows, rows)].astype(float) * right[np.ix_(columns, columns)]).sum())
        return total if self.directed else total / 2


@dataclass(frozen=True, eq=False)
class Assignment:
    """Soft pairs, and the hard ones that are likeliest beside each other."""

    soft: F4
    target: Ints
    known: Ints
    value: float  # log likelihood ratio, evidence for single pairs included


def assign(problem: Problem, prior: F4, by: Annealing = ANNEALING) -> Assignment:
    """Cool down from ``prior``, log odds that fade while distances gain weight."""
    single = problem.single
    soft = sinkhorn(prior + single, by.sinkhorn)
    sharpness = np.geomspace(by.hottest, 1.0, by.steps)
    for step, weight in enumerate(sharpness):
        before = soft
        for _ in range(by.inner):
            score = np.float32(weight) * problem.slope(soft) + single
            soft = sinkhorn(score + np.float32(1 - step / (by.steps - 1)) * prior, by.sinkhorn)
        if soft.max(axis=1).mean() > by.sharp and np.abs(soft - before).max() < by.settled:
            break
    for _ in range(by.inner):
        soft = sinkhorn(problem.slope(soft) + single, by.sinkhorn)
    return harden(problem, soft, by)


def climb(problem: Problem, best: Assignment, by: Annealing, enough: Callable[[Assignment], bool]) -> Assignment:
    """Cool down again from what the surest pairs of an assignment say, until that is hardly likelier or ``enough``.

    Where most records are strangers everybody is assigned nevertheless, and the few right pairs drown among them. They
    are those that agree best with the others.
    """
    for _ in range(by.again):
        if enough(best):
            break
        found = assign(problem, _from_surest(problem, best, by), by)
        gain, best = found.value - best.value, max(best, found, key=lambda one: one.value)
        if not gain > by.gain * abs(best.value):
            break
    return best


def _from_surest(problem: Problem, found: Assignment, by: Annealing) -> F4:
    """Return the log odds that the pairs give which agree best with all others."""
    pairs = np.zeros(problem.shape, np.float32)
    pairs[found.target, found.known] = 1
    agreement = problem.slope(pairs)[found.target, found.known]
    others = np.argsort(-agreement, kind="stable")[max(int(by.surest * len(agreement)), 1) :]
    pairs[found.target[others], found.known[others]] = 0
    odds = problem.slope(pairs)
    return np.asarray(odds * np.float32(by.told / max(float(odds.std()), 1e-30)))


def follow(problem: Problem, soft: F4, by: Annealing = ANNEALING) -> Assignment:
    """Go on from soft pairs at full weight, until nothing changes."""
    single = problem.single
    for _ in range(by.steps):
        before = soft
        soft = sinkhorn(problem.slope(soft) + single, by.sinkhorn)
        if np.abs(soft - before).max() < by.settled:
            break
    return harden(problem, soft, by)


def harden(problem: Problem, soft: F4, by: Annealing = ANNEALING) -> Assignment:
    """Return the likeliest hard assignment near soft pairs: each is improved by what the others say of it."""
    rows, columns = linear_sum_assignment(np.log(soft + np.float32(1e-30)), maximize=True)
    single = problem.single
    best = _hard(problem, single, soft, (rows, columns))
    for _ in range(by.polished):
        whole = np.zeros(problem.shape, np.float32)
        whole[best.target, best.known] = 1
        rows, columns = linear_sum_assignment(problem.slope(whole) + single, maximize=True)
        found = _hard(problem, single, soft, (rows, columns))
        if not found.value > best.value:
            break
        best = found
    return best


def _hard(problem: Problem, single: F4, soft: F4, pairs: tuple[Ints, Ints]) -> Assignment:
    value = problem.value(*pairs) + float(single[pairs].astype(float).sum())
    return Assignment(soft, *pairs, value)
