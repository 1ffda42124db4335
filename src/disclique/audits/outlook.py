"""What an audit will do and about how long it will take, said before it begins."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from disclique.audits.case import Case, lean
from disclique.audits.cells import SAMPLED, run_unit
from disclique.audits.decision import COARSE, FEW
from disclique.audits.families import Family
from disclique.audits.plan import Plan
from disclique.model import Json
from disclique.runs.execute import Executor
from disclique.studies.grid import Unit

TRIALS = 4  # masks that are tried before an estimate


def outlook(case: Case) -> list[str]:
    """Sentences about the work ahead."""
    plan = case.plan
    how = {
        "given": "the known file that is given",
        "drawn": f"{plan.snooper.overlap:.0%} of the people" if plan.snooper.overlap else "",
        "whole": "the whole file (worst case)",
    }[plan.snooper.mode]
    return [
        f"{case.target.name}: {len(case.target)} records; the snooper knows {how}",
        *(_family_words(plan, family) for family in plan.families),
        f"attacks: {', '.join(plan.names)}; {plan.repetitions} repetitions of every setting; seed {plan.seed}",
    ]


def _family_words(plan: Plan, family: Family) -> str:
    if plan.searched(family):
        return (
            f"mask {family.spec}: the smallest of {len(family.settings)} settings with a risk of at most "
            f"{plan.max_risk:g} is searched"
        )
    return f"mask {family.spec}" + (f": {len(family.settings)} settings" if family.range else "")


@dataclass(frozen=True, eq=False)
class Trial:
    """Releases that were attacked on trial, as the audit needs them anyway, and the estimate that they give."""

    records: Mapping[Unit, list[Json]]
    releases: int
    seconds: float  # of all releases, one after the other

    def words(self, cores: int) -> str:
        """The estimate as a sentence."""
        took = f"by {len(self.records)} of them, attacked on trial" if len(self.records) > 1 else "by one of them"
        many = f"{cores} process{'es' if cores > 1 else ''}"
        return f"about {self.releases} releases to attack, {duration(self.seconds / cores)} on {many} ({took})"


def trial(case: Case, executor: Executor) -> Trial:
    """One release of each mask, attacked to see how long that takes; the first one in this process.

    There it also compiles what is not yet compiled, so that the times of the others tell something.
    """
    plan = case.plan
    middle = [family.settings[len(family.settings) // 2] for family in plan.families]
    first = Unit(middle[0], 0)
    records = {first: run_unit(case, first)}
    second = Unit(middle[0], min(1, plan.repetitions - 1))
    units = [second, *(Unit(spec, 0) for spec in middle[1:TRIALS])]
    costs = []
    for unit, found, seconds in executor.map(partial(_timed, lean(case)), units):
        records[unit] = found
        costs.append((sum(one["seconds"] for one in found[1:]), seconds))
    plain, sampled = (sum(part) / len(costs) for part in zip(*costs, strict=True))
    counts = expected_releases(plan)
    total = sum(n * plain + checked * (sampled - plain) for n, checked in counts)
    return Trial(records, sum(n for n, _ in counts), total)


def _timed(case: Case, unit: Unit) -> tuple[Unit, list[Json], float]:
    begun = time.perf_counter()
    found = run_unit(case, unit)
    return unit, found, time.perf_counter() - begun


def expected_releases(plan: Plan) -> list[tuple[int, int]]:
    """By mask about how many releases will be attacked, and how many of them with the control beside.

    Of a searched range only some settings are looked at.
    """
    few, counts = min(FEW, plan.repetitions), []
    for family in plan.families:
        looks = len(family.settings)
        releases = looks * plan.repetitions
        if plan.searched(family):
            looks = min(looks, looks // COARSE + 1 + 3)
            releases = looks * few + 2 * (plan.repetitions - few)
        counts.append((releases, looks * min(SAMPLED, plan.repetitions)))
    return counts


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"
