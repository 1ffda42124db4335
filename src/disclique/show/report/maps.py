"""The maps of a report: the internal one of every record, and the coarse one that is safe to share.

Both are drawn on a plane on which a degree of longitude is as long as it is at the middle of the map, so that one scale
bar holds; north is up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from disclique.audits.result import AuditResult
from disclique.locale import Texts, mark, texts_in
from disclique.records.checks.places import read_rings
from disclique.records.checks.values import Extent
from disclique.show.report.vega import PERCENT, alt_library, data, plain
from disclique.spaces.base import EARTH
from disclique.values import Json

KM_PER_DEGREE = 111.195
SHADES = {"domain": [0, 0.5, 1], "range": ["#DCE6F0", "#F0B442", "#B33A00"], "interpolate": "rgb"}
SHOWN = (mark("row"), mark("id"), mark("label_k"), mark("by"))  # of a record, when one points at it
_LABELLED = 0.07  # of the map's width: narrower cells have no room for a figure


@dataclass(frozen=True)
class Sheet:
    """The part of the plane that is drawn: its bounds as the file has them, and how long a unit of them is."""

    west: float
    south: float
    east: float
    north: float
    earth: bool
    unit: str

    @property
    def stretch(self) -> float:
        """By how much the first axis shrinks."""
        return max(math.cos(math.radians((self.south + self.north) / 2)), 0.01) if self.earth else 1.0

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return a place on the sheet."""
        return x * self.stretch, y

    @property
    def width(self) -> float:
        """The width on the sheet."""
        return max((self.east - self.west) * self.stretch, (self.north - self.south) / 3, 1e-12)

    @property
    def height(self) -> float:
        """The height on the sheet."""
        return max(self.north - self.south, self.width / 3)

    def bar(self) -> tuple[float, str]:
        """Return the length of the scale bar on the sheet and its words: a round number under a quarter of the width.

        >>> Sheet(5, 47, 15, 55, True, "km").bar()[1]
        '100 km'
        """
        per = KM_PER_DEGREE if self.earth else 1.0
        most = self.width * per / 4
        power = 10.0 ** math.floor(math.log10(most))
        length = max(part * power for part in (1, 2, 5) if part * power <= most)
        unit = "km" if self.earth else self.unit
        if unit == "km" and length < 1:
            return length / per, f"{length * 1000:g} m"
        return length / per, f"{length:g} {unit}".strip()


def draw_cells(result: AuditResult, texts: Texts) -> Json | None:
    """Return the coarse map: rectangles of many people, shaded by their mean risk."""
    alt = alt_library()
    found = result.coarse_map
    if found is None:
        return None
    cells = found.cells
    sheet = Sheet(
        min(cell.west for cell in cells),
        min(cell.south for cell in cells),
        max(cell.east for cell in cells),
        max(cell.north for cell in cells),
        result.file.distances == EARTH,
        result.file.unit,
    )
    shapes = []
    for cell in cells:
        corners = [(cell.west, cell.south), (cell.west, cell.north), (cell.east, cell.north), (cell.east, cell.south)]
        ring = [list(sheet.place(x, y)) for x, y in [*corners, corners[0]]]
        shapes.append(
            {
                "type": "Feature",
                "geometry": {"type": "Polygon", "coordinates": [ring]},
                "people": cell.people,
                "risk": cell.risk,
            }
        )
    figures = []
    for cell in cells:
        if (cell.east - cell.west) * sheet.stretch >= _LABELLED * sheet.width and (
            cell.north - cell.south >= 0.045 * sheet.height
        ):
            x, y = sheet.place((cell.west + cell.east) / 2, (cell.south + cell.north) / 2)
            figures.append({"x": x, "y": y, "said": f"{100 * cell.risk:.0f} %"})
    fill = alt.Color(
        "risk:Q",
        scale=alt.Scale(**SHADES),
        legend=alt.Legend(title=texts.say("mean risk"), orient="bottom", format="%"),
    )
    tooltip = [
        alt.Tooltip("people:Q", title=texts.say("people")),
        alt.Tooltip("risk:Q", title=texts.say("mean risk"), format=PERCENT),
    ]
    layers = [
        alt.Chart(data(shapes)).mark_geoshape(stroke="#FFFFFF", strokeWidth=1.2).encode(color=fill, tooltip=tooltip)
    ]
    if figures:
        text = alt.Chart(data(figures)).mark_text(fontSize=11, fill="#111111")
        layers.append(text.encode(longitude="x:Q", latitude="y:Q", text="said:N"))
    return _finish([*layers, *_furniture(sheet, texts)])


def draw_people(result: AuditResult, texts: Texts) -> Json | None:
    """Return the map of records by risk with the matches of one repetition; only where the result holds places."""
    alt = alt_library()
    records = result.records
    if records is None or not records.people or records.people[0].x is None:
        return None
    xs = [person.x or 0.0 for person in records.people] + [line.x2 for line in records.lines]
    ys = [person.y or 0.0 for person in records.people] + [line.y2 for line in records.lines]
    sheet = Sheet(min(xs), min(ys), max(xs), max(ys), result.file.distances == EARTH, result.file.unit)
    people = [_at(vars(person), sheet) for person in records.people]
    shades = alt.Color(
        "risk:Q", scale=alt.Scale(**SHADES), legend=alt.Legend(title=texts.say("risk"), orient="bottom", format="%")
    )
    tooltip = [alt.Tooltip(f"{name}:N", title=texts.say(name)) for name in SHOWN]
    tooltip.append(alt.Tooltip("risk:Q", title=texts.say("risk"), format=PERCENT))
    size = alt.Size("risk:Q", scale=alt.Scale(domain=[0, 1], range=[14, 90]), legend=None)
    dots = alt.Chart(data(people)).mark_circle(opacity=0.9, stroke="#555555", strokeWidth=0.4)
    wrong = alt.Chart(data([_at(vars(line), sheet) for line in records.lines if not line.true]))
    right = alt.Chart(data([_at(vars(line), sheet) for line in records.lines if line.true]))
    layers = [
        wrong.mark_rule(color="#D62728", strokeDash=[4, 3], strokeWidth=1.2).encode(
            longitude="x:Q", latitude="y:Q", longitude2="x2:Q", latitude2="y2:Q"
        ),
        dots.encode(longitude="x:Q", latitude="y:Q", color=shades, size=size, tooltip=tooltip),
        right.mark_point(color="#009E73", size=130, strokeWidth=1.6, opacity=1).encode(longitude="x:Q", latitude="y:Q"),
    ]
    return _finish([*layers, *_furniture(sheet, texts)])


def _at(row: dict[str, Any], sheet: Sheet) -> dict[str, Any]:
    """Return a row with its places on the sheet."""
    found = dict(row)
    found["x"], found["y"] = sheet.place(row["x"], row["y"])
    if "x2" in row:
        found["x2"], found["y2"] = sheet.place(row["x2"], row["y2"])
    return found


def _furniture(sheet: Sheet, texts: Texts) -> list[Any]:
    """Return scale bar and, on the Earth, north arrow."""
    alt = alt_library()
    length, said = sheet.bar()
    said = texts.number(said)
    x, y = sheet.place(sheet.west, sheet.south)
    y -= 0.05 * sheet.height
    bar = alt.Chart(data([{"x": x, "y": y, "x2": x + length, "y2": y}])).mark_rule(strokeWidth=3, color="#808080")
    words = alt.Chart(data([{"x": x + length, "y": y, "said": said}])).mark_text(align="left", dx=6, fontSize=12)
    layers = [
        bar.encode(longitude="x:Q", latitude="y:Q", longitude2="x2:Q", latitude2="y2:Q"),
        words.encode(longitude="x:Q", latitude="y:Q", text="said:N"),
    ]
    if sheet.earth:
        corner = sheet.place(sheet.east, sheet.south)[0]
        arrow = alt.Chart(data([{"x": corner, "y": y, "said": texts.say("▲ N")}])).mark_text(align="right", fontSize=13)
        layers.append(arrow.encode(longitude="x:Q", latitude="y:Q", text="said:N"))
    return layers


def _finish(layers: Sequence[Any]) -> Json:
    shown = alt_library().layer(*layers).project(type="identity", reflectY=True)
    return plain(shown.properties(height=480))


WIDTH = 360.0  # pixels
LEAST = 6.0  # degrees: a town alone on an empty sheet would say nothing


def draw_extent(result: AuditResult, texts: Texts | None = None) -> str:
    """Return the map as SVG; empty where no file lies on the Earth.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], id="id")
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
    said = escape(texts.say("Where the files lie: {boxes}", boxes="; ".join(texts.say(box.message) for box in boxes)))
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
