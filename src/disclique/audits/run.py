"""An audit carried out: what is missing is run, every unit is journalled, and the result follows from the journal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from disclique.arguments import check_kind, check_path, show
from disclique.attacks.dictionaries import read_words
from disclique.audits.caveats import inspect_audit
from disclique.audits.definition import Attacked, Audit, People, Varied
from disclique.audits.exposure import Findings
from disclique.audits.facts import Decision, SettingFacts, declare
from disclique.audits.known_figures import describe_figures
from disclique.audits.known_file import hold_known, hold_others
from disclique.audits.plan import AS_IT_IS, Plan, Snooper
from disclique.audits.release_records import Records, ReleaseRecord
from disclique.audits.result import AuditResult, write_result
from disclique.audits.search import search_range
from disclique.audits.sensitivity import choose_variants, list_units
from disclique.audits.summarise import Context, describe_settings, judge_setting, measure_setting, summarise
from disclique.audits.unit import UnitRunner, Useful
from disclique.audits.verdict import Judgement
from disclique.errors import InputError, guess_meant
from disclique.masks.settings import MaskRange, Setting
from disclique.memory import parse_memory
from disclique.messages import Message
from disclique.model import Microdata
from disclique.options.audits import PLAN_DOORS
from disclique.records.population import Inhabitants
from disclique.records.registers import Register
from disclique.runs import (
    Executor,
    FullProgress,
    Journal,
    Measured,
    Progress,
    Serial,
    Unit,
    keep_open,
    open_journal,
    run_units,
)

if TYPE_CHECKING:
    import pandas as pd

    from disclique.audits.recipients import Recipient
    from disclique.audits.several import RecipientsResult


@overload
def audit(target: Microdata, masks: Sequence[str] | str, *, recipients: None = None, **options: Any) -> AuditResult: ...


@overload
def audit(
    target: Microdata, masks: Sequence[str] | str, *, recipients: Sequence[Recipient | str], **options: Any
) -> RecipientsResult: ...


def audit(  # noqa: PLR0913 - the public door
    target: Microdata,
    masks: Sequence[str] | str = AS_IT_IS,
    *,
    known: Microdata | Register | None = None,
    others: Microdata | Register | None = None,
    recipients: Sequence[Recipient | str] | None = None,
    population: Inhabitants | None = None,
    dictionary: pd.DataFrame | None = None,
    folder: Path | str | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    with_records: bool = False,
    accept: Sequence[str] = (),
    memory: str | int | None = None,
    **options: Any,
) -> AuditResult | RecipientsResult:
    """Mask a file in the ways considered, attack each release as a snooper would, and decide.

    Parameters
    ----------
    target : Microdata
        The file that is to be released; its ids say who is who.
    masks : list of specs
        Ways to alter it: ``gaussian:sigma=500m``, or a range of the dial, ``gaussian:sigma=100m..5km``. Without any
        it is asked what the file gives away as it is.
    known, others : Microdata, or a Register of millions
        The snooper's own file; or, with ``overlap``, people who are not in the release. Without ``known`` and
        ``overlap`` the snooper knows the whole file, the worst case.
    recipients : list of Recipient, or of names of ready ones
        Who gets the release, instead of one snooper: ``[dq.Recipient("ministry", overlap=0.3), "neighbour"]``. Then
        the answer is a ``RecipientsResult``: a verdict for each, and one for a release to all of them.
    dictionary : DataFrame
        What the columns of text may say, in columns of the same names: names, places and dates from public lists, by
        which encodings of people on no list are read. By default all that the file itself says, with every day
        between its first and its last date.
    folder : path
        Where the audit is journalled and its result, records and report are written; in memory without one.
    executor : Executor
        Where releases are attacked: ``Serial()``, ``Processes(4)`` or ``OnDask("tcp://…")``; the numbers are the same.
    progress : function of releases done, releases wanted so far, and the one that has just come in
    with_records : bool
        Put places and ids of people into the result, for a report that stays with the data holder.
    accept : list of names
        What a look at the input (``dq.inspect``) finds wrong and is right so, by the names that it says:
        ``["doubled-records"]``. What can only be a mistake ends an audit unless it is accepted.
    memory : bytes, or a text such as "4GB"
        For what is kept of a known register (``dq.read_register``); half of the machine's by default.
    options
        Fields of ``Plan`` (``max_risk``, ``repetitions``, ``attacks``, ``generalise``, ``seed``, …) and of ``Snooper``
        (``overlap``, ``size``, ``label_error``, ``coordinate_error``).
        ``scenario`` says what risk means: ``prosecutor``, ``journalist`` or ``marketer``. And ``decision``, a mapping
        of what the annex for the board says: ``author``, ``purpose``, ``date``, ``holder``, ``recipients``, ``basis``,
        and ``k``, how many people every cell of its map has at the least.

    Examples
    --------
    >>> import disclique as dq
    >>> survey = dq.survey().iloc[:40]
    >>> people = dq.microdata(survey, ["sex"], coordinates=["lon", "lat"], id="id")
    >>> result = dq.audit(people, "affine", attacks=["register"], repetitions=1)
    >>> result.verdict.status, result.settings[0].risk.by, result.settings[0].risk.found.attack
    ('measured', 'oracle', 'register')
    """
    if executor is not None and not callable(getattr(executor, "map", None)):
        raise InputError("not_an_executor", executor=show(executor))
    place = None if folder is None else check_path(folder, "folder")
    declared = declare(options.pop("decision", None))
    if population is not None:
        check_kind(population, Inhabitants, "population", "wanted_population")
    words = None if dictionary is None else read_words(dictionary, target, "dictionary")
    wanted = [masks] if isinstance(masks, str) else masks

    def ask(
        known: Microdata | Register | None = None, others: Microdata | Register | None = None, **own: Any
    ) -> tuple[Audit, Context]:
        for name, data in (("target", target), ("known", known), ("others", others)):
            if name == "target" or not (data is None or isinstance(data, Register)):
                check_kind(data, Microdata, name, "wanted_microdata")
        plan = make_plan(wanted, known=known, others=others, **(options | own))
        theirs, thinned = hold_known(known, target, plan, None if memory is None else parse_memory(memory))
        strangers = hold_others(others, target, plan)
        work = Audit(plan, target, theirs, strangers, thinned=thinned, population=population, words=words)
        return work, Context(declared, inspection=inspect_audit(work).check(accept=accept))

    if recipients is not None:
        from disclique.audits.several import ask_recipients, run_recipients

        asked = ask_recipients(recipients, ask, beside={"known": known, "others": others, **options})
        watch = None if progress is None else lambda *_: nullcontext(progress)
        return run_recipients(asked, folder=place, executor=executor, watch=watch, with_records=with_records)
    work, about = ask(known, others)
    result = run_audit(work, folder=place, executor=executor, progress=progress, with_records=with_records, about=about)
    if place is not None:
        result.write_papers(place)
    return result


def make_plan(masks: Sequence[str], *, known: object = None, others: object = None, **options: Any) -> Plan:
    """Make the plan that options name: fields of ``Plan`` and of ``Snooper``."""
    options = {PLAN_DOORS.get(name, name): value for name, value in options.items()}
    about = {name.name for name in fields(Snooper)}
    plans = {name.name for name in fields(Plan)} - {"masks", "snooper"}
    strange = sorted(set(options) - about - plans)
    if strange:
        known_names = sorted(about | plans)
        meant = guess_meant(strange[0], known_names)
        raise InputError("unknown_audit_option", option=strange[0], known=known_names, meant=meant)
    snooper = {name: value for name, value in options.items() if name in about}
    snooper |= {"given": known is not None} | ({"others": "file"} if others is not None else {})
    rest = {name: tuple(v) if isinstance(v, list) else v for name, v in options.items() if name in plans}
    rest |= {name: (rest[name],) for name in ("attacks", "generalise") if isinstance(rest.get(name), str)}
    chosen: dict[str, Any] = rest
    if not isinstance(masks, Sequence):
        raise InputError("no_masks_named", masks=show(masks))
    return Plan(tuple(masks), Snooper(**snooper), **chosen)


def run_audit(
    audit: Audit,
    *,
    folder: Path | str | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    with_records: bool = False,
    about: Context | None = None,
    tried: Mapping[Unit, ReleaseRecord] | None = None,
) -> AuditResult:
    """Carry out an audit; killed at any moment and called again it goes on in its folder.

    The figures do not depend on that, nor on the executor. ``about`` is what the result says beyond them; ``tried`` are
    units that were run already, on trial.
    """
    place = None if folder is None else Path(folder)
    told = about or Context()
    audit.check_masks()
    with open_journal(place, audit, ReleaseRecord) as journal, keep_open(executor or Serial()) as running:
        for unit, record in (tried or {}).items():
            if unit not in journal.done:
                journal.append(unit, record)
        result = conclude(Work(audit, journal, running, progress, told.doubt), told, with_records=with_records)
        if place is not None:
            write_result(result, place)
    return result


def conclude(work: Work, about: Context, *, with_records: bool = False) -> AuditResult:
    """Carry out what an audit calls for until nothing is left to be done, and return what follows."""
    begun = time.perf_counter()
    work.search()
    if isinstance(work.progress, FullProgress):
        work.progress.over("")

    def summary() -> AuditResult:
        seconds = time.perf_counter() - begun
        found = Findings(work.records, work.decisions, seconds, work.journal.notes, work.trials, work.varied)
        return summarise(work.audit, found, about, with_records=with_records)

    result = summary()
    while work.follow(result):  # which may change what is decided
        result = summary()
    if work.vary(result.setting(result.verdict.setting)):
        result = summary()
    return replace(result, figures=describe_figures(work.audit, work.find(result.verdict.setting)))


class Work:
    """The journal of an audit under way, and the way to have more units run."""

    def __init__(
        self,
        audit: Audit,
        journal: Journal[ReleaseRecord],
        executor: Executor,
        progress: Progress | None,
        doubt: Message | None = None,
        useful: Mapping[Unit, Useful] | None = None,
    ) -> None:
        self.audit, self.journal, self.executor, self.progress = audit, journal, executor, progress
        self.run_unit = UnitRunner(audit.lean(), useful)
        self.doubt = doubt
        # what was asked for: a resumed audit sees no more than the first one did
        self.measured: list[Setting] = []
        self.attacked: dict[Setting, int] = {}  # releases
        self.asked: list[Setting] = []  # settings in which the oracle was asked for everybody
        self.changed: list[Unit] = []  # units in which one thing is assumed otherwise
        self.decisions: tuple[Decision, ...] = ()

    @property
    def plan(self) -> Plan:
        """What is to be carried out."""
        return self.audit.plan

    def find(self, text: str) -> Setting:
        """Return the setting that a text of the result names."""
        found = self.plan.find_setting(text)
        assert found is not None
        return found

    @property
    def records(self) -> dict[Setting, Records]:
        """What is known of each setting, in the order of the plan."""
        found = {setting: self._records(setting) for setting in self.plan.settings}
        return {setting: records for setting, records in found.items() if records}

    def _records(self, setting: Setting) -> Records:
        if setting not in self.measured:
            return {}
        done, attacked = self.journal.done, self.attacked.get(setting, 0)
        return {
            k: done[unit].with_attacks(done.get(Unit(setting, k, Attacked())) if k < attacked else None)
            for k in range(self.plan.repetitions)
            if (unit := Unit(setting, k)) in done
        }

    @property
    def trials(self) -> dict[Setting, Records]:
        """What the oracle says of every person, by setting."""
        return {setting: self._trials(setting) for setting in self.asked}

    def _trials(self, setting: Setting) -> Records:
        units = {k: Unit(setting, k, People()) for k in range(self.plan.people_units)} if setting in self.asked else {}
        return {k: self.journal.done[unit] for k, unit in units.items() if unit in self.journal.done}

    @property
    def varied(self) -> dict[Varied, Records]:
        """What is known of the verdict's setting with one thing assumed otherwise."""
        found: dict[Varied, dict[int, ReleaseRecord]] = {}
        for unit in self.changed:
            if isinstance(unit.stage, Varied):
                found.setdefault(unit.stage, {})[unit.repetition] = self.journal.done[unit]
        return dict(found)

    def search(self) -> None:
        """Ask what every fixed setting gives away, and search all ranges side by side, so that they share the cores."""
        ranges, plan = self.plan.ranges, self.plan
        wanted = [setting for mask in ranges if not plan.searched(mask) for setting in mask.settings]
        searches = {mask: search_range(mask, self._judge) for mask in ranges if plan.searched(mask)}
        decided: dict[MaskRange, Decision] = {}
        while True:
            for mask, under_way in searches.items():
                if mask not in decided:
                    try:
                        wanted = wanted + next(under_way)
                    except StopIteration as end:
                        decided[mask] = end.value
            if not wanted:
                self.decisions = tuple(decided[mask] for mask in searches)
                return
            self._measure(wanted)
            wanted = []

    def follow(self, result: AuditResult) -> bool:
        """Do what a result calls for, before it stands; False if nothing is left to be done.

        The oracle is asked for everybody under the verdict's setting, and attacks demonstrate. Where one of them finds
        more than the oracle says there is, the attack counts there: the setting and its neighbours are attacked in
        full, and the search is gone through again.
        """
        chosen = self.find(result.verdict.setting)
        if self.ask_for_everybody([chosen]):
            return True
        before = dict(self.attacked)
        self._attack(dict.fromkeys(self._choose_shown(chosen), self.audit.demonstrations))
        beaten = [setting for setting in self.attacked if self._is_beaten(setting)]
        around = [one for setting in beaten for one in self._neighbours(setting)]
        self._attack(dict.fromkeys([*beaten, *around], self.plan.repetitions))
        if around:
            self.search()
        return self.attacked != before

    def measure_too(self, settings: Sequence[Setting]) -> None:
        """Ask what settings give away that the audit did not come to by itself."""
        self._measure(settings)

    def examine(self, setting: Setting) -> None:
        """Look at a setting as closely as at that of a verdict: ask for everybody, and let attacks demonstrate."""
        self._measure([setting])
        self.ask_for_everybody([setting])
        self._attack({setting: self.audit.demonstrations})
        if self._is_beaten(setting):
            self._attack({setting: self.plan.repetitions})

    def has_examined(self, setting: Setting) -> bool:
        """Say whether a setting was looked at as closely as that of a verdict."""
        return setting in self.attacked and (setting in self.asked or not self._has_oracle(setting))

    def describe(self) -> dict[str, SettingFacts]:
        """Return what is known of every setting that was measured, by its spec."""
        return {one.spec: one for one in describe_settings(self.audit, self.records, self.trials, self.doubt)}

    @property
    def useful(self) -> dict[Unit, Useful]:
        """How useful the releases are that were measured: the same for whoever gets them."""
        found = {unit: Useful.of(record) for unit, record in self.journal.done.items()}
        return {unit: one for unit, one in found.items() if one is not None and isinstance(unit.stage, Measured)}

    def vary(self, setting: SettingFacts) -> bool:
        """Measure a setting with one thing assumed otherwise; False if there is nothing to vary."""
        self.changed = list_units(self.find(setting.spec), choose_variants(self.audit, setting))
        self._run_units(self.changed)
        return bool(self.changed)

    def ask_for_everybody(self, settings: Sequence[Setting]) -> bool:
        """Ask the oracle for every person under these settings, where it can be; False if nothing is left to ask."""
        new = [setting for setting in settings if setting not in self.asked and self._has_oracle(setting)]
        self.asked += new
        self._run_units([Unit(setting, k, People()) for setting in new for k in range(self.plan.people_units)])
        return bool(new)

    def _has_oracle(self, setting: Setting) -> bool:
        found = self._records(setting).values()
        return bool(found) and all(one.oracle is not None and one.oracle.why is None for one in found)

    def _choose_shown(self, chosen: Setting) -> list[Setting]:
        """Return the settings on which attacks demonstrate: the verdict's, the next weaker one, and all fixed ones."""
        if self.plan.thorough:
            return list(self.measured)
        fixed = [one for mask in self.plan.ranges if not self.plan.searched(mask) for one in mask.settings]
        return list(dict.fromkeys([chosen, *self._neighbours(chosen)[:1], *fixed]))

    def _neighbours(self, setting: Setting) -> list[Setting]:
        """Return the nearest settings of the same range that were measured: the weaker one, then the stronger one."""
        settings = next(mask.settings for mask in self.plan.ranges if setting in mask.settings)
        place = settings.index(setting)
        weaker = [one for one in settings[:place][::-1] if one in self.measured]
        return weaker[:1] + [one for one in settings[place + 1 :] if one in self.measured][:1]

    def _is_beaten(self, setting: Setting) -> bool:
        return measure_setting(self.audit, self._records(setting), self._trials(setting)).beaten

    def _judge(self, setting: Setting) -> Judgement | None:
        return judge_setting(self.audit, self._records(setting), self._trials(setting), self.doubt)

    def _measure(self, settings: Sequence[Setting]) -> None:
        """Ask what settings give away that were not asked about yet, and who is exposed where there is a limit."""
        self.measured += [setting for setting in dict.fromkeys(settings) if setting not in self.measured]
        units = [Unit(setting, k) for k in range(self.plan.repetitions) for setting in dict.fromkeys(settings)]
        self._run_units(units)
        if self.plan.max_risk_person is not None:
            self.ask_for_everybody([setting for setting in settings if self._keeps_mean(setting)])

    def _keeps_mean(self, setting: Setting) -> bool:
        judged = self._judge(setting)
        return judged is not None and judged.figures.measured <= judged.limits.risk

    def _attack(self, settings: Mapping[Setting, int]) -> None:
        """Attack so many releases of settings; with ``thorough`` all."""
        for setting, many in settings.items():
            often = self.plan.repetitions if self.plan.thorough else many
            self.attacked[setting] = max(often, self.attacked.get(setting, 0))
        self._run_units([Unit(s, k, Attacked()) for s, many in self.attacked.items() for k in range(many)])

    def _run_units(self, units: Sequence[Unit]) -> None:
        run_units(self.run_unit, units, self.journal, executor=self.executor, progress=self.progress)
