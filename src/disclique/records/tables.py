"""Microdata from a table in memory and one source of distances: the checks that every way in shares."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_kind, show
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.messages import Message, mark
from disclique.model import Microdata, Roles, Source
from disclique.records.companions import entry_of, matrix
from disclique.records.formats import PlaceColumns, no_column
from disclique.records.formats.layers import is_layer, split_points
from disclique.records.formats.projections import LAT, LON
from disclique.records.joins import BY_POSITION, Roster, roster_of_index
from disclique.records.labels import canonical_labels
from disclique.records.near import Ground, check_asked, prepare_near, wish_of
from disclique.records.number_columns import add_near, parse_numbers, read_numbers
from disclique.records.placing import CATEGORY, Coordinates, are_names, place_records, put_in_order
from disclique.records.references import add_references
from disclique.spaces import Matrix, Nothing, wrap
from disclique.spaces.base import Distances
from disclique.spaces.matrix import check_matrix
from disclique.spaces.metrics import Metric
from disclique.spaces.strings import DEFAULT, find_texts, texts_of
from disclique.units import AROUND, KM, check_unit
from disclique.values import canonical


def microdata(  # noqa: PLR0913 - the public door
    table: pd.DataFrame,
    labels: Sequence[str] = (),
    *,
    distances: Any = None,
    coordinates: Coordinates | None = None,
    text: str | Sequence[str] | None = None,
    metric: Metric | None = None,
    id: str | None = None,
    unit: str | None = None,
    numbers: Any = None,
    near: Any = None,
    references: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    plain: Sequence[str] = (),
    weight: str | None = None,
    name: str = "microdata",
    **options: Any,
) -> Microdata:
    """Return microdata in a metric space from a table and one source of distances.

    >>> people = pd.DataFrame({"sex": ["f", "m"], "lon": [13.4, 2.35], "lat": [52.5, 48.86]})
    >>> microdata(people, ["sex"], coordinates=["lon", "lat"])
    Microdata('microdata': 2 records, label (sex), 2 points, sphere)

    Parameters
    ----------
    table : DataFrame
        One row per record. The points of a GeoDataFrame are its coordinates, in the reference system that it names.
    labels : list of column names
        The quasi-identifiers; records match only if all of them coincide. Without any, all records may match.
    distances : array, DataFrame or Distances
        A square matrix, symmetric but for rounding unless ``directed``: an array in the order of the rows, or a
        DataFrame, which is joined by its index, columns or first column to ``id`` (without them to the index of the
        table) if they are more than a default numbering. Or a DataFrame with three columns i, j, distance (record ids,
        or row numbers counted from 1), where a pair that is not listed is a distance that was not published. Or what
        ``Texts`` and ``Encodings`` of this many records are.
    coordinates : column names, or array of shape (records, columns)
        Longitude and latitude in degrees, or any number of columns with ``metric="euclidean"``, ``"cosine"`` (1 - cos)
        or ``"gower"`` (numbers and categories; write ``"religion:category"`` where categories are written as numbers).
        Give this, ``distances`` or ``text``.
    text : column name, or list of them
        Strings to compare, such as names; several columns are joined by one blank. Records without any text are left
        out, and counted in the look at the input.
    metric : "sphere" (km, R = 6371), "wgs84" (km), "euclidean", "cosine", "gower", or a function of two points
        For text "dice:q=2" (the default there), "levenshtein", "damerau" or "jaro-winkler".
    id : column name
        Names the records in results; row numbers counted from 1 by default. ``ids`` is its name of old.
    unit : "km", "m", "min", "h", "s" or "none"
        Of ``distances``, or of Euclidean coordinates: metres are converted to kilometres, travel times to minutes,
        ``none`` is for plain numbers. Without one, lengths with a unit are refused, and so is a file of coordinates
        beside it.
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
    ids = options.pop("ids", None) if id is None else id
    strange = set(options) - {"directed", "unpublished", "by_position"}
    if strange:
        raise InputError("unknown_microdata_option", file=name, option=min(strange))
    if not isinstance(table, pd.DataFrame):
        raise InputError("not_a_frame", file=name, kind=type(table).__name__)
    held = None
    if is_layer(table) and distances is None and coordinates is None and text is None:
        table, held = _split_layer(table, metric, name)
        coordinates = [LON, LAT]
    if len(table) == 0:
        raise InputError("table_without_records", file=name)
    table, rows, textless = _leave_out_textless(table, text, name)
    labels = check_names(labels, f"{name}: labels")
    for flag, said in options.items():
        if flag != "by_position" or said is not None:  # None: by ids where there are some
            check_kind(said, bool, f"{name}: {flag}", "wanted_truth_value")
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
    named = rows if textless and ids is None else record_ids(table, ids, name)
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
    written = Source(roles.coordinates, unit=unit)
    if held is not None:
        roles, written = replace(roles, coordinates=()), Source(geometry=held.geometry, crs=held.crs)
    data = add_references(
        Microdata(table, kept, source, named, name, joined, found, roles, written, textless=textless),
        check_names(references, f"{name}: references"),
    )
    if not from_places:
        return data
    columns = tuple(map(str, coordinates)) if coordinates is not None and are_names(coordinates) else ()  # type: ignore[arg-type]
    on_earth = source.points() is None or source.on_earth
    return add_near(data, prepare_near(from_places, Ground(on_earth, columns, unit=unit)), labels)


def _split_layer(layer: pd.DataFrame, metric: Metric | None, name: str) -> tuple[pd.DataFrame, PlaceColumns]:
    """Return the table of a GeoDataFrame with the degrees of its points, and how it holds these."""
    if (metric or "sphere") not in GEOGRAPHIC:
        raise InputError("earth_needs_its_metric", path=name)
    return split_points(layer, name)


def _leave_out_textless(
    table: pd.DataFrame, text: str | Sequence[str] | None, name: str
) -> tuple[pd.DataFrame, tuple[int, ...], int]:
    """Return the records that have text, their rows from 1, and how many have none: by it nobody can be found.

    A table in which no record has any is left as it is, to be refused.
    """
    if text is None:
        return table, (), 0
    there = find_texts(table, check_names(text, f"{name}: text"))
    if there.all() or not there.any():
        return table, (), 0
    rows = np.flatnonzero(there)
    return table.iloc[rows].reset_index(drop=True), tuple((rows + 1).tolist()), int((~there).sum())


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
        return texts_of(table, columns, str(metric or DEFAULT), name=name), ""
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
