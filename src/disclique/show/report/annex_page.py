"""The annex for the board: what was declared and what was measured, in the sections that regulators ask for.

Its content is one value (``compose_annex``), from which a page for the screen, a Word file and a PDF are made.
"""

from __future__ import annotations

from pathlib import Path

from disclique.arguments import check_kind, check_path
from disclique.audits.result import AuditResult
from disclique.errors import InputError
from disclique.locale import Texts, mark, texts_in
from disclique.messages import Message
from disclique.records.write import whole_file
from disclique.show.report.annex_form import (
    compose_criteria,
    compose_methodology,
    compose_residual_risk,
    compose_threshold,
    compose_utility,
    compose_variables,
)
from disclique.show.report.common_parts import compose_input
from disclique.show.report.document import (
    Block,
    Card,
    Cell,
    Choices,
    Code,
    Document,
    Items,
    Lines,
    Paragraph,
    Section,
    Table,
    paragraphs,
)
from disclique.show.report.page import MEANINGS, STATUS, name_numbers, render
from disclique.show.report.pdf import print_pdf
from disclique.show.report.word import render_word

DECLARED = {
    "holder": mark("Data holder"),
    "purpose": mark("Purpose of the release"),
    "recipients": mark("Recipients"),
    "basis": mark("Basis"),
    "author": mark("Prepared by"),
    "date": mark("Date of the decision"),
}
SIGNED = (mark("Prepared by"), mark("Data protection officer"), mark("For the data holder"))
HTML, WORD, PDF = "html", "docx", "pdf"
FORMATS = {".html": HTML, ".htm": HTML, ".docx": WORD, ".pdf": PDF}  # by the ending of a file


def annex(
    result: AuditResult, path: Path | str | None = None, *, language: str = "en", library: str | None = None
) -> str:
    """Render the annex of an audit for the board that decides, as one HTML page for printing, in English or German.

    If a ``path`` is given, it is written there: as the page (``annex.html``), for Word (``annex.docx``), or as a PDF
    (``annex.pdf``), which needs LibreOffice or Chromium. ``library`` is the script that draws the charts, if it was put
    together before.

    >>> import disclique as dq
    >>> people = dq.microdata(dq.survey().iloc[:20], ["sex"], coordinates=["lon", "lat"], id="id")
    >>> made = dq.audit(people, "affine", attacks="labels", repetitions=1, decision={"author": "A. Meyer"})
    >>> "A. Meyer" in dq.annex(made), "Angreifer" in dq.annex(made, language="de")
    (True, True)
    """
    check_kind(result, AuditResult, "result", "wanted_audit_result")
    texts = texts_in(language)
    place = None if path is None else check_path(path, "path")
    kind = HTML if place is None else check_annex(place)
    document = compose_annex(result, texts)
    page = render("annex", language, library, result=result, document=document, charts=document.charts)
    if place is not None:
        made = page.encode() if kind == HTML else render_word(document, texts)
        made = print_pdf(made, page) if kind == PDF else made
        with whole_file(place) as draft:
            draft.write_bytes(made)
    return page


def annex_word(result: AuditResult, *, language: str = "en") -> bytes:
    """Return the annex as a Word file."""
    texts = texts_in(language)
    return render_word(compose_annex(result, texts), texts)


def check_annex(path: Path) -> str:
    """Return in which format an annex is written under such a name; raise an error if in none."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise InputError("annex_in_unknown_format", path=path, known=list(FORMATS))
    return kind


def compose_annex(result: AuditResult, texts: Texts) -> Document:
    """Return the content of the annex in a language."""
    say = texts.say
    limits = [limit for limit in result.limits if limit != result.again]
    parts = {
        say("Purpose and responsibility"): _compose_purpose(result, texts),
        say("Result"): _compose_result(result, texts),
        say("What would be released: variables, and what was done to each"): compose_variables(result, texts),
        say("Anonymisation methodology"): compose_methodology(result, texts),
        say("Threshold"): compose_threshold(result, texts),
        say("Residual risk"): compose_residual_risk(result, texts),
        say("Utility"): compose_utility(result, texts),
        say("The three criteria of WP216"): compose_criteria(result, texts),
        say("What the result does not show"): (Items(paragraphs(*limits)),),
        say("Input"): (*compose_input(result, texts), *_compose_hashes(result, texts)),
    }
    decision = Section(say("Decision"), _compose_decision(texts), together=True)
    return Document(
        say("Annex to the decision on a release"),
        say("Disclosure risk of {file}", file=result.file.name),
        (*(Section(title, blocks) for title, blocks in parts.items()), decision),
        author=result.declared.author,
        made=result.made,
    )


def _compose_purpose(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return what the holder declared, with lines to be filled in where nothing was said, and what was audited."""
    say, file = texts.say, result.file
    rows: list[tuple[Cell, ...]] = [
        (say(title), getattr(result.declared, name) or None) for name, title in DECLARED.items()
    ]
    labels = ", ".join(file.labels) or say("none")
    about = say("{count} records, labels: {labels}", count=file.records, labels=labels)
    numbers = name_numbers(file)
    counted = say("numbers: {numbers}", numbers=numbers)
    rows.append((say("File"), f"{file.name}, {about}; {counted}" if numbers else f"{file.name}, {about}"))
    seed = say("seed {number}", number=result.plan.seed)
    rows.append((say("Audit made"), f"{result.made[:10]}, disclique {result.versions.get('disclique', '')}, {seed}"))
    return (Table("form", tuple(rows)),)


def _compose_result(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    """Return the verdict with what was assumed in the holder's favour and its cautions."""
    verdict, say = result.verdict, texts.say
    joint = None if result.joint is None else result.joint.message
    said: list[Paragraph | Items] = [Paragraph((say(STATUS[verdict.status]),), kind="status")]
    said += paragraphs(*verdict.reasons, joint)
    if result.favours:
        favours = Message("favours_listed", favours=[one.message for one in result.favours])
        said.append(Paragraph((favours,), say("Assumed in the data holder's favour") + ":", "favours"))
    if verdict.cautions:
        said.append(Items(paragraphs(*verdict.cautions), "cautions"))
    meaning = say("Risk is {meaning}.", meaning=say(MEANINGS[result.plan.scenario]))
    return Card(verdict.status, tuple(said)), Paragraph((meaning,), kind="soft")


def _compose_hashes(result: AuditResult, texts: Texts) -> tuple[Block, ...]:
    inputs = result.plan.inputs
    if not inputs:
        return paragraphs(texts.say("The data were given from Python; there is no file whose hash could be stated."))
    return (Items(tuple(Paragraph((f"{name}: SHA-256", Code(digest))) for name, digest in inputs.items()), "hashes"),)


def _compose_decision(texts: Texts) -> tuple[Block, ...]:
    """Return what the board fills in and signs."""
    say = texts.say
    answers = say("release as proposed"), say("release on conditions"), say("no release")
    head = "", say("name"), say("date"), say("signature")
    rows = tuple((say(who), None, None, None) for who in SIGNED)
    why = say("Conditions and reasons:")
    return Choices(answers), *paragraphs(why), Lines(2), Table("signatures", rows, head)
