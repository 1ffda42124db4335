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

from disclique.app.status import Words, read_status, write_status
from disclique.app.works import ABOUT, BEGUN, FAILED, INPUT, PAUSED, RUNNING, WAITING, Work, Works, read_work
from disclique.errors import InputError
from disclique.messages import Message

GRACE = 2.0  # seconds in which a process may end by itself
PLACE = "audit"  # what the command line calls the folder of an audit that has none of its own


@dataclass
class _Running:
    """A process that carries out a piece of work."""

    id: str
    process: subprocess.Popen[bytes]
    ended: bool = False  # by us


class Runner:
    """Runs one audit at a time; the others wait for it, in the order in which they were started."""

    def __init__(self, works: Works, processes: int | None = None) -> None:
        self.works, self.processes = works, processes
        self.lock = threading.RLock()
        self.running: _Running | None = None
        self.waiting: list[str] = []
        self.closed = False

    @property
    def busy(self) -> bool:
        """Whether an audit runs or waits."""
        with self.lock:
            return self.running is not None or bool(self.waiting)

    def state(self, work: Work) -> str:
        """Say how far a piece of work is: running if it runs, else by what lies in its folder."""
        with self.lock:
            if self.running is not None and self.running.id == work.id:
                return RUNNING
            if work.id in self.waiting:
                return WAITING
        if read_status(work.folder).state == FAILED and not work.result.exists():
            return FAILED
        return self.works.state(work)

    def start(self, work: Work) -> None:
        """Start an audit or go on with it; let it wait if another one runs."""
        if is_changed(work):
            raise InputError("plan_changed_since_begun", shown=work.shown)
        with self.lock:
            if self.closed or work.id in self.waiting or (self.running is not None and self.running.id == work.id):
                return
            if self.running is None:
                self._launch(work)
            else:
                self.waiting.append(work.id)

    def end(self, work: Work) -> None:
        """End an audit at once, or let it wait no longer; all but the releases under way is in its journal."""
        with self.lock:
            if work.id in self.waiting:
                self.waiting.remove(work.id)
            running = self.running
            if running is None or running.id != work.id:
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

    def begin_anew(self, work: Work) -> Work:
        """Return a new piece of work with the changed plan; the old one has its own plan again, and its folder."""
        old = read_work(work.folder, BEGUN)
        fresh = self.works.begin(work.shown, Path(work.file))
        inside = {}
        if (work.folder / INPUT).is_dir():
            shutil.copytree(work.folder / INPUT, fresh.folder / INPUT)
            inside = {str(path): str(fresh.folder / path.relative_to(work.folder)) for path in _files(work)}
        said = {name: inside.get(str(value), value) for name, value in work.said.items()}
        fresh = replace(
            fresh,
            file=inside.get(work.file, work.file),
            said=said,
            declared=work.declared,
            checked=work.checked,
            forced=work.forced,
        )
        self.works.save(fresh)
        if old is not None:
            self.take_back(work)
        return fresh

    def take_back(self, work: Work) -> Work:
        """Return the piece of work with the plan with which its audit was begun."""
        old = read_work(work.folder, BEGUN)
        if old is None:
            return work
        return self.works.save(replace(work, said=old.said, declared=old.declared, forced=old.forced))

    def _launch(self, work: Work) -> None:
        shutil.copyfile(work.folder / ABOUT, work.folder / BEGUN)
        before = read_status(work.folder)
        write_status(work.folder, replace_parts(before, state=RUNNING, problem=None, words=Words(), lines=[]))
        out = work.folder.name if self.works.is_kept(work) else PLACE
        command = [sys.executable, "-m", "disclique.app.worker", str(work.folder), "--out", out]
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
        running = self.running = _Running(work.id, process)
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
                self._note(running, self.works.get(running.id))
            while self.waiting and self.running is None and not self.closed:
                with suppress(KeyError, OSError, InputError):
                    self._launch(self.works.get(self.waiting.pop(0)))

    def _note(self, running: _Running, work: Work) -> None:
        """Note how an audit ended that could not say so itself."""
        told = read_status(work.folder)
        if running.ended and told.state == RUNNING:
            write_status(work.folder, replace_parts(told, state=PAUSED))
        elif running.process.returncode and told.state == RUNNING and not work.result.exists():
            why = _explain_end(running.process.returncode)
            write_status(work.folder, replace_parts(told, state=FAILED, problem=why))


def is_changed(work: Work) -> bool:
    """Say whether something else is asked than when the audit in the folder was begun."""
    old = read_work(work.folder, BEGUN)
    if old is None or not (work.begun or work.result.exists()):
        return False
    return _plan(work) != _plan(old)


def _plan(work: Work) -> tuple[str, dict[str, object]]:
    from disclique.options.audits import AUDIT_ROWS
    from disclique.options.table import differing

    said = differing(work.options.filled())
    return work.file, {name: str(value) for name, value in said.items() if AUDIT_ROWS[name].records}


def _files(work: Work) -> list[Path]:
    return [path for path in (work.folder / INPUT).rglob("*") if path.is_file()]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(GRACE)
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
