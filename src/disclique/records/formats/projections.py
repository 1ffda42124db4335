"""Reference systems of coordinates: into degrees of WGS 84, and which system plane numbers look like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.records.formats import no_column
from disclique.values import FloatArray

LON, LAT = "longitude (WGS 84)", "latitude (WGS 84)"
_LATITUDE = re.compile(r"(geo|gps|wgs84)?[ _.-]*(lat|latitude|breite|breitengrad)([ _.-]*(wgs84|deg|grad))?")
_LONGITUDE = re.compile(
    r"(geo|gps|wgs84)?[ _.-]*(lon|long|lng|longitude|l(ä|ae)nge|l(ä|ae)ngengrad)([ _.-]*(wgs84|deg|grad))?"
)


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
# Systems in which files come, by their numbers in EPSG, the most frequent first.
GAUSS_KRUEGER = ("31466", "31467", "31468", "31469")
SYSTEMS = ("25832", "4647", "5650", *GAUSS_KRUEGER, "27700", "28992", "31287", "2056", "21781", "2154", "3035", WORLD)
ZONES = {"25832": ("25831", "25833")}  # which other zones one may be meant to be


@dataclass(frozen=True, eq=False)
class System:
    """A reference system of EPSG: its name, where it is used (west, south, east, north), and the way to degrees."""

    code: str
    name: str
    area: tuple[float, float, float, float]
    to_degrees: Any

    @property
    def message(self) -> Message:
        """What the system is called."""
        others = ZONES.get(self.code, ())
        return Message(
            mark("system_of_zones") if others else mark("system_named"), number=self.code, name=self.name, others=others
        )

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

    >>> str(likely_systems(3_480_000, 5_540_000)[0].message)
    'EPSG:31467 (DHDN / 3-degree Gauss-Kruger zone 3)'
    """
    return [system for system in _list_systems() if system.holds(east, north)][: RANGES.named_systems]


def is_latitude(column: str) -> bool:
    """Say whether a column calls itself a latitude."""
    return _LATITUDE.fullmatch(column.strip().casefold()) is not None


def is_longitude(column: str) -> bool:
    """Say whether a column calls itself a longitude."""
    return _LONGITUDE.fullmatch(column.strip().casefold()) is not None


def check_degrees(places: FloatArray, name: str, columns: list[str] | None = None, *, first: int = 0) -> None:
    """Raise an error if coordinates are no degrees of longitude and latitude, with what they may be instead.

    ``first`` is the row at which they begin in their file.
    """
    for row, column in np.argwhere(np.abs(places) > RANGES.largest_degrees):
        x, y = (float(value) for value in np.median(places, axis=0))
        cell = _cell(places, name, columns, (row, column, first))
        if max(abs(x), abs(y)) <= RANGES.largest_degrees:
            raise InputError("no_degrees_as_others", **cell)
        raise InputError("metres_not_degrees", **cell, advice=_advice(x, y))
    for row in np.flatnonzero(np.abs(places[:, 1]) > 90):
        raise InputError("latitude_out_of_range", **_cell(places, name, columns, (int(row), 1, first)))


def _cell(places: FloatArray, name: str, columns: list[str] | None, at: tuple[int, int, int]) -> dict[str, Any]:
    """Return what a message says of one coordinate: its file, row, column and value."""
    row, column, first = at
    where = None if columns is None else Message("in_column", column=columns[column])
    return {"file": name, "row": first + row + 1, "column": where, "value": str(places[row, column])}


def _advice(x: float, y: float) -> Message:
    """Say what to do with places about here: the systems that fit, turned round or in kilometres if none does so."""
    ways = [(mark("system_looks_like"), likely_systems(x, y)), (mark("system_looks_turned"), likely_systems(y, x))]
    if max(abs(x), abs(y)) <= RANGES.largest_kilometres:
        ways.insert(0, (mark("system_in_kilometres"), likely_systems(1000 * x, 1000 * y)))
    code, systems = min(ways, key=lambda way: _rank(way[1]))
    if _rank(systems) == SYSTEMS.index(WORLD):  # turned round it fits as well
        code, systems = mark("system_looks_like"), likely_systems(x, y)
    return Message(code, systems=[one.message for one in systems]) if systems else Message("system_not_guessed")


def _rank(systems: list[System]) -> int:
    """Return how frequent the most frequent of some systems is, 0 at best; the largest number for none."""
    return min((SYSTEMS.index(system.code) for system in systems), default=len(SYSTEMS))


def read_crs(text: str) -> Any:
    """Return a reference system by its name."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_user_input(text)
    except CRSError:
        raise InputError("no_such_crs", crs=text) from None


def to_degrees(frame: pd.DataFrame, columns: Sequence[str], crs: str, name: str) -> pd.DataFrame:
    """Return ``frame`` with ``LON`` and ``LAT`` computed from two columns in the reference system ``crs``."""
    from pyproj import Transformer

    if len(columns) != 2:
        raise InputError("two_columns_of_places", file=name, columns=",".join(columns))
    numbers = []
    for column in columns:
        if column not in frame.columns:
            raise no_column(name, column, frame.columns)
        found = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        for row in np.flatnonzero(~np.isfinite(found)):
            raise InputError("cell_not_a_number", file=name, row=row + 1, column=column, value=frame[column].iloc[row])
        numbers.append(found)
    system = read_crs(crs)
    _check_plane(numbers[0], numbers[1], system, name)
    lon, lat = Transformer.from_crs(system, 4326, always_xy=True).transform(numbers[0], numbers[1])
    for row in np.flatnonzero(~(np.isfinite(lon) & np.isfinite(lat))):
        raise InputError(
            "outside_the_system", file=name, row=row + 1, east=numbers[0][row], north=numbers[1][row], crs=crs
        )
    _check_area(lon, lat, system, name)
    return frame.assign(**{LON: lon, LAT: lat})


def _check_plane(east: FloatArray, north: FloatArray, crs: Any, name: str) -> None:
    """Raise an error if coordinates of a projected system are degrees, which are a few metres there."""
    if crs.is_projected and np.abs(east).max(initial=0.0) <= 180 and np.abs(north).max(initial=0.0) <= 180:
        most = {"east": np.abs(east).max(initial=0.0), "north": np.abs(north).max(initial=0.0)}
        raise InputError("degrees_not_metres", file=name, crs=crs.to_string(), **most)


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
        where = shorten(area.name, 60, placeholder="…")
        raise InputError("far_from_the_area", file=name, crs=crs.to_string(), lon=x, lat=y, area=where)
