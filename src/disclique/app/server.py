"""The server: one line with its address, pages until it is ended, nothing left behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from disclique.app.guard import Keys
from disclique.app.places import Places, remove_abandoned
from disclique.app.projects import Projects
from disclique.app.runner import Runner
from disclique.app.site import Site, make_site
from disclique.app.uploads import MOST
from disclique.errors import InputError

SILENCE = 3600.0  # seconds without a request or a running audit after which the server ends
LOOK = 0.5  # seconds between two looks whether it should
GRACE = 2  # seconds that a page or an upload has left when the server ends
WAITING = 128  # connections that wait until they are answered
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
PLAIN = {  # one way to speak, whatever else is installed; nobody stands before this server and may speak for others
    "http": "h11",
    "loop": "asyncio",
    "ws": "none",
    "lifespan": "off",
    "proxy_headers": False,
    "server_header": False,
    "access_log": False,
    "log_level": "critical",  # what goes wrong is said by the page that it goes wrong on
}


def serve(
    folder: Path,
    *,
    port: int = 0,
    browser: bool = True,
    most: int = MOST,
    silence: float = SILENCE,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the app for the files of a folder until it is ended; ``say`` is told its address."""
    with _in_order() as signals:
        remove_abandoned()
        listener = _listen(port)
        keys = Keys(listener.getsockname()[1])
        places = Places(folder)
        projects = Projects(places)
        site = Site(keys, places, projects, Runner(projects), most)
        try:
            say(f"disclique app: {keys.address}")
            if browser:  # one of the terminal would not come back
                threading.Thread(target=webbrowser.open, args=[keys.address], daemon=True).start()
            asyncio.run(_serve(listener, site, silence, signals))
        finally:
            site.runner.close()
            places.remove()
            listener.close()


async def _serve(listener: socket.socket, site: Site, silence: float, signals: list[int]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        def capture_signals(self) -> Any:
            return nullcontext()  # they were captured before anything was made that must be deleted

    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # forms that are none are answered in words
    guard = make_site(site)
    server = Server(uvicorn.Config(guard, timeout_graceful_shutdown=GRACE, **PLAIN))  # type: ignore[arg-type]
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not running.done():
        if site.runner.busy:
            guard.heard = time.monotonic()
        if site.ending or signals or time.monotonic() - guard.heard > silence:
            server.should_exit = True
        await asyncio.wait([running], timeout=LOOK)
    await running


@contextmanager
def _in_order() -> Iterator[list[int]]:
    """Give a block whose files are its owner's alone, and which signals do not end: they are only noted.

    Ctrl-C and a closed window are how people end this command, and it must not end before what was uploaded is deleted.
    """
    noted: list[int] = []
    mask = os.umask(0o077)
    main = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in SIGNALS if main and hasattr(signal, name)]
    heeded = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    before = {number: signal.signal(number, lambda number, frame: noted.append(number)) for number in heeded}
    wakeup = signal.set_wakeup_fd(-1) if main else -1  # commands are ended a second after a signal otherwise
    try:
        yield noted
    finally:
        os.umask(mask)
        if main:
            signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(port: int) -> socket.socket:
    """Return a socket of this machine only."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let others listen at the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(WAITING)  # before anybody is told the address
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise InputError("port_unusable", port=port, why=why) from None
    return listener
