"""What the documentation says is true: its examples run, its commands exist, its links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from conftest import Run
from documents import DOCS, ELIDED, PAGES, ROOT, Block, blocks, links, name_of, slugs

BY_ANOTHER_TEST = {"README.md"}  # what it shows runs elsewhere: in a page of its own, or in the demo
RUN, SLOW, NOT_RUN = "run", "slow", "not run: "


def pages_with(*wanted: str) -> list[Any]:
    """The pages that have a block to be carried out in the ordinary run (or only in the slow one), as parameters."""
    chosen = [
        page for page in PAGES if name_of(page) not in BY_ANOTHER_TEST and any(_runs(b) in wanted for b in blocks(page))
    ]
    return [pytest.param(page, id=name_of(page)) for page in chosen]


def _runs(block: Block) -> str:
    """Say when a block is carried out: run, slow, or not at all."""
    if block.note.startswith(NOT_RUN):
        return ""
    if block.kind == "python":
        return block.note if block.note == SLOW else RUN
    return block.note if block.note in (RUN, SLOW) else ""


def _carry_out(page: Path, wanted: tuple[str, ...], run: Run) -> None:
    """Run the blocks of a page one after the other in one folder; Python blocks share their names."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    for block in (block for block in blocks(page) if _runs(block) in wanted):
        if block.kind == "python":
            source = "\n" * (block.line - 1) + block.text  # so that a traceback has the line of the page
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, name_of(page), "exec", dont_inherit=True), scope)
            continue
        assert block.commands, f"{name_of(page)}:{block.line}: there is no command in it"
        for _, *arguments in block.commands:
            code, _, err = run(*arguments)
            assert code == 0, f"{name_of(page)}:{block.line}: {err}"


@pytest.fixture
def _registries() -> Iterator[None]:
    """Forget the masks and attacks that an example adds: other tests list them."""
    from disclique.attacks.registry import _ATTACKS
    from disclique.masks.registry import _MASKS

    before = [dict(registry) for registry in (_ATTACKS, _MASKS)]
    yield
    for registry, entries in zip((_ATTACKS, _MASKS), before, strict=True):
        registry.clear()
        registry.update(entries)


@pytest.mark.long
@pytest.mark.usefixtures("_registries")
@pytest.mark.parametrize("page", pages_with(RUN))
def test_examples_run(page: Path, run: Run) -> None:
    """Every Python block, and every command that is marked to be run, in the order of the page."""
    _carry_out(page, (RUN,), run)


@pytest.mark.slow
@pytest.mark.usefixtures("_registries")
@pytest.mark.parametrize("page", pages_with(SLOW))
def test_long_examples_run(page: Path, run: Run) -> None:
    """The same with the blocks that take minutes."""
    _carry_out(page, (RUN, SLOW), run)


def test_what_is_not_run_says_why() -> None:
    """A note above a block is one of those that mean something, and few blocks are left out."""
    notes = [block.note for page in PAGES for block in blocks(page) if block.note]
    marks = [note for note in notes if not note.endswith((": begin", ": end"))]
    assert all(note in (RUN, SLOW) or re.fullmatch(f"{NOT_RUN}needs .+", note) for note in marks), marks
    assert sum(note.startswith(NOT_RUN) for note in marks) <= 3
    assert sum(block.kind == "python" for page in PAGES for block in blocks(page)) >= 18


COMMANDS: dict[str, Any] = typer.main.get_command(__import__("disclique.cli", fromlist=["app"]).app).commands


def _options(name: str) -> set[str]:
    return {option for parameter in COMMANDS[name].params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("page", [pytest.param(page, id=name_of(page)) for page in PAGES])
def test_commands_have_these_options(page: Path) -> None:
    """Every command in a block is read as the command line would read it; in running text its options are looked up."""
    for block in blocks(page):
        for _, name, *arguments in block.commands:
            where = f"{name_of(page)}:{block.line}: disclique {name}"
            assert name in COMMANDS, where
            if ELIDED in arguments:
                given = {word.split("=")[0] for word in arguments if word.startswith("--")}
                assert given <= _options(name), where
                continue
            try:
                COMMANDS[name].make_context(name, list(arguments))
            except Exception as problem:
                raise AssertionError(f"{where}: {problem}") from problem
    bare = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for code in re.findall(r"`(disclique [^`]+)`", bare):
        _, name, *arguments = code.split()
        if re.fullmatch("[a-z]+", name):
            assert name in COMMANDS, f"{name_of(page)}: {code}"
            given = {word.split("=")[0].strip(",.") for word in arguments if word.startswith("--")}
            assert given <= {*_options(name), "--help", "--help-all"}, f"{name_of(page)}: {code}"


def test_a_wrong_option_is_seen() -> None:
    """The reading above refuses what the command line refuses."""
    with pytest.raises(Exception, match="no-such"):
        COMMANDS["mask"].make_context("mask", ["a.csv", "--mask", "voronoi", "--out", "b.csv", "--no-such", "1"])
    with pytest.raises(Exception, match="out"):
        COMMANDS["mask"].make_context("mask", ["a.csv", "--mask", "voronoi"])


def test_masks_and_attacks_in_the_text_exist() -> None:
    """Every spec behind --mask, --attack and --metric in a block is one that the package reads."""
    from disclique.attacks.registry import _ATTACKS
    from disclique.masks import masks
    from disclique.masks.settings import parse_range

    attacks = {*_ATTACKS, "all"}
    for page in PAGES:
        for words in (words for block in blocks(page) for words in block.commands):
            for option, value in pairwise(words):
                if option == "--mask":
                    assert re.split("[: ]", value)[0] in masks(), (name_of(page), value)
                    assert parse_range(value).settings, (name_of(page), value)
                if option == "--attack":
                    assert value.split(":")[0] in attacks, (name_of(page), value)


@pytest.mark.parametrize("page", [pytest.param(page, id=name_of(page)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    """Files and headings that a page links to are in the repository, as a forge shows it."""
    made = {"start/words.md", "reference/api.md", "reference/commands.md", "reference/every-mask.md"}
    for link in links(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if re.match("[a-z]+:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        if target.is_relative_to(DOCS) and target.relative_to(DOCS).as_posix() in made:
            continue  # filled when the site is built, and its headings are followed there
        if anchor and target.suffix == ".md":
            assert anchor in slugs(target.read_text(encoding="utf-8")), f"{name_of(page)}: {link}"


def test_fields_of_the_result_are_those_that_are_described() -> None:
    """Every field in the table of result.json is one of its schema, and none of the whole is left out."""
    from disclique.audits.result import result_schema

    schema = result_schema()
    whole = schema["$ref"].rsplit("/", 1)[1]
    fields = {name for described in schema["$defs"].values() for name in described.get("properties", ())}
    rows = re.findall(r"^\| (.*?) \|", (DOCS / "reference" / "result.md").read_text(encoding="utf-8"), re.M)
    named = {name.strip(".[]") for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert named <= fields
    assert set(schema["$defs"][whole]["properties"]) <= named


def test_pictures_are_used() -> None:
    """No picture lies in docs/img that no page shows; those of the app may come before their page does."""
    shown = {Path(link).name for page in PAGES for link in links(page.read_text(encoding="utf-8"))}
    unused = {path.name for path in (DOCS / "img").iterdir()} - shown
    assert {name for name in unused if not name.startswith("app-")} <= {"matching_reliability.png"}


def test_benchmarks_write_into_pages_that_are_there() -> None:
    """Every page of the documentation that a program or a test names exists."""
    sources = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").glob("*.py"), *(ROOT / "src").rglob("*.py")]
    for source in sources:
        for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|ipynb|py)\b", source.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{source.name}: {name}"
    for marks, page in {
        "coverage plain": "evidence/verdicts.md",
        "coverage search": "evidence/verdicts.md",
        "bench": "evidence/engine.md",
        "posteriors kinds": "evidence/attacks.md",
        "scale": "evidence/scale.md",
        "matching first": "evidence/matching.md",
        "matching protect": "howto/names.md",
    }.items():
        assert f"<!-- {marks}: begin -->" in (DOCS / page).read_text(encoding="utf-8")


NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.mark.long
@pytest.mark.filterwarnings("default")  # what Jupyter warns of is not ours
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in NOTEBOOKS])
def test_notebooks_run_and_print_what_is_kept(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executed anew, every cell prints what the notebook shows; numbers may differ by a twentieth."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib_inline")
    searched = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", searched)
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    kept = nbformat.read(path, as_version=4)
    anew = nbformat.read(path, as_version=4)
    for cell in anew.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    resources = {"metadata": {"path": str(tmp_path)}}
    client.NotebookClient(anew, timeout=300, kernel_name="python3", resources=resources).execute()
    assert sum(cell.cell_type == "code" for cell in kept.cells) >= 5
    for number, (old, new) in enumerate(zip(kept.cells, anew.cells, strict=True), start=1):
        if old.cell_type == "code":
            _same_output(_said(old), _said(new), f"{path.name}, cell {number}")


def _said(cell: Any) -> str:
    parts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "\n".join(parts)


def _same_output(old: str, new: str, where: str) -> None:
    assert NUMBER.sub("0", old).split() == NUMBER.sub("0", new).split(), f"{where}: kept {old!r}, now {new!r}"
    for a, b in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True):
        assert float(b) == pytest.approx(float(a), rel=0.05, abs=0.05), f"{where}: kept {old!r}, now {new!r}"


def test_a_changed_output_is_seen() -> None:
    """The comparison of notebooks refuses another number, another word and a missing line."""
    _same_output("risk 0.50\nmeets", "risk 0.51\nmeets", "here")
    for other in ("risk 0.70\nmeets", "risk 0.50\nfails", "risk 0.50"):
        with pytest.raises(AssertionError):
            _same_output("risk 0.50\nmeets", other, "here")


def test_badges_say_what_the_project_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures in the README are drawn anew from pyproject.toml and are the same."""
    monkeypatch.syspath_prepend(str(DOCS / "tools"))
    import badges

    for name, said in badges.badges().items():
        assert (DOCS / "img" / f"badge-{name}.svg").read_text(encoding="utf-8") == badges.draw(*said)
        assert f"badge-{name}.svg" in (ROOT / "README.md").read_text(encoding="utf-8")
