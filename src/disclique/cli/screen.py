"""What a person sees: tables and progress on a terminal, plain text in a pipe, nothing with ``--quiet``.

Results go to standard output; what is said about them goes to standard error, so that a pipe carries data only.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, RenderableType
    from rich.progress import Progress

    from disclique.messages import Message
    from disclique.progress import Listener, Step
    from disclique.records.checks import Inspection
    from disclique.runs import Executor, Forecast
    from disclique.runs.progress import Counter, UnitNames


@dataclass(frozen=True)
class Pace:
    """How much is told: seconds until the first line of progress and between the others, rows of a long table."""

    soon: float = 0.8
    every: float = 15.0
    rows: int = 10


USUAL = Pace()


def _nothing(step: Step, share: float | None = None) -> None:
    pass


class Screen:
    """Where output goes, and how much of it."""

    def __init__(self, quiet: bool = False, *, pace: Pace = USUAL, kept: list[Path] | None = None) -> None:
        from rich.console import Console

        self.quiet, self.pace = quiet, pace
        self.kept = [] if kept is None else kept  # folders that hold what is finished, for whoever ends the command
        self.out = Console(highlight=False, soft_wrap=True)
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, lines: Iterable[str | Message]) -> None:
        """Sentences about a result, as they are: no markup is read from data."""
        if not self.quiet:
            for line in lines:
                self.err.print(str(line), markup=False)

    def look(self, found: Inspection, *, accept: Sequence[str], yes: bool) -> Inspection:
        """Show a look at the input; end if it can only be mistaken, and on a terminal ask about what looks odd."""
        self.say(found.lines())
        checked = found.check(accept=accept)
        odd = [remark for remark in found.remarks if remark.name not in checked.accepted]
        if odd and not (yes or self.quiet) and self.err.is_terminal and sys.stdin.isatty():
            import typer

            if not typer.confirm("Go on with this input?", err=True):
                raise typer.Exit(2)
        return checked

    def table(self, frame: pd.DataFrame, title: str = "", *, rest: str = "") -> None:
        """Print a table: with a frame on a terminal, tab-separated and whole in a pipe.

        A terminal shows the first rows of a long one if it is said how to get the ``rest``.
        """
        if self.quiet:
            return
        if not self.out.is_terminal:
            frame.map(_shorten).to_csv(sys.stdout, sep="\t", index=False)
            return
        if rest and len(frame) > self.pace.rows:
            self._draw_table(frame.head(self.pace.rows), title)
            self.say([f"… and {len(frame) - self.pace.rows} more rows: {rest}"])
        else:
            self._draw_table(frame, title)

    def _draw_table(self, frame: pd.DataFrame, title: str) -> None:
        from rich.table import Table
        from rich.text import Text

        shown = Table(title=title or None)
        for column in frame.columns:
            numeric = frame[column].dtype.kind in "iuf" or all(_is_figure(value) for value in frame[column])
            shown.add_column(Text(str(column)), justify="right" if numeric else "left")
        for row in frame.itertuples(index=False, name=None):
            shown.add_row(*(Text(f"{v:.3g}" if isinstance(v, float) else str(v)) for v in row))
        self.out.print(shown)

    @contextmanager
    def steps(self, first: str = "reading") -> Iterator[Listener]:
        """A function that announces the step at work and the share of it that is done: a bar on a terminal, else lines.

        The first step is announced at once, in lines after a moment, since bad input is told by a single sentence; the
        others now and then. A bar tells the time left by the share.
        """
        if self.quiet:
            yield _nothing
            return
        if not self.err.is_terminal:
            steps = _Steps(first, self.pace.every)
            with _Lines(self, steps.say, self.pace.soon) as lines:

                def note(step: Step, share: float | None = None) -> None:
                    steps.note(step)
                    if share == 1:
                        lines.say()

                yield note
            return
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        text = TextColumn("{task.description}", markup=False)
        left = (TextColumn("left:"), TimeRemainingColumn())
        columns = (SpinnerColumn(), text, BarColumn(), TimeElapsedColumn(), *left)
        with Progress(*columns, console=self.err, transient=True) as progress:
            task = progress.add_task(first, total=None)

            def announce(step: Step, share: float | None = None) -> None:
                progress.update(
                    task, description=str(step), total=None if share is None else 1.0, completed=share or 0.0
                )

            yield announce

    @contextmanager
    def keeping(self, folder: Path) -> Iterator[None]:
        """Give a block whose finished units are kept in a folder; one that is interrupted is still said to be there."""
        self.kept.append(folder)
        yield
        self.kept.remove(folder)

    @contextmanager
    def search(self, name: str) -> Iterator[Callable[[int, int, int], None]]:
        """Show a clique search: done, total, and the size of the best clique so far."""
        with self.steps(name) as step:
            yield lambda done, total, best: step(f"{name}, {best} members so far", done / max(total, 1))

    @contextmanager
    def opened(self, executor: Executor) -> Iterator[Executor]:
        """Keep an executor open; tell of the way to a cluster, which may take its time, and what is to say of it."""
        from contextlib import ExitStack

        from disclique.progress import listening
        from disclique.runs import keep_open

        with ExitStack() as stack:
            with self.steps("starting") as step, listening(step):
                running = stack.enter_context(keep_open(executor))
            self.say([f"note: {line}" for name in ("notes", "hints") for line in getattr(running, name, ())])
            yield running

    @contextmanager
    def units(self, about: UnitNames, forecast: Forecast, executor: Executor) -> Iterator[Counter]:
        """Show how many units are done, how long the rest takes by the forecast, and what runs now."""
        from disclique.runs.progress import Counter

        counter = Counter(about, forecast, executor, stale=min(0.5, self.pace.every))
        if self.quiet:
            yield counter
        elif self.err.is_terminal:
            with _draw(counter, self.err):
                yield counter
        else:
            with _Lines(self, lambda: _join(counter), 0.0) as lines:
                yield counter
                lines.say()


def _shorten(value: object, digits: int = 6) -> object:
    """Return a number as it is shown in a pipe: 0.424, not the 0.42400000000000004 that a sum left; ids stay whole."""
    if not isinstance(value, float) or value.is_integer():
        return value
    return float(f"{value:.{digits}g}") if abs(value) < 10**digits else round(value, 1)


def _is_figure(value: object) -> bool:
    """Say whether a text is a number such as ``54 %``, or a dash that stands for none."""
    text = str(value)
    return text == "–" or (text[:1].isdigit() and text[-1:] in "0123456789%")


def _join(counter: Counter) -> str:
    """Return all that a counter says as one line."""
    words, now = counter.tell(), counter.tell_now()
    how_far = str(words.done) if words.left is None else f"{words.done}, {words.left}"
    return how_far if now is None else f"{how_far}; {now}"


def _draw(counter: Counter, console: Console) -> Progress:
    """Return a bar that shows what a counter says, with a second line for what runs now."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Board(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            words, now = counter.tell(), counter.tell_now()
            left = "" if words.left is None else str(words.left)
            for task in self.task_ids:  # none before it is added
                self.update(task, description=str(words.done), completed=words.share, left=left)
            yield self.make_tasks_table(self.tasks)
            yield Text("" if now is None else f"  {now}", style="dim", no_wrap=True, overflow="ellipsis")

    done, left = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[left]}"))
    columns = (SpinnerColumn(), done, BarColumn(bar_width=12), TimeElapsedColumn(), left)
    board = Board(*columns, console=console, transient=True, refresh_per_second=4)
    board.add_task("", total=1.0, left="")
    return board


class _Steps:
    """The step at work, and since when."""

    def __init__(self, first: Step, long: float) -> None:
        self.step, self.begun, self.long = first, time.monotonic(), long

    def note(self, step: Step) -> None:
        """Note that a step is at work."""
        if step != self.step:
            self.step, self.begun = step, time.monotonic()

    def say(self) -> str:
        """Say the step, and how long it has been at work if that is long."""
        from disclique.runs.progress import say_clock

        since = time.monotonic() - self.begun
        return f"{self.step} (since {say_clock(since)})" if since >= self.long else str(self.step)


class _Lines:
    """Lines of progress in a pipe: one soon, and then one as often as somebody wants to read them.

    A thread of its own says them, since a single step may take minutes in which nothing is heard of it.
    """

    def __init__(self, screen: Screen, words: Callable[[], str], soon: float) -> None:
        self.screen, self.words, self.soon = screen, words, soon
        self.last, self.due = "", time.monotonic() + soon
        self.ended, self.lock = threading.Event(), threading.Lock()
        self.thread = threading.Thread(target=self._run, daemon=True, name="lines")

    def __enter__(self) -> _Lines:
        if not self.soon:
            self.say()
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self.thread.join(1.0)  # it may be writing to somebody who does not read

    def say(self) -> None:
        """Say a line now, unless it is the last one again."""
        with self.lock:
            self.due, line = time.monotonic() + self.screen.pace.every, self.words()
            if line != self.last:
                self.last = line
                self.screen.say([line])

    def _run(self) -> None:
        while not self.ended.wait(max(0.0, self.due - time.monotonic())):
            if time.monotonic() >= self.due:
                self.say()
