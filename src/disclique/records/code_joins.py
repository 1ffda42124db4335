"""Rows of codes that agree: a missing one agrees with any."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def join_codes(own: Ints, theirs: Ints, relation: NDArray[np.integer], *, few: int = 20_000) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of rows that agree, ordered by both, and of each the place of the relation.

    The first column of a row is its class, -1 for none, and classes agree that are in the ``relation``; the others are
    codes that must be equal, -1 for a missing one. Rows of one pattern of missing codes are joined by those that both
    sides have; up to ``few`` of both sides times the relation are compared one by one, where that takes less time.

    >>> join_codes(np.array([[0, 5], [0, -1]]), np.array([[0, 5], [0, 6]]), np.array([[0, 0]]))[:2]
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    if len(own) * len(theirs) * len(relation) <= few:
        return _compare_all(own, theirs, relation)
    links = pd.DataFrame({"a": relation[:, 0], "b": relation[:, 1], "place": np.arange(len(relation))})
    parts: list[tuple[Ints, Ints, Ints]] = []
    for rows, mine in _by_pattern(own):
        left = pd.DataFrame({"a": own[rows, 0], "own": rows}).merge(links.astype({"a": np.int64}), on="a")
        for others, there in _by_pattern(theirs):
            shared = np.flatnonzero(mine & there)
            one = left.assign(**{f"n{k}": own[left["own"], 1 + k] for k in shared})
            other = pd.DataFrame(
                {"b": theirs[others, 0], "other": others, **{f"n{k}": theirs[others, 1 + k] for k in shared}}
            )
            met = one.merge(other, on=["b", *(f"n{k}" for k in shared)])
            parts.append((met["own"].to_numpy(), met["other"].to_numpy(), met["place"].to_numpy()))
    none = np.zeros(0, dtype=np.int64)
    found = [np.concatenate([none, *column]) for column in zip(*parts, strict=True)] if parts else [none] * 3
    order = np.lexsort((found[1], found[0]))
    return found[0][order], found[1][order], found[2][order]


def _compare_all(own: Ints, theirs: Ints, relation: NDArray[np.integer]) -> tuple[Ints, Ints, Ints]:
    """Return the same pairs, every row held against every other."""
    mine, other = own[:, None, :], theirs[None, :, :]
    agree = ((mine == other) | (mine < 0) | (other < 0))[..., 1:].all(axis=2)
    classes = (own[:, None, None, 0] == relation[:, 0]) & (theirs[None, :, None, 0] == relation[:, 1])
    rows, others, place = np.nonzero(classes & agree[..., None] & (mine[..., :1] >= 0) & (other[..., :1] >= 0))
    return rows, others, place


def _by_pattern(rows: Ints) -> list[tuple[Ints, NDArray[np.bool_]]]:
    """Return the rows that have the same codes missing, and which they have; those of no class are left out."""
    there = rows[:, 1:] >= 0
    key = (there * 2.0 ** np.arange(there.shape[1])).sum(axis=1)
    kept = np.flatnonzero(rows[:, 0] >= 0)
    return [(kept[key[kept] == one], there[kept[key[kept] == one][0]]) for one in np.unique(key[kept])]
