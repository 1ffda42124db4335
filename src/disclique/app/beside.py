"""Files beside the one that is opened: distances, vectors, encodings, what the snooper has; and how files are named.

A form names a file by where it can be chosen from, never by a path; pages show names, never where a file lies.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from disclique.app.places import Places
from disclique.app.projects import ASKED, INPUT, Project, move_files
from disclique.app.uploads import Upload, receive_file
from disclique.errors import InputError
from disclique.messages import Message, map_texts

if TYPE_CHECKING:
    from disclique.audits import Audit

FOLDER, UPLOAD = "folder:", "upload:"
SLOT, SHOWN = "beside-", "shown.txt"


@dataclass(frozen=True)
class Choice:
    """A file that can be chosen: what the form says, under which name it is shown, and where it lies."""

    value: str
    shown: str
    path: str


def list_choices(places: Places, project: Project) -> list[Choice]:
    """Return the files that can be chosen beside the opened one: those that were uploaded for it, then the folder's."""
    found = [
        Choice(UPLOAD + slot.name, _shown(slot), str(next(iter(slot.glob("upload*")))))
        for slot in sorted((project.folder / INPUT).glob(f"{SLOT}*"))
        if any(slot.glob("upload*"))
    ]
    return [*found, *(Choice(FOLDER + path.name, path.name, str(path)) for path in places.files())]


def find_file(value: str, choices: list[Choice]) -> str:
    """Return where a file lies that a form names."""
    for choice in choices:
        if choice.value == value:
            return choice.path
    raise InputError("no_such_file_to_choose", value=value.partition(":")[2] or value)


def value_of(path: object, choices: list[Choice]) -> str:
    """Return how a form names a file; empty if it cannot be chosen any more."""
    return next((choice.value for choice in choices if choice.path == str(path)), "")


async def receive_beside(request: Request, project: Project, site: Any) -> tuple[Upload, Choice]:
    """Take a further file for a project."""
    inside = project.folder / INPUT
    inside.mkdir(mode=0o700, exist_ok=True)
    slot = Path(tempfile.mkdtemp(prefix=SLOT, dir=inside))
    try:
        taken = await receive_file(request, slot, site.keys, site.most)
    except BaseException:
        shutil.rmtree(slot, ignore_errors=True)
        raise
    (slot / SHOWN).write_text(taken.shown, encoding="utf-8")
    return taken, Choice(UPLOAD + slot.name, taken.shown, str(taken.path))


def _shown(slot: Path) -> str:
    try:
        return (slot / SHOWN).read_text(encoding="utf-8")
    except OSError:
        return "file"


def name_files(project: Project) -> dict[str, str]:
    """Return the files of a project by path with the name of each, no two alike."""
    found = {project.file: project.shown}
    for value in project.files_named:
        path = Path(str(value))
        uploaded = path.parent.name.startswith(SLOT)  # named relative to the folder by whoever works inside it
        if not (path.is_absolute() or uploaded) or str(path) in found:
            continue
        name = _shown(path.parent) if uploaded else path.name
        while name in found.values():
            name = f"{Path(name).stem}-2{Path(name).suffix}"
        found[str(path)] = name
    return found


def named(project: Project) -> Project:
    """Return the work with names in the place of paths: as people see it, and as they would write it down."""
    names = name_files(project)
    said, *recipients = (
        move_files(words, lambda path: names.get(str(path), path)) for words in (project.said, *project.recipients)
    )
    return replace(project, said=said, recipients=tuple(recipients), file=project.shown)


def hide_paths(said: Message, project: Project, *folders: Path) -> Message:
    """Return a message with names in the place of paths, and without the folder of the work and these folders."""
    names = sorted(name_files(project).items(), key=lambda item: -len(item[0]))

    def hidden(text: str) -> str:
        for path, name in names:
            text = text.replace(path, name)
        for folder in (project.folder, *folders):
            text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
        return text

    return map_texts(said, hidden)


def name_plainly(audit: Audit, project: Project) -> Audit:
    """Return the audit with its files called as the person calls them, as if they lay where the command is given.

    What came from the browser lies under names of ours; its content tells which of the inputs it is.
    """
    from disclique.records.write import sha256

    names = name_files(project)
    ours: dict[str, list[str]] = {}
    for path, name in names.items():
        if project.folder in Path(path).parents:
            ours.setdefault(sha256(Path(path)), []).append(name)
    inputs = tuple((ours[digest].pop(0) if ours.get(digest) else name, digest) for name, digest in audit.plan.inputs)
    target, known, others = (
        None if data is None else replace(data, name=names.get(data.name, Path(data.name).name))
        for data in (audit.target, audit.known, audit.others)
    )
    assert target is not None
    plan = replace(audit.plan, inputs=inputs)
    thinned = None if audit.thinned is None else hide_paths(audit.thinned, project)
    return replace(audit, plan=plan, target=target, known=known, others=others, thinned=thinned)


def suggest_folder(start: Path, what: str, project: Project) -> str:
    """Return a name for a new folder of a project that is not taken."""
    stem = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in Path(project.shown).stem)[:60]
    names = (f"{what}-{stem}" if number == 1 else f"{what}-{stem}-{number}" for number in range(1, 1000))
    return next((name for name in names if not (start / name).exists()), "")


@dataclass(frozen=True)
class PlanText:
    """The same plan three times: a TOML file, the command with that file, and the command with everything in it.

    ``uploads`` says that files are named which came from the browser; ``declared`` that the file holds what the command
    line cannot say, for the annex. ``command`` is empty where only the file can say it: of recipients.
    """

    toml: str
    short: str
    command: str
    uploads: bool
    declared: bool


def write_plan(project: Project, folder: str = "") -> PlanText:
    """Write down what is asked; ``folder`` is the name of the folder in which the result shall be."""
    from disclique.audits.from_options import write_command
    from disclique.options.table import differing

    shown = named(project)
    out = folder or "audit"
    file = f"./{shown.file}" if shown.file.startswith("-") else shown.file
    command = write_command([project.way, file], differing(shown.spoken.filled()) | {"out": out})
    if project.recipients:  # without them it would be another question
        command = ""
    short = write_command([project.way, file], {"config": ASKED, "out": out})
    paths = [project.file, *map(str, project.said.values()), *map(str, project.files_named)]
    uploads = any(project.folder in Path(path).parents for path in paths)
    return PlanText(shown.toml, short, command, uploads, bool(project.declared))
