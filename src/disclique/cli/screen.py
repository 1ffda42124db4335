"""What a person sees: tables and progress on a terminal, plain text in a pipe, nothing with ``--quiet``.

Results go to standard output; what is said about them goes to standard error, so that a pipe carries data only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from disclique.data.inspection import Inspection
    from disclique.runs import Progress, Unit


EVERY = 30.0  # seconds between plain lines of progress


def _nothing(step: str, share: float | None = None) -> None:
    pass


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

    def look(self, found: Inspection, *, force: bool, yes: bool) -> Inspection:
        """Show a look at the input; end if it can only be mistaken, and on a terminal ask about what looks odd."""
        self.say(found.lines())
        checked = found.check(force=force)
        if found.remarks and not (yes or force or self.quiet) and self.err.is_terminal and sys.stdin.isatty():
            import typer

            if not typer.confirm("Go on with this input?", err=True):
                raise typer.Exit(2)
        return checked

    def table(self, frame: pd.DataFrame, title: str = "") -> None:
        """Print a table: with a frame on a terminal, tab-separated in a pipe."""
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
    def steps(self, first: str = "reading") -> Iterator[Callable[[str, float | None], None]]:
        """A function that announces the step at work and the share of it that is done, for a bar with an estimate."""
        if self.quiet or not self.err.is_terminal:
            yield _nothing
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        text = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), text, BarColumn(), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
        with Progress(*columns, console=self.err, transient=True) as progress:
            task = progress.add_task(first, total=None)

            def announce(step: str, share: float | None = None) -> None:
                progress.update(task, description=step, total=None if share is None else 1.0, completed=share or 0.0)

            yield announce

    @contextmanager
    def search(self, name: str) -> Iterator[Callable[[int, int, int], None]]:
        """Show a clique search: done, total, and the size of the best clique so far."""
        with self.steps(name) as step:
            yield lambda done, total, best: step(f"{name}, {best} members so far", done / max(total, 1))

    @contextmanager
    def units(self, what: str) -> Iterator[Progress]:
        """Show how many units are done, how fast, and how long the rest takes: a bar on a terminal, else lines."""
        clock = _Clock()
        with self.steps() as step:

            def show(done: int, wanted: int, unit: Unit | None) -> None:
                clock.take(done)
                step(f"{done} of {wanted} {what}{clock.words(wanted)}", done / max(wanted, 1))
                if not self.err.is_terminal and clock.due(done == wanted):
                    self.say([f"{done} of {wanted} {what}{clock.words(wanted)}"])

            yield show


class _Clock:
    """How fast units come in, and when a line is due."""

    def __init__(self) -> None:
        self.begun, self.said = time.monotonic(), -EVERY
        self.before: int | None = None
        self.done = 0

    def take(self, done: int) -> None:
        """Note how many are done; those of an earlier run say nothing about the rate."""
        self.before = done if self.before is None else self.before
        self.done = done

    def due(self, last: bool) -> bool:
        """Say whether it is time for a line; and always for the last one."""
        now = time.monotonic() - self.begun
        if now - self.said < EVERY and not last:
            return False
        self.said = now
        return True

    def words(self, wanted: int) -> str:
        """Say rate and time left, as far as they are known."""
        fresh = self.done - (self.before or 0)
        if not fresh:
            return ""
        rate = fresh / max(time.monotonic() - self.begun, 1e-9)
        minutes, seconds = divmod(round((wanted - self.done) / rate), 60)
        hours, minutes = divmod(minutes, 60)
        left = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
        return f", {rate:.2g} a second, {left} left"
