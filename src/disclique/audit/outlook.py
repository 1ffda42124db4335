"""What an audit will do and about how long it will take, said before it begins."""

from __future__ import annotations

import time

from disclique.audit.case import Case
from disclique.audit.cells import run_unit
from disclique.audit.decision import COARSE, FEW
from disclique.audit.plan import Plan
from disclique.study.grid import Unit


def outlook(case: Case, cores: int) -> list[str]:
    """Sentences about the work ahead, with an estimate from one release that is attacked on trial."""
    plan = case.plan
    run_unit(case, _first(plan))  # compiles what is not yet compiled
    begun = time.perf_counter()
    run_unit(case, _first(plan))
    seconds = time.perf_counter() - begun
    units = expected_units(plan)
    how = {
        "given": "the known file that is given",
        "drawn": f"{plan.snooper.overlap:.0%} of the people" if plan.snooper.overlap else "",
        "whole": "the whole file (worst case)",
    }[plan.snooper.mode]
    return [
        f"{case.target.name}: {len(case.target)} records; the snooper knows {how}",
        *(_family_words(plan, spec) for spec in plan.masks),
        f"attacks: {', '.join(plan.names)}; {plan.repetitions} repetitions of every setting; seed {plan.seed}",
        f"about {units} releases to attack, {duration(units * seconds / cores)} on {cores} "
        f"process{'es' if cores > 1 else ''} (one took {seconds:.1f} s on trial; dense product graphs take longer)",
    ]


def _first(plan: Plan) -> Unit:
    return Unit(plan.families[0].settings[len(plan.families[0].settings) // 2], 0)


def _family_words(plan: Plan, spec: str) -> str:
    family = next(found for given, found in zip(plan.masks, plan.families, strict=True) if given == spec)
    if plan.searched(family):
        return (
            f"mask {spec}: the smallest of {len(family.settings)} settings with a risk of at most {plan.max_risk:g} is "
            "searched"
        )
    return f"mask {spec}" + (f": {len(family.settings)} settings" if family.range else "")


def expected_units(plan: Plan) -> int:
    """About how many releases will be attacked; of a searched range only some settings are."""
    few = min(FEW, plan.repetitions)
    total = 0
    for family in plan.families:
        if plan.searched(family):
            looks = len(family.settings) // COARSE + 1 + 3
            total += looks * few + 2 * (plan.repetitions - few)
        else:
            total += len(family.settings) * plan.repetitions
    return total


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
