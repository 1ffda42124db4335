"""The oracle for encodings, whose secret is a key: what is found if some pairs are known beforehand.

Whoever knows a few goes on from what they find: pairs that are clearly right are references in the next round. What a
distance of two strings becomes under an unknown key is learned by encoding the strings under keys of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer, KnownPairs
from disclique.attacks.oracle.codes import CodeOracle, better, open_code, prefer
from disclique.attacks.oracle.encoded import Encoded, encode, recall, some_rows, split
from disclique.attacks.oracle.numbers import ask_numbers
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
from disclique.attacks.oracle.values import guess_values
from disclique.attacks.oracle.weights import weigh_bits
from disclique.engine.kernels import likelihoods as kernels
from disclique.measures.risk import SCENARIOS, Hits, find_chances
from disclique.model import Claims
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
    levels: tuple[float, ...] = (1.0, 0.9, 0.75, 0.6, 0.45, 0.3, 0.2)  # how sure references are; the last is the least
    grown: float = 0.005  # of all records: they stop when no more of them are expected to be right
    trials: int = 150  # records of one's own by which it is found how much evidence is worth
    factors: tuple[float, ...] = (1.0, 0.8, 0.6, 0.45, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05)
    matching_rounds: int = 15  # while they go on


INSIDER, NOTHING = Insider(), np.zeros((0, 3), np.int64)


def ask_encodings(
    masked: Sequence[Distances], holder: Holder, by: Weighing = WEIGHING, how: Insider = INSIDER
) -> Answer:
    """Say of every person sought how surely those name them who know some pairs, and by how many they are found."""
    t, k = list_pairs(holder, by)
    encoded = encode(holder)
    shown, which = show_published(masked, np.arange(masked[0].size), directed=False)
    published, group = split(encoded, encoded.law.record.code(shown))
    weights = weigh_bits(masked, holder, by)
    release = _Release(encoded, published, which, (t, k), holder, by, weights, group)
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
    curve = _rising(
        [_guess(holder, weights), *(KnownPairs(many, found.hits, found.sought) for many, found in runs.items())]
    )
    code = open_code(masked, holder, recall(holder).form)
    by_code = _ask_by_code(code, holder, told, order, list(runs))

    def complete(answer: Answer) -> Answer:
        return replace(answer, learned=True, curve=curve, code_curve=by_code)

    if holder.seeds:
        return complete(_add_code(code, release.search(holder.seeds, how), holder.seeds))
    if not usual:
        if not common:
            return complete(Answer(_guess_chances(holder), told=guess_values(holder)))
        return complete(_add_code(code, runs[common], ()))
    # those who are known to one insider are sought by another
    here, there = told(order[:usual]), told(order[-usual:])
    answers = _add_code(code, release.search(there, how), there, read=False), _add_code(code, runs[usual], here)
    chances, values = {name: np.zeros(common) for name in SCENARIOS}, guess_values(holder)
    for seeds, answer in zip((there, here), answers, strict=True):
        rows = np.isin(holder.truth.pairs[:, 0], [row for row, _ in seeds], invert=True)
        for name in SCENARIOS:
            chances[name][rows] = answer.of(name)
        values = tuple(one.at(rows, new) for one, new in zip(values, answer.told, strict=True))
    return complete(Answer(chances, told=values, everybody=answers[1].everybody))


def _add_code(code: CodeOracle | None, found: _Found, seeds: Pairs, *, read: bool = True) -> Answer:
    """Return what is found by distances and by the code that the pairs found so show, or by the number of bits."""
    answer = found.answer
    if code is None:
        return prefer(answer, found.by_bits)
    asked = read and code.holder.dictionary is not None
    enough = all(float(answer.of(name).mean()) >= code.how.found for name in SCENARIOS) if found.sought else True
    if enough and not asked:
        return answer
    named, more = code.search(seeds, found.claims)
    answer = prefer(better(answer, more), found.by_bits)
    return replace(answer, everybody=code.read(named, answer, seeds, found.truth[:, 0]) if asked else None)


def _ask_by_code(
    code: CodeOracle | None, holder: Holder, told: Callable[[Ints], Pairs], order: Ints, points: Sequence[int]
) -> tuple[KnownPairs, ...]:
    """Return what those find by the code alone who know so many pairs; only where records are read."""
    if code is None or holder.dictionary is None:
        return ()
    found, guess = [_guess(holder)], _guess_chances(holder)
    for many in points:
        seeds = told(order[:many]) if many < len(order) else ()
        answer = code.know_all() if many == len(order) else code.search(seeds)[1]
        sought = np.isin(holder.truth.pairs[:, 0], [row for row, _ in seeds], invert=True)
        least = Answer({name: guess[name][sought] for name in SCENARIOS})
        best = least if answer is None else better(least, replace(answer, told=()))
        found.append(KnownPairs(many, best.hits, int(sought.sum())))
    return _rising(found)


def _guess_chances(holder: Holder) -> dict[str, FloatArray]:
    if len(holder.exact.numbers):
        return dict(ask_numbers(replace(holder, seeds=())).chances)
    alike = holder.alike or holder.candidates
    return {name: find_chances(None, holder.truth, alike, (), name) for name in SCENARIOS}


def _guess(holder: Holder, weights: Claims | None = None) -> KnownPairs:
    """Return what is found by labels and numbers alone, and by how many bits there are."""
    chances = _guess_chances(holder)
    if weights is not None:
        chances = dict(prefer(Answer(chances), replace(Answer.of_claims(weights, holder), told=())).chances)
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
    answer: Answer  # by distances
    clear: Ints  # pairs that served as references besides
    claims: Claims | None = None
    by_bits: Answer | None = None

    @property
    def sought(self) -> int:
        return len(self.truth)

    @property
    def hits(self) -> Hits:
        best = prefer(self.answer, self.by_bits)
        return Hits(*(float(best.of(name).sum()) for name in SCENARIOS))


@dataclass(frozen=True, eq=False)
class _Release:
    """A release and all that is known of its people."""

    encoded: Encoded
    shown: NDArray[np.uint8]  # (releases, records, records)
    which: Ints
    pairs: tuple[Ints, Ints]
    holder: Holder
    by: Weighing
    weights: Claims | None = None  # what the number of bits says without a known pair
    group: Ints | None = None  # of each record, if one release falls into some: others than these say nothing of it

    def profiles(self, references: References, known: Ints, sure: Ints, how: Insider) -> Profiles:
        """Return the distances of all records and people to references; ``known`` are rows of the joined file.

        ``sure`` is the level of each reference: one that is wrong tells nothing, whatever is published of it.
        """
        codes, law = self.encoded.codes, self.encoded.law
        tables = np.stack([np.log(level * np.exp(law.table) + 1 - level) for level in how.levels])
        record = np.ascontiguousarray(self.shown[:, :, references.record])
        person = np.ascontiguousarray(codes[np.ix_(self._everybody, known)])[None]
        return Profiles(kernels.Coded(record, person, tables, sure, self.which), references)

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
        profiles = self.profiles(references, self.encoded.records[order], np.zeros(len(order), np.int64), how)
        scored = self._score(profiles, self.pairs)
        claims = claim_scored(scored.scaled(self._worth(len(order), how)), self.holder, self.by)
        return self._judge(claims, ())

    def search(self, seeds: Pairs, how: Insider, start: Ints = NOTHING) -> _Found:
        """Find people from some pairs that are known, and go on from what is found, or was with fewer of them."""
        told = np.array(seeds, dtype=np.int64).reshape(-1, 2)
        open_ = ~(np.isin(self.pairs[0], told[:, 0]) | np.isin(self.pairs[1], told[:, 1]))
        pairs = self.pairs[0][open_], self.pairs[1][open_]
        found = start[~(np.isin(start[:, 0], told[:, 0]) | np.isin(start[:, 1], told[:, 1]))]
        best: tuple[float, Scored | None, Ints] = (-1.0, None, found)
        for _ in range(how.rounds):
            both = np.concatenate([np.pad(told, ((0, 0), (0, 1))), found])
            both = both[np.argsort(both[:, 2], kind="stable")]  # the surest first
            references = References(both[:, 0], both[:, 1])
            profiles = self.profiles(references, self.encoded.people[both[:, 1]], both[:, 2], how)
            scored = self._score(profiles, pairs).scaled(self._worth(len(both), how))
            chance = match_scored(scored, self.holder, replace(self.by, rounds=how.matching_rounds))
            found = _choose(scored, chance, how)
            expected = float(np.take(how.levels, found[:, 2]).sum())
            before, best = best[0], max(best, (expected, scored, found), key=lambda one: one[0])
            if expected <= before + how.grown * self.shown.shape[1]:
                break
        _, scored_best, found = best
        assert scored_best is not None
        return self._judge(claim_scored(scored_best, self.holder, self.by), seeds, found)

    def _score(self, profiles: Profiles, pairs: tuple[Ints, Ints]) -> Scored:
        strangers = self._strangers
        people = len(self.encoded.people) + np.arange(len(strangers))
        own = np.zeros(len(strangers))
        profiles.add((strangers, people), (0, len(profiles.references.record)), own)
        if self.group is None:
            return Scored(*pairs, profiles.score(pairs, self.by), strangers, own)
        score = np.full(len(pairs[0]), -np.inf)
        for group in range(self.groups):
            inside = np.flatnonzero(self.group[pairs[0]] == group)
            part = profiles.among(np.flatnonzero(self.group[profiles.references.record] == group))
            score[inside] = part.score((pairs[0][inside], pairs[1][inside]), self.by)
        return Scored(*pairs, score, strangers, own)

    @property
    def groups(self) -> int:
        """How many there are."""
        return 1 if self.group is None else int(self.group.max()) + 1

    def _judge(self, claims: Claims, seeds: Pairs, clear: Ints = NOTHING) -> _Found:
        holder = replace(self.holder, seeds=seeds)
        answer = Answer.of_claims(claims, holder)
        by_bits = None if self.weights is None else Answer.of_claims(self.weights, holder)
        return _Found(holder.sought.pairs, answer, clear, claims, by_bits)

    def _worth(self, references: int, how: Insider) -> float:
        """Return by which factor the sum of the evidence of so many references counts: they are not independent.

        It is the one by which records of a draw of one's own are best told apart.
        """
        rows = self.encoded.records[some_rows(self.shown.shape[1], how.trials)]
        columns = self.encoded.records[some_rows(self.shown.shape[1], max(references // self.groups, 1))]
        trial, codes, table = self.encoded.trial, self.encoded.codes, self.encoded.law.table
        place = np.full(len(trial), -1)
        place[columns] = np.arange(len(columns))
        # a column of a row itself would give the truth away
        record = trial[np.ix_(rows, columns)]
        own = place[rows]
        t, k = np.divmod(np.arange(len(rows) ** 2), len(rows))
        sure, which = np.zeros(len(columns), np.int64), np.zeros(1, np.int64)
        data = kernels.Coded(record[None], codes[np.ix_(rows, columns)][None], table[None], sure, which)
        total = np.zeros(len(t))
        kernels.add_coded(t, k, data, kernels.Columns(own, own, 0, len(columns), 0), total)
        score = total.reshape(len(rows), len(rows))
        score = score - score.max(axis=1, keepdims=True)
        gains = []
        for factor in how.factors:
            odds = factor * score
            gains.append(float((np.diagonal(odds) - np.log(np.exp(odds).sum(axis=1))).sum()))
        return how.factors[int(np.argmax(gains))]


def _choose(scored: Scored, chance: FloatArray, how: Insider) -> Ints:
    """Return the most probable pair of each record that is one of its person too, with the level of how sure it is."""
    order = np.flatnonzero(chance > how.levels[-1])
    order = order[np.argsort(-chance[order], kind="stable")]
    for side in (scored.t, scored.k):
        order = order[np.sort(np.unique(side[order], return_index=True)[1])]
    level = len(how.levels) - np.searchsorted(how.levels[::-1], chance[order], side="right")
    return np.column_stack([scored.t[order], scored.k[order], level])
