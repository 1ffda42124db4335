"""``disclique calibrate``: how far a mask moves distances, as a row of the paper's table 3."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disclique.cli.options import FORCE
from disclique.errors import InputError


def command(
    mask: Annotated[str, typer.Option(help="The mask, such as gaussian:sigma=0.01deg.")],
    pairs: Annotated[int | None, typer.Option(help="Pairs of points to simulate (1,000).")] = None,
    seed: Annotated[int, typer.Option(help="All chance follows from it.")] = 0,
    points: Annotated[Path | None, typer.Option(help="CSV of the places from which pairs are drawn.")] = None,
    coordinates: Annotated[str, typer.Option(metavar="X,Y", help="Its coordinate columns.")] = "lon,lat",
    metric: Annotated[str, typer.Option(help="sphere (km), wgs84 (km), euclidean or cosine.")] = "sphere",
    alpha: Annotated[str | None, typer.Option(metavar="A,A,...", help="Print the interval of these α too.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the row: CSV, TSV or Parquet.")] = None,
    force: FORCE = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Print the quantiles and the variance of d - d' under a mask: the snooper's little simulation.

    Pairs are drawn from the area of Germany, or from your own points.
    """
    import numpy as np
    import pandas as pd

    from disclique.attacks.calibration import calibrate
    from disclique.cli.screen import Screen
    from disclique.data.files import read_table
    from disclique.data.tables import points as places
    from disclique.data.write import check_writable, write_table
    from disclique.masks import parse_mask

    check_writable([out], force=force)
    screen, source = Screen(quiet), None
    if points is not None:
        columns = [name.strip() for name in coordinates.split(",")]
        source = places(read_table(points), columns, metric, name=str(points))
    found = calibrate(parse_mask(mask), points=source, metric=metric, pairs=pairs, rng=np.random.default_rng(seed))
    row = pd.DataFrame([found.row()])
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
            rows.append({"alpha": value, "low": low, "high": high})
        screen.table(pd.DataFrame(rows), title="agreement: low < d - d' < high")
