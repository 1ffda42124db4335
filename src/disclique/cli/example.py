"""``disclique example``: the paper's two examples, and files of invented people to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disclique.cli.options import FORCE
from disclique.cli.screen import Screen
from disclique.errors import InputError

if TYPE_CHECKING:
    from disclique.synthetic.files import Files


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="poets, cities, survey, hospital, names, travel or embeddings.",
            metavar="poets|cities|survey|hospital|names|travel|embeddings",
        ),
    ],
    screen: Screen,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the data, matches and pictures; of the survey a file, such as survey.csv."),
    ] = None,
    force: FORCE = False,
) -> None:
    """Show an example of the paper (the attack on the poets, the graph model of four people), or write files to try.

    survey: 500 people in Germany with sex, age class, an illness and coordinates. hospital: patients with metres to the
    nearest hospital, pharmacy and school. names: names and birthdays, and their encodings (CLKs). travel: homes with
    minutes by car between them. embeddings: texts as vectors. All people are invented.
    """
    from disclique.records.write import check_writable
    from disclique.synthetic.examples import shipped_files
    from disclique.synthetic.files import example, example_names

    shows = {"poets": _poets, "cities": _cities, "survey": _survey}
    if name in example_names():
        files = example(name)
        if out is None:
            raise InputError("example_to_which_folder", example=name, files=list(files))
        if out.exists() and not out.is_dir():
            raise InputError("file_where_folder_goes", path=out)
        check_writable([out / file for file in files], force=force)
        return _write_files(files, screen, out)
    if name not in shows:
        raise InputError("unknown_example", example=name, choices=[*shows, *example_names()])
    if name == "survey":
        if out is None:
            raise InputError("survey_to_which_file")
        check_writable([out], force=force)
    elif out is not None:
        if out.exists() and not out.is_dir():
            raise InputError("file_where_folder_goes", path=out)
        check_writable([out / file for file in (*shipped_files(name), *_FILES[name])], force=force)
    shows[name](screen, out)


_PICTURES = ("target_graph.png", "known_graph.png", "product_graph.png", "matches.png")
_FILES = {  # what is written besides the data of an example
    "poets": ("matches.csv", "result.json", *_PICTURES),
    "cities": ("distances.csv", "graph.png"),
}


def _write_files(files: Files, screen: Screen, out: Path) -> None:
    import numpy as np
    import pandas as pd

    from disclique.records.write import whole_file, write_table

    for name, content in files.items():
        path = out / name
        if isinstance(content, pd.DataFrame):
            write_table(content, path)
            said = f"{len(content)} rows, columns {', '.join(map(str, content.columns[:8]))}"
            screen.say([f"{path}: {said}{', …' if content.shape[1] > 8 else ''}"])
            continue
        with whole_file(path) as draft:
            if isinstance(content, str):
                draft.write_text(content, encoding="utf-8")
            else:
                with draft.open("wb") as file:
                    np.save(file, content)
        screen.say([f"{path}: in the order of the rows"])


def _survey(screen: Screen, out: Path | None) -> None:
    from disclique.records.write import write_table
    from disclique.synthetic.examples import survey

    assert out is not None
    people = survey()
    write_table(people, out)
    screen.say([f"{out}: {len(people)} invented people, columns {', '.join(map(str, people.columns))}"])


def _poets(screen: Screen, out: Path | None) -> None:
    from disclique.attacks import attack
    from disclique.engine.agreement import Within
    from disclique.synthetic.examples import POETS_FILES, poets

    target, known = poets()
    result = attack(target, known, agreement=Within(5), truth="name")
    screen.say(["Kroll (2014), example 8: European poets; distances agree within 5 km", *result.lines()])
    screen.table(result.matches, title="Matches")
    if out is None:
        return
    from disclique.engine.product import product_graph
    from disclique.records.labels import candidates
    from disclique.records.write import write_json, write_table
    from disclique.show.plots import draw_graph_model, draw_matches, draw_product_graph, save_figure

    graph = product_graph(
        target.distances, known.distances, candidates=candidates(target.labels, known.labels), agreement=Within(5)
    )
    _copy(POETS_FILES, out)
    write_table(result.matches, out / "matches.csv")
    write_json(result.to_dict(), out / "result.json")
    save_figure(draw_graph_model(target, "Graph model of the target file"), out / "target_graph.png")
    save_figure(draw_graph_model(known, "Graph model of the known file"), out / "known_graph.png")
    save_figure(
        draw_product_graph(graph, result.clique.members, "Product graph and its maximum clique"),
        out / "product_graph.png",
    )
    save_figure(draw_matches(target, known, result.matches), out / "matches.png")
    screen.say([f"pictures, matches and data: {out}"])


def _cities(screen: Screen, out: Path | None) -> None:
    import pandas as pd

    from disclique.spaces import full_matrix
    from disclique.synthetic.examples import CITIES_FILES, cities

    people = cities()
    names = list(people.table["name"])
    matrix = pd.DataFrame(full_matrix(people.distances).round(1), columns=names)
    matrix.insert(0, "km", names)
    screen.say(["Kroll (2014), example 2: distances between the birth places, sphere of radius 6371 km"])
    screen.table(matrix)
    if out is not None:
        from disclique.records.write import write_table
        from disclique.show.plots import draw_graph_model, save_figure

        _copy(CITIES_FILES, out)
        write_table(matrix, out / "distances.csv")
        save_figure(draw_graph_model(people, "Graph model of four people (figure 1 of the paper)"), out / "graph.png")
        screen.say([f"picture, distances and data: {out}"])


def _copy(names: tuple[str, ...], out: Path) -> None:
    from disclique.records.write import whole_file
    from disclique.synthetic.examples import shipped

    for name in names:
        with whole_file(out / name) as draft:
            draft.write_bytes(shipped(name).read_bytes())
