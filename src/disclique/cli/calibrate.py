"""``disclique calibrate``: how far a mask moves distances, as a row of the paper's table 3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from disclique.cli.options import FORCE
from disclique.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from disclique.attacks.calibration import Calibration


def command(
    mask: Annotated[str, typer.Option(help="The mask, such as gaussian:sigma=0.01deg.")],
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Print the quantiles and the variance of d - d' under a mask: the snooper's little simulation.

    Pairs are drawn from the area of Germany, or from your own points. Columns say the unit, km on the Earth.
    """
    import numpy as np
    import pandas as pd

    from disclique.attacks.calibration import calibrate
    from disclique.cli.screen import Screen
    from disclique.masks import parse_mask
    from disclique.masks.registry import refuse_bare
    from disclique.records.formats import has_places
    from disclique.records.reading import Layout, read
    from disclique.records.write import check_writable, write_table

    check_writable([out], force=force)
    screen, source = Screen(quiet), None
    if points is not None:
        columns: Any = coordinates or (None if has_places(points) else "lon,lat")
        layout = Layout(coordinates=columns, metric=metric, crs=crs, sheet=sheet, layer=layer)
        found_places = read(points, layout).distances.points()
        source = None if found_places is None else found_places.coordinates
    refuse_bare(unit, [mask])
    rng = np.random.default_rng(seed)
    found = calibrate(parse_mask(mask), points=source, metric=metric, unit=unit, pairs=pairs, rng=rng)
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
                raise InputError(f"--alpha {text}: not a number") from None
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
