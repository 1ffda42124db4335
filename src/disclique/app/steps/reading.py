"""Read: the report, two audits side by side, and who is exposed."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from disclique.app.advised import find_result
from disclique.app.pages import changing, go, in_thread, language_of, page, site_of
from disclique.app.projects import Missing, Project
from disclique.app.results import PAGES
from disclique.errors import InputError
from disclique.locale import texts_in
from disclique.show.report.vega import draw_settings

if TYPE_CHECKING:
    from disclique.app.results import Comparison
    from disclique.audits import AuditResult

KEPT = "private, max-age=86400"  # of what is the same for every server of this version
RECORDS = "records.csv"  # as audits name it, whose import takes seconds
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
AT_ONCE = 100  # records of one page


async def show(request: Request) -> Response:
    """Show the verdict and the report."""
    site, project = site_of(request), await _project(request)
    if not project.result.exists():
        return go(f"/work/{project.id}/{project.answer_step if project.answer.exists() else 'run'}", request)
    result = await in_thread(site.results.get, project)
    others = [] if project.parent else [one for one in await in_thread(_finished, request) if one.id != project.id]
    headline = await in_thread(_status, result)
    return page(request, "read", project=project, here="read", result=result, headline=headline, others=others)


async def send_page(request: Request) -> Response:
    """Send the report or the annex as a page of its own, for the frame in which it is shown."""
    site, project, name = site_of(request), await _project(request), request.path_params["name"]
    if name not in PAGES or not project.result.exists():
        raise Missing(name)
    return await _safe(request, await in_thread(site.results.page, project, name, language_of(request)))


async def download(request: Request) -> Response:
    """Send the report, the annex, the result or the figures as a file; nothing else of the folder has a name here."""
    site, project, name = site_of(request), await _project(request), request.path_params["name"]
    if not project.result.exists():
        raise Missing(name)
    language = language_of(request)
    made: dict[str, tuple[str, Callable[[], str | bytes]]] = {
        "report.html": ("text/html; charset=utf-8", partial(site.results.page, project, "report", language)),
        "annex.html": ("text/html; charset=utf-8", partial(site.results.page, project, "annex", language)),
        "annex.docx": (WORD, partial(site.results.word, project, language)),
        "result.json": ("application/json", partial(site.results.json, project)),
        "figures.zip": ("application/zip", partial(site.results.figures, project)),
    }
    if name not in made:
        raise Missing(name)
    kind, make = made[name]
    return Response(await in_thread(make), media_type=kind, headers=as_file(name))


async def ask_exposed(request: Request) -> Response:
    """Say what the internal view shows, before it is shown."""
    project = await _project(request)
    if not project.result.exists():
        raise Missing(project.id)
    return page(request, "exposed", project=project, here="read", table=None)


async def show_exposed(request: Request, form: FormData) -> Response:
    """Show the risk of every single record, the highest first."""
    site, project = site_of(request), await _project(request)
    if not project.result.exists():
        raise Missing(project.id)
    result = await in_thread(site.results.get, project)
    spec = str(form.get("setting") or result.verdict.setting)
    wanted = str(form.get("page", "1"))
    number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 9 else 1
    table = await in_thread(_expose, project, spec, number)
    whole = await in_thread(site.results.report_with_records, project, language_of(request)) is not None
    specs = [setting.spec for setting in result.settings]
    return page(request, "exposed", project=project, here="read", table=table, spec=spec, specs=specs, whole=whole)


async def show_exposed_report(request: Request, form: FormData) -> Response:
    """Show the report with places and ids, which an audit makes only if it is told to."""
    site, project = site_of(request), await _project(request)
    if not project.result.exists():
        raise Missing(project.id)
    text = await in_thread(site.results.report_with_records, project, language_of(request))
    if text is None:
        raise Missing(project.id)
    return await _safe(request, text)


async def show_compared(request: Request) -> Response:
    """Show two audits side by side, or ask which."""
    projects = await in_thread(_finished, request)
    by_id = {project.id: project for project in projects}
    chosen = [by_id.get(request.query_params.get(name, "")) for name in ("a", "b")]
    content: dict[str, Any] = {"projects": projects, "chosen": chosen, "found": None}
    one, other = chosen
    if one is not None and other is not None:
        results = [await in_thread(site_of(request).results.get, project) for project in (one, other)]
        content |= await in_thread(_compare, (one, other), results, language_of(request))
    return page(request, "compare", **content)


async def send_charts(request: Request) -> Response:
    """Send the chart library, the same as in the report."""
    return Response(
        await in_thread(site_of(request).results.charts.get),
        media_type="text/javascript",
        headers={"cache-control": KEPT},
    )


def as_file(name: str) -> dict[str, str]:
    """Return the headers of a file that is to be saved, under a plain name."""
    return {"content-disposition": f'attachment; filename="{name}"'}


async def _project(request: Request) -> Project:
    found: Project = await in_thread(find_result, site_of(request), request.path_params["id"])
    return found


async def _safe(request: Request, text: str) -> Response:
    policy = await in_thread(site_of(request).results.policy)
    return HTMLResponse(text, headers={"content-security-policy": policy, "cache-control": "no-store"})


def _finished(request: Request) -> list[Project]:
    return [project for project in site_of(request).projects.list() if project.result.exists()]


def _status(result: AuditResult) -> str:
    from disclique.show.report.page import STATUS

    return STATUS[result.verdict.status]


def _expose(project: Project, spec: str, number: int) -> dict[str, Any]:
    """Return one page of the records under a setting, those at the highest risk first."""
    try:
        with (project.folder / RECORDS).open(encoding="utf-8", newline="") as file:
            rows: list[dict[str, Any]] = [row for row in csv.DictReader(file) if row["mask"] == spec]
        attacks = [name for name in (rows[0] if rows else {}) if name.startswith("risk_")]
        for row in rows:
            row.update({name: float(row[name]) if row[name] else None for name in ("risk", *attacks)})
        rows.sort(key=lambda row: (1.0 if row["risk"] is None else -row["risk"], int(row["row"])))
    except (OSError, KeyError, ValueError, TypeError, csv.Error) as problem:
        raise InputError(f"{RECORDS}: cannot be read ({problem})".replace(f"{project.folder}/", "")) from None
    pages = max(1, -(-len(rows) // AT_ONCE))
    number = min(max(number, 1), pages)
    shown = rows[(number - 1) * AT_ONCE : number * AT_ONCE]
    attacks = [name for name in attacks if any(row[name] is not None for row in rows)]
    return {"rows": shown, "attacks": attacks, "number": number, "pages": pages, "many": len(rows)}


def _compare(projects: tuple[Project, Project], results: Sequence[AuditResult], language: str) -> dict[str, Any]:
    from disclique.app.results import compare
    from disclique.measures.utility import measures

    first, second = results
    found = compare(first, second, texts_in(language))
    measure = measures()[first.plan.utility]
    limits = list(dict.fromkeys(r.plan.max_risk for r in (first, second) if r.plan.max_risk is not None))
    names = ["A", "B"]
    draw = partial(
        draw_settings,
        _points(found, names),
        names,
        utility={"title": measure.title, "format": measure.format},
        limits=limits,
    )
    status = [_status(result) for result in (first, second)]
    pairs = list(zip(names, projects, results, status, strict=True))
    formats = [measures()[result.plan.utility].format for result in (first, second)]
    drawn = {"draw": draw if found.drawable else None, "measure": measure.heading}
    return {"found": found, "pairs": pairs, "formats": formats, **drawn}


def _points(found: Comparison, names: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "setting": setting.brief or spec,
            "group": name,
            "risk": setting.risk.value,
            "high": setting.risk.high,
            "use": setting.usefulness,
            "sure": str(setting.repetitions),
        }
        for spec, *pair in found.settings
        for name, setting in zip(names, pair, strict=True)
        if setting is not None and setting.usefulness is not None
    ]


routes = [
    Route("/work/{id}/read", show, methods=["GET"]),
    Route("/work/{id}/pages/{name}", send_page, methods=["GET"]),
    Route("/work/{id}/download/{name}", download, methods=["GET"]),
    Route("/work/{id}/exposed", ask_exposed, methods=["GET"]),
    Route("/work/{id}/exposed", changing(show_exposed), methods=["POST"]),
    Route("/work/{id}/exposed/report", changing(show_exposed_report), methods=["POST"]),
    Route("/compare", show_compared, methods=["GET"]),
    Route("/vega.js", send_charts, methods=["GET"]),
]
