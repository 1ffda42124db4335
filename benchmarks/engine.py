"""Time the engine beside other clique solvers, on attacks of the paper's size: table and picture.

    python benchmarks/engine.py --out FOLDER [--repeats N] [--peer NAME ...] [--no-growth]

disclique is timed with its graph included, the others on the finished graph; every clique is checked. It takes about
twenty minutes with all peers; machines differ, so compare within one run only. Each solver has a process of its own:

    python benchmarks/engine.py own SOLVER SIGMA ALPHA RECORDS THREADS REPEATS SECONDS
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.engine import is_clique, maximum_clique
from disclique.engine.product import product_graph
from disclique.errors import DiscliqueError, InputError
from disclique.model import Budget, ProductGraph
from instances import INSTANCES, Instance, instance
from peers import PEERS, load_library, peak

GROWTH = (250, 500, 1000, 2000)
SECONDS = 120.0  # that a solver may take for one attack
Tell = Callable[[str], None]


def run(
    out: Path,
    *,
    instances: Mapping[tuple[float, float], int] = INSTANCES,
    repeats: int = 5,
    peers: Collection[str] = PEERS,
    growth: Collection[int] = GROWTH,
    tell: Tell = print,
) -> pd.DataFrame:
    """Return a row per solver and attack: median seconds, peak memory, size; write bench.csv, .md and .png in ``out``.

    disclique is timed from the files to the clique, with every core and with one; peers only on the finished graph.
    A clique that is none, or of another size than stated, is an error. ``growth`` lists records per file, at σ 0.005
    and α 0.5.
    """
    rows: list[dict[str, Any]] = []
    for (sigma, alpha), size in instances.items():
        rows += _compare(sigma, alpha, size, repeats, [peer for peer in peers if importlib.util.find_spec(peer)])
        tell(f"σ {sigma} α {alpha}: " + ", ".join(f"{r['solver']} {_seconds(r)}" for r in rows[-len(peers) - 3 :]))
    for records in growth:
        row = _own("exact", (0.005, 0.5, records, 0), repeats if records <= 500 else 1)
        rows.append({"instance": f"{records} records", "records": records, "solver": "disclique"} | row)
        tell(f"{records} records per file: {_seconds(rows[-1])}")
    table = pd.DataFrame(rows).drop(columns=["members"])
    table["total"] = table["build"].fillna(0) + table["clique"]
    table["ratio"] = _ratio(table)
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / "bench.csv", index=False, float_format="%.4g")
    (out / "bench.md").write_text(markdown(table), encoding="utf-8")
    draw(table, out / "bench.png")
    return table


def _compare(sigma: float, alpha: float, size: int, repeats: int, peers: list[str]) -> list[dict[str, Any]]:
    """Return one row per solver for one attack of the paper's size."""
    attack = instance(sigma, alpha)
    graph = product_graph(attack.target, attack.known, candidates=attack.candidates, agreement=attack.agreement)
    found = {
        "disclique": _own("exact", (sigma, alpha, 500, 0), repeats),
        "disclique, one core": _own("exact", (sigma, alpha, 500, 1), repeats),
        "disclique mcqd": _own("mcqd", (sigma, alpha, 500, 0), repeats),
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edges.npy"
        source = np.repeat(np.arange(graph.order, dtype=np.int32), np.diff(graph.later.offsets))
        np.save(file, np.stack([source, graph.later.neighbours], axis=1))
        script = str(Path(__file__).with_name("peers.py"))
        for peer in peers:
            numbers = (str(graph.order), str(repeats), str(SECONDS / 6))
            found[peer] = _timed([script, "time", peer, str(file), *numbers], SECONDS)
    for solver, row in found.items():
        check(graph, row, size, f"{solver} at σ {sigma} α {alpha}")
    return [{"instance": attack.name, "records": 500, "solver": solver} | row for solver, row in found.items()]


def _own(solver: str, attack: tuple[float, float, int, int], repeats: int) -> dict[str, Any]:
    """Times of disclique; ``attack`` is (σ, α, records, threads), 0 threads for every core."""
    numbers = [str(value) for value in (*attack, repeats, SECONDS)]
    return _timed([__file__, "own", solver, *numbers], 3 * SECONDS)


def _timed(command: list[str], limit: float) -> dict[str, Any]:
    """Medians, memory and clique of a child process; only NaN if it runs out of time."""
    try:
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {
            "build": np.nan,
            "clique": np.nan,
            "runs": 0,
            "peak": np.nan,
            "size": None,
            "proven": False,
            "members": [],
        }
    if done.returncode != 0:
        raise DiscliqueError(f"{' '.join(command[:3])} ended with code {done.returncode}: {done.stderr[-400:]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    median = {step: float(np.median(found[step])) if found[step] else np.nan for step in ("build", "clique")}
    return median | {
        "runs": len(found["clique"]),
        "peak": found["peak"],
        "size": len(found["members"]),
        "proven": found["proven"],
        "members": found["members"],
    }


def check(graph: ProductGraph, row: dict[str, Any], size: int, where: str) -> None:
    """Raise an error if an answer is no clique or not of the known size."""
    if row["runs"] and not is_clique(graph, row["members"]):
        raise DiscliqueError(f"{where}: the members returned are no clique")
    if row["proven"] and row["size"] != size:
        raise DiscliqueError(f"{where}: {row['size']} members, but a maximum clique has {size}")


def _ratio(table: pd.DataFrame) -> pd.Series:
    """Total seconds as a share of igraph's clique step on the same graph, or on σ 0.05 α 0.5 where igraph gives up."""
    igraph = table[table["solver"] == "igraph"].set_index("instance")["clique"]
    fallback = igraph.get("σ 0.05 α 0.5", np.nan)
    return table["total"] / table["instance"].map(igraph).fillna(fallback).where(table["instance"].str.startswith("σ"))


def _seconds(row: Mapping[str, Any]) -> str:
    """Seconds of a row for people."""
    if np.isnan(row["clique"]):
        return f"> {SECONDS:.0f} s"
    build = "" if np.isnan(row["build"]) else f"{row['build']:.3f} + "
    return f"{build}{row['clique']:.3f} s"


def machine() -> str:
    """Date, processor, cores, load and versions, in one sentence."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), cpu)
    versions = ", ".join(f"{name} {importlib.import_module(name).__version__}" for name in ("numpy", "numba"))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{date.today()}, {cpu}, {os.cpu_count()} cores{load}, Python {platform.python_version()}, {versions}"


def markdown(table: pd.DataFrame) -> str:
    """Return the results as Markdown tables."""
    lines = [f"Measured {machine()}. Medians of up to {int(table['runs'].max())} runs, kernels warm.", ""]
    lines += ["| attack | solver | build s | clique s | total ÷ igraph's clique | peak MB | members |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for row in table.to_dict("records"):
        build = "" if np.isnan(row["build"]) else f"{row['build']:.3f}"
        clique = f"> {SECONDS:.0f}" if np.isnan(row["clique"]) else f"{row['clique']:.3f}"
        ratio = "" if np.isnan(row["ratio"]) else f"{row['ratio']:.3f}"
        peak = "" if np.isnan(row["peak"]) else f"{row['peak']:.0f}"
        size = (
            "" if not row["size"] or np.isnan(row["size"]) else f"{row['size']:.0f}" + ("" if row["proven"] else " ≤")
        )
        lines.append(f"| {row['instance']} | {row['solver']} | {build} | {clique} | {ratio} | {peak} | {size} |")
    return "\n".join(lines) + "\n"


def draw(table: pd.DataFrame, file: Path) -> None:
    """Write the picture of a table: time and memory per solver and attack, and growth with the number of records."""
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


def time_own(solver: str, sigma: str, alpha: str, records: str, *rest: str) -> None:
    """Print seconds of both steps, the clique and the peak of memory as one line of JSON."""
    threads, repeats, seconds = int(rest[0]) or None, int(rest[1]), float(rest[2])
    attack = instance(float(sigma), float(alpha), records=int(records), common=int(records) // 10)

    def build(files: Instance) -> ProductGraph:
        return product_graph(files.target, files.known, candidates=files.candidates, agreement=files.agreement)

    warm = attack if repeats > 1 else instance(0.05, 0.9, records=100, common=10)  # load the kernels
    maximum_clique(build(warm), solver=solver, threads=threads, budget=Budget(seconds=seconds))
    times: dict[str, list[float]] = {"build": [], "clique": []}
    while len(times["build"]) < repeats and sum(map(sum, times.values())) < seconds:
        begun = time.perf_counter()
        graph = build(attack)
        built = time.perf_counter()
        clique = maximum_clique(graph, solver=solver, threads=threads, budget=Budget(seconds=seconds))
        times["clique"].append(time.perf_counter() - built)
        times["build"].append(built - begun)
    found = {"members": clique.members, "proven": clique.proven, "peak": peak(), "edges": graph.size}
    print(json.dumps(times | found), flush=True)


def main() -> None:
    """Time what the command line asks for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for bench.csv, bench.md and bench.png")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each solver; medians are shown")
    parser.add_argument("--peer", choices=PEERS, action="append", help="repeatable (default: all that are installed)")
    parser.add_argument("--no-growth", action="store_true", help="leave out 250 to 2,000 records per file")
    asked = parser.parse_args()
    if asked.out.exists() and not asked.out.is_dir():
        raise InputError(f"{asked.out}: this is a file, not a folder")
    for name in asked.peer or []:
        load_library(name)  # one that is asked for by name is not left out without a word
    growth = () if asked.no_growth else GROWTH
    table = run(asked.out, repeats=asked.repeats, peers=tuple(asked.peer or PEERS), growth=growth)
    print(table[["instance", "solver", "build", "clique", "total", "ratio", "peak", "size", "proven"]].to_string())


if __name__ == "__main__":
    if sys.argv[1:2] == ["own"]:
        time_own(*sys.argv[2:])
        sys.exit()
    try:
        main()
    except DiscliqueError as error:
        print(f"disclique: {error}", file=sys.stderr)
        sys.exit(2)
