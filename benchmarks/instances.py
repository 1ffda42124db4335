"""The attacks on which speed is compared: two files of simulated people, one of them masked.

45 % of the people live in thirty cities, the rest anywhere in a rectangle around Germany; labels are sex and age in the
census's eleven classes. The first ``common`` people stand in both files. The agreement interval holds the deviation of
a share α of pairs of points under the mask, estimated from 1,000 pairs of its own. The draws and their order are part
of the definition: the same numbers give the same graphs on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from disclique.engine.agreement import Between
from disclique.geodesy import sphere_km
from disclique.model import Candidates
from disclique.spaces import Matrix
from disclique.values import FloatArray

INSTANCES = {  # (σ in degrees, α): members of a maximum clique at 500 records per file, 50 of them common
    (0.005, 0.5): 13,
    (0.05, 0.1): 6,
    (0.01, 0.9): 33,
    (0.025, 0.5): 15,
    (0.05, 0.5): 20,
    (0.05, 0.9): 54,
}
SEXES = 2
AGE_PERCENT = (2.5, 2.5, 8.2, 3.0, 8.1, 6.0, 11.9, 16.8, 20.3, 11.3, 9.4)
CITIES = np.array(  # latitude, longitude, thousands of inhabitants
    [
        (52.52, 13.405, 3502),
        (53.55, 9.993, 1799),
        (48.137, 11.575, 1388),
        (50.938, 6.957, 1024),
        (50.11, 8.68, 687),
        (48.776, 9.177, 597),
        (51.222, 6.776, 593),
        (51.514, 7.468, 572),
        (51.457, 7.012, 566),
        (53.075, 8.807, 546),
        (51.34, 12.375, 520),
        (51.05, 13.738, 525),
        (52.375, 9.732, 514),
        (49.453, 11.077, 495),
        (51.432, 6.765, 486),
        (51.482, 7.216, 362),
        (51.256, 7.15, 342),
        (52.03, 8.532, 328),
        (50.735, 7.1, 309),
        (51.96, 7.626, 296),
        (49.009, 8.404, 296),
        (49.488, 8.467, 294),
        (48.37, 10.898, 266),
        (54.323, 10.135, 239),
        (50.984, 11.03, 203),
        (54.083, 12.14, 202),
        (51.313, 9.48, 192),
        (49.234, 6.997, 176),
        (47.999, 7.842, 218),
        (52.13, 11.63, 229),
    ]
)


@dataclass(frozen=True, eq=False)
class Instance:
    """One attack: distances of both files, candidate pairs and the agreement; ``name`` is how tables call it."""

    name: str
    target: Matrix
    known: Matrix
    candidates: Candidates
    agreement: Between


def instance(sigma: float, alpha: float, *, records: int = 500, common: int = 50) -> Instance:
    """Return the attack on ``records`` people per file, ``common`` in both, at noise σ (degrees) and detection α."""
    people = np.random.default_rng(7)
    total = 2 * records - common
    home = _homes(total, people)
    age = people.choice(len(AGE_PERCENT), total, p=np.array(AGE_PERCENT) / np.sum(AGE_PERCENT))
    label = (SEXES * age + people.integers(0, SEXES, total)).astype(np.int32)
    noise = np.random.default_rng(1000)
    interval = _interval(sigma, alpha, noise)
    masked = home[:, :records] + np.stack([noise.normal(0, sigma, records) for _ in range(2)])
    known = np.concatenate([np.arange(common), np.arange(records, total)])
    classes = np.intersect1d(label[:records], label[known]).astype(np.int32)
    return Instance(
        name=f"σ {sigma} α {alpha}" if records == 500 else f"σ {sigma} α {alpha}, {records} records",
        target=Matrix(_between(masked[:, :, None], masked[:, None, :])),
        known=Matrix(_between(home[:, known, None], home[:, None, known])),
        candidates=Candidates(label[:records], label[known], np.stack([classes, classes], axis=1)),
        agreement=interval,
    )


def _homes(n: int, rng: np.random.Generator) -> FloatArray:
    """Latitudes and longitudes of ``n`` people, shape (2, n)."""
    anywhere = np.stack([rng.uniform(47.6, 54.6, n), rng.uniform(6.5, 14.2, n)])
    people = CITIES[:, 2]
    city = rng.choice(len(CITIES), n, p=people / people.sum())
    urban = rng.random(n) < 0.45
    in_city = np.stack([CITIES[city, 0] + rng.normal(0, 0.07, n), CITIES[city, 1] + rng.normal(0, 0.1, n)])
    return np.where(urban, in_city, anywhere)


def _interval(sigma: float, alpha: float, rng: np.random.Generator) -> Between:
    """Return the interval that holds the deviation of a share ``alpha`` of pairs of points."""
    pairs = 1000
    ends = np.concatenate([_homes(pairs, rng), _homes(pairs, rng)])
    moved = ends + np.stack([rng.normal(0, sigma, pairs) for _ in range(4)])
    deviation = _between(ends[:2], ends[2:]) - _between(moved[:2], moved[2:])
    low, high = np.quantile(deviation, [(1 - alpha) / 2, (1 + alpha) / 2])
    return Between(float(low), float(high))


def _between(a: NDArray[np.float64], b: NDArray[np.float64]) -> FloatArray:
    """Great-circle distances in km between points (latitude, longitude) along the first axis."""
    return sphere_km(np.moveaxis(a[::-1], 0, -1), np.moveaxis(b[::-1], 0, -1))
