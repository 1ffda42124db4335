"""``disclique mask``: make a release from the holder's file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disclique.errors import InputError

INPUT, OUTPUT = "The file", "Output"


def command(
    file: Annotated[Path, typer.Argument(help="The file to be released: CSV, TSV, Parquet, GeoPackage, GeoJSON, …")],
    mask: Annotated[str, typer.Option(metavar="SPEC", help="How to alter it: gaussian:sigma=500m.")],
    out: Annotated[Path, typer.Option(help="The released table: CSV, TSV or Parquet; the distances go beside it.")],
    label: Annotated[
        list[str] | None, typer.Option(help="A column to release; repeatable. All others are left out, all by default.")
    ] = None,
    id: Annotated[
        str | None, typer.Option(help="Column that names the persons; never released.", rich_help_panel=INPUT)
    ] = None,
    coordinates: Annotated[
        str | None, typer.Option(metavar="LON,LAT", help="Coordinate columns; never released.", rich_help_panel=INPUT)
    ] = None,
    distances: Annotated[
        Path | None, typer.Option(help="Matrix or list i,j,distance instead of coordinates.", rich_help_panel=INPUT)
    ] = None,
    metric: Annotated[str, typer.Option(help="sphere, wgs84 or euclidean.", rich_help_panel=INPUT)] = "sphere",
    crs: Annotated[
        str | None, typer.Option(help="Reference system of the coordinates (EPSG:25832).", rich_help_panel=INPUT)
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of the distance file, km or m.", rich_help_panel=INPUT)] = None,
    generalise: Annotated[
        list[str] | None,
        typer.Option(metavar="NEW=RULE:COL", help="A coarser column, as in attack.", rich_help_panel=INPUT),
    ] = None,
    directed: Annotated[bool, typer.Option(help="Distances have a direction.", rich_help_panel=INPUT)] = False,
    unpublished: Annotated[
        bool, typer.Option(help="Empty cells of the matrix are unpublished.", rich_help_panel=INPUT)
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Repeats a release; by default drawn anew and kept in the recipe.")
    ] = None,
    matrix: Annotated[
        str, typer.Option(metavar="csv|npy|parquet", help="Kind of the distance file.", rich_help_panel=OUTPUT)
    ] = "csv",
    key: Annotated[
        Path | None,
        typer.Option(help="Also write who is who, for your own eyes only.", rich_help_panel=OUTPUT),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.", rich_help_panel=OUTPUT)] = False,
) -> None:
    """Write the release: the table without ids and coordinates in random order, and the masked distances.

    Beside it goes a recipe with mask, seed, versions and hashes. With the recipe the noise can be taken off again: keep
    it, and do not publish it.
    """
    from disclique.cli.screen import Screen
    from disclique.data.geography import LAT, LON
    from disclique.data.provenance import hashes
    from disclique.data.read import Layout, read
    from disclique.data.write import check_writable
    from disclique.releases import release, write_release

    check_writable([out, key])
    layout = Layout(
        labels=label or (),
        id=id,
        coordinates=coordinates,
        metric=metric,
        crs=crs,
        unit=unit,
        generalise=generalise or (),
        directed=directed,
        unpublished=unpublished,
    )
    for name in layout.labels:
        if name in (id, LON, LAT, *(layout.coordinates or ())):
            raise InputError(f"--label {name}: ids and coordinates are never released")
    made = release(read(file, layout, distances=distances), mask, seed)
    written = write_release(made, out, inputs=hashes([file, distances]), kind=matrix, key=key)
    screen, columns = Screen(quiet), ", ".join(layout.labels) or "none"
    screen.say([f"released columns: {columns}; {len(made.key)} records in random order; mask {made.mask}"])
    screen.say([f"{what}: {path}" for what, path in written.items()])
