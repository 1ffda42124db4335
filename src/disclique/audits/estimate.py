"""What an audit will do and about how long it will take, said before it begins; and its risk so far, while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from disclique.attacks import parse_attacks
from disclique.audits.definition import Attacked, Audit, People, Varied
from disclique.audits.plan import DRAWS, Plan
from disclique.audits.rates import ORACLE
from disclique.audits.release_records import ReleaseRecord
from disclique.audits.search import SEARCH
from disclique.audits.sensitivity import find_variants, list_units
from disclique.audits.unit import UnitRunner, count_groups
from disclique.masks.settings import MaskRange, Setting
from disclique.messages import Message
from disclique.records.tables import select_records
from disclique.runs import Estimate, Unit

BESIDE = (ORACLE,)  # steps of a unit besides its attacks
STAGES = {  # what stages are for that are not the question to the oracle
    Attacked.sort: Message("attacks_demonstrate"),
    People.sort: Message("asking_for_every_person"),
    Varied.sort: Message("measuring_otherwise"),
}


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


@dataclass(frozen=True)
class Costs:
    """Processor seconds of the stages of an audit, as ``benchmarks/costs.py`` measures them.

    A question to the oracle is timed on a few records of the file itself: ``asked_on_map`` at the most, or
    ``asked_elsewhere``, and grows from there like the records to the power ``on_map`` or ``elsewhere``. ``begin``: of a
    unit besides. ``useful``: of measuring usefulness and of one release more, in questions. ``attack_on_map``: of the
    attacks on a release of a map and of its control, at the least and for each record; ``attack_elsewhere``: of 1,000
    records that lie on none, where it grows to the power ``attacks_grow``; ``insiders``: in attacks, where they are
    asked for.
    """

    asked_on_map: int = 3000
    asked_elsewhere: int = 300
    on_map: float = 1.4
    elsewhere: float = 2.6
    begin: float = 0.005
    useful: float = 2.0
    attack_on_map: tuple[float, float] = (1.5, 1e-3)
    attack_elsewhere: float = 60.0
    attacks_grow: float = 1.6
    insiders: float = 3.0


COSTS = Costs()


def estimate_audit(audit: Audit, costs: Costs = COSTS) -> Estimate[ReleaseRecord]:
    """Return the units that an audit will need and what each may take; one question is asked to find out."""
    plan = audit.plan
    measured = [setting for mask in plan.ranges for setting in _expect_measured(plan, mask)]
    fixed = [setting for mask in plan.ranges if not plan.searched(mask) for setting in mask.settings]
    chosen = measured[len(measured) // 2]
    weaker = measured[max(len(measured) // 2 - 1, 0)]
    shown = measured if plan.thorough else list(dict.fromkeys([chosen, weaker, *fixed]))
    often = plan.repetitions if plan.thorough else audit.demonstrations
    units = [Unit(setting, k) for setting in measured for k in range(plan.repetitions)]
    units += [Unit(chosen, k, People()) for k in range(plan.people_units)]
    units += [Unit(setting, k, Attacked()) for setting in shown for k in range(often)]
    units += list_units(chosen, find_variants(audit, ORACLE))
    of_mask = {one.mask.name: one for one in measured[::-1]}
    questions = {name: _time_question(audit, setting, costs) for name, setting in of_mask.items()}
    return Estimate({unit: _cost(audit, unit, questions[unit.setting.mask.name], costs) for unit in units}, {})


def _time_question(audit: Audit, setting: Setting, costs: Costs) -> float:
    """Return the seconds of a question about a release of a setting, by one about some of its records."""
    size, most = len(audit.target), costs.asked_on_map if audit.is_quick else costs.asked_elsewhere
    few = audit
    if size > most and audit.known is None:
        rows = np.sort(audit.chance.rng("estimate").choice(size, most, replace=False))
        snooper = audit.plan.snooper
        less = None if snooper.size is None else max(round(snooper.size * most / size), 1)
        plan = replace(audit.plan, snooper=replace(snooper, size=less, seeds=min(snooper.seeds, most // 4)))
        few = replace(audit, plan=plan, target=select_records(audit.target, rows))
    run, last = UnitRunner(few.lean()), audit.plan.repetitions + 1
    spent = []
    for k in (last, last + 1):  # the first one learns the law, and may compile
        begun = time.process_time()
        run(Unit(setting, k))
        spent.append(time.process_time() - begun)
    return spent[-1] * float((size / len(few.target)) ** (costs.on_map if audit.is_quick else costs.elsewhere))


def _expect_measured(plan: Plan, mask: MaskRange) -> list[Setting]:
    """Return the settings of a range that are measured: all, or about as many as a search looks at."""
    if not plan.searched(mask):
        return list(mask.settings)
    last = len(mask.settings) - 1
    return [mask.settings[i] for i in sorted({*range(0, last, SEARCH.apart), *range(1, min(SEARCH.parts, last)), last})]


def _cost(audit: Audit, unit: Unit, question: float, costs: Costs) -> float:
    if isinstance(unit.stage, People):
        return costs.begin + question * DRAWS * count_groups(audit)
    if isinstance(unit.stage, Attacked):
        return costs.begin + question + _cost_attacks(audit, unit, costs)
    sampled = unit.repetition < audit.tuning.sampled_repetitions and not isinstance(unit.stage, Varied)
    return costs.begin + question * (1 + costs.useful * sampled)


def _cost_attacks(audit: Audit, unit: Unit, costs: Costs) -> float:
    """Return the seconds of the attacks on a release; those that only look at labels cost nothing."""
    if all(spec.kind.cost == 0 for spec in parse_attacks(audit.plan.attacks)):
        return 0.0
    size, first = len(audit.target), unit.repetition == 0
    if not audit.target.distances.are_published:  # the oracle is the attack
        return 0.0
    if audit.places is not None and audit.places.is_map and not audit.plan.thorough:
        return (costs.attack_on_map[0] + costs.attack_on_map[1] * size) * (2 if first else 1)
    all_of_them = costs.attack_elsewhere * float((size / 1000) ** costs.attacks_grow)
    return all_of_them * (1 + costs.insiders * first)


class RiskSoFar:
    """What each setting gives away by the releases that came in so far: the mean of the oracle, or of guessing."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.scenario = plan, plan.scenario
        self.found: dict[Setting, dict[int, ReleaseRecord]] = {}

    def __call__(self, unit: Unit, record: ReleaseRecord) -> Message | None:
        """Take note of a record, and say the risk of its setting so far; None of units on the side."""
        if unit.stage.beside:
            return None
        self.found.setdefault(unit.setting, {})[unit.repetition] = record
        value = self.measure(unit.setting)
        return Message("no_oracle_so_far") if value is None else Message("risk_so_far", share=value)

    def measure(self, setting: Setting) -> float | None:
        """Return the risk of a setting so far, None where there is no oracle."""
        records = self.found.get(setting, {})
        asked = [one.share(one.oracle.hits, self.scenario) for one in records.values() if _is_asked(one) and one.oracle]
        if not asked or len(asked) < len(records):
            return None
        guesses = [one.share(one.guess, self.scenario) for one in records.values()]
        return float(max(np.mean(asked), np.mean(guesses)))


def _is_asked(record: ReleaseRecord) -> bool:
    return record.oracle is not None and record.oracle.why is None
