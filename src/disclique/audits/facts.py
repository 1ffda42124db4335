"""The facts of an audit as frozen values: verdict, file, snooper, settings, people, other assumptions, plan.

``result`` puts them together and writes them; the classes here are most of its schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any

from disclique.arguments import short_repr
from disclique.audits.fitting import Fitting
from disclique.audits.rates import AttackRisk, EverybodyRisk, InsiderShare, OracleRisk, SettingRisk
from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.releases.described import ReleasedColumn

MEETS, UNPROVEN, FAILS, MEASURED = "meets", "unproven", "fails", "measured"


@dataclass(frozen=True)
class Verdict:
    """The decision: ``meets`` only when it is shown that the setting keeps the limit.

    ``unproven``: what was measured keeps the limit, but it is not shown that the release does. ``fails``: no setting
    tried keeps it. ``measured``: no limit was set. ``cautions`` say what could not be attacked, was cut short, did not
    apply or was not asked for, as it belongs to the headline. ``text`` is what the reasons say in English, for people
    who open the file.
    """

    status: str
    setting: str
    reasons: tuple[Message, ...]
    cautions: tuple[Message, ...] = ()
    text: str = ""

    __repr__ = short_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", " ".join(self.sentences))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The reasons in English."""
        return tuple(str(reason) for reason in self.reasons)


@dataclass(frozen=True)
class Decision:
    """The weakest sufficient setting of a range, or None; ``evaluated`` are the settings that were looked at."""

    family: str
    setting: str | None
    evaluated: tuple[str, ...]
    why: Message


@dataclass(frozen=True)
class LabelGroup:
    """Records by how many of them share a label."""

    size: str
    records: int


@dataclass(frozen=True)
class NumberFacts:
    """A column of numbers that both sides can know; ``unit`` is km or m, empty for what is no length."""

    name: str
    unit: str
    missing: int = 0


@dataclass(frozen=True)
class FileFacts:
    """The file that was audited; no value of it. ``distances`` says what they are between (``Distances.kind``).

    ``missing_labels`` counts the records with an empty label value. ``unit`` is that of its distances, empty where it
    is not known. ``numbers`` are its columns of numbers.
    """

    name: str
    records: int
    labels: tuple[str, ...]
    distances: str
    label_groups: tuple[LabelGroup, ...]
    missing_labels: int = 0
    unit: str = ""
    numbers: tuple[NumberFacts, ...] = ()

    __repr__ = short_repr


@dataclass(frozen=True)
class SnooperFacts:
    """What the snooper was ``assumed`` to know, with the numbers; ``records`` are those of one release."""

    mode: str
    assumed: tuple[Message, ...]
    records: int
    known: float
    common: float
    guess: float

    __repr__ = short_repr


@dataclass(frozen=True)
class LabelUse:
    """What is done to the labels in a setting, as a spec and as it is said, and what they still tell.

    ``classes`` is how many equally frequent classes would tell as much, ``distinct`` how many there are, and
    ``information`` their entropy as a share of that of the labels as they are.
    """

    spec: str
    said: Message
    information: float
    classes: float
    distinct: int


@dataclass(frozen=True)
class NumberUse:
    """What is done to the numbers in a setting, as a spec and as it is said.

    ``kept`` is how much is left of them, the mean rank correlation of released and true numbers; ``alone`` says that
    nothing is published between records, so that there is nothing else to say of the setting.
    """

    spec: str
    said: Message
    kept: float | None = None
    alone: bool = False


@dataclass(frozen=True)
class InferenceFacts:
    """What a snooper learns of a sensitive column under a setting, without having to name a record.

    ``value`` is the expected share of people whose value is told right from what the release says of their record, the
    mean over ``draws`` releases, and ``high`` its upper end, which decides; ``by_distribution`` and ``by_labels`` are
    what guessing by the column's distribution and by labels alone gives. ``certain`` is the share of people all of
    whose candidates have the same value. ``meets`` is None without a limit. ``why`` says why it is not measured.
    All are shares of the people who have a value; ``missing`` counts the others. ``grouped`` is in how many groups
    of about equally many people numbers are told, 0 where every value counts by itself. ``person`` is the chance of
    the most exposed person, ``groups`` that of groups of people; both None or empty where they were not measured.
    """

    column: str
    value: float | None
    high: float | None
    by_distribution: float
    by_labels: float
    certain: float | None = None
    draws: int = 0
    meets: bool | None = None
    why: Message | None = None
    missing: int = 0
    grouped: int = 0
    person: float | None = None
    groups: tuple[GroupRisk, ...] = ()

    @property
    def guessed(self) -> float:
        """What anybody tells without the release's distances: by the distribution or by labels."""
        return max(self.by_distribution, self.by_labels)


@dataclass(frozen=True)
class KnownFigures:
    """Figures that other tools give, ``of`` the ``file`` as it is or of the ``release`` that the verdict names.

    All follow from labels (and numbers in their released classes): ``k`` is the smallest class, ``average_risk`` and
    ``highest_risk`` the prosecutor's 1/k over records, ``unique`` the share of records alone in their class and
    ``below`` the share in classes of fewer than five. ``population_unique`` is the estimated share of records that are
    alone in the population too, by ``population_model``, ``journalist_risk`` the mean individual risk by sampling
    weights; both None without weights or a sampling fraction. ``diversity`` is l, the smallest number of different
    values of a sensitive column in a class, by column, ``entropy_diversity`` the same by entropy. ``spatial_k`` is the
    median number of records at least as near to the released place as the true one, and ``spatial_k_below`` the share
    of records with fewer than five; None where no places are released. ``uncounted`` are numbers that are released with
    noise, and so divide no class: with them records are told apart better than these figures say.
    """

    of: str
    k: int
    average_risk: float
    highest_risk: float
    unique: float
    below: float
    population_unique: float | None = None
    population_model: str = ""
    journalist_risk: float | None = None
    diversity: dict[str, int] = field(default_factory=dict)
    entropy_diversity: dict[str, float] = field(default_factory=dict)
    spatial_k: float | None = None
    spatial_k_below: float | None = None
    uncounted: tuple[str, ...] = ()

    __repr__ = short_repr


@dataclass(frozen=True)
class ReleasedFacts:
    """What would be released under a setting: files, columns, what the mask does, and how many people are left out.

    ``dropped`` are the columns of the file that are not released.
    """

    spec: str
    files: tuple[Message, ...]
    columns: tuple[ReleasedColumn, ...]
    done: tuple[Message, ...]
    dropped: tuple[str, ...] = ()
    left_out: int = 0

    __repr__ = short_repr


@dataclass(frozen=True)
class SettingFacts:
    """One setting of a mask: risk, attacks, yardsticks, utility.

    ``meets`` is None without a limit. ``open`` says that what was measured keeps the limit but that this is not shown,
    ``open_why`` why. ``guess`` is the risk of guessing by labels, ``oracle`` what the masked data give one who knows
    how they lie, under the law of the mask (None, and ``oracle_why``, where that is not modelled), and ``again`` what
    the oracle finds with one release more. ``attacks`` were carried out on few releases or none; ``seeded`` says what
    insiders found there who know some people's records beforehand. ``person`` is the risk of the most exposed person
    where it was measured. ``utility_error`` are the standard errors of what is an estimate from ``utility_sample``
    records of a large file. ``brief`` is the spec without what is as by default. ``labels`` says what is done to the
    labels, in an audit that makes them coarser, ``numbers`` what is done to numbers, where the file has some.
    ``fitting`` counts how many people of the population fit each record of one release, where there is a population.
    ``inference`` says what is learned of each sensitive column. ``secret`` is False where encodings have no key.
    ``everybody`` is the second figure of encodings: the share of all released records, on the snooper's list or not,
    that are named or read.
    """

    spec: str
    mask: str
    on: str
    reference: str
    dial: str | None
    dial_value: float | None
    family: str
    repetitions: int
    risk: SettingRisk
    meets: bool | None
    open: bool
    open_why: Message | None
    guess: float
    oracle: OracleRisk | None
    oracle_why: Message | None
    again: float | None
    attacks: tuple[AttackRisk, ...]
    utility: dict[str, float | None] | None
    usefulness: float | None
    person: float | None = None
    pareto: bool = False
    seeded: tuple[InsiderShare, ...] = ()
    brief: str = ""
    labels: LabelUse | None = None
    utility_error: dict[str, float | None] | None = None
    utility_sample: int | None = None
    fitting: Fitting | None = None
    numbers: NumberUse | None = None
    inference: tuple[InferenceFacts, ...] = ()
    secret: bool = True
    everybody: EverybodyRisk | None = None

    __repr__ = short_repr

    @property
    def numbers_kept(self) -> float:
        """What is left of the numbers, as a share of what they tell as they are."""
        return 1.0 if self.numbers is None or self.numbers.kept is None else self.numbers.kept

    @property
    def label_information(self) -> float:
        """What the labels still tell, as a share of what they tell as they are."""
        return 1.0 if self.labels is None else self.labels.information


@dataclass(frozen=True)
class GroupRisk:
    """Mean and highest risk of the records of a group.

    ``by`` is ``label`` (how many share the label), ``numbers`` (how many share label and released numbers) or
    ``density`` (how near the fifth nearest record is).
    """

    spec: str
    by: str
    group: str
    records: int
    risk: float
    highest: float


@dataclass(frozen=True)
class PeopleRisk:
    """How the risk is spread over people under one setting.

    ``trials`` is how often each person was asked for at the least, ``source`` by what: the ``oracle`` or the best
    attack. ``quantiles`` are the median, the ninth decile, the 99th percentile and the highest; ``above_half`` counts
    the people who are more likely to be identified than not.
    """

    spec: str
    source: str
    trials: int
    people: int
    mean: float
    quantiles: dict[str, float]
    above_half: int
    message: Message

    __repr__ = short_repr


@dataclass(frozen=True)
class MapCell:
    """A rectangle, how many people it has, and their mean risk."""

    west: float
    south: float
    east: float
    north: float
    people: int
    risk: float


@dataclass(frozen=True)
class CoarseMap:
    """The cells of a map under one setting; no cell has fewer than ``k`` people whose risk was measured."""

    spec: str
    k: int
    cells: tuple[MapCell, ...]


@dataclass(frozen=True)
class TypicalMatches:
    """The matches of the best attack in a typical repetition, as outcomes without any place or name.

    ``shown`` are the outcomes of some known people in random order: ``correct``, ``wrong``, or ``none`` where nobody
    was named. ``lines`` lead from a record to the person it was taken for, both as places in this list, -1 for somebody
    who is not in it.
    """

    spec: str
    attack: str
    common: int
    correct: int
    wrong: int
    shown: tuple[str, ...]
    lines: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class SensitivityPoint:
    """The risk if one thing is assumed otherwise, or as ``declared``.

    ``varied`` is ``overlap`` (the share of the released people who are known), ``label-error`` (a share),
    ``coordinate-error`` (a length) or ``strangers`` (people in the snooper's file who are not released), ``value`` it.
    ``common`` is how many people are known, ``high`` the upper end over ``draws`` releases; ``keeps`` says whether that
    is under the limit.
    """

    varied: str
    value: float
    declared: bool
    common: float
    risk: float
    high: float
    draws: int
    keeps: bool | None


@dataclass(frozen=True)
class Sensitivity:
    """How the risk of the verdict's setting depends on what was assumed, measured ``by`` the oracle or one attack."""

    spec: str
    by: str
    points: tuple[SensitivityPoint, ...]
    findings: tuple[Message, ...]
    notes: tuple[Message, ...] = ()

    __repr__ = short_repr


@dataclass(frozen=True)
class JointRelease:
    """What numbers give away beside masked places, and the other way round: the share of people found by each.

    ``both`` as they are released, ``without`` by what is released besides the numbers, ``numbers`` by these alone.
    ``places`` says that places are released, else distances.
    """

    spec: str
    both: float
    without: float
    numbers: float
    places: bool = True

    __repr__ = short_repr

    @property
    def message(self) -> Message:
        """How many are found with both, and with each alone."""
        code = mark("found_beside_places") if self.places else mark("found_beside_distances")
        return Message(code, both=self.both, without=self.without, numbers=self.numbers)


@dataclass(frozen=True)
class Favour:
    """Something that was assumed in the holder's favour, and the risk without it; None where that was not measured."""

    said: Message
    risk: float | None = None
    high: float | None = None

    @property
    def message(self) -> Message:
        """What was assumed, with what the risk would be without it."""
        if self.risk is None:
            return self.said
        if self.high is None:
            return Message("favour_without", said=self.said, share=self.risk)
        return Message("favour_without_at_most", said=self.said, share=self.risk, high=self.high)


@dataclass(frozen=True)
class Person:
    """One record with its risk, for a report that stays with the data holder."""

    row: int
    id: str
    label_k: int
    risk: float | None
    by: str
    times_known: int
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Line:
    """From the true home of a claimed record to the home of the person it was taken for."""

    x: float
    y: float
    x2: float
    y2: float
    true: bool


@dataclass(frozen=True)
class PeopleAtRisk:
    """The records themselves under one setting."""

    spec: str
    people: tuple[Person, ...]
    lines: tuple[Line, ...]

    __repr__ = short_repr


LEAST = 3  # people of a cell; with fewer, one of them could work out the other's risk


@dataclass(frozen=True)
class Declaration:
    """The section ``[decision]`` of an audit: free texts, empty where nothing was said.

    ``holder`` is the data holder, ``basis`` the legal or contractual basis. ``k`` is how many people every cell of the
    map that is safe to share has at the least.
    """

    author: str = ""
    purpose: str = ""
    date: str = ""
    holder: str = ""
    recipients: str = ""
    basis: str = ""
    k: int = 10

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < LEAST:
            raise InputError("map_cells_too_small", k=self.k, least=LEAST)


def declare(given: Mapping[str, Any] | Declaration | None) -> Declaration:
    """Return what was declared, from a mapping such as the section of a TOML file.

    >>> declare({"author": "A. Meyer", "recipients": ["ministry", "university"], "date": date(2026, 3, 1)}).recipients
    'ministry, university'
    """
    if given is None:
        return Declaration()
    if isinstance(given, Declaration):
        return given
    if not isinstance(given, Mapping):
        raise InputError("decision_no_section", given=repr(given))
    names = [field.name for field in fields(Declaration)]
    strange = sorted(str(name) for name in given if name not in names)
    if strange:
        raise InputError("decision_unknown_entry", entry=strange[0], known=names)
    found: dict[str, Any] = {name: value if name == "k" else _text(name, value) for name, value in given.items()}
    return Declaration(**found)


def _text(name: str, value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(name, part) for part in value)
    if isinstance(value, date):
        return value.isoformat()[:10]
    if not isinstance(value, str):
        raise InputError("decision_wants_text", name=name, value=repr(value))
    return " ".join(value.split())
