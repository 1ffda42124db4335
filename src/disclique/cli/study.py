"""``disclique study``: the paper's simulation study, or one of your own, resumable and distributable."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.errors import InputError

if TYPE_CHECKING:
    from disclique.cli.screen import Screen
    from disclique.runs.execute import Executor
    from disclique.studies import Outcome, Study
    from disclique.studies.run import Progress

AXES, PEOPLE, ATTACKS, WHERE = "Axes", "People", "Attacks", "Where it runs"
EVERY = 30.0  # seconds between plain lines of progress


def command(
    out: Annotated[Path, typer.Option(help="Folder of the study; a run that was interrupted goes on there.")],
    preset: Annotated[str | None, typer.Option(help="kroll2014: the paper's grid, 9,000 attacks.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with the options below.")] = None,
    mask: Annotated[
        list[str] | None,
        typer.Option(help="A mask, such as gaussian:sigma=0.01deg; repeatable.", rich_help_panel=AXES),
    ] = None,
    sigma: Annotated[
        str | None,
        typer.Option(
            metavar="X,X,...", help="Values of the mask's dial (degrees without --mask).", rich_help_panel=AXES
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(metavar="X,X,...", help="Detection probabilities of a common edge.", rich_help_panel=AXES),
    ] = None,
    repetitions: Annotated[int | None, typer.Option(help="Noise draws a mask.", rich_help_panel=AXES)] = None,
    n: Annotated[
        str | None, typer.Option(metavar="N[,N2]", help="Records of target and known file.", rich_help_panel=PEOPLE)
    ] = None,
    common: Annotated[int | None, typer.Option(help="People in both files.", rich_help_panel=PEOPLE)] = None,
    datasets: Annotated[
        int | None, typer.Option(help="Data sets over which the repetitions are spread.", rich_help_panel=PEOPLE)
    ] = None,
    points: Annotated[
        Path | None, typer.Option(help="CSV of places lon,lat[,weight] to live at.", rich_help_panel=PEOPLE)
    ] = None,
    shares: Annotated[
        Path | None, typer.Option(help="CSV of label values and their counts.", rich_help_panel=PEOPLE)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="All chance follows from it.", rich_help_panel=PEOPLE)] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            help="clique, quasi[:gamma=G], extend, register, isomap, labels, ceiling, guess; repeatable.",
            rich_help_panel=ATTACKS,
        ),
    ] = None,
    solver: Annotated[str | None, typer.Option(help="Clique solver.", rich_help_panel=ATTACKS)] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="WORK", help="For each clique: billions of operations.", rich_help_panel=ATTACKS),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Pairs of the snooper's simulation.", rich_help_panel=ATTACKS)
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes of this machine (all cores).", rich_help_panel=WHERE)
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="tcp://...|local", help="A Dask cluster.", rich_help_panel=WHERE)
    ] = None,
    figures: Annotated[bool, typer.Option(help="Draw the figures.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Attack synthetic people over a grid of masks and detection probabilities, and average the risk.

    The paper's values stand for every axis that is not given. Killed at any moment, the same command goes on where it
    stopped. Options override the TOML file, which overrides the preset.
    """
    from disclique.cli.screen import Screen
    from disclique.studies import read_options, run_study, study_from
    from disclique.studies.outputs import write_tables

    options: dict[str, Any] = {} if config is None else read_options(config)
    given = {
        "preset": preset,
        "mask": mask,
        "sigma": _list(sigma),
        "alpha": _list(alpha),
        "repetitions": repetitions,
        "n": _list(n),
        "common": common,
        "datasets": datasets,
        "points": None if points is None else str(points),
        "shares": None if shares is None else str(shares),
        "seed": seed,
        "attack": attack,
        "solver": solver,
        "budget": budget,
        "pairs": pairs,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    if not options:
        raise InputError("say what to study: --preset kroll2014, a --config file, or at least one axis")
    chosen, screen = study_from(options), Screen(quiet)
    screen.say([_size(chosen)])
    try:
        with told(screen) as progress:
            outcome = run_study(chosen, out, executor=_executor(processes, dask), progress=progress)
    except KeyboardInterrupt:
        screen.say([f"interrupted; what is finished is in {out}, and the same command goes on from there"])
        raise typer.Exit(130) from None
    screen.say(outcome.notes)
    written = write_tables(outcome, out)
    if figures:
        written += draw_all(outcome, out)
    _show(screen, outcome)
    screen.say([f"{len(written)} files in {out}: {', '.join(path.name for path in written)}"])


def _size(study: Study) -> str:
    """How much work a study is, said before it begins."""
    from disclique.studies.methods import method_of

    grid = study.grid
    units = len(grid.masks) * grid.repetitions
    cells = sum(len(grid.alphas) if method_of(spec)[0].by_alpha else 1 for spec in grid.attacks)
    return (
        f"{units} units ({len(grid.masks)} masks, {grid.repetitions} repetitions), each attacked {cells} times "
        f"({len(grid.alphas)} α, {', '.join(grid.attacks)}): {units * cells} attacks"
    )


def _list(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _executor(processes: int | None, dask: str | None) -> Executor:
    from disclique.runs.execute import OnDask, Processes, Serial

    if dask is not None:
        return OnDask(dask, processes)
    return Serial() if processes == 1 else Processes(processes)


def _show(screen: Screen, outcome: Outcome) -> None:
    import pandas as pd

    from disclique.studies import grid_table, summary

    study, table = outcome.study, summary(outcome.records)
    parts = [
        grid_table(study, table, rate, attack).assign(attack=attack, average=rate)
        for attack in study.grid.attacks
        for rate in ("precision", "recall")
    ]
    shown = pd.concat(parts).round(4)
    first = ["attack", "average"]
    screen.table(shown[[*first, *(name for name in shown.columns if name not in first)]], title="averages")
    empty = int(table["empty"].sum())
    if empty:
        screen.say([f"{empty} runs claimed nothing: they have no precision and are left out of its average"])
    for name, cut in table.groupby("attack", sort=False)["unproven"].sum().items():
        if cut:
            screen.say([f"{name}: {cut} runs have no proof that their claim is the largest: a lower bound on the risk"])


def draw_all(outcome: Outcome, folder: Path) -> list[Path]:
    """The pictures of a study, written to its folder."""
    from disclique.show.figures import (
        files_map,
        rates_by_alpha,
        rates_by_attack,
        rates_by_mask,
        reliability_plot,
        risk_utility,
    )
    from disclique.show.plots import match_picture, match_title, save
    from disclique.studies import deviations, people_of, summary, typical
    from disclique.studies.summary import reliability

    study, table = outcome.study, summary(outcome.records)
    pictures = {"files.png": files_map(people_of(study))}
    middle = min(study.grid.alphas, key=lambda alpha: abs(alpha - 0.5))
    if len(study.grid.attacks) > 1:
        pictures |= {"rates_by_attack.png": rates_by_attack(table, middle)}
    weighed = {attack: reliability(outcome.records, attack) for attack in study.grid.attacks}
    weighed = {attack: found for attack, found in weighed.items() if len(found)}
    if weighed:
        pictures |= {"reliability.png": reliability_plot(weighed)}
    if table["alpha"].notna().any():
        first = table.loc[table["alpha"].notna(), "attack"].iloc[0]
        pictures |= {"rates_by_mask.png": rates_by_mask(table, first)}
        pictures |= {"rates_by_alpha.png": rates_by_alpha(table, first)}
        pictures |= {"risk_utility.png": risk_utility(table, deviations(study), middle, first)}
        for place, example in enumerate(typical(study), start=1):
            title = f"{example.unit.mask}, α = {example.alpha:g}: {match_title(example.matches)}"
            pictures |= {f"typical_{place}.png": match_picture(example.target, example.known, example.matches, title)}
    for name, figure in pictures.items():
        save(figure, folder / name)
    return [folder / name for name in pictures]


@contextmanager
def told(screen: Screen) -> Iterator[Progress]:
    """A function that shows units done, rate, time left and running precision: a bar on a terminal, else lines."""
    if screen.quiet:
        yield lambda done, total, records: None
        return
    state = _State()
    if not screen.err.is_terminal:

        def line(done: int, total: int, records: list[dict[str, Any]]) -> None:
            state.take(done, records)
            now = time.monotonic()
            if now - state.said >= EVERY or done == total:
                state.said = now
                screen.say([f"{done} of {total} units{state.words(total)}"])

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("units{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=screen.err, transient=True) as bar:
        task = bar.add_task("")

        def show(done: int, total: int, records: list[dict[str, Any]]) -> None:
            state.take(done, records)
            bar.update(task, completed=done, total=total, description=state.words(total))

        yield show


class _State:
    """How far a run is: when it began, what it found before, and the precision so far."""

    def __init__(self) -> None:
        self.begun = self.said = time.monotonic()
        self.before: int | None = None
        self.done = self.tp = self.claimed = 0

    def take(self, done: int, records: list[dict[str, Any]]) -> None:
        """Nothing; adds the records that have come in."""
        if self.before is None:
            self.before = done  # units that an earlier run has done say nothing about the rate
        self.done = done
        self.tp += sum(record["tp"] for record in records)
        self.claimed += sum(record["size"] for record in records)

    def words(self, total: int) -> str:
        """Rate, time left and running precision, as far as they are known."""
        said = ""
        fresh = self.done - (self.before or 0)
        if fresh:
            rate = fresh / max(time.monotonic() - self.begun, 1e-9)
            said += f", {rate:.2g} a second, {_clock((total - self.done) / rate)} left"
        if self.claimed:
            said += f", {self.tp / self.claimed:.3f} of all claims true"
        return said


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
