"""What a study leaves in its folder besides the journal: tidy results and the paper's tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from disclique.records.write import write_table
from disclique.studies.definition import Study
from disclique.studies.draws import tabulate_labels
from disclique.studies.summary import KEYS, RATES, deviations, grid_table


def write_tables(study: Study, records: pd.DataFrame, summary: pd.DataFrame, folder: Path) -> list[Path]:
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
        written["labels.csv"] = tabulate_labels(study)
    for place, attack in enumerate(study.grid.attacks):
        ending = "" if place == 0 else "_" + "".join(c if c.isalnum() else "-" for c in attack)
        for rate in RATES:
            written[f"{rate}{ending}.csv"] = grid_table(study, summary, rate, attack)
    for name, frame in written.items():
        write_table(frame, folder / name)
    return [folder / name for name in written]
