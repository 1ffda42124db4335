"""A project of the app: a file, what is asked of it, and the folder in which it lies.

All of it is on the disk, so that closing the browser or the server loses nothing. The folder has ``app.json`` (which
file, under which name), ``audit.toml`` (what is asked, as the command line reads it), ``input`` (what was uploaded)
and, once it runs, what every audit leaves: the journal, the result, the report; or what an advice leaves: the search,
an audit of each of the best releases, and the answer.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from disclique.app.places import Places
from disclique.errors import InputError
from disclique.options.advice import ADVICE_ROWS, AdviceOptions
from disclique.options.audits import AUDIT_ROWS, DECISION, GERMANY, SYNTHETIC, AuditOptions
from disclique.options.table import write_toml

RESULT, JOURNAL = "result.json", "journal.jsonl"  # as audits and runs name them, whose import takes seconds
ADVICE, SEARCH = "advice.json", "search"  # as advice names them
RECIPIENTS, EACH = "recipients.json", "recipients"  # as audits for several recipients name them, and their folder
BLOCK = "recipient"  # what describes one of them in the file that the command line reads
AUDIT, ADVISE = "audit", "advise"  # the two ways through, called as their commands are
ABOUT, ASKED, STATUS, INPUT = "app.json", "audit.toml", "status.json", "input"
BEGUN = "begun.json"  # what was asked when the audit was begun
HISTORY = "before.json"  # what was asked before each change
UNDONE = 20  # changes that can be undone
FILES = tuple(name for name, row in AUDIT_ROWS.items() if row.is_path)
NEW, PAUSED, WAITING, RUNNING, DONE, FAILED = "new", "paused", "waiting", "running", "done", "failed"


class Missing(KeyError):
    """There is no such page, or what it is about has gone; any other KeyError is a mistake of the app."""


@dataclass(frozen=True)
class Project:
    """A file and what is asked of it. ``said`` are options of an audit by name, those that were said only.

    ``file`` and the files among the options are paths; ``shown`` is the name that the person gave the file. ``way``
    says whether masks are audited or a release is looked for, by what is left for each ``purpose``. ``recipients`` are
    those who get the release, in the place of one snooper: what is said of each, by name in Python. A release that was
    found is a project too, which nobody changes, and so is what was found for one ``recipient``: ``parent`` is the id
    of the one to which it belongs, ``chosen`` the setting of a release.
    """

    id: str
    shown: str
    file: str
    made: str
    said: dict[str, Any] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)  # for the annex
    checked: bool = False  # the roles of the columns were confirmed
    forced: bool = False  # the person goes on although the look found a mistake
    folder: Path = field(default_factory=Path)
    way: str = AUDIT
    purpose: tuple[str, ...] = ()
    recipients: tuple[dict[str, Any], ...] = ()
    listed: bool = True  # among those that were begun before; one that is not is still there
    parent: str = ""
    recipient: str = ""
    chosen: str = ""

    @property
    def options(self) -> AuditOptions:
        """The options as they were given; ``filled()`` has the defaults besides."""
        return AuditOptions(**self.said)

    @property
    def spoken(self) -> AuditOptions:
        """The options as the command of its way takes them: an advice has no masks, and its limit has its own name."""
        return AdviceOptions(**self._words) if self.way == ADVISE else self.options

    @property
    def _words(self) -> dict[str, Any]:
        if self.way == AUDIT:
            return self.said
        rest = {name: value for name, value in self.said.items() if name not in ("max_risk", "mask")}
        return rest | {"limit": self.said.get("max_risk"), "purpose": list(self.purpose)}

    @property
    def toml(self) -> str:
        """What is asked, as the file that ``disclique audit --config`` reads, or ``disclique advise``."""
        words = {ADVICE_ROWS[name].flag or name: value for name, value in self._words.items()}
        declared = {DECISION: self.declared} if self.declared else None
        return write_toml(words, declared, blocks={BLOCK: self.recipients})

    @property
    def ready(self) -> bool:
        """Whether enough is said to begin: the columns, and the masks or the limit of an advice."""
        enough = self.said.get("mask") if self.way == AUDIT else self.said.get("max_risk") is not None
        return bool(self.checked and enough)

    @property
    def result(self) -> Path:
        """Where the result is once there is one."""
        return self.folder / RESULT

    @property
    def answer(self) -> Path:
        """Where the answer is once there is one: of an audit its result, else the advice, or that of recipients."""
        others = (self.folder / ADVICE, self.folder / RECIPIENTS)
        return next((path for path in others if path.exists()), self.result)

    @property
    def answer_step(self) -> str:
        """The step at which the answer is read."""
        return {ADVICE: "advice", RECIPIENTS: "recipients"}.get(self.answer.name, "read")

    @property
    def parent_step(self) -> str:
        """The step at which the answer is read to which this one belongs."""
        return "recipients" if self.recipient else "advice"

    @property
    def home(self) -> Path:
        """The folder in which releases are listed: that of the advice for all that it found, of all recipients one."""
        return self.folder.parents[1] if self.parent else self.folder

    @property
    def begun(self) -> bool:
        """Whether an audit or a search was begun in its folder."""
        known = (self.folder / JOURNAL, self.folder / SEARCH / JOURNAL)
        return any(path.exists() for path in known) or any(self.folder.glob(f"{EACH}/*/{JOURNAL}"))

    @property
    def files_named(self) -> list[Any]:
        """The files among the options, those of recipients too, as they were said."""
        return [value for words in (self.said, *self.recipients) for name, value in words.items() if name in FILES]

    @property
    def fixed_rules(self) -> list[str]:
        """The rules by which columns are made when the file is read; the others are ways that are tried."""
        from disclique.records.coarsening import is_dial

        return [rule for rule in self.said.get("generalise", []) if not is_dial(rule)]

    def with_said(self, **options: Any) -> Project:
        """Return the work with options said otherwise; None and nothing take one back."""
        said = {**self.said, **options}
        return replace(self, said={name: value for name, value in said.items() if value not in (None, "", [], ())})


class Projects:
    """The projects of one server, wherever they lie."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def list(self) -> list[Project]:
        """Return all of them, the newest first."""
        homes = (self.places.private, self.places.start)
        folders = [about.parent for home in homes for about in home.glob(f"*/{ABOUT}")]
        found = [
            project
            for folder in sorted(folders)
            if (project := read_project(folder)) is not None and self._ours(project)
        ]
        first = {project.id: project for project in reversed(found)}  # a folder that was copied has the id of the other
        return sorted(first.values(), key=lambda project: project.made, reverse=True)

    def _ours(self, project: Project) -> bool:
        """Say whether a folder and all files that its description names lie where this server may look."""
        named = [value for value in project.files_named if value not in (SYNTHETIC, GERMANY)]
        if (column := str(project.said.get("encodings", ""))) and Path(column).name == column:
            named.remove(column)  # encodings may be a column, too
        links = project.folder.is_symlink() or (project.folder / ABOUT).is_symlink()
        return not links and all(
            Path(str(path)).is_absolute() and self.places.holds(Path(str(path))) for path in (project.file, *named)
        )

    def get(self, id: str) -> Project:
        """Return a project by its id."""
        for project in self.list():
            if project.id == id:
                return project
        raise Missing(id)

    def begin(self, shown: str, file: Path, folder: Path | None = None) -> Project:
        """Begin a project on a file, in the private folder until another one is chosen."""
        made = datetime.now(UTC).isoformat(timespec="milliseconds")
        home = folder or self.places.scratch()
        return self.save(Project(secrets.token_hex(8), shown, str(file), made, folder=home))

    def save(self, project: Project) -> Project:
        """Write a project to its folder, and return it."""
        from disclique.records.write import encode, whole_file

        about = {name: getattr(project, name) for name in _WRITTEN}
        about |= {"file": _inside(project.folder, project.file)}
        said, *recipients = (
            move_files(words, partial(_inside, project.folder)) for words in (project.said, *project.recipients)
        )
        with whole_file(project.folder / ABOUT) as draft:
            draft.write_bytes(encode({**about, "said": said, "recipients": recipients}))
        with whole_file(project.folder / ASKED) as draft:
            draft.write_text(project.toml, encoding="utf-8")
        return project

    def change(self, project: Project) -> Project:
        """Write a project whose plan a person changed, and remember what was asked before, to be undone."""
        before = read_project(project.folder)
        if before is not None and _asks(before) != _asks(project):
            said = (project.folder / ABOUT).read_bytes()
            _write_history(project.folder, [*_read_history(project.folder), msgspec.Raw(said)][-UNDONE:])
        return self.save(project)

    def can_undo(self, project: Project) -> bool:
        """Say whether there is a plan before this one."""
        return bool(_read_history(project.folder))

    def undo(self, project: Project) -> Project:
        """Return the project with the plan that it had before the last change, and write it."""
        from disclique.records.write import whole_file

        history = _read_history(project.folder)
        if not history:
            raise InputError("nothing_to_undo")
        with whole_file(project.folder / ABOUT) as draft:
            draft.write_bytes(bytes(history[-1]))
        _write_history(project.folder, history[:-1])
        before = read_project(project.folder)
        if before is None:
            self.save(project)
            raise InputError("nothing_to_undo")
        return self.save(before)

    def keep(self, project: Project, name: str) -> Project:
        """Move a project, with what was uploaded for it, to a folder of the person's choice."""
        if project.folder.parent != self.places.private:
            raise InputError("project_kept_already", name=project.folder.name)
        _refuse_running(project)
        place = self.places.new_folder(name)
        shutil.move(project.folder, place)
        place.chmod(0o700)
        moved = read_project(place)
        assert moved is not None
        return self.save(moved)

    def is_kept(self, project: Project) -> bool:
        """Say whether a project is still there after the server has ended."""
        return project.folder.parent != self.places.private

    def remove(self, project: Project) -> None:
        """Delete a project that lies in the private folder."""
        if self.is_kept(project):
            raise InputError("project_to_be_deleted_by_hand", name=project.folder.name)
        _refuse_running(project)
        shutil.rmtree(project.folder, ignore_errors=True)

    def forget(self, project: Project) -> None:
        """Delete a project that lies in the private folder; take one that is kept off the list, and leave its folder.

        One that was released from is never forgotten otherwise: that the same people were released is known.
        """
        if self.is_kept(project):
            self.save(replace(project, listed=False))
        else:
            self.remove(project)

    def state(self, project: Project) -> str:
        """Say how far a project is, by what lies in its folder; what runs is known to ``Runner``."""
        if project.answer.exists():
            return DONE
        return PAUSED if project.begun else NEW


def _asks(project: Project) -> tuple[object, ...]:
    """Return what a person says of a project."""
    return project.said, project.recipients, project.declared, project.way, project.purpose


def _read_history(folder: Path) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode((folder / HISTORY).read_bytes(), type=list[msgspec.Raw])
    except (OSError, msgspec.MsgspecError):
        return []


def _write_history(folder: Path, history: list[msgspec.Raw]) -> None:
    from disclique.records.write import whole_file

    with whole_file(folder / HISTORY, private=True) as draft:
        draft.write_bytes(msgspec.json.encode(history))


def _refuse_running(project: Project) -> None:
    """Raise an error if an audit writes to the folder, which would be lost in one that is moved or deleted."""
    with suppress(OSError, msgspec.DecodeError, AttributeError):
        if msgspec.json.decode((project.folder / STATUS).read_bytes()).get("state") == RUNNING:
            raise InputError("audit_runs", shown=project.shown)


def move_files(words: Mapping[str, Any], move: Callable[[Any], Any]) -> dict[str, Any]:
    """Return options with the files among them elsewhere, or under another name."""
    return {name: move(value) if name in FILES else value for name, value in words.items()}


def _inside(folder: Path, path: Any) -> Any:
    """Return a path relative to the folder if it lies in it, so that the folder can be moved; else as it is."""
    given = Path(str(path))
    return str(given.relative_to(folder)) if given.is_absolute() and given.is_relative_to(folder) else path


class _About(msgspec.Struct):
    """What ``app.json`` says."""

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    shown: str
    file: Annotated[str, msgspec.Meta(min_length=1)]
    made: str
    said: dict[str, Any]
    declared: dict[str, Any]
    checked: bool
    forced: bool
    way: str = AUDIT
    purpose: tuple[str, ...] = ()
    recipients: tuple[dict[str, Any], ...] = ()
    listed: bool = True


_WRITTEN = ("id", "shown", "made", "declared", "checked", "forced", "way", "purpose", "listed")  # as they are


def read_project(folder: Path, about: str = ABOUT) -> Project | None:
    """Return the project in a folder, or as it was when its audit was begun; None where there is none."""
    try:
        found = msgspec.json.decode((folder / about).read_bytes(), type=_About)
        said, *recipients = (move_files(words, partial(_outside, folder)) for words in (found.said, *found.recipients))
        rest = {name: getattr(found, name) for name in _WRITTEN}
        msgspec.convert(said, AuditOptions, strict=False, dec_hook=lambda kind, value: kind(value))
        AuditOptions(**said)  # which knows all their names
        rest |= {"file": str(_outside(folder, found.file)), "said": said, "recipients": tuple(recipients)}
        return Project(**rest, folder=folder)
    except (OSError, msgspec.DecodeError, TypeError, ValueError):
        return None  # not a folder of the app, or not of this version


def _outside(folder: Path, value: Any) -> Any:
    """Return the path of a file that was written relative to the folder."""
    there = folder / str(value)
    return str(there) if not Path(str(value)).is_absolute() and there.exists() else value
