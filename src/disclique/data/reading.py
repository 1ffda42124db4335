"""From files to microdata: the one way in for Python and for every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from disclique.data.distances import Matrix, Metric
from disclique.data.files import read_distances, read_table, read_vectors
from disclique.data.generalise import parse_generaliser
from disclique.data.geography import LAT, LON, is_geographic, read_points, to_degrees
from disclique.data.tables import microdata, record_ids
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.model import Microdata
from disclique.quantities import KM_IN


@dataclass(frozen=True)
class Layout:
    """How a file is to be read: which columns mean what, in which unit and reference system.

    ``labels``, ``id`` and ``coordinates`` are column names, the latter also as one text ``"lon,lat"``. ``metric`` is
    that of coordinates (sphere by default) or vectors (euclidean by default), and ``crs`` the reference system of
    coordinates where they are not degrees of WGS 84; ``unit`` is that of a
    distance file, km or m. ``generalise`` makes coarser columns (``cob=century:yob``). ``directed`` and ``unpublished``
    are as in ``microdata``. With ``id_optional`` a file without the id column is read too, its records named by row.
    """

    labels: Sequence[str] = ()
    id: str | None = None
    coordinates: Sequence[str] | None = None
    metric: Metric | None = None
    crs: str | None = None
    unit: str | None = None
    generalise: Sequence[str] = ()
    directed: bool = False
    unpublished: bool = False
    id_optional: bool = False

    def __post_init__(self) -> None:
        for name in ("labels", "generalise"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(map(str, value)))
        if self.coordinates is not None:
            parts = self.coordinates.split(",") if isinstance(self.coordinates, str) else self.coordinates
            object.__setattr__(self, "coordinates", tuple(str(part).strip() for part in parts))
        if self.unit is not None and self.unit not in KM_IN:
            raise InputError(f"--unit {self.unit}: choose one of {', '.join(KM_IN)}")


def read(
    path: str | PathLike[str],
    layout: Layout | None = None,
    *,
    distances: str | PathLike[str] | None = None,
    vectors: str | PathLike[str] | None = None,
    **columns: Any,
) -> Microdata:
    """Return the microdata of a file; every complaint names the file, row, column and value.

    ``columns`` are fields of ``Layout`` by name; given with a layout they overrule it. Distances come from coordinate
    columns, from the file ``distances`` (a matrix or a list i, j, distance), from the NumPy file ``vectors`` (one row
    per record), or from the geometry of a GeoPackage, GeoJSON, GeoParquet or shapefile.

    >>> from disclique.synthetic.survey import survey_file
    >>> read(survey_file(), labels=["sex"], id="id", coordinates="lon,lat").distances
    500 points, sphere
    """
    layout = replace(layout or Layout(), **columns)
    path = Path(path)
    frame, places = _records(path, layout, [what for what in (distances, vectors) if what is not None])
    for spec in layout.generalise:
        frame = parse_generaliser(spec).apply(frame, str(path))
    if layout.id is not None and layout.id not in frame.columns and not layout.id_optional:
        there = ", ".join(map(repr, map(str, frame.columns)))  # row numbers instead would be a wrong truth
        raise InputError(f"{path}: no id column {layout.id!r}; it has {there}")
    id = layout.id if layout.id in frame.columns else None
    if distances is None:
        if vectors is not None:
            places, metric = read_vectors(Path(vectors), len(frame)), layout.metric or "euclidean"
            about = f"{path} with {vectors}"
        else:
            metric, about = layout.metric or "sphere", str(path)
        found = microdata(frame, layout.labels, coordinates=places, metric=metric, ids=id, name=about)
        return replace(found, name=str(path))
    values, absent = read_distances(
        Path(distances),
        record_ids(frame, id, str(path)),
        directed=layout.directed,
        unpublished=layout.unpublished,
    )
    scale = KM_IN[layout.unit] if layout.unit else 1.0
    matrix = Matrix(values * scale, layout.directed, absent)
    return microdata(frame, layout.labels, distances=matrix, ids=id, name=str(path))


def _records(path: Path, layout: Layout, beside: Sequence[object]) -> tuple[pd.DataFrame, Any]:
    """Return the table of a file and the columns of its coordinates, in degrees where the reference system is known.

    ``beside`` are the files of distances and vectors that are given.
    """
    sources = len(beside) + (layout.coordinates is not None)
    wanted = f"{path}: give either a distance file, a vector file or coordinate columns"
    if sources > 1:
        raise InputError(f"{wanted}; {'both' if sources == 2 else 'all'} are given")
    by_geometry = sources == 0
    if by_geometry and not is_geographic(path):
        raise InputError(f"{wanted}; neither is given")
    if by_geometry:
        frame = read_points(path, layout.crs)
    elif layout.coordinates is not None and layout.crs is not None:
        frame = to_degrees(read_table(path), layout.coordinates, layout.crs, str(path))
    else:
        return read_table(path), layout.coordinates
    if (layout.metric or "sphere") not in GEOGRAPHIC:
        raise InputError(f"{path}: places of a known reference system are measured on the sphere or wgs84")
    return frame, (LON, LAT)
