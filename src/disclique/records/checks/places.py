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
from disclique.messages import percent
from disclique.model import FloatArray, Microdata
from disclique.records.checks.values import Extent, Remark, name_shares, round_out
from disclique.spaces import Points, spaced
from disclique.spaces.metrics import paired

LOOKED_AT = 2000  # places whose country is looked up
SWAPPED = 200  # places that are looked up with their columns swapped
NAMED = 4  # countries and seas that are named
CROWDED = 0.02  # share of the records at one place from which it is remarkable
FAR = 20.0  # times the usual distance from the middle from which a record lies apart
CELL = 5e-4  # degrees, about 50 m: how wide the cells of a grid are at the least
GRIDDED = 30  # different places from which equal coordinates are no chance
COARSE = 2  # decimals of degrees that are about a kilometre


@dataclass(frozen=True)
class Ground:
    """The extent of a file, and what is remarkable about its places."""

    extent: Extent
    remarks: tuple[Remark, ...]


def inspect_places(data: Microdata) -> Ground | None:
    """Look at the places of a file; None where it has none on the Earth or in a plane."""
    source = data.distances.points()
    if source is None or not source.is_map or source.coordinates.shape[1] != 2:
        return None
    places = source.coordinates
    if source.on_earth:
        shown = places[spaced(len(places), LOOKED_AT)]
        where = _count(name_places(shown))
        west, east = round_out(float(places[:, 0].min()), float(places[:, 0].max()), 0.1)
        south, north = round_out(float(places[:, 1].min()), float(places[:, 1].max()), 0.1)
        extent = Extent(west, south, east, north, True, tuple(where[:NAMED]))
        remarks = [*_at_zero(data.name, places), *_swapped(data.name, shown, where), *_rounded(data.name, places)]
    else:
        step = 10.0 ** np.floor(np.log10(max(float(np.ptp(places, axis=0).max()), 1e-9))) / 10
        (west, east), (south, north) = (round_out(float(c.min()), float(c.max()), step) for c in places.T)
        extent, remarks = Extent(west, south, east, north, False), []
        if ((places == 0).all(axis=1)).any() and not _holds_zero(places):
            remarks += list(_at_zero(data.name, places))
    return Ground(extent, (*remarks, *_apart(data.name, source), *_crowded(data.name, source)))


def count_crowd(data: Microdata) -> int:
    """Return how many records share the fullest place, text or vector."""
    identities = data.distances.identities()
    return 1 if identities is None else max(Counter(identities).values(), default=1)


def _count(names: list[str]) -> list[tuple[str, float]]:
    return [(name, round(often / len(names), 4)) for name, often in Counter(names).most_common()]


def _land(where: list[tuple[str, float]]) -> float:
    return sum(share for name, share in where if is_land(name))


def _holds_zero(places: FloatArray) -> bool:
    """Say whether 0,0 lies among the other places of a plane."""
    others = places[(places != 0).any(axis=1)]
    return bool(len(others) and ((others.min(axis=0) <= 0) & (others.max(axis=0) >= 0)).all())


def _at_zero(name: str, places: FloatArray) -> Iterator[Remark]:
    zero = (places == 0).all(axis=1)
    if zero.any() and not zero.all():
        yield Remark(
            f"{name}: {int(zero.sum())} records lie at 0,0, where geocoding puts what it does not find", mistake=True
        )


def _swapped(name: str, places: FloatArray, where: list[tuple[str, float]]) -> Iterator[Remark]:
    """Compare where places lie with where they would if their columns were swapped."""
    land = _land(where)
    if (np.abs(places[:, 0]) > 90).any():  # swapped, they would be no places at all
        other: list[tuple[str, float]] = []
    else:
        other = _count(name_places(places[:: max(1, len(places) // SWAPPED), ::-1]))
    better = _land(other)
    if land < 0.8 and better > 0.9:
        yield Remark(
            f"{name}: {percent(1 - land)} of the places lie in the sea ({name_shares(where[:NAMED])}); with longitude "
            f"and latitude swapped they would lie in {name_shares(other[:2])}",
            mistake=True,
        )
    elif land < 0.8:
        yield Remark(
            f"{name}: {percent(1 - land)} of the places lie in the sea ({name_shares(where[:NAMED])}): are longitude "
            "and latitude swapped, is a sign missing, or are these no degrees?"
        )
    elif other and better > 0.95 and other[0][1] > 0.9 and where[0][1] < 0.8:
        yield Remark(
            f"{name}: the places lie in {name_shares(where[:NAMED])}; with longitude and latitude swapped nearly all "
            f"would lie in {other[0][0]}: are they swapped?"
        )
    if land >= 0.8 and (np.abs(places) <= np.pi).all():
        yield Remark(f"{name}: all coordinates are smaller than 3.15: are they radians instead of degrees?")


def _rounded(name: str, places: FloatArray) -> Iterator[Remark]:
    """Say whether the true places are coarse already, so that masking starts from less than the truth."""
    if len(places) < 10:
        return
    decimals = [_decimals(places[:, axis]) for axis in range(2)]
    if max(decimals) <= COARSE:
        size = "some 100 km" if not max(decimals) else "some 10 km" if max(decimals) == 1 else "about 1 km"
        yield Remark(
            f"{name}: the coordinates have only {max(decimals)} decimals, {size}: where people really live is not in "
            "the file, and a snooper may know it better"
        )
    elif min(decimals) <= COARSE:
        which = ("longitudes", "latitudes")[int(np.argmin(decimals))]
        yield Remark(
            f"{name}: the {which} have only {min(decimals)} decimals and the other coordinate more: is it the right "
            "column?"
        )
    else:
        yield from _on_grid(name, places)


def _decimals(values: FloatArray) -> int:
    """Return with how many decimals values are written, up to one more than is coarse."""
    exact = (k for k in range(COARSE + 1) if np.allclose(np.round(values, k), values, rtol=0, atol=1e-9))
    return next(exact, COARSE + 1)


def _on_grid(name: str, places: FloatArray) -> Iterator[Remark]:
    """Say whether different places share their longitudes and latitudes, as the middles of cells do."""
    there = np.unique(places, axis=0)
    lines = [np.unique(np.round(there[:, axis], 9)) for axis in range(2)]
    columns, rows = (len(one) for one in lines)
    wide = all(len(one) > 1 and np.diff(one).min() > CELL for one in lines)
    if len(there) >= GRIDDED and max(columns, rows) < len(there) / 2 and wide:
        yield Remark(
            f"{name}: the {len(there)} places have only {columns} longitudes and {rows} latitudes: are they cells of a "
            "grid? Where people really live is then not in the file, and a snooper may know it better"
        )


def _apart(name: str, source: Points) -> Iterator[Remark]:
    """Find records that lie far from all the others."""
    places = source.coordinates
    middle = np.median(places, axis=0)
    away = paired(places, np.broadcast_to(middle, places.shape), source.metric)
    usual = float(np.quantile(away, 0.9))
    far = int((away > FAR * usual).sum()) if usual > 0 else 0
    if far:
        yield Remark(f"{name}: {far} records lie more than {FAR:.0f} times as far from the middle as nearly all others")


def _crowded(name: str, source: Points) -> Iterator[Remark]:
    often = Counter(source.identities())
    most, records = max(often.values()), source.size
    if most >= max(5, CROWDED * records):
        yield Remark(
            f"{name}: {most} records share one place: a real house, or where geocoding puts what it does not find? "
            "Nobody there can be told from the others by distances"
        )
    elif records >= 20 and len(often) < records / 4:
        yield Remark(
            f"{name}: {records} records at only {len(often)} places: are these the places of people, or of districts?"
        )


SEA = "the sea"
COAST = 60.0  # km within which a place beside a coarse coast still counts as on land
_SEAS = (  # name, west, south, east, north: the first box that holds a place names it
    ("the Baltic Sea", 9.5, 53.5, 30.5, 66.0),
    ("the North Sea", -4.0, 51.0, 9.5, 61.0),
    ("the Black Sea", 27.0, 40.8, 42.0, 47.5),
    ("the Caspian Sea", 46.5, 36.5, 55.0, 47.5),
    ("the Mediterranean", -5.5, 30.0, 36.5, 46.0),
    ("the Red Sea", 32.0, 12.5, 44.0, 30.0),
    ("the Gulf of Aden", 43.0, 10.0, 53.0, 15.5),
    ("the Persian Gulf", 47.5, 23.5, 57.0, 30.5),
    ("the Caribbean", -88.0, 9.0, -60.0, 22.0),
    ("the Gulf of Mexico", -98.0, 18.0, -81.0, 31.0),
    ("the Gulf of Guinea", -8.0, -5.0, 10.0, 7.0),
    ("the Arctic Ocean", -180.0, 67.0, 180.0, 90.0),
    ("the Southern Ocean", -180.0, -90.0, 180.0, -60.0),
    ("the Indian Ocean", 20.0, -60.0, 115.0, 27.0),
    ("the Atlantic", -70.0, -60.0, 20.0, 67.0),
    ("the Pacific", -180.0, -60.0, 180.0, 67.0),
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
    """Return the country or sea of each place (longitude, latitude).

    A place in the sea that is close to land is given to the country of the nearest coast: the outlines are coarse.

    >>> name_places(np.array([[13.4, 52.5], [52.5, 13.4], [0.0, 0.0]]))
    ['Germany', 'the Gulf of Aden', 'the Gulf of Guinea']
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
        found[row] = _nearest_land(points[row]) or _name_sea(points[row])
    return [str(name) for name in found]


def is_land(name: str) -> bool:
    """Say whether a name given by ``name_places`` is that of a country."""
    return name not in {SEA, *(sea for sea, *_ in _SEAS)}


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


def _nearest_land(place: FloatArray) -> str:
    shore, names = _shore()
    close = np.flatnonzero(np.abs(shore[:, 1] - place[1]) < 1.0)
    if not len(close):
        return ""
    away = sphere_km(shore[close], place[None, :])
    return names[close[int(away.argmin())]] if away.min() <= COAST else ""


def _name_sea(place: FloatArray) -> str:
    boxes = ((name, box) for name, *box in _SEAS)
    return next((n for n, (w, s, e, t) in boxes if w <= place[0] <= e and s <= place[1] <= t), SEA)
