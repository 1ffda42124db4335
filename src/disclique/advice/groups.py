"""The column by which records are grouped where only distances within groups are tried."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.model import Microdata
from disclique.spaces import spaced
from disclique.values import canonical


@dataclass(frozen=True)
class Grouping:
    """Which columns make groups: every group has some records, and there are few enough groups.

    ``members``: of the smallest group, below which a record is nearly named by its group. ``groups``: at the most.
    ``near``: neighbours of a record of which it is asked how many are in its group, of so many ``records``.
    ``more``: by how much more of them than of anybody must be, else groups have nothing to do with distances.
    """

    members: int = 5
    groups: int = 100
    near: int = 10
    records: int = 500
    more: float = 0.1


GROUPING = Grouping()


def choose_group(data: Microdata, by: Grouping = GROUPING) -> str | None:
    """Return the column that keeps most of near records together; None where none does.

    Ids, sensitive columns and places are no groups: who is together with whom is seen in the release.
    """
    hidden = {
        data.roles.id,
        data.roles.weight,
        *data.roles.sensitive,
        *data.roles.hidden,
        *data.source.columns,
        *data.numbers.names,
    }
    names = [str(name) for name in (*data.labels.columns, *data.table.columns) if name not in hidden]
    found: dict[str, NDArray[np.int64]] = {}
    for name in dict.fromkeys(names):
        column = data.labels[name] if name in data.labels.columns else data.table[name]
        if (codes := _number(list(column), by)) is not None and "," not in name and "=" not in name:
            found[name] = codes
    if not found:
        return None
    near = _find_near(data, by)
    shares = {name: _measure(codes, near) for name, codes in found.items()}
    best = max(shares, key=lambda name: shares[name][0])
    kept, anyhow = shares[best]
    return best if kept >= anyhow + by.more else None


def _number(values: list[object], by: Grouping) -> NDArray[np.int64] | None:
    """Return groups as numbers; None where they are too many, too small, or not known of everybody."""
    plain: list[Hashable] = [canonical(value) for value in values]
    if None in plain:
        return None
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(value, len(numbers)) for value in plain], dtype=np.int64)
    fit = 2 <= len(numbers) <= by.groups and np.bincount(codes).min() >= by.members
    return codes if fit else None


def _find_near(data: Microdata, by: Grouping) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return some records, and the nearest ones of each."""
    rows = spaced(data.distances.size, by.records).astype(np.int32)
    everybody = np.arange(data.distances.size, dtype=np.int32)
    block = np.array(data.distances.block(rows, everybody), dtype=float)
    block[np.arange(len(rows)), rows] = np.nan
    order = np.argsort(np.where(np.isnan(block), np.inf, block), axis=1, kind="stable")
    return rows.astype(np.int64), order[:, : by.near]


def _measure(codes: NDArray[np.int64], near: tuple[NDArray[np.int64], NDArray[np.int64]]) -> tuple[float, float]:
    """Return the share of near records that are in one group, and that of any two records."""
    rows, others = near
    shares = np.bincount(codes) / len(codes)
    return float((codes[rows][:, None] == codes[others]).mean()), float((shares**2).sum())
