"""``disclique demo``: an audit of the bundled synthetic survey, from the file to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option(help="Folder for the result and the report.")] = Path("demo"),
    processes: Annotated[int | None, typer.Option(help="Processes (all cores).")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Audit a bundled synthetic survey of 500 people and write the report."""
    from disclique.audits.call import write_command
    from disclique.audits.from_options import read_audit
    from disclique.audits.inspection import inspect_audit
    from disclique.audits.summarise import About
    from disclique.cli.audit import show_audit
    from disclique.cli.screen import Screen
    from disclique.options.audits import AuditOptions
    from disclique.runs import choose_executor
    from disclique.synthetic.survey import survey_file

    # A rigid motion, noise on the distances, and a search for the noise on coordinates that is enough. Few repetitions
    # and three attacks keep it short.
    options = AuditOptions(
        id="id",
        label=["sex", "age_class"],
        coordinates="lon,lat",
        mask=["affine", "matrix-gaussian:sd=21.5km", "gaussian:sigma=5km..50km"],
        overlap=0.2,
        max_risk=0.6,
        attack=["labels", "clique", "register"],
        repetitions=3,
        budget=0.2,
        seed=1,
    )
    screen = Screen(quiet)
    with screen.steps("reading the survey"):
        work = read_audit(survey_file(), options.filled())
        found = inspect_audit(work)
    about = About(command=write_command(["demo"], {"out": out}), inspection=screen.look(found, force=False, yes=True))
    show_audit(work, out, choose_executor(processes), screen=screen, about=about)
