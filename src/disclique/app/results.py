"""Results of audits as pages and files: made once and kept, in the person's language, without anybody's place or id."""

from __future__ import annotations

import base64
import hashlib
import inspect
import io
import zipfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disclique.app.library import charts
from disclique.app.works import Work
from disclique.errors import InputError

if TYPE_CHECKING:
    from disclique.audits import AuditResult

PAGES = ("report", "annex")


def result_of(work: Work) -> AuditResult:
    """Return the result of a piece of work, without the records even if the audit was told to put them in."""
    return _shared(str(work.result), work.result.stat().st_mtime_ns)


def page_of(work: Work, name: str, language: str) -> str:
    """Return the report or the annex of a piece of work, as it may be shared."""
    return _page(str(work.result), work.result.stat().st_mtime_ns, name, language)


def report_with_records(work: Work, language: str) -> str | None:
    """Return the report with places and ids, if the audit was told to make it so."""
    found = _whole(str(work.result), work.result.stat().st_mtime_ns)
    return None if found.records is None else _render(found, "report", language)


def result_bytes(work: Work) -> bytes:
    """Return result.json as it may be shared."""
    from disclique.audits.result import encode_result

    return encode_result(result_of(work))


def figures_zip(work: Work) -> bytes:
    """Return the tables behind the report, packed."""
    from disclique.audits.figures import tabulate_figures

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as into:
        for name, table in tabulate_figures(result_of(work)).items():
            into.writestr(name, table.to_csv(index=False))
    return packed.getvalue()


@lru_cache(maxsize=1)
def page_policy() -> str:
    """Return the policy under which report and annex are shown: their own scripts, whatever else is in the page."""
    from disclique.show.report.page import list_scripts

    seen = [text.replace("\r\n", "\n").replace("\r", "\n") for text in list_scripts()]  # as a browser reads it
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in seen]
    scripts = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )


@lru_cache(maxsize=8)
def _whole(path: str, changed: int) -> AuditResult:
    from disclique.audits.result import read_result

    try:
        return read_result(Path(path))
    except InputError as problem:
        raise InputError(str(problem).replace(path, Path(path).name)) from None


def _shared(path: str, changed: int) -> AuditResult:
    found = _whole(path, changed)
    return found if found.records is None else replace(found, records=None)


@lru_cache(maxsize=8)
def _page(path: str, changed: int, name: str, language: str) -> str:
    return _render(_shared(path, changed), name, language)


def _render(result: AuditResult, name: str, language: str) -> str:
    import disclique

    charts()  # which the page has inside
    make: Any = {"report": disclique.report, "annex": disclique.annex}[name]
    said = {"language": language} if "language" in inspect.signature(make).parameters else {}
    return str(make(result, **said))
