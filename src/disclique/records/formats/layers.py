"""Files of geographers: GeoPackage, GeoJSON, GeoParquet and shapefiles become tables with longitude and latitude.

Coordinates are converted to WGS 84 by the reference system that the file names. A file that names none is not guessed
at: degrees taken for metres, or the reverse, would make every distance and so every risk wrong.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.errors import InputError, MissingDependency
from disclique.records.formats.projections import check_area, check_plane

SUFFIXES = (".gpkg", ".geojson", ".shp", ".geoparquet", ".fgb")
LON, LAT = "longitude (WGS 84)", "latitude (WGS 84)"


def is_geographic(path: Path) -> bool:
    """Return whether a file holds geometries: by its ending, or for Parquet by its metadata."""
    suffix = path.suffix.lower()
    return suffix in SUFFIXES or (suffix == ".parquet" and path.is_file() and _has_geometry(path))


def _has_geometry(path: Path) -> bool:
    from pyarrow import ArrowException, parquet

    try:
        return b"geo" in (parquet.read_schema(path).metadata or {})
    except (OSError, ArrowException):
        return False


def read_attributes(path: Path, layer: str | None = None) -> pd.DataFrame:
    """Return the attributes of a file without its geometries."""
    frame = _read(path, layer)
    return pd.DataFrame(frame.drop(columns=frame.geometry.name))


def read_points(path: Path, crs: str | None = None, layer: str | None = None) -> pd.DataFrame:
    """Return the attributes of a file of points with the columns ``LON`` and ``LAT`` in degrees of WGS 84.

    ``crs`` says the reference system of a file that does not name it; it does not overrule one that does. ``layer``
    says which layer is meant where there are several.
    """
    frame = _read(path, layer)
    stated = frame.crs
    if stated is None and crs is None:
        raise InputError(
            f"{path}: the file does not say its coordinate reference system; say it with --crs, such as EPSG:25832"
        )
    if stated is not None and crs is not None and stated != _crs(crs):
        raise InputError(f"{path}: the file says its reference system is {stated.to_string()}, not {crs}")
    geometry = frame.geometry
    for row in np.flatnonzero((geometry.isna() | geometry.is_empty).to_numpy()):
        raise InputError(f"{path}: record {row + 1} has no geometry")
    for row in np.flatnonzero((geometry.geom_type != "Point").to_numpy()):
        raise InputError(f"{path}: record {row + 1} is a {geometry.geom_type.iloc[row]}: an audit takes points")
    places = (geometry if stated is not None else geometry.set_crs(_crs(crs or ""))).to_crs(4326)
    table = pd.DataFrame(frame.drop(columns=geometry.name))
    return table.assign(**{LON: places.x.to_numpy(), LAT: places.y.to_numpy()})


def _read(path: Path, layer: str | None) -> Any:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    try:
        import geopandas
        import pyogrio
    except ImportError:
        raise MissingDependency(f'{path}: reading it needs more packages: pip install "disclique[geo]"') from None
    try:
        if path.suffix.lower() in (".parquet", ".geoparquet"):
            return geopandas.read_parquet(path)
        if path.suffix.lower() == ".geojson":
            _check_json(path)
        return geopandas.read_file(path, layer=_layer(path, pyogrio.list_layers(path), layer))
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read ({str(error).strip().splitlines()[0]})") from None


def _layer(path: Path, layers: Any, wanted: str | None) -> str:
    """Return the layer that is meant; tables without geometries, such as styles, are none."""
    names = [str(name) for name, geometry in layers if geometry is not None]
    if not names:
        raise InputError(f"{path}: it has no layer with geometries")
    if len(names) == 1:
        return names[0]
    if wanted is None:
        raise InputError(f"{path}: it has the layers {', '.join(map(repr, names))}; say which one with --layer")
    if wanted not in names:
        raise InputError(f"{path}: no layer {wanted!r}; it has {', '.join(map(repr, names))}")
    return wanted


def _check_json(path: Path) -> None:
    """Raise an error if the file is no JSON at all: the reader's own message would be about drivers."""
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not a GeoJSON file ({error})") from None


def _crs(text: str) -> Any:
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
    system = _crs(crs)
    check_plane(numbers[0], numbers[1], system, name)
    lon, lat = Transformer.from_crs(system, 4326, always_xy=True).transform(numbers[0], numbers[1])
    for row in np.flatnonzero(~(np.isfinite(lon) & np.isfinite(lat))):
        raise InputError(
            f"{name}: row {row + 1}: ({numbers[0][row]}, {numbers[1][row]}) is outside the reference system {crs}"
        )
    check_area(lon, lat, system, name)
    return frame.assign(**{LON: lon, LAT: lat})
