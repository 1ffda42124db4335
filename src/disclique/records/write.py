"""Results into files, each written whole or not at all, and what a result rests on: its input and the software."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.records.formats import PlaceColumns, format_of, list_written

_ASKING = threading.Lock()  # two that ask at once would leave the process without a mask


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a path to write to; it takes the place of ``path`` only when the block has ended well.

    A ``private`` file is its owner's alone: it is created so, never opened to others in between, and a file that it
    replaces leaves its permissions behind.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError("not_writable_because", path=path, why=error.strerror) from None
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        if path.is_dir():
            raise InputError("not_writable_a_folder", path=path)
        os.chmod(draft, 0o600 if private else 0o666 & ~_umask())
        draft.replace(path)
    except OSError as error:
        raise InputError("not_writable_because", path=path, why=error.strerror) from None
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def whole_files(paths: Sequence[Path], *, force: bool = False, gone: Sequence[Path] = ()) -> Iterator[dict[Path, Path]]:
    """Give for every path one to write to; all take their places when the block has ended well, else none does.

    Each is written in a folder of its own beside its place, which only its owner can open, with whatever else belongs
    to it. Files that are there already are replaced with ``force`` only, and come back if the last one fails; so do
    those that are ``gone`` in the end.
    """
    new, rooms = _make_folders(paths), {}
    kept: list[tuple[Path, Path | None]] = []
    try:
        for path in paths:
            rooms[path] = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=path.parent))
        yield {path: room / path.name for path, room in rooms.items()}
        moves = [
            (draft, path.with_name(draft.name)) for path, room in rooms.items() for draft in sorted(room.iterdir())
        ]
        for _, place in moves:
            if place.is_dir():
                raise InputError("not_writable_a_folder", path=place)
            if place.exists() and not force:
                raise InputError("file_there_already", path=place)
        for draft, place in moves:
            before = draft.with_name(f"{draft.name}.before") if place.exists() else None
            if before is not None:
                os.replace(place, before)
            kept.append((place, before))
            os.replace(draft, place)
        for number, place in enumerate(gone):
            before = rooms[paths[0]] / f"{number}.gone"
            os.replace(place, before)
            kept.append((place, before))
        new = []
    except BaseException as error:
        for place, before in reversed(kept):
            place.unlink(missing_ok=True)
            if before is not None:
                os.replace(before, place)
        if isinstance(error, OSError) and not isinstance(error, InputError):
            raise InputError("not_writable_because", path=error.filename or paths[0], why=error.strerror) from None
        raise
    finally:
        for room in rooms.values():
            shutil.rmtree(room, ignore_errors=True)
        for folder in new:
            with suppress(OSError):
                folder.rmdir()


def _make_folders(paths: Sequence[Path]) -> list[Path]:
    """Make the folders of paths, and return those that were not there, the innermost first."""
    new: list[Path] = []
    for path in paths:
        absent = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        new += [folder for folder in absent if folder not in new]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("not_writable_because", path=path, why=error.strerror) from None
    return sorted(new, key=lambda folder: -len(folder.parts))


def _umask() -> int:
    """Return the mask of the process without changing it where the system tells: other threads make files meanwhile."""
    with suppress(OSError, StopIteration), Path("/proc/self/status").open(encoding="utf-8") as status:
        return int(next(line for line in status if line.startswith("Umask:")).split()[1], 8)
    with _ASKING:
        mask = os.umask(0)
        os.umask(mask)
    return mask


def check_writable(
    paths: Sequence[Path | None], *, force: bool = False, sources: Sequence[Path | str | None] = ()
) -> None:
    """Raise an error before a long run if one of its results could not be written, or would replace another file.

    A file that is there already is replaced only with ``force``; one of the ``sources``, or another result of the same
    run, never is.
    """
    given = [path for path in paths if path is not None]
    for place, path in enumerate(given):
        folder = path.parent
        while not folder.exists():
            folder = folder.parent
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError("not_writable", path=path)
        for source in sources:
            if source is not None and _same_file(path, Path(source)):
                raise InputError("file_is_read", path=path)
        for other in given[:place]:
            if _same_file(path, other):
                raise InputError("two_results_in_one_file", path=path)
        if path.exists() and not force:
            raise InputError("file_there_already", path=path)


def _same_file(one: Path, other: Path) -> bool:
    """Say whether two paths lead to one file, also by links and by names that differ in case where that is one name."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.normcase(one.resolve()) == os.path.normcase(other.resolve())


def write_table(frame: pd.DataFrame, path: Path, *, private: bool = False, places: PlaceColumns | None = None) -> None:
    """Write a table by the ending of its name; a ``private`` one for its owner alone.

    With ``places`` two of its columns become geometries; a format of several files, such as a shapefile, is written to
    where it goes, and has to be moved as a whole by whoever wants all of it or nothing (``whole_files``).
    """
    check_table(path, places=places is not None)
    kind = format_of(path)
    assert kind is not None
    if kind.family and places is not None and kind.write_places is not None:
        kind.write_places(frame, path, places)
        return
    with whole_file(path, private=private) as draft:
        if places is not None and kind.write_places is not None:
            kind.write_places(frame, draft, replace(places, layer=places.layer or path.stem))
        elif kind.write is not None:
            kind.write(frame, draft)


def check_table(path: Path, *, places: bool = False) -> None:
    """Raise an error if no table, or none with ``places`` as geometries, is written under such a name."""
    known = list_written(places=places)
    if path.suffix.lower() not in known:
        raise InputError("unknown_table", path=path, suffix=path.suffix, known=known, advice=None)


def write_json(content: dict[str, Any], path: Path, *, private: bool = False) -> None:
    """Write a result as JSON; numbers that are not finite become null, so that every reader takes it."""
    text = json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(path, private=private) as draft:
        draft.write_text(text + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Return ``value`` in types that JSON has."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (np.bool_, bool)):
        return bool(value)
    if isinstance(value, (np.integer, int)):
        return int(value)
    if isinstance(value, (np.floating, float)):
        return float(value) if np.isfinite(value) else None
    return value if value is None or isinstance(value, str) else str(value)


def encode(value: Any) -> bytes:
    """Return a value of any class that is written as JSON: the one way into a file, also for numbers of numpy.

    >>> encode({"share": np.float64(0.5), "rows": np.arange(2)})
    b'{"share":0.5,"rows":[0,1]}'
    """
    import msgspec

    return msgspec.json.encode(value, enc_hook=_unwrap)


def _unwrap(value: Any) -> Any:
    """Return the plain value of one that only numpy has."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no value of a file")


def sha256(path: Path) -> str:
    """Return the hash of a file's content, by which a run can be repeated on the same input."""
    with path.open("rb") as file:  # it may be larger than the memory
        return hashlib.file_digest(file, "sha256").hexdigest()


def hashes(paths: Sequence[Path | None]) -> tuple[tuple[str, str], ...]:
    """Return name and hash of every input file; of a shapefile also those of its companions."""
    found: list[tuple[str, str]] = []
    for path in paths:
        if path is not None:
            kind = format_of(path)
            family = kind is not None and kind.family
            files = sorted(path.parent.glob(f"{path.stem}.*")) if family else [path]
            found += [(one.name, sha256(one)) for one in files if one.is_file()]
    return tuple(found)


@cache
def versions() -> dict[str, str]:
    """Return the versions on which a result depends."""
    import platform
    from importlib.metadata import version

    packages = ("disclique", "numpy", "scipy", "numba", "pandas")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
