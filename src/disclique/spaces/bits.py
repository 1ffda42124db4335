"""Encodings: bit strings such as Bloom filters of names, and how far apart they are."""

from __future__ import annotations

import base64
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from disclique.arguments import check_whole, show
from disclique.errors import InputError
from disclique.messages import mark
from disclique.spaces.base import ENCODINGS, SIZES, Distances, Sizes, digest, in_parts
from disclique.units import NO_UNIT
from disclique.values import FloatArray, IntArray

BIT_METRICS = ("dice", "jaccard", "hamming")
COLUMN = "encoding"  # what a release calls its column of encodings
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)  # bits set in each byte
BINARY, HEXADECIMAL, BASE64, SETS = (
    mark("form_binary"),
    mark("form_hexadecimal"),
    mark("form_base64"),
    mark("form_sets"),
)


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

    Several encodings of one person, such as one for each column, lie one behind the other; ``parts`` has the length of
    each. Then the distance is the mean of those of the parts that both people have: a part without any bit is missing.

    >>> two = Encodings(np.packbits([[1, 0, 1, 1], [1, 0, 0, 1]], axis=1), 4, parts=(2, 2))
    >>> two.block(np.array([0]), np.array([1]))
    array([[0.16666667]])
    """

    kind: ClassVar[str] = ENCODINGS
    directed: ClassVar[bool] = False
    unit: ClassVar[str | None] = NO_UNIT  # these distances are no lengths
    keeps_records: ClassVar[bool] = True

    bits: NDArray[np.uint8]
    length: int
    metric: str = "dice"
    parts: tuple[int, ...] = ()
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
        parts = tuple(self.parts) or (self.length,)
        for part in parts:
            check_whole(part, "parts", 1)
        if sum(parts) != self.length:
            raise InputError("parts_of_other_length", parts=list(parts), length=self.length)
        bits.setflags(write=False)
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "metric", parse_bit_metric(self.metric))
        object.__setattr__(self, "parts", parts)

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self.bits)

    @cached_property
    def weights(self) -> FloatArray:
        """How many bits each record has set."""
        return np.asarray(_ONES[self.bits].sum(axis=1, dtype=np.int64), dtype=float)

    def encodings(self) -> Encodings:
        """Return them as they are."""
        return self

    def opened(self) -> NDArray[np.uint8]:
        """Return the bits, one row a record and one column a bit."""
        return self._open(self.bits)

    def content(self) -> object:
        """Return the metric, the length and a digest of the bits."""
        whole = self.metric, self.length, digest(self.bits)
        return whole if len(self.parts) == 1 else (*whole, self.parts)

    @cached_property
    def pieces(self) -> tuple[Encodings, ...]:
        """The encodings of each part by themselves."""
        if len(self.parts) == 1:
            return (self,)
        ends = np.cumsum(self.parts)
        spans = zip(ends - self.parts, ends, strict=True)
        opened = self._open(self.bits)
        return tuple(
            replace(self, bits=np.packbits(opened[:, begin:end], axis=1), length=int(end - begin), parts=())
            for begin, end in spans
        )

    def select(self, rows: NDArray[np.integer]) -> Encodings:
        """Return some of the encodings, in the order of ``rows``."""
        return replace(self, bits=self.bits[np.asarray(rows)])

    def append(self, other: Self) -> Self:
        """Return the encodings of both."""
        if self.length != other.length or self.parts != other.parts:
            raise InputError("encodings_of_two_lengths", one=_sum(self.parts), other=_sum(other.parts))
        return replace(self, bits=np.concatenate([self.bits, other.bits]))

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``; all counts are exact."""
        if len(self.parts) > 1:
            return self._mean_of_parts(rows, columns)
        found = np.empty((len(rows), len(columns)))
        count, width = self._counter(rows, columns)
        for place, part in in_parts(rows, width, self.sizes.counted):
            found[place] = self._distance(count(part), self.weights[part][:, None] + self.weights[columns])
        return found

    def _mean_of_parts(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the mean over the parts that both have; those who share no part are as far apart as can be."""
        total, both = (np.zeros((len(rows), len(columns))) for _ in range(2))
        for piece in self.pieces:
            there = (piece.weights[rows] > 0)[:, None] & (piece.weights[columns] > 0)
            total += np.where(there, piece.block(rows, columns), 0.0)
            both += there
        apart = (self.weights[rows] > 0)[:, None] | (self.weights[columns] > 0)  # without any bit they are equal
        return np.asarray(np.divide(total, both, out=apart.astype(float), where=both > 0))

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
        if form == SETS:
            return ["{" + ", ".join(map(str, np.flatnonzero(row).tolist())) + "}" for row in self._open(self.bits)]
        if form == BASE64 and self.length % 8 == 0:
            return [base64.b64encode(row.tobytes()).decode("ascii") for row in self.bits]
        digits = (self.length + 3) // 4
        return [row.tobytes().hex()[:digits] for row in self.bits]

    def cells_of_parts(self, form: str | None = None) -> list[list[str | None]]:
        """Return each encoding of every person as texts, one list of all records after the other; None is missing."""
        if len(self.parts) == 1:
            return [list(self.cells(form))]
        return [
            [cell if weight else None for cell, weight in zip(piece.cells(form), piece.weights, strict=True)]
            for piece in self.pieces
        ]

    def __repr__(self) -> str:
        return f"{self.size} encodings of {_sum(self.parts)} bits, {self.metric}"


def _sum(parts: Sequence[int]) -> str:
    return " + ".join(map(str, parts))
