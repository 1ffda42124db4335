"""How far a run is: what is at work at the moment, how long the rest takes, and how that is said.

Whoever carries out items tells whoever watches (``watching``); a ``Forecast`` knows how many units there will be and
what they cost; a ``Counter`` hears of both and says how far the run is. Nothing that is computed depends on it, and
whoever works never waits for it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter as Tally
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from disclique.masks.settings import Setting
from disclique.messages import Message
from disclique.model import Executor
from disclique.progress import Step, listening
from disclique.runs.unit import Stage, Unit

REPORT_SECONDS = 0.5  # between two reports of one worker, at the least
STEPS_IN_REPORT = 20  # the last ones
Steps = list[tuple[Step, float | None]]  # what was begun, and the share of it that is done if known
Watcher = Callable[[Any, Step | None, float | None], None]  # an item, its step (None: no longer at work), share done
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher | None) -> Iterator[None]:
    """Tell ``watcher`` what is at work inside the block, wherever it runs."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def find_watcher() -> Watcher:
    """Return the function that reaches whoever watches, also from other threads."""
    return _watcher.get() or _ignore


def _ignore(item: Any, step: Step | None, share: float | None) -> None:
    pass


@contextmanager
def working(item: Any) -> Iterator[None]:
    """Return a block in which the steps of an item that runs here are told to whoever watches."""
    watch = _watcher.get()
    if watch is None:
        yield
        return
    watch(item, "", None)
    try:
        with listening(lambda step, share: watch(item, step, share)):
            yield
    finally:
        watch(item, None, None)


@contextmanager
def reporting(send: Callable[[Steps], None]) -> Iterator[None]:
    """Return a block whose steps are sent elsewhere: by a thread of its own, those of each moment together.

    The first step is ``""``. What cannot be sent is dropped, and nothing is sent once the block has ended.
    """
    reports = _Reports(send)
    try:
        with listening(reports.note):
            yield
    finally:
        reports.end()


class _Reports:
    """The steps to be sent next, and the thread that sends them."""

    def __init__(self, send: Callable[[Steps], None]) -> None:
        self.send = send
        self.next: deque[tuple[Step, float | None]] = deque([("", None)], maxlen=STEPS_IN_REPORT)
        self.news, self.ended = threading.Event(), threading.Event()
        self.news.set()
        self.sending = threading.Lock()
        threading.Thread(target=self._run, daemon=True, name="reports").start()

    def note(self, step: Step, share: float | None) -> None:
        """Have a step sent soon."""
        self.next.append((step, share))
        self.news.set()

    def end(self) -> None:
        """Send nothing any more."""
        self.ended.set()
        self.news.set()
        with self.sending:  # what is on its way arrives before the result
            pass

    def _run(self) -> None:
        while not self.ended.is_set():
            self.news.wait()
            self.news.clear()
            with self.sending:
                if self.ended.is_set():
                    return
                with suppress(Exception):
                    self.send([self.next.popleft() for _ in range(len(self.next))])
            self.ended.wait(REPORT_SECONDS)


class Forecast:
    """The units that a run is expected to need, each with the time it may take, and what those finished took.

    Expected times need only be right in proportion: they are set right by what was measured, for every setting by
    itself as soon as one of its units is finished, since strong noise costs more than weak noise. Other units may be
    wanted than were expected: what was expected tells how many there will be of each sort of stage, ``""`` for the
    releases themselves, and what an unknown one costs.

    >>> a, b = Setting.parse("round:to=1km"), Setting.parse("round:to=2km")
    >>> forecast = Forecast({Unit(a, 0): 1.0, Unit(a, 1): 1.0, Unit(b, 0): 3.0})
    >>> forecast.took(Unit(a, 0), 2.0)
    >>> forecast.left(), forecast.count("")
    (8.0, (1, 3))
    """

    def __init__(self, expected: Mapping[Unit, float], *, finished: bool = False) -> None:
        self.expected = dict(expected)
        self.finished = finished  # in an earlier run, as far as can be seen
        self.taken: dict[Unit, float] = {}  # 0 where it was not measured
        self.wanted: set[Unit] = set()  # known to be needed and not finished
        self.over: set[str] = set()  # sorts of which no more will be wanted than are known

    def wants(self, units: Iterable[Unit]) -> None:
        """Note that units are needed."""
        self.wanted |= set(units) - self.taken.keys()

    def took(self, unit: Unit, seconds: float) -> None:
        """Note that a unit is finished."""
        self.taken[unit] = seconds
        self.wanted.discard(unit)

    def end(self, sort: str) -> None:
        """Note that no units of a sort are needed but those that are known."""
        self.over.add(sort)

    @property
    def sorts(self) -> list[str]:
        """The sorts of units, in the order in which they were expected."""
        return list(dict.fromkeys(unit.stage.sort for unit in [*self.expected, *self.taken, *self.wanted]))

    @property
    def spent(self) -> float:
        """Seconds that were taken so far, one after the other."""
        return sum(self.taken.values())

    def count(self, sort: str) -> tuple[int, int]:
        """Return how many units of a sort are finished, and of how many."""
        done, wanted, expected = (
            sum(unit.stage.sort == sort for unit in units) for units in (self.taken, self.wanted, self.expected)
        )
        return done, done + wanted if sort in self.over else max(done + wanted, expected)

    def left(self, at_work: Mapping[Unit, float] | None = None) -> float:
        """Return the seconds that the rest takes, one after the other, less those that units are at work already."""
        cost = self._costs()
        left = 0.0
        for sort in self.sorts:
            wanted = [cost(unit) for unit in self.wanted if unit.stage.sort == sort]
            open_ = [
                cost(unit)
                for unit in self.expected
                if unit.stage.sort == sort and unit not in self.taken and unit not in self.wanted
            ]
            done, total = self.count(sort)
            more = total - done - len(wanted)  # units that will be wanted, though it is not known which
            left += sum(wanted) + (more * sum(open_) / len(open_) if open_ else 0.0)
        return left - sum(min(since, cost(unit)) for unit, since in (at_work or {}).items() if unit not in self.taken)

    def _costs(self) -> Callable[[Unit], float]:
        """Return what tells the seconds of a unit that is not finished."""
        means: dict[object, _Mean] = defaultdict(_Mean)
        for unit, seconds in self.expected.items():
            for group in (_kind(unit), unit.stage.sort, None):
                means[group].add(seconds, 1)

        def should(unit: Unit) -> float:
            """What a unit was expected to take; what others of its kind or sort were, if it was not itself."""
            if unit in self.expected:
                return self.expected[unit]
            return next((m.value for g in (_kind(unit), unit.stage.sort, None) if (m := means.get(g))), 1.0)

        ratios: dict[object, _Mean] = defaultdict(_Mean)
        for unit, seconds in self.taken.items():
            if seconds > 0:
                for kind in (_kind(unit), None):
                    ratios[kind].add(seconds, should(unit))

        def cost(unit: Unit) -> float:
            return should(unit) * next((r.value for g in (_kind(unit), None) if (r := ratios.get(g))), 1.0)

        return cost


class _Mean:
    """A mean, or a ratio of sums."""

    def __init__(self) -> None:
        self.above, self.below = 0.0, 0.0

    def add(self, above: float, below: float) -> None:
        self.above, self.below = self.above + above, self.below + below

    @property
    def value(self) -> float:
        """The mean, 1 of nothing."""
        return self.above / self.below if self.below > 0 else 1.0


def _kind(unit: Unit) -> tuple[Setting, Stage]:
    return unit.setting, unit.stage


@dataclass(frozen=True)
class UnitNames:
    """What the units of a run are called, what is said of one that came in, and which steps head others.

    ``beside`` says what stages are for that are not the attack itself, by their sort.
    """

    what: str | Message
    describe: Callable[[Unit, Any], str | Message | None] | None = None
    headings: Collection[str] = ()
    beside: Mapping[str, str | Message] = field(default_factory=dict)


@dataclass(frozen=True)
class HowFar:
    """How far a run is: what is done, the time left if that is known, and the share that is done."""

    done: Message
    left: Message | None
    share: float


@dataclass
class _AtWork:
    """A unit at work: since when, and what is done to it."""

    begun: float
    heading: Step = ""
    step: Step = ""
    share: float | None = None

    def say(self) -> list[Step]:
        """Say what is done: the heading, which may be a name, and the step, as far as there are."""
        found = [word for word in (self.heading, self.step) if word != ""]
        if self.share is not None and self.step != "":
            found[-1] = Message("share_of_step", step=found[-1], share=self.share)
        return found


def as_message(said: str | Message) -> Message:
    """Return what was said as a message."""
    return said if isinstance(said, Message) else Message(said)


class Counter:
    """Hears of units that are wanted, at work and come in, and says how far the run is; in any thread.

    What it says is made again only after ``stale`` seconds, as there may be many units.
    """

    def __init__(self, about: UnitNames, forecast: Forecast, executor: Executor, *, stale: float = 0.5) -> None:
        self.about, self.forecast, self.executor, self.stale = about, forecast, executor, stale
        self.fresh, self.begun = 0, time.monotonic()  # units of this run, not of an earlier one
        self.said: dict[Setting, str | Message] = {}
        self.last: Unit | None = None  # that began or came in
        self.running: dict[Unit, _AtWork] = {}
        self.lock = threading.RLock()
        self.heard: set[Unit] = set()
        self.made = 0.0
        self.words: HowFar | None = None

    def wants(self, units: Sequence[Unit]) -> None:
        """Note which units will be carried out."""
        with self.lock:
            self.forecast.wants(units)
            self.last = units[0] if units else self.last

    def took(self, unit: Unit, seconds: float, record: Any) -> None:
        """Note a unit that came in, and how long it took."""
        with self.lock:
            if unit in self.heard:
                return
            self.heard.add(unit)
            self.forecast.took(unit, seconds)
            if self.about.describe is not None:
                said = self.about.describe(unit, record)
                if said is not None:
                    self.said[unit.setting] = said

    def at_work(self, unit: Unit, step: Step | None, share: float | None) -> None:
        """Note what is done to a unit; None when it is no longer at work, "" when it begins."""
        with self.lock:
            if step is None:
                self.running.pop(unit, None)
                return
            if not step or unit not in self.running:
                self.running[unit] = _AtWork(time.monotonic())
                self.last = unit
            now = self.running[unit]
            if step in self.about.headings:
                now.heading, now.step, now.share = step, "", None
            else:
                now.step, now.share = step, share

    def over(self, sort: str) -> None:
        """Note that no further units of a sort of stage will be wanted."""
        with self.lock:
            self.forecast.end(sort)

    def __call__(self, done: int, wanted: int, unit: Unit | None) -> None:
        """Note that a unit has come in."""
        with self.lock:
            self.fresh += unit is not None
            self.last = unit or self.last
            if unit is None or not self.forecast.wanted:  # the first and the last words are never old ones
                self.words = None

    def tell(self) -> HowFar:
        """Return how far the run is."""
        with self.lock:
            if self.words is None or time.monotonic() - self.made > self.stale:
                self.made, self.words = time.monotonic(), HowFar(self._count(), *self._time())
            return self.words

    def _count(self) -> Message:
        """Say how many units are done, and what is known of the setting at work."""
        done, total = self.forecast.count("")
        parts = [Message("units_done", done=done, total=total, what=as_message(self.about.what))]
        last = self.last
        if last is not None and last.stage.beside:
            done, total = self.forecast.count(last.stage.sort)
            parts.append(Message("units_beside", what=self._beside(last), done=done, total=total))
        elif last is not None and last.setting in self.said:
            said = as_message(self.said[last.setting])
            parts.append(Message("said_of_setting", setting=str(last.setting), said=said))
        if self.fresh and self.about.describe is None:
            rate = self.fresh / max(time.monotonic() - self.begun, 1e-9)
            parts.append(Message("units_a_second", rate=rate))
        return Message("in_one_line", parts=parts)

    def _time(self) -> tuple[Message | None, float]:
        """Say the time left, and return the share that is done."""
        now, spent = time.monotonic(), self.forecast.spent
        left = max(0.0, self.forecast.left({unit: now - at.begun for unit, at in self.running.items()}))
        if not spent:
            done, total = self.forecast.count("")
            return None, done / max(total, 1)
        said = Message("time_left", clock=say_clock(left / (self.executor.parallel or 1))) if left else None
        return said, spent / (spent + left)

    def tell_now(self) -> Message | None:
        """Say what runs now: the unit that runs longest, with its step, and how many others."""
        with self.lock:
            if not self.running:
                return None
            unit, longest = min(self.running.items(), key=lambda one: one[1].begun)
            others = Tally(self._name(one) for one in self.running if one is not unit)
            steps, since = longest.say(), say_clock(time.monotonic() - longest.begun)
        each = [Message("so_many_of_a_setting", many=many, name=name) for name, many in others.items()]
        return Message(
            "runs_now",
            clock=since,
            name=self._name(unit),
            repetition=unit.repetition + 1,
            steps=Message("steps_at_work", steps=steps) if steps else None,
            others=Message("others_at_work", others=each) if each else None,
        )

    def _name(self, unit: Unit) -> str | Message:
        if not unit.stage.beside:
            return str(unit.setting)
        return Message("setting_beside", setting=str(unit.setting), what=self._beside(unit))

    def _beside(self, unit: Unit) -> Message:
        return as_message(self.about.beside.get(unit.stage.sort, unit.stage.text))


def say_clock(seconds: float) -> str:
    """Say a length of time as clocks do.

    >>> say_clock(75), say_clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
