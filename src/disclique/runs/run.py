"""Units run: what is missing is carried out anywhere, journalled as it comes in, and timed before it begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar, runtime_checkable

from disclique.runs.execute import Executor, Serial, one_thread
from disclique.runs.journal import Journal
from disclique.runs.unit import Unit

R = TypeVar("R")
Run = Callable[[Unit], R]  # carries out one unit; picklable, and depends on nothing but the unit


class Progress(Protocol):
    """Hears how far a run is: units done, units wanted so far, and the unit that has just come in."""

    def __call__(self, done: int, wanted: int, unit: Unit | None) -> None:
        """Take note."""


@runtime_checkable
class TimedProgress(Progress, Protocol):
    """Hears besides how long each unit took, in this run or in an earlier one; 0 where nobody knows."""

    def took(self, unit: Unit, seconds: float) -> None:
        """Take note."""


def run_units(
    run: Run[R],
    units: Iterable[Unit],
    journal: Journal[R],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> None:
    """Carry out the units that the journal does not hold yet.

    Killed at any moment and called again it goes on where it stopped; the records are the same for every executor and
    every order in which units finish.
    """
    tell = progress or _ignore
    clock = progress.took if isinstance(progress, TimedProgress) else _forget
    missing = [unit for unit in dict.fromkeys(units) if unit not in journal.done]
    wanted = len(journal.done) + len(missing)
    for unit in journal.done:
        clock(unit, journal.seconds.get(unit, 0.0))
    tell(len(journal.done), wanted, None)
    for unit, record, seconds in (executor or Serial()).map(partial(_time, run), missing):
        journal.append(unit, record, seconds)
        clock(unit, seconds)
        tell(len(journal.done), wanted, unit)


def _time(run: Run[R], unit: Unit) -> tuple[Unit, R, float]:
    """Carry out a unit; return it with its record and the seconds it took."""
    begun = time.perf_counter()
    with one_thread():  # sums of linear algebra depend on the number of threads in their last digits
        record = run(unit)
    return unit, record, time.perf_counter() - begun


def _ignore(done: int, wanted: int, unit: Unit | None) -> None:
    pass


def _forget(unit: Unit, seconds: float) -> None:
    pass


def try_units(
    run: Run[R],
    units: Sequence[Unit],
    journal: Journal[R],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> None:
    """Carry out units on trial, to see how long they take, as the run needs them anyway.

    The first one runs in this process and before the others, and its time is not kept: it compiles what is not yet
    compiled, so that the times of the others tell something.
    """
    missing = [unit for unit in dict.fromkeys(units) if unit not in journal.done]
    if not missing:
        return
    if not journal.seconds:
        if progress is not None:
            progress(len(journal.done), len(journal.done) + len(missing), None)
        alone = len(missing) == 1  # there is nothing else to go by
        for unit, record, seconds in Serial().map(partial(_time, run), missing[:1]):
            journal.append(unit, record, seconds if alone else 0.0)
    run_units(run, missing, journal, executor=executor, progress=progress)


@dataclass(frozen=True)
class Estimate(Generic[R]):
    """Units that a run is expected to need, each with the seconds it may take, and what was carried out on trial."""

    expected: dict[Unit, float]
    records: dict[Unit, R]

    @property
    def units(self) -> int:
        """How many units there are, without those on the side."""
        return sum(not unit.part for unit in self.expected)

    @property
    def seconds(self) -> float:
        """What all of them take, one after the other."""
        return sum(self.expected.values())

    def sentence(self, cores: int, what: str = "units") -> str:
        """Say the estimate."""
        tried = sum(not unit.part for unit in self.records)
        trials = f"by {tried} of them, carried out on trial" if tried > 1 else "by one of them"
        many = f"{cores} process{'es' if cores > 1 else ''}"
        return f"about {self.units} {what}, {say_duration(self.seconds / cores)} on {many} ({trials})"


def say_duration(seconds: float) -> str:
    """Say a length of time as people do.

    >>> say_duration(75), say_duration(600), say_duration(9000)
    ('about 75 s', 'about 10 minutes', 'about 2.5 hours')
    """
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
