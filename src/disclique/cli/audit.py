"""``disclique audit``, ``report`` and ``demo``: from a data holder's file to a decision and its pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.cli.options import (
    DASK,
    DRY_RUN,
    FORCE,
    LANGUAGE,
    OUTPUT,
    PROCESSES,
    RELEASED,
    YES,
    with_options,
)
from disclique.cli.screen import Screen
from disclique.errors import InputError
from disclique.options.audits import WORK, AuditOptions
from disclique.options.table import differing, list_of

if TYPE_CHECKING:
    import pandas as pd

    from disclique.audits import Audit, AuditResult
    from disclique.audits.summarise import Context
    from disclique.runs import Executor

EXIT = {"meets": 0, "measured": 0, "unproven": 3, "fails": 4}  # 2 is bad input
# A rigid motion, noise on the distances, and a search for the noise on coordinates that is enough. Few repetitions and
# three attacks keep it short.
DEMO: dict[str, Any] = {
    "id": "id",
    "label": ["sex", "age_class"],
    "coordinates": "lon,lat",
    "mask": ["affine", "matrix-gaussian:sd=21.5km", "gaussian:sigma=5km..50km"],
    "overlap": 0.2,
    "max_risk": 0.6,
    "attack": ["labels", "clique", "register"],
    "repetitions": 3,
    "budget": 0.2,
    "seed": 1,
}


@with_options(AuditOptions)
def command(
    file: Annotated[Path, typer.Argument(help=f"The file to be released: {RELEASED}")],
    out: Annotated[Path, typer.Option(help="Folder for the result; an interrupted audit goes on there.")],
    options: AuditOptions,
    screen: Screen,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with any of these options, and a section decision for the annex.", rich_help_panel=WORK
        ),
    ] = None,
    processes: PROCESSES = None,
    dask: DASK = None,
    dry_run: DRY_RUN = False,
    with_records: Annotated[
        bool, typer.Option("--with-records", help="Put places and ids into the report.", rich_help_panel=OUTPUT)
    ] = False,
    language: LANGUAGE = "en",
    yes: YES = False,
) -> None:
    """Mask a file in the ways considered, measure what each release gives away, and report risk and usefulness.

    First it says what it understood of the input, and ends if that can only be a mistake (--accept goes on); on a
    terminal it asks before it goes on with something odd (--yes does not ask). Without --known and --overlap the
    snooper is assumed to know the whole file, the worst case. The exit status is 0 if a release is shown to keep the
    limit (or none was set), 3 if none is shown to although what was measured keeps it, and 4 if no release tried
    keeps it.
    """
    from disclique.audits.caveats import inspect_audit
    from disclique.audits.facts import declare
    from disclique.audits.from_options import announce, read_audit, read_decision, write_command
    from disclique.audits.summarise import Context
    from disclique.locale import texts_in
    from disclique.memory import default_memory, parse_memory, say_memory
    from disclique.runs import choose_executor

    texts_in(language)
    asked = options.filled(config)
    said = differing(asked) | ({"with_records": True} if with_records else {}) | {"out": out}
    about = Context(declare(read_decision(config)), write_command(["audit", file], said))
    with screen.steps(f"reading {file}") as step:
        work = read_audit(file, asked)
        step("looking at the input", None)
        found = inspect_audit(work)
    if work.thinned:
        allowed = default_memory() if asked.memory is None else parse_memory(asked.memory)
        screen.say([f"memory allowed for what is kept of a register: {say_memory(allowed)}"])
    about = replace(about, inspection=screen.look(found, accept=list_of(asked.accept), yes=yes or dry_run))
    executor = choose_executor(processes, dask)
    if dry_run:
        with screen.opened(executor) as running:
            announce(work, out, running, screen)
        return
    status = _carry_out(work, out, executor, screen=screen, with_records=with_records, about=about, language=language)
    if EXIT[status]:
        raise typer.Exit(EXIT[status])


def _carry_out(
    work: Audit,
    out: Path,
    executor: Executor,
    *,
    screen: Screen,
    about: Context,
    with_records: bool = False,
    language: str = "en",
) -> str:
    """Carry out an audit, print its verdict and where everything is, and return the status of the verdict."""
    from disclique.audits import ANNEX, RECORDS, REPORT, RESULT
    from disclique.audits.from_options import carry_out

    with screen.keeping(out):
        result = carry_out(work, out, executor, told=screen, with_records=with_records, about=about, language=language)
    joint = None if result.joint is None else result.joint.message
    beside = [one for one in (joint, *result.who_else, result.favoured) if one is not None]
    screen.say([*result.verdict.sentences, *beside, *(f"note: {line}" for line in result.verdict.cautions)])
    screen.table(_tabulate(result, words=screen.out.is_terminal), title="What each release gives away")
    screen.say([f"result: {out / RESULT}", f"risk of every record (keep it): {out / RECORDS}"])
    screen.say([f"annex for the board: {out / ANNEX}", f"report: {(out / REPORT).resolve()}"])
    return result.verdict.status


def _tabulate(result: AuditResult, *, words: bool) -> pd.DataFrame:
    """Return the settings in a few columns: in words for a person, as numbers for a program."""
    if words:
        return result.summary
    columns = ["mask", "risk", "high", "found", "attack", "guess", "utility", "meets"]
    told = [name for name in result.table.columns if name.startswith("told_")]
    return result.table[[*columns, *told]].round(4)


def report(
    result: Annotated[Path, typer.Argument(help="result.json of an audit.")],
    screen: Screen,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    annex: Annotated[bool, typer.Option("--annex", help="Write annex.html for the board beside it.")] = False,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with the section decision that the annex shows.")
    ] = None,
    language: LANGUAGE = "en",
    force: FORCE = False,
) -> None:
    """Render the report of an audit as one HTML file that needs no network, with its figures as CSV beside it."""
    from disclique.audits import ANNEX, read_result
    from disclique.audits.from_options import read_decision
    from disclique.locale import texts_in
    from disclique.records.write import check_writable

    if config is not None and not annex:
        raise InputError("config_without_annex")
    beside = out.parent / ANNEX
    if annex and beside == out:
        raise InputError("report_where_annex_goes", out=out)
    texts_in(language)
    check_writable([out, beside] if annex else [out], force=force, sources=[result, config])
    found = read_result(result)
    if annex:
        found.annex(beside, decision=None if config is None else read_decision(config), language=language)
        screen.say([f"annex for the board: {beside}"])
    found.report(out, language=language)
    screen.say([f"report: {out.resolve()}"])


def demo(
    screen: Screen,
    out: Annotated[Path, typer.Option(help="Folder for the result and the report.")] = Path("demo"),
    processes: PROCESSES = None,
) -> None:
    """Audit a bundled synthetic survey of 500 people and write the report."""
    from disclique.audits.caveats import inspect_audit
    from disclique.audits.from_options import read_audit, write_command
    from disclique.audits.summarise import Context
    from disclique.runs import choose_executor
    from disclique.synthetic.examples import survey_file

    with screen.steps("reading the survey"):
        work = read_audit(survey_file(), AuditOptions(**DEMO).filled())
        found = inspect_audit(work)
    about = Context(command=write_command(["demo"], {"out": out}), inspection=screen.look(found, accept=(), yes=True))
    _carry_out(work, out, choose_executor(processes), screen=screen, about=about)
