"""Several releases of the same people whose rows do not tell who is who: the snooper lays them on each other first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.labels import LabelRule
from disclique.attacks.profiles import ProfilesAttack
from disclique.attacks.registration import RegisterAttack
from disclique.errors import DiscliqueError
from disclique.geodesy import EARTH_KM, from_space
from disclique.model import Candidates, Claims, Distances, Microdata
from disclique.spaces import Matrix, Points, ReleaseSeries, full_matrix, matrix_like
from disclique.spaces.positions import lay_on
from disclique.spaces.rebuild import rebuild_map
from disclique.spaces.rebuild.landmarks import measure_distances

ALL_COMMON = 0.99  # everybody of one release is in the other
FEWEST = 3  # pairs that fix how one map lies on another


def link_releases(releases: Sequence[Microdata], knowledge: Knowledge, *, metric: str | None) -> Distances:
    """Return what several releases say together, in the order of the first, as far as their rows can be told apart.

    Each is attacked with the first one as the known file, in which everybody is. Records that are not more probable
    than not the same person stay apart: of them the later release says nothing. On a map, whose ``metric`` is given,
    the places of linked records are averaged; elsewhere (None) their distances. A release that cannot be linked adds
    nothing.
    """
    first, *later = releases
    if metric is None:
        return ReleaseSeries((first.distances, *_reorder_all(first, later, knowledge)))
    radius = EARTH_KM if metric == "sphere" else 0.0
    noise = knowledge.matrix_noise, knowledge.relative_noise
    try:
        base = rebuild_map(first.distances, radius, *noise).positions
    except DiscliqueError:
        return first.distances
    places = Points(from_space(base) if radius else base[:, :2], metric=metric)
    known, total, many = replace(first, distances=places), base.copy(), np.ones(len(base))
    for one in later:
        try:
            mine = rebuild_map(one.distances, radius, *noise).positions
            rows, others, _ = _link_maps(one, known, knowledge).claimed()
        except DiscliqueError:
            continue
        if len(rows) >= FEWEST:
            total[others] += lay_on(mine[rows], base[others], radius == 0)(mine[rows])
            many[others] += 1
    mean = total / many[:, None]
    if radius:
        mean *= radius / np.linalg.norm(mean, axis=1, keepdims=True)
    if first.distances.is_large:
        where = from_space(mean) if radius else mean[:, :2]
        return Points(where, metric=metric, unit=first.distances.unit).hidden()
    values = measure_distances(mean, mean, radius)
    np.fill_diagonal(values, 0.0)
    return matrix_like((values + values.T) / 2, first.distances)


def _link_maps(release: Microdata, known: Microdata, knowledge: Knowledge) -> Claims:
    """Link a release to the map of another one; the noise of both lies between them."""
    told = replace(knowledge, common=ALL_COMMON, seeds=(), law=None)
    if told.noise is not None:
        both = replace(told.noise, east=told.noise.east * np.sqrt(2), north=told.noise.north * np.sqrt(2))
        told = replace(told, noise=both)
    return RegisterAttack(told).run(release, known, _match(release, known))


def _match(release: Microdata, first: Microdata) -> Candidates:
    return LabelRule("any").candidates(release, first)


def _reorder_all(first: Microdata, later: Sequence[Microdata], knowledge: Knowledge) -> list[Matrix]:
    """Return the distances of later releases in the order of the first, NaN where a record is not found there."""
    told = replace(knowledge, common=ALL_COMMON, seeds=(), law=None, mask=None)
    parts = []
    for one in later:
        try:
            claims = ProfilesAttack.build(told, Search(threads=1)).run(one, first, _match(one, first))
        except DiscliqueError:
            continue
        rows, others, _ = claims.claimed()
        found = np.full((len(first), len(first)), np.nan)
        found[np.ix_(others, others)] = full_matrix(one.distances)[np.ix_(rows, rows)]
        np.fill_diagonal(found, 0.0)
        parts.append(matrix_like(found, one.distances))
    return parts
