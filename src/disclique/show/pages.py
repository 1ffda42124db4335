"""What every page is made with: one environment of templates for each language, with the same filters and texts."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from disclique.errors import MissingDependency
from disclique.locale import Texts, mark, texts_in
from disclique.messages import percent as write_percent
from disclique.options.audits import PLAN_ROWS, SNOOPER_ROWS, PlanFields
from disclique.options.table import Row

if TYPE_CHECKING:
    from jinja2 import Environment

    from disclique.audits.facts import SensitivityPoint
    from disclique.audits.rates import Rate
    from disclique.measures.utility import Measure
    from disclique.messages import Message


@cache
def environment(language: str = "en", *rooms: str) -> Environment:
    """Return the environment of the templates in the given rooms (``disclique.app``), and in the report's, last.

    Each room has its templates in the folder ``templates``. Everything is escaped; shares are written by the filter
    ``percent``, intervals by ``interval``, other numbers by ``figure``, as the language writes them.

    >>> environment("de").from_string("{{ _('records') }}: {{ 0.123 | percent }}").render().split()
    ['Datensätze:', '12', '%']
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise MissingDependency("pages_need_jinja") from None
    inside = resources.files("disclique")  # a room that is named is not imported
    places = [inside.joinpath(*room.split(".")[1:], "templates") for room in (*rooms, "disclique.show.report")]

    def load(name: str) -> str | None:
        for place in places:
            if (place / name).is_file():
                return (place / name).read_text(encoding="utf-8")
        return None

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(load)
    )
    texts = texts_in(language)
    texts.install(made)
    made.filters |= {
        "percent": partial(percent, language=language),
        "interval": partial(interval, language=language),
        "figure": _in(texts, figure),
    }
    made.globals |= {
        "measured": _in(texts, partial(measured, language=language)),
        "title_of": title_of,
        "tell_assumed": partial(tell_assumed, texts=texts),
        "assumptions": ASSUMPTIONS,
        "quantiles": QUANTILES,
    }
    made.tests["match_dial"] = lambda name: str(name).startswith("dial-")
    made.tests["match_groups"] = lambda name: str(name).startswith("groups-")
    return made


def _in(texts: Texts, write: Callable[..., str]) -> Callable[..., str]:
    """Return a function that writes a number as it is written in a language."""

    def written(*of: Any) -> str:
        return texts.number(write(*of))

    return written


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
ASSUMPTIONS = {  # what is varied when the risk is measured with one thing assumed otherwise
    "overlap": mark("known to the snooper"),
    "label-error": mark("wrong label values"),
    "coordinate-error": mark("error of the snooper's coordinates"),
    "strangers": mark("others in the snooper's file"),
}


def percent(share: float | None, language: str = "en") -> str:
    """Write a share in per cent by the one rule of all messages, or a dash where it is not defined.

    >>> [percent(share).replace(SPACE, " ") for share in (0.1234, 0.0001, 0.99999, 1.0, None)]
    ['12 %', 'under 0.1 %', 'over 99.9 %', '100 %', '–']
    """
    return DASH if share is None else write_percent(share, language).replace(" %", f"{SPACE}%")


def interval(of: Rate | tuple[float, float], language: str = "en") -> str:
    """Write an interval of shares, each end by the one rule.

    >>> interval((0.159, 0.543)).replace(SPACE, " ")
    '16–54 %'
    """
    low, high = of if isinstance(of, tuple) else (of.low, of.high)
    if low is None or high is None:
        return DASH
    return f"{percent(low, language).removesuffix('%').rstrip()}–{percent(high, language)}"


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


def measured(value: float | None, measure: Measure, unit: str, errors: Errors = None, language: str = "en") -> str:
    """Write a value of a measure of usefulness, with its standard error if it is an estimate.

    Its unit stands in ``title_of``; a question mark is an error that is not known.
    """
    if errors and measure.name in errors and value is not None:
        error = errors[measure.name]
        if error is None:
            return f"{measured(value, measure, unit, language=language)} ±{SPACE}?"
        scale, sign = (100, f"{SPACE}%") if measure.format == "%" else (1, "")
        return (
            f"{measured(value, measure, unit, language=language)} ±{SPACE}{figure(float(f'{scale * error:.1g}'))}{sign}"
        )
    if measure.format == "%":
        return percent(value, language)
    if measure.power:
        return figure(value, NOTHING.get(unit, ROUNDING) ** measure.power)
    return DASH if value is None else f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def title_of(measure: Measure, unit: str) -> Message:
    """Return the title of a measure with its unit, where it has one."""
    return measure.head(unit)


def tell_assumed(point: SensitivityPoint, plan: PlanFields, *, texts: Texts) -> str:
    """Write what a point of the sensitivity assumes: a share, a length, or a number of people."""
    if point.varied == "coordinate-error":
        return str(plan.snooper.coordinate_error) if point.declared else "0"
    if point.varied == "strangers":
        return texts.number(figure(point.value))
    return percent(point.value, texts.language)


MODES = {  # what the snooper's file is
    "given": mark("given"),
    "drawn": mark("drawn from the file"),
    "whole": mark("the whole file (worst case)"),
}


def tell_asked(plan: PlanFields, texts: Texts, *, annex: bool = False) -> dict[str, str | None]:
    """Return what was asked by the titles of the options, None where nothing was; in the annex those of a board."""
    found: dict[str, str | None] = {}
    for of, rows in ((plan, PLAN_ROWS), (plan.snooper, SNOOPER_ROWS)):
        for row in rows.values():
            title, value = texts.say(row.title), getattr(of, row.name)
            if annex and not row.annex:
                continue
            if value is None or value == row.default == () or (row.goes_with and getattr(of, row.goes_with) is None):
                found[title] = texts.say(row.none) if row.none else None
            else:
                found[title] = _tell(row, value, texts)
    return found


def _tell(row: Row, value: Any, texts: Texts) -> str:
    if isinstance(value, bool):
        return texts.say(mark("yes")) if value != row.opposite else texts.say(mark("no"))
    if row.answers:
        known = {said or row.default: words for said, words in row.answers}
        return texts.say(known.get(value, mark("from a file that was given") if row.path else value))
    if row.bounds is not None and row.bounds.share:
        return percent(value, texts.language)
    if isinstance(value, float):
        return texts.number(f"{value:g}")
    return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@cache
def chart_library() -> str:
    """Return the chart library as script text, which cannot end the element in which it stands."""
    try:
        import vl_convert
    except ImportError:
        raise MissingDependency("report_needs_vl_convert") from None
    script: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
    return script.replace("</script", "<\\/script")


class ChartLibrary:
    """The chart library of a server, put together once in a process of its own; whoever asks meanwhile waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._script: str | None = None

    def get(self) -> str:
        """Return the library as script text."""
        with self._lock:
            if self._script is None:
                made = subprocess.run([sys.executable, "-m", __name__], capture_output=True, check=False)
                if made.returncode:
                    raise MissingDependency("pictures_need_vl_convert")
                self._script = made.stdout.decode()
            return self._script

    def warm(self) -> None:
        """Begin to put the library together, if nobody has."""
        if not self._lock.locked():
            threading.Thread(target=self.get, daemon=True, name="charts").start()


if __name__ == "__main__":
    sys.stdout.buffer.write(chart_library().encode())
