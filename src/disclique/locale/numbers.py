"""How a language writes numbers."""

from __future__ import annotations

import re

THIN = "\u202f"
_GROUP = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def write_number(text: str, language: str) -> str:
    """Return a text with the numbers in it, written as English writes them, as the language does.

    >>> write_number("1,234.5 km", "de").split(THIN)
    ['1', '234,5 km']
    """
    return text if language == "en" else _POINT.sub(",", _GROUP.sub(THIN, text))
