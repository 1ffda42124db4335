"""Alignments of two files: tried from several starts, a few at a time, and the best by their fit weighed.

They are aligned by what is probable and weighed by what is aligned, until nothing changes. The search ends when an
alignment is confirmed, or with the last start.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from disclique.attacks.meaning import Meaning
from disclique.attacks.profiles.anchors import FEWEST_PAIRS, Anchoring, Files, Pairs, with_seeds
from disclique.attacks.profiles.clouds import Clouds, Turning
from disclique.attacks.profiles.evidence import F4, Evidence, Ints, Scoring, near
from disclique.attacks.profiles.joint import Joining
from disclique.attacks.profiles.misspelled import Copier, Spelling
from disclique.attacks.profiles.rehearsal import Joined
from disclique.attacks.profiles.sides import Sampling
from disclique.attacks.profiles.sight import Sight, by_anchors, compare_errors
from disclique.attacks.profiles.weighed import NOTHING, Weighed, claimed_in_trial, lead_astray, weigh_sight
from disclique.errors import DiscliqueError
from disclique.messages import Message
from disclique.progress import Listener, tell

TURNED, REFINED = "turned", "refined"


@dataclass(frozen=True)
class Tuning:
    """How alignments are searched and weighed; ``sampling`` to ``anchoring`` are those of the stages."""

    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen values
    turning: Turning = Turning()  # noqa: RUF009
    scoring: Scoring = Scoring()  # noqa: RUF009
    anchoring: Anchoring = Anchoring()  # noqa: RUF009
    joining: Joining = Joining()  # noqa: RUF009
    spelling: Spelling = Spelling()  # noqa: RUF009
    starts: tuple[tuple[int, int], ...] = ((1500, 40), (3000, 16), (8000, 8))  # tried, by records of the larger file
    fewest_starts: int = 4
    joined_starts: int = 12  # tried at the most where the whole files were assigned before
    nearly: float = 0.95  # of the smaller file, which may be claimed before errors in a list are looked for
    everybody: float = 0.8  # share of common records from which on nearly all are
    agreeing: float = 0.5  # share of confirmed pairs in an assignment of the whole files from which they confirm it
    doubtful: float = 0.2  # of a probability is left where an assignment may be chance
    clique_bytes: int = 64 * 1024**2  # of a product graph from which it pays to start: the labels are selective
    clique_work: float = 0.2  # billions of operations
    cold: tuple[float, float] = (0.04, 0.16)  # between which the last heat of a start is drawn
    batch: int = 4  # starts after which the best alignments are weighed
    slow_batch: int = 1  # the same where clouds are turned slowly: one start is nearly always enough
    turns: int = 3  # times that a cloud that was turned slowly is turned by the pairs that agree best
    confirmed: float = 0.85  # share of its pairs that an alignment must confirm to end the search
    by_chance: float = 0.6  # share up to which they may confirm each other by chance
    few: int = 2 * FEWEST_PAIRS  # pairs: fewer may agree by chance
    rounds: int = 10  # of weighing and aligning
    wrong: float = 0.05  # expected share of the claims from which on trials have wrong anchors, too
    doubts: int = 3  # times that is weighed
    growing: int = 3  # rounds in which pairs may support themselves
    shares: tuple[float, ...] = (1.0, 0.7, 0.5, 0.3, 0.15)  # of the pairs that are tried as anchors, the best first
    faint: float = 0.05  # pairs less probable than that turn no cloud
    preferred: float = 0.7  # of what others find: anchors that find less yield to clouds, and assignments to anchors


class Task(NamedTuple):
    """What does not change while alignments are searched and weighed."""

    files: Files
    clouds: Clouds
    copier: Copier | None  # where the known file is a list that may have errors
    common: float | None
    chance: int
    tuning: Tuning
    heard: Listener  # also from the threads in which alignments are weighed


class Start(NamedTuple):
    """One alignment that was tried."""

    fit: float
    pairs: Pairs
    shape: str


def search(
    task: Task, features: tuple[F4, F4], given: list[Pairs], joined: Joined | None, *, starts: int, threads: int
) -> tuple[Weighed, int]:
    """Return the best alignment found and how many were tried; ``given`` are pairs to start from.

    None are tried where the assignment of the whole files is clearly better than chance. Where none is confirmed, a
    list that may have errors is supposed to have some, and the same alignments are weighed again.
    """
    best, given = NOTHING, [pairs for pairs in given if len(pairs) >= FEWEST_PAIRS]
    for pairs in given:
        best = _better(task, best, weigh(task, pairs))
    if joined is not None and joined.clear:
        return best, 0
    best, tried, promising = _try_starts(task, features, best, starts, threads)
    if best.confirmed > task.tuning.by_chance:
        return best, tried
    supposed = None
    with suppress(DiscliqueError):  # the mask may take no text with errors
        supposed = _with_errors(task, task.tuning.spelling.first)
    if supposed is None:
        return best, tried
    for pairs in [*given, *promising]:
        best = _better(task, best, _settle(supposed, pairs, partial(_by_anchors, supposed)))
        if _is_confirmed(task, best):
            break
    return best, tried


def _is_confirmed(task: Task, found: Weighed) -> bool:
    """Return whether an alignment ends the search."""
    return found.confirmed >= task.tuning.confirmed and len(found.claimed) >= task.tuning.few


def _try_starts(
    task: Task, features: tuple[F4, F4], best: Weighed, starts: int, threads: int
) -> tuple[Weighed, int, list[Pairs]]:
    """Try starts until an alignment is confirmed; return the best one, how many were tried, and what was weighed."""
    tried, tuning, promising = 0, task.tuning, list[Pairs]()
    chances = np.random.default_rng(task.chance).spawn(starts)
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        while tried < starts and not _is_confirmed(task, best):
            batch = tuning.slow_batch if task.clouds.slow else tuning.batch
            numbers = range(tried, min(tried + batch, starts))
            tell(Message("step_alignments", count=len(best.claimed)), tried / starts)
            found = list(pool.map(lambda number: _start(task, features, number, chances[number]), numbers))
            every = [start for many in found for start in many]
            some = _promising(task.files, every)
            for weighed in pool.map(lambda pairs: weigh(task, pairs), some):
                best = _better(task, best, weighed)
            promising += some
            tried += len(numbers)
    return best, tried, promising


def _better(task: Task, one: Weighed, other: Weighed) -> Weighed:
    """Return the alignment with more right pairs expected, if they are more than chance gives; the first of equals."""

    def worth(found: Weighed) -> float:
        return found.sure if found.confirmed > task.tuning.by_chance else found.sure * 1e-3

    return max(one, other, key=worth)


def _promising(files: Files, tried: list[Start]) -> list[Pairs]:
    """Return the best alignment of each shape, the refined one grown as far as it goes."""
    best = {start.shape: start.pairs for start in sorted(tried, key=lambda start: start.fit)}
    if REFINED in best:
        best[REFINED] = files.grow(best[REFINED])
    return list(best.values())


def _start(task: Task, features: tuple[F4, F4], number: int, rng: np.random.Generator) -> list[Start]:
    """Try one start: features weighed at random but for the first two, the clouds turned in one of two ways."""
    prior = _prior(*features, rng, even=number == 0 or (number == 1 and not task.clouds.slow))
    files, (low, high) = task.files, task.tuning.cold
    if task.clouds.slow:
        pairs = files.agreeing(files.best(task.clouds.by_heat(prior, task.tuning.turning.coldest)))
        for _ in range(task.tuning.turns):  # a sample turned it at first: now all records do
            pairs = files.agreeing(files.best(task.clouds.turned_by(*pairs)))
        return [Start(files.fit(pairs), pairs, TURNED)]
    found = []
    if number % 4 == 1:
        evidence = task.clouds.by_correlation(prior)
        pairs = files.best(evidence)
        found.append(Start(files.fit(pairs), pairs, TURNED))
    else:
        evidence = task.clouds.by_heat(prior, low * (high / low) ** rng.random())
    pairs = files.refine(evidence)
    return [*found, Start(files.fit(pairs), pairs, REFINED)]


def _prior(theirs: F4, ours: F4, rng: np.random.Generator, *, even: bool) -> Evidence:
    """Return the evidence of the features, each weighed at random unless ``even``."""
    weight = np.ones(theirs.shape[1]) if even else rng.gamma(2.0, 0.5, theirs.shape[1])
    scale = np.sqrt(weight).astype(np.float32)
    return near(theirs * scale, ours * scale)


def weigh(task: Task, pairs: Pairs) -> Weighed:
    """Weigh all pairs by an alignment, through the distances to anchors or the positions in the clouds.

    Clouds average over all records, which is what strong noise needs; anchors do not depend on who else is in a file.
    """
    preferred, draws = task.tuning.preferred, task.files.known.draws
    by_cloud = _settle(task, pairs, partial(_by_cloud, task))
    found = _settle(task, pairs, partial(_by_anchors, task))
    if by_cloud.sure >= FEWEST_PAIRS:
        again = _settle(task, by_cloud.claimed, partial(_by_anchors, task))
        found = max(found, again, key=lambda weighed: weighed.sure)
    if found.sure < preferred * by_cloud.sure and len(draws) > 1:
        # too many anchors are wrong for the mask's law: learn one from the pairs
        blind = task._replace(files=replace(task.files, known=replace(task.files.known, draws=draws[:1])))
        found = _settle(blind, by_cloud.claimed, partial(_by_anchors, blind))
        return by_cloud if found.sure < preferred * by_cloud.sure else found
    if found.sure < preferred * by_cloud.sure:
        return by_cloud
    return _look_from_all(task, found)


def _look_from_all(task: Task, found: Weighed) -> Weighed:
    """Weigh a confirmed alignment once more from all its pairs, where the law of errors is the mask's."""
    pairs = with_seeds(found.claimed, task.files.seeds)
    explained = task.tuning.anchoring.explained
    if len(task.files.known.draws) < 2 or len(pairs) < 2 * FEWEST_PAIRS or found.excess > explained:
        return found
    rng = np.random.default_rng(task.chance)
    look = by_anchors(task.files, pairs, task.tuning.shares[1:], rng, halves=False)
    again = replace(weigh_sight(task.files, look, task.common, task.chance), confirmed=found.confirmed)
    return found if look.excess > explained or again.sure < found.sure else again


def weigh_again(task: Task, found: Weighed) -> Weighed:
    """Weigh the best alignment once more, where trials of the snooper's own file promised too much.

    Where pairs differ by more than the mask explains, trials are of a list with as many errors, and scores mean no more
    than they do among the records of the release. Where a part of the pairs is expected to be wrong, trials are looked
    at from anchors of which as many are wrong. It is done last: of many alignments the best one is lucky.
    """
    files, tuning = task.files, task.tuning
    errors = found.excess > tuning.anchoring.explained
    if errors or _may_hide_errors(task, found):
        supposed = _doubt_errors(task, found)
        if errors or (1 - tuning.wrong) * supposed.sure > found.sure:
            return supposed
    if len(files.known.draws) < 2 or found.sure >= (1 - tuning.wrong) * len(found.claimed):
        return found
    best = found
    for _ in range(tuning.doubts):
        pairs = with_seeds(best.claimed, files.seeds)
        if len(pairs) < 2 * FEWEST_PAIRS:
            return found
        rng = np.random.default_rng(task.chance)
        look = by_anchors(lead_astray(files, best, rng), pairs, tuning.shares, rng, halves=True)
        best = replace(weigh_sight(files, look, task.common, task.chance), confirmed=found.confirmed)
    return found if best.sure < tuning.preferred * found.sure else best


def _may_hide_errors(task: Task, found: Weighed) -> bool:
    """Return whether those who are not claimed may be those of a list with errors: the claimed have hardly any then.

    Large files would take twice as long, and have so many strangers that some are alike under errors.
    """
    if task.copier is None or task.clouds.slow or not len(found.claimed):
        return False
    return len(found.claimed) < task.tuning.nearly * min(task.files.target.size, task.files.known.size)


def _doubt_errors(task: Task, found: Weighed) -> Weighed:
    """Weigh again as if the list had errors; scores mean no more than they do among the records of the release."""
    best = found
    with suppress(DiscliqueError):  # the mask may take no text with errors
        best = _suppose_errors(task, found)
    if best.look is None:
        return found
    doubted = weigh_sight(task.files, best.look, task.common, task.chance, judged=Meaning.doubted)
    return replace(doubted, confirmed=max(best.confirmed, found.confirmed), misspelled=best.misspelled)


def _suppose_errors(task: Task, found: Weighed) -> Weighed:
    """Weigh again from what is claimed, with as many errors in the list as explain those of what is claimed then.

    Those who are claimed have fewer errors than all: they are compared with those who would be claimed in the trial.
    """
    spelling, share, best = task.tuning.spelling, task.tuning.spelling.first, found
    for _ in range(spelling.rounds):
        supposed = _with_errors(task, share)
        if supposed is None:
            break
        again = _settle(supposed, best.claimed, partial(_by_anchors, supposed))
        if again.look is None or len(again.claimed) < task.tuning.few:
            break
        best = replace(again, misspelled=share)
        who = claimed_in_trial(supposed.files, again, task.chance)
        if len(who) < FEWEST_PAIRS:
            break
        errors, made = compare_errors(supposed.files, again.claimed, who)
        share, before = spelling.better(share, made, errors), share
        if share == spelling.shares[0]:  # there are no errors
            return found
        if abs(share / before - 1) < spelling.close:
            break
    return best


def _with_errors(task: Task, share: float) -> Task | None:
    """Return the task with copies of the list in which so many letters are wrong; None where there can be none.

    Raise if the mask takes no such texts.
    """
    known = task.files.known
    if task.copier is None or len(known.draws) < task.tuning.spelling.fewest:
        return None
    tell(Message("step_supposing_errors", share=share), None)
    copies = task.copier.copies(known, share, np.random.default_rng(task.chance))
    return task._replace(files=replace(task.files, copies=copies))


def _settle(task: Task, pairs: Pairs, look: Callable[[Pairs, Weighed | None, int], Sight]) -> Weighed:
    """Weigh, and look again from what is claimed, until nothing changes."""
    found: Weighed | None = None
    pairs = with_seeds(pairs, task.files.seeds)
    for done in range(task.tuning.rounds):
        if len(pairs) < (2 * FEWEST_PAIRS if done >= task.tuning.growing else FEWEST_PAIRS):
            return NOTHING
        before = pairs
        task.heard(Message("step_alignments", count=len(pairs)), None)
        found = weigh_sight(task.files, look(pairs, found, done), task.common, task.chance)
        pairs = with_seeds(found.claimed, task.files.seeds)
        kept = np.isin(_numbers(task, before), _numbers(task, pairs)).mean()
        found = replace(found, confirmed=float(kept))
        if done > task.tuning.growing and kept == 1 and len(pairs) == len(before):
            break
    assert found is not None
    return found


def _numbers(task: Task, pairs: Pairs) -> Ints:
    return pairs.target * task.files.known.size + pairs.known


def _by_cloud(task: Task, pairs: Pairs, last: Weighed | None, done: int) -> Sight:
    """Look from the clouds, turned by all pairs as far as they are probable."""
    if last is None:
        return Sight(*task.clouds.by_pairs(*pairs, np.ones(len(pairs), np.float32), halves=False))
    some = np.flatnonzero(last.probability > task.tuning.faint)
    weight = last.probability[some].astype(np.float32)
    return Sight(*task.clouds.by_pairs(last.target[some], last.known[some], weight, halves=done >= task.tuning.growing))


def _by_anchors(task: Task, pairs: Pairs, last: Weighed | None, done: int) -> Sight:
    """Look from the pairs; the first times from all of them, while many of them may be wrong.

    Those that agree best with the others come first where some may be wrong, and where a list has errors: who is known
    beforehand is right, but may be so misspelled that their distances say little.
    """
    if done == 0 or task.files.copies:
        pairs = pairs.some(np.argsort(-task.files.agreement(pairs), kind="stable"))
    rng, shares = np.random.default_rng(task.chance), task.tuning.shares
    halves = done >= task.tuning.growing
    return by_anchors(task.files, pairs, shares if done == 0 else shares[1:], rng, halves=halves)
