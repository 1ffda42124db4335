"""The package as a user gets it: built from the files of the repository, installed away from them, tried out there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

import pytest

ROOT = Path(__file__).parent.parent
LEFTOVERS = (  # of earlier runs, which no package may carry on
    "src/disclique/engine/kernels/__pycache__/search.exact-12.py311.nbi",
    "src/disclique/engine/kernels/__pycache__/search.exact-12.py311.1.nbc",
    "src/disclique/show/report/__pycache__/page.cpython-311.pyc",
    "src/disclique/show/report/templates/__pycache__/stray.cpython-311.pyc",
    "tests/__pycache__/conftest.cpython-311.pyc",
)


def repository_files() -> list[str]:
    """Every file that git has or would take, as paths from the root of the repository."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("without git nobody knows which files belong to the repository")
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listed, capture_output=True, text=True, check=True, encoding="utf-8")
    return sorted(name for name in set(found.stdout.split("\0")) if name and (ROOT / name).is_file())


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist, of a copy of the repository with leftovers; return both files."""
    tree = folder / "tree"
    for name in repository_files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for name in LEFTOVERS:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(b"left")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    shutil.rmtree(tree)  # what is installed from now on has nothing to fall back on
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    (wheel,) = (folder / "dist").glob("*.whl")
    return sdist, wheel


class Installed:
    """An environment of its own with the wheel in it, and no way to the sources."""

    def __init__(self, folder: Path, *, pip: bool) -> None:
        self.folder = folder
        venv.create(folder / "env", with_pip=pip, symlinks=os.name != "nt")
        self.bin = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"

    @classmethod
    def beside(cls, folder: Path, wheel: Path) -> Installed:
        """Install the wheel alone; its dependencies are those of this Python, without what is installed to edit it.

        A folder that is named in a ``.pth`` file is searched last, and its own ``.pth`` files are not read.
        """
        made = cls(folder, pip=False)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(made.python),
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
        ]
        subprocess.run([*pip, "--no-compile", str(wheel)], check=True, capture_output=True, env=made.environment())
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        purelib = Path(made("python", "-I", "-c", where).stdout.strip())
        ours = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
        (purelib / "dependencies.pth").write_text("\n".join(ours) + "\n", encoding="utf-8")
        return made

    def environment(self) -> dict[str, str]:
        """Variables without any that would lead Python elsewhere."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**kept, "PYTHONSAFEPATH": "1", "MPLBACKEND": "Agg", "COLUMNS": "200"}

    def __call__(
        self, program: str, *arguments: str, codes: tuple[int, ...] = (0,), compiled: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in its folder; it must end with one of ``codes``."""
        more = {} if compiled else {"NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=self.folder,
            env=self.environment() | more,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode in codes, (arguments, done.returncode, done.stderr[-2000:])
        return done


def try_commands(at: Installed, *, compiled: bool) -> None:
    """Carry out the paper's example and an audit of a small file, and look at what they write."""
    from small_files import COLUMNS, FAST, people  # it loads the package: not for those who only want a path

    said = at("disclique", "example", "poets", "--out", "poets", compiled=compiled)
    assert "clique: 4 members (proven maximum)" in said.stdout + said.stderr
    assert list((at.folder / "poets").glob("*.png"))
    people(14).to_csv(at.folder / "file.csv", index=False)
    asked = (
        "audit",
        "file.csv",
        *COLUMNS,
        *FAST,
        "--mask",
        "gaussian:sigma=5km",
        "--max-risk",
        "0.9",
        "--out",
        "audit",
    )
    at("disclique", *asked, codes=(0, 3, 4), compiled=compiled)
    report = (at.folder / "audit" / "report.html").read_text(encoding="utf-8")
    assert "gaussian" in report
    assert "vegaEmbed" in report  # the charts' library came along
    assert (at.folder / "audit" / "result.json").stat().st_size > 1000


def try_app(at: Installed) -> None:
    """Start the app and fetch the page whose address it prints."""
    server = subprocess.Popen(
        [str(at.bin / "disclique"), "app", "--port", "0", "--no-browser"],
        cwd=at.folder,
        env=at.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout
        line = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+\S*", line)
        assert found, line + (server.stderr.read() if server.poll() is not None and server.stderr else "")
        browser = build_opener(ProxyHandler({}), HTTPCookieProcessor())  # the token becomes a cookie
        with browser.open(found[0], timeout=60) as page:
            assert page.status == 200
            assert "<title>" in page.read().decode("utf-8")
    finally:
        server.terminate()
        server.communicate(timeout=60)
