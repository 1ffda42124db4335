"""The server: one line with its address, pages until it is ended, nothing left behind."""

from __future__ import annotations

import asyncio
import socket
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

from disclique.app.guard import Guard, Keys
from disclique.app.places import Places, remove_abandoned
from disclique.app.runner import Runner
from disclique.app.site import Site, make_site
from disclique.app.uploads import MOST
from disclique.app.works import Works
from disclique.errors import InputError

SILENCE = 3600.0  # seconds without a request or a running audit after which the server ends
LOOK = 0.5  # seconds between two looks whether it should


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
    import uvicorn

    remove_abandoned()
    listener = _listen(port)
    keys = Keys(listener.getsockname()[1])
    places = Places(folder)
    works = Works(places)
    site = Site(keys, places, works, Runner(works), most)
    guard = make_site(site)
    config = uvicorn.Config(guard, access_log=False, log_level="warning", lifespan="off", server_header=False)
    server = uvicorn.Server(config)
    try:
        say(f"disclique app: {keys.address}")
        if browser:
            webbrowser.open(keys.address)
        asyncio.run(_serve(server, listener, guard, site, silence))
    finally:
        site.runner.close()
        places.remove()
        listener.close()


async def _serve(server: object, listener: socket.socket, guard: Guard, site: Site, silence: float) -> None:
    import uvicorn

    assert isinstance(server, uvicorn.Server)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not running.done():
        if site.runner.busy:
            guard.heard = time.monotonic()
        if site.ending or time.monotonic() - guard.heard > silence:
            server.should_exit = True
        await asyncio.wait([running], timeout=LOOK)
    await running


def _listen(port: int) -> socket.socket:
    """Return a socket of this machine only."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise InputError(f"--port {port}: cannot be used ({why}); 0 takes a free one") from None
    return listener
