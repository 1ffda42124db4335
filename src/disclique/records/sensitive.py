"""Sensitive columns as it is asked what a snooper learns of them: every value is a number, many numbers are grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.errors import InputError
from disclique.model import Microdata
from disclique.values import FloatArray, canonical


@dataclass(frozen=True)
class ValueGroups:
    """When numbers are grouped: from more than ``most`` different ones on, into ``parts`` of about equally many people.

    Whoever tells the tenth of the people to which an income belongs has told enough.
    """

    most: int = 20
    parts: int = 10


VALUE_GROUPS = ValueGroups()


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """The values of a column as numbers from 0 on, -1 where there is none; ``groups`` is 0 unless they are grouped."""

    name: str
    codes: NDArray[np.int64]
    groups: int = 0

    @property
    def missing(self) -> int:
        """How many records have no value."""
        return int((self.codes < 0).sum())

    @property
    def by_distribution(self) -> float:
        """The share of people with a value who have the most frequent one: what telling it to everybody gets right."""
        counts = np.bincount(self.codes[self.codes >= 0])
        return float(counts.max() / counts.sum())


def code_sensitive(data: Microdata, how: ValueGroups = VALUE_GROUPS) -> tuple[SensitiveColumn, ...]:
    """Return the sensitive columns of a file as numbers; refuse one without any value."""
    return tuple(_code(data.name, name, data.table[name], how) for name in data.roles.sensitive)


def _code(file: str, name: str, column: pd.Series[Any], how: ValueGroups) -> SensitiveColumn:
    values = [canonical(value) for value in column]
    codes = np.asarray(pd.factorize(pd.Series(values, dtype=object))[0], dtype=np.int64)
    if not (codes >= 0).any():
        raise InputError("sensitive_column_empty", file=file, column=name)
    numbers = _read_numbers(column, codes >= 0) if codes.max() >= how.most else None
    if numbers is None:
        return SensitiveColumn(name, codes)
    there = codes >= 0
    inner = np.unique(np.quantile(numbers[there], np.arange(1, how.parts) / how.parts))
    grouped = np.searchsorted(inner, numbers[there], side="right")
    codes[there] = np.unique(grouped, return_inverse=True)[1]
    return SensitiveColumn(name, codes, int(codes.max()) + 1)


def _read_numbers(column: pd.Series[Any], there: NDArray[np.bool_]) -> FloatArray | None:
    """Return the values of a column as numbers, dates as well; None where one is no number."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return np.asarray(column.astype("int64"), dtype=np.float64)
    found = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return found if np.isfinite(found[there]).all() else None
