"""The pictures of a study: rates against σ and α, the risk-utility map, and the two files on a map.

Every function returns a matplotlib ``Figure``; what is drawn has been computed before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from disclique.audits.result import AuditResult
from disclique.measures.utility import measures
from disclique.records.coarsening import parse_recoding
from disclique.show.plots import PLOT_COLOURS, draw_matches, title_matches
from disclique.show.report.page import STATUS
from disclique.studies import StudyDraws, StudyResult, deviations, reliability, typical_examples
from disclique.studies.definition import FULL
from disclique.studies.summary import RATES, dial_name, dials
from disclique.synthetic.people import Population

RELEASED, COMMON = "#888888", PLOT_COLOURS[1]


def draw_rates_by_mask(table: pd.DataFrame, attack: str = "clique") -> Figure:
    """Draw figure 5 of the paper: precision and recall against the mask's dial, a line with a 95 % band for each α."""
    chosen = table[table["attack"] == attack]
    masks = tuple(dict.fromkeys(chosen["mask"]))
    names = dials(masks)
    value = {mask: place for place, mask in enumerate(masks)} if names is None else names
    return _lines(chosen.assign(x=chosen["mask"].map(value)), "alpha", "α", _axis(masks), masks)


def draw_rates_by_alpha(table: pd.DataFrame, attack: str = "clique") -> Figure:
    """Draw figure 6 of the paper: average precision and recall against α, a line for each mask with a 95 % band."""
    chosen = table[table["attack"] == attack]
    masks = tuple(dict.fromkeys(chosen["mask"]))
    names = dials(masks) or {mask: mask for mask in masks}
    return _lines(chosen.assign(x=chosen["alpha"], line=chosen["mask"].map(names)), "line", _axis(masks), "α", masks)


def _axis(masks: tuple[str, ...]) -> str:
    """Return how the axis of the masks is called: the dial as the paper writes it, with its unit."""
    dial, _, unit = dial_name(masks).partition("_")
    return {"sigma": "σ"}.get(dial, dial) + (f" ({unit})" if unit else "")


def _lines(points: pd.DataFrame, line: str, title: str, axis: str, masks: tuple[str, ...]) -> Figure:
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    kinds = list(dict.fromkeys(points[line]))
    by_name = line == "attack"  # names are told apart by hue, values of a dial by brightness
    colours = PLOT_COLOURS[: len(kinds)] if by_name else colormaps["viridis"](np.linspace(0, 0.92, len(kinds)))
    for axes, rate in zip(panels, RATES, strict=True):
        for kind, colour in zip(kinds, colours, strict=True):
            part = points[points[line] == kind].sort_values("x")
            label = f"{kind:g}" if isinstance(kind, (int, float)) else str(kind)
            style = "s--" if kind == "ceiling" else "o-"
            axes.plot(part["x"], part[rate], style, color=colour, markersize=3, label=label)
            axes.fill_between(
                part["x"], part[f"{rate}_low"], part[f"{rate}_high"], color=colour, alpha=0.18, linewidth=0
            )
        axes.set(xlabel=axis, ylabel=f"average {rate}", ylim=(0, 1.02))
        axes.xaxis.set_major_locator(MaxNLocator(6))
        if axis == "mask":
            axes.set_xticks(range(len(masks)), masks, rotation=30, ha="right", fontsize=7)
        make_quiet(axes)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", title=title, frameon=False)
    return figure


def draw_rates_by_attack(table: pd.DataFrame, alpha: float = 0.5) -> Figure:
    """Precision and recall against the mask's dial, a line with a 95 % band for each attack; the ceiling is dashed.

    Attacks that depend on a detection probability are shown at ``alpha``.
    """
    chosen = table[table["alpha"].isna() | np.isclose(table["alpha"].fillna(-1.0), alpha)]
    masks = tuple(dict.fromkeys(chosen["mask"]))
    value = dials(masks) or {mask: place for place, mask in enumerate(masks)}
    return _lines(chosen.assign(x=chosen["mask"].map(value)), "attack", "attack", _axis(masks), masks)


def draw_reliability(tables: dict[str, pd.DataFrame]) -> Figure:
    """Draw the share of true pairs against the probability that each attack gave them; on the diagonal it is right."""
    figure = Figure(figsize=(5.5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], "--", color=RELEASED, linewidth=1)
    for (attack, found), colour, mark in zip(tables.items(), PLOT_COLOURS, "osD^vP*X", strict=False):
        spread = np.sqrt(found["true"] * (1 - found["true"]) / found["pairs"])
        style: dict[str, Any] = {"color": colour, "fmt": f"{mark}-", "markersize": 4, "capsize": 2}
        axes.errorbar(found["probability"], found["true"], yerr=1.96 * spread, label=attack, **style)
    axes.set(xlabel="probability given", ylabel="share of true pairs", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(frameon=False)
    make_quiet(axes)
    return figure


def draw_risk_utility(
    table: pd.DataFrame, deviation: pd.DataFrame, alpha: float = 0.5, attack: str = "clique"
) -> Figure:
    """Draw figure 8 of the paper: average precision at ``alpha`` against 1/variance of d - d', a point for each mask.

    ``deviation`` has the masks in the order of the study, as ``deviations`` gives it.
    """
    chosen = table[(table["attack"] == attack) & np.isclose(table["alpha"], alpha)]
    utility = 1 / deviation["variance"].to_numpy()
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot()
    error = np.abs(chosen[["precision_low", "precision_high"]].to_numpy().T - chosen["precision"].to_numpy())
    axes.errorbar(utility, chosen["precision"], yerr=error, fmt="o-", color=PLOT_COLOURS[0], capsize=2)
    for x, y, name in zip(utility, chosen["precision"], deviation.iloc[:, 0], strict=True):
        label = f"σ = {name:g}" if isinstance(name, (int, float)) else str(name)
        axes.annotate(label, (x, y), textcoords="offset points", xytext=(6, -11), fontsize=8)
    axes.set(
        xscale="log",
        xlabel="utility: 1 / variance of d - d' (1/km²)",
        ylabel=f"risk: average precision at α = {alpha:g}",
    )
    make_quiet(axes)
    return figure


def draw_files(people: Population) -> Figure:
    """Draw figure 4 of the paper: the target and the known file on the map, people in both in another colour."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    common = set(people.common_ids)
    for axes, frame, name in zip(
        figure.subplots(1, 2, sharex=True, sharey=True), (people.target, people.known), ("target", "known"), strict=True
    ):
        both = frame["id"].isin(common)
        axes.plot(frame["lon"][~both], frame["lat"][~both], ".", color=RELEASED, markersize=4)
        axes.plot(
            frame["lon"][both], frame["lat"][both], "o", color=COMMON, markersize=4, label=f"in both: {both.sum()}"
        )
        axes.set_aspect(1 / max(float(np.cos(np.radians(frame["lat"].mean()))), 0.1))
        axes.set(title=f"{name}: {len(frame)} records", xlabel="longitude (°)", ylabel="latitude (°)")
        axes.legend(loc="lower right", frameon=False)
        make_quiet(axes)
    return figure


def draw_study(result: StudyResult) -> dict[str, Figure]:
    """Draw all pictures of a study, by the names of their files."""
    study, table = result.study, result.summary
    pictures = (
        {} if study.people.file else {"files.png": draw_files(StudyDraws(study).draw_people())}
    )  # a file has no map
    middle = min(study.grid.alphas, key=lambda alpha: abs(alpha - 0.5))
    if study.grid.turns_labels:  # the paper's pictures are of the first level
        pictures |= {"rates_by_labels.png": draw_rates_by_labels(result, middle)}
        table = table[table["labels"] == (study.grid.labels[0] or FULL)]
    if len(study.grid.attacks) > 1:
        pictures |= {"rates_by_attack.png": draw_rates_by_attack(table, middle)}
    weighed = {attack: reliability(result.records, attack) for attack in study.grid.attacks}
    weighed = {attack: found for attack, found in weighed.items() if len(found)}
    if weighed:
        pictures |= {"reliability.png": draw_reliability(weighed)}
    if table["alpha"].notna().any():
        first = table.loc[table["alpha"].notna(), "attack"].iloc[0]
        pictures |= {"rates_by_mask.png": draw_rates_by_mask(table, first)}
        pictures |= {"rates_by_alpha.png": draw_rates_by_alpha(table, first)}
        pictures |= {"risk_utility.png": draw_risk_utility(table, deviations(study), middle, first)}
        for place, example in enumerate(typical_examples(study), start=1):
            title = f"{example.unit.setting}, α = {example.alpha:g}: {title_matches(example.matches)}"
            pictures |= {f"typical_{place}.png": draw_matches(example.target, example.known, example.matches, title)}
    return pictures


def draw_risk_utility_map(result: AuditResult) -> Figure:
    """Draw what every setting of an audit gives away against its usefulness, with the limit.

    A line leads up to the upper end, a diamond is what an attack showed, and the setting of the verdict has a ring.
    """
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.add_subplot()
    there = [(s, s.usefulness) for s in result.settings if s.usefulness is not None]
    for place, mask in enumerate(dict.fromkeys(s.mask for s, _ in there)):
        for number, (s, use) in enumerate(pair for pair in there if pair[0].mask == mask):
            colour = PLOT_COLOURS[place % len(PLOT_COLOURS)]
            axes.plot([use, use], [s.risk.value, s.risk.high], color=colour, linewidth=1.2)
            axes.plot(use, s.risk.value, "o", color=colour, label=mask if number == 0 else None)
            if s.risk.found is not None:
                axes.plot(use, s.risk.found.value, "D", color=colour, markersize=4, fillstyle="none")
            if s.spec == result.verdict.setting:
                axes.plot(use, s.risk.value, "o", color="black", markersize=13, fillstyle="none")
    if result.plan.max_risk is not None:
        axes.axhline(result.plan.max_risk, color="#E69F00", linestyle="--", linewidth=1.2, label="limit")
    chosen = result.setting(result.verdict.setting)
    axes.set(
        xlabel=measures()[result.plan.utility].title,
        ylabel="share of people who could be found",
        ylim=(-0.02, 1.02),
    )
    axes.set_title(f"{STATUS[result.verdict.status]}\nring: {chosen.brief or chosen.spec}", fontsize=10)
    if there:
        axes.plot([], [], "D", color=RELEASED, markersize=4, fillstyle="none", label="shown by an attack")
        axes.legend(frameon=False)
    make_quiet(axes)
    return figure


STYLES = ("-", "--", ":", "-.")
MARKS = "osD^vP*X"


def draw_rates_by_labels(result: StudyResult, alpha: float = 0.5) -> Figure:
    """Draw precision and recall against the level of labels: a colour for each attack, a line style for each mask.

    Attacks that depend on a detection probability are shown at ``alpha``. Bars are 95 % bands of the averages.
    """
    table = result.summary
    table = table[table["alpha"].isna() | np.isclose(table["alpha"].fillna(-1.0), alpha)]
    levels = StudyDraws(result.study).tabulate_labels()
    place = {name: k for k, name in enumerate(levels["labels"])}
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    ticks = [
        f"{_name(level)}\n({count} {'class' if count == 1 else 'classes'})"
        for level, count in zip(levels["labels"], levels["distinct"], strict=True)
    ]
    for axes, rate in zip(panels, RATES, strict=True):
        for hue, attack in enumerate(result.study.grid.attacks):
            for style, mask in enumerate(result.study.grid.masks):
                part = table[(table["attack"] == attack) & (table["mask"] == mask)]
                error = np.abs(part[[f"{rate}_low", f"{rate}_high"]].to_numpy().T - part[rate].to_numpy())
                axes.errorbar(
                    part["labels"].map(place) + 0.03 * style,
                    part[rate],
                    yerr=error,
                    color=PLOT_COLOURS[hue % len(PLOT_COLOURS)],
                    linestyle=STYLES[style % len(STYLES)],
                    marker=MARKS[hue % len(MARKS)],
                    markersize=4,
                    capsize=2,
                    label=f"{attack}, {mask}",
                )
        axes.set(xlabel="labels, coarser to the right", ylabel=f"average {rate}", ylim=(0, 1.02))
        axes.set_xticks(range(len(ticks)), ticks, fontsize=7, rotation=30, ha="right")
        make_quiet(axes)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _name(level: str) -> str:
    return "as they are" if level == FULL else str(parse_recoding(level).message)


def make_quiet(axes: Axes) -> None:
    """Take away what is not data: half of the frame, and lines that are darker than needed."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)
