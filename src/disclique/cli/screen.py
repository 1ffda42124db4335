"""What a person sees: tables and progress on a terminal, plain text in a pipe, nothing with ``--quiet``.

Results go to standard output; what is said about them goes to standard error, so that a pipe carries data only.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from disclique.data.inspection import Inspection
    from disclique.runs import Executor, Forecast, Unit


SOON, EVERY = 0.8, 15.0  # seconds until the first plain line of progress, and between the others


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
    def steps(self, first: str = "reading", *, forecast: bool = True) -> Iterator[Callable[[str, float | None], None]]:
        """A function that announces the step at work and the share of it that is done: a bar on a terminal, else lines.

        The first step is announced at once, in lines after a moment, since bad input is told by a single sentence; the
        others now and then. A bar tells the time left by the
        share, unless there is no ``forecast`` because the words of a step tell it better.
        """
        if self.quiet:
            yield _nothing
            return
        if not self.err.is_terminal:
            lines = _Lines(self, first)
            later = threading.Timer(SOON, lines.begin)
            later.daemon = True
            if forecast:
                later.start()
            else:
                lines.begin()
            try:
                yield lines
            finally:
                later.cancel()
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        text = TextColumn("{task.description}", markup=False)
        left = (TextColumn("left:"), TimeRemainingColumn()) if forecast else ()
        columns = (SpinnerColumn(), text, BarColumn(), TimeElapsedColumn(), *left)
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
    def units(self, what: str, forecast: Forecast, executor: Executor) -> Iterator[Counter]:
        """Show how many units are done, how fast, and how long the rest takes by the forecast."""
        with self.steps(f"0 of {len(forecast.expected)} {what}", forecast=False) as step:
            yield Counter(what, forecast, executor.parallel or 1, step)


class Counter:
    """Hears of units that come in, and shows how far the run is."""

    def __init__(self, what: str, forecast: Forecast, parallel: int, step: Callable[[str, float | None], None]) -> None:
        self.what, self.forecast, self.parallel, self.step = what, forecast, parallel, step
        self.fresh, self.begun = 0, time.monotonic()  # units of this run, not of an earlier one

    def took(self, unit: Unit, seconds: float) -> None:
        """Note how long a unit took."""
        self.forecast.took(unit, seconds)

    def __call__(self, done: int, wanted: int, unit: Unit | None) -> None:
        """Show that a unit has come in."""
        self.fresh += unit is not None
        left, spent = self.forecast.left(wanted - done), self.forecast.spent
        rate = f", {self.fresh / max(time.monotonic() - self.begun, 1e-9):.2g} a second" if self.fresh else ""
        words = f"{rate}, {say_clock(left / self.parallel)} left" if spent else ""
        total = max(wanted, len(self.forecast.expected))
        self.step(f"{done} of {total} {self.what}{words}", spent / (spent + left) if spent else done / max(total, 1))


class _Lines:
    """Lines of progress in a pipe, not more often than somebody wants to read them."""

    def __init__(self, screen: Screen, first: str) -> None:
        self.screen, self.step, self.said = screen, first, time.monotonic()

    def begin(self) -> None:
        """Say which step is at work."""
        self.screen.say([self.step])

    def __call__(self, step: str, share: float | None = None) -> None:
        """Say a line if it is time for one, or the last one."""
        now, self.step = time.monotonic(), step
        if now - self.said >= EVERY or share == 1:
            self.said = now
            self.screen.say([step])


def say_clock(seconds: float) -> str:
    """Say a length of time as clocks do.

    >>> say_clock(75), say_clock(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
