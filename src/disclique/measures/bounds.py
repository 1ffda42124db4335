"""Ends of a mean risk that hold: one-sided confidence bounds over releases, whatever the risk of a release looks like.

The independent units are releases, not people: in one release an attack that finds its way finds nearly everybody, and
in the next one nobody. The bound is Gaffke's. It asks how high the mean could be if the observed risks ``x`` and one
more release of the worst kind (``top``) were weighed at random, with weights that are uniform among all that sum to 1
(Dirichlet): the bound is the ``level`` quantile of that mean. For risks of 0 and 1 it is the bound of Clopper and
Pearson. No assumption is made on the law of the risk but that it lies between 0 and ``top``; the price is that few
releases cannot show a small risk: twenty without a single success bound it by .17, seventy-two by .05.

M. Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable,
Mathematical Methods of Statistics 14 (2005).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta
from scipy.stats import t as student

from disclique.errors import InputError
from disclique.values import FloatArray

LEVEL = (
    0.975  # simulated (benchmarks/bounds_coverage.py): at least .96 is left after the search for the weakest setting
)
MOST_RELEASES = 1_000_000  # more are "never"
_STEP = 1 / 12  # of the quadrature, on the scale of arsinh


def upper_end(shares: Sequence[float] | FloatArray, *, top: float = 1.0, level: float = LEVEL) -> float:
    """Return an upper confidence bound of the mean of a risk between 0 and ``top``, one value for each release.

    >>> round(upper_end([0.0] * 20), 4)
    0.1684
    >>> round(upper_end([0.02, 0.0, 0.01, 0.03, 0.0]), 2)
    0.53
    """
    values = _check(shares, top, level)
    value, many = np.unique(values, return_counts=True)
    return _bound(value, many.astype(float), top, level)


def p_value(shares: Sequence[float] | FloatArray, mean: float, *, top: float = 1.0) -> float:
    """Return Gaffke's p-value of a true mean of ``mean`` or more; ``upper_end`` is where it falls to 1 - level.

    >>> round(p_value([0.0] * 72, 0.05), 3)
    0.025
    """
    values = _check(shares, top, 0.5)
    if mean <= values.mean():
        return 1.0
    return 0.0 if mean >= top else _exceeds(np.append(values, top) - mean, np.ones(len(values) + 1))


def lower_end(shares: Sequence[float] | FloatArray, *, top: float = 1.0, level: float = LEVEL) -> float:
    """Return a lower confidence bound of the mean, by symmetry: what is missing to ``top`` is bounded from above.

    >>> round(lower_end([1.0] * 20), 4)
    0.8316
    """
    values = _check(shares, top, level)
    return max(0.0, top - upper_end(top - values, top=top, level=level))


def smooth_upper_end(
    shares: Sequence[float] | FloatArray, counts: Sequence[int] | FloatArray, level: float = LEVEL
) -> float:
    """Return an upper bound of a mean share that varies *smoothly* between releases, tighter than ``upper_end``.

    For yardsticks such as guesses by labels or the ceiling, never for an attack that may succeed or fail as a whole. It
    is no proof: simulated, it holds in 98 % of the cases where people count one by one, and in fewer than 94 % where
    they come in clusters and the mean is small (``benchmarks/bounds_coverage.py``).
    ``counts`` are the people behind each share. It is the higher one of Student's bound of the mean over releases and
    Clopper and Pearson's of the pooled people, whose number is divided by the design effect: by how much the shares
    scatter more than those of independent people would. A single release tells nothing of that; it counts as one
    trial.

    >>> round(smooth_upper_end([0.10, 0.12, 0.08, 0.11], [100, 100, 100, 100]), 3)
    0.136
    """
    values, people = _check(shares, 1.0, level), np.asarray(counts, dtype=float)
    if people.shape != values.shape or not (people >= 1).all():
        raise InputError("share_without_people")
    if len(values) < 2:
        return upper_end(values, level=level)
    mean = float(values.mean())
    deviation = float(values.std(ddof=1))
    high = mean + float(student.ppf(level, len(values) - 1)) * deviation / np.sqrt(len(values))
    trials = people.sum() / _design_effect(values, people)
    pooled = float((values * people).sum() / people.sum())
    hits = pooled * trials
    exact = float(beta.ppf(level, hits + 1, trials - hits)) if hits < trials else 1.0
    return float(min(1.0, max(mean, high, exact)))


def _design_effect(shares: FloatArray, people: FloatArray) -> float:
    """Return by how much shares scatter more than those of independent people, at least 1, at most the people of one.

    A mean near 0 or 1 is moved off by half a person, so that shares which all agree do not divide by nothing.
    """
    total = float(people.sum())
    pooled = (float((shares * people).sum()) + 0.5) / (total + 1)
    expected = pooled * (1 - pooled) * float((1 / people).mean())
    return float(np.clip(shares.var(ddof=1) / expected, 1.0, max(float(people.mean()), 1.0)))


def repetitions_needed(
    limit: float, observed: Sequence[float] | FloatArray, *, top: float = 1.0, level: float = LEVEL
) -> int | None:
    """Return how many releases like the observed ones would bring the upper end under ``limit``; None if none would.

    "Like these" means that every observed risk comes up as often, in proportion. Where nothing was found so far, one
    release with a single find may need many more.

    >>> repetitions_needed(0.05, [0.0] * 20), repetitions_needed(0.05, [0.06] * 20)
    (72, None)
    """
    values = _check(observed, top, level)
    value, many = np.unique(values, return_counts=True)
    share = many / len(values)

    def keeps(releases: int) -> bool:
        return _bound(value, share * releases, top, level) <= limit

    if not float(values.mean()) < limit or not keeps(MOST_RELEASES):
        return 1 if limit >= top else None
    low, high = 0, 1
    while not keeps(high):
        low, high = high, min(2 * high, MOST_RELEASES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _check(shares: Sequence[float] | FloatArray, top: float, level: float) -> FloatArray:
    values = np.asarray(shares, dtype=float)
    if values.ndim != 1 or not len(values):
        raise InputError("bound_of_nothing")
    if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= top):
        raise InputError("risks_out_of_range", low=values.min(), high=values.max(), top=top)
    if not 0.5 <= level < 1:
        raise InputError("level_out_of_range", level=level)
    return values


def _bound(value: FloatArray, many: FloatArray, top: float, level: float) -> float:
    """Return Gaffke's bound from values and how often each was seen (fractions are allowed), never below the mean."""
    mean = float(value @ many / many.sum())
    if not mean < top:
        return top
    at, weight = np.append(value, top), np.append(many, 1.0)

    def missing(place: float) -> float:
        return _exceeds(at - place, weight) - (1 - level)

    low, high = max(mean, float(value[0])), top
    if missing(low) <= 0:
        return mean
    close = top - (top - low) * 1e-12
    return float(brentq(missing, low, close, xtol=1e-12 * top)) if missing(close) < 0 else high


def _exceeds(scale: FloatArray, shape: FloatArray) -> float:
    """Return the probability that Σ scaleⱼ Gⱼ > 0, where Gⱼ are independent gamma variables of these shapes.

    A mean with uniform weights exceeds t where the sum of (xⱼ - t) times exponential variables does. The probability is
    the integral of exp(K(s)) / s along a path across the real axis, K being the log of the moment generating function.
    The path crosses at the saddle point, off which the integrand falls fast, and bends to the right as the path of
    steepest descent begins to: a straight one would oscillate where many releases have nearly no risk. Equal steps of
    arsinh along it are then exact to about ten digits.
    """
    scale = scale / float(scale.max())  # K is infinite at s = 1

    def slope(s: float) -> float:
        return float((shape * scale / (1 - scale * s)).sum()) - 1 / s

    saddle = float(brentq(slope, 1 / (shape.sum() + 2), 1 - 1e-15, xtol=1e-15, rtol=1e-10))
    reach = scale / (1 - scale * saddle)
    second = float((shape * reach**2).sum()) + 1 / saddle**2
    third = 2 * float((shape * reach**3).sum()) - 2 / saddle**3
    width, bend = 1 / np.sqrt(second), max(third, 0.0) / (6 * second)
    steps = np.arange(0.0, 4 + 36 / shape.sum(), _STEP)  # the integrand falls with the power 1 + Σ shape
    y = width * np.sinh(steps)
    s = saddle + bend * y**2 / (1 + bend * y) + 1j * y
    along = bend * y * (2 + bend * y) / (1 + bend * y) ** 2 + 1j
    log_value = -(shape[:, None] * np.log(1 - scale[:, None] * s)).sum(axis=0) - np.log(s)
    with np.errstate(under="ignore"):
        parts = (np.exp(log_value) * along).imag * width * np.cosh(steps)
    return float(min(max((parts.sum() - parts[0] / 2) * _STEP / np.pi, 0.0), 1.0))
