"""What an audit will do and about how long it will take, said before it begins."""

from __future__ import annotations

from functools import partial

from disclique.audits.decision import COARSE, FEW
from disclique.audits.definition import Audit
from disclique.audits.plan import Plan
from disclique.audits.ranges import MaskRange
from disclique.audits.records import ReleaseRecord
from disclique.audits.sentences import NOBODY
from disclique.audits.unit import SAMPLED, run_unit
from disclique.data.recoding import parse_recoding
from disclique.runs import Estimate, Executor, Unit, estimate

TRIALS = 4  # masks that are tried before an estimate


def describe_work(audit: Audit) -> list[str]:
    """Say what will be done."""
    plan = audit.plan
    how = {
        "given": "the known file that is given",
        "drawn": f"{plan.snooper.overlap:.0%} of the people" if plan.snooper.overlap else "",
        "whole": "the whole file (worst case)",
    }[plan.snooper.mode]
    return [
        f"{audit.target.name}: {len(audit.target)} records; the snooper knows {how}",
        *_describe_split(audit),
        *(_describe_mask(plan, mask) for mask in plan.mask_ranges),
        *_describe_labels(plan),
        f"attacks: {', '.join(plan.attack_names)}; {plan.repetitions} repetitions of every setting; seed {plan.seed}",
    ]


def _describe_split(audit: Audit) -> list[str]:
    """Say where strangers come from when nobody can be drawn, and what an insider knows."""
    lines = []
    if audit.splits:
        lines.append(
            f"{NOBODY}: each release has {audit.released_size} of the records, and others that are kept out serve as "
            "strangers"
        )
    if audit.plan.snooper.seeds:
        lines.append(f"the snooper is an insider who knows {audit.plan.snooper.seeds} of them beforehand")
    return lines


def _describe_mask(plan: Plan, mask: MaskRange) -> str:
    if plan.searched(mask):
        return (
            f"mask {mask.spec}: the smallest of {len(mask.settings)} settings with a risk of at most "
            f"{plan.max_risk:g} is searched"
        )
    return f"mask {mask.spec}" + (f": {len(mask.settings)} settings" if mask.turns else "")


def _describe_labels(plan: Plan) -> list[str]:
    """Say how labels are recoded, where they are."""
    said = [parse_recoding(labels).said for labels in plan.label_settings]
    return [f"each with {len(said)} settings of the labels: {'; '.join(said)}"] if plan.generalise else []


def estimate_audit(audit: Audit, executor: Executor) -> Estimate[ReleaseRecord]:
    """Attack a release or two of each mask, as the audit needs them anyway, to see how long that takes."""
    plan = audit.plan
    plain, sampled = count_releases(plan)
    middle = [mask.settings[len(mask.settings) // 2] for mask in plan.ranges]
    middle = middle[:: max(1, len(middle) // TRIALS)][:TRIALS]
    trials = [(Unit(middle[0], 0), 0.0)]
    trials += [(Unit(spec, min(1, plan.repetitions - 1)), sampled / len(middle)) for spec in middle]
    if plan.repetitions > SAMPLED:
        trials += [(Unit(spec, SAMPLED), plain / len(middle)) for spec in middle]
    return estimate(partial(run_unit, audit.lean()), trials, executor)


def count_releases(plan: Plan) -> tuple[int, int]:
    """Return about how many releases will be attacked without and with the control beside.

    Of a searched range only some settings are looked at.
    """
    few, releases, sampled = min(FEW, plan.repetitions), 0, 0
    for mask in plan.ranges:
        looks = len(mask.settings)
        some = looks * plan.repetitions
        if plan.searched(mask):
            looks = min(looks, looks // COARSE + 1 + 3)
            some = looks * few + 2 * (plan.repetitions - few)
        releases += some
        sampled += looks * min(SAMPLED, plan.repetitions)
    return releases - sampled, sampled
