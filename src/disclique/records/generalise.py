"""Generalisers: a quasi-identifier made coarser, such as a year of birth turned into its century."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from disclique.errors import InputError
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
            raise InputError(f"{name}: no column {self.source!r} to generalise into {self.into!r}")
        made = []
        for row, value in enumerate(frame[self.source]):
            plain = canonical(value)
            try:
                made.append(None if plain is None else self.rule(plain))
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"{name}: row {row + 1}, column {self.source!r} = {value!r}: {error}") from None
        return frame.assign(**{self.into: pd.Series(made, index=frame.index, dtype=object)})


def raw(value: Any) -> Any:
    """Return a value as it is: it is made coarser later, in several ways."""
    return value


def century(year: float) -> int:
    """Return the century of a year: 1313 lies in the 14th, 43 before Christ in the first before (-1)."""
    whole = math.floor(_number(year))
    if whole == 0:
        raise ValueError("there is no year 0")
    return (whole - 1) // 100 + 1 if whole > 0 else -((-whole - 1) // 100 + 1)


def _number(value: Any) -> float:
    """Return a number; that of a class such as ``18-24``, ``75+`` or ``[18,65)`` is its lower end."""
    if not isinstance(value, str):
        return float(value)
    found = _CLASS.fullmatch(value.strip())
    if found is None or (found["high"] is not None and float(found["high"]) < float(found["low"])):
        raise ValueError("neither a number nor a class such as 18-24 or 75+")
    return float(found["low"])


def _class_of(value: float, edges: tuple[float, ...]) -> str:
    number = _number(value)
    below = [e for e in edges if e <= number]
    above = [e for e in edges if e > number]
    low = f"{below[-1]:g}" if below else ""
    return f"[{low},{above[0]:g})" if above else f"[{low},)"


def parse_generaliser(spec: str) -> Generaliser:
    """Read a generaliser from text: ``cob=century:yob``, ``age=classes:age:0,18,65``, ``inc=width:income:1000``, …"""
    into, _, rest = spec.partition("=")
    rule, _, tail = rest.partition(":")
    source, _, argument = tail.partition(":")
    if not (into and rule and source):
        raise InputError(f"generaliser {spec!r}: write NEW=RULE:COLUMN[:ARGUMENT], such as cob=century:yob")
    return Generaliser(into, source, _rule(rule, argument, spec), spec)


def _rule(rule: str, argument: str, spec: str) -> Callable[[Any], Any]:
    try:
        if rule == "raw" and not argument:
            return raw
        if rule == "century" and not argument:
            return century
        if rule == "decade" and not argument:
            return lambda value: math.floor(_number(value) / 10) * 10
        if rule == "width" and float(argument) > 0:
            width = Fraction(argument)  # exact: 0.6 / 0.1 rounded down is 6, so that wider classes never split others
            return lambda value: canonical(float(Fraction(str(_number(value))) // width * width))
        if rule == "classes":
            edges = tuple(sorted(float(edge) for edge in argument.split(",")))
            return lambda value: _class_of(value, edges)
        if rule == "prefix" and int(argument) > 0:
            length = int(argument)
            return lambda value: str(value)[:length]
    except ValueError:
        pass
    raise InputError(
        f"generaliser {spec!r}: the rules are century:COL, decade:COL, width:COL:NUMBER, classes:COL:EDGE,EDGE,…, "
        "prefix:COL:LENGTH and raw:COL"
    )
