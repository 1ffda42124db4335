"""``disclique study`` and ``compare``: a simulation study, resumable and distributable, and it beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.cli.options import CONFIG, DASK, DRY_RUN, FORCE, PROCESSES, with_options
from disclique.cli.screen import Screen
from disclique.errors import InputError
from disclique.messages import Message
from disclique.options.attacks import StudyOptions
from disclique.options.table import numbers_in, read_toml, rows_of

if TYPE_CHECKING:
    from disclique.runs import Executor
    from disclique.studies import Study, StudyResult

LISTS = ("sigma", "alpha", "n")  # options that hold several numbers
TRIED = 4  # masks of which a unit is carried out for an estimate


@with_options(StudyOptions)
def command(
    out: Annotated[Path, typer.Option(help="Folder of the study; a run that was interrupted goes on there.")],
    options: StudyOptions,
    screen: Screen,
    config: CONFIG = None,
    processes: PROCESSES = None,
    dask: DASK = None,
    dry_run: DRY_RUN = False,
    figures: Annotated[bool, typer.Option(help="Draw the figures.")] = True,
) -> None:
    """Attack synthetic people over a grid of masks and detection probabilities, and average the risk.

    The paper's values stand for every axis that is not given. Killed at any moment, the same command goes on where it
    stopped. Options override the TOML file, which overrides the preset.
    """
    from disclique.runs import Forecast, choose_executor
    from disclique.runs.journal import check_folder
    from disclique.runs.progress import UnitNames
    from disclique.studies import study

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
        screen.keeping(out),
        screen.opened(executor) as running,
        screen.units(UnitNames(Message("units_of_a_study"), headings=work.grid.attacks), forecast, running) as progress,
    ):
        result = study(work, folder=out, executor=running, progress=progress)
    if not progress.fresh:
        screen.say([f"{out}: finished before: nothing is left to do"])
    written = result.save(out)
    if figures:
        written += draw_all(result, out)
    screen.table(result.averages().round(4), title="averages", rest=str(out / "summary.csv"))
    screen.say(result.lines())
    screen.say([f"{len(written)} files in {out}: {', '.join(path.name for path in written)}"])


def read_study(options: StudyOptions, config: Path | None) -> Study:
    """Define the study that the options and a TOML file name."""
    from disclique.studies import define_study

    found: dict[str, Any] = {} if config is None else read_toml(config)
    for name in rows_of(StudyOptions):
        said = getattr(options, name)
        if said is not None and said != []:
            found[name] = str(said) if isinstance(said, Path) else said
    if not found:
        raise InputError("nothing_to_study")
    return define_study({name: numbers_in(value) if name in LISTS else value for name, value in found.items()})


def _estimate(work: Study, executor: Executor, screen: Screen) -> None:
    """Carry out a unit of some masks, the weakest and the strongest among them, and say how long all would take."""
    import numpy as np

    from disclique.runs import Estimate, Forecast, Journal, try_units
    from disclique.runs.progress import UnitNames
    from disclique.studies import Cell, UnitRunner

    units, journal = list(work.units()), Journal[list[Cell]]()
    settings = list(dict.fromkeys(unit.setting for unit in units))
    places = sorted({round(k * (len(settings) - 1) / (TRIED - 1)) for k in range(TRIED)})
    first = [next(unit for unit in units if unit.setting == settings[place]) for place in places]
    again = [unit for unit in units if unit.setting == settings[places[0]]][1:2]  # the first one compiles
    trials = Forecast(dict.fromkeys([*first, *again], 1.0))
    with screen.units(UnitNames(Message("units_on_trial")), trials, executor) as progress:
        try_units(UnitRunner(work), list(trials.expected), journal, executor=executor, progress=progress)
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


def compare(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.")],
    screen: Screen,
    spread: Annotated[
        Path | None, typer.Option(help="Folder of a study with --datasets: how much the data set itself matters.")
    ] = None,
    attack: Annotated[str, typer.Option(help="Which attack of the study to compare.")] = "clique",
    out: Annotated[Path | None, typer.Option(help="Write the comparison: a page (.md) or its cells (.csv).")] = None,
    force: FORCE = False,
) -> None:
    """Put each cell of a study beside the paper's, with the difference and whether chance explains it."""
    from disclique.records.write import check_writable, whole_file, write_table
    from disclique.studies import compare as comparison
    from disclique.studies import load_study

    if out is not None and out.suffix.lower() not in (".md", ".csv"):
        raise InputError("comparison_neither_page_nor_table", out=out)
    check_writable([out], force=force)
    found = comparison.compare(load_study(folder), spread=None if spread is None else load_study(spread), attack=attack)
    if out is not None and out.suffix.lower() == ".md":
        with whole_file(out) as draft:
            draft.write_text(comparison.markdown(found), encoding="utf-8")
    elif out is not None:
        write_table(found.cells, out)
    rest = "--out FILE writes them all" if out is None else str(out)
    screen.table(found.cells.drop(columns="dataset_sd").round(4), title="ours and the paper's", rest=rest)
    screen.say(found.lines())
