"""The search over a dial: the weakest setting whose judgement is that the limits are kept; and the front of settings.

It asks for settings and looks at judgements; what keeps a limit is said in ``verdict``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

from disclique.audits.facts import UNPROVEN, Decision
from disclique.audits.verdict import Judgement
from disclique.masks.settings import MaskRange, Setting
from disclique.messages import Message, mark


@dataclass(frozen=True)
class SearchPlan:
    """How a range is searched: first at every nth setting (``apart``), then in ``parts`` of a bracket."""

    apart: int = 4
    parts: int = 4


SEARCH = SearchPlan()
Steps = Generator[list[Setting], None, Decision]  # settings that must be measured before a search can go on


def search_range(mask: MaskRange, judge: Callable[[Setting], Judgement | None], how: SearchPlan = SEARCH) -> Steps:
    """Search the weakest setting that keeps the limits.

    A generator that yields the settings that must be measured before it can go on. Every fourth setting brackets the
    limit, further ones halve the bracket. It relies on risk falling with the dial, which both ends of the last bracket,
    two neighbours, confirm where it matters.
    """
    settings = mask.settings
    last = len(settings) - 1
    yield [settings[i] for i in sorted({*range(0, last, how.apart), last})]
    while True:
        looked = {i: found for i, setting in enumerate(settings) if (found := judge(setting)) is not None}
        failing = max((i for i, found in looked.items() if not found.keeps), default=-1)
        kept = [i for i, found in looked.items() if found.keeps and i > failing]
        if not kept:
            return _none(mask, looked)
        enough = min(kept)
        inner = {failing + (enough - failing) * part // how.parts for part in range(1, how.parts)} - looked.keys()
        inner -= {failing}
        if not inner:
            return _found(mask, looked, enough)
        yield [settings[i] for i in sorted(inner)]


def _none(mask: MaskRange, looked: dict[int, Judgement]) -> Decision:
    last = max(looked)
    code = mark("strongest_not_shown") if looked[last].status == UNPROVEN else mark("strongest_above")
    return _decision(mask, looked, None, Message(code, setting=mask.settings[last].brief))


def _found(mask: MaskRange, looked: dict[int, Judgement], place: int) -> Decision:
    why = Message("weakest_suffices")
    if place > 0:
        why = Message("next_weaker_not_enough", setting=mask.settings[place - 1].brief)
    return _decision(mask, looked, mask.settings[place], why)


def _decision(mask: MaskRange, looked: dict[int, Judgement], chosen: Setting | None, why: Message) -> Decision:
    evaluated = tuple(str(mask.settings[place]) for place in looked)
    return Decision(mask.spec, None if chosen is None else str(chosen), evaluated, why)


def pareto(
    points: Sequence[tuple[str, float, float | None]], kept: Mapping[str, tuple[float, ...]] | None = None
) -> list[str]:
    """Return of (name, risk, utility) the names that no other one beats in both, by rising utility.

    Whoever is to beat a setting must also keep as much of labels and numbers; ``kept`` says how much that is, else all.
    """
    there = [(name, (-risk, use, *(kept or {}).get(name, ()))) for name, risk, use in points if use is not None]
    front = [
        (own[1], name)
        for name, own in there
        if not any(other != own and all(a >= b for a, b in zip(other, own, strict=True)) for _, other in there)
    ]
    return [name for _, name in sorted(front)]
