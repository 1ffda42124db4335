"""How far a long step is, told to whoever listens.

A step calls ``tell``; a command line or an app listens with ``listening``. Nothing that is computed depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from disclique.messages import Message

Step = str | Message  # what is at work
Listener = Callable[[Step, float | None], None]  # the step at work, and the share of it that is done if known
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Send every ``tell`` inside the block to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def teller() -> Listener:
    """Return the function that reaches the present listener, also from other threads."""
    listener = _listener.get()
    return listener if listener is not None else _ignore


def tell(step: Step, share: float | None = None) -> None:
    """Say which step is at work, and the share of it that is done if known."""
    teller()(step, share)


def _ignore(step: Step, share: float | None) -> None:
    pass
