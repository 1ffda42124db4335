"""One self-contained HTML file from a result: no network, nothing unescaped, nothing computed."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from disclique.attacks import attacks
from disclique.audits.rates import Rate
from disclique.audits.result import FAILS, MEASURED, MEETS, UNPROVEN, AuditResult, TypicalMatches
from disclique.checks import check_kind
from disclique.data.kinds import MAPS
from disclique.errors import MissingDependency
from disclique.measures.utility import measures
from disclique.show.report.charts import charts

STATUS = {  # what stands above the verdict: never a tick on a limit that is not shown to be kept
    MEETS: "✔ A release that keeps the limit was found",
    UNPROVEN: "▲ No release is shown to keep the limit",
    FAILS: "✖ No release tried keeps the limit",
    MEASURED: "◆ Risk measured, no limit set",
}


MEANINGS = {  # what the risk of a release is
    "prosecutor": "the share of the people known to have taken part whose most probable record is the right one: the "
    "prosecutor knows that somebody took part and names a record, whatever the odds",
    "journalist": "the share of the known people whose record is claimed rightly, as more probable than not: the "
    "journalist wants to show somebody for certain",
    "marketer": "the share of all released records whose most probable person is the right one: the marketer names "
    "somebody for every record",
}


def report(result: AuditResult) -> str:
    """Render the report of an audit as one HTML page.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], ids="id")
    >>> dq.report(dq.audit(people, "affine", attacks="labels", repetitions=1))[:15]
    '<!doctype html>'
    """
    check_kind(result, AuditResult, "result", "give the result of an audit, as read_result() reads it")
    drawn = charts(result)
    idle = {one.attack: one.why for s in result.settings for one in s.attacks if not one.applies}
    busy = {one.attack for s in result.settings for one in s.attacks if one.applies}
    there = {name for s in result.settings for name, value in (s.utility or {}).items() if value is not None}
    return str(
        _template().render(
            has_map=result.file.distances in MAPS,
            mapped=any(s.oracle is not None for s in result.settings),
            meaning=MEANINGS[result.plan.scenario],
            seeds=sorted({one.seeds for s in result.settings for one in s.seeded}),
            idle={name: why for name, why in idle.items() if name not in busy},
            labelled=[s for s in result.settings if s.labels is not None],
            result=result,
            status=STATUS[result.verdict.status],
            attacks={spec: attacks().get(spec.partition(":")[0]) for spec in result.plan.attacks},
            measures=[measure for measure in measures().values() if measure.name in there],
            charts=drawn,
            specs=_script_json(drawn),
            css=_file("report.css"),
            js=_file("report.js"),
            bundle=_bundle(),
            schematic=_schematic(result.matches),
        )
    )


def _script_json(content: Any) -> str:
    """JSON that cannot end the script element in which it stands."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _bundle() -> str:
    """Return the chart library as script text."""
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
    place.tests["match_groups"] = lambda name: str(name).startswith("groups-")
    return place.from_string(_file("report.html.jinja"))


def percent(share: float | None) -> str:
    """Write a share in per cent, or a dash where it is not defined."""
    return "–" if share is None else f"{100 * share:.1f} %"


def interval(of: Rate | tuple[float, float]) -> str:
    """Write an interval of shares."""
    low, high = (of.low, of.high) if isinstance(of, Rate) else of
    return "–" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f} %"


def figure(value: float | None) -> str:
    """Write a number with three digits that matter."""
    return "–" if value is None else f"{value:.3g}"


def _schematic(matches: TypicalMatches | None) -> list[dict[str, Any]]:
    """Return the lines of the picture of typical matches: from a released record to the person it was taken for.

    The order is random and says nothing about persons; a wrong match goes to the place of another one.
    """
    if matches is None:
        return []
    shown = matches.shown
    wrong = [k for k, outcome in enumerate(shown) if outcome == "wrong"]
    turned = dict(zip(wrong, [*wrong[1:], *wrong[:1]], strict=True))
    rows = []
    for k, outcome in enumerate(shown):
        to = turned[k] if len(wrong) > 1 and outcome == "wrong" else (k + 1) % len(shown) if outcome == "wrong" else k
        rows.append({"from": k, "to": to, "outcome": outcome})
    return rows
