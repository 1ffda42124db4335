"""Distances in a file: a square matrix or a list, written some rows at a time, their size told before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.messages import Message
from disclique.records.write import whole_file
from disclique.spaces import full_matrix, read_in_blocks, spaced
from disclique.spaces.base import Distances
from disclique.values import FloatArray

CSV, NPY, PARQUET, LIST = "csv", "npy", "parquet", "list"
KINDS = (CSV, NPY, PARQUET, LIST)
LIST_COLUMNS = ("from", "to", "distance")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Writing:
    """How a file of distances is written, and when its size is worth a word before.

    ``decimals`` are those to which distances are rounded; None leaves them as they are.
    """

    large_bytes: float = 100e6
    tried_rows: int = 20  # from which the size of a text is estimated
    lines_at_once: int = 500_000  # of a list
    decimals: int | None = None

    def round(self, values: FloatArray) -> FloatArray:
        """Return distances with the decimals with which they are written."""
        return values if self.decimals is None else np.round(values, self.decimals)


WRITING = Writing()


def write_distances(masked: Distances, path: Path, *, kind: str, writing: Writing = WRITING) -> None:
    """Write all distances, without forming the matrix of many records; the file is there whole or not at all."""
    check_size(masked, path, kind, writing)
    shown = masked.as_matrix()
    with whole_file(path) as draft:
        if kind == NPY:
            with draft.open("wb") as file:
                shape = shown.size, shown.size
                np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
                for _, block in read_in_blocks(shown):
                    file.write(np.ascontiguousarray(writing.round(block), dtype="<f8").data)
        elif kind == PARQUET:
            names = [str(number + 1) for number in range(shown.size)]
            pd.DataFrame(writing.round(full_matrix(shown)), columns=names).to_parquet(draft, index=False)
        else:
            with draft.open("w", encoding="utf-8", newline="") as text:
                square = (_as_text(writing.round(block)) for _, block in read_in_blocks(shown))
                text.writelines(_list_parts(shown, writing) if kind == LIST else square)


def _list_parts(shown: Distances, writing: Writing) -> Iterator[str]:
    """Yield the lines of a list: records by their rows from 1, every pair once unless distances have a direction."""
    yield ",".join(LIST_COLUMNS) + "\n"
    for first, second, value in _list_published(shown):
        for begin in range(0, len(value), writing.lines_at_once):
            part = slice(begin, begin + writing.lines_at_once)
            yield _as_text({0: first[part] + 1, 1: second[part] + 1, 2: writing.round(value[part])})


def _list_published(shown: Distances) -> Iterator[tuple[Ints, Ints, FloatArray]]:
    if (listed := shown.listed()) is not None:
        yield listed.first, listed.second, listed.value
        return
    everybody = np.arange(shown.size)
    for rows, block in read_in_blocks(shown):
        others = everybody[None, :] != rows[:, None] if shown.directed else everybody[None, :] > rows[:, None]
        i, j = np.nonzero(others & ~np.isnan(block))
        yield rows[i].astype(np.int64), j, block[i, j]


def _as_text(cells: FloatArray | dict[int, Any]) -> str:
    return str(pd.DataFrame(cells).to_csv(index=False, header=False, lineterminator="\n"))


def estimate_size(masked: Distances, kind: str, writing: Writing = WRITING) -> float:
    """Return about how many bytes the file will have: of a text from its first rows."""
    n = masked.size
    if kind in (NPY, PARQUET):
        return 8.0 * n * n
    if (listed := masked.listed()) is not None and kind == LIST:
        return (2 * len(str(n)) + 3 + _width(writing.round(listed.value[: 10 * writing.tried_rows]))) * len(
            listed.value
        )
    rows = spaced(n, writing.tried_rows).astype(np.int32)
    block = writing.round(masked.block(rows, np.arange(n, dtype=np.int32)))
    there = float(np.mean(~np.isnan(block)))
    width = _width(block[~np.isnan(block)][: 100 * writing.tried_rows])
    if kind == LIST:
        return (2 * len(str(n)) + 3 + width) * there * n * (n - 1) / (1 if masked.directed else 2)
    return (there * width + 1) * n * n


def _width(values: FloatArray) -> float:
    """Return how many characters a number takes."""
    return len(_as_text(values)) / len(values) - 1 if len(values) else 0.0


def describe_size(masked: Distances, kind: str, writing: Writing = WRITING) -> Message | None:
    """Say how large the file will be; None where that is no matter."""
    size = estimate_size(masked, kind, writing)
    if size < writing.large_bytes:
        return None
    about: dict[str, Any] = {"records": masked.size, "size": _say(size), "kind": kind}
    binary = estimate_size(masked, NPY)
    if kind != NPY and binary < size:
        return Message("distances_will_take_or", **about, binary=_say(binary))
    return Message("distances_will_take", **about)


def check_size(masked: Distances, path: Path, kind: str, writing: Writing = WRITING) -> None:
    """Raise an error before anything is written if the file would not fit on the disk, or nobody could read it."""
    if kind == PARQUET and masked.is_large:
        raise InputError("parquet_of_too_many", path=path, size=masked.size)
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    free, size = shutil.disk_usage(folder).free, estimate_size(masked, kind, writing)
    if size > free:
        told = describe_size(masked, kind, writing) or _say(size)
        raise InputError("disk_too_small", path=path, size=told, free=_say(free))


def _say(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
