"""Files of geographers: GeoPackage, GeoJSON, GeoParquet and shapefiles become tables with longitude and latitude.

Coordinates are converted to WGS 84 by the reference system that the file names. A file that names none is not guessed
at: degrees taken for metres, or the reverse, would make every distance and so every risk wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.records.formats import LAYER, Format, Part, PlaceColumns, choose_part, first_line, need, plain_dates
from disclique.records.formats.projections import LAT, LON, read_crs

SHAPEFILE_NAMES = 10  # letters that the name of a column may have there


def _read_attributes(path: Path, part: Part, rows: int | None) -> pd.DataFrame:
    """Return the attributes of a file without its geometries."""
    frame = read_layer(path, part.layer, rows)
    return plain_dates(pd.DataFrame(frame.drop(columns=frame.geometry.name)))


def read_points(path: Path, crs: str | None = None, layer: str | None = None) -> tuple[pd.DataFrame, PlaceColumns]:
    """Return the attributes of a file of points with the columns ``LON`` and ``LAT`` in degrees of WGS 84.

    The second value says how the file holds its places. ``crs`` says the reference system of a file that does not name
    it; it does not overrule one that does. ``layer`` says which layer is meant where there are several.
    """
    return split_points(read_layer(path, layer), path, crs, layer)


def is_layer(table: pd.DataFrame) -> bool:
    """Say whether a table is one of geopandas with a geometry, without loading that for others."""
    return hasattr(table, "set_geometry") and getattr(table, "_geometry_column_name", None) in table.columns


def split_points(
    frame: Any, path: Path | str, crs: str | None = None, layer: str | None = None
) -> tuple[pd.DataFrame, PlaceColumns]:
    """Return the attributes of a table of points with their degrees, and how it holds its places."""
    system, geometry = system_of(frame, path, crs), geometries_of(frame, path)
    for row in np.flatnonzero((geometry.geom_type != "Point").to_numpy()):
        raise InputError("record_not_a_point", path=path, row=row + 1, kind=geometry.geom_type.iloc[row])
    places = geometry.set_crs(system).to_crs(4326)
    table = pd.DataFrame(frame.drop(columns=geometry.name))
    held = PlaceColumns((LON, LAT), system.to_string(), str(geometry.name), layer)
    return table.assign(**{LON: places.x.to_numpy(), LAT: places.y.to_numpy()}), held


def system_of(frame: Any, path: Path | str, crs: str | None) -> Any:
    """Return the reference system of a layer: the one that it names, else the one that was said."""
    stated = frame.crs
    if stated is None and crs is None:
        raise InputError("crs_not_said", path=path)
    if stated is not None and crs is not None and stated != read_crs(crs):
        raise InputError("crs_is_another", path=path, stated=stated.to_string(), crs=crs)
    return read_crs(str(crs)) if stated is None else stated


def geometries_of(frame: Any, path: Path | str) -> Any:
    """Return the geometries of a layer; refuse a record without one."""
    geometry = frame.geometry
    for row in np.flatnonzero((geometry.isna() | geometry.is_empty).to_numpy()):
        raise InputError("record_without_geometry", path=path, row=row + 1)
    return geometry


def read_layer(path: Path, layer: str | None = None, rows: int | None = None) -> Any:
    """Return the records of a layer with their geometries, as geopandas has them."""
    if not path.is_file():
        raise InputError("no_such_file", path=path)
    geopandas, pyogrio = need("geopandas", path), need("pyogrio", path)
    try:
        if path.suffix.lower() in (".parquet", ".geoparquet"):
            return geopandas.read_parquet(path)
        if path.suffix.lower() == ".geojson":  # of what is no JSON the reader's own message would be about drivers
            json.loads(path.read_text(encoding="utf-8"))
        names = _name_layers(pyogrio.list_layers(path))
        if not names:
            raise InputError("no_layer_with_geometries", path=path)
        return geopandas.read_file(path, layer=choose_part(path, LAYER, names, layer), rows=rows)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError("not_a_geojson_file", path=path, why=str(error)) from None
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("file_not_readable", path=path, why=first_line(error)) from None


def write_layer(frame: pd.DataFrame, path: Path, places: PlaceColumns) -> None:
    """Write a table with two columns of it as points; the reference system must be known."""
    geopandas = need("geopandas", path)
    if places.crs is None:
        raise InputError("layer_without_crs", path=path)
    suffix = path.suffix.lower()
    others = frame.drop(columns=list(places.names))
    long = [name for name in others.columns if len(str(name)) > SHAPEFILE_NAMES]
    if suffix == ".shp" and long:
        raise InputError("shapefile_name_too_long", path=path, column=long[0], most=SHAPEFILE_NAMES)
    points = geopandas.points_from_xy(*(frame[name] for name in places.names))
    name = places.geometry if places.geometry not in others.columns else f"{places.geometry}_"
    made = geopandas.GeoDataFrame(others.assign(**{name: points}), geometry=name, crs=read_crs(places.crs))
    if suffix in (".parquet", ".geoparquet"):
        made.to_parquet(path, index=False)
        return
    try:
        # the driver follows from the ending, whatever the name before it
        made.to_file(path, layer=places.layer or path.stem, index=False, engine="pyogrio")
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError("not_written_as", path=path, why=first_line(error)) from None


def _list_layers(path: Path) -> tuple[str, ...]:
    try:
        layers = need("pyogrio", path).list_layers(path)
    except Exception:  # drivers raise errors of their own: reading it says what is wrong
        return ()
    return tuple(_name_layers(layers))


def _name_layers(layers: Any) -> list[str]:
    """Return the layers of a file; tables without geometries, such as styles, are none."""
    return [str(name) for name, geometry in layers if geometry is not None]


def _format(name: str, *suffixes: str, layered: bool = True, family: bool = False) -> Format:
    return Format(
        suffixes,
        name,
        table=_read_attributes,
        parts=_list_layers if layered else None,
        section=LAYER,
        places=lambda path: True,
        family=family,
        extra="geo",
        write_places=write_layer,
    )


GEOPACKAGE = _format("GeoPackage", ".gpkg")
GEOJSON = _format("GeoJSON", ".geojson", layered=False)
SHAPEFILE = _format("shapefile", ".shp", family=True)
GEOPARQUET = _format("GeoParquet", ".geoparquet", layered=False)
FLATGEOBUF = _format("FlatGeobuf", ".fgb")
