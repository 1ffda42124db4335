"""What scores mean, by trial: records whose right partner is known are scored against it and against all strangers.

No law of scores is assumed where there are enough trials. Where there are few, the sums of records with and without
their partner are taken to be bell-shaped, with the doubt that so few leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
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
        """Learn from sums with and without the right one; a step says no more than the trials on it can."""
        found = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(total, there, sample_weight=weight)
        step = np.unique(found.predict(total), return_inverse=True)[1]
        many, right = np.bincount(step, weight), np.bincount(step, weight * there)
        share = ((right + 0.5) / (many + 1))[step]  # Jeffreys' prior
        return cls(IsotonicRegression(out_of_bounds="clip").fit(total, share, sample_weight=weight))

    def odds(self, total: FloatArray) -> FloatArray:
        """Return the log odds of sums."""
        chance = self.found.predict(total)
        return np.asarray(np.log(chance) - np.log1p(-chance))


@dataclass(frozen=True)
class Tilt:
    """That the odds of having a partner rise with a sum as a straight line does; ``share`` of the records have one."""

    share: float
    height: float
    slope: float
    middle: float
    width: float

    @classmethod
    def of(cls, total: FloatArray, without: FloatArray, weight: FloatArray, share: float) -> Tilt:
        """Fit the line, and the share from a first guess, to sums of all records and weighed sums without partners."""
        sums = np.concatenate([total, without])
        middle, width = float(np.median(sums)), float(sums.std()) + 1e-9
        place, one = (sums - middle) / width, float(weight.sum()) / len(total)
        edge = np.quantile(total, 1 - share)

        def lost(line: FloatArray) -> float:
            law = cls(float(expit(line[0])), line[1], float(np.exp(line[2])), 0.0, 1.0)
            more = np.logaddexp(np.log1p(-law.share), np.log(law.share) + law.odds(place))  # as frequent among all
            there, less = -more[: len(total)], more[len(total) :]
            return float(one * np.logaddexp(0, there).sum() + weight @ np.logaddexp(0, less))

        found = None
        for steep in (0.0, 1.5, 3.0):
            start = [logit(share), -np.exp(steep) * (edge - middle) / width, steep]
            bounds = [(-7.0, 7.0), (-1e3, 1e3), (-3.0, 5.0)]
            fitted = minimize(lost, start, method="L-BFGS-B", bounds=bounds)
            found = fitted if found is None or fitted.fun < found.fun else found
        assert found is not None
        return cls(float(expit(found.x[0])), float(found.x[1]), float(np.exp(found.x[2])), middle, width)

    def odds(self, total: FloatArray) -> FloatArray:
        """Return the log odds of sums."""
        return np.asarray(self.height + self.slope * (total - self.middle) / self.width)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Odds by how much more frequent a sum is among all records, some of which have their partner, than without.

    Whoever was found before is easier to find than others: sums of these would say too much of what is expected. Steps
    follow chance where sums are about as frequent with and without: they may say no more than a straight line does.
    """

    found: IsotonicRegression  # that a sum is one of the records', not one without the right partner
    line: Tilt
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
        line = Tilt.of(total, without, weight, float(np.clip(1 - usual / (1 - usual), 0.01, 0.99)))
        return cls(found, line, float(np.clip(line.share, edge, 1 - edge)), edge)

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
        steps = np.log(np.maximum((chance / (1 - chance) - (1 - self.share)) / self.share, self.least))
        return np.asarray(np.minimum(steps, np.maximum(self.line.odds(total), np.log(self.least))))

    def chance(self, total: FloatArray) -> FloatArray:
        """Return how probable it is at each sum that the right one is there."""
        return np.asarray(expit(self.odds(total) + logit(self.share)))


@dataclass(frozen=True)
class Bells:
    """Odds of two bells of one width, which is known from few trials only (Student's law).

    However far apart they are, a sum says no more than so many trials can.
    """

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
        return np.minimum((self.freedom + 1) / 2 * (far - near), np.log(self.freedom + 3))


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
    by_gap: bool = False  # that it is any of them is told by how far the best stands out, not by the sum

    def among(self, total: FloatArray, rest: FloatArray, few: int) -> Meaning:
        """Return the meaning among records with these sums, and without their best, if there were enough trials."""
        if not len(total) or self.weight.sum() < few or self.by_gap:
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
        return self.shifted(*self.sums(rows, score, records))

    def shifted(self, total: FloatArray, rest: FloatArray) -> FloatArray:
        """Return the same from the sum over the candidates of each record, and that without the best of them."""
        return np.asarray(self.present.odds(total - rest if self.by_gap else total) - total)


def _log_sums(rows: Ints, value: FloatArray, records: int) -> FloatArray:
    most = np.full(records, NOBODY)
    np.maximum.at(most, rows, value)
    with np.errstate(divide="ignore"):
        found = most + np.log(np.bincount(rows, weights=np.exp(value - most[rows]), minlength=records))
    return np.where(np.isfinite(found), found, NOBODY)


def learn_meaning(
    own: FloatArray,
    strangers: FloatArray,
    weight: FloatArray | None = None,
    *,
    few: int = 0,
    steepest: float = 2.0,
    telling: float = 0.0,
) -> Meaning | None:
    """Learn from the scores of records with their partner and with the best of the others (a row each).

    ``weight`` is how surely each partner is right; below ``few`` trials sums are taken to be bell-shaped. Where a sum
    with the right one is larger than one without in a share of less than ``telling``, records differ more than that:
    then it is looked at how far the best stands out, if that tells more. None where there is no trial.
    """
    if not len(own):
        return None
    heavy = np.ones(len(own)) if weight is None else weight

    def loss(slope: float) -> float:
        lost = np.logaddexp.reduce(slope * (strangers - own[:, None]), axis=1, initial=0.0)
        return float(np.average(lost, weights=heavy))

    slope = float(minimize_scalar(loss, bounds=(0.01, steepest), method="bounded").x)
    without = np.maximum(np.logaddexp.reduce(slope * strangers, axis=1), NOBODY)
    among = np.logaddexp(without, slope * own)
    by_gap = False
    if (told := _tell(among, without, heavy)) < telling:
        far = _gaps(among, without, slope * np.column_stack([own, strangers]))
        by_gap = _tell(*far, heavy) > told
        among, without = far if by_gap else (among, without)
    total = np.concatenate([among, without])
    there = np.concatenate([np.ones(len(own)), np.zeros(len(own))])
    law = Bells if heavy.sum() < few else Steps
    return Meaning(slope, law.of(total, there, np.concatenate([heavy, heavy])), without, heavy, by_gap)


def _tell(among: FloatArray, without: FloatArray, weight: FloatArray) -> float:
    """Return how often a figure of a record with the right one is larger than one without."""
    return float(np.average(np.searchsorted(np.sort(without), among) / len(without), weights=weight))


def _gaps(among: FloatArray, without: FloatArray, value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far the best stands out of the others, with the right one (the first column) and without it."""
    found = []
    for total, some in ((among, value), (without, value[:, 1:])):
        rest = np.where(np.arange(some.shape[1]) == some.argmax(axis=1)[:, None], -np.inf, some)
        found.append(total - np.maximum(np.logaddexp.reduce(rest, axis=1), NOBODY))
    return found[0], found[1]
