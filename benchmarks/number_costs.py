"""What numbers cost: an attack on a million known people, and an audit over a range of rounding.

    python benchmarks/number_costs.py [attack] [audit]

Prints CPU seconds and the peak of memory beside what they may be.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd

import disclique as dq
from disclique.masks.settings import Setting

NAMES = ("km_hospital", "km_station", "km_pharmacy", "km_centre", "km_school")
FACILITIES = (6, 12, 60, 1, 90)
LABELS = ("sex", "age")


def make_city(people: int, rng: np.random.Generator, size: float = 25.0) -> pd.DataFrame:
    """People of a city with two labels, and how far they live from the nearest of five kinds of places."""
    from scipy.spatial import cKDTree

    homes = rng.normal(size / 2, size / 5, (people, 2))
    table = pd.DataFrame(
        {"id": np.arange(people), "sex": rng.integers(2, size=people), "age": rng.integers(11, size=people)}
    )
    for name, many in zip(NAMES, FACILITIES, strict=True):
        table[name] = cKDTree(rng.uniform(0, size, (many, 2))).query(homes)[0]
    return table


def read(table: pd.DataFrame) -> dq.Microdata:
    """The people as a file of labels and numbers."""
    return dq.microdata(table, list(LABELS), ids="id", numbers=dict.fromkeys(NAMES, "km"))


def measure_attack(way: str, released: int = 5000, known: int = 1_000_000) -> None:
    """Attack a release of people who are all known."""
    rng = np.random.default_rng(0)
    table = make_city(known, rng)
    target, people = read(table.iloc[rng.choice(known, released, replace=False)]), read(table)
    masked = Setting.parse(f"none | km_*={way}").numbers.apply(target, rng)
    begun = time.process_time()
    result = dq.attack(masked, people, by="numbers", truth="id")
    spent, peak = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    assert result.risk is not None
    found = f"{len(result.matches)} matches, {result.risk.tp} right"
    print(f"attack, {way}: {spent:.1f} CPU-s (at most 60), {peak:.2f} GB (at most 3), {found}", flush=True)


def measure_audit(people: int = 5000) -> None:
    """Search the least rounding that keeps a limit."""
    data = read(make_city(people, np.random.default_rng(1)))
    begun = time.process_time()
    result = dq.audit(data, masks=["none | km_*=round:100m..5km"], max_risk=0.2, seed=1)
    spent, peak = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"audit of {people}: {spent:.1f} CPU-s (at most 120), {peak:.2f} GB, {result.verdict}", flush=True)


if __name__ == "__main__":
    asked = sys.argv[1:] or ["attack", "audit"]
    for way in ("round:100m", "round:1km", "gaussian:100m", "classes:1km,5km") if "attack" in asked else ():
        measure_attack(way)
    if "audit" in asked:
        measure_audit()
