"""``disclique study``: the paper's simulation study, or one of your own, resumable and distributable."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.cli.options import with_options
from disclique.errors import InputError
from disclique.options.table import Options, numbers_in, option, read_toml

if TYPE_CHECKING:
    from disclique.cli.screen import Screen
    from disclique.runs import Executor
    from disclique.studies import Study, StudyResult

AXES, PEOPLE, ATTACKS, WHERE = "Axes", "People", "Attacks", "Where it runs"
LISTS = ("sigma", "alpha", "n")  # options that hold several numbers
TRIED = 4  # masks of which a unit is carried out for an estimate


@dataclass(frozen=True)
class StudyOptions(Options):
    """What can be said of a study, on the command line or in a TOML file; what is not said is the paper's."""

    preset: str | None = option("kroll2014: the paper's grid, 9,000 attacks.")
    mask: list[str] | None = option("A mask, such as gaussian:sigma=0.01deg; repeatable.", panel=AXES)
    sigma: str | None = option("Values of the mask's dial (degrees without --mask).", panel=AXES, metavar="X,X,...")
    alpha: str | None = option("Detection probabilities of a common edge.", panel=AXES, metavar="X,X,...")
    repetitions: int | None = option("Noise draws for each mask.", panel=AXES)
    labels: list[str] | None = option(
        "Labels as they are (full), coarser (age_class=width:age_class:20 | drop:sex, or a range of widths), or none; "
        "repeatable.",
        panel=AXES,
    )
    n: str | None = option("Records of target and known file.", panel=PEOPLE, metavar="N[,N2]")
    common: int | None = option("People in both files.", panel=PEOPLE)
    datasets: int | None = option("Data sets over which the repetitions are spread.", panel=PEOPLE)
    points: Path | None = option("CSV of places lon,lat[,weight] to live at.", panel=PEOPLE)
    shares: Path | None = option("CSV of label values and their counts.", panel=PEOPLE)
    people: Path | None = option("Draw the people from this file instead.", panel=PEOPLE)
    sheet: str | None = option("Its sheet, if it is a workbook that has several.", panel=PEOPLE, metavar="NAME")
    text: list[str] | None = option("Its columns of text to compare.", panel=PEOPLE, metavar="COL,COL")
    metric: str | None = option("dice:q=2, levenshtein, damerau or jaro-winkler.", panel=PEOPLE)
    label: list[str] | None = option("A quasi-identifier column of it; repeatable.", panel=PEOPLE)
    seed: int | None = option("All chance follows from it.", panel=PEOPLE)
    attack: list[str] | None = option("{attacks}; quasi:gamma=G; repeatable.", panel=ATTACKS)
    solver: str | None = option("Clique solver: {solvers}.", panel=ATTACKS)
    budget: float | None = option("For each clique: billions of operations.", panel=ATTACKS, metavar="WORK")
    ties: int | None = option("List at most this many maximum cliques.", panel=ATTACKS)
    pairs: int | None = option("Pairs of the snooper's simulation.", panel=ATTACKS)


@with_options(StudyOptions)
def command(
    out: Annotated[Path, typer.Option(help="Folder of the study; a run that was interrupted goes on there.")],
    options: StudyOptions,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these options.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes of this machine (all cores).", rich_help_panel=WHERE)
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="tcp://...|local", help="A Dask cluster.", rich_help_panel=WHERE)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan only.", rich_help_panel=WHERE)] = False,
    figures: Annotated[bool, typer.Option(help="Draw the figures.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Attack synthetic people over a grid of masks and detection probabilities, and average the risk.

    The paper's values stand for every axis that is not given. Killed at any moment, the same command goes on where it
    stopped. Options override the TOML file, which overrides the preset.
    """
    from disclique.cli.interrupt import keeping
    from disclique.cli.screen import Screen
    from disclique.runs import Forecast, choose_executor
    from disclique.runs.counter import Heard
    from disclique.runs.journal import check_folder
    from disclique.studies import study

    screen = Screen(quiet)
    with screen.steps("reading"):
        work = read_study(options, config)
    executor = choose_executor(processes, dask)
    check_folder(out, ("results.parquet", "summary.csv"))
    screen.say([_describe(work)])
    if dry_run:
        with screen.opened(executor) as running:
            _estimate(work, running, screen)
        return
    forecast = Forecast(dict.fromkeys(work.units(), 1.0))
    with (
        keeping(out),
        screen.opened(executor) as running,
        screen.units(Heard("units", headings=work.grid.attacks), forecast, running) as progress,
    ):
        result = study(work, folder=out, executor=running, progress=progress)
    if not progress.fresh:
        screen.say([f"{out}: finished before: nothing is left to do"])
    written = result.save(out)
    if figures:
        written += draw_all(result, out)
    screen.table(result.averages().round(4), title="averages")
    screen.say(result.lines())
    screen.say([f"{len(written)} files in {out}: {', '.join(path.name for path in written)}"])


def read_study(options: StudyOptions, config: Path | None) -> Study:
    """Define the study that the options and a TOML file name."""
    from disclique.studies import define_study

    found: dict[str, Any] = {} if config is None else read_toml(config)
    for about in fields(options):
        said = getattr(options, about.name)
        if said is not None and said != []:
            found[about.name] = str(said) if isinstance(said, Path) else said
    if not found:
        raise InputError("say what to study: --preset kroll2014, a --config file, or at least one axis")
    return define_study({name: numbers_in(value) if name in LISTS else value for name, value in found.items()})


def _estimate(work: Study, executor: Executor, screen: Screen) -> None:
    """Carry out a unit of some masks, the weakest and the strongest among them, and say how long all would take."""
    import numpy as np

    from disclique.runs import Estimate, Forecast, Journal, try_units
    from disclique.runs.counter import Heard
    from disclique.studies import run_unit
    from disclique.studies.unit import Cell

    units, journal = list(work.units()), Journal[list[Cell]]()
    settings = list(dict.fromkeys(unit.setting for unit in units))
    places = sorted({round(k * (len(settings) - 1) / (TRIED - 1)) for k in range(TRIED)})
    first = [next(unit for unit in units if unit.setting == settings[place]) for place in places]
    again = [unit for unit in units if unit.setting == settings[places[0]]][1:2]  # the first one compiles
    trials = Forecast(dict.fromkeys([*first, *again], 1.0))
    with screen.units(Heard("units carried out to estimate the time"), trials, executor) as progress:
        try_units(partial(run_unit, work), list(trials.expected), journal, executor=executor, progress=progress)
    known = {settings.index(unit.setting): seconds for unit, seconds in journal.seconds.items()}
    at = sorted(known)
    times = np.interp(range(len(settings)), at, [known[place] for place in at])
    expected = {unit: float(times[settings.index(unit.setting)]) for unit in units}
    screen.say([Estimate(expected, journal.done).sentence(executor.parallel or 1)])


def _describe(study: Study) -> str:
    """Say how much work a study is, before it begins."""
    from disclique.attacks import parse_attacks

    grid = study.grid
    units = len(grid.settings) * grid.repetitions
    labels = f" {len(grid.labels)} levels of labels," if grid.turns_labels else ""
    cells = sum(len(grid.alphas) if spec.kind.by_agreement else 1 for spec in parse_attacks(grid.attacks))
    return (
        f"{units} units ({len(grid.masks)} masks,{labels} {grid.repetitions} repetitions), each attacked {cells} times "
        f"({len(grid.alphas)} α, {', '.join(grid.attacks)}): {units * cells} attacks"
    )


def draw_all(result: StudyResult, folder: Path) -> list[Path]:
    """Draw the pictures of a study into its folder; return the files."""
    from disclique.show.figures import draw_study
    from disclique.show.plots import save_figure

    pictures = draw_study(result)
    for name, figure in pictures.items():
        save_figure(figure, folder / name)
    return [folder / name for name in pictures]
