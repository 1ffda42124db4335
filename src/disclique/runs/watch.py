"""What is at work at the moment, told by whoever carries out items to whoever watches.

Nothing that is computed depends on it, and whoever works never waits for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from disclique.progress import listening

EVERY = 0.5  # seconds between two reports of one worker, at the least
MOST = 20  # steps in one report: the last ones
Steps = list[tuple[str, float | None]]  # what was begun, and the share of it that is done if known
Watcher = Callable[[Any, str | None, float | None], None]  # an item, its step (None: no longer at work), share done
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher | None) -> Iterator[None]:
    """Tell ``watcher`` what is at work inside the block, wherever it runs."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def find_watcher() -> Watcher:
    """Return the function that reaches whoever watches, also from other threads."""
    return _watcher.get() or _ignore


def _ignore(item: Any, step: str | None, share: float | None) -> None:
    pass


@contextmanager
def working(item: Any) -> Iterator[None]:
    """Return a block in which the steps of an item that runs here are told to whoever watches."""
    watch = _watcher.get()
    if watch is None:
        yield
        return
    watch(item, "", None)
    try:
        with listening(lambda step, share: watch(item, step, share)):
            yield
    finally:
        watch(item, None, None)


@contextmanager
def reporting(send: Callable[[Steps], None]) -> Iterator[None]:
    """Return a block whose steps are sent elsewhere: by a thread of its own, those of each moment together.

    The first step is ``""``. What cannot be sent is dropped, and nothing is sent once the block has ended.
    """
    reports = _Reports(send)
    try:
        with listening(reports.note):
            yield
    finally:
        reports.end()


class _Reports:
    """The steps to be sent next, and the thread that sends them."""

    def __init__(self, send: Callable[[Steps], None]) -> None:
        self.send = send
        self.next: deque[tuple[str, float | None]] = deque([("", None)], maxlen=MOST)
        self.news, self.ended = threading.Event(), threading.Event()
        self.news.set()
        self.sending = threading.Lock()
        threading.Thread(target=self._run, daemon=True, name="reports").start()

    def note(self, step: str, share: float | None) -> None:
        """Have a step sent soon."""
        self.next.append((step, share))
        self.news.set()

    def end(self) -> None:
        """Send nothing any more."""
        self.ended.set()
        self.news.set()
        with self.sending:  # what is on its way arrives before the result
            pass

    def _run(self) -> None:
        while not self.ended.is_set():
            self.news.wait()
            self.news.clear()
            with self.sending:
                if self.ended.is_set():
                    return
                with suppress(Exception):
                    self.send([self.next.popleft() for _ in range(len(self.next))])
            self.ended.wait(EVERY)
