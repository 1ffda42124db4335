"""The paper's pictures: graph model, product graph with its clique, and the two files with match lines.

Every function returns a matplotlib ``Figure``; nothing is computed here but where things stand on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from disclique.arguments import check_kind
from disclique.errors import InputError
from disclique.model import Microdata, ProductGraph
from disclique.records.labels import label_tuples
from disclique.records.write import whole_file
from disclique.values import FloatArray

# Okabe and Ito's palette: told apart with any kind of colour vision
PLOT_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#A6761D")
TRUE, FALSE, UNKNOWN = "#009E73", "#D62728", "#0072B2"
FORMATS = (".png", ".svg", ".pdf")
VERTICES_WITH_TEXT = 60  # up to which labels and edges are drawn
VERTICES_WITH_WEIGHTS = 6  # up to which the edges' weights are written


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF by the ending of its name."""
    if path.suffix.lower() not in FORMATS:
        raise InputError("unknown_picture_format", path=path, suffix=path.suffix, formats=FORMATS)
    with whole_file(path) as draft:
        figure.savefig(draft, dpi=150, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def layout(data: Microdata) -> FloatArray:
    """A place on the page for every record: its coordinates, or a map made from the distances (classical MDS)."""
    source = data.distances
    places = source.points()
    if places is not None and places.is_map and places.coordinates.shape[1] == 2:
        return np.asarray(places.coordinates, dtype=float)
    rows = np.arange(len(data), dtype=np.int32)
    d = source.block(rows, rows)
    d = np.fmax(d, d.T)
    d = np.where(np.isnan(d), np.nanmean(d) if not np.isnan(d).all() else 0.0, d)
    centred = -0.5 * (d**2 - (d**2).mean(axis=0) - (d**2).mean(axis=1)[:, None] + (d**2).mean())
    values, vectors = np.linalg.eigh(centred)
    top = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0))
    return top if top.shape[1] == 2 else np.column_stack([top, np.zeros(len(top))])


def draw_graph_model(data: Microdata, title: str = "") -> Figure:
    """Figure 1 of the paper: records as vertices placed by their distances, coloured and written by their labels."""
    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.add_subplot()
    small = len(data) <= VERTICES_WITH_TEXT
    places = _apart(layout(data)) if small else layout(data)
    if small:
        _weights(axes, data, places)
    labels = label_tuples(data.labels)
    colour = {
        value: PLOT_COLOURS[k % len(PLOT_COLOURS)]
        for k, value in enumerate(dict.fromkeys(label[0] for label in labels))
    }
    for i, label in enumerate(labels):
        hue = colour[label[0]]
        if small:
            text = f"{i + 1}: {', '.join(map(str, label[1:] or label))}"
            bubble = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": hue, "linewidth": 1.6}
            _write(axes, places[i], text, color=hue, bbox=bubble, zorder=3)
        else:
            axes.plot(*places[i], ".", color=hue)
    _legend(axes, {str(value): hue for value, hue in colour.items()}, str(data.labels.columns[0]))
    _plain(axes, places, title or f"Graph model of {data.name}")
    return figure


def _weights(axes: Axes, data: Microdata, places: FloatArray) -> None:
    """Draw the edges, and on few of them their weights."""
    rows = np.arange(len(data), dtype=np.int32)
    d = data.distances.block(rows, rows)
    for i, j in zip(*np.triu_indices(len(data), 1), strict=True):
        if not np.isnan(d[i, j]):
            axes.plot(*places[[i, j]].T, color="#BBBBBB", linewidth=0.8, zorder=1)
            if len(data) <= VERTICES_WITH_WEIGHTS:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
                _write(axes, places[[i, j]].mean(axis=0), f"{d[i, j]:.1f}", fontsize=8, color="#555555", bbox=box)


def _write(axes: Axes, place: FloatArray, text: str, **style: Any) -> None:
    axes.text(float(place[0]), float(place[1]), text, ha="center", va="center", **style)


def _apart(places: FloatArray) -> FloatArray:
    """Places with those that would cover each other pushed apart a little, so that all records are seen."""
    extent = float(np.ptp(places, axis=0).max(initial=0.0)) or 1.0
    room = np.array([0.10, 0.055]) * extent  # a written label is wider than high
    moved = places.astype(float) / room
    turn = 2 * np.pi * np.arange(len(moved)) / max(len(moved), 1)
    moved += 1e-3 * np.column_stack([np.cos(turn), np.sin(turn)])  # records at one point part in different directions
    for _ in range(100):
        gap = moved[:, None] - moved[None]
        length = np.sqrt((gap**2).sum(axis=2)) + np.eye(len(moved))
        push = np.where(length < 1, (1 - length) / 2, 0)
        np.fill_diagonal(push, 0)
        moved += ((gap / length[..., None]) * push[..., None]).sum(axis=1)
    return np.asarray(moved * room)


def _legend(axes: Axes, colours: dict[str, str], title: str) -> None:
    for name, colour in list(colours.items())[: len(PLOT_COLOURS)]:
        axes.plot([], [], "s", color=colour, label=name)
    axes.legend(title=title, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=5, frameon=False)


def _plain(axes: Axes, places: FloatArray, title: str) -> None:
    """Draw an empty frame around the places, with room for the text at its border."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = 0.15 * (float((high - low).max()) or 1.0)
    axes.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room), title=title)
    axes.set_axis_off()


def draw_product_graph(graph: ProductGraph, members: Sequence[int] = (), title: str = "Product graph") -> Figure:
    """Draw the product graph on a circle, vertices shown from 1 as in the paper, ``members`` (from 0) drawn heavily."""
    if graph.order == 0:
        raise InputError("product_graph_empty")
    if graph.order > 400:
        raise InputError("product_graph_too_large_to_draw", order=graph.order)
    figure = Figure(figsize=(7, 7), layout="constrained")
    axes = figure.add_subplot()
    angle = np.pi / 2 - 2 * np.pi * np.arange(graph.order) / graph.order
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    inside = set(members)
    for v, w in edges(graph):
        both = v in inside and w in inside
        colour, width = (TRUE, 2.4) if both else ("#AAAAAA", 1.0)
        axes.plot(*places[[v, w]].T, color=colour, linewidth=width, zorder=2 if both else 1)
    for v in range(graph.order):
        face, ink = (TRUE, "white") if v in inside else ("white", "black")
        circle = {"boxstyle": "circle,pad=0.3", "facecolor": face, "edgecolor": "#555555"}
        _write(axes, places[v], str(v + 1), color=ink, bbox=circle, zorder=3)
        pair = f"({graph.target[v] + 1}, {graph.known[v] + 1})"
        _write(axes, 1.17 * places[v], pair, fontsize=8, color="#555555")
    _plain(axes, places, title)
    axes.set_aspect("equal")
    return figure


def edges(graph: ProductGraph) -> list[tuple[int, int]]:
    """Return the edges of a small product graph as pairs of vertices from 0."""
    offsets, neighbours = graph.graph.offsets, graph.graph.neighbours
    return [(v, int(w)) for v in range(graph.order) for w in neighbours[offsets[v] : offsets[v + 1]] if w > v]


def draw_matches(target: Microdata, known: Microdata, matches: pd.DataFrame, title: str = "") -> Figure:
    """Draw figure 7 of the paper: both files side by side, a line per match; green is true, red dashed is false."""
    check_kind(matches, pd.DataFrame, "matches", "wanted_matches")
    figure = Figure(figsize=(10, 6), layout="constrained")
    panels = figure.subplots(1, 2)
    pairs = matches[["target_row", "known_row"]].to_numpy(dtype=int) - 1
    sides = [layout(target), layout(known)]
    if not _is_map(target):
        sides[0] = _turned(sides[0], sides[1], pairs)
    for axes, data, places, name in zip(panels, (target, known), sides, ("target", "known"), strict=True):
        axes.plot(*places.T, ".", color="#888888", markersize=9 if len(data) < 100 else 3, rasterized=len(data) > 5000)
        axes.set_title(f"{name}: {len(data)} records" + ("" if _is_map(data) else " (placed by their distances)"))
        _map_frame(axes, places, _is_map(data))
        if len(data) < 30:
            _number(axes, places)
    judged = matches["true"].tolist() if "true" in matches.columns else [None] * len(matches)
    for (v, w), right in zip(pairs, judged, strict=True):
        colour, style = {None: (UNKNOWN, "-"), True: (TRUE, "-"), False: (FALSE, "--")}[right]
        ends = sides[0][v], sides[1][w]
        line: dict[str, Any] = {"color": colour, "linestyle": style, "linewidth": 1.1, "alpha": 0.85}
        figure.add_artist(ConnectionPatch(*ends, "data", "data", axesA=panels[0], axesB=panels[1], **line))
        for axes, place in zip(panels, ends, strict=True):
            axes.plot(*place, "o", color=colour, markersize=4)
    figure.suptitle(title or title_matches(matches))
    return figure


def _number(axes: Axes, places: FloatArray) -> None:
    """Write the row numbers beside the records; those that share a place share a note."""
    extent = float(np.ptp(places, axis=0).max(initial=0.0)) or 1.0
    spots, group = np.unique(np.round(places / extent, 2), axis=0, return_inverse=True)
    for g in range(len(spots)):
        members = np.flatnonzero(group.ravel() == g)
        note = ", ".join(str(i + 1) for i in members)
        place = tuple(places[members[0]])
        axes.annotate(note, place, xytext=(4, 4), textcoords="offset points", fontsize=8, color="#555555")


def _is_map(data: Microdata) -> bool:
    return data.distances.on_earth


def _turned(places: FloatArray, like: FloatArray, pairs: NDArray[Any]) -> FloatArray:
    """``places`` turned, mirrored and scaled so that matched records lie as in ``like``; distances fix no direction."""
    if len(pairs) < 2:
        return places
    mine, theirs = places[pairs[:, 0]], like[pairs[:, 1]]
    rotation, scale = orthogonal_procrustes(mine - mine.mean(axis=0), theirs - theirs.mean(axis=0))
    size = float(((mine - mine.mean(axis=0)) ** 2).sum()) or 1.0
    return np.asarray((places - mine.mean(axis=0)) @ rotation * (scale / size) + theirs.mean(axis=0))


def title_matches(matches: pd.DataFrame) -> str:
    """Return how many matches there are, and how many of them are true and false where that is known."""
    if "true" not in matches.columns:
        return f"{len(matches)} matches"
    right = int(matches["true"].sum())
    return f"{len(matches)} matches: {right} true (green, solid), {len(matches) - right} false (red, dashed)"


def _map_frame(axes: Axes, places: FloatArray, map_like: bool) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    middle = float(np.mean(places[:, 1])) if map_like else 0.0
    aspect: Any = 1 / max(np.cos(np.radians(middle)), 0.1) if map_like else "equal"
    axes.set_aspect(aspect, adjustable="datalim")
