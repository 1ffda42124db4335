"""Help that fits a screen, all of it on demand, the masks that fit a file, and what a shell completes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import disclique as dq
from conftest import Run
from disclique.cli import app
from disclique.cli.options import FIRST

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]


def show(command: str, how: str) -> str:
    """What the help of a command says at 80 columns."""
    shown = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(app, [command, how])
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.mark.parametrize("command", FIRST)
def test_help_has_eight_options_and_help_all_every_one(command: str) -> None:
    """Twice, since showing the short one must leave the command as it was."""
    for _ in range(2):
        short, whole = show(command, "--help"), show(command, "--help-all")
        named = {
            option.name: f"--{option.opts[0].strip('-')}"
            for option in COMMANDS[command].params
            if option.opts[0][0] == "-"
        }
        listed = short[short.index(" Options ") :]
        assert len(FIRST[command]) == 8
        assert {name for name, flag in named.items() if f"{flag} " in listed} == {*FIRST[command], "help_all"}
        assert all(flag[:12] in whole for flag in named.values())
        assert len(short.splitlines()) <= 75


def test_an_audit_can_be_asked_for_by_its_short_help() -> None:
    assert len(show("audit", "--help").splitlines()) <= 55


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("mask f.csv --mask gau", ["gaussian"]),
        ("audit f.csv --mask vor", ["voronoi"]),
        ("attack a b --attack reg", ["register"]),
        ("audit f.csv --scenario m", ["marketer"]),
        ("advi", ["advise"]),
    ],
)
def test_a_shell_completes_names(words: str, wanted: list[str]) -> None:
    """As the script that ``--install-completion`` writes asks for it."""
    asked = {"_DISCLIQUE_COMPLETE": "complete_bash", "COMP_WORDS": f"disclique {words}"}
    place = {"COMP_CWORD": str(len(words.split()))}
    code = "import sys; sys.argv = ['disclique']; from disclique.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked, **place}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == wanted, done.stderr


def test_masks_lists_what_fits_a_file(run: Run) -> None:
    """Each spec it gives is one that can be applied; what needs places or text is not among those of a matrix."""
    rng = np.random.default_rng(2)
    places = pd.DataFrame({"id": range(12), "lon": rng.uniform(8, 9, 12), "lat": rng.uniform(50, 51, 12)})
    places.to_csv("p.csv", index=False)
    code, out, err = run("masks", "p.csv", "--coordinates", "lon,lat")
    assert code == 0, err
    Path("m.tsv").write_text(out)
    listed = pd.read_csv("m.tsv", sep="\t", keep_default_na=False)
    assert {"gaussian", "donut", "round", "affine"} <= set(listed["mask"])
    assert not {"bloom", "two-step", "rotation"} & set(listed["mask"])
    file = dq.read("p.csv", coordinates="lon,lat")
    for spec in listed["example"]:
        first = spec.split("..")[0]
        dq.mask(file, first, seed=1)
    apart = dq.microdata(places, distances=np.ones((12, 12)) - np.eye(12))
    assert set(dq.list_masks(apart)["on"]) == {"distances"}


def test_masks_without_a_file_lists_all(run: Run) -> None:
    from disclique.masks import masks

    code, out, _ = run("masks")
    assert (code, [line.split("\t")[0] for line in out.splitlines()[1:]]) == (0, list(masks()))
    assert len(dq.list_masks()) == len(masks())
