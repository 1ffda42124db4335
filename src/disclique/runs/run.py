"""Units run: what is missing is carried out anywhere, journalled as it comes in, and timed before it begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from disclique.arguments import check_whole
from disclique.engine.kernels.compiled import count_cores
from disclique.messages import Message, mark
from disclique.model import Executor
from disclique.progress import Step
from disclique.runs.dask_cluster import OnDask
from disclique.runs.journal import Journal
from disclique.runs.process_pool import Pool, WorkersLost, noting_interrupts, one_thread
from disclique.runs.progress import watching, working
from disclique.runs.unit import Unit

R = TypeVar("R")
Run = Callable[[Unit], R]  # carries out one unit; picklable, and depends on nothing but the unit

UNITS = mark("units_of_a_study")


class Progress(Protocol):
    """Hears how far a run is: units done, units wanted so far, and the unit that has just come in."""

    def __call__(self, done: int, wanted: int, unit: Unit | None) -> None:
        """Take note."""


@runtime_checkable
class FullProgress(Progress, Protocol):
    """Hears besides which units are wanted, what came in, what is at work, and what is over."""

    def wants(self, units: Sequence[Unit]) -> None:
        """Take note of units that will be carried out now."""

    def took(self, unit: Unit, seconds: float, record: Any) -> None:
        """Take note of a unit that came in, in this run or an earlier one; its seconds are 0 where nobody knows."""

    def at_work(self, unit: Unit, step: Step | None, share: float | None) -> None:
        """Take note of the step of a unit at work, None where it is no longer; perhaps from another thread."""

    def over(self, sort: str) -> None:
        """Take note that no further units of a sort of stage will be wanted."""


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
    missing = [unit for unit in dict.fromkeys(units) if unit not in journal.done]
    wanted = len(journal.done) + len(missing)
    where, full = executor or Serial(), progress if isinstance(progress, FullProgress) else None
    if full is not None:
        for unit, record in journal.done.items():
            full.took(unit, journal.seconds.get(unit, 0.0), record)
        full.wants(missing)
    if progress is not None:
        progress(len(journal.done), wanted, None)
    _carry_over_notes(where, journal)
    with watching(None if full is None else full.at_work), _saying_what_is_kept(journal):
        for unit, record, seconds in where.map(partial(_time, run), missing):
            journal.append(unit, record, seconds)
            if full is not None:
                full.took(unit, seconds, record)
            if progress is not None:
                progress(len(journal.done), wanted, unit)


def _carry_over_notes(executor: Executor, journal: Journal[R]) -> None:
    """Let the journal know what the place where units run says of their figures."""
    said: tuple[Message, ...] = getattr(executor, "notes", ())
    journal.notes += tuple(note for note in said if note not in journal.notes)


@contextmanager
def _saying_what_is_kept(journal: Journal[R]) -> Iterator[None]:
    """Give a block whose end for want of workers says where the finished units are."""
    try:
        yield
    except WorkersLost as error:
        if journal.path is None:
            raise
        raise WorkersLost(
            "finished_units_kept", error=error, many=len(journal.done), folder=journal.path.parent
        ) from None


def _time(run: Run[R], unit: Unit) -> tuple[Unit, R, float]:
    """Carry out a unit; return it with its record and its seconds, without those in which kernels were compiled."""
    from numba.core import event

    compiling: list[float] = []
    begun = time.perf_counter()
    with one_thread(), event.install_timer("numba:compiler_lock", compiling.append):
        record = run(unit)
    return unit, record, max(time.perf_counter() - begun - sum(compiling), 1e-6)


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
    if missing:
        first = len(missing) > 1 and not journal.seconds  # of a single one there is nothing else to go by
        where = executor or Serial()
        run_units(run, missing, journal, executor=_FirstHere(where) if first else where, progress=progress)


@dataclass(frozen=True)
class _FirstHere:
    """An executor that carries out the first unit in this process, before the others, and forgets its time."""

    executor: Executor

    @property
    def parallel(self) -> int | None:
        """How many of the others run at a time."""
        return self.executor.parallel

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Return the results as they finish."""
        units = list(items)
        for unit, record, _ in Serial().map(function, units[:1]):
            yield unit, record, 0.0
        yield from self.executor.map(function, units[1:])


@dataclass(frozen=True)
class Estimate(Generic[R]):
    """Units that a run is expected to need, each with the seconds it may take, and what was carried out on trial."""

    expected: dict[Unit, float]
    records: dict[Unit, R]

    @property
    def units(self) -> int:
        """How many units there are, without those on the side."""
        return sum(not unit.stage.beside for unit in self.expected)

    @property
    def seconds(self) -> float:
        """What all of them take, one after the other."""
        return sum(self.expected.values())

    def sentence(self, cores: int, what: str = UNITS) -> Message:
        """Say the estimate."""
        tried = sum(not unit.stage.beside for unit in self.records)
        return Message(
            "work_expected",
            units=self.units,
            what=Message(what),
            duration=say_duration(self.seconds / cores),
            processes=Message("so_many_processes", count=cores),
            trials=_say_trials(tried),
        )


def _say_trials(tried: int) -> Message:
    """Say by what an estimate was made."""
    if not tried:
        return Message("by_a_model_of_cost")
    return Message("by_so_many_trials", tried=tried) if tried > 1 else Message("by_one_trial")


def say_duration(seconds: float) -> Message:
    """Say a length of time as people do.

    >>> [str(say_duration(one)) for one in (75, 600, 9000)]
    ['about 75 s', 'about 10 minutes', 'about 2.5 hours']
    """
    if seconds < 90:
        return Message("about_seconds", seconds=max(1, round(seconds)))
    if seconds < 5400:
        return Message("about_minutes", minutes=round(seconds / 60))
    return Message("about_hours", hours=seconds / 3600)


T = TypeVar("T")


@contextmanager
def keep_open(executor: Executor) -> Iterator[Executor]:
    """Give an executor whose workers stay between calls of ``map``, where it has any."""
    opened = getattr(executor, "opened", None)
    with nullcontext(executor) if opened is None else opened() as running:
        yield running


@dataclass(frozen=True)
class Serial:
    """One item after the other in this process.

    >>> list(Serial().map(abs, [-1, 2]))
    [1, 2]
    """

    parallel: ClassVar[int] = 1

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results in the order of the items.

        A clique search takes Ctrl-C for the end of its budget; what it returns then is no result of the item.
        """
        with noting_interrupts() as interrupted:
            for item in items:
                with working(item):
                    result = function(item)
                if interrupted():
                    raise KeyboardInterrupt
                yield result


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, one item each at a time; as many as there are cores by default.

    The death of one costs only the item it had.

    >>> Processes(2).parallel
    2
    """

    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            check_whole(self.count, "processes", 1)

    @property
    def parallel(self) -> int:
        """Number of processes."""
        return self.count or count_cores()

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish."""
        with self.opened() as pool:
            yield from pool.map(function, items)

    @contextmanager
    def opened(self) -> Iterator[Pool]:
        """Keep the processes between calls of ``map``."""
        pool = Pool(self.parallel)
        try:
            yield pool
        finally:
            pool.stop()


def choose_executor(processes: int | None = None, dask: str | None = None) -> Executor:
    """Return where units run: on a Dask cluster, in this process if one is asked for, else in processes here."""
    if dask is not None:
        return OnDask(dask, processes)
    return Serial() if processes == 1 else Processes(processes)
