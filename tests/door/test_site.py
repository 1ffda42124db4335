"""The documentation site: it is built without a warning, misses nothing of the package, and needs no network."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer

import browser
from documents import DOCS, ROOT

sys.path.insert(0, str(DOCS / "tools"))
from links import Page, problems  # the tools of the site are no package

pytestmark = pytest.mark.long

TINY = "<!doctype html><title>t</title><h1 id='top'>T</h1><a href='b.html#there'>b</a><img src='p.png'>"


@pytest.fixture
def small_site(tmp_path: Path) -> Path:
    """A site of two pages and a picture in which nothing is wrong."""
    (tmp_path / "a.html").write_text(TINY)
    other = "<p id='there'>here <a href='a.html'>back</a> <a href='https://example.org'>out</a>"
    (tmp_path / "b.html").write_text(other)
    (tmp_path / "p.png").write_bytes(b"")
    (tmp_path / "s.css").write_text("a { background: url('p.png') } b { background: url(data:image/png;base64,) }")
    assert problems(tmp_path) == []
    return tmp_path


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("<a href='c.html'>", "no such file"),
        ("<a href='b.html#nowhere'>", "no such anchor"),
        ("<a href='#nowhere'>", "no such anchor"),
        ("<a href='../b.html'>", "out of the site"),
        ("<a href='/b.html'>", "begins at the root"),
        ("<a href='.'>", "leads to a folder"),
        ("<img src='none.png'>", "no such file"),
        ("<img srcset='p.png 1x, none.png 2x'>", "no such file"),
        ("<script src='https://example.org/a.js'></script>", "from elsewhere"),
        ("<script src='//example.org/a.js'></script>", "from elsewhere"),
        ("<link rel='stylesheet' href='https://example.org/a.css'>", "from elsewhere"),
        ("<link rel='preconnect' href='https://example.org'>", "from elsewhere"),
        ("<p style='background: url(https://example.org/a.png)'>", "from elsewhere"),
        ("<p id='top'>", "two elements"),
    ],
)
def test_the_checker_sees_what_is_wrong(small_site: Path, wrong: str, said: str) -> None:
    """Each of these alone is found, and named with its page."""
    (small_site / "a.html").write_text(TINY + wrong)
    found = problems(small_site)
    assert len(found) == 1
    assert "a.html: " in found[0]
    assert said in found[0]


def test_the_checker_reads_styles_and_empty_folders(small_site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A font from elsewhere in a style sheet is found; a folder without pages is not a site in order."""
    (small_site / "s.css").write_text("@import 'https://example.org/f.css'; a { src: url(none.woff) }")
    assert len(problems(small_site)) == 2
    assert problems(tmp_path_factory.mktemp("nothing"))


def _needs() -> None:
    for name in ("zensical", "mkdocstrings", "nbconvert"):
        pytest.importorskip(name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` makes it."""
    _needs()
    folder = tmp_path_factory.mktemp("docs")
    command = [
        sys.executable,
        str(DOCS / "tools" / "build.py"),
        "--out",
        str(folder / "site"),
        "--work",
        str(folder / "w"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1  # nothing but where it is
    return folder / "site"


def test_broken_pages_end_the_build(tmp_path: Path) -> None:
    """A link to a page, an anchor or a reference that is not there ends it, each named; so does an unknown name."""
    _needs()
    from build import render

    links = "[a](none.md) [b](#none) [c][disclique.none]"
    said = {links: ("page does not exist", "anchor does not exist", "unresolved autoref"), "::: disclique.none": ()}
    for number, (wrong, complaints) in enumerate(said.items()):
        work = tmp_path / str(number)
        (work / "pages").mkdir(parents=True)
        (work / "src").symlink_to(ROOT / "src")
        (work / "tools").symlink_to(DOCS / "tools")
        config = (DOCS / "zensical.toml").read_text(encoding="utf-8")
        begin, end = config.index("nav = ["), config.index("[project.theme]")
        (work / "zensical.toml").write_text(f'{config[:begin]}nav = [{{ "Home" = "index.md" }}]\n{config[end:]}')
        (work / "pages" / "index.md").write_text(f"# Home\n\n{wrong}\n")
        with pytest.raises(SystemExit, match="zensical ended with status 1") as ended:
            render(work)
        assert all(complaint in str(ended.value.code) for complaint in complaints)


def test_every_public_name_is_described(site: Path) -> None:
    """The page on Python has an entry for each name of ``__all__``, with more than its name."""
    import disclique

    page = (site / "reference" / "api.html").read_text(encoding="utf-8")
    anchors = Page(page).anchors
    assert {f"disclique.{name}" for name in disclique.__all__} <= anchors
    assert "<blockquote>" not in page  # examples are set as code, not taken for quotations


def test_every_command_and_option_is_described(site: Path) -> None:
    """The page on the command line has each option of each command, and no placeholder is left."""
    from disclique.cli import app

    shown = _text((site / "reference" / "commands.html").read_text(encoding="utf-8"))
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"disclique {name}" in shown
        for parameter in command.params:
            assert parameter.opts[0] in shown, (name, parameter.opts)
    assert "{masks}" not in shown
    assert "{attacks}" not in shown


def test_every_mask_and_every_field_is_described(site: Path) -> None:
    """Masks come from the registry, fields of the result from its schema."""
    from disclique.audits.result import result_schema
    from disclique.masks import masks

    page = Page((site / "reference" / "every-mask.html").read_text(encoding="utf-8"))
    assert set(masks()) <= page.anchors
    text = (site / "reference" / "result.html").read_text(encoding="utf-8")
    objects = result_schema()["$defs"]
    assert {name.lower() for name in objects} <= Page(text).anchors
    shown = _text(text)
    assert all(field in shown for described in objects.values() for field in described.get("properties", ()))


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _text(page: str) -> str:
    reader = _Text()
    reader.feed(page)
    return "".join(reader.parts)


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """A browser that reaches no network."""
    if browser.found() is None:
        pytest.skip("there is no browser to look at the site with")
    opened = browser.Browser()
    yield opened
    opened.close()


def test_pages_open_from_the_file_system(site: Path, window: browser.Browser) -> None:
    """Every page loads at the width of a telephone without an error, a request elsewhere, or a scroll bar below."""
    for page in sorted(site.rglob("*.html")):
        window.open(page, width=390)
        wide = window.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, f"{page.relative_to(site)} is {wide} px too wide"
        broken = window.value("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        assert not broken, page
    assert not window.complaints()


def test_search_works_without_a_server(site: Path, window: browser.Browser) -> None:
    """Typing into the search finds a page, from a file."""
    window.open(site / "howto" / "matrix.html")
    window.value("document.querySelector('.md-search__button').click()")
    inside = "[...document.querySelectorAll('div')].map(e => e.shadowRoot).find(r => r && r.querySelector('input'))"
    window.wait(f"{inside} !== undefined")
    window.value(f"{inside}.querySelector('input').focus()")
    window.send("Input.insertText", text="oracle")
    window.wait(f"[...{inside}.querySelectorAll('a')].some(a => /result.html.*#oraclerisk/.test(a.href))")
    assert not window.complaints()
