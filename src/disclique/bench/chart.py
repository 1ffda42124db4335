"""The picture of a benchmark: time and memory per solver and attack, and growth with the number of records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def draw(table: pd.DataFrame, file: Path) -> None:
    """Write the picture as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    time, memory, growth = figure.subplots(1, 3, width_ratios=(5, 5, 3))
    attacks = table[table["instance"].str.startswith("σ")]
    for axes, column, label in ((time, "total", "seconds"), (memory, "peak", "peak memory, MB")):
        wide = attacks.pivot_table(index="instance", columns="solver", values=column, sort=False)
        for solver in wide.columns:
            own = solver == "disclique"
            style = {"linewidth": 2.5, "zorder": 3} if own else {"linewidth": 1.2}
            axes.plot(np.arange(len(wide)), wide[solver], marker="o", markersize=4, label=solver, **style)
        axes.set_xticks(np.arange(len(wide)), [name.replace(" α", "\nα") for name in wide.index], fontsize=8)
        axes.set(yscale="log", ylabel=label)
        axes.grid(axis="y", alpha=0.3)
    time.set_title("disclique: build and clique; others: clique only", fontsize=10)
    memory.set_title("one process per solver", fontsize=10)
    time.legend(fontsize=8, frameon=False)
    sizes = table[table["instance"].str.endswith("records")]
    if len(sizes):
        growth.plot(sizes["records"], sizes["total"], marker="o", linewidth=2.5)
        growth.set(
            xscale="log", yscale="log", xlabel="records per file, 10 % common", ylabel="seconds, build and clique"
        )
        growth.set_xticks(sizes["records"].tolist(), [f"{n:,}" for n in sizes["records"]], fontsize=8)
        growth.minorticks_off()
        growth.grid(alpha=0.3)
        growth.set_title("growth at σ 0.005, α 0.5", fontsize=10)
    else:
        growth.set_axis_off()
    figure.savefig(file, dpi=130)
