"""Plain graphs from files: the DIMACS clique format, or one edge per line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Graph

_COMMENTS = ("c", "#", "%")


def read_graph(path: Path) -> Graph:
    """Return the graph of a DIMACS file (``p edge n m``, ``e u v``) or of a plain edge list (``u v``); vertices from 1.

    Edges may be listed twice or in both directions; further columns, such as weights, are not read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("graph_unreadable", path=path, error=error) from None
    order, ends = 0, []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith(_COMMENTS):
            continue
        if words[0] == "p":
            order = _vertex(words[2] if len(words) > 2 else "", path, number, least=0)
            continue
        pair = words[1:3] if words[0] == "e" else words[:2]
        if len(pair) != 2:
            raise InputError("edge_not_of_two", path=path, number=number, line=line)
        u, v = (_vertex(word, path, number) for word in pair)
        if u == v:
            raise InputError("edge_to_itself", path=path, number=number, line=line)
        ends.append((u - 1, v - 1))
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)
    largest = int(edges.max(initial=-1)) + 1
    if order and largest > order:
        raise InputError("vertex_beyond_declared", path=path, largest=largest, order=order)
    if not order and not largest:
        raise InputError("graph_without_edges", path=path)
    return graph_of(edges, order or largest)


def _vertex(word: str, path: Path, line: int, least: int = 1) -> int:
    try:
        number = int(word)
    except ValueError:
        number = least - 1
    if number < least:
        raise InputError("vertex_not_a_number", path=path, line=line, word=word, least=least)
    return number


def graph_of(edges: NDArray[np.int64], order: int) -> Graph:
    """Return the graph with these edges, pairs of vertices from 0; an edge given twice counts once."""
    first, second = np.concatenate([edges, edges[:, ::-1]]).T
    source, end = np.divmod(np.unique(first * order + second), order)  # rows would be sorted far more slowly
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=order))]).astype(np.int64)
    return Graph(offsets, end.astype(np.int32))
