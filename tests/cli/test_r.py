"""The script for R users runs as it stands, where R is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parents[2] / "examples" / "audit.R"


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_script_for_r_audits_a_data_frame(tmp_path: Path) -> None:
    """It writes a file, calls the command, and reads the risk of both masks back; status 0, 3 or 4 is a decision."""
    program = tmp_path / "disclique"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m disclique "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["Rscript", str(SCRIPT), str(tmp_path / "out")],
        env={**os.environ, "DISCLIQUE": str(program)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "gaussian:sigma=500m" in done.stdout
    assert "gaussian:sigma=20km" in done.stdout
    assert (tmp_path / "out" / "audit" / "report.html").exists()
