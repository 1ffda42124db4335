"""Shared by the tests: where the optional benchmark data lie, and quiet numerical libraries."""

import os
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

# The same cases on every run and machine: chance comes from explicit seeds, in tests too.
settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")

SHARED = Path(__file__).resolve().parents[2] / "shared"
