"""How many threads the linear algebra libraries use while an item runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_change = threading.Lock()
_open: list[object] = []  # blocks that have begun, in all threads of this process
_limits: list[Any] = []  # what restores the libraries, in the order in which they were limited


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a block in which the linear algebra libraries use one thread: the cores are taken by the processes.

    Blocks may overlap, in one thread or in several: the libraries get their threads back when the last one ends. One
    that was loaded since the last block began is limited as well.
    """
    from threadpoolctl import threadpool_info, threadpool_limits

    block = object()
    with _change:
        _open.append(block)
        if any(library["num_threads"] != 1 for library in threadpool_info()):
            _limits.append(threadpool_limits(1))
    try:
        yield
    finally:
        with _change:
            _open.remove(block)
            while not _open and _limits:
                _limits.pop().restore_original_limits()
