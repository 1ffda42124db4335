"""Ways to alter points, distances or strings before release.

A mask is a small frozen value with ``apply(distances, rng)``; ``parse_mask`` reads one from a spec, and a class with
``@register_mask`` adds another. Masks that move points at random are in ``displacement``, those that place them by a
rule in ``placement``, that of surveys in ``dhs``, those that alter each distance in ``noise``, those that publish
something else than the matrix in ``publishing``, and those that encode strings in ``encoding``. Masks alter; they know
no attacks, and of files only what ``prepare`` is given.
"""

from disclique.masks.base import (
    LENGTH,
    LENGTH_OR_ZERO,
    PLACE,
    RATE,
    EntryMask,
    Mask,
    PointMask,
    between,
    one_of,
    whole,
)
from disclique.masks.clkhash import Clkhash
from disclique.masks.dhs import Dhs
from disclique.masks.displacement import Disc, Donut, Gaussian, Laplace
from disclique.masks.encoding import Bloom, MinHash, TextMask, TwoStep
from disclique.masks.noise import MatrixGaussian, MatrixLaplace, Multiplicative, Round, TopCode
from disclique.masks.placement import Affine, GridCells, Rotation, Swap, Voronoi
from disclique.masks.publishing import AsTheyAre, Lipschitz, Nearest, Projection, Withheld
from disclique.masks.registries import Abf, Clkrbf, Mainzelliste, Ons, Rbf
from disclique.masks.registry import masks, parse_mask, register_mask, usage, usages
from disclique.masks.scheme_files import Described
from disclique.masks.within import Within

__all__ = [
    "LENGTH",
    "LENGTH_OR_ZERO",
    "PLACE",
    "RATE",
    "Abf",
    "Affine",
    "AsTheyAre",
    "Bloom",
    "Clkhash",
    "Clkrbf",
    "Described",
    "Dhs",
    "Disc",
    "Donut",
    "EntryMask",
    "Gaussian",
    "GridCells",
    "Laplace",
    "Lipschitz",
    "Mainzelliste",
    "Mask",
    "MatrixGaussian",
    "MatrixLaplace",
    "MinHash",
    "Multiplicative",
    "Nearest",
    "Ons",
    "PointMask",
    "Projection",
    "Rbf",
    "Rotation",
    "Round",
    "Swap",
    "TextMask",
    "TopCode",
    "TwoStep",
    "Voronoi",
    "Withheld",
    "Within",
    "between",
    "masks",
    "one_of",
    "parse_mask",
    "register_mask",
    "usage",
    "usages",
    "whole",
]
