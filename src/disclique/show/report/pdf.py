"""A PDF of a document, by what the machine has: LibreOffice from the Word file, or Chromium from the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from disclique.errors import DiscliqueError, MissingDependency


@dataclass(frozen=True)
class Printers:
    """The programs that print, by the names under which they may be found, and how many seconds one may take."""

    offices: tuple[str, ...] = ("soffice", "libreoffice")
    browsers: tuple[str, ...] = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
    seconds: float = 180.0


PRINTERS = Printers()


def print_pdf(word: bytes, page: str, printers: Printers = PRINTERS) -> bytes:
    """Return a PDF of what is given both as a Word file and as a page."""
    ways: tuple[tuple[tuple[str, ...], str, bytes, Callable[[str, Path], list[str]]], ...] = (
        (printers.offices, "annex.docx", word, _by_office),
        (printers.browsers, "annex.html", page.encode(), _by_browser),
    )
    tried = None
    for names, name, content, command in ways:
        program = next((path for one in names if (path := shutil.which(one))), None)
        if program is None:
            continue
        tried = program
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, name)
            source.write_bytes(content)
            made = source.with_suffix(".pdf")
            if _run(command(program, source), printers.seconds) and made.exists():
                return made.read_bytes()
    if tried is None:
        raise MissingDependency("pdf_needs_a_program")
    raise DiscliqueError("pdf_not_made", program=Path(tried).name)


def _by_office(program: str, source: Path) -> list[str]:
    own = f"-env:UserInstallation={(source.parent / 'profile').as_uri()}"  # an office that is open stays alone
    return [program, own, "--headless", "--convert-to", "pdf", "--outdir", str(source.parent), str(source)]


def _by_browser(program: str, source: Path) -> list[str]:
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # it starts for root only so
    flags = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--virtual-time-budget=20000", *root]
    own = f"--user-data-dir={source.parent / 'profile'}"
    return [program, *flags, own, f"--print-to-pdf={source.with_suffix('.pdf')}", source.as_uri()]


def _run(command: list[str], seconds: float) -> bool:
    """Run a program and say whether it ended well in time."""
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=seconds).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
