"""The fields of forms: options of an audit as people fill them in, and back.

What is not filled in is not said. A value that cannot be read is refused with a sentence; none is dropped or altered.
"""

from __future__ import annotations

import math
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
    kind, title = FIELDS[name].kind, FIELDS[name].title
    if kind == NUMBER:
        return _number(text, title)
    if kind == WHOLE:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            raise InputError("field_not_whole", title=Message(title), text=text)
        return int(text)
    return text


def _number(text: str, title: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        comma = Message("decimals_have_a_point") if "," in text else None
        raise InputError("field_not_a_number", title=Message(title), text=text, comma=comma)
    return found


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
