"""``disclique bench``: time the engine beside other clique solvers on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option(help="Folder for bench.csv, bench.md and bench.png.")],
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each solver; medians are shown.")] = 5,
    peer: Annotated[list[str] | None, typer.Option(help="{peers}; repeatable (default: all installed).")] = None,
    growth: Annotated[bool, typer.Option(help="Also time 250 to 2,000 records per file.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Time disclique, graph included, beside other solvers on the finished graph; every clique is checked.

    The six attacks have the paper's size, 500 records per file. It takes about twenty minutes with all peers; machines
    differ, so compare within one run only.
    """
    from disclique.bench import PEERS, run
    from disclique.bench.timing import GROWTH
    from disclique.cli.screen import Screen
    from disclique.engine.libraries import load_library
    from disclique.errors import InputError

    screen = Screen(quiet)
    strange = [name for name in peer or [] if name not in PEERS]
    if strange:
        raise InputError(f"--peer {strange[0]}: choose one of {', '.join(PEERS)}")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: this is a file, not a folder")
    for name in peer or []:
        load_library(name)  # one that is asked for by name is not left out without a word
    screen.say(["timing the first of the attacks"])
    table = run(
        out,
        repeats=repeats,
        peers=tuple(peer or PEERS),
        growth=GROWTH if growth else (),
        tell=lambda line: screen.say([line]),
    )
    screen.table(table[["instance", "solver", "build", "clique", "total", "ratio", "peak", "size", "proven"]])
    screen.say([f"table and picture: {out}"])
