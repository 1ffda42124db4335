"""What a space can do: the class of all distances, whose defaults mean "cannot".

Nobody outside this room asks of which class distances are. They ask for an ability, and None is an answer:
``distances.places()`` are the records on a map, ``distances.texts()`` their strings, and so on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.units import ASK, KM, MINUTES, NO_UNIT
from disclique.values import FloatArray, IntArray

if TYPE_CHECKING:
    from disclique.spaces.bits import Encodings
    from disclique.spaces.lazy import Listed
    from disclique.spaces.matrix import Matrix, ScaledMatrix
    from disclique.spaces.points import Points
    from disclique.spaces.strings import Texts

EARTH, PLANE, VECTORS, RECORDS = "coordinates", "plane", "vectors", "records"
TEXTS, ENCODINGS, MATRIX, NOTHING = "texts", "encodings", "matrix", "nothing"
MAPS = (EARTH, PLANE)  # what has places that can be drawn


@dataclass(frozen=True)
class Sizes:
    """How much of the distances of a file is held at a time."""

    formed_records: int = 4000  # of which a matrix is formed: 128 MB
    entries: int = 4_000_000  # of a matrix that are read at a time
    counted: int = 1 << 22  # distances that are counted at a time: what is in between takes several times their memory


@dataclass(frozen=True)
class Invention:
    """How people who are in no file are invented."""

    nearest_records: int = 5  # they lie about as far from a real one as its fifth nearest, or towards one of the five
    draws: int = 50  # after which a text that is in no file is sought in another way


SIZES, INVENTION = Sizes(), Invention()


class Distances:
    """Distances between the records of one file; NaN is a distance that was not published.

    A kind of space has ``size`` (number of records), ``directed`` (whether the distance from i to j may differ from
    the one from j to i), ``unit`` (``km``, ``none`` for what is no length, None where nobody said it) and ``block``.
    All else is what some kinds can do.
    """

    if TYPE_CHECKING:  # at run time a property here would stand in the way of the fields of a dataclass

        @property
        def size(self) -> int:
            """Number of records."""

        @property
        def directed(self) -> bool:
            """True if the distance from i to j may differ from the one from j to i."""

        @property
        def unit(self) -> str | None:
            """The unit of the distances, None where nobody said it."""

        @property
        def metric(self) -> Any:
            """How two records are compared, None where only distances are given."""

        @property
        def sizes(self) -> Sizes:
            """How much of the distances is held at a time."""

    else:
        unit = metric = None
        sizes = SIZES

    takes_unit: ClassVar[bool] = False  # whether the holder may say the unit
    keeps_records: ClassVar[bool] = False  # whether something is kept for each record, so that files can be joined

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``, shape (len(rows), len(columns))."""
        raise NotImplementedError

    @property
    def is_large(self) -> bool:
        """Whether there are so many records that no matrix of them is formed."""
        return self.size > self.sizes.formed_records

    def with_sizes(self, sizes: Sizes) -> Self:
        """Return the same, of which more or less is held at a time."""
        return replace(cast(Any, self), sizes=sizes)  # type: ignore[no-any-return]

    # what the records are

    @property
    def kind(self) -> str:
        """What the distances are between, in one word for results and reports.

        It is ``coordinates`` (points of the Earth), ``plane`` (of a plane or a line), ``vectors``, ``records`` (of a
        table, or whatever a metric of one's own compares), ``texts``, ``encodings``, ``matrix`` where only
        distances are given, or ``nothing`` where there are none.
        """
        return MATRIX

    @property
    def are_published(self) -> bool:
        """Whether there are distances between the records at all."""
        return True

    @property
    def on_earth(self) -> bool:
        """Whether the records are given as points of the Earth, in degrees."""
        return False

    @property
    def scaled(self) -> bool:
        """Whether the places are a map that was made of the distances, and not what the records are given by."""
        return False

    @property
    def by_ranges(self) -> bool:
        """Whether distances depend on the ranges of the columns of a file, as Gower's do."""
        return False

    @property
    def releases(self) -> tuple[Distances, ...]:
        """The releases of which this is made: several of a series, else only itself."""
        return (self,)

    def points(self) -> Points | None:
        """Return the records as points, with whatever metric: of a map, vectors or records of a table."""
        return None

    def vectors(self) -> Points | None:
        """Return the records as rows of numbers with a metric that has a name: points of a map, or vectors."""
        return None

    def places(self) -> Points | None:
        """Return the places on a map, of the Earth, a plane or a line: those given, or those a matrix was scaled to."""
        return None

    def texts(self) -> Texts | None:
        """Return the strings between which the distances are."""
        return None

    def encodings(self) -> Encodings | None:
        """Return the bit strings between which the distances are."""
        return None

    def matrix(self) -> Matrix | None:
        """Return the matrix, where the distances are given as one."""
        return None

    def listed(self) -> Listed | None:
        """Return the list of the published distances, where most are not published."""
        return None

    def cells(self, form: str | None = None) -> list[str] | None:
        """Return what stands for each record in a column of a release, where that is all that is released.

        ``form`` is how it is written, as by default where nobody says it.
        """
        return None

    def cells_of_parts(self, form: str | None = None) -> list[list[str | None]]:
        """Return the cells of each encoding of people who have several, a list of records for each; else all cells."""
        found = self.cells(form)
        return [] if found is None else [list(found)]

    @property
    def unreleased(self) -> tuple[str, ...]:
        """The columns from which the distances come and that are never released."""
        return ()

    def identities(self) -> list[Hashable] | None:
        """Return what makes two records the same: those of equal values have equal distances from everybody."""
        return None

    def content(self) -> object:
        """Return what tells two files apart, for a digest; a large array as its own digest."""
        return digest(full_matrix(self))

    # what can be made of it

    def select(self, rows: NDArray[np.integer]) -> Distances:
        """Return the distances between some records, in the order of ``rows``."""
        from disclique.spaces.matrix import matrix_like

        return matrix_like(full_matrix(self, rows=np.asarray(rows, dtype=np.int32)), self)

    def can_join(self, other: Distances) -> bool:
        """Say whether the distances between the records of two files follow from both: not from two bare matrices."""
        alike = type(self) is type(other) and self.metric == other.metric and self.unit == other.unit
        return self.keeps_records and alike

    def join(self, other: Distances) -> Self:
        """Return the distances between the records of both files, one after the other."""
        if not self.can_join(other):
            raise InputError("files_cannot_be_joined", one=repr(self), other=repr(other))
        return self.append(cast(Self, other))

    def append(self, other: Self) -> Self:
        """Return the records of both where something is kept for each of them, from which their distances follow."""
        raise NotImplementedError

    @property
    def can_invent(self) -> bool:
        """Whether people can be invented that lie among those of the file."""
        return False

    def invent(self, count: int, rng: np.random.Generator) -> Distances:
        """Return ``count`` people who are in no file, invented like those of this one, as a space of the same kind.

        Of a matrix that fits no map, of encodings or in a metric of one's own nobody can be invented, because nothing
        says how far an invented person would lie from the others.
        """
        raise InputError("nobody_can_be_invented")

    def to_map(self, *, radius: float | None = None) -> ScaledMatrix | None:
        """Return the distances with the map that they make; None if they fit none.

        ``radius`` is that of the sphere to be used, 0 for the plane; by default the map that fits better is taken.
        """
        return None

    def with_unit(self, unit: str) -> Self | None:
        """Return the same with a unit that was said of it; None where none can be said."""
        return replace(cast(Any, self), unit=unit) if self.takes_unit else None

    def longest(self) -> float:
        """Return the largest distance, or a lower bound on it that is quickly found."""
        return 0.0

    def with_ranges_of(self, other: Distances, name: str) -> Distances:
        """Return the same compared by the ranges of another file where both depend on ranges; it is called ``name``."""
        return self

    def as_matrix(self, *, most: int | None = None) -> Distances:
        """Return the distances as a matrix, symmetric bit by bit; of more than ``most`` records none is formed.

        This is what a release shows: distances, without the coordinates from which they come, also where there are so
        many that they are computed when asked for.
        """
        from disclique.spaces.matrix import matrix_like

        if self.size > (self.sizes.formed_records if most is None else most):
            return self.hidden()
        values = full_matrix(self)
        if not self.directed:
            upper = np.triu(values, 1)
            values = upper + upper.T
        return matrix_like(values, self)

    def hidden(self) -> Distances:
        """Return distances that show nothing of the points, strings or records between which they are."""
        from disclique.spaces.lazy import Hidden

        return Hidden(self)


@dataclass(frozen=True, eq=False, repr=False)
class OwnDistances(Distances):
    """Distances that somebody computes in an object of their own: it has ``size``, ``directed`` and ``block``."""

    given: Any
    sizes: Sizes = field(default=SIZES, kw_only=True)

    @property
    def size(self) -> int:
        """Number of records."""
        return int(self.given.size)

    @property
    def directed(self) -> bool:
        """True if the distance from i to j may differ from the one from j to i."""
        return bool(self.given.directed)

    @property
    def unit(self) -> str | None:
        """The unit, if the object says it."""
        found = getattr(self.given, "unit", None)
        return found if isinstance(found, str) else None

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``, in an array that may be written to."""
        return np.array(self.given.block(rows, columns), dtype=float)

    def identities(self) -> list[Hashable] | None:
        """Return what makes two records the same, if the object says it."""
        say = getattr(self.given, "identities", None)
        return say() if callable(say) else None

    @property
    def keeps_records(self) -> bool:  # type: ignore[override]
        """True if the object can join another of its class."""
        return callable(getattr(self.given, "join", None))

    @property
    def metric(self) -> Any:
        """The class of the object and its metric, if it says one."""
        return type(self.given), getattr(self.given, "metric", None)

    def append(self, other: Self) -> Self:
        """Return what the object makes of both."""
        return type(self)(self.given.join(other.given))

    def select(self, rows: NDArray[np.integer]) -> Distances:
        """Return some records as the object selects them, else a matrix."""
        choose = getattr(self.given, "select", None)
        return OwnDistances(choose(rows)) if callable(choose) else super().select(rows)

    def __repr__(self) -> str:
        return repr(self.given)


def wrap(given: object) -> Distances | None:
    """Return distances as they are used inside: those of a kind as they are, an object of one's own in a wrapper.

    None is the answer for whatever gives no distances.
    """
    if isinstance(given, Distances):
        return given
    return OwnDistances(given) if callable(getattr(given, "block", None)) else None


def full_matrix(distances: Distances, *, rows: IntArray | None = None) -> FloatArray:
    """Return the distances between ``rows`` (all records by default) as one square array."""
    index = np.arange(distances.size, dtype=np.int32) if rows is None else rows
    return np.asarray(distances.block(index, index))


def read_in_blocks(source: Distances, rows: IntArray | None = None) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield ``rows``, all by default, and their distances to all records, few enough at a time for any memory."""
    everybody = np.arange(source.size, dtype=np.int32)
    rows = everybody if rows is None else np.asarray(rows, dtype=np.int32)
    for _, some in in_parts(rows, source.size, source.sizes.entries):
        yield some, source.block(some, everybody)


def in_parts(rows: IntArray, width: int, most: int) -> Iterator[tuple[slice, IntArray]]:
    """Yield the rows of a block in parts, each with its place, such that ``width`` numbers a row are at most ``most``.

    >>> [(place.start, part.size) for place, part in in_parts(np.arange(5), 10, 20)]
    [(0, 2), (2, 2), (4, 1)]
    """
    step = max(1, most // max(width, 1))
    for start in range(0, len(rows), step):
        yield slice(start, start + step), rows[start : start + step]


def shared_unit(one: Distances, other: Distances, names: tuple[str, str] = ("target", "known")) -> str | None:
    """Return the unit of two files whose distances are compared; refuse those that may be in different ones.

    Two matrices of which nothing is said are taken to be in the same unit. One of which nothing is said beside
    kilometres, such as those between coordinates, could be in metres: then nothing would agree, and look safe.
    """
    found = one.unit, other.unit
    if not (one.are_published and other.are_published):  # of no distances no unit can be wrong
        return found[not one.are_published]
    if found[0] == found[1]:
        return found[0]
    if KM not in found:
        if MINUTES in found:  # times beside numbers of which nobody said what they are could be in hours
            rest, times = names if found[1] == MINUTES else names[::-1]
            raise InputError("unit_not_said_beside_times", rest=rest, times=times)
        return NO_UNIT
    names = names if names[0] != names[1] else ("target", "known")
    km, rest = names if found[0] == KM else names[::-1]
    if None in found:
        raise InputError("unit_not_said_beside_km", rest=rest, km=km, ask=ASK)
    raise InputError("no_length_beside_km", rest=rest, km=km)


def spaced(records: int, most: int) -> NDArray[np.int64]:
    """Return at most ``most`` of so many rows, evenly spaced from the first to the last.

    >>> spaced(9, 3).tolist(), spaced(2, 5).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.unique(np.linspace(0, records - 1, min(records, most)).astype(np.int64))


def say_unit(unit: str | None) -> list[str]:
    """Return the unit as it stands in a representation; nothing where nobody said it."""
    return [] if unit is None else ["no unit"] if unit == NO_UNIT else [unit]


def digest(values: NDArray[Any]) -> str:
    """Return the digest of an array, hashed where it lies: it may be large."""
    return hashlib.sha256(np.ascontiguousarray(values).data).hexdigest()
