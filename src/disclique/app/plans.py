"""What is asked so far, as a file and as a command line that can be copied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from disclique.app.beside import named
from disclique.app.works import ASKED, Work


@dataclass(frozen=True)
class PlanText:
    """The same plan three times: a TOML file, the command with that file, and the command with everything in it.

    ``uploads`` says that files are named which came from the browser; ``declared`` that the file holds what the command
    line cannot say, for the annex.
    """

    toml: str
    short: str
    command: str
    uploads: bool
    declared: bool


def write_plan(work: Work, folder: str = "") -> PlanText:
    """Write down what is asked; ``folder`` is the name of the folder in which the result shall be."""
    from disclique.audits.call import write_command
    from disclique.options.table import differing

    shown = named(work)
    out = folder or "audit"
    file = f"./{shown.file}" if shown.file.startswith("-") else shown.file
    force = {"force": True} if work.forced else {}
    command = write_command(["audit", file], differing(shown.options.filled()) | {"out": out} | force)
    short = write_command(["audit", file], {"config": ASKED, "out": out} | force)
    uploads = any(work.folder in Path(path).parents for path in [work.file, *map(str, work.said.values())])
    return PlanText(shown.toml, short, command, uploads, bool(work.declared))
