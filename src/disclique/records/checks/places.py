"""Places as they were understood: where on Earth they lie, and whether that can be meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from disclique.geodesy import GEOGRAPHIC
from disclique.messages import percent
from disclique.model import FloatArray, Microdata
from disclique.records.checks.land import is_land, name_places
from disclique.records.checks.values import Extent, Remark, name_shares, round_out
from disclique.spaces.distances import Points
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
    source = data.distances
    if not isinstance(source, Points) or not source.is_map or source.coordinates.shape[1] != 2:
        return None
    places = source.coordinates
    if source.metric in GEOGRAPHIC:
        shown = places[_spread(len(places))]
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
    identities = getattr(data.distances, "identities", None)
    return 1 if identities is None else max(Counter(identities()).values(), default=1)


def _spread(records: int) -> np.ndarray:
    return np.unique(np.linspace(0, records - 1, min(records, LOOKED_AT)).astype(np.int64))


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
