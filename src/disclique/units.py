"""Numbers with their unit, as people write them: ``500m``, ``5km``, ``0.005deg``, ``0.1``, ``2/km``.

Inside, lengths on the Earth are kilometres and travel times minutes. A number without a unit is in the unit of the data
it is applied to. What is known of the unit of distances is ``km`` (they are kilometres), ``min`` (they are minutes),
``none`` (they are plain numbers) or None (nobody said it); ``length_in`` is the one rule by which a length or a time
with a unit meets them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from disclique.errors import InputError
from disclique.messages import Message

KM_IN = {"m": 1e-3, "km": 1.0}
MINUTES_IN = {"s": 1 / 60, "min": 1.0, "h": 60.0}
_WORDS = {
    "degree": "deg",
    "degrees": "deg",
    "minute": "min",
    "minutes": "min",
    "mins": "min",
    "hour": "h",
    "hours": "h",
    "second": "s",
    "seconds": "s",
    "sec": "s",
}
LENGTH_UNITS = ("m", "km", "")
DISTANCE_UNITS = (*LENGTH_UNITS[:-1], *MINUTES_IN, "")  # of what distances are: lengths, or times
PLACE_UNITS = ("deg", "m", "km", "")
RATE_UNITS = ("/m", "/km", "")
KM, MINUTES, NO_UNIT = "km", "min", "none"
UNITS = (*KM_IN, *MINUTES_IN, NO_UNIT)  # what can be said of distances; metres become km, hours and seconds minutes
AROUND = 40_076.0  # km around the Earth: a longer distance on it is a mistake of the unit
ASK = Message("say_the_unit")
_FORM = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?", re.DOTALL)


@dataclass(frozen=True)
class Quantity:
    """A finite number and its unit; prints as it is written (``500m``) and compares by what it is."""

    value: float
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        if not math.isfinite(self.value):
            raise InputError("quantity_not_finite", value=self.value, unit=self.unit)

    def __str__(self) -> str:
        return f"{number(self.value)}{self.unit}"

    def __float__(self) -> float:
        return self.value

    @property
    def km(self) -> float:
        """The length in kilometres."""
        if self.unit not in KM_IN:
            raise InputError("not_a_length", value=self)
        return self.value * KM_IN[self.unit]

    @property
    def minutes(self) -> float:
        """The time in minutes."""
        if self.unit not in MINUTES_IN:
            raise InputError("not_a_time", value=self)
        return self.value * MINUTES_IN[self.unit]

    @property
    def size(self) -> float:
        """A length in kilometres, a time in minutes, and a number without a unit as it stands."""
        return self.minutes if self.unit in MINUTES_IN else self.km if self.unit else self.value

    @property
    def per_km(self) -> float:
        """The rate per kilometre."""
        if self.unit[:1] != "/" or self.unit[1:] not in KM_IN:
            raise InputError("not_a_rate", value=self)
        return self.value / KM_IN[self.unit[1:]]


def check_unit(unit: object, where: str = "unit") -> str | None:
    """Return the unit of distances as it was said: km, m, min, h, s, none, or None where nothing was.

    >>> check_unit("minutes"), check_unit("km")
    ('min', 'km')
    """
    if unit is None or (isinstance(unit, str) and _WORDS.get(unit, unit) in UNITS):
        return unit if unit is None else _WORDS.get(unit, unit)
    raise InputError("unknown_unit", where=where, unit=unit, units=UNITS)


def length_in(quantity: Quantity, unit: str | None, where: str | Message) -> float:
    """Return a length, or a rate per length, as a number in the unit of the distances that it meets.

    A number without a unit is in theirs. One with a unit can be converted only if they are kilometres: to guess the
    unit of distances is to be wrong by a factor of 1,000.

    >>> length_in(Quantity(500, "m"), "km", "within 500m"), length_in(Quantity(5), None, "within 5")
    (0.5, 5.0)
    """
    if not quantity.unit:
        return quantity.value
    if unit == NO_UNIT:
        raise InputError("unit_of_plain_numbers", where=where)
    if unit == MINUTES:
        return quantity.minutes
    if unit != KM:
        raise InputError("distances_without_unit", where=where, ask=ASK)
    return quantity.per_km if quantity.unit.startswith("/") else quantity.km


def measured(value: float, unit: str | None, digits: int = 4) -> str:
    """Return a number of a few digits with the unit of the distances, as people read it.

    >>> measured(0.5, "km"), measured(1234567.8, "none"), measured(2, "km²")
    ('0.5 km', '1234568', '2 km²')
    """
    shown = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
    return f"{shown}{in_words(unit)}"


def in_words(unit: str | None) -> str:
    """Return the unit as it stands behind a number; nothing where there is none or nobody said it."""
    return f" {unit}" if unit not in (None, NO_UNIT) else ""


def number(value: float) -> str:
    """Return the shortest text that reads back as the same number: ``500``, ``0.005``, ``1e-09``."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def parse_quantity(text: object, *, units: tuple[str, ...] = PLACE_UNITS) -> Quantity:
    """Return the quantity that ``text`` names, in one of ``units`` ("" allows a number without a unit)."""
    if isinstance(text, bool):
        raise InputError("not_a_number", text=text)
    if isinstance(text, Quantity):
        found = text
    elif isinstance(text, (int, float)):
        found = Quantity(float(text))
    else:
        form = _FORM.fullmatch(str(text).replace("\N{MINUS SIGN}", "-"))
        if not form:
            raise InputError("not_a_quantity", text=repr(text), examples=_examples(units))
        unit = (form[2] or "").strip().replace(" ", "").replace("°", "deg").removeprefix("1/").lower()
        found = Quantity(float(form[1]), _WORDS.get(unit, unit))
    if found.unit not in units:
        raise InputError("quantity_in_another_unit", text=str(text), why=_complaint(found.unit, units))
    return found


def _complaint(unit: str, units: tuple[str, ...]) -> Message:
    known = [name for name in units if name]
    if not unit:
        return Message("unit_missing", known=known)
    if not known:
        return Message("unit_not_meant", unit=unit)
    bare = Message("or_no_unit") if "" in units else None
    return Message("unit_does_not_fit", unit=unit, known=known, bare=bare)


def _examples(units: tuple[str, ...]) -> list[str]:
    written = {"deg": "0.005deg", "m": "500m", "km": "5km", "s": "90s", "min": "5min", "h": "1h", "": "0.1"}
    return [written.get(unit, f"2{unit}") for unit in units]
