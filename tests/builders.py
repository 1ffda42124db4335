"""Files and chance that many tests need, made in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import disclique as dq
from disclique.attacks.dictionaries import every_day
from disclique.spaces import Distances, Listed, ReleaseSeries


def rng(seed: int = 0) -> np.random.Generator:
    """Return chance."""
    return np.random.default_rng(seed)


def along_streets(x: np.ndarray, y: np.ndarray) -> float:
    """Return the sum of the steps along both axes: a metric of one's own."""
    return float(np.abs(x - y).sum())


def every_space(n: int = 14) -> dict[str, Distances]:
    """Return distances of every kind, between as many records."""
    where = rng(3).uniform((6, 47), (15, 55), (n, 2))
    names = [
        f"{first} {last}" for first in ("anna", "otto", "ida") for last in ("meier", "weber", "kern", "lee", "roth")
    ]
    plane = dq.Points(rng(4).uniform(0, 90, (n, 2)), "euclidean", unit="km")
    ways = np.triu(rng(5).uniform(1, 9, (n, n)), 1)
    return {
        "sphere": dq.Points(where),
        "wgs84": dq.Points(where, "wgs84"),
        "plane": plane,
        "vectors": dq.Points(rng(6).normal(size=(n, 5)), "euclidean"),
        "cosine": dq.Points(rng(7).normal(size=(n, 5)), "cosine"),
        "gower": dq.Points([[float(k % 5), "fm"[k % 2], None if k == 2 else float(k)] for k in range(n)], "gower"),
        "own metric": dq.Points(where, along_streets),
        "texts": dq.Texts(names[:n]),
        "encodings": dq.Encodings(rng(8).integers(0, 256, (n, 8), dtype=np.uint8), 64),
        "matrix": dq.Matrix(ways + ways.T),
        "scaled": plane.as_matrix().to_map() or plane,
        "series": ReleaseSeries((plane, plane)),
        "hidden": plane.hidden(),
        "listed": Listed(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1)),
    }


def mask_in_order(data: dq.Microdata, mask: str | dq.Mask, seed: int | None = None) -> dq.Microdata:
    """Return the file with masked distances, everything else as it was: what the holder has, and no snooper sees."""
    made = dq.release(data, mask, seed)
    return replace(data, distances=made.masked.select(np.argsort(made.key)).as_matrix())


@contextmanager
def refused(code: str, **values: object) -> Iterator[None]:
    """Expect an InputError of this code, with at least these values."""
    with pytest.raises(dq.InputError) as error:
        yield
    assert error.value.message.code == code
    assert {name: error.value.message.values[name] for name in values} == values


def draw_people(count: int, seed: int = 0) -> pd.DataFrame:
    """Invent people: names of syllables, and days of birth."""
    draw = rng(seed)
    ends = ("na", "ro", "ti", "mel", "ko", "sa", "vin", "lu", "der", "ga", "pe", "schi")
    first = ["".join(draw.choice(ends, 2)) for _ in range(40)]
    last = ["".join(draw.choice(ends, 3)) for _ in range(90)]
    days = every_day(["1.1.1950", "31.12.2000"])
    columns = {"first": draw.choice(first, count), "last": draw.choice(last, count), "born": draw.choice(days, count)}
    return pd.DataFrame(columns)
