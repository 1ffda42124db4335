"""Reference systems of coordinates: into degrees of WGS 84, and which system plane numbers look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.model import FloatArray

LON, LAT = "longitude (WGS 84)", "latitude (WGS 84)"


@dataclass(frozen=True)
class Ranges:
    """Which numbers are degrees, kilometres or metres, and how far from its area a reference system is used."""

    largest_degrees: float = 360.0  # larger numbers are metres of a projection
    largest_kilometres: float = 20_000.0  # metres of a projection are larger: its origin is not where people live
    beside_degrees: float = 4.0  # people next to the area of a system use it too, such as UTM 32 in all of Germany
    far_degrees: float = 10.0  # neighbours are computed well enough, other continents are a mistake
    named_systems: int = 4


RANGES = Ranges()
WORLD = "3857"  # Web Mercator, which nearly all numbers fit
# Systems in which files come, the most frequent first; for those of zones what the other ones are.
SYSTEMS = {
    "25832": ("25831", "25833"),
    "4647": (),
    "5650": (),
    "31466": (),
    "31467": (),
    "31468": (),
    "31469": (),
    "27700": (),
    "28992": (),
    "31287": (),
    "2056": (),
    "21781": (),
    "2154": (),
    "3035": (),
    WORLD: (),
}


@dataclass(frozen=True, eq=False)
class System:
    """A reference system of EPSG: its name, where it is used (west, south, east, north), and the way to degrees."""

    code: str
    name: str
    area: tuple[float, float, float, float]
    to_degrees: Any

    def __str__(self) -> str:
        others = ", ".join(SYSTEMS[self.code])
        return f"EPSG:{self.code} ({self.name}{f', or another zone: {others}' if others else ''})"

    def holds(self, east: float, north: float) -> bool:
        """Say whether a place of these coordinates lies in the area, or next to it."""
        lon, lat = self.to_degrees.transform(east, north)
        back = self.to_degrees.transform(lon, lat, direction="INVERSE")
        west, south, far, top = self.area
        beside = RANGES.beside_degrees
        inside = west - beside <= lon <= far + beside and south - beside <= lat <= top + beside
        return bool(inside and np.allclose(back, (east, north), rtol=0, atol=1.0))  # some planes begin anew far away


@cache
def _list_systems() -> tuple[System, ...]:
    """Return the systems with what the database of PROJ knows of them."""
    from pyproj import Transformer
    from pyproj.database import query_crs_info
    from pyproj.enums import PJType

    known = {one.code: one for one in query_crs_info("EPSG", PJType.PROJECTED_CRS)}
    found = []
    for code in SYSTEMS:
        about = known[code]
        assert about.area_of_use is not None
        inverse = Transformer.from_crs(f"EPSG:{code}", 4326, always_xy=True)
        found.append(System(code, about.name, about.area_of_use.bounds, inverse))
    return tuple(found)


def likely_systems(east: float, north: float) -> list[System]:
    """Return the reference systems in which a place of these coordinates would lie where they are used.

    >>> str(likely_systems(3_480_000, 5_540_000)[0])
    'EPSG:31467 (DHDN / 3-degree Gauss-Kruger zone 3)'
    """
    return [system for system in _list_systems() if system.holds(east, north)][: RANGES.named_systems]


def check_degrees(places: FloatArray, name: str, columns: list[str] | None = None, *, first: int = 0) -> None:
    """Raise an error if coordinates are no degrees of longitude and latitude, with what they may be instead.

    ``first`` is the row at which they begin in their file.
    """
    for row, column in np.argwhere(np.abs(places) > RANGES.largest_degrees):
        x, y = (float(value) for value in np.median(places, axis=0))
        where = "" if columns is None else f", column {columns[column]!r}"
        if max(abs(x), abs(y)) <= RANGES.largest_degrees:
            raise InputError(
                f"{name}: row {first + row + 1}{where} = {places[row, column]}: no degrees, as most others are"
            )
        raise InputError(
            f"{name}: row {first + row + 1}{where} = {places[row, column]}: no degrees, but metres of a projection: "
            f"{_advice(x, y)}, or --metric euclidean for a plane of your own"
        )
    for row in np.flatnonzero(np.abs(places[:, 1]) > 90):
        where = "" if columns is None else f", column {columns[1]!r}"
        raise InputError(
            f"{name}: row {first + row + 1}{where} = {places[row, 1]}: a latitude lies between -90 and 90; are "
            "longitude and latitude swapped?"
        )


def _advice(x: float, y: float) -> str:
    """Return what to say of places about here: the systems that fit, turned round or in kilometres if none does so."""
    say = "say their reference system with --crs, which looks like"
    ways = [(likely_systems(x, y), say, ""), (likely_systems(y, x), say, ", and name the east first")]
    if max(abs(x), abs(y)) <= RANGES.largest_kilometres:
        metres = likely_systems(1000 * x, 1000 * y)
        ways.insert(0, (metres, "kilometres, it seems: turn them into metres and say --crs, like", ""))
    systems, before, after = min(ways, key=lambda way: _rank(way[0]))
    if _rank(systems) == list(SYSTEMS).index(WORLD):  # turned round it fits as well
        systems, before, after = likely_systems(x, y), say, ""
    return f"{before} {_either(systems)}{after}" if systems else f"{say.partition(',')[0]}, such as --crs EPSG:25832"


def _rank(systems: list[System]) -> int:
    """Return how frequent the most frequent of some systems is, 0 at best; the largest number for none."""
    return min((list(SYSTEMS).index(system.code) for system in systems), default=len(SYSTEMS))


def _either(systems: list[System]) -> str:
    names = [str(system) for system in systems]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def read_crs(text: str) -> Any:
    """Return a reference system by its name."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_user_input(text)
    except CRSError:
        raise InputError(f"--crs {text}: no such coordinate reference system; write one such as EPSG:25832") from None


def to_degrees(frame: pd.DataFrame, columns: Sequence[str], crs: str, name: str) -> pd.DataFrame:
    """Return ``frame`` with ``LON`` and ``LAT`` computed from two columns in the reference system ``crs``."""
    from pyproj import Transformer

    if len(columns) != 2:
        raise InputError(f"{name}: coordinates {','.join(columns)}: two columns are needed, east and north")
    numbers = []
    for column in columns:
        if column not in frame.columns:
            raise InputError(f"{name}: no column {column!r}; it has {', '.join(map(repr, map(str, frame.columns)))}")
        found = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        for row in np.flatnonzero(~np.isfinite(found)):
            raise InputError(f"{name}: row {row + 1}, column {column!r} = {frame[column].iloc[row]!r}: not a number")
        numbers.append(found)
    system = read_crs(crs)
    _check_plane(numbers[0], numbers[1], system, name)
    lon, lat = Transformer.from_crs(system, 4326, always_xy=True).transform(numbers[0], numbers[1])
    for row in np.flatnonzero(~(np.isfinite(lon) & np.isfinite(lat))):
        raise InputError(
            f"{name}: row {row + 1}: ({numbers[0][row]}, {numbers[1][row]}) is outside the reference system {crs}"
        )
    _check_area(lon, lat, system, name)
    return frame.assign(**{LON: lon, LAT: lat})


def _check_plane(east: FloatArray, north: FloatArray, crs: Any, name: str) -> None:
    """Raise an error if coordinates of a projected system are degrees, which are a few metres there."""
    if crs.is_projected and np.abs(east).max(initial=0.0) <= 180 and np.abs(north).max(initial=0.0) <= 180:
        raise InputError(
            f"{name}: coordinates up to {np.abs(east).max(initial=0.0):.6g} and {np.abs(north).max(initial=0.0):.6g} "
            f"are degrees, no metres of {crs.to_string()}: leave --crs out, or say EPSG:4326"
        )


def _check_area(lon: FloatArray, lat: FloatArray, crs: Any, name: str) -> None:
    """Raise an error if most places lie far from where a reference system is used: swapped, or of another system."""
    area = crs.area_of_use
    if area is None or not len(lon):
        return
    margin = RANGES.far_degrees
    x, y = float(np.median(lon)), float(np.median(lat))
    width = (area.east - area.west) % 360 or 360.0
    off_east = width + 2 * margin < 360 and (x - area.west + margin) % 360 > width + 2 * margin
    if off_east or not area.south - margin <= y <= area.north + margin:
        raise InputError(
            f"{name}: in {crs.to_string()} the places lie about {x:.1f} east, {y:.1f} north, far from its area "
            f"({shorten(area.name, 60, placeholder='…')}): are east and north swapped, or is it another system?"
        )
