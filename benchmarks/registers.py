"""A release of 5,000 people against registers of a million and of ten million known ones.

    python benchmarks/registers.py [1e6 1e7] [--sigmas 0.005 0.01] [--folder FOLDER]

People live where Germans live and have their sex and age class (``home_points``, the census of 2011). The register is
written to a folder of Parquet files once; the release is drawn from it, masked by Gaussian noise and published as a
matrix of distances. Printed are CPU seconds (with those of workers), the largest memory of this process, precision and
recall, and those of the ceiling: the same weights from the masked places themselves. Every case runs in a process of
its own, in turn and on a local Dask cluster of two workers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from disclique.synthetic.settlements import home_points, read_table

PER_FILE = 500_000


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
