"""Releases that an advice found, each as a project of its own: read, downloaded and released like any audited one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.app.projects import ADVICE, AUDIT, BEGUN, Missing, Project, read_project

if TYPE_CHECKING:
    from disclique.advice import Advice
    from disclique.app.server import Site

AUDITS = "audits"  # the folder of their audits, as advice names it
DIGITS = 3  # of the number of a release, at the most


def find_result(site: Site, id: str) -> Project:
    """Return the project of an id, or of ``id-2`` the second release that its advice found."""
    whole, _, number = id.partition("-")
    project = site.projects.get(whole)
    if not number:
        return project
    if not (number.isascii() and number.isdigit() and len(number) <= DIGITS and project.answer.name == ADVICE):
        raise Missing(id)
    return as_project(project, site.results.advice(project), int(number))


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
    return replace(found, way=AUDIT, purpose=(), advice=project.id, chosen=one.setting)
