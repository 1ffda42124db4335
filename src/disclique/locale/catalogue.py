"""Patterns of finished English sentences, until every one is a message."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from disclique.messages import read_catalogue

LANGUAGES = ("en", "de")


@cache
def read_patterns(language: str) -> dict[str, str]:
    """Read the patterns of finished sentences in a language."""
    text = (resources.files("disclique.locale") / f"{language}.toml").read_text(encoding="utf-8")
    return {key: value for part in tomllib.loads(text).values() for key, value in part.items()}


def read_messages(language: str) -> dict[str, str]:
    """Read every text of a page in a language, by its English form."""
    return {key: forms[0] for key, forms in read_catalogue(language).items()}
