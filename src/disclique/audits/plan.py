"""What an audit asks: the masks considered, what the snooper knows, how often it is tried, and the limit."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

from disclique.arguments import check_number, check_seed, check_share, check_whole, short_repr, show
from disclique.attacks import parse_attacks
from disclique.audits.ranges import SEARCHED, SPREAD, MaskRange, parse_range
from disclique.errors import InputError
from disclique.measures.risk import SCENARIOS
from disclique.measures.utility import rankings
from disclique.model import Json
from disclique.records.coarsening import ALL_STEPS, FEW_STEPS, list_label_settings
from disclique.records.labels import MISSING_POLICIES
from disclique.runs import Chance, Unit
from disclique.units import LENGTH_UNITS, Quantity, parse_quantity

FORMAT = 7  # raised when the same plan no longer gives the same records
RAISE = 5  # how much more work a search may do each time it is repeated
MOST_EFFORT = 2  # how often it is repeated
MOST_RELEASES = 100
PEOPLE = "people"  # the part of an audit that asks the oracle for every person, many times
DRAWS = 10  # releases in one unit of that
TRIALS, SMALL, FEWEST = 200, 500, 20  # draws for every person, of files up to a size, and at the least beyond it
REST = "rest"  # the part that carries out attacks which were spared at first
VARIED = "varied"  # how the parts begin that assume one thing otherwise
MOST_VARIED = 10  # releases of each of these
SYNTHETIC, GERMANY = "synthetic", "germany"
_EXAMPLES = {"masks": "gaussian:sigma=500m", "attacks": "register", "generalise": "age=width:age:1..40"}


@dataclass(frozen=True)
class Snooper:
    """What the snooper is assumed to know.

    Their file is ``given``; or it is drawn (``overlap``: the share of the released records in it) and filled with other
    people up to ``size`` records; or it is the whole released file, the worst case. ``others`` says where these
    people come from: ``synthetic`` (drawn like those of the file; from distances alone nobody can be, and records of
    the file are kept out of the release instead), ``germany``, or ``file``.
    ``label_error`` is the share of their label values that are wrong, ``coordinate_error`` the standard deviation per
    axis of their coordinates. An insider knows of ``seeds`` released people beforehand which records they are.

    >>> Snooper(overlap=0.2).mode, Snooper().mode
    ('drawn', 'whole')
    """

    given: bool = False
    overlap: float | None = None
    size: int | None = None
    others: str = SYNTHETIC
    label_error: float = 0.0
    coordinate_error: Quantity | None = None
    seeds: int = 0

    def __post_init__(self) -> None:
        self._check_kinds()
        if self.given and self.overlap is not None:
            raise InputError("the known file is given and an overlap too: say one of them")
        if self.overlap is not None and not 0 < self.overlap <= 1:
            raise InputError(f"overlap = {self.overlap}: the share of records known is above 0 and at most 1")
        if self.size is not None and self.overlap is None:
            raise InputError(f"known size = {self.size}: it goes with an overlap")
        if self.others not in (SYNTHETIC, GERMANY, "file"):
            raise InputError(f"others = {self.others!r}: choose {SYNTHETIC}, {GERMANY} or a file")
        if not 0 <= self.label_error < 1:
            raise InputError(f"label error = {self.label_error}: a share lies between 0 and 1, 1 excluded")
        if self.coordinate_error is not None:
            try:
                error = parse_quantity(self.coordinate_error, units=LENGTH_UNITS)
            except InputError as problem:
                raise InputError(f"coordinate error = {problem}") from None
            if not error.value > 0:
                raise InputError(f"coordinate error = {error}: it must be more than 0")
            object.__setattr__(self, "coordinate_error", error)

    def _check_kinds(self) -> None:
        if self.overlap is not None:
            check_share(self.overlap, "overlap", "wanted_overlap")
        check_share(self.label_error, "label error", "wanted_share_below_one")
        if self.size is not None:
            check_whole(self.size, "known size", 1)
        check_whole(self.seeds, "seeds")

    @property
    def mode(self) -> str:
        """``given``, ``drawn`` or ``whole``."""
        return "given" if self.given else "whole" if self.overlap is None else "drawn"


@dataclass(frozen=True)
class Plan:
    """Masks × repetitions, each release attacked in every way; all chance follows from ``seed`` and what is drawn.

    ``max_risk`` is the largest risk that the data holder accepts; with it a range of a mask's dial is searched for the
    smallest sufficient setting, without it the range is shown in a few steps. ``alpha`` is the detection probability of
    the clique attack and ``budget`` the work of one clique search (``Budget.work``). ``scenario`` says what the snooper
    is after, and so what risk means; ``max_risk_person`` is the largest risk accepted of the most exposed person,
    for whom the oracle is asked ``person_trials`` times, in a large file less often unless it is said how often.
    A missing label value matches any by default: an empty cell excludes nobody. The file is published ``releases``
    times, each time with fresh noise; unless ``linked`` the rows of a release do not tell which they were before.
    ``inputs`` are names and hashes of the files, so that an audit is never continued on other data. ``generalise``
    makes labels coarser in steps, each tried with every mask: ``age=width:age:1..40``, ``plz=prefix:plz:2..5``, or
    ``drop:sex``, with and without. ``sensitivity`` asks how the risk depends on the overlap and on label errors.
    Costly attacks that cannot be expected to find more are spared, unless the audit is ``thorough``.

    >>> Plan(("gaussian:sigma=1km..4km",), attacks=("labels",)).settings[0]
    'gaussian:sigma=1km'
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
    missing: str = "any"
    scenario: str = SCENARIOS[0]
    max_risk_person: float | None = None
    person_trials: int | None = None
    releases: int = 1
    linked: bool = True
    utility: str = "neighbours"
    inputs: tuple[tuple[str, str], ...] = ()
    generalise: tuple[str, ...] = ()
    sensitivity: bool = True
    thorough: bool = False

    __repr__ = short_repr

    def __post_init__(self) -> None:
        self._check_kinds()
        if not self.masks:
            raise InputError("no mask: name at least one way to alter the file, such as gaussian:sigma=500m")
        if self.max_risk is not None:
            check_share(self.max_risk, "max risk", "wanted_share_of_people")
        self._check_risk()
        Chance(self.seed)
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha = {self.alpha}: a detection probability lies strictly between 0 and 1")
        if not self.budget > 0:
            raise InputError(f"budget = {self.budget}: a search needs some work")
        for spec in parse_attacks(self.attacks):
            if spec.kind.sees_points:
                raise InputError(f"attack {spec.spec!r}: an audit measures it anyway, beside the attacks")
        if self.missing not in MISSING_POLICIES:
            raise InputError(f"missing = {self.missing!r}: choose one of {', '.join(MISSING_POLICIES)}")
        if self.utility not in rankings():
            raise InputError(f"utility = {self.utility!r}: choose one of {', '.join(rankings())}")
        settings = self.settings
        if len(set(settings)) < len(settings):
            twice = next(spec for spec in settings if settings.count(spec) > 1)
            raise InputError(f"mask {twice}: it is given twice")

    def _check_kinds(self) -> None:
        for name in ("masks", "attacks", "generalise"):
            held = getattr(self, name)
            if not (isinstance(held, tuple) and all(isinstance(one, str) for one in held)):
                raise InputError(f"{name} = {show(held)}: give texts, such as {_EXAMPLES[name]!r}")
        if not isinstance(self.snooper, Snooper):
            raise InputError(f"snooper = {show(self.snooper)}: say what they know by Snooper()")
        check_seed(self.seed)
        check_whole(self.repetitions, "repetitions", 1)
        if self.person_trials is not None:
            check_whole(self.person_trials, "person trials", 1)
        for name in ("alpha", "budget"):
            check_number(getattr(self, name), name, "wanted_number")

    @property
    def ranges(self) -> tuple[MaskRange, ...]:
        """The masks with their settings, each under every way to recode the labels."""
        return tuple(one.under(labels) for one in self.mask_ranges for labels in self.label_settings)

    def _check_risk(self) -> None:
        if self.max_risk_person is not None:
            check_share(self.max_risk_person, "max risk of a person", "wanted_probability")
        if self.max_risk_person is not None and self.max_risk is None:
            raise InputError("a largest risk of a person goes with one of the mean: set max risk too")
        if self.scenario not in SCENARIOS:
            raise InputError(f"scenario = {self.scenario!r}: choose one of {', '.join(SCENARIOS)}")
        if not 1 <= check_number(self.releases, "releases", "wanted_whole_number") <= MOST_RELEASES:
            raise InputError(f"releases = {self.releases}: a file is published between 1 and {MOST_RELEASES} times")

    @property
    def mask_ranges(self) -> tuple[MaskRange, ...]:
        """The masks with their settings, whatever is done to the labels."""
        steps = SPREAD if self.max_risk is None else SEARCHED
        return tuple(parse_range(spec, steps) for spec in self.masks)

    @property
    def label_settings(self) -> tuple[str, ...]:
        """The ways to recode the labels, from fine to coarse; an empty text leaves them as they are."""
        turned = any(mask.turns for mask in self.mask_ranges)
        return list_label_settings(self.generalise, FEW_STEPS if turned else ALL_STEPS)

    @property
    def settings(self) -> tuple[str, ...]:
        """All settings of all masks."""
        return tuple(spec for mask in self.ranges for spec in mask.settings)

    @property
    def attack_names(self) -> tuple[str, ...]:
        """The attacks to be run, by their specs."""
        return tuple(spec.spec for spec in parse_attacks(self.attacks))

    def searched(self, mask: MaskRange) -> bool:
        """Say whether the smallest sufficient setting of this mask is searched, instead of all being tried."""
        return mask.turns and self.max_risk is not None

    def holds(self, unit: Unit) -> bool:
        """Say whether a unit may be a part of this audit; of a searched range only some are run."""
        if unit.mask not in self.settings or not 0 <= unit.effort <= MOST_EFFORT:
            return False
        if unit.part.startswith(f"{VARIED}:"):
            return 0 <= unit.repetition < MOST_VARIED
        return (
            0
            <= unit.repetition
            < {"": self.repetitions, REST: self.repetitions, PEOPLE: self.people_units}.get(unit.part, 0)
        )

    @property
    def people_units(self) -> int:
        """How many units ask the oracle for every person."""
        return -(-(self.person_trials or TRIALS) // DRAWS)

    def for_records(self, records: int) -> Plan:
        """Return the plan for a file of so many records: how often every person is asked for is then settled.

        What many people have in common shows in fewer trials; a limit for every single person needs all of them.
        """
        if self.person_trials is not None:
            return self
        many = TRIALS if self.max_risk_person is not None else TRIALS * SMALL // max(records, SMALL)
        return replace(self, person_trials=max(many, FEWEST))

    @property
    def chance(self) -> Chance:
        """All chance of the audit."""
        return Chance(self.seed)

    def to_dict(self) -> Json:
        """Return the plan in plain types."""
        error = self.snooper.coordinate_error
        content = {
            **asdict(self),
            "masks": list(self.masks),
            "attacks": list(self.attack_names),
            "inputs": dict(self.inputs),
            "generalise": list(self.generalise),
        }
        if not self.generalise:  # the journal of an audit that leaves labels alone stays what it is
            del content["generalise"]
        return {
            **content,
            "snooper": {**asdict(self.snooper), "coordinate_error": None if error is None else str(error)},
        }

    @property
    def digest(self) -> str:
        """A hash that only the same plan on the same files has."""
        content = {**self.to_dict(), "format": FORMAT}
        del content["sensitivity"]  # an audit may go on with or without it
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
