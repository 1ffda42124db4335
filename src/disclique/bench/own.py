"""Time disclique on one attack, from the two files to the clique, and print the result.

python -m disclique.bench.own SOLVER SIGMA ALPHA RECORDS THREADS REPEATS SECONDS
"""

from __future__ import annotations

import json
import sys
import time

from disclique.bench.instances import Instance, instance
from disclique.bench.peer import peak
from disclique.engine import maximum_clique
from disclique.engine.product import product_graph
from disclique.model import Budget, ProductGraph


def main(solver: str, sigma: str, alpha: str, records: str, *rest: str) -> None:
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


if __name__ == "__main__":
    main(*sys.argv[1:])
