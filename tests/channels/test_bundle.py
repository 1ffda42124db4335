"""The closed list of dependencies is true, and the papers of a bundle fit its wheels."""

import hashlib
import importlib.util
import json
import re
import sys
import zipfile
from email.message import Message
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from packaged import ROOT

PAGE = ROOT / "docs" / "reference" / "dependencies.md"


def tool() -> Any:
    path = ROOT / "docs" / "tools" / "dependencies.py"
    spec = importlib.util.spec_from_file_location("dependencies", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["dependencies"] = module
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path, name: str, number: str, *about: str) -> Path:
    file = folder / f"{name.replace('-', '_')}-{number}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as made:
        lines = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", f"Version: {number}", *about])
        made.writestr(f"{name.replace('-', '_')}-{number}.dist-info/METADATA", lines + "\n")
    return file


def rows(text: str) -> dict[str, list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    return {row[0]: row for row in cells if row[0] != "distribution"}


@pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info[:2] != (3, 11), reason="the list is that of Linux and Python 3.11"
)
def test_the_page_lists_what_is_installed() -> None:
    """The same packages for the same reasons; licences of those that are here in the version that is pinned."""
    said, made = rows(PAGE.read_text(encoding="utf-8")), rows(tool().page())
    assert list(said) == list(made)
    for name, row in made.items():
        same = version(name) == row[1]
        assert said[name][:2] + said[name][3:] == row[:2] + row[3:]
        assert not same or said[name][2] == row[2]
    assert "not said" not in PAGE.read_text(encoding="utf-8")


class StrictMessage(Message):
    """Metadata as newer readers give it: a field that is not there is an error by brackets."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if found is None:
            raise KeyError(name)
        return found


@pytest.mark.parametrize("kind", [Message, StrictMessage])
def test_licences_are_read_whoever_reads_the_metadata(kind: type[Message]) -> None:
    """Whether something else has loaded a newer importlib_metadata depends on the order of the tests."""
    about = kind()
    assert tool().licence_of(about) == "not said"
    about["Classifier"] = "License :: OSI Approved :: MIT License"
    assert tool().licence_of(about) == "MIT"


def test_nobody_is_forced_to_open_their_own_work() -> None:
    """No distribution of the list has a licence that would reach what is built on it."""
    licences = " ".join(row[2] for row in rows(PAGE.read_text(encoding="utf-8")).values())
    assert not re.search(r"GPL", licences)


def test_a_bundle_is_closed_and_every_wheel_has_its_hash(tmp_path: Path) -> None:
    ours = wheel(
        tmp_path,
        "disclique",
        "9.9",
        "License-Expression: BSD-3-Clause",
        "Requires-Dist: Some-Thing>=1",
        'Requires-Dist: other; extra == "geo"',
        'Requires-Dist: strange; extra == "dev"',
    )
    some = wheel(tmp_path, "some-thing", "1.0", "License: BSD", 'Requires-Dist: winonly; sys_platform == "win32"')
    other = wheel(tmp_path, "other", "2.0", "License-Expression: MIT OR Apache-2.0")
    tool().write_bundle(tmp_path)
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (ours, some, other)}
    assert dict(reversed(line.split("  ")) for line in (tmp_path / "SHA256SUMS").read_text().splitlines()) == sums
    wanted = (tmp_path / "requirements.txt").read_text().splitlines()
    assert f"some-thing==1.0 --hash=sha256:{sums[some.name]}" in wanted
    assert len(wanted) == 3
    bill = json.loads((tmp_path / "sbom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    refs = [one["bom-ref"] for one in (bill["metadata"]["component"], *bill["components"])]
    assert len(refs) == len(set(refs)) == 3
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert needs == {
        "pkg:pypi/disclique@9.9": ["pkg:pypi/other@2.0", "pkg:pypi/some-thing@1.0"],
        "pkg:pypi/some-thing@1.0": [],
        "pkg:pypi/other@2.0": [],
    }
    licences = {one["name"]: one["licenses"] for one in bill["components"]}
    assert licences == {
        "some-thing": [{"license": {"name": "BSD"}}],
        "other": [{"expression": "MIT OR Apache-2.0"}],
    }
    before = (tmp_path / "sbom.cdx.json").read_bytes()
    tool().write_bundle(tmp_path)
    assert (tmp_path / "sbom.cdx.json").read_bytes() == before


def test_a_bundle_without_us_or_with_two_of_one_is_refused(tmp_path: Path) -> None:
    wheel(tmp_path, "other", "2.0")
    with pytest.raises(SystemExit, match="no wheel of disclique"):
        tool().write_bundle(tmp_path)
    wheel(tmp_path, "other", "2.1")
    with pytest.raises(SystemExit, match="same distribution"):
        tool().write_bundle(tmp_path)


def test_no_file_of_the_bundle_or_the_page_names_where_wheels_come_from(tmp_path: Path) -> None:
    wheel(tmp_path, "disclique", "9.9", "Home-page: https://somewhere.example")
    tool().write_bundle(tmp_path)
    for text in (*(file.read_text() for file in tmp_path.glob("[!d]*")), PAGE.read_text(encoding="utf-8")):
        assert "://" not in text
