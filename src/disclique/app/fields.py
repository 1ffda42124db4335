"""The fields of forms: options of an audit as people fill them in, and back.

What is not filled in is not said. A value that cannot be read is refused with a sentence; none is dropped or altered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from disclique.errors import InputError
from disclique.locale import mark
from disclique.options.audits import MASKS, SNOOPER, WORK, AuditOptions
from disclique.options.files import INPUT

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
# What a field means, said to people who fill in a form; the help of the options speaks to those who type commands.
HELP = {
    "max_risk": mark("A share such as 0.05. Left empty, the risk is measured and not judged."),
    "max_risk_person": mark("Goes with the limit before it: how probably one person may be identified, such as 0.5."),
    "scenario": mark("What counts as success, and so what risk means."),
    "releases": mark("With fresh noise each time, which can be averaged away."),
    "unlinked": mark("Otherwise a row of one release can be found again in the next."),
    "utility": mark("Settings that keep the limit are compared by this."),
    "known": mark("A real file of people with the same columns. Without one it is made from yours."),
    "known_distances": mark("If distances come from a file of their own."),
    "known_vectors": mark("If vectors come from a file of their own."),
    "overlap": mark("A share such as 0.3, beside other people. Left empty, they have the whole file."),
    "known_size": mark("Goes with the share; left empty, as many as are released."),
    "others": mark("Invented like those of your file, as people live in Germany, or from a file."),
    "others_vectors": mark("If vectors of the other people come from a file of their own."),
    "label_error": mark("A share such as 0.05: old or mistyped entries."),
    "coordinate_error": mark("A length with its unit, such as 100m."),
    "seeds": mark("An insider recognises so many records and starts from them."),
    "missing": mark("What an empty label of a record is taken for."),
    "attack": mark("What the snooper tries."),
    "alpha": mark("How surely a true pair of distances counts as agreeing: between 0 and 1."),
    "budget": mark("In billions of operations, about half a second each; more where it could decide."),
    "repetitions": mark("Every release is random: more draws make the result more certain and take longer."),
    "seed": mark("The same number gives the same result again."),
    "person_trials": mark("Left empty, 200 for up to 500 records and fewer for more."),
    "thorough": mark("Also where it cannot be expected to find more. Takes longer."),
    "memory": mark("How much of it may be kept at once: 4GB, or 50% of this machine's."),
    "sensitivity": mark("Measured again for snoopers who know more or fewer people, and with more wrong labels."),
    "metric": mark("Usually right as it is: on the sphere for degrees, straight lines for a plane and for vectors."),
    "crs": mark("Needed for metres of a projection, such as Gauss-Krüger or UTM; leave it empty for degrees."),
    "unit": mark("Of a file of distances, or of coordinates in a plane. Travel times are no lengths."),
    "directed": mark("Such as travel times, where the way there differs from the way back."),
    "unpublished": mark("Otherwise an empty cell is a mistake."),
    "by_position": mark("Rows of distances, vectors or encodings belong to the table by their ids, or in its order."),
    "sheet": mark("The workbook has several."),
    "layer": mark("The file has several."),
    "codes": mark("For files of Stata, SPSS and SAS, in which codes have names."),
    "distances": mark("A matrix, or a list with two records and their distance in each line."),
    "vectors": mark("A NumPy file with a row for each record, or a table with their ids."),
    "encodings": mark("A file of bit patterns of names: 0 and 1, hexadecimal or base64."),
}
_METRICS = "sphere wgs84 euclidean cosine gower dice dice:q=2 levenshtein damerau jaro-winkler jaccard hamming"
# The answers of fields that have few, each with what it is called; names of metrics are the same in every language.
CHOICES = {
    "metric": (("", mark("as usual for what is given")), *((name, name) for name in _METRICS.split())),
    "unit": (("", mark("not said")), ("km", "km"), ("m", "m"), ("none", mark("none: they are no lengths"))),
    "by_position": (
        ("", mark("by ids where they carry them")),
        ("yes", mark("as they stand")),
        ("no", mark("by ids only")),
    ),
    "scenario": (
        ("prosecutor", mark("prosecutor: the person is known to have taken part")),
        ("journalist", mark("journalist: claims only what is more probable than not")),
        ("marketer", mark("marketer: names as many of the whole file as possible")),
    ),
    "missing": (("any", mark("any value")), ("never", mark("never"))),
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
    choices: tuple[tuple[str, str], ...] = ()


def list_fields() -> dict[str, Field]:
    """Return all options of an audit as fields, by name."""
    types = get_type_hints(AuditOptions)
    found = {}
    for about in fields(AuditOptions):
        hint = types[about.name]
        kind = next(kind for name, kind in _KINDS.items() if name in str(hint).replace("pathlib.", ""))
        if "list" in str(hint):
            kind = LINES
        name, default, panel = about.name, about.metadata["default"], str(about.metadata["panel"])
        title, help = TITLES.get(name, name), HELP.get(name, "")
        found[name] = Field(name, kind, title, help, default, panel, CHOICES.get(name, ()))
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
