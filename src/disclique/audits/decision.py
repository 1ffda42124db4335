"""The decision: the smallest setting of a dial that keeps the risk under a limit, and the risk-utility front."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

from disclique.audits.plan import MOST_EFFORT
from disclique.audits.rates import SettingRisk
from disclique.masks.settings import MaskRange, Setting

FEW = 5  # repetitions of a first look
COARSE = 4  # every fourth setting is looked at first


@dataclass(frozen=True)
class Wish:
    """Repetitions of a setting that must be run before a search can go on; with ``effort`` the budget is raised."""

    setting: Setting
    repetitions: int
    effort: int = 0


@dataclass(frozen=True)
class Limits:
    """What the data holder accepts: a mean risk, and perhaps a risk of the most exposed person."""

    risk: float
    person: float | None = None


@dataclass(frozen=True)
class Look:
    """What is known of a setting so far: its risk, how often the budget of its searches was raised, and what follows.

    ``person`` is the risk of the most exposed person, None where it was not measured. ``keeps`` says that the limits
    are kept, whatever was cut short: by the upper end of the interval once it is tried often, before that by the mean.
    ``is_cut`` says that only work that was cut short stands between it and the limit, ``is_open`` that what was
    measured keeps the limits, but that this is not shown.
    """

    risk: SettingRisk
    effort: int
    limits: Limits
    repetitions: int
    person: float | None = None

    @property
    def tried(self) -> bool:
        """All repetitions were made."""
        return self.risk.repetitions >= self.repetitions

    @property
    def keeps(self) -> bool:
        """The limits are kept, as far as is known."""
        mean_kept = (self.risk.interval[1] if self.tried else self.risk.most) <= self.limits.risk
        return mean_kept and (self._person_kept or (self.person is None and not self.tried))

    @property
    def _person_kept(self) -> bool:
        return self.limits.person is None or (self.person is not None and self.person <= self.limits.person)

    @property
    def is_cut(self) -> bool:
        """The limit would be kept but for what was cut short."""
        measured = self.risk.measured_high if self.tried else self.risk.value
        matters = bool(self.risk.cut) and not self.risk.by_oracle  # else no work shows more than the oracle does
        return matters and not self.keeps and measured <= self.limits.risk

    @property
    def is_open(self) -> bool:
        """What was measured keeps the limits, but it is not shown that they are kept."""
        measured = self.person is None or self._person_kept
        return not (self.keeps and self.tried) and self.risk.value <= self.limits.risk and measured


@dataclass(frozen=True)
class Decision:
    """The weakest sufficient setting of a range, or None; ``evaluated`` are the settings that were looked at."""

    family: str
    setting: str | None
    evaluated: tuple[str, ...]
    why: str


Steps = Generator[list[Wish], None, Decision]


def search_range(mask: MaskRange, repetitions: int, look: Callable[[Setting], Look | None]) -> Steps:
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
        failing = max((i for i, found in looked.items() if not found.keeps and not found.is_cut), default=-1)
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


def settle(settings: Sequence[Setting], look: Callable[[Setting], Look | None]) -> list[Wish]:
    """Ask for a larger budget where only work that was cut short stands between a setting and the limit."""
    there = [(spec, found) for spec in settings if (found := look(spec)) is not None]
    return [wish for spec, found in there for wish in _raise(spec, found)]


def _raise(setting: Setting, found: Look) -> list[Wish]:
    if not found.is_cut or found.effort >= MOST_EFFORT:
        return []
    return [Wish(setting, found.risk.repetitions, found.effort + 1)]


def _none(mask: MaskRange, looked: dict[int, Look]) -> Decision:
    last = max(looked)
    strongest = mask.settings[last].brief
    why = f"even the strongest setting tried, {strongest}, does not keep the limit"
    if looked[last].is_cut:
        why = f"the strongest setting tried, {strongest}, is not shown to keep the limit: work was cut short"
    elif looked[last].is_open:
        why = f"the strongest setting tried, {strongest}, is not shown to keep the limit"
    return Decision(mask.spec, None, tuple(str(mask.settings[i]) for i in looked), why)


def _found(mask: MaskRange, looked: dict[int, Look], place: int) -> Decision:
    if place == 0:
        why = "the weakest setting of the range suffices; a weaker one outside it might too"
    else:
        why = f"the next weaker setting tried, {mask.settings[place - 1].brief}, does not suffice"
    return Decision(mask.spec, str(mask.settings[place]), tuple(str(mask.settings[i]) for i in looked), why)


def pareto(points: Sequence[tuple[str, float, float | None]], kept: Mapping[str, float] | None = None) -> list[str]:
    """Return of (name, risk, utility) the names that no other one beats in both, by rising utility.

    Whoever is to beat a setting must also keep as much of the labels; ``kept`` says how much that is, else all.
    """
    there = [(name, risk, use, (kept or {}).get(name, 1.0)) for name, risk, use in points if use is not None]
    front = [
        (use, name)
        for name, risk, use, left in there
        if not any(r <= risk and u >= use and k >= left and (r < risk or u > use or k > left) for _, r, u, k in there)
    ]
    return [name for _, name in sorted(front)]
