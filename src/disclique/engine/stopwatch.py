"""When a search has to stop, and whom it tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from disclique.engine.kernels.compiled import count_cores
from disclique.engine.kernels.roots import ENDLESS
from disclique.errors import InputError
from disclique.model import Budget

BILLION = 1e9
CliqueProgress = Callable[[int, int, int], None]  # done, total, size of the best clique so far


@dataclass(eq=False)
class Stopwatch:
    """The budget of one search that has begun, the threads it may use, and who hears of its progress."""

    deadline: float
    size: float
    threads: int
    progress: CliqueProgress | None
    work: float = float("inf")
    spent: float = 0.0  # the work done, in billions of operations

    @staticmethod
    def start(budget: Budget, threads: int | None, progress: CliqueProgress | None) -> Stopwatch:
        """Return a stopwatch that starts now."""
        if threads is not None and threads < 1:
            raise InputError("no_threads", threads=threads)
        return Stopwatch(
            deadline=float("inf") if budget.seconds is None else time.perf_counter() + budget.seconds,
            size=float("inf") if budget.size is None else budget.size,
            threads=1 if budget.work is not None else count_cores() if threads is None else threads,
            progress=progress,
            work=float("inf") if budget.work is None else budget.work,
        )

    def over(self, size: int) -> bool:
        """True if a search that has found ``size`` members must stop."""
        return size >= self.size or self.spent >= self.work or time.perf_counter() >= self.deadline

    def left(self) -> int:
        """Operations that may still be spent."""
        return ENDLESS if self.work == float("inf") else max(0, round((self.work - self.spent) * BILLION))

    def part(self, share: float) -> Stopwatch:
        """Return a stopwatch that stops when this share of what is left has been spent."""
        now = time.perf_counter()
        deadline = self.deadline if self.deadline == float("inf") else now + (self.deadline - now) * share
        work = self.work if self.work == float("inf") else self.spent + (self.work - self.spent) * share
        return replace(self, deadline=deadline, work=work)

    def spend(self, operations: float) -> None:
        """Count work done."""
        self.spent += operations / BILLION

    def tell(self, done: int, total: int, size: int) -> None:
        """Pass the state on to the listener."""
        if self.progress is not None:
            self.progress(done, total, size)
