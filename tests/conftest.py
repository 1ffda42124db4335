"""Shared by the tests: where the optional benchmark data lie, and quiet numerical libraries."""

import os
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

SHARED = Path(__file__).resolve().parents[2] / "shared"
