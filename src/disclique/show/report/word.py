"""A document as a Word file, for boards that edit: headings, tables with header rows, pictures and page numbers.

Nothing in it leads elsewhere, and the same document gives the same bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import singledispatchmethod
from typing import Any

from disclique.errors import MissingDependency
from disclique.locale import Texts
from disclique.messages import Message
from disclique.show.pages import SPACE
from disclique.show.report.document import (
    Block,
    Card,
    Cell,
    Chart,
    Choices,
    Code,
    Document,
    Drawing,
    Heading,
    Items,
    Lines,
    Paragraph,
    Said,
    Section,
    Table,
)
from disclique.show.report.page import NUMBERS

MOST_LETTERS = 255  # of what a Word file says of itself
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LOCALES = {"en": "en-GB", "de": "de-DE"}
_COLOURS = {"meets": "00694D", "unproven": "8A5300", "fails": "B3261E"}  # of a headline, as on the page
_BOX = {  # the look of an extent, which the page has from its style sheet
    'class="land"': 'fill="#f7f6f1" stroke="#9aa5b1" stroke-width="0.6"',
    'class="ours"': 'fill="#d55e00" fill-opacity="0.13" stroke="#d55e00" stroke-width="2"',
    'class="theirs"': 'fill="none" stroke="#0072b2" stroke-width="2" stroke-dasharray="5 3"',
}


@dataclass(frozen=True)
class Sheet:
    """Measures of a page in mm, of a chart in pixels and of letters in points.

    ``rule`` is the height of what is filled in by hand, ``widths`` are shares of the page that pictures take, if not
    all of it.
    """

    width: float = 210.0
    height: float = 297.0
    margin: float = 20.0
    chart: int = 640
    scale: float = 2.0
    letters: float = 10.0
    small: float = 8.5
    rule: float = 9.0
    widths: Mapping[str, float] = field(default_factory=lambda: {"cells": 0.75, "extent": 0.3})

    @property
    def room(self) -> float:
        """The width between the margins."""
        return self.width - 2 * self.margin

    def columns(self, kind: str, count: int) -> list[float]:
        """Return the widths of the columns of a table."""
        if kind == "grid" and count == 4:  # a name, a question, the figure, what it is compared with
            return [share * self.room for share in (0.18, 0.22, 0.37, 0.23)]
        shares = {"form": 0.42, "facing": 0.3, "figures": 0.4, "signatures": 0.34, "grid": 0.22}
        first = (0.24 if kind == "figures" and count > 4 else shares[kind]) * self.room
        return [first, *([(self.room - first) / max(count - 1, 1)] * (count - 1))]


SHEET = Sheet()


def render_word(document: Document, texts: Texts, sheet: Sheet = SHEET) -> bytes:
    """Return a document as the bytes of a Word file."""
    try:
        import docx
    except ImportError:
        raise MissingDependency("word_needs_docx") from None
    made = _Writer(docx.Document(), texts, sheet)
    made.prepare(document)
    made.write_title(document)
    for number, section in enumerate(document.sections, start=1):
        made.write_section(number, section)
    packed = io.BytesIO()
    made.file.save(packed)
    return _without_times(packed.getvalue())


def _without_times(packed: bytes) -> bytes:
    """Return a packed file without the time at which it was packed."""
    into = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as before, zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            after.writestr(zipfile.ZipInfo(name), before.read(name), zipfile.ZIP_DEFLATED)
    return into.getvalue()


def _clean(text: str) -> str:
    """Return a text without signs that no XML may hold."""
    return _ILLEGAL.sub("\ufffd", text)


def _read_time(made: str) -> datetime:
    """Return when an audit was made, as Word writes it; the same day for all where that is not said."""
    try:
        return datetime.fromisoformat(made).replace(tzinfo=None)
    except ValueError:
        return datetime(2000, 1, 1)


class _Writer:
    """Writes the blocks of a document into a Word file, one after the other."""

    def __init__(self, file: Any, texts: Texts, sheet: Sheet) -> None:
        self.file, self.texts, self.sheet = file, texts, sheet

    # -- the file ------------------------------------------------------------------------------------------------------

    def prepare(self, document: Document) -> None:
        """Set paper, styles, language, what the file says of itself, and the page numbers."""
        from docx.shared import Mm

        page, sheet = self.file.sections[0], self.sheet
        page.page_width, page.page_height = Mm(sheet.width), Mm(sheet.height)
        page.left_margin = page.right_margin = page.top_margin = page.bottom_margin = Mm(sheet.margin)
        about = self.file.core_properties
        author, title = (_clean(text)[:MOST_LETTERS] for text in (document.author, self.say(document.title)))
        about.author, about.last_modified_by, about.title, about.comments = author, author, title, ""
        about.language = _LOCALES[self.texts.language]
        about.created = about.modified = _read_time(document.made)
        self._prepare_styles()
        self._number_pages(page.footer.paragraphs[0], self.say(document.title))

    def _prepare_styles(self) -> None:
        from docx.oxml.ns import qn
        from docx.shared import Pt, RGBColor

        styles, sheet = self.file.styles, self.sheet
        sizes = {"Normal": sheet.letters, "Title": 18, "Heading 1": 13, "Heading 2": 11}
        for name, size in sizes.items():
            style = styles[name]
            style.font.size, style.font.name = Pt(size), "Calibri"
            fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
            for of in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):  # a theme would be drawn in its own
                fonts.attrib.pop(qn(f"w:{of}"), None)
            if name != "Normal":
                style.font.color.rgb = RGBColor(0x1D, 0x21, 0x27)
        styles["Normal"].paragraph_format.space_after = Pt(5)
        for language in styles.element.iter(qn("w:lang")):
            language.set(qn("w:val"), _LOCALES[self.texts.language])

    def _number_pages(self, footer: Any, title: str) -> None:
        """Write title, page and how many there are below every page."""
        from docx.oxml import OxmlElement
        from docx.oxml.ns import qn
        from docx.shared import Pt

        for part in (f"{title}  ·  ", "PAGE", " / ", "NUMPAGES"):
            if not part.isupper():
                footer.add_run(part).font.size = Pt(self.sheet.small)
                continue
            field = OxmlElement("w:fldSimple")
            field.set(qn("w:instr"), part)
            run = OxmlElement("w:r")
            run.append(OxmlElement("w:t"))
            run[0].text = "1"
            field.append(run)
            footer._p.append(field)

    def write_title(self, document: Document) -> None:
        """Write what stands above the first section."""
        self.write(Paragraph((document.above,), kind="soft"))
        self.file.add_paragraph(self.say(document.title), style="Title")

    def write_section(self, number: int, section: Section) -> None:
        """Write a section under its number."""
        self.file.add_heading(f"{number} {self.say(section.title)}", level=1)
        before = len(self.file.element.body)
        for block in section.blocks:
            self.write(block)
        if section.together:
            self._keep_together(before)

    def _keep_together(self, since: int) -> None:
        """Keep all paragraphs since a place of the file, those in tables too, on the page of the next one."""
        from docx.oxml.ns import qn
        from docx.text.paragraph import Paragraph as Written

        for element in self.file.element.body[since:]:
            for paragraph in element.iter(qn("w:p")):
                Written(paragraph, self.file).paragraph_format.keep_with_next = True

    # -- words ---------------------------------------------------------------------------------------------------------

    def say(self, said: Said) -> str:
        """Return what is said in the language of the file."""
        if isinstance(said, Message):
            return _clean(self.texts.say(said))
        return _clean(said.text if isinstance(said, Code) else said)

    def _fill(self, into: Any, paragraph: Paragraph) -> Any:
        """Put sentences into a paragraph of the file."""
        from docx.shared import Pt, RGBColor

        if paragraph.lead is not None:
            into.add_run(f"{self.say(paragraph.lead)} ").bold = True
        for place, part in enumerate(paragraph.parts):
            self._put(into, part)
            if place < len(paragraph.parts) - 1:
                into.add_run(" ")
        for run in into.runs:
            if paragraph.kind == "soft":
                run.font.size, run.font.color.rgb = Pt(self.sheet.small + 0.5), RGBColor(0x44, 0x4B, 0x55)
            elif paragraph.kind == "status":
                run.bold, run.font.size = True, Pt(self.sheet.letters + 2)
        return into

    def _put(self, into: Any, said: Said) -> Any:
        from docx.shared import Pt

        run = into.add_run(self.say(said))
        if isinstance(said, Code):
            run.font.name, run.font.size = "Consolas", Pt(self.sheet.small)
        return run

    # -- blocks --------------------------------------------------------------------------------------------------------

    @singledispatchmethod
    def write(self, block: Block) -> None:
        """Write a block."""
        raise TypeError(type(block))

    @write.register
    def _(self, block: Paragraph) -> None:
        self._fill(self.file.add_paragraph(), block)

    @write.register
    def _(self, block: Items) -> None:
        for line in block.lines:
            self._fill(self.file.add_paragraph(style="List Bullet"), line)

    @write.register
    def _(self, block: Heading) -> None:
        self.file.add_heading(self.say(block.said), level=2)

    @write.register
    def _(self, block: Table) -> None:
        from docx.shared import Mm, Pt

        widths = self.sheet.columns(block.kind, len(block.rows[0] if block.rows else block.head))
        table = self.file.add_table(rows=0, cols=len(widths))
        table.style, table.autofit = "Table Grid", False
        for column, width in zip(table.columns, widths, strict=True):
            column.width = Mm(width)
        if block.head:
            self._add_row(table, block.head, widths, head=True)
        for place, row in enumerate(block.rows):
            self._add_row(table, row, widths, own=place in block.own)
            if None in row:  # to be filled in by hand
                table.rows[-1].height = Mm(self.sheet.rule if block.kind == "form" else 1.6 * self.sheet.rule)
        self.file.add_paragraph().paragraph_format.space_after = Pt(2)

    def _add_row(
        self, table: Any, cells: tuple[Cell, ...], widths: list[float], *, head: bool = False, own: bool = False
    ) -> None:
        """Add a row; that of the head is repeated on every page, and none is torn apart."""
        from docx.oxml import OxmlElement
        from docx.shared import Mm, Pt

        row = table.add_row()
        about = row._tr.get_or_add_trPr()
        about.append(OxmlElement("w:cantSplit"))
        if head:
            about.append(OxmlElement("w:tblHeader"))
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            box = row.cells[place]
            box.width = Mm(width)
            paragraph = box.paragraphs[0]
            paragraph.paragraph_format.space_after = Pt(1)
            if cell is not None:
                run = self._put(paragraph, cell)
                run.font.size = Pt(self.sheet.small if head else self.sheet.small + 0.5)
                run.bold = head or own or None

    @write.register
    def _(self, block: Chart) -> None:
        self._add_picture(
            _draw(block, self.texts, self.sheet), self.say(block.said), self.sheet.widths.get(block.name, 1.0)
        )

    @write.register
    def _(self, block: Drawing) -> None:
        self._add_picture(
            _rasterise(block.svg, self.sheet), self.say(block.caption.parts[0]), self.sheet.widths["extent"]
        )
        self.write(block.caption)

    def _add_picture(self, png: bytes, said: str, share: float) -> None:
        """Add a picture that takes a share of the width, with what is said of it to those who do not see it."""
        from docx.shared import Mm

        shape = self.file.add_picture(io.BytesIO(png), width=Mm(share * self.sheet.room))
        shape._inline.docPr.set("descr", said)
        self.file.paragraphs[-1].paragraph_format.keep_with_next = True

    @write.register
    def _(self, block: Choices) -> None:
        together = (self.say(one).replace(" ", SPACE) for one in block.answers)
        self.file.add_paragraph("     ".join(f"☐{SPACE}{one}" for one in together))

    @write.register
    def _(self, block: Lines) -> None:
        for _ in range(block.count):
            self.file.add_paragraph("_" * 86)

    @write.register
    def _(self, block: Card) -> None:
        from docx.shared import RGBColor

        for one in block.blocks:
            self.write(one)
            if isinstance(one, Paragraph) and one.kind == "status" and block.status in _COLOURS:
                for run in self.file.paragraphs[-1].runs:
                    run.font.color.rgb = RGBColor.from_string(_COLOURS[block.status])


def _draw(chart: Chart, texts: Texts, sheet: Sheet) -> bytes:
    """Return a chart as PNG, in the colours of paper."""
    try:
        import vl_convert
    except ImportError:
        raise MissingDependency("report_needs_vl_convert") from None
    ink = {"labelColor": "#2b2f36", "titleColor": "#2b2f36", "labelFontSize": 12, "titleFontSize": 12}
    look = {"axis": {**ink, "titleFontWeight": "normal", "labelLimit": 260}, "legend": ink, "font": "sans-serif"}
    locale: Any = NUMBERS.get(texts.language)
    spec = {**chart.spec, "width": sheet.chart}
    return bytes(vl_convert.vegalite_to_png(spec, scale=sheet.scale, config=look, format_locale=locale))


def _rasterise(svg: str, sheet: Sheet) -> bytes:
    """Return a drawing as PNG, with the look that the page gives it."""
    import vl_convert

    for name, look in _BOX.items():
        svg = svg.replace(name, look)
    inside = svg.index(">") + 1
    sea = '<rect width="100%" height="100%" fill="#e8eef4"/>'
    whole = svg[:inside].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + sea + svg[inside:]
    return bytes(vl_convert.svg_to_png(whole, scale=sheet.scale))
