"""Ctrl-C while items run: noted whoever catches it, and held back where a child is started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType


@contextmanager
def noting_interrupts() -> Iterator[Callable[[], bool]]:
    """Note every Ctrl-C and SIGTERM, whoever catches it; give a function that says whether there was one."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    seen: list[int] = []
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        handler = before[number]
        if callable(handler):
            handler(number, frame)

    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, note)
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back; threads and processes that are started meanwhile never hear of it, not even while they load."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # which would let signals through again where it begins to run
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
