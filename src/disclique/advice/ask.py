"""The public door of an advice: a file, a limit, and what the release is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from disclique.advice.audited import write_left_out
from disclique.advice.facts import PAGE, Advice, write_advice
from disclique.advice.purposes import parse_purposes
from disclique.advice.run import Question, run_advice
from disclique.advice.search import EFFORT, Effort
from disclique.arguments import check_kind, check_path
from disclique.audits.caveats import inspect_audit
from disclique.audits.definition import Audit
from disclique.audits.facts import MEETS, declare
from disclique.audits.from_options import write_command
from disclique.audits.known_file import hold_known, hold_others
from disclique.audits.run import make_plan
from disclique.audits.summarise import Context
from disclique.errors import InputError
from disclique.memory import parse_memory
from disclique.model import Microdata
from disclique.records.registers import Register
from disclique.runs import Executor, Progress


def advise(  # noqa: PLR0913 - the public door
    target: Microdata,
    limit: float,
    *,
    purpose: str | Sequence[str] = (),
    masks: str | Sequence[str] = (),
    known: Microdata | Register | None = None,
    others: Microdata | Register | None = None,
    folder: Path | str | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    accept: Sequence[str] = (),
    memory: str | int | None = None,
    effort: Effort = EFFORT,
    **options: Any,
) -> Advice:
    """Return what can be released of a file under a limit, the most useful first.

    Parameters
    ----------
    target : Microdata
        The file that is to be released; its ids say who is who.
    limit : float
        The largest risk that is accepted: the share of people who could be found.
    purpose : text, or list of them
        What the release is for: ``neighbours`` (the default), ``clusters``, ``distances``, ``accessibility``,
        ``density``, ``linkage``, ``columns:age,sex`` (what these columns still tell), or a measure of one's own.
        Usefulness is the mean over them.
    masks : list of specs
        Look among these only, each with a range of its dial; by default all that fit the file.
    known, others, folder, executor, progress, accept, memory
        As of ``audit``. In the folder the search and the audits of the best releases are kept, and go on.
    effort : Effort
        How much is looked at.
    options
        As of ``audit``: what the snooper knows (``overlap``, ``label_error``, …), ``scenario``, ``generalise`` (how
        labels may be made coarser, instead of what follows from their values), ``repetitions``, ``seed``, ….

    Examples
    --------
    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:40], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> found = dq.advise(people, 0.5, masks=["grid:cell=1km..900km"], attacks="labels", repetitions=2)
    >>> found.best.risk.high <= 0.5
    True
    """
    check_kind(target, Microdata, "target", "wanted_microdata")
    if "max_risk" in options:
        raise InputError("limit_given_twice")
    place = None if folder is None else check_path(folder, "folder")
    ways = options.pop("generalise", ())
    declared = declare(options.pop("decision", None))
    plan = make_plan(["none"], known=known, others=others, max_risk=limit, **options)
    theirs, thinned = hold_known(known, target, plan, None if memory is None else parse_memory(memory))
    audit = Audit(plan, target, theirs, hold_others(others, target, plan), thinned=thinned)
    about = Context(declared, inspection=inspect_audit(audit).check(accept=accept))
    question = Question(
        audit,
        parse_purposes(purpose, target),
        (masks,) if isinstance(masks, str) else tuple(masks),
        (ways,) if isinstance(ways, str) else tuple(ways),
        effort,
    )
    found = run_advice(question, folder=place, executor=executor, progress=progress, about=about)
    if place is not None:
        found = save(found, question, place)
    return found


def save(
    advice: Advice, question: Question, folder: Path, words: Sequence[Any] = (), *, language: str = "en"
) -> Advice:
    """Write advice.json, the page, and who is left out to a folder; return the advice with its commands.

    ``words`` are file and options of the command line by which the file is read, where there is one.
    """
    audit = question.audit
    names = write_left_out(advice, audit, folder, audit.target.roles.id)
    releases = []
    for number, one in enumerate(advice.releases):
        said = {"mask": one.setting} | ({"leave_out": names[number]} if number in names else {})
        command = _write_call(said, audit.target.name) if not words else write_command(words[0], {**words[1], **said})
        made = command if one.status == MEETS else ""
        releases.append(replace(one, list_of_left_out=names.get(number, ""), command=made))
    whole = replace(advice, releases=tuple(releases))
    write_advice(whole, folder)
    whole.page(folder / PAGE, language=language)
    return whole


def _write_call(said: dict[str, str], name: str) -> str:
    """Write the Python call that makes a release."""
    left = f"  # read with leave_out={said['leave_out']!r}" if "leave_out" in said else ""
    return f"dq.release(file, {said['mask']!r}){left}"
