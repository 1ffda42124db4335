"""A document as a value: sections of paragraphs, tables and pictures, from which a page and a Word file are rendered.

What is said is a message, in whatever language the document is read; a text stands as it is, and None is a place to be
filled in by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from disclique.messages import Message
from disclique.values import Json


@dataclass(frozen=True)
class Code:
    """A text that is copied to the letter: a setting, a hash."""

    text: str


Said = str | Message | Code
Cell = Said | None


@dataclass(frozen=True)
class Paragraph:
    """Sentences, with a ``lead`` in bold before them; ``kind`` is ``status`` (a headline), ``soft`` or nothing."""

    parts: tuple[Said, ...]
    lead: Said | None = None
    kind: str = ""


@dataclass(frozen=True)
class Items:
    """A list; ``kind`` is ``cautions``, ``remarks`` or nothing."""

    lines: tuple[Paragraph, ...]
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of as many cells as the ``head`` has; the first cell of a row says what the row is.

    ``kind`` is ``form`` (a title and what is filled in), ``facing`` (a column for each file), ``grid`` (words),
    ``figures`` (numbers) or ``signatures``. ``own`` are the rows that stand out.
    """

    kind: str
    rows: tuple[tuple[Cell, ...], ...]
    head: tuple[Said, ...] = ()
    own: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Heading:
    """The title of a part of a section."""

    said: Said


@dataclass(frozen=True)
class Chart:
    """A chart by its name and its Vega-Lite specification; ``said`` is for those who do not see it."""

    name: str
    spec: Json
    said: Said


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG, with what stands below it."""

    svg: str
    caption: Paragraph


@dataclass(frozen=True)
class Choices:
    """Answers of which one is ticked by hand."""

    answers: tuple[Said, ...]


@dataclass(frozen=True)
class Lines:
    """Empty lines to write on."""

    count: int


@dataclass(frozen=True)
class Card:
    """The verdict, set apart by its ``status``."""

    status: str
    blocks: tuple[Paragraph | Items, ...]


Block = Paragraph | Items | Table | Heading | Chart | Drawing | Choices | Lines | Card


@dataclass(frozen=True)
class Section:
    """A part of a document under its own title; sections are numbered in their order.

    One that is ``together`` stands on one page.
    """

    title: Said
    blocks: tuple[Block, ...]
    together: bool = False


@dataclass(frozen=True)
class Document:
    """A document: what stands ``above`` its title, the title, and its sections; ``author`` and ``made`` if known."""

    above: Said
    title: Said
    sections: tuple[Section, ...]
    author: str = ""
    made: str = ""

    @property
    def blocks(self) -> Iterator[Block]:
        """All that stands in its sections."""
        for section in self.sections:
            yield from section.blocks

    @property
    def charts(self) -> dict[str, Json]:
        """The specifications of its charts by name."""
        return {block.name: block.spec for block in self.blocks if isinstance(block, Chart)}


def paragraphs(*said: Said | None, kind: str = "") -> tuple[Paragraph, ...]:
    """Return a paragraph for each thing that is said; None says nothing."""
    return tuple(Paragraph((one,), kind=kind) for one in said if one is not None)
