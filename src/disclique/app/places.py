"""Where files lie: a private folder that is deleted in the end, and the folder in which the app was started.

Nothing else of the machine can be named. A file name that a browser sends is shown and never used as a path.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from disclique.errors import InputError

PREFIX = "disclique-app-"
OWNER = "server.pid"
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".dta", ".sav", ".zsav", ".sas7bdat", ".npy")
LAYERS = (".gpkg", ".geojson", ".shp", ".geoparquet")
MOST = 500  # files of a folder that are listed
LONGEST = 80  # characters of a folder's name


class Places:
    """The folders of one server."""

    def __init__(self, start: Path) -> None:
        self.start = start.resolve()
        self.private = Path(tempfile.mkdtemp(prefix=PREFIX))  # 0700: other people of this machine cannot look into it
        (self.private / OWNER).write_text(str(os.getpid()), encoding="ascii")

    def files(self) -> list[Path]:
        """Return the data files of the folder, those that may be opened."""
        try:
            there = sorted(self.start.iterdir(), key=lambda path: path.name.lower())
        except OSError:
            return []
        return [path for path in there if self._offered(path)][:MOST]

    def _offered(self, path: Path) -> bool:
        return (
            not path.name.startswith(".")
            and path.suffix.lower() in (*TABLES, *LAYERS)
            and not path.is_symlink()
            and path.is_file()
        )

    def file(self, name: str) -> Path:
        """Return a file of the folder by its name, if it is one of those that are listed."""
        for path in self.files():
            if path.name == name:
                return path
        raise InputError(f"{name!r}: there is no such data file in {self.start.name}")

    def new_folder(self, name: str) -> Path:
        """Return the path of a folder to be made in the folder of the start; plain names only."""
        plain = name.strip()
        if not plain or len(plain) > LONGEST or plain.startswith(".") or not _plain(plain):
            raise InputError(
                f"folder {name!r}: give a plain name of letters, digits, spaces, hyphens and underscores, at most "
                f"{LONGEST} of them"
            )
        path = self.start / plain
        if path.exists() or path.is_symlink():
            raise InputError(f"folder {plain!r}: it is there already; choose another name")
        return path

    def scratch(self) -> Path:
        """Make a new folder inside the private one."""
        return Path(tempfile.mkdtemp(dir=self.private))

    def holds(self, path: Path) -> bool:
        """Say whether a path lies in one of the folders, wherever links lead."""
        real = path.resolve()
        return real.is_relative_to(self.start) or real.is_relative_to(self.private.resolve())

    def remove(self) -> None:
        """Delete the private folder with all that is in it."""
        shutil.rmtree(self.private, ignore_errors=True)


def _plain(name: str) -> bool:
    return all(letter.isalnum() or letter in " -_." for letter in name) and ".." not in name and not name.endswith(".")


def remove_abandoned() -> None:
    """Delete private folders of servers that were killed before they could do it."""
    for folder in _abandoned():
        shutil.rmtree(folder, ignore_errors=True)


def _abandoned() -> Iterator[Path]:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
                continue
            owner = int((folder / OWNER).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        if not is_alive(owner):
            yield folder


def is_alive(process: int) -> bool:
    """Say whether a process of this machine is there; on Windows always, as asking would end it."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
