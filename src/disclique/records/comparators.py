"""Comparators for labels with errors: an age off by a year, a misspelt name, a town against its region."""

from __future__ import annotations

import csv
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.records.labels import Closeness, Comparator, Exact, check_error, equal
from disclique.values import canonical


@dataclass(frozen=True)
class Tolerance(Closeness):
    """Numbers that differ by at most ``x``; a share ``error`` of the people may differ by more."""

    x: float
    error: float = 0.0

    def __post_init__(self) -> None:
        check_error(self.error)
        if not self.x >= 0:
            raise InputError(f"tolerance {self.x}: it cannot be negative")

    def close(self, target: Sequence[Hashable], known: Sequence[Hashable]) -> NDArray[np.bool_]:
        """Return which numbers lie within the tolerance, and which texts are equal."""
        left, right = (np.array([_number(v) for v in side], dtype=float) for side in (target, known))
        return np.asarray((np.abs(left[:, None] - right[None, :]) <= self.x) | equal(target, known))


def _number(value: Hashable) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")


@dataclass(frozen=True)
class Similar(Closeness):
    """Texts whose normalised edit similarity (rapidfuzz, Indel) is at least ``least``, from 0 to 1."""

    least: float
    error: float = 0.0

    def __post_init__(self) -> None:
        check_error(self.error)
        if not 0 <= self.least <= 1:
            raise InputError(f"similarity {self.least}: it lies between 0 and 1")

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
        check_error(self.error)
        for value in self.parent:
            self.above(value)

    def above(self, value: Hashable) -> list[Hashable]:
        """Return the value and everything that contains it, from the inside out."""
        chain = [value]
        while chain[-1] in self.parent:
            chain.append(self.parent[chain[-1]])
            if chain[-1] in chain[:-1]:
                raise InputError(f"hierarchy: {chain[-1]!r} contains itself; the way up is a circle")
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
    column, _, rest = spec.partition("=")
    rule, _, tail = rest.partition(":")
    first, _, second = tail.rpartition(":") if rule == "hierarchy" and tail.count(":") else tail.partition(":")
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
    raise InputError(
        f"comparator {spec!r}: write COLUMN=exact:ERROR, COLUMN=tolerance:X[:ERROR], COLUMN=similar:LEAST[:ERROR] or "
        "COLUMN=hierarchy:FILE[:ERROR]"
    )


def _read_parents(path: Path) -> dict[Hashable, Hashable]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"{path}: the hierarchy cannot be read ({problem})") from None
    for line, row in enumerate(rows):
        if len(row) != 2:
            raise InputError(f"{path}: row {line + 1} has {len(row)} columns; a hierarchy has two, value and parent")
    body = rows[1:] if rows and rows[0] == ["value", "parent"] else rows
    return {canonical(value): canonical(parent) for value, parent in body}
