"""Releases made by the app: what is published in one folder, what is kept in another, and a list of them.

The key and the recipe lie in a folder that only its owner can open, and have no address: no page sends them.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from disclique.app.beside import hide_paths
from disclique.app.counts import Change, compare_release
from disclique.app.places import Places
from disclique.app.projects import BEGUN, Project, read_project
from disclique.errors import DiscliqueError, InputError
from disclique.locale import mark

if TYPE_CHECKING:
    from disclique.audits import AuditResult
    from disclique.model import Microdata

LIST = "releases.json"
PUBLISH, PRIVATE = "publish", "keep-private"
RELEASED, KEY = "release.csv", "release_key.csv"
MATRICES = {
    "csv": mark("CSV, a square"),
    "npy": "NumPy",
    "parquet": "Parquet",
    "list": mark("list, one line a pair"),
    "none": mark("none: encodings, or no distances"),
}
CHUNK = 1 << 20


@dataclass(frozen=True)
class Made:
    """A release that was made: its folder, what was done, which files are published, and of which input."""

    folder: str
    setting: str
    audited: bool
    made: str
    files: tuple[str, ...]
    columns: tuple[str, ...]
    records: int
    input: str
    changes: tuple[Change, ...] = ()  # what is released, before and after


@dataclass(frozen=True)
class Wanted:
    """A release that is to be made: of which setting, whether that was ``audited``, where, and in which form."""

    setting: str
    audited: bool
    folder: str
    matrix: str = ""


def list_releases(project: Project) -> list[Made]:
    """Return the releases that were made after an audit, the oldest first."""
    try:
        return msgspec.json.decode((project.home / LIST).read_bytes(), type=list[Made])
    except (OSError, msgspec.MsgspecError):
        return []


def releases_of_input(projects: Sequence[Project], project: Project, result: AuditResult) -> list[Made]:
    """Return the releases of the same people that are known here, whichever audit they were made after."""
    own = next(iter(result.plan.inputs.values()), "")
    found = [made for one in projects if one.home != project.home for made in list_releases(one) if made.input == own]
    return [*found, *list_releases(project)]


def make_release(project: Project, places: Places, result: AuditResult, wanted: Wanted) -> Made:
    """Make the release of a setting in a new folder: the file that was audited, with the same labels and mask."""
    name = wanted.folder
    place = places.new_folder(name)
    asked = read_project(project.folder, BEGUN) or project
    try:
        place.mkdir()
    except OSError as error:
        raise InputError("folder_not_made", name=name, strerror=error.strerror) from None
    try:
        return _write(asked, place, result, wanted)
    except BaseException as problem:
        shutil.rmtree(place, ignore_errors=True)  # nothing of it was shown to anybody
        if isinstance(problem, DiscliqueError):
            raise InputError(hide_paths(problem.message, asked, place)) from None
        if isinstance(problem, OSError):
            raise InputError("folder_not_written", name=name, strerror=problem.strerror) from None
        raise


def _write(project: Project, place: Path, result: AuditResult, wanted: Wanted) -> Made:
    from disclique.records.write import hashes
    from disclique.releases import Use, release, write_release

    options = project.options.filled()
    source = [Path(project.file), *(Path(path) for path in (options.distances, options.vectors) if path is not None)]
    inputs = hashes([*source, *options.further_files])
    if not {digest for _, digest in inputs} <= set(result.plan.inputs.values()):
        raise InputError("file_changed_after_audit", shown=project.shown)
    data = read_for_release(project, wanted.setting)
    if len(data) != result.file.records or not _is_as_advised(project, data):
        raise InputError(
            "other_people_than_audited", shown=project.shown, records=len(data), audited=result.file.records
        )
    made = release(data, wanted.setting, audit=result)
    private, publish = place / PRIVATE, place / PUBLISH
    private.mkdir(mode=0o700)
    private.chmod(0o700)  # whatever the umask says
    named = ((project.shown, inputs[0][1]), *inputs[1:])
    written = write_release(made, private / RELEASED, inputs=named, kind=wanted.matrix or None, key=private / KEY)
    publish.mkdir()
    shown = [file.path for file in written if file.use is Use.PUBLISH]
    for path in shown:
        path.replace(publish / path.name)
    found = Made(
        folder=place.name,
        setting=wanted.setting,
        audited=wanted.audited,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        files=tuple(path.name for path in shown),
        columns=tuple(map(str, made.table.columns)),
        records=len(made.key),
        input=inputs[0][1],
        changes=compare_release(data, made),
    )
    _note(project.home, found)
    return found


def _is_as_advised(project: Project, data: Microdata) -> bool:
    """Say whether the people of a file are those of the release that an advice found, person by person.

    The list of those left out is a file that can be changed; the advice has their rows in the whole file.
    """
    from dataclasses import replace

    from disclique.advice.facts import ADVICE, read_advice
    from disclique.audits.from_options import read_target

    if not project.chosen:  # no release of an advice
        return True
    number = project.id.rpartition("-")[2]
    found = read_advice(project.folder.parents[1] / ADVICE).releases[int(number) - 1]
    everybody = read_target(Path(project.file), replace(project.options.filled(), leave_out=None)).ids
    gone = {row - 1 for row in found.left_out}
    return data.ids == tuple(person for row, person in enumerate(everybody) if row not in gone)


def _note(folder: Path, made: Made) -> None:
    from disclique.records.write import encode, whole_file

    try:
        before: list[Any] = msgspec.json.decode((folder / LIST).read_bytes())
    except (OSError, msgspec.DecodeError):
        before = []
    with whole_file(folder / LIST, private=True) as draft:
        draft.write_bytes(encode([*before, asdict(made)]))


def read_for_release(project: Project, setting: str) -> Microdata:
    """Return the file to be released; refuse a setting in which a length could be meant in two units."""
    from disclique.attacks.look import inspect
    from disclique.audits.from_options import read_target
    from disclique.masks.registry import refuse_bare
    from disclique.masks.settings import Setting
    from disclique.options.files import refuse_hidden

    options = project.options.filled()
    refuse_bare(options.unit, [Setting.parse(setting).mask.spec])
    refuse_hidden(options)
    data = read_target(Path(project.file), options)
    inspect(data).check(accept=project.said.get("accept", ()))
    return data


def published_files(places: Places, made: Made) -> list[Path]:
    """Return the files of a release that are published, as far as they are still there."""
    folder = places.start / made.folder / PUBLISH
    paths = [folder / name for name in made.files if Path(name).name == name]
    return [path for path in paths if path.is_file() and not path.is_symlink() and places.holds(path)]


def stream_zip(paths: Sequence[Path]) -> Iterator[bytes]:
    """Pack files as they are sent, whatever their size."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in paths:
            about = zipfile.ZipInfo.from_file(path, path.name)
            about.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as file, packed.open(about, "w", force_zip64=True) as into:
                while chunk := file.read(CHUNK):
                    into.write(chunk)
                    yield sink.taken()
    yield sink.taken()


class _Sink(RawIOBase):
    """Takes what is written to it, until somebody takes it away; there is no way back in it."""

    def __init__(self) -> None:
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.held += data
        return len(data)

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        found = bytes(self.held)
        with suppress(BufferError):
            self.held.clear()
        return found
