"""The server: one line with its address, pages until it is ended, nothing left behind."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from importlib import import_module, resources
from pathlib import Path
from threading import Thread
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from disclique.app.estimates import Estimates
from disclique.app.guard import Guard, Keys
from disclique.app.looks import Looks
from disclique.app.pages import LANGUAGE, LANGUAGES, changing, go, in_thread, page, site_of
from disclique.app.places import Places, remove_abandoned
from disclique.app.projects import INPUT, RUNNING, WAITING, Missing, Projects
from disclique.app.results import Results
from disclique.app.roles import Previews
from disclique.app.runner import Runner
from disclique.app.uploads import UPLOAD_BYTES, Refused, receive_file
from disclique.errors import DiscliqueError, InputError
from disclique.show.pages import ChartLibrary

SILENCE = 3600.0  # seconds without a request or a running audit after which the server ends
LOOK = 0.5  # seconds between two looks whether it should
GRACE = 2  # seconds that a page or an upload has left when the server ends
RECENT = 5  # projects that are listed at once
# Addresses to which forms are sent, and on which a page stands that says what is wrong with one: whoever chooses
# another language there, or loads it again, is led to the page of the form.
FORMS = {
    "/choose": "/",
    "/upload": "/",
    "/forget": "/",
    "/list": "/",
    "/work/{id}/advise": "/work/{id}/ask",
    "/work/{id}/start": "/work/{id}/ask",
    "/work/{id}/ask/recipients": "/work/{id}/ask",
    "/work/{id}/file": "/work/{id}/open",
    "/work/{id}/undo": "/work/{id}",
    "/work/{id}/run/{what}": "/work/{id}/run",
    "/work/{id}/exposed/report": "/work/{id}/exposed",
}
BACKLOG = 128  # connections that wait until they are answered
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
    most: int = UPLOAD_BYTES,
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
        listener.listen(BACKLOG)  # before anybody is told the address
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        raise InputError("port_unusable", port=port, why=why) from None
    return listener


@dataclass
class Site:
    """What one server holds."""

    keys: Keys
    places: Places
    projects: Projects
    runner: Runner
    most: int = UPLOAD_BYTES  # bytes of an upload
    results: Results = field(default_factory=lambda: Results(ChartLibrary()))
    estimates: Estimates = field(default_factory=Estimates)
    looks: Looks = field(default_factory=Looks)
    ending: bool = False  # somebody asked the server to end
    warmed: bool = False
    previews: Previews = field(default_factory=Previews)

    def warm(self) -> None:
        """Import what the next pages need, beside the first one, which waits for nothing."""
        if not self.warmed:
            self.warmed = True
            Thread(target=import_module, args=["disclique.audits"], daemon=True).start()


def make_site(site: Site) -> Guard:
    """Return the application with all its pages behind the guard."""
    from disclique.app.steps import advising, ask, opening, reading, recipients, releasing, running

    routes = [
        Route("/", show_start, methods=["GET"]),
        Route("/language", changing(choose_language), methods=["POST"]),
        Route("/end", changing(end), methods=["POST"]),
        Route("/upload", begin_with_upload, methods=["POST"]),
        Route("/choose", changing(begin_with_file), methods=["POST"]),
        Route("/forget", changing(forget), methods=["POST"]),
        Route("/list", changing(list_again), methods=["POST"]),
        Route("/favicon.ico", send_icon, methods=["GET"]),
        *opening.routes,
        *ask.routes,
        *advising.routes,
        *running.routes,
        *recipients.routes,
        *reading.routes,
        *releasing.routes,
        *(Route(form, _back_to(step), methods=["GET"]) for form, step in FORMS.items()),
        Mount("/static", StaticFiles(directory=str(resources.files("disclique.app") / "static")), name="static"),
    ]
    handlers: Any = {
        DiscliqueError: _say_problem,
        Refused: _refused,
        Missing: _missing,
        404: _missing,
        405: _missing,
        Exception: _broken,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.site = site
    return Guard(app, site.keys)


async def show_start(request: Request) -> Response:
    """Show the files that can be opened, and the audits that are there."""
    site = site_of(request)
    found = site.projects.list()
    projects = [
        (project, site.runner.state(project), site.projects.is_kept(project)) for project in found if project.listed
    ]
    files = await in_thread(site.places.files)
    site.warm()
    content: dict[str, Any] = {
        "recent": projects[:RECENT],
        "older": projects[RECENT:],
        "off": len(found) - len(projects),
    }
    return page(request, "start", files=[path.name for path in files], most=site.most, **content)


async def forget(request: Request, form: FormData) -> Response:
    """Take one project off the list, or all; what is not kept is deleted, and what runs stays."""
    site = site_of(request)
    chosen = str(form.get("project", ""))
    for project in [site.projects.get(chosen)] if chosen else site.projects.list():
        if site.runner.state(project) not in (RUNNING, WAITING):
            site.projects.forget(project)
    return go("/", request)


async def list_again(request: Request, form: FormData) -> Response:
    """List again what was taken off the list."""
    site = site_of(request)
    for project in site.projects.list():
        if not project.listed:
            site.projects.save(replace(project, listed=True))
    return go("/", request)


async def send_icon(request: Request) -> Response:
    """Send the icon for which browsers ask beside a page that names none, such as a report in a tab of its own."""
    icon = resources.files("disclique.app") / "static" / "icon.svg"
    return Response(icon.read_bytes(), media_type="image/svg+xml")


def _back_to(step: str) -> Callable[[Request], Awaitable[Response]]:
    """Return what leads from the address of a form, opened by itself, to the page on which the form stands."""

    async def lead(request: Request) -> Response:
        return go(step.format(**request.path_params), request)

    return lead


async def begin_with_upload(request: Request) -> Response:
    """Take a file from the browser, and begin a project on it."""
    site = site_of(request)
    folder = site.places.scratch()
    inside = folder / INPUT
    inside.mkdir(mode=0o700)
    try:
        taken = await receive_file(request, inside, site.keys, site.most)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    project = site.projects.begin(taken.shown, taken.path, folder)
    return go(f"/work/{project.id}/open", request)


async def begin_with_file(request: Request, form: FormData) -> Response:
    """Begin a project on a file of the folder."""
    site = site_of(request)
    file = site.places.file(str(form.get("file", "")))
    project = site.projects.begin(file.name, file)
    return go(f"/work/{project.id}/open", request)


async def choose_language(request: Request, form: FormData) -> Response:
    """Remember the language, and show the same page again."""
    back = str(form.get("back", "/"))
    answer = go(back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/", request)
    if (chosen := str(form.get("language"))) in LANGUAGES:
        answer.set_cookie(LANGUAGE, chosen, httponly=True, samesite="strict", max_age=365 * 86400)
    return answer


async def end(request: Request, form: FormData) -> Response:
    """End the server after this page."""
    site_of(request).ending = True
    return page(request, "ended")


async def _say_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, DiscliqueError)
    return page(request, "problem", status=422, message=problem.message, title="")


async def _refused(request: Request, problem: Exception) -> Response:
    return page(request, "problem", status=403, message=None, title="refused")


async def _missing(request: Request, problem: Exception) -> Response:
    return page(request, "problem", status=404, message=None, title="missing")


async def _broken(request: Request, problem: Exception) -> Response:
    traceback.print_exception(problem, file=sys.stderr)
    return page(request, "problem", status=500, message=type(problem).__name__, title="broken")
