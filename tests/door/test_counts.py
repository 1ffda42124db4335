"""The script that counts what the house is held to, on small packages written for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "tools" / "counts.py"
SPACES, STATE, NAMES = "isinstance on spaces", "mutable state", "constant names"


def count(folder: Path, **modules: str) -> tuple[dict[str, int], int]:
    """What the script counts in a package of these modules (``room__file``), and how it leaves."""
    for name, text in {"spaces__points": "class Points: ...\n", **modules}.items():
        path = folder / "disclique" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    ran = subprocess.run([sys.executable, SCRIPT, "--src", folder], capture_output=True, text=True, check=False)
    rows = [line.rsplit(maxsplit=3 if line.endswith("broken") else 2) for line in ran.stdout.splitlines()[1:]]
    return {row[0]: int(row[1].replace(",", "")) for row in rows[:5]}, ran.returncode


def number(counted: dict[str, int], title: str) -> int:
    return next(value for name, value in counted.items() if name.startswith(title))


def test_a_package_without_faults_passes(tmp_path: Path) -> None:
    counted, left = count(tmp_path, masks__a="LIMIT = 3\nNAMES = {'a': 1}\n", attacks__b="LIMIT = 4\n")
    assert (counted["modules"], counted["lines"], left) == (3, 4, 0)


@pytest.mark.parametrize(
    "asked",
    [
        "isinstance(x, Points)",
        "isinstance(x, int | Points)",
        "isinstance(x, (str, Points))",
        "type(x) is Points",
    ],
)
def test_questions_for_a_space_count_outside_its_room(tmp_path: Path, asked: str) -> None:
    text = f"from disclique.spaces.points import Points\n\ndef f(x):\n    return {asked}\n"
    counted, left = count(tmp_path, masks__a=text, spaces__b=text)
    assert (number(counted, SPACES), left) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "_seen = {}\ndef f(x):\n    _seen[x] = 1\n",
        "_seen: list[int] = []\ndef f(x):\n    _seen.append(x)\n",
        "n = 0\ndef f():\n    global n\n",
        "from functools import lru_cache\n@lru_cache\ndef f(audit: Audit):\n    return 1\n",
        "def f(x):\n    x.__dict__['a'] = 1\n",
        "from itertools import count\nnumbers = count()\ndef f():\n    return next(numbers)\n",
        "class A:\n    def f(self):\n        self.a = 1\nHELD = A()\n",
    ],
)
def test_state_that_is_written_after_loading_counts(tmp_path: Path, text: str) -> None:
    counted, left = count(tmp_path, masks__a=text)
    assert (number(counted, STATE), left) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "ALL = {}\ndef register(kind):\n    ALL[kind.name] = kind\n    return kind\n@register\nclass A: ...\n",
        "from functools import cache\n@cache\ndef f(language: str):\n    return 1\n",
        "_seen = {}\ndef f(x):\n    _seen = {}\n    _seen[x] = 1\n",
    ],
)
def test_registries_and_small_caches_do_not_count(tmp_path: Path, text: str) -> None:
    counted, left = count(tmp_path, masks__a=text)
    assert (number(counted, STATE), left) == (0, 0)


def test_a_constant_has_one_meaning_in_a_room(tmp_path: Path) -> None:
    counted, left = count(tmp_path, masks__a="MOST = 3\nSAME = 1\n", masks__b="MOST, SAME = 4, 1\n")
    assert (number(counted, NAMES), left) == (1, 1)
