"""The best releases of an advice, audited on fresh draws, and what is said of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disclique.advice.explain import describe_release, list_steps_taken, say_bought
from disclique.advice.facts import Advice, AdvisedRelease, StepFacts, UseFacts
from disclique.advice.families import Family
from disclique.advice.search import Candidate, Seen
from disclique.advice.unit import Rows, leave_out
from disclique.audits.definition import Audit
from disclique.audits.facts import FAILS, MEETS, UNPROVEN, SettingFacts
from disclique.audits.result import AuditResult
from disclique.audits.run import run_audit
from disclique.audits.summarise import Context
from disclique.masks.settings import Setting
from disclique.messages import Message

if TYPE_CHECKING:
    from disclique.advice.run import Work

AUDITS, LEFT_OUT = "audits", "left_out_{}.csv"


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
        groups: dict[tuple[Rows, bool], list[Setting]] = {}
        for place, one in enumerate(seen):
            groups.setdefault((one.candidate.left_out, place == 0), []).append(one.candidate.setting)
        found = {}
        for (rows, first), settings in groups.items():
            every = [one for one in dict.fromkeys(settings) if one not in self.tried.get(rows, ())]
            self.tried.setdefault(rows, []).extend(every)
            number = sum(len(many) for many in self.tried.values()) - len(every) + 1
            result = self._run(rows, every, number, self._choose_work(first=first))
            for setting in every:
                self.places[str(setting), rows] = "" if self.folder is None else f"{AUDITS}/{number}"
                found[str(setting), rows] = result.setting(_find_spec(result, setting))
        return found

    def _choose_work(self, *, first: bool) -> Audit:
        """Return how an audit is carried out: with all draws, all attacks, their control and insiders.

        Two things are less for releases besides the best: what would change if the snooper were another one, on which
        no verdict rests, is left out; and every single person is asked for in fewer draws, unless a limit is on them.
        With fewer draws the upper end of a risk is higher, never lower.
        """
        audit = self.work.question.audit
        if first or audit.plan.thorough:
            return audit
        plan = audit.plan
        asked = plan.person_trials
        if plan.max_risk_person is None:
            asked = min(asked or self.work.effort.person_trials, self.work.effort.person_trials)
        return replace(audit, plan=replace(plan, sensitivity=False, person_trials=asked))

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
