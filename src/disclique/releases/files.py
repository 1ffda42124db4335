"""The files of a release: what is published, what is kept, and how they know each other by the number of a run.

Distances are a square matrix or a list, written some rows at a time, their size told before.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_path
from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.messages import Message
from disclique.records.checks.lengths import name_unit
from disclique.records.formats import read_table
from disclique.records.write import check_table, check_writable, sha256, versions, whole_file, write_json, write_table
from disclique.spaces import full_matrix, read_in_blocks, spaced
from disclique.spaces.base import Distances
from disclique.values import FloatArray, canonical

if TYPE_CHECKING:
    from disclique.releases.publish import Release

KEY_COLUMNS = ("released_row", "file_row", "id", "run")
NO_MATRIX = "none"
NOTE, NOTE_NAME = "disclique release", "{}_about.json"
TABLE, DISTANCES, ABOUT, RECIPE, KEY = "table", "distances", "note", "recipe", "key"
TRIAL = Message("release_for_trial")


CSV, NPY, PARQUET, LIST = "csv", "npy", "parquet", "list"
KINDS = (CSV, NPY, PARQUET, LIST)
LIST_COLUMNS = ("from", "to", "distance")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Writing:
    """How a file of distances is written, and when its size is worth a word before."""

    large_bytes: float = 100e6
    tried_rows: int = 20  # from which the size of a text is estimated
    lines_at_once: int = 500_000  # of a list


WRITING = Writing()


class Use(Enum):
    """What a file of a release is for: for everybody who gets the release, or for its holder alone."""

    PUBLISH = "publish"
    KEEP = "keep"


USES = {
    TABLE: Use.PUBLISH,
    DISTANCES: Use.PUBLISH,
    ABOUT: Use.PUBLISH,
    RECIPE: Use.KEEP,  # with it the noise is taken off
    KEY: Use.KEEP,  # it says who is who
}


@dataclass(frozen=True)
class ReleaseFile:
    """One file of a release: what it is called among them, and where it lies."""

    name: str
    path: Path

    @property
    def use(self) -> Use:
        """Whether the file is published or kept."""
        return USES[self.name]


def name_files(out: Path, kind: str | None, key: Path | None = None) -> tuple[ReleaseFile, ...]:
    """Return the files of a release whose table goes to ``out``, in the order in which they are told."""
    matrix = out.with_name(f"{out.stem}_distances.{kind if kind in (NPY, PARQUET) else CSV}")
    paths = {
        TABLE: out,
        DISTANCES: None if kind == NO_MATRIX else matrix,
        ABOUT: out.with_name(NOTE_NAME.format(out.stem)),
        RECIPE: out.with_name(f"{out.stem}_recipe.json"),
        KEY: key,
    }
    return tuple(ReleaseFile(name, path) for name, path in paths.items() if path is not None)


def choose_kind(made: Release, kind: str | None) -> str:
    """Return the form of the distance file, by default csv; a list where most distances are not published, or none."""
    without = made.encoded or not made.has_distances
    kind = kind or (NO_MATRIX if without else CSV if made.masked.listed() is None else LIST)
    if kind not in (*KINDS, NO_MATRIX):
        raise InputError("unknown_matrix_kind", kind=kind, known=(*KINDS, NO_MATRIX))
    if kind == NO_MATRIX and not without:
        raise InputError("distances_are_released", mask=made.mask)
    if kind != NO_MATRIX and not made.has_distances:
        raise InputError("no_distances_released", mask=made.mask)
    return kind


def write_release(
    made: Release,
    out: Path,
    *,
    inputs: tuple[tuple[str, str], ...] = (),
    kind: str | None = None,
    key: Path | None = None,
    force: bool = False,
) -> tuple[ReleaseFile, ...]:
    """Write a release and return its files: table, distances, note, recipe and, if asked for, the key.

    ``inputs`` are names and hashes of the files that it was made from, ``kind`` is the form of the distance file: csv
    by default, ``list`` where few of very many distances are published, ``none`` where the table has encodings or
    there are no distances.
    What is kept can be read by its owner only, and is written first: a release that others can read never lies there
    without it. The note goes with the release; note, recipe and key carry the number of this run, so that a key is not
    taken for that of another release (``read_key``). No file is replaced without ``force``.
    """
    kind = choose_kind(made, kind)
    for table in (out, key):
        if table is not None:
            check_table(table)
    files = name_files(out, kind, key)
    at = {file.name: file.path for file in files}
    check_writable(list(at.values()), force=force)
    if DISTANCES in at:
        check_size(made.masked, at[DISTANCES], kind)
    run = secrets.token_hex(8)  # drawn by itself: nothing of the seed may follow from what is published
    if KEY in at:
        rows, who = np.arange(1, len(made.key) + 1), [str(one) for one in made.ids]
        people = pd.DataFrame({"released_row": rows, "file_row": made.key + 1, "id": who, "run": run})
        write_table(people, at[KEY], private=True)
    write_json(_recipe(made, run, inputs), at[RECIPE], private=True)
    if DISTANCES in at:
        write_distances(made.masked, at[DISTANCES], kind=kind)
    write_table(made.table, at[TABLE])
    write_json(_note(made, run, [at[name] for name in (TABLE, DISTANCES) if name in at]), at[ABOUT])
    return files


def _recipe(made: Release, run: str, inputs: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Return what repeats a release."""
    return {
        "kind": "disclique recipe",
        "run": run,
        "warning": "whoever has this recipe can take the noise off the release: keep it, do not publish it",
        "publication": "the seed is long enough" if made.publishable else str(TRIAL),
        "mask": made.mask,
        "seed": made.seed,
        "records": len(made.key),
        "unit": made.unit,
        "inputs": dict(inputs),
        "versions": versions(),
    }


def _note(made: Release, run: str, files: list[Path]) -> dict[str, Any]:
    """Return what a user of the release needs: its files, units, what was done to numbers, and which run made them."""
    done = Setting.parse(made.mask).numbers
    parts = {one.name: (one, done.part_of(one)) for one in made.numbers.columns}
    said = {
        name: {
            "unit": one.written or one.unit or "none",
            "released": str(Message("number_as_it_is", column=name) if part is None else part.message),
        }
        for name, (one, part) in parts.items()
    }
    return {
        "kind": NOTE,
        "run": run,
        "records": len(made.key),
        "columns": [str(column) for column in made.table.columns],
        **({"numbers": said} if said else {}),
        **({"unit of distances": name_unit(made.masked) or "none"} if made.has_distances else {}),
        "files": {path.name: sha256(path) for path in files},
    }


def read_key(path: str | PathLike[str], release: str | PathLike[str] | None = None) -> tuple[Hashable, ...]:
    """Return the ids of the released records in their order, from the key of a release.

    With ``release``, its table, the key must be that of the same run: the note beside the table tells, and that the
    table is still as it was made.

    >>> import disclique as dq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = dq.release(dq.cities(), "gaussian:sigma=5km", seed=1)
    ...     _ = made.save(f"{folder}/release.csv", key=f"{folder}/key.csv")
    ...     read_key(f"{folder}/key.csv", f"{folder}/release.csv") == tuple(made.ids)
    True
    """
    path = check_path(path, "path")
    table = read_table(path)
    if not set(KEY_COLUMNS) <= set(map(str, table.columns)):
        raise InputError("not_a_key", path=path, columns=KEY_COLUMNS)
    runs = list(dict.fromkeys(str(run) for run in table["run"]))
    rows = [canonical(row) for row in table["released_row"]]
    if len(runs) != 1 or rows != list(range(1, len(table) + 1)):
        raise InputError("key_not_as_written", path=path)
    if release is not None:
        _check_run(path, runs[0], Path(release), len(table))
    return tuple(canonical(value) or "" for value in table["id"])


def _check_run(key: Path, run: str, release: Path, records: int) -> None:
    """Raise an error unless the note beside a release names the run of the key, and the table as it is."""
    note = release.with_name(NOTE_NAME.format(release.stem))
    if not note.is_file():
        raise InputError("note_missing", key=key, release=release, note=note)
    try:
        about = json.loads(note.read_text(encoding="utf-8"))
        made, digest = str(about["run"]), about["files"].get(release.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError("not_a_note", note=note) from None
    if made != run:
        raise InputError("key_of_another_release", key=key, run=run, release=release, made=made)
    if digest is not None and digest != sha256(release):
        raise InputError("release_was_changed", release=release)
    if about.get("records") != records:
        raise InputError("key_of_other_length", key=key, records=records, released=about.get("records"))


def write_distances(masked: Distances, path: Path, *, kind: str, writing: Writing = WRITING) -> None:
    """Write all distances, without forming the matrix of many records; the file is there whole or not at all."""
    check_size(masked, path, kind)
    shown = masked.as_matrix()
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
                square = (_as_text(block) for _, block in read_in_blocks(shown))
                text.writelines(_list_parts(shown, writing.lines_at_once) if kind == LIST else square)


def _list_parts(shown: Distances, lines: int) -> Iterator[str]:
    """Yield the lines of a list: records by their rows from 1, every pair once unless distances have a direction."""
    yield ",".join(LIST_COLUMNS) + "\n"
    for first, second, value in _list_published(shown):
        for begin in range(0, len(value), lines):
            part = slice(begin, begin + lines)
            yield _as_text({0: first[part] + 1, 1: second[part] + 1, 2: value[part]})


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


def estimate_size(masked: Distances, kind: str) -> float:
    """Return about how many bytes the file will have: of a text from its first rows."""
    n = masked.size
    if kind in (NPY, PARQUET):
        return 8.0 * n * n
    if (listed := masked.listed()) is not None and kind == LIST:
        return (2 * len(str(n)) + 3 + _width(listed.value[: 10 * WRITING.tried_rows])) * len(listed.value)
    rows = spaced(n, WRITING.tried_rows).astype(np.int32)
    block = masked.block(rows, np.arange(n, dtype=np.int32))
    there = float(np.mean(~np.isnan(block)))
    width = _width(block[~np.isnan(block)][: 100 * WRITING.tried_rows])
    if kind == LIST:
        return (2 * len(str(n)) + 3 + width) * there * n * (n - 1) / (1 if masked.directed else 2)
    return (there * width + 1) * n * n


def _width(values: FloatArray) -> float:
    """Return how many characters a number takes."""
    return len(_as_text(values)) / len(values) - 1 if len(values) else 0.0


def describe_size(masked: Distances, kind: str) -> Message | None:
    """Say how large the file will be; None where that is no matter."""
    size = estimate_size(masked, kind)
    if size < WRITING.large_bytes:
        return None
    about: dict[str, Any] = {"records": masked.size, "size": _say(size), "kind": kind}
    binary = estimate_size(masked, NPY)
    if kind != NPY and binary < size:
        return Message("distances_will_take_or", **about, binary=_say(binary))
    return Message("distances_will_take", **about)


def check_size(masked: Distances, path: Path, kind: str) -> None:
    """Raise an error before anything is written if the file would not fit on the disk, or nobody could read it."""
    if kind == PARQUET and masked.is_large:
        raise InputError("parquet_of_too_many", path=path, size=masked.size)
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    free, size = shutil.disk_usage(folder).free, estimate_size(masked, kind)
    if size > free:
        told = describe_size(masked, kind) or _say(size)
        raise InputError("disk_too_small", path=path, size=told, free=_say(free))


def _say(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
