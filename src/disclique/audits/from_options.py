"""An audit as it is asked for in options: how they become the plan and its data, how it is carried out and repeated."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from disclique.audits.definition import Audit
from disclique.audits.estimate import BESIDE, STAGES, RiskSoFar, describe_work, estimate_audit
from disclique.audits.facts import declare
from disclique.audits.known_file import hold_known, hold_others
from disclique.audits.plan import Plan, Snooper
from disclique.audits.recipients import Recipient, refuse_beside
from disclique.audits.release_records import ReleaseRecord
from disclique.audits.result import ANNEX, ANNEX_WORD, RECORDS, REPORT, RESULT, AuditResult
from disclique.audits.run import run_audit
from disclique.audits.several import Asked, RecipientsResult, place_of, run_recipients
from disclique.audits.summarise import Context
from disclique.errors import InputError
from disclique.masks.registry import refuse_bare
from disclique.memory import parse_memory
from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.options.advice import ADVICE_ROWS
from disclique.options.audits import AUDIT_ROWS, DECISION, OF_FILE, RECIPIENT_ROWS, AuditOptions
from disclique.options.files import NO_COLUMNS
from disclique.options.table import FILE, list_of, read_toml
from disclique.records.coarsening import is_dial
from disclique.records.population import Inhabitants, read_population
from disclique.records.reading import Layout, list_left_out, read
from disclique.records.registers import Register, read_known
from disclique.records.write import hashes
from disclique.runs import Executor, Forecast, open_journal
from disclique.runs.journal import check_folder, has_journal
from disclique.runs.progress import Counter, UnitNames
from disclique.spaces import Texts
from disclique.spaces.bits import is_bit_metric
from disclique.spaces.strings import is_text_metric


def read_decision(config: Path | None) -> dict[str, Any]:
    """Return the section [decision] of a TOML file, if it is one that can be declared to the board."""
    written = {} if config is None else read_toml(config).get(DECISION, {})
    try:
        declare(written)
    except InputError as problem:
        raise InputError("problem_in_file", file=config, problem=problem) from None
    return dict(written)


def read_plan(options: AuditOptions) -> Plan:
    """Read and check the plan alone; whether it suits the files is seen when they are read."""
    others = options.file_of_others
    if others is not None and options.overlap is None:
        raise InputError("others_without_overlap", others=others)
    if options.known is not None and options.id is None:
        raise InputError("known_without_id")
    try:
        about, snooper = options.plan_values()
        about["generalise"] = tuple(spec for spec in about["generalise"] if is_dial(spec))
        plan = Plan(snooper=Snooper(**(snooper | ({} if others is None else {"others": OF_FILE}))), **about)
    except (TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError("option_of_wrong_kind", problem=str(problem)) from None
    refuse_bare(options.unit, list_of(options.mask))
    return plan


def read_audit(file: Path, options: AuditOptions, target: Microdata | None = None) -> Audit:
    """Read and check the plan and its data; the ``target`` if it was not read before."""
    named = [name for name, row in AUDIT_ROWS.items() if row.kind == FILE]
    paths = {name: None if (path := getattr(options, name)) is None else Path(path) for name in named}
    known, others = paths["known"], options.file_of_others
    plan = read_plan(options)
    target = read_target(file, options) if target is None else target
    theirs: Microdata | Register | None = None
    if known is None and options.has_names:  # a snooper may know everybody by name
        theirs = read(file, **_known_columns(options, plan))
    if known is not None:
        beside: dict[str, Any] = {"distances": paths["known_distances"], "vectors": paths["known_vectors"]}
        takes = _takes_unit(options)
        unit = options.unit_for(own=takes["known"], other=takes["target"])
        columns = _known_columns(options, plan) | {"unit": unit} | (NO_COLUMNS if any(beside.values()) else {})
        theirs = read_known(known, **beside, **columns)
    strange = _known_columns(options, plan)
    more = None if others is None else read_known(others, vectors=paths["others_vectors"], **strange)
    paths["known"] = None
    whole = [*getattr(theirs, "files", (known,)), *getattr(more, "files", (others,))]  # of a register all its files
    looked_at = dict.fromkeys(Path(one) for asked in plan.mask_ranges for one in asked.settings[-1].mask.files)
    districts = [path for path in looked_at if path.is_file()]  # what is not there is said when the mask is tried
    inputs = hashes([file, *paths.values(), *whole, *options.further_files, *districts])
    memory = None if options.memory is None else parse_memory(options.memory)
    kept, thinned = hold_known(theirs, target, plan, memory)
    strangers, plan = hold_others(more, target, plan), replace(plan, inputs=inputs)
    people, words = _read_population(options, paths), _read_words(paths["dictionary"], target)
    return Audit(plan, target, kept, strangers, thinned=thinned, population=people, words=words)


def _read_words(path: Path | None, target: Microdata) -> Texts | None:
    own = target.distances.texts()
    if path is None:
        return None
    if own is None:
        raise InputError("dictionary_needs_texts", file=target.name)
    return read(path, text=own.columns).distances.texts()


def _known_columns(options: AuditOptions, plan: Plan) -> dict[str, Any]:
    """Return what the columns of the snooper's file are: it need not have the labels that they do not know."""
    columns, gone = options.columns, plan.snooper.lacks(options.columns["labels"])
    columns |= _of_names(options) if options.has_names else {}
    made = [spec for spec in columns["generalise"] if spec.partition("=")[0].strip() not in gone]
    return columns | {"labels": plan.snooper.knows(columns["labels"]), "generalise": made}


def _read_population(options: AuditOptions, paths: Mapping[str, Path | None]) -> Inhabitants | None:
    path = paths["population"]
    if path is None:
        return None
    same = {name: value for name, value in options.columns.items() if name in ("coordinates", "metric", "crs", "unit")}
    return read_population(path, Layout(**same), people=options.population_people, cell=options.population_cell)


def read_target(file: Path, options: AuditOptions) -> Microdata:
    """Read the file that is audited, and afterwards released."""
    unit = _unit_of_target(options)
    distances, vectors = (None if path is None else Path(path) for path in (options.distances, options.vectors))
    columns = options.own_columns | {"unit": unit} | (_of_encodings(options) if options.has_names else {})
    found = read(file, distances=distances, vectors=vectors, **columns)
    if options.leave_out is None:
        return found
    return replace(found, left_out=len(set(list_left_out(Layout(id=options.id, leave_out=options.leave_out)))))


def _of_encodings(options: AuditOptions) -> dict[str, Any]:
    metric = options.metric
    return {"text": [], "metric": metric if metric is not None and is_bit_metric(metric) else None}


def _of_names(options: AuditOptions) -> dict[str, Any]:
    metric = options.metric
    return {"encodings": None, "metric": metric if metric is not None and is_text_metric(metric) else None}


def _unit_of_target(options: AuditOptions) -> str | None:
    takes = _takes_unit(options)
    return options.unit_for(own=takes["target"], other=takes["known"])


def _takes_unit(options: AuditOptions) -> dict[str, bool]:
    """Say of the holder's and of the snooper's file whether the unit of its distances is to be said."""
    names = {"target": ("distances", "vectors"), "known": ("known_distances", "known_vectors")}
    flat = options.metric == "euclidean"
    return {side: flat or any(getattr(options, name) is not None for name in of) for side, of in names.items()}


class Listener(Protocol):
    """Who is told how far it is: a terminal, or the page of an app."""

    def say(self, lines: Iterable[Message]) -> None:
        """Take messages."""

    def units(self, about: UnitNames, forecast: Forecast, executor: Executor) -> AbstractContextManager[Counter]:
        """Count units for as long as they are carried out."""

    def opened(self, executor: Executor) -> AbstractContextManager[Executor]:
        """Keep an executor open."""


def carry_out(
    work: Audit,
    out: Path,
    executor: Executor,
    *,
    told: Listener,
    with_records: bool = False,
    about: Context | None = None,
    language: str = "en",
) -> AuditResult:
    """Carry out an audit and write result.json, records.csv, the report with its figures and the annex to ``out``.

    ``language`` is that of report and annex.
    """
    with told.opened(executor) as running:
        forecast = announce(work, out, running, told, keep=True)
        with told.units(_name_units(work), forecast, running) as progress:
            result = run_audit(
                work, folder=out, executor=running, progress=progress, with_records=with_records, about=about
            )
    if forecast.finished and not progress.fresh:
        told.say([Message("finished_before", folder=out)])
    result.write_papers(out, language=language)
    return result


def ask_for(recipients: Sequence[Recipient], file: Path, options: AuditOptions) -> list[tuple[AuditOptions, Audit]]:
    """Read the audit of every recipient, with the options by which it is repeated alone; the file is read once."""
    refuse_beside([name for name, row in RECIPIENT_ROWS.items() if getattr(options, row.name) != row.default])
    targets: dict[str | None, Microdata] = {}  # by the unit of its distances, which may be that of a recipient's file
    found = []
    for one in recipients:
        own = one.apply(options)
        unit = _unit_of_target(own)
        if unit not in targets:
            targets[unit] = read_target(file, own)
        try:
            found.append((own, read_audit(file, own, targets[unit])))
        except InputError as problem:
            raise InputError("problem_of_recipient", name=one.name, problem=problem) from None
    return found


def carry_out_recipients(
    asked: Sequence[Asked],
    out: Path,
    executor: Executor,
    *,
    told: Listener,
    with_records: bool = False,
    language: str = "en",
) -> RecipientsResult:
    """Carry out the audits of several recipients and write all that belongs to them to ``out``."""
    with told.opened(executor) as running:

        @contextmanager
        def watch(one: Asked, again: bool) -> Iterator[Counter]:
            forecast = Forecast({})
            if again:
                told.say([Message("recipient_compared", name=one.name)])
            else:
                told.say([Message("recipient_begins", name=one.name)])
                forecast = announce(one.audit, place_of(out, one.name), running, told, keep=True)
            what = Message("releases_for_recipient", name=one.name)
            with told.units(replace(_name_units(one.audit), what=what), forecast, running) as progress:
                yield progress
            if forecast.finished and not progress.fresh:
                told.say([Message("finished_before", folder=place_of(out, one.name))])

        return run_recipients(
            asked, folder=out, executor=running, watch=watch, with_records=with_records, language=language
        )


def _name_units(work: Audit) -> UnitNames:
    return UnitNames(Message("releases_measured"), RiskSoFar(work.plan), (*work.plan.attack_names, *BESIDE), STAGES)


def announce(work: Audit, out: Path, executor: Executor, told: Listener, *, keep: bool = False) -> Forecast:
    """Say what will be done and about how long it will take; return how the time left is to be told."""
    check_folder(out, (RESULT, RECORDS, REPORT, ANNEX, ANNEX_WORD))
    work.check_masks()
    told.say(describe_work(work))
    if has_journal(out):
        if (out / RESULT).exists():
            told.say([] if keep else [Message("seems_finished", folder=out)])
            return Forecast({}, finished=True)
        told.say([Message("audit_goes_on", folder=out)])
    with open_journal(out if keep else None, work, ReleaseRecord) as journal:
        made = estimate_audit(work)
    told.say([made.sentence(executor.parallel or 1, mark("releases_to_measure"))])
    forecast = Forecast(made.expected)
    for unit in journal.done:  # before the first of them is heard of again
        forecast.took(unit, journal.seconds.get(unit, 0.0))
    return forecast


_SPOKEN = {name: row.spoken for name, row in ADVICE_ROWS.items()}
PATHS = {name for name, row in AUDIT_ROWS.items() if row.is_path} | {"out"}  # options whose values may be files


def write_command(words: Sequence[str | Path], options: Mapping[str, Any]) -> str:
    """Write a command line with its options; of an absolute path only the name, as folders tell who works where.

    >>> write_command(["audit", Path("/home/me/my file.csv")], {"max_risk": 0.1, "mask": ["affine"], "unlinked": True})
    "disclique audit 'my file.csv' --max-risk 0.1 --mask affine --unlinked"
    """
    parts = ["disclique", *(_short(word) for word in words)]
    for name, value in options.items():
        flag = f"--{_SPOKEN.get(name, name.replace('_', '-'))}"
        if isinstance(value, bool):
            parts.append(flag if value else f"--no-{flag[2:]}")
        else:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                parts += [flag, _short(one) if name in PATHS or isinstance(one, Path) else str(one)]
    return shlex.join(parts)


def _short(value: object) -> str:
    path = Path(str(value))
    return path.name if path.is_absolute() else str(value)
