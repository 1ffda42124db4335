"""People who are in no file, invented like those of one: places, vectors, records of a table and texts.

From a matrix that fits no map, from encodings or in a metric of one's own nobody can be invented, because nothing says
how far an invented person would lie from the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.errors import InputError
from disclique.geodesy import shift, to_space
from disclique.model import Distances, FloatArray
from disclique.spaces.distances import Points
from disclique.spaces.gower import Gower
from disclique.spaces.metrics import VECTORIAL
from disclique.spaces.scaled import ScaledMatrix
from disclique.spaces.strings import Texts

_NEIGHBOUR = 5  # invented people lie about as far from a real one as its fifth neighbour, or towards one of the five
_TRIES = 50

Rows = NDArray[np.int64]


def can_invent(source: Distances) -> bool:
    """Say whether people can be invented that lie among those of a file."""
    if isinstance(source, Points):
        return source.is_map or source.metric in VECTORIAL or isinstance(source.metric, Gower)
    return isinstance(source, (Texts, ScaledMatrix))


def invent(source: Distances, count: int, rng: np.random.Generator) -> Distances:
    """Return ``count`` invented people as a source of distances of the same kind.

    A place is drawn near one of the file, nearer where places are dense; a vector or a record of a table lies on the
    way from one of the file to one of its nearest; a text is put together from words of several.

    >>> from disclique.spaces.strings import Texts
    >>> invent(Texts(("anna meier", "otto weber", "ida kern")), 2, np.random.default_rng(1)).strings
    ('otto kern', 'ida meier')
    """
    if isinstance(source, Texts):
        return replace(source, strings=_texts(source, count, rng))
    if isinstance(source, ScaledMatrix):
        return source.like(replace(source.places, coordinates=_places(source.places, count, rng)))
    if not (isinstance(source, Points) and can_invent(source)):
        raise InputError("nobody can be invented from these distances: give a file of other people")
    places = _places if source.is_map else _between
    return replace(source, coordinates=places(source, count, rng))


def _places(points: Points, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw homes like those of ``points``: each near one of them, nearer where they are dense."""
    base = rng.integers(points.size, size=count)
    space = to_space(points.coordinates, points.metric)
    reach = cKDTree(space).query(space, k=min(_NEIGHBOUR + 1, points.size))[0].reshape(points.size, -1)[:, -1]
    step = rng.normal(0, 1, (count, points.coordinates.shape[1])) * (reach[base] / 2)[:, None]
    near = points.coordinates[base]
    if points.metric == "euclidean":
        return np.asarray(near + step)
    return shift(near, step[:, 0], step[:, 1], str(points.metric))


def _between(points: Points, count: int, rng: np.random.Generator) -> NDArray[np.generic]:
    """Draw a smoothed bootstrap: each a record moved a share of the way to one of its nearest neighbours."""
    base = rng.integers(points.size, size=count)
    towards = _neighbours(points, base, rng)
    share = rng.random(count)
    one, other = points.coordinates[base], points.coordinates[towards]
    if not isinstance(points.metric, Gower):
        return np.asarray(one + share[:, None] * (other - one))
    found = one.copy()
    for k, extent in enumerate(points.metric.ranges):
        both = np.array(
            [a is not None and b is not None for a, b in zip(one[:, k], other[:, k], strict=True)], dtype=bool
        )
        if extent is None:  # a category is that of one of the two
            taken = rng.random(count) < share
            found[taken, k] = other[taken, k]
        else:
            mixed = [a + s * (b - a) for a, b, s in zip(one[both, k], other[both, k], share[both], strict=True)]
            found[both, k] = mixed
    return found


def _neighbours(points: Points, base: Rows, rng: np.random.Generator) -> Rows:
    """Draw for each of ``base`` one of the records nearest to it."""
    wanted = min(_NEIGHBOUR, points.size - 1)
    if wanted < 1:
        return base
    who, place = np.unique(base, return_inverse=True)
    block = points.block(who.astype(np.int32), np.arange(points.size, dtype=np.int32))
    block[np.arange(len(who)), who] = np.inf
    nearest = np.argpartition(block, wanted - 1, axis=1)[:, :wanted]
    return np.asarray(nearest[place.ravel(), rng.integers(wanted, size=len(base))])


def _texts(texts: Texts, count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Put texts together word by word, each word drawn from those at its place in texts of as many words.

    None is equal to a text of the file. Where words alone give no new text, beginnings and ends of texts are joined.
    """
    there = set(texts.strings)
    shapes: dict[int, list[list[str]]] = {}
    for text in texts.strings:
        shapes.setdefault(len(text.split()), []).append(text.split())
    words = {size: [[row[k] for row in rows] for k in range(size)] for size, rows in shapes.items()}

    def recombined() -> str:
        size = len(texts.strings[int(rng.integers(texts.size))].split())
        return " ".join(pool[int(rng.integers(len(pool)))] for pool in words[size])

    def spliced() -> str:
        one, other = (texts.strings[int(row)] for row in rng.integers(texts.size, size=2))
        return one[: int(rng.integers(1, len(one) + 1))] + other[int(rng.integers(len(other))) :]

    def fresh() -> str:
        for draw in (recombined, spliced):
            for _ in range(_TRIES):
                found = draw().strip()
                if found and found not in there:
                    return found
        raise InputError("the texts of the file are too few or too alike to invent others: give a file of other people")

    return tuple(fresh() for _ in range(count))
