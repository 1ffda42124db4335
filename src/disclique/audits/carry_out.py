"""How an audit that was asked for is carried out: estimated, run, and its pages written, with somebody who is told."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from disclique.audits import Audit, AuditResult
    from disclique.audits.summarise import About
    from disclique.messages import Message
    from disclique.runs import Executor, Forecast
    from disclique.runs.progress import Counter, UnitNames


class Told(Protocol):
    """Who is told how far it is: a terminal, or the page of an app."""

    def say(self, lines: Iterable[str | Message]) -> None:
        """Take sentences."""

    def units(self, about: UnitNames, forecast: Forecast, executor: Executor) -> AbstractContextManager[Counter]:
        """Count units for as long as they are carried out."""

    def opened(self, executor: Executor) -> AbstractContextManager[Executor]:
        """Keep an executor open."""


def carry_out(
    work: Audit,
    out: Path,
    executor: Executor,
    *,
    told: Told,
    with_records: bool = False,
    about: About | None = None,
    language: str = "en",
) -> AuditResult:
    """Carry out an audit and write result.json, records.csv, the report with its figures and the annex to ``out``.

    ``language`` is that of the two pages.
    """
    from disclique.audits import ANNEX, REPORT, run_audit
    from disclique.audits.so_far import BESIDE, STAGES, RiskSoFar
    from disclique.runs.progress import UnitNames

    with told.opened(executor) as running:
        forecast = announce(work, out, running, told, keep=True)
        releases = UnitNames("releases", RiskSoFar(work.plan), (*work.plan.attack_names, *BESIDE), STAGES)
        with told.units(releases, forecast, running) as progress:
            result = run_audit(
                work, folder=out, executor=running, progress=progress, with_records=with_records, about=about
            )
    if forecast.finished and not progress.fresh:
        told.say([f"{out}: finished before: nothing is left to do"])
    result.report(out / REPORT, language=language)
    result.annex(out / ANNEX, language=language)
    return result


def announce(work: Audit, out: Path, executor: Executor, told: Told, *, keep: bool = False) -> Forecast:
    """Say what will be done and about how long it will take; return how the time left is to be told.

    The releases that are attacked to find out are kept in the audit's folder, unless nothing is to be written there.
    """
    from disclique.audits import ANNEX, RECORDS, REPORT, RESULT
    from disclique.audits.estimate import describe_work, estimate_audit, list_trials
    from disclique.audits.records import ReleaseRecord
    from disclique.audits.so_far import BESIDE, STAGES, RiskSoFar
    from disclique.runs import Forecast, open_journal
    from disclique.runs.journal import check_folder, has_journal
    from disclique.runs.progress import UnitNames

    check_folder(out, (RESULT, RECORDS, REPORT, ANNEX))
    work.check_masks()
    told.say(describe_work(work))
    if has_journal(out):
        if (out / RESULT).exists():
            told.say([] if keep else [f"{out}: finished before, as it seems"])
            return Forecast({}, finished=True)
        told.say([f"{out}: an audit was begun here and goes on"])
    trials = Forecast(dict.fromkeys(list_trials(work), 1.0))
    heads = (*work.plan.attack_names, *BESIDE)
    tried = UnitNames("releases attacked to estimate the time", RiskSoFar(work.plan), heads, STAGES)
    with (
        open_journal(out if keep else None, work, ReleaseRecord) as journal,
        told.units(tried, trials, executor) as progress,
    ):
        made = estimate_audit(work, executor, journal=journal, progress=progress)
    told.say([made.sentence(executor.parallel or 1, "releases to attack")])
    forecast = Forecast(made.expected)
    for unit in journal.done:  # before the first of them is heard of again
        forecast.took(unit, journal.seconds.get(unit, 0.0))
    return forecast
