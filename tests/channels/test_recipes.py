"""The conda recipe, the container file, the R package and the command for Stata say what pyproject.toml and the command
line say."""

import re
import tomllib
from typing import Any

import typer
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from packaged import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMMANDS: dict[str, Any] = typer.main.get_command(__import__("disclique.cli", fromlist=["app"]).app).commands
CONDA_NAMES = {"matplotlib": "matplotlib-base", "igraph": "python-igraph"}  # the same thing is called otherwise there


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def options(command: str) -> set[str]:
    return {name for parameter in COMMANDS[command].params for name in (*parameter.opts, *parameter.secondary_opts)}


def as_conda(line: str) -> str:
    wanted = Requirement(line)
    name = str(canonicalize_name(wanted.name))
    return f"{CONDA_NAMES.get(name, name)} {wanted.specifier}"


def recipe() -> dict[str, Any]:
    return yaml.safe_load(text_of("conda.recipe/recipe.yaml"))


def test_the_recipe_needs_what_the_package_needs() -> None:
    """Name by name and bound by bound; extras are constraints, which nobody pulls in."""
    needs = recipe()["requirements"]
    assert needs["run"] == ["python >=${{ python_min }}", *map(as_conda, PROJECT["dependencies"])]
    extras = [
        line for name in ("app", "bench", "dask", "geo", "stat") for line in PROJECT["optional-dependencies"][name]
    ]
    assert needs["run_constraints"] == [as_conda(line) for line in extras]
    build = tomllib.loads(text_of("pyproject.toml"))["build-system"]["requires"]
    assert needs["host"] == ["python ${{ python_min }}.*", "pip", *map(as_conda, build)]


def test_the_recipe_is_of_this_version() -> None:
    made = recipe()
    assert made["context"] == {
        "name": PROJECT["name"],
        "version": PROJECT["version"],
        "python_min": PROJECT["requires-python"].removeprefix(">="),
    }
    assert made["build"]["python"]["entry_points"] == [f"{name} = {to}" for name, to in PROJECT["scripts"].items()]
    assert made["about"]["license"] == PROJECT["license"]
    assert made["about"]["license_file"] == PROJECT["license-files"]


def test_the_recipe_has_the_parts_that_the_format_knows() -> None:
    """Version 1 of the format; a part that it does not know would end the build."""
    made = recipe()
    assert made["schema_version"] == 1
    assert set(made) <= {
        "schema_version",
        "context",
        "package",
        "source",
        "build",
        "requirements",
        "tests",
        "about",
        "extra",
    }
    assert made["build"]["noarch"] == "python"
    for test in made["tests"]:
        assert set(test) <= {"python", "script", "requirements"}
    for line in (line for test in made["tests"] for line in test.get("script", [])):
        _, name, *rest = line.split()
        assert name == "--version" or name in COMMANDS
        assert {word for word in rest if word.startswith("--")} <= options(name) if name in COMMANDS else rest == []


def test_the_container_has_no_root_no_sources_and_a_pinned_base() -> None:
    lines = [line for line in text_of("Containerfile").splitlines() if line and not line.startswith("#")]
    bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", base) for base in bases)
    assert len(set(bases)) == 1  # what is built is what it is built for
    assert any(base.startswith(f"python:{re.findall('Python :: (3.[0-9]+)', str(PROJECT))[-1]}.") for base in bases)
    last = lines[max(at for at, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert [line for line in last if line.startswith("USER ")] == ["USER 1000"]
    assert [line for line in last if line.startswith(("COPY", "ADD"))] == [
        "COPY --from=build /opt/disclique /opt/disclique"
    ]
    assert not any("pip" in line or "apt" in line for line in last)
    assert 'ENTRYPOINT ["disclique"]' in last


def test_only_what_the_package_is_built_from_goes_into_the_container() -> None:
    """A data file that lies about in the folder is nobody else's."""
    lines = [line for line in text_of(".dockerignore").splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert let_in == {
        "src",
        "pyproject.toml",
        "constraints.txt",
        "MANIFEST.in",
        PROJECT["readme"],
        *PROJECT["license-files"],
    }


def test_the_r_package_is_of_this_version_and_documents_what_it_exports() -> None:
    described = dict(re.findall(r"(?m)^([A-Za-z@]+): (.*)$", text_of("r/DESCRIPTION")))
    assert described["Version"] == PROJECT["version"]
    assert f"# disclique {PROJECT['version']}" in text_of("r/NEWS.md")
    exported = set(re.findall(r"export\((\w+)\)", text_of("r/NAMESPACE")))
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "r" / "R").glob("*.R"))
    assert exported == set(re.findall(r"(?m)^(dq_\w+) <- function", sources))
    pages = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "r" / "man").glob("*.Rd"))
    assert exported <= set(re.findall(r"\\alias\{(\w+)\}", pages))


def test_the_r_package_calls_commands_and_options_that_exist() -> None:
    source = text_of("r/R/verbs.R")
    calls = re.findall(r'dq_command\("(\w+)"(.*?)\.files', source, re.S)
    assert {name for name, _ in calls} == {"audit", "advise", "mask", "attack", "report", "example"}
    for name, given in calls:
        for option in re.findall(r"\b([a-z_]+) =", given):
            assert f"--{option.replace('_', '-')}" in options(name), (name, option)
    every = set().union(*(options(name) for name in COMMANDS))
    joined = re.findall(r'"(\w+)"', re.findall(r"JOINED <- c\((.*)\)", text_of("r/R/command.R"))[0])
    assert {f"--{name.replace('_', '-')}" for name in joined} <= every


def test_stata_calls_what_exists() -> None:
    """Stata is not at hand: at least the command is one that the program knows."""
    done = text_of("stata/disclique.do")
    asked = re.findall(r'^disclique (\w+) using "\w+", options\("(.*)"\)', done, re.M)
    assert asked
    for name, given in asked:
        COMMANDS[name].make_context(name, ["survey.dta", *given.split(), "--yes", "--out", "audit"])
    source = text_of("stata/disclique.ado")
    assert f"*! disclique {PROJECT['version']}" in source
    for name in re.findall(r'"(\w+)"', re.findall(r"inlist\(\"`command'\", (.*)\)", source)[0]):
        assert "--out" in options(name)
        assert ("--yes" in options(name)) is (name != "mask")
    assert "inlist(`status', 0, 3, 4)" in source
