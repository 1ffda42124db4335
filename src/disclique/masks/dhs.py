"""The displacement of the Demographic and Health Surveys: clusters, urban and rural, within districts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, from_space, to_space, walk
from disclique.masks.base import LENGTH, Mask, PointMask, between, extra, parameter_in, text
from disclique.masks.laws import PlaceLaw, RadialLaw, Walk
from disclique.masks.registry import register_mask
from disclique.masks.surveys import Flags, Located, Survey, SurveyLaw
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.areas import NOWHERE, Areas, read_areas
from disclique.records.formats import no_column
from disclique.spaces import Points
from disclique.units import Quantity
from disclique.values import FloatArray, canonical

Ints = NDArray[np.int64]
URBAN = frozenset(("1", "true", "u", "urban", "yes", "stadt", "städtisch", "ja"))
RURAL = frozenset(("0", "2", "false", "r", "rural", "no", "land", "ländlich", "nein"))
TRIES = 100_000  # draws of one point: less than a share of 1e-4 of the walks ends in no district of the world


def _length(quantity: Quantity) -> float:
    return quantity.km if quantity.unit else quantity.value


@register_mask
@dataclass(frozen=True)
class Dhs(PointMask):
    """The displacement of the Demographic and Health Surveys: one point for each cluster, direction and length uniform.

    Urban clusters move up to ``urban``, rural ones up to ``rural``, and the share ``far_share`` of rural ones up to
    ``far``. All records of a cluster get the same point. ``cluster`` names the column that says who is together,
    without it those at the same place are; the point begins at the mean of their places. ``residence`` names the column
    that says who is urban (``U`` and ``R``, ``urban`` and ``rural``, 1 and 2); without it these are the ``urban_share``
    of clusters with the nearest fifth neighbour. ``within`` names a file of districts: a point that would leave its
    district is drawn again. MICS, and the surveys of the World Bank (LSMS-ISA), displace clusters in the same way.
    """

    name: ClassVar[str] = "dhs"
    summary: ClassVar[Message | None] = Message("mask_does_dhs")
    scope: ClassVar[str] = "file"
    reference: ClassVar[str] = "Burgert, Colston, Roy and Zachary 2013, DHS Spatial Analysis Reports 7"
    other_dials: ClassVar[dict[str, bool]] = {"urban": True, "rural": True, "far": True}

    urban: Quantity = field(default=Quantity(2, "km"), metadata=LENGTH)
    rural: Quantity = field(default=Quantity(5, "km"), metadata=LENGTH)
    far: Quantity = field(default=Quantity(10, "km"), metadata=LENGTH)
    far_share: float = field(default=0.01, metadata=between(0, 1, closed=True))
    urban_share: float = field(default=0.5, metadata=between(0, 1, closed=True))
    cluster: str = field(default="", metadata=extra(text()))
    residence: str = field(default="", metadata=extra(text()))
    within: str = field(default="", metadata=extra(text()))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of clusters and of urban and rural, as far as they are named."""
        return tuple(one for one in (self.cluster, self.residence) if one)

    @property
    def files(self) -> tuple[str, ...]:
        """The districts."""
        return (self.within,) if self.within else ()

    def prepare(self, data: Microdata) -> Mask:
        """Return the mask that knows the clusters of a file; a file without places is refused when it is applied."""
        points = data.distances.points()
        if points is None or not _is_plane(points):
            return self
        for column in self.reads:
            if column not in data.table.columns:
                raise no_column(data.name, column, data.table.columns)
        areas = None
        if self.within:
            if points.metric not in GEOGRAPHIC:
                raise InputError("districts_need_degrees", mask=self.name, path=self.within)
            areas = read_areas(Path(self.within))
        told = _Columns(data.name, self.cluster, self.residence)
        clusters, residence = (
            [canonical(value) for value in data.table[column]] if column else None
            for column in (self.cluster, self.residence)
        )
        return SurveyedDhs(self, bind_survey(self, points, (clusters, residence), areas, told))

    def is_urban(self, points: Points) -> Flags:
        """Return which places are taken to be urban, where no column says it."""
        space = to_space(points.coordinates, points.metric)
        reach = cKDTree(space).query(space, k=min(6, points.size))[0].reshape(points.size, -1)[:, -1]
        urban = np.zeros(points.size, dtype=bool)
        urban[np.argsort(reach, kind="stable")[: round(self.urban_share * points.size)]] = True
        return urban

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the coordinates displaced, those of a file of which only the places are known."""
        if not _is_plane(points):
            columns = points.coordinates.shape[1]
            raise InputError("mask_needs_a_map", name=self.name, dimensions=columns, metric=points.metric)
        if self.reads or self.files:
            raise InputError("mask_not_prepared", mask=self.spec)
        survey = bind_survey(self, points, (None, None), None, _Columns("", "", ""))
        return displace(self, survey, points, rng)

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return the mixture of the three walks with their shares: who is urban, nobody was told."""
        return self.walks()[2]

    def walks(self) -> tuple[RadialLaw, RadialLaw, RadialLaw]:
        """Return the law of an urban point, of a rural one, and of one of which it is not known."""
        urban, rural, far = (Walk(_length(one)) for one in (self.urban, self.rural, self.far))
        rest = 1 - self.urban_share
        outside = ((1 - self.far_share, rural), (self.far_share, far))
        both = ((self.urban_share, urban), *((rest * share, piece) for share, piece in outside))
        return RadialLaw(((1.0, urban),)), RadialLaw(outside), RadialLaw(both)


@dataclass(frozen=True, eq=False)
class SurveyedDhs(PointMask):
    """The same mask, told what is known of the clusters of a file."""

    name: ClassVar[str] = Dhs.name
    summary: ClassVar[Message | None] = Dhs.summary
    scope: ClassVar[str] = Dhs.scope
    reference: ClassVar[str] = Dhs.reference

    asked: Dhs
    survey: Survey

    def __post_init__(self) -> None:
        pass  # nothing is read from a spec

    __eq__, __hash__ = object.__eq__, object.__hash__  # those of a mask look at its parameters, and it has none

    @property
    def spec(self) -> str:
        """That of the mask as it was asked for."""
        return self.asked.spec

    @property
    def brief(self) -> str:
        """That of the mask as it was asked for."""
        return self.asked.brief

    def check_lengths(self, unit: str | None) -> None:
        """Raise an error if a length of the mask has a unit and the distances that it meets are not kilometres."""
        self.asked.check_lengths(unit)

    def moved(self, points: Points, rng: np.random.Generator) -> FloatArray:
        """Return the coordinates displaced."""
        return displace(self.asked, self.survey, points, rng)

    def place_law(self, points: Points | None = None) -> PlaceLaw:
        """Return the law of the clusters; that of the three walks where each record is one and nothing is told."""
        if self.survey.alone and self.survey.areas is None and not self.survey.told:
            return self.asked.place_law(points)
        return SurveyLaw(self.survey, *self.asked.walks())


def _is_plane(points: Points) -> bool:
    return points.is_map and points.coordinates.shape[1] == 2


def displace(mask: Dhs, survey: Survey, points: Points, rng: np.random.Generator) -> FloatArray:
    """Return the coordinates of records after each cluster was displaced once."""
    located = survey.locate(points)
    _, first, which = np.unique(located.cluster, return_index=True, return_inverse=True)
    one = located.select(np.sort(first))  # in the order of the file
    place = np.argsort(np.argsort(first))
    urban, rural, far = (parameter_in(points.unit, mask, name) for name in ("urban", "rural", "far"))
    limits = _Limits(urban, rural, far, mask.far_share)
    return draw_places(one, limits, survey.areas, str(points.metric), rng)[place[which.ravel()]]


@dataclass(frozen=True)
class _Limits:
    """How far clusters may move."""

    urban: float
    rural: float
    far: float
    far_share: float


def draw_places(
    located: Located, limits: _Limits, areas: Areas | None, metric: str, rng: np.random.Generator
) -> FloatArray:
    """Draw a place for each cluster; one that would leave its district is drawn again as a whole."""
    places, left = located.centre.astype(float).copy(), np.arange(len(located.urban))
    for _ in range(TRIES):
        some = located.select(left)
        outside = np.where(rng.random(len(left)) < limits.far_share, limits.far, limits.rural)
        radii = np.where(some.urban, limits.urban, outside) * rng.random(len(left))
        places[left] = walk(some.centre, radii, metric, rng)
        if areas is None:
            return places
        left = left[~areas.hold(places[left], some.district)]
        if not len(left):
            return places
    lon, lat = located.centre[left[0]]
    raise InputError("district_never_hit", path=areas.name if areas else "", lon=lon, lat=lat, tries=TRIES)


@dataclass(frozen=True)
class _Columns:
    """How messages call the file and its columns."""

    file: str
    cluster: str
    residence: str


def bind_survey(
    mask: Dhs,
    points: Points,
    columns: tuple[Sequence[Hashable] | None, Sequence[Hashable] | None],
    areas: Areas | None,
    names: _Columns,
) -> Survey:
    """Return the clusters of a file: ``columns`` say who is together, and who is urban, where they are given."""
    places, first, which = np.unique(points.coordinates, axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    if columns[0] is None:
        codes = which
    else:
        codes = _number(columns[0], names)
        apart = np.flatnonzero(codes != codes[first[which]])
        if len(apart):
            row, other = int(apart[0]), int(first[which[apart[0]]])
            rows = {"row": row + 1, "other": other + 1, "value": columns[0][row], "first": columns[0][other]}
            raise InputError("place_in_two_clusters", file=names.file, column=names.cluster, **rows)
    count = int(codes.max()) + 1
    cluster = codes[first]
    urban = None if columns[1] is None else _read_residence(columns[1], codes, names)
    table = Points(places, points.metric, unit=points.unit)
    centre = _find_centres(table, cluster, count)
    district = np.full(count, NOWHERE, dtype=np.int64)
    if areas is not None:
        district = _find_districts(areas, points, codes, names)
        stray = np.flatnonzero(~areas.hold(centre, district))  # of a district that is bent around it
        for one in stray:
            own = np.flatnonzero(cluster == one)
            away = to_space(places[own], points.metric) - to_space(centre[[one]], points.metric)
            centre[one] = places[own[int(np.argmin((away**2).sum(axis=1)))]]
    if urban is None:
        urban = mask.is_urban(Points(centre, points.metric, unit=points.unit))
    told, alone = columns[1] is not None, count == points.size
    return Survey(table, cluster, centre, urban, district, areas, told, alone)


def _number(values: Sequence[Hashable], names: _Columns) -> Ints:
    """Return the clusters of records as numbers in the order of the file."""
    seen: dict[Hashable, int] = {}
    for row, value in enumerate(values):
        if value is None:
            raise InputError("cluster_missing", file=names.file, column=names.cluster, row=row + 1)
        seen.setdefault(value, len(seen))
    return np.array([seen[value] for value in values], dtype=np.int64)


def _read_residence(values: Sequence[Hashable], codes: Ints, names: _Columns) -> Flags:
    """Return which clusters are urban; refuse one that is both, and values of which nobody knows what they say."""
    found = np.zeros(len(values), dtype=bool)
    for row, value in enumerate(values):
        word = str(value).strip().casefold()
        if value is None or word not in URBAN | RURAL:
            raise InputError("residence_unknown", file=names.file, column=names.residence, row=row + 1, value=value)
        found[row] = word in URBAN
    _, first = np.unique(codes, return_index=True)
    for at in np.flatnonzero(found != found[first][codes]):
        rows = {"row": at + 1, "other": first[codes[at]] + 1}
        raise InputError("cluster_urban_and_rural", file=names.file, column=names.residence, **rows)
    return np.asarray(found[first])


def _find_centres(places: Points, cluster: Ints, count: int) -> FloatArray:
    """Return the mean place of each cluster; the place itself where it has only one."""
    many = np.bincount(cluster, minlength=count)
    space = to_space(places.coordinates, places.metric)
    mean = np.column_stack([np.bincount(cluster, axis, count) for axis in space.T]) / many[:, None]
    centre = from_space(mean) if places.metric in GEOGRAPHIC else mean
    single = many[cluster] == 1
    centre[cluster[single]] = places.coordinates[single]
    return np.asarray(centre)


def _find_districts(areas: Areas, points: Points, codes: Ints, names: _Columns) -> Ints:
    """Return the district of each cluster; refuse a place in none, and a cluster in two."""
    found = areas.find(points.coordinates)
    for row in np.flatnonzero(found == NOWHERE):
        lon, lat = points.coordinates[row]
        raise InputError("place_in_no_district", file=names.file, row=row + 1, lon=lon, lat=lat, path=areas.name)
    _, first = np.unique(codes, return_index=True)
    for row in np.flatnonzero(found != found[first][codes]):
        rows = {"row": row + 1, "other": first[codes[row]] + 1}
        raise InputError("cluster_in_two_districts", file=names.file, path=areas.name, **rows)
    return np.asarray(found[first])
