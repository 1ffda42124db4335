"""Who else lives there: how many people of a population fit what is released of each record.

A person of the population fits as well as the law of the release says: by labels and numbers that are known of them,
and by where they live if masked places are released. A record's k counts them, each by how much less probable the
release would be if it were theirs than it is of the true person: 1 where nothing tells them apart, 0 where it cannot be
theirs. Where the release is a function of the truth, k is the number of people who fit, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks import LabelRule
from disclique.errors import InputError
from disclique.masks.laws import GaussianLaw, PlaceLaw, RadialLaw
from disclique.messages import Message
from disclique.model import Candidates, Microdata
from disclique.numbers import NumberColumn, Numbers
from disclique.records.coarsening import AS_THEY_ARE, NONE, Recoding
from disclique.records.labels import canonical_labels
from disclique.records.number_columns import read_numbers
from disclique.records.population import Inhabitants
from disclique.spaces import Nothing, Points
from disclique.spaces.base import Distances
from disclique.spaces.positions import locate_known
from disclique.values import FloatArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Counting:
    """How people of a population are counted.

    ``spots``: places over which the people of a cell are spread, at the most. ``reach``: deviations of Gaussian noise
    up to which people are looked for. ``pairs``: of a record and a place that are held at a time.
    """

    spots: int = 16
    reach: float = 6.0
    pairs: int = 20_000_000


COUNTING = Counting()


@dataclass(frozen=True)
class Fitting:
    """How many people of the population fit each released record.

    ``records`` were counted in one release; ``alone`` are those whom nobody else fits, ``few`` those with fewer than
    five. ``quantiles`` are k at the least, a tenth, a quarter, the middle and three quarters. ``labels`` and
    ``numbers`` are what is known of the population, ``places`` says whether masked places were counted. Then ``off`` is
    how many km the place that a snooper would expect lies off the true one, for the middle of the records, and
    ``off_alone`` the same by the masked places without the numbers.
    """

    people: float
    records: int
    alone: int
    few: int
    quantiles: tuple[float, ...]
    labels: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    places: bool = False
    off: float | None = None
    off_alone: float | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """Who else fits the records, and how far off their places still are."""
        middle = round(self.quantiles[3])
        told = {"people": round(self.people), "alone": self.alone, "few": self.few, "records": self.records}
        counted = Message("population_fits", told, middle=middle)
        if self.off is None or self.off_alone is None:
            return (counted,)
        return counted, Message("places_off", off=_say_length(self.off), alone=_say_length(self.off_alone))


def _say_length(km: float) -> str:
    return f"{1000 * km:.2g} m" if km < 0.995 else f"{km:.2g} km"


FEW = 5
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Residents:
    """A population beside a file: its people as records with the labels and numbers that both have."""

    data: Microdata
    people: FloatArray
    places: Points

    @classmethod
    def of(
        cls, population: Inhabitants, target: Microdata, recoding: Recoding = AS_THEY_ARE, by: Counting = COUNTING
    ) -> Residents:
        """Find what is known of the people: labels and numbers by name, and what follows from where they live.

        What is done to the labels of the file is done to theirs.
        """
        spots = np.ones(len(population), np.int64)
        if population.cells is not None:
            spots = np.clip(np.ceil(population.people), 1, by.spots).astype(np.int64)
        rows = np.repeat(np.arange(len(population)), spots)
        number = np.arange(len(rows)) - np.repeat(np.cumsum(spots) - spots, spots)
        places = population.spread(rows, number)
        table = population.table.iloc[rows].reset_index(drop=True)
        labels = [str(name) for name in target.labels.columns if name in table.columns]
        data = Microdata(
            table,
            canonical_labels(table, labels, population.name),
            Nothing(len(rows)),
            tuple(range(len(rows))),
            population.name,
            numbers=_find_numbers(target.numbers, table, places, population.name),
        )
        kept = [part for part in recoding.parts if _meets(part, data)]
        return cls(Recoding(tuple(kept)).apply(data), population.people[rows] / spots[rows], places)


def _meets(part: str, data: Microdata) -> bool:
    """Say whether a part of a recoding is about something that is known of the population."""
    one = Recoding((part,))
    names = [made.into for made in one.made] + list(one.dropped)
    there = [*map(str, data.labels.columns), *data.numbers.names]
    return part == NONE or any(fnmatchcase(name, pattern) for pattern in names for name in there)


def _find_numbers(numbers: Numbers, table: pd.DataFrame, places: Points, name: str) -> Numbers:
    found: list[NumberColumn] = []
    for column in numbers.columns:
        near = column.near
        if near is not None and near.by_place:
            values = np.asarray(near.measure(places, ()), dtype=float)
            found.append(replace(column, values=values))
        elif column.name in table.columns:
            found += read_numbers(table, {column.name: column.unit or "none"}, name).columns
    return Numbers(tuple(found))


def count_fitting(
    residents: Residents,
    target: Microdata,
    exact: Microdata,
    masked: Distances,
    law: PlaceLaw | None,
    by: Counting = COUNTING,
) -> Fitting:
    """Count for every released record the people who fit it; ``exact`` are the records before they were masked."""
    people, labels = residents.data, list(residents.data.labels.columns)
    known = set(people.numbers.names)
    mine = replace(
        target,
        labels=target.labels[labels],
        numbers=target.numbers.without(set(target.numbers.names) - known),
        distances=Nothing(len(target)),
    )
    # the true people stand behind the population, and count for nobody: what others are held against
    true = replace(exact, labels=exact.labels[labels], numbers=exact.numbers.without(set(exact.numbers.names) - known))
    both = _append(people, true)
    weight = np.concatenate([residents.people, np.zeros(len(true))])
    candidates = LabelRule().candidates(mine, both)
    moved, own = masked.points(), exact.distances.points()
    by_place = None
    if moved is not None and own is not None and isinstance(law, (GaussianLaw, RadialLaw)):
        there = replace(residents.places, coordinates=np.vstack([residents.places.coordinates, own.coordinates]))
        by_place = _PlaceFit(moved, there, law, by)
        if not by_place.says_something:
            by_place = None
    k, off = _count(candidates, weight, by_place, by)
    found = _summarise(k, residents, labels, tuple(mine.numbers.names), by_place is not None)
    if by_place is None or not len(mine.numbers):
        return found
    _, alone = _count(LabelRule().candidates_by_labels(mine, both), weight, by_place, by)
    return replace(found, off=_middle(off), off_alone=_middle(alone))


def _middle(lengths: FloatArray) -> float | None:
    there = lengths[np.isfinite(lengths)]
    return round(float(np.median(there)), 4) if len(there) else None


def _append(people: Microdata, true: Microdata) -> Microdata:
    labels = pd.concat([people.labels, true.labels], ignore_index=True)
    numbers = [
        replace(column, values=np.concatenate([column.values, true.numbers.of(column.name).values]))
        for column in people.numbers.columns
    ]
    size = len(labels)
    table = pd.DataFrame(index=range(size))
    return Microdata(table, labels, Nothing(size), tuple(range(size)), people.name, numbers=Numbers(tuple(numbers)))


class _PlaceFit:
    """How well places fit the masked ones, under the law of the mask."""

    def __init__(self, masked: Points, places: Points, law: GaussianLaw | RadialLaw, by: Counting) -> None:
        map_ = locate_known(places)
        self.positions, self.law, self.by = map_.positions, law, by
        self.masked, self.tree = map_.place(masked), cKDTree(map_.positions)
        self.variances = map_.variances(law.spread, 0.0) if isinstance(law, GaussianLaw) else None

    @property
    def says_something(self) -> bool:
        return self.variances is None or bool((self.variances > 0).all())

    @property
    def reach(self) -> float:
        if isinstance(self.law, RadialLaw):
            return self.law.reach
        assert self.variances is not None
        return float(self.by.reach * np.sqrt(self.variances.max()))

    def find(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the pairs of some records and the places in their reach."""
        near = self.tree.query_ball_point(self.masked[rows], self.reach * (1 + 1e-9))
        counts = np.array([len(one) for one in near], dtype=np.int64)
        places = np.concatenate([np.asarray(one, dtype=np.int64) for one in near]) if len(near) else counts
        return np.repeat(rows, counts), places

    def measure_off(self, places: Ints, others: Ints) -> FloatArray:
        """Return how many km places lie apart."""
        return np.asarray(np.linalg.norm(self.positions[places] - self.positions[others], axis=1))

    def log_density(self, rows: Ints, places: Ints) -> FloatArray:
        """Return the log density of masked places given true ones, but for a factor that is the same for all."""
        apart = ((self.masked[rows] - self.positions[places]) ** 2).sum(axis=1)
        if isinstance(self.law, RadialLaw):
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(self.law.density(np.sqrt(apart))))
        assert self.variances is not None
        variance = self.variances[places].reshape(len(places), -1).mean(axis=1)
        return np.asarray(-0.5 * apart / variance - np.log(variance))


def _count(
    candidates: Candidates, weight: FloatArray, by_place: _PlaceFit | None, by: Counting
) -> tuple[FloatArray, FloatArray]:
    """Return k of every record, and how far its people live off on average, where places are released.

    The true person of record t stands at ``len(weight) - records + t``.
    """
    records, true = candidates.sizes[0], len(weight) - candidates.sizes[0]
    k, off = np.zeros(records), np.zeros(records)
    if by_place is None and candidates.evidence is None:
        return _count_classes(candidates, weight), off
    for rows in _in_steps(candidates, by_place, by):
        if candidates.evidence is None:
            assert by_place is not None
            target, known = by_place.find(rows)
            kept = candidates.allowed(target, known)
            target, known = target[kept], known[kept]
            odds = np.zeros(len(target))
        else:
            target, known = candidates.pairs(rows)
            odds = candidates.log_odds(target, known)
        if by_place is not None:
            odds = odds + by_place.log_density(target, known)
        own = np.full(records, -np.inf)
        itself = known == true + target
        own[target[itself]] = odds[itself]
        with np.errstate(invalid="ignore", over="ignore"):
            part = weight[known] * np.exp(np.minimum(odds - own[target], 50.0))
        part = np.nan_to_num(part)
        k += np.bincount(target, part, records)
        if by_place is not None:
            off += np.bincount(target, part * by_place.measure_off(true + target, known), records)
    with np.errstate(invalid="ignore", divide="ignore"):
        return k, off / k


def _in_steps(candidates: Candidates, by_place: _PlaceFit | None, by: Counting) -> list[Ints]:
    """Return the records in parts that leave few enough pairs at a time."""
    records, people = candidates.sizes
    each = people if by_place is not None else max(int(candidates.fitting.max(initial=1)), 1)
    step = max(by.pairs // max(each, 1), 1)
    return [np.arange(begin, min(begin + step, records)) for begin in range(0, records, step)]


def _count_classes(candidates: Candidates, weight: FloatArray) -> FloatArray:
    there = candidates.known_class >= 0
    relation = candidates.relation.astype(np.int64)
    size = int(max(candidates.known_class.max(initial=-1), relation[:, 1].max(initial=-1))) + 1
    people = np.bincount(candidates.known_class[there], weight[there], size)
    owns = int(max(candidates.target_class.max(initial=-1), relation[:, 0].max(initial=-1))) + 1
    k = np.bincount(relation[:, 0], people[relation[:, 1]], owns + 1)
    return np.asarray(k[candidates.target_class])


def _summarise(
    k: FloatArray, residents: Residents, labels: list[str], numbers: tuple[str, ...], places: bool
) -> Fitting:
    least = np.maximum(k, 1.0)  # the person themselves, also where the population has overlooked them
    found = tuple(round(float(one), 4) for one in np.quantile(least, QUANTILES, method="lower"))
    alone, few = int((least < 1.5).sum()), int((least < FEW - 0.5).sum())
    return Fitting(float(residents.people.sum()), len(k), alone, few, found, tuple(labels), numbers, places)


def check_population(population: Inhabitants, target: Microdata) -> None:
    """Refuse a population that lies on other ground than the records."""
    points = target.distances.points()
    if points is None or not points.is_map:
        return
    if points.on_earth != population.places.on_earth:
        raise InputError("population_on_other_ground", file=population.name, other=target.name)
