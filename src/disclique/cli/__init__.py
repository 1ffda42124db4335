"""The command line. Commands import what they need when they run, so that ``--help`` is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from disclique.cli import advise, attack, audit, clique, example, mask, masks, study
from disclique.cli.interrupt import stopping
from disclique.cli.options import FIRST, Command, on_screen, reflow, with_whole_help
from disclique.cli.screen import USUAL, Pace, Screen
from disclique.errors import DiscliqueError, InputError, MissingDependency

COMMANDS: dict[str, Callable[..., None]] = {
    "advise": advise.command,
    "audit": audit.command,
    "report": audit.report,
    "mask": mask.command,
    "masks": masks.command,
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
        pretty_exceptions_enable=False,
        help="Audit what published distances disclose. Run it on your own data, before you release them.",
    )
    made.callback()(_options)
    made.command("app", cls=Command, help=reflow(open_app))(open_app)
    for name, command in COMMANDS.items():
        shown = on_screen(command, partial(Screen, pace=pace, kept=kept))
        made.command(name, cls=Command, help=reflow(command))(with_whole_help(shown) if name in FIRST else shown)
    return made


def open_app(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder whose files can be opened, and where audits are kept.")
    ] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    most_upload: Annotated[
        str, typer.Option("--max-upload", metavar="SIZE", help="Largest file that may be uploaded.")
    ] = "2GB",
) -> None:
    """Open a window in the browser: open a file, ask, run the audit, read the report, make the release.

    The server can be reached from this machine only, by the address that it prints, which has a key in it. It ends when
    you end it (Ctrl-C, or the button on the page), or after an hour without a request or a running audit. What was
    uploaded is deleted then, unless an audit was given a folder.
    """
    from disclique.memory import parse_memory

    if not folder.is_dir():
        raise InputError("no_such_folder", folder=folder)
    try:
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise MissingDependency("app_needs_package", package=missing.name) from None
    from disclique.app.server import serve

    serve(folder, port=port, browser=browser, most=int(parse_memory(most_upload)), say=typer.echo)


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
