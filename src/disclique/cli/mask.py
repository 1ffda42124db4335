"""``disclique mask`` and ``calibrate``: make a release from a file, and see how far a mask moves distances."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.cli.options import FORCE, LANGUAGE, OUTPUT, RELEASED, completing, with_options
from disclique.cli.screen import Screen
from disclique.errors import InputError
from disclique.options.files import FileOptions, refuse_hidden
from disclique.options.table import list_of

if TYPE_CHECKING:
    import pandas as pd

    from disclique.attacks.calibration import Calibration

SAID = {"km": "in km", "min": "in minutes", "none": "without a unit"}
NAMED = {"note": "note (goes with the release)", "words": "note in plain words (goes with the release)"}
KEPT = "keep, do not publish"


@with_options(FileOptions)
def command(
    file: Annotated[Path, typer.Argument(help=f"The file to be released: {RELEASED}")],
    mask: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="How to alter it: gaussian:sigma=500m | km_school=round:100m. There are {masks}.",
            autocompletion=completing("mask"),
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The released table: csv, tsv, parquet, xlsx, dta; with places also gpkg, geojson, geoparquet, shp. "
            "Distances and vectors go beside it."
        ),
    ],
    options: FileOptions,
    screen: Screen,
    seed: Annotated[
        int | None,
        typer.Option(help="Repeats a release, or for trials: by default 128 random bits, kept in the recipe."),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="places|distances|vectors|encodings|none",
            help="What is released of that which the mask makes (distances, or encodings of text).",
        ),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="csv|npy|parquet|list|none",
            help="Kind of the distance file (csv; list: one line a pair; none beside encodings or without distances).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Also write who is who, for your own eyes only.", rich_help_panel=OUTPUT)
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of an audit of this file: the note says what it found of the setting. Without it audits in "
            "folders beside the file and the release are looked at.",
        ),
    ] = None,
    language: LANGUAGE = "en",
    force: FORCE = False,
) -> None:
    """Write the release: labels, numbers, sensitive and plain columns in random order, and what the mask makes.

    What is done to labels and numbers stands behind the mask: "gaussian:sigma=500m | km_school=round:100m | drop:age".
    A file of labels and numbers alone has the mask none. Ids, true places, texts, weights and columns without a role
    are never released; a new column numbers the records. The mask makes distances, masked places (--as places, in the
    reference system and, by the ending of --out, the format of the file), vectors, or encodings of text.

    First it says what it understood of the file, and ends if that can only be a mistake (--accept goes on).

    Beside it goes a recipe with mask, seed, versions and hashes, which only you can read. With the recipe the noise can
    be taken off again: keep it, and do not publish it. A seed of your own is for trials: a short one is found by
    trying, and what is made with it is not for publication.
    """
    from dataclasses import replace

    from disclique.attacks.look import inspect
    from disclique.audits.audited import find_audit
    from disclique.masks.registry import refuse_bare
    from disclique.records.reading import Layout, read
    from disclique.records.write import check_writable, hashes
    from disclique.releases import Use, release, write_release
    from disclique.releases.distances import Writing, describe_size
    from disclique.releases.files import NO_MATRIX, check_out, choose_kind, name_files

    options = options.filled()
    read_from = [file, options.distances, options.vectors, *options.further_files]
    check_writable([one.path for one in name_files(out, matrix, key)], force=force, sources=read_from)
    layout = Layout(**options.own_columns)
    refuse_bare(options.unit, [mask])
    refuse_hidden(options)
    data = read(file, layout, distances=options.distances, vectors=options.vectors)
    made, inputs = release(data, mask, seed, as_=as_, language=language), hashes(read_from)
    judged = find_audit(audit, [file.parent, out.parent], [digest for _, digest in inputs], made.mask)
    if judged is not None:
        made = replace(made, about=replace(made.about, audited=judged[1].tell_of(made.mask, data)))
    kind = choose_kind(made, matrix)
    check_out(made, out)
    screen.look(inspect(data), accept=list_of(options.accept), yes=True)  # before anything is written
    size = None if kind == NO_MATRIX else describe_size(made.masked, kind, Writing(decimals=made.decimals))
    if size is not None:
        screen.say([str(size)])
    written = write_release(made, out, inputs=inputs, kind=matrix, key=key, force=force)
    columns = ", ".join(str(column) for column in made.table.columns if column != made.id) or "none"
    unit = "" if made.unit is None or kind == NO_MATRIX else f"; distances {SAID[str(made.unit)]}"
    screen.say([f"released columns: {columns}; {len(made.key)} records in random order; mask {made.mask}{unit}"])
    screen.say(map(str, made.about.done))
    for one in written:
        what = f"{one.name} ({KEPT})" if one.use is Use.KEEP else NAMED.get(one.name, one.name)
        screen.say([f"{what}: {one.path}"])
    screen.say(made.warnings)
    screen.say([f"{made.about.audited}{'' if judged is None else f' ({judged[0]})'}"])


def calibrate(
    mask: Annotated[str, typer.Option(help="The mask, such as gaussian:sigma=0.01deg.")],
    screen: Screen,
    pairs: Annotated[int | None, typer.Option(help="Pairs of points to simulate (1,000).")] = None,
    seed: Annotated[int, typer.Option(help="All chance follows from it.")] = 0,
    points: Annotated[Path | None, typer.Option(help="File of the places from which pairs are drawn.")] = None,
    coordinates: Annotated[
        str | None, typer.Option(metavar="X,Y", help="Its coordinate columns (lon,lat, or its geometry).")
    ] = None,
    crs: Annotated[str | None, typer.Option(help="Reference system of the coordinates (EPSG:25832).")] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of a workbook that has several.")] = None,
    layer: Annotated[str | None, typer.Option(help="Layer of a GeoPackage that has several.")] = None,
    metric: Annotated[str, typer.Option(help="sphere (km), wgs84 (km), euclidean or cosine.")] = "sphere",
    unit: Annotated[str | None, typer.Option(help="Unit of euclidean coordinates: km, m or none.")] = None,
    alpha: Annotated[str | None, typer.Option(metavar="A,A,...", help="Print the interval of these α too.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the row: CSV, TSV or Parquet.")] = None,
    force: FORCE = False,
) -> None:
    """Print the quantiles and the variance of d - d' under a mask: the snooper's little simulation.

    Pairs are drawn from the area of Germany, or from your own points. Columns say the unit, km on the Earth.
    """
    import numpy as np
    import pandas as pd

    from disclique.attacks import calibration
    from disclique.masks import parse_mask
    from disclique.masks.registry import refuse_bare
    from disclique.records.formats import has_places
    from disclique.records.reading import Layout, read
    from disclique.records.write import check_writable, write_table

    check_writable([out], force=force)
    source = None
    if points is not None:
        columns: Any = coordinates or (None if has_places(points) else "lon,lat")
        layout = Layout(coordinates=columns, metric=metric, crs=crs, sheet=sheet, layer=layer)
        found_places = read(points, layout).distances.points()
        source = None if found_places is None else found_places.coordinates
    refuse_bare(unit, [mask])
    rng = np.random.default_rng(seed)
    found = calibration.calibrate(parse_mask(mask), points=source, metric=metric, unit=unit, pairs=pairs, rng=rng)
    row = _with_units(found)
    if out is not None:
        write_table(row, out)
    screen.table(row, title="quantiles and variance of d - d'")
    if alpha is not None:
        rows = []
        for text in alpha.split(","):
            try:
                value = float(text)
            except ValueError:
                raise InputError("alpha_not_a_number", text=text) from None
            low, high = found.interval(value)
            rows.append({"alpha": value, f"low{_of(found)}": low, f"high{_of(found)}": high})
        screen.table(pd.DataFrame(rows), title="agreement: low < d - d' < high")


def _of(found: Calibration, power: str = "") -> str:
    """Return the unit as it stands in the head of a column."""
    from disclique.units import KM

    return f" (km{power})" if found.unit == KM else ""


def _with_units(found: Calibration) -> pd.DataFrame:
    """Return the row with the unit in the head of every column that has one."""
    import pandas as pd

    row = pd.DataFrame([found.row()])
    heads = {name: f"{name}{_of(found, '²' if name == 'variance' else '')}" for name in row.columns[2:]}
    return row.rename(columns=heads)
