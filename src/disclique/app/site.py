"""The pages of the app and what stands behind them."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass, field
from importlib import import_module, resources
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
from disclique.app.pages import LANGUAGE, LANGUAGES, changing, go, page, site_of
from disclique.app.places import Places
from disclique.app.preview import Previews
from disclique.app.projects import Missing, Projects
from disclique.app.results import Results
from disclique.app.runner import Runner
from disclique.app.uploads import MOST, Refused
from disclique.errors import DiscliqueError
from disclique.show.library import ChartLibrary


@dataclass
class Site:
    """What one server holds."""

    keys: Keys
    places: Places
    projects: Projects
    runner: Runner
    most: int = MOST  # bytes of an upload
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
    from disclique.app.steps import ask, opening, reading, releasing, running, start

    routes = [
        Route("/", start.show, methods=["GET"]),
        Route("/language", changing(choose_language), methods=["POST"]),
        Route("/end", changing(end), methods=["POST"]),
        *start.routes,
        *opening.routes,
        *ask.routes,
        *running.routes,
        *reading.routes,
        *releasing.routes,
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
