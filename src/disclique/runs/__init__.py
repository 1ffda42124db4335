"""How many cells are run: units of work, their chance, their journal, where they run, and how long that takes.

Studies and audits say *what* a unit is and what follows from its records; everything about running units lives here and
knows nothing of masks, attacks or risk.
"""

from disclique.model import Executor
from disclique.runs.dask_cluster import OnDask
from disclique.runs.journal import Journal, open_journal
from disclique.runs.progress import Forecast
from disclique.runs.run import (
    Estimate,
    FullProgress,
    Processes,
    Progress,
    Serial,
    choose_executor,
    keep_open,
    run_units,
    try_units,
)
from disclique.runs.unit import Chance, Measured, Stage, Unit, WrittenUnit

__all__ = [
    "Chance",
    "Estimate",
    "Executor",
    "Forecast",
    "FullProgress",
    "Journal",
    "Measured",
    "OnDask",
    "Processes",
    "Progress",
    "Serial",
    "Stage",
    "Unit",
    "WrittenUnit",
    "choose_executor",
    "keep_open",
    "open_journal",
    "run_units",
    "try_units",
]
