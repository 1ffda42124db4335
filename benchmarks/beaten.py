"""Is the audit beaten by a simple attack? Releases that version 0.1 called safe and thirty lines of code broke.

Every row is a release of the bundled survey (500 people, two labels): what version 0.1 said, what a simple attack
without seeds found, what the audit says now, and what the oracle gives. A row holds if the audit's figure is at least
that of the
    python benchmarks/beaten.py            # both tables, about an hour of processor time; goes on where it was stopped
    python benchmarks/beaten.py --show     # the tables from what was run, as they stand in docs/audit.md
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import disclique as dq
from disclique.audits import AuditResult
from disclique.masks import masks
from disclique.model import Microdata
from disclique.runs import Processes

RESULTS = Path(__file__).parent / "results"
REPETITIONS = 3
ATTACKS = (
    "labels",
    "register",
    "isomap",
    "equal",
    "bend",
    "profiles",
)  # the clique and extend cost most and add nothing here
ROOM, GAP = 0.03, 0.05


@dataclass(frozen=True)
class Row:
    """A release, what version 0.1 said of it, and what a simple attack found; the overlap None is the whole file."""

    mask: str
    overlap: float | None
    before: float
    simple: float
    how: str
    releases: int = 1
    empty: float = 0.0

    @property
    def name(self) -> str:
        more = (
            f", {self.releases} times"
            if self.releases > 1
            else f", {self.empty:.0%} of the ages empty" * bool(self.empty)
        )
        return f"{self.mask}{more}"


EQUAL, LAW = "equal distances looked up", "the exact law"
ROWS = (
    Row("knn:k=5", None, 0.028, 1.0, EQUAL),
    Row("knn:k=5", 0.2, 0.03, 0.75, EQUAL),
    Row("topcode:max=50km", None, 0.05, 1.0, EQUAL),
    Row("topcode:max=50km", 0.2, 0.05, 0.88, EQUAL),
    Row("projection:dimensions=2", None, 0.39, 1.0, "linear alignment"),
    Row("projection:dimensions=2", 0.2, 0.013, 1.0, "linear alignment"),
    Row("lipschitz:sets=20", None, 0.04, 0.98, "polynomial alignment"),
    Row("lipschitz:sets=20", 0.2, 0.09, 0.91, "polynomial alignment"),
    Row("multiplicative:sd=0.5", None, 0.03, 0.97, "the map by log-likelihood"),
    Row("multiplicative:sd=0.5", 0.2, 0.0, 0.86, "the map by log-likelihood"),
    Row("donut:min=28km,max=32km", 0.2, 0.116, 0.73, LAW),
    Row("donut:min=16km,max=32km", 0.2, 0.18, 0.39, LAW),
    Row("swap:radius=50km", 0.2, 0.12, 0.51, LAW),
    Row("swap:radius=100km", 0.2, 0.01, 0.19, LAW),
    Row("grid:cell=50km", 0.2, 0.27, 0.39, LAW),
    Row("gaussian:sigma=34.9km", None, 0.034, 0.545, "the most probable record of everybody"),
    Row("affine", None, 0.596, 1.0, "an empty cell excludes nobody", empty=0.4),
    Row("gaussian:sigma=34km", 0.2, 0.03, 0.23, "the mean of the releases", releases=4),
    Row("gaussian:sigma=34km", 0.2, 0.03, 0.44, "the mean of the releases", releases=9),
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


def audit(
    file: Microdata, mask: str, overlap: float | None, releases: int, *, attacks: tuple[str, ...] = ATTACKS
) -> AuditResult:
    """Audit one mask as anybody would, with all attacks."""
    known = {} if overlap is None else {"overlap": overlap}
    return dq.audit(
        file,
        mask,
        repetitions=REPETITIONS,
        releases=releases,
        attacks=attacks,
        budget=0.2,
        executor=Processes(),
        **known,
    )


def run(path: Path, jobs: dict[tuple[str, str], tuple[Microdata, str, float | None, int]]) -> pd.DataFrame:
    """Run the jobs that are not yet in a file, and return all of it."""
    done = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["name", "known"])
    there = set(zip(done["name"], done["known"], strict=True))
    for (name, known), job in jobs.items():
        if (name, known) in there:
            continue
        result = audit(*job)
        setting = result.settings[0]
        worst = next((one for one in setting.attacks if one.attack == setting.risk.attack), None)
        row = {
            "name": name,
            "known": known,
            "risk": round(setting.risk.value, 4),
            "attack": setting.risk.attack,
            "precision": None if worst is None or worst.precision.value is None else round(worst.precision.value, 3),
            "oracle": None if setting.oracle is None else round(setting.oracle.value, 4),
            "guess": round(setting.guess, 4),
            "repetitions": REPETITIONS,
        }
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
    only_show = parser.parse_args().show
    missing = set(masks()) - set(REGISTRY)
    off_map = {name for name in missing if parse_kind(name) != "map"}
    assert missing == off_map, f"masks without a row: {sorted(missing - off_map)}"
    jobs = {
        (row.name, known_as(row.overlap)): (make_file(row.empty), row.mask, row.overlap, row.releases) for row in ROWS
    }
    every = {
        (spec, known_as(overlap)): (make_file(), spec, overlap, 1)
        for spec in REGISTRY.values()
        for overlap in (None, 0.2)
    }
    beaten, oracle = RESULTS / "beaten.csv", RESULTS / "oracle.csv"
    table = pd.read_csv(beaten) if only_show else run(beaten, jobs)
    gaps = pd.read_csv(oracle) if only_show else run(oracle, every)
    sys.exit(0 if show(table, gaps) else 1)


def parse_kind(name: str) -> str:
    """Say whether a mask takes a map."""
    cls = masks()[name]
    return "map" if cls.on != "text" and name != "rotation" else "other"


if __name__ == "__main__":
    main()
