"""One piece of work: a release of a setting, drawn once, and what is done to it; and how a journal writes that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from disclique.masks.settings import Setting


@dataclass(frozen=True)
class Stage:
    """What is done to a release. ``beside`` says that it is not the attack itself; ``sort`` tells kinds apart."""

    beside: ClassVar[bool] = True
    sort: ClassVar[str]

    @property
    def text(self) -> str:
        """What the journal calls it."""
        return self.sort


@dataclass(frozen=True)
class Attacked(Stage):
    """The release is attacked in every way; ``effort`` is how often the budget of its searches was raised."""

    beside: ClassVar[bool] = False
    sort: ClassVar[str] = ""
    effort: int = 0


@dataclass(frozen=True)
class Unit:
    """A setting, a repetition, and what is done to that release."""

    setting: Setting
    repetition: int
    stage: Stage = Attacked()

    @property
    def effort(self) -> int:
        """How often the budget of its searches was raised."""
        return self.stage.effort if isinstance(self.stage, Attacked) else 0

    def __str__(self) -> str:
        more = f", effort {self.effort}" if self.effort else ""
        beside = f", {self.stage.text}" if self.stage.beside else ""
        return f"{self.setting}, repetition {self.repetition + 1}{more}{beside}"

    def write(self) -> WrittenUnit:
        """Return the unit as a journal holds it."""
        return WrittenUnit(str(self.setting), self.repetition, self.effort, self.stage.text)


@dataclass(frozen=True)
class WrittenUnit:
    """A unit as a journal holds it: texts and numbers. Whoever defines the work reads them back."""

    mask: str
    repetition: int
    effort: int = 0
    part: str = ""

    def __str__(self) -> str:
        more = f", effort {self.effort}" if self.effort else ""
        return f"{self.mask}, repetition {self.repetition + 1}{more}{f', {self.part}' if self.part else ''}"
