"""Run: start, pause, stop and go on; how far it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from disclique.app.beside import suggest_folder
from disclique.app.pages import changing, go, in_thread, page, site_of
from disclique.app.projects import ADVISE, AUDIT, DONE, RUNNING, WAITING
from disclique.app.runner import is_changed
from disclique.app.status import SettingRow, Status, read_status
from disclique.errors import InputError
from disclique.messages import Message
from disclique.show.report.vega import draw_settings

PLACES = {AUDIT: "audit", ADVISE: "advice"}  # how a folder begins that is proposed


async def show(request: Request) -> Response:
    """Show how far the audit is, and what can be done about it."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    state = await in_thread(site.runner.state, project)
    status = await in_thread(read_status, project.folder)
    told = _tell(status)
    content = {
        "project": project,
        "here": "run",
        "state": state,
        "changed": await in_thread(is_changed, project),
        "problem": status.problem,
        "kept": site.projects.is_kept(project),
        "suggested": await in_thread(suggest_folder, site.places.start, PLACES[project.way], project),
        "ready": project.ready,
        "draw": await in_thread(_drawing, status) if told["settings"] else None,
        "measure": Message(status.utility.get("title", "")),
        "polled": state in (RUNNING, WAITING),
        "seen": "",
        "rows_seen": "",
        "fresh": None,
        "drawn": bool(told["settings"]),
    }
    return page(request, "run", **content, **told)


async def progress(request: Request) -> Response:
    """Return the part of the page that changes while the audit runs; nothing where nothing has changed."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    state = await in_thread(site.runner.state, project)
    if state == DONE:
        return Response(status_code=204, headers={"hx-redirect": f"/work/{project.id}/{project.answer_step}"})
    told = _tell(await in_thread(read_status, project.folder))
    drawn = request.query_params.get("drawn") == "1"
    if state != request.query_params.get("state") or (told["settings"] and not drawn):
        return Response(status_code=204, headers={"hx-refresh": "true"})  # other buttons, or the first picture
    content = {"project": project, "state": state, "polled": True, "drawn": drawn, **told}
    blank = page(request, "run_progress", **content, seen="", rows_seen="", fresh=None)
    seen = hashlib.sha256(bytes(blank.body)).hexdigest()[:16]
    if seen == request.query_params.get("seen"):
        return Response(status_code=204)
    rows = hashlib.sha256(repr(told["points"]).encode()).hexdigest()[:16]
    fresh = told["points"] if rows != request.query_params.get("rows") else None
    return page(request, "run_progress", **content, seen=seen, rows_seen=rows, fresh=fresh)


async def start(request: Request, form: FormData) -> Response:
    """Start the audit, go on with it, or let it wait for another one; in a folder of its own, if one is named."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    if not project.ready:
        raise InputError("columns_or_mask_missing")
    if await in_thread(is_changed, project):
        return go(f"/work/{project.id}/run", request)  # which asks what to do about it
    name = str(form.get("folder", "")).strip()
    if name and not site.projects.is_kept(project):
        project = await in_thread(site.projects.keep, project, name)
    await in_thread(site.runner.start, project)
    site.results.charts.warm()
    return go(f"/work/{project.id}/run", request)


async def pause(request: Request, form: FormData) -> Response:
    """End the audit at once; it goes on where it was when it is started again."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    await in_thread(site.runner.end, project)
    return go(f"/work/{project.id}/run", request)


async def stop(request: Request, form: FormData) -> Response:
    """End the audit, and go back to what is asked."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    await in_thread(site.runner.end, project)
    return go(f"/work/{project.id}/ask", request)


async def begin_anew(request: Request, form: FormData) -> Response:
    """Begin an audit of the changed plan in a folder of its own."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    fresh = await in_thread(site.runner.begin_anew, project)
    return go(f"/work/{fresh.id}/run", request)


async def take_back(request: Request, form: FormData) -> Response:
    """Ask again what was asked when the audit was begun."""
    site = site_of(request)
    project = await in_thread(site.projects.get, request.path_params["id"])
    await in_thread(site.runner.take_back, project)
    return go(f"/work/{project.id}/run", request)


def _tell(status: Status) -> dict[str, Any]:
    """Return what a page shows of a status."""
    return {
        "words": status.words,
        "share": status.words.share,
        "lines": status.lines,
        "settings": status.settings,
        "measure_format": status.utility.get("format", ""),
        "points": [_point(row) for row in status.settings if row.risk is not None and row.use is not None],
    }


def _point(row: SettingRow) -> dict[str, Any]:
    sure = f"{row.done} / {row.wanted}"
    return {
        "setting": row.brief,
        "group": row.mask,
        "risk": row.risk,
        "high": row.risk,
        "use": row.use,
        "sure": sure,
    }


def _drawing(status: Status) -> Callable[..., dict[str, Any]]:
    """Return what draws the picture, once the template has said its words."""
    import disclique.show.report.vega  # noqa: F401 - which takes its time, and not that of the other pages

    return partial(
        draw_settings,
        _tell(status)["points"],
        status.masks,
        utility=status.utility,
        limits=[] if status.limit is None else [status.limit],
    )


routes = [
    Route("/work/{id}/run", show, methods=["GET"]),
    Route("/work/{id}/run/progress", progress, methods=["GET"]),
    Route("/work/{id}/run/start", changing(start), methods=["POST"]),
    Route("/work/{id}/run/pause", changing(pause), methods=["POST"]),
    Route("/work/{id}/run/stop", changing(stop), methods=["POST"]),
    Route("/work/{id}/run/anew", changing(begin_anew), methods=["POST"]),
    Route("/work/{id}/run/back", changing(take_back), methods=["POST"]),
]
