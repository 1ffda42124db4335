"""Units run: what is missing is carried out anywhere, journalled as it comes in, and timed before it begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from disclique.runs.execute import Executor, Serial, one_thread
from disclique.runs.journal import Journal
from disclique.runs.unit import Unit

R = TypeVar("R")
Run = Callable[[Unit], R]  # carries out one unit; picklable, and depends on nothing but the unit


class Progress(Protocol):
    """Hears how far a run is: units done, units wanted so far, and the unit that has just come in."""

    def __call__(self, done: int, wanted: int, unit: Unit | None) -> None:
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
    missing = [unit for unit in dict.fromkeys(units) if unit not in journal.done]
    wanted = len(journal.done) + len(missing)
    tell(len(journal.done), wanted, None)
    for unit, record in (executor or Serial()).map(partial(_finish, run), missing):
        journal.append(unit, record)
        tell(len(journal.done), wanted, unit)


def _finish(run: Run[R], unit: Unit) -> tuple[Unit, R]:
    with one_thread():  # sums of linear algebra depend on the number of threads in their last digits
        return unit, run(unit)


def _ignore(done: int, wanted: int, unit: Unit | None) -> None:
    pass


@dataclass(frozen=True)
class Estimate(Generic[R]):
    """Units that were carried out on trial, as the run needs them anyway, and how long the rest will take."""

    records: dict[Unit, R]
    units: int
    seconds: float  # of all units, one after the other

    def sentence(self, cores: int, what: str = "units") -> str:
        """Say the estimate."""
        trials = f"by {len(self.records)} of them, carried out on trial" if len(self.records) > 1 else "by one of them"
        many = f"{cores} process{'es' if cores > 1 else ''}"
        return f"about {self.units} {what}, {say_duration(self.seconds / cores)} on {many} ({trials})"


def estimate(run: Run[R], trials: Sequence[tuple[Unit, float]], executor: Executor | None = None) -> Estimate[R]:
    """Time some units, each of which stands for so many, to tell how long all of these will take.

    The first one runs in this process and before the others: it compiles what is not yet compiled, so that their times
    tell something.
    """
    (first, stands), rest = trials[0], {unit: number for unit, number in trials[1:] if unit != trials[0][0]}
    _, record, taken = _time(run, first)
    records, seconds, counted = {first: record}, stands * taken, stands
    for unit, found, taken in (executor or Serial()).map(partial(_time, run), list(rest)):
        records[unit] = found
        seconds, counted = seconds + rest[unit] * taken, counted + rest[unit]
    wanted = sum(number for _, number in trials)
    if not counted:  # the first one is all there is
        return Estimate(records, round(wanted) or 1, taken * max(wanted, 1.0))
    return Estimate(records, round(wanted), seconds * max(wanted, 1) / counted)


def _time(run: Run[R], unit: Unit) -> tuple[Unit, R, float]:
    begun = time.perf_counter()
    unit, record = _finish(run, unit)
    return unit, record, time.perf_counter() - begun


def say_duration(seconds: float) -> str:
    """Say a length of time as people do.

    >>> say_duration(75), say_duration(600), say_duration(9000)
    ('about 75 s', 'about 10 minutes', 'about 2.5 hours')
    """
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
