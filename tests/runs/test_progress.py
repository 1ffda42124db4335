"""What is said while a run is under way: how far it is, what it found so far, and what it is doing."""

from __future__ import annotations

import io
import re
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

import disclique as dq
from conftest import Run
from disclique.audits import run_audit
from disclique.audits.definition import People
from disclique.audits.estimate import STAGES, RiskSoFar
from disclique.cli.screen import USUAL, Pace, Screen
from disclique.masks.settings import Setting
from disclique.progress import tell
from disclique.runs import Executor, Forecast, Journal, Processes, Serial, Unit, run_units
from disclique.runs.process_pool import one_thread
from disclique.runs.progress import REPORT_SECONDS, Counter, UnitNames, reporting, watching
from small_files import COLUMNS, LIGHT, make_audit, people

WEAK, STRONG = Setting.parse("round:to=1km"), Setting.parse("round:to=2km")
UNITS = [Unit(WEAK, 0), Unit(WEAK, 1), Unit(STRONG, 0), Unit(STRONG, 0, People())]


def attack(seconds: float, unit: Unit) -> str:
    """A unit that tells of its steps, some of them at once."""
    tell("register")
    tell("looking", 0.25)
    time.sleep(seconds)
    return f"{unit.setting} {unit.repetition}"


@pytest.mark.parametrize("executor", [Serial(), Processes(2)], ids=["serial", "processes"])
def test_whoever_watches_hears_every_item_begin_and_end(executor: Executor) -> None:
    """And what is done to it, also of a step that was told just before another one."""
    heard: list[tuple[Unit, str | None]] = []
    with watching(lambda item, step, share: heard.append((item, step))):
        assert len(list(executor.map(partial(attack, 1.5 * REPORT_SECONDS), UNITS))) == 4
    for unit in UNITS:
        steps = [step for item, step in heard if item == unit]
        assert (steps[0], steps[-1]) == ("", None)
    assert {"register", "looking"} <= {step for _, step in heard}


def test_a_worker_sends_few_reports_and_none_after_the_end() -> None:
    """However often it tells, and though whoever reads them is slow or has gone."""
    sent: list[int] = []
    with reporting(lambda steps: sent.append(len(steps))):
        end = time.monotonic() + 1.2 * REPORT_SECONDS
        while time.monotonic() < end:
            tell("a step")
    assert 1 <= len(sent) <= 3
    before = len(sent)
    tell("nobody hears this")
    time.sleep(1.2 * REPORT_SECONDS)
    assert len(sent) == before

    def fail(steps: object) -> None:
        raise OSError("the reader has gone")

    with reporting(fail):
        tell("a step")


def shown(screen: Screen) -> str:
    """What was printed."""
    assert isinstance(screen.err.file, io.StringIO)
    return screen.err.file.getvalue()


def make_screen(*, terminal: bool, pace: Pace = USUAL) -> Screen:
    screen = Screen(pace=pace)
    screen.err = Console(file=io.StringIO(), force_terminal=terminal, width=160, highlight=False, soft_wrap=True)
    return screen


def test_a_pipe_hears_of_a_single_release_that_takes_long() -> None:
    """From the first moment, and again and again: what is done to which release, and since when."""
    screen, journal = make_screen(terminal=False, pace=Pace(every=0.1)), Journal[str]()
    about = UnitNames("releases", lambda unit, record: f"risk so far {record}", headings=("register",), beside=STAGES)
    with screen.units(about, Forecast(dict.fromkeys(UNITS, 1.0)), Serial()) as progress:
        run_units(partial(attack, 0.5), UNITS[:1], journal, progress=progress)
        run_units(partial(attack, 0.3), UNITS, journal, progress=progress)
    lines = shown(screen).splitlines()
    assert lines[0] == "0 of 3 releases"
    assert "0 of 3 releases; now (0:00) round:to=1km, repetition 1: register, looking 25%" in lines
    assert any(
        re.match(r"1 of 3 releases, round:to=1km: risk so far round:to=1km 0, 0:0\d left; now \(0:00\) round:to=1km", s)
        for s in lines
    )
    assert any("3 of 3 releases, asking for every person, 0 of 1" in line for line in lines)
    assert lines[-1] == "3 of 3 releases, asking for every person, 1 of 1"


def test_a_terminal_has_a_second_line_for_what_runs_now() -> None:
    screen, journal = make_screen(terminal=True), Journal[str]()
    with screen.units(UnitNames("releases"), Forecast(dict.fromkeys(UNITS, 1.0)), Serial()) as progress:
        run_units(partial(attack, 0.6), UNITS[:2], journal, progress=progress)
    drawn = shown(screen)
    assert "1 of 3 releases" in drawn
    assert re.search(r"\n.*now \(0:0[01]\) round:to=1km, repetition 2: looking 25%", drawn)


def test_several_units_at_work_are_counted_by_setting() -> None:
    counter = Counter(UnitNames("releases", headings=("register",), beside=STAGES), Forecast({}), Serial())
    for unit in UNITS:
        counter.at_work(unit, "", None)
    counter.at_work(UNITS[0], "register", None)
    assert str(counter.tell_now()) == (
        "now (0:00) round:to=1km, repetition 1: register; also "
        "1 × round:to=1km, 1 × round:to=2km, 1 × round:to=2km (asking for every person)"
    )
    counter.at_work(UNITS[0], None, None)
    assert str(counter.tell_now()).startswith("now (0:00) round:to=1km, repetition 2; also 1 × round:to=2km")


def test_the_time_left_counts_down_while_a_unit_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """And does not get below nothing, however much longer than the others it takes."""
    forecast = Forecast(dict.fromkeys(UNITS[:3], 1.0))
    forecast.took(UNITS[0], 60.0)
    assert forecast.left() == 120.0
    assert forecast.left({UNITS[1]: 25.0}) == 95.0
    assert forecast.left({UNITS[1]: 1000.0}) == 60.0


@pytest.mark.parametrize("attacks", [("labels", "clique"), ("labels",)])
def test_the_risk_so_far_ends_as_the_risk_of_the_result(attacks: tuple[str, ...]) -> None:
    """Setting by setting, but for further draws of the setting that the verdict names."""
    audit = make_audit("affine", "gaussian:sigma=20km", n=30, attacks=attacks, budget=1e-4)
    so_far, said = RiskSoFar(audit.plan), {}
    heard = UnitNames("releases", lambda unit, record: said.setdefault(unit, so_far(unit, record)))
    result = run_audit(audit, progress=Counter(heard, Forecast({}), Serial()))
    for setting in result.settings:
        assert so_far.measure(Setting.parse(setting.spec)) == pytest.approx(setting.risk.value, abs=0.1)
    assert all(words is None for unit, words in said.items() if unit.stage.beside)
    codes = {words.code for unit, words in said.items() if not unit.stage.beside}
    assert codes == {"risk_so_far"}


def test_releases_are_counted_as_they_were_foreseen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units on the side are not releases; gone on with, the count and the time left are there from the start."""
    for page in ("report", "annex"):
        monkeypatch.setattr(dq.AuditResult, page, lambda self, path, **_: path.touch())
    people(24).to_csv("f.csv", index=False)
    arguments = ["audit", "f.csv", *COLUMNS, "--mask", "affine", "--mask", "gaussian:sigma=5km", "--attack", "labels"]
    arguments += ["--repetitions", "6", *LIGHT, "--processes", "1", "--out", "o"]
    code, _, err = run(*arguments)
    assert code == 0
    assert "about 12 releases to be measured" in err
    assert "12 of 12 releases" in err
    journal = Path("o/journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:9]))
    for made in ("result.json", "records.csv", "report.html", "annex.html", "annex.docx"):
        Path("o", made).unlink()
    err = run(*arguments)[2]
    done = sum(b'"part":""' in line for line in lines[:9])
    assert re.search(rf"^{done} of 12 releases, 0:0\d left", err, re.MULTILINE), err


def test_blocks_of_one_thread_wait_for_each_other() -> None:
    """In each of them the libraries have one thread, whoever else begins; afterwards they have theirs back."""
    control = pytest.importorskip("threadpoolctl")

    def threads() -> set[int]:
        return {one["num_threads"] for one in control.threadpool_info() if one["user_api"] == "blas"}

    inside: list[set[int]] = []

    def other() -> None:
        with one_thread(), one_thread():
            inside.append(threads())

    before = threads()
    others = [threading.Thread(target=other) for _ in range(3)]
    with one_thread():
        for thread in others:
            thread.start()
        with one_thread():
            inside.append(threads())
        inside.append(threads())
        assert len(inside) == 2  # nobody else has begun
    for thread in others:
        thread.join(10)
    assert inside == [{1}] * 5
    assert threads() == before
