"""An advice carried out: the search, the best of it audited on fresh releases, and what is said of them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from disclique.advice.explain import (
    describe_file,
    describe_release,
    explain_failure,
    list_steps_taken,
    list_ways_out,
    say_bought,
)
from disclique.advice.facts import FOUND, NONE, Advice, AdvisedRelease, NeededFacts, StepFacts, UseFacts
from disclique.advice.families import Arm, Family, list_arms, list_families
from disclique.advice.purposes import Purpose, Usefulness, measure_chance
from disclique.advice.search import EFFORT, Board, Candidate, Effort, FamilySearch, Seen
from disclique.advice.unit import STAGES, Rows, Searcher, leave_out
from disclique.audits.definition import UNIT_TUNING, Audit
from disclique.audits.facts import FAILS, MEETS, UNPROVEN, SettingFacts
from disclique.audits.rates import Records, ReleaseRecord
from disclique.audits.result import AuditResult
from disclique.audits.run import run_audit
from disclique.audits.summarise import Context, judge_setting
from disclique.audits.verdict import Judgement
from disclique.masks.settings import Setting
from disclique.messages import Message
from disclique.records.write import versions
from disclique.runs import Executor, Progress, Serial, Unit, WrittenUnit, keep_open, open_journal, run_units
from disclique.runs.journal import Journal
from disclique.values import Json

T = TypeVar("T")
OTHER_LIMITS = (0.05, 0.09, 0.2)  # of which it is said what they would need
SEARCH, AUDITS, LEFT_OUT = "search", "audits", "left_out_{}.csv"


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

    @property
    def screening(self) -> Audit:
        """The audit by which releases are screened: nothing beside the oracle is measured, nor the single person."""
        plan = replace(self.audit.plan, max_risk_person=None, sensitivity=False)
        return replace(self.audit, plan=plan, tuning=replace(UNIT_TUNING, sampled_repetitions=0))

    @property
    def digest(self) -> str:
        """A hash that only the same question about the same file has."""
        return hashlib.sha256(f"{self.audit.digest}{json.dumps(self.to_dict(), sort_keys=True)}".encode()).hexdigest()

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
        self.runner = Searcher(audit, self.use.measures)
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


@dataclass(eq=False)
class Audits:
    """The audits of the best releases, each with everybody that it has, on fresh releases."""

    work: Work
    folder: Path | None
    about: Context
    language: str = "en"
    tried: dict[Rows, list[Setting]] = field(default_factory=dict)
    places: dict[tuple[str, Rows], str] = field(default_factory=dict)

    def hold(self, chosen: Sequence[Seen]) -> list[AdvisedRelease]:
        """Audit the best releases; one that fails on fresh releases gives way to the next stronger one."""
        best = list(chosen[: self.work.effort.audited])
        held: dict[int, AdvisedRelease] = {}
        waiting = dict(enumerate(best))
        while waiting:
            results = self._audit(list(waiting.values()))
            again: dict[int, Seen] = {}
            for number, seen in waiting.items():
                facts = results[seen.candidate.key]
                held[number] = self._describe(seen, facts)
                if held[number].status != MEETS and (next_one := self._strengthen(seen)) is not None:
                    again[number] = next_one
            waiting = again
        kept = [held[number] for number in sorted(held)]
        order = sorted(kept, key=lambda one: (one.status != MEETS, -one.usefulness))
        return [replace(one, command="") if one.status != MEETS else one for one in order]

    def _strengthen(self, seen: Seen, most: int = 3) -> Seen | None:
        """Return the next stronger setting of the dial; None at its end, or where nothing useful is left."""
        one, last = seen.candidate, len(seen.candidate.family.masks) - 1
        tried = sum(other.mask.name == one.family.name for other in self.tried.get(one.left_out, ()))
        if one.place >= last or tried >= most:
            return None
        next_one = replace(one, place=one.place + 1)
        self.work.run([*self.work.board.ask(next_one), *self.work.board.ask_use(next_one)])
        stronger = self.work.board.see(next_one)
        return stronger if stronger is not None and stronger.useful else None

    def _audit(self, seen: Sequence[Seen]) -> dict[tuple[str, Rows], SettingFacts]:
        """Audit releases, those together that leave out the same people."""
        groups: dict[tuple[Rows, bool, bool], list[Setting]] = {}
        for place, one in enumerate(seen):
            how = place == 0, place == 0 or not self._is_exact(one)
            groups.setdefault((one.candidate.left_out, *how), []).append(one.candidate.setting)
        found = {}
        for (rows, first, attacked), settings in groups.items():
            every = [one for one in dict.fromkeys(settings) if one not in self.tried.get(rows, ())]
            self.tried.setdefault(rows, []).extend(every)
            number = sum(len(many) for many in self.tried.values()) - len(every) + 1
            result = self._run(rows, every, number, self._choose_work(first=first, attacked=attacked))
            for setting in every:
                self.places[str(setting), rows] = "" if self.folder is None else f"{AUDITS}/{number}"
                found[str(setting), rows] = result.setting(_find_spec(result, setting))
        return found

    def _is_exact(self, seen: Seen) -> bool:
        """Say whether the oracle knows the exact law of a mask: no attack finds more, so that none has to be shown."""
        oracle = seen.judged.figures.oracle
        law = seen.candidate.setting.mask.place_law(self.work.audit.points)
        return oracle is not None and not oracle.learned and law is not None and law.exact

    def _choose_work(self, *, first: bool, attacked: bool) -> Audit:
        """Return how an audit is carried out: of the best release in full, of others with what could change a verdict.

        That is the oracle and, where an attack may find more than it does, all attacks on one release.
        """
        audit = self.work.question.audit
        if first or audit.plan.thorough:
            return audit
        plan = audit.plan if attacked else replace(audit.plan, attacks=("labels",))
        tuning = replace(audit.tuning, demonstrations=1, control=False)
        asked = plan.person_trials if plan.max_risk_person is not None else self.work.effort.person_trials
        return replace(audit, plan=replace(plan, sensitivity=False, person_trials=asked), tuning=tuning)

    def _run(self, rows: Rows, settings: Sequence[Setting], number: int, audit: Audit) -> AuditResult:
        whole = leave_out(audit, rows)
        plan = replace(whole.plan, masks=tuple(map(str, settings)), generalise=(), seed=whole.plan.seed + 1)
        place = None if self.folder is None else self.folder / AUDITS / str(number)
        result = run_audit(
            replace(whole, plan=plan),
            folder=place,
            executor=self.work.executor,
            progress=self.work.progress,
            about=replace(self.about, command=""),
        )
        if place is not None:
            result.write_papers(place, language=self.language)
        return result

    def _describe(self, seen: Seen, facts: SettingFacts) -> AdvisedRelease:
        """Say of an audited release what it does, what it leaves, and what each step buys."""
        one, use = seen.candidate, self.work.use
        left = use.of(one.setting, facts.utility or {})
        uses = tuple(
            UseFacts(str(p), left[str(p)], use.chance[str(p)], p.describe(left[str(p)], use.chance[str(p)]))
            for p in use.purposes
        )
        kept = 1 - len(one.left_out) / len(self.work.audit.target)
        status = MEETS if facts.meets else UNPROVEN if facts.open else FAILS
        if status == MEETS and not use.is_worth(left):
            status = UNPROVEN  # of no use: never called found
        return AdvisedRelease(
            setting=str(one.setting),
            brief=one.setting.brief,
            mask=one.family.name,
            left_out=tuple(row + 1 for row in one.left_out),
            usefulness=use.mean(left) * kept,
            uses=uses,
            status=status,
            risk=facts.risk,
            done=tuple(describe_release(one)),
            steps=self._buy(one) if status == MEETS else (),
            buys=self._bought(one),
            audit=self.places[one.key],
        )

    def _buy(self, one: Candidate) -> tuple[StepFacts, ...]:
        """Measure what each step buys, one after the other, from the file as it is."""
        start = self.work.as_it_is()
        if start is None:
            return ()
        whole = [(Message("as_it_is"), start), *list_steps_taken(one, start)]
        self.work.run(
            [unit for _, there in whole for unit in (*self.work.board.ask(there), *self.work.board.ask_use(there))]
        )
        steps = []
        for said, there in whole:
            seen = self.work.board.see(there)
            if seen is not None:
                steps.append(StepFacts(said, seen.risk.value, seen.usefulness))
        return tuple(steps)

    def _bought(self, one: Candidate) -> Message | None:
        """Say how much weaker the mask may be without the people left out."""
        everybody = [
            seen.candidate
            for seen in self.work.found.get(one.family, ())
            if not seen.candidate.left_out and seen.candidate.arm == one.arm
        ]
        return say_bought(one, everybody[0]) if one.left_out and everybody else None

    def find_nearest(self, releases: Sequence[AdvisedRelease]) -> AdvisedRelease | None:
        """Return what comes nearest to the limit and is of use: of the audited ones, else the strongest of a mask."""
        if releases:
            return min(releases, key=lambda one: one.risk.high)
        seen = [one for family in self.work.families if (one := self._find_lowest(family)) is not None]
        if not seen:
            return None
        lowest = min(seen, key=lambda one: one.risk.value)
        facts = self._audit([lowest])[lowest.candidate.key]
        return self._describe(lowest, facts)

    def _find_lowest(self, family: Family) -> Seen | None:
        """Return the strongest setting of a family that is of use, with all that can be done to labels and numbers.

        What is done to columns that have to stay is done as far as they are still of use.
        """
        for arm in sorted(self.work.arms, key=lambda arm: -arm.height):
            for place in reversed(range(len(family.masks))):
                one = Candidate(family, place, arm)
                self.work.run(self.work.board.ask_use(one))
                if self.work.use.is_worth(self.work.board.left(one)):
                    self.work.run(self.work.board.ask(one))
                    return self.work.board.see(one)
        return None


def _find_spec(result: AuditResult, setting: Setting) -> str:
    """Return how a result calls a setting: lengths may have got their unit there."""
    texts = [one.spec for one in result.settings]
    return str(setting) if str(setting) in texts else next(one for one in texts if Setting.parse(one) == setting)


def write_left_out(advice: Advice, audit: Audit, folder: Path, id: str | None) -> Mapping[int, str]:
    """Write for each release the ids of those left out, for the holder's eyes only; return the files by release."""
    import pandas as pd

    from disclique.records.write import write_table

    names: dict[int, str] = {}
    for number, one in enumerate(advice.releases):
        if one.left_out:
            people: Any = [str(audit.target.ids[row - 1]) for row in one.left_out]
            names[number] = LEFT_OUT.format(number + 1)
            write_table(pd.DataFrame({id or "id": people}), folder / names[number], private=True)
    return names
