"""The fields of forms: options of an audit as people fill them in, and back.

What is not filled in is not said. A value that cannot be read is refused with a sentence; none is dropped or altered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from disclique.asked.audits import MASKS, SNOOPER, WORK, AuditOptions
from disclique.asked.files import INPUT
from disclique.errors import InputError
from disclique.texts import mark

LAYOUT = frozenset(about.name for about in fields(AuditOptions) if about.metadata["panel"] == INPUT) | {"generalise"}
NUMBER, WHOLE, WORD, SWITCH, LINES, FILE = "number", "whole", "word", "switch", "lines", "file"
_KINDS = {"float": NUMBER, "int": WHOLE, "bool": SWITCH, "str": WORD, "list[str]": LINES, "Path": FILE}

TITLES = {
    "max_risk": mark("Largest share of people at risk"),
    "max_risk_person": mark("Largest risk of the most exposed person"),
    "scenario": mark("What the snooper is after"),
    "releases": mark("How often the same people are released"),
    "unlinked": mark("Rows of later releases do not tell which they were before"),
    "utility": mark("What must stay useful"),
    "known": mark("The snooper's file"),
    "known_distances": mark("Distances of the snooper's file"),
    "known_vectors": mark("Vectors of the snooper's file"),
    "overlap": mark("Share of the people whom they know"),
    "known_size": mark("Records in their file"),
    "others": mark("Where the other people in it come from"),
    "others_vectors": mark("Vectors of the other people"),
    "label_error": mark("Share of their labels that are wrong"),
    "coordinate_error": mark("Error of their coordinates"),
    "seeds": mark("Released people whom they know beforehand"),
    "missing": mark("A missing label matches"),
    "attack": mark("Attacks"),
    "alpha": mark("Detection probability of the clique attack"),
    "budget": mark("Work of one clique search"),
    "repetitions": mark("Draws of every mask setting"),
    "seed": mark("Seed of all chance"),
    "person_trials": mark("Draws for every person's risk"),
    "thorough": mark("Carry out every attack on every release"),
    "memory": mark("Memory for a large register"),
    "sensitivity": mark("Ask how the risk depends on the assumptions"),
    "metric": mark("How distances are computed"),
    "crs": mark("Reference system of the coordinates"),
    "unit": mark("Unit of the distances"),
    "directed": mark("Distances have a direction"),
    "unpublished": mark("Empty cells of a matrix are unpublished"),
    "by_position": mark("Rows beside the table are joined"),
    "sheet": mark("Sheet"),
    "layer": mark("Layer"),
    "codes": mark("Codes instead of value labels"),
    "distances": mark("Distances"),
    "vectors": mark("Vectors"),
    "encodings": mark("Encodings"),
}


@dataclass(frozen=True)
class Field:
    """An option as a field of a form."""

    name: str
    kind: str
    title: str
    help: str
    default: Any
    panel: str


def list_fields() -> dict[str, Field]:
    """Return all options of an audit as fields, by name."""
    types = get_type_hints(AuditOptions)
    found = {}
    for about in fields(AuditOptions):
        hint = types[about.name]
        kind = next(kind for name, kind in _KINDS.items() if name in str(hint).replace("pathlib.", ""))
        if "list" in str(hint):
            kind = LINES
        help, default, panel = (about.metadata[key] for key in ("help", "default", "panel"))
        found[about.name] = Field(about.name, kind, TITLES.get(about.name, about.name), help, default, str(panel))
    return found


FIELDS = list_fields()
SNOOPERS = ("scenario", "overlap", "known_size", "others", "label_error", "coordinate_error", "seeds", "missing")
SNOOPER_FILES = ("known", "known_distances", "known_vectors", "others_vectors")
ASKED = tuple(name for name, field in FIELDS.items() if field.panel in (MASKS, SNOOPER, WORK) and name != "generalise")


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
            raise InputError(f"{title}: {text!r}: write a whole number")
        return int(text)
    return text


def _number(text: str, title: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        comma = "; decimals have a point" if "," in text else ""
        raise InputError(f"{title}: {text!r}: write a number such as 0.1{comma}")
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


def show_values(said: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the values of fields as a form shows them."""
    return {name: show_value(said.get(name)) for name in names}
