"""Data: tables, coordinates, distances and labels, read from files or given from Python, checked once and explained.

What comes out is ``Microdata`` (``read``, ``microdata``) with its ``Matrix``, ``Points``, ``Texts`` or ``Encodings``.
Labels are made comparable (``labels``), coarser (``generalise``) or compared with errors (``comparators``) here, and
results are written (``write``, ``provenance``). Nothing here alters a distance, attacks a file or draws at random.
"""

from disclique.records.labels import Comparator, Exact, candidates, label_tuples
from disclique.records.reading import Layout, read
from disclique.records.tables import microdata, select_records
from disclique.spaces import Encodings, Matrix, Points, Texts, full_matrix
from disclique.spaces.metrics import Metric, paired, pairwise
from disclique.values import canonical

__all__ = [
    "Comparator",
    "Encodings",
    "Exact",
    "Layout",
    "Matrix",
    "Metric",
    "Points",
    "Texts",
    "candidates",
    "canonical",
    "full_matrix",
    "label_tuples",
    "microdata",
    "paired",
    "pairwise",
    "read",
    "select_records",
]
