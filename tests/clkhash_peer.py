"""What clkhash makes of schemas and reads in CLKs: asked in an environment of its own.

What clkhash needs does not go with the tools of this project: ``make .venv-clkhash/ready`` sets it up.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[1] / ".venv-clkhash" / "bin" / "python"
ANSWER = """
import base64, json, sys
from clkhash.clk import generate_clks
from clkhash.schema import from_json_dict
from clkhash.serialization import deserialize_bitarray, serialize_bitarray

asked = json.load(sys.stdin)
if asked["make"] is not None:
    def make(one):
        return generate_clks(one["rows"], from_json_dict(one["schema"]), one["secret"], validate=False)

    answer = [[serialize_bitarray(clk) for clk in make(one)] for one in asked["make"]]
else:
    answer = [deserialize_bitarray(cell).to01() for cell in asked["read"]]
json.dump(answer, sys.stdout)
"""


def make_clks(cases: list[dict]) -> list[list[str]]:
    """Return the CLKs of cases (schema, secret, rows) as clkhash writes them."""
    return list(_ask(make=cases))


def read_clks(cells: list[str]) -> list[str]:
    """Return the bits of CLKs, a string of 0 and 1 each, as clkhash reads them."""
    return list(_ask(read=cells))


def _ask(make: list[dict] | None = None, read: list[str] | None = None) -> list:
    if not PYTHON.exists():
        pytest.skip("clkhash is not installed: make .venv-clkhash/ready")
    asked = json.dumps({"make": make, "read": read})
    said = subprocess.run([PYTHON, "-c", ANSWER], input=asked, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    return list(json.loads(said.stdout))
