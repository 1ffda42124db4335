"""Where work runs: in this process, in processes of this machine, or on a Dask cluster.

An executor has one method, ``map(function, items)``, which yields ``function(item)`` for every item as results come in,
in any order. Functions and items must be picklable, and a function that depends on nothing but its item gives the same
results everywhere. A worker that dies costs its items being run again, nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from disclique.arguments import check_whole
from disclique.engine.kernels.compiled import count_cores
from disclique.model import Executor
from disclique.runs.dask_cluster import OnDask
from disclique.runs.process_pool import Pool, noting_interrupts
from disclique.runs.progress import working

T = TypeVar("T")
R = TypeVar("R")


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
