"""The snooper's little simulation: how far a mask moves distances, and so which distances agree.

Pairs of points are drawn from the area, masked, and their distances compared before (d) and after (d′). The quantiles
of d - d′ are a row of the paper's table of deviations and define ≈. Where theory gives the law, none is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.arguments import check_kind, check_rng, check_whole, show
from disclique.engine.agreement import Between
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.masks.base import EntryMask, Mask
from disclique.model import Agreement
from disclique.spaces import Points, full_matrix
from disclique.spaces.base import Distances
from disclique.spaces.metrics import Metric, paired
from disclique.synthetic.people import area_points
from disclique.units import measured
from disclique.values import FloatArray, Json

PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
SAME = 1e-9  # distances that differ by less than this share of the largest are the same but for rounding

DrawPlaces = Callable[[int, np.random.Generator], FloatArray]
PlaceSource = NDArray[np.float64] | DrawPlaces | None


@dataclass(frozen=True)
class Simulation:
    """How much a calibration looks at, and what it takes for an atom."""

    atom: float = 0.01  # a value that holds this share of a sample is an atom of its law
    texts: int = 1_000  # that are encoded for one part of a calibration
    bins: int = 40  # of masked distances, at the most, with bounds of their own


SIMULATION = Simulation()


@dataclass(frozen=True)
class LawAgreement:
    """The agreement that theory gives for a mask at detection probability ``alpha``."""

    mask: Mask
    alpha: float

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval of known distances for each masked one."""
        ends = self.mask.known_interval(distance, self.alpha)
        if ends is None:
            raise InputError("no_interval_by_theory", mask=self.mask)
        return ends

    def words(self, unit: str | None) -> str:
        """Say the agreement by what it rests on."""
        return f"d lies in the interval that the mask {self.mask} leaves of d′ with probability {self.alpha:g}"


@dataclass(frozen=True, eq=False)
class ByDistance:
    """An agreement whose interval depends on the target distance: lo(d′) < d - d′ < hi(d′).

    The bounds are interpolated between ``knots``; masked distances that occur again and again (``atoms``, such as the
    top code) have bounds of their own. Knots and atoms ascend; bounds are rows (lo, hi).
    """

    knots: FloatArray
    knot_bounds: FloatArray
    atoms: FloatArray
    atom_bounds: FloatArray

    def interval(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of the open interval of known distances for each target distance."""
        distance = np.asarray(distance, dtype=float)
        bounds = np.zeros((2, *distance.shape))
        for side in range(2):
            if len(self.knots):
                bounds[side] = np.interp(distance, self.knots, self.knot_bounds[:, side])
        if len(self.atoms):
            middles = (self.atoms[1:] + self.atoms[:-1]) / 2
            nearest = np.searchsorted(middles, distance)
            known = np.isclose(self.atoms[nearest], distance, rtol=SAME, atol=0) | (not len(self.knots))
            for side in range(2):
                bounds[side] = np.where(known, self.atom_bounds[nearest, side], bounds[side])
        return distance + bounds[0], distance + bounds[1]

    def __repr__(self) -> str:
        return f"ByDistance({len(self.knots)} knots, {len(self.atoms)} atoms)"

    def words(self, unit: str | None) -> str:
        """Say the widest interval, with its unit."""
        bounds = np.concatenate([self.knot_bounds, self.atom_bounds])
        low, high = measured(float(bounds[:, 0].min()), unit), measured(float(bounds[:, 1].max()), unit)
        return f"d - d′ lies in an interval that depends on d′, at the widest from {low} to {high}"


@dataclass(frozen=True, eq=False)
class Calibration:
    """Distances before (``original``, d) and after a mask (``masked``, d′), one entry a simulated pair."""

    mask: Mask
    original: FloatArray
    masked: FloatArray
    lawful: bool = True  # the mask's own law holds; not where the known distances have errors too
    unit: str | None = None  # of the distances, None where nobody said it

    @property
    def deviation(self) -> FloatArray:
        """d - d′ of every pair."""
        return np.asarray(self.original - self.masked)

    @property
    def variance(self) -> float:
        """Sample variance of d - d′."""
        return float(np.var(self.deviation, ddof=1))

    @property
    def quantiles(self) -> dict[float, float]:
        """Sample quantiles of d - d′ at the probabilities of the paper's table."""
        found = np.quantile(self.deviation, PROBABILITIES)
        return {p: float(q) for p, q in zip(PROBABILITIES, found, strict=True)}

    def row(self) -> Json:
        """Return the row of the paper's table of deviations, with the mask's spec and the number of pairs."""
        quantiles = {f"{p:g}": q for p, q in self.quantiles.items()}
        return {"mask": self.mask.spec, "pairs": len(self.original), **quantiles, "variance": self.variance}

    def __repr__(self) -> str:
        size = measured(float(np.sqrt(self.variance)), self.unit) if len(self.original) > 1 else "unknown"
        return f"Calibration({self.mask}: {len(self.original)} pairs, standard deviation of d - d′ {size})"

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the (1-α)/2 and the (1+α)/2 sample quantile of d - d′."""
        _check_alpha(alpha)
        low, high = np.quantile(self.deviation, [(1 - alpha) / 2, (1 + alpha) / 2])
        return float(low), float(high)

    def agreement(self, alpha: float) -> Agreement:
        """≈ such that a common edge is found with probability about α.

        From theory where it gives the law; else the open interval between two sample quantiles, as a function of the
        masked distance where the deviation depends on it.
        """
        exact = exact_agreement(self.mask, alpha) if self.lawful else None
        if exact is not None:
            return exact
        rounding = SAME * float(self.original.max(initial=0.0)) or SAME
        if self.mask.conditional:
            return _by_distance(self.masked, self.deviation, alpha, rounding)
        return Between(*_bounds(self.deviation, alpha, rounding))

    def blurred(self, error: float, rng: np.random.Generator, *, across: int = 0) -> Calibration:
        """Return the calibration of a snooper whose coordinates have an error, a standard deviation on each axis.

        ``across`` is the number of axes on which the error is not along the distance and makes it longer: negligible on
        a map, where errors are small beside distances, but not in many dimensions.
        """
        known = self.original + rng.normal(0, np.sqrt(2) * error, self.original.shape)  # two ends of each distance
        if across:
            known = np.sqrt(known**2 + 2 * error**2 * rng.chisquare(across, known.shape))
        return replace(self, original=np.abs(known), lawful=False)


def exact_agreement(mask: Mask, alpha: float) -> Agreement | None:
    """The agreement at detection probability ``alpha`` that needs no simulation, or None if theory gives none."""
    _check_alpha(alpha)
    if mask.law is not None:
        return Between(float(mask.law.ppf((1 - alpha) / 2)), float(mask.law.ppf((1 + alpha) / 2)))
    return None if mask.known_interval(np.ones(1), alpha) is None else LawAgreement(mask, alpha)


def calibrate(
    mask: Mask,
    *,
    points: PlaceSource = None,
    metric: Metric = "sphere",
    unit: str | None = None,
    pairs: int | None = None,
    records: int = 500,
    rng: np.random.Generator,
) -> Calibration:
    """Return distances of simulated pairs before and after ``mask``.

    ``points`` are the places from which pairs are drawn: an array, a function of (n, rng), or nothing for the area of
    Germany. Each of the ``pairs`` (1,000, or 20,000 where bounds depend on the distance) is two fresh points, except
    for masks that depend on the whole file: these are applied to files of ``records`` points, and pairs drawn there.
    ``unit`` is that of Euclidean ``points``, km, m or none; on the Earth there is none to say.

    >>> from disclique.masks import parse_mask
    >>> found = calibrate(parse_mask("round:to=10km"), rng=np.random.default_rng(0))
    >>> found.agreement(0.5).interval(np.array([100.0]))
    (array([97.5]), array([102.5]))
    """
    check_kind(mask, Mask, "mask", "wanted_mask")
    if mask.withholds:
        raise InputError("nothing_to_calibrate", mask=mask.name)
    mask = mask.inner
    check_rng(rng)
    pairs = (20_000 if mask.conditional else 1_000) if pairs is None else check_whole(pairs, "pairs", 2)
    records = check_whole(records, "records", 2)
    draw = _source(points, metric)
    if mask.scope == "file":

        def place(count: int) -> Points:
            return Points(draw(count, rng), metric, unit=unit)

        return _from_files(mask, place, pairs=pairs, records=records, rng=rng)
    both = Points(_pairs_of(points, draw, pairs, rng), metric, unit=unit)
    mask, found = mask.in_unit_of(both), both.unit
    original = paired(both.coordinates[:pairs], both.coordinates[pairs:], both.metric)
    if isinstance(mask, EntryMask):
        return Calibration(mask, original, mask.perturbed(original, rng, found), unit=found)
    moved = mask.apply(both, rng).points()
    assert moved is not None
    masked = paired(moved.coordinates[:pairs], moved.coordinates[pairs:], both.metric)
    return Calibration(mask, original, masked, unit=found)


def calibrate_matrix(
    mask: Mask, distances: Distances, *, pairs: int = 20_000, rng: np.random.Generator, by: Simulation = SIMULATION
) -> Calibration:
    """Compare pairs of a file's own distances before and after the mask: a matrix, or texts under several keys.

    >>> from disclique.spaces.strings import Texts
    >>> from disclique.masks import parse_mask
    >>> people = Texts(("anna meier", "hanna mayer", "otto weber", "ottilie weber"))
    >>> found = calibrate_matrix(parse_mask("bloom"), people, rng=np.random.default_rng(0))
    >>> len(found.original), bool(np.abs(found.deviation).max() < 0.3)
    (24, True)
    """
    mask = mask.inner.in_unit_of(distances)
    files = mask.simulated_files if mask.on == "text" else 1
    some = distances.size > by.texts and mask.on == "text"  # it treats each record by itself
    parts = []
    for _ in range(files):
        file = distances.select(np.sort(rng.choice(distances.size, by.texts, replace=False))) if some else distances
        parts.append(_own_pairs(mask, file, max(2, pairs // files), rng))
    before, after = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    return Calibration(mask, before, after, unit=distances.unit)


def _own_pairs(mask: Mask, distances: Distances, pairs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return distances before and after one application of the mask; of a large file those of some of its records."""
    masked = mask.apply(distances, rng)
    if distances.is_large:
        rows = np.sort(
            rng.choice(distances.size, max(distances.sizes.entries // distances.size, 1), replace=False)
        ).astype(np.int32)
        everybody = np.arange(distances.size, dtype=np.int32)
        before, after = distances.block(rows, everybody), masked.block(rows, everybody)
        others = rows[:, None] != everybody[None, :]
    else:
        before, after = full_matrix(distances), full_matrix(masked)
        others = ~np.eye(len(before), dtype=bool)
    once = others if distances.is_large else np.triu(others)
    i, j = np.nonzero(~np.isnan(before) & ~np.isnan(after) & once)
    if len(i) < 2:
        i, j = np.nonzero(others)
        return np.nan_to_num(before[i, j]), np.nan_to_num(before[i, j])
    taken = rng.choice(len(i), size=min(len(i), pairs), replace=False)
    return before[i, j][taken], after[i, j][taken]


def _from_files(
    mask: Mask, draw: Callable[[int], Points], *, pairs: int, records: int, rng: np.random.Generator
) -> Calibration:
    """Return pairs of published distances from several simulated files."""
    original, masked, unit = [], [], None
    files = min(mask.simulated_files, pairs)
    records = max(2, min(records, 25_000 // files))  # many files are for what does not depend on their size
    for share in np.array_split(np.arange(pairs), files):
        file = draw(records)
        mask, unit = mask.in_unit_of(file), file.unit
        before, after = full_matrix(file), full_matrix(mask.apply(file, rng))
        i, j = np.nonzero(np.triu(~np.isnan(after), 1))
        if not len(i):
            raise InputError("mask_publishes_no_distance", mask=mask, records=records)
        taken = rng.choice(len(i), size=len(share), replace=len(share) > len(i))
        original.append(before[i[taken], j[taken]])
        masked.append(after[i[taken], j[taken]])
    return Calibration(mask, np.concatenate(original), np.concatenate(masked), unit=unit)


def _source(points: PlaceSource, metric: Metric) -> DrawPlaces:
    """Return a function that draws n places at random."""
    if callable(points):
        return points
    if points is None:
        if metric not in GEOGRAPHIC:
            raise InputError("calibration_needs_points", metric=metric)
        return area_points
    places = np.asarray(points)
    if places.ndim < 1:
        raise InputError("points_are_no_places", points=show(points))
    if len(places) < 2:
        raise InputError("too_few_points_to_calibrate", count=len(places))
    return lambda n, rng: np.asarray(places[rng.choice(len(places), size=n, replace=n > len(places))])


def _pairs_of(points: PlaceSource, draw: DrawPlaces, pairs: int, rng: np.random.Generator) -> FloatArray:
    """The first places of all pairs, then the second ones; from a list the two of a pair are never the same entry."""
    if points is None or callable(points):
        return draw(2 * pairs, rng)
    first = rng.integers(len(points), size=pairs)
    second = (first + rng.integers(1, len(points), size=pairs)) % len(points)
    return np.asarray(np.asarray(points)[np.concatenate([first, second])])


def _bounds(deviation: FloatArray, alpha: float, rounding: float) -> tuple[float, float]:
    """Return the two quantiles, moved apart by the rounding error where an atom sits on them: the interval is open."""
    low, high = np.quantile(deviation, [(1 - alpha) / 2, (1 + alpha) / 2])
    if np.mean(np.abs(deviation - low) <= rounding) >= SIMULATION.atom or low == high:
        low -= 2 * rounding
    if np.mean(np.abs(deviation - high) <= rounding) >= SIMULATION.atom or low == high:
        high += 2 * rounding
    return float(low), float(high)


def _by_distance(masked: FloatArray, deviation: FloatArray, alpha: float, rounding: float) -> ByDistance:
    values, place, counts = np.unique(masked, return_inverse=True, return_counts=True)
    is_atom = counts >= max(SIMULATION.atom * len(masked), 2)
    atoms = values[is_atom]
    atom_bounds = [_bounds(deviation[masked == atom], alpha, rounding) for atom in atoms]
    rest = np.flatnonzero(~is_atom[place])
    rest = rest[np.argsort(masked[rest], kind="stable")]
    bins = np.array_split(rest, max(1, min(SIMULATION.bins, len(rest) // 100))) if len(rest) else []
    return ByDistance(
        knots=np.array([float(np.median(masked[b])) for b in bins]),
        knot_bounds=np.array([_bounds(deviation[b], alpha, rounding) for b in bins]).reshape(-1, 2),
        atoms=atoms,
        atom_bounds=np.array(atom_bounds).reshape(-1, 2),
    )


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise InputError("alpha_not_between_0_and_1", alpha=alpha)
