"""Results into files, each written whole or not at all, and what a result rests on: its input and the software."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.records.formats import format_of

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


def write_table(frame: pd.DataFrame, path: Path, *, private: bool = False) -> None:
    """Write a table as CSV, TSV or Parquet by the ending of its name; a ``private`` one for its owner alone."""
    check_table(path)
    with whole_file(path, private=private) as draft:
        _WRITERS[path.suffix.lower()](frame, draft)


_WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    ".csv": lambda frame, to: frame.to_csv(to, index=False),
    ".tsv": lambda frame, to: frame.to_csv(to, index=False, sep="\t"),
    ".parquet": lambda frame, to: frame.to_parquet(to, index=False),
}


def check_table(path: Path) -> None:
    """Raise an error if no table is written under such a name."""
    if path.suffix.lower() not in _WRITERS:
        raise InputError("unknown_table", path=path, suffix=path.suffix, known=list(_WRITERS), advice=None)


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
