"""The result of an audit as frozen values, and ``result.json`` as their one written form.

The schema ``result.schema.json`` follows from these classes (``make schema`` writes it, a test compares). VERSION is
raised when a reader of the old form would misread the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from disclique.audits.coarse_map import CoarseMap
from disclique.audits.decision import Decision
from disclique.audits.declaration import Declaration, declare
from disclique.audits.figures import tabulate_figures
from disclique.audits.rates import AttackRisk, OracleRisk, SettingRisk
from disclique.audits.settings import LabelUse
from disclique.checks import check_path, short_repr
from disclique.data.inspection import Inspection
from disclique.data.write import whole_file, write_table
from disclique.errors import InputError
from disclique.quantities import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND, VERSION = "disclique audit", 4
RESULT, RECORDS, REPORT, ANNEX = "result.json", "records.csv", "report.html", "annex.html"
MEETS, UNPROVEN, FAILS, MEASURED = "meets", "unproven", "fails", "measured"


@dataclass(frozen=True)
class Verdict:
    """The decision in words: ``meets`` only when it is shown that the setting keeps the limit.

    ``unproven``: what was measured keeps the limit, but it is not shown that the release does. ``fails``: no setting
    tried keeps it. ``measured``: no limit was set. ``cautions`` say what could not be attacked, was cut short, did not
    apply or was not asked for, as it belongs to the headline.
    """

    status: str
    setting: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...] = ()

    __repr__ = short_repr


@dataclass(frozen=True)
class LabelGroup:
    """Records by how many of them share a label."""

    size: str
    records: int


@dataclass(frozen=True)
class FileFacts:
    """The file that was audited; no value of it. ``distances`` says what they are between (``kind_of``).

    ``missing_labels`` counts the records with an empty label value. ``unit`` is that of its distances, empty where it
    is not known.
    """

    name: str
    records: int
    labels: tuple[str, ...]
    distances: str
    label_groups: tuple[LabelGroup, ...]
    missing_labels: int = 0
    unit: str = ""

    __repr__ = short_repr


@dataclass(frozen=True)
class SnooperFacts:
    """What the snooper was assumed to know, in numbers and sentences; ``records`` are those of one release."""

    mode: str
    sentences: tuple[str, ...]
    records: int
    known: float
    common: float
    guess: float

    __repr__ = short_repr


@dataclass(frozen=True)
class InsiderShare:
    """The share of the other people that an insider finds who knows of ``seeds`` people which records they are."""

    seeds: int
    value: float


@dataclass(frozen=True)
class Setting:
    """One setting of a mask: risk, attacks, yardsticks, utility.

    ``meets`` is None without a limit. ``open`` says that what was measured keeps the limit but that this is not shown,
    ``open_why`` why; ``settled`` says why work that was cut short does not matter. ``guess`` is the risk of guessing by
    labels, ``oracle`` what the masked data give one who knows how they lie, under the exact law of the mask (None, and
    ``oracle_why``, where that is not modelled), ``simulated`` that this law was learned from draws of the mask, and
    ``again`` what the oracle finds with one release more. ``seeded`` says what insiders find who know some people's
    records beforehand, by the attacks that can start from these. ``person`` is the risk of the most exposed person
    where it was measured. ``turns`` says, of a setting above the limit, that more repetitions might change that.
    ``brief`` is the spec without what is as by default. ``labels`` says what is done to the
    labels, in an audit that makes them coarser.
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
    open_why: str
    settled: str
    guess: float
    oracle: OracleRisk | None
    oracle_why: str
    simulated: bool
    again: float | None
    attacks: tuple[AttackRisk, ...]
    utility: dict[str, float | None] | None
    usefulness: float | None
    person: float | None = None
    pareto: bool = False
    seeded: tuple[InsiderShare, ...] = ()
    turns: bool = False
    brief: str = ""
    labels: LabelUse | None = None

    __repr__ = short_repr

    @property
    def label_information(self) -> float:
        """What the labels still tell, as a share of what they tell as they are."""
        return 1.0 if self.labels is None else self.labels.information


@dataclass(frozen=True)
class GroupRisk:
    """Mean and highest risk of the records of a group.

    ``by`` is ``label`` (how many share the label) or ``density`` (how near the fifth nearest record is).
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

    ``trials`` is how often each person was asked for at the least, ``source`` by what: the ``oracle`` or the worst
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
    sentence: str

    __repr__ = short_repr


@dataclass(frozen=True)
class TypicalMatches:
    """The matches of the worst attack in a typical repetition, as outcomes without any place or name.

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

    ``varied`` is ``overlap`` (the share of the released people who are known) or ``label-error``, ``value`` the share.
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
    sentences: tuple[str, ...]
    notes: tuple[str, ...] = ()

    __repr__ = short_repr


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


@dataclass(frozen=True)
class PlanFacts:
    """What was asked, so that it can be repeated."""

    masks: tuple[str, ...]
    snooper: dict[str, Any]
    repetitions: int
    max_risk: float | None
    attacks: tuple[str, ...]
    seed: int
    alpha: float
    budget: float
    missing: str
    scenario: str
    max_risk_person: float | None
    person_trials: int
    releases: int
    linked: bool
    utility: str
    inputs: dict[str, str]
    generalise: tuple[str, ...] = ()
    sensitivity: bool = True

    __repr__ = short_repr


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit: a verdict, every setting tried, and what the result does not show.

    Without ``records`` no coordinate, id or label value of a person is in it; ``coarse_map`` has cells of many people.
    ``again`` says what a further release would do, ``declared`` what the holder declared for the board, ``command``
    what was called, and ``inspection`` what a look at the input found before any work.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], ids="id")
    >>> result = dq.audit(people, ["round:to=10km", "round:to=50km"], attacks="labels", repetitions=1)
    >>> result.table[["mask", "risk"]].values.tolist()
    [['round:to=10km', 0.1], ['round:to=50km', 0.1]]
    """

    made: str
    verdict: Verdict
    file: FileFacts
    snooper: SnooperFacts
    settings: tuple[Setting, ...]
    pareto: tuple[str, ...]
    decisions: tuple[Decision, ...]
    groups: tuple[GroupRisk, ...]
    people_risk: tuple[PeopleRisk, ...]
    matches: TypicalMatches | None
    limits: tuple[str, ...]
    plan: PlanFacts
    versions: dict[str, str]
    seconds: float
    records: PeopleAtRisk | None = None
    sensitivity: Sensitivity | None = None
    coarse_map: CoarseMap | None = None
    again: str = ""
    declared: Declaration = field(default_factory=Declaration)
    command: str = ""
    inspection: Inspection = field(default_factory=Inspection)
    kind: str = KIND
    version: int = VERSION

    def setting(self, spec: str) -> Setting:
        """Return a setting by its spec."""
        return next(setting for setting in self.settings if setting.spec == spec)

    @cached_property
    def table(self) -> pd.DataFrame:
        """All settings with their risk and usefulness."""
        rows = [
            {
                "mask": s.spec,
                "risk": s.risk.value,
                "low": s.risk.interval[0],
                "high": s.risk.interval[1],
                "attack": s.risk.attack,
                "oracle": None if s.oracle is None else s.oracle.value,
                "lower_bound": s.risk.lower_bound,
                "meets": s.meets,
                "utility": s.usefulness,
                "repetitions": s.repetitions,
                **({} if s.labels is None else {"label_information": s.labels.information}),
            }
            for s in self.settings
        ]
        return pd.DataFrame(rows)

    @property
    def people(self) -> pd.DataFrame:
        """The risk of every record under every setting; it stays with the data holder and is never in result.json."""
        if "_people" not in self.__dict__:
            raise AttributeError(f"the risk of every record is in {RECORDS} beside the file this result was read from")
        found: pd.DataFrame = self.__dict__["_people"]
        return found

    def with_people(self, table: pd.DataFrame) -> AuditResult:
        """Return the result with the risk of every record beside it."""
        found = replace(self)
        found.__dict__["_people"] = table
        return found

    def report(self, path: Path | str | None = None) -> str:
        """Render the report as one HTML page that needs no network, and write it if a path is given.

        The figures behind it are then written as CSV to a folder beside it, ``report_figures`` of ``report.html``.
        """
        import disclique

        if path is None:
            return disclique.report(self)
        place = Path(path)
        folder = f"{place.stem}_figures"
        for name, table in tabulate_figures(self).items():
            write_table(table, place.parent / folder / name)
        page = disclique.report(self, figures=folder)
        _write_page(page, place)
        return page

    def annex(self, path: Path | str | None = None, decision: Mapping[str, Any] | Declaration | None = None) -> str:
        """Render the annex for the board as one HTML page to be printed and signed, and write it if a path is given.

        ``decision`` says author, purpose, date, holder, recipients and basis, if the audit was not told.
        """
        import disclique

        if isinstance(decision, Mapping):  # what is not said of the map is as the map is
            decision = {"k": self.declared.k, **decision}
        declared = self.declared if decision is None else declare(decision)
        if self.coarse_map is not None and declared.k > self.coarse_map.k:
            raise InputError(
                f"decision: k = {declared.k}: the map of this result has cells of at least {self.coarse_map.k} people "
                "and holds no places to draw another one; run the audit again"
            )
        page: str = disclique.annex(replace(self, declared=declared))
        if path is not None:
            _write_page(page, Path(path))
        return page

    def plot(self) -> Figure:
        """Draw risk against usefulness of every setting."""
        import disclique

        return disclique.plots.draw_risk_utility_map(self)

    def __repr__(self) -> str:
        found = next((one.risk for one in self.settings if one.spec == self.verdict.setting), None)
        risk = "" if found is None else f", risk {percent(found.value)}{' LOWER BOUND' if found.lower_bound else ''}"
        return f"AuditResult({self.verdict.status}: {self.verdict.setting[:80]}{risk}, {len(self.settings)} settings)"

    def __str__(self) -> str:
        return "\n".join([*self.verdict.sentences, self.table.round(3).to_string(index=False)])

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.verdict.sentences)
        return f"<div><b>{escape(self.verdict.status)}</b>{sentences}{self.table.round(3).to_html(index=False)}</div>"


def _write_page(page: str, path: Path) -> None:
    with whole_file(path) as draft:
        draft.write_text(page, encoding="utf-8")


def encode_result(result: AuditResult) -> bytes:
    """Return the result as JSON; numbers that are not finite become null."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def write_result(result: AuditResult, folder: Path) -> None:
    """Write result.json, and records.csv with the risk of every record, to a folder."""
    write_table(result.people, folder / RECORDS)
    with whole_file(folder / RESULT) as draft:
        draft.write_bytes(encode_result(result))


def read_result(path: Path | str) -> AuditResult:
    """Read the result of an audit from its file, if it is one that this version can show.

    >>> import tempfile
    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], ids="id")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = dq.audit(people, "affine", attacks="labels", repetitions=1, folder=folder)
    ...     read_result(f"{folder}/result.json") == made
    True
    """
    try:
        raw = check_path(path, "path").read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return decode_result(raw, str(path))


def decode_result(raw: bytes, name: str = "result") -> AuditResult:
    """Read a result from JSON."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: not a JSON file ({error})") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise InputError(f"{name}: this is not the result of an audit")
    if found.get("version") != VERSION:
        raise InputError(
            f"{name}: version {found.get('version')!r} of the result cannot be shown by this version of disclique, "
            f"which reads version {VERSION}; run the audit again"
        )
    try:
        return msgspec.convert(found, AuditResult)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: the result is not complete: {error}") from None


def result_schema() -> dict[str, Any]:
    """Return the JSON schema of ``result.json``."""
    return msgspec.json.schema(AuditResult)
