"""How probable each pair is, given an alignment: aligned by what is probable, weighed by what is aligned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.profiles.align import Clouds
from disclique.attacks.profiles.evidence import Allowed, Ints, best_of_each
from disclique.attacks.profiles.meaning import CANDIDATES, hard, learn_meaning
from disclique.attacks.profiles.refine import LEAST, NO_PAIRS, Pairs, agreement, with_seeds
from disclique.attacks.profiles.sides import Side
from disclique.attacks.profiles.space import EXPLAINED, Look, by_anchors
from disclique.model import FloatArray

ROUNDS = 10
GROWING = 3  # rounds in which pairs may support themselves
SHARES = (1.0, 0.7, 0.5, 0.3, 0.15)  # of the pairs that are tried as anchors, the best ones first
FAINT = 0.05  # pairs less probable than that turn no cloud
PREFERRED = 0.7  # anchors are believed more than clouds, unless they find so much less


@dataclass(frozen=True, eq=False)
class Weighed:
    """Candidate pairs with their probabilities, and the share of the target that is expected to be common."""

    target: Ints
    known: Ints
    probability: FloatArray
    share: float = 0.0
    confirmed: float = 0.0  # share of the claimed pairs that others confirm, by which they were not found
    excess: float = 1.0  # variance of their errors relative to what the mask explains

    @property
    def sure(self) -> float:
        """Right pairs that can be expected among the claimed ones."""
        return float(self.probability[self.probability > 0.5].sum())

    @property
    def claimed(self) -> Pairs:
        """The pairs that are more probable than not, the most probable first."""
        order = np.argsort(-self.probability, kind="stable")
        order = order[self.probability[order] > 0.5]
        return Pairs(self.target[order], self.known[order])


NOTHING = Weighed(*NO_PAIRS, np.zeros(0))


class Task(NamedTuple):
    """What does not change while alignments are searched and weighed."""

    target: Side
    known: Side
    clouds: Clouds
    allowed: Allowed
    seeds: Pairs
    common: float | None
    chance: int


def weigh(task: Task, pairs: Pairs) -> Weighed:
    """Weigh all pairs by an alignment, through the distances to anchors or the positions in the clouds.

    Clouds average over all records, which is what strong noise needs; anchors do not depend on who else is in a file.
    """
    by_cloud = _settle(task, pairs, partial(_by_cloud, task))
    found = _settle(task, pairs, partial(_by_anchors, task))
    if by_cloud.sure >= LEAST:
        again = _settle(task, by_cloud.claimed, partial(_by_anchors, task))
        found = max(found, again, key=lambda weighed: weighed.sure)
    if found.sure < PREFERRED * by_cloud.sure and len(task.known.draws) > 1:
        # too many anchors are wrong for the mask's law: learn one from the pairs
        blind = task._replace(known=replace(task.known, draws=task.known.draws[:1]))
        found = _settle(blind, by_cloud.claimed, partial(_by_anchors, blind))
        return by_cloud if found.sure < PREFERRED * by_cloud.sure else found
    if found.sure < PREFERRED * by_cloud.sure:
        return by_cloud
    return _look_from_all(task, found)


def _look_from_all(task: Task, found: Weighed) -> Weighed:
    """Weigh a confirmed alignment once more from all its pairs, where the law of errors is the mask's."""
    pairs = with_seeds(found.claimed, task.seeds)
    if len(task.known.draws) < 2 or len(pairs) < 2 * LEAST or found.excess > EXPLAINED:
        return found
    rng = np.random.default_rng(task.chance)
    look = by_anchors(task.target, task.known, pairs, SHARES[1:], rng, halves=False)
    again = replace(_weigh(task, look), confirmed=found.confirmed)
    return found if look.excess > EXPLAINED or again.sure < found.sure else again


def _settle(task: Task, pairs: Pairs, look: Callable[[Pairs, Weighed | None, int], Look]) -> Weighed:
    """Weigh, and look again from what is claimed, until nothing changes."""
    found: Weighed | None = None
    pairs = with_seeds(pairs, task.seeds)
    for done in range(ROUNDS):
        if len(pairs) < (2 * LEAST if done >= GROWING else LEAST):
            return NOTHING
        before = pairs
        found = _weigh(task, look(pairs, found, done))
        pairs = with_seeds(found.claimed, task.seeds)
        kept = np.isin(_numbers(task, before), _numbers(task, pairs)).mean()
        found = replace(found, confirmed=float(kept))
        if done > GROWING and kept == 1 and len(pairs) == len(before):
            break
    assert found is not None
    return found


def _numbers(task: Task, pairs: Pairs) -> Ints:
    return pairs.target * task.known.size + pairs.known


def _by_cloud(task: Task, pairs: Pairs, last: Weighed | None, done: int) -> Look:
    """Look from the clouds, turned by all pairs as far as they are probable."""
    if last is None:
        return Look(*task.clouds.by_pairs(*pairs, np.ones(len(pairs), np.float32), halves=False))
    some = np.flatnonzero(last.probability > FAINT)
    weight = last.probability[some].astype(np.float32)
    return Look(*task.clouds.by_pairs(last.target[some], last.known[some], weight, halves=done >= GROWING))


def _by_anchors(task: Task, pairs: Pairs, last: Weighed | None, done: int) -> Look:
    """Look from the pairs; the first times from all of them, while many of them may be wrong."""
    if done == 0:
        pairs = pairs.some(np.argsort(-agreement(task.target, task.known, pairs), kind="stable"))
    rng = np.random.default_rng(task.chance)
    return by_anchors(task.target, task.known, pairs, SHARES if done == 0 else SHARES[1:], rng, halves=done >= GROWING)


def _weigh(task: Task, look: Look) -> Weighed:
    allowed, sizes = task.allowed, (task.target.size, task.known.size)
    meaning = learn_meaning(look.trial, allowed, np.random.default_rng(task.chance))
    if meaning is None:
        return NOTHING
    rows, others, score = best_of_each(look.target, hard(allowed), CANDIDATES)
    ratio = meaning.ratio(rows, score.astype(float), task.target.size)
    if allowed.table is not None:
        ratio = ratio + allowed.table[allowed.target[rows], allowed.known[others]]
    share = estimated_share(rows, others, ratio, sizes=sizes) if task.common is None else task.common
    probability = matching_posterior(rows, others, ratio, sizes=sizes, common=share)
    return Weighed(rows, others, probability, share, excess=look.excess)
