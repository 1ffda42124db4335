"""What is said where the packages of an extra are not installed: one sentence that names the extra, and status 2."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from packaged import ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"dev", "docs"}  # no command needs them
MODULES = {"python-multipart": "python_multipart,multipart", "POT": "ot"}  # where the name to import is another one
AUDIT = ("--mask", "gaussian:sigma=5km", "--out", "none")
PLACES = ("--coordinates", "lon,lat")
# What is tried without a package; one that others import comes before them, since nothing is forgotten in between.
COMMANDS: dict[tuple[str, str], list[tuple[str, ...]]] = {
    ("geo", "shapely"): [("audit", "t.gpkg", *AUDIT), ("audit", "t.geoparquet", *AUDIT)],
    ("geo", "pyogrio"): [("audit", "t.geojson", *AUDIT)],
    ("geo", "geopandas"): [("audit", "t.shp", *AUDIT)],
    ("geo", "rasterio"): [("population", "t.tif")],
    ("stat", "openpyxl"): [("audit", "t.xlsx", *PLACES, *AUDIT)],
    ("stat", "pyreadstat"): [("audit", f"t.{kind}", *PLACES, *AUDIT) for kind in ("sav", "dta", "sas7bdat")],
    ("dask", "distributed"): [
        ("audit", "t.csv", *PLACES, *AUDIT, "--dask", "local"),
        ("study", "--sigma", "0.01", "--alpha", "0.5", "--dask", "local", "--out", "none"),
    ],
    **{
        ("bench", name): [("peers", "clique", "t.txt", "--solver", name), ("engine", "--peer", name, "--out", "none")]
        for name in ("igraph", "networkx", "cliquematch")
    },
    ("bench", "POT"): [("matching_peers",)],
    **{
        ("app", name): [("app", "--port", "0", "--no-browser")] for name in ("starlette", "uvicorn", "python-multipart")
    },
}
DRIVER = """
import contextlib, io, json, runpy, sys
from disclique.cli import main
said = []
for hidden, arguments in json.loads(sys.argv[1]):
    kept = {name: sys.modules.get(name) for name in hidden}
    sys.modules.update(dict.fromkeys(hidden))  # None: an import of it fails
    out, err, code = io.StringIO(), io.StringIO(), None
    sys.argv = ["disclique", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            if arguments[0] == "matching_peers":
                from matching_peers import transport
                transport()
            elif arguments[0] == "population":  # of Python alone
                from disclique.errors import MissingDependency
                from disclique.records.population import read_population
                try:
                    read_population(arguments[1])
                except MissingDependency as problem:
                    print(f"disclique: {problem}", file=sys.stderr)
                    sys.exit(2)
            elif arguments[0] in {"peers", "engine"}:
                sys.argv = arguments
                runpy.run_module(arguments[0], run_name="__main__")
            else:
                main()
        except SystemExit as ended:
            code = ended.code
    said.append([code, err.getvalue()])
    for name, module in kept.items():
        if module is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module
print(json.dumps(said))
"""


def try_without(cases: list[tuple[list[str], tuple[str, ...]]], folder: Path) -> list[tuple[int, str]]:
    """Run commands one after the other, each without some modules: exit codes and errors."""
    for kind in ("gpkg", "geoparquet", "geojson", "shp", "tif", "xlsx", "sav", "dta", "sas7bdat"):
        (folder / f"t.{kind}").write_bytes(b"x")
    (folder / "t.csv").write_text(
        "id,lon,lat\n" + "".join(f"{k},{10 + k / 100},{50 + k * k / 100}\n" for k in range(9))
    )
    (folder / "t.txt").write_text("1 2\n2 3\n1 3\n")
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "benchmarks")])
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(cases)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [(code, err) for code, err in json.loads(done.stdout.splitlines()[-1])]


def cases_of(*extras: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(*key, command) for key, commands in COMMANDS.items() if key[0] in extras for command in commands]


def check_sentence(extra: str, command: tuple[str, ...], said: tuple[int, str]) -> None:
    code, error = said
    lines = [line for line in error.splitlines() if line.startswith("disclique: ")]
    assert (code, len(lines)) == (2, 1), (command, said)
    assert re.search(rf'pip install "disclique\[{extra}\]"$', lines[0]), (command, error)
    assert "Traceback" not in error, command


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, tuple[int, str]]:
    """What commands say without each of the packages, in one process, since its start is what takes time."""
    asked = cases_of("geo", "stat", "dask", "bench")
    hidden = [(MODULES.get(name, name).split(","), command) for _, name, command in asked]
    return dict(zip(asked, try_without(hidden, tmp_path_factory.mktemp("without")), strict=True))


def test_every_package_of_every_extra_is_tried() -> None:
    named = {
        (extra, re.split("[<>=]", line)[0])
        for extra, lines in EXTRAS.items()
        for line in lines
        if extra not in FOR_DEVELOPERS
    }
    assert named == set(COMMANDS)


@pytest.mark.parametrize(
    "case", cases_of("geo", "stat", "dask", "bench"), ids=lambda case: "-".join(case[:2] + case[2][:2])
)
def test_a_missing_package_is_one_sentence(case: Any, answers: dict[Any, tuple[int, str]]) -> None:
    check_sentence(case[0], case[2], answers[case])


@pytest.mark.parametrize("name", [name for extra, name in COMMANDS if extra == "app"])
def test_a_missing_package_of_the_app_is_one_sentence(name: str, tmp_path: Path) -> None:
    """Each in a process of its own: an app that starts nevertheless serves for ever, and is ended."""
    (command,) = COMMANDS["app", name]
    (said,) = try_without([(MODULES.get(name, name).split(","), command)], tmp_path)
    check_sentence("app", command, said)
