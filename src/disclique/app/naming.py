"""What files are called: by the names that the person knows, never by where they lie on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from disclique.app.works import FILES, Work

MOST = 1000  # names that are tried


def name_files(work: Work) -> dict[str, str]:
    """Return the files of a piece of work by their paths, each with the name that is shown."""
    paths = [str(work.said[name]) for name in FILES if name in work.said]
    return {path: Path(path).name for path in paths if Path(path).is_file()} | {work.file: work.shown}


def name_options(work: Work, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with names in the place of paths, as they would be said where the files lie."""
    names = name_files(work)
    return {name: names.get(str(value), value) if name in FILES else value for name, value in options.items()}


def plainly(work: Work, text: str) -> str:
    """Return a sentence with names in the place of paths."""
    for path, name in sorted(name_files(work).items(), key=lambda one: -len(one[0])):
        text = text.replace(path, name)
    return text.replace(f"{work.folder}/", "") if work.folder.is_absolute() else text


def suggest_folder(start: Path, what: str, work: Work) -> str:
    """Return a name for a new folder of a piece of work that is not taken."""
    stem = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in Path(work.shown).stem)[:60]
    names = (f"{what}-{stem}" if number == 1 else f"{what}-{stem}-{number}" for number in range(1, MOST))
    return next((name for name in names if not (start / name).exists()), "")
