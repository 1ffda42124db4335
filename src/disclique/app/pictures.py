"""What a mask does, drawn by doing it: a small invented town before and after, or its distances, or some names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from disclique.errors import DiscliqueError

if TYPE_CHECKING:
    from disclique.masks import Mask
    from disclique.spaces.base import Distances

WIDTH, HEIGHT, EDGE = 220.0, 140.0, 8.0
SEED, PEOPLE, PAIRS = 7, 70, 260
MAP, LINKS, SCATTER = "map", "links", "scatter"
# Settings at which something is seen in a town four kilometres wide.
_SEEN = {
    "gaussian": "gaussian:sigma=150m",
    "disc": "disc:max=400m",
    "donut": "donut:min=200m,max=400m",
    "laplace": "laplace:epsilon=8/km",
    "grid": "grid:cell=500m",
    "swap": "swap:radius=700m",
    "dhs": "dhs:urban=200m,rural=500m,far=1km,far-share=0.05",
    "matrix-gaussian": "matrix-gaussian:sd=300m",
    "matrix-laplace": "matrix-laplace:b=250m",
    "multiplicative": "multiplicative:sd=0.2",
    "round": "round:to=500m",
    "topcode": "topcode:max=2km",
    "knn": "knn:k=5",
    "within": "within:size=500m",
    "lipschitz": "lipschitz:sets=3",
    "projection": "projection:dimensions=1",
    "bloom": "bloom:flip=0.05",
}
_FIRST = [
    "Anna",
    "Berta",
    "Clara",
    "Dora",
    "Emma",
    "Frieda",
    "Greta",
    "Hanna",
    "Ida",
    "Johanna",
    "Karl",
    "Ludwig",
    "Martin",
    "Otto",
    "Paul",
]
_LAST = [
    "Schmidt",
    "Schmitt",
    "Meyer",
    "Maier",
    "Becker",
    "Bäcker",
    "Weber",
    "Wagner",
    "Fischer",
    "Hoffmann",
    "Hofmann",
]


@cache
def draw_mask(name: str) -> tuple[str, str]:
    """Return the picture of a mask as SVG, and what kind it is; empty where it cannot be drawn."""
    import numpy as np

    from disclique.masks import masks, parse_mask
    from disclique.spaces import Texts

    kind = masks()[name]
    rng = np.random.default_rng(SEED)
    try:
        before: Distances = Texts(tuple(_people())) if kind.on == "text" else _town()
        mask = parse_mask(_SEEN.get(name) or _usual(kind, before))
        after = mask.apply(before, rng)
    except DiscliqueError:
        return "", ""
    return _draw(before, after)


def _usual(kind: type[Mask], town: Distances) -> str:
    """Return the strongest setting that a card begins with, of a mask that is not listed here."""
    from disclique.app.cards import make_card, spec_of

    card = make_card(kind, 1.8, town.unit, places=True)
    return spec_of(kind.name, {dial.name: (dial.high or dial.low, "") for dial in card.dials if dial.needed})


def _town() -> Any:
    """Return an invented town: a core, a few streets, and farms; kilometres."""
    import numpy as np

    from disclique.spaces import Points

    rng = np.random.default_rng(SEED)
    core = rng.normal([2.0, 1.3], 0.28, (PEOPLE // 2, 2))
    along = rng.random((PEOPLE // 3, 1))
    streets = np.where(
        rng.random((PEOPLE // 3, 1)) < 0.5,
        np.hstack([0.2 + 3.6 * along, 1.1 + 0.4 * along]),
        np.hstack([1.6 + 0.9 * along, 0.1 + 2.3 * along]),
    )
    farms = rng.random((PEOPLE - PEOPLE // 2 - PEOPLE // 3, 2)) * [4.0, 2.5]
    return Points(np.vstack([core, streets + rng.normal(0, 0.03, streets.shape), farms]), "euclidean", unit="km")


def _people() -> list[str]:
    return [f"{first} {last}" for place, first in enumerate(_FIRST) for last in _LAST[place % 3 :: 3]]


def _draw(before: Any, after: Any) -> tuple[str, str]:
    import numpy as np

    from disclique.spaces import full_matrix

    homes, moved = before.points(), after.points()
    if homes is not None and moved is not None:
        return _draw_map(homes.coordinates, moved.coordinates), MAP
    old, new = full_matrix(before), full_matrix(after)
    pairs = np.transpose(np.triu_indices(len(old), 1))
    published = np.isfinite(new[pairs[:, 0], pairs[:, 1]])
    if not published.all() and homes is not None:
        return _draw_links(homes.coordinates, pairs[published]), LINKS
    some = pairs[np.random.default_rng(SEED).permutation(len(pairs))[:PAIRS]]
    return _draw_scatter(old[some[:, 0], some[:, 1]], new[some[:, 0], some[:, 1]]), SCATTER


def _fit(*clouds: Any) -> Any:
    """Return how points become places of the picture, the same for all clouds and in all directions."""
    import numpy as np

    every = np.vstack(clouds)
    low, high = every.min(axis=0), every.max(axis=0)
    scale = min((WIDTH - 2 * EDGE) / (high[0] - low[0]), (HEIGHT - 2 * EDGE) / (high[1] - low[1]))
    middle = (low + high) / 2

    def place(points: Any) -> Any:
        moved = (points - middle) * scale
        return np.round(np.column_stack([WIDTH / 2 + moved[:, 0], HEIGHT / 2 - moved[:, 1]]), 1)

    return place


def _draw_map(old: Any, new: Any) -> str:
    place = _fit(old, new)
    was, now = place(old).tolist(), place(new).tolist()
    lines = "".join(f"M{x:g} {y:g}L{u:g} {v:g}" for (x, y), (u, v) in zip(was, now, strict=True))
    dots = "".join(f'<circle class="was" cx="{x:g}" cy="{y:g}" r="2.2"/>' for x, y in was)
    dots += "".join(f'<circle class="now" cx="{x:g}" cy="{y:g}" r="2.2"/>' for x, y in now)
    return _svg(f'<path class="moved" d="{lines}"/>{dots}')


def _draw_links(old: Any, pairs: Any) -> str:
    where = _fit(old)(old).tolist()
    lines = "".join(f"M{where[i][0]:g} {where[i][1]:g}L{where[j][0]:g} {where[j][1]:g}" for i, j in pairs.tolist())
    dots = "".join(f'<circle class="was" cx="{x:g}" cy="{y:g}" r="2.2"/>' for x, y in where)
    return _svg(f'<path class="moved" d="{lines}"/>{dots}')


def _draw_scatter(old: Any, new: Any) -> str:
    """Draw distances after (up) over distances before (to the right), with the line on which nothing has changed."""
    import numpy as np

    most = float(np.nanmax(np.concatenate([old, new]))) or 1.0
    x = np.round(EDGE + (WIDTH - 2 * EDGE) * old / most, 1).tolist()
    y = np.round(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * new / most, 1).tolist()
    dots = "".join(f'<circle class="now" cx="{u:g}" cy="{v:g}" r="1.6"/>' for u, v in zip(x, y, strict=True))
    corner = f"M{EDGE:g} {EDGE:g}V{HEIGHT - EDGE:g}H{WIDTH - EDGE:g}"
    same = f"M{EDGE:g} {HEIGHT - EDGE:g}L{WIDTH - EDGE:g} {EDGE:g}"
    return _svg(f'<path class="axis" d="{corner}"/><path class="same" d="{same}"/>{dots}')


def _svg(inside: str) -> str:
    return f'<svg class="picture masked" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" aria-hidden="true">{inside}</svg>'
