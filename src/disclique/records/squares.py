"""Square matrices and long lists of distances, from frames or cells, in the order of the records of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import FloatArray
from disclique.records.joins import BY_ID, BY_ROW, Roster, is_default, join_square, names_of_index
from disclique.spaces.distances import ROUNDING, same_distance
from disclique.values import canonical


def matrix(source: Any, roster: Roster, *, directed: bool, name: str) -> tuple[FloatArray, bool, str]:
    """Return the distances as a square array in the order of the records.

    Beside it stands whether they came as a long list, and how they were joined.
    """
    if isinstance(source, pd.DataFrame):
        if is_list(source, len(roster.ids), [str(column) for column in source.columns]):
            source = without_numbering(source, [str(column) for column in source.columns])
            values, joined = from_list(source, roster, directed=directed, name=name)
            return values, True, joined
        values, joined = square_of_frame(source, roster, name=name)
        return values, False, joined
    try:
        return np.array(source, dtype=float), False, roster.order(None, where=name)[1]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: the distances are not numbers ({error})") from None


LIST_NAMES = (
    {"i", "from", "source", "origin", "id1", "id_1", "row", "inputid"},
    {"j", "to", "target", "destination", "id2", "id_2", "col", "column", "targetid"},
    {"distance", "d", "dist", "weight", "value", "km", "m", "metres", "meters", "distance_km", "distance_m"},
)


def is_list(cells: pd.DataFrame, records: int, first: list[str]) -> bool:
    """Return whether these are a long list: three columns, and by names or length no matrix of three records."""
    words = [text.strip().lower() for text in first]
    named = len(words) >= 3 and all(text in names for text, names in zip(words[-3:], LIST_NAMES, strict=True))
    if cells.shape[1] == 4:  # with the row names that R and pandas write
        return words[0] in ("", "nan", "unnamed: 0", "none") and (named or records not in (3, 4))
    return cells.shape[1] == 3 and (named or records not in (2, 3) or len(cells) > records + 1)


def without_numbering(pairs: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    """Return a long list without the row names before it."""
    return pairs.iloc[:, len(first) - 3 :]


def square_of_frame(frame: pd.DataFrame, roster: Roster, *, name: str) -> tuple[FloatArray, str]:
    """Return the matrix in a frame, joined by its index, columns or, if it has one more, first column."""
    index = names_of_index(frame.index, roster)
    if frame.shape[1] == len(frame) + 1:
        index, frame = list(frame.iloc[:, 0]), frame.iloc[:, 1:]
    elif is_default(frame.index) and len(frame) and isinstance(canonical(frame.iloc[0, 0]), str):
        raise InputError(f"{name}: {len(frame)} rows, but {frame.shape[1] - 1} columns of distances beside the ids")
    return join_square(
        numbers_of(frame, name), roster, index=index, header=names_of_index(frame.columns, roster), name=name
    )


def numbers_of(cells: pd.DataFrame, name: str) -> FloatArray:
    """Return the numbers in a frame, perhaps written as text."""
    try:
        return cells.to_numpy(dtype=float)
    except (TypeError, ValueError):
        pass
    parsed = cells.apply(pd.to_numeric, errors="coerce")
    for i, j in np.argwhere((parsed.isna() & cells.notna()).to_numpy()):
        raise InputError(f"{name}: row {i + 1}, column {j + 1} = {cells.iloc[i, j]!r}: the distances are not numbers")
    return np.asarray(parsed.to_numpy(dtype=float))


def from_list(pairs: pd.DataFrame, roster: Roster, *, directed: bool, name: str) -> tuple[FloatArray, str]:
    """Return the matrix of a long list i, j, distance, and how it was joined.

    Pairs that are not listed are NaN, that is, not published.
    """
    records = len(roster.ids)
    found = np.full((records, records), np.nan)
    np.fill_diagonal(found, 0.0)
    roster = roster.for_list(pairs, name)
    ends = np.column_stack(
        [roster.rows(pairs.iloc[:, k], where=f"{name}: row {{row}}, column {k + 1}") for k in range(2)]
    )
    numbers = numbers_in(pairs.iloc[:, 2], name)
    for line in np.flatnonzero(numbers < 0):
        raise InputError(f"{name}: row {line + 1}, column 3 = {numbers[line]}: a distance cannot be negative")
    _no_duplicates(ends, numbers, name=name)
    itself = ends[:, 0] == ends[:, 1]
    for line in np.flatnonzero(itself & (numbers > ROUNDING * numbers.max(initial=0.0))):
        raise InputError(f"{name}: row {line + 1} = {numbers[line]}: the distance of a record from itself must be 0")
    numbers = np.where(itself, 0.0, numbers)
    found[ends[:, 0], ends[:, 1]] = numbers
    if not directed:
        _no_contradiction(found, ends, numbers, name=name)
        found = np.fmin(found, found.T)
    return found, BY_ROW if roster.by_position or roster.column is None else BY_ID


def _no_duplicates(ends: NDArray[np.int64], numbers: FloatArray, *, name: str) -> None:
    again = pd.DataFrame(ends).duplicated().to_numpy()
    for line in np.flatnonzero(again):
        first = int(np.flatnonzero((ends == ends[line]).all(axis=1))[0])
        raise InputError(
            f"{name}: row {line + 1} = {numbers[line]}: this pair stands in row {first + 1} already ({numbers[first]})"
        )


def _no_contradiction(found: FloatArray, ends: NDArray[np.int64], numbers: FloatArray, *, name: str) -> None:
    back = found[ends[:, 1], ends[:, 0]]
    for line in np.flatnonzero(~np.isnan(back) & ~same_distance(back, numbers)):
        raise InputError(
            f"{name}: row {line + 1} = {numbers[line]}, but the way back is {back[line]}: the distances are not "
            "symmetric; if they have a direction (travel times), say so (directed)"
        )


def numbers_in(column: pd.Series[Any], name: str) -> FloatArray:
    """Return the numbers of a column, perhaps written as text."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    for row in np.flatnonzero(~np.isfinite(numbers)):
        value = column.iloc[row]
        raise InputError(f"{name}: row {row + 1}, column {str(column.name)!r} = {value!r}: not a finite number")
    return numbers
