"""Name listed people by a learned code: every record is weighed against every person, one-to-one.

Whoever is named surely is learned from in the next round, with everybody who was known before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.code.learning import LEARNING, Code, Floats, Form, Learning, Lesson, choose_form, learn_code
from disclique.attacks.code.tokens import Cells, list_ways
from disclique.attacks.meaning import NOBODY as NO_SUM
from disclique.attacks.meaning import Bells, Meaning, learn_meaning
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.model import Candidates
from disclique.progress import tell
from disclique.spaces import spaced

Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Naming:
    """How people are named by a code."""

    learning: Learning = LEARNING
    best: int = 20  # people of each record, and records of each person, that are weighed against each other
    block: int = 1000  # records that are scored at a time
    sure: float = 0.95  # pairs at least so probable are learned from
    rounds: int = 3  # of learning and naming
    grown: float = 0.02  # share of the pairs by which they must become more to learn once more
    share: float = 0.5  # of common records, if it is to be estimated
    against: int = 2000  # best people of each record among whom scores mean something: where few stand out, all count
    trials: int = 1000  # pairs by which it is learned what scores mean
    few: int = 100  # trials below which sums of scores are taken to be bell-shaped
    telling: float = 0.8  # share of a trial from which on sums of scores tell whether anybody on the list is it
    listed: bool = False  # how many are on the list is known, and need not be learned from sums


NAMING = Naming()
NONE = np.zeros(0, np.int64)
UNKNOWN = Meaning(1.0, Bells(0.0, 0.0, 1.0, 1.0), np.zeros(0), np.zeros(0))  # where nothing could be tried


@dataclass(frozen=True, eq=False)
class Known:
    """Pairs that are learned from: rows of records and of people, and how surely each is right."""

    record: Ints
    person: Ints
    weight: Floats

    def __len__(self) -> int:
        return len(self.record)

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, int]], weight: Sequence[float] | None = None) -> Known:
        """Return pairs that are known, certainly unless it is said how surely."""
        rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        sure = np.ones(len(rows)) if weight is None else np.asarray(weight)
        return cls(rows[:, 0], rows[:, 1], sure.astype(np.float32))

    def with_more(self, other: Known) -> Known:
        """Return these, and those of others whose record and person are not among them."""
        new = ~(np.isin(other.record, self.record) | np.isin(other.person, self.person))
        parts = ((self.record, other.record), (self.person, other.person), (self.weight, other.weight))
        joined = [np.concatenate([mine, theirs[new]]) for mine, theirs in parts]
        return Known(joined[0], joined[1], joined[2])


@dataclass(frozen=True, eq=False)
class Files:
    """The bits of released records, and the cells of known people; ``q`` is what the mask says of pieces of text."""

    bits: Bits
    people: Sequence[Cells]
    candidates: Candidates
    q: int = 2
    forms: dict[object, Form] = field(default_factory=dict)  # what was chosen before, for other questions

    def teach(self, known: Known) -> Lesson:
        """Return the lesson of known pairs, called by record and person."""
        people = [self.people[k] for k in known.person.tolist()]
        return Lesson(self.bits[known.record], people, known.weight, self.number(known.record, known.person))

    def number(self, record: Ints, person: Ints) -> Ints:
        """Return one number for each pair."""
        return np.asarray(record * len(self.people) + person)

    def form(self, lesson: Lesson, how: Learning) -> Form:
        """Return the form of the code: chosen once by many pairs."""
        if "form" not in self.forms:
            self.forms["form"] = choose_form(lesson, list_ways(self.q), how)
        return self.forms["form"]


@dataclass(frozen=True, eq=False)
class Named:
    """Pairs with their probabilities, and the code by which they were found; None where there are too few pairs."""

    record: Ints
    person: Ints
    probability: NDArray[np.float64]
    code: Code | None

    @property
    def clear(self) -> bool:
        """True if the code is better than chance."""
        return self.code is not None and self.code.clear

    def sure(self, least: float) -> Known:
        """Return the pairs that are so probable, each record and person once."""
        keep = self.probability >= least
        order = np.argsort(-self.probability[keep], kind="stable")
        rows, people, chance = (one[keep][order] for one in (self.record, self.person, self.probability))
        for side in (0, 1):
            first = np.sort(np.unique((rows, people)[side], return_index=True)[1])
            rows, people, chance = rows[first], people[first], chance[first]
        return Known(rows.astype(np.int64), people.astype(np.int64), chance.astype(np.float32))


NOBODY = Named(NONE, NONE, np.zeros(0), None)


def name_people(files: Files, told: Known, found: Known, common: float | None, how: Naming = NAMING) -> Named:
    """Name people from pairs that are ``told`` and pairs that were ``found`` in another way, which may be wrong.

    What scores mean is learned from these alone, however many are named by them: who was named because they fit well
    says nothing about how well others do.
    """
    judges = known = told.with_more(found)
    best = NOBODY
    for round_ in range(how.rounds):
        if len(known) < how.learning.fewest:
            return best
        tell("code", round_ / how.rounds)
        lesson = files.teach(known)
        code = learn_code(lesson, files.form(lesson, how.learning), how.learning)
        if code is None or not code.clear:
            return best if best.clear else replace(NOBODY, code=code)
        fresh = weigh_pairs(files, code, told, common, how, judges)
        if fresh.probability.sum() >= best.probability.sum():
            best = fresh
        more = told.with_more(best.sure(how.sure))
        if len(more) <= len(known) * (1 + how.grown):
            return best
        known = more
    return best


def weigh_pairs(
    files: Files, code: Code, told: Known, common: float | None, how: Naming = NAMING, judges: Known | None = None
) -> Named:
    """Return the probabilities of pairs by a code; who is told is no more sought.

    ``judges`` are the pairs by which it is learned what scores mean, those the code was learned from if not said.
    """
    return weigh_scored(score_pairs(files, code, told, how, judges=judges), files, code, common)


@dataclass(frozen=True, eq=False)
class Scores:
    """The pairs that fit best, with log likelihood ratios by code and labels.

    ``mass`` is the share that the listed pairs have of all pairs of their record, and of their person: what is not
    listed may be the right one, too.
    """

    record: Ints
    person: Ints
    ratio: NDArray[np.float64]
    mass: NDArray[np.float64]


def weigh_scored(found: Scores, files: Files, code: Code | None, common: float | None) -> Named:
    """Return the probabilities of scored pairs, when nobody is twice in a file."""
    sizes = files.candidates.sizes
    if common is None:
        common = estimated_share(found.record, found.person, found.ratio, sizes=sizes)
    share = min(max(common, 1e-3), 0.99)
    chance = matching_posterior(found.record, found.person, found.ratio, sizes=sizes, common=share)
    return Named(found.record, found.person, chance * found.mass, code)


def score_pairs(
    files: Files,
    code: Code,
    told: Known,
    how: Naming = NAMING,
    rows: Ints | None = None,
    judges: Known | None = None,
) -> Scores:
    """Score records (all, unless ``rows`` says which) against people, in blocks; who is told is left out.

    Every record is scored by a code that was not learned from it.
    """
    people = len(files.people)
    meaning = try_out(files, code, how, judges)
    sought = np.setdiff1d(np.arange(len(files.bits)) if rows is None else rows, told.record)
    free = np.isin(np.arange(people), told.person, invert=True)
    best = _Best(people, min(how.best, max(len(sought), 1)))
    parts, sums, rest = [], np.full(len(files.bits), NO_SUM), np.full(len(files.bits), NO_SUM)
    for here, fit in _fit_unlearned(files, code, sought, how):
        score = np.where(free, meaning.slope * fit, -np.inf)
        few = min(how.best, people)
        top = np.argpartition(-score, few - 1, axis=1)[:, :few]
        value = np.take_along_axis(score, top, axis=1)
        many = score if people <= how.against else np.partition(score, people - how.against, axis=1)[:, -how.against :]
        sums[here] = np.maximum(_log_sum(many), NO_SUM)
        rest[here] = np.maximum(_log_sum(np.where(many < many.max(axis=1, keepdims=True), many, -np.inf)), NO_SUM)
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = np.nan_to_num(np.exp(_log_sum(value) - _log_sum(score)))
        parts.append((np.repeat(here, few), top.ravel(), value.ravel(), np.repeat(mass, few)))
        best.add(here, score, mass)
    parts.append(best.pairs())
    record, person, value, mass = (np.concatenate([part[k] for part in parts]) for k in range(4))
    keep = np.isfinite(value) & (record >= 0)
    record, person, value, mass = record[keep].astype(np.int64), person[keep], value[keep], mass[keep]
    mass = np.minimum(mass, best.mass()[person])
    _, first = np.unique(record * people + person, return_index=True)
    record, person = record[first], person[first].astype(np.int64)
    value, mass = value[first], mass[first]
    if not how.listed:  # else a score is what it says: this one against anybody
        value = value + meaning.among(sums[sought], rest[sought], how.few).shifted(sums, rest)[record]
    if files.candidates.evidence is not None:  # else how rare labels are is in the sums: only what they allow is there
        value = value + files.candidates.log_odds(record, person)
    return Scores(record, person, value, mass)


def _fit_unlearned(files: Files, code: Code, rows: Ints, how: Naming) -> Iterator[tuple[Ints, NDArray[np.float64]]]:
    """Return the same, each record by a code that was not learned from it, and all by codes of as many pairs."""
    learned = [trial.number // len(files.people) for trial in code.trials]
    if not np.isin(rows, np.concatenate([NONE, *learned])).any():
        yield from _fit_blocks(files, code, rows, how)
        return
    for trial, some in zip(code.trials, _deal(rows, learned), strict=True):
        yield from _fit_blocks(files, trial.code, some, how)


def _deal(every: Ints, learned: Sequence[Ints]) -> list[Ints]:
    """Return who is tried by which code: those whom it was not learned from, and all others in turn."""
    others = np.setdiff1d(every, np.concatenate([NONE, *learned]))
    return [np.union1d(np.intersect1d(every, some), others[k :: len(learned)]) for k, some in enumerate(learned)]


def _fit_blocks(files: Files, code: Code, rows: Ints, how: Naming) -> Iterator[tuple[Ints, NDArray[np.float64]]]:
    """Return how well records fit every person whom labels allow, a block of records at a time."""
    odds, zeros = code.open(files.people)
    every = np.arange(len(files.people))[None, :]
    for begin in range(0, len(rows), how.block):
        here = rows[begin : begin + how.block]
        turned = code.turn(files.bits[here]).astype(np.float32)
        fit = (turned @ odds.T + zeros - code.anybody(turned)[:, None]).astype(np.float64)
        yield here, np.where(files.candidates.allowed(here[:, None], every), fit, -np.inf)


def try_out(files: Files, code: Code, how: Naming = NAMING, judges: Known | None = None) -> Meaning:
    """Learn what scores mean: of pairs that a code was not learned from, against everybody else on the list."""
    if judges is not None:
        number, weight = files.number(judges.record, judges.person), judges.weight
    else:
        number = np.concatenate([trial.number for trial in code.trials])
        weight = np.concatenate([trial.right for trial in code.trials])
    some = spaced(len(number), how.trials)
    number, weight = number[some], weight[some]
    shares = _deal(number, [trial.number for trial in code.trials])
    parts = [_Tried.of(files, trial.code, some, how) for trial, some in zip(code.trials, shares, strict=True)]
    tried = _Tried.all(parts)
    sure = np.asarray(weight[np.argsort(number)][np.searchsorted(np.sort(number), tried.number)], np.float64)
    return tried.mean(sure, how)


@dataclass(frozen=True, eq=False)
class _Tried:
    """Pairs that were tried out: how well they fit, and how well the best strangers of their records do."""

    number: Ints
    own: NDArray[np.float64]
    strangers: NDArray[np.float64]

    @classmethod
    def of(cls, files: Files, code: Code, number: Ints, how: Naming) -> _Tried:
        record, person = np.divmod(number, len(files.people))
        few = min(how.against, len(files.people))
        own, strangers, done = np.zeros(len(number)), np.zeros((len(number), few)), 0
        for here, fit in _fit_blocks(files, code, record, how) if len(number) else ():
            place, rows = np.arange(len(here)), slice(done, done + len(here))
            own[rows] = fit[place, person[rows]]
            fit[place, person[rows]] = -np.inf
            strangers[rows] = np.partition(fit, fit.shape[1] - few, axis=1)[:, -few:]
            done += len(here)
        return cls(number, own, strangers)

    @classmethod
    def all(cls, parts: Sequence[_Tried]) -> _Tried:
        number, own, strangers = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("number", "own", "strangers")
        )
        there = np.isfinite(own)  # labels may exclude what was found in another way
        return cls(number[there], own[there], strangers[there])

    def mean(self, sure: NDArray[np.float64], how: Naming) -> Meaning:
        """Learn what scores mean, and once more when it is known which of the pairs are hardly right."""
        found, weight = None, sure
        for _ in range(2):
            found = learn_meaning(self.own, self.strangers, weight, few=how.few, steepest=1.0, telling=how.telling)
            if found is None:
                return UNKNOWN
            every = np.column_stack([self.own, self.strangers])
            rows = np.repeat(np.arange(len(every)), every.shape[1])
            ratio = found.ratio(rows, every.ravel(), len(every)).reshape(every.shape)
            with np.errstate(over="ignore"):
                odds = np.exp(ratio[:, 0]) / (1 + np.exp(ratio[:, 1:]).sum(axis=1))
            prior = np.clip(sure, 0.01, 0.99) / (1 - np.clip(sure, 0.01, 0.99))
            weight = np.maximum(prior * odds / (1 + prior * odds), how.learning.wrong)
        assert found is not None
        return found


def _log_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    top = np.maximum(values.max(axis=1, initial=-np.inf), -1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(values - top[:, None]).sum(axis=1)) + top)


class _Best:
    """The best records of every person so far, and what all of theirs weigh."""

    def __init__(self, people: int, few: int) -> None:
        self.value = np.full((people, few), -np.inf)
        self.owner = np.full((people, few), -1, np.int64)
        self.row_mass = np.zeros((people, few))
        self.total = np.full(people, -np.inf)

    def add(self, here: Ints, score: NDArray[np.float64], mass: NDArray[np.float64]) -> None:
        few = self.value.shape[1]
        both = np.concatenate([self.value, score.T], axis=1)
        shape = (len(self.value), len(here))
        owner = np.concatenate([self.owner, np.broadcast_to(here, shape)], axis=1)
        masses = np.concatenate([self.row_mass, np.broadcast_to(mass, shape)], axis=1)
        order = np.argpartition(-both, few - 1, axis=1)[:, :few]
        self.value, self.owner, self.row_mass = (np.take_along_axis(one, order, 1) for one in (both, owner, masses))
        self.total = np.logaddexp(self.total, _log_sum(score.T))

    def pairs(self) -> tuple[Ints, Ints, NDArray[np.float64], NDArray[np.float64]]:
        person = np.repeat(np.arange(len(self.value)), self.value.shape[1])
        return self.owner.ravel(), person, self.value.ravel(), self.row_mass.ravel()

    def mass(self) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(np.exp(_log_sum(self.value) - self.total)))
