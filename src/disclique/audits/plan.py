"""What an audit asks: the masks considered, what the snooper knows, how often it is tried, and the limit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

from disclique.arguments import short_repr, show
from disclique.attacks import parse_attacks
from disclique.errors import InputError
from disclique.masks.settings import SEARCHED, SPREAD, MaskRange, Setting, parse_range
from disclique.measures.utility import rankings
from disclique.options.audits import (
    GERMANY,
    NO_LABEL,
    OF_FILE,
    PLAN_ROWS,
    SNOOPER_ROWS,
    SYNTHETIC,
    PlanFacts,
    PlanFields,
    SnooperFields,
)
from disclique.options.table import differing
from disclique.records.coarsening import ALL_STEPS, FEW_STEPS, Recoding, list_label_settings, parse_recoding
from disclique.runs import Chance
from disclique.units import LENGTH_UNITS, Quantity, parse_quantity
from disclique.values import Json

FORMAT = 9  # raised when the same plan no longer gives the same records
ALL_ATTACKS = ("all",)
AS_IT_IS = ("none",)  # the masks of an audit that names none
DRAWS = 10  # releases in one unit that asks the oracle for every person
MOST_VARIED = 10  # releases in which one thing is assumed otherwise


@dataclass(frozen=True)
class PersonDraws:
    """How often every person is asked for: in files of up to so many records, and at the least in larger ones.

    ``off_map``: where records lie on no map, and each question costs more.
    """

    usual: int = 200
    off_map: int = 40
    small_file: int = 500
    fewest: int = 20


PERSON_DRAWS = PersonDraws()


@dataclass(frozen=True)
class Snooper(SnooperFields):
    """What the snooper is assumed to know.

    Their file is ``given``; or it is drawn (``overlap``: the share of the released records in it) and filled with other
    people up to ``size`` records; or it is the whole released file, the worst case. ``others`` says where these
    people come from: ``synthetic`` (drawn like those of the file; from distances alone nobody can be, and records of
    the file are kept out of the release instead), ``germany``, or ``file``.
    ``label_error`` is the share of their label values that are wrong, ``coordinate_error`` the standard deviation per
    axis of their coordinates. They know only some
    ``labels`` of people, or all. An insider knows of ``seeds`` released people beforehand which records they are.

    >>> Snooper(overlap=0.2).mode, Snooper().mode
    ('drawn', 'whole')
    """

    def __post_init__(self) -> None:
        if isinstance(self.labels, (list, tuple)):
            object.__setattr__(self, "labels", tuple(self.labels) or (NO_LABEL,))
        for name, row in SNOOPER_ROWS.items():
            row.check(getattr(self, name))
        if self.given and self.overlap is not None:
            raise InputError("known_file_and_overlap")
        if self.size is not None and self.overlap is None:
            raise InputError("known_size_without_overlap", size=self.size)
        if self.others not in (SYNTHETIC, GERMANY, OF_FILE):
            raise InputError("unknown_others", others=self.others)
        if self.coordinate_error is not None:
            object.__setattr__(self, "coordinate_error", str(self._read_error()))

    def _read_error(self) -> Quantity:
        try:
            error = parse_quantity(str(self.coordinate_error), units=LENGTH_UNITS)
        except InputError as problem:
            raise InputError("coordinate_error_is", problem=problem) from None
        if not error.value > 0:
            raise InputError("coordinate_error_not_positive", error=str(error))
        return error

    @property
    def coordinate_length(self) -> Quantity | None:
        """The error of their coordinates as a length."""
        return None if self.coordinate_error is None else parse_quantity(self.coordinate_error, units=LENGTH_UNITS)

    def knows(self, columns: Iterable[object]) -> list[str]:
        """Return the labels among these columns that they know.

        >>> Snooper(labels=("sex",)).knows(["sex", "age"]), Snooper(labels=()).knows(["sex"]), Snooper().knows(["sex"])
        (['sex'], [], ['sex'])
        """
        return [str(column) for column in columns if self.labels is None or column in self.labels]

    def lacks(self, columns: Iterable[object]) -> list[str]:
        """Return the labels among these columns that they do not know."""
        return [str(column) for column in columns if not self.knows([column])]

    @property
    def mode(self) -> str:
        """``given``, ``drawn`` or ``whole``."""
        return "given" if self.given else "whole" if self.overlap is None else "drawn"


@dataclass(frozen=True)
class Plan(PlanFields):
    """Masks × repetitions, each release attacked in every way; all chance follows from ``seed`` and what is drawn.

    ``max_risk`` is the largest risk that the data holder accepts; with it a range of a mask's dial is searched for the
    smallest sufficient setting, without it the range is shown in a few steps. ``alpha`` is the detection probability of
    the clique attack and ``budget`` the work of one clique search (``Budget.work``). ``scenario`` says what the snooper
    is after, and so what risk means; ``max_risk_person`` is the largest risk accepted of the most exposed person,
    for whom the oracle is asked ``person_trials`` times, in a large file less often unless it is said how often.
    ``max_inference`` is the largest share of people accepted of whom the value of a sensitive column is told rightly.
    A missing label value matches any by default: an empty cell excludes nobody. The file is published ``releases``
    times, each time with fresh noise; unless ``linked`` the rows of a release do not tell which they were before.
    ``inputs`` are names and hashes of the files, so that an audit is never continued on other data. ``generalise``
    makes labels coarser in steps, each tried with every mask: ``age=width:age:1..40``, ``plz=prefix:plz:2..5``, or
    ``drop:sex``, with and without. ``sensitivity`` asks how the risk depends on the overlap and on label errors.
    Attacks show on a few releases how near a real snooper comes; if the audit is ``thorough``, on all.

    >>> str(Plan(("gaussian:sigma=1km..4km",), attacks=("labels",)).settings[0])
    'gaussian:sigma=1km'
    """

    kind: ClassVar[str] = "audit"
    snooper: Snooper = field(default_factory=Snooper)
    inputs: tuple[tuple[str, str], ...] = ()

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not isinstance(self.snooper, Snooper):
            raise InputError("not_a_snooper", snooper=show(self.snooper))
        for name, row in PLAN_ROWS.items():
            row.check(getattr(self, name))
        if not self.masks:
            raise InputError("no_mask")
        if self.max_risk_person is not None and self.max_risk is None:
            raise InputError("person_limit_alone")
        if self.max_inference is not None and self.max_risk is None:
            raise InputError("inference_limit_alone")
        for spec in parse_attacks(self.attacks):
            if spec.kind.sees_points:
                raise InputError("attack_measured_anyway", attack=spec.spec)
        if self.utility not in rankings():
            raise InputError("option_not_a_choice", what="utility", value=repr(self.utility), choices=list(rankings()))
        settings = self.settings
        if len(set(settings)) < len(settings):
            twice = next(setting for setting in settings if settings.count(setting) > 1)
            raise InputError("mask_given_twice", mask=str(twice))

    @cached_property
    def ranges(self) -> tuple[MaskRange, ...]:
        """The masks with their settings, each under every way to recode the labels."""
        return tuple(one.under(labels) for one in self.mask_ranges for labels in self.label_settings)

    @cached_property
    def mask_ranges(self) -> tuple[MaskRange, ...]:
        """The masks with their settings, whatever is done to the labels."""
        steps = SPREAD if self.max_risk is None else SEARCHED
        return tuple(parse_range(spec, steps) for spec in self.masks)

    @cached_property
    def label_settings(self) -> tuple[Recoding, ...]:
        """The ways to recode the labels, from fine to coarse."""
        turned = any(mask.turns for mask in self.mask_ranges)
        return tuple(map(parse_recoding, list_label_settings(self.generalise, FEW_STEPS if turned else ALL_STEPS)))

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """All settings of all masks."""
        return tuple(setting for mask in self.ranges for setting in mask.settings)

    def find_setting(self, text: str) -> Setting | None:
        """Return the setting that a text names as it is written; None if there is none."""
        return next((setting for setting in self.settings if str(setting) == text), None)

    @property
    def attack_names(self) -> tuple[str, ...]:
        """The attacks to be run, by their specs."""
        return tuple(spec.spec for spec in parse_attacks(self.attacks))

    def searched(self, mask: MaskRange) -> bool:
        """Say whether the smallest sufficient setting of this mask is searched, instead of all being tried."""
        return mask.turns and self.max_risk is not None

    @property
    def people_units(self) -> int:
        """How many units ask the oracle for every person."""
        return -(-(self.person_trials or PERSON_DRAWS.usual) // DRAWS)

    def for_records(self, records: int, *, on_map: bool = True, draws: PersonDraws = PERSON_DRAWS) -> Plan:
        """Return the plan for a file of so many records: how often every person is asked for is then settled.

        What many people have in common shows in fewer trials; a limit for every single person needs all of them.
        """
        if self.person_trials is not None:
            return self
        usual = draws.usual if on_map else draws.off_map
        few = usual * draws.small_file // max(records, draws.small_file)
        many = draws.usual if self.max_risk_person is not None else few
        return replace(self, person_trials=max(many, draws.fewest))

    @property
    def chance(self) -> Chance:
        """All chance of the audit."""
        return Chance(self.seed)

    @property
    def facts(self) -> PlanFacts:
        """What is asked, in plain values: those of a result."""
        plain = {one.name: getattr(self, one.name) for one in fields(PlanFields)}
        snooper = SnooperFields(**{one.name: getattr(self.snooper, one.name) for one in fields(SnooperFields)})
        return PlanFacts(**(plain | {"attacks": self.attack_names, "snooper": snooper}), inputs=dict(self.inputs))

    def to_dict(self) -> Json:
        """Return the plan in plain types."""
        return asdict(self.facts)

    @property
    def digest(self) -> str:
        """A hash that only the same plan on the same files has.

        What is as by default is left out: an audit that was begun goes on although there are more options now.
        """
        facts = self.facts
        asked: dict[str, Any] = differing(facts) | {"snooper": differing(self.snooper), "inputs": facts.inputs}
        content = {name: said for name, said in asked.items() if name not in PLAN_ROWS or PLAN_ROWS[name].records}
        content |= {"given": self.snooper.given, "format": FORMAT}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_call(plan: Plan) -> str:
    """Write the Python call of an audit, with what is not as by default.

    >>> print(write_call(Plan(("affine",), Snooper(overlap=0.2), repetitions=5)))
    dq.audit(file, ['affine'], overlap=0.2, repetitions=5)
    """
    snooper = plan.snooper
    said = {**differing(snooper), **differing(plan)}
    del said["masks"]
    if snooper.others == OF_FILE:
        del said["others"]
    beside = ["known=known"] * snooper.given + ["others=others"] * (snooper.others == OF_FILE)
    options = [f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in said.items()]
    return f"dq.audit({', '.join(['file', repr(list(plan.masks)), *beside, *options])})"
