"""What the charts of a report have in common: the library, colours and shapes, and how a specification is handed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disclique.model import Json

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
