"""The process in which an audit or a search is carried out: ``python -m disclique.app.worker FOLDER --out NAME``.

It does what ``disclique audit`` or ``disclique advise`` does with the options in the folder, and works inside that
folder, so that no path of this machine gets into a sentence. Its input is a pipe that the server holds open: when the
server goes, however it goes, the pipe ends and this process ends with all that it started. The journal has every
release that was finished.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.messages import Message, mark

if TYPE_CHECKING:
    from disclique.advice.search import Effort
    from disclique.app.projects import Project
    from disclique.app.status import Board
    from disclique.model import Microdata

BAD_INPUT, BROKEN = 2, 1  # exit statuses


def end_with_server() -> None:
    """Wait for the end of the pipe, and end this process and its children at once."""
    with suppress(OSError, ValueError):
        while os.read(0, 4096):
            pass
    with suppress(Exception):
        for child in multiprocessing.active_children():
            child.kill()
    os._exit(0)


def carry_out_project(project: Project, out: str, processes: int | None, board: Board) -> None:
    """Carry out the audit of a project in its folder, as the command line does."""
    from disclique.app.beside import name_plainly, named
    from disclique.audits.caveats import inspect_audit
    from disclique.audits.facts import declare
    from disclique.audits.from_options import carry_out, read_audit, write_command
    from disclique.audits.summarise import Context
    from disclique.options.table import differing
    from disclique.runs import choose_executor

    asked = project.options.filled()
    board.doing(Message("reading_the_file"))
    audit = name_plainly(read_audit(Path(project.file), asked), project)
    board.doing(Message("looking_at_the_input"))
    found = inspect_audit(audit)
    board.say(found.messages())
    file = f"./{project.shown}" if project.shown.startswith("-") else project.shown
    command = write_command(["audit", file], differing(named(project).options.filled()) | {"out": out})
    about = Context(declare(project.declared), command, inspection=found.check(accept=project.said.get("accept", ())))
    board.plans(audit.plan)
    board.doing(Message("preparing"))
    carry_out(audit, Path(), choose_executor(processes), told=board, about=about)


def carry_out_for_recipients(project: Project, out: str, processes: int | None, board: Board) -> None:
    """Carry out the audit of every recipient of a project in its folder, as the command line does."""
    from disclique.app.beside import name_plainly, named
    from disclique.app.recipient_cards import list_recipients
    from disclique.audits.caveats import inspect_audit, join_looks
    from disclique.audits.facts import declare
    from disclique.audits.from_options import ask_for, carry_out_recipients, write_command
    from disclique.audits.several import Asked, place_of
    from disclique.audits.summarise import Context
    from disclique.options.table import differing
    from disclique.runs import choose_executor

    board.doing(Message("reading_the_file"))
    recipients, shown = list_recipients(project), named(project)
    targets: list[tuple[Microdata, Microdata]] = []  # as it was read and as it is named: one for all recipients
    audits = []
    for _, work in ask_for(recipients, Path(project.file), project.options.filled()):
        plain = name_plainly(work, project)
        target = next((other for own, other in targets if own is work.target), plain.target)
        targets.append((work.target, target))
        audits.append(replace(plain, target=target))
    board.doing(Message("looking_at_the_input"))
    looks = [inspect_audit(work) for work in audits]
    board.say(join_looks(looks).messages())
    file = f"./{project.shown}" if project.shown.startswith("-") else project.shown
    accept, asked = project.said.get("accept", ()), []
    for one, work, look in zip(list_recipients(shown), audits, looks, strict=True):
        said = differing(one.apply(shown.options.filled())) | {"out": place_of(Path(out), one.name)}
        about = Context(declare(project.declared), write_command(["audit", file], said), look.check(accept=accept))
        asked.append(Asked(one, work, about))
    board.expects(len(asked))
    board.doing(Message("preparing"))
    carry_out_recipients(asked, Path(), choose_executor(processes), told=board)


def carry_out_advice(
    project: Project, out: str, processes: int | None, board: Board, *, effort: Effort | None = None
) -> None:
    """Look for releases as a project asks, in its folder, as ``disclique advise`` does."""
    from disclique.advice.ask import save
    from disclique.advice.run import run_advice
    from disclique.advice.unit import STAGES
    from disclique.app.beside import named
    from disclique.app.wishes import list_fixed_rules, read_question
    from disclique.audits.caveats import inspect_audit
    from disclique.audits.facts import declare
    from disclique.audits.from_options import write_command
    from disclique.audits.summarise import Context
    from disclique.options.files import FileOptions
    from disclique.options.table import differing, rows_of
    from disclique.runs import Unit, choose_executor

    board.doing(Message("reading_the_file"))
    question = read_question(project)
    if effort is not None:
        question = replace(question, effort=effort)
    board.doing(Message("looking_at_the_input"))
    found = inspect_audit(question.audit)
    board.say(found.messages())
    file = f"./{project.shown}" if project.shown.startswith("-") else project.shown
    said = differing(named(project).spoken.filled())
    command = write_command([project.way, file], said | {"out": out})
    about = Context(declare(project.declared), command, inspection=found.check(accept=project.said.get("accept", ())))
    board.doing(Message("preparing"))

    def tell(done: int, wanted: int, unit: Unit | None) -> None:
        if unit is not None:
            searched = isinstance(unit.stage, STAGES)
            board.doing(
                Message(mark("draws_searched") if searched else mark("draws_audited"), done=done, wanted=wanted)
            )

    executor = choose_executor(processes)
    advice = run_advice(question, folder=Path(), executor=executor, progress=tell, about=about)
    reading = {name: value for name, value in said.items() if name in rows_of(FileOptions) and name != "generalise"}
    if fixed := list_fixed_rules(project):
        reading["generalise"] = fixed
    save(advice, question, Path(), (["mask", file], {**reading, "out": Path("release.csv")}))


def main() -> int:
    """Carry out what the folder asks for; return the exit status."""
    said = argparse.ArgumentParser()
    said.add_argument("folder", type=Path)
    said.add_argument("--out", required=True)
    said.add_argument("--processes", type=int)
    given = said.parse_args()
    threading.Thread(target=end_with_server, daemon=True, name="pipe").start()
    os.chdir(given.folder)
    os.umask(0o077)  # what is said of single people is nobody else's business
    from disclique.app.beside import hide_paths
    from disclique.app.projects import ADVISE, BEGUN, DONE, read_project
    from disclique.app.status import Board
    from disclique.errors import DiscliqueError

    project = read_project(Path.cwd(), BEGUN)
    if project is None:
        return BAD_INPUT
    with Board(project.folder, lambda said: hide_paths(said, project)) as board:
        try:
            alone = carry_out_for_recipients if project.recipients else carry_out_project
            act = carry_out_advice if project.way == ADVISE else alone
            act(project, given.out, given.processes, board)
        except DiscliqueError as problem:
            board.fail(problem.message)
            return BAD_INPUT
        except Exception as problem:
            traceback.print_exc()
            board.fail(Message("app_broken", kind=type(problem).__name__, problem=str(problem)))
            return BROKEN
        board.state = DONE
    return 0


if __name__ == "__main__":
    sys.exit(main())
