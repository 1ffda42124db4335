"""A study carried out: what is missing is run, every unit is journalled, and the tables follow from the journal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from disclique.arguments import check_kind, check_path, show
from disclique.errors import InputError
from disclique.messages import Message
from disclique.records.write import write_table
from disclique.runs import Executor, Progress, open_journal, run_units
from disclique.runs.journal import read_definition, read_journal
from disclique.studies.definition import Study, define_study
from disclique.studies.summary import KEYS, RATES, deviations, grid_table, records_table, summarise
from disclique.studies.unit import Cell, StudyDraws, UnitRunner

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A study with its records, a row for each cell, and what the reader should know about the run.

    >>> import disclique as dq
    >>> result = dq.study(sigma=0.01, alpha=0.5, repetitions=2, n=60, common=10, attack="labels")
    >>> result.summary[["attack", "repetitions"]].values.tolist()
    [['labels', 2]]
    """

    study: Study
    records: pd.DataFrame
    notes: tuple[Message, ...] = ()

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Averages over the repetitions of each mask, α and attack, with their uncertainty."""
        return summarise(self.records)

    def averages(self) -> pd.DataFrame:
        """Return average precision and recall of every attack, a row for each α and a column for each mask."""
        parts = [
            grid_table(self.study, self.summary, rate, attack).assign(attack=attack, average=rate)
            for attack in self.study.grid.attacks
            for rate in RATES
        ]
        shown = pd.concat(parts)
        first = ["attack", "average"]
        return shown[[*first, *(name for name in shown.columns if name not in first)]].reset_index(drop=True)

    def lines(self) -> list[str]:
        """Say what the averages leave out, and which of them are lower bounds."""
        said = [str(note) for note in self.notes]
        empty = int(self.summary["empty"].sum())
        if empty:
            said.append(f"{empty} runs claimed nothing: they have no precision and are left out of its average")
        for name, cut in self.summary.groupby("attack", sort=False)["unproven"].sum().items():
            if cut:
                said.append(
                    f"{name}: {cut} runs have no proof that their claim is the largest: a lower bound on the risk"
                )
        return said

    def save(self, folder: Path | str) -> list[Path]:
        """Write results.parquet and the paper's tables to a folder; return the files."""
        return _write_tables(self.study, self.records, self.summary, Path(folder))

    def plot(self) -> Figure:
        """Draw precision and recall of every attack against the mask's dial."""
        import disclique

        middle = min(self.study.grid.alphas, key=lambda alpha: abs(alpha - 0.5))
        if self.study.grid.turns_labels:
            return disclique.plots.draw_rates_by_labels(self, middle)
        return disclique.plots.draw_rates_by_attack(self.summary, middle)

    def __repr__(self) -> str:
        notes = self.lines()
        return f"StudyResult({len(self.records)} cells{f', {len(notes)} notes, see lines()' if notes else ''})"

    def __str__(self) -> str:
        return "\n".join([f"Study of {len(self.records)} cells", self.averages().round(4).to_string(), *self.lines()])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.lines())
        return (
            f"<div><b>Study of {len(self.records)} cells</b>{self.averages().round(4).to_html()}<ul>{lines}</ul></div>"
        )


def study(
    definition: Study | None = None,
    *,
    folder: Path | str | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> StudyResult:
    """Attack a grid of masks × α × repetitions on synthetic people, and measure every cell.

    Parameters
    ----------
    definition : Study
        What to carry out; or say it by ``options``.
    folder : path
        Where the work is journalled: killed at any moment and called again it goes on there. In memory without one.
    executor : Executor
        Where units run: ``Serial()``, ``Processes(4)`` or ``OnDask("tcp://…")``; the numbers are the same.
    progress : function of units done, units wanted, and the unit that has just come in
    options
        As on the command line: ``mask``, ``sigma``, ``alpha``, ``repetitions``, ``attack``, ``n``, ``common``,
        ``datasets``, ``labels``, ``seed``, …; what is not said is the paper's.

    Examples
    --------
    >>> import disclique as dq
    >>> result = dq.study(sigma=0.01, alpha=0.5, repetitions=1, n=60, common=10, attack="labels")
    >>> result.records[["attack", "repetition"]].to_dict("records")
    [{'attack': 'labels', 'repetition': 0}]
    """
    if definition is not None:
        check_kind(definition, Study, "definition", "wanted_study")
    if executor is not None and not callable(getattr(executor, "map", None)):
        raise InputError("not_an_executor", executor=show(executor))
    work = definition or define_study(options)
    place = None if folder is None else check_path(folder, "folder")
    run = UnitRunner(work)
    run.draws.check()
    with open_journal(place, work, list[Cell]) as journal:
        run_units(run, work.units(), journal, executor=executor, progress=progress)
        return StudyResult(work, records_table(work, journal.done), journal.notes)


def load_study(folder: Path | str) -> StudyResult:
    """Read the study in a folder, with the cells that are finished.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = study(sigma=0.01, repetitions=1, n=60, common=10, attack="labels", folder=folder)
    ...     load_study(folder).study == made.study
    True
    """
    place = check_path(folder, "folder")
    found = define_study(read_definition(place, Study.kind)[Study.kind])
    done = read_journal(place, found, list[Cell])
    total = found.grid.repetitions * len(found.grid.settings)
    notes = () if len(done) == total else (Message("study_unfinished", folder=folder, done=len(done), total=total),)
    return StudyResult(found, records_table(found, done), notes)


def _write_tables(study: Study, records: pd.DataFrame, summary: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the tables of a study; return the files.

    ``results.parquet`` holds a row for each cell and nothing that depends on when or where it ran, so that it is the
    same, byte for byte, however often the study was interrupted; the seconds are in ``timings.parquet``.
    ``summary.csv`` has the averages with their uncertainty; ``deviations.csv``, ``precision.csv`` and ``recall.csv``
    are laid out as the paper's tables 3, 4 and 5 (the first attack; further ones in files that end in their name).
    ``labels.csv`` says what labels tell at each level, where they are an axis.
    """
    written = {
        "results.parquet": records.drop(columns="seconds"),
        "timings.parquet": records[[*KEYS, *(["labels"] if study.grid.turns_labels else []), "seconds"]],
        "summary.csv": summary.drop(columns="seconds"),
        "deviations.csv": deviations(study),
    }
    if study.grid.turns_labels:
        written["labels.csv"] = StudyDraws(study).tabulate_labels()
    for place, attack in enumerate(study.grid.attacks):
        ending = "" if place == 0 else "_" + "".join(c if c.isalnum() else "-" for c in attack)
        for rate in RATES:
            written[f"{rate}{ending}.csv"] = grid_table(study, summary, rate, attack)
    for name, frame in written.items():
        write_table(frame, folder / name)
    return [folder / name for name in written]
