"""The note that goes with a release: what is in it, what was done, in a file for programs and in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from disclique.masks.settings import Setting
from disclique.messages import Message, mark, say
from disclique.records.checks.lengths import name_unit
from disclique.records.formats import PlaceColumns
from disclique.records.write import sha256
from disclique.releases.described import ReleasedColumn
from disclique.releases.forms import DISTANCES, ENCODINGS, VECTORS

if TYPE_CHECKING:
    from disclique.model import Microdata
    from disclique.releases.publish import Release

NOTE, NOTE_NAME, WORDS_NAME = "disclique release", "{}_about.json", "{}_about.txt"
NOT_AUDITED = Message("setting_not_audited")


@dataclass(frozen=True)
class About:
    """What is said of a release: its columns, what the mask did, and what somebody should know before publishing.

    ``in_table`` are the columns of the table that the mask made, ``crs`` is the reference system of its places.
    ``audited`` says what an audit found of it, or that there was none.
    """

    columns: tuple[ReleasedColumn, ...] = ()
    done: tuple[Message, ...] = ()
    warnings: tuple[Message, ...] = ()
    in_table: tuple[str, ...] = ()
    crs: str | None = None
    audited: Message = NOT_AUDITED


NOTHING_SAID = About()


class Auditor(Protocol):
    """The result of an audit, of which a release asks what was found of its setting."""

    def tell_of(self, setting: str, data: Microdata) -> Message:
        """Say what was found, or that the setting was not audited."""


def _list_made(made: Release, held: PlaceColumns | None) -> tuple[str, ...]:
    """Return the columns that the mask made, as the file has them: places may be one column of geometries."""
    return made.about.in_table if held is None else (held.geometry,)


def write_note(made: Release, run: str, files: list[Path], held: PlaceColumns | None = None) -> dict[str, Any]:
    """Return what a program needs of a release: its files, columns, units, what was done, and which run made them."""
    columns = [made.id, *(one.name for one in made.about.columns), *_list_made(made, held)]
    done = Setting.parse(made.mask).numbers
    parts = {one.name: (one, done.part_of(one)) for one in made.numbers.columns}
    numbers = {
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
        "id": made.id,
        "released": made.form,
        "columns": columns,
        "roles": {column.name: column.role for column in made.about.columns},
        "done": [str(message) for message in made.about.done],
        "audited": str(made.about.audited),
        **({"numbers": numbers} if numbers else {}),
        **({"unit of distances": name_unit(made.masked) or "none"} if made.form in (DISTANCES, ENCODINGS) else {}),
        **({"reference system": made.about.crs} if made.about.crs else {}),
        "files": {path.name: sha256(path) for path in files},
    }


def write_words(made: Release, files: dict[str, Path], held: PlaceColumns | None = None) -> str:
    """Return the note in plain words, in the language of the release."""
    said: list[Message | None] = [Message("note_title", count=len(made.key)), None]
    said += [Message("note_order", id=made.id), None, Message("note_files")]
    said += [Message("note_file", file=path.name, what=_describe_file(made, name)) for name, path in files.items()]
    said += [None, Message("note_columns"), Message("note_column", column=made.id, what=Message("column_of_ids"))]
    said += [Message("note_column", column=one.name, what=_describe_column(made, one)) for one in made.about.columns]
    said += [Message("note_column", column=name, what=_describe_made(made, held)) for name in _list_made(made, held)]
    said += [None, Message("note_done"), *(Message("note_item", what=message) for message in made.about.done)]
    said += [None, made.about.audited]
    return "\n".join("" if line is None else say(line, made.language) for line in said) + "\n"


def _describe_file(made: Release, name: str) -> Message:
    unit = name_unit(made.masked)
    if name == DISTANCES:
        return Message("note_of_distances_in", unit=unit) if unit else Message("note_of_distances")
    return Message(mark("note_of_vectors") if name == VECTORS else mark("note_of_table"))


def _describe_column(made: Release, column: ReleasedColumn) -> Message:
    about = {"role": column.role_message, "done": column.done}
    number = made.numbers.of(column.name) if column.name in made.numbers.names else None
    unit = None if number is None else number.written or number.unit
    return Message("column_of_lengths", about, unit=unit) if unit else Message("column_of_role", about)


def _describe_made(made: Release, held: PlaceColumns | None) -> Message:
    """Say what a column is that the mask made."""
    if held is not None:
        return Message("column_of_points", crs=held.crs)
    if made.form == ENCODINGS:
        return Message("column_of_encodings")
    if made.form == VECTORS:
        return Message("column_of_vectors")
    return Message("column_of_places_in", crs=made.about.crs) if made.about.crs else Message("column_of_places")
