"""The decision: the smallest setting of a dial that keeps the risk under a limit, and the risk-utility front."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from disclique.audits.plan import MOST_EFFORT
from disclique.audits.ranges import MaskRange
from disclique.audits.rates import SettingRisk
from disclique.masks import parse_mask

FEW = 5  # repetitions of a first look
COARSE = 4  # every fourth setting is looked at first


@dataclass(frozen=True)
class Wish:
    """Repetitions of a setting that must be run before a search can go on; with ``effort`` the budget is raised."""

    setting: str
    repetitions: int
    effort: int = 0


@dataclass(frozen=True)
class Look:
    """What is known of a setting so far: its risk, how often the budget of its searches was raised, and what follows.

    ``keeps`` says that it keeps the limit, whatever was cut short: by the upper end of the interval once it is tried
    often, before that by the mean. ``is_open`` says that only work that was cut short stands between it and the limit.
    """

    risk: SettingRisk
    effort: int
    limit: float
    repetitions: int

    @property
    def tried(self) -> bool:
        """All repetitions were made."""
        return self.risk.repetitions >= self.repetitions

    @property
    def keeps(self) -> bool:
        """The limit is kept, as far as is known."""
        return (self.risk.interval[1] if self.tried else self.risk.most) <= self.limit

    @property
    def is_open(self) -> bool:
        """The limit would be kept but for what was cut short."""
        return not self.keeps and (self.risk.measured_high if self.tried else self.risk.value) <= self.limit


@dataclass(frozen=True)
class Decision:
    """The weakest sufficient setting of a range, or None; ``evaluated`` are the settings that were looked at."""

    family: str
    setting: str | None
    evaluated: tuple[str, ...]
    why: str


Steps = Generator[list[Wish], None, Decision]


def search_range(mask: MaskRange, repetitions: int, look: Callable[[str], Look | None]) -> Steps:
    """Search the weakest setting whose risk, by the upper end of its interval, is at most the limit.

    A generator that yields what must be run before it can go on. Few repetitions of every fourth setting bracket the
    limit, further ones halve the bracket, and its two ends are then tried with all repetitions: the upper one must keep
    the limit and the lower one must not. A setting that fails only because work was cut short is tried again with a
    larger budget before it counts as failing. It relies on risk falling with the dial, which the bracket's ends confirm
    where it matters.
    """
    few = min(FEW, repetitions)
    settings = mask.settings
    last = len(settings) - 1
    yield [Wish(settings[i], few) for i in sorted({*range(0, last, COARSE), last})]
    while True:
        looked = {i: found for i, spec in enumerate(settings) if (found := look(spec)) is not None}
        top = max((i for i, found in looked.items() if not found.keeps), default=-1)
        if top >= 0 and (more := _raise(settings[top], looked[top])):
            yield more
            continue
        # a setting that stays open is skipped: a weaker one may be decided
        failing = max((i for i, found in looked.items() if not found.keeps and not found.is_open), default=-1)
        kept = [i for i, found in looked.items() if found.keeps and i > failing]
        if not kept:
            if looked[last].tried:
                return _none(mask, looked)
            yield [Wish(settings[last], repetitions, looked[last].effort)]
            continue
        enough = min(kept)
        inner = {failing + (enough - failing) * part // 4 for part in (1, 2, 3)} - looked.keys() - {failing}
        if inner:
            yield [Wish(settings[i], few) for i in sorted(inner)]
            continue
        ends = [i for i in (failing, enough) if i >= 0 and not looked[i].tried]
        if ends:
            yield [Wish(settings[i], repetitions, looked[i].effort) for i in ends]
            continue
        return _found(mask, looked, enough)


def settle(settings: Sequence[str], look: Callable[[str], Look | None]) -> list[Wish]:
    """Ask for a larger budget where only work that was cut short stands between a setting and the limit."""
    there = [(spec, found) for spec in settings if (found := look(spec)) is not None]
    return [wish for spec, found in there for wish in _raise(spec, found)]


def _raise(spec: str, found: Look) -> list[Wish]:
    if not found.is_open or found.effort >= MOST_EFFORT:
        return []
    return [Wish(spec, found.risk.repetitions, found.effort + 1)]


def _none(mask: MaskRange, looked: dict[int, Look]) -> Decision:
    last = max(looked)
    strongest = parse_mask(mask.settings[last]).brief
    why = f"even the strongest setting tried, {strongest}, does not keep the limit"
    if looked[last].is_open:
        why = f"the strongest setting tried, {strongest}, is not shown to keep the limit: work was cut short"
    return Decision(mask.spec, None, tuple(mask.settings[i] for i in looked), why)


def _found(mask: MaskRange, looked: dict[int, Look], place: int) -> Decision:
    if place == 0:
        why = "the weakest setting of the range suffices; a weaker one outside it might too"
    else:
        why = f"the next weaker setting tried, {parse_mask(mask.settings[place - 1]).brief}, does not suffice"
    return Decision(mask.spec, mask.settings[place], tuple(mask.settings[i] for i in looked), why)


def pareto(points: Sequence[tuple[str, float, float | None]]) -> list[str]:
    """Return of (name, risk, utility) the names that no other one beats in both, by rising utility."""
    there = [(name, risk, use) for name, risk, use in points if use is not None]
    front = [
        (use, name)
        for name, risk, use in there
        if not any(r <= risk and u >= use and (r < risk or u > use) for _, r, u in there)
    ]
    return [name for _, name in sorted(front)]
