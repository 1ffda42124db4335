"""One self-contained HTML file from a result: no network, nothing unescaped, nothing computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from disclique.data.write import whole_file
from disclique.errors import InputError, MissingDependency
from disclique.show.report.charts import charts

VERSIONS = (1,)  # of result.json that can be rendered
TEMPLATES = ("report.html.jinja", "report.css", "report.js")


def read_result(path: Path) -> dict[str, Any]:
    """The result of an audit from its file, if it is one that this version can show."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file ({error})") from None
    if not isinstance(found, dict) or found.get("kind") != "disclique audit":
        raise InputError(f"{path}: this is not the result of an audit")
    if found.get("version") not in VERSIONS:
        raise InputError(f"{path}: version {found.get('version')!r} of the result is not one that can be shown here")
    return found


def write_report(result: Mapping[str, Any], path: Path) -> None:
    """Nothing; writes the report of a result."""
    text = report(result)
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def report(result: Mapping[str, Any]) -> str:
    """The report as one HTML page."""
    try:
        drawn = charts(result)
        return str(
            _template().render(
                result=result,
                charts=drawn,
                specs=_script_json(drawn),
                css=_file("report.css"),
                js=_file("report.js"),
                bundle=_bundle(),
                schematic=_schematic(result.get("matches")),
            )
        )
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"the result is not complete: {type(error).__name__} {error}") from None


def _script_json(content: Any) -> str:
    """JSON that cannot end the script element in which it stands."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _bundle() -> str:
    """The chart library as script text."""
    try:
        import vl_convert
    except ImportError:
        raise MissingDependency(
            "the report needs the package vl-convert-python: pip install vl-convert-python"
        ) from None
    script: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type]
    return script.replace("</script", "<\\/script")


def _file(name: str) -> str:
    return (resources.files("disclique.show.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingDependency("the report needs the package jinja2: pip install jinja2") from None
    place = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    place.filters |= {"percent": percent, "interval": interval, "figure": figure}
    place.tests["match_dial"] = lambda name: str(name).startswith("dial-")
    return place.from_string(_file("report.html.jinja"))


def percent(share: float | None) -> str:
    """A share in per cent, or a dash where it is not defined."""
    return "–" if share is None else f"{100 * share:.1f} %"


def interval(ends: list[float | None]) -> str:
    """An interval of shares."""
    return "–" if ends[0] is None or ends[1] is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f} %"


def figure(value: float | None) -> str:
    """A number with three digits that matter."""
    return "–" if value is None else f"{value:.3g}"


def _schematic(matches: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Lines of the picture of typical matches: from a released record to the person it was taken for.

    The order is random and says nothing about persons; a wrong match goes to the place of another one.
    """
    if not matches:
        return []
    shown = matches["shown"]
    wrong = [k for k, outcome in enumerate(shown) if outcome == "wrong"]
    turned = dict(zip(wrong, [*wrong[1:], *wrong[:1]], strict=True))
    rows = []
    for k, outcome in enumerate(shown):
        to = turned[k] if len(wrong) > 1 and outcome == "wrong" else (k + 1) % len(shown) if outcome == "wrong" else k
        rows.append({"from": k, "to": to, "outcome": outcome})
    return rows
