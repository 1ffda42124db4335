"""The documentation as tests see it: pages, their blocks, and the notes that say what is done with a block."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^(?:shell |! ?)?(disclique (?:.*\\\n)*.*)$", re.M)
ELIDED = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, what the comment above it says, and in which line it begins."""

    kind: str
    text: str
    note: str
    line: int

    @property
    def commands(self) -> list[list[str]]:
        """The words of every ``disclique`` command in it."""
        return [shlex.split(command.replace("\\\n", " "), comments=True) for command in COMMAND.findall(self.text)]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["kind"], found["text"], found["note"] or "", text[: found.start("text")].count("\n") + 1)
        for found in BLOCK.finditer(text)
    ]


def name_of(page: Path) -> str:
    """Return how a page is called in the repository."""
    return page.relative_to(ROOT).as_posix()


def slugs(text: str) -> set[str]:
    """Return the anchors of a page's headings, as forges and the site make them."""
    bare = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", bare, re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def links(text: str) -> list[str]:
    """Return where a page's links lead; code is no link."""
    bare = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)
    return re.findall(r"\]\(([^)\s]+)\)", bare)
