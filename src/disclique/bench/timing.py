"""Run every solver on every attack in a process of its own, check the cliques, and write table and picture."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.bench import chart
from disclique.bench.instances import INSTANCES, instance
from disclique.engine import is_clique
from disclique.engine.product import product_graph
from disclique.errors import DiscliqueError
from disclique.model import ProductGraph

PEERS = ("igraph", "cliquematch", "networkx")
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
    chart.draw(table, out / "bench.png")
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
        script = str(Path(__file__).with_name("peer.py"))
        for peer in peers:
            found[peer] = _timed([script, peer, str(file), str(graph.order), str(repeats), str(SECONDS / 6)], SECONDS)
    for solver, row in found.items():
        _check(graph, row, size, f"{solver} at σ {sigma} α {alpha}")
    return [{"instance": attack.name, "records": 500, "solver": solver} | row for solver, row in found.items()]


def _own(solver: str, attack: tuple[float, float, int, int], repeats: int) -> dict[str, Any]:
    """Times of disclique; ``attack`` is (σ, α, records, threads), 0 threads for every core."""
    numbers = [str(value) for value in (*attack, repeats, SECONDS)]
    return _timed(["-m", "disclique.bench.own", solver, *numbers], 3 * SECONDS)


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


def _check(graph: ProductGraph, row: dict[str, Any], size: int, where: str) -> None:
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
