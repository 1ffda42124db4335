"""One piece of work: a release of a setting, drawn once, and what is done to it; and how a journal writes that."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from disclique.arguments import check_seed
from disclique.masks.settings import Setting


@dataclass(frozen=True)
class Stage:
    """What is done to a release. ``beside`` says that it is not what the run is for; ``sort`` tells kinds apart."""

    beside: ClassVar[bool] = True
    sort: ClassVar[str]

    @property
    def text(self) -> str:
        """What the journal calls it."""
        return self.sort


@dataclass(frozen=True)
class Measured(Stage):
    """What is done to every release first."""

    beside: ClassVar[bool] = False
    sort: ClassVar[str] = ""


@dataclass(frozen=True)
class Unit:
    """A setting, a repetition, and what is done to that release."""

    setting: Setting
    repetition: int
    stage: Stage = Measured()

    def __str__(self) -> str:
        beside = f", {self.stage.text}" if self.stage.text else ""
        return f"{self.setting}, repetition {self.repetition + 1}{beside}"

    def write(self) -> WrittenUnit:
        """Return the unit as a journal holds it."""
        return WrittenUnit(str(self.setting), self.repetition, self.stage.text)


@dataclass(frozen=True)
class WrittenUnit:
    """A unit as a journal holds it: texts and numbers. Whoever defines the work reads them back."""

    mask: str
    repetition: int
    part: str = ""

    def __str__(self) -> str:
        return f"{self.mask}, repetition {self.repetition + 1}{f', {self.part}' if self.part else ''}"


@dataclass(frozen=True)
class Chance:
    """All chance of a study or an audit: the same thing has the same numbers in every run with this seed.

    >>> Chance(0).seed("noise", "gaussian", 3) == Chance(0).seed("noise", "gaussian", 3)
    True
    """

    root: int

    def __post_init__(self) -> None:
        check_seed(self.root)

    def seed(self, *what: str | int) -> int:
        """Return a seed for one thing that is drawn, such as ("noise", mask, repetition)."""
        digest = hashlib.sha256(json.dumps(what).encode()).digest()
        key = tuple(int.from_bytes(digest[at : at + 4], "big") for at in range(0, 16, 4))
        state = np.random.SeedSequence(self.root, spawn_key=key).generate_state(1, np.uint64)
        return int(state[0] >> np.uint64(1))  # fits the signed integers of tables

    def rng(self, *what: str | int) -> np.random.Generator:
        """Return random numbers for one thing that is drawn."""
        return np.random.default_rng(self.seed(*what))
