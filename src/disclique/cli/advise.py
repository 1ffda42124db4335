"""``disclique advise``: from a limit to a release, without choosing a mask."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.cli.options import DASK, LANGUAGE, PROCESSES, RELEASED, YES, with_options
from disclique.cli.screen import Screen
from disclique.errors import InputError
from disclique.options.advice import AdviceOptions
from disclique.options.audits import WORK
from disclique.options.files import FileOptions
from disclique.options.table import differing, list_of, rows_of

if TYPE_CHECKING:
    from disclique.advice.facts import Advice

FOUND, UNSHOWN, NOTHING = 0, 3, 4  # exit statuses, as of an audit


@with_options(AdviceOptions)
def command(
    file: Annotated[Path, typer.Argument(help=f"The file to be released: {RELEASED}")],
    out: Annotated[Path, typer.Option(help="Folder for the answer; an interrupted search goes on there.")],
    options: AdviceOptions,
    screen: Screen,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with any of these options.", rich_help_panel=WORK)
    ] = None,
    processes: PROCESSES = None,
    dask: DASK = None,
    language: LANGUAGE = "en",
    yes: YES = False,
) -> None:
    """Look for the most useful release of a file that keeps a limit, and say how to make it.

    Without --mask all masks that fit the file are tried with their dials, labels and numbers as they are, coarser and
    left out, and the most exposed people left out. The best releases are then audited, on fresh draws. The
    answer is one page, advice.html, and advice.json. The exit status is 0 if a release is shown to keep the limit, and
    4 if nothing useful does.
    """
    from disclique.advice.ask import save
    from disclique.advice.purposes import parse_purposes
    from disclique.advice.run import Question, run_advice
    from disclique.audits.caveats import inspect_audit
    from disclique.audits.facts import declare
    from disclique.audits.from_options import read_audit, read_decision, write_command
    from disclique.audits.recipients import read_recipients
    from disclique.audits.summarise import Context
    from disclique.locale import texts_in
    from disclique.runs import choose_executor
    from disclique.runs.journal import check_folder

    texts_in(language)
    asked = options.filled(config)
    if asked.limit is None:
        raise InputError("limit_missing")
    if asked.max_risk is not None:
        raise InputError("limit_given_twice")
    if read_recipients(config, list_of(asked.recipient)):
        raise InputError("advice_for_recipients")
    masks = tuple(list_of(asked.mask))
    said = differing(asked) | {"out": out}
    about = Context(declare(read_decision(config)), write_command(["advise", file], said))
    with screen.steps(f"reading {file}") as step:
        without: dict[str, Any] = {"mask": ["none"], "max_risk": asked.limit}
        audit = read_audit(file, replace(asked, **without))
        ways = audit.plan.generalise  # those that are made coarser in steps; fixed ones were when the file was read
        audit = replace(audit, plan=replace(audit.plan, generalise=()))
        step("looking at the input", None)
        found = inspect_audit(audit)
    about = replace(about, inspection=screen.look(found, accept=list_of(asked.accept), yes=yes))
    question = Question(audit, parse_purposes(list_of(asked.purpose), audit.target), masks, ways)
    check_folder(out / "search", ())
    with screen.keeping(out), screen.steps("looking for releases") as step:

        def tell(done: int, wanted: int, unit: object) -> None:
            step(f"looking for releases: {done} of {wanted} draws so far", done / max(wanted, 1))

        advice = run_advice(
            question,
            folder=out,
            executor=choose_executor(processes, dask),
            progress=tell,
            about=about,
            language=language,
        )
    own = {name: value for name, value in differing(asked).items() if name in rows_of(FileOptions)}
    reading = {name: value for name, value in own.items() if name not in ("leave_out", "generalise")}
    advice = save(advice, question, out, (["mask", file], {**reading, "out": Path("release.csv")}), language=language)
    _show(advice, out, screen)
    if (status := _exit_status(advice)) != FOUND:
        raise typer.Exit(status)


def _exit_status(advice: Advice) -> int:
    if advice.best is not None:
        return FOUND
    return UNSHOWN if any(one.status == "unproven" for one in advice.releases) else NOTHING


def _show(advice: Advice, out: Path, screen: Screen) -> None:
    """Print the answer: a sentence, what each step buys, the releases, and the command that makes the best one."""
    from disclique.advice import ADVICE, PAGE

    best = advice.best
    screen.say([advice.message])
    if best is None:
        screen.say([*advice.why, *(f"way out: {way}" for way in advice.ways_out)])
    else:
        screen.say([use.said for use in best.uses])
        screen.say([best.buys] if best.buys else [])
        screen.say([best.bought] if best.steps else [])
    if len(advice.releases):
        screen.table(advice.summary if screen.out.is_terminal else advice.table, title="Releases, most useful first")
    if best is not None and best.command:
        screen.say([f"make it: {best.command}"])
    screen.say([f"answer: {out / ADVICE}", f"page: {(out / PAGE).resolve()}"])
