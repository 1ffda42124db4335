"""What a result rests on: the content of its input files and the versions of the software."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path


def sha256(path: Path) -> str:
    """Return the hash of a file's content, by which a run can be repeated on the same input."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def hashes(paths: Sequence[Path | None]) -> tuple[tuple[str, str], ...]:
    """Return name and hash of every input file; of a shapefile also those of its companions."""
    found: list[tuple[str, str]] = []
    for path in paths:
        if path is not None:
            companions = [path] if path.suffix.lower() != ".shp" else sorted(path.parent.glob(f"{path.stem}.*"))
            found += [(one.name, sha256(one)) for one in companions if one.is_file()]
    return tuple(found)


@cache
def versions() -> dict[str, str]:
    """Return the versions on which a result depends."""
    import platform
    from importlib.metadata import version

    packages = ("disclique", "numpy", "scipy", "numba", "pandas")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
