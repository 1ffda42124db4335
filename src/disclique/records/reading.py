"""From files to microdata: the one way in for Python and for every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from disclique.arguments import check_kind, check_path
from disclique.errors import InputError, guess_meant
from disclique.geodesy import GEOGRAPHIC
from disclique.model import Microdata
from disclique.records.formats.files import Part, read_distances, read_encodings, read_table, read_vectors
from disclique.records.formats.layers import LAT, LON, is_geographic, read_points, to_degrees
from disclique.records.formats.workbooks import check_dates, plain_dates
from disclique.records.generalise import parse_generaliser
from disclique.records.joins import Roster
from disclique.records.tables import check_names, microdata, record_ids
from disclique.spaces.bits import Encodings, parse_encodings
from disclique.spaces.distances import Matrix
from disclique.spaces.metrics import Metric
from disclique.units import check_unit


@dataclass(frozen=True)
class Layout:
    """How a file is to be read: which columns mean what, in which unit and reference system.

    ``labels``, ``id`` and ``coordinates`` are column names, the last also as one text ``"lon,lat"``, ``text`` one or
    more with strings to compare, also as one text. ``encodings`` is a column of encodings, or a file of them.
    ``metric`` is that of what is given: ``sphere`` or ``wgs84`` for two coordinates, ``euclidean``, ``cosine`` or
    ``gower`` for any number, ``euclidean`` or ``cosine`` for vectors, ``dice:q=2``, ``levenshtein``, ``damerau`` or
    ``jaro-winkler`` for text, ``dice``, ``jaccard`` or ``hamming`` for encodings; the first by default, for coordinates
    ``sphere``. ``crs`` is the reference system of coordinates that are not degrees of WGS 84; ``unit`` is that of
    a distance file or of euclidean coordinates, km, m or none. ``generalise`` makes coarser columns
    (``cob=century:yob``). ``directed`` and ``unpublished`` are as in ``microdata``. With ``id_optional`` a file without
    the id column is read too, its records named by row. Matrices, vectors and encodings beside the table are joined by
    the ids that they carry; with ``by_position`` as they stand, and with False only by ids. ``sheet`` and ``layer``
    say which one is meant where a workbook or GeoPackage has several; with ``codes`` files of Stata, SPSS and SAS
    keep codes instead of value labels.
    """

    labels: Sequence[str] = ()
    id: str | None = None
    coordinates: Sequence[str] | None = None
    text: Sequence[str] = ()
    encodings: str | None = None
    metric: Metric | None = None
    crs: str | None = None
    unit: str | None = None
    generalise: Sequence[str] = ()
    directed: bool = False
    unpublished: bool = False
    id_optional: bool = False
    by_position: bool | None = None
    sheet: str | None = None
    layer: str | None = None
    codes: bool = False

    def __post_init__(self) -> None:
        for name in ("labels", "generalise"):
            object.__setattr__(self, name, tuple(map(str, check_names(getattr(self, name), name))))
        for name in ("coordinates", "text"):
            value = getattr(self, name)
            if value is not None:
                parts = value.split(",") if isinstance(value, str) else check_names(value, name)
                object.__setattr__(self, name, tuple(str(part).strip() for part in parts))
        check_unit(self.unit, "--unit")
        object.__setattr__(self, "text", self.text or ())

    @property
    def part(self) -> Part:
        """Which part of a file is meant."""
        return Part(self.sheet, self.layer, bool(self.codes))

    def check_source(self, path: Path, distances: object, vectors: object = None) -> None:
        """Raise an error unless exactly one source of distances is given; the geometry of a file is one, too."""
        sources = {
            "a distance file": distances is not None,
            "coordinate columns": self.coordinates is not None,
            "columns of text": bool(self.text),
            "encodings": self.encodings is not None,
            "a vector file": vectors is not None,
        }
        given = [name for name, there in sources.items() if there]
        if len(given) > 1:
            raise InputError(f"{path}: {' and '.join(given)} are given; distances come from one of them")
        if not given and not is_geographic(path):
            raise InputError(f"{path}: nothing gives distances; name {', '.join(sources)}")


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
    columns, columns of text, encodings, the file ``distances`` (a matrix or a list i, j, distance), the NumPy file
    ``vectors`` (one row per record; or a table with an id column), or from the geometry of a GeoPackage, GeoJSON,
    GeoParquet or shapefile. Tables are CSV, TSV, Parquet, xlsx, Stata, SPSS or SAS files.

    >>> from disclique.synthetic.survey import survey_file
    >>> read(survey_file(), labels=["sex"], id="id", coordinates="lon,lat").distances
    500 points, sphere
    """
    path = check_path(path, "path")
    layout = check_kind(layout or Layout(), Layout, "layout", "wanted_layout")
    known = [field.name for field in fields(Layout)]
    for name in columns:
        if name not in known:
            meant = guess_meant(name, known) or ""
            raise InputError(f"read: unknown option {name!r}; there are {', '.join(known)}{meant}")
    layout = replace(layout, **columns)
    layout.check_source(path, distances, vectors)
    frame, places = _records(path, layout, by_columns=distances is not None or vectors is not None)
    rules = [parse_generaliser(spec) for spec in layout.generalise]
    used = [*layout.labels, *(rule.source for rule in rules), *layout.text, *([] if layout.id is None else [layout.id])]
    check_dates(frame, dict.fromkeys(used), str(path))
    for rule in rules:
        frame = rule.apply(frame, str(path))
    if layout.id is not None and layout.id not in frame.columns and not layout.id_optional:
        there = ", ".join(map(repr, map(str, frame.columns)))  # row numbers instead would be a wrong truth
        raise InputError(f"{path}: no id column {layout.id!r}; it has {there}")
    id = layout.id if layout.id in frame.columns else None
    about: dict[str, Any] = {"ids": id, "name": str(path), "unit": layout.unit}
    if layout.encodings is not None and layout.encodings in frame.columns:
        made = parse_encodings(list(frame[layout.encodings]), _bits(layout), name=str(path), column=layout.encodings)
        return replace(microdata(frame, layout.labels, distances=made, **about), joined="")
    if layout.text:
        return microdata(frame, layout.labels, text=layout.text, metric=layout.metric, **about)
    if distances is None and vectors is None and layout.encodings is None:
        return microdata(frame, layout.labels, coordinates=places, metric=layout.metric, **about)
    roster = Roster(record_ids(frame, id, str(path)), id, str(path), frame, layout.by_position)
    if vectors is not None:
        places, joined = read_vectors(Path(vectors), roster, id=layout.id, part=layout.part)
        found = microdata(frame, layout.labels, coordinates=places, metric=layout.metric or "euclidean", **about)
    elif distances is None:
        made, joined = _encodings(path, frame, roster, layout)
        found = microdata(frame, layout.labels, distances=made, **about)
    else:
        values, absent, joined = read_distances(
            Path(distances), roster, directed=layout.directed, unpublished=layout.unpublished, part=layout.part
        )
        matrix = Matrix(values, layout.directed, absent)
        found = microdata(frame, layout.labels, distances=matrix, **about)
    return replace(found, joined=joined)


def _bits(layout: Layout) -> str:
    return str(layout.metric or "dice")


def _encodings(path: Path, frame: pd.DataFrame, roster: Roster, layout: Layout) -> tuple[Encodings, str]:
    """Return the encodings in a file of their own, and how they were joined."""
    source = Path(str(layout.encodings))
    if not source.exists():
        there = ", ".join(map(repr, map(str, frame.columns)))
        raise InputError(f"{path}: no column {layout.encodings!r} of encodings, and no such file; it has {there}")
    return read_encodings(source, roster, id=layout.id, metric=_bits(layout), part=layout.part)


def _records(path: Path, layout: Layout, *, by_columns: bool) -> tuple[pd.DataFrame, Any]:
    """Return the table of a file and the columns of its coordinates, in degrees where the reference system is known."""
    if by_columns or layout.text or layout.encodings is not None:
        return read_table(path, layout.part), None
    if layout.coordinates is None:
        frame = plain_dates(read_points(path, layout.crs, layout.layer))
    elif layout.crs is not None:
        frame = to_degrees(read_table(path, layout.part), layout.coordinates, layout.crs, str(path))
    else:
        return read_table(path, layout.part), layout.coordinates
    if (layout.metric or "sphere") not in GEOGRAPHIC:
        raise InputError(f"{path}: places of a known reference system are measured on the sphere or wgs84")
    return frame, (LON, LAT)
