"""``disclique compare``: a study beside the paper's printed tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disclique.cli.options import FORCE
from disclique.errors import InputError


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.")],
    spread: Annotated[
        Path | None, typer.Option(help="Folder of a study with --datasets: how much the data set itself matters.")
    ] = None,
    attack: Annotated[str, typer.Option(help="Which attack of the study to compare.")] = "clique",
    out: Annotated[Path | None, typer.Option(help="Write the comparison: a page (.md) or its cells (.csv).")] = None,
    force: FORCE = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Put each cell of a study beside the paper's, with the difference and whether chance explains it."""
    from disclique.cli.screen import Screen
    from disclique.records.write import check_writable, whole_file, write_table
    from disclique.studies import load_study
    from disclique.studies.compare import compare, markdown

    if out is not None and out.suffix.lower() not in (".md", ".csv"):
        raise InputError(f"{out}: write a page (.md) or a table (.csv)")
    check_writable([out], force=force)
    found = compare(load_study(folder), spread=None if spread is None else load_study(spread), attack=attack)
    if out is not None and out.suffix.lower() == ".md":
        with whole_file(out) as draft:
            draft.write_text(markdown(found), encoding="utf-8")
    elif out is not None:
        write_table(found.cells, out)
    screen = Screen(quiet)
    screen.table(found.cells.drop(columns="dataset_sd").round(4), title="ours and the paper's")
    screen.say(found.lines())
