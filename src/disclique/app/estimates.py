"""What an audit will take, found out before it starts: in a process of its own, which can be ended.

``python -m disclique.app.estimates`` reads one line of JSON, looks at the input, tries a few releases as ``disclique
audit --dry-run`` does, and writes what it finds as lines of JSON. It ends when its input ends: with the server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from disclique.app.looks import Finding, list_findings
from disclique.app.projects import Project
from disclique.messages import Message, mark

if TYPE_CHECKING:
    from disclique.audits import Audit


class Expected(msgspec.Struct):
    """What is known so far of what an audit will take: what the look found, what will be done, how long that takes.

    ``look`` and ``does`` are None as long as they are not known.
    """

    look: list[Finding] | None = None
    does: list[Message] | None = None
    settings: int = 0
    takes: Message | None = None
    problem: Message | None = None


@dataclass
class Estimation:
    """One estimate under way: what was heard so far, and for which plan it is."""

    plan: str
    process: subprocess.Popen[str]
    heard: Expected = field(default_factory=Expected)
    ended: bool = False

    def listen(self) -> None:
        """Take the lines as they come, until the process ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(msgspec.MsgspecError):
                self.heard = msgspec.json.decode(line, type=Expected)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if self.heard.takes is None and self.heard.problem is None:
            self.heard.problem = Message("estimate_ended_early")
        self.ended = True

    def stop(self) -> None:
        """End the process, if it has not ended."""
        if self.process.poll() is None:
            if hasattr(os, "killpg"):  # with the processes in which it tries releases
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()


class Estimates:
    """The estimates of one server: at most one at a time for each project."""

    def __init__(self) -> None:
        self.under_way: dict[str, Estimation] = {}

    def start(self, id: str, plan: str, request: dict[str, Any]) -> Estimation:
        """Start an estimate, in the place of one for another plan."""
        before = self.under_way.get(id)
        if before is not None and before.plan == plan and not (before.ended and before.heard.problem is not None):
            return before
        self.stop(id)
        process = subprocess.Popen(
            [sys.executable, "-m", "disclique.app.estimates"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        made = Estimation(plan, process)
        threading.Thread(target=made.listen, daemon=True, name="estimate").start()
        self.under_way[id] = made
        return made

    def get(self, id: str) -> Estimation | None:
        """Return the estimate of a project, if there is one."""
        return self.under_way.get(id)

    def stop(self, id: str) -> None:
        """End the estimate of a project."""
        found = self.under_way.pop(id, None)
        if found is not None:
            found.stop()


def read_audits(project: Project) -> list[tuple[str, Audit]]:
    """Read what is asked: one audit, or one for each recipient, with the recipient's name."""
    from disclique.app.recipient_cards import list_recipients
    from disclique.audits.from_options import ask_for, read_audit

    file, options = Path(project.file), project.options.filled()
    if not project.recipients:
        return [("", read_audit(file, options))]
    recipients = list_recipients(project)
    audits = ask_for(recipients, file, options)
    return [(one.name, audit) for one, (_, audit) in zip(recipients, audits, strict=True)]


def look_at_all(audits: list[tuple[str, Audit]]) -> list[Finding]:
    """Look at all files of the audits; what is found for several recipients is said once."""
    from disclique.audits.caveats import inspect_audit, join_looks

    return list_findings(join_looks([inspect_audit(audit) for _, audit in audits]))


def estimate(project: Project, tell: Callable[[Expected], None]) -> None:
    """Look at the input and estimate the work; tell what is found as soon as it is."""
    from disclique.audits.estimate import describe_work, estimate_audit
    from disclique.errors import DiscliqueError
    from disclique.runs import choose_executor

    told = Expected()
    try:
        audits = read_audits(project)
        told.look = look_at_all(audits)
        tell(told)
        for _, audit in audits:
            audit.check_masks()
        told.does = list(dict.fromkeys(_name(name, line) for name, audit in audits for line in describe_work(audit)))
        told.settings = len(audits[0][1].plan.settings)
        tell(told)
        many = choose_executor().parallel or 1
        takes = [
            _name(name, estimate_audit(audit).sentence(many, mark("releases_to_measure"))) for name, audit in audits
        ]
        told.takes = takes[0] if len(takes) == 1 else Message("in_one_line", parts=takes)
    except DiscliqueError as problem:
        told.problem = problem.message
    tell(told)


def _name(recipient: str, said: Message) -> Message:
    return Message("said_for_recipient", name=recipient, said=said) if recipient else said


def main() -> None:
    """Answer the one request that stands on the standard input."""
    from disclique.app.worker import end_with_server
    from disclique.records.write import encode

    request = json.loads(sys.stdin.readline())
    threading.Thread(target=end_with_server, daemon=True, name="pipe").start()

    def tell(heard: Expected) -> None:
        print(encode(heard).decode(), flush=True)

    estimate(Project("", "", request["file"], "", request["said"], recipients=tuple(request["recipients"])), tell)


if __name__ == "__main__":
    main()
