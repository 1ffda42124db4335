"""The workflows of the forge do what `.ci/run` and the Makefile do, for the Pythons that the package names."""

import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest
import yaml

from packaged import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MADE = re.compile(r"(?m)^make ([a-z]+)$")


def jobs() -> dict[str, Any]:
    return {name: job for file in WORKFLOWS for name, job in yaml.safe_load(file.read_text("utf-8"))["jobs"].items()}


def commands(job: Any, *, on: str = "") -> list[str]:
    """The lines that a job runs; only those of steps for the system ``on`` if it is given."""
    steps = [step for step in job["steps"] if "run" in step and (not on or step.get("if") == f"runner.os == '{on}'")]
    return [line for step in steps for line in step["run"].splitlines()]


def recipe(target: str) -> list[str]:
    """The lines of a target of the Makefile."""
    found = re.search(rf"(?m)^{target}:.*\n((?:\t.*\n)+)", MAKEFILE)
    assert found, f"the Makefile has no target {target}"
    return [line.strip() for line in found[1].splitlines()]


def test_what_a_newcomer_runs_is_run_by_the_forge() -> None:
    """Every target of `.ci/run`, and lint, wheel, lowest versions and documentation in jobs of their own."""
    newcomer = set(MADE.findall((ROOT / ".ci" / "run").read_text(encoding="utf-8")))
    forge = {name: set(MADE.findall("\n".join(commands(job)))) for name, job in jobs().items()}
    assert newcomer >= {"check", "test", "long", "r"}
    assert newcomer <= set().union(*forge.values())
    assert forge == {
        "lint": {"check"},
        "tests": {"test", "long"},
        "lowest": {"lowest"},
        "wheel": {"wheel"},
        "docs": {"docs"},
        "r": {"r"},
        "wheelhouse": {"wheelhouse"},
        "container": set(),
        "codeql": set(),
    }


@pytest.mark.parametrize("target", ["check", "test", "long", "lowest", "wheel", "docs", "r", "wheelhouse"])
def test_what_the_forge_makes_can_be_made(target: str) -> None:
    assert recipe(target)
    assert target in re.findall(r"(?m)^\.PHONY: (.*)$", MAKEFILE)[0].split()


def test_windows_runs_what_make_would() -> None:
    """The environment for developers, then the lines of `make test`."""
    pip = re.findall(r"(?m)^PIP := \$\(BIN\)/(.*)$", MAKEFILE)[0]
    shared = re.findall(r"(?m)^SHARED := (.*)$", MAKEFILE)[0]
    ours = [
        f"{pip} -e '.[dev]'",
        *(line.replace("$(BIN)/", "").replace("$(SHARED)", shared) for line in recipe("test")),
    ]
    assert commands(jobs()["tests"], on="Windows") == ours


def test_three_systems_and_the_pythons_that_are_named() -> None:
    matrix = jobs()["tests"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert f"LOWEST_PYTHON ?= python{named[0]}\n" in MAKEFILE


def test_actions_are_pinned_by_their_commit_and_nothing_names_a_host() -> None:
    """A tag can be moved to other code; the commit of a release cannot. One action has one commit everywhere."""
    pins: dict[str, set[str]] = {}
    for file in WORKFLOWS:
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"https?://\S+|--(?:extra-)?index-url", text) == []
        for used in re.findall(r"uses: (.*)", text):
            found = re.fullmatch(r"((?:actions|github)/[a-z-]+)(?:/[a-z]+)?@([0-9a-f]{40}) # v(\d+\.\d+\.\d+)", used)
            assert found, f"{file.name}: {used}"
            pins.setdefault(found[1], set()).add(f"{found[2]} {found[3]}")
    assert {name: len(commits) for name, commits in pins.items()} == dict.fromkeys(pins, 1)


def test_no_workflow_may_write_more_than_it_needs() -> None:
    """Nor does a checkout leave its credentials for what runs after it."""
    checkouts = [step for job in jobs().values() for step in job["steps"] if "/checkout@" in step.get("uses", "")]
    assert len(checkouts) == len(jobs())
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)
    for file in WORKFLOWS:
        flow = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert flow["permissions"] == {"contents": "read"}, file.name
        more = {name: job["permissions"] for name, job in flow["jobs"].items() if "permissions" in job}
        assert more in ({}, {"codeql": {"contents": "read", "security-events": "write"}}), file.name


def test_newer_versions_are_proposed_for_actions_and_pins() -> None:
    asked = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    assert asked["version"] == 2
    assert {one["package-ecosystem"] for one in asked["updates"]} == {"github-actions", "pip"}
    assert all(one["directory"] == "/" and one["schedule"]["interval"] == "monthly" for one in asked["updates"])


def test_the_lowest_versions_are_those_of_pyproject() -> None:
    """The file of pins follows from the lower bounds; `make lowest` installs every extra that is in it."""
    made = subprocess.run([sys.executable, str(ROOT / ".ci" / "lowest.py")], capture_output=True, text=True, check=True)
    pins = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8")
    assert made.stdout == pins
    assert [line for line in pins.splitlines()[1:] if not re.fullmatch(r"[\w.-]+==[\d.]+(post\d+)?", line)] == []
    bounds = [line.replace(">=", "==") for line in PROJECT["dependencies"]]
    assert set(bounds) <= set(pins.splitlines())
    optional = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("dev", "docs")}
    assert f"'.[{','.join(sorted(optional))}]'" in MAKEFILE
    assert {line.replace(">=", "==") for lines in optional.values() for line in lines} <= set(pins.splitlines())


def test_every_pin_is_within_its_bound() -> None:
    """What development uses is allowed by pyproject.toml."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    pins = {canonicalize_name(name): number for name, number in (line.split("==") for line in lines)}
    every = [*PROJECT["dependencies"], *(line for lines in PROJECT["optional-dependencies"].values() for line in lines)]
    for wanted in map(Requirement, every):
        if wanted.name != "disclique":
            assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), wanted
