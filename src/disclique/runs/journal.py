"""The journal of a run: every finished unit in one line, on disk before the next one is asked for.

A folder holds one run. ``study.json`` (``audit.json``) says which; ``journal.jsonl`` has a line {"unit", "record",
"seconds"} for every unit, appended and flushed to the disk one by one. A line that a crash tore is cut off when the
work goes on, and its unit is run again. Nothing else is ever removed or written over. Without a folder the journal is
kept in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

import msgspec

from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.records.write import encode, versions, write_json
from disclique.runs.unit import Unit, WrittenUnit
from disclique.values import Json

JOURNAL = "journal.jsonl"
_KINDS = {"audit": Message("run_audit"), "study": Message("run_study"), "search": Message("run_search")}
_A_KIND = {"audit": Message("run_an_audit"), "study": Message("run_a_study"), "search": Message("run_a_search")}
R = TypeVar("R")


class Definition(Protocol):
    """Work that can be journalled: a study, an audit, or anything else that consists of units."""

    @property
    def kind(self) -> str:
        """What it is, ``study`` or ``audit``."""

    @property
    def digest(self) -> str:
        """A hash that is equal for the same work only."""

    def to_dict(self) -> Json:
        """Return the definition in plain types."""

    def read_unit(self, written: WrittenUnit) -> Unit | None:
        """Return the unit that a journal holds; None if it is no part of this work."""


class _Line(msgspec.Struct, Generic[R]):
    """One line of the journal."""

    unit: WrittenUnit
    record: R
    seconds: float = 0.0


@dataclass(eq=False)
class Journal(Generic[R]):
    """An open journal: the records so far, and a place to append; in memory where there is no file.

    ``seconds`` says how long units took, as far as that was measured and can be compared.
    """

    done: dict[Unit, R] = field(default_factory=dict)
    path: Path | None = None
    file: IO[bytes] | None = None
    notes: tuple[Message, ...] = ()
    end: int = 0
    seconds: dict[Unit, float] = field(default_factory=dict)

    def append(self, unit: Unit, record: R, seconds: float = 0.0) -> None:
        """Keep the record of a unit; with a file it is on the disk when this returns."""
        if self.file is not None:
            self._write(encode(_Line(unit.write(), record, round(seconds, 3))) + b"\n")
        self.done[unit] = record
        if seconds > 0:
            self.seconds[unit] = seconds

    def _write(self, line: bytes) -> None:
        assert self.file is not None
        try:
            written = 0
            while written < len(line):  # a disk that is nearly full takes a part
                written += self.file.write(line[written:])
            os.fsync(self.file.fileno())
        except OSError as error:
            with suppress(OSError):  # take off what was written of the line, if the disk still lets us
                os.ftruncate(self.file.fileno(), self.end)
            raise InputError("journal_not_written", path=self.path, why=error.strerror, units=len(self.done)) from None
        self.end += len(line)


@contextmanager
def open_journal(folder: Path | None, work: Definition, record: type[R]) -> Iterator[Journal[R]]:
    """Open the journal of ``work`` in ``folder``, new or gone on with; no other run can open it meanwhile."""
    if folder is None:
        yield Journal()
        return
    notes = _claim(folder, work)
    path = folder / JOURNAL
    try:
        file = path.open("ab+", buffering=0)
    except OSError as error:
        raise InputError("file_not_written", path=path, why=error.strerror) from None
    with file:
        _lock(file, folder, work.kind)
        _to_disk(folder)
        lines, end, torn = _read(path, work, record)
        if torn:
            os.ftruncate(file.fileno(), end)
            os.fsync(file.fileno())
            notes += (Message("journal_line_torn", path=path),)
        done = {unit: line.record for unit, line in lines.items()}
        seconds = {unit: line.seconds for unit, line in lines.items() if line.seconds > 0}
        yield Journal(done, path, file, notes, end, seconds)


def read_journal(folder: Path, work: Definition, record: type[R]) -> dict[Unit, R]:
    """Read the units finished so far; a torn last line is passed over."""
    path = folder / JOURNAL
    lines = _read(path, work, record)[0] if path.exists() else {}
    return {unit: line.record for unit, line in lines.items()}


def has_journal(folder: Path | None) -> bool:
    """Say whether a run was begun in a folder."""
    return folder is not None and (folder / JOURNAL).exists()


def check_folder(folder: Path, results: Sequence[str]) -> None:
    """Refuse a folder in which results lie that are of no run that could go on there: they would be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise InputError("file_not_a_folder", path=folder)
    there = next((name for name in results if (folder / name).exists()), None)
    if there is not None and not has_journal(folder):
        raise InputError("result_of_another_run", path=folder / there)


def _claim(folder: Path, work: Definition) -> tuple[Message, ...]:
    """Make the folder this work's own; return notes for the reader."""
    kind = work.kind
    manifest = folder / f"{kind}.json"
    if manifest.exists():
        found = read_definition(folder, kind)
        if found.get("digest") != work.digest:
            raise InputError(
                "folder_of_another_run", folder=folder, kind=_KINDS[kind], difference=_difference(found, work)
            )
        before = found.get("versions", {})
        differ = {name: v for name, v in versions().items() if before.get(name) != v}
        return tuple(
            Message("run_with_other_version", folder=folder, library=name, before=before.get(name), now=new)
            for name, new in differ.items()
        )
    if folder.exists() and not folder.is_dir():
        raise InputError("file_not_a_folder", path=folder)
    if (folder / JOURNAL).exists():
        raise InputError("journal_without_manifest", folder=folder, kind=kind)
    write_json({kind: work.to_dict(), "digest": work.digest, "versions": versions()}, manifest)
    _to_disk(manifest)
    return ()


def _to_disk(path: Path) -> None:
    """Let a file or the names in a folder survive a power cut, where the system can do that."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_definition(folder: Path, kind: str) -> Json:
    """Read the file that says which work a folder holds."""
    path = folder / f"{kind}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no_run_here", folder=folder, kind=_KINDS[kind], file=path.name) from None
    except (OSError, ValueError) as error:
        raise InputError("file_not_read", path=path, why=str(error)) from None
    if not isinstance(found, dict) or not isinstance(found.get(kind), dict):
        raise InputError("not_a_manifest", path=path, kind=_A_KIND[kind])
    return found


def _difference(found: Json, work: Definition) -> Message:
    """Name the first option in which the work in a folder differs from the one asked for."""
    here = found[work.kind]
    for name, value in json.loads(json.dumps(work.to_dict())).items():  # as a file holds it: tuples are lists there
        if here.get(name) != value:
            return Message("option_differs", option=name, there=_short(here.get(name)), here=_short(value))
    return Message("files_differ")


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _lock(file: IO[bytes], folder: Path, kind: str) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows, where an open journal cannot be cut off by another run anyway
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError("run_at_work_here", folder=folder, kind=_KINDS[kind]) from None
    except OSError:
        return  # some network file systems have no locks


def _read(path: Path, work: Definition, record: type[R]) -> tuple[dict[Unit, _Line[R]], int, bool]:
    """Return the finished units of a journal, where its last whole line ends, and whether a torn one follows."""
    decoder = msgspec.json.Decoder(_Line[record])  # type: ignore[valid-type]
    done: dict[Unit, _Line[R]] = {}
    end = 0
    with path.open("rb") as file:
        lines = file.readlines()
    for number, line in enumerate(lines, start=1):
        try:
            found = decoder.decode(line) if line.endswith(b"\n") else None
        except msgspec.MsgspecError:
            found = None
        if found is None:
            if number < len(lines):
                raise InputError("journal_line_damaged", path=path, line=number, lines=len(lines))
            return done, end, True
        unit = work.read_unit(found.unit)
        if unit is None or unit in done:
            code = mark("journal_unit_unknown") if unit is None else mark("journal_unit_twice")
            raise InputError(code, path=path, line=number, unit=str(found.unit), kind=_KINDS[work.kind])
        done[unit] = found
        end += len(line)
    return done, end, False
