"""Encodings: bit strings such as Bloom filters of names, and how far apart they are."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from disclique.arguments import check_whole, show
from disclique.errors import InputError
from disclique.messages import Message, mark
from disclique.spaces.base import ENCODINGS, SIZES, Distances, Sizes, digest, in_parts
from disclique.units import NO_UNIT
from disclique.values import FloatArray, IntArray

BIT_METRICS = ("dice", "jaccard", "hamming")
COLUMN = "encoding"  # what a release calls its column of encodings
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)  # bits set in each byte
BINARY, HEXADECIMAL, BASE64 = mark("form_binary"), mark("form_hexadecimal"), mark("form_base64")
_FORMS = {
    BINARY: re.compile(r"[01]+"),
    HEXADECIMAL: re.compile(r"(0[xX])?[0-9a-fA-F]+"),
    BASE64: re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"),
}


@dataclass(frozen=True)
class Counting:
    """Which way of counting the bits that records share is taken."""

    sparse_share: float = 0.05  # of all bits: with fewer set, it goes by lists of those that are
    few_records: int = 4  # whose bits are compared with those of others as they are packed


COUNTING = Counting()


@dataclass(frozen=True, eq=False)
class Sets:
    """A set for each record, to count what two of them share; row i of the sparse ``members`` marks set i.

    >>> from scipy.sparse import csr_matrix
    >>> Sets(csr_matrix([[1, 1, 0], [0, 1, 1]])).shared(np.array([0]), np.array([0, 1]))
    array([[2., 1.]])
    """

    members: Any

    @cached_property
    def _turned(self) -> Any:
        return self.members.T.tocsr()

    def shared(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return how much each of ``rows`` shares with each of ``columns``; exact."""
        if 2 * len(columns) < self.members.shape[0]:
            return np.asarray((self.members[rows] @ self.members[columns].T).toarray(), dtype=float)
        counts = (self.members[rows] @ self._turned).toarray()  # choosing among all is cheaper than turning most
        return np.asarray(counts[:, columns], dtype=float)


def parse_bit_metric(spec: object) -> str:
    """Return how encodings are compared; parameters that ``dice`` has for texts mean nothing here.

    >>> parse_bit_metric("Jaccard"), parse_bit_metric("dice:q=2")
    ('jaccard', 'dice')
    """
    name = str(spec).strip().lower()
    name = "dice" if name.startswith("dice:") else name
    if name not in BIT_METRICS:
        raise InputError("no_metric_of_encodings", spec=str(spec), metrics=BIT_METRICS)
    return name


def is_bit_metric(spec: object) -> bool:
    """Say whether encodings can be compared in this way."""
    try:
        parse_bit_metric(spec)
    except InputError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Encodings(Distances):
    """Distances as bit strings of one length with a metric; the matrix is never formed as a whole.

    >>> Encodings(np.packbits([[1, 0, 1], [1, 1, 0]], axis=1), 3)
    2 encodings of 3 bits, dice

    ``bits`` has one row a record, packed as by ``np.packbits``. With c bits set in both, a and b in each: ``dice`` is
    1 - 2c/(a + b), ``jaccard`` 1 - c/(a + b - c), and ``hamming`` the share of the bits that differ; two strings
    without any bit are equal.
    """

    kind: ClassVar[str] = ENCODINGS
    directed: ClassVar[bool] = False
    unit: ClassVar[str | None] = NO_UNIT  # these distances are no lengths
    keeps_records: ClassVar[bool] = True

    bits: NDArray[np.uint8]
    length: int
    metric: str = "dice"
    sizes: Sizes = field(default=SIZES, kw_only=True)

    def __post_init__(self) -> None:
        check_whole(self.length, "length", 1)
        try:
            bits = np.array(self.bits, dtype=np.uint8)
        except (TypeError, ValueError, OverflowError):
            raise InputError("bits_not_packed", bits=show(self.bits)) from None
        if self.length < 1 or bits.ndim != 2 or bits.shape[1] != (self.length + 7) // 8:
            raise InputError(
                "encodings_of_wrong_shape", shape=str(bits.shape), length=self.length, size=(self.length + 7) // 8
            )
        rest = -self.length % 8
        if (bits[:, -1] & ((1 << rest) - 1)).any():
            row = int(np.flatnonzero(bits[:, -1] & ((1 << rest) - 1))[0])
            raise InputError("bits_behind_the_last", row=row, length=self.length)
        bits.setflags(write=False)
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "metric", parse_bit_metric(self.metric))

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.bits)

    @cached_property
    def weights(self) -> FloatArray:
        """How many bits each record has set."""
        return np.asarray(_ONES[self.bits].sum(axis=1, dtype=np.int64), dtype=float)

    def content(self) -> object:
        """Return the metric, the length and a digest of the bits."""
        return self.metric, self.length, digest(self.bits)

    def select(self, rows: NDArray[np.integer]) -> Encodings:
        """Return some of the encodings, in the order of ``rows``."""
        return replace(self, bits=self.bits[np.asarray(rows)])

    def append(self, other: Self) -> Self:
        """Return the encodings of both."""
        if self.length != other.length:
            raise InputError("encodings_of_two_lengths", one=self.length, other=other.length)
        return replace(self, bits=np.concatenate([self.bits, other.bits]))

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``; all counts are exact."""
        found = np.empty((len(rows), len(columns)))
        count, width = self._counter(rows, columns)
        for place, part in in_parts(rows, width, self.sizes.counted):
            found[place] = self._distance(count(part), self.weights[part][:, None] + self.weights[columns])
        return found

    def _counter(self, rows: IntArray, columns: IntArray) -> tuple[Callable[[IntArray], FloatArray], int]:
        """Return how the bits that some rows share with all columns are counted best, and the width of that work."""
        if float(self.weights.sum()) < COUNTING.sparse_share * self.length * self.size:
            return lambda part: self._sets.shared(part, columns), max(len(columns), self.size)
        if min(len(rows), len(columns)) <= COUNTING.few_records:
            return lambda part: self._few(part, columns), len(columns)
        across = self._unpacked(columns).T
        return lambda part: np.asarray(self._unpacked(part) @ across, dtype=float), max(len(columns), self.length)

    def identities(self) -> list[Hashable]:
        """Return what makes two records the same: their bits."""
        return [row.tobytes() for row in self.bits]

    def _distance(self, shared: FloatArray, both: FloatArray) -> FloatArray:
        if self.metric == "hamming":
            return np.asarray((both - 2 * shared) / self.length)
        union = both - shared
        part, whole = (2 * shared, both) if self.metric == "dice" else (shared, union)
        return 1 - np.divide(part, whole, out=np.ones_like(whole), where=whole > 0)

    @cached_property
    def _sets(self) -> Sets:
        """The positions of the bits that are set, which is less than the bits where few are."""
        rows = np.arange(self.size, dtype=np.int32)
        parts = [self._open(self.bits[part]) for _, part in in_parts(rows, self.length, self.sizes.counted)]
        return Sets(sparse.vstack([sparse.csr_matrix(part, dtype=np.int32) for part in parts], format="csr"))

    def _few(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Count the bits that a few records share with many, without unpacking them."""
        if len(rows) > len(columns):
            return self._few(columns, rows).T
        across = self.bits[columns]
        found = [_ONES[self.bits[row] & across].sum(axis=1, dtype=np.int64) for row in rows]
        return np.array(found, dtype=float).reshape(len(rows), len(columns))

    def _unpacked(self, rows: IntArray) -> NDArray[np.float32]:
        """Return the bits of some records, one row each; counts below 2^24 are exact in single precision."""
        return self._open(self.bits[rows]).astype(np.float32)

    def _open(self, packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.unpackbits(packed, axis=1, count=self.length)

    def cells(self, form: str | None = None) -> list[str]:
        """Return each encoding as a text that ``parse_encodings`` reads back; by default in hexadecimal digits."""
        if form == BINARY:
            return ["".join(map(str, row)) for row in self._open(self.bits).tolist()]
        if form == BASE64 and self.length % 8 == 0:
            return [base64.b64encode(row.tobytes()).decode("ascii") for row in self.bits]
        digits = (self.length + 3) // 4
        return [row.tobytes().hex()[:digits] for row in self.bits]

    def __repr__(self) -> str:
        return f"{self.size} encodings of {self.length} bits, {self.metric}"


def parse_encodings(values: Sequence[Any], metric: str = "dice", *, name: str, column: str = COLUMN) -> Encodings:
    """Return the encodings that are written as 0 and 1, in hexadecimal or in base64: the first that fits all records.

    >>> parse_encodings(["8f", "0a"], name="clk.csv").length
    8
    >>> parse_encodings(["8f", "z!", "0a"], name="clk.csv")
    Traceback (most recent call last):
        ...
    disclique.errors.InputError: clk.csv: row 2, column 'encoding' = 'z!': neither 0 and 1, hexadecimal, base64
    """
    cells = ["" if value is None or value is pd.NA else str(value).strip() for value in values]
    for row, (value, text) in enumerate(zip(values, cells, strict=True)):
        if not text or (isinstance(value, float) and np.isnan(value)):
            raise InputError("encoding_missing", name=name, row=row + 1, column=column)
        if not isinstance(value, str):
            raise InputError("encoding_is_number", name=name, row=row + 1, column=column, text=text)
    form = _form_of(cells, name, column)
    length = _bits_in(cells[0], form)
    for row, text in enumerate(cells):
        if _bits_in(text, form) != length:
            found = {"text": _short(text), "bits": _bits_in(text, form), "length": length}
            raise InputError("encodings_differ_in_length", name=name, row=row + 1, column=column, **found)
    return Encodings(np.stack([_packed(text, form) for text in cells]), length, metric)


def form_of(values: Sequence[Any]) -> str | None:
    """Return how encodings are written; None where no form fits them all.

    >>> form_of(["8f", "0a"]), form_of(["Zg==", "Zw=="])
    ('form_hexadecimal', 'form_base64')
    """
    cells = [str(value).strip() for value in values]
    return next((form for form, rule in _FORMS.items() if all(rule.fullmatch(text) for text in cells)), None)


def _form_of(cells: Sequence[str], name: str, column: str) -> str:
    """Return how the encodings are written; where nothing fits them all, complain of the first odd one out."""
    fits = {form: [rule.fullmatch(text) is not None for text in cells] for form, rule in _FORMS.items()}
    for form, found in fits.items():
        if all(found):
            return form
    odd = next((row for row in range(len(cells)) if not any(found[row] for found in fits.values())), None)
    usual = max(fits, key=lambda form: sum(fits[form]))  # the first of those that fit the most rows
    row = fits[usual].index(False) if odd is None else odd
    if odd is None:
        like = Message("encoding_unlike_others", form=Message(usual))
    else:
        like = Message("encoding_of_no_form", forms=[Message(form) for form in _FORMS])
    raise InputError("encoding_unreadable", name=name, row=row + 1, column=column, text=_short(cells[row]), like=like)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _bits_in(text: str, form: str) -> int:
    if form == BINARY:
        return len(text)
    if form == HEXADECIMAL:
        return 4 * len(_digits(text))
    return 8 * (len(text) // 4 * 3 - text.count("="))


def _digits(text: str) -> str:
    return text[2:] if text[:2].lower() == "0x" else text


def _packed(text: str, form: str) -> NDArray[np.uint8]:
    if form == BINARY:
        return np.packbits(np.frombuffer(text.encode("ascii"), dtype=np.uint8) - ord("0"))
    try:
        digits = _digits(text)
        raw = bytes.fromhex(digits + "0" * (len(digits) % 2)) if form == HEXADECIMAL else base64.b64decode(text)
    except binascii.Error as error:
        raise InputError("not_of_form", text=_short(text), form=Message(form), error=str(error)) from None
    return np.frombuffer(raw, dtype=np.uint8)


def encodings_of_array(array: NDArray[Any], metric: str = "dice", *, name: str = "encodings") -> Encodings:
    """Return the encodings in an array of 0 and 1, one column a bit, or of packed bytes (type uint8).

    >>> encodings_of_array(np.array([[1, 0, 1], [0, 0, 1]])), encodings_of_array(np.array([[255], [3]], np.uint8))
    (2 encodings of 3 bits, dice, 2 encodings of 8 bits, dice)
    """
    if array.ndim != 2 or 0 in array.shape:
        raise InputError("encodings_no_table", name=name, shape=str(array.shape))
    if array.dtype == np.uint8 and (array > 1).any():
        return Encodings(array, 8 * array.shape[1], metric)
    bad = ~((array == 0) | (array == 1))
    if bad.any():
        i, j = map(int, np.argwhere(bad)[0])
        raise InputError("no_bit", name=name, row=i + 1, column=j + 1, value=array[i, j])
    return Encodings(np.packbits(array.astype(bool), axis=1), array.shape[1], metric)
