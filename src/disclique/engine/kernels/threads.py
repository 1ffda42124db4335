"""Run kernels side by side: they release the interpreter lock, so plain threads use every core."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def available() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(work: Callable[[T], None], items: Iterable[T], stop: Callable[[], None] = lambda: None) -> None:
    """Do ``work`` on every item, each in a thread of its own, and wait; the first error is raised again.

    An interrupt calls ``stop``, which should make the work end soon, and goes on once it has.
    """
    items = list(items)
    if len(items) == 1:
        work(items[0])
        return
    errors: list[BaseException] = []

    def guarded(item: T) -> None:
        try:
            work(item)
        except BaseException as error:
            stop()
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(item,), daemon=True) for item in items]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        stop()
        for thread in threads:
            thread.join()
        raise
    if errors:
        raise errors[0]
