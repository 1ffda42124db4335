"""The pictures: written whole, in the format of their name, showing what they should."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.engine.product import product_graph
from disclique.records.labels import candidates
from disclique.show.plots import draw_graph_model, draw_matches, draw_product_graph, edges, layout, save_figure
from disclique.synthetic.examples import cities, poets


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_pictures_are_written_in_the_format_of_their_name(tmp_path: Path, suffix: str, magic: bytes) -> None:
    """PNG, SVG and PDF; nothing but the picture is left."""
    path = tmp_path / f"graph{suffix}"
    save_figure(draw_graph_model(cities()), path)
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def test_graph_model_shows_every_record_and_weight() -> None:
    """Figure 1: four records with their year, six edges with their weight."""
    texts = [text.get_text() for text in draw_graph_model(cities()).axes[0].texts]
    assert {"1: 1978", "2: 1965", "3: 1943", "4: 1931"} <= set(texts)
    assert {"343.6", "1869.1", "930.9"} <= set(texts)


def test_layout_keeps_the_distances_of_a_plane() -> None:
    """A map made from plane distances has the same distances."""
    points = np.random.default_rng(0).uniform(0, 10, (12, 2))
    d = np.linalg.norm(points[:, None] - points[None], axis=2)
    frame = pd.DataFrame({"x": ["a"] * 12})
    places = layout(dq.microdata(frame, ["x"], distances=d))
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places[None], axis=2), d, atol=1e-9)


def test_product_picture_shows_the_clique() -> None:
    """Nine edges, six of them in the clique, eleven numbered vertices with their pairs."""
    target, known = poets()
    found = candidates(target.labels, known.labels)
    graph = product_graph(target.distances, known.distances, candidates=found, agreement=dq.Within(5))
    axes = draw_product_graph(graph, (0, 1, 2, 4)).axes[0]
    assert len(edges(graph)) == len(axes.lines) == 9
    assert sum(line.get_linewidth() > 2 for line in axes.lines) == 6
    assert {"11", "(2, 9)"} <= {text.get_text() for text in axes.texts}


@pytest.mark.parametrize("judged", [True, False])
def test_match_picture_has_a_line_for_every_match(judged: bool) -> None:
    """Solid and green if true, dashed and red if false, in both files' frames."""
    target, known = poets()
    matches = pd.DataFrame({"target_row": [1, 2, 3], "known_row": [1, 2, 6]})
    if judged:
        matches["true"] = [True, True, False]
    figure = draw_matches(target, known, matches)
    styles = [(line.get_linestyle(), line.get_edgecolor()) for line in figure.artists]
    assert len(styles) == 3
    assert len(set(styles)) == (2 if judged else 1)


def test_no_matches_make_a_picture_too(tmp_path: Path) -> None:
    """Nothing claimed is a result."""
    target, known = poets()
    save_figure(draw_matches(target, known, pd.DataFrame({"target_row": [], "known_row": []})), tmp_path / "none.png")
