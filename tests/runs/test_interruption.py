"""Ctrl-C and SIGTERM end a command soon, wherever it is, leave nobody behind, and lose nothing that was finished."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import disclique as dq
from conftest import Run
from disclique.audits import Audit, run_audit
from disclique.audits.definition import People
from disclique.audits.estimate import estimate_audit
from disclique.audits.result import encode_result
from disclique.masks.settings import Setting
from disclique.runs import Forecast, Journal, Unit, run_units, try_units
from small_files import COLUMNS, LIGHT, make_audit, people, without_times

pytestmark = pytest.mark.long

SOON = 5.0  # seconds: it should be 2, but the machine may be busy
START = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a test runner may ignore
COMMAND = START + "from disclique.cli import main\nmain()\n"

# A product of matrices keeps the main thread from hearing of anything for a minute; a child is at work besides.
DEAF = (
    START
    + """
import multiprocessing, sys, time
import numpy as np
from disclique.cli.interrupt import stopping
if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    child.start()
    large = np.ones((6000, 6000))
    with stopping():
        print("at work", file=sys.stderr, flush=True)
        large @ large @ large @ large @ large @ large @ large
"""
)
WEAK, STRONG = Setting.parse("round:to=1km"), Setting.parse("round:to=2km")


class Started:
    """A process of its own group, whose messages are read as they come."""

    def __init__(self, code: str, *arguments: str, cwd: Path) -> None:
        self.said = ""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=cwd,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def read_until(self, words: str) -> str:
        """Read messages until one has these words, or there are no more."""
        assert self.process.stderr is not None
        while words not in self.said and (line := self.process.stderr.readline()):
            self.said += line.decode()
        return self.said

    def stop(self, number: int, *, group: bool) -> tuple[int, float]:
        """Send a signal, as a terminal does to the whole group; return status and seconds."""
        begun = time.monotonic()
        (os.killpg if group else os.kill)(self.process.pid, number)
        _, rest = self.process.communicate(timeout=60)
        self.said += rest.decode()
        return self.process.returncode, time.monotonic() - begun

    @property
    def left(self) -> bool:
        """Somebody of the group is still there after a moment."""
        return not wait_until(lambda: not self._alive())

    def _alive(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


def wait_until(true: Callable[[], bool], seconds: float = 3.0) -> bool:
    """Look whether something becomes true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return true()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """A function that starts a process; none outlives the test."""
    there: list[Started] = []

    def begin(code: str, *arguments: str) -> Started:
        there.append(Started(code, *arguments, cwd=tmp_path))
        return there[-1]

    yield begin
    for one in there:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
            one.process.wait()
        if one.process.stderr is not None:
            one.process.stderr.close()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_kernel_that_hears_nothing_is_ended(start: Callable[..., Started], number: int, status: int) -> None:
    """Within the time, with the command that begins again, and without leaving the child."""
    running = start(DEAF, "attack", "my file.csv", "--id", "it's")
    assert "at work" in running.read_until("at work")
    time.sleep(0.2)
    code, seconds = running.stop(number, group=False)
    assert (code, seconds < SOON) == (status, True), running.said
    assert not running.left
    said = running.said.splitlines()
    assert "the same command begins again" in running.said
    assert shlex.split(said[-1]) == ["disclique", "attack", "my file.csv", "--id", "it's"]
    assert "Traceback" not in running.said


ARGUMENTS = [
    "audit",
    "f.csv",
    *COLUMNS,
    "--mask",
    "gaussian:sigma=5km",
    "--repetitions",
    "40",
    "--attack",
    "labels",
    *LIGHT,
]
ARGUMENTS += ["--out", "o"]


def test_an_audit_stopped_again_and_again_ends_as_if_undisturbed(
    start: Callable[..., Started], run: Run, tmp_path: Path
) -> None:
    """While its workers load, in the middle, by either signal, with one process and with two."""
    people(40).to_csv("f.csv", index=False)
    journal = tmp_path / "o" / "journal.jsonl"

    def count() -> int:
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    before = 0
    for number, processes, words, more in ((signal.SIGINT, "1", "f.csv", 2), (signal.SIGTERM, "2", "goes on", 1)):
        running = start(COMMAND, *ARGUMENTS, "--processes", processes)
        assert words in running.read_until(words)
        assert wait_until(lambda: count() >= before + more, 60), running.said  # noqa: B023 - used at once
        code, seconds = running.stop(number, group=number == signal.SIGINT)
        assert (code, seconds < SOON) == (128 + number, True), running.said
        assert not running.left
        assert "Traceback" not in running.said
        assert "the same command goes on from there:\n    disclique audit f.csv" in running.said
        assert count() > before
        before = count()
    kept = journal.read_bytes()
    code, _, err = run(*ARGUMENTS, "--processes", "1")
    assert code == 0, err
    assert "an audit was begun here and goes on" in err
    assert journal.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    again, shown, err = run(*ARGUMENTS, "--processes", "1")
    assert again == 0
    assert "finished before: nothing is left to do" in err
    assert "to estimate the time" not in err
    assert shown.startswith("mask\trisk")
    found = dq.read_result("o/result.json")
    assert run(*ARGUMENTS[:-1], "whole", "--processes", "1")[0] == 0
    assert encode_result(without_times(found)) == encode_result(without_times(dq.read_result("whole/result.json")))


class _Interrupted:
    """Work that takes Ctrl-C for the end of its budget, as a clique search does, and returns less than it could."""

    def __call__(self, unit: Unit) -> str:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            time.sleep(5)
        return "less"


@pytest.mark.parametrize("carry_out", [run_units, try_units])
def test_what_an_interrupted_search_returns_is_not_kept(
    carry_out: Callable[..., None],
) -> None:
    """It depends on the moment, and would make a release look safer than it is."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    journal = Journal[str]()
    try:
        with pytest.raises(KeyboardInterrupt):
            carry_out(_Interrupted(), [Unit(WEAK, 0), Unit(WEAK, 1)], journal)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not journal.done


def test_a_second_command_finds_nothing_left_of_a_study(run: Run) -> None:
    """It says so, and a dry run tells the time without writing anything."""
    arguments = ["study", "--sigma", "0.01,0.05", "--alpha", "0.5", "--repetitions", "2", "--n", "40", "--common", "10"]
    arguments += ["--processes", "1", "--no-figures", "--out", "s"]
    code, _, err = run(*arguments, "--dry-run")
    assert code == 0
    assert "units carried out to estimate the time" in err
    assert re.search(r"about 4 units, about \d+ s on 1 process \(by 3 of them", err)
    assert not Path("s").exists()
    assert run(*arguments)[0] == 0
    assert "finished before" in run(*arguments)[2]
    assert run(*arguments, "--quiet") == (0, "", "")


# What an estimate counts


def trace(audit: Audit) -> tuple[set[Unit], dict[Unit, float]]:
    """The units that an audit needs, and those that it expects."""
    made = estimate_audit(audit)
    needed: list[Unit] = []

    def note(done: int, wanted: int, unit: Unit | None) -> None:
        needed.extend([] if unit is None else [unit])

    run_audit(audit, progress=note)
    return set(needed), made.expected


@pytest.mark.parametrize("limit", [0.05, 0.6])
def test_the_units_of_a_search_are_foreseen(limit: float) -> None:
    """Of a search that ends at the strongest setting without success, and of one that ends between two."""
    audit = make_audit(
        "gaussian:sigma=1km..400km",
        n=24,
        repetitions=6,
        max_risk=limit,
        attacks=("labels",),
        person_trials=10,
    )
    needed, expected = trace(audit)
    assert len(needed) / 1.5 <= len(expected) <= 1.5 * len(needed), (len(needed), len(expected))
    assert all(seconds > 0 for seconds in expected.values())


def test_the_time_left_follows_from_units_of_the_same_kind() -> None:
    """Settings that cost more are taken to do so until the end, whichever came first."""
    units = [Unit(mask, k) for mask in (WEAK, STRONG) for k in range(10)]
    forecast = Forecast(dict.fromkeys(units, 1.0))
    for unit in units[:2]:
        forecast.took(unit, 2.0)
    assert forecast.left() == pytest.approx(8 * 2 + 10 * 2)
    forecast.took(units[10], 20.0)
    assert forecast.left() == pytest.approx(8 * 2 + 9 * 20)
    for unit in units[2:10]:
        forecast.took(unit, 2.0)
    assert forecast.left() == pytest.approx(9 * 20)
    forecast.wants([Unit(WEAK, k) for k in (10, 11, 12)])  # others than were expected, in their place
    assert forecast.left() == pytest.approx(3 * 2 + 6 * 20)
    assert forecast.count("") == (11, 20)
    forecast.end("")
    assert forecast.left() == pytest.approx(3 * 2)
    assert forecast.count("") == (11, 14)
    expected = Forecast({unit: 5.0 if unit.setting == STRONG else 1.0 for unit in units})
    expected.took(units[0], 3.0)  # all machines differ: proportions are expected, not seconds
    assert expected.left() == pytest.approx(3 * (9 + 50))
    assert replace(units[0], stage=People()) not in expected.expected
