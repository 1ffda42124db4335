"""The annex as a form: one content in HTML and Word, sections of regulators, and no figure for what is not known."""

import io
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.oxml.ns import qn

import disclique as dq
from builders import refused
from conftest import Run
from disclique.audits import AuditResult
from disclique.audits.facts import (
    InferenceFacts,
    KnownFigures,
    ReleasedColumn,
    ReleasedFacts,
    declare,
)
from disclique.audits.result import encode_result
from disclique.errors import DiscliqueError, MissingDependency
from disclique.locale import texts_in
from disclique.messages import Message, has_sentence
from disclique.show.report.annex_form import compose_criteria, compose_threshold, compose_variables
from disclique.show.report.annex_page import annex_word, compose_annex
from disclique.show.report.document import Block, Chart, Code, Drawing, Items, Paragraph, Table
from disclique.show.report.pdf import Printers, print_pdf
from small_files import make_file

EVIL = 'teaching <b>&amp; "only"</b>'
ENGLISH = re.compile(r"\b(the|were|would|with|which|of|and|are|not|from|that|does|have|by)\b")
SECTIONS = 11


@pytest.fixture(scope="module")
def bare() -> AuditResult:
    """An audit with a limit, other assumptions, a map, and the records in it; nobody measured what others add."""
    asked: dict[str, Any] = {"overlap": 0.5, "repetitions": 1, "max_risk": 0.09, "person_trials": 10}
    decision = {"author": "A. Meyer", "purpose": EVIL, "holder": "The Office"}
    made = dq.audit(
        make_file(40), "gaussian:sigma=25km", attacks="labels", with_records=True, decision=decision, **asked
    )
    return replace(made, released=None, figures=())


@pytest.fixture(scope="module")
def full(bare: AuditResult) -> AuditResult:
    """The same with a sensitive column, the figures of other tools, and what would be released."""
    spec = bare.verdict.setting
    asthma = InferenceFacts("asthma", 0.61, 0.66, 0.55, 0.58, certain=0.12, draws=5, meets=False)
    before = KnownFigures("file", 1, 0.21, 1.0, 0.13, 0.4, population_unique=0.03, diversity={"asthma": 1})
    after = KnownFigures("release", 3, 0.1, 0.33, 0.05, 0.2, population_unique=0.017, spatial_k=7.0)
    columns = (
        ReleasedColumn("sex", "label", Message("labels_as_they_are")),
        ReleasedColumn("asthma", "sensitive", Message("labels_as_they_are")),
    )
    released = ReleasedFacts(spec, (Message("kind_matrix"),), columns, (Message("kind_plane"),), ("phone",), 3)
    settings = tuple(replace(one, inference=(asthma,)) if one.spec == spec else one for one in bare.settings)
    return replace(bare, settings=settings, figures=(before, after), released=released)


@pytest.fixture(params=["bare", "full"])
def result(request: pytest.FixtureRequest) -> AuditResult:
    return request.getfixturevalue(request.param)


class Texts(HTMLParser):
    """The texts of the blocks of a page in their order, by which element they are."""

    BLOCKS = ("p", "h1", "h2", "h3", "li", "th", "td", "figcaption")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, _: Any) -> None:
        if tag in (*self.BLOCKS, "script", "style", "title"):
            self.open.append(tag)
            if tag in self.BLOCKS:
                self.found.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if self.open and tag == self.open[-1]:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.BLOCKS:
            tag, text = self.found[-1]
            self.found[-1] = tag, text + data


def squeeze(texts: list[str]) -> list[str]:
    """Return texts that say something, with one blank between words."""
    words = [" ".join(text.split()) for text in texts]
    return [text for text in words if text.strip("_")]


def read_word(made: bytes) -> Any:
    return docx.Document(io.BytesIO(made))


def list_word_texts(file: Any) -> list[str]:
    """Return what stands in a Word file, paragraphs and cells in their order."""
    return ["".join(part.text or "" for part in one.iter(qn("w:t"))) for one in file.element.body.iter(qn("w:p"))]


def unpack(made: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(made)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


# -- two renderings of one content ---------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "de"])
def test_page_and_word_file_say_the_same_in_the_same_order(result: AuditResult, language: str) -> None:
    """Every heading, paragraph, item and cell of the one is in the other, and nothing else is."""
    page = [text for _, text in Texts(result.annex(language=language)).found]
    file = read_word(annex_word(result, language=language))
    assert squeeze(list_word_texts(file)) == squeeze(page)
    assert len(squeeze(page)) > 100


def test_a_word_file_is_one_that_boards_can_work_with(full: AuditResult) -> None:
    """Numbered headings, heads of tables on every page, page numbers, pictures with words, A4, in its language."""
    file = read_word(annex_word(full, language="de"))
    titles = [one.text for one in file.paragraphs if one.style.name == "Heading 1"]
    assert [title.split(" ", 1)[0] for title in titles] == [str(k + 1) for k in range(SECTIONS)]
    tables = [block for block in compose_annex(full, texts_in("de")).blocks if isinstance(block, Table)]
    assert len(file.tables) == len(tables)
    for written, table in zip(file.tables, tables, strict=True):
        repeated = [row for row in written.rows if row._tr.find(f"{qn('w:trPr')}/{qn('w:tblHeader')}") is not None]
        assert len(repeated) == (1 if table.head else 0)
        assert len(written.rows) == len(table.rows) + len(repeated)
    footer = file.sections[0].footer._element
    assert [one.get(qn("w:instr")) for one in footer.iter(qn("w:fldSimple"))] == ["PAGE", "NUMPAGES"]
    pictures = [block for block in compose_annex(full, texts_in("de")).blocks if isinstance(block, (Chart, Drawing))]
    assert len(file.inline_shapes) == len(pictures) == 3
    assert all(shape._inline.docPr.get("descr") for shape in file.inline_shapes)
    assert (round(file.sections[0].page_width.mm), round(file.sections[0].page_height.mm)) == (210, 297)
    assert {one.get(qn("w:val")) for one in file.styles.element.iter(qn("w:lang"))} == {"de-DE"}
    assert file.core_properties.author == "A. Meyer"


def test_a_word_file_leads_nowhere_and_names_nobody(full: AuditResult) -> None:
    """No link, no id or place of a record, although the result holds them; and the same bytes each time."""
    made = annex_word(full)
    assert annex_word(full) == made
    parts = unpack(made)
    assert not [name for name, part in parts.items() if name.endswith(".rels") and b'TargetMode="External"' in part]
    assert full.records is not None
    whole = b"".join(part for name, part in parts.items() if not name.endswith((".png", ".jpeg")))
    page = full.annex().encode()
    for person in full.records.people:
        assert person.x is not None
        for held in (person.id, f"{person.x:.4f}"):
            assert held.encode() not in whole
            assert held.encode() not in page
    assert b"<a " not in page.split(b"<script", 1)[0]


def test_signs_that_break_a_page_or_a_file_are_held_off(bare: AuditResult) -> None:
    """Markup stays text in both; what XML cannot hold is replaced, and a name of any length is taken."""
    odd = replace(bare.file, name=f"{'long' * 90}\x07{EVIL}.csv")
    result = replace(bare, file=odd, declared=declare({"author": "\x00A. <i>Meyer</i>" + "r" * 300, "purpose": EVIL}))
    assert EVIL not in result.annex()
    assert "teaching &lt;b&gt;" in result.annex()
    file = read_word(annex_word(result))
    assert EVIL in "\n".join(list_word_texts(file))
    assert "\ufffdA. <i>Meyer</i>" in file.core_properties.author


def said(blocks: Iterator[Block]) -> Iterator[Any]:
    """Everything that blocks say."""
    for block in blocks:
        if isinstance(block, Paragraph):
            yield from block.parts
        elif isinstance(block, Items):
            yield from said(iter(block.lines))
        elif isinstance(block, Table):
            yield from block.head
            yield from (cell for row in block.rows for cell in row)


def test_the_german_form_is_german(full: AuditResult) -> None:
    document = compose_annex(full, texts_in("de"))
    for one in said(document.blocks):
        if isinstance(one, Message):
            assert has_sentence(one, "de"), one
        if one is not None and not isinstance(one, Code) and one != EVIL:
            words = texts_in("de").say(one) if isinstance(one, Message) else one
            assert not ENGLISH.search(re.sub(r"\S+:\S+=\S+", "", words)), words


# -- what the sections say -----------------------------------------------------------------------------------------


def criteria(result: AuditResult) -> dict[str, tuple[str, str]]:
    """The figure of each criterion and what it is compared with, in English."""
    table = compose_criteria(result, texts_in("en"))[0]
    assert isinstance(table, Table)
    return {str(row[0]): (str(row[2]), str(row[3])) for row in table.rows}


def test_the_three_criteria_have_the_figures_of_the_run(full: AuditResult) -> None:
    """Singling out by everything, by labels and in the population; linkability with its end; inference and guesses."""
    found = criteria(full)
    assert list(found) == ["Singling out", "Linkability", "Inference: asthma"]
    people = next(one for one in full.people_risk if one.spec == full.verdict.setting)
    alone, before = found["Singling out"]
    assert f"{people.above_half} of {people.people} people stand out" in alone
    assert "5.0 % of the records are alone in their class" in alone
    assert "1.7 % of the records are alone in the population" in alone
    assert "13\u00a0% alone in their class" in before
    risk = full.setting(full.verdict.setting).risk
    linked = found["Linkability"][0]
    assert all(f"{share:.0%}".removesuffix("%") in linked for share in (risk.value, risk.high))
    told, guesses = found["Inference: asthma"]
    assert re.findall(r"\d+ %", told) == ["61 %", "66 %", "12 %"]
    assert "not shown that the limit" in told
    assert re.findall(r"\d+", guesses) == ["55", "58"]


def test_what_is_not_known_is_never_a_figure(bare: AuditResult) -> None:
    """Not asked, not measured, and not modelled are said; no share stands for them."""
    head = bare.setting(bare.verdict.setting)
    unknown = InferenceFacts("asthma", None, None, 0.5, 0.5, why=Message("persons_not_measured"))
    found = criteria(replace(bare, people_risk=()))
    assert found["Inference"] == ("Not asked: no sensitive column was named.", "–")
    assert not re.search(r"\d", found["Singling out"][0])
    assert found["Singling out"][0].startswith("Not measured")
    blind = replace(head, oracle=None, oracle_why=Message("persons_not_measured"), inference=(unknown,))
    result = replace(bare, settings=(blind,))
    found = criteria(result)
    assert not re.search(r"\d", found["Inference: asthma"][0])
    assert "is not modelled and may be more" in found["Linkability"][0]
    page = result.annex()
    assert "The oracle could not be asked" in page
    assert "not modelled" in page
    attacked = replace(bare.people_risk[0], source="clique")
    assert "there may be more" in criteria(replace(bare, people_risk=(attacked,)))["Singling out"][0]


@pytest.mark.parametrize(
    ("limit", "person", "codes"),
    [
        (None, None, ["annex_no_limit"]),
        (0.09, None, ["annex_limit_is_a_mean", "annex_no_limit_of_a_person"]),
        (0.2, None, ["annex_limit_is_a_mean", "annex_limit_above_reference", "annex_no_limit_of_a_person"]),
        (0.05, 0.5, ["annex_limit_is_a_mean", "annex_person_above_reference"]),
        (0.05, 0.09, ["annex_limit_is_a_mean", "annex_person_within_reference"]),
    ],
)
def test_a_limit_is_set_against_the_threshold_of_regulators(
    bare: AuditResult, limit: float | None, person: float | None, codes: list[str]
) -> None:
    """Theirs is for the most exposed person: a mean under it shows nothing of that."""
    result = replace(bare, plan=replace(bare.plan, max_risk=limit, max_risk_person=person))
    table, *sentences = compose_threshold(result, texts_in("en"))
    assert [one.parts[0].code for one in sentences if isinstance(one, Paragraph)] == codes  # type: ignore[union-attr]
    assert isinstance(table, Table)
    shown = {str(title): value for title, value in table.rows}
    assert shown["Reason for this threshold"] is None  # to be filled in
    assert shown["Reference: EMA Policy 0070 and Health Canada PRCI"].values["share"] == 0.09  # type: ignore[union-attr]
    highest = bare.people_risk[0].quantiles["highest"]
    assert shown["Most exposed person, as measured"].values["share"] == highest  # type: ignore[union-attr]
    unmeasured = dict(compose_threshold(replace(result, people_risk=()), texts_in("en"))[0].rows)  # type: ignore[union-attr]
    assert unmeasured["Most exposed person, as measured"] == "not measured"


def test_every_variable_has_what_was_done_to_it(bare: AuditResult, full: AuditResult) -> None:
    """From what would be released where that is said of this setting; else by what the setting does to all."""

    def variables(result: AuditResult) -> dict[str, tuple[str, ...]]:
        table = compose_variables(result, texts_in("en"))[0]
        assert isinstance(table, Table)
        return {str(row[0]): tuple(map(str, row[1:])) for row in table.rows}

    found = variables(full)
    assert found["ids of the records"] == ("direct identifier", "not released")
    assert found["sex"] == ("quasi-identifier (label)", "labels as they are")
    assert found["asthma"][0] == "sensitive variable"
    assert found["phone"][1] == "not released"
    assert "3 people are left out of the release." in full.annex()
    for result in (bare, replace(full, released=replace(full.released, spec="affine"))):  # type: ignore[type-var]
        assert "sex, age" in variables(result)
        assert "were not part of the audit" in result.annex()


# -- the doors -----------------------------------------------------------------------------------------------------


def test_the_ending_says_as_what_an_annex_is_written(bare: AuditResult, tmp_path: Path) -> None:
    """The page comes back whatever is written; a name under which none is written leaves nothing behind."""
    page = bare.annex(tmp_path / "a.HTM")
    assert (tmp_path / "a.HTM").read_text(encoding="utf-8") == page
    assert bare.annex(str(tmp_path / "a.docx"), {"author": "B. Schulz"}, language="de").startswith("<!doctype")
    file = docx.Document(str(tmp_path / "a.docx"))
    assert file.core_properties.author == "B. Schulz"
    assert file.paragraphs[1].text == "Offenlegungsrisiko von file.csv"
    for name in ("a.odt", "annex"):
        with refused("annex_in_unknown_format"):
            bare.annex(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"a.HTM", "a.docx"}


def pretend(folder: Path, name: str, script: str) -> None:
    """Put a program into a folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_pdf_is_made_by_what_the_machine_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an office from the Word file, else by a browser from the page; without either in one sentence."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    mine = Printers(("my-office",), ("my-browser",))
    with pytest.raises(MissingDependency) as none:
        print_pdf(b"word", "page", mine)
    assert none.value.message.code == "pdf_needs_a_program"
    last = 'for given; do last="$given"; done; last="${last#file://}"'
    pretend(tmp_path, "my-browser", f'{last}; cat "$last" > "${{last%.html}}.pdf"')
    assert print_pdf(b"word", "page", mine) == b"page"
    pretend(tmp_path, "my-office", "exit 3")
    assert print_pdf(b"word", "page", mine) == b"page"
    pretend(tmp_path, "my-office", f'{last}; cat "$last" > "${{last%.docx}}.pdf"')
    assert print_pdf(b"word", "page", mine) == b"word"
    pretend(tmp_path, "my-office", "exit 3")
    with pytest.raises(DiscliqueError) as failed:
        print_pdf(b"word", "page", Printers(("my-office",), ()))
    assert failed.value.message.code == "pdf_not_made"


def test_the_command_writes_the_formats_that_are_asked_for(bare: AuditResult, run: Run) -> None:
    """A page and a Word file without a word; others by --format, which goes with --annex."""
    Path("result.json").write_bytes(encode_result(replace(bare, records=None)))
    code, _, err = run("report", "result.json", "--annex", "--out", "a/report.html")
    assert code == 0, err
    assert {path.name for path in Path("a").iterdir() if path.is_file()} == {"report.html", "annex.html", "annex.docx"}
    code, _, err = run("report", "result.json", "--annex", "--format", "docx", "--out", "b/report.html")
    assert code == 0, err
    assert {path.name for path in Path("b").iterdir() if path.is_file()} == {"report.html", "annex.docx"}
    code, _, err = run("report", "result.json", "--format", "docx", "--out", "c/report.html")
    assert (code, "--annex" in err, Path("c").exists()) == (2, True, False)
    assert run("report", "result.json", "--annex", "--format", "odt", "--out", "c/report.html")[0] == 2
