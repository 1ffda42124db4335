"""Labels made coarser or left out: one value at a time, as a recoding of a file, and as a dial of several steps.

A setting is written ``MASK | PART | PART``: a part makes one label coarser (``age=width:age:10``) or leaves it out
(``drop:sex``); ``none`` leaves out all of them. A mask alone leaves the labels as they are.

Every step of a range only joins classes of the step before, so that along the dial nobody ever becomes easier to tell
apart. Widths are therefore multiples of each other, not merely larger.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import product
from math import isfinite, log
from typing import Any

import pandas as pd

from disclique.errors import InputError
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.labels import canonical_labels
from disclique.specs import parse_rule
from disclique.values import canonical

_CLASS = re.compile(r"\[?(?P<low>\d+(?:\.\d+)?)(?:\+|,\)|\s*[-–,]\s*(?P<high>\d+(?:\.\d+)?)\)?)")  # 18-24, 75+, [18,65)


@dataclass(frozen=True)
class Generaliser:
    """A new column ``into`` computed from the column ``source``, value by value."""

    into: str
    source: str
    rule: Callable[[Any], Any]
    spec: str = ""

    def apply(self, frame: pd.DataFrame, name: str = "table") -> pd.DataFrame:
        """Return ``frame`` with the new column; one that has no ``source`` but has ``into`` already stays as it is.

        Not so where raw values are asked for: coarse ones in their place would match nobody.
        """
        if self.source not in frame.columns:
            if self.into in frame.columns and self.rule is not raw:
                return frame
            raise InputError("nothing_to_generalise", file=name, source=self.source, into=self.into)
        made = []
        for row, value in enumerate(frame[self.source]):
            plain = canonical(value)
            try:
                made.append(None if plain is None else self.rule(plain))
            except (TypeError, ValueError, OverflowError) as error:
                cell = {"row": row + 1, "column": self.source, "value": value}
                raise InputError("cell_not_generalised", file=name, **cell, why=error) from None
        return frame.assign(**{self.into: pd.Series(made, index=frame.index, dtype=object)})


def raw(value: Any) -> Any:
    """Return a value as it is: it is made coarser later, in several ways."""
    return value


def century(year: float) -> int:
    """Return the century of a year: 1313 lies in the 14th, 43 before Christ in the first before (-1)."""
    whole = math.floor(parse_number(year))
    if whole == 0:
        raise InputError("no_year_zero")
    return (whole - 1) // 100 + 1 if whole > 0 else -((-whole - 1) // 100 + 1)


def parse_number(value: Any) -> float:
    """Return a number; that of a class such as ``18-24``, ``75+`` or ``[18,65)`` is its lower end."""
    if not isinstance(value, str):
        return float(value)
    found = _CLASS.fullmatch(value.strip())
    if found is None or (found["high"] is not None and float(found["high"]) < float(found["low"])):
        raise InputError("neither_number_nor_class")
    return float(found["low"])


def _class_of(value: float, edges: tuple[float, ...]) -> str:
    number = parse_number(value)
    below = [e for e in edges if e <= number]
    above = [e for e in edges if e > number]
    low = f"{below[-1]:g}" if below else ""
    return f"[{low},{above[0]:g})" if above else f"[{low},)"


def parse_generaliser(spec: str) -> Generaliser:
    """Read a generaliser from text: ``cob=century:yob``, ``age=classes:age:0,18,65``, ``inc=width:income:1000``, …"""
    asked = parse_rule(spec)
    if not (asked.into and asked.rule and asked.source):
        raise InputError("generaliser_form", spec=spec)
    return Generaliser(asked.into, asked.source, _rule(asked.rule, asked.argument, spec), spec)


def _rule(rule: str, argument: str, spec: str) -> Callable[[Any], Any]:
    try:
        if rule == "raw" and not argument:
            return raw
        if rule == "century" and not argument:
            return century
        if rule == "decade" and not argument:
            return lambda value: math.floor(parse_number(value) / 10) * 10
        if rule == "width" and float(argument) > 0:
            width = Fraction(argument)  # exact: 0.6 / 0.1 rounded down is 6, so that wider classes never split others
            return lambda value: canonical(float(Fraction(str(parse_number(value))) // width * width))
        if rule == "classes":
            edges = tuple(sorted(float(edge) for edge in argument.split(",")))
            return lambda value: _class_of(value, edges)
        if rule == "prefix" and int(argument) > 0:
            length = int(argument)
            return lambda value: str(value)[:length]
        if rule == "join" and len(joined := [part.strip() for part in argument.split(JOINED)]) > 1 and all(joined):
            return lambda value: argument if str(value) in joined else value
    except ValueError:
        pass
    raise InputError("generaliser_rules", spec=spec)


RULES = ("century", "decade", "width", "classes", "prefix", "join", "raw")
JOINED = "+"  # between the values that one value stands for
DROP, NONE = "drop:", "none"
_BAR = "|"


@dataclass(frozen=True)
class Recoding:
    """Labels that are made coarser, value by value, and labels that are left out.

    A generaliser works on the label that it makes: the label holds the raw values of its source.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey(), ["sex", "age_class"], coordinates=["lon", "lat"], id="id")
    >>> coarse = parse_recoding("age_class=width:age_class:20 | drop:sex").apply(people)
    >>> sorted(set(coarse.labels["age_class"]))
    [0, 20, 40, 60]
    """

    parts: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type[Recoding], tuple[tuple[str, ...]]]:
        """Go to other processes without what was made of the parts: rules are functions."""
        return Recoding, (self.parts,)

    @property
    def spec(self) -> str:
        """The text that ``parse_recoding`` reads back."""
        return f" {_BAR} ".join(self.parts)

    @cached_property
    def made(self) -> tuple[Generaliser, ...]:
        """The labels that are made coarser."""
        return tuple(parse_generaliser(part) for part in self.parts if part != NONE and not part.startswith(DROP))

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """The labels that are left out."""
        return tuple(part.removeprefix(DROP).strip() for part in self.parts if part.startswith(DROP))

    def apply(self, data: Microdata) -> Microdata:
        """Return the file with the labels that are released."""
        if not self.parts:
            return data
        labels, numbers = data.labels, set(data.numbers.names)
        gone = {name for name in numbers if any(fnmatchcase(name, pattern) for pattern in self.dropped)}
        met = {pattern for pattern in self.dropped if any(fnmatchcase(name, pattern) for name in gone)}
        for column in (*(one.into for one in self.made), *self.dropped):
            if column not in labels.columns and column not in met:
                there = [repr(str(name)) for name in labels.columns] or Message("no_labels_there")
                raise InputError("no_label_to_coarsen", file=data.name, column=column, labels=there)
        for one in self.made:
            labels = replace(one, source=one.into).apply(labels, data.name)
        data = replace(data, numbers=data.numbers.without(gone))
        if NONE in self.parts:
            return replace(data, labels=pd.DataFrame(index=range(len(data))))
        kept = [str(column) for column in labels.columns if column not in self.dropped]
        return replace(data, labels=canonical_labels(labels, kept, data.name))

    @property
    def message(self) -> Message:
        """What is done to the labels."""
        if NONE in self.parts:
            return Message("no_labels")
        done = [_describe(one) for one in self.made]
        done += [Message("label_left_out", column=column) for column in self.dropped]
        return Message("labels_recoded", parts=done) if done else Message("labels_as_they_are")


AS_THEY_ARE = Recoding()


def _describe(one: Generaliser) -> Message:
    asked = parse_rule(one.spec)
    match asked.rule:
        case "width":
            return Message("label_in_classes_of", column=one.into, width=asked.argument)
        case "prefix":
            return Message("label_beginning", column=one.into, length=asked.argument)
        case "classes":
            return Message("label_in_classes_from", column=one.into, edges=asked.argument)
        case "join":
            return Message("label_values_joined", column=one.into, joined=asked.argument.split(JOINED))
    return Message("label_by_rule", column=one.into, rule=asked.rule)


def parse_recoding(text: str) -> Recoding:
    """Read a recoding from its parts; an empty text leaves labels as they are.

    >>> str(parse_recoding("age=width:age:10 | drop:sex").message)
    'age in classes of 10, without sex'
    """
    parts = tuple(part.strip() for part in text.split(_BAR)) if text.strip() else ()
    found = Recoding(parts)
    touched = [one.into for one in found.made] + list(found.dropped)
    for column in touched:
        if not column:
            raise InputError("say_which_label_to_drop", spec=text)
        if touched.count(column) > 1:
            raise InputError("label_recoded_twice", spec=text, column=column)
    if NONE in parts and len(parts) > 1:
        raise InputError("none_leaves_nothing", spec=text)
    return found


ALL_STEPS = 17  # of a range of labels
FEW_STEPS = 5  # where the dial of a mask is turned too
_SMOOTH = (2, 3, 5)  # factors of the widths between the ends
_WIDEST = 100_000  # as a multiple of the narrowest


def is_dial(spec: str) -> bool:
    """Say whether a generaliser stands for several settings: a range, or a label with and without.

    >>> is_dial("age=width:age:1..40"), is_dial("drop:sex"), is_dial("age=width:age:5")
    (True, True, False)
    """
    return spec.strip().startswith(DROP) or ".." in spec.rpartition(":")[2]


def read_beforehand(specs: Sequence[str]) -> list[str]:
    """Return what is to be done when a file is read: fixed generalisers, and raw values where a range works on them.

    >>> read_beforehand(["cob=century:yob", "ac=width:age:1..40", "age=width:age:1..40", "drop:sex"])
    ['cob=century:yob', 'ac=raw:age']
    """
    found = []
    for spec in specs:
        if not is_dial(spec):
            found.append(spec)
        elif not spec.strip().startswith(DROP):
            into, _, source, _, _ = _parse(spec)
            found += [f"{into}=raw:{source}"] if into != source else []
    return found


def list_label_settings(specs: Sequence[str], most: int = ALL_STEPS) -> tuple[str, ...]:
    """Return every way to recode the labels that generalisers name, each with at most so many steps.

    >>> list_label_settings(["age=width:age:5..20", "drop:sex"])[:3]
    ('age=width:age:5', 'age=width:age:5 | drop:sex', 'age=width:age:10')
    """
    found = []
    for chosen in product(*(list_steps(spec, most) for spec in specs)):
        parts = [part for part in chosen if part]
        gone = {part.removeprefix(DROP).strip() for part in parts if part.startswith(DROP)}
        kept = tuple(part for part in parts if part.startswith(DROP) or parse_rule(part).into.strip() not in gone)
        found.append(parse_recoding(Recoding(kept).spec).spec)
    return tuple(dict.fromkeys(found))


def check_sources(specs: Sequence[str], data: Microdata) -> None:
    """Raise an error unless every label that is made coarser holds the raw values of a column that is no label itself.

    Of values that are coarse already the audit would show less risk than a release that follows the setting.
    """
    for spec in specs:
        if spec.strip().startswith(DROP):
            continue
        asked, one = parse_rule(spec), parse_generaliser(spec.partition("..")[0])
        if one.source == one.into:
            continue
        if one.source in data.labels.columns:
            rest = f"{asked.rule}:{asked.rest}"
            raise InputError("source_stays_a_label", spec=spec, source=one.source, into=one.into, rest=rest)
        if one.source in data.table.columns and one.into in data.labels.columns:
            raw = canonical_labels(data.table, [one.source], data.name)[one.source]
            if list(raw) != list(data.labels[one.into]):
                raise InputError("label_not_raw", spec=spec, into=one.into, file=data.name, source=one.source)


@lru_cache(maxsize=256)
def list_steps(spec: str, most: int) -> tuple[str, ...]:
    """Return the steps of one generaliser from fine to coarse; an empty text leaves the label as it is."""
    spec = spec.strip()
    if spec.startswith(DROP):
        return ("", spec)
    if not is_dial(spec):
        parse_generaliser(spec)
        return (spec,)
    into, rule, source, low, high = _parse(spec)
    if rule == "prefix":
        if not (low.is_integer() and high.is_integer()):
            raise InputError("code_length_not_whole", spec=spec)
        lengths = range(int(high), int(low) - 1, -1)
        few = {round(k * (len(lengths) - 1) / (most - 1)) for k in range(most)}
        return tuple(f"{into}=prefix:{source}:{lengths[place]}" for place in sorted(few))
    return tuple(f"{into}=width:{source}:{canonical(width)}" for width in nest_widths(low, high, most))


def _parse(spec: str) -> tuple[str, str, str, float, float]:
    """Return label, rule, source and the two ends of a range, the smaller one first."""
    asked = parse_rule(spec.strip())
    into, rule, source = asked.into, asked.rule, asked.source
    try:
        low, high = sorted(float(end) for end in asked.argument.split(".."))
    except ValueError:
        low = high = 0.0
    if not (into and source and low > 0 and isfinite(high) and rule in ("width", "classes", "prefix")):
        raise InputError("range_form", spec=spec)
    return into.strip(), rule, source.strip(), low, high


def nest_widths(low: float, high: float, most: int = ALL_STEPS) -> list[float]:
    """Return widths from ``low`` to about ``high`` in ratios as even as can be, each a multiple of the one before.

    The last is the largest multiple of the first, up to ``high``, that has the factors 2, 3 and 5 only.

    >>> nest_widths(1, 40), nest_widths(5, 42, most=3)
    ([1.0, 2.0, 10.0, 20.0, 40.0], [5.0, 20.0, 40.0])
    """
    narrow = Fraction(str(low))  # exact, so that 0.3 is a multiple of 0.1
    ratio = Fraction(str(high)) // narrow
    if ratio > _WIDEST:
        raise InputError("range_too_wide", low=low, high=high, most=_WIDEST)
    times = next(n for n in range(ratio, 0, -1) if _count_factors(n) is not None)
    steps = min((_count_factors(times) or 0) + 1, most)
    divisors = [n for n in range(1, times + 1) if times % n == 0]

    @cache
    def go_on(place: int, here: int) -> tuple[float, tuple[int, ...]]:
        """Return the cheapest way from a multiple at its place to the last one: cost, and the larger ones if equal."""
        if place == steps - 1:
            return (0.0, ()) if here == times else (float("inf"), ())
        ways = []
        for there in divisors:
            if there > here and there % here == 0:
                cost, rest = go_on(place + 1, there)
                off = log(there) - log(times) * (place + 1) / (steps - 1)
                ways.append((round(cost + off**2, 9), tuple(-n for n in (there, *rest))))
        cost, chosen = min(ways, default=(float("inf"), ()))
        return cost, tuple(-n for n in chosen)

    return [float(narrow * n) for n in (1, *go_on(0, 1)[1])]


def _count_factors(number: int) -> int | None:
    """Count the prime factors of a number made of 2, 3 and 5; None for others."""
    count = 0
    for factor in _SMOOTH:
        while number % factor == 0:
            number, count = number // factor, count + 1
    return count if number == 1 else None
