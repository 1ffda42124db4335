"""How a command is stopped: Ctrl-C and SIGTERM end it soon, wherever it is, and say how to go on.

Python hears of a signal between two steps of its main thread, and a compiled kernel may take minutes until then. So a
thread of its own listens as well: it gives the main thread a moment to end by itself, and then ends the process.
Nothing is lost by that: a journal has every finished unit on the disk, and other files are written whole or not at all.
"""

from __future__ import annotations

import multiprocessing
import os
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

GRACE = 1.0  # seconds in which a command may end by itself
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def stopping() -> Iterator[list[Path]]:
    """Give a block that a signal ends within two seconds: with status 130 or 143, in words, never in a traceback.

    It is given a list for the folders that keep what is finished.
    """
    kept: list[Path] = []
    if threading.current_thread() is not threading.main_thread():
        yield kept
        return
    watch = _Watch(kept)
    try:
        yield kept
    except BaseException:
        if not watch.number:
            raise
    finally:
        watch.close()
    if watch.number:
        _say(watch.number, kept)
        raise SystemExit(128 + watch.number)


class _Watch:
    """Handlers of the signals, and a thread that ends the process if these are not heeded."""

    def __init__(self, kept: list[Path]) -> None:
        self.kept, self.number = kept, 0  # of the first signal
        self.before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in self.before.items():
            if handler is not signal.SIG_IGN:  # as of a command in the background
                signal.signal(number, self._heed)
        self.ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.wakeup = signal.set_wakeup_fd(self.theirs.fileno(), warn_on_full_buffer=False)
        self.thread = threading.Thread(target=self._listen, daemon=True, name="signals")
        self.thread.start()

    def _heed(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the main thread, once: its way out is not disturbed again."""
        if not self.number:
            self.number = number
            raise KeyboardInterrupt

    def _listen(self) -> None:
        """Wait for a signal; then for a second one, or for a while, and end the process."""
        heard = 0
        with self.ours, suppress(OSError):
            while not heard:
                said = self.ours.recv(1)
                if not said:
                    return
                heard = said[0] if said[0] in SIGNALS else 0
            self.ours.settimeout(GRACE)
            with suppress(TimeoutError):
                if not self.ours.recv(1):
                    return
            _end(heard, self.kept)

    def close(self) -> None:
        """Leave the signals as they were."""
        signal.set_wakeup_fd(self.wakeup)
        for number, handler in self.before.items():
            if handler is not None:  # one that was not set by Python cannot be set again
                signal.signal(number, handler)
        self.theirs.close()  # which ends the thread
        self.thread.join()
        self.ours.close()


def _end(number: int, kept: list[Path]) -> None:
    """End this process and its children at once."""
    with suppress(Exception):
        for child in multiprocessing.active_children():
            child.kill()
    words = threading.Thread(target=_say, args=(number, kept), daemon=True)
    words.start()
    words.join(0.3)  # nobody may be reading them
    os._exit(128 + number)


def _say(number: int, kept: list[Path]) -> None:
    """Say what is kept and which command goes on."""
    if {"--quiet", "-q"} & set(sys.argv):
        return
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{SHOW_CURSOR}")  # a bar hides it
    how = "interrupted" if number == signal.SIGINT else "ended by a signal"
    name = Path(sys.argv[0]).name
    command = [*({"__main__.py": ["python", "-m", "disclique"], "-c": ["disclique"]}.get(name, [name])), *sys.argv[1:]]
    places = [str(folder) for folder in kept if (folder / "journal.jsonl").exists()]
    if places:
        what = f"what is finished is kept in {places[0]}, and the same command goes on from there:"
    else:
        what = "the same command begins again:"
    sys.stderr.write(f"disclique: {how}; {what}\n    {shlex.join(command)}\n")
    sys.stderr.flush()
