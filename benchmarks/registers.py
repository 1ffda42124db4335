"""A release of 5,000 people against registers of a million and of ten million known ones.

    python benchmarks/registers.py [1e6 1e7] [--sigmas 0.005 0.01] [--folder FOLDER]

People live where Germans live and have their sex and age class (``home_points``, the census of 2011). The register is
written to a folder of Parquet files once; the release is drawn from it, masked by Gaussian noise and published as a
matrix of distances. Printed are CPU seconds (with those of workers), the largest memory of this process, precision and
recall, and those of the ceiling: the same weights from the masked places themselves. Every case runs in a process of
its own, in turn and on a local Dask cluster of two workers.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from disclique.attacks import Knowledge, attack
from disclique.attacks.population import Population
from disclique.attacks.registration import ceiling
from disclique.geodesy import Spread
from disclique.model import Claims
from disclique.records.labels import candidates
from disclique.records.registers import read_register
from disclique.records.tables import microdata
from disclique.runs import OnDask, Serial
from disclique.spaces import Matrix, Points, full_matrix
from disclique.synthetic.people import home_points, read_table

PER_FILE = 500_000
MEMORY = 4 * 10**9
RESULTS = Path(__file__).parent / "results" / "registers.csv"


def write_register(folder: Path, people: int, seed: int) -> None:
    """Write a register of synthetic people, a file for every half million; each has chance of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    shares = read_table("germany_census2011")
    weight = shares.iloc[:, -1].to_numpy(dtype=float)
    names = [str(name) for name in shares.columns[:-1]]
    for number, first in enumerate(range(0, people, PER_FILE)):
        many, rng = min(PER_FILE, people - first), np.random.default_rng([seed, number])
        label = rng.choice(len(shares), many, p=weight / weight.sum())
        homes = home_points(many, rng)
        columns = {name: pd.Categorical.from_codes(*_coded(shares[name], label)) for name in names}
        ids = np.char.add("P", np.char.zfill(np.arange(first, first + many).astype(str), 9))
        frame = pd.DataFrame({"id": ids, **columns, "lon": homes[:, 0], "lat": homes[:, 1]})
        frame.to_parquet(folder / f"part-{number:04d}.parquet", row_group_size=125_000, index=False)


def _coded(values: pd.Series, rows: np.ndarray) -> tuple[np.ndarray, pd.Index]:
    codes, known = pd.factorize(values)
    return codes[rows], known


LABELS = ["sex", "age_class"]
COLUMNS = ["people", "sigma", "where", "cpu_s", "peak_mb", "precision", "recall", "ceiling_precision", "ceiling_recall"]


def run_case(folder: Path, sigma: float, where: str, targets: int = 5000) -> dict[str, object]:
    """Attack a release of people of the register; return what it cost and found, beside the ceiling."""
    reader = read_register(folder, LABELS, coordinates="lon,lat", ids="id")
    rng = np.random.default_rng(len(reader))
    rows = np.sort(rng.choice(len(reader), targets, replace=False))
    taken = reader.take(rows)
    assert isinstance(taken.distances, Points)
    masked = Points(taken.distances.coordinates + rng.normal(0, sigma, (targets, 2)))
    released = Matrix(full_matrix(masked), unit="km")
    target = microdata(taken.table[["id", *LABELS]], LABELS, distances=released)
    knowledge = Knowledge(Spread(sigma, sigma, "deg"), common=0.99)
    executor = OnDask("local", 2) if where == "dask" else Serial()
    began = cpu()
    found = attack(target, reader, by="register", knowledge=knowledge, truth="id", executor=executor, memory=MEMORY)
    seconds, peak = cpu() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    best = None
    if where == "serial":
        people = Population.of_register(reader, memory=MEMORY)
        assert people.survey is not None
        related = people.relate(candidates(target.labels, people.survey.frame, counts=people.survey.counts))
        best = rate(ceiling(masked, people, candidates=related, knowledge=knowledge), rows)
    own = rate(found.claims, rows)
    figures = [len(reader), sigma, where, round(seconds, 1), round(peak), *own, *(best or ("", ""))]
    return dict(zip(COLUMNS, figures, strict=True))


def rate(claims: Claims, rows: np.ndarray) -> tuple[float, float]:
    """Precision and recall of what is claimed."""
    target, known, _ = claims.claimed()
    right = int((rows[target] == known).sum())
    return round(right / max(len(target), 1), 4), round(right / len(rows), 4)


def cpu() -> float:
    """CPU seconds of this process and of those it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def main() -> None:
    """Write the registers that are not there, run every case in a process of its own, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("people", nargs="*", type=float, default=[1e6, 1e7])
    parser.add_argument("--sigmas", nargs="*", type=float, default=[0.005, 0.01])
    parser.add_argument("--where", nargs="*", default=["serial", "dask"])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "disclique-registers")
    parser.add_argument("--one", action="store_true", help="one case, in this process")
    asked = parser.parse_args()
    if asked.one:
        folder = asked.folder / f"{int(asked.people[0])}"
        print(json.dumps(run_case(folder, asked.sigmas[0], asked.where[0])))
        return
    done = []
    for people in map(int, asked.people):
        if not (asked.folder / f"{people}").exists():
            write_register(asked.folder / f"{people}", people, seed=1)
        for sigma in asked.sigmas:
            for where in asked.where:
                words = [f"{people}", "--sigmas", f"{sigma}", "--where", where, "--folder", str(asked.folder), "--one"]
                ran = subprocess.run([sys.executable, __file__, *words], check=True, capture_output=True, text=True)
                done.append(json.loads(ran.stdout.splitlines()[-1]))
                print(done[-1], flush=True)
                pd.DataFrame(done).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
