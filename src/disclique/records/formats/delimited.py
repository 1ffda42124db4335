"""Text files of cells: CSV, TSV and what R and spreadsheet programs write, every cell as it is written."""

from __future__ import annotations

import re
from io import StringIO
from itertools import accumulate
from pathlib import Path

import pandas as pd

from disclique.errors import InputError
from disclique.records.formats import MISSING, Format, Part

SMALL_BYTES = 4_000_000  # up to which a file is always read whole
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # two bytes a letter: a cut could halve one
_OTHERS = (b"%PDF-", b"PK\x03\x04", b"{\\rtf", b"%!PS")  # what documents begin with, whatever they are called
_QUOTED = re.compile(r'"[^"]*"')


def read_beginning(path: Path, rows: int) -> bytes | None:
    """Return the beginning of a large file with at least so many records, cut where one ends; None for all of it."""
    if path.stat().st_size <= SMALL_BYTES:
        return None
    raw, step = b"", SMALL_BYTES // 2
    with path.open("rb") as file:
        while more := file.read(step):
            raw, step = raw + more, 2 * step
            if raw.startswith(_WIDE):
                return None
            lines = raw.split(b"\n")[:-1]
            open_quotes = accumulate(line.count(b'"') % 2 for line in lines)
            ends = [place + 1 for place, quotes in enumerate(open_quotes) if quotes % 2 == 0]
            if len(ends) > rows:
                return b"\n".join(lines[: ends[min(len(ends), 2 * rows) - 1]]) + b"\n"
    return None


def _read_records(path: Path, part: Part, rows: int | None) -> pd.DataFrame:
    """Return the table whose column names stand in the first row."""
    cells = _read_cells(path, None if rows is None else read_beginning(path, rows))
    body = cells.iloc[1:].reset_index(drop=True)
    return body.set_axis(["" if pd.isna(name) else str(name) for name in cells.iloc[0]], axis=1)


def _read_cells(path: Path, raw: bytes | None = None, *, square: bool = False) -> pd.DataFrame:
    """Return the cells of a text file, or of its ``raw`` beginning, as they are written; NaN where there is no value.

    In a ``square`` the cell above the row names may be absent, as R's write.table leaves it; in a table a name too few
    is an error.
    """
    text = _decode(path, path.read_bytes() if raw is None else raw)
    lines = [_QUOTED.sub("", line) for line in text[: 1 << 22].splitlines()[:9] if line.strip()][:5]
    separator = "\t" if path.suffix.lower() == ".tsv" else _separator(lines, square=square)
    width = [line.count(separator) for line in lines]
    if square and len(width) > 2 and len(set(width[1:])) == 1 and width[0] == width[1] - 1:
        text = separator + text
    try:
        frame = pd.read_csv(
            StringIO(text), sep=separator, header=None, dtype=str, keep_default_na=False, na_values=list(MISSING)
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError("not_readable_as_table", path=path, why=str(error).strip().splitlines()[-1]) from None
    if separator != ";":
        return frame
    commas = r"^([+-]?\d+),(\d+)$"  # decimal ones, as semicolon files of many countries have
    return pd.DataFrame({name: frame[name].str.replace(commas, r"\1.\2", regex=True) for name in frame.columns})


def _separator(lines: list[str], *, square: bool) -> str:
    """Return what separates cells: a sign equally often in each of the first lines; the comma may be a decimal one."""
    signs = "\t;|, " if square else "\t;|,"  # R's write.table writes blanks
    counts = {sign: {line.count(sign) for line in lines[square and len(lines) > 2 :]} for sign in signs}
    return next((sign for sign, found in counts.items() if len(found) == 1 and found != {0}), ",")


def _decode(path: Path, raw: bytes) -> str:
    if raw.startswith(_OTHERS) or (b"\0" in raw[:4096] and not raw.startswith(_WIDE)):
        raise InputError("not_a_text_file", path=path)
    encoding = "utf-16" if raw.startswith(_WIDE) else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")  # what spreadsheets of Western Europe still write


def _write_records(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False, sep="\t" if path.suffix.lower() == ".tsv" else ",")


TEXT = Format(
    (".csv", ".tsv", ".txt"),
    "CSV",
    table=_read_records,
    grid=lambda path, part: _read_cells(path, square=True),
    begins=read_beginning,
    typed=False,
    write=_write_records,
    written=(".csv", ".tsv"),
)
