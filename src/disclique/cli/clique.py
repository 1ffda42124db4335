"""``disclique clique``: solve a plain graph, to compare clique techniques on the same footing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disclique.cli.options import FORCE
from disclique.cli.screen import Screen

if TYPE_CHECKING:
    from disclique.model import Clique


def command(
    file: Annotated[Path, typer.Argument(help="A graph: DIMACS (`e u v`) or an edge `u v` per line, vertices from 1.")],
    screen: Screen,
    solver: Annotated[
        list[str] | None,
        typer.Option(help="{described solvers}, or all; repeatable (default: exact)."),
    ] = None,
    budget: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop each search after this time.")] = None,
    size: Annotated[int | None, typer.Option(help="Stop once a clique has this many members.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to search with (all cores).")] = None,
    count: Annotated[bool, typer.Option("--count", help="Count all maximum cliques too.")] = False,
    limit: Annotated[int, typer.Option(help="Count at most this many.")] = 1000,
    json: Annotated[Path | None, typer.Option(help="Write the results as JSON.")] = None,
    force: FORCE = False,
) -> None:
    """Find a maximum clique of a plain graph with any of the solvers.

    A result that is not proven carries the largest size that is still possible as its bound.
    """
    from disclique.engine import SOLVERS, is_clique, maximum_clique, maximum_cliques
    from disclique.engine.solvers import read_graph
    from disclique.errors import DiscliqueError, MissingDependency
    from disclique.model import Budget
    from disclique.records.write import check_writable, write_json

    check_writable([json], force=force, sources=[file])
    graph = read_graph(file)
    every = [name for name, known in SOLVERS.items() if not known.product]
    wanted = every if "all" in (solver or []) else solver or ["exact"]
    found: list[dict[str, object]] = []
    for name in wanted:
        try:
            with screen.search(name) as tell:
                clique = maximum_clique(graph, solver=name, budget=Budget(budget, size), threads=threads, progress=tell)
        except MissingDependency as problem:
            if len(wanted) == 1:
                raise
            screen.say([str(problem)])
            continue
        if not is_clique(graph, clique.members):
            raise DiscliqueError("solver_returned_no_clique", solver=name, file=file)
        row = _row(clique)
        if count:
            listed = maximum_cliques(graph, clique, limit=limit, budget=Budget(budget))
            row["maximum_cliques"] = f"{listed.count}{'' if listed.complete else ' or more'}"
        found.append(row)
        if len(wanted) == 1:
            members = " ".join(str(v + 1) for v in clique.members)
            screen.say([f"{graph.order} vertices, {graph.size} edges", f"members: {members}"])
    if json is not None:
        write_json({"file": str(file), "vertices": graph.order, "edges": graph.size, "results": found}, json)
    import pandas as pd

    screen.table(pd.DataFrame(found).drop(columns="members", errors="ignore"), title=str(file))


def _row(clique: Clique) -> dict[str, object]:
    return {
        "solver": clique.solver,
        "size": clique.size,
        "proven": clique.proven,
        "bound": clique.bound,
        "seconds": round(clique.seconds, 4),
        "members": [v + 1 for v in clique.members],  # as in the file
    }
