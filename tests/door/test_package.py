"""What a user installs: the sdist and the wheel, what is in them, and that it works away from the sources."""

import json
import re
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from packaged import ROOT, Installed, build, repository_files, try_app, try_commands

pytestmark = pytest.mark.long

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
LIMIT = 5_000_000  # bytes of the wheel
NOT_PACKED = {".gitignore"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed.beside(tmp_path_factory.mktemp("installed"), built[1])


def test_the_wheel_has_every_file_of_the_package_and_no_other(built: tuple[Path, Path]) -> None:
    """Byte by byte; nothing that an earlier run left."""
    ours = {name.removeprefix("src/"): ROOT / name for name in repository_files() if name.startswith("src/disclique/")}
    with zipfile.ZipFile(built[1]) as wheel:
        packed = {name for name in wheel.namelist() if not name.startswith(f"disclique-{VERSION}.dist-info/")}
        assert packed == set(ours)
        assert [name for name, file in ours.items() if wheel.read(name) != file.read_bytes()] == []


def test_the_sdist_has_the_repository(built: tuple[Path, Path]) -> None:
    """Whoever packages disclique gets tests and documentation too."""
    with tarfile.open(built[0]) as sdist:
        packed = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    made = {"PKG-INFO", "setup.cfg"}
    assert {name for name in packed if not name.startswith("src/disclique.egg-info/")} - made == (
        set(repository_files()) - NOT_PACKED
    )


def test_the_wheel_is_small(built: tuple[Path, Path]) -> None:
    """With everything that is vendored."""
    assert built[1].stat().st_size < LIMIT


def test_the_wheel_says_what_it_is(built: tuple[Path, Path]) -> None:
    """Version, licence, Pythons, extras, the command, and the notices of others."""
    with zipfile.ZipFile(built[1]) as wheel:
        inside = f"disclique-{VERSION}.dist-info"
        about = Parser().parsestr(wheel.read(f"{inside}/METADATA").decode("utf-8"))
        assert b"disclique = disclique.cli:main" in wheel.read(f"{inside}/entry_points.txt")
        for name in ("LICENSE", "NOTICE"):
            assert wheel.read(f"{inside}/licenses/{name}") == (ROOT / name).read_bytes()
    assert (about["Version"], about["License-Expression"]) == (VERSION, "BSD-3-Clause")
    assert set(about.get_all("Provides-Extra") or []) >= {"app", "geo", "stat", "dask", "bench", "dev", "docs"}
    always = [line for line in about.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert sorted(always) == sorted(PROJECT["dependencies"])


def test_dependencies_have_lower_bounds_only() -> None:
    """A cap would keep users from what they need beside disclique."""
    every = [*PROJECT["dependencies"], *(line for lines in PROJECT["optional-dependencies"].values() for line in lines)]
    strange = [
        line for line in every if not re.fullmatch(r"[A-Za-z0-9_.-]+>=[0-9.]+(post\d+)?|disclique\[[a-z,]+\]", line)
    ]
    assert strange == []


def test_one_version_everywhere() -> None:
    """The citation and the changelog name the version that is built."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^version: (.*)$", citation) == [VERSION]
    released = re.findall(r"(?m)^## \[([0-9.]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert released[0] == (VERSION, re.findall(r"(?m)^date-released: (.*)$", citation)[0])


def test_vendored_files_come_with_their_licence() -> None:
    """A script of others lies beside its licence, and the notice names it."""
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    vendored = [ROOT / name for name in repository_files() if re.search(r"/(static|vendor)/.*\.min\.js$", name)]
    for file in vendored:
        name = file.name.partition(".")[0]
        beside = [path for path in file.parent.iterdir() if "licen" in path.name.lower()]
        assert beside, f"{file.name} has no licence beside it"
        assert name in notice
    for name in ("countries.npz", "vl-convert", "Natural Earth"):
        assert name in notice


def test_nothing_comes_from_the_sources(installed: Installed) -> None:
    """Python looks for modules and files of disclique in one folder, and that is the installed one."""
    script = """
import json, sys, disclique
from importlib.resources import files
print(json.dumps([sys.path, [disclique.__file__, *disclique.__path__, str(files("disclique") / "py.typed")]]))
"""
    path, places = json.loads(installed("python", "-c", script).stdout)
    assert [place for place in places if not Path(place).is_relative_to(installed.folder)] == []
    assert [entry for entry in path if Path(entry).resolve().is_relative_to(ROOT / "src")] == []
    assert installed("disclique", "--version").stdout == f"disclique {VERSION}\n"


def test_the_wheel_does_its_work(installed: Installed) -> None:
    """The paper's example and an audit, from the command line, with kernels that need not be compiled."""
    try_commands(installed, compiled=False)


def test_the_wheel_shows_the_page_of_the_app(installed: Installed) -> None:
    try_app(installed)


@pytest.mark.slow
def test_an_empty_environment_is_enough(built: tuple[Path, Path], tmp_path: Path) -> None:
    """As a user does it, with a package index: what the command line needs and no more, then the app."""
    fresh = Installed(tmp_path, pip=True)
    fresh("python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(built[1]))
    listed = json.loads(fresh("python", "-m", "pip", "list", "--format", "json").stdout)
    names = {line["name"].lower() for line in listed}
    assert names.isdisjoint({"starlette", "geopandas", "shapely", "openpyxl", "pyreadstat", "distributed", "igraph"})
    try_commands(fresh, compiled=True)
    (tmp_path / "file.xlsx").write_bytes(b"x")
    refused = fresh(
        "disclique", "audit", "file.xlsx", "--coordinates", "lon,lat", "--mask", "affine", "--out", "none", codes=(2,)
    )
    assert 'pip install "disclique[stat]"' in refused.stderr
    fresh("python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"{built[1]}[app]")
    try_app(fresh)
