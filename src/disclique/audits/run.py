"""An audit carried out: what is missing is run, every unit is journalled, and the result follows from the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from disclique.audits.case import Case, lean
from disclique.audits.cells import run_unit
from disclique.audits.decision import Decision, Search, Wanted, search
from disclique.audits.families import Family
from disclique.audits.measure import Records, Risk, risk_of
from disclique.audits.plan import Plan
from disclique.audits.result import Findings, records_table, result_of
from disclique.data.write import write_json, write_table
from disclique.model import Json
from disclique.runs.execute import Executor, Serial
from disclique.runs.journal import Journal, journal
from disclique.studies.grid import Unit

RESULT, RECORDS = "result.json", "records.csv"
Progress = Callable[[int, int, str], None]  # units done, units wanted so far, what has just been done


def audit(
    case: Case,
    folder: Path,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    with_records: bool = False,
    tried: Mapping[Unit, list[Json]] | None = None,
) -> Json:
    """The result of the audit, also written to ``folder`` as result.json with records.csv beside it.

    Killed at any moment and called again it goes on where it stopped; the figures do not depend on that, nor on the
    executor. ``tried`` are units that were run already, on trial.
    """
    begun = time.perf_counter()
    with journal(folder, case.plan) as book:
        for unit, records in (tried or {}).items():
            if unit not in book.done:
                book.append(unit, records)
        work = _Work(case, book, executor or Serial(), progress or (lambda done, wanted, what: None))
        decisions = work.carried_out()
        found = Findings(work.records, tuple(decisions), time.perf_counter() - begun, book.notes)
        result = result_of(case, found, with_records=with_records)
        write_table(records_table(case, found), folder / RECORDS)
        write_json(result, folder / RESULT)
    return result


class _Work:
    """The journal of an audit under way, and the way to have more units run."""

    def __init__(self, case: Case, book: Journal, executor: Executor, progress: Progress) -> None:
        self.case, self.book, self.executor, self.progress = case, book, executor, progress
        self.granted: dict[str, int] = {}  # repetitions asked for: a resumed search sees no more than the first one did

    @property
    def plan(self) -> Plan:
        return self.case.plan

    @property
    def records(self) -> dict[str, Records]:
        """What is known of each setting, in the order of the plan."""
        found: dict[str, dict[int, list[Json]]] = {s: {} for family in self.plan.families for s in family.settings}
        for unit, records in sorted(self.book.done.items(), key=lambda item: item[0].repetition):
            if unit.repetition < self.granted.get(unit.mask, 0):
                found[unit.mask][unit.repetition] = records
        return {spec: records for spec, records in found.items() if records}

    def carried_out(self) -> list[Decision]:
        """All fixed settings tried, and all ranges searched side by side, so that their work shares the cores."""
        families = self.plan.families
        fixed = [(spec, self.plan.repetitions) for f in families if not self.plan.searched(f) for spec in f.settings]
        searches = {family: self._search(family) for family in families if self.plan.searched(family)}
        decided: dict[Family, Decision] = {}
        wishes: Wanted = fixed
        while True:
            for family, under_way in searches.items():
                if family not in decided:
                    try:
                        wishes = wishes + next(under_way)
                    except StopIteration as end:
                        decided[family] = end.value
            if not wishes:
                return [decided[family] for family in searches]
            self._run(wishes)
            wishes = []

    def _search(self, family: Family) -> Search:
        assert self.plan.max_risk is not None
        return search(family, self.plan.max_risk, self.plan.repetitions, self._look)

    def _look(self, spec: str) -> Risk | None:
        found = self.records.get(spec)
        return None if found is None else risk_of(found, self.plan.names)

    def _run(self, wishes: Wanted) -> None:
        """Nothing; runs the units that are wished for and not yet in the journal."""
        for spec, often in wishes:
            self.granted[spec] = max(often, self.granted.get(spec, 0))
        units = [Unit(spec, r) for r in range(self.plan.repetitions) for spec, often in wishes if r < often]
        missing = [unit for unit in dict.fromkeys(units) if unit not in self.book.done]
        wanted = len(self.book.done) + len(missing)
        self.progress(len(self.book.done), wanted, "")
        for unit, records in self.executor.map(partial(_finished, lean(self.case)), missing):
            self.book.append(unit, records)
            self.progress(len(self.book.done), wanted, str(unit))


def _finished(case: Case, unit: Unit) -> tuple[Unit, list[Json]]:
    return unit, run_unit(case, unit)
