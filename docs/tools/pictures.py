"""Draw the pictures of the section Understand: ``python docs/tools/pictures.py``, from fixed seeds, a minute.

Each is drawn from what the package computes, on the paper's poets or on the bundled survey of invented people.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import disclique as dq
from disclique.engine.product import product_graph
from disclique.model import ProductGraph
from disclique.records.labels import candidates
from disclique.show.plots import COLOURS, layout

IMAGES = Path(__file__).resolve().parents[1] / "img"
BLUE, ORANGE, GREEN, GREY = COLOURS[0], COLOURS[1], COLOURS[2], "#888888"
KM = 111.2  # kilometres in a degree of latitude


def main() -> None:
    """Draw all of them."""
    drawn = {
        "paper-model": dq.plots.draw_graph_model(dq.cities()),
        "paper-pairs": draw_pairs(),
        "paper-product": draw_poets_product(),
        "paper-answer": draw_answer(),
        "map-rebuilt": draw_rebuilt(),
        "risk-neighbours": draw_neighbours(),
        "masks-moved": draw_moves(),
    }
    for name, figure in drawn.items():
        figure.savefig(IMAGES / f"{name}.png", dpi=110, facecolor="white")


def poets() -> tuple[dq.Microdata, dq.Microdata, np.ndarray, np.ndarray]:
    """Return the two files and where their records are drawn: the known ones beside those of the target."""
    target, known = dq.poets()
    left, right = layout(target), layout(known)
    same = [(0, 0), (1, 1), (2, 2), (3, 3)]  # the people of both files, rows from 0
    right = turned(right, left, same)
    return target, known, left, right


def turned(points: np.ndarray, onto: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Return points turned or mirrored so that pairs lie as alike as they can; lengths stay."""
    here, there = points[[b for _, b in pairs]], onto[[a for a, _ in pairs]]
    u, _, v = np.linalg.svd((here - here.mean(0)).T @ (there - there.mean(0)))
    return (points - here.mean(0)) @ (u @ v) + there.mean(0)


def draw_pairs() -> Figure:
    """Draw both files of the poets and a line for every pair whose labels match."""
    target, known, left, right = poets()
    graph = graph_of(target, known)
    figure = _two_files(target, known, left, right)
    axes = figure.axes[0]
    shift = _shift(left)
    for i, j in zip(graph.target, graph.known, strict=True):
        axes.plot([left[i, 0], right[j, 0] + shift], [left[i, 1], right[j, 1]], color=ORANGE, lw=1.2, zorder=1)
    axes.set_title("Eleven pairs have the same language and century: which are the same person?")
    return figure


def draw_answer() -> Figure:
    """Draw both files of the poets, and the four matches with the distances between them."""
    target, known, left, right = poets()
    result = dq.attack(target, known, agreement=dq.Within(5), truth="name")
    rows = result.matches[["target_row", "known_row"]].to_numpy() - 1
    figure = _two_files(target, known, left, right)
    axes = figure.axes[0]
    shift = _shift(left)
    for places, column, offset in ((left, 0, 0.0), (right, 1, shift)):
        members = places[rows[:, column]]
        for a in range(len(members)):
            for b in range(a):
                axes.plot(*(members[[a, b]] + [offset, 0]).T, color=GREEN, lw=1, alpha=0.6, zorder=1)
    for i, j in rows:
        axes.plot([left[i, 0], right[j, 0] + shift], [left[i, 1], right[j, 1]], color=GREEN, lw=2, zorder=1)
        axes.text(right[j, 0] + shift, right[j, 1] - 170, known.table["name"][j], ha="center", va="top", fontsize=8)
    axes.set_title("Four pairs agree in all six distances between them: these are the people of both files")
    return figure


def draw_poets_product() -> Figure:
    """Draw the product graph of the poets with its largest clique."""
    target, known = dq.poets()
    graph = graph_of(target, known)
    members = dq.maximum_clique(graph).members
    return dq.plots.draw_product_graph(graph, members, title="Pairs that go together: the four heavy ones all do")


def graph_of(target: dq.Microdata, known: dq.Microdata) -> ProductGraph:
    """Return the product graph of two files whose distances agree within 5 km."""
    pairs = candidates(target.labels, known.labels)
    return product_graph(target.distances, known.distances, candidates=pairs, agreement=dq.Within(5))


def _shift(left: np.ndarray) -> float:
    return 1.55 * float(np.ptp(left[:, 0]))


def _two_files(target: dq.Microdata, known: dq.Microdata, left: np.ndarray, right: np.ndarray) -> Figure:
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.add_subplot()
    shift = _shift(left)
    for data, places, offset, colour in ((target, left, 0.0, BLUE), (known, right, shift, GREY)):
        axes.scatter(places[:, 0] + offset, places[:, 1], s=330, color=colour, zorder=2)
        spots: dict[tuple[int, int], list[int]] = {}
        for k, (x, y) in enumerate(places):
            spots.setdefault((round(x / 40), round(y / 40)), []).append(k)
        for here in spots.values():
            x, y = places[here].mean(0)
            text, size = ", ".join(str(k + 1) for k in here), 8 if len(here) == 1 else 6
            axes.text(x + offset, y, text, color="white", ha="center", va="center", fontsize=size, zorder=3)
        language, century = data.labels.columns
        said = [f"{k + 1}  {data.labels[language][k]}, {data.labels[century][k]}" for k in range(len(data))]
        x = -0.01 if colour == BLUE else 1.01
        side = "right" if colour == BLUE else "left"
        axes.text(x, 0.5, "\n".join(said), transform=axes.transAxes, ha=side, va="center", fontsize=8)
    axes.text(0.02, 0.02, "released: language, century\nof birth, distances", transform=axes.transAxes, color=BLUE)
    axes.text(0.98, 0.02, "known: the same,\nand names", transform=axes.transAxes, color="#555555", ha="right")
    axes.set_aspect("equal")
    axes.axis("off")
    axes.margins(0.08)
    return figure


def survey(rows: int | None = None) -> dq.Microdata:
    """Return the bundled survey."""
    table = dq.survey() if rows is None else dq.survey().iloc[:rows]
    return dq.microdata(table, ["sex", "age_class"], coordinates=["lon", "lat"], ids="id", name="survey")


def plane(table: object) -> np.ndarray:
    """Return longitudes and latitudes as kilometres east and north of the middle of Germany."""
    lonlat = table[["lon", "lat"]].to_numpy()  # type: ignore[index]
    return (lonlat - [10.3, 51.2]) * [KM * np.cos(np.radians(51.2)), KM]


def draw_rebuilt() -> Figure:
    """Draw the survey, its masked distances, the map made from them alone, and that map laid on the survey."""
    people = survey()
    places = plane(people.table)
    released = dq.release(people, "gaussian:sigma=5km", seed=1)
    shown, order = released.distances, released.key
    squares = shown**2
    centred = -0.5 * (squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(centred)
    rebuilt = vectors[:, -2:] * np.sqrt(values[-2:])
    angle = np.radians(115)
    rebuilt = rebuilt @ [[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]]
    laid = turned(rebuilt, places[order], [(k, k) for k in range(len(order))])
    figure = Figure(figsize=(8.5, 9), layout="constrained")
    first, second, third, fourth = figure.subplots(2, 2).ravel()
    _dots(first, places, GREY, "1. Where 500 people live: the secret")
    second.imshow(shown, cmap="viridis", interpolation="nearest")
    second.set_title("2. What is released: distances,\nmoved by 5 km of noise, rows shuffled", fontsize=10)
    second.set_xticks([])
    second.set_yticks([])
    _dots(third, rebuilt, BLUE, "3. A map made from the distances\nalone: turned, mirrored, but a map")
    _dots(fourth, places, GREY, "4. Laid on a list of known people:\nevery dot has its neighbour")
    fourth.plot(*laid.T, ".", color=BLUE, ms=2.5)
    return figure


def _dots(axes: Axes, places: np.ndarray, colour: str, title: str) -> None:
    axes.plot(*places.T, ".", color=colour, ms=4 if colour == GREY else 3)
    axes.set_aspect("equal")
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_neighbours() -> Figure:
    """Draw two people of the survey, and whose record theirs could be under noise of 20 km."""
    people = survey()
    places, sigma = plane(people.table), 20.0
    labels = people.labels.astype(str).agg(", ".join, axis=1).to_numpy()
    moved = plane_of(dq.parse_mask("gaussian:sigma=20km"), people)
    gaps = ((places[:, None] - moved[None]) ** 2).sum(2)
    weight = np.exp(-gaps / (2 * sigma**2)) * (labels[:, None] == labels[None])
    share = weight / weight.sum(1, keepdims=True)
    own = np.diag(share)
    chosen = [int(np.argmin(abs(own - wanted))) for wanted in (0.98, 0.25)]
    figure = Figure(figsize=(10, 5), layout="constrained")
    for axes, k in zip(figure.subplots(1, 2), chosen, strict=True):
        same = np.flatnonzero(labels == labels[k])
        axes.plot(*moved.T, ".", color="#cccccc", ms=4, zorder=1)
        axes.scatter(*moved[same].T, s=25 + 500 * share[k, same], color=ORANGE, alpha=0.75, zorder=2)
        axes.scatter(*moved[k], s=25 + 500 * share[k, k], color=GREEN, zorder=3)
        axes.plot(*places[k], "x", color="black", ms=11, mew=2.5, zorder=4)
        turn = np.linspace(0, 2 * np.pi, 100)
        for radius in (sigma, 2 * sigma):
            axes.plot(*(places[k][:, None] + radius * np.array([np.cos(turn), np.sin(turn)])), color=GREY, lw=0.8)
        for j in same[share[k, same] > 0.03]:
            axes.annotate(f"{share[k, j]:.0%}", moved[j], xytext=(9, 6), textcoords="offset points", fontsize=10)
        axes.set_xlim(places[k][0] - 75, places[k][0] + 75)
        axes.set_ylim(places[k][1] - 75, places[k][1] + 75)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel("circles: 20 and 40 km around where they live (×)")
        axes.set_title(f"{labels[k]}: the right record has {own[k]:.0%}", fontsize=11)
    return figure


def plane_of(mask: object, people: dq.Microdata) -> np.ndarray:
    """Return the places of a file after a mask, in kilometres."""
    masked = mask.apply(people.distances, np.random.default_rng(3))  # type: ignore[attr-defined]
    return (masked.coordinates - [10.3, 51.2]) * [KM * np.cos(np.radians(51.2)), KM]


def draw_moves() -> Figure:
    """Draw what masks do to the places of one town."""
    rng = np.random.default_rng(5)
    lonlat = rng.normal([10.3, 51.2], [0.03, 0.02], (40, 2))
    points = dq.Points(lonlat)
    before = (lonlat - [10.3, 51.2]) * [KM * np.cos(np.radians(51.2)), KM]
    specs = ("gaussian:sigma=500m", "donut:min=400m,max=1km", "grid:cell=2km", "swap:radius=3km", "voronoi", "affine")
    figure = Figure(figsize=(10, 7), layout="constrained")
    for axes, spec in zip(figure.subplots(2, 3).ravel(), specs, strict=True):
        after = dq.parse_mask(spec).apply(points, np.random.default_rng(1)).coordinates
        after = (after - [10.3, 51.2]) * [KM * np.cos(np.radians(51.2)), KM]
        if spec == "affine":  # the motion leads far away: show the map where it lands
            after = after - after.mean(0) + [7, 0]
        for a, b in zip(before, after, strict=True):
            if spec != "affine":
                axes.plot(*np.array([a, b]).T, color="#bbbbbb", lw=0.8, zorder=1)
        axes.plot(*before.T, "o", color=GREY, ms=3.5, zorder=2)
        axes.plot(*after.T, "o", color=BLUE, ms=3.5, zorder=3)
        axes.set_aspect("equal")
        axes.set_title(spec, fontsize=10, family="monospace")
        axes.set_xticks([])
        axes.set_yticks([])
    figure.supxlabel("grey: true places · blue: masked ones (affine: the whole map is moved and turned, nothing else)")
    return figure


if __name__ == "__main__":
    main()
