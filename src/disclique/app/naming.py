"""What files are called in results and sentences: by the names that the person knows, never by where they lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.app.beside import name_files
from disclique.app.works import Work

if TYPE_CHECKING:
    from disclique.audits import Audit

MOST = 1000  # names that are tried


def plainly(work: Work, text: str) -> str:
    """Return a sentence with names in the place of paths."""
    for path, name in sorted(name_files(work).items(), key=lambda one: -len(one[0])):
        text = text.replace(path, name)
    return text.replace(f"{work.folder}/", "").replace(f"{work.folder}\\", "")


def name_plainly(audit: Audit, work: Work) -> Audit:
    """Return the audit with its files called as the person calls them, as if they lay where the command is given.

    What came from the browser lies under names of ours; its content tells which of the inputs it is.
    """
    from disclique.records.write import sha256

    names = name_files(work)
    ours: dict[str, list[str]] = {}
    for path, name in names.items():
        if work.folder in Path(path).parents:
            ours.setdefault(sha256(Path(path)), []).append(name)
    inputs = tuple((ours[digest].pop(0) if ours.get(digest) else name, digest) for name, digest in audit.plan.inputs)
    target, known, others = (
        None if data is None else replace(data, name=names.get(data.name, Path(data.name).name))
        for data in (audit.target, audit.known, audit.others)
    )
    assert target is not None
    plan = replace(audit.plan, inputs=inputs)
    thinned = plainly(work, audit.thinned)
    return replace(audit, plan=plan, target=target, known=known, others=others, thinned=thinned)


def suggest_folder(start: Path, what: str, work: Work) -> str:
    """Return a name for a new folder of a piece of work that is not taken."""
    stem = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in Path(work.shown).stem)[:60]
    names = (f"{what}-{stem}" if number == 1 else f"{what}-{stem}-{number}" for number in range(1, MOST))
    return next((name for name in names if not (start / name).exists()), "")
