"""``disclique app``: the app for people who do not type commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
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
    from disclique.errors import InputError, MissingDependency
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
