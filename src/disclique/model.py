"""The values that flow through disclique.

Every stage is a function from these frozen values to another one. Rows and vertices are counted from 0 in arrays and
from 1 wherever a person reads them (match tables, messages, files), as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_kind, check_number, short_repr, show
from disclique.errors import InputError
from disclique.messages import Message
from disclique.numbers import NO_NUMBERS, Numbers
from disclique.spaces.base import Distances, wrap
from disclique.values import FloatArray, IntArray, Json

Indices = NDArray[Any] | Sequence[int] | int  # rows of a file


class Executor(Protocol):
    """Something that runs a function on many items, in any order: Serial, Processes or OnDask of ``runs``.

    Functions and items must be picklable. Items are asked for one by one, as there is room for them.
    """

    @property
    def parallel(self) -> int | None:
        """How many items run at a time; None where that is not known here."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Return the results as they finish."""


class Agreement(Protocol):
    """The relation ≈: which distances of the known file agree with a distance of the target."""

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the *open* interval of known distances that agree with each target distance."""


@dataclass(frozen=True)
class Roles:
    """What columns of a table are for, beside labels and numbers; one that has no role is never released.

    ``id`` names the persons, ``coordinates`` and ``text`` are what distances follow from: none of them is released.
    ``sensitive`` columns are released, and it is asked what a snooper learns of them; ``plain`` ones are released as
    they are. ``weight`` says for how many people of the population each record stands.
    """

    id: str | None = None
    coordinates: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    weight: str | None = None

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that are released beside labels and numbers."""
        return (*self.sensitive, *self.plain)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that are never released."""
        return (*(() if self.id is None else (self.id,)), *self.coordinates, *self.text)


NO_ROLES = Roles()


@dataclass(frozen=True)
class Source:
    """How a file was written, so that what is released of it can be written alike.

    ``columns`` are those of its coordinates, as they are called there; a file of geometries has the ``geometry``
    column instead, in a ``layer``. ``crs`` is the reference system in which both are, None for degrees of WGS 84 and
    for plain numbers, and ``unit`` is m where plain numbers were metres. ``encodings`` are columns of bit strings, and
    ``form`` how these are written.
    """

    columns: tuple[str, ...] = ()
    geometry: str | None = None
    layer: str | None = None
    crs: str | None = None
    unit: str | None = None
    encodings: tuple[str, ...] = ()
    form: str | None = None


NO_SOURCE = Source()


@dataclass(frozen=True, eq=False)
class Microdata:
    """Microdata in a metric space, (T, D) of the paper.

    ``labels`` has one column per quasi-identifier, perhaps none, with canonical values (equal values are equal objects
    whatever the file's type; None is missing), ``numbers`` those columns that agree up to a law; ``ids`` names the
    records in results; ``name`` is how messages call the file; ``joined`` says how distances that came beside the table
    were joined to it: by id, by row number or by position, or nothing where they come from its columns. ``roles`` says
    what other columns of the table are for, ``source`` how places and encodings were written. ``left_out`` is how many
    records of the file were left out when it was read, or by an advice, ``textless`` how many for want of text.

    >>> import disclique as dq
    >>> people = dq.cities()
    >>> len(people), list(people.labels.columns), people.distances
    (4, ['sex', 'yob'], 4 points, sphere)
    """

    table: pd.DataFrame
    labels: pd.DataFrame
    distances: Distances
    ids: tuple[Hashable, ...]
    name: str = "microdata"
    joined: str = ""
    numbers: Numbers = NO_NUMBERS
    roles: Roles = NO_ROLES
    source: Source = NO_SOURCE
    left_out: int = 0
    textless: int = 0

    def __post_init__(self) -> None:
        check_kind(self.table, pd.DataFrame, "table", "wanted_table")
        check_kind(self.labels, pd.DataFrame, "labels", "wanted_labels")
        distances = wrap(self.distances)
        if distances is None:
            raise InputError("distances_are_no_space", distances=show(self.distances))
        object.__setattr__(self, "distances", distances)
        records = len(self.table)
        for what, found in (
            ("label rows", len(self.labels)),
            ("distances", self.distances.size),
            ("ids", len(self.ids)),
            *((column.name, len(column.values)) for column in self.numbers.columns),
        ):
            if found != records:
                raise InputError("counts_differ", name=self.name, records=records, found=found, what=what)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        names = [str(name)[:40] for name in self.labels.columns]
        quasi = ", ".join(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"])
        numbers = f", number ({', '.join(self.numbers.names)})" if len(self.numbers) else ""
        return f"Microdata({show(self.name)}: {len(self)} records, label ({quasi}){numbers}, {self.distances!r})"


def smooth_share(count: NDArray[Any], labels: NDArray[Any] | float, records: int, all_labels: int) -> FloatArray:
    """Return the chance that the next person has one of ``labels`` labels seen ``count`` times among ``records``."""
    return np.asarray((count + 0.5 * labels) / max(records + 0.5 * all_labels, 1.0))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Which pairs of records may match by their labels: how many, which, and how likely.

    Records with the same label share a class. ``relation`` lists the pairs (target class, known class) that may
    match: the identity for exact coincidence, more where missing values or errors are allowed. Class -1 matches
    nothing. ``evidence``, where labels may be wrong, is the log odds for one person that each related pair of labels
    carries.

    >>> import disclique as dq
    >>> found = dq.LabelRule().candidates(*dq.poets())
    >>> found.count, found.fitting.tolist()[:5], found.allowed(0, [0, 1])
    (11, [1, 2, 2, 2, 0], array([ True, False]))
    """

    target_class: IntArray
    known_class: IntArray
    relation: IntArray  # shape (r, 2), sorted, unique
    evidence: FloatArray | None = None  # shape (r,)

    __repr__ = short_repr

    @property
    def sizes(self) -> tuple[int, int]:
        """Records of the target and of the known file."""
        return len(self.target_class), len(self.known_class)

    @property
    def swapped(self) -> Candidates:
        """The same with both files in each other's place."""
        return Candidates(self.known_class, self.target_class, self.relation[:, ::-1], self.evidence)

    def keep_known(self, keep: NDArray[np.bool_]) -> Candidates:
        """Return the pairs of some known records; the others match nobody."""
        return replace(self, known_class=np.where(keep, self.known_class, -1).astype(np.int32))

    @cached_property
    def fitting(self) -> NDArray[np.int64]:
        """How many known records fit each target record."""
        fits = np.bincount(self._from, self._members[self._to], self._classes[0])
        return np.where(self.target_class >= 0, np.append(fits, 0)[self.target_class], 0).astype(np.int64)

    @property
    def count(self) -> int:
        """How many pairs of records fit."""
        return int(self.fitting.sum())

    @cached_property
    def alone(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of rows that the label alone links: each fits nobody else."""
        one = np.flatnonzero(self.fitting == 1)
        target, known = self.pairs(one)
        only = self.swapped.fitting[known] == 1
        return target[only], known[only]

    def allowed(self, target: Indices, known: Indices) -> NDArray[np.bool_]:
        """Return which pairs of rows fit; rows are broadcast against each other."""
        return self._find(target, known) >= 0

    def log_odds(self, target: Indices, known: Indices) -> FloatArray:
        """Return the log odds of pairs of rows by their labels (see ``label_odds``), -inf where they do not fit."""
        return np.asarray(self._odds[self._find(target, known)])

    def place_of(self, target: Indices, known: Indices) -> NDArray[np.int64]:
        """Return at which place of the relation the classes of pairs of rows stand, -1 where they do not fit."""
        return self._find(target, known)

    def label_odds(self, people: NDArray[Any] | None = None) -> FloatArray:
        """Return the log odds of each related pair of classes: one person against two strangers of these labels.

        It is how much rarer than any label those that fit are among known people, each label counted half a time more
        than it was seen: one that was seen once is not as rare as that. Where labels may be wrong it is ``evidence``.
        ``people`` says for how many people each known record stands.
        """
        if self.evidence is not None:
            return self.evidence
        many = np.ones(len(self.known_class)) if people is None else np.asarray(people, dtype=float)
        there = self.known_class >= 0
        counts = np.bincount(self.known_class[there], many[there], self._classes[1])
        seen = np.bincount(self._from, counts[self._to], 1)
        labels = np.bincount(self._from, minlength=1)
        share = smooth_share(seen, labels, int(many.sum()), int((counts > 0).sum()))
        return np.asarray(-np.log(np.minimum(share, 1.0)[self._from]))

    def pairs(self, targets: NDArray[Any] | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List the pairs of rows that fit, of all targets or of some in their order; known rows ascend."""
        rows = np.arange(len(self.target_class)) if targets is None else np.asarray(targets, dtype=np.int64)
        keys, order = self._keys
        own = self.target_class[rows].astype(np.int64)
        first, last = (np.searchsorted(keys, (own + end) * self._classes[1]) for end in (0, 1))
        place, at = _spread(first, np.where(own >= 0, last - first, 0))
        known, ascending = self._by_class
        other = self._to[order[at]]
        begin = np.searchsorted(ascending, other)
        pair, member = _spread(begin, self._members[other])
        place, found = place[pair], known[member]
        by_row = np.lexsort((found, place))
        return rows[place[by_row]], found[by_row]

    def partners(self, target: int) -> NDArray[np.int64]:
        """Return the known rows that fit a target record, ascending."""
        return self.pairs(np.array([target]))[1]

    @cached_property
    def _from(self) -> NDArray[np.int64]:
        return self.relation[:, 0].astype(np.int64)

    @cached_property
    def _to(self) -> NDArray[np.int64]:
        return self.relation[:, 1].astype(np.int64)

    @cached_property
    def _classes(self) -> tuple[int, int]:
        """How many classes either side may have, those that only the relation names among them."""
        sides = (self.target_class, self._from), (self.known_class, self._to)
        target, known = (1 + int(max(own.max(initial=-1), named.max(initial=-1))) for own, named in sides)
        return target, known

    @cached_property
    def _members(self) -> NDArray[np.int64]:
        """How many known records each class has."""
        return np.bincount(self.known_class[self.known_class >= 0], minlength=self._classes[1])

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], IntArray]:
        """The known rows by their class, and these classes."""
        order = np.argsort(self.known_class, kind="stable")
        return order, self.known_class[order]

    @cached_property
    def _odds(self) -> FloatArray:
        """The log odds of each place of the relation, and of none."""
        return np.append(self.label_odds(), -np.inf)

    @cached_property
    def _keys(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The relation as ascending numbers, and the place of each of them in it."""
        keys = self._from * self._classes[1] + self._to
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def _find(self, target: Indices, known: Indices) -> NDArray[np.int64]:
        """Return at which place of the relation the classes of pairs of rows stand, -1 where they do not."""
        own, other = self.target_class[np.asarray(target)], self.known_class[np.asarray(known)]
        key = own * np.int64(self._classes[1]) + other
        keys, order = self._keys
        if not len(keys):
            return np.full(key.shape, -1)
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.where((own >= 0) & (other >= 0) & (keys[at] == key), order[at], -1)


def _spread(first: NDArray[np.int64], many: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for runs of ``many`` numbers from ``first`` on, the run and the number of every entry."""
    run = np.repeat(np.arange(len(many)), many)
    return run, first[run] + np.arange(len(run)) - (np.cumsum(many) - many)[run]


@dataclass(frozen=True, eq=False)
class Rows:
    """Compressed rows: ``neighbours[offsets[v]:offsets[v + 1]]`` belong to vertex v."""

    offsets: NDArray[np.int64]
    neighbours: IntArray

    @property
    def order(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1


class Graph(Rows):
    """A simple undirected graph in compressed rows, each ascending; every edge is stored both ways."""

    @property
    def size(self) -> int:
        """Number of edges."""
        return len(self.neighbours) // 2


def _edgeless(rows: Rows) -> Graph:
    return Graph(rows.offsets, rows.neighbours)


@dataclass(frozen=True, eq=False)
class ProductGraph:
    """The product graph of a target and a known file (definition 6 of the paper).

    Vertex v pairs the rows ``target[v]`` and ``known[v]``, counted from 0; vertices ascend by (known, target), as in
    the paper's example. ``later`` stores each edge once, with the smaller vertex, in any order; ``graph`` is the same
    graph with full ascending rows, made by ``complete`` when first asked for.
    """

    target: IntArray
    known: IntArray
    later: Rows
    complete: Callable[[Rows], Graph] = field(default=_edgeless, repr=False)

    @property
    def order(self) -> int:
        """Number of vertices."""
        return len(self.target)

    @property
    def size(self) -> int:
        """Number of edges."""
        return int(self.later.offsets[-1])

    @cached_property
    def graph(self) -> Graph:
        """The graph in compressed rows, each edge stored both ways."""
        return self.complete(self.later)


@dataclass(frozen=True)
class Budget:
    """When a search may stop before its proof: after ``seconds`` or ``work``, or once a clique has ``size`` members.

    Work is counted in billions of elementary operations, about half a second each on a core of 2020. A search
    that it ends finds the same clique on every machine, busy or not; to that end it uses one thread.

    >>> Budget(work=0.5).work, Budget().seconds
    (0.5, None)
    """

    seconds: float | None = None
    size: int | None = None
    work: float | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "work"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), f"budget, {name}", "wanted_number")
        if self.size is not None:
            check_number(self.size, "budget, size", "wanted_whole_number")
        if self.seconds is not None and not self.seconds >= 0:
            raise InputError("budget_negative", seconds=self.seconds)
        if self.size is not None and self.size < 1:
            raise InputError("budget_size_too_small", size=self.size)
        if self.work is not None and not self.work > 0:
            raise InputError("budget_without_work", work=self.work)


UNLIMITED = Budget()


@dataclass(frozen=True)
class Clique:
    """A clique and how sure it is: no clique has more than ``bound`` members.

    ``members`` are vertices counted from 0, ascending; the paper's example and DIMACS files count from 1. ``trace`` is
    for ``maximum_cliques`` alone: what the solver learned of the graph, if it can tell.
    """

    members: tuple[int, ...]
    bound: int
    solver: str = "exact"
    seconds: float = field(default=0.0, compare=False)
    trace: object = field(default=None, compare=False, repr=False)

    __repr__ = short_repr

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.members)

    @property
    def proven(self) -> bool:
        """True if no larger clique exists; otherwise the clique is a lower bound on the risk."""
        return self.size == self.bound


@dataclass(frozen=True)
class CommonSubgraph:
    """An approximate common subgraph (S, T, φ): ``target[k]`` is mapped to ``known[k]``; rows from 0."""

    target: tuple[int, ...]
    known: tuple[int, ...]

    __repr__ = short_repr

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """φ as pairs (target row, known row)."""
        return tuple(zip(self.target, self.known, strict=True))


@dataclass(frozen=True)
class MaximumCliques:
    """Cliques of one size, the largest found; ``complete`` says that there are no others of that size."""

    cliques: tuple[tuple[int, ...], ...]
    complete: bool

    __repr__ = short_repr

    @property
    def count(self) -> int:
        """How many were listed; a lower bound unless ``complete``."""
        return len(self.cliques)


@dataclass(frozen=True)
class CliqueWork:
    """The size of a product graph, the clique found in it, and all cliques of that size."""

    vertices: int
    edges: int
    clique: Clique
    cliques: MaximumCliques

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class Claims:
    """What an attack returns: pairs of records with the probability that they are one person.

    ``target`` and ``known`` are rows counted from 0: all pairs above a small floor, by target row and falling
    probability. Those more probable than ``threshold`` are claimed. ``expected`` is the sum of all probabilities, the
    correct links that the snooper can expect to hold; None where probabilities do not mean that. ``cut`` is None if the
    work was complete, else it says what was cut short: then the claims are a lower bound on the risk, and at most
    ``most`` pairs could have been claimed (None: not known). ``doubt`` is None, or says why nothing, or so little, is
    claimed. ``ties`` are other sets of pairs, shape (n, 2), that serve as well as the claimed ones.

    >>> import disclique as dq
    >>> claims = dq.attack(*dq.poets(), by="labels").claims
    >>> [column.tolist() for column in claims.claimed()]
    [[0], [0], [1.0]]
    """

    attack: str
    target: IntArray
    known: IntArray
    probability: FloatArray
    threshold: float = 0.5
    expected: float | None = None
    cut: Message | None = None
    most: int | None = None
    doubt: Message | None = None
    ties: tuple[IntArray, ...] = ()
    work: CliqueWork | None = None
    details: Json = field(default_factory=dict)

    __repr__ = short_repr

    @property
    def weighed(self) -> bool:
        """True if the probabilities are such; else they are shares of equally good answers."""
        return self.expected is not None or self.work is None

    @property
    def complete(self) -> bool:
        """True if nothing was cut short."""
        return self.cut is None

    def claimed(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Target rows, known rows and probabilities of the claimed pairs."""
        keep: NDArray[np.bool_] = self.probability > self.threshold
        return self.target[keep], self.known[keep], self.probability[keep]
