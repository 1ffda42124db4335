"""How a page is made: templates in the person's language, the form's token, and what every page shows."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from disclique.app.guard import CSRF, CSRF_HEADER
from disclique.app.projects import DONE, FAILED, NEW, PAUSED, RUNNING, WAITING, Project
from disclique.app.uploads import Refused, length_of
from disclique.locale import mark

if TYPE_CHECKING:
    from disclique.app.server import Site

LANGUAGES = {"en": "English", "de": "Deutsch"}
LANGUAGE = "disclique-language"  # the cookie that remembers the choice


def site_of(request: Request) -> Site:
    """Return what the server holds: its places, its projects, what runs."""
    found: Site = request.app.state.site
    return found


def language_of(request: Request) -> str:
    """Return the language that the person chose, else the first one of their browser that there is."""
    if (chosen := request.cookies.get(LANGUAGE)) in LANGUAGES:
        return str(chosen)
    for part in request.headers.get("accept-language", "").split(","):
        if (wanted := part.split(";")[0].strip()[:2].lower()) in LANGUAGES:
            return wanted
    return "en"


def page(request: Request, name: str, /, status: int = 200, **content: Any) -> Response:
    """Render a template; of a request by htmx usually a part of a page."""
    site, language = site_of(request), language_of(request)
    text = _environment(language).get_template(f"{name}.html.jinja")
    shown = {
        "csrf": site.keys.csrf,
        "languages": LANGUAGES,
        "path": request.url.path,
        "folder": site.places.start.name,
        "in_part": request.headers.get("hx-request") == "true",
    }
    return HTMLResponse(text.render(**shown, **content), status)


def go(path: str, request: Request) -> Response:
    """Send the browser to another page; htmx follows a header of its own."""
    if request.headers.get("hx-request") == "true":
        return Response(status_code=204, headers={"hx-redirect": quote(path, safe="/?=&#%")})
    return RedirectResponse(path, 303)


@cache
def _environment(language: str) -> Any:
    from disclique.show.pages import environment

    found = environment(language, "disclique.app")
    found.filters["script_json"] = script_json
    found.globals["steps_of"] = _steps
    found.globals["state_name"] = _name_state
    return found


def _steps(project: Project) -> list[tuple[str, str, str]]:
    """Return the steps of a project: what it is called here, its name, and its address, empty if it cannot be gone to.

    A release that an advice found is read and released by itself, and so is what was found for one recipient; all else
    is asked of the project to which they belong.
    """
    done = project.answer.exists()
    own = f"/work/{project.parent or project.id}"
    read = project.parent_step if project.parent else project.answer_step
    return [
        ("open", mark("Open"), f"{own}/open"),
        ("ask", mark("Ask"), f"{own}/ask" * project.checked),
        ("run", mark("Run"), f"{own}/run" * (done or project.begun or project.ready)),
        ("read", mark("Read"), f"{own}/{read}" * done),
        ("release", mark("Release"), f"/work/{project.id}/release" * done),
    ]


def _name_state(state: str) -> str:
    names = {NEW: mark("not begun"), PAUSED: mark("paused"), WAITING: mark("waiting"), RUNNING: mark("running")}
    return (names | {DONE: mark("finished"), FAILED: mark("failed")})[state]


def script_json(content: Mapping[str, Any] | list[Any]) -> Any:
    """Return JSON that cannot end the element in which it stands."""
    from markupsafe import Markup

    text = json.dumps(content, ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


FORM = 1_000_000  # bytes of a form without a file
Page = Callable[[Request], Awaitable[Response]]


def changing(act: Callable[[Request, FormData], Awaitable[Response]]) -> Page:
    """Return a page that changes something: it is given the form once its token was found right."""

    @wraps(act)
    async def checked(request: Request) -> Response:
        if length_of(request) > FORM or "transfer-encoding" in request.headers:
            return PlainTextResponse("The form is too large.\n", 413)
        form = await request.form(max_files=0)
        given = form.get(CSRF) or request.headers.get(CSRF_HEADER)
        if not site_of(request).keys.check_csrf(str(given) if given is not None else None):
            raise Refused
        return await act(request, form)

    return checked


async def in_thread(project: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Do what takes time beside the server, so that other pages are still answered."""
    return await run_in_threadpool(project, *given, **named)
