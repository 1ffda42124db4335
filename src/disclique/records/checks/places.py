"""Places as they were understood: in which country or sea they lie, told without a network, and whether that is meant.

``countries.npz`` holds the outlines of 177 countries in hundredths of a degree, from Natural Earth (1 : 110 million,
public domain). They are good to some ten kilometres and leave out small islands: enough to see that Bonn lies in
Somalia, not to say on which bank of a river somebody lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from disclique.geodesy import sphere_km
from disclique.messages import Message, mark
from disclique.model import Microdata
from disclique.records.checks.values import Extent, Remark, is_land, round_out, say_place, say_shares
from disclique.spaces import Points, spaced
from disclique.spaces.metrics import paired
from disclique.values import FloatArray

ROUGHLY = (mark("some_100_km"), mark("some_10_km"), mark("about_1_km"))  # how exact places with so many decimals are
AXES = (mark("axis_longitudes"), mark("axis_latitudes"))


@dataclass(frozen=True)
class PlaceLimits:
    """From when on places are remarkable."""

    looked_up_places: int = 2000
    swapped_places: int = 200  # looked up with their columns swapped
    named_countries: int = 4
    little_land_share: float = 0.8  # below it places lie in the sea
    land_share: float = 0.9
    sure_land_share: float = 0.95
    coarse_decimals: int = 2  # of degrees: about a kilometre
    rounded_records: int = 10
    cell_degrees: float = 5e-4  # about 50 m: how wide the cells of a grid are at the least
    grid_places: int = 30  # from which equal coordinates are no chance
    far_times: float = 20.0  # the usual distance from the middle
    crowd_share: float = 0.02
    crowd_records: int = 5
    district_records: int = 20


PLACE_LIMITS = PlaceLimits()


def inspect_places(data: Microdata, limits: PlaceLimits = PLACE_LIMITS) -> tuple[Extent | None, list[Remark]]:
    """Look at the places of a file; there is no extent where it has none on the Earth or in a plane."""
    source = data.distances.points()
    if source is None or not source.is_map or source.coordinates.shape[1] != 2:
        return None, []
    places = source.coordinates
    if source.on_earth:
        shown = places[spaced(len(places), limits.looked_up_places)]
        where = _count(name_places(shown))
        west, east = round_out(float(places[:, 0].min()), float(places[:, 0].max()), 0.1)
        south, north = round_out(float(places[:, 1].min()), float(places[:, 1].max()), 0.1)
        extent = Extent(west, south, east, north, True, tuple(where[: limits.named_countries]))
        remarks = [*_at_zero(data.name, places), *_swapped(data.name, shown, where, limits)]
        remarks += _rounded(data.name, places, limits)
    else:
        step = 10.0 ** np.floor(np.log10(max(float(np.ptp(places, axis=0).max()), 1e-9))) / 10
        (west, east), (south, north) = (round_out(float(c.min()), float(c.max()), step) for c in places.T)
        extent, others = Extent(west, south, east, north, False), places[(places != 0).any(axis=1)]
        among = len(others) and ((others.min(axis=0) <= 0) & (others.max(axis=0) >= 0)).all()  # 0,0 is one of them
        remarks = [] if among else list(_at_zero(data.name, places))
    return extent, [*remarks, *_apart(data.name, source, limits), *_crowded(data.name, source, limits)]


def _count(names: list[str]) -> list[tuple[str, float]]:
    return [(name, round(often / len(names), 4)) for name, often in Counter(names).most_common()]


def _land(where: list[tuple[str, float]]) -> float:
    return sum(share for name, share in where if is_land(name))


def _at_zero(name: str, places: FloatArray) -> Iterator[Remark]:
    zero = (places == 0).all(axis=1)
    if zero.any() and not zero.all():
        yield Remark(Message("places_at_zero", file=name, records=zero.sum()), mistake=True)


def _swapped(name: str, places: FloatArray, where: list[tuple[str, float]], limits: PlaceLimits) -> Iterator[Remark]:
    """Compare where places lie with where they would if their columns were swapped."""
    land = _land(where)
    if (np.abs(places[:, 0]) > 90).any():  # swapped, they would be no places at all
        other: list[tuple[str, float]] = []
    else:
        other = _count(name_places(places[:: max(1, len(places) // limits.swapped_places), ::-1]))
    better, shown = _land(other), say_shares(where[: limits.named_countries])
    sea = {"file": name, "share": 1 - land, "where": shown}
    if land < limits.little_land_share and better > limits.land_share:
        yield Remark(Message("places_swapped", sea, other=say_shares(other[:2])), mistake=True)
    elif land < limits.little_land_share:
        yield Remark(Message("places_in_the_sea", sea))
    elif (
        other
        and better > limits.sure_land_share
        and other[0][1] > limits.land_share
        and where[0][1] < limits.little_land_share
    ):
        yield Remark(Message("places_perhaps_swapped", file=name, where=shown, other=say_place(other[0][0])))
    if land >= limits.little_land_share and (np.abs(places) <= np.pi).all():
        yield Remark(Message("places_in_radians", file=name))


def _rounded(name: str, places: FloatArray, limits: PlaceLimits) -> Iterator[Remark]:
    """Say whether the true places are coarse already, so that masking starts from less than the truth."""
    if len(places) < limits.rounded_records:
        return
    decimals = [_decimals(places[:, axis], limits.coarse_decimals) for axis in range(2)]
    if max(decimals) <= limits.coarse_decimals:
        size = Message(ROUGHLY[max(decimals)])
        yield Remark(Message("places_coarse", file=name, decimals=max(decimals), size=size))
    elif min(decimals) <= limits.coarse_decimals:
        axis = Message(AXES[int(np.argmin(decimals))])
        yield Remark(Message("places_coarse_on_one_axis", file=name, axis=axis, decimals=min(decimals)))
    else:
        yield from _on_grid(name, places, limits)


def _decimals(values: FloatArray, coarse: int) -> int:
    """Return with how many decimals values are written, up to one more than is coarse."""
    exact = (k for k in range(coarse + 1) if np.allclose(np.round(values, k), values, rtol=0, atol=1e-9))
    return next(exact, coarse + 1)


def _on_grid(name: str, places: FloatArray, limits: PlaceLimits) -> Iterator[Remark]:
    """Say whether different places share their longitudes and latitudes, as the middles of cells do."""
    there = np.unique(places, axis=0)
    lines = [np.unique(np.round(there[:, axis], 9)) for axis in range(2)]
    columns, rows = (len(one) for one in lines)
    wide = all(len(one) > 1 and np.diff(one).min() > limits.cell_degrees for one in lines)
    if len(there) >= limits.grid_places and max(columns, rows) < len(there) / 2 and wide:
        yield Remark(Message("places_on_a_grid", file=name, places=len(there), columns=columns, rows=rows))


def _apart(name: str, source: Points, limits: PlaceLimits) -> Iterator[Remark]:
    """Find records that lie far from all the others."""
    places = source.coordinates
    middle = np.median(places, axis=0)
    away = paired(places, np.broadcast_to(middle, places.shape), source.metric)
    usual = float(np.quantile(away, 0.9))
    far = int((away > limits.far_times * usual).sum()) if usual > 0 else 0
    if far:
        yield Remark(Message("places_apart", file=name, records=far, times=limits.far_times))


def _crowded(name: str, source: Points, limits: PlaceLimits) -> Iterator[Remark]:
    often = Counter(source.identities())
    most, records = max(often.values()), source.size
    if most >= max(limits.crowd_records, limits.crowd_share * records):
        yield Remark(Message("place_crowded", file=name, records=most))
    elif records >= limits.district_records and len(often) < records / 4:
        yield Remark(Message("places_of_districts", file=name, records=records, places=len(often)))


SEA = mark("sea_open")
COAST_KM = 60.0  # within which a place beside a coarse coast still counts as on land
_SEAS = (  # name, west, south, east, north: the first box that holds a place names it
    (mark("sea_baltic"), 9.5, 53.5, 30.5, 66.0),
    (mark("sea_north"), -4.0, 51.0, 9.5, 61.0),
    (mark("sea_black"), 27.0, 40.8, 42.0, 47.5),
    (mark("sea_caspian"), 46.5, 36.5, 55.0, 47.5),
    (mark("sea_mediterranean"), -5.5, 30.0, 36.5, 46.0),
    (mark("sea_red"), 32.0, 12.5, 44.0, 30.0),
    (mark("sea_aden"), 43.0, 10.0, 53.0, 15.5),
    (mark("sea_persian_gulf"), 47.5, 23.5, 57.0, 30.5),
    (mark("sea_caribbean"), -88.0, 9.0, -60.0, 22.0),
    (mark("sea_mexico"), -98.0, 18.0, -81.0, 31.0),
    (mark("sea_guinea"), -8.0, -5.0, 10.0, 7.0),
    (mark("sea_arctic"), -180.0, 67.0, 180.0, 90.0),
    (mark("sea_southern"), -180.0, -90.0, 180.0, -60.0),
    (mark("sea_indian"), 20.0, -60.0, 115.0, 27.0),
    (mark("sea_atlantic"), -70.0, -60.0, 20.0, 67.0),
    (mark("sea_pacific"), -180.0, -60.0, 180.0, 67.0),
)


@dataclass(frozen=True, eq=False)
class Ring:
    """One closed line around a part of a country, or around a hole in it."""

    country: str
    corners: FloatArray  # shape (n, 2), degrees


@cache
def read_rings() -> tuple[Ring, ...]:
    """Return the outlines of all countries."""
    with (resources.files("disclique.records.checks") / "countries.npz").open("rb") as file:
        held = np.load(file)
        corners, ends, country, names = (held[name] for name in ("corners", "ends", "country", "names"))
    return tuple(Ring(str(names[country[k]]), corners[ends[k] : ends[k + 1]] / 100.0) for k in range(len(ends) - 1))


def name_places(points: FloatArray) -> list[str]:
    """Return the country, by its ISO code, or the sea of each place (longitude, latitude).

    A place in the sea that is close to land is given to the country of the nearest coast: the outlines are coarse.

    >>> name_places(np.array([[13.4, 52.5], [52.5, 13.4], [0.0, 0.0]]))
    ['DE', 'sea_aden', 'sea_guinea']
    """
    points = np.column_stack([(points[:, 0] + 180) % 360 - 180, points[:, 1]])
    found = np.full(len(points), "", dtype=object)
    inside: dict[str, NDArray[np.bool_]] = {}
    for ring in read_rings():
        low, high = ring.corners.min(axis=0), ring.corners.max(axis=0)
        near = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
        if len(near):
            turned = inside.setdefault(ring.country, np.zeros(len(points), dtype=bool))
            turned[near] ^= _encloses(ring.corners, points[near])
    for country, members in inside.items():
        found[members] = country
    for row in np.flatnonzero(found == ""):
        found[row] = _name_coast(points[row])
    return [str(name) for name in found]


def _encloses(corners: FloatArray, points: FloatArray) -> NDArray[np.bool_]:
    """Return which points lie inside a closed line: a ray to the east crosses it an odd number of times."""
    x, y = points[:, 0, None], points[:, 1, None]
    (ax, ay), (bx, by) = corners[:-1].T, corners[1:].T
    crosses = (ay > y) != (by > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = ax + (y - ay) * (bx - ax) / (by - ay)
    return np.asarray((crosses & (x < at)).sum(axis=1) % 2 == 1)


@cache
def _shore() -> tuple[FloatArray, tuple[str, ...]]:
    """Return places along all coasts and borders, about 20 km apart, with their country."""
    places, names = [], []
    for ring in read_rings():
        steps = np.maximum(1, np.ceil(sphere_km(ring.corners[:-1], ring.corners[1:]) / 20)).astype(int)
        for (a, b), often in zip(zip(ring.corners[:-1], ring.corners[1:], strict=True), steps, strict=True):
            places.append(a + np.linspace(0, 1, often, endpoint=False)[:, None] * (b - a))
            names += [ring.country] * often
    return np.concatenate(places), tuple(names)


def _name_coast(place: FloatArray) -> str:
    """Return the country of the nearest coast, or else the sea in which a place lies."""
    shore, names = _shore()
    close = np.flatnonzero(np.abs(shore[:, 1] - place[1]) < 1.0)
    away = sphere_km(shore[close], place[None, :])
    if len(close) and away.min() <= COAST_KM:
        return str(names[close[int(away.argmin())]])
    lon, lat = place
    return next((str(sea) for sea, w, s, e, n in _SEAS if w <= lon <= e and s <= lat <= n), SEA)
