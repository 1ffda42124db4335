"""Shared by the tests: where the optional benchmark data lie, quiet numerical libraries, and the command line."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import browser

os.environ.setdefault("MPLBACKEND", "Agg")

# The same cases on every run and machine: chance comes from explicit seeds, in tests too.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

SHARED = Path(__file__).resolve().parents[2] / "shared"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session", autouse=True)
def _written() -> Iterator[None]:
    """Let everything that an audit of a test leaves behind be written and read back, also where it has no folder."""
    import msgspec

    from disclique.audits.result import AuditResult, ResultFacts, encode_result
    from disclique.records.write import encode
    from disclique.runs.journal import Journal

    with pytest.MonkeyPatch.context() as patch:
        make, append = AuditResult.__init__, Journal.append

        def make_and_write(self: AuditResult, *given: Any, **named: Any) -> None:
            make(self, *given, **named)
            msgspec.json.decode(encode_result(self), type=ResultFacts)

        def append_and_write(self: Journal[Any], unit: Any, record: Any, seconds: float = 0.0) -> None:
            msgspec.json.decode(encode(record), type=type(record))
            append(self, unit, record, seconds)

        patch.setattr(AuditResult, "__init__", make_and_write)
        patch.setattr(Journal, "append", append_and_write)
        yield


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """A function that runs the command line in an empty folder: exit code, output, errors."""
    from disclique.cli import main
    from disclique.cli.screen import Pace

    monkeypatch.chdir(tmp_path)
    pace = Pace(soon=600.0)  # what is said must not depend on how busy the machine is

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["disclique", *arguments])
        with pytest.raises(SystemExit) as ended:
            main(pace)
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return call


@pytest.fixture(scope="module")
def chrome() -> Iterator[browser.Browser]:
    """A real browser; tests that need one are skipped where there is none."""
    if why := browser.missing():
        pytest.skip(why)
    window = browser.Browser()
    yield window
    window.close()


SMALL: dict[str, Any] = {"sigma": [0.01, 0.05], "alpha": [0.3, 0.7], "repetitions": 3, "n": [60, 50], "common": 15}


@pytest.fixture(scope="session")
def small() -> Any:
    """A study of six units, two cells each."""
    from disclique.studies import define_study

    return define_study(SMALL)


@pytest.fixture(scope="session")
def undisturbed(small: Any) -> Any:
    """The small study carried out in memory, one unit after the other."""
    from disclique.studies import study

    return study(small)


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Any]:
    """Somebody who asks the pages of the app, without a browser, in a folder of its own."""
    from app_visitor import visiting

    folder = tmp_path / "start"
    folder.mkdir()
    with visiting(folder) as found:
        yield found
