"""A study carried out: what is missing is run, every unit is journalled, and the tables follow from the journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from disclique.model import Json
from disclique.runs.execute import Executor, Serial
from disclique.runs.journal import journal, read_study
from disclique.studies.cells import run_unit
from disclique.studies.grid import Study, Unit
from disclique.studies.methods import check
from disclique.studies.summary import records_table

Progress = Callable[[int, int, list[Json]], None]  # units done, all units, the records that have just come in


@dataclass(frozen=True, eq=False)
class Outcome:
    """A study with its records, one row a cell, and what the reader should know about the run."""

    study: Study
    records: pd.DataFrame
    notes: tuple[str, ...] = ()


def run_study(
    study: Study, folder: Path, *, executor: Executor | None = None, progress: Progress | None = None
) -> Outcome:
    """Every cell of ``study``, after running those that ``folder`` does not hold yet.

    Killed at any moment and called again it goes on where it stopped. The records are the same for every executor and
    every order in which units finish.
    """
    tell = progress or (lambda done, total, records: None)
    check(study)
    units = list(study.units())
    with journal(folder, study) as book:
        tell(len(book.done), len(units), [record for records in book.done.values() for record in records])
        missing = [unit for unit in units if unit not in book.done]
        for unit, records in (executor or Serial()).map(partial(_finished, study), missing):
            book.append(unit, records)
            tell(len(book.done), len(units), records)
        return Outcome(study, records_table(study, book.done), book.notes)


def _finished(study: Study, unit: Unit) -> tuple[Unit, list[Json]]:
    return unit, run_unit(study, unit)


def load_study(folder: Path) -> Outcome:
    """The study in a folder, with the cells that are finished."""
    study, done = read_study(folder)
    total = study.grid.repetitions * len(study.grid.masks)
    notes = () if len(done) == total else (f"{folder}: {len(done)} of {total} units are finished",)
    return Outcome(study, records_table(study, done), notes)
