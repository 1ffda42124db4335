"""An audit gone through before it begins: which units it will need, and how long each may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from disclique.attacks import parse_attack
from disclique.audits.decision import Limits, Look
from disclique.audits.definition import Audit, People
from disclique.audits.plan import DRAWS, RAISE, Plan
from disclique.audits.rates import SettingRisk
from disclique.audits.records import ReleaseRecord
from disclique.audits.run import Work
from disclique.audits.sensitivity import ORACLE, find_variants, list_units
from disclique.audits.summarise import look_at
from disclique.audits.unit import SAMPLED, count_groups
from disclique.masks.settings import Setting
from disclique.measures.bounds import upper_end
from disclique.runs import Attacked, Executor, Journal, Unit


class Costs:
    """How long units take, by those that were measured."""

    def __init__(self, audit: Audit, journal: Journal[ReleaseRecord]) -> None:
        self.audit, self.plan, self.journal = audit, audit.plan, journal
        self.measured = {unit: s for unit, s in journal.seconds.items() if unit.stage == Attacked()}
        pairs = [
            (s, self.measured[other])
            for unit, s in self.measured.items()
            if unit.repetition < SAMPLED and (other := Unit(unit.setting, SAMPLED)) in self.measured
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
        return plain * (self.ratio if unit.repetition < SAMPLED else 1.0)

    def _plain(self) -> dict[Setting, float]:
        """Return the seconds of a release without the control, by setting."""
        found: dict[Setting, list[float]] = {}
        for unit, seconds in self.measured.items():
            found.setdefault(unit.setting, []).append(seconds / (self.ratio if unit.repetition < SAMPLED else 1.0))
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
        looks = {
            setting: look for setting, records in tried.items() if (look := look_at(audit, records, {})) is not None
        }
        self.risk = {setting: look.risk for setting, look in looks.items()}
        self.decisions = self.carry_out()

    def _look(self, setting: Setting) -> Look | None:
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
        return Look(risk, granted.effort, Limits(limit), self.plan.repetitions)

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
        tried = [look for setting in self.granted if (look := self._look(setting)) is not None]
        weakest = min(zip(tried, self.granted, strict=True), key=lambda pair: pair[0].risk.most)[1] if tried else None
        return (chosen or [weakest or next(iter(self.granted))])[0]


def _upper_end(value: float, repetitions: int) -> float:
    """Return the upper end of a mean over releases that are alike."""
    return upper_end(np.full(repetitions, min(value, 1.0)))
