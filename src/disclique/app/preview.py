"""The first rows of a file, without reading all of a large one, and what each column looks like."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disclique.errors import InputError

if TYPE_CHECKING:
    pass

ROWS = 1000  # read to see what columns hold
SHOWN_ROWS = 10  # rows of the preview
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


def preview(path: Path, sheet: str | None = None, layer: str | None = None, *, codes: bool = False) -> Preview:
    """Return what is seen of a file at first, of a large one without reading all of it."""
    from disclique.records.formats import Part, has_places, list_parts, read_table

    if not path.exists():
        raise InputError("file_gone", path=path)
    frame = read_table(path, Part(sheet, layer, codes), rows=ROWS + 1)
    some = frame.iloc[:ROWS]
    columns = []
    for name in some.columns:
        values = tuple(_text(value) for value in some[name].dropna())
        columns.append(Column(str(name), values, len(set(values)), len(some) - len(values)))
    rows = tuple(tuple(shorten(_text(cell)) for cell in row) for row in some.iloc[:SHOWN_ROWS].itertuples(index=False))
    return Preview(tuple(columns), rows, len(some), len(frame) <= ROWS, list_parts(path), has_places(path))


class Previews:
    """What was seen of the last files: each is read once as long as it does not change."""

    def __init__(self, most: int = 8) -> None:
        self.most, self.seen = most, dict[tuple[Any, ...], Preview]()

    def get(self, path: Path, sheet: str | None = None, layer: str | None = None, *, codes: bool = False) -> Preview:
        """Return the preview of a file, by ``preview`` if it has changed."""
        about = path.stat() if path.exists() else None
        key = (path, sheet, layer, codes, about and (about.st_mtime_ns, about.st_size))
        found = self.seen.pop(key, None) or preview(path, sheet, layer, codes=codes)
        self.seen[key] = found
        for old in list(self.seen)[: -self.most]:
            self.seen.pop(old, None)
        return found


def _text(value: object) -> str:
    from disclique.records.formats import as_text

    shown = as_text(value)
    return shown if isinstance(shown, str) else ""  # NaN is no value


@contextmanager
def first_rows(path: Path) -> Iterator[Path]:
    """Give the beginning of a large text file as a file of its own, cut where a row ends; else the file itself."""
    from disclique.records.formats import format_of

    found = format_of(path)
    raw = None if found is None or found.begins is None else found.begins(path, ROWS)
    if raw is None:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / f"head{path.suffix}"
        head.write_bytes(raw)
        yield head
