"""The oracle for encodings, whose secret is a key: what is found by distances if some pairs are known beforehand.

Whoever knows a few goes on from what they find: pairs that are clearly right are references in the next round. What a
distance of two strings becomes under an unknown key is learned by encoding the strings under keys of one's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer, KnownPairs
from disclique.attacks.oracle.laws import LEARNING, LearnedLaw, Learning, chance_of, count_draws
from disclique.attacks.oracle.profiles import (
    WEIGHING,
    Profiles,
    References,
    Scored,
    Weighing,
    claim_scored,
    list_pairs,
    match_scored,
    show_published,
)
from disclique.engine.kernels import likelihoods as kernels
from disclique.measures.risk import SCENARIOS, Hits, find_chances
from disclique.model import Claims
from disclique.spaces import full_matrix
from disclique.spaces.base import Distances
from disclique.values import FloatArray

Ints = NDArray[np.int64]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Insider:
    """How many pairs insiders know, and how they go on from them."""

    few: int = 10
    usual: int = 50
    share: float = 0.1
    rounds: int = 10
    clear: float = 0.9  # probability from which a pair serves as a reference
    trials: int = 150  # records of one's own by which it is found how much evidence is worth
    factors: tuple[float, ...] = (1.0, 0.8, 0.6, 0.45, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05)
    matching_rounds: int = 15  # while they go on


INSIDER, NOTHING = Insider(), np.zeros((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Strings of both files as one, what is known of any two of them, and the law of their published distances."""

    records: Ints  # the row of each released record in the joined file
    people: Ints  # of each known person
    codes: NDArray[np.uint8]  # (rows, rows): cells of what is known of two strings
    law: LearnedLaw
    trial: NDArray[np.uint8]  # (records, records): cells of the distances in a draw of one's own


def ask_encodings(
    masked: Sequence[Distances], holder: Holder, by: Weighing = WEIGHING, how: Insider = INSIDER
) -> Answer:
    """Say of every person sought how surely those name them who know some pairs, and by how many they are found."""
    t, k = list_pairs(holder, by)
    encoded = _encode(holder)
    shown, which = show_published(masked, np.arange(masked[0].size), directed=False)
    release = _Release(encoded, encoded.law.record.code(shown), which, (t, k), holder, by)
    order = np.random.default_rng(0).permutation(len(holder.truth))
    common = len(order)

    def told(some: Ints) -> Pairs:
        return tuple((int(a), int(b)) for a, b in holder.truth.pairs[np.sort(some)])

    usual = min(how.usual, common // 2)
    runs: dict[int, _Found] = {}
    clear = NOTHING
    for many in sorted({min(how.few, common // 2), usual, min(int(how.share * common), common // 2)} - {0}):
        runs[many] = release.search(told(order[:many]), how, clear)
        clear = runs[many].clear
    runs[common] = release.know_all(how)
    curve = _rising([_guess(holder), *(KnownPairs(many, found.hits, found.sought) for many, found in runs.items())])
    if holder.seeds:
        return Answer(release.search(holder.seeds, how).chances, True, curve)
    if not usual:
        return Answer(runs[common].chances if common else _guess_chances(holder), True, curve)
    # those who are known to one insider are sought by another
    here, there = runs[usual], release.search(told(order[-usual:]), how)
    chances = {name: np.zeros(common) for name in SCENARIOS}
    for found in (there, here):
        rows = np.isin(holder.truth.pairs[:, 0], found.truth[:, 0])
        for name in SCENARIOS:
            chances[name][rows] = found.chances[name]
    return Answer(chances, True, curve)


def _guess_chances(holder: Holder) -> dict[str, FloatArray]:
    alike = holder.alike or holder.candidates
    return {name: find_chances(None, holder.truth, alike, (), name) for name in SCENARIOS}


def _guess(holder: Holder) -> KnownPairs:
    """Return what is found by labels alone."""
    chances = _guess_chances(holder)
    return KnownPairs(0, Hits(*(float(chances[name].sum()) for name in SCENARIOS)), len(holder.truth))


def _rising(points: Sequence[KnownPairs]) -> tuple[KnownPairs, ...]:
    """Return the curve such that it never falls: whoever knows more pairs may leave some out of account."""
    best, found = dict.fromkeys(SCENARIOS, 0.0), []
    for point in points:
        best = {name: max(best[name], point.hits.of(name) / max(point.sought, 1)) for name in SCENARIOS}
        hits = Hits(*(round(best[name] * point.sought, 6) for name in SCENARIOS))
        found.append(replace(point, hits=hits))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Found:
    """What somebody finds of the people whom they do not know beforehand."""

    truth: NDArray[np.int64]
    chances: dict[str, FloatArray]
    clear: Ints  # pairs that served as references besides

    @property
    def sought(self) -> int:
        return len(self.truth)

    @property
    def hits(self) -> Hits:
        return Hits(*(float(self.chances[name].sum()) for name in SCENARIOS))


@dataclass(frozen=True, eq=False)
class _Release:
    """A release and all that is known of its people."""

    encoded: Encoded
    shown: NDArray[np.uint8]  # (releases, records, records)
    which: Ints
    pairs: tuple[Ints, Ints]
    holder: Holder
    by: Weighing

    def profiles(self, references: References, known: Ints) -> Profiles:
        """Return the distances of all records and people to references; ``known`` are rows of the joined file."""
        codes, law = self.encoded.codes, self.encoded.law
        record = np.ascontiguousarray(self.shown[:, :, references.record])
        person = np.ascontiguousarray(codes[np.ix_(self._everybody, known)])[None]
        return Profiles(kernels.Coded(record, person, law.table, self.which), references)

    @property
    def _strangers(self) -> Ints:
        return np.setdiff1d(np.arange(self.shown.shape[1]), self.holder.truth.pairs[:, 0])

    @property
    def _everybody(self) -> Ints:
        """The rows of the known people and, behind them, of those released whom nobody knows."""
        return np.concatenate([self.encoded.people, self.encoded.records[self._strangers]])

    def know_all(self, how: Insider) -> _Found:
        """Ask for each person who is found if everybody else is known."""
        records, strangers = np.arange(self.shown.shape[1]), self._strangers
        person = np.full(len(records), -1)
        person[self.holder.truth.pairs[:, 0]] = self.holder.truth.pairs[:, 1]
        person[strangers] = len(self.encoded.people) + np.arange(len(strangers))
        order = np.random.default_rng(0).permutation(len(records))
        references = References(records[order], person[order])
        profiles = self.profiles(references, self.encoded.records[order])
        scored = self._score(profiles, self.pairs)
        claims = claim_scored(scored.scaled(self._worth(len(order), how)), self.holder, self.by)
        return self._judge(claims, ())

    def search(self, seeds: Pairs, how: Insider, start: Ints = NOTHING) -> _Found:
        """Find people from some pairs that are known, and go on from what is found, or was with fewer of them."""
        told = np.array(seeds, dtype=np.int64).reshape(-1, 2)
        open_ = ~(np.isin(self.pairs[0], told[:, 0]) | np.isin(self.pairs[1], told[:, 1]))
        pairs = self.pairs[0][open_], self.pairs[1][open_]
        found = start[~(np.isin(start[:, 0], told[:, 0]) | np.isin(start[:, 1], told[:, 1]))]
        scored, factor = None, 1.0
        for _ in range(how.rounds):
            both = np.concatenate([told, found])
            both = both[np.random.default_rng(0).permutation(len(both))]
            references = References(both[:, 0], both[:, 1])
            scored = self._score(self.profiles(references, self.encoded.people[both[:, 1]]), pairs)
            factor = self._worth(len(both), how)
            chance = match_scored(scored.scaled(factor), self.holder, replace(self.by, rounds=how.matching_rounds))
            clear = np.column_stack([scored.t, scored.k])[chance > how.clear]
            if np.array_equal(clear, found):
                break
            found = clear
        assert scored is not None
        return self._judge(claim_scored(scored.scaled(factor), self.holder, self.by), seeds, found)

    def _score(self, profiles: Profiles, pairs: tuple[Ints, Ints]) -> Scored:
        strangers = self._strangers
        people = len(self.encoded.people) + np.arange(len(strangers))
        own = np.zeros(len(strangers))
        profiles.add((strangers, people), (0, len(profiles.references.record)), own)
        return Scored(*pairs, profiles.score(pairs, self.by), strangers, own)

    def _judge(self, claims: Claims, seeds: Pairs, clear: Ints = NOTHING) -> _Found:
        truth = self.holder.truth.without([row for row, _ in seeds])
        alike = self.holder.alike or self.holder.candidates
        chances = {name: find_chances(claims, truth, alike, seeds, name) for name in SCENARIOS}
        return _Found(truth.pairs, chances, clear)

    def _worth(self, references: int, how: Insider) -> float:
        """Return by which factor the sum of the evidence of so many references counts: they are not independent.

        It is the one by which records of a draw of one's own are best told apart.
        """
        rows = self.encoded.records[_some(self.shown.shape[1], how.trials)]
        columns = self.encoded.records[_some(self.shown.shape[1], references)]
        trial, codes, table = self.encoded.trial, self.encoded.codes, self.encoded.law.table
        place = np.full(len(trial), -1)
        place[columns] = np.arange(len(columns))
        # a column of a row itself would give the truth away
        record = trial[np.ix_(rows, columns)]
        own = place[rows]
        t, k = np.divmod(np.arange(len(rows) ** 2), len(rows))
        data = kernels.Coded(record[None], codes[np.ix_(rows, columns)][None], table, np.zeros(1, np.int64))
        total = np.zeros(len(t))
        kernels.add_coded(t, k, data, kernels.Columns(own, own, 0, len(columns), 0), total)
        score = total.reshape(len(rows), len(rows))
        score = score - score.max(axis=1, keepdims=True)
        gains = []
        for factor in how.factors:
            odds = factor * score
            gains.append(float((np.diagonal(odds) - np.log(np.exp(odds).sum(axis=1))).sum()))
        return how.factors[int(np.argmax(gains))]


def _some(size: int, count: int) -> Ints:
    """Return some rows, the same whenever they are asked for."""
    return np.sort(np.random.default_rng(1).permutation(size)[:count])


def _encode(holder: Holder) -> Encoded:
    """Join both files, and say what is known of any two strings and what becomes of it."""
    joined, records, people = _join(holder)
    learned = _recall(holder)
    codes = learned.law.person.code(full_matrix(_measured(joined, learned.metric)))
    return Encoded(records, people, codes, learned.law, learned.trial)


@dataclass(frozen=True, eq=False)
class _Learned:
    """The law of published distances, the metric in which strings are compared by it, and a draw of one's own."""

    law: LearnedLaw
    metric: str
    trial: NDArray[np.uint8]  # (records, records)


def _recall(holder: Holder) -> _Learned:
    """Return what is learned of the holder's strings, once for all questions about them."""
    strings, told = holder.exact.distances.identities(), holder.knowledge.learned
    assert strings is not None
    key = ("encodings", tuple(strings))
    if key not in told:
        told[key] = _learn(holder)
    found: _Learned = told[key]
    return found


def _learn(holder: Holder, learning: Learning = LEARNING) -> _Learned:
    """Encode the strings under other keys, and learn the law by which their distances are published.

    They are compared as the file says, or by the grams of the encoding: whichever tells more.
    """
    mask, exact = holder.knowledge.mask, holder.exact.distances
    assert mask is not None
    rng = chance_of(mask.spec, exact.size)
    some = _some(exact.size, learning.records)
    other = ~np.eye(len(some), dtype=bool)
    shown = [full_matrix(mask.apply(exact, rng), rows=some.astype(np.int32)) for _ in range(count_draws(len(some)) + 1)]
    after = np.concatenate([one[other] for one in shown])
    found = []
    for metric in dict.fromkeys((str(exact.metric), f"dice:q={getattr(mask, 'q', 2)}")):
        known = full_matrix(_measured(exact, metric), rows=some.astype(np.int32))[other]
        found.append((LearnedLaw.of(after, np.tile(known, len(shown)), learning), metric))
    law, metric = max(found, key=lambda one: one[0].information)
    trial = law.record.code(full_matrix(mask.apply(exact, rng)))
    return _Learned(law, metric, trial)


def _measured(distances: Distances, metric: str) -> Distances:
    """Return strings compared in another way."""
    texts = distances.texts()
    assert texts is not None
    return texts if str(texts.metric) == metric else replace(texts, metric=metric)


def _join(holder: Holder) -> tuple[Distances, Ints, Ints]:
    """Return the strings of both files, and the rows of records and of people: those of equal strings share them."""
    own, theirs = holder.exact.distances, holder.known.distances
    ours, others = own.identities(), theirs.identities()
    assert ours is not None
    assert others is not None
    rows = np.full(theirs.size, -1)
    for target, known in holder.truth.pairs.tolist():
        if ours[target] == others[known]:
            rows[known] = target
    rest = np.flatnonzero(rows < 0)
    rows[rest] = own.size + np.arange(len(rest))
    joined = own.join(theirs.select(rest)) if len(rest) else own
    return joined, np.arange(own.size), rows
