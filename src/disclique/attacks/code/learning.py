"""Learn a code from records whose people are known: which tokens make which bits, and how sure that is.

Two forms of codes are tried: tokens that set bits (``sets``), and tokens that make bits more or less probable
(``leans``), for encodings that are no sets. What is learned is judged by records that were not learned from: there
a sum of evidence for a bit gets its meaning (``Link``), and there the best way to cut texts is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from disclique.attacks.code.tokens import Cells, Vocabulary, Way
from disclique.engine.kernels import codes as kernels

Floats = NDArray[np.float32]
Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]
SETS, LEANS = "sets", "leans"


@dataclass(frozen=True)
class Learning:
    """How a code is learned."""

    folds: int = 8  # parts of the pairs, each of which is predicted from the others
    fewest: int = 8  # pairs from which anything is learned
    most: int = 2500  # pairs that are learned from: more add little and take long
    rounds: int = 8  # in which each token is weighed given the others
    noises: tuple[float, ...] = (0.01, 0.1, 0.3)  # of a bit that should be set and is not, or is set by nothing
    ridges: tuple[float, ...] = (3.0, 30.0)  # by which leanings are drawn to none
    cells: int = 64  # of the table that says what evidence means
    steps: int = 2048  # of the same table as it is looked up
    wrong: float = 0.02  # weight of a pair that is certainly wrong
    clear_turn: float = 6.0  # nats by which the opposite of a bit must be predicted better
    trial_bits: int = 160  # by which ways to cut texts are compared
    trial_pairs: int = 400


@dataclass(frozen=True)
class Chance:
    """What a code must do better than chance: that many standard errors, each of a rank that is anything."""

    errors: float = 4.0
    spread: float = 0.289  # of a share that is anything between 0 and 1


LEARNING, CHANCE = Learning(), Chance()


@dataclass(frozen=True, eq=False)
class Lesson:
    """Records whose people are known: their bits (one row a record), cells, and how surely each pair is right.

    ``number`` is what a pair is called, its place in the lesson unless something else is said.
    """

    bits: Bits
    people: Sequence[Cells]
    weight: Floats
    number: Ints | None = None

    def __post_init__(self) -> None:
        if self.number is None:
            object.__setattr__(self, "number", np.arange(len(self.people)))

    def __len__(self) -> int:
        return len(self.people)

    def part(self, rows: Ints, columns: Ints | slice = slice(None)) -> Lesson:
        """Return some of the records, and of the bits."""
        assert self.number is not None
        people = [self.people[row] for row in rows]
        return Lesson(self.bits[rows][:, columns], people, self.weight[rows], self.number[rows])


@dataclass(frozen=True, eq=False)
class Code:
    """A learned code: a person's tokens add ``effect`` (tokens, bits) to ``base``, and ``link`` says what sums mean.

    A token that was never seen adds ``strange`` to every bit. Bits that are ``turned`` are read as their opposite.
    ``gain`` is how much more likely the bits of records are, in nats, that were not learned from, ``worth`` by which
    factor the sum over all bits counts: bits are not independent of each other.
    """

    vocabulary: Vocabulary
    base: Floats
    effect: Floats
    strange: float
    turned: NDArray[np.bool_]
    link: kernels.Link
    kind: str
    usual: Floats  # the share of records that have a bit, turned
    gain: float = 0.0
    wins: float = 0.5  # share of strangers whom the right person fits better than, of records not learned from
    worth: float = 1.0
    held: Floats = field(default_factory=lambda: np.zeros(0, np.float32))  # how probably each pair is right
    trials: tuple[Trial, ...] = ()

    @property
    def clear(self) -> bool:
        """True if right people fit records better than others do, beyond chance, where nothing was learned from."""
        return bool(self.wins > 0.5 + CHANCE.errors * CHANCE.spread / np.sqrt(max(len(self.held), 1)))

    def turn(self, bits: Bits) -> Bits:
        """Return bits as the code reads them."""
        return np.asarray(bits ^ self.turned.astype(np.uint8))

    def sum_tokens(self, tokens: Sequence[tuple[object, ...]]) -> Floats:
        """Return what tokens add to the evidence for every bit, a row for each set of them."""
        members, strange = self.vocabulary.mark(tokens)
        return np.asarray(members @ self.effect + (self.strange * strange)[:, None], dtype=np.float32)

    def sums(self, people: Sequence[Cells]) -> Floats:
        """Return the evidence for every bit, a row a person."""
        return self.base + self.sum_tokens([self.vocabulary.way.cut(cells) for cells in people])

    def fit(self, bits: Bits, people: Sequence[Cells]) -> Floats:
        """Return how much more likely the bits of each record are of each person than of anybody (records, people)."""
        turned = self.turn(bits).astype(np.float32)
        odds, zeros = self.open(people)
        return (turned @ odds.T + zeros - self.anybody(turned)[:, None]).astype(np.float32)

    def open(self, people: Sequence[Cells]) -> tuple[Floats, Floats]:
        """Return the log odds of every bit, a row a person, and the log likelihood of no bit at all."""
        return link_people(self.sums(people), self.link)

    def anybody(self, turned: Floats) -> Floats:
        """Return the log likelihood of records by how usual bits are."""
        usual = np.log(self.usual)
        return np.asarray(turned @ (usual - np.log(1 - self.usual)) + np.log(1 - self.usual).sum(), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Trial:
    """A code that was learned without some pairs, by which it is tried out."""

    number: Ints  # of the pairs, as the lesson calls them
    right: Floats  # how probably each is right
    code: Code


def link_people(sums: Floats, link: kernels.Link) -> tuple[Floats, Floats]:
    """Return the log odds of every bit, and the log likelihood of no bit at all."""
    odds, zeros = np.empty(sums.shape, np.float32), np.empty(len(sums), np.float32)
    kernels.link_sums(np.ascontiguousarray(sums, dtype=np.float32), link, odds, zeros)
    return odds, zeros


Fitted = tuple[Floats, Floats, float]  # base, effect, of a strange token
Fit = Callable[[Any, Lesson], Fitted]


def fit_sets(members: Any, lesson: Lesson, noise: kernels.Noise, how: Learning = LEARNING) -> Fitted:
    """Return the log chances that a token leaves a bit alone; sums of them that nobody sets it."""
    turned = members.tocsc()
    lessons = kernels.Lessons(
        np.ascontiguousarray(lesson.bits.T),
        turned.indptr.astype(np.int64),
        turned.indices.astype(np.int64),
        lesson.weight.astype(np.float32),
    )
    believed = np.zeros((lesson.bits.shape[1], members.shape[1]), np.float32)
    kernels.learn_bits(lessons, noise, how.rounds, believed)
    effect = np.ascontiguousarray(np.log1p(-np.minimum(believed, 1 - 1e-6)).T)
    base = np.zeros(lesson.bits.shape[1], np.float32)
    return base, effect, float(np.log1p(-noise.prior))


def fit_leans(members: Any, lesson: Lesson, ridge: float) -> Fitted:
    """Return how tokens make bits more or less probable: a regression, drawn to no effect."""
    weight = lesson.weight / max(float(lesson.weight.mean()), 1e-9)
    mean = np.average(lesson.bits, axis=0, weights=weight).astype(np.float32)
    dense = members.toarray().astype(np.float32)
    centre = np.average(dense, axis=0, weights=weight).astype(np.float32)
    root = np.sqrt(weight)[:, None].astype(np.float32)
    x, y = root * (dense - centre), root * (lesson.bits - mean)
    if x.shape[0] <= x.shape[1]:
        effect = x.T @ np.linalg.solve(x @ x.T + ridge * np.eye(len(x), dtype=np.float32), y)
    else:
        effect = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1], dtype=np.float32), x.T @ y)
    # sums fall where a bit becomes more probable, as those of sets do
    return -(mean - centre @ effect), -effect.astype(np.float32), 0.0


@dataclass(frozen=True)
class Form:
    """How texts are cut, what form a code has, and the one number that it is learned by."""

    way: Way
    kind: str
    value: float

    def fit(self, members: Any, lesson: Lesson, how: Learning) -> Fitted:
        """Learn a code of this form."""
        if self.kind == LEANS:
            return fit_leans(members, lesson, self.value)
        return fit_sets(
            members, lesson, kernels.Noise(_prior(members, lesson, self.value), 0.7 * self.value, self.value), how
        )


def _prior(members: Any, lesson: Lesson, noise: float) -> float:
    """Return the chance that a token sets a bit, by how many tokens records have and how many bits beyond noise."""
    tokens = float(members.sum(axis=1).mean())
    ones = float(np.average(lesson.bits.mean(axis=1), weights=lesson.weight))
    ones = min(max((ones - 0.7 * noise) / (1 - 1.7 * noise), 0.01), 0.95)
    return float(min(max(1 - (1 - ones) ** (1 / max(tokens, 1.0)), 1e-4), 0.5))


def list_forms(ways: Sequence[Way], how: Learning = LEARNING) -> list[Form]:
    """Return the forms that are tried."""
    values = {SETS: how.noises, LEANS: how.ridges}
    return [Form(way, kind, value) for way in ways for kind, some in values.items() for value in some]


def choose_form(lesson: Lesson, ways: Sequence[Way], how: Learning = LEARNING) -> Form:
    """Return the form by which records are predicted best that were not learned from; by some of pairs and bits."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(lesson))[: how.trial_pairs])
    columns = np.sort(rng.permutation(lesson.bits.shape[1])[: how.trial_bits])
    some, how = lesson.part(rows, columns), replace(how, folds=2)

    def gain(form: Form) -> float:
        turned = _find_turned(some, form, how)
        return _Held.of(replace(some, bits=some.bits ^ turned.astype(np.uint8)), form, how).gain

    return max(list_forms(ways, how), key=gain)


def learn_code(lesson: Lesson, form: Form, how: Learning = LEARNING) -> Code | None:
    """Learn a code; None where there are too few pairs. Pairs that do not fit what others say count little."""
    if len(lesson) < how.fewest:
        return None
    if len(lesson) > how.most:
        rows = np.sort(np.argsort(-lesson.weight, kind="stable")[: how.most])
        lesson = lesson.part(rows)
    turned = _find_turned(lesson, form, how)
    lesson = replace(lesson, bits=lesson.bits ^ turned.astype(np.uint8))
    held = _Held.of(lesson, form, how)
    right = held.right(lesson.weight)
    if (right < 0.5 * lesson.weight).any():
        lesson = replace(lesson, weight=np.maximum(right, how.wrong).astype(np.float32))
        held = _Held.of(lesson, form, how)
    vocabulary = Vocabulary(form.way)
    members = vocabulary.learn(lesson.people)
    base, effect, strange = form.fit(members, lesson, how)
    return Code(
        vocabulary,
        base.astype(np.float32),
        effect,
        strange,
        turned,
        held.link,
        form.kind,
        held.usual,
        held.gain,
        held.wins,
        held.worth,
        held.right(lesson.weight),
        held.trials(lesson, form, turned),
    )


def _find_turned(lesson: Lesson, form: Form, how: Learning) -> NDArray[np.bool_]:
    """Return which bits are set unless a token is there: their opposite is predicted better."""
    none = np.zeros(lesson.bits.shape[1], bool)
    if form.kind == LEANS or lesson.bits.mean(axis=0).max(initial=0.0) < 0.5:
        return none
    rows = np.sort(np.random.default_rng(0).permutation(len(lesson))[: how.trial_pairs])
    some = lesson.part(rows)
    there = _Held.of(some, form, replace(how, folds=2)).by_bit
    back = _Held.of(replace(some, bits=1 - some.bits), form, replace(how, folds=2)).by_bit
    return np.asarray(back > there + how.clear_turn)


@dataclass(frozen=True, eq=False)
class _Held:
    """What is predicted of records that were not learned from."""

    link: kernels.Link
    usual: Floats
    by_bit: NDArray[np.float64]  # nats gained at each bit, over all records
    scores: tuple[tuple[Ints, Floats], ...]  # of each fold: rows, and how well each fits each person
    count: int
    fitted: tuple[tuple[Vocabulary, Fitted], ...]  # of each fold, without it

    @classmethod
    def of(cls, lesson: Lesson, form: Form, how: Learning) -> _Held:
        order = np.random.default_rng(1).permutation(len(lesson))
        folds = [np.sort(part) for part in np.array_split(order, min(how.folds, len(lesson)))]
        sums, every = np.zeros(lesson.bits.shape, np.float32), []
        for fold in folds:
            rest = lesson.part(np.setdiff1d(order, fold))
            vocabulary = Vocabulary(form.way)
            base, effect, strange = fitted = form.fit(vocabulary.learn(rest.people), rest, how)
            every.append((vocabulary, fitted))
            members, odd = vocabulary.mark([form.way.cut(lesson.people[row]) for row in fold])
            sums[fold] = base + members @ effect + (strange * odd)[:, None]
        link = make_link(sums, lesson.bits, lesson.weight, how)
        odds, zeros = link_people(sums, link)
        by_bit, scores = np.zeros(lesson.bits.shape[1]), []
        for fold in folds:
            part, usual = lesson.part(fold), find_usual(lesson.part(np.setdiff1d(order, fold)))
            by_bit += _gain_by_bit(sums[fold], link, part, usual)
            bits = part.bits.astype(np.float32)
            anybody = bits @ (np.log(usual) - np.log(1 - usual)) + np.log(1 - usual).sum()
            scores.append((fold, bits @ odds[fold].T + zeros[fold] - anybody[:, None]))
        return cls(link, find_usual(lesson), by_bit, tuple(scores), len(lesson), tuple(every))

    @property
    def gain(self) -> float:
        """Nats gained a record."""
        return float(self.by_bit.sum() / max(self.count, 1))

    @property
    def wins(self) -> float:
        """How often the right person fits better than another one."""
        found = [
            (np.diagonal(s)[:, None] > s)[~np.eye(len(s), dtype=bool)].mean() for _, s in self.scores if len(s) > 1
        ]
        return float(np.mean(found)) if found else 0.5

    @property
    def worth(self) -> float:
        """The factor of evidence by which the right people are best told apart."""
        best, most = 1.0, -np.inf
        for factor in WORTHS:
            total = 0.0
            for _, score in self.scores:
                odds = factor * (score - score.max(axis=1, keepdims=True))
                total += float((np.diagonal(odds) - np.log(np.exp(odds).sum(axis=1))).sum())
            if total > most:
                best, most = factor, total
        return best

    def trials(self, lesson: Lesson, form: Form, turned: NDArray[np.bool_]) -> tuple[Trial, ...]:
        """Return the codes that were learned without some of the pairs."""
        assert lesson.number is not None
        found, right = [], self.right(lesson.weight)
        for (fold, _), (vocabulary, (base, effect, strange)) in zip(self.scores, self.fitted, strict=True):
            code = Code(vocabulary, base.astype(np.float32), effect, strange, turned, self.link, form.kind, self.usual)
            found.append(Trial(lesson.number[fold], right[fold], code))
        return tuple(found)

    def right(self, weight: Floats) -> Floats:
        """Return how probably each pair is right, by how well it fits what other pairs say."""
        own = np.zeros(self.count)
        for fold, score in self.scores:
            own[fold] = np.diagonal(score)
        prior = np.clip(weight, 0.01, 0.99)
        odds = np.clip(self.worth * own, -50, 50) + np.log(prior) - np.log1p(-prior)
        return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)


def find_usual(lesson: Lesson) -> Floats:
    """Return the share of records that have each bit."""
    total = float(lesson.weight.sum())
    whole = float(np.average(lesson.bits.mean(axis=1), weights=lesson.weight))
    ones = (lesson.weight[:, None] * lesson.bits).sum(axis=0)
    return np.asarray(np.clip((ones + 4 * whole) / (total + 4), 1e-4, 1 - 1e-4), dtype=np.float32)


WORTHS = (1.0, 0.8, 0.6, 0.45, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.0)


def _gain_by_bit(sums: Floats, link: kernels.Link, lesson: Lesson, usual: Floats) -> NDArray[np.float64]:
    cells = np.clip(((sums - link.low) / link.step).astype(np.int64), 0, len(link.one) - 1)
    found = np.where(lesson.bits == 1, link.one[cells] - np.log(usual), link.zero[cells] - np.log(1 - usual))
    return np.asarray((found * lesson.weight[:, None]).sum(axis=0), dtype=np.float64)


def make_link(sums: Floats, bits: Bits, weight: Floats, how: Learning = LEARNING) -> kernels.Link:
    """Return what a sum means, by how often bits are set at such sums: never more often at a larger one."""
    value = sums.ravel().astype(np.float64)
    low, high = np.quantile(value, [0.0005, 1.0])
    high = high + 1e-6
    low = min(low, high - 1e-3)
    ends = np.unique(np.quantile(value, np.linspace(0, 1, how.cells + 1)[1:-1]))
    place = np.searchsorted(ends, value, side="right")
    heavy = np.broadcast_to(weight[:, None], sums.shape).ravel()
    count = np.bincount(place, heavy, len(ends) + 1)
    ones = np.bincount(place, heavy * bits.ravel(), len(ends) + 1)
    share = (ones + 0.5) / (count + 1.0)
    falling = isotonic_regression(share, weights=count + 1.0, increasing=False).x
    step = (high - low) / how.steps
    middles = low + step * (np.arange(how.steps) + 0.5)
    centre = np.bincount(place, heavy * value, len(ends) + 1) / np.maximum(count, 1e-9)
    there = count > 0
    chance = np.clip(np.interp(middles, centre[there], falling[there]), 1e-5, 1 - 1e-5)
    return kernels.Link(
        float(low), float(step), np.log(chance).astype(np.float32), np.log1p(-chance).astype(np.float32)
    )
