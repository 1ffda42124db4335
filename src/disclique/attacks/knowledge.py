"""What the snooper knows of the mask and the files, how much work they spend, and what only the holder has.

By Kerckhoffs' principle the snooper knows how the release was made; ``learn`` derives everything an attack is told from
the mask itself.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disclique.arguments import (
    check_kind,
    check_number,
    check_rng,
    check_seed,
    check_share,
    check_whole,
    short_repr,
    show,
)
from disclique.attacks.calibration import Calibration
from disclique.attacks.dictionaries import Dictionary
from disclique.engine.agreement import check_agreement, fit_agreement
from disclique.errors import InputError
from disclique.geodesy import KM_PER_DEGREE, Spread, displacement_km
from disclique.masks import Mask
from disclique.masks.laws import PlaceLaw, simulate_law, spread_at
from disclique.measures.risk import Truth
from disclique.messages import Message, mark
from disclique.model import UNLIMITED, Agreement, Budget, Candidates, Executor, Microdata
from disclique.spaces import Points, ScaledMatrix, shared_unit
from disclique.spaces.base import Distances
from disclique.units import KM, Quantity, length_in
from disclique.values import IntArray

ALPHA = 0.5  # the paper's middle of the detection probabilities


@dataclass(frozen=True)
class Knowledge:
    """What the snooper knows of the mask and of the files; None is not known, or estimated from the data.

    ``agreement`` is ≈, ``alpha`` the detection probability it stands for and ``deviation`` the standard deviation of
    d - d′ for a true pair. ``noise`` is the displacement of the target's points, ``matrix_noise`` the standard
    deviation of independent noise on each published distance, ``relative_noise`` that of the logarithm of an
    independent factor of mean 1 on each (None: there is none, or it is not known), ``common`` the expected share of
    the target's records that are in the known file and ``coordinate_error`` the standard deviation, per axis, of the
    snooper's own coordinates. Lengths are in the unit of the distances. A ``bold`` snooper is sure that the files
    share people, and follows the best alignment of the maps where another one would find it too doubtful to claim
    anything. ``seeds`` are pairs (target row, known row), counted from 0, that an insider knows to be one person
    beforehand. ``mask`` is how the release was made, with which the snooper may mask their own file, and
    ``law`` the law of a masked place given the true one, of which ``noise`` is the second moment. ``learned`` keeps
    what was learned from draws of the mask, for other questions about the same files.

    >>> Knowledge(noise=Spread(0.5, 0.5, "km"), common=0.1).common
    0.1
    >>> Knowledge(seeds=np.array([[3, 0], [1, 7]])).seeds
    ((3, 0), (1, 7))
    """

    noise: Spread | None = None
    matrix_noise: float | None = 0.0
    common: float | None = None
    coordinate_error: float = 0.0
    bold: bool = False
    agreement: Agreement | None = None
    alpha: float | None = None
    deviation: float | None = None
    seeds: tuple[tuple[int, int], ...] = ()
    mask: Mask | None = None
    law: PlaceLaw | None = None
    relative_noise: float | None = None
    learned: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "seeds", tuple((int(t), int(k)) for t, k in self.seeds))
        except (TypeError, ValueError):
            raise InputError("seeds_are_no_pairs", seeds=show(self.seeds)) from None
        lengths = {"matrix noise": self.matrix_noise, "coordinate error": self.coordinate_error}
        lengths |= {"relative noise": self.relative_noise}
        why = mark("wanted_deviation_of_distances")
        for name, value in {**lengths, "deviation": self.deviation}.items():
            if value is not None and not (np.isfinite(check_number(value, name, why)) and value >= 0):
                raise InputError("deviation_is_not", name=name, value=value, wanted=Message(why))
        self._check_kinds()
        if self.common is not None:
            check_share(self.common, "common share")
        for side, rows in zip(("target", "known"), zip(*self.seeds, strict=True), strict=False):
            if min(rows) < 0:
                raise InputError("seed_row_negative", side=side, row=min(rows))
            if len(set(rows)) < len(rows):
                twice = next(row for row in rows if rows.count(row) > 1)
                raise InputError("seed_row_twice", side=side, twice=twice)

    def _check_kinds(self) -> None:
        if self.noise is not None:
            check_kind(self.noise, Spread, "noise", "wanted_spread")
        if self.mask is not None:
            check_kind(self.mask, Mask, "mask", "wanted_mask")
        if self.agreement is not None:
            check_agreement(self.agreement)
        if self.alpha is not None:
            check_share(self.alpha, "alpha", "wanted_detection_probability")

    def fit(self, target: Distances, known: Distances, names: tuple[str, str] = ("target", "known")) -> Knowledge:
        """Return the same knowledge of these two files, ≈ in the unit of their distances.

        Refuse files whose distances cannot be compared because of their units, and lengths that do not meet them.
        """
        unit = shared_unit(target, known, names)
        if self.mask is not None:
            self.mask.check_lengths(unit)
        noise = self.noise
        if noise is not None and noise.unit == KM and noise.east + noise.north > 0:
            length_in(Quantity(noise.east, KM), unit, f"noise of {noise.east:g}km")
            noise = spread_at(noise, known.points())
        agreement = None if self.agreement is None else fit_agreement(self.agreement, target, known)
        return replace(self, noise=noise, agreement=agreement)

    def needed_agreement(self, attack: str) -> Agreement:
        """Return ≈; raise if the snooper was not told when distances agree."""
        if self.agreement is None:
            raise InputError("attack_needs_agreement", attack=attack)
        return self.agreement

    @property
    def known_deviation(self) -> float | None:
        """The standard deviation of d - d′; half the width of the agreement interval is about one."""
        if self.deviation is not None or self.agreement is None:
            return self.deviation
        low, high = self.agreement.interval(np.array([100.0]))
        return float(high[0] - low[0]) / 2

    def at(self, alpha: float, calibration: Calibration) -> Knowledge:
        """Return the same knowledge with the agreement that finds a common edge with probability ``alpha``."""
        return replace(self, agreement=calibration.agreement(alpha), alpha=alpha)


@dataclass(frozen=True)
class Search:
    """How the maximum clique is searched: by which solver, how long, on how many threads, listing how many ties.

    ``seed`` is for attacks that draw at random, ``starts`` the most alignments that ``profiles`` tries, by the size of
    the files if it is None. ``memory`` is the bytes that a product graph may take, by default half of the machine's;
    ``executor`` (``OnDask(...)``, ``Processes(4)``) lets workers search for the clique.

    >>> Search(budget=Budget(work=2)).solver
    'exact'
    """

    solver: str = "exact"
    budget: Budget = UNLIMITED
    threads: int | None = None
    limit: int = 1000
    seed: int = 0
    starts: int | None = None
    memory: int | None = None
    executor: Executor | None = None

    def __post_init__(self) -> None:
        if self.memory is not None:
            check_whole(self.memory, "memory", 1)
        if self.executor is not None and not callable(getattr(self.executor, "map", None)):
            raise InputError("executor_unknown", executor=show(self.executor))
        check_kind(self.budget, Budget, "budget", "wanted_budget")
        check_whole(self.limit, "limit of maximum cliques", 1)
        check_seed(self.seed)
        for name in ("threads", "starts"):
            if getattr(self, name) is not None:
                check_whole(getattr(self, name), name, 1)


@dataclass(frozen=True, eq=False)
class Across:
    """A file that holds the people of both files, with the row there of each known and of each released record.

    The distances between the two files come from it where neither has them: of bare matrices.
    """

    source: Distances
    known: IntArray
    released: IntArray


@dataclass(frozen=True, eq=False)
class Holder:
    """What only the data holder has: the records before they were masked, how that was done, and who is who.

    ``candidates`` are the pairs of a released record and one of the ``known`` file that labels allow, with what their
    errors allow besides; ``alike`` those whose labels fit, among whom is guessed where nothing else is known (the same
    unless said). ``seeds`` are pairs that the snooper knows beforehand, and who are not sought. ``across`` is the file
    of which both are parts, if there is one: bare matrices have no distances between the two else. ``values`` has for
    every sensitive column the values of the released records as numbers, -1 where there is none. ``dictionary`` is what
    columns of text may say: with one, records of encodings are read.
    """

    exact: Microdata
    known: Microdata
    candidates: Candidates
    truth: Truth
    knowledge: Knowledge = Knowledge()
    alike: Candidates | None = None
    seeds: tuple[tuple[int, int], ...] = ()
    across: Across | None = None
    values: tuple[NDArray[np.integer[Any]], ...] = ()
    dictionary: Dictionary | None = None

    @property
    def sought(self) -> Truth:
        """Who is who among those whom the snooper does not know beforehand."""
        return self.truth.without([row for row, _ in self.seeds])


def learn(
    mask: Mask,
    calibration: Calibration,
    points: Points | None,
    *,
    common: float | None,
    coordinate_error: float = 0.0,
    rng: np.random.Generator,
) -> Knowledge:
    """Derive what the snooper knows from the mask: the deviation of distances and the displacement of points.

    Where the mask's law is not written down, its displacement and the law of the places are simulated at ``points``,
    places like the target's (``law.simulated``); a mask that displaces no points is known by the noise that it puts on
    distances, as far as it has a law.

    >>> from disclique.attacks.calibration import calibrate
    >>> from disclique.masks import parse_mask
    >>> mask, rng = parse_mask("gaussian:sigma=2km"), np.random.default_rng(0)
    >>> learn(mask, calibrate(mask, rng=rng), None, common=0.1, rng=rng).noise
    Spread(east=2.0, north=2.0, unit='km')
    """
    check_kind(mask, Mask, "mask", "wanted_mask")
    check_kind(calibration, Calibration, "calibration", "wanted_calibration")
    check_rng(rng)
    mask = mask.inner if points is None else mask.inner.in_unit_of(points)
    deviation = float(np.sqrt(calibration.variance))
    told = Knowledge(None, 0.0, common, coordinate_error, deviation=deviation, mask=mask)
    on_earth = mask.on != "text" and (points is None or points.on_earth)
    exact = Spread(0.0, 0.0, "km" if on_earth else "plane")
    if mask.rigid:
        return replace(told, noise=exact, law=mask.place_law(points))  # an attack undoes the motion
    if mask.on != "coordinates":
        return replace(told, noise=exact, matrix_noise=mask.matrix_sd, relative_noise=mask.relative_sd)
    spread = mask.displacement_spread()
    noise = spread_at(spread, points) if spread is not None else simulate_spread(mask, points, rng)
    return replace(told, noise=noise, law=mask.place_law(points) or simulate_law(mask, points, rng))


def simulate_spread(mask: Mask, points: Points | None, rng: np.random.Generator) -> Spread | None:
    """Return the standard deviations of the displacement that ``mask`` causes at ``points``; None without a map."""
    if points is None or not points.is_map or points.coordinates.shape[1] != 2:
        return None
    moved = mask.apply(points, rng).points()
    assert moved is not None
    east, north = displacement_km(points.coordinates, moved.coordinates, str(points.metric))
    unit = "km" if points.on_earth else "plane"
    return Spread(float(np.sqrt((east**2).mean())), float(np.sqrt((north**2).mean())), unit)


def learn_scaled(knowledge: Knowledge, scaled: ScaledMatrix) -> Knowledge:
    """Return what the snooper knows on a map scaled from distances: its places are not exact, and lie anyhow.

    Where the places really are is not known there, so that a displacement in degrees is taken as if at the equator, and
    of a mask's law only the spread is left.
    """
    noise, unit = knowledge.noise, "km" if scaled.places().on_earth else "plane"
    if noise is not None:
        size = KM_PER_DEGREE if noise.unit == "deg" else 1.0
        noise = replace(noise, east=size * noise.east, north=size * noise.north, unit=unit)
    error = float(np.hypot(knowledge.coordinate_error, scaled.error))
    return replace(knowledge, noise=noise, coordinate_error=error, law=None)
