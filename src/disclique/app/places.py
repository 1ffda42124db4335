"""Where files lie: a private folder that is deleted in the end, and the folder in which the app was started.

Nothing else of the machine can be named. A file name that a browser sends is shown and never used as a path.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO

from disclique.errors import InputError

PREFIX = "disclique-app-"
OWNER = "server.lock"  # held for as long as the server lives, however it ends
YOUNG = 60.0  # seconds in which a folder without a lock may be one that is just being made
FILES_LISTED = 500  # files of a folder that are listed
LONGEST = 80  # characters of a folder's name
TRIES = 20


class Places:
    """The folders of one server."""

    def __init__(self, start: Path) -> None:
        self.start = start.resolve()
        self.private, self.lock = _make_private()

    def files(self) -> list[Path]:
        """Return the data files of the folder, those that may be opened."""
        try:
            there = sorted(self.start.iterdir(), key=lambda path: path.name.lower())
        except OSError:
            return []
        return [path for path in there if self._offered(path)][:FILES_LISTED]

    def _offered(self, path: Path) -> bool:
        from disclique.records.formats import format_of

        return (
            not path.name.startswith(".") and format_of(path) is not None and not path.is_symlink() and path.is_file()
        )

    def file(self, name: str) -> Path:
        """Return a file of the folder by its name, if it is one of those that are listed."""
        for path in self.files():
            if path.name == name:
                return path
        raise InputError("no_such_data_file", name=name, start_name=self.start.name)

    def new_folder(self, name: str) -> Path:
        """Return the path of a folder to be made in the folder of the start; plain names only."""
        plain = name.strip()
        if not plain or len(plain) > LONGEST or plain.startswith((".", "-")) or not _plain(plain):
            raise InputError("folder_name_not_plain", name=name, longest=LONGEST)
        path = self.start / plain
        if path.exists() or path.is_symlink():
            raise InputError("folder_exists", plain=plain)
        return path

    def scratch(self) -> Path:
        """Make a new folder inside the private one."""
        return Path(tempfile.mkdtemp(dir=self.private))

    def holds(self, path: Path) -> bool:
        """Say whether a path lies in one of the folders, wherever links lead."""
        try:
            real = path.resolve()
        except (OSError, ValueError, RuntimeError):  # a name that no file can have, or links in a circle
            return False
        return real.is_relative_to(self.start) or real.is_relative_to(self.private.resolve())

    def remove(self) -> None:
        """Delete the private folder with all that is in it."""
        self.lock.close()
        for _ in range(TRIES):  # a thread may still be writing into it
            shutil.rmtree(self.private, ignore_errors=True)
            if not self.private.exists():
                return
            time.sleep(0.1)


def _plain(name: str) -> bool:
    return all(letter.isalnum() or letter in " -_." for letter in name) and ".." not in name and not name.endswith(".")


def _make_private() -> tuple[Path, IO[bytes]]:
    """Make a folder that nobody else can look into (0700), and lock it as that of a living server."""
    for _ in range(TRIES):
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = (folder / OWNER).open("xb")
        if _lock(lock) and (folder / OWNER).exists():
            return folder, lock
        lock.close()  # another server that starts took it for abandoned
    raise InputError("no_private_folder", folder=tempfile.gettempdir())


def remove_abandoned() -> None:
    """Delete private folders of servers that were killed before they could do it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            about = folder.lstat()
            if folder.is_symlink() or (hasattr(os, "getuid") and about.st_uid != os.getuid()):
                continue
            with (folder / OWNER).open("r+b") as lock:
                abandoned = _lock(lock)
                if abandoned and os.name != "nt":
                    shutil.rmtree(folder, ignore_errors=True)  # while it is locked
            if abandoned and os.name == "nt":
                shutil.rmtree(folder, ignore_errors=True)  # a file that is open cannot be deleted there
        except FileNotFoundError:
            if time.time() - about.st_mtime > YOUNG:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def _lock(file: IO[bytes]) -> bool:
    """Take a lock that ends with the process; say whether it was free."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
