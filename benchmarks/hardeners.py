"""What hardening an encoding does to both curves: ``python benchmarks/hardeners.py`` (half an hour, one core).

200 invented people (``disclique example names``) are encoded under a secret key, with first and last name and birthday.
An audit asks what is found by those who know 0, 10, 20 (a tenth), 50 or all other pairs: by distances, and by the code
that these pairs show. With 0 pairs it is what the attacks ``profiles`` and ``code`` find by themselves, or what the
number of bits tells. Runs are kept in ``benchmarks/results/hardeners.csv`` and not repeated; the table goes to
``docs/howto/names.md`` between its marks, the picture to ``docs/img/hardeners.png``.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import disclique as dq
from disclique.show.plots import PLOT_COLOURS, save_figure
from disclique.synthetic.files import example
from matching_show import markdown, share

ROOT = Path(__file__).parent.parent
OUT, PAGE, PICTURE = (
    Path(__file__).parent / "results" / "hardeners.csv",
    ROOT / "docs/howto/names.md",
    ROOT / "docs/img/hardeners.png",
)
BEGIN, END = "<!-- hardeners: begin -->\n", "<!-- hardeners: end -->"
PEOPLE, COLUMNS = 200, ["first", "last", "born"]
KNOWN = (0, 10, 20, 50, 200)
HARDENERS = (
    *("", "flip=0.1", "flip=0.2", "diffuse=5", "diffuse=10", "salt=16", "salt=record", "balance=yes", "xor-fold=1"),
    *("rule90=1", "rehash=8", "fakes=0.25"),
)


def measure(hardener: str, repetition: int) -> dict[str, object]:
    """Encode the people once and ask; shares found by known pairs, by distances (d) and by the code (c)."""
    table = example("names")["people.csv"]
    assert isinstance(table, pd.DataFrame)
    file = dq.microdata(table.head(PEOPLE), text=COLUMNS, ids="id", name="people")
    mask, begun = f"bloom:{hardener}" if hardener else "bloom", time.process_time()
    done = dq.audit(
        file,
        masks=[mask],
        attacks=("profiles", "code"),
        dictionary=table,
        utility="linkage",
        repetitions=1,
        person_trials=1,
        sensitivity=False,
        thorough=True,
        seed=2026 + repetition,
    )
    setting = done.settings[0]
    oracle = setting.oracle
    assert oracle is not None
    row: dict[str, object] = {"hardener": hardener, "repetition": repetition, "people": PEOPLE}
    for letter, curve in zip("dc", oracle.curves, strict=True):
        found = {one.seeds: one.value for one in curve}
        row |= {f"{letter}{many}": round(found[many], 4) for many in KNOWN}
    everybody = None if setting.everybody is None else round(setting.everybody.value, 4)
    used = setting.utility["linkage"]
    return {**row, "everybody": everybody, "linkage": used, "seconds": round(time.process_time() - begun, 1)}


def draw(runs: pd.DataFrame) -> Figure:
    """Draw both curves of every hardener, a field for each; the F1 of linkage stands above it."""
    made = Figure(figsize=(11, 7.6), layout="constrained")
    fields = made.subplots(3, 4, sharex=True, sharey=True)
    for axes, hardener in zip(fields.flat, HARDENERS, strict=True):
        _draw_curves(axes, runs[runs["hardener"] == hardener], hardener)
    for axes in fields[-1]:
        axes.set_xlabel("known pairs")
    for axes in fields[:, 0]:
        axes.set_ylabel("share of the others found")
    fields[0, 0].legend(loc="lower right", frameon=False, fontsize=9)
    return made


def _draw_curves(axes: Axes, runs: pd.DataFrame, hardener: str) -> None:
    for letter, label, colour, style in (
        ("d", "by distances", PLOT_COLOURS[0], "o-"),
        ("c", "by the learned code", PLOT_COLOURS[1], "s--"),
    ):
        means = [runs[f"{letter}{many}"].mean() for many in KNOWN]
        axes.plot(range(len(KNOWN)), means, style, color=colour, label=label, clip_on=False, markersize=4.5)
    linked = f"{runs['linkage'].mean():.2f}".lstrip("0")
    axes.set_title(f"{hardener or 'bloom, plain'}  (linkage {linked})", fontsize=10)
    axes.set_xticks(range(len(KNOWN)), [*map(str, KNOWN[:-1]), "all"])
    axes.set_ylim(0, 1.02)


def tabulate(runs: pd.DataFrame) -> str:
    """Return the table of the page: means over the repetitions."""
    head = ["hardener", *(f"{how}, {many}" for how in ("distances", "code") for many in (*KNOWN[:-1], "all"))]
    columns = [f"{letter}{many}" for letter in "dc" for many in KNOWN]
    rows = []
    for hardener in HARDENERS:
        means = runs[runs["hardener"] == hardener][[*columns, "linkage"]].mean()
        rows.append([f"`{hardener}`" if hardener else "none", *(share(value) for value in means)])
    return markdown([*head, "linkage F1"], rows)


def put(table: str) -> None:
    """Write the table into the page, between its marks."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table}{END}{rest.split(END)[1]}", encoding="utf-8")


def is_measured(hardener: str, repetition: int) -> bool:
    """Say whether a run is kept; another process may have measured it by now."""
    if not OUT.exists():
        return False
    runs = pd.read_csv(OUT, keep_default_na=False)
    return bool(((runs["hardener"] == hardener) & (runs["repetition"] == repetition)).any())


def main() -> None:
    """Measure what is missing, then write table and picture once everything is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=HARDENERS, help="some of the hardeners, for a process of its own")
    parser.add_argument("--show", action="store_true", help="only write table and picture of what there is")
    given = parser.parse_args()
    for repetition in range(0 if given.show else given.repetitions):
        for hardener in given.only:
            if is_measured(hardener, repetition):
                continue
            row = measure(hardener, repetition)
            print(row, flush=True)
            with OUT.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(row))
                if not file.tell():
                    writer.writeheader()
                writer.writerow(row)
    runs = pd.read_csv(OUT, keep_default_na=False)
    if set(runs["hardener"]) != set(HARDENERS):
        return
    put(tabulate(runs))
    save_figure(draw(runs), PICTURE)


if __name__ == "__main__":
    main()
