"""``disclique audit``: one command from a data holder's file to a decision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disclique.cli.options import LANGUAGE, with_options
from disclique.options.audits import WORK, AuditOptions
from disclique.options.table import differing

if TYPE_CHECKING:
    from disclique.audits import Audit, AuditResult
    from disclique.audits.summarise import About
    from disclique.cli.screen import Screen
    from disclique.runs import Executor

OUTPUT = "Output"
EXIT = {"meets": 0, "measured": 0, "unproven": 3, "fails": 4}  # 2 is bad input


@with_options(AuditOptions)
def command(
    file: Annotated[
        Path, typer.Argument(help="The file to be released: CSV, Parquet, xlsx, Stata, SPSS, SAS, GeoPackage, …")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the result; an interrupted audit goes on there.")],
    options: AuditOptions,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with any of these options, and a section decision for the annex.",
            rich_help_panel=WORK,
        ),
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Processes (all cores).", rich_help_panel=WORK)] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="tcp://...|local", help="A Dask cluster.", rich_help_panel=WORK)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan only.", rich_help_panel=WORK)] = False,
    with_records: Annotated[
        bool, typer.Option("--with-records", help="Put places and ids into the report.", rich_help_panel=OUTPUT)
    ] = False,
    language: LANGUAGE = "en",
    force: Annotated[
        bool, typer.Option("--force", help="Go on although the input can only be mistaken.", rich_help_panel=WORK)
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Never ask whether to go on (scripts).", rich_help_panel=WORK)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.", rich_help_panel=OUTPUT)] = False,
) -> None:
    """Mask a file in the ways considered, attack each release as a snooper would, and report risk and usefulness.

    First it says what it understood of the input, and ends if that can only be a mistake (--force goes on); on a
    terminal it asks before it goes on with something odd (--yes does not ask). Without --known and --overlap the
    snooper is assumed to know the whole file, the worst case. The exit status is 0 if a release is shown to keep the
    limit (or none was set), 3 if none is shown to although the attacks keep it, and 4 if no release tried keeps it.
    """
    from disclique.audits.call import write_command
    from disclique.audits.carry_out import announce
    from disclique.audits.declaration import declare
    from disclique.audits.from_options import read_audit, read_decision
    from disclique.audits.inspection import inspect_audit
    from disclique.audits.summarise import About
    from disclique.cli.screen import Screen
    from disclique.locale import texts_in
    from disclique.memory import default_memory, parse_memory, say_memory
    from disclique.runs import choose_executor

    texts_in(language)
    screen = Screen(quiet)
    asked = options.filled(config)
    said = differing(asked) | ({"with_records": True} if with_records else {}) | {"out": out}
    about = About(declare(read_decision(config)), write_command(["audit", file], said))
    with screen.steps(f"reading {file}") as step:
        work = read_audit(file, asked)
        step("looking at the input", None)
        found = inspect_audit(work)
    if work.thinned:
        allowed = default_memory() if asked.memory is None else parse_memory(asked.memory)
        screen.say([f"memory allowed for what is kept of a register: {say_memory(allowed)}"])
    about = replace(about, inspection=screen.look(found, force=force, yes=yes or dry_run))
    executor = choose_executor(processes, dask)
    if dry_run:
        with screen.opened(executor) as running:
            announce(work, out, running, screen)
        return
    result = show_audit(work, out, executor, screen=screen, with_records=with_records, about=about, language=language)
    if EXIT[result.verdict.status]:
        raise typer.Exit(EXIT[result.verdict.status])


def show_audit(
    work: Audit,
    out: Path,
    executor: Executor,
    *,
    screen: Screen,
    with_records: bool = False,
    about: About | None = None,
    language: str = "en",
) -> AuditResult:
    """Carry out an audit, and print its verdict and where everything is."""
    from disclique.audits import ANNEX, RECORDS, REPORT, RESULT
    from disclique.audits.carry_out import carry_out
    from disclique.cli.interrupt import keeping

    with keeping(out):
        result = carry_out(work, out, executor, told=screen, with_records=with_records, about=about, language=language)
    screen.say([*result.verdict.sentences, *(f"note: {line}" for line in result.verdict.cautions)])
    screen.table(result.table, title="Risk of every setting tried")
    screen.say([f"result: {out / RESULT}", f"risk of every record (keep it): {out / RECORDS}"])
    screen.say([f"annex for the board: {out / ANNEX}", f"report: {(out / REPORT).resolve()}"])
    return result
