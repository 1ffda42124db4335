"""Results of audits as pages and files: made once and kept, in the person's language, without anybody's place or id."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.app.projects import Project
from disclique.errors import InputError
from disclique.messages import map_texts
from disclique.show.pages import ChartLibrary

if TYPE_CHECKING:
    from disclique.advice import Advice
    from disclique.audits import AuditResult
    from disclique.audits.facts import SettingFacts
    from disclique.audits.recipient_facts import RecipientsFacts
    from disclique.locale import Texts

PAGES = ("report", "annex")


class Results:
    """The results of the audits of one server: read and rendered once, as long as their files do not change."""

    def __init__(self, charts: ChartLibrary) -> None:
        self.charts = charts
        self._read = lru_cache(maxsize=8)(_read)
        self._page = lru_cache(maxsize=8)(self._render)
        self._advice = lru_cache(maxsize=8)(_read_advice)
        self._advice_page = lru_cache(maxsize=8)(self._render_advice)
        self._recipients = lru_cache(maxsize=8)(_read_recipients)

    def get(self, project: Project) -> AuditResult:
        """Return the result of a project, without the records even if the audit was told to put them in."""
        found = self._read(*_stamp(project.result))
        return found if found.records is None else replace(found, records=None)

    def advice(self, project: Project) -> Advice:
        """Return the advice of a project."""
        return self._advice(*_stamp(project.answer))

    def advice_page(self, project: Project, language: str) -> str:
        """Return the page of the advice of a project."""
        return self._advice_page(*_stamp(project.answer), language)

    def recipients(self, project: Project) -> RecipientsFacts:
        """Return what was found for the recipients of a project."""
        return self._recipients(*_stamp(project.answer))

    def recipients_page(self, project: Project, language: str) -> str:
        """Return the page of all recipients of a project."""
        import disclique

        return str(disclique.recipients_page(self.recipients(project), language=language))

    def _render_advice(self, path: str, changed: int, language: str) -> str:
        return self._advice(path, changed).page(language=language)

    def page(self, project: Project, name: str, language: str) -> str:
        """Return the report or the annex of a project, as it may be shared."""
        return self._page(*_stamp(project.result), name, language)

    def report_with_records(self, project: Project, language: str) -> str | None:
        """Return the report with places and ids, if the audit was told to make it so."""
        import disclique

        found = self._read(*_stamp(project.result))
        return None if found.records is None else disclique.report(found, language=language, library=self.charts.get())

    def word(self, project: Project, language: str) -> bytes:
        """Return the annex as a Word file, as it may be shared."""
        from disclique.show.report.annex_page import annex_word

        return annex_word(self.get(project), language=language)

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


def _stamp(path: Path) -> tuple[str, int]:
    return str(path), path.stat().st_mtime_ns


def _read(path: str, changed: int) -> AuditResult:
    from disclique.audits.result import read_result

    with _naming(path):
        return read_result(Path(path))


def _read_advice(path: str, changed: int) -> Advice:
    from disclique.advice import read_advice

    with _naming(path):
        return read_advice(Path(path))


def _read_recipients(path: str, changed: int) -> RecipientsFacts:
    from disclique.audits.recipient_facts import read_recipients_file

    with _naming(path):
        return read_recipients_file(Path(path))


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Return a block whose errors call a file by its name alone."""
    try:
        yield
    except InputError as problem:
        raise InputError(map_texts(problem.message, lambda text: text.replace(path, Path(path).name))) from None


@dataclass(frozen=True)
class OptionPair:
    """One thing that was asked, of both audits."""

    name: str
    values: tuple[str, str]

    @property
    def differs(self) -> bool:
        """Whether something else was asked of the other one."""
        return self.values[0] != self.values[1]


@dataclass(frozen=True)
class Comparison:
    """Two results side by side. ``doubts`` are the reasons for which their figures mean different things."""

    asked: tuple[OptionPair, ...]
    settings: tuple[tuple[str, SettingFacts | None, SettingFacts | None], ...]
    doubts: tuple[str, ...]

    @property
    def drawable(self) -> bool:
        """Whether the settings of both can be put into one picture: risk and usefulness mean the same."""
        return not {"scenario", "usefulness"} & set(self.doubts)


def compare(one: AuditResult, other: AuditResult, texts: Texts) -> Comparison:
    """Put two results side by side, in the language of the page."""
    first, second = _ask(one, texts), _ask(other, texts)
    rows = tuple(OptionPair(name, (said, second[name])) for name, said in first.items())
    doubts = []
    if list(one.plan.inputs.values())[:1] != list(other.plan.inputs.values())[:1]:
        doubts.append("file")
    if one.plan.scenario != other.plan.scenario:
        doubts.append("scenario")
    if one.plan.utility != other.plan.utility:
        doubts.append("usefulness")
    if (one.plan.snooper, one.snooper.mode) != (other.plan.snooper, other.snooper.mode):
        doubts.append("snooper")
    specs = dict.fromkeys(s.spec for result in (one, other) for s in result.settings)
    found = [{s.spec: s for s in result.settings} for result in (one, other)]
    return Comparison(rows, tuple((spec, found[0].get(spec), found[1].get(spec)) for spec in specs), tuple(doubts))


def _ask(result: AuditResult, texts: Texts) -> dict[str, str]:
    """Return what was asked, by name."""
    from disclique.show.pages import DASH, MODES, tell_asked

    say = texts.say
    about: dict[str, str | None] = {
        say("file"): result.file.name,
        say("records"): str(result.file.records),
        say("labels"): ", ".join(result.file.labels),
        say("what the snooper's file is"): say(MODES[result.snooper.mode]),
        **tell_asked(result.plan, texts),
        say("version of disclique"): result.versions.get("disclique"),
    }
    return {name: said or DASH for name, said in about.items()}
