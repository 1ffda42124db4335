"""What belongs to one release: a note that goes with it and a key that stays, which know each other by a run number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from disclique.arguments import check_path
from disclique.errors import InputError
from disclique.records.checks.lengths import name_unit
from disclique.records.formats.files import read_table
from disclique.records.write import write_json, write_table
from disclique.values import canonical

if TYPE_CHECKING:
    from disclique.releases.publish import Release

COLUMNS = ("released_row", "file_row", "id", "run")
NOTE = "disclique release"


def note_of(release: Path) -> Path:
    """Return where the note of a release lies."""
    return release.with_name(f"{release.stem}_about.json")


def write_key(made: Release, path: Path, run: str) -> None:
    """Write who is who in a release, for the holder's eyes only."""
    rows = np.arange(1, len(made.key) + 1)
    who = pd.DataFrame({"released_row": rows, "file_row": made.key + 1, "id": [str(i) for i in made.ids], "run": run})
    write_table(who, path, private=True)


def write_note(made: Release, run: str, table: Path, matrix: Path | None, note: Path) -> None:
    """Write what a user of the release needs: its files, the unit of its distances, and by which run they were made."""
    files = [path for path in (table, matrix) if path is not None]
    content: dict[str, Any] = {
        "kind": NOTE,
        "run": run,
        "records": len(made.key),
        "columns": [str(column) for column in made.table.columns],
        "unit of distances": name_unit(made.masked) or "none",
        "files": {path.name: _digest(path) for path in files},
    }
    write_json(content, note)


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
    note = note_of(release)
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
