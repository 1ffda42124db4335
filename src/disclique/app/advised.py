"""What belongs to a project as projects of their own, read, downloaded and released like any audited one.

They are the releases that an advice found, and what was found for each of several recipients.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.app.projects import ADVICE, AUDIT, BEGUN, EACH, RECIPIENTS, Missing, Project, read_project

if TYPE_CHECKING:
    from disclique.advice import Advice
    from disclique.app.server import Site
    from disclique.audits.recipient_facts import RecipientsFacts

AUDITS = "audits"  # the folder of their audits, as advice names it
DIGITS = 3  # of the number of a release, at the most


def find_result(site: Site, id: str) -> Project:
    """Return the project of an id, or of ``id-2`` the second release that its advice found, or its second recipient."""
    whole, _, number = id.partition("-")
    project = site.projects.get(whole)
    if not number:
        return project
    if not (number.isascii() and number.isdigit() and len(number) <= DIGITS):
        raise Missing(id)
    if project.answer.name == RECIPIENTS:
        return as_recipient(project, site.results.recipients(project), int(number))
    if project.answer.name != ADVICE:
        raise Missing(id)
    return as_project(project, site.results.advice(project), int(number))


def as_recipient(project: Project, facts: RecipientsFacts, number: int) -> Project:
    """Return what was found for a recipient, counted from 1, as a project: an audit as if they were the only one."""
    if not 1 <= number <= len(facts.recipients):
        raise Missing(f"{project.id}-{number}")
    name = facts.recipients[number - 1].name
    if Path(name).name != name or name in (".", ".."):
        raise Missing(f"{project.id}-{number}")
    asked = read_project(project.folder, BEGUN) or project
    found = replace(asked, id=f"{project.id}-{number}", folder=project.folder / EACH / name)
    return replace(found, parent=project.id, recipient=name)


def as_project(project: Project, advice: Advice, number: int) -> Project:
    """Return a release of an advice, counted from 1, as a project: with the columns that were asked about then."""
    if not 1 <= number <= len(advice.releases):
        raise Missing(f"{project.id}-{number}")
    one = advice.releases[number - 1]
    place, left_out = Path(one.audit), one.list_of_left_out
    inside = len(place.parts) == 2 and place.parts[0] == AUDITS and place.name.isdigit()
    if not inside or Path(left_out).name != left_out:
        raise Missing(f"{project.id}-{number}")
    asked = read_project(project.folder, BEGUN) or project
    said = {**asked.said, "mask": [one.setting]}
    if left_out:
        said["leave_out"] = str(project.folder / left_out)
    found = replace(asked, id=f"{project.id}-{number}", said=said, folder=project.folder / place)
    return replace(found, way=AUDIT, purpose=(), parent=project.id, chosen=one.setting)
