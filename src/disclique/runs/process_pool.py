"""Processes of this machine at work: each with a connection of its own, one item at a time.

Every process is started afresh (spawned), ignores Ctrl-C, which is the caller's business, and ends by itself when the
caller has gone. Down its connection come a function, where it is a new one, and items; up go the steps of the item at
work and its result.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from operator import is_
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from disclique.errors import DiscliqueError
from disclique.messages import Message
from disclique.runs.progress import Steps, find_watcher, reporting

ATTEMPTS = 3  # how often an item is given to a worker before it is held to be what kills them
T = TypeVar("T")
R = TypeVar("R")


# The threads of linear algebra belong to the whole process, so one item at a time is at work in it.
_turn = threading.RLock()


class WorkersLost(DiscliqueError):
    """Workers, or the way to them, are gone: nothing is wrong with the work itself, and it may be taken up again."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a block in which the linear algebra libraries use one thread: the cores are taken by the processes.

    Its sums depend on the number of threads in their last digits. Blocks may stand in one another; those of other
    threads of this process wait. A library that was loaded since an outer block began is limited as well.
    """
    from threadpoolctl import threadpool_limits

    with _turn, threadpool_limits(1):
        yield


@contextmanager
def noting_interrupts() -> Iterator[Callable[[], bool]]:
    """Note every Ctrl-C and SIGTERM, whoever catches it; give a function that says whether there was one."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    seen: list[int] = []
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        handler = before[number]
        if callable(handler):
            handler(number, frame)

    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, note)
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back; threads and processes that are started meanwhile never hear of it, not even while they load."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # which would let signals through again where it begins to run
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Report(NamedTuple):
    """What a worker has been doing lately."""

    steps: Steps


class _Answer(NamedTuple):
    """The result of an item, or the error with its trace."""

    good: bool
    value: Any


class Pool:
    """Processes that have been started, at most ``parallel`` of them."""

    def __init__(self, parallel: int) -> None:
        self.parallel = parallel
        self.workers: list[_Worker] = []

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish; items are asked for one by one, as there is room for them."""
        fresh, again = enumerate(items), deque[tuple[int, T]]()

        def take() -> tuple[int, T] | None:
            return again.popleft() if again else next(fresh, None)

        attempts: Counter[int] = Counter()
        workers, watch = self.workers, find_watcher()
        workers[:] = [
            worker if worker.item is None else worker.replaced() for worker in workers
        ]  # an earlier map ended
        while True:
            workers[:] = [worker.replaced() if worker.dead else worker for worker in workers]
            while self._has_room() and (one := take()) is not None:
                worker = self._find_idle()
                worker.give(function, one)
                watch(worker.at_work, "", None)
            if all(worker.item is None for worker in workers):
                return
            for worker in _ready(workers):
                try:
                    news = worker.receive()
                except EOFError:
                    news = None
                if isinstance(news, _Report):
                    for step, share in news.steps:
                        watch(worker.at_work, step, share)
                    continue
                number, item = worker.taken()
                watch(item, None, None)
                if news is not None:
                    yield _open(news)
                    continue
                worker.dead = True
                attempts[number] += 1
                if attempts[number] >= ATTEMPTS:
                    raise _deadly(item, worker.code)
                again.append((number, item))

    def _has_room(self) -> bool:
        return len(self.workers) < self.parallel or any(worker.item is None for worker in self.workers)

    def _find_idle(self) -> _Worker:
        """Return a worker without an item, started now if all that there are have one."""
        idle = next((worker for worker in self.workers if worker.item is None), None)
        if idle is None:
            idle = _Worker()
            self.workers.append(idle)
        return idle

    def stop(self) -> None:
        """End all processes at once."""
        for worker in self.workers:
            worker.stop()


def _ready(workers: list[_Worker]) -> list[_Worker]:
    """Return the workers that have news or have died, after waiting for the first of them."""
    busy = {worker.pipe: worker for worker in workers if worker.item is not None}
    return [busy[pipe] for pipe in wait(list(busy)) if isinstance(pipe, Connection)]


def _open(answer: _Answer) -> Any:
    """Return the result, or raise the error that the function raised."""
    if answer.good:
        return answer.value
    error, trace = answer.value
    error.add_note(trace)
    raise error


def _deadly(item: object, code: int | None) -> WorkersLost:
    clean = code is not None and code >= 0
    how = Message("exit_code", code=code) if clean else Message("exit_signal", signal=-(code or 0))
    return WorkersLost("process_died", item=str(item), times=ATTEMPTS, how=how)


class _Worker:
    """One process, its connection, and the item it has at the moment."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.function: Callable[[Any], Any] | None = None
        self.item: tuple[int, Any] | None = None
        self.dead = False
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with holding_interrupts():
            self.process.start()
        theirs.close()  # so that its death is seen as the end of the file

    def give(self, function: Callable[[Any], Any], item: tuple[int, Any]) -> None:
        """Send an item. A worker that has just died is found out when its result is asked for."""
        self.item = item
        news = None if self.function is not None and same(function, self.function) else function
        self.function = function
        with suppress(OSError):
            self.pipe.send((news, item[1]))

    @property
    def at_work(self) -> Any:
        assert self.item is not None
        return self.item[1]

    def taken(self) -> tuple[int, Any]:
        """Return the item at work, which is no longer its own."""
        assert self.item is not None
        item, self.item = self.item, None
        return item

    def receive(self) -> _Report | _Answer:
        """Return a report or the answer; EOFError if the process died."""
        try:
            news = self.pipe.recv()
        except OSError:  # on some systems a broken connection instead of the end of the file
            raise EOFError from None
        assert isinstance(news, _Report | _Answer)
        return news

    @property
    def code(self) -> int | None:
        self.process.join(1)
        return self.process.exitcode

    def replaced(self) -> _Worker:
        self.stop()
        return _Worker()

    def stop(self) -> None:
        """End the process at once."""
        self.pipe.close()
        self.process.kill()
        self.process.join()
        self.process.close()


def same(one: Callable[[Any], Any], other: Callable[[Any], Any]) -> bool:
    """Return whether two functions are the same, so that its data need not be sent again."""
    if isinstance(one, partial) and isinstance(other, partial):
        return one.func is other.func and len(one.args) == len(other.args) and all(map(is_, one.args, other.args))
    return one is other


def _end_with_parent() -> None:
    """End this process when the one that started it has gone, even in the middle of a kernel."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _serve(pipe: Connection) -> None:
    """Work on what comes down the pipe until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    function: Callable[[Any], Any] = _sendable
    with one_thread():
        while True:
            try:
                news, item = pipe.recv()
            except (EOFError, OSError):
                return
            function = news or function
            try:
                with reporting(lambda steps: pipe.send(_Report(steps))):
                    result = function(item)
                answer = _Answer(True, result)
            except BaseException as error:
                answer = _Answer(False, (_sendable(error), "in a worker process:\n" + traceback.format_exc()))
            try:
                pipe.send(answer)
            except OSError:
                return


def _sendable(error: BaseException) -> BaseException:
    """Return the error itself if it survives the way to another process, else its words."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return DiscliqueError("other_error", kind=type(error).__name__, error=str(error))
    return error
