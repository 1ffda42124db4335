"""``disclique attack``: link two files by their labels and distances."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disclique.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from disclique.attacks import LabelRule, Linked, Method
    from disclique.cli.screen import Screen
    from disclique.model import Microdata

    Step = Callable[[str, float | None], None]
    Files = tuple[Microdata, Microdata]
    Outputs = tuple[Path | None, Path | None, Path | None]

TargetFile = Annotated[Path, typer.Argument(help="The released file: CSV, TSV or Parquet.")]
KnownFile = Annotated[Path, typer.Argument(help="The snooper's identification file.")]
Labels = Annotated[list[str], typer.Option("--label", help="A quasi-identifier column of both files; repeatable.")]
FILES, AGREE, KNOWS, LABELS = "Distances", "Agreement", "What the snooper knows (register, isomap, extend)", "Labels"
SEARCH, OUTPUT = "Attack and search", "Output"


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
    attack: Annotated[
        list[str] | None,
        typer.Option(help="labels, clique, extend, register, isomap or all; repeatable.", rich_help_panel=SEARCH),
    ] = None,
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
    mask: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="... as often as --alpha for a release made by this mask, such as gaussian:sigma=0.01deg.",
            rich_help_panel=AGREE,
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Detection probability of a common edge, with --mask.", rich_help_panel=AGREE)
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="Seed of the simulation for --mask.", rich_help_panel=AGREE)] = 0,
    noise: Annotated[
        str | None,
        typer.Option(help="Displacement of the points (500m, 0.01deg); estimated if not given.", rich_help_panel=KNOWS),
    ] = None,
    matrix_noise: Annotated[
        str | None, typer.Option(help="Independent noise on each distance.", rich_help_panel=KNOWS)
    ] = None,
    common: Annotated[
        float | None,
        typer.Option(help="Share of the target in the known file; estimated if not given.", rich_help_panel=KNOWS),
    ] = None,
    coordinate_error: Annotated[str, typer.Option(help="Error of the known coordinates.", rich_help_panel=KNOWS)] = "0",
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
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL=RULE",
            help="Forgive label errors: age=tolerance:1, name=similar:0.85, sex=exact:0.01, place=hierarchy:FILE.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="Column with record ids, where a file has it.", rich_help_panel=LABELS)
    ] = None,
    truth: Annotated[
        str | None, typer.Option(help="Column of both files that tells who is who.", rich_help_panel=LABELS)
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            help="exact, mcqd, greedy, networkx, igraph, cliquematch, or quasi for noise on the matrix.",
            rich_help_panel=SEARCH,
        ),
    ] = "exact",
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

    For the paper's attack (clique) distances agree by one of --within, --relative, --between and --mask; rows are
    counted from 1. Without --truth the matches are listed but not judged.
    """
    from disclique.attacks import LabelRule, Search
    from disclique.cli.screen import Screen
    from disclique.cli.told import Told
    from disclique.data.comparators import parse_comparator
    from disclique.data.read import Layout, read
    from disclique.data.write import check_writable
    from disclique.model import Budget

    screen = Screen(quiet)
    check_writable([out, json, plot])
    layout = Layout(
        label,
        id,
        metric=metric,
        unit=unit,
        generalise=generalise or (),
        directed=directed,
        unpublished=unpublished,
        id_optional=True,
    )
    on_earth = metric != "euclidean" and (unit is not None or None not in (target_coordinates, known_coordinates))
    told = Told(within, relative, between, mask, alpha, noise, matrix_noise, common, coordinate_error, seed, on_earth)
    rule = LabelRule(missing, dict(parse_comparator(spec) for spec in compare or []))
    search = Search(solver, Budget(budget), threads, cliques)
    with screen.steps() as step:
        files = (
            read(target, layout, coordinates=target_coordinates, distances=target_distances),
            read(known, layout, coordinates=known_coordinates, distances=known_distances),
        )
        if id is not None and not any(id in data.table.columns for data in files):
            raise InputError(f"neither file has an id column {id!r}")
        methods = told.methods(attack or ["clique"], files[0].distances, files[1].distances, search)
        results = _results(files, methods, truth, rule, (screen, step))
    repeat = {"labels": label, "told": asdict(told), "seed": seed if mask else None}
    _show(
        screen,
        results,
        files,
        (out, json, plot),
        {**repeat, **_provenance((target, target_distances, known, known_distances))},
    )


def _results(
    files: Files, methods: list[Method], truth: str | None, rule: LabelRule, to: tuple[Screen, Step]
) -> list[Linked]:
    """What each attack finds; one of several that does not apply says so instead of ending the rest."""
    from disclique.attacks import ByClique, attack
    from disclique.engine.kernels.cache import warm

    screen, step = to
    if not warm():
        screen.say(["compiling the kernels, once: this takes about half a minute"])
    found: list[Linked] = []
    for method in methods:
        step(method.name, None)
        try:
            if isinstance(method, ByClique):
                said, how = method.agreement, method.search
                found.append(attack(*files, agreement=said, truth=truth, labels=rule, search=how, progress=step))
            else:
                found.append(attack(*files, method=method, truth=truth, labels=rule))
        except InputError as problem:
            if len(methods) == 1:
                raise
            screen.say([f"{method.name} does not apply: {problem}"])
    return found


def _show(screen: Screen, results: list[Linked], files: Files, to: Outputs, repeat: dict[str, object]) -> None:
    """Write what was asked for, then print it: one attack in full, several side by side."""
    import pandas as pd

    from disclique.data.write import write_json, write_table

    out, json, plot = to
    several = len(results) > 1
    tables = [result.matches.assign(attack=result.method) if several else result.matches for result in results]
    matches = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    if out is not None:
        write_table(matches, out)
    if json is not None:
        content = {"attacks": [result.to_dict() for result in results]} if several else results[0].to_dict()
        write_json({**content, **repeat}, json)
    if plot is not None:
        from disclique.show.plots import match_picture, save

        best = max(results, key=lambda result: len(result.matches))
        save(match_picture(*files, best.matches), plot)
    if several:
        screen.table(pd.DataFrame([_row(result) for result in results]), title="Attacks")
    else:
        screen.say(results[0].lines())
        screen.table(matches, title="Matches")


def _row(result: Linked) -> dict[str, object]:
    """One attack beside others."""
    value = result.risk

    def shown(rate: float | None) -> str:
        return "undefined" if rate is None else f"{rate:.3f}"

    judged = (
        {} if value is None else {"true": value.tp, "precision": shown(value.precision), "recall": shown(value.recall)}
    )
    return {
        "attack": result.method,
        "matches": len(result.matches),
        **judged,
        "seconds": round(result.seconds, 2),
        "note": result.doubtful,
    }


def _provenance(paths: tuple[Path | None, ...]) -> dict[str, object]:
    """What makes the run repeatable beside its options: versions and the hashes of all input files."""
    from disclique.data.provenance import sha256, versions

    return {"versions": versions(), "inputs": {str(path): sha256(path) for path in paths if path is not None}}
