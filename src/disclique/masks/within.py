"""Distances within groups of records only, such as those of one region."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.masks.base import LENGTH_OR_ZERO, Mask, extra, one_of, text
from disclique.masks.noise import MatrixGaussian, MatrixLaplace, Round
from disclique.masks.publishing import AsTheyAre
from disclique.masks.registry import register_mask
from disclique.messages import Message
from disclique.model import Microdata
from disclique.records.formats import no_column
from disclique.spaces import full_matrix, matrix_like
from disclique.spaces.base import Distances
from disclique.spaces.lazy import Derived
from disclique.units import Quantity
from disclique.values import FloatArray, IntArray, canonical

Groups = NDArray[np.int64]
_WAYS = {"round": Round, "gaussian": MatrixGaussian, "laplace": MatrixLaplace}


@register_mask
@dataclass(frozen=True)
class Within(Mask):
    """Only the distances between records of one group, altered by ``size``; those between groups are unpublished.

    ``by`` names a column of the file: records with the same value are a group. ``how`` says what is done to the
    distances that are published: rounded to multiples of ``size``, or ``gaussian`` or ``laplace`` noise of this
    standard deviation or scale; with 0 they are exact. Which records are a group is seen from what is published.
    """

    name: ClassVar[str] = "within"
    summary: ClassVar[Message | None] = Message("mask_does_within")
    on: ClassVar[str] = "distances"
    scope: ClassVar[str] = "entry"
    reference: ClassVar[str] = "blocks of a distance matrix, as in stratified spatial analysis"
    dial: ClassVar[str | None] = "size"
    conditional: ClassVar[bool] = True
    tried: ClassVar[tuple[str, ...] | None] = (
        "size={near}..{far},by={group}",
        "size={near}..{far},by={group},how=gaussian",
    )

    size: Quantity = field(metadata=LENGTH_OR_ZERO)
    by: str = field(default="", metadata=extra(text()))
    how: str = field(default="round", metadata=extra(one_of(*_WAYS)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The column of groups."""
        return (self.by,) if self.by else ()

    @property
    def inner(self) -> Mask:
        """What is done to the distances that are published."""
        return _WAYS[self.how](self.size) if self.size.value else AsTheyAre()

    def prepare(self, data: Microdata) -> Mask:
        """Return the mask that knows the groups of a file."""
        if not self.by:
            raise InputError("groups_without_column", mask=self.spec)
        return WithinGroups(self, Members.of(data, self.by))

    def apply(self, distances: Distances, rng: np.random.Generator) -> Distances:
        """Return the distances of records of which no column is at hand: they are taken to be one group."""
        if self.by:
            raise InputError("mask_not_prepared", mask=self.spec)
        return self.inner.apply(distances, rng)


@dataclass(frozen=True, eq=False)
class Members:
    """The groups of the records of a file: by row, by id, and by the value of the column that says it."""

    of_row: Groups
    of_person: Mapping[Hashable, int]
    of_value: Mapping[Hashable, int]
    column: str

    @classmethod
    def of(cls, data: Microdata, column: str) -> Members:
        """Read them from a label of the file, or from any other column of it."""
        table = data.labels if column in data.labels.columns else data.table
        if column not in table.columns:
            raise no_column(data.name, column, [*data.labels.columns, *data.table.columns])
        values = [canonical(value) for value in table[column]]
        if None in values:
            raise InputError("group_missing", file=data.name, column=column, row=values.index(None) + 1)
        numbers: dict[Hashable, int] = {}
        codes = [numbers.setdefault(value, len(numbers)) for value in values]
        return cls(np.array(codes, dtype=np.int64), dict(zip(data.ids, codes, strict=True)), numbers, column)

    def find(self, data: Microdata) -> Groups:
        """Return the groups of the people of another file; nobody's own number where they are not known.

        Those who are not in this file have the group that their label says, if it does.
        """
        labels: Sequence[Hashable] = [None] * len(data)
        if self.column in data.labels.columns:
            labels = [canonical(value) for value in data.labels[self.column]]
        found = [
            self.of_person.get(person, self.of_value.get(value, -1 - row))
            for row, (person, value) in enumerate(zip(data.ids, labels, strict=True))
        ]
        return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class WithinGroups(Mask):
    """The same mask, told the groups of the records of a file."""

    name: ClassVar[str] = Within.name
    summary: ClassVar[Message | None] = Within.summary
    on: ClassVar[str] = Within.on
    scope: ClassVar[str] = Within.scope
    reference: ClassVar[str] = Within.reference
    conditional: ClassVar[bool] = Within.conditional

    asked: Within
    members: Members

    def __post_init__(self) -> None:
        pass  # nothing is read from a spec

    __eq__, __hash__ = object.__eq__, object.__hash__  # those of a mask look at its parameters, and it has none

    @property
    def spec(self) -> str:
        """That of the mask as it was asked for."""
        return self.asked.spec

    @property
    def brief(self) -> str:
        """That of the mask as it was asked for."""
        return self.asked.brief

    @property
    def inner(self) -> Mask:
        """What is done to the distances that are published."""
        return self.asked.inner

    def find_groups(self, data: Microdata) -> Groups:
        """Return the groups of people: whoever sees the release sees which records are together."""
        return self.members.find(data)

    def select(self, rows: NDArray[np.integer]) -> WithinGroups:
        """Return the mask of some records of the file."""
        return replace(self, members=replace(self.members, of_row=self.members.of_row[rows]))

    def check_lengths(self, unit: str | None) -> None:
        """Raise an error if a length of the mask has a unit and the distances that it meets are not kilometres."""
        self.asked.check_lengths(unit)

    def apply(self, distances: Distances, rng: np.random.Generator) -> Distances:
        """Return the matrix with NaN between groups; of many records none is formed."""
        groups = self.members.of_row
        if distances.size != len(groups):
            raise InputError("mask_not_prepared", mask=self.spec)
        masked = self.inner.apply(distances, rng)
        if distances.is_large:
            return Blocks(masked, groups)
        values = np.array(full_matrix(masked))
        values[groups[:, None] != groups[None, :]] = np.nan
        return matrix_like(values, distances)


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Derived):
    """The distances of a source within groups; those between groups are not published."""

    groups: Groups = field(repr=False)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return distances from each of ``rows`` to each of ``columns``, NaN between groups."""
        found = self.source.block(rows, columns)
        return np.where(self.groups[rows][:, None] == self.groups[columns][None, :], found, np.nan)
