"""What an audit is: the masks considered, what the snooper knows, how often it is tried; and the chance in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import ClassVar

import numpy as np

from disclique.attacks.methods import NAMES
from disclique.audits.families import SEARCHED, SPREAD, Family, parse_family
from disclique.data.labels import MISSING_POLICIES
from disclique.errors import InputError
from disclique.measures.utility import rankings
from disclique.model import Json
from disclique.quantities import LENGTH_UNITS, Quantity, parse_quantity
from disclique.studies.grid import Unit

FORMAT = 2  # raised when the same plan no longer gives the same records
SYNTHETIC, GERMANY = "synthetic", "germany"


@dataclass(frozen=True)
class Snooper:
    """What the snooper is assumed to know.

    Their file is ``given``; or it is drawn (``overlap``: the share of the released records in it) and filled with other
    people up to ``size`` records; or it is the whole released file, the worst case. ``others`` says where these
    people come from: ``synthetic`` (label and place drawn from the file's own distribution), ``germany``, or ``file``.
    ``label_error`` is the share of their label values that are wrong, ``coordinate_error`` the standard deviation per
    axis of their coordinates.
    """

    given: bool = False
    overlap: float | None = None
    size: int | None = None
    others: str = SYNTHETIC
    label_error: float = 0.0
    coordinate_error: Quantity | None = None

    def __post_init__(self) -> None:
        if self.given and self.overlap is not None:
            raise InputError("the known file is given and an overlap too: say one of them")
        if self.overlap is not None and not 0 < self.overlap <= 1:
            raise InputError(f"overlap = {self.overlap}: the share of records known is above 0 and at most 1")
        if self.size is not None and self.size < 1:
            raise InputError(f"known size = {self.size}: a file has at least one record")
        if self.size is not None and self.overlap is None:
            raise InputError(f"known size = {self.size}: it goes with an overlap")
        if self.others not in (SYNTHETIC, GERMANY, "file"):
            raise InputError(f"others = {self.others!r}: choose {SYNTHETIC}, {GERMANY} or a file")
        if not 0 <= self.label_error < 1:
            raise InputError(f"label error = {self.label_error}: a share lies between 0 and 1, 1 excluded")
        if self.coordinate_error is not None:
            error = parse_quantity(self.coordinate_error, units=LENGTH_UNITS)
            if not error.value > 0:
                raise InputError(f"coordinate error = {error}: it must be more than 0")
            object.__setattr__(self, "coordinate_error", error)

    @property
    def mode(self) -> str:
        """``given``, ``drawn`` or ``whole``."""
        return "given" if self.given else "whole" if self.overlap is None else "drawn"


@dataclass(frozen=True)
class Plan:
    """Masks × repetitions, each release attacked in every way; all chance follows from ``seed`` and what is drawn.

    ``max_risk`` is the largest risk that the data holder accepts; with it a range of a mask's dial is searched for the
    smallest sufficient setting, without it the range is shown in a few steps. ``alpha`` is the detection probability of
    the clique attack and ``budget`` the work of one clique search (``Budget.work``). ``inputs`` are names and hashes of
    the files, so that an audit is never continued on other data.
    """

    kind: ClassVar[str] = "audit"
    masks: tuple[str, ...]
    snooper: Snooper = field(default_factory=Snooper)
    repetitions: int = 20
    max_risk: float | None = None
    attacks: tuple[str, ...] = ("all",)
    seed: int = 0
    alpha: float = 0.5
    budget: float = 2.0
    missing: str = "never"
    utility: str = "neighbours"
    inputs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.masks:
            raise InputError("no mask: name at least one way to alter the file, such as gaussian:sigma=500m")
        if self.repetitions < 1:
            raise InputError(f"repetitions = {self.repetitions}: at least one is needed")
        if self.max_risk is not None and not 0 <= self.max_risk <= 1:
            raise InputError(f"max risk = {self.max_risk}: a share of people lies between 0 and 1")
        if self.seed < 0:
            raise InputError(f"seed = {self.seed}: a seed is a whole number from 0 up")
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha = {self.alpha}: a detection probability lies strictly between 0 and 1")
        if not self.budget > 0:
            raise InputError(f"budget = {self.budget}: a search needs some work")
        strange = [name for name in self.attacks if name not in (*NAMES, "all")]
        if strange or not self.attacks:
            raise InputError(f"attack {strange[0] if strange else ''!r}: choose one of {', '.join(NAMES)} or all")
        if self.missing not in MISSING_POLICIES:
            raise InputError(f"missing = {self.missing!r}: choose one of {', '.join(MISSING_POLICIES)}")
        if self.utility not in rankings():
            raise InputError(f"utility = {self.utility!r}: choose one of {', '.join(rankings())}")
        settings = [spec for family in self.families for spec in family.settings]
        if len(set(settings)) < len(settings):
            twice = next(spec for spec in settings if settings.count(spec) > 1)
            raise InputError(f"mask {twice}: it is given twice")

    @property
    def families(self) -> tuple[Family, ...]:
        """The masks with their settings."""
        steps = SPREAD if self.max_risk is None else SEARCHED
        return tuple(parse_family(spec, steps) for spec in self.masks)

    @property
    def names(self) -> tuple[str, ...]:
        """The attacks to be run."""
        return NAMES if "all" in self.attacks else tuple(dict.fromkeys(self.attacks))

    def searched(self, family: Family) -> bool:
        """Whether the smallest sufficient setting of this family is searched, instead of all being tried."""
        return family.range and self.max_risk is not None

    def units(self) -> Iterator[Unit]:
        """All work units that may be needed; of a searched range only some are run."""
        specs = [spec for family in self.families for spec in family.settings]
        return (Unit(spec, r) for r in range(self.repetitions) for spec in specs)

    def rng(self, *what: str | int) -> np.random.Generator:
        """Random numbers for one thing that is drawn, such as ("noise", mask name, repetition)."""
        digest = hashlib.sha256(json.dumps(what).encode()).digest()
        return np.random.default_rng([self.seed, *np.frombuffer(digest[:16], np.uint32).tolist()])

    def to_dict(self) -> Json:
        """The plan in plain types."""
        error = self.snooper.coordinate_error
        content = {**asdict(self), "masks": list(self.masks), "attacks": list(self.names), "inputs": dict(self.inputs)}
        return {
            **content,
            "snooper": {**asdict(self.snooper), "coordinate_error": None if error is None else str(error)},
        }

    @property
    def digest(self) -> str:
        """A hash that only the same plan on the same files has."""
        content = {**self.to_dict(), "format": FORMAT}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
