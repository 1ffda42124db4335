"""Every executor gives the results of a plain loop, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from disclique.errors import DiscliqueError, InputError, MissingDependency
from disclique.runs import OnDask, Processes, Serial


def square(x: int) -> int:
    return x * x


def noted(folder: Path, deadly: int, x: int) -> int:
    """The square, after leaving a trace of the run; the first run of ``deadly`` is killed."""
    run = len(list(folder.glob(f"{x}-*")))
    (folder / f"{x}-{run}").touch()
    if x == deadly and run == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def always_killed(x: int) -> int:
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def wrong(x: int) -> int:
    raise InputError(f"{x} is wrong")


class Odd(Exception):
    """An error that does not survive pickling."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__("odd")
        self.lambda_ = lambda: (a, b)


def oddly_wrong(x: int) -> int:
    raise Odd(1, 2)


def test_serial_and_processes_give_the_same_results() -> None:
    expected = [x * x for x in range(11)]
    assert list(Serial().map(square, range(11))) == expected
    assert sorted(Processes(2).map(square, range(11))) == expected
    assert list(Processes(2).map(square, [])) == []


def test_a_killed_process_costs_only_its_item(tmp_path: Path) -> None:
    assert sorted(Processes(2).map(partial(noted, tmp_path, 3), range(8))) == [x * x for x in range(8)]
    runs = {x: len(list(tmp_path.glob(f"{x}-*"))) for x in range(8)}
    assert runs == {x: 2 if x == 3 else 1 for x in range(8)}


def test_an_item_that_kills_every_process_is_named() -> None:
    with pytest.raises(DiscliqueError, match=r"2: the process that worked on it died 3 times, last with signal 9"):
        list(Processes(1).map(always_killed, [1, 2, 3]))


def test_errors_come_back_with_their_type_and_place() -> None:
    with pytest.raises(InputError, match="5 is wrong") as caught:
        list(Processes(1).map(wrong, [5]))
    assert "in a worker process" in caught.value.__notes__[0]
    with pytest.raises(DiscliqueError, match="Odd: odd"):
        list(Processes(1).map(oddly_wrong, [5]))


def test_processes_end_when_the_caller_stops_listening() -> None:
    import multiprocessing

    results = Processes(2).map(square, range(100))
    next(iter(results))
    results.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_parameters_are_checked() -> None:
    with pytest.raises(InputError, match="processes = 0"):
        Processes(0)


def test_dask_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependency, match=r"pip install \"disclique\[dask\]\""):
        list(OnDask("local").map(square, [1]))


def test_a_scheduler_that_does_not_answer_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match=r"no Dask scheduler at nonsense://x"):
        list(OnDask("nonsense://x").map(square, [1]))
