"""What an audit will do and about how long it will take, said before it begins."""

from __future__ import annotations

from disclique.audits.decision import COARSE
from disclique.audits.definition import Audit
from disclique.audits.plan import Plan
from disclique.audits.records import ReleaseRecord
from disclique.audits.rehearsal import Costs, Rehearsal
from disclique.audits.sentences import NOBODY
from disclique.audits.unit import SAMPLED, UnitRunner
from disclique.masks.settings import MaskRange
from disclique.runs import Estimate, Executor, Journal, Progress, Unit, try_units

TRIALS = 4  # masks of which releases are tried before an estimate
MANY = 5000  # records from which that takes long, so that only one mask is tried


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
        *([audit.thinned] if audit.thinned else []),
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
    said = [recoding.said for recoding in plan.label_settings]
    return [f"each with {len(said)} settings of the labels: {'; '.join(said)}"] if plan.generalise else []


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


def list_trials(audit: Audit) -> list[Unit]:
    """Return the releases to be tried, of large files fewer: without the control, so that they take seconds."""
    plan = audit.plan
    ranges = plan.ranges[:: max(1, len(plan.ranges) // TRIALS)][: TRIALS if len(audit.target) < MANY else 1]
    tried = [mask.settings[place] for mask in ranges for place in _places(mask)]
    plain = min(SAMPLED, plan.repetitions - 1)
    first = Unit(tried[0], min(plain + 1, plan.repetitions - 1))  # compiles, and its time is not counted
    return list(
        dict.fromkeys([*([first] if len(audit.target) < MANY else []), *(Unit(setting, plain) for setting in tried)])
    )


def _places(mask: MaskRange) -> list[int]:
    """Return the places of the settings that are tried, among those at which a search looks first."""
    last = len(mask.settings) - 1
    return sorted({0, last // 2 // COARSE * COARSE if last >= 2 * COARSE else last // 2, last})
