"""A Dask cluster as the place where items run, and what its workers do; only this module imports Dask.

The function, with all data it needs, is sent once (``_Packed``), which Dask hands from worker to worker and sends again
where all that had it died. A worker unpacks it once, so that what its items share is computed once as well.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import pickle
import threading
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from disclique.arguments import check_kind, check_whole
from disclique.engine.kernels.compiled import count_cores
from disclique.errors import DiscliqueError, InputError, MissingDependency
from disclique.messages import Message, mark
from disclique.progress import tell
from disclique.records.write import versions
from disclique.runs.process_pool import WorkersLost, holding_interrupts, same
from disclique.runs.progress import Steps, find_watcher, reporting

# Items of one process would share its libraries, which are not all made for threads: one at a time.
_turn = threading.Lock()
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class OnDask:
    """A Dask cluster: the address of its scheduler (``tcp://host:8786``), or ``local`` to start one here.

    ``ahead`` items are handed out for each worker at a time; more would be made before the results of others are known.
    The function and its data are sent to a worker once. Dask runs the items of a worker that dies again elsewhere, up
    to its own limit of failures.

    >>> OnDask("tcp://host:8786").parallel is None, OnDask("local", 2).parallel
    (True, 2)
    """

    address: str = "local"
    count: int | None = None  # workers of a local cluster
    patience: float = 10.0  # seconds until a scheduler that does not answer is held to have gone
    ahead: int = 4

    def __post_init__(self) -> None:
        check_kind(self.address, str, "address", "wanted_scheduler")
        if self.count is not None:
            check_whole(self.count, "workers", 1)
            if self.address != "local":
                raise InputError("workers_of_a_running_cluster", count=self.count, address=self.address)

    @property
    def parallel(self) -> int | None:
        """Number of workers of a local cluster."""
        return (self.count or count_cores()) if self.address == "local" else None

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish."""
        with self.opened() as session:
            yield from session.map(function, items)

    @contextmanager
    def opened(self) -> Iterator[Session]:
        """Keep the connection, and a local cluster, between calls of ``map``."""
        with _quiet(), self._client() as client:
            session = Session(client, self)
            if self.address != "local":
                session.meet()
            yield session

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Return a client of the cluster, and the cluster itself if it is a local one; both closed at the end."""
        distributed = _distributed()
        with ExitStack() as stack:
            if self.address != "local":
                yield stack.enter_context(self._connect(distributed))
                return
            with holding_interrupts():
                cluster = distributed.LocalCluster(
                    n_workers=self.parallel, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
                )
                stack.enter_context(cluster)
            yield stack.enter_context(distributed.Client(cluster, set_as_default=False))

    def _connect(self, distributed: Any) -> Any:
        try:
            context = distributed.Security().get_connection_args("client").get("ssl_context")
            if self.address.startswith("tls:") and context is None:
                raise InputError("no_scheduler_at", address=self.address, why=Message("no_certificate_here"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions that differ, which are told below
                connect = partial(distributed.Client, self.address, timeout=self.patience, set_as_default=False)
                return _wait(connect, 2 * self.patience)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
        gc.collect()  # a client that failed waits long for its own end where that comes with the end of the program
        raise InputError("no_scheduler_at", address=self.address or repr(""), why=why)


@dataclass(eq=False)
class Session:
    """A cluster that one is connected to.

    ``notes`` say what may make its figures differ from those made here, ``hints`` how it could be used better.
    """

    client: Any
    cluster: OnDask
    notes: tuple[Message, ...] = ()
    hints: tuple[Message, ...] = ()
    _workers: int = 1
    _sent: tuple[Callable[[Any], Any], Any] | None = None

    @property
    def parallel(self) -> int | None:
        """Number of workers: each carries out one item at a time."""
        return self.cluster.parallel or self._workers

    def meet(self) -> None:
        """Wait for the first worker, and make sure that all workers run the code that runs here."""
        with self._asking():
            if not self._count():
                tell(Message("waiting_for_a_worker", address=self.cluster.address))
                self.client.wait_for_workers(1)
            found = self.client.get_versions(packages=[*versions(), "cloudpickle"])
            self.notes = compare_versions(found)
            code = self.client.run(fingerprint)
            _refuse(
                [place for place, theirs in code.items() if theirs != fingerprint()],
                Message("other_code_there", version=versions()["disclique"]),
            )
            self._count()
            several = {place for place, threads in self.client.nthreads().items() if threads > 1}
        if several:
            self.hints = (Message("workers_with_threads", places=_name(sorted(several))),)

    def _count(self) -> int:
        self._workers = len(self.client.nthreads())
        return self._workers

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return the results as they finish; items are asked for one by one, as there is room for them."""
        waiting = enumerate(items)
        first = next(waiting, None)
        if first is None:
            return
        with self._asking():
            self._count()
            call = _Call(self.client, self._send(function), f"disclique-{uuid.uuid4().hex}")
            self.client.subscribe_topic(call.topic, call.hear)
        finished = _distributed().as_completed(loop=self.client.loop)
        try:
            while True:
                room = self.cluster.ahead * max(self._workers, 2)
                while len(call.handed) < room and (one := first or next(waiting, None)):
                    first = None
                    with self._asking():
                        finished.add(call.hand(*one))
                if not call.handed:
                    return
                with self._asking():
                    future = next(finished)
                    item = call.take(future)
                    result = self._fetch(future, item)
                    self._count()  # workers may have joined
                yield result
        finally:
            call.forget()

    def _send(self, function: Callable[[Any], Any]) -> Any:
        """Return the future by which the cluster keeps the function, sent there unless it was before."""
        import dask

        if self._sent is None or not same(function, self._sent[0]):
            packed = _Packed.pack(function)
            # as a task, not as data: the scheduler can have it carried out again where all workers that had it died
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
                there = self.client.submit(_keep, packed, key=f"disclique-{packed.digest}")
            self._sent = function, there
        return self._sent[1]

    def _fetch(self, future: Any, item: object) -> Any:
        try:
            return future.result()
        except _distributed().KilledWorker:
            raise WorkersLost("workers_died", item=str(item)) from None
        except ImportError as error:
            raise WorkersLost(
                "work_not_loaded", address=self.cluster.address, error=str(error), version=versions()["disclique"]
            ) from None

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Return a block that asks the scheduler, and says so in a sentence if it has gone."""
        try:
            yield
        except DiscliqueError:
            raise
        except (CancelledError, OSError):
            raise self._gone() from None
        except Exception:
            if self.client.status == "running":
                raise
            raise self._gone() from None

    def _gone(self) -> WorkersLost:
        return WorkersLost("scheduler_gone", address=self.cluster.address)


class _Call:
    """Items handed to a cluster for one function, and what is heard of them."""

    def __init__(self, client: Any, function: Any, topic: str) -> None:
        self.client, self.function, self.topic = client, function, topic
        self.handed: dict[str, tuple[int, Any]] = {}
        self.items: dict[int, Any] = {}
        self.watch, self.lock = find_watcher(), threading.Lock()

    def hand(self, number: int, item: Any) -> Any:
        """Hand an item to the cluster."""
        future = self.client.submit(_work, self.function, item, _Ticket(number, self.topic), pure=False)
        self.handed[future.key], self.items[number] = (number, item), item
        return future

    def take(self, future: Any) -> Any:
        """Return the item that has come back."""
        number, item = self.handed.pop(future.key)
        with self.lock:
            self.items.pop(number)
            self.watch(item, None, None)
        return item

    def hear(self, event: tuple[float, tuple[int, Steps]]) -> None:
        """Take note of steps; in the thread of the connection."""
        number, steps = event[1]
        with self.lock:
            for step, share in steps if number in self.items else ():
                self.watch(self.items[number], step, share)

    def forget(self) -> None:
        """Listen no longer."""
        self.items.clear()
        if self.client.status == "running":
            self.client.unsubscribe_topic(self.topic)


class _Ticket(NamedTuple):
    """Under which number an item is carried out, and where its steps are told."""

    number: int
    topic: str


@dataclass(frozen=True, eq=False)
class _Packed:
    """A function with its data, as bytes on the way and unpacked once where it is at work."""

    packed: bytes
    digest: str

    @classmethod
    def pack(cls, function: Callable[[Any], Any]) -> _Packed:
        """Pack a function; its name follows from it."""
        from distributed.protocol.pickle import dumps

        packed: bytes = dumps(function)  # type: ignore[no-untyped-call]
        return cls(packed, hashlib.sha256(packed).hexdigest())

    @cached_property
    def function(self) -> Callable[[Any], Any]:
        """The function, the same one every time."""
        return pickle.loads(self.packed)  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return _Packed, (self.packed, self.digest)


def _keep(packed: _Packed) -> _Packed:
    """Have a packed function at hand, in a worker."""
    return packed


def _work(packed: _Packed, item: Any, ticket: _Ticket) -> Any:
    """Carry out an item, in a worker; its steps are told to the caller through the scheduler."""
    from distributed import get_worker

    worker = get_worker()
    with _turn, reporting(lambda steps: worker.log_event(ticket.topic, (ticket.number, steps))):
        return packed.function(item)


def fingerprint() -> str:
    """Return a hash of the code of this package: the same version may have been installed from other sources."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def compare_versions(found: dict[str, Any]) -> tuple[Message, ...]:
    """Refuse workers without disclique or with another version; return notes on other versions of what it rests on."""
    ours = _numbers(found["client"])
    workers = {place: _numbers(one) for place, one in found["workers"].items()}
    everywhere = {"the scheduler": _numbers(found["scheduler"]), **workers}
    mine = ours["disclique"]
    without = [place for place, theirs in everywhere.items() if theirs.get("disclique") is None]
    _refuse(without, Message("not_installed_there", version=mine))
    for place, theirs in everywhere.items():
        other = Message("other_version_there", theirs=theirs["disclique"], version=mine)
        _refuse([place] if theirs["disclique"] != mine else [], other)
    notes = []
    for name in ("python", *versions(), "distributed", "cloudpickle"):
        differ = sorted(place for place, theirs in workers.items() if theirs.get(name) != ours.get(name))
        if differ:
            there, here = workers[differ[0]].get(name), ours.get(name)
            code = mark("library_missing_there") if there is None else mark("library_differs_there")
            notes.append(Message(code, places=_name(differ), library=name, there=there, here=here))
    return tuple(dict.fromkeys(notes))


def _numbers(found: dict[str, Any]) -> dict[str, str | None]:
    packages: dict[str, str | None] = dict(found["packages"])
    python = packages.get("python") or ""
    return packages | {"python": ".".join(python.split(".")[:3])}


def _refuse(places: list[str], why: Message) -> None:
    if places:
        raise InputError("place_refused", places=_name(sorted(places)), why=why)


def _name(places: list[str]) -> str | Message:
    return places[0] if len(places) == 1 else Message("place_and_more", place=places[0], more=len(places) - 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Dask writes to its logs off the screen: what matters is said in a sentence."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.scheduler")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _wait(connect: Callable[[], T], seconds: float) -> T:
    """Return what a function returns that may never do so: Dask waits for ever for a server of something else."""
    found: Future[T] = Future()

    def call() -> None:
        try:
            found.set_result(connect())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=call, daemon=True, name="connecting").start()
    try:
        return found.result(seconds)
    except TimeoutError:
        raise OSError("it does not answer as one") from None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingDependency("dask_missing") from None
    return distributed
