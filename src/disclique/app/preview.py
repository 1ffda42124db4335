"""The first rows of a file, without reading all of a large one, and what each column looks like."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from disclique.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

ROWS = 1000  # read to see what columns hold
SHOWN = 10  # rows of the preview
SMALL = 4_000_000  # bytes of a text file up to which it is read whole
LONG = 60  # characters of a cell that are shown
EXAMPLES = 3


@dataclass(frozen=True)
class Column:
    """A column: some of its values as texts, how many different ones there are, how many cells are empty."""

    name: str
    values: tuple[str, ...]  # of the rows read, without the empty ones
    distinct: int
    missing: int

    @property
    def examples(self) -> list[str]:
        """The first different values, shortened."""
        return [shorten(value) for value in list(dict.fromkeys(self.values))[:EXAMPLES]]

    @property
    def numbers(self) -> list[float] | None:
        """The values as numbers; None if one of them is none."""
        try:
            found = [float(value) for value in self.values]
        except ValueError:
            return None
        return found if found and all(abs(value) < float("inf") for value in found) else None


@dataclass(frozen=True)
class Preview:
    """What is seen of a file at first: ``rows`` to be shown, ``read`` rows on which the columns were judged.

    ``whole`` says that these are all. ``parts`` are the sheets or layers among which one can be chosen, ``geometry``
    that places come from the file itself.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    read: int
    whole: bool
    parts: tuple[str, ...] = ()
    geometry: bool = False


def shorten(text: str) -> str:
    """Return a cell as it is shown."""
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"


def list_parts(path: Path) -> tuple[str, ...]:
    """Return the sheets or layers of a file, if it has several."""
    from disclique.records.formats import layers, workbooks

    if path.suffix.lower() in workbooks.SUFFIXES:
        found = _sheets(path)
    elif path.suffix.lower() in layers.SUFFIXES and path.suffix.lower() not in (".geoparquet", ".geojson"):
        found = _layers(path)
    else:
        return ()
    return found if len(found) > 1 else ()


def _sheets(path: Path) -> tuple[str, ...]:
    try:
        from openpyxl import load_workbook

        book = load_workbook(path, read_only=True)
    except Exception:  # zip, XML and value errors of every kind: reading it says what is wrong
        return ()
    try:
        return tuple(map(str, book.sheetnames))
    finally:
        book.close()


def _layers(path: Path) -> tuple[str, ...]:
    try:
        import pyogrio

        return tuple(str(name) for name, geometry in pyogrio.list_layers(path) if geometry is not None)
    except Exception:  # drivers raise errors of their own: reading it says what is wrong
        return ()


def preview(path: Path, sheet: str | None = None, layer: str | None = None, *, codes: bool = False) -> Preview:
    """Return what is seen of a file at first; read once as long as it does not change."""
    try:
        about = path.stat()
    except OSError:
        raise InputError(f"{path}: there is no such file any more") from None
    return _preview(path, about.st_mtime_ns, about.st_size, (sheet, layer, codes))


@lru_cache(maxsize=8)
def _preview(path: Path, changed: int, size: int, part: tuple[str | None, str | None, bool]) -> Preview:
    from disclique.records.formats.files import Part
    from disclique.records.formats.layers import is_geographic

    frame, whole = _head(path, size, Part(*part))
    some = frame.iloc[:ROWS]
    whole = whole and len(frame) <= ROWS
    columns = tuple(_describe(some[name], str(name)) for name in some.columns)
    rows = tuple(tuple(shorten(_text(cell)) for cell in row) for row in some.iloc[:SHOWN].itertuples(index=False))
    return Preview(columns, rows, len(some), whole, list_parts(path), is_geographic(path))


def _describe(column: pd.Series, name: str) -> Column:
    there = column.dropna()
    values = tuple(_text(value) for value in there)
    return Column(name, values, len(set(values)), len(column) - len(there))


def _text(value: object) -> str:
    from disclique.records.formats.workbooks import as_text

    shown = as_text(value)
    return shown if isinstance(shown, str) else ""  # NaN is no value


def _head(path: Path, size: int, part: object) -> tuple[pd.DataFrame, bool]:
    """Return the first rows of a file, and whether these are all."""
    from disclique.records.formats.files import TEXT, Part, read_table
    from disclique.records.formats.statistics import SUFFIXES

    assert isinstance(part, Part)
    suffix = path.suffix.lower()
    if suffix in TEXT and size > SMALL:
        return _head_of_text(path, part), False
    if suffix == ".parquet" and size > SMALL:
        return _head_of_parquet(path), False
    if suffix in SUFFIXES:
        from disclique.records.formats.statistics import read_statfile

        frame = read_statfile(path, codes=part.codes, most=ROWS + 1)
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            raise InputError(f"{path}: the file has no records")
        return frame, len(frame) <= ROWS
    return read_table(path, part), True


def _head_of_text(path: Path, part: object) -> pd.DataFrame:
    """Read the beginning of a text file as a file of its own."""
    from disclique.records.formats.files import Part, read_table

    assert isinstance(part, Part)
    with first_rows(path) as head:
        return read_table(head, part)


@contextmanager
def first_rows(path: Path) -> Iterator[Path]:
    """Give the beginning of a large text file as a file of its own, cut where a row ends; else the file itself."""
    from disclique.records.formats.files import TEXT

    lines, end = [], 0
    if path.suffix.lower() in TEXT and path.stat().st_size > SMALL:
        with path.open("rb") as file:
            raw = file.read(SMALL // 2)
        if not raw.startswith((b"\xff\xfe", b"\xfe\xff")):  # two bytes a letter: a cut could halve one
            lines = raw.split(b"\n")[: 2 * ROWS + 1][:-1]
    quotes = 0
    for number, line in enumerate(lines):
        quotes += line.count(b'"')
        if quotes % 2 == 0:  # no quoted cell is open
            end = number + 1
    if end < 2:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / f"head{path.suffix}"
        head.write_bytes(b"\n".join(lines[:end]) + b"\n")
        try:
            yield head
        except InputError as problem:
            raise InputError(str(problem).replace(str(head), str(path))) from None


def _head_of_parquet(path: Path) -> pd.DataFrame:
    from pyarrow import ArrowException, parquet

    from disclique.records.formats.workbooks import plain_dates

    try:
        with parquet.ParquetFile(path) as file:
            batch = next(file.iter_batches(batch_size=ROWS + 1))
    except (OSError, ValueError, ArrowException, StopIteration) as error:
        raise InputError(
            f"{path}: not a Parquet file ({str(error).splitlines()[0] if str(error) else 'empty'})"
        ) from None
    return plain_dates(batch.to_pandas())
