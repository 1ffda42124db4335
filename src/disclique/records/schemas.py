"""Files that describe an encoding: linkage schemas in JSON, schemes in JSON or TOML."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from disclique.errors import InputError


def read_description(path: str | Path) -> dict[str, Any]:
    """Return what a file in JSON, or in TOML by its ending, says."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError("file_unreadable", file=place, why=error.strerror) from None
    except UnicodeDecodeError as error:
        raise InputError("not_a_description", file=place, why=str(error)) from None
    try:
        found = tomllib.loads(text) if place.suffix.lower() == ".toml" else json.loads(text)
    except ValueError as error:  # of JSON and of TOML
        raise InputError("not_a_description", file=place, why=str(error)) from None
    if not isinstance(found, dict):
        raise InputError("not_a_description", file=place, why=type(found).__name__)
    return found
