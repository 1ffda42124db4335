"""What is done to numbers before release, as parts of a setting: ``km_hospital=round:100m``, ``income=classes:1000``.

A part names one column, or several (``km_*``), and a way. One argument may be a range (``km_*=round:100m..5km``), a
dial over all these columns. Each way returns the column with its exact law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.numbers import (
    Capped,
    Classes,
    Exactly,
    Exchanged,
    FactorNoise,
    GaussianNoise,
    LaplaceNoise,
    NumberColumn,
    NumberLaw,
    Numbers,
    Rounded,
    SharpLaw,
)
from disclique.specs import parse_rule
from disclique.units import KM, LENGTH_UNITS, NO_UNIT, Quantity, length_in, number, parse_quantity
from disclique.values import FloatArray

_BAR, _RANGE = "|", ".."
_EDGE_SHARE = 0.1  # of the narrowest class by which its edges may be moved so that they have few digits
_STEP_DIGITS = 2  # steps between the ends are rounded, so that people can read and repeat them


@dataclass(frozen=True)
class Way:
    """A way to alter numbers: how a law follows from its argument, and whether that protects more when it rises.

    ``apply`` returns the released column; ``sized`` says that the argument is in the unit of the column.
    """

    name: str
    said: str
    apply: Callable[[NumberPart, NumberColumn, Microdata, np.random.Generator], NumberColumn]
    rises: bool = True
    sized: bool = True
    whole: bool = False
    turns: bool = True


@dataclass(frozen=True)
class NumberPart:
    """A part of a setting: which columns, in which way, with which argument."""

    pattern: str
    way: str
    argument: str

    @property
    def spec(self) -> str:
        """The text that ``parse_number_part`` reads back."""
        return f"{self.pattern}={self.way}:{self.argument}"

    @property
    def kind(self) -> Way:
        """What the way is."""
        return WAYS[self.way]

    @property
    def dial(self) -> str:
        """What is turned where the argument is a range: columns and way."""
        return f"{self.pattern}={self.way}"

    @property
    def quantity(self) -> Quantity:
        """The first number of the argument, with its unit."""
        return parse_quantity(self.argument.split(":")[0].split(",")[0].strip(), units=LENGTH_UNITS)

    def fits(self, name: str) -> bool:
        """Say whether a column is meant."""
        return fnmatchcase(name, self.pattern)

    def apply(self, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
        """Return the released column."""
        return self.kind.apply(self, column, data, rng)

    def size(self, column: NumberColumn, text: str | None = None) -> float:
        """Return an argument in the unit of a column; refuse a length without a unit, and a unit that is none."""
        text = self.argument if text is None else text
        if _RANGE in text:
            raise InputError("range_is_no_setting", spec=self.spec)
        quantity = parse_quantity(text.strip(), units=LENGTH_UNITS if self.kind.sized else ("",))
        if not self.kind.sized:
            return quantity.value
        if column.unit == KM and not quantity.unit and quantity.value:
            raise InputError("number_length_without_unit", spec=self.spec, column=column.name, value=quantity)
        if column.unit != KM and quantity.unit:
            raise InputError("number_is_no_length", spec=self.spec, column=column.name)
        return length_in(quantity, KM if column.unit == KM else NO_UNIT, self.spec)

    def positive(self, column: NumberColumn) -> float:
        """Return an argument that must be above zero."""
        found = self.size(column)
        if not found > 0:
            raise InputError("number_way_not_positive", spec=self.spec)
        return found

    @property
    def message(self) -> Message:
        """What is done."""
        column = Message("all_numbers") if self.pattern == "*" else self.pattern
        return Message(self.kind.said, column=column, argument=self.argument)


def _sharp(column: NumberColumn, law: SharpLaw) -> NumberColumn:
    return replace(column, values=law.publish(column.values), law=law, form="")


def _round(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    return _sharp(column, Rounded(part.positive(column)))


def _classes(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    edges = tuple(part.size(column, edge) for edge in part.argument.split(","))
    if list(edges) != sorted(set(edges)):
        raise InputError("class_edges_not_ascending", spec=part.spec)
    return _sharp(column, Classes(edges))


def _equal(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    count = part.size(column)
    if not (count.is_integer() and count >= 1):
        raise InputError("number_way_not_whole", spec=part.spec)
    there = column.values[~np.isnan(column.values)]
    if not len(there):
        return _sharp(column, Classes(()))
    ends = np.unique(np.quantile(there, np.arange(int(count) + 1) / count))
    return _sharp(column, Classes(_blunt(ends)))


def _blunt(ends: FloatArray) -> tuple[float, ...]:
    """Return the edges between classes with few digits: they are released, too, and a quantile is somebody's number."""
    if len(ends) < 3:
        return tuple(ends[1:-1].tolist())
    places = int(np.ceil(-np.log10(np.diff(ends).min() * _EDGE_SHARE)))
    return tuple(dict.fromkeys(round(edge, places) for edge in ends[1:-1].tolist()))


def _topcode(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    return _sharp(column, Capped(high=part.size(column)))


def _bottomcode(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    return _sharp(column, Capped(low=part.size(column)))


def _noisy(column: NumberColumn, noise: FloatArray, law: NumberLaw) -> NumberColumn:
    return replace(column, values=noise, law=law, form="")


def _gaussian(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    sd = part.positive(column)
    return _noisy(column, column.values + sd * rng.standard_normal(len(column.values)), GaussianNoise(sd))


def _laplace(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    sd = part.positive(column)
    return _noisy(column, column.values + rng.laplace(0.0, sd / np.sqrt(2), len(column.values)), LaplaceNoise(sd))


def _multiplicative(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    sd = part.positive(column)
    factor = np.exp(sd * rng.standard_normal(len(column.values)) - sd**2 / 2)
    return _noisy(column, column.values * factor, FactorNoise(sd))


def _swap(part: NumberPart, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
    text, _, by = part.argument.partition(":")
    share = replace(part, argument=text).positive(column)
    if share > 1:
        raise InputError("swap_share_above_one", spec=part.spec)
    if by and by not in data.labels.columns:
        raise InputError("swap_within_no_label", spec=part.spec, column=by, labels=[str(one) for one in data.labels])
    groups: dict[object, int] = {}
    of = [groups.setdefault(value, len(groups)) for value in (data.labels[by] if by else [0] * len(data))]
    group, values = np.array(of, dtype=np.int64), column.values.copy()
    chosen = rng.random(len(values)) < share
    for one in range(len(groups)):
        rows = np.flatnonzero((group == one) & chosen & ~np.isnan(column.values))
        values[rows] = column.values[rng.permutation(rows)]
    return _noisy(column, values, Exchanged(share, group, column.values, group))


def _read_law(part: NumberPart, column: NumberColumn, data: Microdata) -> NumberLaw:
    """Return the law of a column that was released in this way."""
    match part.way:
        case "round":
            return Rounded(part.positive(column))
        case "topcode":
            return Capped(high=part.size(column))
        case "bottomcode":
            return Capped(low=part.size(column))
        case "gaussian":
            return GaussianNoise(part.positive(column))
        case "laplace":
            return LaplaceNoise(part.positive(column))
        case "multiplicative":
            return FactorNoise(part.positive(column))
        case "swap":
            return _swap(part, column, data, np.random.default_rng(0)).law  # the group has the same numbers as before
    raise InputError("number_not_in_classes", spec=part.spec, file=data.name, column=column.name)


WAYS = {
    way.name: way
    for way in (
        Way("round", mark("number_rounded"), _round),
        Way("classes", mark("number_in_classes"), _classes, turns=False),
        Way("equal", mark("number_in_equal_classes"), _equal, rises=False, sized=False, whole=True),
        Way("topcode", mark("number_topcoded"), _topcode, rises=False),
        Way("bottomcode", mark("number_bottomcoded"), _bottomcode),
        Way("gaussian", mark("number_with_gaussian_noise"), _gaussian),
        Way("laplace", mark("number_with_laplace_noise"), _laplace),
        Way("multiplicative", mark("number_with_factor"), _multiplicative, sized=False),
        Way("swap", mark("number_exchanged"), _swap, sized=False),
    )
}


def is_number_part(text: str) -> bool:
    """Say whether a part of a setting is about a number; that about a label names the column it works on.

    >>> is_number_part("km=classes:1km,5km"), is_number_part("age=classes:age:18,65"), is_number_part("drop:sex")
    (True, False, False)
    """
    asked = parse_rule(text.strip())
    return bool(asked.into) and asked.rule in WAYS and not (asked.rule == "classes" and ":" in asked.rest)


def parse_number_part(text: str) -> NumberPart:
    """Read a part about numbers.

    >>> parse_number_part("km_*=round:100m").fits("km_hospital")
    True
    """
    asked = parse_rule(text.strip())
    if not (asked.into.strip() and asked.rest.strip()):
        raise InputError("number_part_form", spec=text, ways=list(WAYS))
    return NumberPart(asked.into.strip(), asked.rule, asked.rest.strip())


@dataclass(frozen=True)
class NumberRecoding:
    """What is done to the numbers of a release; a column that no part names is released as it is.

    >>> str(NumberRecoding(("km_*=round:100m",)).message)
    'km_* rounded to 100m'
    """

    parts: tuple[str, ...] = ()

    @cached_property
    def made(self) -> tuple[NumberPart, ...]:
        """The parts."""
        return tuple(parse_number_part(part) for part in self.parts)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Return the file with its numbers as they are released, each with its law."""
        if not len(data.numbers) and not self.parts:
            return data
        self._check(data)
        return replace(data, numbers=Numbers(tuple(self._release(one, data, rng) for one in data.numbers.columns)))

    def _check(self, data: Microdata) -> None:
        """Refuse a part that is about no number of a file."""
        for part in self.made:
            if not any(part.fits(name) for name in data.numbers.names):
                there: list[object] = [*data.numbers.names] or [Message("no_numbers_there")]
                raise InputError("no_number_to_recode", file=data.name, column=part.pattern, numbers=there)

    def read(self, data: Microdata) -> Microdata:
        """Return a file that was released in this way with the laws of its numbers; classes say theirs themselves."""
        self._check(data)
        made = []
        for column in data.numbers.columns:
            part = None if column.law.in_classes else self.part_of(column)
            made.append(column if part is None else replace(column, law=_read_law(part, column, data), form=""))
        return replace(data, numbers=Numbers(tuple(made)))

    def _release(self, column: NumberColumn, data: Microdata, rng: np.random.Generator) -> NumberColumn:
        if not isinstance(column.law, Exactly):
            raise InputError("number_released_already", file=data.name, column=column.name)
        part = self.part_of(column)
        return column if part is None else part.apply(column, data, rng)

    def part_of(self, column: NumberColumn) -> NumberPart | None:
        """Return what is done to a column; None if nothing is."""
        parts = [part for part in self.made if part.fits(column.name)]
        if len(parts) > 1:
            raise InputError("number_recoded_twice", column=column.name, parts=[part.spec for part in parts])
        if not parts and column.form:
            return parse_number_part(f"{column.name}={column.form}")
        return parts[0] if parts else None

    def spelled(self, numbers: Numbers) -> NumberRecoding:
        """Return the same in so many words: a part for each column to which something is done."""
        found = [(one.name, self.part_of(one)) for one in numbers.columns]
        return NumberRecoding(tuple(replace(part, pattern=name).spec for name, part in found if part is not None))

    def without(self, dropped: Sequence[str]) -> NumberRecoding:
        """Return the same without what is done to columns that are left out."""
        kept = [part.spec for part in self.made if not any(fnmatchcase(part.pattern, one) for one in dropped)]
        return self if len(kept) == len(self.parts) else NumberRecoding(tuple(kept))

    @property
    def message(self) -> Message | None:
        """What is done to the numbers; None if nothing is said of them."""
        return Message("numbers_recoded", parts=[part.message for part in self.made]) if self.made else None


NUMBERS_AS_THEY_ARE = NumberRecoding()


def list_steps(text: str, settings: int) -> tuple[str, ...]:
    """Return the steps of the range in a part, from weak protection to strong; the part itself without one.

    >>> list_steps("km=round:100m..1km", 4)
    ('km=round:100m', 'km=round:220m', 'km=round:460m', 'km=round:1000m')
    """
    part = parse_number_part(text)
    if _RANGE not in part.argument:
        return (text.strip(),)
    kind, (head, _, tail) = part.kind, part.argument.partition(":")
    if not kind.turns:
        raise InputError("number_range_without_dial", spec=text, way=part.way)
    first, last = (
        parse_quantity(end.strip(), units=LENGTH_UNITS if kind.sized else ("",)) for end in head.split(_RANGE, 1)
    )
    low, high, unit = first.value, _in_unit_of(last, first, text), first.unit
    if not min(low, high) > 0:
        raise InputError("number_way_not_positive", spec=text)
    low, high = sorted((low, high))
    inner = np.geomspace(low, high, settings)[1:-1].tolist()
    steps = [low, *(round(one) if kind.whole else float(f"{one:.{_STEP_DIGITS}g}") for one in inner), high]
    if not kind.rises:
        steps = steps[::-1]
    rest = f":{tail}" if tail else ""
    return tuple(dict.fromkeys(replace(part, argument=f"{number(one)}{unit}{rest}").spec for one in steps))


def _in_unit_of(last: Quantity, first: Quantity, spec: str) -> float:
    if last.unit == first.unit:
        return last.value
    if not (last.unit and first.unit):
        raise InputError("number_range_units", spec=spec)
    return float(f"{last.km / Quantity(1.0, first.unit).km:.12g}")
