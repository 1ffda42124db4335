"""Spaces: what the distances of a file are between, one module for each kind, and what each kind can do.

Nobody outside asks of which kind a space is; a space says what it can do (``base``). Nothing here reads a file or
attacks one. A new kind is a module, and a line here.
"""

from disclique.spaces.base import SIZES, Distances, Sizes, full_matrix, read_in_blocks, shared_unit, spaced, wrap
from disclique.spaces.bits import Encodings
from disclique.spaces.gower import Gower
from disclique.spaces.lazy import Listed, Unformed
from disclique.spaces.matrix import Matrix, ScaledMatrix, matrix_like
from disclique.spaces.nothing import Nothing
from disclique.spaces.points import Points
from disclique.spaces.series import ReleaseSeries
from disclique.spaces.strings import Texts
from disclique.spaces.vectors import Cosine, Euclidean

__all__ = [
    "SIZES",
    "Cosine",
    "Distances",
    "Encodings",
    "Euclidean",
    "Gower",
    "Listed",
    "Matrix",
    "Nothing",
    "Points",
    "ReleaseSeries",
    "ScaledMatrix",
    "Sizes",
    "Texts",
    "Unformed",
    "full_matrix",
    "matrix_like",
    "read_in_blocks",
    "shared_unit",
    "spaced",
    "wrap",
]
