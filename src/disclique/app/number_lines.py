"""What is done to numbers, in the form of Ask: a line for each column, and one for all of them.

The lines of the form are parts of every mask: ``gaussian:sigma=1km | km_hospital=round:500m | drop:income``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from disclique.app.cards import round_nicely, write_length
from disclique.app.fields import with_point
from disclique.errors import InputError
from disclique.locale import mark
from disclique.units import KM

if TYPE_CHECKING:
    from disclique.records.checks import FileLook

ALL = "*"  # the line of all columns
AS_IT_IS, ROUND, CLASSES, EQUAL, NOISE, DROP = "", "round", "classes", "equal", "gaussian", "drop"
WAYS = (
    (AS_IT_IS, mark("leave it as it is")),
    (ROUND, mark("round it to")),
    (CLASSES, mark("classes, with edges at")),
    (EQUAL, mark("so many classes of as many people")),
    (NOISE, mark("noise with a deviation of")),
    (DROP, mark("leave it out")),
)
_BAR, _RANGE = " | ", ".."
_ROUNDED = (1 / 20, 1.0)  # the width of rounding to begin with, as shares of the median


@dataclass(frozen=True)
class NumberLine:
    """A column, or all of them, with values to begin with: ``low`` and ``high`` of a range."""

    name: str
    low: str
    high: str

    @property
    def for_all(self) -> bool:
        """True of the line of all columns."""
        return self.name == ALL

    def field(self, part: str) -> str:
        """Return the name of a field: ``how``, ``a`` or ``b``."""
        return f"number:{self.name}:{part}"


def list_lines(files: Sequence[FileLook]) -> tuple[NumberLine, ...]:
    """Return the lines for the numbers of the opened file; one for all of them if they are of one kind."""
    looks = files[0].numbers if files else ()
    lines = [_suggest(one.name, one.median, one.unit) for one in looks]
    if len(looks) > 1 and len({one.unit == KM for one in looks}) == 1:
        there = sorted(one.median for one in looks if one.median is not None)
        lines.insert(0, _suggest(ALL, there[len(there) // 2] if there else None, looks[0].unit))
    return tuple(lines)


def _suggest(name: str, median: float | None, unit: str) -> NumberLine:
    size = abs(median) if median else 1.0
    in_km = KM if unit == KM else None
    low, high = (write_length(round_nicely(share * size), in_km) for share in _ROUNDED)
    return NumberLine(name, low, high)


def begin(lines: Sequence[NumberLine], *, alone: bool) -> tuple[str, ...]:
    """Return what is proposed where nothing was asked yet: to round, in a range where nothing else is turned."""
    first = lines[:1] if lines and lines[0].for_all else lines
    found: list[str] = []
    for line in first:
        ranged = alone and not found
        found.append(f"{line.name}={ROUND}:{line.low}{_RANGE + line.high if ranged else ''}")
    return tuple(found)


def show_lines(parts: Iterable[str], lines: Sequence[NumberLine]) -> tuple[dict[str, str], list[str]]:
    """Return the fields of the lines for parts of a mask, and the parts that no line can show."""
    found: dict[str, str] = {}
    for line in lines:
        found |= {line.field("how"): "", line.field("a"): "", line.field("b"): ""}
    names, rest = {line.name: line for line in lines}, []
    for part in parts:
        name, how, low, high = _split(part)
        if name in names and how and not found[names[name].field("how")]:
            line = names[name]
            found |= {line.field("how"): how, line.field("a"): low, line.field("b"): high}
        else:
            rest.append(part)
    return found, rest


def _split(part: str) -> tuple[str, str, str, str]:
    if part.startswith(f"{DROP}:"):
        return part.removeprefix(f"{DROP}:").strip(), DROP, "", ""
    name, _, rule = part.partition("=")
    how, _, argument = rule.partition(":")
    if how not in (ROUND, CLASSES, EQUAL, NOISE):
        return "", "", "", ""
    low, _, high = argument.partition(_RANGE)
    return name.strip(), how, low, high


def read_lines(form: Mapping[str, object], lines: Sequence[NumberLine]) -> tuple[str, ...]:
    """Return the parts that the lines ask for; an error in one sentence if one cannot be read."""
    found = []
    known = {how for how, _ in WAYS}
    for line in lines:
        how, low, high = (str(form.get(line.field(part), "") or "").strip() for part in ("how", "a", "b"))
        if how not in known:
            raise InputError("no_such_way_of_numbers", column=line.name, how=how)
        if how == AS_IT_IS:
            continue
        if how == DROP:
            found.append(f"{DROP}:{line.name}")
            continue
        if how != CLASSES:  # whose edges stand with commas between them
            low, high = with_point(low), with_point(high)
        for text in (low, high):
            if _RANGE in text or "|" in text or "\n" in text:
                raise InputError("number_not_one_value", column=line.name, text=text)
        if not low:
            raise InputError("number_without_value", column=line.name)
        found.append(f"{line.name}={how}:{low}{_RANGE + high if high else ''}")
    return tuple(found)


def join_parts(spec: str, parts: Sequence[str]) -> str:
    """Return a mask with what is done to numbers beside it."""
    return _BAR.join((spec, *parts))


def split_parts(specs: Sequence[str], lines: Sequence[NumberLine]) -> tuple[list[str], tuple[str, ...]]:
    """Return masks without the parts that all of them share and that the lines can show, and these parts."""
    each = [tuple(part.strip() for part in spec.split("|")) for spec in specs]
    parts = each[0][1:] if each else ()
    shown = not show_lines(parts, lines)[1]
    if not parts or not shown or any(one[1:] != parts for one in each):
        return list(specs), ()
    return [one[0] for one in each], parts
