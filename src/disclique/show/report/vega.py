"""What the charts of a report have in common: the library, colours and shapes, and how a specification is handed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disclique.values import Json

COLOURS = ("#7F7F7F", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#A6761D")
SHAPES = ("cross", "circle", "square", "diamond", "triangle-up", "triangle-down", "triangle-right", "triangle-left")
PERCENT = ".1%"


def alt_library() -> Any:
    """Return the chart library, imported when it is first needed."""
    import altair

    return altair


def plain(chart: Any) -> Json:
    """Return the specification with its data inside and without the library's own colours, which the page sets."""
    found: Json = chart.properties(width="container").to_dict()
    found.pop("config", None)
    return found


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as the data of a chart."""
    return alt_library().Data(values=[dict(row) for row in rows])


POINTS = "points"  # the name of the data, by which a page puts in new ones


def draw_settings(
    rows: Sequence[Mapping[str, Any]],
    groups: Sequence[str],
    *,
    title: str,
    utility: Mapping[str, str],
    limits: Sequence[float] = (),
    words: Mapping[str, str],
) -> dict[str, Any]:
    """Return a Vega-Lite chart: a point for each row: ``use``, ``risk``, ``high``, ``group``, ``setting``, ``sure``.

    A line leads up to ``high``, the upper end, which decides.

    Groups have the colours and shapes that masks have in the report. ``words`` are the texts of axes and hints.
    """
    from disclique.show.report.vega import COLOURS, PERCENT, SHAPES

    places = [(k + 1) % len(COLOURS) for k in range(len(groups))]
    legend = {"title": title, "orient": "bottom", "columns": 3, "symbolSize": 90, "symbolOpacity": 1}

    def look(values: Sequence[str]) -> dict[str, Any]:
        scale = {"domain": list(groups), "range": [values[k] for k in places]}
        return {"field": "group", "type": "nominal", "scale": scale, "legend": legend}

    x = {
        "field": "use",
        "type": "quantitative",
        "title": words["use"],
        "scale": {"domain": [0, 1]} if utility.get("format") == "%" else {"zero": False, "padding": 14},
        "axis": {"format": utility.get("format", ".2f"), "tickCount": 5},
    }
    y = {
        "field": "risk",
        "type": "quantitative",
        "title": words["risk"],
        "scale": {"domain": [-0.03, 1.03], "nice": False},
        "axis": {"format": "%", "tickCount": 5, "values": [0, 0.25, 0.5, 0.75, 1]},
    }
    tooltip = [
        {"field": "setting", "type": "nominal", "title": words["setting"]},
        {"field": "group", "type": "nominal", "title": title},
        {"field": "risk", "type": "quantitative", "title": words["risk"], "format": PERCENT},
        {"field": "high", "type": "quantitative", "title": words["high"], "format": PERCENT},
        {"field": "use", "type": "quantitative", "title": words["use"], "format": ".3f"},
        {"field": "sure", "type": "nominal", "title": words["sure"]},
    ]
    points = {
        "data": {"name": POINTS},
        "mark": {"type": "point", "size": 110, "filled": True, "opacity": 1},
        "encoding": {"x": x, "y": y, "color": look(COLOURS), "shape": look(SHAPES), "tooltip": tooltip},
    }
    rules = {
        "data": {"name": POINTS},
        "mark": {"type": "rule", "opacity": 0.55, "strokeWidth": 2},
        "encoding": {"x": x, "y": y, "y2": {"field": "high"}, "color": look(COLOURS)},
    }
    lines = [
        {
            "data": {"values": [{"limit": limit}]},
            "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5, "color": "#E69F00"},
            "encoding": {"y": {"field": "limit", "type": "quantitative"}},
        }
        for limit in limits
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "datasets": {POINTS: list(rows)},
        "width": "container",
        "height": 320,
        "layer": [rules, points, *lines],
    }
