"""Exact search at the edge of memory: two product graphs of more than 200 million edges, five minutes each.

Each runs in a process of its own on all cores. A row holds if the clique is proven, or the bound is at most three times
its size. Processor time is what counts on a machine that others use too: ``cpu`` is that of the search, all threads.

    python benchmarks/edge.py                  # both, and edge.csv
    python benchmarks/edge.py 0.005 0.5 3000   # one of them
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

from disclique.engine import maximum_clique
from disclique.engine.product import product_graph
from disclique.model import Budget
from instances import instance
from peers import peak

RESULTS = Path(__file__).parent / "results"
EDGE = ((0.025, 0.5, 2000), (0.005, 0.5, 3000))  # σ in degrees, α, records a file; a tenth of them common
SECONDS = 300
WORTH = 3  # times the clique: a bound that says something


def measure(sigma: float, alpha: float, records: int) -> dict[str, object]:
    """Build and search one graph; return what it took."""
    warm = instance(0.05, 0.9, records=100, common=10)
    search = product_graph(warm.target, warm.known, candidates=warm.candidates, agreement=warm.agreement)
    maximum_clique(search)
    files = instance(sigma, alpha, records=records, common=records // 10)
    begun = time.process_time()
    graph = product_graph(files.target, files.known, candidates=files.candidates, agreement=files.agreement)
    built, clock = time.process_time(), time.perf_counter()
    clique = maximum_clique(graph, budget=Budget(seconds=SECONDS))
    return {
        "sigma": sigma,
        "alpha": alpha,
        "records": records,
        "vertices": graph.order,
        "edges": graph.size,
        "members": clique.size,
        "bound": clique.bound,
        "proven": clique.proven,
        "build_cpu": round(built - begun, 1),
        "cpu": round(time.process_time() - built, 1),
        "seconds": round(time.perf_counter() - clock, 1),
        "peak_mb": round(peak()),
    }


def main(*words: str) -> None:
    """Measure one graph if it is named, else both in processes of their own."""
    if words:
        print(json.dumps(measure(float(words[0]), float(words[1]), int(words[2]))), flush=True)
        return
    rows = []
    for one in EDGE:
        done = subprocess.run([sys.executable, __file__, *map(str, one)], capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(RESULTS / "edge.csv", index=False)
    table = pd.DataFrame(rows)
    bad = table[~(table["proven"] | (table["bound"] <= WORTH * table["members"]))]
    print(table.to_string(index=False))
    sys.exit(f"{len(bad)} bounds are worth too little" if len(bad) else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
