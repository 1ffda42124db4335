"""What the true alignment would show, foretold before it is searched: whether a search can succeed, or has succeeded.

Known records, displaced as by the mask and given the labels of targets, stand for common targets; without themselves
they stand for strangers. Their likelihood ratios say how well the target's map would fit where it truly lies, how well
it fits where it does not, and so whether the truth would stand out among all the motions that are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks.align.likelihood import NEIGHBOURS, LikelihoodModel, group_by_class, index_known
from disclique.attacks.align.refine import Aligner
from disclique.engine.kernels.neighbours import find_near
from disclique.model import FloatArray
from disclique.spaces.positions import KnownMap

Ints = NDArray[np.int64]
MOST, FEWEST = 2000, 200  # records that are displaced
PAIRS = 1_000_000  # distances compared, after which no further records are displaced
REACH = 4.0  # standard deviations
TILTS = (0.0, 0.5, 1.0)  # powers of the area per record: from where people live to where land is
SPARSE = 0.1  # log of the distance to a neighbour by which the target's map may be sparser than foretold
SEED = 0  # of the records that are displaced; not of anything that is published


class Outlook(NamedTuple):
    """A sum of log likelihood ratios that is expected, and its standard deviation."""

    mean: float
    deviation: float

    def at_most(self, deviations: float) -> float:
        """Return a value that is not exceeded but by chance."""
        return self.mean + deviations * self.deviation

    def at_least(self, deviations: float) -> float:
        """Return a value that is reached but for bad luck."""
        return self.mean - deviations * self.deviation


@dataclass(frozen=True, eq=False)
class Foretold:
    """Likelihood ratios, before the share of common targets enters, of records displaced as targets are.

    ``common`` are those of records that are in the known file, ``stranger`` the same without the record itself;
    ``pull`` are their slopes along each axis under a share of one, common and stranger.
    """

    common: FloatArray
    stranger: FloatArray
    pull: tuple[FloatArray, FloatArray]  # (records, 2) each

    def expect(self, targets: int, share: float, believed: float) -> Outlook:
        """Return the log likelihood ratio of so many targets where they truly lie.

        ``share`` of them are common, and the likelihood is that of a share ``believed``.
        """
        here, away = _log_ratio(self.common, believed), _log_ratio(self.stranger, believed)
        mean = share * here.mean() + (1 - share) * away.mean()
        spread = share * (here - mean) ** 2 + (1 - share) * (away - mean) ** 2
        doubt = np.var(share * here + (1 - share) * away) / len(here)  # of the mean, from so few records
        return Outlook(float(targets * mean), float(np.sqrt(targets * spread.mean() + targets**2 * doubt)))

    def expect_strangers(self, targets: int, believed: float) -> Outlook:
        """Return the same of targets that lie where people live, but not where they themselves do."""
        away = _log_ratio(self.stranger, believed)
        return Outlook(float(targets * away.mean()), float(np.sqrt(targets * away.var())))

    def expect_fitted(self, targets: int, share: float, luck: float) -> float:
        """Return the most for the truth under the share with which it is highest, as an alignment is fitted.

        ``luck`` is by how many standard deviations more than expected.
        """
        shares = [keep_within(one, targets) for one in (*np.geomspace(1 / max(targets, 2), 1.0, 24), share)]
        return max(self.expect(targets, share, one).at_most(luck) for one in shares)

    def measure_information(self, share: float) -> float:
        """Return what a target tells of its displacement, per axis and squared length: the mean square of the slope."""
        parts = zip((share, 1 - share), (self.common, self.stranger), self.pull, strict=True)
        return float(sum(w * np.mean((share * pull / (1 - share + share * r)[:, None]) ** 2) for w, r, pull in parts))


def _log_ratio(ratio: FloatArray, share: float) -> FloatArray:
    return np.asarray(np.log(1 - share + share * ratio))


def keep_within(share: float, targets: int) -> float:
    """Return a share that is neither nobody's nor everybody's, as alignments are fitted."""
    return float(min(max(share, 1 / max(targets, 1)), 1 - 0.5 / max(targets, 1)))


def foretell(
    aligner: Aligner, who: Ints, *, noise: float = 1.0, blur: float = 1.0, tilt: float | None = None
) -> Foretold:
    """Displace known records that may be the targets ``who``, and weigh them as targets are weighed.

    Variances are ``noise`` times that of the mask, and ``blur`` times it in the likelihood. The records are drawn as
    the people of the known file live, or with ``tilt`` by the power of the area around each.
    """
    model, rng, known_map = aligner.model, np.random.default_rng(SEED), aligner.model.known_map
    tilt = choose_tilt(aligner) if tilt is None else tilt
    targets = who[rng.permutation(len(who))[:MOST]]
    classes = model.target_class[targets]
    own = _draw_counterparts(model, classes, model.rarity**tilt, rng)
    extra = aligner.target_map.variance[targets]
    away = rng.normal(size=(len(own), 2)) * np.sqrt(noise * (model.variances[own] + extra[:, None]))
    places = known_map.positions[own] + away[:, :1] * known_map.east[own] + away[:, 1:] * known_map.north[own]
    radius = REACH * float(np.sqrt(blur * (model.variances.max() + extra.max(initial=0.0))))
    index, parts, spent = index_known(model, radius), [], 0
    for first in range(0, len(own), FEWEST):
        at = slice(first, first + FEWEST)
        near = find_near(index, places[at], classes[at], model.related, radius)
        parts.append(_weigh_near(model, near, places[at], own[at], (blur, extra[at])))
        spent += len(near[0])
        if spent > PAIRS:
            break
    common, stranger, pull, lonely = (np.concatenate([part[which] for part in parts]) for which in range(4))
    return Foretold(common, stranger, (pull, lonely))


def _weigh_near(
    model: LikelihoodModel,
    near: tuple[Ints, Ints, Ints],
    places: FloatArray,
    own: Ints,
    widened: tuple[float, FloatArray],
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the likelihood ratio of each place with and without its own record, and the slopes of both."""
    at, known, relation = near
    offset, many = places[at] - model.known_map.positions[known], len(places)
    sides = [(offset * side[known]).sum(axis=1) for side in (model.known_map.east, model.known_map.north)]
    variance = widened[0] * (model.variances[known] + widened[1][at, None])
    square = sides[0] ** 2 / variance[:, 0] + sides[1] ** 2 / variance[:, 1]
    likely = model.rarity[known] * np.exp(model.related.gain[relation] - square / 2)
    likely /= 2 * np.pi * np.sqrt(variance.prod(axis=1))
    others = np.where(known == own[at], 0.0, likely)
    sums: list[FloatArray] = [np.bincount(at, part, many).astype(float) for part in (likely, others)]
    pulls: list[FloatArray] = [
        np.stack([np.bincount(at, part * sides[axis] / variance[:, axis], many) for axis in (0, 1)], axis=1)
        for part in (likely, others)
    ]
    return sums[0], sums[1], pulls[0], pulls[1]


def _draw_counterparts(model: LikelihoodModel, classes: Ints, weight: FloatArray, rng: np.random.Generator) -> Ints:
    """Draw a known record for each target class: by ``weight``, and by how much its label speaks for the class."""
    members, related = group_by_class(model), model.related
    heap = np.concatenate(([0.0], np.cumsum(weight[members.member])))
    mass = np.diff(heap[members.start])
    chosen = np.empty(len(classes), np.int64)
    for a in np.unique(classes):
        theirs, rows = slice(related.start[a], related.start[a + 1]), np.flatnonzero(classes == a)
        odds = mass[related.known[theirs]] * np.exp(related.gain[theirs] - related.gain[theirs].max())
        chosen[rows] = related.known[theirs][rng.choice(len(odds), len(rows), p=odds / odds.sum())]
    first, last = members.start[chosen], members.start[chosen + 1] - 1
    at = np.searchsorted(heap, heap[first] + rng.random(len(classes)) * mass[chosen], side="right") - 1
    return np.asarray(members.member[np.clip(at, first, last)])


def choose_tilt(aligner: Aligner) -> float:
    """Return how to draw records that lie as sparsely as the targets do: 0 like those of the known file.

    A map narrower than the known file is one of a region, which may be an empty one: it is taken for that.
    """
    model, rng, known_map = aligner.model, np.random.default_rng(SEED), aligner.model.known_map
    places = aligner.target_map.positions[aligner.who]
    if min(len(places), len(model.rarity) // 2) <= NEIGHBOURS or not is_comparable(known_map, places):
        return TILTS[-1]
    many = min(len(places), len(model.rarity) // 2, MOST)  # drawn once each, so that none is its own neighbour
    sparse = _measure_gaps(places[rng.permutation(len(places))[:many]])
    for tilt in TILTS[:-1]:
        odds = model.rarity**tilt
        own = rng.choice(len(odds), many, replace=False, p=odds / odds.sum())
        away = rng.normal(size=(many, 2)) * np.sqrt(model.variances[own])
        drawn = known_map.positions[own] + away[:, :1] * known_map.east[own] + away[:, 1:] * known_map.north[own]
        if _measure_gaps(drawn) >= sparse - SPARSE:
            return tilt
    return TILTS[-1]


def _measure_gaps(places: FloatArray) -> float:
    """Return the mean log of the distance to a near neighbour."""
    gaps = cKDTree(places).query(places, k=[NEIGHBOURS + 1])[0]
    return float(np.log(np.maximum(gaps, 1e-300)).mean())


def is_comparable(known_map: KnownMap, positions: FloatArray) -> bool:
    """Return True if the target's map is about as wide as the known file, so that densities can have placed it."""
    return bool(positions.var(axis=0).sum() > known_map.positions.var(axis=0).sum() / 4)


def expect_evidence(aligner: Aligner, foretold: Foretold, share: float, before: float, luck: float) -> float:
    """Return the most evidence that the true alignment would have, with some ``luck``.

    ``before`` is the log of the prior density of the likeliest motion.
    """
    targets, places = len(aligner.who), aligner.target_map.positions[aligner.who]
    if aligner.model.known_map.flat:
        arms = ((places - places.mean(axis=0)) ** 2).sum()
        inertia: FloatArray = np.diag([arms, targets, targets])
    else:
        inertia = np.eye(3) * (places**2).sum() - places.T @ places
    curvature = foretold.measure_information(share) * inertia + np.diag(aligner.prior_curvature())
    return foretold.expect_fitted(targets, share, luck) + aligner.price_motion(before, curvature)
