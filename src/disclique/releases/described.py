"""What a release is, in facts that can be said in plain words: its columns, its files, and what the mask did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from disclique.masks import Mask
from disclique.masks.settings import Setting
from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.records.checks.lengths import name_unit
from disclique.records.checks.values import show_length
from disclique.records.coarsening import Recoding
from disclique.records.formats.projections import LAT, LON
from disclique.releases.forms import DISTANCES, ENCODINGS, NONE, PLACES, VECTORS
from disclique.spaces import spaced
from disclique.spaces.base import Distances
from disclique.spaces.metrics import paired

LABEL, NUMBER, SENSITIVE, PLAIN = "label", "number", "sensitive", "plain"
ROLES = {
    LABEL: mark("role_label"),
    NUMBER: mark("role_number"),
    SENSITIVE: mark("role_sensitive"),
    PLAIN: mark("role_plain"),
}
AS_IT_IS = Message("column_as_it_is")
FILES = {
    DISTANCES: mark("released_file_distances"),
    PLACES: mark("released_file_places"),
    VECTORS: mark("released_file_vectors"),
    ENCODINGS: mark("released_file_encodings"),
    NONE: mark("released_file_table_alone"),
}


@dataclass(frozen=True)
class ReleasedColumn:
    """A column of the release: its ``role`` (label, number, sensitive, plain) and what is ``done`` to it."""

    name: str
    role: str
    done: Message

    @property
    def role_message(self) -> Message:
        """What the column is for."""
        return Message(ROLES[self.role])


@dataclass(frozen=True)
class Telling:
    """How much is told of what chance did: nothing of a few records, whose moves could be worked out from a mean."""

    fewest_records: int = 20
    digits: int = 2
    looked_at: int = 500  # records of a large file by whose distances it is measured


TELLING = Telling()


@dataclass(frozen=True)
class Change:
    """How much a mask altered: the mean move of a place, or the standard deviation of what it did to distances.

    ``unit`` is km, or empty. None is what was not measured, or is not told.
    """

    moved: float | None = None
    deviation: float | None = None
    unit: str = ""

    @classmethod
    def of_utility(cls, utility: Mapping[str, float | None] | None, unit: str) -> Change:
        """Return it from measures of usefulness."""
        found = utility or {}
        variance = found.get("variance")
        return cls(found.get("displacement_mean"), None if variance is None else float(np.sqrt(variance)), unit)


def measure_change(original: Distances, masked: Distances, telling: Telling = TELLING) -> Change:
    """Measure how much a mask altered the records of a file, rounded; nothing is told of a few records."""
    if original.size < telling.fewest_records or not masked.are_published or masked.cells() is not None:
        return Change()
    rows = spaced(original.size, telling.looked_at).astype(np.int32)
    unit = name_unit(masked)
    before, after = original.points(), masked.points()
    if before is not None and after is not None and before.kind == after.kind:
        moved = paired(before.coordinates, after.coordinates, before.metric)
        return Change(_shorten(float(np.mean(moved)), telling), None, unit)
    apart = masked.block(rows, rows) - original.block(rows, rows)
    there = apart[~np.isnan(apart) & ~np.eye(len(rows), dtype=bool)]
    return Change(None, _shorten(float(np.std(there)), telling) if len(there) else None, unit)


def _shorten(value: float, telling: Telling) -> float:
    return float(f"{value:.{telling.digits}g}")


def describe_columns(data: Microdata, setting: Setting) -> tuple[ReleasedColumn, ...]:
    """Say of every column of a file that is released under a setting what is done to it, in the order of the file."""
    kept = setting.labels.apply(data)
    coarser = {one.into: part for one, part in zip(setting.labels.made, _made_parts(setting.labels), strict=True)}
    found = [
        ReleasedColumn(name, LABEL, Recoding((coarser[name],)).message if name in coarser else AS_IT_IS)
        for name in map(str, kept.labels.columns)
    ]
    for number in kept.numbers.columns:
        part = setting.numbers.part_of(number)
        found.append(ReleasedColumn(number.name, NUMBER, AS_IT_IS if part is None else part.message))
    found += [ReleasedColumn(name, SENSITIVE, AS_IT_IS) for name in data.roles.sensitive]
    found += [ReleasedColumn(name, PLAIN, AS_IT_IS) for name in data.roles.plain]
    place = {str(name): number for number, name in enumerate(data.table.columns)}
    return tuple(sorted(found, key=lambda column: place.get(column.name, len(place))))


def _made_parts(labels: Recoding) -> list[str]:
    """Return the parts of a recoding that make a label coarser."""
    return [part for part in labels.parts if Recoding((part,)).made]


def list_dropped(data: Microdata, setting: Setting) -> tuple[str, ...]:
    """Name the columns of a file that are not released; computed ones of places are no columns of it."""
    kept = {column.name for column in describe_columns(data, setting)}
    return tuple(str(name) for name in data.table.columns if str(name) not in kept and name not in (LON, LAT))


def describe_mask(mask: Mask, form: str, change: Change) -> tuple[Message, ...]:
    """Say in plain words what the mask does to what is released, with figures where they are known."""
    if mask.withholds or form == NONE:
        return (Message("nothing_between_records"),)
    if form == ENCODINGS:
        made = mark("text_was_encoded") if mask.secret else mark("text_was_encoded_openly")
        return (Message(mark("encodings_as_made_elsewhere") if mask.rigid else made),)
    if mask.rigid:
        turned = mark("moved_all_alike") if mask.on == "coordinates" else mark("distances_unaltered")
        return (Message(turned),)
    said = [] if mask.summary is None else [mask.summary]
    if change.moved is not None:
        said.append(Message("places_were_moved", distance=show_length(change.moved, change.unit)))
    elif change.deviation is not None:
        said.append(Message("distances_were_altered", distance=show_length(change.deviation, change.unit)))
    return tuple(said)


def describe_files(form: str, columns: int) -> tuple[Message, ...]:
    """Name the files of a release and what each holds."""
    return Message("released_file_table", count=columns), Message(FILES[form])
