"""The picture of a study over levels of labels: what is found as labels are made coarser."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from disclique.records.coarsening import parse_recoding
from disclique.show.plots import COLOURS
from disclique.studies import StudyResult, tabulate_labels
from disclique.studies.definition import FULL
from disclique.studies.summary import RATES

STYLES = ("-", "--", ":", "-.")
MARKS = "osD^vP*X"


def draw_rates_by_labels(result: StudyResult, alpha: float = 0.5) -> Figure:
    """Draw precision and recall against the level of labels: a colour for each attack, a line style for each mask.

    Attacks that depend on a detection probability are shown at ``alpha``. Bars are 95 % bands of the averages.
    """
    table = result.summary
    table = table[table["alpha"].isna() | np.isclose(table["alpha"].fillna(-1.0), alpha)]
    levels = tabulate_labels(result.study)
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
                    color=COLOURS[hue % len(COLOURS)],
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
    return "as they are" if level == FULL else parse_recoding(level).said


def make_quiet(axes: Axes) -> None:
    """Take away what is not data: half of the frame, and lines that are darker than needed."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)
