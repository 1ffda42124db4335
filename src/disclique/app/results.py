"""Results of audits as pages and files: made once and kept, in the person's language, without anybody's place or id."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.app.projects import Project
from disclique.errors import InputError
from disclique.messages import map_texts
from disclique.show.library import ChartLibrary

if TYPE_CHECKING:
    from disclique.audits import AuditResult

PAGES = ("report", "annex")


class Results:
    """The results of the audits of one server: read and rendered once, as long as their files do not change."""

    def __init__(self, charts: ChartLibrary) -> None:
        self.charts = charts
        self._read = lru_cache(maxsize=8)(_read)
        self._page = lru_cache(maxsize=8)(self._render)

    def get(self, project: Project) -> AuditResult:
        """Return the result of a project, without the records even if the audit was told to put them in."""
        found = self._read(*_stamp(project))
        return found if found.records is None else replace(found, records=None)

    def page(self, project: Project, name: str, language: str) -> str:
        """Return the report or the annex of a project, as it may be shared."""
        return self._page(*_stamp(project), name, language)

    def report_with_records(self, project: Project, language: str) -> str | None:
        """Return the report with places and ids, if the audit was told to make it so."""
        import disclique

        found = self._read(*_stamp(project))
        return None if found.records is None else disclique.report(found, language=language, library=self.charts.get())

    def json(self, project: Project) -> bytes:
        """Return result.json as it may be shared."""
        from disclique.audits.result import encode_result

        return encode_result(self.get(project))

    def figures(self, project: Project) -> bytes:
        """Return the tables behind the report, packed."""
        from disclique.audits.result import tabulate_figures

        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as into:
            for name, table in tabulate_figures(self.get(project)).items():
                into.writestr(name, table.to_csv(index=False))
        return packed.getvalue()

    def policy(self) -> str:
        """Return the policy under which report and annex are shown: their own scripts, whatever else is in the page."""
        from disclique.show.report.page import list_scripts

        own = list_scripts(self.charts.get())
        seen = [text.replace("\r\n", "\n").replace("\r", "\n") for text in own]  # as a browser reads it
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in seen]
        scripts = " ".join(f"'sha256-{one}'" for one in hashes)
        return (
            f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
            "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        )

    def _render(self, path: str, changed: int, name: str, language: str) -> str:
        import disclique

        make = disclique.report if name == "report" else disclique.annex
        shared = replace(self._read(path, changed), records=None)
        return str(make(shared, language=language, library=self.charts.get()))


def _stamp(project: Project) -> tuple[str, int]:
    return str(project.result), project.result.stat().st_mtime_ns


def _read(path: str, changed: int) -> AuditResult:
    from disclique.audits.result import read_result

    try:
        return read_result(Path(path))
    except InputError as problem:
        raise InputError(map_texts(problem.message, lambda text: text.replace(path, Path(path).name))) from None
