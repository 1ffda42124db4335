"""The draft of the paper and the checklists: references resolve, figures exist, length and version are right."""

import re
import tomllib

import yaml

from packaged import ROOT

PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BIB = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
_, HEAD, TEXT = PAPER.split("---\n", 2)


def test_every_reference_is_there_and_used() -> None:
    assert set(re.findall(r"@(\w+)", TEXT)) == set(re.findall(r"(?m)^@\w+\{(\w+),", BIB))
    for entry in re.findall(r"(?ms)^@article\{.*?^\}", BIB):
        assert re.search(r"doi +=|doi 10\.", entry), entry


def test_figures_exist_and_are_spoken_of() -> None:
    figures = re.findall(r"!\[.*?\\label\{(.*?)\}\]\((.*?)\)", TEXT)
    assert len(figures) == 2
    for label, path in figures:
        assert (ROOT / "paper" / path).resolve().is_file()
        assert f"\\autoref{{{label}}}" in TEXT


def test_the_paper_has_the_sections_and_the_length_that_are_asked() -> None:
    """Sections of JOSS; about a thousand words at most."""
    sections = re.findall(r"(?m)^# (.*)$", TEXT)
    wanted = ["Summary", "Statement of need", "State of the field", "Design", "Acknowledgements", "References"]
    assert [name for name in sections if name in wanted] == wanted
    assert 250 <= len(re.sub(r"!\[.*?\]\(.*?\)", "", TEXT).split()) <= 1000


def test_the_paper_is_of_this_version() -> None:
    head = yaml.safe_load(HEAD)
    assert head["bibliography"] == "paper.bib"
    released = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    day, month, year = head["date"].split()
    assert re.search(rf"date-released: {year}-\d\d-{day}", released)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Version {'.'.join(project['version'].split('.')[:2])}" in TEXT
    assert month


def test_the_checklists_name_files_that_exist() -> None:
    text = (ROOT / "docs" / "evidence" / "review.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w./-]+\.(?:md|toml|cff|yml|bib)|[a-z]+/(?:[a-z]+/)?)`", text):
        assert (ROOT / name).exists(), name
    for target in re.findall(r"`make ([a-z]+)`", text):
        assert re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8")), target
    rows = re.findall(r"(?m)^\| .* \| (.) \| ", text)
    assert len(rows) > 40
    assert set(rows) == set("✔◐✘–")
