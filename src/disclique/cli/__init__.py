"""The command line. Commands import what they need when they run, so that ``--help`` is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer

from disclique.cli import app as app_command
from disclique.cli import attack, audit, clique, example, mask, study
from disclique.cli.interrupt import stopping
from disclique.cli.options import Command, on_screen
from disclique.cli.screen import USUAL, Pace, Screen
from disclique.errors import DiscliqueError

COMMANDS: dict[str, Callable[..., None]] = {
    "audit": audit.command,
    "report": audit.report,
    "mask": mask.command,
    "attack": attack.command,
    "study": study.command,
    "compare": study.compare,
    "calibrate": mask.calibrate,
    "clique": clique.command,
    "example": example.command,
    "demo": audit.demo,
}


def make_app(pace: Pace = USUAL, kept: list[Path] | None = None) -> typer.Typer:
    """Return the command line; ``kept`` hears of folders that keep what is finished."""
    made = typer.Typer(
        name="disclique",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Audit what published distances disclose. Run it on your own data, before you release them.",
    )
    made.callback()(_options)
    made.command("app", cls=Command)(app_command.command)
    for name, command in COMMANDS.items():
        made.command(name, cls=Command)(on_screen(command, partial(Screen, pace=pace, kept=kept)))
    return made


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"disclique {version('disclique')}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Audit what published distances disclose. Run it on your own data, before you release them."""


app = make_app()


def main(pace: Pace = USUAL) -> None:
    """Run the command line; bad input ends in one sentence and exit code 2, never in a traceback."""
    with stopping() as kept:
        try:
            make_app(pace, kept)()
        except DiscliqueError as error:
            typer.echo(f"disclique: {error}", err=True)
            sys.exit(2)
        except BrokenPipeError:  # the reader of our output has gone, such as `head`
            sys.stderr.close()
            sys.exit(0)
