"""Workbooks of spreadsheet programs: their cells as a CSV file of the same table would have them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd

from disclique.errors import InputError
from disclique.records.formats import DAY, MISSING, SHEET, Format, as_text, choose_part, first_line, need, plain_dates

_MONTHS = "jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
_AGES = re.compile(r"\d+\s*[-–]\s*\d+")  # 10-14
_DATE = re.compile(rf"(\d{{1,2}}[-. ]+({_MONTHS})[a-zé]*\.?|({_MONTHS})[a-zé]*\.?[- ]+\d{{1,4}})", re.IGNORECASE)
_SERIAL = re.compile(r"[34]\d{4}(\.0)?")  # the same date as the number that spreadsheets store, from 1982 to 2036
_MERGED = re.compile(rb'<mergeCell [^>]*ref="([A-Z]+\d+):([A-Z]+)(\d+)"')
SHEET_ROWS = 1 << 20  # of a sheet, the names of the columns among them
OLDEST = 150  # classes up to here are ages, among which a number of five digits is no other class


def read_sheet(path: Path, sheet: str | None = None) -> pd.DataFrame:
    """Return the table in a sheet: the first row has the names of the columns, every other row a record."""
    cells = read_cells(path, sheet)
    names = ["" if pd.isna(name) else str(as_text(name)) for name in cells.iloc[0]]
    unnamed = [k for k, name in enumerate(names) if not name.strip()]
    if any(unnamed):  # the first may be without a name: row names, as pandas and R write them
        raise InputError("first_row_names_some", path=path, named=len(names) - len(unnamed), columns=len(names))
    body = cells.iloc[1:].reset_index(drop=True).set_axis(names, axis=1)
    return plain_dates(body)  # among other values dates stay, to be found by ``check_dates``


def read_cells(path: Path, sheet: str | None = None) -> pd.DataFrame:
    """Return the cells of a sheet as text, dates as dates, without rows and columns in which nothing stands."""
    load_workbook = need("openpyxl", path).load_workbook
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and validation rules, which nobody reads here
        try:
            with ZipFile(path) as archive:
                pages = [archive.read(name) for name in archive.namelist() if name.startswith("xl/worksheets/")]
            formulas = any(sign in page for page in pages for sign in (b"<f>", b"<f ", b"<f/>"))
            views = (True, False) if formulas else (True,)  # their values, and where they stand
            books = [load_workbook(path, read_only=True, data_only=shown) for shown in views]
        except Exception as error:  # zip, XML and value errors of every kind
            raise InputError("not_a_workbook", path=path, why=first_line(error)) from None
        try:
            return _cells(path, books, sheet)
        finally:
            for book in books:
                book.close()


def _cells(path: Path, books: list[Any], sheet: str | None) -> pd.DataFrame:
    grids = {page.title: _grid(page) for page in books[0].worksheets}
    formulas = {page.title: _grid(page, only="f") for book in books[1:] for page in book.worksheets}
    used = [title for title, grid in grids.items() if formulas.get(title) or any(map(_has_value, grid.values()))]
    if not used:
        raise InputError("file_without_records", path=path)
    title = choose_part(path, SHEET, used, sheet)
    for where, cell in formulas.get(title, {}).items():
        if where not in grids[title]:
            raise InputError(
                "formula_without_value", path=path, sheet=title, cell=_address(*where), formula=str(cell.value)
            )
    filled = {where: cell for where, cell in grids[title].items() if _has_value(cell)}
    rows = {row: k for k, row in enumerate(sorted({row for row, _ in filled}))}
    columns = {column: k for k, column in enumerate(sorted({column for _, column in filled}))}
    _check_merged(path, next(page for page in books[0].worksheets if page.title == title), min(rows))
    found = np.full((len(rows), len(columns)), np.nan, dtype=object)
    for (row, column), cell in filled.items():
        if cell.data_type == "e":
            here = _address(row, column)
            raise InputError("cell_with_error", path=path, sheet=title, cell=here, value=str(cell.value))
        found[rows[row], columns[column]] = _plain(cell.value)
    return pd.DataFrame(found, dtype=object)


def _check_merged(path: Path, page: Any, header: int) -> None:
    """Raise an error if cells below the names are merged: but for the first, their values would seem to be missing."""
    with ZipFile(path) as archive:
        content = archive.read(page._worksheet_path.lstrip("/"))  # what is read row by row does not tell them
    for part in _MERGED.finditer(content):
        if int(part[3]) > header:
            cells = f"{part[1].decode()}:{part[2].decode()}{part[3].decode()}"
            raise InputError("cells_merged", path=path, sheet=page.title, cells=cells)


def _grid(page: Any, *, only: str | None = None) -> dict[tuple[int, int], Any]:
    """Return the cells of a page by row and column, if something stands in them; an empty text of a formula does."""
    page.reset_dimensions()  # what the file says of its size may be wrong
    return {
        (cell.row, cell.column): cell
        for row in page.iter_rows()
        for cell in row
        if (cell.value is not None or cell.data_type == "str") and only in (None, cell.data_type)
    }


def _has_value(cell: Any) -> bool:
    return cell.value is not None and not (isinstance(cell.value, str) and not cell.value.strip())


def _address(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


def _plain(value: Any) -> Any:
    """Return a cell as a CSV file has it: numbers as text without needless digits; a date stays one for now."""
    if isinstance(value, DAY):
        return value
    if isinstance(value, str):
        return np.nan if value in MISSING else value
    return as_text(value)


def check_dates(frame: pd.DataFrame, columns: Iterable[str], name: str) -> None:
    """Raise an error if a spreadsheet program has turned some values of a column, such as 10-14, into dates."""
    for column in columns:
        if column not in frame.columns or frame[column].dtype.kind not in "OTU":
            continue
        values = frame[column].tolist()
        dates = [row for row, value in enumerate(values) if isinstance(value, DAY)]
        classes = [value for value in values if isinstance(value, str) and _AGES.fullmatch(value.strip())]
        if not dates and classes:
            ages = max(int(end) for value in classes for end in re.findall(r"\d+", value)) <= OLDEST
            forms = (_DATE, _SERIAL) if ages else (_DATE,)
            texts = [str(value).strip() for value in values]
            dates = [row for row, text in enumerate(texts) if any(form.fullmatch(text) for form in forms)]
        found = set(dates)
        others = [value for row, value in enumerate(values) if isinstance(value, str) and row not in found]
        if dates and others:
            shown = values[dates[0]] if isinstance(values[dates[0]], str) else as_text(values[dates[0]])
            raise InputError(
                "date_among_classes", file=name, row=dates[0] + 1, column=column, value=shown, other=others[0]
            )


def _list_sheets(path: Path) -> tuple[str, ...]:
    try:
        book = need("openpyxl", path).load_workbook(path, read_only=True)
    except Exception:  # zip, XML and value errors of every kind: reading it says what is wrong
        return ()
    try:
        return tuple(map(str, book.sheetnames))
    finally:
        book.close()


def _write_sheet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table to the one sheet of a workbook; a text that begins with = stays a text."""
    openpyxl = need("openpyxl", path)
    if len(frame) >= SHEET_ROWS:
        raise InputError("sheet_too_long", path=path, records=len(frame), most=SHEET_ROWS - 1)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("release")

    def fill(values: Iterable[Any]) -> None:
        cells = []
        for value in values:
            cell = openpyxl.cell.WriteOnlyCell(sheet, value=None if pd.isna(value) else value)
            if isinstance(value, str):
                cell.data_type = "s"
            cells.append(cell)
        sheet.append(cells)

    try:
        fill(map(str, frame.columns))
        for row in frame.astype(object).itertuples(index=False, name=None):
            fill(row)
    except (openpyxl.utils.exceptions.IllegalCharacterError, ValueError) as error:
        raise InputError("not_written_as", path=path, why=first_line(error)) from None
    book.save(path)


WORKBOOK = Format(
    (".xlsx", ".xlsm"),
    "xlsx",
    table=lambda path, part, rows: read_sheet(path, part.sheet),
    grid=lambda path, part: read_cells(path, part.sheet),
    parts=_list_sheets,
    section=SHEET,
    extra="stat",
    write=_write_sheet,
    written=(".xlsx",),
)
