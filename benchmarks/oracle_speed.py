"""What one question to the oracle costs on a map: processor seconds by size, noise, overlap and errors of labels.

    python benchmarks/oracle_speed.py [--large]

People of Germany with sex and age class (22 label classes), known files as large as the release. Kernels are warm; a
*first* question works out where strangers live, which *further* draws with the same known file share.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import disclique as dq
from disclique.attacks.calibration import calibrate
from disclique.attacks.knowledge import Holder, learn
from disclique.attacks.oracle import ask_oracle
from disclique.attacks.oracle.places import Matching, weigh_points
from disclique.attacks.population import prepare
from disclique.masks import parse_mask
from disclique.measures.risk import SCENARIOS, Truth
from disclique.records.labels import Exact
from disclique.records.tables import microdata
from disclique.synthetic.people import germany


class Case(NamedTuple):
    """A release of ``size`` people of whom the snooper knows a share, beside as many others."""

    size: int
    mask: str
    overlap: float = 1.0
    label_error: float = 0.0


CASES = (
    Case(20_000, "gaussian:sigma=1km"),
    Case(20_000, "gaussian:sigma=7km"),
    Case(20_000, "gaussian:sigma=7km", 0.1),
    Case(20_000, "gaussian:sigma=50km"),
    Case(20_000, "gaussian:sigma=50km", 0.1),
    Case(20_000, "gaussian:sigma=7km", 0.1, 0.02),
    Case(20_000, "gaussian:sigma=50km", 0.1, 0.02),
    Case(20_000, "disc:max=14km", 0.1),
    Case(20_000, "donut:min=5km,max=20km", 0.1),
    Case(20_000, "grid:cell=20km", 0.1),
    Case(20_000, "voronoi", 0.1),
)
LARGE = (
    Case(100_000, "gaussian:sigma=1km", 0.1),
    Case(100_000, "gaussian:sigma=7km", 0.1),
    Case(100_000, "gaussian:sigma=50km", 0.1),
)


def make(case: Case) -> Holder:
    """Draw both files, and what the snooper knows."""
    rng = np.random.default_rng(0)
    common = round(case.overlap * case.size)
    drawn = germany(n_target=case.size, n_known=case.size, common=common, rng=rng)
    target, known = (
        microdata(table, drawn.label_names, coordinates=["lon", "lat"], ids="id", name=name)
        for table, name in ((drawn.target, "target"), (drawn.known, "known"))
    )
    mask, points = parse_mask(case.mask), target.distances.points()
    assert points is not None
    found = calibrate(mask, points=points.coordinates, metric=points.metric, rng=rng)
    told = replace(learn(mask, found, points, common=min(case.overlap, 0.99), rng=rng), bold=True)
    exact = dq.LabelRule().candidates(target, known)
    comparators = {str(column): Exact(case.label_error) for column in target.labels.columns}
    weighed = dq.LabelRule(comparators=comparators).candidates(target, known) if case.label_error else exact
    return Holder(target, prepare(known), weighed, Truth.of_people(target.ids, known.ids), told, alike=exact)


def ask(case: Case, how: Matching | None = None) -> tuple[list[float], list[float]]:
    """Return the processor seconds of a first question and of a further one, and the shares found.

    ``how`` asks for points of a map alone.
    """
    holder, rng, spent, found = make(case), np.random.default_rng(1), [], []
    mask = holder.knowledge.mask
    assert mask is not None
    for _ in range(2):
        masked = mask.apply(holder.exact.distances, rng)
        begun = time.process_time()
        points, people = masked.points(), prepare(holder.known).population
        if how is None or points is None or people is None:
            chances = ask_oracle([masked], holder).chances
        else:
            chances = weigh_points([points], people, holder, how)
        spent.append(time.process_time() - begun)
        found = [float(chances[name].mean()) for name in SCENARIOS]
    return spent, found


def main() -> None:
    """Print a row for every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="100,000 people as well")
    parser.add_argument("--only", default="", help="masks whose name begins so")
    given = parser.parse_args()
    for warm in CASES:
        if warm.mask.startswith(given.only):
            ask(warm._replace(size=300))
            ask(warm._replace(size=300), Matching(kept=0))  # as many pairs are gone through
    print(
        "| people | mask | overlap | label error | first (s) | further (s) | prosecutor | journalist | marketer | MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in (*CASES, *(LARGE if given.large else ())):
        if not case.mask.startswith(given.only):
            continue
        spent, found = ask(case)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cells = [f"{one:.2f}" for one in spent] + [f"{one:.3f}" for one in found] + [f"{most:.0f}"]
        print("|", " | ".join([str(case.size), case.mask, f"{case.overlap:g}", f"{case.label_error:g}", *cells]), "|")


if __name__ == "__main__":
    main()
