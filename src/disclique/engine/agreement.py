"""The relation ≈ of the paper: which known distances agree with a target distance.

An agreement is any value with ``interval(distance)``: it maps target distances d′ to the ends of the *open* interval of
known distances d that agree with them. A new one is a few lines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from disclique.errors import InputError
from disclique.model import FloatArray

_TINY = float(np.nextafter(0, 1))


class Law(Protocol):
    """A probability law with quantiles, such as a frozen distribution of scipy."""

    def ppf(self, q: float) -> float:
        """Return the quantile of probability ``q``."""


def _finite_positive(value: float, what: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{what} = {value}: it must be a positive number")


@dataclass(frozen=True)
class Within:
    """Known and target distance differ by less than ``x``: |d - d′| < x.

    >>> Within(5).interval(np.array([100.0]))
    (array([95.]), array([105.]))
    """

    x: float

    def __post_init__(self) -> None:
        _finite_positive(self.x, "within")

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval (d′ - x, d′ + x)."""
        return distance - self.x, distance + self.x


@dataclass(frozen=True)
class Relative:
    """Known and target distance differ by less than the share ``x`` of the target distance: |d - d′| < x·d′.

    Two distances of zero agree: people who share a residence are linked by that, not protected by it.

    >>> Relative(0.5).interval(np.array([100.0]))
    (array([50.]), array([150.]))
    """

    x: float

    def __post_init__(self) -> None:
        _finite_positive(self.x, "relative")

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval (d′·(1 - x), d′·(1 + x)); only zero agrees with zero."""
        zero = np.where(distance == 0, _TINY, 0.0)
        return distance * (1 - self.x) - zero, distance * (1 + self.x) + zero


@dataclass(frozen=True)
class Between:
    """The deviation of the known from the target distance lies strictly between two numbers: lo < d - d′ < hi.

    >>> Between(-1, 3).interval(np.array([100.0]))
    (array([99.]), array([103.]))
    """

    lo: float
    hi: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lo) and math.isfinite(self.hi) and self.lo < self.hi):
            raise InputError(f"between {self.lo} and {self.hi}: give two finite numbers, the smaller one first")

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval (d′ + lo, d′ + hi)."""
        return distance + self.lo, distance + self.hi


def quantiles(law: Law, alpha: float) -> Between:
    """Return the agreement that finds a common edge with probability ``alpha`` when d - d′ follows ``law``.

    This is the paper's rule: between the (1-α)/2 and the (1+α)/2 quantile of the deviation.

    >>> from scipy.stats import uniform
    >>> quantiles(uniform(-1, 2), 0.5)
    Between(lo=-0.5, hi=0.5)
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha = {alpha}: a detection probability lies strictly between 0 and 1")
    return Between(float(law.ppf((1 - alpha) / 2)), float(law.ppf((1 + alpha) / 2)))
