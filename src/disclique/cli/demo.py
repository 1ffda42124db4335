"""``disclique demo``: an audit of the bundled synthetic survey, from the file to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

# A rigid motion, noise on coordinates in growing amounts, and on the distances the noise whose variance is that of
# 15.2 km on each coordinate (15.2·√2 = 21.5); and a search for the noise that is enough. Few repetitions and three
# attacks keep it short.
OPTIONS: dict[str, Any] = {
    "id": "id",
    "label": ["sex", "age_class"],
    "coordinates": "lon,lat",
    "mask": ["affine", "matrix-gaussian:sd=21.5km", "gaussian:sigma=2km..20km"],
    "overlap": 0.2,
    "max-risk": 0.4,
    "attack": ["labels", "clique", "register"],
    "repetitions": 3,
    "budget": 0.5,
    "seed": 1,
}


def command(
    out: Annotated[Path, typer.Option(help="Folder for the result and the report.")] = Path("demo"),
    processes: Annotated[int | None, typer.Option(help="Processes (all cores).")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Audit a bundled synthetic survey of 500 people and write the report."""
    from disclique.cli.audit import options, run
    from disclique.cli.screen import Screen
    from disclique.synthetic.survey import survey_file

    run(survey_file(), out, options(OPTIONS, None), screen=Screen(quiet), how=(processes, False, False))
