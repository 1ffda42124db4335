"""What scores mean, by trial: records whose right partner is known are scored against it and against all strangers.

No law of scores is assumed where there are enough trials. Where there are few, the sums of records with and without
their partner are taken to be bell-shaped, with the doubt that so few leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression

from disclique.values import FloatArray

Ints = NDArray[np.int64]
NOBODY = -1e3  # log of the sum over no candidates
STEPS = 3  # by which the sums of everybody take the place of those of a trial


class Present(Protocol):
    """That the right one is among the candidates of a record."""

    def odds(self, total: FloatArray) -> FloatArray:
        """Return the log odds of it by the sum over all candidates, if as many records have theirs as have not."""
        ...


@dataclass(frozen=True, eq=False)
class Steps:
    """Odds as they were in the trial, never smaller at a larger sum."""

    found: IsotonicRegression

    @classmethod
    def of(cls, total: FloatArray, there: FloatArray, weight: FloatArray) -> Steps:
        """Learn from sums with and without the right one."""
        edge = 0.5 / (weight.sum() / 2 + 1)
        found = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip")
        return cls(found.fit(total, there, sample_weight=weight))

    def odds(self, total: FloatArray) -> FloatArray:
        """Return the log odds of sums."""
        chance = self.found.predict(total)
        return np.asarray(np.log(chance) - np.log1p(-chance))


@dataclass(frozen=True, eq=False)
class Mixture:
    """Odds by how much more frequent a sum is among all records, some of which have their partner, than without.

    Whoever was found before is easier to find than others: sums of these would say too much of what is expected.
    """

    found: IsotonicRegression  # that a sum is one of the records', not one without the right partner
    share: float  # of records with their partner
    least: float

    @classmethod
    def of(cls, total: FloatArray, without: FloatArray, weight: FloatArray) -> Mixture:
        """Learn from sums of all records, and weighed sums without the right partner."""
        count = float(weight.sum())
        edge = 0.5 / (count + 1)
        found = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip")
        sums = np.concatenate([total, without])
        there = np.concatenate([np.ones(len(total)), np.zeros(len(without))])
        found.fit(sums, there, sample_weight=np.concatenate([np.full(len(total), count / len(total)), weight]))
        order = np.argsort(without)
        middle = np.searchsorted(np.cumsum(weight[order]), count / 2)
        usual = found.predict(without[order[middle : middle + 1]])[0]
        return cls(found, float(np.clip(1 - usual / (1 - usual), edge, 1 - edge)), edge)

    @classmethod
    def among(cls, total: FloatArray, rest: FloatArray, without: FloatArray, weight: FloatArray) -> Mixture:
        """Learn from sums of all records, with and without their best, where first a trial tells whose is right.

        A trial is small, and of those who are easy to find. So what it tells is used to take the right ones from the
        sums of everybody, which are many and of no choice.
        """
        law = cls.of(total, without, weight)
        for _ in range(STEPS):
            right = law.chance(total) * -np.expm1(np.minimum(rest - total, 0.0))
            law = cls.of(total, np.concatenate([total, rest]), np.concatenate([1 - right, right]))
        return law

    def odds(self, total: FloatArray) -> FloatArray:
        """Return the log odds of sums."""
        chance = self.found.predict(total)
        return np.asarray(np.log(np.maximum((chance / (1 - chance) - (1 - self.share)) / self.share, self.least)))

    def chance(self, total: FloatArray) -> FloatArray:
        """Return how probable it is at each sum that the right one is there."""
        chance = self.found.predict(total)
        return np.asarray(np.clip(1 - (1 - self.share) * (1 - chance) / chance, 0.0, 1.0))


@dataclass(frozen=True)
class Bells:
    """Odds of two bells of one width, which is known from few trials only (Student's law)."""

    without: float
    among: float
    width: float
    freedom: float

    @classmethod
    def of(cls, total: FloatArray, there: FloatArray, weight: FloatArray) -> Bells:
        """Learn from sums with and without the right one."""
        means, squares = [], 0.0
        for which in (0, 1):
            some = there == which
            means.append(float(np.average(total[some], weights=weight[some])))
            squares += float((weight[some] * (total[some] - means[-1]) ** 2).sum())
        freedom = max(float(weight.sum()) - 2, 1.0)
        return cls(means[0], means[1], float(np.sqrt(squares / freedom)) + 1e-6, freedom)

    def odds(self, total: FloatArray) -> FloatArray:
        """Return the log odds of sums."""
        if self.among <= self.without:
            return np.zeros(len(total))
        place = np.clip(total, self.without, self.among)
        far, near = (np.log1p(((place - mean) / self.width) ** 2 / self.freedom) for mean in (self.without, self.among))
        return np.asarray((self.freedom + 1) / 2 * (far - near))


@dataclass(frozen=True, eq=False)
class Least:
    """The lesser odds of two laws."""

    one: Present
    other: Present

    def odds(self, total: FloatArray) -> FloatArray:
        """Return the log odds of sums."""
        return np.minimum(self.one.odds(total), self.other.odds(total))


@dataclass(frozen=True, eq=False)
class Meaning:
    """Which candidate of a record it is, and whether it is any of them.

    Among the candidates of one record the odds rise with ``slope`` times the score. That it is any of them is told by
    the sum over all candidates: how often it is so large with and without the right one among them.
    """

    slope: float
    present: Present
    without: FloatArray  # sums of the trial without the right one, and the weight of each
    weight: FloatArray

    def among(self, total: FloatArray, rest: FloatArray, few: int) -> Meaning:
        """Return the meaning among records with these sums, and without their best, if there were enough trials."""
        if not len(total) or self.weight.sum() < few:
            return self
        return replace(self, present=Mixture.among(total, rest, self.without, self.weight))

    def doubted(self, total: FloatArray, rest: FloatArray, few: int) -> Meaning:
        """Return the meaning where a sum says no more than in the trial, and no more than among these records."""
        return replace(self, present=Least(self.present, self.among(total, rest, few).present))

    def sums(self, rows: Ints, score: FloatArray, records: int) -> tuple[FloatArray, FloatArray]:
        """Return the sum over the candidates of each record, and that without the best of them."""
        value = self.slope * score
        best = np.full(records, -np.inf)
        np.maximum.at(best, rows, value)
        less = value < best[rows]
        return _log_sums(rows, value, records), _log_sums(rows[less], value[less], records)

    def ratio(self, rows: Ints, score: FloatArray, records: int) -> FloatArray:
        """Return the log likelihood ratio of each pair against strangers."""
        return np.asarray(self.slope * score + self.shift(rows, score, records)[rows])

    def shift(self, rows: Ints, score: FloatArray, records: int) -> FloatArray:
        """Return what is added to the weighed scores of each record's candidates."""
        total = _log_sums(rows, self.slope * score, records)
        return np.asarray(self.present.odds(total) - total)


def _log_sums(rows: Ints, value: FloatArray, records: int) -> FloatArray:
    most = np.full(records, NOBODY)
    np.maximum.at(most, rows, value)
    with np.errstate(divide="ignore"):
        found = most + np.log(np.bincount(rows, weights=np.exp(value - most[rows]), minlength=records))
    return np.where(np.isfinite(found), found, NOBODY)


def learn_meaning(
    own: FloatArray, strangers: FloatArray, weight: FloatArray | None = None, *, few: int = 0, steepest: float = 2.0
) -> Meaning | None:
    """Learn from the scores of records with their partner and with the best of the others (a row each).

    ``weight`` is how surely each partner is right; below ``few`` trials sums are taken to be bell-shaped. None where
    there is no trial.
    """
    if not len(own):
        return None
    heavy = np.ones(len(own)) if weight is None else weight

    def loss(slope: float) -> float:
        lost = np.logaddexp.reduce(slope * (strangers - own[:, None]), axis=1, initial=0.0)
        return float(np.average(lost, weights=heavy))

    slope = float(minimize_scalar(loss, bounds=(0.01, steepest), method="bounded").x)
    without = np.maximum(np.logaddexp.reduce(slope * strangers, axis=1), NOBODY)
    total = np.concatenate([np.logaddexp(without, slope * own), without])
    there = np.concatenate([np.ones(len(own)), np.zeros(len(own))])
    law = Bells if heavy.sum() < few else Steps
    return Meaning(slope, law.of(total, there, np.concatenate([heavy, heavy])), without, heavy)
