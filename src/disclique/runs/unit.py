"""One piece of work: a release, drawn once and attacked in every way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A setting of a mask and a repetition; ``effort`` is how often the budget of its searches was raised."""

    mask: str
    repetition: int
    effort: int = 0

    def __str__(self) -> str:
        more = f", effort {self.effort}" if self.effort else ""
        return f"{self.mask}, repetition {self.repetition + 1}{more}"
