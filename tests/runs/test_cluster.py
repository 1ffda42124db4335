"""A scheduler and workers in processes of their own, as on other machines: the same bytes, whoever of them dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import disclique as dq
from conftest import Run
from disclique.audits.result import encode_result
from disclique.errors import InputError
from disclique.masks.settings import Setting
from disclique.progress import tell
from disclique.runs import Journal, OnDask, Unit, run_units
from disclique.runs.dask_cluster import compare_versions
from disclique.runs.process_pool import WorkersLost
from disclique.runs.progress import watching
from small_files import COLUMNS, LIGHT, people, without_times

pytestmark = pytest.mark.long

pytest.importorskip("distributed")
HERE = Path(__file__).resolve().parents[1]
SOURCE = HERE.parent / "src"


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Look whether something becomes true."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


class Cluster:
    """A scheduler, and as many workers as are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processes = folder, []  # type: tuple[Path, list[subprocess.Popen[bytes]]]
        about = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(about))
        assert wait_until(about.exists)
        assert wait_until(lambda: about.read_text().endswith("}"))
        self.address: str = json.loads(about.read_text())["address"]

    def _start(self, *arguments: str, source: Path = SOURCE) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (source, HERE, HERE / "runs"))),
        }
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard", "--host", "127.0.0.1"]
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes.append(subprocess.Popen(command, env=environment, cwd=self.folder, **quiet))
        return self.processes[-1]

    def add_worker(self, threads: int = 1, source: Path = SOURCE) -> subprocess.Popen[bytes]:
        """Start a worker, which is left to itself when it dies."""
        place = str(self.folder / f"worker-{len(self.processes)}")
        more = ("--nthreads", str(threads), "--no-nanny", "--local-directory", place)
        return self._start("worker", self.address, *more, source=source)


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """A cluster of which nothing is left afterwards."""
    there = Cluster(folder)
    try:
        yield there
    finally:
        for process in there.processes:
            process.kill()
            process.wait()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    with started(tmp_path) as there:
        yield there


def kill_after(journal: Path, lines: int, victim: subprocess.Popen[bytes]) -> threading.Thread:
    """Kill a process as soon as a journal has so many lines."""

    def kill() -> None:
        if wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= lines):
            victim.kill()

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


AUDIT = ["audit", "f.csv", *COLUMNS, "--mask", "affine", "--mask", "gaussian:sigma=5km", "--repetitions", "7"]
AUDIT += ["--attack", "clique", "--overlap", "0.5", *LIGHT, "--out"]


def read(folder: str) -> tuple[bytes, bytes]:
    """What an audit wrote: the result without its times, and the records."""
    result = dq.read_result(f"{folder}/result.json")
    return encode_result(without_times(result)), Path(folder, "records.csv").read_bytes()


def records(folder: str) -> dict[str, Any]:
    """The journal by unit, without times; a unit that stands there twice is an error."""
    found: dict[str, Any] = {}
    for line in Path(folder, "journal.jsonl").read_text().splitlines():
        entry = json.loads(line)
        assert str(entry["unit"]) not in found
        for attempt in [*entry["record"]["attempts"], entry["record"]["oracle"]]:
            (attempt or {}).pop("seconds", None)
        found[str(entry["unit"])] = entry["record"]
    return found


def test_an_audit_outlives_a_worker_and_then_its_scheduler(
    run: Run, empty: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with the bytes of a serial one; without a scheduler in a sentence, and goes on elsewhere."""
    for page in ("report", "annex"):  # nothing of them depends on where releases are attacked
        monkeypatch.setattr(dq.AuditResult, page, lambda self, path, **_: None)
    first, _ = empty.add_worker(), empty.add_worker()
    people(30).to_csv("f.csv", index=False)
    killed = kill_after(Path("dask/journal.jsonl"), 7, first)
    code, _, err = run(*AUDIT, "dask", "--dask", empty.address)
    assert code == 0, err
    killed.join()
    assert first.poll() == -signal.SIGKILL
    assert "14 of 14 releases" in err
    assert run(*AUDIT, "serial", "--processes", "1")[0] == 0
    assert read("dask") == read("serial")
    assert records("dask") == records("serial")

    killed = kill_after(Path("gone/journal.jsonl"), 7, empty.scheduler)
    code, _, err = run(*AUDIT, "gone", "--dask", empty.address)
    killed.join()
    assert code == 2
    last = err.splitlines()[-1]
    assert f"disclique: the Dask scheduler at {empty.address} has gone; the " in last
    assert "finished units are kept in gone, and the same command goes on from there" in last
    assert "Traceback" not in err
    kept = Path("gone/journal.jsonl").read_bytes()
    assert run(*AUDIT, "gone", "--processes", "1")[0] == 0
    assert Path("gone/journal.jsonl").read_bytes().startswith(kept)
    assert read("gone") == read("serial")


class Heavy:
    """Work that carries data, and leaves a trace wherever it is unpacked and carried out."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, os.urandom(12_000_000)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        (self.folder / f"unpacked-{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, x: int) -> int:
        with (self.folder / f"inside-{os.getpid()}").open("x"):
            tell("thinking", 0.5)
            time.sleep(0.04)
        (self.folder / f"inside-{os.getpid()}").unlink()
        (self.folder / f"done-{os.getpid()}-{x}").touch()
        return x * x


def test_the_data_are_sent_once_to_each_worker_also_when_all_of_them_die(tmp_path: Path, empty: Cluster) -> None:
    """To one that joins when the only one that had them is gone, too; items never share a process.

    And not to one that has other code, though the version is the same: what it computes is not.
    """
    shutil.copytree(SOURCE / "disclique", tmp_path / "other" / "disclique", ignore=shutil.ignore_patterns("*.nb?"))
    with (tmp_path / "other" / "disclique" / "geodesy.py").open("a") as file:
        file.write("RADIUS = 1\n")
    other = empty.add_worker(source=tmp_path / "other")
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:\d+: disclique .* has other code there than here"):
        list(OnDask(empty.address).map(abs, [1]))
    other.kill()
    other.wait()
    traces = tmp_path / "traces"
    traces.mkdir()
    first = empty.add_worker(threads=3)
    seen: list[tuple[int, str | None]] = []

    def unpacked(pid: int) -> int:
        return len(list(traces.glob(f"unpacked-{pid}-*")))

    with (
        OnDask(empty.address).opened() as session,
        watching(lambda item, step, share: seen.append((item, step))),
    ):
        assert session.parallel == 1
        assert [hint.code for hint in session.hints] == ["workers_with_threads"]
        assert session.notes == ()
        work = Heavy(traces)
        assert sorted(session.map(work, range(10))) == [x * x for x in range(10)]
        assert unpacked(first.pid) == 1
        found = set()
        for result in session.map(work, range(10, 40)):
            found.add(result)
            if len(found) == 5:
                second = empty.add_worker()
                first.kill()
                (traces / f"inside-{first.pid}").unlink(missing_ok=True)
        assert found == {x * x for x in range(10, 40)}
        assert unpacked(first.pid) == unpacked(second.pid) == 1
    assert "thinking" in {step for item, step in seen if item < 10}
    began, ended = ({item for item, step in seen if step == what} for what in ("", None))
    assert ended == set(range(40))
    assert began <= ended


def versions_there(**worker: str | None) -> dict[str, Any]:
    """What Dask tells of versions, where a worker differs in some."""
    ours = {"python": "3.11.7.final.0", "disclique": "1.2", "numpy": "2.0", "numba": "0.6", "scipy": "1.1"}
    return {
        "client": {"packages": ours},
        "scheduler": {"packages": ours | {"numpy": None}},
        "workers": {"tcp://a:1": {"packages": ours}, "tcp://b:1": {"packages": ours | worker}},
    }


def test_versions_are_compared() -> None:
    """Another disclique is refused, other libraries are noted; the scheduler computes nothing."""
    assert compare_versions(versions_there()) == ()
    with pytest.raises(InputError, match=r"tcp://b:1: disclique is not installed there; .* need disclique 1\.2"):
        compare_versions(versions_there(disclique=None))
    with pytest.raises(InputError, match=r"tcp://b:1: has disclique 1\.1; the scheduler and all workers need"):
        compare_versions(versions_there(disclique="1.1"))
    notes = compare_versions(versions_there(numba="0.5", python="3.12.1.final.0"))
    assert [str(note).split(";")[0] for note in notes] == [
        "tcp://b:1: python is 3.12.1 there and 3.11.7 here",
        "tcp://b:1: numba is 0.5 there and 0.6 here",
    ]


class _Noted:
    """An executor with something to say of the place where it runs."""

    parallel = 1
    notes = ("numba differs",)

    def map(self, function: Callable[[Any], Any], items: Any) -> Iterator[Any]:
        yield from map(function, items)


def test_what_may_change_figures_gets_into_the_journal() -> None:
    """Once, however often units are asked for."""
    journal = Journal[str]()
    for k in range(2):
        run_units(str, [Unit(Setting.parse("affine"), k)], journal, executor=_Noted())
    assert journal.notes == ("numba differs",)


def raise_lost(unit: Unit) -> str:
    raise WorkersLost("gone")


def test_a_journal_in_memory_is_not_said_to_be_kept() -> None:
    with pytest.raises(WorkersLost, match=r"^gone$"):
        run_units(raise_lost, [Unit(Setting.parse("affine"), 0)], Journal[str]())


def test_places_that_are_no_scheduler_are_named(run: Run) -> None:
    """A closed port, a server of something else, a number of processes that nobody could heed."""
    import http.server

    people(20).to_csv("f.csv", index=False)
    with ExitStack() as stack:
        server = stack.enter_context(http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler))
        port = server.server_address[1]
        for address in (f"tcp://127.0.0.1:{port}", "tls://127.0.0.1:9", "", "tcp://"):
            with pytest.raises(InputError, match=r"^no Dask scheduler at "):
                list(OnDask(address, patience=0.7).map(abs, [1]))
    code, _, err = run(*AUDIT, "o", "--dask", "tls://127.0.0.1:9")
    assert (code, err.splitlines()[-1].startswith("disclique: no Dask scheduler at ")) == (2, True), err
    code, _, err = run(*AUDIT, "o", "--dask", "tcp://127.0.0.1:9", "--processes", "2")
    assert (code, "a number of processes goes with 'local' only" in err) == (2, True)
