"""What a look at the input finds, as frozen values: facts about each file, and remarks in plain sentences.

None of them holds a value of a single person: extents are rounded outwards, places and ids are counted, not named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from disclique.errors import InputError
from disclique.messages import percent


@dataclass(frozen=True)
class Remark:
    """One sentence on something that looks wrong; a ``mistake`` can be nothing else, and ends a run."""

    sentence: str
    mistake: bool = False

    def __str__(self) -> str:
        return f"{'MISTAKE' if self.mistake else 'LOOK'}: {self.sentence}"


@dataclass(frozen=True)
class Extent:
    """The box in which the places lie, rounded outwards, and the shares of the countries and seas in it."""

    west: float
    south: float
    east: float
    north: float
    degrees: bool = True
    where: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        if not self.degrees:
            return f"x from {self.west:g} to {self.east:g}, y from {self.south:g} to {self.north:g}"
        box = f"longitude {self.west:g} to {self.east:g}, latitude {self.south:g} to {self.north:g}"
        return box + (f": {name_shares(self.where)}" if self.where else "")


@dataclass(frozen=True)
class Lengths:
    """The distances of a file: shortest, median and longest, in which unit (empty if none was said)."""

    least: float
    median: float
    most: float
    unit: str = ""

    def __str__(self) -> str:
        shown = [show_length(value, self.unit) for value in (self.median, self.least, self.most)]
        said = "" if self.unit else " (no unit said)"
        return f"median {shown[0]}, from {shown[1]} to {shown[2]}{said}"


@dataclass(frozen=True)
class LabelColumn:
    """A label: how many values it has, and in how many records it is empty."""

    name: str
    values: int
    missing: int


@dataclass(frozen=True)
class FileLook:
    """One file as it was understood.

    ``groups`` are the different labels, ``smallest`` the records of the rarest, ``unique`` the records whose label
    nobody shares, ``incomplete`` those with an empty label. ``crowd`` is how many records share the fullest place.
    ``joined`` says how distances were joined to the records.
    """

    name: str
    records: int
    kind: str
    joined: str = ""
    extent: Extent | None = None
    lengths: Lengths | None = None
    labels: tuple[LabelColumn, ...] = ()
    groups: int = 0
    smallest: int = 0
    unique: int = 0
    incomplete: int = 0
    crowd: int = 1

    def lines(self) -> Iterator[str]:
        """Say what the file holds."""
        yield f"{self.name}: {self.records} records ({self.kind})"
        if self.joined:
            yield f"  distances are joined to the records {self.joined}"
        if self.extent is not None:
            yield f"  extent: {self.extent}"
        if self.lengths is not None:
            yield f"  distances: {self.lengths}"
        if self.crowd > 1:
            yield f"  up to {self.crowd} records are one to the distances (same place, text or vector)"
        if self.labels:
            columns = ", ".join(
                f"{one.name} ({one.values} values{f', {one.missing} empty' if one.missing else ''})"
                for one in self.labels
            )
            yield f"  labels: {columns}"
            yield (
                f"  label groups: {self.groups}, the smallest of {self.smallest} (k-anonymity k = {self.smallest}); "
                f"{self.unique} records have a label of their own"
            )


@dataclass(frozen=True)
class Meeting:
    """How the values of one label meet in two files: how many of each file the other one lacks, and whose they are."""

    column: str
    target_values: int
    target_only: int
    target_records: int
    known_values: int
    known_only: int
    known_records: int

    def __str__(self) -> str:
        return (
            f"{self.column}: {self.target_only} of {self.target_values} values of the release do not occur in the "
            f"known file ({self.target_records} records), {self.known_only} of {self.known_values} the other way round "
            f"({self.known_records} records)"
        )


@dataclass(frozen=True)
class Inspection:
    """A look at the input before any work.

    ``files`` are facts about each file, ``shared_ids`` how many ids two files share (None: nobody asked), ``meetings``
    how their label values meet, ``remarks`` what looks wrong. ``forced`` says that mistakes were overridden.

    >>> import disclique as dq
    >>> dq.inspect(dq.cities())
    Inspection(4 records; remarks: 1, mistakes: 0)
    """

    files: tuple[FileLook, ...] = ()
    shared_ids: int | None = None
    meetings: tuple[Meeting, ...] = ()
    remarks: tuple[Remark, ...] = ()
    forced: bool = False

    @property
    def mistakes(self) -> tuple[Remark, ...]:
        """What can only be a mistake."""
        return tuple(remark for remark in self.remarks if remark.mistake)

    def lines(self) -> list[str]:
        """Say what was found, the remarks last."""
        found = [line for file in self.files for line in file.lines()]
        if self.shared_ids is not None:
            sizes = " and ".join(str(file.records) for file in self.files[:2])
            found.append(f"ids in both files: {self.shared_ids} of {sizes}")
        found += [f"label {meeting}" for meeting in self.meetings if meeting.target_only or meeting.known_only]
        return found + [str(remark) for remark in self.remarks]

    def check(self, *, force: bool = False) -> Inspection:
        """Raise an error if something can only be a mistake, unless told to go on; then that is noted."""
        if self.mistakes and not force:
            more = f" (and {len(self.mistakes) - 1} more)" if len(self.mistakes) > 1 else ""
            raise InputError(f"{self.mistakes[0].sentence}{more}; if it is right so, say --force (force=True)")
        return replace(self, forced=bool(self.mistakes))

    def __repr__(self) -> str:
        records = ", ".join(f"{file.records} records" for file in self.files)
        return f"Inspection({records}; remarks: {len(self.remarks)}, mistakes: {len(self.mistakes)})"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{escape(line.strip())}</li>" for line in self.lines())
        return f"<ul>{rows}</ul>"


def show_length(value: float, unit: str) -> str:
    """Write a length with its unit and three digits that matter; short ones on the Earth in metres."""
    if unit == "km" and 0 < value < 1:
        return f"{1000 * value:.3g} m"
    return f"{value:,.0f}{' ' * bool(unit)}{unit}" if value >= 1000 else f"{value:.3g}{' ' * bool(unit)}{unit}"


def name_shares(where: Sequence[tuple[str, float]]) -> str:
    """Write shares of places, the largest first."""
    return ", ".join(f"{name} {percent(share)}" for name, share in where)


def some(values: Iterable[object], most: int = 3) -> str:
    """Write a few values as examples."""
    listed = list(values)
    return ", ".join(repr(value) for value in listed[:most]) + (", …" if len(listed) > most else "")


def round_out(low: float, high: float, step: float) -> tuple[float, float]:
    """Round an interval outwards, so that its ends are nobody's place."""
    return round(math.floor(low / step) * step, 6), round(math.ceil(high / step) * step, 6)
