"""What the data holder declares for the board: why the file is released, for whom, and who decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from disclique.errors import InputError

LEAST = 3  # people of a cell; with fewer, one of them could work out the other's risk


@dataclass(frozen=True)
class Declaration:
    """The section ``[decision]`` of an audit: free texts, empty where nothing was said.

    ``holder`` is the data holder, ``basis`` the legal or contractual basis. ``k`` is how many people every cell of the
    map that is safe to share has at the least.
    """

    author: str = ""
    purpose: str = ""
    date: str = ""
    holder: str = ""
    recipients: str = ""
    basis: str = ""
    k: int = 10

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < LEAST:
            raise InputError(f"decision: k = {self.k!r}: a cell of the map has at least {LEAST} people")


def declare(given: Mapping[str, Any] | Declaration | None) -> Declaration:
    """Return what was declared, from a mapping such as the section of a TOML file.

    >>> declare({"author": "A. Meyer", "recipients": ["ministry", "university"], "date": date(2026, 3, 1)}).recipients
    'ministry, university'
    """
    if given is None:
        return Declaration()
    if isinstance(given, Declaration):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"decision: {given!r} is no section with names and values")
    names = [field.name for field in fields(Declaration)]
    strange = sorted(str(name) for name in given if name not in names)
    if strange:
        raise InputError(f"decision: unknown entry {strange[0]!r}; there are {', '.join(names)}")
    found: dict[str, Any] = {name: value if name == "k" else _text(name, value) for name, value in given.items()}
    return Declaration(**found)


def _text(name: str, value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(name, part) for part in value)
    if isinstance(value, date):
        return value.isoformat()[:10]
    if not isinstance(value, str):
        raise InputError(f"decision: {name} = {value!r}: a text is meant")
    return " ".join(value.split())
