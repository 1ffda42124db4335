"""What report and annex have in common: the look at the input, and the risk under other assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from disclique.audits.facts import SensitivityPoint
from disclique.audits.result import AuditResult
from disclique.locale import Texts
from disclique.messages import Message
from disclique.records.checks import Inspection
from disclique.records.checks.values import FileLook, Remark
from disclique.show.pages import DASH, figure, percent
from disclique.show.report.document import Block, Cell, Code, Drawing, Items, Paragraph, Said, Table, paragraphs
from disclique.show.report.maps import draw_extent
from disclique.show.report.risk_charts import say_assumption
from disclique.spaces.base import NOTHING


def compose_input(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return the look at the input, as it was understood before any work."""
    look, say = result.inspection, texts.say
    found: list[Block] = []
    if look.remarks:
        found.append(Items(tuple(_tell_remark(one, look, texts) for one in look.remarks), "remarks"))
        found += paragraphs(look.accepted_by(result.declared.author), look.open_question)
    elif look.files:
        found += paragraphs(say("Nothing looked wrong."))
    if look.leaks:
        found += paragraphs(say("What the encodings tell without their key, before any attack:"))
        found.append(Items(tuple(Paragraph((leak.message,)) for leak in look.leaks), "remarks"))
    extent = draw_extent(result, texts)
    if extent:
        where = (
            say("Where the files lie (solid: the file to be released; dashed: the snooper's and others)")
            if len(look.files) > 1
            else say("Where the file lies")
        )
        safe = say("a box rounded outwards, on the outlines of Natural Earth. It shows nobody's place.")
        found.append(Drawing(extent, Paragraph((f"{where}: {safe}",), kind="soft")))
    if look.files:
        head: tuple[Said, ...] = ("", *(file.name for file in look.files))
        found.append(Table("facing", tuple(_face_files(look, texts)), head))
        if look.shared_ids is not None:
            shared = {"shared": look.shared_ids, "first": look.files[0].records, "second": look.files[1].records}
            found += paragraphs(say("{shared} ids are in both files, of {first} and {second}.", **shared))
        meetings = [one.message for one in look.meetings if one.target_only or one.known_only]
        found += paragraphs(*meetings, kind="soft")
    return tuple(found)


def _tell_remark(remark: Remark, look: Inspection, texts: Texts) -> Paragraph:
    """Return a remark after what became of it, with the name by which it is accepted."""
    if remark.name in look.accepted:
        lead = texts.say("A mistake, accepted:") if remark.mistake else texts.say("Accepted:")
    else:
        lead = texts.say("Likely wrong:") if remark.likely_wrong else texts.say("Look at it:")
    return Paragraph((remark.message, Code(remark.name)), lead)


def _face_files(look: Inspection, texts: Texts) -> Iterator[tuple[Cell, ...]]:
    """Return what was understood of the files, a row for each thing and a cell for each file."""
    say = texts.say
    numbers = any(file.numbers for file in look.files)
    distances = any(file.kind != NOTHING for file in look.files)

    def row(title: str, tell: Callable[[FileLook], Said | None]) -> tuple[Cell, ...]:
        return (title, *(DASH if (said := tell(file)) is None else said for file in look.files))

    yield row(say("records"), lambda file: f"{file.records} ({say(file.kind_message)})")
    if distances:
        yield row(say("extent"), lambda file: None if file.extent is None else file.extent.message)
        yield row(say("distances"), lambda file: None if file.lengths is None else file.lengths.message)
        yield row(say("distances joined to the records"), lambda file: file.joined_message)
    none = say("none")
    yield row(
        say("labels (values)"),
        lambda file: ", ".join(f"{one.name} ({one.values})" for one in file.labels) or none,
    )
    yield row(say("label groups"), lambda file: _tell_groups(file, texts))
    if numbers:
        yield row(
            say("numbers in the table"),
            lambda file: "; ".join(say(one.message) for one in file.numbers) or none,
        )
    yield row(say("records with an empty label"), lambda file: str(file.incomplete))
    if distances:
        yield row(say("largest number of records that distances cannot tell apart"), lambda file: str(file.crowd))


def _tell_groups(file: FileLook, texts: Texts) -> str | None:
    if not file.labels:
        return None
    return texts.say(
        "{groups}; the smallest has {smallest} (k-anonymity k = {smallest}), {unique} records are alone with their "
        "label",
        groups=file.groups,
        smallest=file.smallest,
        unique=file.unique,
    )


def compose_sensitivity(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return the risk if one thing is assumed otherwise, as a table, and how it was measured."""
    found, limit, say = result.sensitivity, result.plan.max_risk, texts.say
    if found is None:
        return ()
    titles = [say("assumption"), say("assumed"), say("people known")]
    titles += [say("could be found"), say("at most"), say("releases")]
    if limit is not None:
        titles.append(say("limit of {limit}", limit=percent(limit, texts.language)))
    own = frozenset(place for place, one in enumerate(found.points) if one.declared)
    rows = tuple(_tell_point(one, result, texts) for one in found.points)
    by = (
        Message("sensitivity_by_oracle", spec=found.spec)
        if found.by == "oracle"
        else Message("sensitivity_by_attack", spec=found.spec, attack=found.by)
    )
    notes = [Message("full_sentence", said=note) for note in found.notes]
    return Table("figures", rows, tuple(titles), own), Paragraph((by, *notes), kind="soft")


def _tell_point(one: SensitivityPoint, result: AuditResult, texts: Texts) -> tuple[Cell, ...]:
    """Return a row: what is assumed, how much of it, and what could be found then."""
    say, limit = texts.say, result.plan.max_risk
    name, value = say_assumption(one, result, texts)
    shares = (percent(share, texts.language) for share in (one.risk, one.high))
    declared = say("as declared")
    row = (
        f"{name} ({declared})" if one.declared else name,
        value,
        texts.number(figure(one.common)),
        *shares,
        str(one.draws),
    )
    if limit is None:
        return row
    kept = say("kept") if one.keeps else say("not kept") if one.risk > limit else say("not shown to be kept")
    return (*row, kept)
