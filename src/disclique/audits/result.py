"""The result of an audit as frozen values, and ``result.json`` as their one written form.

The schema ``result.schema.json`` follows from these classes (``make schema`` writes it, a test compares). VERSION is
raised when a reader of the old form would misread the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from disclique.arguments import check_path
from disclique.audits.facts import (
    CoarseMap,
    Decision,
    Declaration,
    Favour,
    FileFacts,
    GroupRisk,
    JointRelease,
    KnownFigures,
    PeopleAtRisk,
    PeopleRisk,
    ReleasedFacts,
    Sensitivity,
    SettingFacts,
    SnooperFacts,
    TypicalMatches,
    Verdict,
    declare,
)
from disclique.audits.known_figures import tabulate_known
from disclique.errors import InputError
from disclique.locale import texts_in
from disclique.measures.utility import measures
from disclique.messages import Message, percent
from disclique.options.audits import PlanFacts
from disclique.records.checks import Inspection
from disclique.records.write import encode, whole_file, write_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from disclique.model import Microdata

KIND, VERSION = "disclique audit", 9
RESULT, RECORDS, REPORT, ANNEX = "result.json", "records.csv", "report.html", "annex.html"
ANNEX_WORD = "annex.docx"


@dataclass(frozen=True)
class ResultFacts:
    """What result.json holds.

    ``favours`` are what was assumed in the holder's favour, ``again`` says what a further release would do,
    ``declared`` what the holder declared for the board, ``command`` what was called, and ``inspection`` what a look at
    the input found before any work. ``joint`` says what numbers give away beside what is published between records.
    ``released`` says what would be released under the verdict's setting, ``figures`` are those that other tools give.
    """

    made: str
    verdict: Verdict
    file: FileFacts
    snooper: SnooperFacts
    settings: tuple[SettingFacts, ...]
    pareto: tuple[str, ...]
    decisions: tuple[Decision, ...]
    groups: tuple[GroupRisk, ...]
    people_risk: tuple[PeopleRisk, ...]
    matches: TypicalMatches | None
    limits: tuple[Message, ...]
    plan: PlanFacts
    versions: dict[str, str]
    seconds: float
    records: PeopleAtRisk | None = None
    sensitivity: Sensitivity | None = None
    favours: tuple[Favour, ...] = ()
    coarse_map: CoarseMap | None = None
    again: Message | None = None
    declared: Declaration = field(default_factory=Declaration)
    command: str = ""
    inspection: Inspection = field(default_factory=Inspection)
    joint: JointRelease | None = None
    released: ReleasedFacts | None = None
    figures: tuple[KnownFigures, ...] = ()
    kind: str = KIND
    version: int = VERSION


@dataclass(frozen=True)
class AuditResult(ResultFacts):
    """The result of an audit: a verdict, every setting tried, and what the result does not show.

    Without ``records`` no coordinate, id or label value of a person is in it; ``coarse_map`` has cells of many people.
    ``people_table`` stays with the data holder and is never in result.json.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> result = dq.audit(people, ["round:to=10km", "round:to=50km"], attacks="labels", repetitions=1)
    >>> result.table[["mask", "risk"]].values.tolist()
    [['round:to=10km', 1.0], ['round:to=50km', 1.0]]
    """

    people_table: pd.DataFrame | None = field(default=None, compare=False)

    def setting(self, spec: str) -> SettingFacts:
        """Return a setting by its spec."""
        return next(setting for setting in self.settings if setting.spec == spec)

    def tell_of(self, setting: str, data: Microdata) -> Message:
        """Say what was found of a setting of a file, or that it was not audited."""
        from disclique.audits.audited import tell_of

        return tell_of(self, setting, data)

    @cached_property
    def table(self) -> pd.DataFrame:
        """All settings with their risk and usefulness."""
        rows = [
            {
                "mask": s.spec,
                "risk": s.risk.value,
                "high": s.risk.high,
                "by": s.risk.by,
                "found": None if s.risk.found is None else s.risk.found.value,
                "attack": None if s.risk.found is None else s.risk.found.attack,
                "oracle": None if s.oracle is None else s.oracle.value,
                "guess": s.guess,
                "meets": s.meets,
                "utility": s.usefulness,
                "repetitions": s.repetitions,
                **({} if s.labels is None else {"label_information": s.labels.information}),
                **({} if s.numbers is None else {"numbers_kept": s.numbers.kept}),
                **({} if s.everybody is None else {"everybody": s.everybody.value, "everybody_high": s.everybody.high}),
                **{f"told_{one.column}": one.value for one in s.inference},
                **{f"told_{one.column}_high": one.high for one in s.inference},
            }
            for s in self.settings
        ]
        return pd.DataFrame(rows)

    @property
    def known_figures(self) -> pd.DataFrame:
        """Figures that other tools give, of the file as it is and of the release that the verdict names.

        They look at labels and places alone, and do not decide. None stands for what was not measured.
        """
        return tabulate_known(self.figures)

    @property
    def summary(self) -> pd.DataFrame:
        """The table in words and few digits, as it is shown; the setting that the verdict names is marked."""
        format_ = measures()[self.plan.utility].format
        rows = []
        for s in self.settings:
            found, use = s.risk.found, s.usefulness
            row = {
                "setting": f"{s.brief or s.spec}{' ◀' if s.spec == self.verdict.setting else ''}",
                "could be found": percent(s.risk.value),
                "at most": percent(s.risk.high),
                "shown": "–" if found is None else f"{percent(found.value)} by {found.attack}",
                **({} if s.everybody is None else {"of everybody": percent(s.everybody.value)}),
                "by guessing": percent(s.guess),
                "useful": "–" if use is None else percent(use) if format_ == "%" else f"{use:.2f}",
            }
            row |= {f"{one.column} told": "–" if one.value is None else percent(one.value) for one in s.inference}
            keeps = {True: "kept", False: "not shown" if s.open else "broken"}
            rows.append(row if s.meets is None else row | {"limit": keeps[s.meets]})
        return pd.DataFrame(rows)

    @property
    def favoured(self) -> Message | None:
        """What was assumed in the holder's favour, as a sentence; None where nothing was."""
        said = [one.message for one in self.favours]
        return Message("assumed_in_your_favour", favours=said) if said else None

    @property
    def people(self) -> pd.DataFrame:
        """The risk of every record under every setting; it stays with the data holder and is never in result.json."""
        if self.people_table is None:
            raise AttributeError(str(Message("people_in_another_file", file=RECORDS)))
        return self.people_table

    def report(self, path: Path | str | None = None, *, language: str = "en") -> str:
        """Render the report as one HTML page that needs no network, and write it if a path is given.

        The figures behind it are then written as CSV to a folder beside it, ``report_figures`` of ``report.html``.
        ``language`` is that of the page, ``en`` or ``de``; the result and the figures are the same in every language.
        """
        import disclique

        if path is None:
            return disclique.report(self, language=language)
        texts_in(language)  # a language that is not known is said before anything is written
        place = Path(path)
        folder = f"{place.stem}_figures"
        for name, table in tabulate_figures(self).items():
            write_table(table, place.parent / folder / name)
        page = disclique.report(self, figures=folder, language=language)
        _write_page(page, place)
        return page

    def annex(
        self,
        path: Path | str | None = None,
        decision: Mapping[str, Any] | Declaration | None = None,
        *,
        language: str = "en",
    ) -> str:
        """Return the annex for the board as one HTML page, and write it if a path is given.

        The ending of the path says as what: ``.html``, ``.docx`` (Word, which boards can edit) or ``.pdf``, for which
        the machine needs LibreOffice or Chromium. ``decision`` says author, purpose, date, holder, recipients and
        basis, if the audit was not told; ``language`` is that of the annex, ``en`` or ``de``.
        """
        import disclique

        if isinstance(decision, Mapping):  # what is not said of the map is as the map is
            decision = {"k": self.declared.k, **decision}
        declared = self.declared if decision is None else declare(decision)
        if self.coarse_map is not None and declared.k > self.coarse_map.k:
            raise InputError("map_of_larger_cells", k=declared.k, there=self.coarse_map.k)
        page: str = disclique.annex(replace(self, declared=declared), path, language=language)
        return page

    def write_papers(self, folder: Path, *, language: str = "en") -> None:
        """Write the report, and the annex as a page and for Word, to a folder."""
        self.report(folder / REPORT, language=language)
        for name in (ANNEX, ANNEX_WORD):
            self.annex(folder / name, language=language)

    def plot(self) -> Figure:
        """Draw risk against usefulness of every setting."""
        import disclique

        return disclique.plots.draw_risk_utility_map(self)

    def __repr__(self) -> str:
        found = next((one.risk for one in self.settings if one.spec == self.verdict.setting), None)
        risk = "" if found is None else f", {percent(found.value)} could be found (at most {percent(found.high)})"
        return f"AuditResult({self.verdict.status}: {self.verdict.setting[:80]}{risk}, {len(self.settings)} settings)"

    def __str__(self) -> str:
        return "\n".join([*self._sentences, self.summary.to_string(index=False)])

    def _repr_html_(self) -> str:
        first, *rest = map(escape, self._sentences)
        said = "".join(f"<p>{sentence}</p>" for sentence in (f"<b>{first}</b>", *rest))
        return f"<div>{said}{self.summary.to_html(index=False)}</div>"

    @property
    def _sentences(self) -> list[str]:
        """What stands above the table: the verdict, what numbers add, and what was assumed in the holder's favour."""
        more = [
            *([] if self.joint is None else [self.joint.message]),
            *self.who_else,
            *([] if self.favoured is None else [self.favoured]),
        ]
        return [*self.verdict.sentences, *map(str, more)]

    @property
    def who_else(self) -> tuple[Message, ...]:
        """How many people of the population fit the records under the verdict's setting, or that it is not known."""
        found = next((one.fitting for one in self.settings if one.spec == self.verdict.setting), None)
        if found is not None:
            return found.messages
        return (Message("population_not_known"),) if self.file.numbers else ()


def _write_page(page: str, path: Path) -> None:
    with whole_file(path) as draft:
        draft.write_text(page, encoding="utf-8")


def encode_result(result: AuditResult) -> bytes:
    """Return the result as JSON; numbers that are not finite become null."""
    written = {one.name: getattr(result, one.name) for one in fields(ResultFacts)}
    return msgspec.json.format(encode(written), indent=2) + b"\n"


def write_result(result: AuditResult, folder: Path) -> None:
    """Write result.json, and records.csv with the risk of every record, to a folder."""
    write_table(result.people, folder / RECORDS)
    with whole_file(folder / RESULT) as draft:
        draft.write_bytes(encode_result(result))


def read_result(path: Path | str) -> AuditResult:
    """Read the result of an audit from its file, if it is one that this version can show.

    >>> import tempfile
    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = dq.audit(people, "affine", attacks="labels", repetitions=1, folder=folder)
    ...     read_result(f"{folder}/result.json") == made
    True
    """
    try:
        raw = check_path(path, "path").read_bytes()
    except OSError as error:
        raise InputError("file_not_readable", path=path, why=error.strerror) from None
    return decode_result(raw, str(path))


def decode_result(raw: bytes, name: str = "result") -> AuditResult:
    """Read a result from JSON."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError("result_no_json", file=name, why=str(error)) from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise InputError("no_result_of_an_audit", file=name)
    if found.get("version") != VERSION:
        raise InputError("result_of_other_version", file=name, found=found.get("version"), version=VERSION)
    try:
        facts = msgspec.convert(found, ResultFacts)
    except msgspec.ValidationError as error:
        raise InputError("result_incomplete", file=name, why=str(error)) from None
    return AuditResult(**{one.name: getattr(facts, one.name) for one in fields(ResultFacts)})


def result_schema() -> dict[str, Any]:
    """Return the JSON schema of ``result.json``."""
    return msgspec.json.schema(ResultFacts)


def tabulate_figures(result: AuditResult) -> dict[str, pd.DataFrame]:
    """Return the tables behind the report by the name of their file; those without a row are left out."""
    found: dict[str, list[dict[Any, Any]]] = {
        "risk.csv": _risk(result),
        "people.csv": _people(result),
        "utility.csv": _utility(result),
        "sensitivity.csv": _sensitivity(result),
        "map.csv": [] if result.coarse_map is None else [vars(cell) for cell in result.coarse_map.cells],
        "known_figures.csv": result.known_figures.reset_index().to_dict("records"),
    }
    return {name: pd.DataFrame(rows) for name, rows in found.items() if rows}


def _risk(result: AuditResult) -> list[dict[str, Any]]:
    """A row for each setting and attack, also for those that did not apply."""
    return [
        {
            "setting": s.spec,
            "attack": a.attack,
            "carried_out": a.applies,
            "why": _write(a.why or a.cut_why),
            "risk": a.risk.value,
            "low": a.risk.low,
            "high": a.risk.high,
            "named_rightly": a.named.value,
            "recall": a.recall.value,
            "precision": a.precision.value,
            "control": a.control,
            "cut_short": a.cut,
            "releases": a.releases,
            "repetitions": s.repetitions,
            "guess": s.guess,
            "oracle": None if s.oracle is None else s.oracle.value,
            "oracle_high": None if s.oracle is None else s.oracle.high,
            "setting_risk": s.risk.value,
            "setting_high": s.risk.high,
            "meets": s.meets,
        }
        for s in result.settings
        for a in s.attacks
    ]


def _people(result: AuditResult) -> list[dict[str, Any]]:
    """How risk is spread over everybody, and its mean in groups."""
    everybody = [
        {"setting": one.spec, "of": "everybody", "group": "", "people": one.people, "mean": one.mean, **one.quantiles}
        for one in result.people_risk
    ]
    groups = [
        {
            "setting": one.spec,
            "of": one.by,
            "group": one.group,
            "people": one.records,
            "mean": one.risk,
            "highest": one.highest,
        }
        for one in result.groups
    ]
    return everybody + groups


def _utility(result: AuditResult) -> list[dict[str, Any]]:
    return [
        {"setting": s.spec, "measure": name, "value": value, "error": (s.utility_error or {}).get(name)}
        for s in result.settings
        for name, value in (s.utility or {}).items()
    ]


def _sensitivity(result: AuditResult) -> list[dict[str, Any]]:
    found = result.sensitivity
    return [] if found is None else [{"setting": found.spec, "by": found.by, **vars(one)} for one in found.points]


def _write(message: Message | None) -> str:
    return "" if message is None else str(message)
