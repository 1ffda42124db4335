"""Runs of a study: the same bytes wherever they run and however often they are interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from conftest import SMALL
from disclique.errors import InputError
from disclique.messages import Message
from disclique.runs import Executor, Unit, open_journal
from disclique.runs.journal import read_journal
from disclique.studies import Cell, Study, StudyResult, define_study, load_study

pytestmark = pytest.mark.long


def same(a: StudyResult, b: StudyResult) -> None:
    pd.testing.assert_frame_equal(a.records.drop(columns="seconds"), b.records.drop(columns="seconds"))


def written(result: StudyResult, folder: Path) -> bytes:
    """The bytes of results.parquet."""
    result.save(folder)
    return (folder / "results.parquet").read_bytes()


# Where it runs


@pytest.mark.parametrize(
    "executor", [dq.Serial(), dq.Processes(2), dq.OnDask("local", 2)], ids=lambda e: type(e).__name__
)
def test_every_executor_gives_the_same_bytes(
    executor: Executor, small: Study, undisturbed: StudyResult, tmp_path: Path
) -> None:
    """In a folder and anywhere, or in memory and one after the other."""
    if isinstance(executor, dq.OnDask):
        pytest.importorskip("distributed")
    result = dq.study(small, folder=tmp_path / "run", executor=executor)
    same(result, undisturbed)
    assert written(result, tmp_path / "run") == written(undisturbed, tmp_path / "memory")
    same(load_study(tmp_path / "run"), undisturbed)


def test_a_dask_cluster_gives_equal_records_though_a_worker_is_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    study = define_study({**SMALL, "repetitions": 6})
    killed: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def kill_one(done: int, wanted: int, unit: Unit | None) -> None:
            if done == wanted // 2:
                pid = next(iter(client.run(os.getpid).values()))
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

        address = cluster.scheduler_address
        on_dask = dq.study(study, folder=tmp_path / "dask", executor=dq.OnDask(address), progress=kill_one)
    assert len(killed) == 1
    same(on_dask, dq.study(study, folder=tmp_path / "serial"))


# Interrupted


def run_until_killed(study: Study, folder: Path, last: int, executor: Executor) -> None:
    """Run a study in this process, which ends with kill -9 once so many units are journalled."""

    def kill(done: int, wanted: int, unit: Unit | None) -> None:
        if done == last:
            os.kill(os.getpid(), signal.SIGKILL)

    dq.study(study, folder=folder, executor=executor, progress=kill)


def test_killed_again_and_again_it_ends_as_if_undisturbed(
    small: Study, undisturbed: StudyResult, tmp_path: Path
) -> None:
    """kill -9 of the process that keeps the journal, alone and while others work for it."""
    folder, context = tmp_path / "killed", multiprocessing.get_context("spawn")
    for last, executor in ((2, dq.Serial()), (4, dq.Processes(2))):
        worker = context.Process(target=run_until_killed, args=(small, folder, last, executor))
        worker.start()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
        assert len(read_journal(folder, small, list[Cell])) == last
    assert load_study(folder).notes == (Message("study_unfinished", folder=folder, done=4, total=6),)
    seen: list[int] = []
    resumed = dq.study(small, folder=folder, progress=lambda done, wanted, unit: seen.append(done))
    assert seen == [4, 5, 6], "finished units were run again"
    assert written(resumed, folder) == written(undisturbed, tmp_path / "whole")


COMMAND = """
import signal
from disclique.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # the runner of the tests may have it ignored
main()
"""


def wait_until(true: Callable[[], bool], tries: int = 3000) -> bool:
    """Look every 20 ms, at most so often, whether something has become true."""
    for _ in range(tries):
        if true():
            return True
        time.sleep(0.02)
    return true()


def test_ctrl_c_leaves_a_study_that_goes_on(tmp_path: Path) -> None:
    arguments = ["--sigma", "0.01", "--alpha", "0.3", "--repetitions", "5000", "--n", "60", "--common", "15"]
    running = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "study", *arguments, "--processes", "2", "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    journal = tmp_path / "journal.jsonl"
    wait_until(lambda: running.poll() is not None or (journal.exists() and journal.stat().st_size > 0))
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "the same command goes on from there" in said
    assert 0 < len(load_study(tmp_path).records) < 5000
    assert wait_until(lambda: not _alive(running.pid), 500), "a worker is left"


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_resuming_runs_only_what_is_missing(small: Study, undisturbed: StudyResult, tmp_path: Path) -> None:
    dq.study(small, folder=tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]))
    seen: list[int] = []
    outcome = dq.study(small, folder=tmp_path, progress=lambda done, wanted, unit: seen.append(done))
    assert seen == [4, 5, 6]
    same(outcome, undisturbed)
    assert path.read_bytes().startswith(b"".join(lines[:4]))
    loaded = load_study(tmp_path)
    same(loaded, undisturbed)
    assert loaded.study == small
    assert loaded.notes == ()


@pytest.mark.parametrize("torn", [b'{"unit": {"mask": "gaussian', b'{"unit": 3}\n', b"\x00" * 40, b"\n"])
def test_a_torn_last_line_is_cut_off_and_reported(
    torn: bytes, small: Study, undisturbed: StudyResult, tmp_path: Path
) -> None:
    dq.study(small, folder=tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + torn)
    assert len(load_study(tmp_path).records) == 10
    outcome = dq.study(small, folder=tmp_path)
    assert "the last line was incomplete" in str(outcome.notes[0])
    same(outcome, undisturbed)


# What can go wrong


def test_a_damaged_journal_is_left_alone(small: Study, tmp_path: Path) -> None:
    dq.study(small, folder=tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for damage, words in (
        ([lines[0], b"x" + lines[1], *lines[2:]], "line 2 of 6 is damaged"),
        ([*lines[:2], lines[0]], "stands there twice"),
        ([lines[0].replace(b"0.01deg", b"0.02deg")], "is no part of this study"),
    ):
        path.write_bytes(b"".join(damage))
        with pytest.raises(InputError, match=words):
            dq.study(small, folder=tmp_path)
        assert path.read_bytes() == b"".join(damage)


def test_a_folder_of_another_study_is_left_alone(small: Study, tmp_path: Path) -> None:
    dq.study(define_study({**SMALL, "repetitions": 1}), folder=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match="holds another study \\(repetitions is 1 there and 3 here\\)"):
        dq.study(small, folder=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "study.json").unlink()
    with pytest.raises(InputError, match=r"has a journal but no study\.json"):
        dq.study(small, folder=tmp_path)
    with pytest.raises(InputError, match="there is no study here"):
        load_study(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        dq.study(small, folder=tmp_path)


def test_a_folder_that_cannot_be_written_is_named(small: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        with pytest.raises(InputError, match=str(folder)):
            dq.study(small, folder=folder)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A block in which files cannot grow beyond a size, as on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_named_and_loses_nothing(small: Study, undisturbed: StudyResult, tmp_path: Path) -> None:
    dq.study(small, folder=tmp_path / "whole")
    limit = (tmp_path / "whole" / "journal.jsonl").stat().st_size - 100
    folder = tmp_path / "full"
    with (
        files_of_at_most(limit),
        pytest.raises(InputError, match=r"journal\.jsonl: cannot be written .* the 5 units before are safe"),
    ):
        dq.study(small, folder=folder)
    assert len((folder / "journal.jsonl").read_bytes().splitlines()) == 5
    outcome = dq.study(small, folder=folder)
    assert outcome.notes == ()
    same(outcome, undisturbed)


def test_two_runs_do_not_share_a_folder(small: Study, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with open_journal(tmp_path, small, list[Cell]), pytest.raises(InputError, match="another run of this study"):
        dq.study(small, folder=tmp_path)


def test_other_versions_are_reported(small: Study, tmp_path: Path) -> None:
    dq.study(small, folder=tmp_path)
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace(np.__version__, "0.1"))
    assert "was begun with numpy 0.1 and goes on with" in str(dq.study(small, folder=tmp_path).notes[0])
