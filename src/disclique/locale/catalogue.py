"""The catalogue files: sections by where a text stands, in each the English text and what it is in the language."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

LANGUAGES = ("en", "de")
SENTENCES = ("sentences", "places")  # sections of patterns of finished sentences; all others have texts of pages
Sections = Mapping[str, Mapping[str, str]]


@cache
def read_catalogue(language: str) -> Sections:
    """Read the catalogue of a language."""
    text = (resources.files("disclique.locale") / f"{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def read_patterns(language: str) -> dict[str, str]:
    """Read the patterns of finished sentences in a language."""
    sections = read_catalogue(language)
    return {key: value for name in SENTENCES for key, value in sections.get(name, {}).items()}


def read_messages(language: str) -> dict[str, str]:
    """Read every text of a page in a language, by its English form."""
    sections = read_catalogue(language)
    return {key: value for name, part in sections.items() if name not in SENTENCES for key, value in part.items()}


def write_catalogue(sections: Sections, head: str) -> str:
    """Write a catalogue as TOML, below lines of comment.

    >>> print(write_catalogue({"app": {"Open": "Öffnen"}}, "Words."), end="")
    # Words.
    <BLANKLINE>
    [app]
    "Open" = "Öffnen"
    """
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    for name, entries in sections.items():
        lines += ["", f"[{name}]"]
        lines += [f"{_quote(key)} = {_quote(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """Return a basic string of TOML, of which JSON's strings are a part."""
    return json.dumps(text, ensure_ascii=False)
