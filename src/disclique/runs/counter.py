"""How far a run is, in words: units done, the setting at work, the time left, and what runs now."""

from __future__ import annotations

import threading
import time
from collections import Counter as Tally
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from disclique.masks.settings import Setting
    from disclique.runs import Executor, Forecast, Unit

FRESH = 0.5  # seconds for which the words are not made again


@dataclass(frozen=True)
class Heard:
    """What the units of a run are called, what is said of one that came in, and which steps head others.

    ``beside`` says what stages are for that are not the attack itself, by their sort.
    """

    what: str
    describe: Callable[[Unit, Any], str | None] | None = None
    headings: Collection[str] = ()
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Words:
    """How far a run is: what is done, the time left if that is known, and the share that is done."""

    done: str
    left: str
    share: float


@dataclass
class _AtWork:
    """A unit at work: since when, and what is done to it."""

    begun: float
    heading: str = ""
    step: str = ""
    share: float | None = None

    def say(self) -> str:
        """Say what is done."""
        share = f" {self.share:.0%}" if self.share is not None and self.step else ""
        return ", ".join(word for word in (self.heading, self.step + share) if word)


class Counter:
    """Hears of units that are wanted, at work and come in, and says how far the run is; in any thread."""

    def __init__(self, about: Heard, forecast: Forecast, executor: Executor) -> None:
        self.about, self.forecast, self.executor = about, forecast, executor
        self.fresh, self.begun = 0, time.monotonic()  # units of this run, not of an earlier one
        self.said: dict[Setting, str] = {}
        self.last: Unit | None = None  # that began or came in
        self.running: dict[Unit, _AtWork] = {}
        self.lock = threading.RLock()
        self.heard: set[Unit] = set()
        self.made = 0.0
        self.words: Words | None = None

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

    def at_work(self, unit: Unit, step: str | None, share: float | None) -> None:
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

    def tell(self) -> Words:
        """Return the words for how far the run is; made again only now and then, as there may be many units."""
        with self.lock:
            if self.words is None or time.monotonic() - self.made > FRESH:
                self.made, self.words = time.monotonic(), Words(self._count(), *self._time())
            return self.words

    def _count(self) -> str:
        """Say how many units are done, and what is known of the setting at work."""
        words = [f"{' of '.join(map(str, self.forecast.count('')))} {self.about.what}"]
        last = self.last
        if last is not None and last.stage.beside:
            done = " of ".join(map(str, self.forecast.count(last.stage.sort)))
            words.append(f"{self._beside(last)}, {done}")
        elif last is not None and last.setting in self.said:
            words.append(f"{last.setting}: {self.said[last.setting]}")
        if self.fresh and self.about.describe is None:
            words.append(f"{self.fresh / max(time.monotonic() - self.begun, 1e-9):.2g} a second")
        return ", ".join(words)

    def _time(self) -> tuple[str, float]:
        """Say the time left, and return the share that is done."""
        now, spent = time.monotonic(), self.forecast.spent
        left = max(0.0, self.forecast.left({unit: now - at.begun for unit, at in self.running.items()}))
        if not spent:
            done, total = self.forecast.count("")
            return "", done / max(total, 1)
        return f"{say_clock(left / (self.executor.parallel or 1))} left" if left else "", spent / (spent + left)

    def tell_now(self) -> str:
        """Return the words for what runs now: the unit that runs longest, with its step, and how many others."""
        with self.lock:
            if not self.running:
                return ""
            unit, longest = min(self.running.items(), key=lambda one: one[1].begun)
            others = Tally(self._name(one) for one in self.running if one is not unit)
            step = f": {said}" if (said := longest.say()) else ""
            since = say_clock(time.monotonic() - longest.begun)
        more = f"; also {', '.join(f'{count} × {name}' for name, count in others.items())}" if others else ""
        return f"now ({since}) {self._name(unit)}, repetition {unit.repetition + 1}{step}{more}"

    def _name(self, unit: Unit) -> str:
        return f"{unit.setting} ({self._beside(unit)})" if unit.stage.beside else str(unit.setting)

    def _beside(self, unit: Unit) -> str:
        return self.about.beside.get(unit.stage.sort, unit.stage.text)


def say_clock(seconds: float) -> str:
    """Say a length of time as clocks do.

    >>> say_clock(75), say_clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
