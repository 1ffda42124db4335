"""Is the audit beaten by a simple attack? Releases that version 0.1 called safe and thirty lines of code broke.

Every row is a release of the bundled survey (500 people, two labels): what version 0.1 said, what a simple attack
without seeds found, what the audit says now, and what the oracle gives. A row holds if the audit's figure is at least
that of the simple attack less .03. And for every mask that takes a map: how far its worst attack is behind the oracle.
Off the map (``off_map.py``) it is the attack ``profiles`` alone that is held against simple ones.

    python benchmarks/beaten.py [--data DIR]    # all tables; goes on where it was stopped
    python benchmarks/beaten.py --show          # the tables from what was run, as in docs/evidence/verdicts.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import disclique as dq
import off_map
from disclique.audits import Audit, Plan, Snooper
from disclique.audits.definition import UNIT_TUNING
from disclique.audits.rates import measure_attack, measure_oracle, measure_risk
from disclique.audits.release_records import ReleaseRecord
from disclique.audits.unit import run_unit
from disclique.masks import masks
from disclique.model import Microdata
from disclique.runs import Processes, Unit

RESULTS = Path(__file__).parent / "results"
REPETITIONS = 3
ATTACKS = ("labels", "register", "equal", "bend")  # what the others find can only raise the figure
ROOM, GAP = 0.03, 0.05


@dataclass(frozen=True)
class Job:
    """A release of the survey, a share of its ages empty; the overlap None is the whole file."""

    mask: str
    overlap: float | None
    releases: int = 1
    empty: float = 0.0

    @property
    def name(self) -> str:
        times = f", {self.releases} times" if self.releases > 1 else ""
        return f"{self.mask}{times}" + (f", {self.empty:.0%} of the ages empty" if self.empty else "")


@dataclass(frozen=True)
class Row(Job):
    """... with what version 0.1 said of it, and what a simple attack found."""

    before: float = field(kw_only=True)
    simple: float = field(kw_only=True)
    how: str = field(kw_only=True)


EQUAL, LAW = "equal distances looked up", "the exact law"
ROWS = (
    Row("knn:k=5", None, before=0.028, simple=1.0, how=EQUAL),
    Row("knn:k=5", 0.2, before=0.03, simple=0.75, how=EQUAL),
    Row("topcode:max=50km", None, before=0.05, simple=1.0, how=EQUAL),
    Row("topcode:max=50km", 0.2, before=0.05, simple=0.88, how=EQUAL),
    Row("projection:dimensions=2", None, before=0.39, simple=1.0, how="linear alignment"),
    Row("projection:dimensions=2", 0.2, before=0.013, simple=1.0, how="linear alignment"),
    Row("lipschitz:sets=20", None, before=0.04, simple=0.98, how="polynomial alignment"),
    Row("lipschitz:sets=20", 0.2, before=0.09, simple=0.91, how="polynomial alignment"),
    Row("multiplicative:sd=0.5", None, before=0.03, simple=0.97, how="the map by log-likelihood"),
    Row("multiplicative:sd=0.5", 0.2, before=0.0, simple=0.86, how="the map by log-likelihood"),
    Row("donut:min=28km,max=32km", 0.2, before=0.116, simple=0.73, how=LAW),
    Row("donut:min=16km,max=32km", 0.2, before=0.18, simple=0.39, how=LAW),
    Row("swap:radius=50km", 0.2, before=0.12, simple=0.51, how=LAW),
    Row("swap:radius=100km", 0.2, before=0.01, simple=0.19, how=LAW),
    Row("grid:cell=50km", 0.2, before=0.27, simple=0.39, how=LAW),
    Row("gaussian:sigma=34.9km", None, before=0.034, simple=0.545, how="the most probable record of everybody"),
    Row("affine", None, empty=0.4, before=0.596, simple=1.0, how="an empty cell excludes nobody"),
    Row("gaussian:sigma=34km", 0.2, releases=4, before=0.03, simple=0.23, how="the mean of the releases"),
    Row("gaussian:sigma=34km", 0.2, releases=9, before=0.03, simple=0.44, how="the mean of the releases"),
)
REGISTRY = {  # one setting of every mask that takes a map: strong enough that its law matters
    "affine": "affine",
    "dhs": "dhs:urban=10km,rural=25km,far=50km",
    "disc": "disc:max=30km",
    "donut": "donut:min=16km,max=32km",
    "gaussian": "gaussian:sigma=20km",
    "grid": "grid:cell=50km",
    "knn": "knn:k=5",
    "laplace": "laplace:epsilon=0.1/km",
    "lipschitz": "lipschitz:sets=20",
    "matrix-gaussian": "matrix-gaussian:sd=50km",
    "matrix-laplace": "matrix-laplace:b=50km",
    "multiplicative": "multiplicative:sd=0.5",
    "projection": "projection:dimensions=2",
    "round": "round:to=50km",
    "swap": "swap:radius=50km",
    "topcode": "topcode:max=50km",
    "voronoi": "voronoi",
}


def make_file(empty: float = 0.0) -> Microdata:
    """Return the survey, with a share of its ages empty."""
    table = dq.survey()
    if empty:
        table["age_class"] = table["age_class"].astype(object)
        table.loc[np.random.default_rng(0).random(len(table)) < empty, "age_class"] = None
    return dq.microdata(table, ["sex", "age_class"], coordinates=["lon", "lat"], ids="id")


def measure(job: Job) -> dict[str, object]:
    """Attack a few releases as an audit does, without control, insiders and utility: these do not change the risk."""
    plain = UNIT_TUNING.sampled_repetitions
    plan = Plan(
        (job.mask,),
        Snooper(overlap=job.overlap),
        plain + REPETITIONS,
        releases=job.releases,
        attacks=ATTACKS,
    )
    work = Audit(plan, make_file(job.empty))
    units = [Unit(plan.settings[0], plain + k) for k in range(REPETITIONS)]
    records = dict(enumerate(Processes().map(partial(_run, work), units)))
    risk = measure_risk(records, plan.attack_names, plan.scenario)
    worst = measure_attack(records, risk.attack or "", plan.scenario)
    oracle = measure_oracle(records, plan.scenario)
    return {
        "name": job.name,
        "known": known_as(job.overlap),
        "risk": round(risk.value, 4),
        "attack": risk.attack,
        "precision": None if worst is None or worst.precision.value is None else round(worst.precision.value, 3),
        "oracle": None if oracle is None else round(oracle.value, 4),
        "repetitions": REPETITIONS,
    }


def _run(work: Audit, unit: Unit) -> ReleaseRecord:
    return run_unit(work, unit)


def run(path: Path, jobs: Sequence[Job]) -> pd.DataFrame:
    """Run the jobs that are not yet in a file, and return all of it."""
    done = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["name", "known"])
    there = set(zip(done["name"], done["known"], strict=True))
    for job in jobs:
        if (job.name, known_as(job.overlap)) in there:
            continue
        row = measure(job)
        done = pd.concat([done, pd.DataFrame([row])], ignore_index=True)
        done.to_csv(path, index=False)
        print(row, file=sys.stderr, flush=True)
    return done


def known_as(overlap: float | None) -> str:
    return "whole" if overlap is None else f"{overlap:.0%}"


def show(table: pd.DataFrame, gaps: pd.DataFrame) -> bool:
    """Print both tables as the documentation has them; say whether every row holds."""
    found = {(row["name"], row["known"]): row for row in table.to_dict("records")}
    print("| release | known | version 0.1 | simple attack | audit now | by | oracle |\n|---|---|---|---|---|---|---|")
    holds = True
    for row in ROWS:
        now = found.get((row.name, known_as(row.overlap)))
        if now is None:
            continue
        kept = now["risk"] >= row.simple - ROOM
        holds &= kept
        print(
            f"| `{row.name}` | {known_as(row.overlap)} | {row.before:.1%} | {row.simple:.1%}: {row.how} | "
            f"**{now['risk']:.1%}**{'' if kept else ' ✖'} | {now['attack']} | {now['oracle']:.1%} |"
        )
    print("\n| mask | known | worst attack | by | oracle | gap |\n|---|---|---|---|---|---|")
    for one in gaps.to_dict("records"):
        gap = one["oracle"] - one["risk"]
        print(
            f"| `{one['name']}` | {one['known']} | {one['risk']:.1%} | {one['attack']} | {one['oracle']:.1%} | "
            f"{gap:.3f}{' (open)' if gap > GAP else ''} |"
        )
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    only_show = given.show
    left = {name for name, kind in masks().items() if kind.on != "text" and name != "rotation"} - set(REGISTRY)
    assert not left, f"masks without a row: {sorted(left)}"
    every = [Job(spec, overlap) for spec in REGISTRY.values() for overlap in (None, 0.2)]
    beaten, oracle = RESULTS / "beaten.csv", RESULTS / "oracle.csv"
    table = pd.read_csv(beaten) if only_show else run(beaten, ROWS)
    gaps = pd.read_csv(oracle) if only_show else run(oracle, every)
    holds = show(table, gaps)
    if not only_show:
        off_map.run(given.data)
    sys.exit(0 if off_map.show() and holds else 1)


if __name__ == "__main__":
    main()
