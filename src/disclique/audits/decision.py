"""The decision: the smallest setting of a dial that keeps the risk under a limit, and the risk-utility front."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from disclique.audits.families import Family
from disclique.audits.measure import Risk
from disclique.model import Json

FEW = 5  # repetitions of a first look
COARSE = 4  # every fourth setting is looked at first

Wanted = list[tuple[str, int]]  # settings, and how many repetitions of each
Look = Callable[[str], Risk | None]  # the risk of a setting by the repetitions made so far


@dataclass(frozen=True)
class Decision:
    """The weakest sufficient setting of a family, or None; ``evaluated`` are the settings that were looked at."""

    family: str
    setting: str | None
    evaluated: tuple[str, ...]
    confirmed: bool  # the next weaker setting was tried as often and does not suffice
    why: str

    def to_dict(self) -> Json:
        """The decision in plain types."""
        return {
            "family": self.family,
            "setting": self.setting,
            "evaluated": list(self.evaluated),
            "confirmed": self.confirmed,
            "why": self.why,
        }


Search = Generator[Wanted, None, Decision]


def search(family: Family, limit: float, repetitions: int, look: Look) -> Search:
    """The weakest setting whose risk, by the upper end of its interval, is at most ``limit``.

    A generator that yields what must be run before it can go on. Few repetitions of every fourth setting bracket the
    limit, further ones halve the bracket, and its two ends are then tried with all repetitions: the upper one must keep
    the limit and the lower one must not. It relies on risk falling with the dial, which the bracket's ends confirm
    where it matters.
    """
    few = min(FEW, repetitions)
    settings = family.settings
    last = len(settings) - 1
    first = sorted({*range(0, last, COARSE), last})
    yield [(settings[i], few) for i in first]
    while True:
        looked = [i for i, spec in enumerate(settings) if look(spec) is not None]
        failing = max((i for i in looked if not _seems_enough(look(settings[i]), limit, repetitions)), default=-1)
        if failing == last:
            spec = settings[last]
            if _tried(look(spec), repetitions):
                return _none(family, looked)
            yield [(spec, repetitions)]
            continue
        enough = min(i for i in looked if i > failing)
        if enough - failing > 1:
            inner = {failing + (enough - failing) * part // 4 for part in (1, 2, 3)} - {failing}
            yield [(settings[i], few) for i in sorted(inner)]
            continue
        ends = [i for i in (failing, enough) if i >= 0 and not _tried(look(settings[i]), repetitions)]
        if ends:
            yield [(settings[i], repetitions) for i in ends]
            continue
        return _found(family, looked, enough)


def _tried(risk: Risk | None, repetitions: int) -> bool:
    return risk is not None and risk.repetitions >= repetitions


def _seems_enough(risk: Risk | None, limit: float, repetitions: int) -> bool:
    """Whether a setting keeps the limit: by the upper end once it is tried often, before that by the mean."""
    assert risk is not None
    return (risk.high if _tried(risk, repetitions) else risk.value) <= limit


def _none(family: Family, looked: Sequence[int]) -> Decision:
    evaluated = tuple(family.settings[i] for i in looked)
    return Decision(family.spec, None, evaluated, True, "even the strongest setting of the range does not suffice")


def _found(family: Family, looked: Sequence[int], place: int) -> Decision:
    evaluated = tuple(family.settings[i] for i in looked)
    if place == 0:
        why = "the weakest setting of the range suffices; a weaker one outside it might too"
    else:
        why = f"the next weaker setting tried, {family.settings[place - 1]}, does not suffice"
    return Decision(family.spec, family.settings[place], evaluated, True, why)


def pareto(points: Sequence[tuple[str, float, float | None]]) -> list[str]:
    """Of (name, risk, utility) the names that no other one beats in both, by rising utility."""
    there = [(name, risk, use) for name, risk, use in points if use is not None]
    front = [
        (use, name)
        for name, risk, use in there
        if not any(r <= risk and u >= use and (r < risk or u > use) for _, r, u in there)
    ]
    return [name for _, name in sorted(front)]
