"""Several releases of the same people whose rows do not tell who is who: the snooper lays them on each other first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.link import LabelRule
from disclique.attacks.profiles import ProfilesAttack
from disclique.attacks.register.attacks import RegisterAttack
from disclique.attacks.register.rebuild import rebuild_map
from disclique.data.distances import Matrix, Points, full_matrix
from disclique.data.series import Series
from disclique.errors import DiscliqueError
from disclique.geodesy import EARTH_KM, from_space
from disclique.model import Distances, FloatArray, Microdata

ALL_COMMON = 0.99  # everybody of one release is in the other


def link_releases(releases: Sequence[Microdata], knowledge: Knowledge, *, metric: str | None) -> Series:
    """Bring the rows of all releases into the order of the first, as far as they can be told apart.

    Each is attacked with the first one as the known file, in which everybody is. Records that are not more probable
    than not the same person stay apart: of them the later release says nothing. ``metric`` is that of a map, None
    where there is none.
    """
    first, *later = releases
    parts: list[Distances] = [first.distances]
    for one in later:
        try:
            parts.append(_reorder(one, first, knowledge, metric))
        except DiscliqueError:  # the two cannot be compared: a release that cannot be linked adds nothing
            continue
    return Series(tuple(parts))


def _reorder(release: Microdata, first: Microdata, knowledge: Knowledge, metric: str | None) -> Matrix:
    """Return the distances of a release in the order of the first, NaN where a record is not found there."""
    pairs = LabelRule("any").candidates(release, first)
    told = replace(knowledge, common=ALL_COMMON, seeds=(), law=None)
    if metric in ("sphere", "euclidean"):
        noise = told.noise
        if noise is not None:  # both releases carry it
            told = replace(told, noise=replace(noise, east=noise.east * np.sqrt(2), north=noise.north * np.sqrt(2)))
        known = replace(first, distances=_make_places(first.distances, knowledge, metric))
        claims = RegisterAttack(told).run(release, known, pairs)
    else:
        claims = ProfilesAttack.build(replace(told, mask=None), Search(threads=1)).run(release, first, pairs)
    rows, others, _ = claims.claimed()
    values = full_matrix(release.distances)
    found = np.full((len(first), len(first)), np.nan)
    found[np.ix_(others, others)] = values[np.ix_(rows, rows)]
    np.fill_diagonal(found, 0.0)
    return Matrix(found, directed=release.distances.directed, unpublished=True)


def _make_places(distances: Distances, knowledge: Knowledge, metric: str) -> Points:
    """Return the map of a release as points in coordinates of their own."""
    radius = EARTH_KM if metric == "sphere" else 0.0
    positions: FloatArray = rebuild_map(distances, radius, knowledge.matrix_noise).positions
    return Points(from_space(positions) if radius else positions[:, :2], metric=metric)
