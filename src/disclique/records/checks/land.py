"""In which country or sea places lie, told without a network, and coasts for a small map.

``countries.npz`` holds the outlines of 177 countries in hundredths of a degree, from Natural Earth (1 : 110 million,
public domain). They are good to some ten kilometres and leave out small islands: enough to see that Bonn lies in
Somalia, not to say on which bank of a river somebody lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from disclique.geodesy import sphere_km
from disclique.model import FloatArray

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
