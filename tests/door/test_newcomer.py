"""The newcomer's test: what CONTRIBUTING says of where things are and what may import what is so."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import disclique
from documents import ROOT

PACKAGE = Path(disclique.__file__).parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MOST_ROWS = 22
LOOKED_FOR = (
    "definition 6",
    "the noise law",
    "claims nothing",
    "the decision",
    "the report",
    "the oracle",
    "the upper end",
    "the guard",
    "the annex",
    "a project of the app",
    "the pictures on mask cards",
    "the process pool",
)


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    return re.split(r"^## ", TEXT.partition(f"## {title}\n")[2], maxsplit=1, flags=re.M)[0]


def rows_below(title: str) -> list[list[str]]:
    """The cells of the rows of the first table below a heading."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def in_code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


ROWS = rows_below("Where is …?")


def test_the_table_is_short_and_has_what_a_newcomer_looks_for() -> None:
    assert len(ROWS) <= MOST_ROWS
    missing = [wanted for wanted in LOOKED_FOR if not any(wanted in row[0] for row in ROWS)]
    assert not missing


@pytest.mark.parametrize("row", [pytest.param(row, id=row[0]) for row in ROWS])
def test_it_is_where_the_table_says(row: list[str]) -> None:
    """The path is in the package, and every name beside it can be imported from there."""
    (path,) = in_code(row[1])
    assert (PACKAGE / path).exists()
    module = import_module(".".join(["disclique", *Path(path).with_suffix("").parts]))
    names = in_code(row[2])
    assert names
    for name in names:
        assert hasattr(module, name), f"{path} has no {name}"


def test_every_room_is_described() -> None:
    """The table of rooms names every folder and module of the package, and nothing else."""
    folders = {one.name for one in PACKAGE.iterdir() if (one / "__init__.py").exists()}
    files = {one.stem for one in PACKAGE.glob("*.py") if not one.stem.startswith("__")}
    assert {name.strip("/") for row in rows_below("The map") for name in in_code(row[0])} == folders | files


def test_layers_are_those_that_are_held() -> None:
    """The order of imports in the text is that of the contract."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    said = section("The map").partition("to its\nright: ")[2].partition(". The public door")[0]
    layers = [set(in_code(part)) for part in said.split("→")]
    assert layers == [{one.strip() for one in layer.split("|")} for layer in contract["layers"]]
