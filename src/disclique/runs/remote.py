"""What a worker of a Dask cluster does: it keeps the function it was sent, and carries out one item at a time.

The function, with all data it needs, is sent once as bytes (``keep``), which Dask hands from worker to worker and sends
again where all that had it died. A worker unpacks it once, so that what its items share is computed once as well.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from disclique.runs.watch import Steps, reporting

KEPT = 2  # functions that a worker keeps unpacked
_functions: OrderedDict[str, Callable[[Any], Any]] = OrderedDict()
# Items of one process would share its libraries and caches, which are not all made for threads: one at a time.
_turn = threading.Lock()


class Ticket(NamedTuple):
    """Which function an item is for, under which number, and where its steps are told."""

    digest: str
    number: int
    topic: str


def pack(function: Callable[[Any], Any]) -> tuple[str, bytes]:
    """Return a function and its data as bytes, with a name that follows from them."""
    from distributed.protocol.pickle import dumps

    packed: bytes = dumps(function)  # type: ignore[no-untyped-call]
    return hashlib.sha256(packed).hexdigest(), packed


def keep(packed: bytes) -> bytes:
    """Have a packed function at hand."""
    return packed


def work(packed: bytes, item: Any, ticket: Ticket) -> Any:
    """Carry out an item."""
    with _turn, reporting(_reporter(ticket)):
        return _unpack(ticket.digest, packed)(item)


def _unpack(digest: str, packed: bytes) -> Callable[[Any], Any]:
    """Return the function, the same one every time."""
    if digest not in _functions:
        _functions[digest] = pickle.loads(packed)
    _functions.move_to_end(digest)
    while len(_functions) > KEPT:
        _functions.popitem(last=False)
    return _functions[digest]


def _reporter(ticket: Ticket) -> Callable[[Steps], None]:
    """Return what tells the caller of steps, through the scheduler."""
    from distributed import get_worker

    worker = get_worker()
    return lambda steps: worker.log_event(ticket.topic, (ticket.number, steps))


def fingerprint() -> str:
    """Return a hash of the code of this package: the same version may have been installed from other sources."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()
