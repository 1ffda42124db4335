"""``disclique report``: the page of an audit, from its result alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disclique.cli.options import FORCE


def command(
    result: Annotated[Path, typer.Argument(help="result.json of an audit.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    force: FORCE = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Render the report of an audit as one HTML file that needs no network."""
    from disclique.audits import read_result
    from disclique.cli.screen import Screen
    from disclique.data.write import check_writable

    check_writable([out], force=force, sources=[result])
    read_result(result).report(out)
    Screen(quiet).say([f"report: {out.resolve()}"])
