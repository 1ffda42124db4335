"""Spaces: what the distances of a file are between, one module for each kind, and what each kind can do.

Nobody outside asks of which kind a space is; a space says what it can do. Nothing here reads a file or attacks one.
"""

from disclique.spaces.base import FORMED, Distances, full_matrix, shared_unit, spaced, wrap
from disclique.spaces.bits import Encodings
from disclique.spaces.distances import Matrix, Points, matrix_like
from disclique.spaces.lazy import Listed, Unformed, read_in_blocks
from disclique.spaces.scaled import ScaledMatrix
from disclique.spaces.series import Series
from disclique.spaces.strings import Texts

__all__ = [
    "FORMED",
    "Distances",
    "Encodings",
    "Listed",
    "Matrix",
    "Points",
    "ScaledMatrix",
    "Series",
    "Texts",
    "Unformed",
    "full_matrix",
    "matrix_like",
    "read_in_blocks",
    "shared_unit",
    "spaced",
    "wrap",
]
