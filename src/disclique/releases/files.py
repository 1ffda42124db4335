"""The files of a release: what is published, what is kept, and how they know each other by the number of a run.

All of them are there when the last one could be written, or none is.
"""

from __future__ import annotations

import json
import re
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
from disclique.messages import Message
from disclique.records.formats import PlaceColumns, format_of, list_written, read_table
from disclique.records.write import (
    check_table,
    check_writable,
    sha256,
    versions,
    whole_file,
    whole_files,
    write_json,
    write_table,
)
from disclique.releases.distances import CSV, KINDS, LIST, NPY, PARQUET, Writing, check_size, write_distances
from disclique.releases.forms import DISTANCES, ENCODINGS, PLACES, VECTORS
from disclique.releases.note import NOTE_NAME, WORDS_NAME, write_note, write_words
from disclique.values import canonical

if TYPE_CHECKING:
    from disclique.releases.publish import Release

KEY_COLUMNS = ("released_row", "file_row", "id", "run")
NO_MATRIX = "none"
TABLE, ABOUT, WORDS, RECIPE, KEY = "table", "note", "words", "recipe", "key"
TRIAL = Message("release_for_trial")
_LOSSLESS = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,12})?")


class Use(Enum):
    """What a file of a release is for: for everybody who gets the release, or for its holder alone."""

    PUBLISH = "publish"
    KEEP = "keep"


USES = {
    TABLE: Use.PUBLISH,
    DISTANCES: Use.PUBLISH,
    VECTORS: Use.PUBLISH,
    ABOUT: Use.PUBLISH,
    WORDS: Use.PUBLISH,
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


def name_files(
    out: Path, kind: str | None, key: Path | None = None, *, vectors: bool = True
) -> tuple[ReleaseFile, ...]:
    """Return the files of a release whose table goes to ``out``, in the order in which they are told.

    Before it is known whether there are ``vectors``, they count as files that may be written.
    """
    matrix = out.with_name(f"{out.stem}_distances.{kind if kind in (NPY, PARQUET) else CSV}")
    paths = {
        TABLE: out,
        DISTANCES: None if kind == NO_MATRIX else matrix,
        VECTORS: out.with_name(f"{out.stem}_vectors.npy") if vectors else None,
        ABOUT: out.with_name(NOTE_NAME.format(out.stem)),
        WORDS: out.with_name(WORDS_NAME.format(out.stem)),
        RECIPE: out.with_name(f"{out.stem}_recipe.json"),
        KEY: key,
    }
    return tuple(ReleaseFile(name, path) for name, path in paths.items() if path is not None)


def choose_kind(made: Release, kind: str | None) -> str:
    """Return the form of the distance file, by default csv; a list where most distances are not published, or none."""
    without = made.form != DISTANCES
    kind = kind or (NO_MATRIX if without else CSV if made.masked.listed() is None else LIST)
    if kind not in (*KINDS, NO_MATRIX):
        raise InputError("unknown_matrix_kind", kind=kind, known=(*KINDS, NO_MATRIX))
    if kind == NO_MATRIX and not without:
        raise InputError("distances_are_released", mask=made.mask)
    if kind != NO_MATRIX and made.form in (PLACES, VECTORS):
        raise InputError("no_distances_beside", form=made.form)
    if kind != NO_MATRIX and made.form == NO_MATRIX:
        raise InputError("no_distances_released", mask=made.mask)
    return kind


def check_out(made: Release, out: Path) -> PlaceColumns | None:
    """Return how the table holds places as geometries, None where it does not; refuse a name that nothing writes.

    A file of geometries needs places; a Parquet file has them as geometries where the file that is released had.
    """
    suffix, held = out.suffix.lower(), made.held if made.form == PLACES else None
    tables, layers = list_written(), list_written(places=True)
    if suffix in layers and suffix not in tables:
        if held is None:
            raise InputError("geometries_need_places", path=out, known=tables)
        return held
    if suffix not in tables:
        raise InputError("unknown_table", path=out, suffix=out.suffix, known=(*tables, *layers), advice=None)
    return held if held is not None and held.given and suffix in layers else None


def write_release(
    made: Release,
    out: Path,
    *,
    inputs: tuple[tuple[str, str], ...] = (),
    kind: str | None = None,
    key: Path | None = None,
    force: bool = False,
) -> tuple[ReleaseFile, ...]:
    """Write a release and return its files: table, distances or vectors, notes, recipe and, if asked for, the key.

    ``inputs`` are names and hashes of the files that it was made from, ``kind`` is the form of the distance file: csv
    by default, ``list`` where few of very many distances are published, ``none`` where the table has encodings or
    places, or there are no distances. The ending of ``out`` says how the table is written.
    What is kept can be read by its owner only. The notes go with the release; note, recipe and key carry the number of
    this run, so that a key is not taken for that of another release (``read_key``). No file is replaced without
    ``force``; where one cannot be written none is, and those that were there stay. What else the note of a release that
    is replaced names is taken away: distances of one release beside the places of another would be two releases.
    """
    kind = choose_kind(made, kind)
    held = check_out(made, out)
    if key is not None:
        check_table(key)
    files = name_files(out, kind, key, vectors=made.vectors is not None)
    at = {file.name: file.path for file in files}
    check_writable(list(at.values()), force=force)
    writing = Writing(decimals=made.decimals if DISTANCES in at else None)
    if DISTANCES in at:
        check_size(made.masked, at[DISTANCES], kind, writing)
    run = secrets.token_hex(8)  # drawn by itself: nothing of the seed may follow from what is published
    with whole_files(list(at.values()), force=force, gone=_list_former(at)) as drafts:
        to = {name: drafts[path] for name, path in at.items()}
        if KEY in to:
            rows, who = np.arange(1, len(made.key) + 1), [str(one) for one in made.ids]
            people = pd.DataFrame({"released_row": rows, "file_row": made.key + 1, "id": who, "run": run})
            write_table(people, to[KEY], private=True)
        write_json(_recipe(made, run, inputs), to[RECIPE], private=True)
        if DISTANCES in to:
            write_distances(made.masked, to[DISTANCES], kind=kind, writing=writing)
        if VECTORS in to and made.vectors is not None:
            with whole_file(to[VECTORS]) as draft:
                np.save(draft, made.vectors)
        write_table(_in_types(made, out), to[TABLE], places=held)
        data = {name: to[name] for name in (TABLE, DISTANCES, VECTORS) if name in to}
        write_json(write_note(made, run, list(data.values()), held), to[ABOUT])
        with whole_file(to[WORDS]) as draft:
            draft.write_text(write_words(made, data, held), encoding="utf-8")
    return files


def _list_former(at: dict[str, Path]) -> list[Path]:
    """Return the files that belong to the release that is replaced, and are none of the new one."""
    try:
        named = json.loads(at[ABOUT].read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    paths = [at[ABOUT].with_name(Path(str(name)).name) for name in named]
    return [path for path in paths if path.is_file() and path not in at.values()]


def _in_types(made: Release, out: Path) -> pd.DataFrame:
    """Return the table with texts that are numbers as these, for a file in which columns have types.

    Only what is written as a number and loses nothing becomes one: codes that begin with a zero stay, and encodings.
    """
    found, kind = {}, format_of(out)
    if kind is None or not kind.typed:
        return made.table
    for name in made.table.columns:
        column, kept = made.table[name], made.form == ENCODINGS and name in made.about.in_table
        texts = [value for value in column if not pd.isna(value)]
        if kept or not texts or not all(isinstance(one, str) and _LOSSLESS.fullmatch(one) for one in texts):
            continue
        numbers = pd.to_numeric(column)
        found[name] = numbers if any("." in one for one in texts) else numbers.astype("Int64")
    return made.table.assign(**found)


def _recipe(made: Release, run: str, inputs: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Return what repeats a release."""
    return {
        "kind": "disclique recipe",
        "run": run,
        "warning": "whoever has this recipe can take the noise off the release: keep it, do not publish it",
        "publication": "the seed is long enough" if made.publishable else str(TRIAL),
        "mask": made.mask,
        "as": made.form,
        "seed": made.seed,
        "records": len(made.key),
        "unit": made.unit,
        "inputs": dict(inputs),
        "versions": versions(),
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
    if not note.is_file():  # vectors and distances lie beside the table whose name the note has
        note = release.with_name(NOTE_NAME.format(release.stem.removesuffix("_vectors").removesuffix("_distances")))
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
