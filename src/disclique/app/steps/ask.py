"""Ask: the snooper, the masks, the limit, and what it will take."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from disclique.app.beside import hide_paths, list_choices, suggest_folder, write_plan
from disclique.app.cards import GROUPS
from disclique.app.counts import RecodedColumn, count_dials
from disclique.app.estimates import Expected, look_at_all, read_audits
from disclique.app.fields import ASK_FIELDS, SNOOPER_FILES, SNOOPERS, fields_at
from disclique.app.looks import Finding, Seen
from disclique.app.number_lines import WAYS
from disclique.app.pages import changing, go, in_thread, page, site_of
from disclique.app.pictures import draw_mask
from disclique.app.projects import AUDIT, Project
from disclique.app.questions import (
    DECISION,
    HOW,
    Questions,
    explain_choices,
    offer,
    read_label_rules,
    read_questions,
    show_again,
    show_questions,
)
from disclique.app.recipient_cards import OWN as OWN_RECIPIENT
from disclique.app.recipient_cards import fields_beside, list_ready
from disclique.app.snoopers import OWN, ready_options
from disclique.app.wishes import offer_wishes, show_wishes, show_wishes_again
from disclique.errors import DiscliqueError, InputError
from disclique.locale import mark
from disclique.messages import Message
from disclique.options.advice import ADVICE_ROWS

CONFIRMED = "forced"  # the field whose values say which mistakes the person saw and called right
NO_MASK = mark("no_mask_chosen")


@dataclass(frozen=True)
class Said:
    """What the page says above its forms: a problem, what the look found, that it was refused or kept."""

    problem: Message | None = None
    remarks: tuple[Finding, ...] = ()
    refused: bool = False
    saved: bool = False


NOTHING_SAID = Said()


async def show(request: Request) -> Response:
    """Show the form."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    if not project.checked:
        return go(f"/work/{project.id}/open", request)
    return await show_page(request, project, said=Said(saved=request.query_params.get("saved") == "yes"))


async def save(request: Request, form: FormData) -> Response:
    """Keep what is asked, and show the form again."""
    project, problem = await _take(request, form)
    if problem is not None:
        return problem
    return go(f"/work/{project.id}/ask?saved=yes", request)


async def write(request: Request, form: FormData) -> Response:
    """Show the plan as a file and as a command line, as the form is filled in at this moment."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    try:
        asked = await in_thread(_read, site, project, form)
        plan = await in_thread(write_plan, asked, _folder_of(site, asked, form))
    except InputError as problem:
        return page(request, "ask_side", project=project, plan=None, problem=hide(problem.message, project, site))
    return page(request, "ask_side", project=asked, plan=plan, problem=None)


async def choose_snooper(request: Request, form: FormData) -> Response:
    """Fill in what a ready answer says of the snooper."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    seen = await in_thread(site.looks.look, project, site.places)
    offered = await in_thread(offer, project, seen, list_choices(site.places, project))
    who = str(form.get("who", OWN))
    values = show_again(form, offered)
    if who != OWN:
        asked = replace(project, said={}).with_said(**ready_options(who, offered.ready))
        ready = await in_thread(show_questions, asked, offered, "")
        values |= {name: ready[name] for name in (*SNOOPER_FILES, *SNOOPERS)}
    values |= {"who": who, "who_shown": who}
    return page(request, "ask_snooper", project=project, offered=offered, values=values, fields_at=fields_at)


async def show_recoded(request: Request, form: FormData) -> Response:
    """Show what becomes of labels that are made coarser, as the form is filled in at this moment."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    try:
        columns = await in_thread(_recode, project, read_label_rules(project, form))
    except DiscliqueError as problem:
        return page(request, "ask_recoded", columns=[], problem=hide(problem.message, project, site))
    return page(request, "ask_recoded", columns=columns, problem=None)


def _recode(project: Project, rules: list[str]) -> list[RecodedColumn]:
    from disclique.audits.from_options import read_target

    data = read_target(
        Path(project.file), project.with_said(generalise=[*project.fixed_rules, *rules]).options.filled()
    )
    return count_dials(data.labels, rules, file=project.shown)


async def estimate(request: Request, form: FormData) -> Response:
    """Find out what the audit will take, beside the server."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    try:
        asked = await in_thread(_read, site, project, form)
        if not asked.said.get("mask"):
            raise InputError(NO_MASK)
        forced = project.forced and asked.forced and _files(asked) == _files(project)  # another file needs another yes
        asked = await in_thread(site.projects.save, accept(asked, project.said.get("accept") if forced else None))
        request_ = {"file": asked.file, "said": asked.said, "recipients": asked.recipients}
        await in_thread(site.estimates.start, project.id, _key(asked), request_)
    except InputError as problem:
        heard = Expected(problem=hide(problem.message, project, site))
        return page(request, "ask_estimate", project=project, heard=heard, running=False, doubts=[], shown="")
    return await follow(request)


async def follow(request: Request) -> Response:
    """Show what the estimate has found so far."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    found = site.estimates.get(project.id)
    heard = Expected() if found is None else found.heard
    hidden = Expected(
        look=[replace(one, message=hide(one.message, project, site)) for one in heard.look or []],
        does=[hide(line, project, site) for line in heard.does or []],
        settings=heard.settings,
        takes=heard.takes,
        problem=None if heard.problem is None else hide(heard.problem, project, site),
    )
    doubts = [one for one in hidden.look or [] if one.likely_wrong]
    running = found is not None and not found.ended
    return page(
        request,
        "ask_estimate",
        project=project,
        heard=hidden,
        running=running,
        doubts=doubts,
        shown=digest_doubts(doubts),
    )


async def stop_estimate(request: Request, form: FormData) -> Response:
    """End the estimate."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    await in_thread(site.estimates.stop, project.id)
    return page(request, "ask_estimate", project=project, heard=Expected(), running=False, doubts=[], shown="")


async def start(request: Request, form: FormData) -> Response:
    """Keep what is asked, look at everything once more, and start the audit."""
    site = site_of(request)
    before = site.projects.get(request.path_params["id"])
    try:
        asked = await in_thread(_read, site, before, form)
        if not asked.said.get("mask"):
            raise InputError(NO_MASK)
        remarks = await in_thread(_look_at_all, site, asked)
    except DiscliqueError as problem:
        return await show_page(request, before, form, said=Said(problem.message))
    said = [replace(one, message=hide(one.message, asked, site)) for one in remarks]
    doubts = [one for one in said if one.likely_wrong]
    confirmed = digest_doubts(doubts) in map(str, form.getlist(CONFIRMED))
    if not confirmed and any(one.mistake for one in doubts):
        return await show_page(request, before, form, said=Said(remarks=tuple(said), refused=True))
    accepted = list(dict.fromkeys(one.name for one in doubts)) if confirmed else []
    project, problem_page = await _take(request, form, accepted)
    if problem_page is not None:
        return problem_page
    site.estimates.stop(project.id)
    return RedirectResponse(
        f"/work/{project.id}/run/start", 307
    )  # the browser posts the same form, with its token, there


async def _take(request: Request, form: FormData, accepted: list[str] | None = None) -> tuple[Project, Response | None]:
    """Read and keep what the form asks, in the folder that it names; else return the page that says what is wrong."""
    site = site_of(request)
    before = site.projects.get(request.path_params["id"])
    try:
        asked = await in_thread(_read, site, before, form)
        if accepted is None and before.forced and asked.forced and _files(asked) == _files(before):
            accepted = before.said.get("accept")
        asked = accept(asked, accepted)
        name = str(form.get("folder", "")).strip()
        keep = name and not site.projects.is_kept(before)
        if keep:
            site.places.new_folder(name)  # says what is wrong with it before anything is written
        project = await in_thread(site.projects.change, asked)
        if keep:
            project = await in_thread(site.projects.keep, project, name)
    except InputError as problem:
        return before, await show_page(request, before, form, said=Said(problem.message))
    return project, None


def hide(said: Message, project: Project, site: Any) -> Message:
    """Return a message without paths of this machine."""
    return hide_paths(said, project, site.places.private, site.places.start)


def _read(site: Any, project: Project, form: FormData) -> Project:
    seen = site.looks.look(project, site.places)
    return read_questions(project, form, offer(project, seen, list_choices(site.places, project)))


def _look_at_all(site: Any, project: Project) -> list[Finding]:
    """Look at all files and masks as the audit will, unless an estimate of the same plan has done so."""
    found = site.estimates.get(project.id)
    if (
        found is not None
        and found.plan == _key(project)
        and found.heard.look is not None
        and found.heard.does is not None
    ):
        return list(found.heard.look)
    audits = read_audits(project)
    for _, audit in audits:
        audit.check_masks()
    return look_at_all(audits)


async def show_page(
    request: Request,
    project: Project,
    form: FormData | None = None,
    *,
    wishes: FormData | None = None,
    said: Said = NOTHING_SAID,
) -> Response:
    """Show both forms: with what is kept, or with what could not be read of one of them (``form`` or ``wishes``)."""
    site = site_of(request)
    seen: Seen = await in_thread(site.looks.look, project, site.places)
    offered = await in_thread(offer, project, seen, list_choices(site.places, project))
    folder = await in_thread(suggest_folder, site.places.start, "audit", project)
    if form is None:
        values = await in_thread(show_questions, project, offered, folder)
    else:
        values = show_again(form, offered)
    try:
        by_hand = replace(project, way=AUDIT)
        asked = by_hand if form is None else await in_thread(_read, site, project, form)
        plan = await in_thread(write_plan, asked, _folder_of(site, asked, form) or folder)
    except InputError:
        plan = None
    remarks = list(said.remarks or seen.doubts)
    mistakes, doubts = [one for one in remarks if one.mistake], [one for one in remarks if one.likely_wrong]
    sought = offer_wishes(project, seen)
    if wishes is None:
        wished = show_wishes(
            project, sought, offered, await in_thread(suggest_folder, site.places.start, "advice", project)
        )
    else:
        wished = show_wishes_again(wishes)
    content = {
        "project": project,
        "here": "ask",
        "sought": sought,
        "wished": wished,
        "limit": ADVICE_ROWS["limit"],
        "by_hand": form is not None or said.saved or (project.way == AUDIT and bool(project.said.get("mask"))),
        "offered": offered,
        "values": values,
        "fields": ASK_FIELDS,
        "fields_at": fields_at,
        **await in_thread(offer_recipients),
        "groups": GROUPS,
        "first": next((n for n, (group, _, _) in enumerate(GROUPS) if _offers(offered, group)), 0),
        "pictures": await in_thread(_pictures, offered),
        "how": HOW,
        "ways": WAYS,
        "decision": DECISION,
        "turned": any(value for name, value in values.items() if name.startswith("how:") or name == "more_rules"),
        "plan": plan,
        "problem": None if said.problem is None else hide(said.problem, project, site),
        "unread": seen.problem,
        "remarks": remarks,
        "mistakes": mistakes,
        "doubts": doubts,
        "shown": digest_doubts(doubts),
        "forced": project.forced if form is None else digest_doubts(doubts) in map(str, form.getlist(CONFIRMED)),
        "kept": site.projects.is_kept(project),
        "undoable": site.projects.can_undo(project),
        "saved": said.saved,
        **await in_thread(explain_choices, offered.alone),
    }
    return page(request, "ask", 422 if said.problem is not None or said.refused else 200, **content)


def offer_recipients() -> dict[str, Any]:
    """Return what the part of the form needs that says who gets the release."""
    return {"ready_recipients": list_ready(), "fields_beside": fields_beside, "own_recipient": OWN_RECIPIENT}


def _offers(offered: Questions, group: str) -> bool:
    return any(card.group == group and card.reason is None for card in offered.cards)


def _pictures(offered: Questions) -> dict[str, tuple[str, str]]:
    return {card.name: draw_mask(card.name) for card in offered.cards}


def _folder_of(site: Any, project: Project, form: FormData | None) -> str:
    if site.projects.is_kept(project):
        return project.folder.name
    return "" if form is None else str(form.get("folder", "")).strip()


def _files(project: Project) -> dict[str, Any]:
    """Return what decides which mistakes a look can find."""
    return {"files": project.files_named, "label_error": project.said.get("label_error"), "to": project.recipients}


def digest_doubts(doubts: list[Finding]) -> str:
    """Return a text that only the same doubts have."""
    return hashlib.sha256("\n".join(sorted(repr(one.message) for one in doubts)).encode()).hexdigest()[:16]


def accept(project: Project, names: list[str] | None) -> Project:
    """Return the project with what the person said to be right so, by its names."""
    return replace(project, forced=bool(names)).with_said(accept=names)


def _key(project: Project) -> str:
    """Return a text that only the same question about the same files has."""
    paths = [project.file, *(str(value) for value in project.files_named if Path(str(value)).is_absolute())]
    stamps = [(path, Path(path).stat().st_mtime_ns) for path in paths if Path(path).exists()]
    said = {name: value for name, value in project.said.items() if name != "accept"}
    return json.dumps([stamps, said, project.recipients], sort_keys=True, default=str)


routes = [
    Route("/work/{id}/ask", show, methods=["GET"]),
    Route("/work/{id}/ask", changing(save), methods=["POST"]),
    Route("/work/{id}/plan", changing(write), methods=["POST"]),
    Route("/work/{id}/recoded", changing(show_recoded), methods=["POST"]),
    Route("/work/{id}/snooper", changing(choose_snooper), methods=["POST"]),
    Route("/work/{id}/estimate", follow, methods=["GET"]),
    Route("/work/{id}/estimate", changing(estimate), methods=["POST"]),
    Route("/work/{id}/estimate/stop", changing(stop_estimate), methods=["POST"]),
    Route("/work/{id}/start", changing(start), methods=["POST"]),
]
