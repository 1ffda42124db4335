"""Where work runs: in this process, in processes of this machine, or on a Dask cluster.

An executor has one method, ``map(function, items)``, which yields ``function(item)`` for every item as results come in,
in any order. Functions and items must be picklable, and a function that depends on nothing but its item gives the same
results everywhere. A worker that dies costs its items being run again, nothing more.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from operator import is_
from types import FrameType
from typing import Any, ClassVar, Protocol, TypeVar

from disclique.checks import check_kind, check_whole
from disclique.engine.kernels.threads import available
from disclique.errors import DiscliqueError, InputError, MissingDependency

ATTEMPTS = 3  # how often an item is given to a worker before it is held to be what kills them
T = TypeVar("T")
R = TypeVar("R")


class Executor(Protocol):
    """Something that runs a function on many items."""

    @property
    def parallel(self) -> int | None:
        """How many items run at a time; None where that is not known here."""

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish."""


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
        with _noting_interrupts() as interrupted:
            for item in items:
                result = function(item)
                if interrupted():
                    raise KeyboardInterrupt
                yield result


@contextmanager
def _noting_interrupts() -> Iterator[Callable[[], bool]]:
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


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, one item each at a time; as many as there are cores by default.

    Every process is started afresh (spawned), ignores Ctrl-C, which is the caller's business, and ends by itself when
    the caller has gone. Each has a connection of its own, so that the death of one costs only the item it had.

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
        return self.count or available()

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish."""
        with self.opened() as pool:
            yield from pool.map(function, items)

    @contextmanager
    def opened(self) -> Iterator[_Pool]:
        """Keep the processes between calls of ``map``."""
        pool = _Pool(self.parallel)
        try:
            yield pool
        finally:
            for worker in pool.workers:
                worker.stop()


class _Pool:
    """Processes that have been started, at most ``parallel`` of them."""

    def __init__(self, parallel: int) -> None:
        self.parallel = parallel
        self.workers: list[_Worker] = []

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish."""
        waiting: deque[tuple[int, T]] = deque(enumerate(items))
        attempts: Counter[int] = Counter()
        workers = self.workers
        workers[:] = [
            worker if worker.item is None else worker.replaced() for worker in workers
        ]  # an earlier map ended
        workers += [_Worker() for _ in range(min(self.parallel, len(waiting)) - len(workers))]
        while waiting or any(worker.item is not None for worker in workers):
            workers[:] = [worker.replaced() if worker.dead else worker for worker in workers]
            for worker in workers:
                if worker.item is None and waiting:
                    worker.give(function, waiting.popleft())
            for worker in _ready(workers):
                number, item = worker.taken()
                try:
                    result = worker.result()
                except EOFError:
                    worker.dead = True
                    attempts[number] += 1
                    if attempts[number] >= ATTEMPTS:
                        raise _deadly(item, worker.code) from None
                    waiting.appendleft((number, item))
                else:
                    yield result


def _ready(workers: list[_Worker]) -> list[_Worker]:
    """Return the workers that have a result or have died, after waiting for the first of them."""
    busy = {worker.pipe: worker for worker in workers if worker.item is not None}
    return [busy[pipe] for pipe in wait(list(busy)) if isinstance(pipe, Connection)]


def _deadly(item: object, code: int | None) -> DiscliqueError:
    how = f"exit code {code}" if code is not None and code >= 0 else f"signal {-(code or 0)}"
    return DiscliqueError(
        f"{item}: the process that worked on it died {ATTEMPTS} times, last with {how}; if that is 9, the machine is "
        "probably short of memory: use fewer processes"
    )


class _Worker:
    """One process, its connection, and the item it has at the moment."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.function: Callable[[Any], Any] | None = None
        self.item: tuple[int, Any] | None = None
        self.dead = False
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _holding_interrupts():
            self.process.start()
        theirs.close()  # so that its death is seen as the end of the file

    def give(self, function: Callable[[Any], Any], item: tuple[int, Any]) -> None:
        """Send an item. A worker that has just died is found out when its result is asked for."""
        self.item = item
        news = None if self.function is not None and _same(function, self.function) else function
        self.function = function
        with suppress(OSError):
            self.pipe.send((news, item[1]))

    def taken(self) -> tuple[int, Any]:
        """Return the item at work, which is no longer its own."""
        assert self.item is not None
        item, self.item = self.item, None
        return item

    def result(self) -> Any:
        """Return the result of the item; EOFError if the process died, or the error that the function raised."""
        try:
            good, value = self.pipe.recv()
        except OSError:  # on some systems a broken connection instead of the end of the file
            raise EOFError from None
        if good:
            return value
        error, trace = value
        error.add_note(trace)
        raise error

    @property
    def code(self) -> int | None:
        """How a dead process ended."""
        self.process.join(1)
        return self.process.exitcode

    def replaced(self) -> _Worker:
        """Return a new worker in place of a dead one."""
        self.stop()
        return _Worker()

    def stop(self) -> None:
        """End the process at once."""
        self.pipe.close()
        self.process.kill()
        self.process.join()
        self.process.close()


def _same(one: Callable[[Any], Any], other: Callable[[Any], Any]) -> bool:
    """Return whether two functions are the same, so that its data need not be sent again."""
    if isinstance(one, partial) and isinstance(other, partial):
        return one.func is other.func and len(one.args) == len(other.args) and all(map(is_, one.args, other.args))
    return one is other


@contextmanager
def _holding_interrupts() -> Iterator[None]:
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
                answer: tuple[bool, Any] = (True, function(item))
            except BaseException as error:
                answer = (False, (_sendable(error), "in a worker process:\n" + traceback.format_exc()))
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
        return DiscliqueError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a block in which the linear algebra libraries use one thread: the cores are taken by the processes."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@dataclass(frozen=True)
class OnDask:
    """A Dask cluster: the address of its scheduler (``tcp://host:8786``), or ``local`` to start one here.

    Dask runs the items of a worker that dies again elsewhere, up to its own limit of failures.

    >>> OnDask("tcp://host:8786").parallel is None, OnDask("local", 2).parallel
    (True, 2)
    """

    address: str = "local"
    count: int | None = None  # workers of a local cluster

    def __post_init__(self) -> None:
        check_kind(self.address, str, "address", "say where the scheduler is, such as 'tcp://host:8786', or 'local'")
        if self.count is not None:
            check_whole(self.count, "workers", 1)

    @property
    def parallel(self) -> int | None:
        """Number of workers of a local cluster."""
        return (self.count or available()) if self.address == "local" else None

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish."""
        with self.opened() as session:
            yield from session.map(function, items)

    @contextmanager
    def opened(self) -> Iterator[_DaskSession]:
        """Keep the connection, and a local cluster, between calls of ``map``."""
        with self.client() as client:
            yield _DaskSession(client, self)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Return a client of the cluster, and the cluster itself if it is a local one; both closed at the end."""
        distributed = _distributed()
        if self.address != "local":
            try:
                client = distributed.Client(self.address, timeout="10s", set_as_default=False)
            except (OSError, ValueError) as error:
                raise InputError(f"no Dask scheduler at {self.address} ({error or type(error).__name__})") from None
            with client:
                yield client
            return
        with ExitStack() as stack:
            with _holding_interrupts():
                cluster = distributed.LocalCluster(
                    n_workers=self.parallel, threads_per_worker=1, dashboard_address=None, silence_logs=50
                )
                stack.enter_context(cluster)
            yield stack.enter_context(distributed.Client(cluster, set_as_default=False))


@dataclass(frozen=True, eq=False)
class _DaskSession:
    """A cluster that one is connected to."""

    client: Any
    cluster: OnDask

    @property
    def parallel(self) -> int | None:
        """Number of workers of a local cluster."""
        return self.cluster.parallel

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish; at most twice the cluster's threads are handed out at a time."""
        distributed, client = _distributed(), self.client
        waiting = deque(items)
        handed: dict[str, T] = {}

        def hand() -> Any:
            item = waiting.popleft()
            future = client.submit(function, item, pure=False)
            handed[future.key] = item
            return future

        room = 2 * max(1, sum(client.nthreads().values()))
        finished = distributed.as_completed([hand() for _ in range(min(room, len(waiting)))], loop=client.loop)
        for future in finished:
            item = handed.pop(future.key)
            try:
                result = future.result()
            except distributed.KilledWorker:
                raise DiscliqueError(
                    f"{item}: the workers that worked on it died again and again; if they are short of memory, "
                    "give them more or use fewer threads a worker"
                ) from None
            except CancelledError:
                raise DiscliqueError(f"the Dask scheduler at {self.cluster.address} has gone") from None
            future.release()
            if waiting:
                finished.add(hand())
            yield result


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingDependency('a Dask cluster needs the package distributed: pip install "disclique[dask]"') from None
    return distributed


def choose_executor(processes: int | None = None, dask: str | None = None) -> Executor:
    """Return where units run: on a Dask cluster, in this process if one is asked for, else in processes here."""
    if dask is not None:
        return OnDask(dask, processes)
    return Serial() if processes == 1 else Processes(processes)
