"""What an audit will do and about how long it will take, said before it begins; and its risk so far, while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from disclique.attacks import parse_attack
from disclique.audits.definition import Audit, People, Rest, Varied
from disclique.audits.plan import DRAWS, RAISE, Plan
from disclique.audits.rates import ReleaseRecord, SettingRisk, fill_spared
from disclique.audits.run import Work
from disclique.audits.search import SEARCH
from disclique.audits.sensitivity import ORACLE, find_variants, list_units
from disclique.audits.summarise import judge_setting
from disclique.audits.unit import UnitRunner, count_groups
from disclique.audits.verdict import Figures, Judgement, Limits
from disclique.masks.settings import MaskRange, Setting
from disclique.measures.bounds import upper_end
from disclique.messages import Message, mark
from disclique.runs import Attacked, Estimate, Executor, Journal, Progress, Unit, try_units

BESIDE = ("oracle",)  # steps of a unit besides its attacks
STAGES = {  # what stages are for that are not the attack itself
    People.sort: Message("asking_for_every_person"),
    Rest.sort: Message("carrying_out_spared"),
    Varied.sort: Message("measuring_otherwise"),
}


@dataclass(frozen=True)
class TrialPlan:
    """Which releases are tried before an estimate: of so many ``masks``, of one if the file has ``large_records``."""

    masks: int = 4
    large_records: int = 5000


TRIAL_PLAN = TrialPlan()


def describe_work(audit: Audit) -> list[Message]:
    """Say what will be done."""
    plan, snooper = audit.plan, audit.plan.snooper
    file = {"file": audit.target.name, "records": len(audit.target)}
    lines = [
        {
            "given": Message("work_known_given", file),
            "drawn": Message("work_known_drawn", file, share=snooper.overlap),
            "whole": Message("work_known_whole", file),
        }[snooper.mode]
    ]
    lines += [] if audit.thinned is None else [audit.thinned]
    lines += [Message("work_splits", records=audit.released_size)] if audit.splits else []
    lines += [Message("work_insider", count=snooper.seeds)] if snooper.seeds else []
    lines += [_describe_mask(plan, mask) for mask in plan.mask_ranges]
    if plan.generalise:
        ways = [recoding.message for recoding in plan.label_settings]
        lines.append(Message("work_labels", ways=ways, number=len(ways)))
    attacks = plan.attack_names
    return [*lines, Message("work_attacks", attacks=attacks, repetitions=plan.repetitions, seed=plan.seed)]


def _describe_mask(plan: Plan, mask: MaskRange) -> Message:
    if plan.searched(mask):
        return Message("work_mask_searched", mask=mask.spec, settings=len(mask.settings), limit=plan.max_risk)
    if mask.turns:
        return Message("work_mask_settings", mask=mask.spec, settings=len(mask.settings))
    return Message("work_mask", mask=mask.spec)


def estimate_audit(
    audit: Audit,
    executor: Executor,
    *,
    journal: Journal[ReleaseRecord] | None = None,
    progress: Progress | None = None,
) -> Estimate[ReleaseRecord]:
    """Attack a few releases, as the audit needs them anyway, and rehearse the audit by what they show.

    Of a range the ends are tried and the middle, since strong noise costs more than weak noise. What they find tells
    how the search will go, and what they take how long; those that the journal has already are not tried again.
    """
    book = Journal[ReleaseRecord]() if journal is None else journal
    run = UnitRunner(audit.lean())
    trials = list_trials(audit)
    try_units(run, trials, book, executor=executor, progress=progress)
    rehearsal = Rehearsal(audit, book, executor)
    costs = Costs(audit, book)
    more = [*rehearsal.guess_people(), *rehearsal.guess_varied()]
    expected = {unit: costs.of(unit) for unit in dict.fromkeys([*rehearsal.units, *more])}
    return Estimate(expected, {unit: book.done[unit] for unit in trials})


def list_trials(audit: Audit, how: TrialPlan = TRIAL_PLAN) -> list[Unit]:
    """Return the releases to be tried, of large files fewer: without the control, so that they take seconds."""
    plan = audit.plan
    small = len(audit.target) < how.large_records
    ranges = plan.ranges[:: max(1, len(plan.ranges) // how.masks)][: how.masks if small else 1]
    tried = [mask.settings[place] for mask in ranges for place in _places(mask)]
    plain = min(audit.tuning.sampled_repetitions, plan.repetitions - 1)
    first = Unit(tried[0], min(plain + 1, plan.repetitions - 1))  # compiles, and its time is not counted
    trials = [Unit(setting, plain) for setting in tried]
    return list(dict.fromkeys([first, *trials] if small else trials))


def _places(mask: MaskRange) -> list[int]:
    """Return the places of the settings that are tried, among those at which a search looks first."""
    last, apart = len(mask.settings) - 1, SEARCH.apart
    return sorted({0, last // 2 // apart * apart if last >= 2 * apart else last // 2, last})


class Costs:
    """How long units take, by those that were measured."""

    def __init__(self, audit: Audit, journal: Journal[ReleaseRecord]) -> None:
        self.audit, self.plan, self.journal = audit, audit.plan, journal
        self.measured = {unit: s for unit, s in journal.seconds.items() if unit.stage == Attacked()}
        self.sampled = sampled = audit.tuning.sampled_repetitions
        pairs = [
            (s, self.measured[other])
            for unit, s in self.measured.items()
            if unit.repetition < sampled and (other := Unit(unit.setting, sampled)) in self.measured
        ]
        # with the control and a second release about twice the attack itself
        self.ratio = sum(s for s, _ in pairs) / sum(s for _, s in pairs) if pairs else 2.0

    def of(self, unit: Unit) -> float:
        """Return the seconds that a unit may take."""
        if unit in self.journal.seconds:
            return self.journal.seconds[unit]
        if unit.stage.beside:
            asked = interpolate(self.plan, unit.setting, self._oracle())
            if isinstance(unit.stage, People):
                return asked * DRAWS * count_groups(self.audit)
            return asked or interpolate(self.plan, unit.setting, self._plain())
        if unit.effort:
            return self._search(unit.setting) * float(RAISE**unit.effort)
        plain = interpolate(self.plan, unit.setting, self._plain())
        return plain * (self.ratio if unit.repetition < self.sampled else 1.0)

    def _plain(self) -> dict[Setting, float]:
        """Return the seconds of a release without the control, by setting."""
        found: dict[Setting, list[float]] = {}
        for unit, seconds in self.measured.items():
            found.setdefault(unit.setting, []).append(seconds / (self.ratio if unit.repetition < self.sampled else 1.0))
        return {setting: mean(seconds) for setting, seconds in found.items()}

    def _oracle(self) -> dict[Setting, float]:
        """Return the seconds in which the oracle answers, by setting."""
        return {
            unit.setting: record.oracle.seconds
            for unit, record in self.journal.done.items()
            if not unit.stage.beside and record.oracle is not None
        }

    def _search(self, setting: Setting) -> float:
        """Return the seconds of the searches that are repeated when a budget is raised."""
        taken = {
            unit.setting: sum(one.seconds for one in record.attempts if parse_attack(one.attack).kind.by_agreement)
            for unit, record in self.journal.done.items()
            if unit.stage == Attacked()
        }
        return interpolate(self.plan, setting, taken)


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def interpolate(plan: Plan, setting: Setting, known: Mapping[Setting, float]) -> float:
    """Return a value of a setting by its neighbours in the same range; of a range that was not tried by all others."""
    if setting in known or not known:
        return known.get(setting, 0.0)
    settings = next(mask.settings for mask in plan.ranges if setting in mask.settings)
    places = [place for place, one in enumerate(settings) if one in known]
    if not places:
        return mean(list(known.values()))
    return float(np.interp(settings.index(setting), places, [known[settings[place]] for place in places]))


class Rehearsal(Work):
    """An audit gone through without an attack: every setting has the risk that trials let one expect.

    It asks for the units for which the audit itself asks, since it is the same search that asks.
    """

    def __init__(self, audit: Audit, journal: Journal[ReleaseRecord], executor: Executor) -> None:
        super().__init__(audit, journal, executor, None)
        self.units: list[Unit] = []
        tried: dict[Setting, dict[int, ReleaseRecord]] = {}
        for unit, record in journal.done.items():
            if unit.stage == Attacked():
                tried.setdefault(unit.setting, {})[unit.repetition] = record
        self.tried = tried
        judged = {setting: judge_setting(audit, records, {}) for setting, records in tried.items()}
        self.risk = {setting: one.figures.risk for setting, one in judged.items() if one is not None}
        self.decisions = self.carry_out()

    def _judge(self, setting: Setting) -> Judgement | None:
        """Return what the trials let one expect of a setting that was asked for."""
        granted, limit = self.granted.get(setting), self.plan.max_risk
        if granted is None or limit is None:
            return None
        value = interpolate(self.plan, setting, {name: risk.value for name, risk in self.risk.items()})
        most = max(value, interpolate(self.plan, setting, {name: risk.most for name, risk in self.risk.items()}))
        by_oracle = any(one.by_oracle for one in self.risk.values())
        risk = SettingRisk(
            attack=None,
            value=value,
            interval=(value, most if by_oracle else _upper_end(most, granted.repetitions)),
            repetitions=granted.repetitions,
            lower_bound=most > value,
            cut=("",) if self._is_cut(setting) else (),
            most=most,
            measured_high=_upper_end(value, granted.repetitions),
            by_oracle=by_oracle,
        )
        return Judgement(Figures(risk, self.plan.repetitions, granted.effort), Limits(limit))

    def _is_cut(self, setting: Setting) -> bool:
        cut = {name: float(bool(risk.cut)) for name, risk in self.risk.items()}
        return interpolate(self.plan, setting, cut) >= 0.5

    def _cut(self, setting: Setting, effort: int) -> list[int]:
        return list(range(self.granted[setting].repetitions)) if self._is_cut(setting) else []

    def _has_oracle(self, setting: Setting) -> bool:
        found = [record.oracle for records in self.tried.values() for record in records.values()]
        return bool(found) and all(one is not None and one.applies for one in found)

    def _run_units(self, units: Sequence[Unit]) -> None:
        self.units += units

    def guess_people(self) -> list[Unit]:
        """Return the units that ask the oracle for everybody at the setting on which the verdict will stand."""
        before = len(self.units)
        self.ask_for_everybody([self._guess_setting()])
        return [unit for unit in self.units[:before] if unit.stage.beside] + self.units[before:]

    def guess_varied(self) -> list[Unit]:
        """Return the units that measure the same setting under other assumptions."""
        if not self.plan.sensitivity:
            return []
        setting = self._guess_setting()
        by = ORACLE if self._has_oracle(setting) else self.plan.attack_names[0]
        return list_units(setting, find_variants(self.audit, by))

    def _guess_setting(self) -> Setting:
        """Return the setting on which the verdict will stand."""
        chosen = [self.find(one.setting) for one in self.decisions if one.setting is not None]
        tried = [judged for setting in self.granted if (judged := self._judge(setting)) is not None]
        weakest = (
            min(zip(tried, self.granted, strict=True), key=lambda pair: pair[0].figures.risk.most)[1] if tried else None
        )
        return (chosen or [weakest or next(iter(self.granted))])[0]


def _upper_end(value: float, repetitions: int) -> float:
    """Return the upper end of a mean over releases that are alike."""
    return upper_end(np.full(repetitions, min(value, 1.0)))


class RiskSoFar:
    """The risk of each setting by the releases that came in so far: the mean of the worst attack, or of guessing."""

    def __init__(self, plan: Plan) -> None:
        self.scenario = plan.scenario
        self.found: dict[Setting, dict[int, ReleaseRecord]] = {}
        self.later: dict[Setting, dict[tuple[int, int], ReleaseRecord]] = {}  # with more effort

    def __call__(self, unit: Unit, record: ReleaseRecord) -> Message | None:
        """Take note of a record, and say the risk of its setting so far; None of units on the side."""
        if unit.stage.beside:
            return None
        if unit.effort:
            self.later.setdefault(unit.setting, {})[unit.repetition, unit.effort] = record
        else:
            self.found.setdefault(unit.setting, {})[unit.repetition] = record
        value, cut = self.measure(unit.setting)
        if value is None:
            return Message("nothing_carried_out_so_far")
        return Message(mark("risk_so_far_at_least") if cut else mark("risk_so_far"), share=value)

    def measure(self, setting: Setting) -> tuple[float | None, bool]:
        """Return the risk of a setting so far, None where no attack could be carried out; and whether any was cut."""
        records = dict(self.found.get(setting, {}))
        for (repetition, _), later in sorted(self.later.get(setting, {}).items(), key=lambda one: one[0]):
            if repetition in records:
                records[repetition] = records[repetition].with_more_effort(later)
        shares: dict[str, list[float]] = {}
        for record in records.values():
            for one in record.attempts:
                if one.why is None:
                    there = fill_spared(record, one, self.scenario)
                    share = there.hits.share(self.scenario, len(record.common), record.released)
                    shares.setdefault(one.attack, []).append(share)
        if not any(one.applies for record in records.values() for one in record.attempts):
            return None, False
        shares["guess"] = [r.guess.share(self.scenario, len(r.common), r.released) for r in records.values()]
        cut = any(one.applies and one.cut is not None for record in records.values() for one in record.attempts)
        return max(float(np.clip(of, 0.0, 1.0).mean()) for of in shares.values()), cut
