"""The relation ≈ of the paper: which known distances agree with a target distance.

An agreement is any value with ``interval(distance)``: it maps target distances d′ to the ends of the *open* interval of
known distances d that agree with them. A new one is a few lines. Those that are given with a unit (``Within("500m")``)
keep it until the distances are known (``fit_agreement``), because these alone say whether they are kilometres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from disclique.errors import InputError
from disclique.messages import percent
from disclique.model import Agreement
from disclique.spaces import shared_unit
from disclique.spaces.base import Distances
from disclique.units import DISTANCE_UNITS, Quantity, length_in, measured, parse_quantity
from disclique.values import FloatArray

_TINY = float(np.nextafter(0, 1))
Length = float | str | Quantity


class Law(Protocol):
    """A probability law with quantiles, such as a frozen distribution of scipy."""

    def ppf(self, q: float) -> float:
        """Return the quantile of probability ``q``."""


def _length(given: object, what: str) -> float | Quantity:
    """Return a number as it stands, or a length with its unit."""
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return given
    try:
        found = parse_quantity(given, units=DISTANCE_UNITS)
    except InputError as problem:
        raise InputError("given_wrong", what=what, problem=problem) from None
    return found if found.unit else found.value


def _plain(given: Length, what: str) -> float:
    """Return the number of an agreement that is asked for an interval: one with a unit must meet its distances."""
    return length_in(given, None, what) if isinstance(given, Quantity) else float(given)


def _finite_positive(value: Length, what: str) -> None:
    if not (math.isfinite(float(value)) and float(value) > 0):
        raise InputError("not_a_positive_number", what=what, value=value)


@dataclass(frozen=True)
class Within:
    """Known and target distance differ by less than ``x``: |d - d′| < x.

    ``x`` is a number in the unit of the distances, or a length such as ``"500m"`` where they are kilometres.

    >>> Within(5).interval(np.array([100.0]))
    (array([95.]), array([105.]))
    >>> Within("500m").in_unit("km")
    Within(x=0.5)
    """

    x: Length

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", _length(self.x, "within"))
        _finite_positive(self.x, "within")

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval (d′ - x, d′ + x)."""
        x = _plain(self.x, f"within {self.x}")
        return distance - x, distance + x

    def in_unit(self, unit: str | None) -> Within:
        """Return the same with a number in the unit of the distances."""
        return Within(length_in(self.x, unit, f"within {self.x}")) if isinstance(self.x, Quantity) else self

    def words(self, unit: str | None) -> str:
        """Say the agreement with its unit."""
        return f"|d - d′| < {_shown(self.x, unit)}"


@dataclass(frozen=True)
class Relative:
    """Known and target distance differ by less than the share ``x`` of the target distance: |d - d′| < x·d′.

    Two distances of zero agree: people who share a residence are linked by that, not protected by it.

    >>> Relative(0.5).interval(np.array([100.0]))
    (array([50.]), array([150.]))
    >>> Relative("5%")
    Relative(x=0.05)
    """

    x: float | str

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", _share(self.x))
        _finite_positive(self.x, "relative")
        if float(self.x) > 1:
            raise InputError("relative_above_one", x=self.x)

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval (d′·(1 - x), d′·(1 + x)); only zero agrees with zero."""
        zero, x = np.where(distance == 0, _TINY, 0.0), float(self.x)
        return distance * (1 - x) - zero, distance * (1 + x) + zero

    def words(self, unit: str | None) -> str:
        """Say the agreement; a share has no unit."""
        return f"|d - d′| < {percent(float(self.x))} of d′"


@dataclass(frozen=True)
class Between:
    """The deviation of the known from the target distance lies strictly between two numbers: lo < d - d′ < hi.

    Both are numbers in the unit of the distances, or both are lengths such as ``"-500m"`` and ``"1km"``.

    >>> Between(-1, 3).interval(np.array([100.0]))
    (array([99.]), array([103.]))
    """

    lo: Length
    hi: Length

    def __post_init__(self) -> None:
        lo, hi = ends = _length(self.lo, "between"), _length(self.hi, "between")
        kinds = {isinstance(end, Quantity) for end in ends}
        if len(kinds) > 1:
            raise InputError("between_units_differ", lo=lo, hi=hi)
        low, high = (end.size if isinstance(end, Quantity) else end for end in ends)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError("between_not_an_interval", lo=lo, hi=hi)
        object.__setattr__(self, "lo", ends[0])
        object.__setattr__(self, "hi", ends[1])

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval (d′ + lo, d′ + hi)."""
        what = f"between {self.lo} and {self.hi}"
        return distance + _plain(self.lo, what), distance + _plain(self.hi, what)

    def in_unit(self, unit: str | None) -> Between:
        """Return the same with numbers in the unit of the distances."""
        if not (isinstance(self.lo, Quantity) and isinstance(self.hi, Quantity)):
            return self
        what = f"between {self.lo} and {self.hi}"
        return Between(length_in(self.lo, unit, what), length_in(self.hi, unit, what))

    def words(self, unit: str | None) -> str:
        """Say the agreement with its unit."""
        return f"{_shown(self.lo, unit)} < d - d′ < {_shown(self.hi, unit)}"


def _share(given: object) -> float:
    """Return a share as a number, also of ``5%``."""
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return given
    try:
        found = parse_quantity(given, units=("%", ""))
    except InputError as problem:
        raise InputError("relative_wrong", problem=problem) from None
    return found.value / 100 if found.unit else found.value


def _shown(given: Length, unit: str | None) -> str:
    return measured(given, unit) if isinstance(given, (int, float)) else str(given)


def check_agreement(agreement: object, where: str = "agreement") -> Agreement:
    """Return ≈, or say how it is given."""
    if callable(getattr(agreement, "interval", None)) and not isinstance(agreement, type):
        return agreement  # type: ignore[return-value]
    example = f'Within("{agreement}")' if isinstance(agreement, str) else "Within(5)"
    if isinstance(agreement, (int, float)) and not isinstance(agreement, bool):
        example = f"Within({agreement})"
    raise InputError("not_an_agreement", where=where, given=repr(agreement), example=example)


def fit_agreement(agreement: Agreement, target: Distances, known: Distances) -> Agreement:
    """Return ≈ in the unit of the distances to which it is applied; refuse a length where they have none.

    >>> from disclique.spaces import Points
    >>> earth = Points([[13.4, 52.5], [2.35, 48.86]])
    >>> fit_agreement(Within("500m"), earth, earth)
    Within(x=0.5)
    """
    fit = getattr(agreement, "in_unit", None)
    if fit is None or not any(isinstance(end, Quantity) for end in vars(agreement).values()):
        return agreement  # it has no unit, and none can be wrong
    fitted: Agreement = fit(shared_unit(target, known))
    return fitted


def say_agreement(agreement: Agreement, unit: str | None) -> str:
    """Say when distances agree, with the unit of the distances; nothing where the agreement has no words."""
    words = getattr(agreement, "words", None)
    return "" if words is None else str(words(unit))


def quantiles(law: Law, alpha: float) -> Between:
    """Return the agreement that finds a common edge with probability ``alpha`` when d - d′ follows ``law``.

    This is the paper's rule: between the (1-α)/2 and the (1+α)/2 quantile of the deviation.

    >>> from scipy.stats import uniform
    >>> quantiles(uniform(-1, 2), 0.5)
    Between(lo=-0.5, hi=0.5)
    """
    if not callable(getattr(law, "ppf", None)):
        raise InputError("not_a_law", given=repr(law))
    if not (isinstance(alpha, (int, float)) and 0 < alpha < 1):
        raise InputError("alpha_not_a_probability", given=repr(alpha))
    return Between(float(law.ppf((1 - alpha) / 2)), float(law.ppf((1 + alpha) / 2)))
