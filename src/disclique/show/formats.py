"""How a report writes numbers: one rule for each kind of figure, with its unit and no digits that mean nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from disclique.locale import mark

if TYPE_CHECKING:  # every page of the app writes numbers, also the first, which waits for nothing
    from disclique.audits.rates import Rate
    from disclique.measures.utility import Measure

NOTHING = {"km": 1e-6}  # a millimetre; elsewhere what rounding leaves
ROUNDING = 1e-9
Errors = Mapping[str, float | None] | None
DASH = "–"
SPACE = "\u00a0"  # a number is never torn from its unit
QUANTILES = {  # as people say them
    "median": mark("median"),
    "90 %": mark("ninth decile"),
    "99 %": mark("99th percentile"),
    "highest": mark("highest"),
}


def percent(share: float | None) -> str:
    """Write a share in per cent, or a dash where it is not defined; never 0 or 100 for what is neither.

    >>> [percent(share).replace(SPACE, " ") for share in (0.1234, 0.0001, 0.99999, 1.0, None)]
    ['12.3 %', '< 0.1 %', '> 99.9 %', '100.0 %', '–']
    """
    if share is None:
        return DASH
    if ROUNDING < share < 0.0005:
        return f"<{SPACE}0.1{SPACE}%"
    if 0.9995 <= share < 1 - ROUNDING:
        return f">{SPACE}99.9{SPACE}%"
    return f"{100 * share:.1f}{SPACE}%"


def interval(of: Rate | tuple[float, float]) -> str:
    """Write an interval of shares."""
    low, high = of if isinstance(of, tuple) else (of.low, of.high)
    return DASH if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}{SPACE}%"


def figure(value: float | None, nothing: float = ROUNDING) -> str:
    """Write a number with three digits that matter, without an exponent; 0 for what rounding leaves.

    >>> figure(5.85e-14), figure(-0.01234), figure(19.96), figure(1234567.0).split()
    ('0', '-0.0123', '20', ['1', '230', '000'])
    """
    if value is None:
        return DASH
    if abs(value) < nothing:
        return "0"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 1000:
        return f"{rounded:,.0f}".replace(",", "\u202f")
    text = f"{rounded:.10f}".rstrip("0").rstrip(".")
    return text if text not in ("", "-", "-0", "0") else "0"


def measured(value: float | None, measure: Measure, unit: str, errors: Errors = None) -> str:
    """Write a value of a measure of usefulness, with its standard error if it is an estimate.

    Its unit stands in ``title_of``; a question mark is an error that is not known.
    """
    if errors and measure.name in errors and value is not None:
        error = errors[measure.name]
        if error is None:
            return f"{measured(value, measure, unit)} ±{SPACE}?"
        scale, sign = (100, f"{SPACE}%") if measure.format == "%" else (1, "")
        return f"{measured(value, measure, unit)} ±{SPACE}{figure(float(f'{scale * error:.1g}'))}{sign}"
    if measure.format == "%":
        return percent(value)
    if measure.power:
        return figure(value, NOTHING.get(unit, ROUNDING) ** measure.power)
    return DASH if value is None else f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def title_of(measure: Measure, unit: str) -> str:
    """Return the title of a measure with its unit, where it has one."""
    return measure.head(unit)
