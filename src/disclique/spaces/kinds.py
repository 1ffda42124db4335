"""What the records of a file are, in one word for results and reports."""

from __future__ import annotations

from disclique.geodesy import GEOGRAPHIC
from disclique.model import Distances
from disclique.spaces.bits import Encodings
from disclique.spaces.distances import Points
from disclique.spaces.metrics import VECTORIAL
from disclique.spaces.strings import Texts

EARTH, PLANE, VECTORS, RECORDS = "coordinates", "plane", "vectors", "records"
TEXTS, ENCODINGS, MATRIX = "texts", "encodings", "matrix"
MAPS = (EARTH, PLANE)  # what has places that can be drawn


def kind_of(distances: Distances) -> str:
    """Return what the distances are between.

    It is ``coordinates`` (points of the Earth), ``plane`` (of a plane or a line), ``vectors``, ``records`` (of a table,
    or whatever a metric of one's own compares), ``texts``, ``encodings``, or ``matrix`` where only distances are given.

    >>> kind_of(Points([[1, 2, 3], [4, 5, 6]], "cosine")), kind_of(Texts(("anna", "otto")))
    ('vectors', 'texts')
    """
    if isinstance(distances, Points):
        if distances.metric in GEOGRAPHIC:
            return EARTH
        if distances.is_map:
            return PLANE
        return VECTORS if distances.metric in VECTORIAL else RECORDS
    return TEXTS if isinstance(distances, Texts) else ENCODINGS if isinstance(distances, Encodings) else MATRIX
