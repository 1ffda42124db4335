"""What a look at the input finds, as frozen values: facts about each file, and remarks, each a message.

None of them holds a value of a single person: extents are rounded outwards, places and ids are counted, not named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from disclique.errors import InputError
from disclique.messages import ENGLISH, Message, mark, say
from disclique.records.checks.names import LIKELY_WRONG, name_remark
from disclique.records.joins import BY_ID, BY_POSITION, BY_ROW

KINDS = {  # what the records of a file are
    "coordinates": mark("kind_coordinates"),
    "plane": mark("kind_plane"),
    "vectors": mark("kind_vectors"),
    "records": mark("kind_records"),
    "texts": mark("kind_texts"),
    "encodings": mark("kind_encodings"),
    "matrix": mark("kind_matrix"),
    "nothing": mark("kind_nothing"),
}
JOINED = {BY_ID: mark("joined_by_id"), BY_ROW: mark("joined_by_row"), BY_POSITION: mark("joined_by_position")}


@dataclass(frozen=True)
class Remark:
    """Something that looks wrong; a ``mistake`` can be nothing else, and ends a run."""

    message: Message
    mistake: bool = False

    @property
    def name(self) -> str:
        """By what it is accepted."""
        return name_remark(self.message.code)

    @property
    def likely_wrong(self) -> bool:
        """Whether the input is probably not what it is taken for; a mistake certainly is not."""
        return self.mistake or self.message.code in LIKELY_WRONG

    @property
    def sentence(self) -> str:
        """The remark in English."""
        return str(self.message)

    @property
    def marked(self) -> Message:
        """The remark, and before it what it is."""
        code = mark("remark_mistake") if self.mistake else mark("remark_look")
        return Message(code, remark=self.message, name=self.name)

    def __str__(self) -> str:
        return str(self.marked)


class Worded:
    """A value that has a message, and reads in English as it."""

    @property
    def message(self) -> Message:
        """The value in words."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.message)


@dataclass(frozen=True)
class Extent(Worded):
    """The box in which the places lie, rounded outwards, and the shares of the countries and seas in it.

    A country is its ISO code, a sea the code of its name.
    """

    west: float
    south: float
    east: float
    north: float
    degrees: bool = True
    where: tuple[tuple[str, float], ...] = ()

    @property
    def message(self) -> Message:
        """The box in words."""
        box = {"west": self.west, "east": self.east, "south": self.south, "north": self.north}
        if not self.degrees:
            return Message("extent_of_plane", box)
        return Message(
            mark("extent_with_countries") if self.where else mark("extent_of_degrees"),
            box,
            where=say_shares(self.where),
        )


@dataclass(frozen=True)
class Lengths(Worded):
    """The distances of a file: shortest, median and longest, in which unit (empty if none was said)."""

    least: float
    median: float
    most: float
    unit: str = ""

    @property
    def message(self) -> Message:
        """The lengths in words."""
        shown = {name: show_length(getattr(self, name), self.unit) for name in ("median", "least", "most")}
        return Message(mark("lengths_of_file") if self.unit else mark("lengths_without_unit"), shown)


@dataclass(frozen=True)
class LabelColumn(Worded):
    """A label: how many values it has, and in how many records it is empty."""

    name: str
    values: int
    missing: int

    @property
    def message(self) -> Message:
        """The label in words."""
        code = mark("label_column_with_gaps") if self.missing else mark("label_column")
        return Message(code, column=self.name, different=self.values, empty=self.missing)


@dataclass(frozen=True)
class NumberLook(Worded):
    """A column of numbers: how many there are, in how many records it is empty, and about their median."""

    name: str
    unit: str
    values: int
    missing: int
    median: float | None = None

    @property
    def message(self) -> Message:
        """The column in words."""
        unit = "km" if self.unit == "km" else ""
        about = {"column": self.name, "different": self.values, "empty": self.missing}
        if self.median is None and self.values:
            return Message("number_column_in_classes", about)
        code = mark("number_column_with_gaps") if self.missing else mark("number_column")
        return Message(code, about, median="–" if self.median is None else show_length(self.median, unit))


@dataclass(frozen=True)
class EncodedLook(Worded):
    """Encodings as they were understood: how long those of a person are, how many are missing, how they are written.

    ``form`` is the code of how they are written, None where that differs or is not known; ``all`` are those that there
    would be if none were ``missing``.
    """

    parts: tuple[int, ...]
    missing: int
    metric: str
    form: str | None = None
    all: int = 0

    @property
    def message(self) -> Message:
        """The encodings in words."""
        lengths = " + ".join(map(str, self.parts))
        about = {"count": len(self.parts), "lengths": lengths, "metric": self.metric}
        form = None if self.form is None else Message("encoded_form", form=Message(self.form))
        gone = Message("encoded_missing", missing=self.missing, all=self.all) if self.missing else None
        return Message("encoded_look", about, form=form, gone=gone)


@dataclass(frozen=True)
class Leak:
    """What encodings tell without their key: what it is called, the sentence, and its figure, a share or correlation.

    ``risk`` is the share of the people who can be read by anybody; None where a leak is no such thing.
    """

    name: str
    message: Message
    figure: float
    risk: float | None = None


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
    numbers: tuple[NumberLook, ...] = ()
    encoded: EncodedLook | None = None

    @property
    def kind_message(self) -> Message:
        """What the distances are between."""
        return Message(KINDS.get(self.kind, KINDS["records"]))

    @property
    def joined_message(self) -> Message | None:
        """How distances were joined to the records; None where they came with them."""
        return Message(JOINED[self.joined]) if self.joined else None

    def messages(self) -> Iterator[Message]:
        """Say what the file holds: the file first, then about it."""
        yield Message("look_at_file", file=self.name, records=self.records, kind=self.kind_message)
        if self.joined_message is not None:
            yield Message("look_joined", how=self.joined_message)
        if self.encoded is not None:
            yield Message("look_encoded", encoded=self.encoded.message)
        if self.extent is not None:
            yield Message("look_extent", extent=self.extent.message)
        if self.lengths is not None:
            yield Message("look_distances", lengths=self.lengths.message)
        if self.crowd > 1:
            yield Message("look_crowd", records=self.crowd)
        if self.labels:
            yield Message("look_labels", columns=[one.message for one in self.labels])
            yield Message("look_label_groups", groups=self.groups, smallest=self.smallest, unique=self.unique)
        if self.numbers:
            yield Message("look_numbers", columns=[one.message for one in self.numbers])


@dataclass(frozen=True)
class Meeting(Worded):
    """How the values of one label meet in two files: how many of each file the other one lacks, and whose they are."""

    column: str
    target_values: int
    target_only: int
    target_records: int
    known_values: int
    known_only: int
    known_records: int

    @property
    def message(self) -> Message:
        """How the values meet, in words."""
        mine = {"only": self.target_only, "whole": self.target_values, "records": self.target_records}
        theirs = {"back": self.known_only, "others": self.known_values, "known": self.known_records}
        return Message("labels_meet", {"column": self.column, **mine, **theirs})


@dataclass(frozen=True)
class Inspection:
    """A look at the input before any work.

    ``files`` are facts about each file, ``shared_ids`` how many ids two files share (None: nobody asked), ``meetings``
    how their label values meet, ``remarks`` what looks wrong. ``accepted`` are the names of those that somebody
    said to be right so. ``leaks`` are what encodings tell without their key.

    >>> import disclique as dq
    >>> dq.inspect(dq.cities())
    Inspection(4 records; remarks: 1, mistakes: 0)
    """

    files: tuple[FileLook, ...] = ()
    shared_ids: int | None = None
    meetings: tuple[Meeting, ...] = ()
    remarks: tuple[Remark, ...] = ()
    accepted: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()

    @property
    def mistakes(self) -> tuple[Remark, ...]:
        """What can only be a mistake."""
        return tuple(remark for remark in self.remarks if remark.mistake)

    @property
    def forced(self) -> bool:
        """Whether what can only be a mistake was accepted."""
        return any(remark.name in self.accepted for remark in self.mistakes)

    @property
    def unaccepted(self) -> tuple[Remark, ...]:
        """What is likely wrong, and nobody said to be right: as long as there is any, no limit is shown to be kept."""
        return tuple(one for one in self.remarks if one.likely_wrong and one.name not in self.accepted)

    def accepted_by(self, author: str) -> Message | None:
        """Say who accepted what; None where nothing was accepted."""
        if not self.accepted:
            return None
        who = author or Message("whoever_ran_the_audit")
        return Message("input_accepted_by", names=self.accepted, who=who)

    @property
    def open_question(self) -> Message | None:
        """What somebody has to accept before a limit can be shown to be kept; None where there is nothing."""
        names = tuple(dict.fromkeys(one.name for one in self.unaccepted))
        return Message("input_likely_wrong", names=names) if names else None

    def messages(self) -> list[Message]:
        """Return what was found, the remarks last."""
        return [*(one for file in self.files for one in file.messages()), *self._of_both()]

    def lines(self, language: str = ENGLISH) -> list[str]:
        """Say what was found, the remarks last; what is said of one file stands below its name."""
        found = []
        for file in self.files:
            first, *about = (say(one, language) for one in file.messages())
            found += [first, *(f"  {line}" for line in about)]
        return found + [say(one, language) for one in self._of_both()]

    def _of_both(self) -> list[Message]:
        more = [meeting.message for meeting in self.meetings if meeting.target_only or meeting.known_only]
        if self.shared_ids is not None:
            sizes = [file.records for file in self.files[:2]]
            more.insert(0, Message("look_shared_ids", shared=self.shared_ids, sizes=sizes))
        more += [Message("look_leak", leak=leak.message) for leak in self.leaks]
        return [*more, *(remark.marked for remark in self.remarks)]

    def check(self, *, accept: Iterable[str] = ()) -> Inspection:
        """Raise an error if something can only be a mistake, unless it is accepted by name; note what was accepted.

        >>> from disclique.records.checks.values import Inspection, Remark
        >>> found = Inspection(remarks=(Remark(Message("places_at_zero", file="f", records=2), mistake=True),))
        >>> found.check(accept=["places-at-zero", "doubled-records"]).accepted
        ('places-at-zero',)
        """
        named = [accept] if isinstance(accept, str) else list(accept)
        open_ = [one for one in self.mistakes if one.name not in named]
        if open_:
            more = Message("and_more_mistakes", count=len(open_) - 1) if len(open_) > 1 else None
            raise InputError("mistake_ends_the_run", remark=open_[0].message, more=more, name=open_[0].name)
        return replace(self, accepted=tuple(dict.fromkeys(one.name for one in self.remarks if one.name in named)))

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


def is_land(code: str) -> bool:
    """Say whether a place is a country: ISO codes are written in capitals."""
    return code.isupper()


def say_place(code: str) -> Message:
    """Return what a country or sea is called."""
    return Message("country_alone", iso=code) if is_land(code) else Message(code)


def say_shares(where: Sequence[tuple[str, float]]) -> tuple[Message, ...]:
    """Return shares of places as they are written, the largest first."""
    return tuple(Message("place_share", place=say_place(code), share=share) for code, share in where)


def some(values: Iterable[object], most: int = 3) -> str:
    """Write a few values as examples."""
    listed = list(values)
    return ", ".join(repr(value) for value in listed[:most]) + (", …" if len(listed) > most else "")


def round_out(low: float, high: float, step: float) -> tuple[float, float]:
    """Round an interval outwards, so that its ends are nobody's place."""
    return round(math.floor(low / step) * step, 6), round(math.ceil(high / step) * step, 6)
