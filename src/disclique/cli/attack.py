"""``disclique attack``: link two files by their labels and distances."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disclique.errors import InputError

if TYPE_CHECKING:
    from disclique.io import Source
    from disclique.model import Agreement

TargetFile = Annotated[Path, typer.Argument(help="The released file: CSV, TSV or Parquet.")]
KnownFile = Annotated[Path, typer.Argument(help="The snooper's identification file.")]
Labels = Annotated[list[str], typer.Option("--label", help="A quasi-identifier column of both files; repeatable.")]
FILES, AGREE, LABELS, SEARCH, OUTPUT = "Distances", "Agreement", "Labels", "Search", "Output"


def command(
    target: TargetFile,
    known: KnownFile,
    label: Labels,
    target_distances: Annotated[
        Path | None, typer.Option(help="Matrix or list i,j,distance of the target.", rich_help_panel=FILES)
    ] = None,
    target_coordinates: Annotated[
        str | None, typer.Option(metavar="LON,LAT", help="Coordinate columns of the target.", rich_help_panel=FILES)
    ] = None,
    known_distances: Annotated[
        Path | None, typer.Option(help="Matrix or list i,j,distance of the known file.", rich_help_panel=FILES)
    ] = None,
    known_coordinates: Annotated[
        str | None, typer.Option(metavar="LON,LAT", help="Coordinate columns of the known file.", rich_help_panel=FILES)
    ] = None,
    metric: Annotated[
        str, typer.Option(help="sphere (km, R = 6371), wgs84 (km) or euclidean.", rich_help_panel=FILES)
    ] = "sphere",
    unit: Annotated[
        str | None, typer.Option(help="Unit of the distance files, km or m.", rich_help_panel=FILES)
    ] = None,
    directed: Annotated[
        bool, typer.Option(help="Distances have a direction (travel times).", rich_help_panel=FILES)
    ] = False,
    unpublished: Annotated[
        bool, typer.Option(help="Empty matrix cells are distances that were not published.", rich_help_panel=FILES)
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(metavar="X", help="Distances agree if |d - d'| < X (5, 500m, 5km).", rich_help_panel=AGREE),
    ] = None,
    relative: Annotated[
        float | None, typer.Option(metavar="X", help="... if |d - d'| < X·d'.", rich_help_panel=AGREE)
    ] = None,
    between: Annotated[
        str | None, typer.Option(metavar="LO,HI", help="... if LO < d - d' < HI.", rich_help_panel=AGREE)
    ] = None,
    missing: Annotated[
        str, typer.Option(help="A missing label value matches never or any value.", rich_help_panel=LABELS)
    ] = "never",
    generalise: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NEW=RULE:COL",
            help="Make a coarser column first: cob=century:yob, age=classes:age:18,65, width, decade, prefix.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="Column with record ids, where a file has it.", rich_help_panel=LABELS)
    ] = None,
    truth: Annotated[
        str | None, typer.Option(help="Column of both files that tells who is who.", rich_help_panel=LABELS)
    ] = None,
    solver: Annotated[str, typer.Option(help="Clique solver.", rich_help_panel=SEARCH)] = "exact",
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop searching after this time.", rich_help_panel=SEARCH)
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads to search with (all cores).", rich_help_panel=SEARCH)
    ] = None,
    cliques: Annotated[
        int, typer.Option(help="List at most this many maximum cliques.", rich_help_panel=SEARCH)
    ] = 1000,
    out: Annotated[
        Path | None, typer.Option(help="Write the matches: CSV, TSV or Parquet.", rich_help_panel=OUTPUT)
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the result as JSON.", rich_help_panel=OUTPUT)] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the matches: PNG, SVG or PDF.", rich_help_panel=OUTPUT)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.", rich_help_panel=OUTPUT)] = False,
) -> None:
    """Link a released file to a known one by labels and distances, and say what that is worth.

    Distances agree by one of --within, --relative and --between; rows are counted from 1. Without --truth the matches
    are listed but not judged.
    """
    from disclique.attacks import LabelRule, Search, attack
    from disclique.cli.screen import Screen
    from disclique.generalise import parse_generaliser
    from disclique.io import Source, check_writable, read_microdata, write_json, write_table
    from disclique.model import Budget

    screen = Screen(quiet)
    check_writable([out, json, plot])
    scale = _scale(unit)
    sides = (
        Source(target, target_distances, _columns(target_coordinates), metric, id, directed, unpublished, scale),
        Source(known, known_distances, _columns(known_coordinates), metric, id, directed, unpublished, scale),
    )
    on_earth = metric != "euclidean" and target_coordinates is not None and known_coordinates is not None
    agreement = _agreement(within, relative, between, in_km=unit is not None or on_earth)
    coarser = [parse_generaliser(spec) for spec in generalise or []]
    with screen.steps() as step:
        released, held = (read_microdata(side, label, coarser) for side in sides)
        if id is not None and id not in released.table.columns and id not in held.table.columns:
            raise InputError(f"neither file has an id column {id!r}")
        result = attack(
            released,
            held,
            agreement=agreement,
            truth=truth,
            labels=LabelRule(missing),
            search=Search(solver, Budget(budget), threads, cliques),
            progress=step,
        )
    if out is not None:
        write_table(result.matches, out)
    if json is not None:
        write_json({**result.to_dict(), **_provenance(sides, label, agreement)}, json)
    if plot is not None:
        from disclique.plots import match_picture, save

        save(match_picture(released, held, result.matches), plot)
    screen.say(result.lines())
    screen.table(result.matches, title="Matches")


def _columns(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(","))


def _scale(unit: str | None) -> float:
    from disclique.quantities import KM_IN

    if unit is None:
        return 1.0
    if unit not in KM_IN:
        raise InputError(f"--unit {unit}: choose one of {', '.join(KM_IN)}")
    return KM_IN[unit]


def _agreement(within: str | None, relative: float | None, between: str | None, *, in_km: bool) -> Agreement:
    from disclique.agreement import Between, Relative, Within

    if [within, relative, between].count(None) != 2:
        raise InputError("say when distances agree: give exactly one of --within, --relative and --between")
    if relative is not None:
        return Relative(relative)
    if within is not None:
        return Within(_length(within, "--within", in_km=in_km))
    ends = (between or "").split(",")
    if len(ends) != 2:
        raise InputError(f"--between {between}: give two numbers, LO,HI")
    return Between(*(_length(end, "--between", in_km=in_km) for end in ends))


def _length(text: str, option: str, *, in_km: bool) -> float:
    """A length in the unit of the distances; a unit can be converted only where that of the distances is known."""
    from disclique.quantities import LENGTH_UNITS, parse_quantity

    found = parse_quantity(text, units=LENGTH_UNITS)
    if not found.unit:
        return found.value
    if not in_km:
        raise InputError(
            f"{option} {text}: the unit of the distance files is not known; say it with --unit, or give a plain number"
        )
    return found.km


def _provenance(sides: tuple[Source, Source], labels: list[str], agreement: Agreement) -> dict[str, object]:
    """What makes the run repeatable: options, versions and the hashes of all input files."""
    from disclique.io import sha256, versions

    return {
        "labels": labels,
        "agreement": repr(agreement),
        "seed": None,  # the attack draws nothing at random
        "versions": versions(),
        "inputs": {str(path): sha256(path) for side in sides for path in side.files},
    }
