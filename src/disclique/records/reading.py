"""Microdata from files, frames, arrays and lists: the one way in for Python and for every command."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_kind, check_path, show
from disclique.errors import InputError, guess_meant
from disclique.geodesy import GEOGRAPHIC
from disclique.messages import Message, mark
from disclique.model import Microdata, Roles, Source
from disclique.records.coarsening import parse_generaliser
from disclique.records.companions import entry_of, matrix, read_distances, read_encodings, read_vectors
from disclique.records.formats import Part, has_places, no_column, plain_dates, read_table
from disclique.records.formats.layers import read_points
from disclique.records.formats.projections import LAT, LON, read_crs, to_degrees
from disclique.records.formats.spreadsheets import check_dates
from disclique.records.joins import BY_POSITION, Roster, roster_of_index
from disclique.records.labels import canonical_labels
from disclique.records.near import TRAVEL, Ground, check_asked, prepare_near, wish_of
from disclique.records.number_columns import add_near, parse_numbers, read_numbers
from disclique.records.placing import CATEGORY, Coordinates, are_names, place_records, put_in_order
from disclique.records.references import add_references
from disclique.spaces import Encodings, Matrix, Nothing, Texts, wrap
from disclique.spaces.base import Distances
from disclique.spaces.bits import form_of, parse_encodings
from disclique.spaces.matrix import check_matrix
from disclique.spaces.metrics import Metric
from disclique.spaces.strings import DEFAULT, join_columns
from disclique.units import AROUND, KM, check_unit
from disclique.values import canonical


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
    keep codes instead of value labels. ``numbers`` are columns of numbers that both sides can know, with their unit:
    ``{"km_hospital": "km", "income": "none"}``, or ``["km_hospital:km"]``. ``near`` are further such columns that
    follow from coordinates: ``["km_hospital=hospitals.gpkg", "km_station=point:13.369,52.525"]``; one that the table
    has, and ``numbers`` names, is taken from it. ``sensitive``, ``plain`` and ``weight`` are further columns (see
    ``Roles``). ``leave_out`` are ids of records that are not read, or a table with them in its id column.
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
    layout = check_kind(layout or Layout(), Layout, "layout", "wanted_layout")
    known = [field.name for field in fields(Layout)]
    for name in columns:
        if name not in known:
            raise InputError("unknown_read_option", option=name, known=known, meant=guess_meant(name, known))
    layout = replace(layout, **columns)
    layout.check_source(path, distances, vectors)
    found = _read(path, layout, distances, vectors)
    return found if layout.leave_out is None else leave_out(found, list_left_out(layout))


def _read(
    path: Path, layout: Layout, distances: str | PathLike[str] | None, vectors: str | PathLike[str] | None
) -> Microdata:
    """Return all records of a file, with how it was written."""
    frame, places, source = _records(path, layout, by_columns=distances is not None or vectors is not None)
    found = _read_space(path, layout, (frame, places), distances, vectors)
    hidden = (*source.columns, *(() if source.encodings is None else (source.encodings,)))
    for column in found.roles.released:
        if column in hidden:
            raise InputError("column_of_two_roles", file=str(path), column=column)
    roles = replace(found.roles, coordinates=source.columns or found.roles.coordinates)
    return replace(found, source=source, roles=roles)


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
    about: dict[str, Any] = {"ids": id, "name": str(path), "unit": layout.unit, "numbers": layout.numbers}
    about |= {"near": prepare_near(layout.near, layout.ground), "references": layout.references}
    about |= {"sensitive": layout.sensitive, "plain": layout.plain, "weight": layout.weight}
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
        there = [repr(str(name)) for name in frame.columns]
        raise InputError("no_encodings", path=path, column=layout.encodings, columns=there)
    return read_encodings(source, roster, id=layout.id, metric=_bits(layout), part=layout.part)


def _records(path: Path, layout: Layout, *, by_columns: bool) -> tuple[pd.DataFrame, Any, Source]:
    """Return the table of a file, the columns of its coordinates, and how these are written there.

    Coordinates are in degrees where the reference system is known.
    """
    alone = layout.coordinates is None and layout.without_distances and not has_places(path)
    if by_columns or alone or layout.text or layout.encodings is not None:
        frame = read_table(path, layout.part)
        return frame, None, _source_of_bits(frame, layout)
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


def _source_of_bits(frame: pd.DataFrame, layout: Layout) -> Source:
    """Say how the encodings of a column are written, if a column of the table has some."""
    column = layout.encodings
    if column is None or column not in frame.columns:
        return Source(unit=layout.unit)
    return Source(encodings=column, form=form_of(list(frame[column])))


def microdata(  # noqa: PLR0913 - the public door
    table: pd.DataFrame,
    labels: Sequence[str] = (),
    *,
    distances: Any = None,
    coordinates: Coordinates | None = None,
    text: str | Sequence[str] | None = None,
    metric: Metric | None = None,
    ids: str | None = None,
    unit: str | None = None,
    numbers: Any = None,
    near: Any = None,
    references: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    plain: Sequence[str] = (),
    weight: str | None = None,
    name: str = "microdata",
    **options: bool,
) -> Microdata:
    """Return microdata in a metric space from a table and one source of distances.

    >>> people = pd.DataFrame({"sex": ["f", "m"], "lon": [13.4, 2.35], "lat": [52.5, 48.86]})
    >>> microdata(people, ["sex"], coordinates=["lon", "lat"])
    Microdata('microdata': 2 records, label (sex), 2 points, sphere)

    Parameters
    ----------
    table : DataFrame
        One row per record.
    labels : list of column names
        The quasi-identifiers; records match only if all of them coincide. Without any, all records may match.
    distances : array, DataFrame or Distances
        A square matrix, symmetric but for rounding unless ``directed``: an array in the order of the rows, or a
        DataFrame, which is joined by its index, columns or first column to ``ids`` (without them to the index of the
        table) if they are more than a default numbering. Or a DataFrame with three columns i, j, distance (record ids,
        or row numbers counted from 1), where a pair that is not listed is a distance that was not published. Or what
        ``Texts`` and ``Encodings`` of this many records are.
    coordinates : column names, or array of shape (records, columns)
        Longitude and latitude in degrees, or any number of columns with ``metric="euclidean"``, ``"cosine"`` (1 - cos)
        or ``"gower"`` (numbers and categories; write ``"religion:category"`` where categories are written as numbers).
        Give this, ``distances`` or ``text``.
    text : column name, or list of them
        Strings to compare, such as names; several columns are joined by one blank.
    metric : "sphere" (km, R = 6371), "wgs84" (km), "euclidean", "cosine", "gower", or a function of two points
        For text "dice:q=2" (the default there), "levenshtein", "damerau" or "jaro-winkler".
    ids : column name
        Names the records in results; row numbers counted from 1 by default.
    unit : "km", "m" or "none"
        Of ``distances``, or of Euclidean coordinates: metres are converted to kilometres, ``none`` is for what is no
        length (travel times). Without one, lengths with a unit are refused, and so is a file of coordinates beside it.
    numbers : dict of columns and units, or list of "column:unit"
        Numbers that both sides can know, which agree up to what is done to them: distances to places in "km" or "m",
        years, incomes ("none"). A table of labels and numbers needs no distances.
    near : text, or list of them
        Further numbers that follow from coordinates: "km_hospital=hospitals.gpkg", "km_station=point:13.369,52.525",
        with "as=classes:1km,5km", "as=name" (a label) or "as=count:within=2km" behind.
    references : list of "name=file"
        Further numbers: how far each record lies from public strings or vectors, "ref=references.csv".
    sensitive, plain : lists of column names
        Further columns that are released: of ``sensitive`` ones it is asked what a snooper learns, ``plain`` ones are
        released as they are. What has no role is never released.
    weight : column name
        For how many people of the population each record stands.
    name : str
        How messages call this table.
    directed : bool
        The distance from i to j may differ from the one from j to i.
    unpublished : bool
        NaN in a matrix means that the distance was not published.
    by_position : bool
        Take matrices and coordinates in the order of the rows whatever names they carry; False insists on names.
    """
    strange = set(options) - {"directed", "unpublished", "by_position"}
    if strange:
        raise InputError("unknown_microdata_option", file=name, option=min(strange))
    if not isinstance(table, pd.DataFrame):
        raise InputError("not_a_frame", file=name, kind=type(table).__name__)
    if len(table) == 0:
        raise InputError("table_without_records", file=name)
    labels = check_names(labels, f"{name}: labels")
    for flag, held in options.items():
        if flag != "by_position" or held is not None:  # None: by ids where there are some
            check_kind(held, bool, f"{name}: {flag}", "wanted_truth_value")
    given = [what for what in (distances, coordinates, text) if what is not None]
    from_places = check_asked(near)
    computed = {wish_of(one).name for one in from_places} - set(table.columns)
    asked = [number for number, _ in parse_numbers(numbers)]
    _refuse_twice(labels, [ids, *_names_in(coordinates), *_names_in(text)], asked, name)
    found = read_numbers(table, dict(one for one in parse_numbers(numbers) if one[0] not in computed), name)
    if len(given) > 1 or (not given and not len(found) and not from_places):
        raise InputError(mark("give_one_source_only") if given else mark("give_one_source"), file=name)
    if isinstance(distances, (str, PathLike)):
        raise InputError("distances_are_a_path", file=name, shown=show(distances))
    named = record_ids(table, ids, name)
    by_position = options.get("by_position")
    roster = roster_of_index(table, name, by_position) if ids is None else Roster(named, ids, name, table, by_position)
    roster = replace(roster, parts=(mark("part_index"), mark("part_columns")))
    source: Distances = Nothing(len(table))
    joined = ""
    if given:
        source, joined = _find_source(table, roster, distances, coordinates, text, metric, options)
        source = say_unit(source, unit, name)
    if source.size != len(table):
        raise InputError("other_number_of_distances", file=name, records=len(table), size=source.size)
    kept = canonical_labels(table, [one for one in labels if one not in computed], name)
    roles = _check_roles(
        table,
        Roles(
            ids,
            tuple(str(one).removesuffix(CATEGORY) for one in _names_in(coordinates)),
            _names_in(text),
            tuple(map(str, check_names(sensitive, f"{name}: sensitive"))),
            tuple(map(str, check_names(plain, f"{name}: plain"))),
            weight,
        ),
        (*labels, *asked),
        name,
    )
    data = add_references(
        Microdata(table, kept, source, named, name, joined, found, roles, Source(roles.coordinates, unit=unit)),
        check_names(references, f"{name}: references"),
    )
    if not from_places:
        return data
    columns = tuple(map(str, coordinates)) if coordinates is not None and are_names(coordinates) else ()  # type: ignore[arg-type]
    on_earth = source.points() is None or source.on_earth
    return add_near(data, prepare_near(from_places, Ground(on_earth, columns, unit=unit)), labels)


def _find_source(
    table: pd.DataFrame,
    roster: Roster,
    distances: Any,
    coordinates: Coordinates | None,
    text: str | Sequence[str] | None,
    metric: Metric | None,
    options: Mapping[str, bool],
) -> tuple[Distances, str]:
    """Return the distances from the one source that is given, and how they were joined to the table."""
    name, directed, unpublished = roster.name, options.get("directed", False), options.get("unpublished", False)
    if text is not None:
        columns = check_names(text, f"{name}: text")
        return Texts(join_columns(table, columns, name=name), str(metric or DEFAULT), columns), ""
    if coordinates is not None:
        joined = ""
        if isinstance(coordinates, str):
            coordinates = [part.strip() for part in coordinates.split(",")]
        if not are_names(coordinates):
            coordinates, joined = put_in_order(coordinates, roster, name)
        return place_records(table, coordinates, metric or "sphere", directed=directed, name=name), joined
    if (computed := wrap(distances)) is not None:
        return computed, BY_POSITION
    values, listed, joined = matrix(distances, roster, directed=directed, name=name)
    values = check_matrix(values, directed=directed, unpublished=unpublished or listed, where=entry_of(name))
    return Matrix(values, directed, unpublished or listed), joined


def _refuse_twice(labels: Iterable[Any], hidden: Iterable[Any], numbers: Collection[str], name: str) -> None:
    """Refuse a column that is a label and a number, and a number that is never released as it is."""
    for column in labels:
        if column in numbers:
            raise InputError("label_and_number", file=name, column=column)
    for column in hidden:
        if column in numbers:
            raise InputError("column_is_hidden", name=column)


def _check_roles(table: pd.DataFrame, roles: Roles, known: Collection[Any], name: str) -> Roles:
    """Return the roles of columns; refuse one that is not there, and one that has two roles."""
    taken = [*roles.hidden, *known]
    for column in (*roles.released, *(() if roles.weight is None else (roles.weight,))):
        if column not in table.columns:
            raise no_column(name, column, table.columns)
        if column in taken and not (column == roles.weight and column in roles.plain):  # a weight may be released
            raise InputError("column_of_two_roles", file=name, column=column)
        taken.append(column)
    if roles.weight is not None:
        _check_weights(table[roles.weight], name)
    return roles


def _check_weights(column: pd.Series, name: str) -> None:
    """Refuse a weight that stands for no people: one that is missing, no number, zero or below."""
    found = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    wrong = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
    if len(wrong):
        row, value = int(wrong[0]) + 1, show(column.iloc[wrong[0]])
        raise InputError("weight_of_nobody", file=name, column=str(column.name), row=row, value=value)


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


def leave_out(data: Microdata, ids: Collection[Hashable]) -> Microdata:
    """Return a file without some records; one that is not there is refused: the list may be that of another file."""
    if not ids:
        return data
    gone = set(ids)
    strange = gone - set(data.ids)
    if strange:
        raise InputError("not_there_to_leave_out", file=data.name, id=sorted(map(str, strange))[0], count=len(strange))
    rows = np.array([row for row, person in enumerate(data.ids) if person not in gone], dtype=np.int64)
    if not len(rows):
        raise InputError("everybody_left_out", file=data.name)
    return select_records(data, rows)


def _names_in(given: Any) -> tuple[str, ...]:
    """Return the columns that are named, also in one text; none where there are values."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(","))
    return tuple(given) if given is not None and are_names(given) else ()


def check_names(names: object, what: str) -> tuple[Any, ...]:
    """Return one or more names of columns as a tuple."""
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable):
        raise InputError("not_names_of_columns", what=what, shown=show(names))
    return tuple(names)


def say_unit(source: Distances, unit: str | None, name: str) -> Distances:
    """Return the distances with the unit that is said of them; refuse one that they cannot have."""
    said, has = check_unit(unit, f"{name}: unit"), source.unit
    if said is None or said == has:
        return source
    found = source.with_unit(said) if has is None else None
    if found is None:
        are = Message(mark("in_km_already") if has == KM else mark("plain_numbers"))
        raise InputError("unit_not_of_these", file=name, unit=said, source=repr(source), are=are)
    largest = found.longest()
    if found.unit == KM and largest > AROUND:
        meant = Message("are_these_metres") if said == KM else None
        raise InputError("unit_longer_than_earth", file=name, unit=said, largest=largest, meant=meant)
    return found


def select_records(data: Microdata, rows: NDArray[np.integer]) -> Microdata:
    """Return some records of a file, in the order of ``rows``."""
    table, labels = (frame.iloc[rows].reset_index(drop=True) for frame in (data.table, data.labels))
    ids = tuple(data.ids[row] for row in rows)
    return replace(
        data,
        table=table,
        labels=labels,
        distances=data.distances.select(rows),
        ids=ids,
        numbers=data.numbers.select(rows),
    )


def record_ids(table: pd.DataFrame, column: str | None, name: str) -> tuple[Hashable, ...]:
    """Return a name for each record: the column's values, or row numbers counted from 1."""
    if column is None:
        return tuple(range(1, len(table) + 1))
    if not isinstance(column, Hashable):
        raise InputError("not_one_column", file=name, shown=show(column))
    if column not in table.columns:
        raise no_column(name, column, table.columns)
    found = [canonical(value) for value in table[column]]
    seen: dict[Hashable, int] = {}
    for row, value in enumerate(found):
        if value is None:
            raise InputError("id_missing", file=name, row=row + 1, column=column)
        if seen.setdefault(value, row) != row:
            cell = {"row": row + 1, "column": column, "value": value}
            raise InputError("id_twice", file=name, **cell, first=seen[value] + 1)
    return tuple(seen)
