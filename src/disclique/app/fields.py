"""The fields of forms: options of an audit as people fill them in, and back.

What is not filled in is not said. A value that cannot be read is refused with a sentence; none is dropped or altered.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from disclique.errors import InputError
from disclique.messages import Message
from disclique.options.audits import AUDIT_ROWS, SNOOPER
from disclique.options.files import INPUT
from disclique.options.table import FILE, NUMBER, SWITCH, WHOLE, Row

FIELDS = {name: row for name, row in AUDIT_ROWS.items() if row.hint}
LAYOUT = frozenset(name for name, row in AUDIT_ROWS.items() if row.panel == INPUT) | {"generalise"}
ASK_FIELDS = {name: row for name, row in FIELDS.items() if name not in LAYOUT}


def fields_at(place: str) -> list[Row]:
    """Return the fields that stand at a place of the page of Ask: single values, then switches, then files."""
    found = [row for row in ASK_FIELDS.values() if (row.panel if row.place is None else row.place) == place]
    return sorted(found, key=lambda row: (row.kind == FILE, row.is_path, row.kind == SWITCH))


ASK_SWITCHES = tuple(name for name, row in ASK_FIELDS.items() if row.kind == SWITCH)
SNOOPERS = tuple(row.name for row in fields_at(SNOOPER) if row.kind != FILE)
SNOOPER_FILES = tuple(row.name for row in fields_at(SNOOPER) if row.kind == FILE)


def read_value(name: str, text: str) -> Any:
    """Return the value of a field that holds one; None if nothing was filled in."""
    text = text.strip()
    if not text:
        return None
    row = FIELDS[name]
    kind, title = row.kind, row.title
    if kind == NUMBER:
        return read_number(text, title, share=row.bounds is not None and row.bounds.share)
    if kind == WHOLE:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            raise InputError("field_not_whole", title=Message(title), text=text)
        return int(text)
    return with_point(text)


def read_number(text: str, title: str, *, share: bool = False) -> float:
    """Return a number with a point or a comma; a share may be written per cent.

    >>> read_number("0,09", ""), read_number("9 %", "", share=True), read_number("8,7%", "", share=True)
    (0.09, 0.09, 0.087)
    """
    plain = text.strip()
    percent = share and plain.endswith("%")
    try:
        found = Decimal(with_point(plain.removesuffix("%").strip() if percent else plain))
        value = float(found / 100 if percent else found)
    except (InvalidOperation, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        unclear = Message("comma_of_thousands") if _THOUSANDS.fullmatch(plain) else None
        raise InputError("field_not_a_number", title=Message(title), text=text, comma=unclear)
    return value


_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\D.*)?")  # 1,000 is one in German and a thousand in English
_COMMA = re.compile(r"(-?\d+),(\d+)(\s*[^\d,.\s][^\d,.]*)?")


def with_point(text: str) -> str:
    """Return a number, perhaps with its unit, with a point for its comma; any other text as it is.

    >>> with_point("0,5km"), with_point("1km,5km"), with_point("1,000")
    ('0.5km', '1km,5km', '1,000')
    """
    found = None if _THOUSANDS.fullmatch(text) else _COMMA.fullmatch(text)
    return text if found is None else f"{found[1]}.{found[2]}{(found[3] or '').strip()}"


def read_lines(text: str) -> list[str]:
    """Return what stands in the lines of a field."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def show_value(value: Any) -> str:
    """Return a value as a field shows it.

    >>> show_value(0.1), show_value(None), show_value(["a", "b"])
    ('0.1', '', 'a\\nb')
    """
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
