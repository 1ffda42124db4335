"""Microdata from files: the one way in for every command, and for Python's ``read``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from disclique.arguments import check_kind, check_path
from disclique.errors import InputError, guess_meant
from disclique.geodesy import GEOGRAPHIC
from disclique.messages import Message, mark
from disclique.model import Microdata, Source
from disclique.records.coarsening import parse_generaliser
from disclique.records.companions import read_distances, read_vectors
from disclique.records.encoded_people import encode_columns, name_columns, name_files, read_encodings
from disclique.records.formats import Part, format_of, has_places, plain_dates, read_table
from disclique.records.formats.layers import read_points
from disclique.records.formats.projections import LAT, LON, read_crs, to_degrees
from disclique.records.formats.spreadsheets import check_dates
from disclique.records.joins import Roster
from disclique.records.near import TRAVEL, Ground, check_asked, prepare_near, wish_of
from disclique.records.number_columns import parse_numbers
from disclique.records.placing import CATEGORY
from disclique.records.tables import check_names, leave_out, microdata, record_ids
from disclique.spaces import Encodings, Matrix
from disclique.spaces.metrics import Metric
from disclique.units import check_unit
from disclique.values import canonical

# Names of the command line, and of old, for what one name stands for in Python.
OTHER_NAMES = {"ids": "id", "label": "labels", "number": "numbers", "reference": "references"}


@dataclass(frozen=True)
class Layout:
    """How a file is to be read: which columns mean what, in which unit and reference system.

    ``labels``, ``id`` and ``coordinates`` are column names, the last also as one text ``"lon,lat"``, ``text`` one or
    more with strings to compare, also as one text. ``encodings`` are columns of encodings, or files of them; several
    are parts of the encoding of one person. ``metric`` is that of what is given: ``sphere`` or ``wgs84`` for two
    coordinates, ``euclidean``, ``cosine`` or ``gower`` for any number, ``euclidean`` or ``cosine`` for vectors,
    ``dice:q=2``, ``levenshtein``, ``damerau`` or ``jaro-winkler`` for text, ``dice``, ``jaccard`` or ``hamming`` for
    encodings; the first by default, for coordinates ``sphere``. ``crs`` is the reference system of coordinates that are
    not degrees of WGS 84; ``unit`` is that of a distance file or of euclidean coordinates, km, m or none.
    ``generalise`` makes coarser columns (``cob=century:yob``). ``directed`` and ``unpublished`` are as in
    ``microdata``. With ``id_optional`` a file without the id column is read too, its records named by row. Matrices,
    vectors and encodings beside the table are joined by the ids that they carry; with ``by_position`` as they stand,
    and with False only by ids. ``sheet`` and ``layer`` say which one is meant where a workbook or GeoPackage has
    several; with ``codes`` files of Stata, SPSS and SAS keep codes instead of value labels. ``numbers`` are columns of
    numbers that both sides can know, with their unit: ``{"km_hospital": "km", "income": "none"}``, or
    ``["km_hospital:km"]``. ``near`` are further such columns that follow from coordinates:
    ``["km_hospital=hospitals.gpkg", "km_station=point:13.369,52.525"]``; one that the table has, and ``numbers`` names,
    is taken from it. ``sensitive``, ``plain`` and ``weight`` are further columns (see ``Roles``). ``leave_out`` are ids
    of records that are not read, or a table with them in its id column.
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
    numbers: Any = ()
    near: Any = ()
    references: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    plain: Sequence[str] = ()
    weight: str | None = None
    leave_out: Any = ()

    def __post_init__(self) -> None:
        for name in ("labels", "generalise", "references", "sensitive", "plain"):
            object.__setattr__(self, name, tuple(map(str, check_names(getattr(self, name), name))))
        for name in ("coordinates", "text"):
            value = getattr(self, name)
            if value is not None:
                parts = value.split(",") if isinstance(value, str) else check_names(value, name)
                object.__setattr__(self, name, tuple(str(part).strip() for part in parts))
        given: Any = self.encodings  # several as a list, too
        if given is not None:
            several = (given,) if isinstance(given, PathLike) else check_names(given, "encodings")
            object.__setattr__(self, "encodings", ",".join(map(str, several)))
        check_unit(self.unit, "--unit")
        object.__setattr__(self, "numbers", parse_numbers(self.numbers))
        object.__setattr__(self, "near", check_asked(self.near))
        object.__setattr__(self, "text", self.text or ())

    @property
    def without_distances(self) -> bool:
        """Whether numbers and labels may be all there is."""
        return bool(self.numbers) or any(wish_of(one).kind == TRAVEL for one in self.near)

    @property
    def ground(self) -> Ground:
        """In which coordinates people are given."""
        on_earth = (self.metric or "sphere") in GEOGRAPHIC
        return Ground(on_earth, tuple(self.coordinates or ()), self.crs, self.unit)

    @property
    def part(self) -> Part:
        """Which part of a file is meant."""
        return Part(self.sheet, self.layer, bool(self.codes))

    def takes_array(self, path: Path) -> bool:
        """Say whether a file is an array whose rows are the records, since nothing else is said of it."""
        kind = format_of(path)
        said = self.coordinates is not None or self.text or self.encodings is not None or self.near
        return kind is not None and kind.array is not None and not said

    def check_source(self, path: Path, distances: object, vectors: object = None) -> None:
        """Raise an error unless exactly one source of distances is given; the geometry of a file is one, too."""
        sources = {
            mark("source_distance_file"): distances is not None,
            mark("source_coordinates"): self.coordinates is not None,
            mark("source_text"): bool(self.text),
            mark("source_encodings"): self.encodings is not None,
            mark("source_vectors"): vectors is not None,
        }
        given = [Message(code) for code, there in sources.items() if there]
        if len(given) > 1:
            raise InputError("several_sources", path=path, sources=given)
        if not given and self.near and not has_places(path) and not self.without_distances:
            raise InputError("near_needs_coordinates", column=wish_of(self.near[0]).name)
        if not given and not has_places(path) and not self.without_distances:
            raise InputError("no_source", path=path, sources=list(map(Message, sources)))


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

    >>> from disclique.synthetic.examples import survey_file
    >>> read(survey_file(), labels=["sex"], id="id", coordinates="lon,lat").distances
    500 points, sphere
    """
    path = check_path(path, "path")
    if not path.exists():
        raise InputError("no_such_file", path=path)
    layout = check_kind(layout or Layout(), Layout, "layout", "wanted_layout")
    columns = {OTHER_NAMES.get(name, name): value for name, value in columns.items()}
    known = [field.name for field in fields(Layout)]
    for name in columns:
        if name not in known:
            raise InputError("unknown_read_option", option=name, known=known, meant=guess_meant(name, known))
    layout = replace(layout, **columns)
    if distances is None and vectors is None and layout.takes_array(path):
        return _read_array(path, layout)
    layout.check_source(path, distances, vectors)
    found = _read(path, layout, distances, vectors)
    return found if layout.leave_out is None else leave_out(found, list_left_out(layout))


def _read_array(path: Path, layout: Layout) -> Microdata:
    """Return the records of a NumPy file of vectors, a row each: they have no table, and are named by their rows."""
    if layout.id is not None and not layout.id_optional:
        raise InputError("no_id_column", path=path, column=layout.id, columns=[])
    kind = format_of(path)
    assert kind is not None
    assert kind.array is not None
    table, name = pd.DataFrame(index=range(len(kind.array(path)))), str(path)
    if not len(table):
        raise InputError("table_without_records", file=name)
    roster = Roster(record_ids(table, None, name), None, name, table, by_position=True)
    values, joined = read_vectors(path, roster)
    metric = layout.metric or "euclidean"
    made = microdata(table, layout.labels, coordinates=values, metric=metric, unit=layout.unit, name=name)
    return replace(made, joined=joined)


def _read(
    path: Path, layout: Layout, distances: str | PathLike[str] | None, vectors: str | PathLike[str] | None
) -> Microdata:
    """Return all records of a file, with how it was written."""
    frame, places, source = _records(path, layout, by_columns=distances is not None or vectors is not None)
    found = _read_space(path, layout, (frame, places), distances, vectors)
    for column in found.roles.released:
        if column in (*source.columns, *source.encodings):
            raise InputError("column_of_two_roles", file=str(path), column=column)
    roles = replace(found.roles, coordinates=source.columns or found.roles.coordinates)
    return replace(found, source=replace(source, form=found.source.form), roles=roles)


def _read_space(
    path: Path,
    layout: Layout,
    records: tuple[pd.DataFrame, Any],
    distances: str | PathLike[str] | None,
    vectors: str | PathLike[str] | None,
) -> Microdata:
    """Return the records of a table, and the columns of its places if it has some, with their distances."""
    frame, places = records
    rules = [parse_generaliser(spec) for spec in layout.generalise]
    used = [*layout.labels, *(rule.source for rule in rules), *layout.text, *([] if layout.id is None else [layout.id])]
    check_dates(frame, dict.fromkeys(used), str(path))
    for rule in rules:
        frame = rule.apply(frame, str(path))
    if layout.id is not None and layout.id not in frame.columns and not layout.id_optional:
        there = [repr(str(name)) for name in frame.columns]  # row numbers instead would be a wrong truth
        raise InputError("no_id_column", path=path, column=layout.id, columns=there)
    id = layout.id if layout.id in frame.columns else None
    about: dict[str, Any] = {"id": id, "name": str(path), "unit": layout.unit, "numbers": layout.numbers}
    about |= {"near": prepare_near(layout.near, layout.ground), "references": layout.references}
    about |= {"sensitive": layout.sensitive, "plain": layout.plain, "weight": layout.weight}
    if columns := name_columns(layout.encodings, frame.columns):
        metric = None if layout.metric is None else str(layout.metric)
        made, form = encode_columns(frame, columns, metric, name=str(path))
        return replace(microdata(frame, layout.labels, distances=made, **about), joined="", source=Source(form=form))
    if layout.text:
        return microdata(frame, layout.labels, text=layout.text, metric=layout.metric, **about)
    if distances is None and vectors is None and layout.encodings is None:
        return microdata(frame, layout.labels, coordinates=places, metric=layout.metric, **about)
    roster = Roster(record_ids(frame, id, str(path)), id, str(path), frame, layout.by_position)
    if vectors is not None:
        places, joined = read_vectors(Path(vectors), roster, id=layout.id, part=layout.part)
        found = microdata(frame, layout.labels, coordinates=places, metric=layout.metric or "euclidean", **about)
    elif distances is None:
        made, joined, form = _encodings(path, frame, roster, layout)
        found = replace(microdata(frame, layout.labels, distances=made, **about), source=Source(form=form))
    else:
        values, absent, joined = read_distances(
            Path(distances), roster, directed=layout.directed, unpublished=layout.unpublished, part=layout.part
        )
        matrix = Matrix(values, layout.directed, absent)
        found = microdata(frame, layout.labels, distances=matrix, **about)
    return replace(found, joined=joined)


def _encodings(path: Path, frame: pd.DataFrame, roster: Roster, layout: Layout) -> tuple[Encodings, str, str | None]:
    """Return the encodings in files of their own, how they were joined, and how they are written."""
    paths = name_files(str(layout.encodings))
    if not all(one.exists() for one in paths):
        there = [repr(str(name)) for name in frame.columns]
        raise InputError("no_encodings", path=path, column=layout.encodings, columns=there)
    metric = None if layout.metric is None else str(layout.metric)
    return read_encodings(paths, roster, id=layout.id, metric=metric, part=layout.part)


def _records(path: Path, layout: Layout, *, by_columns: bool) -> tuple[pd.DataFrame, Any, Source]:
    """Return the table of a file, the columns of its coordinates, and how these are written there.

    Coordinates are in degrees where the reference system is known.
    """
    alone = layout.coordinates is None and layout.without_distances and not has_places(path)
    if by_columns or alone or layout.text or layout.encodings is not None:
        frame = read_table(path, layout.part)
        return frame, None, Source(unit=layout.unit, encodings=name_columns(layout.encodings, frame.columns))
    if layout.coordinates is None:
        frame, held = read_points(path, layout.crs, layout.layer)
        frame, source = plain_dates(frame), Source(geometry=held.geometry, layer=held.layer, crs=held.crs)
    elif layout.crs is not None:
        frame = to_degrees(read_table(path, layout.part), layout.coordinates, layout.crs, str(path))
        source = Source(tuple(layout.coordinates), crs=read_crs(layout.crs).to_string())
    else:
        bare = tuple(str(one).removesuffix(CATEGORY) for one in layout.coordinates)
        return read_table(path, layout.part), layout.coordinates, Source(bare, unit=layout.unit)
    if (layout.metric or "sphere") not in GEOGRAPHIC:
        raise InputError("earth_needs_its_metric", path=path)
    return frame, (LON, LAT), source


def list_left_out(layout: Layout) -> tuple[Hashable, ...]:
    """Return the ids of the records that a layout leaves out, from a list or from a table."""
    given = layout.leave_out
    if not isinstance(given, (str, PathLike)):
        return tuple(canonical(one) for one in check_names(given, "leave_out"))
    path = check_path(given, "leave_out")
    table = read_table(path)
    column = layout.id if layout.id in table.columns else table.columns[0]
    if not len(table):
        raise InputError("nobody_to_leave_out", path=path)
    return record_ids(table, column, str(path))
