"""``disclique masks``: the masks that fit a file, or all there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disclique.cli.options import RELEASED, with_options
from disclique.cli.screen import Screen
from disclique.options.files import FileOptions


@with_options(FileOptions)
def command(
    options: FileOptions,
    screen: Screen,
    file: Annotated[Path | None, typer.Argument(help=f"A file to be released: {RELEASED}")] = None,
) -> None:
    """List the masks that fit a file, each with its dial and a spec to begin with; without a file all there are.

    A dial protects more when it rises (↑) or falls (↓). The range behind it goes from half the way to the nearest
    record to half of nearly the longest way: audit searches it for a limit, mask takes one value of it.
    """
    from disclique.advice.mask_list import list_masks
    from disclique.records.reading import Layout, read

    options = options.filled()
    data = None
    if file is not None:
        with screen.steps(f"reading {file}"):
            data = read(file, Layout(**options.own_columns), distances=options.distances, vectors=options.vectors)
    found = list_masks(data)
    if screen.quiet or not screen.out.is_terminal:
        screen.table(found)
        return
    for takes in sorted(set(found["on"])):
        screen.out.print(f"Masks of {takes}", style="bold")
        rows = found[found["on"] == takes]
        for row in rows.itertuples():
            dial = f"  (dial: {row.dial})" if row.dial else ""
            screen.out.print(f"  {row.example}{dial}\n      {row.does}", markup=False)
