"""Workbooks of spreadsheet programs: their cells as a CSV file of the same table would have them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from disclique.data.labels import canonical
from disclique.errors import InputError, MissingDependency

SUFFIXES = (".xlsx", ".xlsm")
MISSING = ("", "NA", "NaN")  # cells of text that hold no value; anything else is a value
_MONTHS = "jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
_CLASS = re.compile(r"\d+\s*[-–]\s*\d+")  # 10-14
_DATE = re.compile(rf"(\d{{1,2}}[-. ]+({_MONTHS})[a-zé]*\.?|({_MONTHS})[a-zé]*\.?[- ]+\d{{1,4}})", re.IGNORECASE)
_DAY = (dt.date, dt.datetime, pd.Timestamp)


def read_sheet(path: Path, sheet: str | None = None) -> pd.DataFrame:
    """Return the table in a sheet: the first row has the names of the columns, every other row a record."""
    cells = read_cells(path, sheet)
    names = ["" if pd.isna(name) else str(name) for name in cells.iloc[0]]
    unnamed = [k for k, name in enumerate(names) if not name.strip()]
    if any(unnamed):  # the first may be without a name: row names, as pandas and R write them
        raise InputError(
            f"{path}: the first row names {len(names) - len(unnamed)} of {len(names)} columns; it must name "
            "all of them: is there a title or a merged cell above them?"
        )
    body = cells.iloc[1:].reset_index(drop=True).set_axis(names, axis=1)
    return body.apply(_as_text_of_dates)


def read_cells(path: Path, sheet: str | None = None) -> pd.DataFrame:
    """Return the cells of a sheet as text, dates as dates, without rows and columns in which nothing stands."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingDependency(f'{path}: reading it needs more packages: pip install "disclique[stat]"') from None
    try:
        books = [load_workbook(path, read_only=True, data_only=shown) for shown in (True, False)]
    except Exception as error:  # zip, XML and value errors of every kind
        raise InputError(f"{path}: not a workbook of the kind .xlsx ({_first_line(error)})") from None
    try:
        return _cells(path, books, sheet)
    finally:
        for book in books:
            book.close()


def _cells(path: Path, books: list[Any], sheet: str | None) -> pd.DataFrame:
    grids = {page.title: _grid(page) for page in books[0].worksheets}
    filled = {title: grid for title, grid in grids.items() if grid}
    formulas = {page.title: _grid(page, formulas=True) for page in books[1].worksheets}
    title = _choose(
        path, sorted({*filled, *(name for name, grid in formulas.items() if grid)}, key=list(grids).index), sheet
    )
    _check_formulas(path, title, formulas[title], dict(filled.get(title, ())))
    rows = sorted({row for (row, _), _ in filled[title]})
    columns = sorted({column for (_, column), _ in filled[title]})
    found = np.full((len(rows), len(columns)), np.nan, dtype=object)
    place = {row: k for k, row in enumerate(rows)}, {column: k for k, column in enumerate(columns)}
    for (row, column), cell in filled[title]:
        if cell.data_type == "e":
            raise InputError(
                f"{path}, sheet {title!r}: cell {_address(row, column)} = {cell.value}: an error, no value"
            )
        found[place[0][row], place[1][column]] = _plain(cell.value)
    return pd.DataFrame(found, dtype=object)


def _grid(page: Any, *, formulas: bool = False) -> list[tuple[tuple[int, int], Any]]:
    """Return the cells of a page in which something stands (or a formula) with their row and column."""
    page.reset_dimensions()  # what the file says of its size may be wrong
    return [
        ((cell.row, cell.column), cell)
        for row in page.iter_rows()
        for cell in row
        if cell.value is not None
        and (cell.data_type == "f" if formulas else not (isinstance(cell.value, str) and not cell.value.strip()))
    ]


def _choose(path: Path, titles: list[str], sheet: str | None) -> str:
    if not titles:
        raise InputError(f"{path}: the file has no records")
    if len(titles) == 1:
        return titles[0]
    listed = ", ".join(map(repr, titles))
    if sheet is None:
        raise InputError(f"{path}: it has the sheets {listed}; say which one with --sheet")
    if sheet not in titles:
        raise InputError(f"{path}: no sheet {sheet!r}; it has {listed}")
    return sheet


def _check_formulas(path: Path, title: str, formulas: list[tuple[tuple[int, int], Any]], shown: dict[Any, Any]) -> None:
    for where, cell in formulas:
        if where not in shown:
            raise InputError(
                f"{path}, sheet {title!r}: cell {_address(*where)} is a formula ({cell.value}) without the value it "
                "had: open the file in a spreadsheet program and save it again"
            )


def _address(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


def _plain(value: Any) -> Any:
    """Return a cell as a CSV file has it: numbers as text without needless digits; a date stays one for now."""
    if isinstance(value, _DAY):
        return value
    if isinstance(value, str):
        return np.nan if value in MISSING else value
    return as_text(value)


def as_text(value: Any) -> Any:
    """Return a value as text, as a CSV file would have it; NaN stays NaN."""
    if value is pd.NaT:
        return np.nan
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(sep=" ")
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    plain = canonical(value)
    return np.nan if plain is None else plain if isinstance(plain, str) else str(plain)


def _as_text_of_dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Turn the dates of a column of dates into text; among other values they stay, to be found by ``check_dates``."""
    there = column[column.notna()]
    return column.map(as_text) if all(isinstance(value, _DAY) for value in there) else column


def plain_dates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its columns of dates as text, year-month-day, as other kinds of files have them."""
    changed = {}
    for name, column in frame.items():
        dates = pd.api.types.is_datetime64_any_dtype(column.dtype)
        if column.dtype == object:
            there = column[column.notna()]
            dates = bool(len(there)) and all(isinstance(value, _DAY) for value in there)
        if dates:
            changed[name] = column.map(as_text, na_action="ignore").astype(object)
    return frame.assign(**changed) if changed else frame  # type: ignore[arg-type]


def check_dates(frame: pd.DataFrame, columns: Iterable[str], name: str) -> None:
    """Raise an error if a spreadsheet program has turned some values of a column, such as 10-14, into dates."""
    for column in columns:
        if column not in frame.columns or frame[column].dtype.kind not in "OTU":
            continue
        values = frame[column].tolist()
        dates = [row for row, value in enumerate(values) if isinstance(value, _DAY)]
        texts = [value for value in values if isinstance(value, str)]
        if not dates and any(_CLASS.fullmatch(text.strip()) for text in texts):
            dates = [row for row, v in enumerate(values) if isinstance(v, str) and _DATE.fullmatch(v.strip())]
        others = [v for row, v in enumerate(values) if isinstance(v, str) and row not in set(dates)]
        if dates and others:
            shown = values[dates[0]] if isinstance(values[dates[0]], str) else as_text(values[dates[0]])
            raise InputError(
                f"{name}: row {dates[0] + 1}, column {column!r} = {shown}: a date among values such as {others[0]!r}; "
                "it looks as if a spreadsheet program had turned a class such as 10-14 into a date: enter it as text"
            )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
