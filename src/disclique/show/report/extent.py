"""A small map of where the files lie: coasts and borders, and the box of each file. No place of a person is on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from disclique.audits.result import AuditResult
from disclique.locale import Texts, texts_in
from disclique.records.checks.places import read_rings
from disclique.records.checks.values import Extent

WIDTH = 360.0  # pixels
LEAST = 6.0  # degrees: a town alone on an empty sheet would say nothing


def draw_extent(result: AuditResult, texts: Texts | None = None) -> str:
    """Return the map as SVG; empty where no file lies on the Earth.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], ids="id")
    >>> draw_extent(dq.audit(people, "affine", attacks="labels", repetitions=1))[:4]
    '<svg'
    """
    return draw_boxes([file.extent for file in result.inspection.files if file.extent is not None], texts)


def draw_boxes(extents: Sequence[Extent], texts: Texts | None = None) -> str:
    """Return the map with a box for each file, the first one ours; empty where no file lies on the Earth."""
    texts = texts or texts_in("en")
    boxes = [box for box in extents if box.degrees]
    if not boxes:
        return ""
    west, east = _widen(min(box.west for box in boxes), max(box.east for box in boxes))
    south, north = _widen(min(box.south for box in boxes), max(box.north for box in boxes))
    south, north = max(south, -85.0), min(north, 85.0)
    stretch = max(math.cos(math.radians((south + north) / 2)), 0.1)
    scale = WIDTH / ((east - west) * stretch)
    height = scale * (north - south)

    def at(lon: float, lat: float) -> tuple[float, float]:
        return round((lon - west) * stretch * scale, 1), round((north - lat) * scale, 1)

    lands = []
    for ring in read_rings():
        low, high = ring.corners.min(axis=0), ring.corners.max(axis=0)
        if low[0] < east and high[0] > west and low[1] < north and high[1] > south:
            path = "L".join(f"{x:g} {y:g}" for x, y in (at(*corner) for corner in ring.corners.tolist()))
            lands.append(f'<path class="land" d="M{path}Z"/>')
    frames = "".join(_frame(at, box, number) for number, box in enumerate(boxes))
    said = escape(texts.say("Where the files lie: {boxes}", boxes="; ".join(texts.sentence(str(box)) for box in boxes)))
    return (
        f'<svg class="extent" viewBox="0 0 {WIDTH:g} {height:.0f}" role="img" aria-label="{said}">'
        f"{''.join(lands)}{frames}</svg>"
    )


def _widen(low: float, high: float) -> tuple[float, float]:
    """Return an interval with room around it."""
    more = max((high - low) * 0.3, (LEAST - (high - low)) / 2, 0.5)
    return low - more, high + more


def _frame(at: object, box: Extent, number: int) -> str:
    assert callable(at)
    (x, y), (x2, y2) = at(box.west, box.north), at(box.east, box.south)
    names: Sequence[str] = ("ours", "theirs")
    kind = names[min(number, 1)]
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{max(x2 - x, 3):g}" height="{max(y2 - y, 3):g}"/>'
