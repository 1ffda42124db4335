"""How long audits take, and how well that is foretold: ``python benchmarks/costs.py [SIZE …]``, one size each.

Prints for every audit the processor seconds by stage beside those of the estimate; ``audits/estimate.py`` holds the
constants that follow.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict

import numpy as np
import pandas as pd

import disclique as dq
from disclique.audits import Audit, run_audit
from disclique.audits.estimate import estimate_audit
from disclique.audits.run import make_plan
from disclique.model import Microdata
from disclique.runs import Serial
from disclique.synthetic.people import germany


def people_of_germany(size: int) -> Microdata:
    """Return people of Germany by sex and age class."""
    table = germany(n_target=size, n_known=2, common=1, rng=np.random.default_rng(1)).target
    return dq.microdata(table, ["sex", "age_class"], coordinates=["lon", "lat"], ids="id")


def people_with_names(size: int) -> Microdata:
    """Return people with names and birth dates."""
    rng = np.random.default_rng(1)
    letters = list("aeioubdklmnrst")
    first, last = (["".join(rng.choice(letters, 6)) for _ in range(many)] for many in (80, 300))
    days = pd.to_datetime("1940-01-01") + pd.to_timedelta(rng.integers(0, 24_000, size), unit="D")
    names = [f"{rng.choice(first)} {rng.choice(last)} {day:%Y-%m-%d}" for day in days]
    table = pd.DataFrame({"id": range(size), "name": names, "sex": rng.choice(["f", "m"], size)})
    return dq.microdata(table, ["sex"], text="name", ids="id")


def measure(name: str, people: Microdata, masks: list[str], **options: object) -> None:
    """Carry out one audit in this process, and print what it took and what was foretold."""
    audit = Audit(make_plan(masks, **options), people)
    audit.check_masks()
    begun = time.process_time()
    expected = estimate_audit(audit)
    asked = time.process_time() - begun
    foretold: dict[str, float] = defaultdict(float)
    for unit, seconds in expected.expected.items():
        foretold[unit.stage.sort or "oracle"] += seconds
    begun, spent = time.process_time(), defaultdict(float)
    import disclique.audits.run as running

    class Timed(running.UnitRunner):
        def __call__(self, unit):  # type: ignore[no-untyped-def]
            since = time.process_time()
            found = super().__call__(unit)
            spent[unit.stage.sort or "oracle"] += time.process_time() - since
            return found

    usual, running.UnitRunner = running.UnitRunner, Timed
    try:
        result = run_audit(audit, executor=Serial())
    finally:
        running.UnitRunner = usual
    total = time.process_time() - begun
    print(f"{name}: {total:.0f} CPU-s, foretold {sum(foretold.values()):.0f} in {asked:.1f} s; {result!r}")
    for stage in {**foretold, **spent}:
        print(f"    {stage:10} {spent[stage]:8.1f} foretold {foretold[stage]:8.1f}", flush=True)


def main() -> None:
    """Measure the sizes that are asked for."""
    for asked in sys.argv[1:] or ["500", "2000", "names"]:
        if asked == "names":
            masks = ["bloom", "minhash", "two-step"]
            measure("names 1000", people_with_names(1000), masks, max_risk=0.2)
        else:
            size, masks = int(asked), ["gaussian:sigma=1km..50km"]
            measure(f"map {size}", people_of_germany(size), masks, max_risk=0.2, overlap=0.1)


if __name__ == "__main__":
    main()
