"""``disclique audit``, ``report`` and ``demo``: from a data holder's file to a decision and its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
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
    from disclique.audits.recipients import Recipient
    from disclique.audits.summarise import Context
    from disclique.runs import Executor


class AnnexFormat(StrEnum):
    """What an annex is written as."""

    HTML = "html"
    WORD = "docx"
    PDF = "pdf"


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
            help="TOML file with any of these options, a section decision for the annex, and blocks of recipients.",
            rich_help_panel=WORK,
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
    terminal it asks before it goes on with something odd (--yes does not ask). Without --mask it asks what the file
    gives away as it is. Without --known and --overlap the
    snooper is assumed to know the whole file, the worst case. The exit status is 0 if a release is shown to keep the
    limit (or none was set), 3 if none is shown to although what was measured keeps it, and 4 if no release tried
    keeps it. With recipients each has a verdict of their own, and the status is that of a release to all of them.
    """
    from disclique.audits.caveats import inspect_audit
    from disclique.audits.facts import declare
    from disclique.audits.from_options import announce, read_audit, read_decision, write_command
    from disclique.audits.plan import AS_IT_IS
    from disclique.audits.recipients import read_recipients
    from disclique.audits.summarise import Context
    from disclique.locale import texts_in
    from disclique.memory import default_memory, parse_memory, say_memory
    from disclique.runs import choose_executor

    texts_in(language)
    asked = replace(options.filled(config), recipient=[])
    unmasked: dict[str, Any] = {} if asked.mask else {"mask": list(AS_IT_IS)}
    asked = replace(asked, **unmasked)
    recipients = read_recipients(config, list_of(options.recipient))
    if recipients:
        ways = Ways(screen, choose_executor(processes, dask), with_records, language, yes, dry_run)
        status = _audit_recipients(recipients, file, out, asked, config, ways)
        raise typer.Exit(EXIT[status])
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


@dataclass(frozen=True)
class Ways:
    """How a command is carried out: where it is shown, where it runs, what is written, and whether it asks."""

    screen: Screen
    executor: Executor
    with_records: bool
    language: str
    yes: bool
    dry_run: bool


def _audit_recipients(
    recipients: Sequence[Recipient], file: Path, out: Path, options: AuditOptions, config: Path | None, ways: Ways
) -> str:
    """Audit a file for several recipients, print what may be given to everybody, and return the status of that."""
    from disclique.audits.caveats import inspect_audit, join_looks
    from disclique.audits.facts import MEASURED, declare
    from disclique.audits.from_options import announce, ask_for, carry_out_recipients, read_decision, write_command
    from disclique.audits.result import REPORT
    from disclique.audits.several import PAGE, RECIPIENTS, Asked, check_asked, place_of
    from disclique.audits.summarise import Context

    screen, accept = ways.screen, list_of(options.accept)
    declared = declare(read_decision(config))
    with screen.steps(f"reading {file}") as step:
        audits = ask_for(recipients, file, options)
        step("looking at the input", None)
        looks = [inspect_audit(work) for _, work in audits]
    screen.look(join_looks(looks), accept=accept, yes=ways.yes or ways.dry_run)
    asked = []
    for one, (own, work), look in zip(recipients, audits, looks, strict=True):
        said = differing(own) | ({"with_records": True} if ways.with_records else {}) | {"out": place_of(out, one.name)}
        about = Context(declared, write_command(["audit", file], said), look.check(accept=accept))
        asked.append(Asked(one, work, about))
    check_asked(asked, out)
    if ways.dry_run:
        with screen.opened(ways.executor) as running:
            for each in asked:
                screen.say([f"recipient {each.name}:"])
                announce(each.audit, place_of(out, each.name), running, screen)
        return MEASURED
    with screen.keeping(out):
        result = carry_out_recipients(
            asked, out, ways.executor, told=screen, with_records=ways.with_records, language=ways.language
        )
    screen.say([*result.verdict.sentences, *(f"note: {line}" for line in result.verdict.cautions)])
    screen.table(
        result.summary if screen.out.is_terminal else result.table.round(4), title="What each release gives to whom"
    )
    screen.say([f"report for {one.name}: {place_of(out, one.name) / REPORT}" for one in asked])
    screen.say([f"result: {out / RECIPIENTS}", f"all recipients: {(out / PAGE).resolve()}"])
    return result.verdict.status


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
    from disclique.audits import ANNEX, ANNEX_WORD, RECORDS, REPORT, RESULT
    from disclique.audits.from_options import carry_out

    with screen.keeping(out):
        result = carry_out(work, out, executor, told=screen, with_records=with_records, about=about, language=language)
    joint = None if result.joint is None else result.joint.message
    beside = [one for one in (joint, *result.who_else, result.favoured) if one is not None]
    screen.say([*result.verdict.sentences, *beside, *(f"note: {line}" for line in result.verdict.cautions)])
    screen.table(_tabulate(result, words=screen.out.is_terminal), title="What each release gives away")
    screen.say([f"result: {out / RESULT}", f"risk of every record (keep it): {out / RECORDS}"])
    screen.say([f"annex for the board: {out / ANNEX}, for Word: {out / ANNEX_WORD}"])
    screen.say([f"report: {(out / REPORT).resolve()}"])
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
    annex: Annotated[bool, typer.Option("--annex", help="Write the annex for the board beside it.")] = False,
    formats: Annotated[
        list[AnnexFormat] | None,
        typer.Option(
            "--format",
            help="The annex as html, docx (for Word) or pdf (by LibreOffice or Chromium); repeatable. Without it html "
            "and docx.",
        ),
    ] = None,
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
    if formats and not annex:
        raise InputError("format_without_annex")
    wanted = list(dict.fromkeys(formats or (AnnexFormat.HTML, AnnexFormat.WORD)))
    beside = [(out.parent / ANNEX).with_suffix(f".{one.value}") for one in wanted] if annex else []
    if out in beside:
        raise InputError("report_where_annex_goes", out=out)
    texts_in(language)
    check_writable([out, *beside], force=force, sources=[result, config])
    found = read_result(result)
    decision = None if config is None else read_decision(config)
    for path in beside:
        found.annex(path, decision=decision, language=language)
        screen.say([f"annex for the board: {path}"])
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
