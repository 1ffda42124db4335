"""One release for several recipients: an audit for each, and what may be given to everybody.

Every recipient's audit is the one that would be carried out for them alone, in a folder of its own. All chance follows
from what is drawn, so that all of them are about the same releases; how useful these are is measured once. What
one audit chose is then measured for the others, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from disclique.audits.definition import Audit
from disclique.audits.facts import Verdict
from disclique.audits.plan import Plan
from disclique.audits.recipient_facts import (
    RecipientFacts,
    RecipientsFacts,
    SharedSetting,
    write_recipients,
)
from disclique.audits.recipients import Recipient, parse_recipients, refuse_beside
from disclique.audits.release_records import ReleaseRecord
from disclique.audits.result import AuditResult, write_result
from disclique.audits.run import Work, conclude
from disclique.audits.summarise import Context
from disclique.audits.unit import Useful
from disclique.audits.verdict import decide_for_everybody, share_setting
from disclique.errors import InputError
from disclique.locale import texts_in
from disclique.masks.settings import Setting
from disclique.messages import percent
from disclique.records.write import versions, whole_file
from disclique.runs import Executor, Progress, Serial, Unit, keep_open, open_journal
from disclique.runs.journal import has_journal

RECIPIENTS, PAGE, FOLDER = "recipients.json", "recipients.html", "recipients"
ALL = "(all)"  # the column of all recipients: nobody can have this name


@dataclass(frozen=True, eq=False)
class Asked:
    """One recipient, the audit for them, and what its result says beyond figures."""

    recipient: Recipient
    audit: Audit
    about: Context = field(default_factory=Context)

    @property
    def name(self) -> str:
        """What the recipient is called."""
        return self.recipient.name


Watch = Callable[[Asked, bool], AbstractContextManager[Progress | None]]  # who hears of one audit; again, at the end?


@dataclass(frozen=True)
class RecipientsResult(RecipientsFacts):
    """The result of an audit for several recipients: one verdict on a release to all of them, and each one's result.

    ``results`` are the audits of the recipients, each as if they were the only one; they are written beside
    recipients.json, not in it.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> result = dq.audit(people, "affine", recipients=["everybody"], attacks="labels", repetitions=1)
    >>> result.verdict.status, result.results["everybody"].verdict.status
    ('measured', 'measured')
    """

    results: Mapping[str, AuditResult] = field(default_factory=dict, compare=False)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each setting and recipient for whom it was measured."""
        return pd.DataFrame(
            [
                {
                    "setting": setting.spec,
                    "recipient": one.recipient,
                    "risk": one.risk,
                    "high": one.high,
                    "limit": one.limit,
                    "status": one.status,
                    "all": setting.status,
                    "utility": setting.usefulness,
                }
                for setting in self.settings
                for one in setting.recipients
            ]
        )

    @property
    def summary(self) -> pd.DataFrame:
        """Settings that were measured for everybody by recipient, as they are shown; the verdict's is marked."""
        rows = []
        for setting in (one for one in self.settings if one.status is not None):
            mark_ = " ◀" if setting.spec == self.verdict.setting else ""
            risks = {one.recipient: f"{percent(one.risk)} ({one.status})" for one in setting.recipients}
            rows.append({"setting": f"{setting.brief}{mark_}", **risks, ALL: setting.status})
        return pd.DataFrame(rows)

    def report(self, path: Path | str | None = None, *, language: str = "en") -> str:
        """Render the page of all recipients as HTML that needs no network, and write it if a path is given."""
        import disclique

        page: str = disclique.recipients_page(self, language=language)
        if path is not None:
            with whole_file(Path(path)) as draft:
                draft.write_text(page, encoding="utf-8")
        return page

    def __str__(self) -> str:
        return "\n".join([*self.verdict.sentences, self.summary.to_string(index=False)])

    def _repr_html_(self) -> str:
        first, *rest = map(escape, self.verdict.sentences)
        said = "".join(f"<p>{sentence}</p>" for sentence in (f"<b>{first}</b>", *rest))
        return f"<div>{said}{self.summary.to_html(index=False)}</div>"


def ask_recipients(
    recipients: object, ask: Callable[..., tuple[Audit, Context]], beside: Mapping[str, Any]
) -> list[Asked]:
    """Return what is asked for each recipient: ``ask`` makes the audit of options, some of which stand ``beside``.

    An option that says what a snooper holds stands in no other place than with its recipient.
    """
    refuse_beside([name for name, value in beside.items() if value is not None])
    found = []
    for one in parse_recipients(recipients):
        try:
            found.append(Asked(one, *ask(**one.given)))
        except InputError as problem:
            raise InputError("problem_of_recipient", name=one.name, problem=problem) from None
    return found


def place_of(folder: Path, name: str) -> Path:
    """Return where the result of a recipient lies."""
    return folder / FOLDER / name


def check_asked(asked: Sequence[Asked], folder: Path | None) -> None:
    """Refuse recipients some of whom have a limit and others none, and the folder of an audit for one snooper."""
    check_limits({one.name: one.audit.plan for one in asked})
    if has_journal(folder):
        raise InputError("folder_of_one_audit", folder=folder)


def check_limits(plans: Mapping[str, Plan]) -> None:
    """Refuse recipients some of whom have a limit and others none."""
    bare = [name for name, plan in plans.items() if plan.max_risk is None]
    if bare and len(bare) < len(plans):
        raise InputError("recipient_without_limit", name=bare[0])


def run_recipients(
    asked: Sequence[Asked],
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    watch: Watch | None = None,
    with_records: bool = False,
    language: str = "en",
) -> RecipientsResult:
    """Carry out the audit of every recipient, measure for all what one of them chose, and decide for everybody.

    Killed at any moment and called again it goes on in its folder. The result of each recipient is, to the last digit,
    that of an audit for them alone.
    """
    check_asked(asked, folder)
    watching: Watch = watch or (lambda *_: nullcontext())
    results: dict[str, AuditResult] = {}
    works: dict[str, Work] = {}
    with ExitStack() as stack, keep_open(executor or Serial()) as running:
        for one in asked:
            place = None if folder is None else place_of(folder, one.name)
            one.audit.check_masks()
            with watching(one, False) as progress:
                journal = stack.enter_context(open_journal(place, one.audit, ReleaseRecord))
                work = Work(one.audit, journal, running, progress, one.about.doubt, _share_use(one, works))
                results[one.name], works[one.name] = conclude(work, one.about, with_records=with_records), work
            if place is not None:
                write_result(results[one.name], place)
                results[one.name].write_papers(place, language=language)
        settings, verdict = _compare(asked, works, results, watching)
    found = _summarise(asked, results, settings, verdict, written=folder is not None)
    if folder is not None:
        write_recipients(_facts(found), folder / RECIPIENTS)
        texts_in(language)
        found.report(folder / PAGE, language=language)
    return found


def _share_use(one: Asked, works: Mapping[str, Work]) -> dict[Unit, Useful]:
    """Return how useful releases are that were measured for others: the same ones, where all records are released."""
    found: dict[Unit, Useful] = {}
    for work in works.values():
        if work.audit.target is one.audit.target and not (work.audit.splits or one.audit.splits):
            found |= work.useful
    return found


def _compare(
    asked: Sequence[Asked], works: Mapping[str, Work], results: Mapping[str, AuditResult], watch: Watch
) -> tuple[tuple[SharedSetting, ...], Verdict]:
    """Measure for everybody what was chosen for one, and look closely at what is then decided, until that stands."""

    chosen, verdicts = _list_chosen(works, results), {name: result.verdict for name, result in results.items()}
    for one in asked:
        work = works[one.name]
        if not set(chosen) <= set(work.measured):
            with watch(one, True) as work.progress:
                work.measure_too(chosen)
    while True:
        settings = _share(asked, works)
        verdict = decide_for_everybody(settings, verdicts)
        setting = works[asked[0].name].find(verdict.setting)
        open_ = [one for one in asked if not works[one.name].has_examined(setting)]
        if not open_:
            return settings, verdict
        for one in open_:
            work = works[one.name]
            with watch(one, True) as work.progress:
                work.examine(setting)


def _list_chosen(works: Mapping[str, Work], results: Mapping[str, AuditResult]) -> list[Setting]:
    """Return the settings that verdicts name, and those that searches found."""
    any_ = next(iter(works.values()))
    specs = [result.verdict.setting for result in results.values()]
    specs += [one.setting for result in results.values() for one in result.decisions if one.setting is not None]
    return [any_.find(spec) for spec in dict.fromkeys(specs)]


def _share(asked: Sequence[Asked], works: Mapping[str, Work]) -> tuple[SharedSetting, ...]:
    """Return every setting that was measured for somebody, in the order of the plan."""
    plans: dict[str, Plan] = {one.name: one.audit.plan for one in asked}
    facts = {name: work.describe() for name, work in works.items()}
    found = []
    for setting in map(str, asked[0].audit.plan.settings):
        by = {name: known[setting] for name, known in facts.items() if setting in known}
        if by:
            found.append(share_setting(by, plans))
    return tuple(found)


def _summarise(
    asked: Sequence[Asked],
    results: Mapping[str, AuditResult],
    settings: tuple[SharedSetting, ...],
    verdict: Verdict,
    *,
    written: bool,
) -> RecipientsResult:
    first = results[asked[0].name]
    return RecipientsResult(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        file=first.file.name,
        records=first.file.records,
        verdict=verdict,
        recipients=tuple(_describe(one, results[one.name], written=written) for one in asked),
        settings=settings,
        versions=versions(),
        results=results,
    )


def _describe(one: Asked, result: AuditResult, *, written: bool) -> RecipientFacts:
    recipient, plan = one.recipient, result.plan
    return RecipientFacts(
        name=one.name,
        verdict=result.verdict,
        assumed=result.snooper.assumed,
        scenario=plan.scenario,
        snooper=plan.snooper,
        max_risk=plan.max_risk,
        max_risk_person=plan.max_risk_person,
        like=recipient.like,
        title=recipient.title,
        about=recipient.about,
        source=recipient.source,
        folder=f"{FOLDER}/{one.name}" if written else "",
    )


def _facts(result: RecipientsResult) -> RecipientsFacts:
    return RecipientsFacts(**{one.name: getattr(result, one.name) for one in fields(RecipientsFacts)})
