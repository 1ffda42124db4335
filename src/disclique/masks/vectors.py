"""Masks for vectors of any number of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from disclique.errors import InputError
from disclique.masks.base import PointMask
from disclique.masks.placement import random_rotation
from disclique.masks.registry import register_mask
from disclique.model import FloatArray
from disclique.spaces import Points
from disclique.spaces.metrics import VECTORIAL


@register_mask
@dataclass(frozen=True)
class Rotation(PointMask):
    """A random rotation or mirror image of all vectors, and a shift: every distance stays, so it protects nothing.

    Vectors that are compared by their cosine are not shifted, which would alter it.

    >>> file = Points([[0, 0, 0], [3, 4, 0]], "euclidean")
    >>> turned = Rotation().apply(file, np.random.default_rng(0))
    >>> np.round(turned.block(np.array([0]), np.array([1])), 9)
    array([[5.]])
    """

    name: ClassVar[str] = "rotation"
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Chen and Liu 2005, IEEE ICDM, 589-592; undone by Giannella, Liu and Kargupta 2013"
    rigid: ClassVar[bool] = True

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the vectors turned."""
        if points.metric not in VECTORIAL:
            raise InputError(f"mask rotation turns vectors with metric euclidean or cosine, not {points.metric}")
        vectors = points.coordinates
        motion = random_rotation(vectors.shape[1], rng)
        motion[0] *= rng.choice([-1.0, 1.0])
        if points.metric == "cosine":
            return np.asarray(vectors @ motion.T)
        centre = vectors.mean(axis=0)
        shift = rng.normal(0, 1, vectors.shape[1]) * vectors.std()
        return np.asarray((vectors - centre) @ motion.T + centre + shift)
