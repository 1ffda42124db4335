"""The chart library of the pages, put together in a process of its own: it takes seconds that other pages need."""

from __future__ import annotations

import subprocess
import sys
import threading

from disclique.errors import MissingDependency

_lock = threading.Lock()


def charts() -> str:
    """Return the chart library; whoever asks while it is put together waits for it."""
    from disclique.show.library import chart_library, has_library, hold_library

    with _lock:
        if not has_library():
            made = subprocess.run([sys.executable, "-m", "disclique.show.library"], capture_output=True, check=False)
            if made.returncode:
                raise MissingDependency("pictures need the package vl-convert-python: pip install vl-convert-python")
            hold_library(made.stdout.decode())
        return chart_library()


def warm_charts() -> None:
    """Begin to put the library together, if nobody has."""
    if not _lock.locked():
        threading.Thread(target=charts, daemon=True, name="charts").start()
