"""The form "Find a release for me": a limit, what the release is for, who the snooper is; and the question it asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disclique.app.beside import name_plainly
from disclique.app.fields import read_number, read_value, show_value
from disclique.app.looks import Seen
from disclique.app.projects import ADVISE, Project
from disclique.app.questions import Questions
from disclique.app.snoopers import OWN, ready_options, which
from disclique.errors import InputError
from disclique.locale import mark
from disclique.options.advice import ADVICE_ROWS
from disclique.options.table import list_of

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from disclique.advice.run import Question

COLUMNS = "columns"
USUAL_LIMIT = "0.09"  # EMA's policy 0070 and Health Canada's guidance
# What a release can be used for, each in the words of whoever uses it.
USES = (
    ("neighbours", mark("Who is near whom"), mark("The nearest neighbours of each person are still theirs.")),
    ("clusters", mark("Groups"), mark("People who are close together still form the same groups.")),
    ("distances", mark("Distances"), mark("How far apart people are, near and far.")),
    ("accessibility", mark("Ways to places"), mark("How far people have it to a doctor, a shop, a school.")),
    ("density", mark("Density"), mark("Where many people live, and where few.")),
    (
        "linkage",
        mark("Linkage"),
        mark("Records can still be joined with a file that is encoded in the same way."),
    ),
    (COLUMNS, mark("Columns"), mark("What the columns that are chosen here still tell.")),
)


@dataclass(frozen=True)
class Use:
    """Something that a release of this file can be used for."""

    name: str
    title: str
    sentence: str


@dataclass(frozen=True)
class Wishes:
    """What the form can offer for a file: uses that fit it, and the columns of which one can ask what they tell."""

    uses: tuple[Use, ...]
    columns: tuple[str, ...]


def offer_wishes(project: Project, seen: Seen) -> Wishes:
    """Return what the form offers for an opened file; what means nothing for its kind is not offered."""
    from disclique.spaces.base import ENCODINGS, MAPS, NOTHING, TEXTS

    numbers = [text.rpartition(":")[0].strip() for text in project.said.get("number", [])]
    columns = tuple(dict.fromkeys([*project.said.get("label", []), *numbers]))
    fitting = {COLUMNS} if columns else set()
    if seen.kind != NOTHING:
        fitting |= {"neighbours", "clusters", "distances"}
    if seen.kind in MAPS or numbers:
        fitting.add("accessibility")
    if seen.kind in MAPS:
        fitting.add("density")
    if seen.kind in (TEXTS, ENCODINGS):
        fitting.add("linkage")
    return Wishes(tuple(Use(*one) for one in USES if one[0] in fitting), columns)


def show_wishes(project: Project, wishes: Wishes, offered: Questions, folder: str) -> dict[str, Any]:
    """Return the values that the form shows for a project, by field; where nothing was asked yet, what is proposed."""
    asked = dict(one.partition(":")[::2] for one in project.purpose)
    names = list(asked) or [one.name for one in wishes.uses[:1]]
    columns = [one for one in asked.get(COLUMNS, "").split(",") if one] or list(wishes.columns)
    return {
        "limit": show_value(project.said.get("max_risk")) or USUAL_LIMIT,
        "person": show_value(project.said.get("max_risk_person")),
        "purpose": names,
        "column": columns if COLUMNS in names else [],
        "snooper": which(project.said, list(offered.ready)),
        "place": folder,
    }


def show_wishes_again(form: FormData) -> dict[str, Any]:
    """Return the values that the form shows after it could not be read: those that it has."""
    single = {name: str(form.get(name, "")) for name in ("limit", "person", "snooper", "place")}
    return single | {name: list(map(str, form.getlist(name))) for name in ("purpose", "column")}


def read_wishes(project: Project, form: FormData, offered: Questions) -> Project:
    """Return the project that the form asks for; an error in one sentence if it cannot be read.

    What was said by hand of the work stays; the masks do not, as it is masks that are looked for, and neither do
    recipients, as it is looked for one snooper.
    """
    who = str(form.get("snooper", OWN))
    person = read_value("max_risk_person", str(form.get("person", "")))
    if person is not None:
        ADVICE_ROWS["max_risk_person"].check(person)
    limits = {"max_risk": read_limit(str(form.get("limit", ""))), "max_risk_person": person}
    said = {"mask": None, **limits, **ready_options(who, offered.ready)}
    return replace(project, way=ADVISE, purpose=_read_purposes(form), recipients=()).with_said(**said)


def read_limit(text: str) -> float:
    """Return a limit, written as a share or per cent, with a point or a comma.

    >>> read_limit("0.09"), read_limit("9 %"), read_limit("0,09")
    (0.09, 0.09, 0.09)
    """
    if not text.strip():
        raise InputError("limit_not_said")
    share = read_number(text, ADVICE_ROWS["limit"].title, share=True)
    ADVICE_ROWS["limit"].check(share)
    return share


def _read_purposes(form: FormData) -> tuple[str, ...]:
    names, columns = (list(map(str, form.getlist(name))) for name in ("purpose", "column"))
    if COLUMNS in names and not columns:
        raise InputError("purpose_without_columns")
    if not names:
        raise InputError("purpose_not_said")
    return tuple(f"{COLUMNS}:{','.join(columns)}" if name == COLUMNS else name for name in names)


def list_fixed_rules(project: Project) -> list[str]:
    """Return the rules by which columns are made when the file is read; the others are ways that are tried."""
    return project.fixed_rules


def read_question(project: Project) -> Question:
    """Read the files of a project, and return what its advice is asked."""
    from disclique.advice.purposes import parse_purposes
    from disclique.advice.run import Question
    from disclique.audits.from_options import read_audit

    fixed = list_fixed_rules(project)
    ways = tuple(rule for rule in list_of(project.options.generalise) if rule not in fixed)
    as_it_is: dict[str, Any] = {"mask": ["none"], "generalise": fixed}
    audit = read_audit(Path(project.file), replace(project.options.filled(), **as_it_is))
    return Question(name_plainly(audit, project), parse_purposes(project.purpose, audit.target), (), ways)
