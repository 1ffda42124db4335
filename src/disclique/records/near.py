"""Distances to places: a column computed from the coordinates of people, such as the way to the nearest hospital.

``--near km_hospital=hospitals.gpkg`` asks for one. ``Near`` holds the places themselves, so that the same column can be
computed for the known file, and again for coordinates that were moved or invented.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_kind
from disclique.errors import InputError, guess_meant
from disclique.messages import mark
from disclique.records.companions import numbers_in
from disclique.records.formats import Part, has_places, no_column, read_table
from disclique.records.formats.projections import LAT, LON, check_degrees, is_latitude, is_longitude, to_degrees
from disclique.records.formats.shapes import read_plane_shapes, read_shapes
from disclique.spaces import Points
from disclique.spaces.nearest import Found, Pieces, count_within, find_nearest
from disclique.specs import parse_spec
from disclique.units import KM, KM_IN, NO_UNIT, Quantity, number, parse_quantity
from disclique.values import FloatArray, canonical

LENGTH, CLASSES, NAME, COUNT = "length", "classes", "name", "count"
FORMS = (LENGTH, CLASSES, NAME, COUNT)
POINT, TRAVEL, LAYER = "point", "travel", "layer"
KEYS = ("as", "layer", "crs", "column", "coordinates", "unit")
EXAMPLES = 3  # persons that an error names
_KEY = re.compile(rf"\s+({'|'.join(KEYS)})=")
_NAMES = ("name", "names", "bezeichnung", "label", "title", "titel")


@dataclass(frozen=True)
class Form:
    """What is made of the way to a place: its length, classes of it, the name of the nearest, or a count.

    Lengths are kilometres; of travel times ``breaks`` and ``within`` are in their unit.
    """

    kind: str = LENGTH
    breaks: tuple[float, ...] = ()
    within: float = 0.0


@dataclass(frozen=True)
class Wish:
    """A column as somebody asked for it: its name, the file or point, and what was said of them."""

    name: str
    source: str
    kind: str = LAYER
    form: Form = Form()
    layer: str | None = None
    crs: str | None = None
    column: str | None = None
    coordinates: tuple[str, ...] | None = None
    unit: str = NO_UNIT  # of travel times
    text: str = ""

    @property
    def path(self) -> Path | None:
        """The file that it needs, if it needs one."""
        return None if self.kind == POINT else Path(self.source)


@dataclass(frozen=True)
class Ground:
    """In which coordinates people are given: degrees, or a plane whose ``unit`` is km or m.

    ``columns`` and ``crs`` are theirs; a table of places may have the same.
    """

    on_earth: bool = True
    columns: tuple[str, ...] = ()
    crs: str | None = None
    unit: str | None = None


DEGREES = Ground()


@dataclass(frozen=True, eq=False)
class Near:
    """A column of distances to places, and all that is needed to compute it from coordinates.

    ``pieces`` are the places; of travel times there are none, and ``persons`` says what each person has. Two are equal
    if they compute the same.

    >>> station = parse_near("km_station=point:13.369,52.525")
    >>> station.measure(Points([[13.369, 52.525], [13.4, 52.5]])).round(2)
    array([0.  , 3.48])
    """

    wish: Wish
    pieces: Pieces | None = None
    names: tuple[str, ...] = ()
    persons: dict[Hashable, Any] | None = None

    @property
    def name(self) -> str:
        """Of the column."""
        return self.wish.name

    @property
    def form(self) -> Form:
        """What is made of the way to a place."""
        return self.wish.form

    @property
    def unit(self) -> str:
        """The unit of the numbers: km, or none."""
        if self.form.kind == COUNT:
            return NO_UNIT
        return KM if self.pieces is not None or self.wish.unit in KM_IN else NO_UNIT

    @property
    def released(self) -> str:
        """How numbers are released where nobody says it, as a part of a setting has it; empty for as they are."""
        unit = KM if self.unit == KM else ""
        return f"{CLASSES}:{','.join(f'{number(one)}{unit}' for one in self.form.breaks)}" if self.form.breaks else ""

    @property
    def in_length(self) -> bool:
        """Whether the numbers are lengths, which change by no more than places move."""
        return self.by_place and self.form.kind in (LENGTH, CLASSES)

    @property
    def is_label(self) -> bool:
        """Whether the values are names of places, and no numbers."""
        return self.form.kind == NAME

    @property
    def by_record(self) -> bool:
        """Not so: it follows from coordinates alone, or is given."""
        return False

    @property
    def by_place(self) -> bool:
        """Whether values follow from coordinates; travel times are given, and who is not listed has none."""
        return self.pieces is not None

    def measure(self, points: Points | None, ids: Sequence[Hashable] = ()) -> NDArray[Any]:
        """Return a number (NaN where there is none) or a name (None) for every person."""
        if self.persons is not None:
            return self._look_up(ids)
        found = self._check(points)
        assert self.pieces is not None
        if self.form.kind == COUNT:
            return count_within(found, self.pieces, self.form.within).astype(float)
        nearest = find_nearest(found, self.pieces)
        return self._name(nearest) if self.is_label else nearest.length

    def nearest(self, points: Points) -> Found:
        """Return the nearest place of every point, whatever is made of it."""
        assert self.pieces is not None
        return find_nearest(self._check(points), self.pieces)

    def _name(self, nearest: Found) -> NDArray[Any]:
        return np.array(self.names, dtype=object)[nearest.place]

    def _check(self, points: Points | None) -> Points:
        """Return points to which these places have distances; refuse others."""
        if points is None or not points.is_map:
            raise InputError("near_needs_coordinates", column=self.name)
        assert self.pieces is not None
        if points.on_earth != self.pieces.on_earth or points.coordinates.shape[1] != self.pieces.begin.shape[1]:
            raise InputError("near_on_other_ground", column=self.name, points=repr(points))
        if not points.on_earth and points.unit != KM:
            raise InputError("near_plane_without_unit", column=self.name)
        return points

    def _look_up(self, ids: Sequence[Hashable]) -> NDArray[Any]:
        persons = self.persons or {}
        lost = [one for one in ids if one not in persons]
        if lost:
            about = {"file": self.wish.source, "lost": len(lost), "people": len(ids)}
            raise InputError("near_lacks_persons", **about, examples=[repr(one) for one in lost[:EXAMPLES]])
        return np.array([persons[one] for one in ids], dtype=object if self.is_label else float)

    @cached_property
    def digest(self) -> str:
        """What tells it from every other column: all that its values follow from, and no path."""
        told = hashlib.sha256(repr((self.name, self.form, self.unit, self.names)).encode())
        if self.pieces is not None:
            told.update(repr((self.pieces.on_earth, self.pieces.begin.shape)).encode())
            for part in (self.pieces.begin, self.pieces.end, self.pieces.place):
                told.update(np.ascontiguousarray(part).tobytes())
        for person in (self.persons or {}).items():
            told.update(repr(person).encode())
        return told.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Near) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Near({self.wish.text!r})"


def parse_wish(text: str) -> Wish:
    """Read what is asked for: ``NAME=FILE``, ``NAME=point:LON,LAT`` or ``NAME=travel:FILE``, and ``KEY=VALUE`` behind.

    >>> parse_wish("near=my places.gpkg as=classes:500m,2km layer=clinics").form.breaks
    (0.5, 2.0)
    """
    head, *rest = _KEY.split(str(text).strip())
    name, _, source = (part.strip() for part in head.partition("="))
    said = dict(zip(rest[::2], (value.strip() for value in rest[1::2]), strict=True))
    before, _, after = source.partition(":")
    kind = before if before in (POINT, TRAVEL) else LAYER
    source = source if kind == LAYER else after.strip()
    if not (name and source and all(said.values())) or 2 * len(said) != len(rest):
        raise InputError("near_form", text=text, keys=KEYS)
    unit = said.get("unit", NO_UNIT)
    if ("unit" in said and kind != TRAVEL) or unit not in (*KM_IN, NO_UNIT):
        raise InputError("near_unit", text=text)
    columns = said.get("coordinates")
    return Wish(
        name,
        source,
        kind,
        _parse_form(said.get("as", LENGTH), text, lengths=kind != TRAVEL or unit in KM_IN),
        said.get("layer"),
        said.get("crs"),
        said.get("column"),
        None if columns is None else tuple(part.strip() for part in columns.split(",")),
        unit,
        str(text).strip(),
    )


def _parse_form(text: str, whole: str, *, lengths: bool) -> Form:
    spec = parse_spec(text)
    told = {one.key: one.value for one in spec.parameters}
    if spec.name not in FORMS:
        raise InputError("near_unknown_form", text=whole, form=text, meant=guess_meant(spec.name, FORMS))
    if spec.name == CLASSES and told and not any(told.values()):
        breaks = tuple(_amount(one, lengths) for one in told)
        if all(low < high for low, high in zip((0.0, *breaks), breaks, strict=False)):
            return Form(CLASSES, breaks)
    if spec.name == COUNT and set(told) == {"within"} and (within := _amount(told["within"], lengths)) >= 0:
        return Form(COUNT, within=within)
    if spec.name in (LENGTH, NAME) and not told:
        return Form(spec.name)
    raise InputError("near_form_of", text=whole, form=text)


def _amount(text: str, lengths: bool) -> float:
    found: Quantity = parse_quantity(text, units=("m", "km") if lengths else ("",))
    return found.km if lengths else found.value


def parse_near(text: str, ground: Ground = DEGREES) -> Near:
    """Read the column that is asked for, with its places, for people whose coordinates are of this ``ground``."""
    wish = parse_wish(text)
    if wish.kind == TRAVEL:
        return _read_travel(wish)
    if not ground.on_earth and ground.unit not in KM_IN:
        raise InputError("near_plane_without_unit", column=wish.name)
    if wish.kind == POINT:
        return Near(wish, _read_point(wish, ground), (wish.name,))
    path = Path(wish.source)
    if wish.coordinates is None and has_places(path):
        table, pieces = _read_layer(path, wish, ground)
    else:
        table = read_table(path, Part(layer=wish.layer))
        pieces = _read_table(table, wish, ground)
    return Near(wish, pieces, _read_names(table, wish) if wish.form.kind == NAME else ())


def prepare_near(asked: Any, ground: Ground = DEGREES) -> tuple[Near, ...]:
    """Read every column that is asked for, as text or as ``Near``; one or several."""
    found = tuple(one if isinstance(one, Near) else parse_near(one, ground) for one in check_asked(asked))
    names = [one.name for one in found]
    for name in (name for name in names if names.count(name) > 1):
        raise InputError("number_twice", column=name)
    return found


def wish_of(one: str | Near) -> Wish:
    """Return what is asked for, of a text or of a column that was read."""
    return one.wish if isinstance(one, Near) else parse_wish(one)


def check_asked(asked: Any) -> tuple[str | Near, ...]:
    """Return the columns that are asked for as a tuple; refuse a text that asks for none."""
    if asked is None:
        return ()
    found = (asked,) if isinstance(asked, (str, Near)) or not isinstance(asked, Iterable) else tuple(asked)
    for one in found:
        if not isinstance(one, Near):
            parse_wish(check_kind(one, str, "near", "wanted_near"))
    return found


def _read_layer(path: Path, wish: Wish, ground: Ground) -> tuple[pd.DataFrame, Pieces]:
    if ground.on_earth:
        return read_shapes(path, wish.crs, wish.layer)
    if wish.crs is not None:
        raise InputError("near_crs_in_plane", text=wish.text)
    return read_plane_shapes(path, str(ground.unit), wish.layer)


def _read_point(wish: Wish, ground: Ground) -> Pieces:
    parts = [canonical(part.strip()) for part in wish.source.split(",")]
    if len(parts) < 2 or not all(isinstance(part, (int, float)) for part in parts):
        raise InputError("near_point", text=wish.text)
    columns = [LON, LAT] if len(parts) == 2 else [str(k) for k in range(len(parts))]
    table = pd.DataFrame([parts], columns=columns, dtype=float)
    return _place(table, columns, wish, ground, wish.crs)


def _read_table(table: pd.DataFrame, wish: Wish, ground: Ground) -> Pieces:
    """Return the points in a table: by the columns that were said, by those that people have, or by their names."""
    columns, crs = wish.coordinates, wish.crs
    if columns is None and ground.columns and all(column in table.columns for column in ground.columns):
        columns, crs = ground.columns, wish.crs or ground.crs
    if columns is None and ground.on_earth:
        found = [[str(c) for c in table.columns if told(str(c))] for told in (is_longitude, is_latitude)]
        columns = tuple(c for side in found for c in side) if [len(side) for side in found] == [1, 1] else None
    if columns is None:
        there = [repr(str(name)) for name in table.columns]
        raise InputError("near_without_coordinates", file=wish.source, columns=there)
    return _place(table, columns, wish, ground, crs)


def _place(table: pd.DataFrame, columns: Sequence[str], wish: Wish, ground: Ground, crs: str | None) -> Pieces:
    """Return the points in some columns of a table, in degrees or in km of the plane."""
    for column in columns:
        if column not in table.columns:
            raise no_column(wish.source, column, table.columns)
    if ground.on_earth and crs is not None:
        table, columns = to_degrees(table, columns, crs, wish.source), (LON, LAT)
    elif crs is not None:
        raise InputError("near_crs_in_plane", text=wish.text)
    if ground.on_earth and len(columns) != 2:
        raise InputError("two_columns_of_places", file=wish.source, columns=",".join(columns))
    places: FloatArray = np.column_stack([numbers_in(table[column], wish.source) for column in columns])
    if ground.on_earth:
        check_degrees(places, wish.source, list(columns))
    else:
        places *= KM_IN[str(ground.unit)]
    return Pieces(places, places, np.arange(len(places)), len(places), on_earth=ground.on_earth)


def _read_names(table: pd.DataFrame, wish: Wish) -> tuple[str, ...]:
    """Return what places are called."""
    if wish.column is not None and wish.column not in table.columns:
        raise no_column(wish.source, wish.column, table.columns)
    called = [str(column) for column in table.columns if str(column).strip().casefold() in _NAMES]
    if wish.column is None and len(called) != 1:
        there = [repr(str(name)) for name in table.columns]
        raise InputError("near_without_names", file=wish.source, columns=there)
    column = wish.column or called[0]
    names = [canonical(value) for value in table[column]]
    for row in (row for row, name in enumerate(names) if name is None):
        raise InputError("near_place_without_name", file=wish.source, row=row + 1, column=column)
    return tuple(str(name) for name in names)


def _read_travel(wish: Wish) -> Near:
    """Return the smallest travel time of each person, from a table with a row for each and a column for each place."""
    table = read_table(Path(wish.source), Part(layer=wish.layer))
    places = [str(column) for column in table.columns[1:]]
    if not places:
        raise InputError("near_travel_without_places", file=wish.source)
    ids: dict[Hashable, int] = {}
    for row, value in enumerate(canonical(value) for value in table.iloc[:, 0]):
        cell = {"file": wish.source, "row": row + 1, "column": str(table.columns[0])}
        if value is None:
            raise InputError("id_missing", **cell)
        if ids.setdefault(value, row) != row:
            raise InputError("id_twice", **cell, value=value, first=ids[value] + 1)
    times = np.column_stack([_times(table.iloc[:, k + 1], wish.source) for k in range(len(places))])
    values: Sequence[Any]
    if wish.form.kind == COUNT:
        values = (times * KM_IN.get(wish.unit, 1.0) <= wish.form.within).sum(axis=1).astype(float).tolist()
    else:
        known = np.where(np.isnan(times), np.inf, times)
        least, best = known.min(axis=1), known.argmin(axis=1)
        reached = np.isfinite(least)
        if wish.form.kind == NAME:
            values = [places[k] if there else None for k, there in zip(best, reached, strict=True)]
        else:
            values = np.where(reached, least * KM_IN.get(wish.unit, 1.0), np.nan).tolist()
    return Near(wish, persons=dict(zip(ids, values, strict=True)))


def _times(column: pd.Series[Any], name: str) -> FloatArray:
    """Return travel times; an empty cell is a place that is not reached."""
    times = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    wrong = ~np.isfinite(times) & column.notna().to_numpy()
    for row in np.flatnonzero(wrong | (times < 0)):
        cell = {"row": row + 1, "column": str(column.name), "value": column.iloc[row]}
        raise InputError(mark("cell_not_finite") if wrong[row] else mark("near_travel_negative"), file=name, **cell)
    return times
