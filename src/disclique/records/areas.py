"""Areas of a file of polygons, such as districts: which of them holds a place, and how near its border is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.geodesy import KM_PER_DEGREE, wrap
from disclique.records.formats import need
from disclique.records.formats.layers import geometries_of, read_layer
from disclique.values import FloatArray

Ints = NDArray[np.int64]
NOWHERE = -1  # the number of the area of a place that lies in none
_POLYGONS = ("Polygon", "MultiPolygon")


@dataclass(frozen=True, eq=False)
class Areas:
    """Polygons in degrees of WGS 84; places are rows of longitude and latitude, areas are numbered from 0."""

    polygons: NDArray[Any]
    name: str

    @cached_property
    def _shapely(self) -> Any:
        shapely = need("shapely", Path(self.name))
        shapely.prepare(self.polygons)
        return shapely

    @cached_property
    def _borders(self) -> Any:
        borders = self._shapely.boundary(self.polygons)
        self._shapely.prepare(borders)
        return borders

    @cached_property
    def _tree(self) -> Any:
        return self._shapely.STRtree(self.polygons)

    def __len__(self) -> int:
        return len(self.polygons)

    def find(self, places: FloatArray) -> Ints:
        """Return the number of the area that holds each place, the first of several, ``NOWHERE`` where none does."""
        there = self._points(places)
        found = np.full(len(there), len(self), dtype=np.int64)
        place, area = self._tree.query(there, predicate="intersects")
        np.minimum.at(found, place, area)
        return np.where(found < len(self), found, NOWHERE)

    def hold(self, places: FloatArray, areas: Ints, slack: FloatArray | float = 0.0) -> NDArray[np.bool_]:
        """Return which places lie in the area of the same row, or within ``slack`` km of it; in none is anywhere."""
        inside: NDArray[np.bool_] = np.asarray(areas == NOWHERE)
        asked = np.flatnonzero(~inside)
        room = np.broadcast_to(np.asarray(slack, dtype=float), areas.shape)[asked]
        shapes, shapely = self.polygons[areas[asked]], self._shapely
        at = wrap(*places[asked].T)
        found = shapely.intersects_xy(shapes, at[:, 0], at[:, 1])
        near = np.flatnonzero(~found & (room > 0))
        if len(near):
            degrees = room[near] / KM_PER_DEGREE / _narrow(at[near])
            found[near] = shapely.dwithin(shapes[near], shapely.points(at[near]), degrees)
        inside[asked] = found
        return inside

    def find_near_border(self, places: FloatArray, areas: Ints, radius: float) -> NDArray[np.bool_]:
        """Return which places may lie within ``radius`` km of the border of their area; in none it has no border."""
        near = np.zeros(len(places), dtype=bool)
        asked = np.flatnonzero(areas != NOWHERE)
        at = wrap(*places[asked].T)
        degrees = radius / KM_PER_DEGREE / _narrow(at)
        borders, shapely = self._borders[areas[asked]], self._shapely
        near[asked] = shapely.dwithin(borders, shapely.points(at), 1.02 * degrees)  # the ellipsoid is not the sphere
        return near

    def _points(self, places: FloatArray) -> Any:
        return self._shapely.points(wrap(*places.T))


def _narrow(places: FloatArray) -> FloatArray:
    """Return how much shorter a degree to the east is than one to the north, a little beyond each place."""
    return np.asarray(np.cos(np.radians(np.minimum(np.abs(places[:, 1]) + 0.2, 89.9))))


def read_areas(path: Path) -> Areas:
    """Return the areas of a file of polygons, converted to degrees of WGS 84."""
    frame = read_layer(path)
    if not len(frame):
        raise InputError("areas_empty", path=path)
    if frame.crs is None:
        raise InputError("areas_without_crs", path=path)
    shapely, geometry = need("shapely", path), geometries_of(frame, path)
    for row in np.flatnonzero(~geometry.geom_type.isin(_POLYGONS).to_numpy()):
        raise InputError("areas_not_polygons", path=path, row=row + 1, kind=geometry.geom_type.iloc[row])
    shapes = np.array(shapely.force_2d(geometry.to_crs(4326).to_numpy()), dtype=object)
    for row in np.flatnonzero(~shapely.is_valid(shapes)):  # a border that crosses itself has an inside nevertheless
        parts = shapely.get_parts(shapely.make_valid(shapes[row]))
        shapes[row] = shapely.union_all(parts[shapely.get_dimensions(parts) == 2])
    return Areas(shapes, str(path))
