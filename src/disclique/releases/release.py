"""The release itself: a table without ids and places in random order, masked distances, and the recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.audits.case import sub_distances
from disclique.data.distances import full_matrix
from disclique.data.files import check_writable, versions, whole_file, write_json, write_table
from disclique.errors import InputError
from disclique.masks import parse_mask
from disclique.model import FloatArray, Microdata

KINDS = ("csv", "npy", "parquet")


@dataclass(frozen=True, eq=False)
class Release:
    """What is published: ``table`` and ``distances`` in the same random order; ``key`` is the row of each record."""

    table: pd.DataFrame
    distances: FloatArray
    mask: str
    seed: int
    key: NDArray[np.int64]
    ids: tuple[object, ...]


def make_release(data: Microdata, mask: str, seed: int) -> Release:
    """The release of a file under a mask; the rows are shuffled, so that their order does not lead back."""
    if seed < 0:
        raise InputError(f"seed = {seed}: a seed is a whole number from 0 up")
    rule = parse_mask(mask)
    noise, shuffle = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    order = shuffle.permutation(len(data))
    masked = sub_distances(rule.apply(data.distances, noise), order)
    values = full_matrix(masked)
    if not masked.directed:
        upper = np.triu(values, 1)
        values = upper + upper.T
    table = data.table[list(data.labels.columns)].iloc[order].reset_index(drop=True)
    return Release(table, values, rule.spec, seed, order, tuple(data.ids[row] for row in order))


def write_release(
    release: Release, out: Path, *, inputs: tuple[tuple[str, str], ...], kind: str = "csv", key: Path | None = None
) -> dict[str, Path]:
    """The files written, by what they are: table, distances, recipe and, if asked for, the key."""
    if kind not in KINDS:
        raise InputError(f"--matrix {kind}: choose one of {', '.join(KINDS)}")
    matrix = out.with_name(f"{out.stem}_distances.{kind}")
    recipe = out.with_name(f"{out.stem}_recipe.json")
    check_writable([out, matrix, recipe, key])
    _write_matrix(release.distances, matrix)
    if key is not None:
        rows = np.arange(1, len(release.key) + 1)
        who = pd.DataFrame({"released_row": rows, "file_row": release.key + 1, "id": [str(i) for i in release.ids]})
        write_table(who, key)
    write_json(
        {
            "kind": "disclique recipe",
            "warning": "whoever has this recipe can take the noise off the release: keep it, do not publish it",
            "mask": release.mask,
            "seed": release.seed,
            "records": len(release.key),
            "inputs": dict(inputs),
            "versions": versions(),
        },
        recipe,
    )
    write_table(release.table, out)
    found = {"table": out, "distances": matrix, "recipe (keep, do not publish)": recipe}
    return found if key is None else {**found, "key (keep, do not publish)": key}


def _write_matrix(values: FloatArray, path: Path) -> None:
    with whole_file(path) as draft:
        if path.suffix == ".npy":
            with draft.open("wb") as file:
                np.save(file, values)
        elif path.suffix == ".parquet":
            pd.DataFrame(values, columns=[str(k + 1) for k in range(len(values))]).to_parquet(draft, index=False)
        else:
            pd.DataFrame(values).to_csv(draft, index=False, header=False)
