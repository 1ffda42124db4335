"""What is said of an audit while it runs: the risk of a setting so far, and what units on the side are for."""

from __future__ import annotations

import numpy as np

from disclique.audits.definition import People, Rest, Varied
from disclique.audits.plan import Plan
from disclique.audits.records import ReleaseRecord, fill_spared
from disclique.masks.settings import Setting
from disclique.messages import percent
from disclique.runs import Unit

BESIDE = ("oracle",)  # steps of a unit besides its attacks


STAGES = {  # what stages are for that are not the attack itself
    People.sort: "asking for every person",
    Rest.sort: "carrying out attacks that were spared",
    Varied.sort: "measuring under other assumptions",
}


class RiskSoFar:
    """The risk of each setting by the releases that came in so far: the mean of the worst attack, or of guessing."""

    def __init__(self, plan: Plan) -> None:
        self.scenario = plan.scenario
        self.found: dict[Setting, dict[int, ReleaseRecord]] = {}
        self.later: dict[Setting, dict[tuple[int, int], ReleaseRecord]] = {}  # with more effort

    def __call__(self, unit: Unit, record: ReleaseRecord) -> str | None:
        """Take note of a record, and say the risk of its setting so far; None of units on the side."""
        if unit.stage.beside:
            return None
        if unit.effort:
            self.later.setdefault(unit.setting, {})[unit.repetition, unit.effort] = record
        else:
            self.found.setdefault(unit.setting, {})[unit.repetition] = record
        value, cut = self.measure(unit.setting)
        if value is None:
            return "no attack could be carried out so far"
        return f"risk so far {'at least ' if cut else ''}{percent(value)}"

    def measure(self, setting: Setting) -> tuple[float | None, bool]:
        """Return the risk of a setting so far, None where no attack could be carried out; and whether any was cut."""
        records = dict(self.found.get(setting, {}))
        for (repetition, _), later in sorted(self.later.get(setting, {}).items(), key=lambda one: one[0]):
            if repetition in records:
                records[repetition] = records[repetition].with_more_effort(later)
        shares: dict[str, list[float]] = {}
        for record in records.values():
            for one in record.attempts:
                if one.applies or one.spared:
                    there = fill_spared(record, one, self.scenario)
                    share = there.hits.share(self.scenario, len(record.common), record.released)
                    shares.setdefault(one.attack, []).append(share)
        if not any(one.applies for record in records.values() for one in record.attempts):
            return None, False
        shares["guess"] = [r.guess.share(self.scenario, len(r.common), r.released) for r in records.values()]
        cut = any(one.applies and one.cut for record in records.values() for one in record.attempts)
        return max(float(np.clip(of, 0.0, 1.0).mean()) for of in shares.values()), cut
