"""The files of a release: what is published, what is kept, and how they know each other by the number of a run."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from disclique.arguments import check_path
from disclique.errors import InputError
from disclique.records.checks.lengths import name_unit
from disclique.records.formats.files import read_table
from disclique.records.provenance import versions
from disclique.records.write import check_writable, write_json, write_table
from disclique.releases.matrices import CSV, KINDS, NPY, PARQUET, check_size, default_kind, write_distances
from disclique.values import canonical

if TYPE_CHECKING:
    from disclique.releases.publish import Release

COLUMNS = ("released_row", "file_row", "id", "run")
NO_MATRIX = "none"
NOTE = "disclique release"
TABLE, DISTANCES, ABOUT, RECIPE, KEY = "table", "distances", "note", "recipe", "key"
TRIAL = "not for publication: a short seed is found by trying, and the noise is then taken off; release without --seed"


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
        ABOUT: _note_of(out),
        RECIPE: out.with_name(f"{out.stem}_recipe.json"),
        KEY: key,
    }
    return tuple(ReleaseFile(name, path) for name, path in paths.items() if path is not None)


def choose_kind(made: Release, kind: str | None) -> str:
    """Return the form of the distance file, by default csv, a list, or none where the table has encodings."""
    kind = kind or (NO_MATRIX if made.encoded else default_kind(made.masked))
    if kind not in (*KINDS, NO_MATRIX):
        raise InputError(f"--matrix {kind}: choose one of {', '.join((*KINDS, NO_MATRIX))}")
    if kind == NO_MATRIX and not made.encoded:
        raise InputError(f"--matrix none: under the mask {made.mask} the distances are what is released")
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
    by default, ``list`` where few of very many distances are published, ``none`` where the table has encodings.
    What is kept can be read by its owner only, and is written first: a release that others can read never lies there
    without it. The note goes with the release; note, recipe and key carry the number of this run, so that a key is not
    taken for that of another release (``read_key``). No file is replaced without ``force``.
    """
    kind = choose_kind(made, kind)
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
        "publication": "the seed is long enough" if made.publishable else TRIAL,
        "mask": made.mask,
        "seed": made.seed,
        "records": len(made.key),
        "unit": made.unit,
        "inputs": dict(inputs),
        "versions": versions(),
    }


def _note(made: Release, run: str, files: list[Path]) -> dict[str, Any]:
    """Return what a user of the release needs: its files, the unit of its distances, and which run made them."""
    return {
        "kind": NOTE,
        "run": run,
        "records": len(made.key),
        "columns": [str(column) for column in made.table.columns],
        "unit of distances": name_unit(made.masked) or "none",
        "files": {path.name: _digest(path) for path in files},
    }


def _note_of(release: Path) -> Path:
    return release.with_name(f"{release.stem}_about.json")


def _digest(path: Path) -> str:
    with path.open("rb") as file:  # it may be larger than the memory
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    if not set(COLUMNS) <= set(map(str, table.columns)):
        raise InputError(f"{path}: not the key of a release, which has the columns {', '.join(COLUMNS)}")
    runs = list(dict.fromkeys(str(run) for run in table["run"]))
    rows = [canonical(row) for row in table["released_row"]]
    if len(runs) != 1 or rows != list(range(1, len(table) + 1)):
        raise InputError(f"{path}: the key is not as it was written: rows are missing, moved or of several runs")
    if release is not None:
        _check_run(path, runs[0], Path(release), len(table))
    return tuple(canonical(value) or "" for value in table["id"])


def _check_run(key: Path, run: str, release: Path, records: int) -> None:
    """Raise an error unless the note beside a release names the run of the key, and the table as it is."""
    note = _note_of(release)
    if not note.is_file():
        raise InputError(f"{key}: whether it is the key of {release} cannot be told: its note {note} is missing")
    try:
        about = json.loads(note.read_text(encoding="utf-8"))
        made, digest = str(about["run"]), about["files"].get(release.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{note}: not the note of a release") from None
    if made != run:
        raise InputError(f"{key}: it is the key of another release (run {run}; {release} is of run {made})")
    if digest is not None and digest != _digest(release):
        raise InputError(f"{release}: the table was changed after it was released, so that the key may not fit")
    if about.get("records") != records:
        raise InputError(f"{key}: it names {records} records, the release has {about.get('records')}")
