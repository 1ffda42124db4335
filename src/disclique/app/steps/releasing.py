"""Release: make the release with the chosen mask, and take the files away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from disclique.app.advised import find_result
from disclique.app.beside import suggest_folder
from disclique.app.pages import changing, go, in_thread, page, site_of
from disclique.app.projects import Missing, Project
from disclique.app.publishing import (
    MATRICES,
    PRIVATE,
    PUBLISH,
    list_releases,
    make_release,
    published_files,
    releases_of_input,
    stream_zip,
)
from disclique.app.runner import is_changed
from disclique.app.steps.reading import as_file
from disclique.errors import InputError
from disclique.messages import Message

if TYPE_CHECKING:
    from disclique.audits import AuditResult

OTHER = "other"  # the choice of a mask that was not audited
MEETS = "meets"
ONE = asyncio.Lock()


async def show(request: Request) -> Response:
    """Show what can be released, and what was."""
    site = site_of(request)
    project = await in_thread(find_result, site, request.path_params["id"])
    if not project.result.exists():
        return go(f"/work/{project.id}/{'advice' if project.answer.exists() else 'run'}", request)
    result = await in_thread(site.results.get, project)
    return page(request, "release", **await in_thread(_content, request, project, result))


async def make(request: Request, form: FormData) -> Response:
    """Make the release that was chosen, once what has to be confirmed is confirmed; one after the other.

    Of two that are asked for at once, in two tabs, the second one is one more of the same people.
    """
    async with ONE:
        return await _make(request, form)


async def _make(request: Request, form: FormData) -> Response:
    site = site_of(request)
    project = await in_thread(find_result, site, request.path_params["id"])
    if not project.result.exists():
        raise Missing(project.id)
    result = await in_thread(site.results.get, project)
    chosen, spec = str(form.get("setting", "")), str(form.get("spec", "")).strip()
    setting = spec if chosen == OTHER else chosen
    known = {one.spec: one for one in result.settings}
    problems: list[Message] = []
    if not setting or (chosen != OTHER and setting not in known):
        problems.append(Message("release_without_setting"))
    elif not (setting in known and known[setting].meets) and form.get("confirm") != "yes":
        problems.append(Message("release_not_confirmed"))
    if await in_thread(_again, request, project, result) and form.get("again") != "yes":
        problems.append(Message("release_again_not_confirmed"))
    if project.advice and await in_thread(_is_of_another_question, request, project):
        problems.append(Message("advice_of_other_question"))
    matrix = str(form.get("matrix", ""))
    if matrix and matrix not in MATRICES:
        problems.append(Message("release_without_matrix_form"))
    name = str(form.get("folder", ""))
    if not problems:
        try:
            await in_thread(make_release, project, site.places, result, setting, name, matrix)
        except InputError as problem:
            problems.append(problem.message)
        else:
            return go(f"/work/{project.id}/release#made", request)
    content = await in_thread(_content, request, project, result)
    said = {"chosen": chosen, "spec": spec, "name": name, "matrix": matrix, "problems": problems}
    return page(request, "release", status=422, **(content | said))


async def send(request: Request) -> Response:
    """Send what is published of a release; what is kept has no address."""
    site = site_of(request)
    project = await in_thread(find_result, site, request.path_params["id"])
    made, number = await in_thread(list_releases, project), request.path_params["number"]
    if not number.isascii() or not number.isdigit() or not 1 <= int(number[:9]) <= len(made):
        raise Missing(number)
    files = await in_thread(published_files, site.places, made[int(number) - 1])
    if not files:
        raise Missing(number)
    return StreamingResponse(stream_zip(files), media_type="application/zip", headers=as_file("release.zip"))


def _content(request: Request, project: Project, result: AuditResult) -> dict[str, Any]:
    from disclique.measures.utility import measures
    from disclique.show.report.page import STATUS

    site = site_of(request)
    verdict = result.verdict
    made = [(one, bool(published_files(site.places, one))) for one in list_releases(project)]
    return {
        "project": project,
        "here": "release",
        "result": result,
        "measure": measures()[result.plan.utility],
        "headline": STATUS[verdict.status],
        "meets": verdict.status == MEETS,
        "chosen": _choose(project, result),
        "spec": "",
        "name": suggest_folder(site.places.start, "release", project),
        "matrix": "",
        "matrices": MATRICES,
        "problems": [],
        "made": made,
        "elsewhere": len(_before(request, project, result)) - len(made),
        "again": _again(request, project, result),
        "left_out": _count_left_out(request, project),
        "outdated": bool(project.advice) and _is_of_another_question(request, project),
        "publish": PUBLISH,
        "private": PRIVATE,
    }


def _choose(project: Project, result: AuditResult) -> str:
    """Return the setting that is chosen at first, if it keeps the limit: the one of an advice, else the verdict's."""
    from disclique.masks.settings import Setting

    if not project.chosen:
        return result.verdict.setting if result.verdict.status == MEETS else ""
    wanted = Setting.parse(project.chosen)
    return next((one.spec for one in result.settings if one.meets and Setting.parse(one.spec) == wanted), "")


def _count_left_out(request: Request, project: Project) -> int:
    """Return how many people an advice leaves out of a release."""
    if not project.advice:
        return 0
    site = site_of(request)
    found = site.results.advice(site.projects.get(project.advice))
    return len(found.releases[int(project.id.rpartition("-")[2]) - 1].left_out)


def _is_of_another_question(request: Request, project: Project) -> bool:
    """Say whether columns or wishes were changed since the advice was asked for that found a release."""
    return is_changed(site_of(request).projects.get(project.advice))


def _before(request: Request, project: Project, result: AuditResult) -> list[Any]:
    return releases_of_input(site_of(request).projects.list(), project, result)


def _again(request: Request, project: Project, result: AuditResult) -> bool:
    """Say whether one release more is more than the audit was about."""
    return len(_before(request, project, result)) >= result.plan.releases


routes = [
    Route("/work/{id}/release", show, methods=["GET"]),
    Route("/work/{id}/release", changing(make), methods=["POST"]),
    Route("/work/{id}/release/{number}/release.zip", send, methods=["GET"]),
]
