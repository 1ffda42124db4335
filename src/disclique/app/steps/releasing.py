"""Release: make the release with the chosen mask, and take the files away."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from disclique.app.advised import as_recipient, find_result
from disclique.app.beside import suggest_folder
from disclique.app.pages import changing, go, in_thread, page, site_of
from disclique.app.projects import RECIPIENTS, Missing, Project
from disclique.app.publishing import (
    MATRICES,
    PRIVATE,
    PUBLISH,
    Wanted,
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
    from disclique.audits.facts import Verdict

OTHER = "other"  # the choice of a mask that was not audited
MEETS, MEASURED = "meets", "measured"  # as audits name them, whose import takes seconds
ONE = asyncio.Lock()


async def show(request: Request) -> Response:
    """Show what can be released, and what was."""
    site = site_of(request)
    project = await in_thread(find_result, site, request.path_params["id"])
    if not (project.result.exists() or project.answer.name == RECIPIENTS):
        return go(f"/work/{project.id}/{'advice' if project.answer.exists() else 'run'}", request)
    return page(request, "release", **await in_thread(_content, request, project))


async def make(request: Request, form: FormData) -> Response:
    """Make the release that was chosen, once what has to be confirmed is confirmed; one after the other.

    Of two that are asked for at once, in two tabs, the second one is one more of the same people.
    """
    async with ONE:
        return await _make(request, form)


async def _make(request: Request, form: FormData) -> Response:
    site = site_of(request)
    project = await in_thread(find_result, site, request.path_params["id"])
    if not (project.result.exists() or project.answer.name == RECIPIENTS):
        raise Missing(project.id)
    found = await in_thread(_offer, request, project)
    chosen, spec = str(form.get("setting", "")), str(form.get("spec", "")).strip()
    setting = spec if chosen == OTHER else chosen
    known = {one.spec: one for one in found.settings}
    problems: list[Message] = []
    if not setting or (chosen != OTHER and setting not in known):
        problems.append(Message("release_without_setting"))
    elif not (setting in known and known[setting].meets) and form.get("confirm") != "yes":
        problems.append(Message("release_not_confirmed"))
    if await in_thread(_again, request, project, found.result) and form.get("again") != "yes":
        problems.append(Message("release_again_not_confirmed"))
    if project.parent and await in_thread(_is_of_another_question, request, project):
        problems.append(Message("advice_of_other_question"))
    matrix = str(form.get("matrix", ""))
    if matrix and matrix not in MATRICES:
        problems.append(Message("release_without_matrix_form"))
    name = str(form.get("folder", ""))
    if not problems:
        try:
            wanted = Wanted(setting, setting in known, name, matrix)
            await in_thread(make_release, project, site.places, found.result, wanted)
        except InputError as problem:
            problems.append(problem.message)
        else:
            return go(f"/work/{project.id}/release#made", request)
    content = await in_thread(_content, request, project)
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


@dataclass(frozen=True)
class Offered:
    """A setting that can be released: the share of people who could be found, at most, and how useful it is.

    ``meets`` says whether it is shown to keep its limit, None where there is none. For several recipients all of it is
    that of the ``strictest``, for whom it stands worst.
    """

    spec: str
    brief: str
    value: float
    high: float
    usefulness: float | None
    meets: bool | None
    strictest: str = ""


@dataclass(frozen=True)
class Releasable:
    """What can be released: the settings, the verdict on them with its headline, and the audit that is held to.

    Of several recipients the ``result`` is that of the first: file, releases and usefulness are those of all.
    """

    settings: tuple[Offered, ...]
    verdict: Verdict
    headline: str
    result: AuditResult


def _offer(request: Request, project: Project) -> Releasable:
    """Return what can be released after an audit, or after those of several recipients: what was measured for all."""
    from disclique.show.report.everybody_page import EVERYBODY
    from disclique.show.report.page import STATUS

    results = site_of(request).results
    if project.answer.name != RECIPIENTS or project.recipient:
        result = results.get(project)
        each = tuple(
            Offered(one.spec, one.brief or one.spec, one.risk.value, one.risk.high, one.usefulness, one.meets)
            for one in result.settings
        )
        return Releasable(each, result.verdict, STATUS[result.verdict.status], result)
    facts = results.recipients(project)
    shared = tuple(
        Offered(
            one.spec,
            one.brief or one.spec,
            one.worst.risk,
            one.worst.high,
            one.usefulness,
            None if one.status == MEASURED else one.status == MEETS,
            one.worst.recipient,
        )
        for one in facts.settings
        if one.status is not None
    )
    first = results.get(as_recipient(project, facts, 1))
    return Releasable(shared, facts.verdict, EVERYBODY[facts.verdict.status], first)


def _content(request: Request, project: Project) -> dict[str, Any]:
    from disclique.measures.utility import measures

    site = site_of(request)
    found = _offer(request, project)
    result, verdict = found.result, found.verdict
    made = [(one, bool(published_files(site.places, one))) for one in list_releases(project)]
    return {
        "project": project,
        "here": "release",
        "result": result,
        "settings": found.settings,
        "verdict": verdict,
        "measure": measures()[result.plan.utility],
        "headline": found.headline,
        "meets": verdict.status == MEETS,
        "chosen": _choose(project, found),
        "spec": "",
        "name": suggest_folder(site.places.start, "release", project),
        "matrix": "",
        "matrices": MATRICES,
        "problems": [],
        "made": made,
        "elsewhere": len(_before(request, project, result)) - len(made),
        "again": _again(request, project, result),
        "left_out": _count_left_out(request, project),
        "outdated": bool(project.parent) and _is_of_another_question(request, project),
        "publish": PUBLISH,
        "private": PRIVATE,
    }


def _choose(project: Project, found: Releasable) -> str:
    """Return the setting that is chosen at first, if it keeps the limit: the one of an advice, else the verdict's."""
    from disclique.masks.settings import Setting

    if not project.chosen:
        return found.verdict.setting if found.verdict.status == MEETS else ""
    wanted = Setting.parse(project.chosen)
    return next((one.spec for one in found.settings if one.meets and Setting.parse(one.spec) == wanted), "")


def _count_left_out(request: Request, project: Project) -> int:
    """Return how many people an advice leaves out of a release."""
    if not project.chosen:
        return 0
    site = site_of(request)
    found = site.results.advice(site.projects.get(project.parent))
    return len(found.releases[int(project.id.rpartition("-")[2]) - 1].left_out)


def _is_of_another_question(request: Request, project: Project) -> bool:
    """Say whether what is asked was changed since the advice or the audits were begun to which a release belongs."""
    return is_changed(site_of(request).projects.get(project.parent))


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
