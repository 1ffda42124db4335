"""An advice carried out: the search, the best of it audited on fresh releases, and what is said of them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from disclique.advice.audited import Audits
from disclique.advice.explain import (
    describe_file,
    explain_failure,
    list_ways_out,
)
from disclique.advice.facts import FOUND, NONE, Advice, NeededFacts
from disclique.advice.families import Arm, Family, list_arms, list_families
from disclique.advice.purposes import Purpose, Usefulness, measure_chance
from disclique.advice.search import EFFORT, Board, Candidate, Effort, FamilySearch, Seen
from disclique.advice.unit import STAGES, Rows, Searcher
from disclique.audits.definition import UNIT_TUNING, Audit
from disclique.audits.facts import MEETS
from disclique.audits.release_records import Records, ReleaseRecord
from disclique.audits.summarise import Context, judge_setting
from disclique.audits.verdict import Judgement
from disclique.masks.settings import Setting
from disclique.records.write import versions
from disclique.runs import Executor, Progress, Serial, Unit, WrittenUnit, keep_open, open_journal, run_units
from disclique.runs.journal import Journal
from disclique.values import Json, canonical

T = TypeVar("T")
OTHER_LIMITS = (0.05, 0.09, 0.2)  # of which it is said what they would need
SEARCH = "search"


@dataclass(frozen=True, eq=False)
class Question:
    """What an advice is asked: an audit without masks, what for, the masks that may be used, and how labels may be.

    The limit is that of the audit's plan.
    """

    audit: Audit
    purposes: tuple[Purpose, ...]
    masks: tuple[str, ...] = ()
    generalise: tuple[str, ...] = ()
    effort: Effort = EFFORT

    kind: str = "search"

    @property
    def limit(self) -> float:
        """The largest risk that is accepted."""
        limit = self.audit.plan.max_risk
        assert limit is not None
        return limit

    def check(self) -> None:
        """Raise an error before anything is written if a mask or a way to make labels coarser cannot be read."""
        list_families(self.audit, self.purposes, self.masks, self.effort.steps)
        list_arms(self.audit.target, self.generalise)

    @property
    def screening(self) -> Audit:
        """The audit by which releases are screened: nothing beside the oracle is measured, nor the single person."""
        plan = replace(self.audit.plan, max_risk_person=None, sensitivity=False)
        return replace(self.audit, plan=plan, tuning=replace(UNIT_TUNING, sampled_repetitions=0))

    @property
    def digest(self) -> str:
        """A hash that only the same question about the same file has, with the columns that masks look at."""
        families = list_families(self.audit, self.purposes, self.masks, self.effort.steps)
        digest = hashlib.sha256(f"{self.audit.digest}{json.dumps(self.to_dict(), sort_keys=True)}".encode())
        for column in list_read(families):
            table = self.audit.target.table
            digest.update(repr((column, [canonical(value) for value in table.get(column, ())])).encode())
        return digest.hexdigest()

    def to_dict(self) -> Json:
        """Return what is asked in plain types."""
        asked = {"purposes": [str(one) for one in self.purposes], "masks": list(self.masks)}
        return {**self.audit.plan.to_dict(), **asked, "ways": list(self.generalise), "effort": repr(self.effort)}

    def read_unit(self, written: WrittenUnit) -> Unit | None:
        """Return the unit that a journal holds; None if it is no part of a search."""
        stage = next((found for kind in STAGES if (found := kind.parse(written.part)) is not None), None)
        if stage is None:
            return None
        unit = Unit(Setting.parse(written.mask), written.repetition, stage)
        return unit if unit.write() == written else None


def run_advice(
    question: Question,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    about: Context | None = None,
    language: str = "en",
) -> Advice:
    """Carry out an advice; killed at any moment and called again it goes on in its folder."""
    begun = time.perf_counter()
    told = about or Context()
    place = None if folder is None else folder / SEARCH
    question.check()
    with open_journal(place, question, ReleaseRecord) as journal, keep_open(executor or Serial()) as running:
        work = Work(question, journal, running, progress)
        chosen = work.choose()
        needed = work.foresee_limits()
        audits = Audits(work, folder, told, language)
        releases = audits.hold(chosen)
        nearest = None if any(one.status == MEETS for one in releases) else audits.find_nearest(releases)
    there = bool(releases) and any(one.status == MEETS for one in releases)
    audit = question.audit
    return Advice(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        status=FOUND if there else NONE,
        limit=question.limit,
        scenario=audit.plan.scenario,
        file=Path(audit.target.name).name,
        records=len(audit.target),
        purposes=tuple(map(str, question.purposes)),
        releases=tuple(releases),
        nearest=nearest,
        why=() if there else tuple(explain_failure(audit, nearest)),
        ways_out=() if there else list_ways_out(),
        needed=needed,
        screened=len({unit.setting for unit in journal.done}),
        families=len(work.families),
        notes=journal.notes,
        snooper=tuple(describe_file(audit)),
        versions=versions(),
        seconds=round(time.perf_counter() - begun, 1),
        command=told.command,
        inspection=told.inspection,
    )


class Work:
    """The search under way: answers so far, and the way to have more units run."""

    def __init__(
        self, question: Question, journal: Journal[ReleaseRecord], executor: Executor, progress: Progress | None
    ) -> None:
        self.question, self.journal, self.executor, self.progress = question, journal, executor, progress
        audit = question.screening
        self.audit, self.effort = audit, question.effort
        chance = measure_chance(audit.target, question.purposes, audit.chance.rng("chance"))
        self.use = Usefulness(audit.target, question.purposes, chance)
        self.families = list_families(audit, question.purposes, question.masks, question.effort.steps)
        self.arms = list_arms(audit.target, question.generalise)
        self.runner = Searcher(audit, self.use.measures, list_read(self.families))
        self.board = Board(journal.done, self.use, self._judge, question.effort)
        self.found: dict[Family, list[Seen]] = {}

    def _judge(self, records: Records) -> Judgement | None:
        return judge_setting(self.audit, records, {})

    def run(self, units: Sequence[Unit]) -> None:
        """Have units run that were not run yet."""
        run_units(self.runner, units, self.journal, executor=self.executor, progress=self.progress)

    def search(
        self, limit: float, families: Sequence[Family], effort: Effort | None = None
    ) -> dict[Family, list[Seen]]:
        """Search some families side by side, so that they share the cores; return what keeps a limit in each."""
        board = self.board if effort is None else Board(self.journal.done, self.use, self._judge, effort)
        under_way = {family: FamilySearch(board, family, self.arms, limit).run() for family in families}
        found: dict[Family, list[Seen]] = {}
        while len(found) < len(under_way):
            wanted: list[Unit] = []
            for family, one in under_way.items():
                if family not in found:
                    try:
                        wanted += next(one)
                    except StopIteration as end:
                        found[family] = end.value
            self.run(wanted)
        return found

    def choose(self) -> list[Seen]:
        """Search all families; return the releases that are worth an audit: the best of each family, best first."""
        self.found = self.search(self.question.limit, self.families)
        chosen: list[Seen] = []
        ranked = sort_by_use([seen[0] for seen in self.found.values() if seen], self.effort)
        for family in (one.candidate.family for one in ranked):
            if len(chosen) < self.effort.audited and (sure := self.confirm_family(family)) is not None:
                chosen.append(self.trim(sure))
        return sort_by_use(_drop_same(chosen), self.effort)

    def confirm_family(self, family: Family) -> Seen | None:
        """Return the most useful release of a family that keeps the limit by its upper end, in further draws.

        The most useful one is asked about first; where it does not, the next ones are the same without more people and
        the next stronger setting.
        """
        waiting = [one.candidate for one in self.found[family] if one.useful]
        done: set[tuple[str, Rows]] = set()
        for _ in range(self.effort.confirmed):
            waiting = [one for one in waiting if one.key not in done]
            if not waiting:
                return None
            first = max(waiting, key=self.board.usefulness)
            done.add(first.key)
            seen = self.confirm(first)
            if seen is not None:
                return seen
            waiting += self._list_stronger(first)
        return None

    def _list_stronger(self, one: Candidate) -> list[Candidate]:
        """Return what may keep a limit that a candidate does not: a stronger setting, or more people left out."""
        found = []
        if one.place < len(one.family.masks) - 1:
            found.append(replace(one, place=one.place + 1))
            self.run(self.board.ask_use(found[0]))
        sparing = FamilySearch(self.board, one.family, self.arms, self.question.limit).spare_more(one)
        fewer = self.finish(sparing) if self.effort.left_out else None
        return [*found, *([] if fewer is None else [fewer])]

    def finish(self, asking: Generator[list[Unit], None, T]) -> T:
        """Have run whatever a search asks for, and return its answer."""
        while True:
            try:
                self.run(next(asking))
            except StopIteration as end:
                answer: T = end.value
                return answer

    def confirm(self, one: Candidate) -> Seen | None:
        """Ask again with more draws; return the candidate if it keeps the limit by its upper end and is of use.

        What is above the limit in the first draws is not asked about again.
        """
        self.run([*self.board.ask(one), *self.board.ask_use(one)])
        first = self.board.see(one)
        if first is None or not (first.judged.measured_keeps and first.useful):
            return None
        self.run(self.board.ask(one, more=True))
        seen = self.board.see(one, more=True)
        return seen if seen is not None and seen.judged.keeps and seen.useful else None

    def trim(self, seen: Seen) -> Seen:
        """Take back every step that is not needed: what is left then is what the limit needs."""
        while True:
            fewer = [one for less in self._list_less(seen.candidate) if (one := self.confirm(less))]
            better = [one for one in fewer if one.usefulness >= seen.usefulness - self.effort.even]
            if not better:
                return seen
            seen = max(better, key=lambda one: (one.usefulness, -one.candidate.arm.height))

    def _list_less(self, one: Candidate) -> Iterator[Candidate]:
        """Yield the candidates that do without one step: a label or number as it is, everybody, no mask."""
        by_rank = {arm.rank: arm for arm in self.arms}
        for k, step in enumerate(one.arm.rank):
            lower = by_rank.get((*one.arm.rank[:k], 0, *one.arm.rank[k + 1 :])) if step else None
            if lower is not None:
                yield replace(one, arm=lower)
        if one.left_out:
            yield replace(one, left_out=())
        if not one.family.masks[one.place].rigid and (plain := self.as_it_is(one.arm)) is not None:
            yield replace(plain, left_out=one.left_out)

    def as_it_is(self, arm: Arm | None = None) -> Candidate | None:
        """Return the file without a mask; None where something must be done to it, such as to texts."""
        family = next((one for one in self.families if one.masks[0].name == "none"), None)
        if family is None:
            family = next(iter(list_families(self.audit, self.question.purposes, ("none",))), None)
        return None if family is None else Candidate(family, 0, arm or min(self.arms, key=lambda one: one.height))

    def foresee_limits(self) -> tuple[NeededFacts, ...]:
        """Say what other limits would need, by the search alone: among the families that do best, everybody in."""
        best = sort_by_use([seen[0] for seen in self.found.values() if seen], self.effort)
        families = [one.candidate.family for one in best[:3]] or list(self.families)
        fewer = replace(self.effort, left_out=())
        needed = []
        for limit in (one for one in OTHER_LIMITS if abs(one - self.question.limit) > 1e-9):
            there = self.search(limit, families, fewer)
            useful = sort_by_use([one for seen in there.values() for one in seen if one.useful], self.effort)
            first = useful[0] if useful else None
            needed.append(
                NeededFacts(
                    limit,
                    None if first is None else str(first.candidate.setting),
                    "" if first is None else first.candidate.setting.brief,
                    None if first is None else first.usefulness,
                    None if first is None else first.risk.value,
                )
            )
        return tuple(needed)


def list_read(families: Sequence[Family]) -> tuple[str, ...]:
    """Return the columns of a file that masks look at."""
    return tuple(dict.fromkeys(column for family in families for mask in family.masks for column in mask.reads))


def sort_by_use(seen: Sequence[Seen], effort: Effort) -> list[Seen]:
    """Sort releases by usefulness; of those that are as good as equal the one that does least comes first."""
    rest, found = sorted(seen, key=lambda one: -one.usefulness), []
    while rest:
        even = [one for one in rest if one.usefulness >= rest[0].usefulness - effort.even]
        first = min(even, key=lambda one: (len(one.candidate.left_out), one.candidate.arm.height, -one.usefulness))
        found.append(first)
        rest.remove(first)
    return found


def _drop_same(seen: Sequence[Seen]) -> list[Seen]:
    return list({one.candidate.key: one for one in reversed(seen)}.values())[::-1]
