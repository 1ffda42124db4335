"""Advise: look for a release that keeps a limit, and show what was found, each release with a button that makes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from disclique.app.advised import as_project
from disclique.app.beside import list_choices
from disclique.app.looks import Finding, list_findings
from disclique.app.pages import changing, go, in_thread, language_of, page, site_of
from disclique.app.projects import ADVICE, Missing, Project
from disclique.app.questions import offer
from disclique.app.runner import is_changed
from disclique.app.steps import ask
from disclique.app.wishes import read_question, read_wishes
from disclique.errors import DiscliqueError, InputError

CALLED_RIGHT = "right"  # the field whose value says which mistakes the person saw and called right
# The page of an advice runs no script.
NO_SCRIPT = (
    "default-src 'none'; script-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)


async def start(request: Request, form: FormData) -> Response:
    """Keep what is asked, look at everything once more, and start the search."""
    site = site_of(request)
    before = site.projects.get(request.path_params["id"])
    if not before.checked:
        return go(f"/work/{before.id}/open", request)
    try:
        asked = await in_thread(_read, site, before, form)
        remarks = await in_thread(_look, asked)
        name = str(form.get("place", "")).strip()
        keep = name and not site.projects.is_kept(before)
        if keep:
            site.places.new_folder(name)  # says what is wrong with it before anything is written
    except DiscliqueError as problem:
        return await ask.show_page(request, before, wishes=form, said=ask.Said(problem.message))
    said = [replace(one, message=ask.hide(one.message, asked, site)) for one in remarks]
    doubts = [one for one in said if one.likely_wrong]
    confirmed = ask.digest_doubts(doubts) == str(form.get(CALLED_RIGHT))
    if not confirmed and any(one.mistake for one in doubts):
        return await ask.show_page(request, before, wishes=form, said=ask.Said(remarks=tuple(said), refused=True))
    accepted = list(dict.fromkeys(one.name for one in doubts)) if confirmed else None
    try:
        project = await in_thread(site.projects.change, ask.accept(asked, accepted))
        if keep:
            project = await in_thread(site.projects.keep, project, name)
    except InputError as problem:
        return await ask.show_page(request, before, wishes=form, said=ask.Said(problem.message))
    site.estimates.stop(project.id)
    return RedirectResponse(f"/work/{project.id}/run/start", 307)  # the browser posts the same form, with its token


async def show(request: Request) -> Response:
    """Show what was found: the best release, its alternatives, and the page that says it all."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    if project.answer.name != ADVICE:
        return go(f"/work/{project.id}/{'read' if project.result.exists() else 'run'}", request)
    advice = await in_thread(site.results.advice, project)
    content = {
        "project": project,
        "here": "read",
        "advice": advice,
        "changed": await in_thread(is_changed, project),
        "kept": site.projects.is_kept(project),
        "releases": [
            (f"{project.id}-{number}", one, one is advice.best) for number, one in enumerate(advice.releases, 1)
        ],
    }
    return page(request, "advice", **content)


async def send_page(request: Request) -> Response:
    """Send the page of the advice, for the frame in which it is shown."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    if project.answer.name != ADVICE:
        raise Missing(project.id)
    text = await in_thread(site.results.advice_page, project, language_of(request))
    return HTMLResponse(text, headers={"content-security-policy": NO_SCRIPT, "cache-control": "no-store"})


async def send_audit(request: Request) -> Response:
    """Lead from the links on the page of an advice to the report or annex of the audit that they name."""
    site, number, name = site_of(request), request.path_params["number"], request.path_params["name"]
    project = await in_thread(site.projects.get, request.path_params["id"])
    if project.answer.name != ADVICE:
        raise Missing(project.id)
    advice = await in_thread(site.results.advice, project)
    for place, one in enumerate(advice.releases, 1):
        if one.audit == f"audits/{number}":
            return go(f"/work/{as_project(project, advice, place).id}/pages/{name}", request)
    raise Missing(number)


def _read(site: Any, project: Project, form: FormData) -> Project:
    seen = site.looks.look(project, site.places)
    return read_wishes(project, form, offer(project, seen, list_choices(site.places, project)))


def _look(project: Project) -> list[Finding]:
    """Look at all files as the search will."""
    from disclique.audits.caveats import inspect_audit

    return list_findings(inspect_audit(read_question(project).audit))


routes = [
    Route("/work/{id}/advise", changing(start), methods=["POST"]),
    Route("/work/{id}/advice", show, methods=["GET"]),
    Route("/work/{id}/pages/advice", send_page, methods=["GET"]),
    Route("/work/{id}/pages/audits/{number}/{name}.html", send_audit, methods=["GET"]),
]
