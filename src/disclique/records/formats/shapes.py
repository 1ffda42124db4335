"""Places of any shape in files of geographers: points, lines and the borders of areas, as pieces of lines.

A line is straight in the reference system of its file, as the formats have it, and is cut into short pieces there
before it is converted: a border along a parallel stays on it, which the shortest way between its ends would leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.geodesy import KM_PER_DEGREE
from disclique.records.formats import need, plain_dates
from disclique.records.formats.layers import geometries_of, read_layer, system_of
from disclique.records.formats.projections import check_degrees
from disclique.spaces.nearest import Pieces
from disclique.units import KM_IN
from disclique.values import FloatArray

POINT_TYPE, AREA_TYPE = 0, 3  # types of geometries, as shapely counts them
ROUNDING = 1e-9  # degrees
LONGEST_KM = 2.0  # of a piece: the shortest way between its ends is within a hand's breadth of a parallel


@dataclass(frozen=True, eq=False)
class _Lines:
    """Straight lines in the reference system of a file, and to which record each belongs; points have no length."""

    begin: FloatArray
    end: FloatArray
    place: NDArray[np.int64]

    def select(self, keep: NDArray[np.bool_]) -> _Lines:
        return _Lines(self.begin[keep], self.end[keep], self.place[keep])


def read_shapes(path: Path, crs: str | None = None, layer: str | None = None) -> tuple[pd.DataFrame, Pieces]:
    """Return the attributes of a layer, and its shapes as pieces in degrees of WGS 84."""
    frame = read_layer(path, layer)
    lines = _lines_of(frame, path)
    if frame.crs is None and crs is None:
        raise InputError("near_crs_not_said", file=str(path))
    system = system_of(frame, path, crs)
    for ends in (lines.begin, lines.end):  # before they are cut: what is no place is no piece of one either
        check_degrees(_to_degrees(ends, system, lines.place, path), str(path))
    if system.is_geographic:
        lines = _without_seams(lines, frame, path)
        lengths = np.hypot(*(_degrees_between(lines) * _kilometres_at(lines)).T)
    else:
        lengths = np.hypot(*(lines.end - lines.begin).T) * _kilometres_in(system)
    lines = _cut(lines, lengths, LONGEST_KM, turning=system.is_geographic)
    begin, end = (_to_degrees(xy, system, lines.place, path) for xy in (lines.begin, lines.end))
    return _attributes(frame), Pieces(begin, end, lines.place, len(frame))


def read_plane_shapes(path: Path, unit: str, layer: str | None = None) -> tuple[pd.DataFrame, Pieces]:
    """Return the attributes of a layer, and its shapes as pieces in km of the plane of its reference system.

    ``unit`` is that of the coordinates where the file names no system.
    """
    frame = read_layer(path, layer)
    lines = _lines_of(frame, path)
    if frame.crs is not None and frame.crs.is_geographic:
        raise InputError("near_degrees_beside_plane", file=str(path))
    scale = KM_IN[unit] if frame.crs is None else _kilometres_in(frame.crs)
    lines = _Lines(lines.begin * scale, lines.end * scale, lines.place)
    lines = _cut(lines, np.hypot(*(lines.end - lines.begin).T), np.inf)
    return _attributes(frame), Pieces(lines.begin, lines.end, lines.place, len(frame), on_earth=False)


def _attributes(frame: Any) -> pd.DataFrame:
    return plain_dates(pd.DataFrame(frame.drop(columns=frame.geometry.name)))


def _lines_of(frame: Any, path: Path) -> _Lines:
    """Return the points, lines and borders of a layer."""
    if not len(frame):
        raise InputError("near_without_places", file=str(path))
    shapely = need("shapely", path)
    parts, place = geometries_of(frame, path).to_numpy(), np.arange(len(frame))
    while (shapely.get_type_id(parts) > AREA_TYPE).any():  # collections may hold collections
        parts, of = shapely.get_parts(parts, return_index=True)
        place = place[of]
    kind = shapely.get_type_id(parts)
    rings, of = shapely.get_rings(parts[kind == AREA_TYPE], return_index=True)
    chains = np.concatenate([parts[(kind > POINT_TYPE) & (kind < AREA_TYPE)], rings])
    owner = np.concatenate([place[(kind > POINT_TYPE) & (kind < AREA_TYPE)], place[kind == AREA_TYPE][of]])
    corners, of = shapely.get_coordinates(chains, return_index=True)
    joined = np.flatnonzero(of[1:] == of[:-1])
    dots, spot = shapely.get_coordinates(parts[kind == POINT_TYPE], return_index=True)
    found = _Lines(
        np.concatenate([dots, corners[joined]]),
        np.concatenate([dots, corners[joined + 1]]),
        np.concatenate([place[kind == POINT_TYPE][spot], owner[of[joined]]]),
    )
    for row in np.flatnonzero(~(np.isfinite(found.begin) & np.isfinite(found.end)).all(axis=1)):
        raise InputError("record_without_geometry", path=path, row=found.place[row] + 1)
    return found


def _without_seams(lines: _Lines, frame: Any, path: Path) -> _Lines:
    """Leave out sides of areas along the date line and at a pole: the map ends there, and not the area."""
    areas = np.isin(frame.geometry.geom_type.to_numpy(), ("Polygon", "MultiPolygon", "GeometryCollection"))
    ends, whole = np.minimum(np.abs(lines.begin), np.abs(lines.end)), _goes_round(lines)
    seam = (((ends[:, 0] >= 180 - ROUNDING) & ~whole) | (ends[:, 1] >= 90 - ROUNDING)) & areas[lines.place]
    if seam.all():
        raise InputError("near_without_places", file=str(path))
    return lines.select(~seam)


def _degrees_between(lines: _Lines) -> FloatArray:
    """Return the steps in degrees, the short way round the Earth."""
    step = lines.end - lines.begin
    return np.column_stack([np.where(_goes_round(lines), step[:, 0], (step[:, 0] + 180) % 360 - 180), step[:, 1]])


def _goes_round(lines: _Lines) -> NDArray[np.bool_]:
    """Return which lines go from one end of the map to the other, along a parallel of the whole Earth."""
    return np.asarray(np.abs(lines.end[:, 0] - lines.begin[:, 0]) >= 360 - ROUNDING)


def _kilometres_at(lines: _Lines) -> FloatArray:
    """Return the kilometres of a degree east and north, at the end of each line where they are more."""
    nearest = np.minimum(np.abs(lines.begin[:, 1]), np.abs(lines.end[:, 1]))
    return KM_PER_DEGREE * np.column_stack([np.cos(np.radians(nearest)), np.ones(len(nearest))])


def _kilometres_in(system: Any) -> float:
    """Return the kilometres of a unit of a plane reference system."""
    return float(system.axis_info[0].unit_conversion_factor) / 1000 if system.axis_info else KM_IN["m"]


def _cut(lines: _Lines, lengths: FloatArray, longest: float, *, turning: bool = False) -> _Lines:
    """Cut lines into equal pieces that are no longer than ``longest``, nor than the lines are on average.

    So there are at most twice as many, and none so long that it hides the others from a search by middles.
    """
    there = lengths > 0
    limit = min(longest, float(lengths[there].mean())) if there.any() else longest
    times = np.maximum(1, np.ceil(lengths / limit - 1e-9)).astype(np.int64)
    which = np.repeat(np.arange(len(times)), times)
    at = np.arange(len(which)) - (np.cumsum(times) - times)[which]
    step = _degrees_between(lines) if turning else lines.end - lines.begin
    share = np.column_stack([at, at + 1]) / times[which][:, None]
    ends = [lines.begin[which] + share[:, side, None] * step[which] for side in (0, 1)]
    return _Lines(ends[0], np.where((times == 1)[which][:, None], lines.end[which], ends[1]), lines.place[which])


def _to_degrees(xy: FloatArray, system: Any, place: NDArray[np.int64], path: Path) -> FloatArray:
    from pyproj import Transformer

    lon, lat = Transformer.from_crs(system, 4326, always_xy=True).transform(xy[:, 0], xy[:, 1])
    for row in np.flatnonzero(~(np.isfinite(lon) & np.isfinite(lat))):
        where = {"row": place[row] + 1, "east": xy[row, 0], "north": xy[row, 1]}
        raise InputError("outside_the_system", file=str(path), **where, crs=system.to_string())
    return np.column_stack([lon, lat])
