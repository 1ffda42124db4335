"""``disclique audit``: one command from a data holder's file to a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.errors import InputError

if TYPE_CHECKING:
    from disclique.audits import Case, Plan
    from disclique.cli.screen import Screen
    from disclique.data.read import Layout
    from disclique.model import Json, Microdata
    from disclique.runs.execute import Executor
    from disclique.studies.grid import Unit

INPUT, MASKS, SNOOPER, WORK, OUTPUT = "The file", "Masks and limit", "What the snooper knows", "Work", "Output"
EVERY = 30  # seconds between lines that tell how far the work is
# What a configuration file may hold: the options by their names, and their values if nobody says otherwise.
DEFAULTS: dict[str, Any] = {
    "id": None,
    "label": [],
    "coordinates": None,
    "distances": None,
    "metric": "sphere",
    "crs": None,
    "unit": None,
    "generalise": [],
    "directed": False,
    "unpublished": False,
    "mask": [],
    "max-risk": None,
    "utility": "neighbours",
    "known": None,
    "known-distances": None,
    "overlap": None,
    "known-size": None,
    "others": "synthetic",
    "label-error": 0.0,
    "coordinate-error": None,
    "missing": "never",
    "attack": ["all"],
    "alpha": 0.5,
    "budget": 2.0,
    "repetitions": 20,
    "seed": 0,
}


def command(
    file: Annotated[Path, typer.Argument(help="The file to be released: CSV, TSV, Parquet, GeoPackage, GeoJSON, …")],
    out: Annotated[Path, typer.Option(help="Folder for the result; an interrupted audit goes on there.")],
    id: Annotated[str | None, typer.Option(help="Column that names the persons.", rich_help_panel=INPUT)] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A quasi-identifier that is released; repeatable.", rich_help_panel=INPUT)
    ] = None,
    coordinates: Annotated[
        str | None, typer.Option(metavar="LON,LAT", help="Coordinate columns.", rich_help_panel=INPUT)
    ] = None,
    distances: Annotated[
        Path | None, typer.Option(help="Matrix or list i,j,distance instead of coordinates.", rich_help_panel=INPUT)
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="sphere (km), wgs84 (km) or euclidean.", rich_help_panel=INPUT)
    ] = None,
    crs: Annotated[
        str | None, typer.Option(help="Reference system of the coordinates (EPSG:25832).", rich_help_panel=INPUT)
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of distance files, km or m.", rich_help_panel=INPUT)] = None,
    generalise: Annotated[
        list[str] | None,
        typer.Option(metavar="NEW=RULE:COL", help="A coarser label, as in attack.", rich_help_panel=INPUT),
    ] = None,
    directed: Annotated[bool | None, typer.Option(help="Distances have a direction.", rich_help_panel=INPUT)] = None,
    unpublished: Annotated[
        bool | None, typer.Option(help="Empty cells of a matrix are unpublished.", rich_help_panel=INPUT)
    ] = None,
    mask: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="gaussian:sigma=500m, or a range of its dial: gaussian:sigma=100m..5km; repeatable.",
            rich_help_panel=MASKS,
        ),
    ] = None,
    max_risk: Annotated[
        float | None,
        typer.Option(metavar="R", help="Largest share of people at risk; ranges are searched.", rich_help_panel=MASKS),
    ] = None,
    utility: Annotated[
        str | None,
        typer.Option(help="neighbours, spearman, pearson or rand_index: how settings compare.", rich_help_panel=MASKS),
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="The snooper's file, with the same columns.", rich_help_panel=SNOOPER)
    ] = None,
    known_distances: Annotated[Path | None, typer.Option(help="Its distances.", rich_help_panel=SNOOPER)] = None,
    overlap: Annotated[
        float | None,
        typer.Option(metavar="R", help="Share of the people in it, among others.", rich_help_panel=SNOOPER),
    ] = None,
    known_size: Annotated[
        int | None, typer.Option(help="Records in it (as many as released).", rich_help_panel=SNOOPER)
    ] = None,
    others: Annotated[
        str | None, typer.Option(help="The others: synthetic, germany or a file.", rich_help_panel=SNOOPER)
    ] = None,
    label_error: Annotated[
        float | None, typer.Option(metavar="R", help="Share of its labels that are wrong.", rich_help_panel=SNOOPER)
    ] = None,
    coordinate_error: Annotated[
        str | None, typer.Option(metavar="X", help="Error of its coordinates (100m).", rich_help_panel=SNOOPER)
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="A missing label matches never or any value.", rich_help_panel=SNOOPER)
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="labels, clique, extend, register, isomap or all.", rich_help_panel=WORK),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Detection probability of the clique attack.", rich_help_panel=WORK)
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="WORK",
            help="For one clique search: billions of operations, half a second each.",
            rich_help_panel=WORK,
        ),
    ] = None,
    repetitions: Annotated[int | None, typer.Option(help="Draws of every mask setting.", rich_help_panel=WORK)] = None,
    seed: Annotated[int | None, typer.Option(help="All chance follows from it.", rich_help_panel=WORK)] = None,
    processes: Annotated[int | None, typer.Option(help="Processes (all cores).", rich_help_panel=WORK)] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with any of these options.", rich_help_panel=WORK)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan only.", rich_help_panel=WORK)] = False,
    with_records: Annotated[
        bool, typer.Option("--with-records", help="Put places and ids into the report.", rich_help_panel=OUTPUT)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.", rich_help_panel=OUTPUT)] = False,
) -> None:
    """Mask a file in the ways considered, attack each release as a snooper would, and report risk and usefulness.

    Without --known and --overlap the snooper is assumed to know the whole file, the worst case.
    """
    from disclique.cli.screen import Screen

    given = {name.replace("_", "-"): value for name, value in locals().items() if name.replace("_", "-") in DEFAULTS}
    run(file, out, options(given, config), screen=Screen(quiet), how=(processes, dry_run, with_records))


def options(given: Mapping[str, Any], config: Path | None) -> dict[str, Any]:
    """All options: those of the command line, else those of the configuration file, else the defaults."""
    from disclique.studies.grid import read_options

    written = {} if config is None else {key.replace("_", "-"): v for key, v in read_options(config).items()}
    strange = sorted(set(written) - set(DEFAULTS))
    if strange:
        raise InputError(f"{config}: unknown option {strange[0]!r}; there are {', '.join(DEFAULTS)}")
    said = {key: value for key, value in given.items() if value is not None and value != []}
    return {**DEFAULTS, **written, **said}


def run(
    file: Path,
    out: Path,
    chosen: Mapping[str, Any],
    *,
    screen: Screen,
    how: tuple[int | None, bool, bool] = (None, False, False),
) -> None:
    """Nothing; carries out the audit and writes result.json, records.csv and report.html to ``out``."""
    from disclique.audits import RESULT, audit
    from disclique.show.report import write_report

    processes, dry_run, with_records = how
    case = case_of(file, chosen)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: this is a file, not a folder")
    executor, cores = _executor(processes)
    tried = announce(case, out, executor, cores, screen)
    if dry_run:
        return
    with screen.steps() as step:
        result = audit(
            case,
            out,
            executor=executor,
            progress=lambda done, wanted, what: _told(screen, step, done, wanted),
            with_records=with_records,
            tried=tried,
        )
        step("report", None)
        write_report(result, out / "report.html")
    summarise(result, screen)
    screen.say([f"result: {out / RESULT}", f"risk of every record (keep it): {out / 'records.csv'}"])
    screen.say([f"report: {(out / 'report.html').resolve()}"])


_said: list[float] = []  # when a line was last printed


def _told(screen: Screen, step: Callable[[str, float | None], None], done: int, wanted: int) -> None:
    """Nothing; shows how far the work is: a bar on a terminal, else a line now and then."""
    import time

    step(f"{done} of {wanted} releases", done / max(wanted, 1))
    now = time.monotonic()
    if not screen.err.is_terminal and (not _said or now - _said[-1] >= EVERY):
        _said[:] = [now]
        screen.say([f"{done} of {wanted} releases attacked"])


def case_of(file: Path, chosen: Mapping[str, Any]) -> Case:
    """The plan and its data, read and checked."""
    from disclique.audits import Case
    from disclique.data.provenance import hashes
    from disclique.data.read import read

    paths = {name: _path(chosen[name]) for name in ("distances", "known", "known-distances")}
    other_file = None if chosen["others"] in ("synthetic", "germany") else Path(str(chosen["others"]))
    if other_file is not None and chosen["overlap"] is None:
        raise InputError(f"--others {other_file}: it goes with --overlap")
    if paths["known"] is not None and chosen["id"] is None:
        raise InputError("--known: name the column that says who is who in both files with --id")
    try:
        columns = _columns_of(chosen)
        plan = _plan_of(chosen, given=paths["known"] is not None, others=other_file is not None)
    except (TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"an option has a value of the wrong kind: {problem}") from None

    def read_side(path: Path, distances: Path | None = None) -> Microdata:
        here = None if distances is not None else columns.coordinates
        return read(path, columns, coordinates=here, distances=distances)

    target = read_side(file, paths["distances"])
    known = None if paths["known"] is None else read_side(paths["known"], paths["known-distances"])
    more = None if other_file is None else read_side(other_file)
    return Case(replace(plan, inputs=hashes([file, *paths.values(), other_file])), target, known, more)


def _columns_of(chosen: Mapping[str, Any]) -> Layout:
    from disclique.data.read import Layout

    return Layout(
        labels=tuple(_many(chosen["label"])),
        id=chosen["id"],
        coordinates=chosen["coordinates"],
        metric=str(chosen["metric"]),
        crs=chosen["crs"],
        unit=chosen["unit"],
        generalise=tuple(_many(chosen["generalise"])),
        directed=bool(chosen["directed"]),
        unpublished=bool(chosen["unpublished"]),
    )


def _plan_of(chosen: Mapping[str, Any], *, given: bool, others: bool) -> Plan:
    from disclique.audits import Plan, Snooper
    from disclique.quantities import LENGTH_UNITS, parse_quantity

    error, size = chosen["coordinate-error"], chosen["known-size"]
    snooper = Snooper(
        given=given,
        overlap=_number(chosen, "overlap"),
        size=None if size is None else int(size),
        others="file" if others else str(chosen["others"]),
        label_error=float(chosen["label-error"]),
        coordinate_error=None if error is None else parse_quantity(error, units=LENGTH_UNITS),
    )
    return Plan(
        masks=tuple(_many(chosen["mask"])),
        snooper=snooper,
        repetitions=int(chosen["repetitions"]),
        max_risk=_number(chosen, "max-risk"),
        attacks=tuple(_many(chosen["attack"])),
        seed=int(chosen["seed"]),
        alpha=float(chosen["alpha"]),
        budget=float(chosen["budget"]),
        missing=str(chosen["missing"]),
        utility=str(chosen["utility"]),
    )


def _path(text: object) -> Path | None:
    return None if text is None else Path(str(text))


def _many(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [str(value)]


def _number(chosen: Mapping[str, Any], name: str) -> float | None:
    return None if chosen[name] is None else float(chosen[name])


def _executor(processes: int | None) -> tuple[Executor, int]:
    from disclique.runs.execute import Processes, Serial

    if processes == 1:
        return Serial(), 1
    chosen = Processes(processes)
    return chosen, chosen.parallel


def announce(case: Case, out: Path, executor: Executor, cores: int, screen: Screen) -> Mapping[Unit, list[Json]]:
    """Releases attacked on trial, after it was printed what will be done and about how long it will take."""
    from disclique.audits.outlook import outlook, trial
    from disclique.runs.journal import JOURNAL

    screen.say(outlook(case))
    if (out / JOURNAL).exists():
        screen.say([f"{out}: an audit was begun here and goes on"])
        return {}
    made = trial(case, executor)
    screen.say([made.words(cores)])
    return made.records


def summarise(result: Mapping[str, Any], screen: Screen) -> None:
    """Nothing; prints the verdict and a table of all settings."""
    import pandas as pd

    screen.say(result["verdict"]["sentences"])
    rows = [
        {
            "mask": s["spec"],
            "risk": s["risk"]["value"],
            "low": s["risk"]["interval"][0],
            "high": s["risk"]["interval"][1],
            "attack": s["risk"]["attack"],
            "lower_bound": s["risk"]["lower_bound"],
            "utility": s["usefulness"],
            "repetitions": s["repetitions"],
        }
        for s in result["settings"]
    ]
    screen.table(pd.DataFrame(rows), title="Risk of every setting tried")
