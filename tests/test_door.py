"""The public door: every name is there, explained and shown in use; importing it is light; the README holds."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import disclique as dq

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.parametrize("name", dq.__all__)
def test_every_public_name_is_explained_and_shown(name: str) -> None:
    """A docstring with an example; the examples themselves are run as tests of ``src``."""
    found = getattr(dq, name)
    assert found.__name__ == ("disclique.show" if name == "plots" else name)
    said = inspect.getdoc(found) or ""
    assert said.splitlines()[0].endswith("."), "the first line says what it is"
    assert ">>> " in said, "an example"


def test_nothing_else_is_at_the_door() -> None:
    assert sorted(dq.__all__) == sorted(set(dq.__all__)) == dir(dq)
    assert set(dq.__all__) == {*dq._HOME, "plots"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dq.nothing
    with pytest.raises(ImportError):
        from disclique import nothing  # noqa: F401


def loaded_by(script: str) -> list[str]:
    """The heavy libraries that a fresh Python has loaded after a script."""
    heavy = "('numba', 'pandas', 'scipy', 'matplotlib', 'numpy', 'sklearn', 'pyproj', 'msgspec')"
    script += f"\nimport sys; print('loaded', *[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()[1:]


def test_importing_is_light() -> None:
    """Neither the package nor its help loads numerical libraries."""
    helped = "from typer.testing import CliRunner\nassert CliRunner().invoke(app, ['--help']).exit_code == 0"
    assert loaded_by(f"import disclique\ndir(disclique)\nfrom disclique.cli import app\n{helped}") == []


def test_results_do_not_load_what_they_do_not_need() -> None:
    """An attack needs no pictures and no web page."""
    script = "import disclique as dq; dq.attack(*dq.poets(), agreement=dq.Within(5))"
    assert "matplotlib" not in loaded_by(script)


@pytest.mark.slow
def test_the_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python example of the README, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), scope)
