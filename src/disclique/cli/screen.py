"""What a person sees: tables and progress on a terminal, plain text in a pipe, nothing with ``--quiet``.

Results go to standard output; what is said about them goes to standard error, so that a pipe carries data only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class Screen:
    """Where output goes, and how much of it."""

    def __init__(self, quiet: bool = False) -> None:
        from rich.console import Console

        self.quiet = quiet
        self.out = Console(highlight=False, soft_wrap=True)
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, lines: Iterable[str]) -> None:
        """Sentences about a result, as they are: no markup is read from data."""
        if not self.quiet:
            for line in lines:
                self.err.print(line, markup=False)

    def table(self, frame: pd.DataFrame, title: str = "") -> None:
        """A table: with a frame on a terminal, tab-separated in a pipe."""
        if self.quiet:
            return
        if not self.out.is_terminal:
            frame.to_csv(sys.stdout, sep="\t", index=False)
            return
        from rich.table import Table
        from rich.text import Text

        shown = Table(title=title or None)
        for column in frame.columns:
            numeric = frame[column].dtype.kind in "iuf"
            shown.add_column(Text(str(column)), justify="right" if numeric else "left")
        for row in frame.itertuples(index=False, name=None):
            shown.add_row(*(Text(f"{v:.3g}" if isinstance(v, float) else str(v)) for v in row))
        self.out.print(shown)

    @contextmanager
    def steps(self) -> Iterator[Callable[[str], None]]:
        """A function that announces the step at work; on a terminal it spins with the time gone by."""
        if self.quiet or not self.err.is_terminal:
            yield lambda step: None
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self.err, transient=True) as progress:
            task = progress.add_task("reading")
            yield lambda step: progress.update(task, description=step)
