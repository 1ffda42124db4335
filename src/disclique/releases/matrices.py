"""The file of released distances: a square matrix or a list, written some rows at a time, its size told before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Distances, FloatArray
from disclique.records.write import whole_file
from disclique.spaces.distances import as_matrix, full_matrix
from disclique.spaces.lazy import FORMED, Listed, read_in_blocks

CSV, NPY, PARQUET, LIST = "csv", "npy", "parquet", "list"
KINDS = (CSV, NPY, PARQUET, LIST)
COLUMNS = ("from", "to", "distance")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Writing:
    """How a file of distances is written, and when its size is worth a word before."""

    large_bytes: float = 100e6
    tried_rows: int = 20  # from which the size of a text is estimated
    lines_at_once: int = 500_000  # of a list


WRITING = Writing()


def default_kind(masked: Distances) -> str:
    """Return the form of a file in which nobody chose one: a list where most distances are not published."""
    return LIST if isinstance(masked, Listed) else CSV


def write_distances(masked: Distances, path: Path, *, kind: str, writing: Writing = WRITING) -> None:
    """Write all distances, without forming the matrix of many records; the file is there whole or not at all."""
    check_size(masked, path, kind)
    shown = as_matrix(masked)
    with whole_file(path) as draft:
        if kind == NPY:
            with draft.open("wb") as file:
                shape = shown.size, shown.size
                np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
                for _, block in read_in_blocks(shown):
                    file.write(np.ascontiguousarray(block, dtype="<f8").data)
        elif kind == PARQUET:
            names = [str(number + 1) for number in range(shown.size)]
            pd.DataFrame(full_matrix(shown), columns=names).to_parquet(draft, index=False)
        else:
            with draft.open("w", encoding="utf-8", newline="") as text:
                square = (_as_text(pd.DataFrame(block)) for _, block in read_in_blocks(shown))
                text.writelines(_list_parts(shown, writing.lines_at_once) if kind == LIST else square)


def _list_parts(shown: Distances, lines: int) -> Iterator[str]:
    """Yield the lines of a list: records by their rows from 1, every pair once unless distances have a direction."""
    yield ",".join(COLUMNS) + "\n"
    for first, second, value in _list_published(shown):
        for begin in range(0, len(value), lines):
            part = slice(begin, begin + lines)
            yield _as_text(pd.DataFrame({0: first[part] + 1, 1: second[part] + 1, 2: value[part]}))


def _list_published(shown: Distances) -> Iterator[tuple[Ints, Ints, FloatArray]]:
    if isinstance(shown, Listed):
        yield shown.first, shown.second, shown.value
        return
    everybody = np.arange(shown.size)
    for rows, block in read_in_blocks(shown):
        others = everybody[None, :] != rows[:, None] if shown.directed else everybody[None, :] > rows[:, None]
        i, j = np.nonzero(others & ~np.isnan(block))
        yield rows[i].astype(np.int64), j, block[i, j]


def _as_text(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(index=False, header=False, lineterminator="\n"))


def estimate_size(masked: Distances, kind: str) -> float:
    """Return about how many bytes the file will have: of a text from its first rows."""
    n = masked.size
    if kind in (NPY, PARQUET):
        return 8.0 * n * n
    if isinstance(masked, Listed) and kind == LIST:
        return (2 * len(str(n)) + 3 + _width(masked.value[: 10 * WRITING.tried_rows])) * len(masked.value)
    rows = np.linspace(0, n - 1, min(WRITING.tried_rows, n)).astype(np.int32)
    block = masked.block(rows, np.arange(n, dtype=np.int32))
    there = float(np.mean(~np.isnan(block)))
    width = _width(block[~np.isnan(block)][: 100 * WRITING.tried_rows])
    if kind == LIST:
        return (2 * len(str(n)) + 3 + width) * there * n * (n - 1) / (1 if masked.directed else 2)
    return (there * width + 1) * n * n


def _width(values: FloatArray) -> float:
    """Return how many characters a number takes."""
    text = StringIO()
    pd.DataFrame(values).to_csv(text, index=False, header=False, lineterminator="\n")
    return len(text.getvalue()) / len(values) - 1 if len(values) else 0.0


def describe_size(masked: Distances, kind: str) -> str | None:
    """Return the sentence that says how large the file will be; None where that is no matter."""
    size = estimate_size(masked, kind)
    if size < WRITING.large_bytes:
        return None
    told = f"the distances of {masked.size:,} records will take about {_say(size)} as {kind}"
    binary = estimate_size(masked, NPY)
    return f"{told}, {_say(binary)} as {NPY}" if kind != NPY and binary < size else told


def check_size(masked: Distances, path: Path, kind: str) -> None:
    """Raise an error before anything is written if the file would not fit on the disk, or nobody could read it."""
    if kind == PARQUET and masked.size > FORMED:
        raise InputError(
            f"{path}: Parquet keeps every column by itself and is not made for {masked.size:,} of them; choose "
            f"{CSV}, {NPY} or {LIST}"
        )
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    free, size = shutil.disk_usage(folder).free, estimate_size(masked, kind)
    if size > free:
        raise InputError(f"{path}: {describe_size(masked, kind) or _say(size)}, but the disk has {_say(free)} left")


def _say(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
