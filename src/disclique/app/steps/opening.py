"""Open: look at the file, and say what its columns are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from disclique.app.beside import find_file, hide_paths, list_choices, receive_beside, value_of, write_plan
from disclique.app.counts import RecodedColumn, count_rules
from disclique.app.fields import FIELDS, LAYOUT, read_lines, show_value
from disclique.app.looks import Seen, look_at_first
from disclique.app.pages import changing, go, in_thread, page, site_of
from disclique.app.projects import BLOCK, DONE, NEW, PAUSED, RUNNING, Project
from disclique.app.roles import (
    EAST,
    ENCODING,
    ID,
    LABEL,
    NORTH,
    NUMBER,
    ROLES,
    SENSITIVE,
    TEXT,
    UNCHANGED,
    UNIT_OF,
    WEIGHT,
    Guess,
    Preview,
    guess_roles,
)
from disclique.errors import DiscliqueError, InputError
from disclique.locale import mark
from disclique.messages import Message

ROLE = "role:"  # how the field of a column begins
WORDS = ("metric", "crs", "unit", "sheet", "layer")
SWITCHES = ("directed", "unpublished", "codes")
FILES_BESIDE = ("distances", "vectors", "encodings")
COLUMNS_SHOWN = 400  # columns with a field of their own
MANY_COLUMNS = 30  # from so many on the table has a height of its own, and a field to filter it


async def resume(request: Request) -> Response:
    """Go to the step at which a project is."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    state = site.runner.state(project)
    step = {DONE: project.answer_step, RUNNING: "run", PAUSED: "run"}.get(state, "run" if state != NEW else "")
    return go(f"/work/{project.id}/{step or ('ask' if project.checked else 'open')}", request)


async def show(request: Request) -> Response:
    """Show the first rows, what the columns seem to be, and the look at the file."""
    project = site_of(request).projects.get(request.path_params["id"])
    return await _page(request, project, project)


async def look(request: Request, form: FormData) -> Response:
    """Show the look again, for the roles that the form has."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    try:
        asked = await in_thread(_read_form, project, form, site)
    except InputError as problem:
        return page(
            request,
            "open_look",
            project=project,
            seen=Seen(problem=_hide(problem.message, project, site)),
            plan=None,
            first=False,
        )
    plan = await in_thread(write_plan, asked)
    wanted = site.looks.ask(project.id)
    first = await in_thread(look_at_first, asked, site.places) if form.get("first") else None
    if first is not None:
        return page(request, "open_look", project=asked, seen=first, plan=plan, first=True)
    seen = await in_thread(site.looks.look, asked, site.places, wanted)
    return page(request, "open_look", project=asked, seen=seen, plan=plan, first=False)


async def confirm(request: Request, form: FormData) -> Response:
    """Take the roles as they are confirmed, if the file can be read so."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    if form.get("again"):  # another part of the file: its columns are guessed anew
        part = {name: str(form.get(name, "")) or None for name in ("sheet", "layer")}
        site.projects.save(replace(project, checked=False, said={}).with_said(**part))
        return go(f"/work/{project.id}/open", request)
    try:
        asked = await in_thread(_read_form, project, form, site)
    except InputError as problem:
        return await _page(request, project, project, form, problem=_hide(problem.message, project, site))
    seen = await in_thread(site.looks.look, asked, site.places)
    if seen.problem or (seen.mistakes and not asked.forced):
        return await _page(request, project, asked, form, problem=seen.problem, seen=seen)
    forced = asked.forced and bool(seen.doubts)
    accepted = list(dict.fromkeys(one.name for one in seen.doubts)) if forced else None
    asked = replace(asked, checked=True, forced=forced).with_said(accept=accepted)
    if asked != project:
        site.projects.change(asked)
    return go(f"/work/{project.id}/ask", request)


async def undo(request: Request, form: FormData) -> Response:
    """Ask again what was asked before the last change."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    before = await in_thread(site.projects.undo, project)
    return go(f"/work/{project.id}/{'ask' if before.checked else 'open'}", request)


async def show_made(request: Request, form: FormData) -> Response:
    """Show the values of columns that are made by the rules of the form, as it is filled in at this moment."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    try:
        columns = await in_thread(_count_made, project, form)
    except DiscliqueError as problem:
        return page(request, "ask_recoded", columns=[], problem=_hide(problem.message, project, site))
    return page(request, "ask_recoded", columns=columns, problem=None)


def _count_made(project: Project, form: FormData) -> list[RecodedColumn]:
    from disclique.records.formats import Part, read_table

    rules = read_lines(str(form.get("generalise", "")))
    if not rules:
        return []
    sheet, layer = (str(form.get(name, "")) or None for name in ("sheet", "layer"))
    return count_rules(read_table(Path(project.file), Part(sheet, layer, bool(form.get("codes")))), rules)


async def add_file(request: Request) -> Response:
    """Take a further file from the browser, to be chosen in a form."""
    site = site_of(request)
    project = site.projects.get(request.path_params["id"])
    try:
        taken, chosen = await receive_beside(request, project, site)
    except InputError as problem:
        if request.headers.get("hx-request") != "true":
            raise
        return page(
            request,
            "open_beside",
            project=project,
            choices=[],
            name="",
            value="",
            problem=_hide(problem.message, project, site),
        )
    name = taken.fields.get("as", "")
    if name not in (*FIELDS, BLOCK):
        raise InputError("form_without_purpose")
    if request.headers.get("hx-request") != "true":
        return go(f"/work/{project.id}/{'open' if name in FILES_BESIDE else 'ask'}", request)
    choices = list_choices(site.places, project)
    return page(request, "open_beside", project=project, choices=choices, name=name, value=chosen.value, problem=None)


def _hide(said: Message, project: Project, site: Any) -> Message:
    return hide_paths(said, project, site.places.private, site.places.start)


async def _page(
    request: Request,
    project: Project,
    asked: Project,
    form: FormData | None = None,
    *,
    problem: Message | None = None,
    seen: Seen | None = None,
) -> Response:
    site = site_of(request)
    found: Preview | None = None
    unread: Message | None = None
    try:
        part = {name: str(form.get(name, "")) if form else asked.said.get(name, "") for name in ("sheet", "layer")}
        codes = bool(form.get("codes")) if form else bool(asked.said.get("codes"))
        sheet, layer = part["sheet"] or None, part["layer"] or None
        found = await in_thread(site.previews.get, Path(project.file), sheet, layer, codes=codes)
    except DiscliqueError as error:
        unread = _hide(error.message, project, site)
    parts = found.parts if found else await in_thread(_parts, Path(project.file))
    choices = list_choices(site.places, project)
    guesses = _guesses(asked, found, form)
    if form is None and not project.checked and found and not _has_layout(project):
        asked = _with_guesses(project, guesses)
    values = _values(asked, form, choices)
    plan = await in_thread(write_plan, asked)
    content = {
        "project": project,
        "here": "open",
        "preview": found,
        "unread": unread,
        "sections": parts,
        "section": await in_thread(_section, Path(project.file)),
        "guesses": guesses[:COLUMNS_SHOWN],
        "more": len(guesses) - COLUMNS_SHOWN,
        "roles": ROLES,
        "undoable": site.projects.can_undo(project),
        "many": MANY_COLUMNS,
        "choices": choices,
        "values": values,
        "problem": problem,
        "seen": seen,
        "plan": plan,
        "fields": FIELDS,
        "forced": asked.forced,
        "systems": await in_thread(_systems, found, guesses),
    }
    return page(request, "open", 422 if problem or (seen is not None and seen.mistakes) else 200, **content)


def _parts(path: Path) -> tuple[str, ...]:
    from disclique.records.formats import list_parts

    return list_parts(path)


def _section(path: Path) -> str:
    """Return what a part of the file is called: sheet or layer."""
    from disclique.records.formats import format_of

    found = format_of(path)
    return "" if found is None else found.section


def _has_layout(project: Project) -> bool:
    return any(name in LAYOUT and name not in ("sheet", "layer") for name in project.said)


def _guesses(project: Project, found: Preview | None, form: FormData | None) -> list[tuple[Any, Guess]]:
    """Return each column with the role that the form or the work has for it, else the one guessed."""
    if found is None:
        return []
    guessed = {guess.column: guess for guess in guess_roles(found.columns, geometry=found.geometry)}
    if form is not None:
        given = {
            name: Guess(name, str(form.get(ROLE + name, guess.role)), guess.why) for name, guess in guessed.items()
        }
    elif project.checked or _has_layout(project):
        given = {name: Guess(name, role, guessed[name].why) for name, role in _roles_of(project, list(guessed)).items()}
    else:
        given = guessed
    columns = [(column, given[column.name]) for column in found.columns]
    if len(columns) > COLUMNS_SHOWN:  # what has a role is never among those that are left out
        columns = sorted(columns, key=lambda pair: not pair[1].role)
    return columns


def _roles_of(project: Project, names: list[str]) -> dict[str, str]:
    from disclique.records.encoded_people import name_columns

    options = project.options
    found = dict.fromkeys(names, "")
    places = [part.strip() for part in str(options.coordinates or "").split(",")] if options.coordinates else []
    roles = [EAST, NORTH] if len(places) == 2 else []
    for number, name in enumerate(places):
        found[name] = roles[number] if roles else NUMBER
    for name in options.texts:
        found[name] = TEXT
    for name in options.label or []:
        found[name] = LABEL
    units = {unit: role for role, unit in UNIT_OF.items()}
    for name, _, unit in (text.rpartition(":") for text in options.number or []):
        found[name.strip()] = units.get(unit.strip(), "")
    for role, names_of in ((SENSITIVE, options.sensitive), (UNCHANGED, options.plain)):
        found |= dict.fromkeys(names_of or [], role)
    if options.weight is not None:
        found[options.weight] = WEIGHT
    found |= dict.fromkeys(name_columns(options.encodings, found), ENCODING)
    if options.id is not None:
        found[options.id] = ID
    return {name: found[name] for name in names}


def _with_guesses(project: Project, guesses: list[tuple[Any, Guess]]) -> Project:
    try:
        return project.with_said(**_layout_of({guess.column: guess.role for _, guess in guesses if guess.role}))
    except InputError:
        return project


def _layout_of(roles: dict[str, str]) -> dict[str, Any]:
    """Return the options that say the roles of columns."""

    def having(role: str) -> list[str]:
        return [name for name, one in roles.items() if one == role]

    alone = ((ID, mark("the_id")), (EAST, mark("the_longitude")), (NORTH, mark("the_latitude")))
    for role, what in (*alone, (WEIGHT, mark("the_weight"))):
        if len(having(role)) > 1:
            raise InputError("one_column_only", columns=map(repr, having(role)), what=Message(what))
    if bool(having(EAST)) != bool(having(NORTH)):
        raise InputError("coordinate_alone", alone=[*having(EAST), *having(NORTH)][0])
    places = [*having(EAST), *having(NORTH), *having(NUMBER)]
    for name in (*places, *having(TEXT), *(having(ENCODING) if len(having(ENCODING)) > 1 else ())):
        if "," in name or name != name.strip() or not name:
            raise InputError("column_name_unusable", name=name)
    return {
        "id": next(iter(having(ID)), None),
        "label": having(LABEL),
        "number": [f"{name}:{UNIT_OF[role]}" for name, role in roles.items() if role in UNIT_OF],
        "coordinates": ",".join(places) or None,
        "text": having(TEXT),
        "encodings": ",".join(having(ENCODING)) or None,
        "sensitive": having(SENSITIVE),
        "plain": having(UNCHANGED),
        "weight": next(iter(having(WEIGHT)), None),
    }


def _read_form(project: Project, form: FormData, site: Any) -> Project:
    """Return the work with what the form says of the file; an error in one sentence if that cannot be."""
    from disclique.records.coarsening import is_dial

    known = {role for role, _, _ in ROLES}
    roles = {name.removeprefix(ROLE): str(role) for name, role in form.items() if name.startswith(ROLE)}
    for name, role in roles.items():
        if role not in known:
            raise InputError("no_such_role", name=name, role=role)
    layout = _layout_of({name: role for name, role in roles.items() if role})
    layout["label"] = list(dict.fromkeys([*layout["label"], *read_lines(str(form.get("more_labels", "")))]))
    choices = list_choices(site.places, project)
    for name in FILES_BESIDE:
        if value := str(form.get(name, "")):
            if layout.get(name):
                raise InputError("encodings_chosen_twice", column=layout[name])
            layout[name] = find_file(value, choices)
    for name in WORDS:
        layout[name] = str(form.get(name, "")).strip() or None
    for name in SWITCHES:
        layout[name] = True if form.get(name) else None
    joined = str(form.get("by_position", ""))
    if joined not in ("", "yes", "no"):
        raise InputError("choose_an_answer", title=FIELDS["by_position"].title)
    layout["by_position"] = {"yes": True, "no": False}.get(joined)
    fixed = read_lines(str(form.get("generalise", "")))
    for rule in fixed:
        if is_dial(rule):
            raise InputError("generaliser_range_too_early", rule=rule)
    dials = [rule for rule in project.said.get("generalise", []) if is_dial(rule)]
    layout["generalise"] = [*fixed, *dials]
    rest = {name: value for name, value in project.said.items() if name not in LAYOUT}
    asked = replace(project, said={}).with_said(**layout)
    return replace(asked, said={**asked.said, **rest}, forced=bool(form.get("forced")))


def _values(project: Project, form: FormData | None, choices: list[Any]) -> dict[str, str]:
    """Return what the fields beside the table show."""
    names = (*WORDS, *SWITCHES, *FILES_BESIDE, "by_position", "generalise", "more_labels")
    if form is not None:
        return {name: str(form.get(name, "")) for name in names}
    from disclique.records.coarsening import is_dial

    found = {name: show_value(project.said.get(name)) for name in (*WORDS, *SWITCHES, "by_position")}
    found |= {name: value_of(project.said.get(name), choices) for name in FILES_BESIDE}
    found["generalise"] = "\n".join(rule for rule in project.said.get("generalise", []) if not is_dial(rule))
    made = [rule.partition("=")[0].strip() for rule in found["generalise"].splitlines()]
    found["more_labels"] = "\n".join(name for name in project.said.get("label", []) if name in made)
    return found


def _systems(found: Preview | None, guesses: list[tuple[Any, Guess]]) -> list[str]:
    """Return reference systems that plane coordinates look like."""
    from disclique.records.formats.projections import RANGES, likely_systems

    middles = []
    for role in (EAST, NORTH):
        numbers = next((column.numbers for column, guess in guesses if guess.role == role), None)
        if not numbers:
            return []
        middles.append(sorted(numbers)[len(numbers) // 2])
    return [str(one) for one in likely_systems(*middles)] if max(map(abs, middles)) > RANGES.largest_degrees else []


routes = [
    Route("/work/{id}", resume, methods=["GET"]),
    Route("/work/{id}/open", show, methods=["GET"]),
    Route("/work/{id}/open", changing(confirm), methods=["POST"]),
    Route("/work/{id}/look", changing(look), methods=["POST"]),
    Route("/work/{id}/made", changing(show_made), methods=["POST"]),
    Route("/work/{id}/undo", changing(undo), methods=["POST"]),
    Route("/work/{id}/file", add_file, methods=["POST"]),
]
