"""From files to microdata for an audit: tables, matrices, and with the ``geo`` extra the files of geographers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from disclique.data.files import Source, read_microdata, read_table, sha256
from disclique.data.generalise import parse_generaliser
from disclique.data.geography import LAT, LON, is_geographic, read_points, to_degrees
from disclique.data.tables import microdata
from disclique.errors import InputError
from disclique.model import Microdata
from disclique.quantities import KM_IN


@dataclass(frozen=True)
class Columns:
    """How the files of an audit are to be read: which columns mean what, and in which reference system.

    ``unit`` is that of distance files (km or m); ``crs`` that of coordinates that are not degrees of WGS 84.
    """

    labels: tuple[str, ...]
    ids: str | None = None
    coordinates: tuple[str, ...] | None = None
    metric: str = "sphere"
    crs: str | None = None
    unit: str | None = None
    generalise: tuple[str, ...] = ()
    directed: bool = False
    unpublished: bool = False


def read_file(path: Path, columns: Columns, distances: Path | None = None) -> Microdata:
    """The microdata of one file; ``distances`` is its matrix where it has no coordinates."""
    if columns.ids is None and not columns.labels:
        raise InputError(f"{path}: no label: name at least one quasi-identifier column with --label")
    if distances is None and (is_geographic(path) and columns.coordinates is None):
        frame = read_points(path, columns.crs)
    elif distances is None and columns.coordinates is not None and columns.crs is not None:
        frame = to_degrees(read_table(path), columns.coordinates, columns.crs, str(path))
    else:
        return _checked(_plain(path, columns, distances), columns)
    if columns.metric not in ("sphere", "wgs84"):
        raise InputError(f"{path}: places of a known reference system are measured on the sphere or wgs84")
    for spec in columns.generalise:
        frame = parse_generaliser(spec).apply(frame, str(path))
    ids = columns.ids if columns.ids in frame.columns else None
    found = microdata(frame, columns.labels, coordinates=[LON, LAT], metric=columns.metric, ids=ids, name=str(path))
    return _checked(found, columns)


def _plain(path: Path, columns: Columns, distances: Path | None) -> Microdata:
    if columns.unit is not None and columns.unit not in KM_IN:
        raise InputError(f"--unit {columns.unit}: choose one of {', '.join(KM_IN)}")
    source = Source(
        table=path,
        distances=distances,
        coordinates=None if distances is not None else columns.coordinates,
        metric=columns.metric,
        ids=columns.ids,
        directed=columns.directed,
        unpublished=columns.unpublished,
        scale=KM_IN[columns.unit] if columns.unit else 1.0,
    )
    if distances is None and columns.coordinates is None:
        raise InputError(f"{path}: say where distances come from: --coordinates LON,LAT or --distances FILE")
    return read_microdata(source, columns.labels, [parse_generaliser(spec) for spec in columns.generalise])


def _checked(data: Microdata, columns: Columns) -> Microdata:
    """The data, if the id column that was named is there: row numbers instead would be a wrong truth."""
    if columns.ids is not None and columns.ids not in data.table.columns:
        there = ", ".join(map(repr, map(str, data.table.columns)))
        raise InputError(f"{data.name}: no id column {columns.ids!r}; it has {there}")
    return data


def hashes(paths: Sequence[Path | None]) -> tuple[tuple[str, str], ...]:
    """Name and hash of every input file; of a shapefile also those of its companions."""
    found: list[tuple[str, str]] = []
    for path in paths:
        if path is not None:
            companions = [path] if path.suffix.lower() != ".shp" else sorted(path.parent.glob(f"{path.stem}.*"))
            found += [(one.name, sha256(one)) for one in companions if one.is_file()]
    return tuple(found)
