"""``disclique report``: the page of an audit, from its result alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disclique.cli.options import FORCE, LANGUAGE


def command(
    result: Annotated[Path, typer.Argument(help="result.json of an audit.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    annex: Annotated[bool, typer.Option("--annex", help="Write annex.html for the board beside it.")] = False,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with the section decision that the annex shows.")
    ] = None,
    language: LANGUAGE = "en",
    force: FORCE = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Render the report of an audit as one HTML file that needs no network, with its figures as CSV beside it."""
    from disclique.audits import ANNEX, read_result
    from disclique.audits.from_options import read_decision
    from disclique.cli.screen import Screen
    from disclique.errors import InputError
    from disclique.locale import texts_in
    from disclique.records.write import check_writable

    if config is not None and not annex:
        raise InputError("--config: it goes with --annex")
    beside = out.parent / ANNEX
    if annex and beside == out:
        raise InputError(f"--out {out}: that is where the annex goes; give the report another name")
    texts_in(language)
    check_writable([out, beside] if annex else [out], force=force, sources=[result, config])
    found, screen = read_result(result), Screen(quiet)
    if annex:
        found.annex(beside, decision=None if config is None else read_decision(config), language=language)
        screen.say([f"annex for the board: {beside}"])
    found.report(out, language=language)
    screen.say([f"report: {out.resolve()}"])
