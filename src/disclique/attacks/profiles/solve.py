"""The likeliest assignment of whole files, from several starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from disclique.attacks.profiles.anchors import Files
from disclique.attacks.profiles.assign import NEVER, Assignment, Problem, assign, climb
from disclique.attacks.profiles.clouds import Turning, discriminate
from disclique.attacks.profiles.evidence import F4, Allowed, Ints
from disclique.attacks.profiles.joint import Joint, find_features
from disclique.attacks.profiles.sides import Side
from disclique.attacks.profiles.starts import by_colours, by_features


@dataclass(frozen=True, eq=False)
class Attempt:
    """A release, of others or of one's own, as it is assigned."""

    shown: F4
    group: Ints
    labels: F4
    side: Side


def solve(
    joint: Joint, one: Attempt, files: Files, turning: Turning, numbers: list[int], chance: int
) -> tuple[Problem, Assignment, int]:
    """Return the problem, its likeliest assignment of those from some starts, and the number of that start.

    The likeliest of them are gone on from. No more are tried once one is worth what the right one is expected to be.
    """
    problem, by = joint.pose(one.shown, one.group, one.labels), joint.by
    order = np.random.default_rng(chance).permutation(len(one.shown))  # of equal ones the first must not be the right
    mixed = problem.mixed(order)

    def enough(found: Assignment) -> bool:
        return worth_of(mixed, one.group[order], found) >= by.expected * joint.law.information

    tried: list[tuple[Assignment, int]] = []
    features = None
    for start in numbers:
        if start % 2 == 0 and features is None:
            features = _find_features(joint, one, files, turning, chance)
        prior = _prior(start, one, joint, files, features, chance)
        if prior is None:
            continue
        tried.append((assign(mixed, prior[order], by.annealing), start))
        if enough(tried[-1][0]):
            break
    tried.sort(key=lambda one: -one[0].value)
    best, number = tried[0]
    for found, start in tried[: by.climbing]:
        if enough(best):
            break
        higher = climb(mixed, found, by.annealing, enough)
        if higher.value > best.value:
            best, number = higher, start
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


def worth_of(problem: Problem, group: Ints, found: Assignment) -> float:
    """Return the log likelihood ratio of an assignment for each pair of distances that is compared."""
    many = compared(group[found.target])
    return problem.value(found.target, found.known) / max(2 * many if problem.directed else many, 1)


def compared(group: Ints) -> float:
    """Return how many pairs of records are of one group."""
    return float((group[:, None] == group[None]).sum() - len(group)) / 2


def trial_labels(allowed: Allowed, rows: Ints, others: Ints) -> F4:
    """Return what labels say of some known records, as a release would show them, and others of the file."""
    if allowed.table is None:
        return np.zeros((len(rows), len(others)), np.float32)
    own = own_class(allowed)[rows][:, None]
    return np.maximum(allowed.table[own, allowed.known[others][None]], NEVER).astype(np.float32)


def own_class(allowed: Allowed) -> Ints:
    """Return the class that each known record would most probably have in the target."""
    assert allowed.table is not None
    return np.asarray(allowed.table.argmax(axis=0)[allowed.known])
