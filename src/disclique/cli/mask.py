"""``disclique mask``: make a release from the holder's file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disclique.cli.options import FORCE, with_options
from disclique.options.files import FileOptions, refuse_hidden

OUTPUT = "Output"
SAID = {"km": "in km", "none": "without a unit"}
FILES = {"note": "note (goes with the release)"}
KEPT = "keep, do not publish"


@with_options(FileOptions)
def command(
    file: Annotated[
        Path, typer.Argument(help="The file to be released: CSV, Parquet, xlsx, Stata, SPSS, SAS, GeoPackage, …")
    ],
    mask: Annotated[str, typer.Option(metavar="SPEC", help="How to alter it: gaussian:sigma=500m. There are {masks}.")],
    out: Annotated[Path, typer.Option(help="The released table: CSV, TSV or Parquet; the distances go beside it.")],
    options: FileOptions,
    seed: Annotated[
        int | None,
        typer.Option(help="Repeats a release, or for trials: by default 128 random bits, kept in the recipe."),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="csv|npy|parquet|list|none",
            help="Kind of the distance file (csv; list: one line a pair; none beside encodings).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Also write who is who, for your own eyes only.", rich_help_panel=OUTPUT)
    ] = None,
    force: FORCE = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.", rich_help_panel=OUTPUT)] = False,
) -> None:
    """Write the release: the label columns in random order, without ids and coordinates, and the masked distances.

    A mask that encodes text puts a column of encodings into the table instead; the text itself is never released.

    First it says what it understood of the file, and ends if that can only be a mistake (--force goes on).

    Beside it goes a recipe with mask, seed, versions and hashes, which only you can read. With the recipe the noise can
    be taken off again: keep it, and do not publish it. A seed of your own is for trials: a short one is found by
    trying, and what is made with it is not for publication.
    """
    from disclique.cli.screen import Screen
    from disclique.masks.registry import refuse_bare
    from disclique.records.checks import inspect
    from disclique.records.reading import Layout, read
    from disclique.records.write import check_writable, hashes
    from disclique.releases import TRIAL, Use, release, write_release
    from disclique.releases.files import NO_MATRIX, choose_kind, describe_size, name_files

    options = options.filled()
    read_from = [file, options.distances, options.vectors, *options.encoding_files]
    check_writable([one.path for one in name_files(out, matrix, key)], force=force, sources=read_from)
    layout = Layout(**options.columns)
    refuse_bare(options.unit, [mask])
    refuse_hidden(options)
    data = read(file, layout, distances=options.distances, vectors=options.vectors)
    made, screen = release(data, mask, seed), Screen(quiet)
    kind = choose_kind(made, matrix)
    screen.look(inspect(data), force=force, yes=True)  # before anything is written
    size = None if kind == NO_MATRIX else describe_size(made.masked, kind)
    if size is not None:
        screen.say([size])
    written = write_release(made, out, inputs=hashes(read_from), kind=matrix, key=key, force=force)
    columns = ", ".join(map(str, made.table.columns)) if layout.labels or made.encoded else "none"
    unit = "" if made.unit is None or made.encoded else f"; distances {SAID[made.unit]}"
    screen.say([f"released columns: {columns}; {len(made.key)} records in random order; mask {made.mask}{unit}"])
    for one in written:
        what = f"{one.name} ({KEPT})" if one.use is Use.KEEP else FILES.get(one.name, one.name)
        screen.say([f"{what}: {one.path}"])
    if not made.publishable:
        screen.say([f"seed {made.seed}: {TRIAL}"])
