"""Who else lives there: dwellings, or the cells of a grid with the persons in each, from tables, layers and rasters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_path
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC, KM_PER_DEGREE, wrap
from disclique.messages import Message
from disclique.records.formats import first_line, has_places, need, no_column, plain_dates, read_table
from disclique.records.formats.layers import geometries_of, read_layer, system_of
from disclique.records.formats.projections import LAT, LON, read_crs, to_degrees
from disclique.records.placing import place_records
from disclique.records.reading import Layout
from disclique.spaces import Points
from disclique.spaces.base import digest
from disclique.units import KM, LENGTH_UNITS, length_in, parse_quantity
from disclique.values import FloatArray

Ints = NDArray[np.int64]
RASTERS = (".tif", ".tiff")
_POLYGONS = ("Polygon", "MultiPolygon")
_STEPS = (0.7548776662466927, 0.5698402909980532)  # of a sequence that fills a square evenly, however far it goes


@dataclass(frozen=True)
class Strips:
    """How much of a raster is read at a time."""

    cells: int = 4_000_000


STRIPS = Strips()


@dataclass(frozen=True, eq=False)
class Inhabitants:
    """The population of an area: places, how many persons each stands for, and what else the file says of them.

    ``table`` has the other columns. ``cells`` has the two sides of the cell around each place, as steps in its
    coordinates, where a place stands for a cell; without them people live at the places themselves.
    """

    places: Points
    people: FloatArray  # (n,), all above 0
    table: pd.DataFrame
    name: str
    cells: FloatArray | None = None  # (n, 2, 2)

    def __len__(self) -> int:
        return len(self.people)

    @property
    def total(self) -> float:
        """How many persons live there."""
        return float(self.people.sum())

    def content(self) -> object:
        """Return what tells it from another population, for a digest."""
        return digest(self.places.coordinates), digest(self.people), self.table.to_csv(index=False)

    def select(self, rows: NDArray[np.integer]) -> Inhabitants:
        """Return some of the places, in the order of ``rows``."""
        table, cells = self.table.iloc[rows].reset_index(drop=True), None if self.cells is None else self.cells[rows]
        return Inhabitants(self.places.select(rows), self.people[rows], table, self.name, cells)

    def spread(self, rows: NDArray[np.integer], number: NDArray[np.integer]) -> Points:
        """Return where the person of this ``number``, from 0, lives in each of some cells: the same whenever asked.

        The first persons of a cell are spread over it as evenly as all of them. Outside cells it is the place itself.
        """
        there = self.places.select(rows)
        if self.cells is None:
            return there
        part = np.mod(0.5 + np.multiply.outer(np.asarray(number, dtype=float), _STEPS), 1.0) - 0.5
        moved = there.coordinates + (part[:, :, None] * self.cells[rows]).sum(axis=1)
        return replace(there, coordinates=wrap(*moved.T) if there.on_earth else moved)


def read_population(
    path: str | PathLike[str],
    layout: Layout | None = None,
    *,
    people: str | None = None,
    cell: str | None = None,
    **columns: Any,
) -> Inhabitants:
    """Return the population that a file has: dwellings, or cells with persons.

    A table needs ``coordinates`` of the layout; the geometries of a layer are points, or areas of a grid; a GeoTIFF has
    cells. ``people`` is the column that says for how many persons a row stands, without it each row is one; a raster
    says it itself, and areas must. ``cell`` is the side of the cell around each point of a table or layer (``100m``).
    Rows and cells with nobody, and those that do not say how many, are left out. ``columns`` are fields of ``Layout``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "town.csv").write_text("lon,lat,persons\\n10.1,50.2,3\\n10.2,50.3,1\\n")
    ...     read_population(Path(folder, "town.csv"), coordinates="lon,lat", people="persons").total
    4.0
    """
    path = check_path(path, "path")
    layout = replace(layout or Layout(), **columns)
    if path.suffix.lower() in RASTERS:
        found = _read_raster(path, layout)
    elif layout.coordinates is None:
        if not has_places(path):
            raise InputError("population_without_places", path=path)
        found = _read_layer(path, layout, people)
    else:
        found = _read_columns(path, layout, people)
    there = np.flatnonzero(found.people > 0)
    if not len(there):
        raise InputError("population_without_people", path=path)
    if len(there) < len(found):
        found = found.select(there)
    return found if cell is None or found.cells is not None else _put_cells(found, cell)


def _read_columns(path: Path, layout: Layout, people: str | None) -> Inhabitants:
    table, columns = read_table(path, layout.part), tuple(layout.coordinates or ())
    used = columns
    if layout.crs is not None:
        _check_earth(path, layout)
        table, columns = to_degrees(table, columns, layout.crs, str(path)), (LON, LAT)
    places = place_records(table, columns, layout.metric or "sphere", name=str(path))
    if layout.unit is not None and places.unit is None:
        places = replace(places, unit=layout.unit)
    rest = table.drop(columns=[name for name in {*used, *columns, people} if name in table.columns])
    return Inhabitants(places, _count_people(table, people, str(path)), rest, str(path))


def _check_earth(path: Path, layout: Layout) -> None:
    if (layout.metric or "sphere") not in GEOGRAPHIC:
        raise InputError("earth_needs_its_metric", path=path)


def _count_people(table: pd.DataFrame, column: str | None, name: str) -> FloatArray:
    """Return for how many persons each row stands; a cell without a number is nobody."""
    if column is None:
        return np.ones(len(table))
    if column not in table.columns:
        raise no_column(name, column, table.columns)
    numbers = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    written = table[column].notna().to_numpy() & (table[column].astype(str).str.strip() != "").to_numpy()
    cell: dict[str, Any] = {"file": name, "column": column}
    for row in np.flatnonzero((np.isnan(numbers) & written) | np.isinf(numbers)):
        raise InputError("cell_not_a_number", **cell, row=row + 1, value=table[column].iloc[row])
    for row in np.flatnonzero(numbers < 0):
        raise InputError("people_negative", **cell, row=row + 1, value=numbers[row])
    return np.asarray(np.nan_to_num(numbers))


def _read_layer(path: Path, layout: Layout, people: str | None) -> Inhabitants:
    """Return the points of a layer, or its areas as cells: each the box around it in the system of the layer."""
    _check_earth(path, layout)
    frame = read_layer(path, layout.layer)
    system, geometry = system_of(frame, path, layout.crs), geometries_of(frame, path)
    areas = geometry.geom_type.isin(_POLYGONS).to_numpy()
    for row in np.flatnonzero(~areas & (geometry.geom_type != "Point").to_numpy()):
        raise InputError("population_of_lines", path=path, row=row + 1, kind=geometry.geom_type.iloc[row])
    if areas.any() and people is None:
        raise InputError("cells_without_people", path=path)
    table = plain_dates(pd.DataFrame(frame.drop(columns=geometry.name)))
    box = geometry.bounds.to_numpy(dtype=float)
    middle, sides = (box[:, 2:] + box[:, :2]) / 2, box[:, 2:] - box[:, :2]
    steps = np.zeros((len(box), 2, 2))
    steps[:, 0, 0], steps[:, 1, 1] = sides.T
    coordinates, cells = _convert(middle, steps, system)
    for row in np.flatnonzero(~np.isfinite(coordinates).all(axis=1)):
        where = {"east": middle[row, 0], "north": middle[row, 1], "crs": system.to_string()}
        raise InputError("outside_the_system", file=str(path), row=row + 1, **where)
    counted = _count_people(table, people, str(path))
    rest = table.drop(columns=[] if people is None else [people])
    places = Points(coordinates, layout.metric or "sphere")
    return Inhabitants(places, counted, rest, str(path), cells if areas.any() else None)


def _convert(middle: FloatArray, steps: FloatArray, system: Any) -> tuple[FloatArray, FloatArray]:
    """Return places in degrees of WGS 84, and the sides of the cells around them as steps in degrees."""
    from pyproj import Transformer

    change = Transformer.from_crs(system, 4326, always_xy=True)
    sides = np.empty_like(steps)
    for side in (0, 1):
        ends = [np.stack(change.transform(*(middle + half * steps[:, side]).T), axis=1) for half in (-0.5, 0.5)]
        sides[:, side] = ends[1] - ends[0]
    with np.errstate(invalid="ignore"):
        sides[:, :, 0] = (sides[:, :, 0] + 180) % 360 - 180  # a cell across the date line is no wider than others
    return np.stack(change.transform(*middle.T), axis=1), sides


def _read_raster(path: Path, layout: Layout, how: Strips = STRIPS) -> Inhabitants:
    """Return the cells of a raster in which somebody lives, each with its middle."""
    if not path.is_file():
        raise InputError("no_such_file", path=path)
    _check_earth(path, layout)
    rasterio = need("rasterio", path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)  # it is refused below
            raster = rasterio.open(path)
        with raster:
            system = _find_system(path, raster, layout.crs)
            parts = [_read_strip(path, raster, first, how.cells) for first in _list_strips(raster, how.cells)]
            transform = raster.transform
    except rasterio.errors.RasterioError as error:
        raise InputError("file_not_readable", path=path, why=first_line(error)) from None
    row, column, people = (np.concatenate([part[side] for part in parts]) for side in range(3))
    x, y = transform.a, transform.e
    middle = np.column_stack(
        (
            transform.c + x * (column + 0.5) + transform.b * (row + 0.5),
            transform.f + transform.d * (column + 0.5) + y * (row + 0.5),
        )
    )
    steps = np.broadcast_to(np.array([[x, transform.d], [transform.b, y]]), (len(row), 2, 2))
    coordinates, cells = _convert(middle, steps, system)
    inside = np.flatnonzero(np.isfinite(coordinates).all(axis=1) & np.isfinite(cells).all(axis=(1, 2)))
    places = Points(coordinates[inside], layout.metric or "sphere")
    return Inhabitants(places, people[inside], pd.DataFrame(index=range(len(inside))), str(path), cells[inside])


def _find_system(path: Path, raster: Any, crs: str | None) -> Any:
    """Return the reference system of a raster; refuse one without, and one of which it is not clear what it counts."""
    if raster.count != 1:
        raise InputError("raster_with_bands", path=path, bands=raster.count)
    stated = None if raster.crs is None else read_crs(raster.crs.to_wkt())
    if stated is None and crs is None:
        raise InputError("raster_without_crs", path=path)
    if stated is not None and crs is not None and stated != read_crs(crs):
        raise InputError("crs_is_another", path=path, stated=stated.to_string(), crs=crs)
    return read_crs(str(crs)) if stated is None else stated


def _list_strips(raster: Any, cells: int) -> range:
    return range(0, raster.height, max(cells // max(raster.width, 1), 1))


def _read_strip(path: Path, raster: Any, first: int, cells: int) -> tuple[Ints, Ints, FloatArray]:
    """Return rows, columns and persons of the inhabited cells of some rows."""
    height = min(max(cells // max(raster.width, 1), 1), raster.height - first)
    read = raster.read(1, window=((first, first + height), (0, raster.width)), masked=True)
    values = np.ma.filled(read.astype(float), np.nan) * raster.scales[0] + raster.offsets[0]
    for row, column in np.argwhere(values < 0):
        where = {"row": first + row + 1, "column": column + 1, "value": values[row, column]}
        raise InputError("raster_negative", path=path, **where)
    row, column = np.nonzero(np.isfinite(values) & (values > 0))
    return row + first, column, values[row, column]


def _put_cells(found: Inhabitants, cell: str) -> Inhabitants:
    """Return the same with square cells of this side around the places, along east and north."""
    side = parse_quantity(cell, units=LENGTH_UNITS)
    if not side.value > 0:
        raise InputError("quantity_not_positive", quantity=side)
    length = length_in(side, found.places.unit, Message("cell_of_population", cell=cell))
    cells = np.zeros((len(found), 2, 2))
    cells[:, 0, 0] = cells[:, 1, 1] = length
    if found.places.on_earth:
        if not side.unit:
            raise InputError("cell_without_unit", cell=cell, unit=KM)
        cells /= KM_PER_DEGREE
        cells[:, 0, 0] /= np.cos(np.radians(np.minimum(np.abs(found.places.coordinates[:, 1]), 89.9)))
    return replace(found, cells=cells)
