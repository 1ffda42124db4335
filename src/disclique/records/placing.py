"""Records as points: from columns of a table, or from coordinates that are given beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from disclique.arguments import show
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.messages import Message
from disclique.records.companions import numbers_in
from disclique.records.formats import no_column
from disclique.records.formats.projections import check_degrees, is_latitude, is_longitude
from disclique.records.joins import Roster, names_of_index
from disclique.spaces import Points
from disclique.spaces.gower import Gower, mixed_table
from disclique.spaces.metrics import Metric
from disclique.spaces.vectors import ZERO

Coordinates = Sequence[str] | ArrayLike
CATEGORY = ":category"  # after the name of a column for gower: its numbers are codes of categories


def place_records(
    table: pd.DataFrame, coordinates: Coordinates, metric: Metric, *, directed: bool = False, name: str
) -> Points:
    """Return the records as points with their metric."""
    if metric == Gower.name and are_names(coordinates):
        return _place_by_gower(table, [str(column) for column in coordinates], name)  # type: ignore[union-attr]
    check_order(coordinates, metric, name)
    found = points(table, coordinates, metric, name=name)
    if metric == "cosine" and found.ndim == 2 and found.dtype.kind in "fiu":
        for row in np.flatnonzero((found == 0).all(axis=1)):
            raise InputError("row_refused", file=name, row=row + 1, why=Message(ZERO))
    return Points(found, metric, directed)


def check_order(coordinates: Coordinates, metric: Metric, name: str) -> None:
    """Refuse columns that call themselves latitude and longitude, in this order: swapped places look safe."""
    if metric not in GEOGRAPHIC or not are_names(coordinates) or len(coordinates) != 2:  # type: ignore[arg-type]
        return
    first, second = (str(column) for column in coordinates)  # type: ignore[union-attr]
    if is_latitude(first) or is_longitude(second):
        raise InputError("latitude_before_longitude", file=name, first=first, second=second)


def are_names(coordinates: Coordinates) -> bool:
    """Say whether coordinates are names of columns."""
    return isinstance(coordinates, (list, tuple)) and all(isinstance(column, str) for column in coordinates)


def _place_by_gower(table: pd.DataFrame, columns: list[str], name: str) -> Points:
    """Return the records of a mixed table; a column written ``name:category`` is one of categories."""
    coded = [column not in table.columns and column.endswith(CATEGORY) for column in columns]
    names = [column.removesuffix(CATEGORY) if code else column for column, code in zip(columns, coded, strict=True)]
    _check_columns(table, names, name)
    values = mixed_table(table[names], coded, name=name)
    for row in np.flatnonzero([all(value is None for value in record) for record in values]):
        raise InputError("row_without_values", file=name, row=row + 1, columns=names)
    return Points(values, Gower.of(values))


def points(table: pd.DataFrame, coordinates: Coordinates, metric: Metric, *, name: str) -> NDArray[Any]:
    """Return the coordinates of every record, from columns of the table or as given."""
    if not are_names(coordinates):
        found = np.asarray(coordinates)
        if found.ndim < 1:
            raise InputError("not_coordinates", file=name, shown=show(coordinates))
        if len(found) != len(table):
            raise InputError("other_number_of_coordinates", file=name, records=len(table), places=len(found))
        if metric in GEOGRAPHIC and found.ndim == 2 and found.shape[1] == 2 and found.dtype.kind in "fiu":
            check_degrees(found, name)
        return found
    columns = [str(c) for c in coordinates]  # type: ignore[union-attr]
    _check_columns(table, columns, name)
    if callable(metric):
        return np.asarray(table[columns if len(columns) > 1 else columns[0]].to_numpy())
    if metric in GEOGRAPHIC and len(columns) != 2:
        raise InputError("earth_needs_two_columns", file=name, columns=",".join(columns), metric=str(metric))
    found = np.column_stack([numbers_in(table[column], name) for column in columns])
    if metric in GEOGRAPHIC:
        check_degrees(found, name, columns)
    return found


def _check_columns(table: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    for column in columns:
        if column not in table.columns:
            raise no_column(name, column, table.columns)


def put_in_order(source: Any, roster: Roster, name: str) -> tuple[Any, str]:
    """Return coordinates that are given beside the table in the order of its records, and how they were joined."""
    if not isinstance(index := getattr(source, "index", None), pd.Index):
        return source, roster.order(None, where=name)[1]
    order, joined = roster.order(names_of_index(index, roster), where=Message("named_in_index", file=name))
    return source.to_numpy() if order is None else source.to_numpy()[order], joined
