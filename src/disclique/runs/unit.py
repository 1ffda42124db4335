"""One piece of work: a release, drawn once and attacked in every way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A setting of a mask and a repetition.

    ``effort`` is how often the budget of its searches was raised; ``part`` names work on the same setting that is not
    the attack itself.
    """

    mask: str
    repetition: int
    effort: int = 0
    part: str = ""

    def __str__(self) -> str:
        more = f", effort {self.effort}" if self.effort else ""
        return f"{self.mask}, repetition {self.repetition + 1}{more}{f', {self.part}' if self.part else ''}"
