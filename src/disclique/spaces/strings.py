"""Strings as a metric space: names, addresses, titles, compared by edits or by the grams that they share."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from disclique.arguments import show
from disclique.errors import InputError
from disclique.messages import mark
from disclique.spaces.base import INVENTION, SIZES, TEXTS, Distances, Invention, Sizes, in_parts
from disclique.spaces.bits import Sets
from disclique.specs import parse_spec
from disclique.units import NO_UNIT
from disclique.values import FloatArray, IntArray, canonical

TEXT_METRICS = ("levenshtein", "damerau", "jaro-winkler", "dice:q=2")
DEFAULT = "dice:q=2"


def normalise(text: str) -> str:
    """Return a string as it is compared: composed (Unicode NFC), without white space at its ends, without case.

    >>> normalise("  MÜLLER ") == normalise("mu\\u0308ller") == "müller"
    True
    """
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())
    return unicodedata.normalize("NFC", folded.casefold()).strip()


def grams_of(text: str, q: int = 2, pad: int = 0) -> list[str]:
    """Return the distinct pieces of ``q`` letters in order of appearance; a shorter string is its only piece.

    ``pad`` blanks before and after the string give its ends pieces of their own.

    >>> grams_of("anna"), grams_of("j"), grams_of("jo", pad=1)
    (['an', 'nn', 'na'], ['j'], [' j', 'jo', 'o '])
    """
    padded = " " * pad + text + " " * pad
    return list(dict.fromkeys(padded[k : k + q] for k in range(max(len(padded) - q + 1, 1))))


@dataclass(frozen=True, eq=False)
class Grams:
    """Which grams each of several strings has: row i of ``members`` marks those of string i in ``vocabulary``."""

    vocabulary: tuple[str, ...]
    members: Any  # a sparse matrix in compressed rows, one row a string, one column a gram

    @cached_property
    def counts(self) -> FloatArray:
        """How many distinct grams each string has."""
        return np.asarray(np.diff(self.members.indptr), dtype=float)

    @cached_property
    def sets(self) -> Sets:
        """The same, to count what strings share."""
        return Sets(self.members)


def find_grams(strings: Sequence[str], q: int = 2, pad: int = 0) -> Grams:
    """Return the grams of strings, each listed once and numbered in order of appearance.

    >>> find_grams(("anna", "hanna")).vocabulary
    ('an', 'nn', 'na', 'ha')
    """
    number: dict[str, int] = {}
    columns: list[int] = []
    ends = [0]
    for text in strings:
        columns += [number.setdefault(gram, len(number)) for gram in grams_of(text, q, pad)]
        ends.append(len(columns))
    shape = (len(strings), len(number))
    ones = np.ones(len(columns), dtype=np.int32)
    return Grams(tuple(number), sparse.csr_matrix((ones, np.array(columns, dtype=np.int64), ends), shape=shape))


@dataclass(frozen=True)
class TextMetric:
    """How two strings are compared; ``q`` and ``pad`` are for ``dice`` alone."""

    name: str
    q: int = 2
    pad: int = 0

    def __str__(self) -> str:
        if self.name != "dice":
            return self.name
        return f"dice:q={self.q}" + (f",pad={self.pad}" if self.pad else "")


def parse_text_metric(spec: object) -> TextMetric:
    """Return the metric that a spec names.

    >>> str(parse_text_metric("dice")), parse_text_metric("dice:q=3,pad=1").pad
    ('dice:q=2', 1)
    """
    asked = parse_spec(str(spec).lower())
    name = asked.name
    if name not in {parse_spec(known).name for known in TEXT_METRICS}:
        raise InputError("no_metric_of_texts", spec=str(spec), metrics=TEXT_METRICS)
    found = TextMetric(name)
    for part in asked.parameters:
        key, value = part.key, part.value
        least = {"q": 1, "pad": 0}.get(key) if name == "dice" else None
        if least is None:
            code = mark("dice_has_no_parameter") if name == "dice" else mark("metric_has_no_parameters")
            raise InputError(code, spec=str(spec), key=key, metric=name)
        if not (value.isascii() and value.isdigit() and least <= int(value) <= 100):
            raise InputError("metric_parameter_out_of_range", spec=str(spec), key=key, value=value, least=least)
        found = replace(found, q=int(value)) if key == "q" else replace(found, pad=int(value))
    if found.pad >= found.q and found.pad:
        raise InputError("grams_of_blanks", spec=str(spec), pad=found.pad)
    return found


def is_text_metric(spec: object) -> bool:
    """Say whether texts can be compared in this way."""
    try:
        parse_text_metric(spec)
    except InputError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Texts(Distances):
    """Distances as strings with a metric; the matrix is never formed as a whole.

    >>> Texts(("Anna Meier", "Hanna Mayer"))
    2 texts, dice:q=2

    The strings are kept as they are compared (``normalise``), and none may be empty. ``levenshtein`` counts the letters
    to be inserted, deleted or replaced, ``damerau`` also exchanges of neighbours (the unrestricted distance, a metric;
    not the "optimal string alignment", which is none), ``jaro-winkler`` is 1 minus that similarity, and ``dice:q=2`` 1
    minus the Dice coefficient of the *sets* of q-grams. ``columns`` says where they come from: these columns are never
    released. ``fields`` has the text of every one of these columns as it was written, a record each and empty where
    there is none, for encodings that treat columns differently; without columns it is the strings themselves.
    """

    kind: ClassVar[str] = TEXTS
    directed: ClassVar[bool] = False
    unit: ClassVar[str | None] = NO_UNIT  # these distances are no lengths
    keeps_records: ClassVar[bool] = True
    can_invent: ClassVar[bool] = True

    strings: tuple[str, ...]
    metric: str = DEFAULT
    columns: tuple[str, ...] = ()
    fields: tuple[tuple[str, ...], ...] = ()
    sizes: Sizes = field(default=SIZES, kw_only=True)

    def __post_init__(self) -> None:
        given: object = self.strings
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError("strings_are_none", strings=show(given))
        strings = tuple(normalise(str(text)) for text in self.strings)
        for row, text in enumerate(strings):
            if not text:
                raise InputError("string_empty", row=row, text=repr(self.strings[row]))
        fields = tuple(tuple(column) for column in self.fields) or (tuple(str(text) for text in self.strings),)
        for column in fields:
            if len(column) != len(strings):
                raise InputError("field_of_other_length", records=len(strings), cells=len(column))
        object.__setattr__(self, "strings", strings)
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "metric", str(parse_text_metric(self.metric)))
        object.__setattr__(self, "columns", tuple(self.columns))

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.strings)

    @cached_property
    def grams(self) -> Grams:
        """The grams by which ``dice`` compares."""
        rule = parse_text_metric(self.metric)
        return find_grams(self.strings, rule.q, rule.pad)

    @property
    def unreleased(self) -> tuple[str, ...]:
        """The columns of text."""
        return self.columns

    def texts(self) -> Texts:
        """Return them as they are."""
        return self

    def content(self) -> object:
        """Return the metric and the strings."""
        return self.metric, self.strings

    def invent(self, count: int, rng: np.random.Generator) -> Texts:
        """Return texts that are put together from words of several.

        >>> Texts(("anna meier", "otto weber", "ida kern")).invent(2, np.random.default_rng(1)).strings
        ('otto kern', 'ida meier')
        """
        if len(self.fields) == 1:
            return replace(self, strings=_invent_texts(self, count, rng), fields=())
        return self.with_fields(_invent_fields(self, count, rng))

    def with_fields(self, fields: Sequence[Sequence[str]]) -> Texts:
        """Return texts whose columns say something else; their strings follow.

        >>> Texts(("ada lee",), fields=(("Ada",), ("Lee",))).with_fields([["Bo", "Ida"], ["Orr", ""]]).strings
        ('bo orr', 'ida')
        """
        return replace(self, strings=tuple(map(_joined, zip(*fields, strict=True))), fields=tuple(map(tuple, fields)))

    def select(self, rows: NDArray[np.integer]) -> Texts:
        """Return some of the strings, in the order of ``rows``."""
        chosen = [int(row) for row in rows]
        fields = tuple(tuple(column[row] for row in chosen) for column in self.fields)
        return replace(self, strings=tuple(self.strings[row] for row in chosen), fields=fields)

    def append(self, other: Self) -> Self:
        """Return the strings of both; columns are kept where both have as many."""
        same = len(self.fields) == len(other.fields)
        fields = tuple(one + more for one, more in zip(self.fields, other.fields, strict=True)) if same else ()
        return replace(self, strings=self.strings + other.strings, fields=fields)

    def identities(self) -> list[Hashable]:
        """Return what makes two records the same: their strings."""
        return list(self.strings)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``."""
        if parse_text_metric(self.metric).name == "dice":
            return self._dice(rows, columns)
        return self._edits(rows, columns)

    def _dice(self, rows: IntArray, columns: IntArray) -> FloatArray:
        counts, found = self.grams.counts, np.empty((len(rows), len(columns)))
        for place, part in in_parts(rows, max(len(columns), self.size), self.sizes.counted):
            shared = self.grams.sets.shared(part, columns)
            found[place] = 1 - 2 * shared / (counts[part][:, None] + counts[columns])
        return found

    def _edits(self, rows: IntArray, columns: IntArray) -> FloatArray:
        from rapidfuzz.process import cdist

        scorer, dtype = _scorer(self.metric)
        left, right = ([self.strings[k] for k in side] for side in (rows, columns))
        found = np.asarray(cdist(left, right, scorer=scorer, dtype=dtype, workers=1), dtype=float)
        if self.metric == "jaro-winkler":  # which letters count as common may depend on which string comes first
            back = np.asarray(cdist(right, left, scorer=scorer, dtype=dtype, workers=1), dtype=float)
            found = np.minimum(found, back.T)
        return found.reshape(len(rows), len(columns))

    def __repr__(self) -> str:
        return f"{self.size} texts, {self.metric}"


def _invent_texts(texts: Texts, count: int, rng: np.random.Generator, how: Invention = INVENTION) -> tuple[str, ...]:
    """Put texts together word by word, each word drawn from those at its place in texts of as many words.

    None is equal to a text of the file. Where words alone give no new text, beginnings and ends of texts are joined.
    """
    there = set(texts.strings)
    shapes: dict[int, list[list[str]]] = {}
    for text in texts.strings:
        shapes.setdefault(len(text.split()), []).append(text.split())
    words = {size: [[row[k] for row in rows] for k in range(size)] for size, rows in shapes.items()}

    def recombined() -> str:
        size = len(texts.strings[int(rng.integers(texts.size))].split())
        return " ".join(pool[int(rng.integers(len(pool)))] for pool in words[size])

    def spliced() -> str:
        one, other = (texts.strings[int(row)] for row in rng.integers(texts.size, size=2))
        return one[: int(rng.integers(1, len(one) + 1))] + other[int(rng.integers(len(other))) :]

    def fresh() -> str:
        for draw in (recombined, spliced):
            for _ in range(how.draws):
                found = draw().strip()
                if found and found not in there:
                    return found
        raise InputError("texts_too_alike_to_invent")

    return tuple(fresh() for _ in range(count))


def _invent_fields(
    texts: Texts, count: int, rng: np.random.Generator, how: Invention = INVENTION
) -> list[tuple[str, ...]]:
    """Put people together column by column, each cell drawn from those of the file; none is one of the file.

    Where all combinations are there already, a cell is put together from two.
    """
    there, found = set(texts.strings), []

    def drawn(spliced: bool) -> tuple[str, ...]:
        cells = [column[int(rng.integers(texts.size))] for column in texts.fields]
        if spliced:
            place = int(rng.integers(len(cells)))
            other = texts.fields[place][int(rng.integers(texts.size))]
            cells[place] = cells[place][: int(rng.integers(len(cells[place]) + 1))] + other[len(other) // 2 :]
        return tuple(cells)

    def fresh() -> tuple[str, ...]:
        for spliced in (False, True):
            for _ in range(how.draws):
                cells = drawn(spliced)
                if (text := _joined(cells)) and text not in there:
                    return cells
        raise InputError("texts_too_alike_to_invent")

    found = [fresh() for _ in range(count)]
    return list(zip(*found, strict=True)) if found else [() for _ in texts.fields]


def _joined(cells: Iterable[str]) -> str:
    return " ".join(filter(None, map(normalise, cells)))


def _scorer(metric: str) -> tuple[Callable[..., Any], Any]:
    from rapidfuzz.distance import DamerauLevenshtein, JaroWinkler, Levenshtein

    scorers: dict[str, tuple[Callable[..., Any], Any]] = {
        "levenshtein": (Levenshtein.distance, np.int32),
        "damerau": (DamerauLevenshtein.distance, np.int32),
        "jaro-winkler": (JaroWinkler.normalized_distance, np.float64),
    }
    return scorers[metric]


def texts_of(table: pd.DataFrame, columns: Sequence[str], metric: str = DEFAULT, *, name: str) -> Texts:
    """Return the text of every record: its columns one after the other with a blank between, cells without text out.

    >>> texts_of(pd.DataFrame({"first": ["Ada", "Bo"], "last": ["Lee", None]}), ["first", "last"], name="p").strings
    ('ada lee', 'bo')
    """
    if not columns:
        raise InputError("no_column_of_text", name=name)
    fields = []
    for column in columns:
        if column not in table.columns:
            raise InputError(
                "no_such_column", file=name, column=column, columns=[repr(str(one)) for one in table.columns]
            )
        if isinstance(table[column], pd.DataFrame):
            raise InputError("columns_of_one_name", path=name, column=column)
        fields.append(tuple(map(_cell, table[column])))
    joined = tuple(map(_joined, zip(*fields, strict=True)))
    for row, text in enumerate(joined):
        if not text:
            where = [repr(str(column)) for column in columns]
            raise InputError("text_missing", name=name, row=row + 1, columns=where)
    return Texts(joined, metric, tuple(map(str, columns)), tuple(fields))


def find_texts(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.bool_]:
    """Say of every record whether one of its columns has text to be compared; columns that are missing have none."""
    fields = [list(map(_cell, table[one])) for one in columns if one in table.columns and table[one].ndim == 1]
    return np.array([bool(_joined(cells)) for cells in zip(*fields, strict=True)], dtype=bool)


def _cell(value: Any) -> str:
    found = value if isinstance(value, str) else canonical(value)
    return "" if found is None else str(found).strip()
