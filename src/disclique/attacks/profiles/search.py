"""The search for an alignment: starts, a few at a time, each refined; the best by their fit are weighed.

It ends when an alignment is confirmed, or with the last start.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from disclique.attacks.profiles.align import STEPS
from disclique.attacks.profiles.evidence import F4, Evidence, mutual_best, near
from disclique.attacks.profiles.refine import LEAST, Pairs, fit, grow, refine, with_seeds
from disclique.attacks.profiles.weigh import NOTHING, Task, Weighed, weigh
from disclique.progress import tell

COLD = (0.04, 0.16)  # between which the last heat of a start is drawn
BATCH = 4  # starts after which the best alignments are weighed
CONFIRMED = 0.85  # share of its pairs that an alignment must confirm to end the search
CHANCE = 0.6  # share up to which they may confirm each other by chance
FEW = 2 * LEAST  # fewer pairs may agree by chance
TURNED, REFINED = "turned", "refined"


class Start(NamedTuple):
    """One alignment that was tried."""

    fit: float
    pairs: Pairs
    shape: str


def search(
    task: Task, features: tuple[F4, F4], given: list[Pairs], *, starts: int, threads: int
) -> tuple[Weighed, int]:
    """Return the best alignment found and how many were tried; ``given`` are pairs to start from."""
    best, tried = NOTHING, 0
    for pairs in given:
        if len(pairs) >= LEAST:
            best = max(best, weigh(task, pairs), key=_worth)
    chances = np.random.default_rng(task.chance).spawn(starts)
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        while tried < starts and not (best.confirmed >= CONFIRMED and len(best.claimed) >= FEW):
            numbers = range(tried, min(tried + BATCH, starts))
            tell(f"alignments, {len(best.claimed)} pairs so far", tried / starts)
            found = list(pool.map(lambda number: _start(task, features, number, chances[number]), numbers))
            every = [start for many in found for start in many]
            for weighed in pool.map(lambda pairs: weigh(task, pairs), _promising(task, every)):
                best = max(best, weighed, key=_worth)
            tried += len(numbers)
    return best, tried


def _promising(task: Task, tried: list[Start]) -> list[Pairs]:
    """Return the best alignment of each shape, the refined one grown as far as it goes."""
    best = {start.shape: start.pairs for start in sorted(tried, key=lambda start: start.fit)}
    if REFINED in best:
        best[REFINED] = grow(task.target, task.known, best[REFINED], task.allowed, task.seeds)
    return list(best.values())


def _worth(found: Weighed) -> float:
    """Return what alignments are compared by: the right pairs expected, if they are more than chance gives."""
    return found.sure if found.confirmed > CHANCE else found.sure * 1e-3


def _start(task: Task, features: tuple[F4, F4], number: int, rng: np.random.Generator) -> list[Start]:
    """Try one start: features weighed at random but for the first two, the clouds turned in one of two ways."""
    prior = _prior(*features, rng, even=number < 2)
    found = []
    if number % 4 == 1:
        evidence = task.clouds.by_correlation(prior, (*STEPS, STEPS[-1]))
        pairs = with_seeds(Pairs(*mutual_best(evidence, task.allowed)), task.seeds)
        found.append(Start(fit(task.target, task.known, pairs), pairs, TURNED))
    else:
        evidence = task.clouds.by_heat(prior, STEPS, COLD[0] * (COLD[1] / COLD[0]) ** rng.random())
    pairs = refine(task.target, task.known, evidence, task.allowed, task.seeds)
    return [*found, Start(fit(task.target, task.known, pairs), pairs, REFINED)]


def _prior(theirs: F4, ours: F4, rng: np.random.Generator, *, even: bool) -> Evidence:
    """Return the evidence of the features, each weighed at random unless ``even``."""
    weight = np.ones(theirs.shape[1]) if even else rng.gamma(2.0, 0.5, theirs.shape[1])
    scale = np.sqrt(weight).astype(np.float32)
    return near(theirs * scale, ours * scale)
