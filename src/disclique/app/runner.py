"""The one audit that runs: a process of its own, so that it can be ended and goes on after anything."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec.structs import replace as replace_parts

from disclique.app.projects import (
    ABOUT,
    BEGUN,
    FAILED,
    INPUT,
    PAUSED,
    RUNNING,
    WAITING,
    Project,
    Projects,
    move_files,
    read_project,
)
from disclique.app.status import Words, read_status, write_status
from disclique.errors import InputError
from disclique.messages import Message

STOP_SECONDS = 2.0  # seconds in which a process may end by itself
PLACE = "audit"  # what the command line calls the folder of an audit that has none of its own


@dataclass
class _Running:
    """A process that carries out a project."""

    id: str
    process: subprocess.Popen[bytes]
    ended: bool = False  # by us


class Runner:
    """Runs one audit at a time; the others wait for it, in the order in which they were started."""

    def __init__(self, projects: Projects, processes: int | None = None) -> None:
        self.projects, self.processes = projects, processes
        self.lock = threading.RLock()
        self.running: _Running | None = None
        self.waiting: list[str] = []
        self.closed = False

    @property
    def busy(self) -> bool:
        """Whether an audit runs or waits."""
        with self.lock:
            return self.running is not None or bool(self.waiting)

    def state(self, project: Project) -> str:
        """Say how far a project is: running if it runs, else by what lies in its folder."""
        with self.lock:
            if self.running is not None and self.running.id == project.id:
                return RUNNING
            if project.id in self.waiting:
                return WAITING
        if read_status(project.folder).state == FAILED and not project.answer.exists():
            return FAILED
        return self.projects.state(project)

    def start(self, project: Project) -> None:
        """Start an audit or go on with it; let it wait if another one runs."""
        if is_changed(project):
            raise InputError("plan_changed_since_begun", shown=project.shown)
        with self.lock:
            if (
                self.closed
                or project.id in self.waiting
                or (self.running is not None and self.running.id == project.id)
            ):
                return
            if self.running is None:
                self._launch(project)
            else:
                self.waiting.append(project.id)

    def end(self, project: Project) -> None:
        """End an audit at once, or let it wait no longer; all but the releases under way is in its journal."""
        with self.lock:
            if project.id in self.waiting:
                self.waiting.remove(project.id)
            running = self.running
            if running is None or running.id != project.id:
                return
            running.ended = True
        _stop(running.process)
        self._heed(running)

    def close(self) -> None:
        """End what runs; its journal keeps what was done."""
        with self.lock:
            self.closed, running = True, self.running
            self.waiting.clear()
        if running is not None:
            running.ended = True
            _stop(running.process)
            self._heed(running)

    def begin_anew(self, project: Project) -> Project:
        """Return a new project with the changed plan; the old one has its own plan again, and its folder."""
        old = read_project(project.folder, BEGUN)
        fresh = self.projects.begin(project.shown, Path(project.file))
        inside = {}
        if (project.folder / INPUT).is_dir():
            shutil.copytree(project.folder / INPUT, fresh.folder / INPUT)
            inside = {str(path): str(fresh.folder / path.relative_to(project.folder)) for path in _files(project)}
        said, *recipients = (
            move_files(words, lambda path: inside.get(str(path), path)) for words in (project.said, *project.recipients)
        )
        fresh = replace(
            fresh,
            file=inside.get(project.file, project.file),
            said=said,
            declared=project.declared,
            checked=project.checked,
            forced=project.forced,
            way=project.way,
            purpose=project.purpose,
            recipients=tuple(recipients),
        )
        self.projects.save(fresh)
        if old is not None:
            self.take_back(project)
        return fresh

    def take_back(self, project: Project) -> Project:
        """Return the project with the plan with which its audit was begun."""
        old = read_project(project.folder, BEGUN)
        if old is None:
            return project
        same = {name: getattr(old, name) for name in ("said", "declared", "forced", "way", "purpose", "recipients")}
        return self.projects.save(replace(project, **same))

    def _launch(self, project: Project) -> None:
        shutil.copyfile(project.folder / ABOUT, project.folder / BEGUN)
        before = read_status(project.folder)
        write_status(project.folder, replace_parts(before, state=RUNNING, problem=None, words=Words(), lines=[]))
        out = project.folder.name if self.projects.is_kept(project) else PLACE
        command = [sys.executable, "-m", "disclique.app.worker", str(project.folder), "--out", out]
        if self.processes is not None:
            command += ["--processes", str(self.processes)]
        # Its own group: Ctrl-C in the terminal is the server's business. The pipe tells it when the server has gone.
        apart: dict[str, object] = {"start_new_session": True}
        if os.name == "nt":
            apart = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            **apart,  # type: ignore[call-overload]
        )
        running = self.running = _Running(project.id, process)
        threading.Thread(target=self._watch, args=[running], daemon=True, name="audit").start()

    def _watch(self, running: _Running) -> None:
        """Wait for the end of an audit, and start the next one."""
        running.process.wait()
        self._heed(running)

    def _heed(self, running: _Running) -> None:
        with self.lock:
            if self.running is not running:
                return
            self.running = None
            if running.process.stdin is not None:
                running.process.stdin.close()
            with suppress(KeyError):
                self._note(running, self.projects.get(running.id))
            while self.waiting and self.running is None and not self.closed:
                with suppress(KeyError, OSError, InputError):
                    self._launch(self.projects.get(self.waiting.pop(0)))

    def _note(self, running: _Running, project: Project) -> None:
        """Note how an audit ended that could not say so itself."""
        told = read_status(project.folder)
        if running.ended and told.state == RUNNING:
            write_status(project.folder, replace_parts(told, state=PAUSED))
        elif running.process.returncode and told.state == RUNNING and not project.answer.exists():
            why = _explain_end(running.process.returncode)
            write_status(project.folder, replace_parts(told, state=FAILED, problem=why))


def is_changed(project: Project) -> bool:
    """Say whether something else is asked than when the audit in the folder was begun."""
    old = read_project(project.folder, BEGUN)
    if old is None or not (project.begun or project.answer.exists()):
        return False
    return _plan(project) != _plan(old)


def _plan(project: Project) -> tuple[object, ...]:
    from disclique.options.audits import AUDIT_ROWS
    from disclique.options.table import differing

    said = differing(project.options.filled())
    kept: dict[str, object] = {name: str(value) for name, value in said.items() if AUDIT_ROWS[name].records}
    return project.file, project.way, project.purpose, project.recipients, kept


def _files(project: Project) -> list[Path]:
    return [path for path in (project.folder / INPUT).rglob("*") if path.is_file()]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        if os.name == "nt":
            process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _explain_end(code: int) -> Message:
    how = Message("ended_by_signal", number=-code) if code < 0 else Message("ended_with_status", number=code)
    return Message("audit_process_ended", how=how)
