"""What an audit will do and about how long it will take, said before it begins; and its risk so far, while it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from disclique.attacks import parse_attacks
from disclique.audits.definition import Attacked, Audit, People, Varied
from disclique.audits.plan import DRAWS, Plan
from disclique.audits.rates import ORACLE, ReleaseRecord
from disclique.audits.search import SEARCH
from disclique.audits.sensitivity import find_variants, list_units
from disclique.audits.unit import count_groups
from disclique.masks.settings import MaskRange, Setting
from disclique.messages import Message
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
    """Processor seconds of the stages of an audit, as ``benchmarks/costs.py`` fits them.

    ``begin``: of a unit, whatever it does. ``record``: of a question to the oracle for each released or known record,
    ``pair``: for each pair of records whose labels allow them to be one person. ``reference``: for each such pair and
    record that its distances are compared with, where there is no map. ``utility``: of measuring usefulness, for each
    pair of released records, up to a sample. ``attack``: of an attack by the pairs of all records to the power that its
    cost says.
    """

    begin: float = 0.02
    record: float = 2e-6
    pair: float = 1e-8
    reference: float = 1.5e-9
    utility: float = 1e-7
    attacks: tuple[float, ...] = (1e-5, 2e-4, 5e-6, 2e-5)  # by cost: per record, per record, per pair, per pair


COSTS = Costs()


def estimate_audit(audit: Audit, costs: Costs = COSTS) -> Estimate[ReleaseRecord]:
    """Return the units that an audit will need and what each may take, by a model: nothing is tried for it."""
    plan = audit.plan
    measured = [setting for mask in plan.ranges for setting in _expect_measured(plan, mask)]
    fixed = [setting for mask in plan.ranges if not plan.searched(mask) for setting in mask.settings]
    chosen = measured[len(measured) // 2]
    shown = (
        measured if plan.thorough else list(dict.fromkeys([chosen, measured[max(len(measured) // 2 - 1, 0)], *fixed]))
    )
    often = plan.repetitions if plan.thorough else audit.demonstrations
    units = [Unit(setting, k) for setting in measured for k in range(plan.repetitions)]
    units += [Unit(chosen, k, People()) for k in range(plan.people_units)]
    units += [Unit(setting, k, Attacked()) for setting in shown for k in range(often)]
    units += list_units(chosen, find_variants(audit, ORACLE))
    return Estimate({unit: _cost(audit, unit, costs) for unit in units}, {})


def _expect_measured(plan: Plan, mask: MaskRange) -> list[Setting]:
    """Return the settings of a range that are measured: all, or about as many as a search looks at."""
    if not plan.searched(mask):
        return list(mask.settings)
    last = len(mask.settings) - 1
    return [mask.settings[i] for i in sorted({*range(0, last, SEARCH.apart), *range(1, min(SEARCH.parts, last)), last})]


def _cost(audit: Audit, unit: Unit, costs: Costs) -> float:
    released = audit.released_size
    known = len(audit.known) if audit.known is not None else audit.plan.snooper.size or released
    classes = max(len(audit.target.labels.drop_duplicates()), 1)
    pairs = released * known / (1 if audit.plan.snooper.label_error else classes)
    by_map = audit.has_map and unit.setting.mask.on == "coordinates"
    question = costs.record * (released + known) + pairs * (costs.pair if by_map else costs.reference * released)
    if isinstance(unit.stage, People):
        return costs.begin + question * DRAWS * count_groups(audit)
    if isinstance(unit.stage, Attacked):
        kinds = [spec.kind.cost for spec in parse_attacks(audit.plan.attacks)]
        work = [costs.attacks[kind] * (released + known if kind < 2 else released * known) for kind in kinds]
        ran = [one for one, kind in zip(work, kinds, strict=True) if kind < 2 or not by_map]
        return costs.begin + question + sum(ran)
    sampled = unit.repetition < audit.tuning.sampled_repetitions and not isinstance(unit.stage, Varied)
    return costs.begin + question * (2 if sampled else 1) + (costs.utility * min(released, 2000) ** 2 if sampled else 0)


class RiskSoFar:
    """What each setting gives away by the releases that came in so far: the mean of the oracle, or of guessing."""

    def __init__(self, plan: Plan) -> None:
        self.scenario = plan.scenario
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
