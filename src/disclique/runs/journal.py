"""The journal of a study or an audit: every finished work unit in one line, on disk before the next one is asked for.

A folder holds one of them. ``study.json`` (``audit.json``) says which; ``journal.jsonl`` has a line
{"mask", "repetition", "records"} for every unit, appended and flushed to the disk one by one. A line that a crash tore
is cut off when the work goes on, and its unit is run again. Nothing else is ever removed or written over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from disclique.data.provenance import versions
from disclique.data.write import write_json
from disclique.errors import InputError
from disclique.model import Json
from disclique.studies.grid import Study, Unit, study_from

JOURNAL = "journal.jsonl"


class Planned(Protocol):
    """Work that can be journalled: a study, or anything else that consists of units."""

    @property
    def kind(self) -> str:
        """What it is, ``study`` or ``audit``."""

    @property
    def digest(self) -> str:
        """A hash that is equal for the same work only."""

    def to_dict(self) -> Json:
        """The definition in plain types."""

    def units(self) -> Iterator[Unit]:
        """Every unit that may stand in the journal."""


@dataclass(eq=False)
class Journal:
    """An open journal: what it held when it was opened, and a place to append."""

    path: Path
    file: IO[bytes]
    done: dict[Unit, list[Json]]
    notes: tuple[str, ...] = ()
    end: int = field(default=0)

    def append(self, unit: Unit, records: list[Json]) -> None:
        """Nothing, once the unit is on the disk."""
        line = _line(unit, records)
        try:
            written = 0
            while written < len(line):  # a disk that is nearly full takes a part
                written += self.file.write(line[written:])
            os.fsync(self.file.fileno())
        except OSError as error:
            self._cut_back()
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror}); the {len(self.done)} units before are safe: make "
                "room and start the same command again"
            ) from None
        self.end += len(line)
        self.done[unit] = records

    def _cut_back(self) -> None:
        """Nothing; takes off what was written of a line that did not fit, if the disk still lets us."""
        with suppress(OSError):
            os.ftruncate(self.file.fileno(), self.end)


def _line(unit: Unit, records: list[Json]) -> bytes:
    content = {"mask": unit.mask, "repetition": unit.repetition, "records": records}
    return (json.dumps(content, allow_nan=False) + "\n").encode()


@contextmanager
def journal(folder: Path, study: Planned) -> Iterator[Journal]:
    """The journal of ``study`` in ``folder``, new or gone on with; no other run can open it meanwhile."""
    notes = _claim(folder, study)
    path = folder / JOURNAL
    try:
        file = path.open("ab+", buffering=0)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    with file:
        _lock(file, folder, study.kind)
        _to_disk(folder)
        done, end, torn = _read(path, study)
        if torn:
            os.ftruncate(file.fileno(), end)
            os.fsync(file.fileno())
            notes += (f"{path}: the last line was incomplete and has been cut off; its unit is run again",)
        yield Journal(path, file, done, notes, end)


def _claim(folder: Path, study: Planned) -> tuple[str, ...]:
    """Notes for the reader, after the folder has been made this study's own."""
    kind = study.kind
    manifest = folder / f"{kind}.json"
    if manifest.exists():
        found = _manifest(folder, kind)
        if found.get("digest") != study.digest:
            raise InputError(f"{folder}: holds another {kind} ({_difference(found, study)}); give a folder of its own")
        differ = {name: v for name, v in versions().items() if found.get("versions", {}).get(name) != v}
        return tuple(
            f"{folder}: was begun with {name} {found.get('versions', {}).get(name)} and goes on with {new}"
            for name, new in differ.items()
        )
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: this is a file, not a folder")
    if (folder / JOURNAL).exists():
        raise InputError(f"{folder}: has a journal but no {kind}.json; give another folder")
    write_json({kind: study.to_dict(), "digest": study.digest, "versions": versions()}, manifest)
    _to_disk(manifest)
    return ()


def _to_disk(path: Path) -> None:
    """Nothing, once a file or the names in a folder would survive a power cut, where the system can do that."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _manifest(folder: Path, kind: str) -> Json:
    path = folder / f"{kind}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder}: there is no {kind} here ({path.name} is missing)") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not isinstance(found, dict) or not isinstance(found.get(kind), dict):
        raise InputError(f"{path}: this is not the description of {'an' if kind == 'audit' else 'a'} {kind}")
    return found


def _difference(found: Json, study: Planned) -> str:
    """The first option in which a folder's study differs from the one asked for."""
    here = found[study.kind]
    for name, value in study.to_dict().items():
        if here.get(name) != value:
            return f"{name} is {_short(here.get(name))} there and {_short(value)} here"
    return "made from other files or by another version"


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
        raise InputError(f"{folder}: another run of this {kind} is at work here") from None
    except OSError:
        return  # some network file systems have no locks


def _read(path: Path, study: Planned) -> tuple[dict[Unit, list[Json]], int, bool]:
    """The finished units of a journal, where its last whole line ends, and whether a torn one follows."""
    units = set(study.units())
    done: dict[Unit, list[Json]] = {}
    end = 0
    with path.open("rb") as file:
        lines = file.readlines()
    for number, line in enumerate(lines, start=1):
        found = _parsed(line)
        if found is None:
            if number < len(lines):
                raise InputError(f"{path}: line {number} of {len(lines)} is damaged; nothing was changed")
            return done, end, True
        unit, records = found
        if unit not in units or unit in done:
            why = "stands there twice" if unit in done else f"is no part of this {study.kind}"
            raise InputError(f"{path}: line {number}: {unit} {why}; nothing was changed")
        done[unit] = records
        end += len(line)
    return done, end, False


def _parsed(line: bytes) -> tuple[Unit, list[Json]] | None:
    """The unit and its records; None if the line is not whole."""
    if not line.endswith(b"\n"):
        return None
    try:
        content = json.loads(line)
        return Unit(content["mask"], content["repetition"]), list(content["records"])
    except (ValueError, KeyError, TypeError):
        return None


def read_study(folder: Path) -> tuple[Study, dict[Unit, list[Json]]]:
    """The study in a folder and the units finished so far; a torn last line is passed over."""
    study = study_from(_manifest(folder, Study.kind)[Study.kind])
    path = folder / JOURNAL
    return study, _read(path, study)[0] if path.exists() else {}
