"""The attack on two matrices of distances that need not be a map: nothing but distances, of any kind.

``sides`` brings both files to one scale, ``clouds`` tells records apart without a match and turns the two files onto
each other, ``anchors`` grows the right pairs and says what a pair is worth, and ``evidence`` holds scores and what they
mean. Here starts are tried, a few at a time; the best by their fit are weighed: aligned by what is probable, weighed by
what is aligned. The search ends when an alignment is confirmed, or with the last start.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np
from threadpoolctl import threadpool_limits

from disclique.attacks.claims import make_claims, no_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.kroll import CliqueAttack
from disclique.attacks.profiles.anchors import (
    FEWEST_PAIRS,
    NOBODY_PAIRED,
    Anchoring,
    Files,
    Pairs,
    Sight,
    by_anchors,
    with_seeds,
)
from disclique.attacks.profiles.clouds import Clouds, Turning, discriminate
from disclique.attacks.profiles.evidence import (
    F4,
    Evidence,
    Ints,
    Scoring,
    allowed_pairs,
    near,
)
from disclique.attacks.profiles.joint import Joining
from disclique.attacks.profiles.rehearsal import Joined, align_jointly
from disclique.attacks.profiles.sides import Sampling, both_sides
from disclique.attacks.profiles.weighed import NOTHING, Weighed, weigh_again, weigh_sight
from disclique.attacks.registry import Attack, Fetch
from disclique.engine.kernels.compiled import count_cores
from disclique.errors import InputError
from disclique.masks import Mask
from disclique.messages import Message
from disclique.model import Budget, Candidates, Claims, Microdata
from disclique.progress import Listener, tell, teller

TURNED, REFINED = "turned", "refined"


@dataclass(frozen=True)
class Tuning:
    """How alignments are searched and weighed; ``sampling`` to ``anchoring`` are those of the stages."""

    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen values
    turning: Turning = Turning()  # noqa: RUF009
    scoring: Scoring = Scoring()  # noqa: RUF009
    anchoring: Anchoring = Anchoring()  # noqa: RUF009
    joining: Joining = Joining()  # noqa: RUF009
    starts: tuple[tuple[int, int], ...] = ((1500, 40), (3000, 16), (8000, 8))  # tried, by records of the larger file
    fewest_starts: int = 4
    joined_starts: int = 12  # tried at the most where the whole files were assigned before
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
    growing: int = 3  # rounds in which pairs may support themselves
    shares: tuple[float, ...] = (1.0, 0.7, 0.5, 0.3, 0.15)  # of the pairs that are tried as anchors, the best first
    faint: float = 0.05  # pairs less probable than that turn no cloud
    preferred: float = 0.7  # anchors are believed more than clouds, unless they find so much less


@dataclass(frozen=True)
class ProfilesAttack(Attack):
    """Records are known by the profile of their distances: of all of them first, of those to matched records then.

    ``mask`` lets the snooper mask their own file as the holder did; ``seeds`` are pairs known beforehand. The
    matches of ``clique`` are one more start, if it has any.
    """

    name: ClassVar[str] = "profiles"
    needs: ClassVar[Message | str] = Message("attack_needs_profiles")
    summary: ClassVar[Message | str] = Message("attack_does_profiles")
    who: ClassVar[Message | str] = Message("attack_who_profiles")
    by_evidence: ClassVar[bool] = True
    by_seeds: ClassVar[bool] = True
    most: ClassVar[tuple[int, int] | None] = (30_000, 30_000)

    mask: Mask | None = None
    common: float | None = None
    seeds: tuple[tuple[int, int], ...] = ()
    chance: int = 0
    threads: int | None = None
    starts: int | None = None
    clique: Attack | None = None
    tuning: Tuning = Tuning()

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from the mask, the pairs that an insider knows, and ≈ if it is known."""
        clique = None
        if knowledge.agreement is not None:  # the same one whatever is spent on the clique's own attack
            little = Search(budget=Budget(work=cls.tuning.clique_work), limit=1)
            clique = CliqueAttack(knowledge.agreement, little, cls.tuning.clique_bytes)
        # The share in common is estimated also where it is known: whoever is sure of it believes strangers.
        return cls(knowledge.mask, None, knowledge.seeds, search.seed, search.threads, search.starts, clique)

    @property
    def told(self) -> tuple[tuple[int, int], ...]:
        """The pairs that an insider knows."""
        return self.seeds

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link by the best alignment of the two files; nothing is claimed where none is clearly better than chance."""
        return self._link(target, known, candidates, NOBODY_PAIRED)

    def run_from(self, fetch: Fetch, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Do the same, with the matches of a clique as one more start; that it finds none or is refused is no harm."""
        pairs = NOBODY_PAIRED
        if self.clique is not None:
            with suppress(InputError):
                rows, others, _ = fetch(self.clique).claimed()
                pairs = Pairs(rows.astype(np.int64), others.astype(np.int64))
        return self._link(target, known, candidates, pairs)

    def _link(self, target: Microdata, known: Microdata, candidates: Candidates, pairs: Pairs) -> Claims:
        """Link from all starts; ``pairs`` are one more."""
        sizes = (len(target), len(known))
        self._check_seeds(sizes)
        if min(sizes) < FEWEST_PAIRS:
            why = Message("too_few_records_to_align", records=min(sizes), least=FEWEST_PAIRS)
            return no_claims(why, attack=self.name)
        with threadpool_limits(1):  # the same sums on every machine; threads are used for whole alignments
            rng = np.random.default_rng(self.chance)
            tuning = self.tuning
            tell(Message("step_comparing_files"), 0.0)
            theirs, ours = both_sides(target.distances, known.distances, self.mask, rng, tuning.sampling)
            seeds = Pairs(*np.array(self.seeds, np.int64).reshape(-1, 2).T)
            files = Files(theirs, ours, allowed_pairs(candidates), seeds, tuning.scoring, tuning.anchoring)
            tell(Message("step_comparing_files"), 0.2)
            clouds = Clouds(theirs, ours, files.allowed, rng, tuning.turning)
            task = Task(files, clouds, self.common, self.chance, tuning, teller())
            tell(Message("step_comparing_files"), 0.5)
            features = discriminate(theirs, ours, rng, tuning.turning)
            starts = next((n for most, n in tuning.starts if max(sizes) <= most), tuning.fewest_starts)
            joined = align_jointly(files, self.chance, tuning.joining, tuning.turning, self.starts)
            given = [seeds, pairs]
            if joined is not None:
                starts = min(starts, tuning.joined_starts)
                given.append(joined.pairs)
            threads = self.threads or count_cores()
            found, tried = search(task, features, given, joined, starts=self.starts or starts, threads=threads)
            if joined is not None:
                joined = joined.improved(found)
            found = weigh_again(files, found, self.common, self.chance)
            if joined is not None:
                found = self._choose(found, joined)
        details = {
            "starts": tried,
            "common": found.share,
            "confirmed": found.confirmed,
            "unexplained": found.excess,
            "draws": len(ours.draws) if len(ours.draws) > 1 else 0,
        }
        if joined is not None:
            groups = int(joined.group.max()) + 1
            details |= {"worth": joined.worth, "by_chance": joined.held.usual, "groups": groups}
        if found.confirmed > tuning.by_chance and len(found.claimed) >= tuning.few:
            rows = found.target.astype(np.int32), found.known.astype(np.int32)
            return make_claims((*rows, found.probability), attack=self.name, details=details)
        why = Message("no_alignment_better_than_chance", tried=tried)
        if joined is None:
            return no_claims(why, attack=self.name, details=details)
        # who is sure that a person took part names the likeliest record, however doubtful
        doubtful = joined.weighed
        rows = doubtful.target.astype(np.int32), doubtful.known.astype(np.int32)
        chances = doubtful.probability * tuning.doubtful
        return make_claims((*rows, chances), attack=self.name, doubt=why, details=details)

    def _choose(self, found: Weighed, joined: Joined) -> Weighed:
        """Return what is believed: the likeliest assignment of the whole files where it is no chance.

        It is none either where an alignment that was confirmed by halves agrees with it; the rehearsal, in which all
        are common, then speaks for it only if nearly everybody is. Displaced points change all distances of a record
        together, of which the law of single distances knows nothing, and so do errors in the snooper's own list: there
        the one that expects more to be right is believed.
        """
        claimed, tuning = found.claimed, self.tuning
        sure = found.confirmed > tuning.by_chance and len(claimed) >= tuning.few
        backed = sure and found.share > tuning.everybody and joined.agrees(claimed) > tuning.agreeing
        if not joined.clear and not backed:
            return found
        weighed = joined.weighed if joined.clear else replace(joined.weighed, confirmed=found.confirmed)
        displaced = self.mask is None or self.mask.on == "coordinates"
        unexplained = displaced or found.excess > tuning.anchoring.explained
        return found if sure and unexplained and found.sure > weighed.sure else weighed

    def _check_seeds(self, sizes: tuple[int, int]) -> None:
        """Raise if a seed is no pair of these files."""
        for pair in self.seeds:
            for side, row, records in zip(("target", "known"), pair, sizes, strict=True):
                if not 0 <= row < records:
                    raise InputError("seed_row_outside", side=side, row=row, last=records - 1)


class Task(NamedTuple):
    """What does not change while alignments are searched and weighed."""

    files: Files
    clouds: Clouds
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

    None are tried where the assignment of the whole files is clearly better than chance.
    """
    best, tried, tuning = NOTHING, 0, task.tuning

    def worth(found: Weighed) -> float:
        """Return what alignments are compared by: the right pairs expected, if they are more than chance gives."""
        return found.sure if found.confirmed > tuning.by_chance else found.sure * 1e-3

    for pairs in given:
        if len(pairs) >= FEWEST_PAIRS:
            best = max(best, weigh(task, pairs), key=worth)
    if joined is not None and joined.clear:
        return best, tried
    chances = np.random.default_rng(task.chance).spawn(starts)
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        while tried < starts and not (best.confirmed >= tuning.confirmed and len(best.claimed) >= tuning.few):
            batch = tuning.slow_batch if task.clouds.slow else tuning.batch
            numbers = range(tried, min(tried + batch, starts))
            tell(Message("step_alignments", count=len(best.claimed)), tried / starts)
            found = list(pool.map(lambda number: _start(task, features, number, chances[number]), numbers))
            every = [start for many in found for start in many]
            for weighed in pool.map(lambda pairs: weigh(task, pairs), _promising(task.files, every)):
                best = max(best, weighed, key=worth)
            tried += len(numbers)
    return best, tried


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
    """Look from the pairs; the first times from all of them, while many of them may be wrong."""
    if done == 0:
        pairs = pairs.some(np.argsort(-task.files.agreement(pairs), kind="stable"))
    rng, shares = np.random.default_rng(task.chance), task.tuning.shares
    halves = done >= task.tuning.growing
    return by_anchors(task.files, pairs, shares if done == 0 else shares[1:], rng, halves=halves)
