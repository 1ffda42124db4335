"""The search over a dial: the weakest setting whose judgement is that the limits are kept; and the front of settings.

It asks for repetitions and looks at judgements; what keeps a limit is said in ``verdict``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

from disclique.audits.facts import UNPROVEN, Decision
from disclique.audits.plan import MOST_EFFORT
from disclique.audits.verdict import Judgement
from disclique.masks.settings import MaskRange, Setting
from disclique.messages import Message, mark


@dataclass(frozen=True)
class SearchPlan:
    """How a range is searched: ``first`` repetitions of a first look, at every so many-th setting (``apart``)."""

    first: int = 5
    apart: int = 4


SEARCH = SearchPlan()


@dataclass(frozen=True)
class Request:
    """Repetitions of a setting that must be run before a search can go on; with ``effort`` the budget is raised."""

    setting: Setting
    repetitions: int
    effort: int = 0


Steps = Generator[list[Request], None, Decision]


def search_range(
    mask: MaskRange, repetitions: int, judge: Callable[[Setting], Judgement | None], how: SearchPlan = SEARCH
) -> Steps:
    """Search the weakest setting whose risk, by the upper end of its interval, is at most the limit.

    A generator that yields what must be run before it can go on. Few repetitions of every fourth setting bracket the
    limit, further ones halve the bracket, and its two ends are then tried with all repetitions: the upper one must keep
    the limit and the lower one must not. A setting that fails only because work was cut short is tried again with a
    larger budget before it counts as failing. It relies on risk falling with the dial, which the bracket's ends confirm
    where it matters.
    """
    few = min(how.first, repetitions)
    settings = mask.settings
    last = len(settings) - 1
    yield [Request(settings[i], few) for i in sorted({*range(0, last, how.apart), last})]
    while True:
        looked = {i: found for i, spec in enumerate(settings) if (found := judge(spec)) is not None}
        top = max((i for i, found in looked.items() if not found.keeps), default=-1)
        if top >= 0 and (more := _raise(settings[top], looked[top])):
            yield more
            continue
        # a setting that stays open is skipped: a weaker one may be decided
        failing = max((i for i, found in looked.items() if not found.keeps and not found.is_cut), default=-1)
        kept = [i for i, found in looked.items() if found.keeps and i > failing]
        if not kept:
            if looked[last].figures.tried:
                return _none(mask, looked)
            yield [Request(settings[last], repetitions, looked[last].figures.effort)]
            continue
        enough = min(kept)
        inner = {failing + (enough - failing) * part // 4 for part in (1, 2, 3)} - looked.keys() - {failing}
        if inner:
            yield [Request(settings[i], few) for i in sorted(inner)]
            continue
        ends = [i for i in (failing, enough) if i >= 0 and not looked[i].figures.tried]
        if ends:
            yield [Request(settings[i], repetitions, looked[i].figures.effort) for i in ends]
            continue
        return _found(mask, looked, enough)


def settle(settings: Sequence[Setting], judge: Callable[[Setting], Judgement | None]) -> list[Request]:
    """Ask for a larger budget where only work that was cut short stands between a setting and the limit."""
    there = [(spec, found) for spec in settings if (found := judge(spec)) is not None]
    return [wish for spec, found in there for wish in _raise(spec, found)]


def _raise(setting: Setting, found: Judgement) -> list[Request]:
    if not found.is_cut or found.figures.effort >= MOST_EFFORT:
        return []
    return [Request(setting, found.figures.risk.repetitions, found.figures.effort + 1)]


def _none(mask: MaskRange, looked: dict[int, Judgement]) -> Decision:
    last = max(looked)
    code = mark("strongest_above")
    if looked[last].is_cut:
        code = mark("strongest_not_shown_cut")
    elif looked[last].status == UNPROVEN:
        code = mark("strongest_not_shown")
    return _decision(mask, looked, None, Message(code, setting=mask.settings[last].brief))


def _found(mask: MaskRange, looked: dict[int, Judgement], place: int) -> Decision:
    why = Message("weakest_suffices")
    if place > 0:
        why = Message("next_weaker_not_enough", setting=mask.settings[place - 1].brief)
    return _decision(mask, looked, mask.settings[place], why)


def _decision(mask: MaskRange, looked: dict[int, Judgement], chosen: Setting | None, why: Message) -> Decision:
    evaluated = tuple(str(mask.settings[place]) for place in looked)
    return Decision(mask.spec, None if chosen is None else str(chosen), evaluated, why)


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
