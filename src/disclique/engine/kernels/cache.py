"""Whether the kernels have been compiled before, so that a first run can say what it is waiting for."""

from __future__ import annotations

from pathlib import Path

from disclique.engine.kernels import merge


def warm() -> bool:
    """True if compiled kernels lie in the cache; the first run takes some seconds longer to fill it."""
    cache = getattr(merge.windows, "_cache", None)
    folder = getattr(cache, "cache_path", None)
    return folder is None or any(Path(folder).glob("*.nbi"))
