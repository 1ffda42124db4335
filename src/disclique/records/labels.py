"""Labels: the quasi-identifier values that a target and a known record must share to be a possible match.

They are compared as they are, or with errors in mind: an age off by a year, a misspelt name, a town against its region.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.arguments import check_number
from disclique.errors import InputError
from disclique.model import Candidates
from disclique.records.code_joins import join_codes
from disclique.records.formats import no_column
from disclique.specs import parse_rule
from disclique.values import FloatArray, IntArray, canonical

MISSING_POLICIES = ("never", "any")
_NO_CLASS = -1


def canonical_labels(frame: pd.DataFrame, columns: Sequence[str], name: str = "table") -> pd.DataFrame:
    """Return the quasi-identifier columns of ``frame``, perhaps none, with canonical values."""
    taken = {}
    for column in columns:
        if column not in frame.columns:
            raise no_column(name, column, frame.columns)
        if isinstance(frame[column], pd.DataFrame):
            raise InputError("columns_of_one_name", path=name, column=column)
        codes, values = pd.factorize(frame[column], use_na_sentinel=True)
        lookup = np.empty(len(values) + 1, dtype=object)  # the last entry serves code -1, a missing value
        lookup[:-1] = [canonical(v) for v in values]
        taken[column] = pd.Series(lookup[codes], dtype=object)
    return pd.DataFrame(taken, columns=list(dict.fromkeys(columns)), index=range(len(frame)))


class Comparator(Protocol):
    """Which values of one quasi-identifier may belong to the same person, and how well they do."""

    def agree(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return the truth table of the distinct target values (rows) against the distinct known values (columns)."""

    def weight(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> FloatArray:
        """Return the log probability of each target value for a person whom the known file gives each known value."""


class Closeness:
    """A comparator by a truth table of close values, beside which a share ``error`` of the people may lie."""

    error: float

    def __post_init__(self) -> None:
        if not 0 <= check_number(self.error, "error", "wanted_error_rate") < 1:
            raise InputError("error_rate_out_of_range", error=self.error)

    def close(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return which values are close."""
        raise NotImplementedError

    def agree(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return which are close, or everything where errors are expected."""
        return self.close(target, known) | (self.error > 0)

    def weight(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> FloatArray:
        """Return the log probability of each target value: even among the close ones, the errors elsewhere."""
        close = self.close(target, known)
        near = np.maximum(close.sum(axis=0), 1)
        far = np.maximum(len(close) - near, 1)
        with np.errstate(divide="ignore"):  # without errors a value that is not close is impossible
            return np.asarray(np.where(close, np.log((1 - self.error) / near), np.log(self.error / far)))


@dataclass(frozen=True)
class Exact(Closeness):
    """Values that coincide; with an ``error`` rate above 0 any two values may match, but unequal ones weigh little.

    >>> import disclique as dq
    >>> dq.LabelRule(comparators={"sex": Exact(error=0.01)}).comparators["sex"].error
    0.01
    """

    error: float = 0.0

    def close(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return which are equal."""
        return equal(target, known)


def equal(target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
    """Return the truth table of equality."""
    column = {value: j for j, value in enumerate(known)}
    table = np.zeros((len(target), len(known)), dtype=bool)
    for i, value in enumerate(target):
        if value in column:
            table[i, column[value]] = True
    return table


def candidates(
    target: pd.DataFrame,
    known: pd.DataFrame,
    *,
    missing: str = "any",
    comparators: Mapping[str, Comparator] | None = None,
    counts: NDArray[np.integer] | None = None,
) -> Candidates:
    """Return the pairs of label classes that may match: vertices of the product graph come from these.

    Without label columns every record may match every other. ``missing`` says whether a missing value matches
    ``any`` value, so that it excludes nobody, or ``never`` (its record is left out). ``counts`` says for how many
    people each known row stands.
    """
    if missing not in MISSING_POLICIES:
        raise InputError("missing_policy_unknown", missing=missing, known=MISSING_POLICIES)
    if list(target.columns) != list(known.columns):
        raise InputError("labels_differ", mine=str(list(target.columns)), theirs=str(list(known.columns)))
    strange = set(comparators or {}) - set(target.columns)
    if strange:
        raise InputError("comparator_for_no_label", column=min(strange))
    rules = {column: (comparators or {}).get(column, Exact()) for column in target.columns}
    target_class, target_labels = _classes(target)
    known_class, known_labels = _classes(known)
    if missing == "never":
        target_class = _without_missing(target_class, target_labels)
        known_class = _without_missing(known_class, known_labels)
    if all(rule == Exact() for rule in rules.values()):
        relation = _relate_equal(target_labels, known_labels, len(rules))
    else:
        relation = _relation(target_labels, known_labels, rules)
    used = np.isin(relation[:, 0], target_class) & np.isin(relation[:, 1], known_class)
    relation = relation[used]
    weight = None
    if comparators:
        many = np.ones(len(known_class)) if counts is None else np.asarray(counts, dtype=float)
        some = known_class >= 0
        share = np.bincount(known_class[some], many[some], len(known_labels)) / max(float(many.sum()), 1.0)
        weight = _evidence(relation, target_labels, known_labels, rules, share)
    return Candidates(target_class, known_class, relation, weight)


def label_tuples(labels: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the label of each record; without label columns all share the empty one, which pandas would skip."""
    return list(labels.itertuples(index=False, name=None)) if len(labels.columns) else [()] * len(labels)


def _classes(labels: pd.DataFrame) -> tuple[IntArray, list[tuple[Hashable | None, ...]]]:
    """Return the class of each row, and the label of each class in order of first appearance."""
    number = np.zeros(len(labels), dtype=np.int64)
    for column in labels.columns:  # one at a time, so that the numbers stay small
        codes = pd.factorize(labels[column], use_na_sentinel=True)[0].astype(np.int64)
        number = pd.factorize(number * (int(codes.max(initial=0)) + 2) + codes + 1)[0].astype(np.int64)
    _, first = np.unique(number, return_index=True)
    return number.astype(np.int32), label_tuples(labels.iloc[first])


def _relate_equal(
    target: list[tuple[Hashable | None, ...]], known: list[tuple[Hashable | None, ...]], columns: int
) -> IntArray:
    """Return the pairs of classes whose values are equal; a missing one equals any."""
    both = [_codes([label[k] for label in (*target, *known)])[0].astype(np.int64) for k in range(columns)]
    rows = np.column_stack([np.zeros(len(target) + len(known), dtype=np.int64), *both])
    left, right, _ = join_codes(rows[: len(target)], rows[len(target) :], np.zeros((1, 2), dtype=np.int64))
    return np.column_stack([left, right]).astype(np.int32)


def _without_missing(of_row: IntArray, labels: list[tuple[Hashable | None, ...]]) -> IntArray:
    gap = np.array([None in label for label in labels], dtype=bool)
    return np.where(gap[of_row], _NO_CLASS, of_row).astype(np.int32) if len(of_row) else of_row


def _relation(target: list[tuple[Any, ...]], known: list[tuple[Any, ...]], rules: Mapping[str, Comparator]) -> IntArray:
    """Return the pairs of classes on which every comparator agrees; a missing value agrees with any."""
    tables = [_table(target, known, k, rule.agree, True) for k, rule in enumerate(rules.values())]
    found: list[NDArray[Any]] = []
    for i in range(len(target)):  # one row of classes at a time keeps memory linear
        agree = np.ones(len(known), dtype=bool)
        for of_target, of_known, table in tables:
            agree &= table[of_target[i], of_known].astype(bool)
        hits = np.flatnonzero(agree)
        found.append(np.column_stack([np.full(len(hits), i), hits]))
    return np.concatenate(found).astype(np.int32) if found else np.zeros((0, 2), dtype=np.int32)


def _table(
    target: list[tuple[Any, ...]],
    known: list[tuple[Any, ...]],
    column: int,
    compare: Callable[[Sequence[Any], Sequence[Any]], NDArray[Any]],
    missing: float,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """Return one column's codes on both sides and its values compared; the last row and column stand for missing."""
    of_target, left = _codes([label[column] for label in target])
    of_known, right = _codes([label[column] for label in known])
    table = np.full((len(left) + 1, len(right) + 1), missing, dtype=float)
    table[:-1, :-1] = compare(left, right)
    return of_target, of_known, table


def _codes(values: list[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    number: dict[Any, int] = {}
    codes = [-1 if v is None else number.setdefault(v, len(number)) for v in values]
    return np.array(codes, dtype=np.intp), list(number)


def _evidence(
    relation: IntArray,
    target: list[tuple[Any, ...]],
    known: list[tuple[Any, ...]],
    rules: Mapping[str, Comparator],
    share: FloatArray,
) -> FloatArray:
    """Return the log odds for one person that each pair of related classes carries.

    It is how much more probable the target label is for the person with the known label than for anybody in the known
    file, whose labels have the given shares; a missing value says nothing.
    """
    same = np.zeros(len(relation))
    for k, rule in enumerate(rules.values()):
        of_target, of_known, table = _table(target, known, k, rule.weight, 0.0)
        same += table[of_target[relation[:, 0]], of_known[relation[:, 1]]]
    anybody = np.bincount(relation[:, 0], weights=share[relation[:, 1]] * np.exp(same), minlength=len(target))
    with np.errstate(divide="ignore"):
        return np.asarray(same - np.log(anybody[relation[:, 0]]))


@dataclass(frozen=True)
class Tolerance(Closeness):
    """Numbers that differ by at most ``x``; a share ``error`` of the people may differ by more."""

    x: float
    error: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.x >= 0:
            raise InputError("tolerance_negative", tolerance=self.x)

    def close(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return which numbers lie within the tolerance, and which texts are equal."""
        left, right = (
            np.array([v if isinstance(v, (int, float)) else np.nan for v in side], dtype=float)
            for side in (target, known)
        )
        return np.asarray((np.abs(left[:, None] - right[None, :]) <= self.x) | equal(target, known))


@dataclass(frozen=True)
class Similar(Closeness):
    """Texts whose normalised edit similarity (rapidfuzz, Indel) is at least ``least``, from 0 to 1."""

    least: float
    error: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.least <= 1:
            raise InputError("similarity_out_of_range", similarity=self.least)

    def close(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return which texts are similar enough; numbers are compared as they are written."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        if not target or not known:
            return np.zeros((len(target), len(known)), dtype=bool)
        likeness = cdist([str(v) for v in target], [str(v) for v in known], scorer=Indel.normalized_similarity)
        return np.asarray(likeness >= self.least)


@dataclass(frozen=True)
class Hierarchy(Closeness):
    """Values of which one is the other or contains it; ``parent`` maps a value to what contains it."""

    parent: Mapping[Hashable, Hashable] = field(hash=False)
    error: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in self.parent:
            self.above(value)

    def above(self, value: Hashable) -> list[Hashable]:
        """Return the value and everything that contains it, from the inside out."""
        chain = [value]
        while chain[-1] in self.parent:
            chain.append(self.parent[chain[-1]])
            if chain[-1] in chain[:-1]:
                raise InputError("hierarchy_is_a_circle", value=chain[-1])
        return chain

    def close(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return which values contain one another."""
        left, right = ([set(self.above(v)) for v in side] for side in (target, known))
        return np.array(
            [
                [a in up or b in down for b, up in zip(known, right, strict=True)]
                for a, down in zip(target, left, strict=True)
            ],
            dtype=bool,
        ).reshape(len(target), len(known))


def parse_comparator(spec: str) -> tuple[str, Comparator]:
    """Read column and comparator from text: ``age=tolerance:2``, ``name=similar:0.85``, ``sex=exact:0.01``, …

    A further number is the error rate: ``age=tolerance:2:0.05``. ``place=hierarchy:FILE`` takes a CSV file with the
    columns value, parent.
    """
    asked = parse_rule(spec)
    column, rule, first, second = asked.into, asked.rule, asked.source, asked.argument
    if rule == "hierarchy" and asked.argument:  # a path may have a colon itself
        first, _, second = asked.rest.rpartition(":")
    try:
        error = float(second) if second else 0.0
        if column and rule == "exact":
            return column, Exact(float(first or 0))
        if column and rule == "tolerance":
            return column, Tolerance(float(first), error)
        if column and rule == "similar":
            return column, Similar(float(first), error)
        if column and rule == "hierarchy":
            return column, Hierarchy(_read_parents(Path(first)), error)
    except ValueError as problem:
        if isinstance(problem, InputError):
            raise
    raise InputError("comparator_form", spec=spec)


def _read_parents(path: Path) -> dict[Hashable, Hashable]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError("hierarchy_not_readable", path=path, why=str(problem)) from None
    for line, row in enumerate(rows):
        if len(row) != 2:
            raise InputError("hierarchy_of_two_columns", path=path, row=line + 1, columns=len(row))
    body = rows[1:] if rows and rows[0] == ["value", "parent"] else rows
    return {canonical(value): canonical(parent) for value, parent in body}
