"""Recipients: cards that say who gets the release, and what was found for all of them and for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from disclique.app.advised import as_recipient
from disclique.app.beside import list_choices, write_plan
from disclique.app.fields import fields_at
from disclique.app.pages import changing, go, in_thread, language_of, page, site_of
from disclique.app.projects import RECIPIENTS, Missing, Project
from disclique.app.questions import offer, read_questions, show_again
from disclique.app.recipient_cards import add_card, remove_card
from disclique.app.runner import is_changed
from disclique.app.steps import ask
from disclique.app.steps.advising import NO_SCRIPT
from disclique.app.steps.reading import as_file
from disclique.errors import InputError
from disclique.messages import Message


async def change_cards(request: Request, form: FormData) -> Response:
    """Add a card, take one away, or show them again as they are: the form stays as it is filled in."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    if not project.checked:
        return go(f"/work/{project.id}/open", request)
    seen = await in_thread(site.looks.look, project, site.places)
    offered = await in_thread(offer, project, seen, list_choices(site.places, project))
    problem: Message | None = None
    try:
        if like := str(form.get("add", "")):
            form = await in_thread(add_card, form, like, offered.known)
        elif number := str(form.get("remove", "")):
            form = remove_card(form, number)
        values = await in_thread(show_again, form, offered)
    except InputError as unfit:
        return await ask.show_page(request, project, said=ask.Said(unfit.message))
    if request.headers.get("hx-request") != "true":
        return await ask.show_page(request, project, form)
    if not values["recipients"]:  # one snooper again: the worst case, until somebody says otherwise
        values |= {"who": offered.ready[0].name, "who_shown": offered.ready[0].name}
    try:
        plan = await in_thread(write_plan, await in_thread(read_questions, project, form, offered))
    except InputError as unfit:
        plan, problem = None, ask.hide(unfit.message, project, site)
    content = {"offered": offered, "values": values, "fields_at": fields_at, "plan": plan, "problem": problem}
    return page(request, "ask_cards", project=project, **content, **await in_thread(ask.offer_recipients))


async def show(request: Request) -> Response:
    """Show what may be given to everybody, and each recipient with the verdict on them."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    if project.answer.name != RECIPIENTS:
        return go(f"/work/{project.id}/{project.answer_step if project.answer.exists() else 'run'}", request)
    from disclique.show.report.everybody_page import EVERYBODY
    from disclique.show.report.page import STATUS

    facts = await in_thread(site.results.recipients, project)
    content = {
        "project": project,
        "here": "read",
        "facts": facts,
        "headline": EVERYBODY[facts.verdict.status],
        "of_one": STATUS,
        "each": [(f"{project.id}-{number}", one) for number, one in enumerate(facts.recipients, 1)],
        "changed": await in_thread(is_changed, project),
        "kept": site.projects.is_kept(project),
    }
    return page(request, "recipients", **content)


async def send_page(request: Request) -> Response:
    """Send the page of all recipients, for the frame in which it is shown."""
    site, project = site_of(request), await _answered(request)
    text = await in_thread(site.results.recipients_page, project, language_of(request))
    return HTMLResponse(text, headers={"content-security-policy": NO_SCRIPT, "cache-control": "no-store"})


async def send_report(request: Request) -> Response:
    """Lead from the links on the page of all recipients to the report of one of them."""
    site, project, name = site_of(request), await _answered(request), request.path_params["name"]
    facts = await in_thread(site.results.recipients, project)
    for number, one in enumerate(facts.recipients, 1):
        if one.name == name:
            own = as_recipient(project, facts, number)
            return go(f"/work/{own.id}/pages/{request.path_params['page']}", request)
    raise Missing(name)


async def save(request: Request) -> Response:
    """Send the page of all recipients, or the figures behind it, as a file."""
    site, project, name = site_of(request), await _answered(request), request.path_params["file"]
    made: dict[str, tuple[str, Callable[[], str | bytes]]] = {
        "recipients.html": (
            "text/html; charset=utf-8",
            partial(site.results.recipients_page, project, language_of(request)),
        ),
        "recipients.json": ("application/json", project.answer.read_bytes),
    }
    if name not in made:
        raise Missing(name)
    kind, make = made[name]
    return Response(await in_thread(make), media_type=kind, headers=as_file(name))


async def _answered(request: Request) -> Project:
    project: Project = await in_thread(site_of(request).projects.get, request.path_params["id"])
    if project.answer.name != RECIPIENTS:
        raise Missing(project.id)
    return project


routes = [
    Route("/work/{id}/ask/recipients", changing(change_cards), methods=["POST"]),
    Route("/work/{id}/recipients", show, methods=["GET"]),
    Route("/work/{id}/recipients/save/{file}", save, methods=["GET"]),
    Route("/work/{id}/pages/recipients", send_page, methods=["GET"]),
    Route("/work/{id}/pages/recipients/{name}/{page}.html", send_report, methods=["GET"]),
]
