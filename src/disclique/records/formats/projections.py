"""Plane coordinates that were given as degrees, or the reverse: which reference system the numbers look like."""

from __future__ import annotations

from textwrap import shorten
from typing import Any

import numpy as np

from disclique.errors import InputError
from disclique.model import FloatArray

LARGEST = 360.0  # degrees; larger numbers are metres of a projection
WORLD = "Web Mercator"  # which nearly all numbers fit
# Where people of each system live: west, east, south and north ends, in metres. The first that fit are named.
SYSTEMS: tuple[tuple[str, str, tuple[float, float, float, float]], ...] = (
    ("EPSG:25832", "UTM zone 32, or another zone: 25831, 25833", (-100_000, 1_000_000, 3_800_000, 7_900_000)),
    ("EPSG:4647", "UTM zone 32 with the zone in front", (32_166_000, 32_834_000, 3_800_000, 7_900_000)),
    ("EPSG:5650", "UTM zone 33 with the zone in front", (33_166_000, 33_834_000, 3_800_000, 7_900_000)),
    ("EPSG:31466", "Gauss-Krüger zone 2", (2_400_000, 2_700_000, 5_200_000, 6_150_000)),
    ("EPSG:31467", "Gauss-Krüger zone 3", (3_300_000, 3_700_000, 5_200_000, 6_150_000)),
    ("EPSG:31468", "Gauss-Krüger zone 4", (4_300_000, 4_700_000, 5_200_000, 6_150_000)),
    ("EPSG:31469", "Gauss-Krüger zone 5", (5_300_000, 5_700_000, 5_200_000, 6_150_000)),
    ("EPSG:27700", "the British grid", (80_000, 660_000, 5_000, 1_220_000)),
    ("EPSG:28992", "the Dutch grid", (10_000, 280_000, 300_000, 620_000)),
    ("EPSG:31287", "the Austrian Lambert system", (100_000, 700_000, 250_000, 600_000)),
    ("EPSG:2056", "the Swiss grid LV95", (2_480_000, 2_850_000, 1_070_000, 1_300_000)),
    ("EPSG:21781", "the Swiss grid LV03", (480_000, 850_000, 70_000, 300_000)),
    ("EPSG:2154", "Lambert-93 of France", (90_000, 1_250_000, 6_000_000, 7_200_000)),
    ("EPSG:3035", "the European grid LAEA", (2_500_000, 6_600_000, 1_400_000, 5_500_000)),
    ("EPSG:3857", WORLD, (-20_040_000, 20_040_000, -20_050_000, 20_050_000)),
)
NAMED = 4


def likely_systems(east: float, north: float) -> list[str]:
    """Return the reference systems in which a place of these coordinates would lie where people live.

    >>> likely_systems(3_480_000, 5_540_000)[0]
    'EPSG:31467 (Gauss-Krüger zone 3)'
    """
    return [
        f"{code} ({what})"
        for code, what, (west, far, south, top) in SYSTEMS
        if west <= east <= far and south <= north <= top
    ][:NAMED]


def check_degrees(places: FloatArray, name: str, columns: list[str] | None = None, *, first: int = 0) -> None:
    """Raise an error if coordinates are no degrees of longitude and latitude, with what they may be instead.

    ``first`` is the row at which they begin in their file.
    """
    for row, column in np.argwhere(np.abs(places) > LARGEST):
        x, y = (float(value) for value in np.median(places, axis=0))
        where = "" if columns is None else f", column {columns[column]!r}"
        if max(abs(x), abs(y)) <= LARGEST:
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
    for systems, before, after in (
        (likely_systems(x, y), say, ""),
        (likely_systems(y, x), say, ", and name the east first"),
        (likely_systems(1000 * x, 1000 * y), "kilometres, it seems: turn them into metres and say --crs, like", ""),
    ):
        if any(WORLD not in system for system in systems):
            return f"{before} {_either(systems)}{after}"
    fits = likely_systems(x, y)
    return f"{say} {_either(fits)}" if fits else "say their reference system with --crs, such as --crs EPSG:25832"


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def check_plane(east: FloatArray, north: FloatArray, crs: Any, name: str) -> None:
    """Raise an error if coordinates of a projected system are degrees, which are a few metres there."""
    if crs.is_projected and np.abs(east).max(initial=0.0) <= 180 and np.abs(north).max(initial=0.0) <= 180:
        raise InputError(
            f"{name}: coordinates up to {np.abs(east).max(initial=0.0):.6g} and {np.abs(north).max(initial=0.0):.6g} "
            f"are degrees, no metres of {crs.to_string()}: leave --crs out, or say EPSG:4326"
        )


def check_area(lon: FloatArray, lat: FloatArray, crs: Any, name: str) -> None:
    """Raise an error if most places lie far from where a reference system is used: swapped, or of another system."""
    area = crs.area_of_use
    if area is None or not len(lon):
        return
    margin = 10.0  # degrees; neighbours of the area are computed well enough, other continents are a mistake
    x, y = float(np.median(lon)), float(np.median(lat))
    width = (area.east - area.west) % 360 or 360.0
    off_east = width + 2 * margin < 360 and (x - area.west + margin) % 360 > width + 2 * margin
    if off_east or not area.south - margin <= y <= area.north + margin:
        raise InputError(
            f"{name}: in {crs.to_string()} the places lie about {x:.1f} east, {y:.1f} north, far from its area "
            f"({shorten(area.name, 60, placeholder='…')}): are east and north swapped, or is it another system?"
        )
