"""The closed list of what disclique needs: a page of the documentation, and the papers of a bundle for a closed room.

``python docs/tools/dependencies.py`` writes docs/reference/dependencies.md from the installed distributions and
constraints.txt. ``python docs/tools/dependencies.py --bundle FOLDER`` reads the wheels of a folder and writes beside
them requirements.txt with a hash for each, SHA256SUMS, and sbom.cdx.json (CycloneDX 1.6).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import uuid
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "dependencies.md"
OURS = "disclique"
EXTRAS = ("app", "geo", "stat", "dask")  # what users add; bench, docs and dev are for developers
SYSTEM = {"python_version": "3.11", "python_full_version": "3.11.0", "sys_platform": "linux", "os_name": "posix"}
SYSTEM |= {"platform_system": "Linux", "platform_machine": "x86_64", "implementation_name": "cpython"}
CLASSIFIED = {  # classifiers that say which licence, and not only its family
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC",
    "The Unlicense (Unlicense)": "Unlicense",
}
SPDX = re.compile(r"[A-Za-z0-9.+-]+(-[A-Za-z0-9.+]+)*( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")
KNOWN = {"MIT", "ISC", "BSD-3-Clause", "BSD-2-Clause", "0BSD", "Apache-2.0", "MPL-2.0", "PSF-2.0", "Unlicense", "MIT-0"}
SAID = {  # what the free field of the metadata says, as SPDX says it
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "modified bsd": "BSD-3-Clause",
    "mit license": "MIT",
    "the mit license (mit)": "MIT",
    "apache license, version 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache-2.0 license": "Apache-2.0",
    "bsd": "BSD",
    "psf": "PSF-2.0",
}


@dataclass(frozen=True)
class Package:
    """One distribution: its name as it writes it, its version, its licence, and what it needs, as metadata has them."""

    name: str
    version: str
    licence: str
    needs: tuple[Requirement, ...]

    @property
    def key(self) -> str:
        """The name by which indexes know it."""
        return str(canonicalize_name(self.name))


def read_package(about: Message) -> Package:
    """Return what a METADATA file says."""
    needs = tuple(Requirement(line) for line in about.get_all("Requires-Dist") or ())
    return Package(str(about["Name"]), str(about["Version"]), licence_of(about), needs)


def licence_of(about: Message) -> str:
    """Return the licence: the expression if there is one, else what the free field or the classifiers say."""
    # By get: where a newer importlib_metadata is loaded, a missing field asked for by brackets is an error.
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    free = str(about.get("License") or "").strip().splitlines()
    first = free[0].strip() if free else ""
    said = SAID.get(first.lower(), first if first in KNOWN else "")
    named = [line.rsplit(" :: ", 1)[1] for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    exact = sorted({CLASSIFIED[name] for name in named if name in CLASSIFIED})
    return said or " AND ".join(exact) or _terms("\n".join(free)) or ("BSD" if "BSD License" in named else "not said")


def _terms(text: str) -> str:
    """Return the licence whose terms a text has."""
    plain = " ".join(text.split())
    if "Permission is hereby granted, free of charge" in plain:
        return "MIT"
    if "Redistributions of source code must retain" not in plain:
        return ""
    return "BSD-3-Clause" if "endorse or promote" in plain else "BSD-2-Clause"


def closure(look_up: Callable[[str], Package | None], roots: Iterable[Requirement]) -> dict[str, Package]:
    """Return everything that the requirements lead to on Linux, by name; what cannot be looked up is an error."""
    environment = {**default_environment(), **SYSTEM}
    found: dict[str, Package] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(one, "") for one in roots]
    while waiting:
        wanted, extra = waiting.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({**environment, "extra": extra}):
            continue
        package = look_up(wanted.name)
        if package is None:
            raise SystemExit(f"{wanted} is needed and not there")
        found[package.key] = package
        for one in {"", *wanted.extras}:
            if (package.key, one) not in seen:
                seen.add((package.key, one))
                waiting += [(need, one) for need in package.needs]
    return found


def installed(name: str) -> Package | None:
    """Return a distribution of this environment."""
    try:
        return read_package(distribution(name).metadata)  # type: ignore[arg-type]
    except ModuleNotFoundError:
        return None


def page() -> str:
    """Return the page: every distribution with its pinned version, its licence and who needs it."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    pins = {str(canonicalize_name(name)): number for name, number in (line.split("==") for line in lines)}
    optional = {name: [Requirement(line) for line in project["optional-dependencies"][name]] for name in EXTRAS}
    always = [Requirement(line) for line in project["dependencies"]]
    core = closure(installed, always)
    direct = {str(canonicalize_name(one.name)) for one in [*always, *(r for some in optional.values() for r in some)]}
    users: dict[str, list[str]] = {}
    every = dict(core)
    for extra, wanted in optional.items():
        for key, package in closure(installed, wanted).items():
            every[key] = package
            if key not in core:
                users.setdefault(key, []).append(extra)
    rows = [
        f"| {package.name} | {pins[key]} | {package.licence} | {', '.join(users.get(key, ['always']))} "
        f"| {'yes' if key in direct else ''} |"
        for key, package in sorted(every.items())
    ]
    return HEAD.format(count=len(every), core=len(core)) + "\n".join(rows) + "\n"


HEAD = """# What is installed along

*The closed list: every distribution that disclique brings, its tested version and its licence. Made by
`python docs/tools/dependencies.py`; a test holds it to the installed environment.*

`pip install disclique` brings {core} distributions on Linux with Python 3.11, with all extras for users (`app`, `geo`,
`stat`, `dask`) there are {count}. Other systems and Pythons differ by a few (Windows adds colorama). Versions are those
of `constraints.txt`, with which everything is tested; lower bounds stand in `pyproject.toml` and are tested too
(`make lowest`). Licences are what each
distribution says of itself; where it says BSD and not which, that is what stands here. What a report carries along
stands in [NOTICE](../../NOTICE). For rooms without a network there is
[a bundle](../howto/install.md#without-a-network).

| distribution | version | licence | for | named by disclique |
|---|---|---|---|---|
"""


def wheels(folder: Path) -> dict[str, tuple[Package, Path]]:
    """Return the wheels of a folder by name; two of one name are an error."""
    found: dict[str, tuple[Package, Path]] = {}
    for file in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(file) as wheel:
            (name,) = [name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
            package = read_package(Parser().parsestr(wheel.read(name).decode("utf-8")))
        if package.key in found:
            raise SystemExit(f"{file.name} and {found[package.key][1].name} are the same distribution")
        found[package.key] = package, file
    return found


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_bundle(folder: Path) -> None:
    """Write requirements with hashes, checksums and the SBOM beside the wheels of a folder."""
    there = wheels(folder)
    if OURS not in there:
        raise SystemExit(f"{folder} has no wheel of {OURS}")
    lines = [f"{p.name}=={p.version} --hash=sha256:{digest(file)}\n" for p, file in there.values()]
    (folder / "requirements.txt").write_text("".join(lines), encoding="utf-8")
    sums = [f"{digest(file)}  {file.name}\n" for _, file in there.values()]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    (folder / "sbom.cdx.json").write_text(json.dumps(bill(there), indent=2) + "\n", encoding="utf-8")


def bill(there: dict[str, tuple[Package, Path]]) -> dict[str, object]:
    """Return the bill of materials as CycloneDX 1.6 writes it; the same wheels give the same bill."""
    content = "".join(digest(file) for _, file in there.values())
    components = [_component(package, file) for key, (package, file) in there.items() if key != OURS]
    environment = {**default_environment(), **SYSTEM}
    depends = []
    for package, _ in there.values():
        extras = ("", *EXTRAS) if package.key == OURS else ("",)
        needs = {
            str(canonicalize_name(need.name))
            for need in package.needs
            for extra in extras
            if need.marker is None or need.marker.evaluate({**environment, "extra": extra})
        }
        others = sorted(_ref(there[key][0]) for key in needs if key in there)
        depends.append({"ref": _ref(package), "dependsOn": others})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        "metadata": {"component": _component(*there[OURS])},
        "components": components,
        "dependencies": depends,
    }


def _ref(package: Package) -> str:
    return f"pkg:pypi/{package.key}@{package.version}"


def _component(package: Package, file: Path) -> dict[str, object]:
    said = package.licence
    if said in KNOWN:
        licences = [{"license": {"id": said}}]
    elif SPDX.fullmatch(said) and re.search(" (AND|OR|WITH) ", said):
        licences = [{"expression": said}]
    else:
        licences = [{"license": {"name": said}}]
    return {
        "type": "application" if package.key == OURS else "library",
        "bom-ref": _ref(package),
        "name": package.name,
        "version": package.version,
        "purl": _ref(package),
        "licenses": licences,
        "hashes": [{"alg": "SHA-256", "content": digest(file)}],
    }


def main() -> None:
    """Write the page, or the papers of a bundle."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundle", type=Path, help="folder of wheels")
    given = parser.parse_args()
    if given.bundle is None:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        write_bundle(given.bundle)


if __name__ == "__main__":
    main()
