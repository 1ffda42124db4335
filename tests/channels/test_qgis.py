"""The script for QGIS: it cannot audit other data than it releases, and QGIS runs it where it is installed."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from packaged import ROOT

SCRIPT = ROOT / "qgis" / "disclique_processing.py"
COMMANDS: dict[str, Any] = typer.main.get_command(__import__("disclique.cli", fromlist=["app"]).app).commands
# Debian's wrapper qgis_process hands options of the desktop on, which the program refuses: the program itself is asked.
QGIS = shutil.which("qgis_process.bin") or shutil.which("qgis_process")


def constant(name: str) -> Any:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    (found,) = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return ast.literal_eval(found)


def options(command: str) -> set[str]:
    return {name for parameter in COMMANDS[command].params for name in (*parameter.opts, *parameter.secondary_opts)}


def test_whatever_says_which_data_are_meant_goes_to_both_commands() -> None:
    """Every option that audit and mask share changes the data or where they go, but for these."""
    harmless = {"file", "--seed", "--language", "--quiet", "-q", "--force", "--help", "--help-all"}
    assert (options("audit") & options("mask")) - harmless <= set(constant("OF_THE_FILE"))
    assert set(constant("OF_THE_FILE")) <= options("audit")


def test_commands_of_the_script_exist() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    for name in ("audit", "mask"):
        (line,) = re.findall(rf'\[program, "{name}", (.*)\]', text)
        assert set(re.findall(r'"(--[a-z-]+)"', line)) <= options(name)
    assert {"--mask", "--max-risk"} <= options("audit")


@pytest.mark.long
@pytest.mark.skipif(QGIS is None, reason="QGIS is not installed")
@pytest.mark.parametrize(("limit", "kept"), [("0.8", True), ("0.01", False)])
def test_qgis_writes_a_masked_layer_only_if_the_limit_is_kept(limit: str, kept: bool, tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    import disclique as dq

    people = dq.survey().iloc[:40]
    places = geopandas.points_from_xy(people["lon"], people["lat"])
    layer = geopandas.GeoDataFrame(people.drop(columns=["lon", "lat"]), geometry=places, crs=4326).to_crs(25832)
    layer.to_file(tmp_path / "people.gpkg", layer="people")
    scripts = tmp_path / "home" / ".local/share/QGIS/QGIS3/profiles/default/processing/scripts"
    scripts.mkdir(parents=True)
    shutil.copy(SCRIPT, scripts)
    program = tmp_path / "disclique"
    program.write_text(f'#!/bin/sh\nexport PYTHONPATH="{ROOT / "src"}"\nexec "{sys.executable}" -m disclique "$@"\n')
    program.chmod(0o755)
    given = {
        "INPUT": tmp_path / "people.gpkg",
        "ID": "id",
        "LABELS": "sex",
        "SENSITIVE": "asthma",
        "MASK": "gaussian:sigma=300km..400km",
        "LIMIT": limit,
        "OPTIONS": "--attack labels --repetitions 2 --person-trials 10 --no-sensitivity --processes 1",
        "PROGRAM": program,
        "AUDIT": tmp_path / "audit",
        "OUTPUT": tmp_path / "masked.gpkg",
    }
    home = {"HOME": str(tmp_path / "home"), "QT_QPA_PLATFORM": "offscreen", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [str(QGIS), "run", "script:disclique", "--", *(f"{key}={value}" for key, value in given.items())],
        env={"PATH": os.defpath, "LANG": "C.UTF-8", **home},  # QGIS has a Python of its own, which must not meet ours
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert f"STATUS:\t{'meets' if kept else 'fails'}" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    assert (tmp_path / "audit" / "report.html").exists()
    assert (tmp_path / "masked.gpkg").exists() is kept
    assert list(tmp_path.rglob("people/people.gpkg")) == []  # the people themselves do not stay behind
    if kept:
        masked = geopandas.read_file(tmp_path / "masked.gpkg")
        assert set(masked.columns) == {"record", "sex", "asthma", "geometry"}
        assert masked.crs == layer.crs
        assert len(masked) == len(layer)
        assert masked.geometry.distance(layer.geometry).min() > 0
