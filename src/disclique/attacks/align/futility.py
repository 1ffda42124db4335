"""What the true alignment would show, foretold before it is searched: whether a search can succeed, or has succeeded.

Known records, displaced as by the mask and given the labels of targets, stand for common targets; without themselves
they stand for strangers. Their likelihood ratios say how well the target's map would fit where it truly lies, how well
it fits where it does not, and so whether the truth would stand out among all the motions that are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks.align.likelihood import Aligner, LikelihoodModel, group_by_class, index_known
from disclique.engine.kernels.neighbours import find_near
from disclique.messages import Message
from disclique.spaces.positions import KnownMap, Motion, follow_step
from disclique.values import FloatArray

if TYPE_CHECKING:
    from disclique.attacks.align import AttackInputs
    from disclique.attacks.align.search import Alignments, RarePairSearch

Ints = NDArray[np.int64]


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
    model, known_map, how = aligner.model, aligner.model.known_map, aligner.how
    rng = np.random.default_rng(0)  # of the records that are displaced; not of anything that is published
    tilt = choose_tilt(aligner) if tilt is None else tilt
    targets = who[rng.permutation(len(who))[: how.most_displaced]]
    classes = model.target_class[targets]
    own = _draw_counterparts(model, classes, model.rarity**tilt, rng)
    extra = aligner.target_map.variance[targets]
    away = rng.normal(size=(len(own), 2)) * np.sqrt(noise * (model.variances[own] + extra[:, None]))
    places = known_map.displace(own, away)
    radius = how.displaced_reach_sd * float(np.sqrt(blur * (model.variances.max() + extra.max(initial=0.0))))
    index, parts, spent = index_known(model, radius), [], 0
    for first in range(0, len(own), how.displaced_at_once):
        at = slice(first, first + how.displaced_at_once)
        near = find_near(index, places[at], classes[at], model.related, radius)
        parts.append(_weigh_near(model, near, places[at], own[at], (blur, extra[at])))
        spent += len(near[0])
        if spent > how.displaced_pairs:
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
    model, known_map, how = aligner.model, aligner.model.known_map, aligner.how
    rng, neighbours = np.random.default_rng(0), model.thresholds.weigh.neighbours
    places = aligner.target_map.positions[aligner.who]
    if min(len(places), len(model.rarity) // 2) <= neighbours or not is_comparable(known_map, places):
        return how.tilts[-1]
    many = min(
        len(places), len(model.rarity) // 2, how.most_displaced
    )  # drawn once each, so that none is its own neighbour
    sparse = _measure_gaps(places[rng.permutation(len(places))[:many]], neighbours)
    for tilt in how.tilts[:-1]:
        odds = model.rarity**tilt
        own = rng.choice(len(odds), many, replace=False, p=odds / odds.sum())
        away = rng.normal(size=(many, 2)) * np.sqrt(model.variances[own])
        if _measure_gaps(known_map.displace(own, away), neighbours) >= sparse - how.sparse_log:
            return tilt
    return how.tilts[-1]


def _measure_gaps(places: FloatArray, neighbours: int) -> float:
    """Return the mean log of the distance to a near neighbour."""
    gaps = cKDTree(places).query(places, k=[neighbours + 1])[0]
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


def find_futility(found: Alignments, rare: RarePairSearch, inputs: AttackInputs) -> Message | None:
    """Return why a search for more alignments could not change the claims; None where it could."""
    aligner, size, how = found.aligner, len(found.aligner.who), found.aligner.how
    told, noise = inputs.knowledge.common, 0.0 if inputs.knowledge.noise is None else 1.0
    share = keep_within(how.most_share if told is None else told, size)
    tilt = choose_tilt(aligner)
    foretold = foretell(aligner, aligner.who, noise=noise, tilt=tilt)
    if not (inputs.bold or inputs.exact):
        positions = aligner.target_map.positions[aligner.who]
        before = [aligner.prior.log_density(motion(positions)) for motion in found.density_motions]
        most = expect_evidence(
            aligner, foretold, share, max(before, default=-np.log(aligner.prior.volume)), how.luck_sd
        )
        if most < how.sure_log_odds:
            return Message("truth_shows_little", most=most)
    if told is not None and noise and stands_out(found, share, foretold):
        return Message("fits_like_the_truth")
    if not rare.can_succeed(share, noise=noise, tilt=tilt):
        truth, chance = foretold.expect(size, share, share), foretold.expect_strangers(size, share)
        visible = truth.at_most(how.luck_sd) > chance.at_most(how.chance_sd)
        found.unsought = visible and not (found.density_motions and is_decided(found, found.density_motions[0]))
        return Message("rare_pairs_show_nothing")
    return None


def stands_out(found: Alignments, share: float, foretold: Foretold) -> bool:
    """Return True if an alignment fits well enough to be the true one, and far better than others do by chance.

    The others are those found elsewhere, and the best one turned around its middle: in a round city every
    turn lays people on people, and the best of some wrong ones may fit as well as the true one is expected to. Where
    densities do not decide, the best of millions often does, so that nothing stands out.
    """
    ranked = (found.ranked if found.assumed is None else found.assumed.ranked)[: found.aligner.how.density_motions]
    aligner, how, size = found.aligner, found.aligner.how, len(found.aligner.who)
    flat = aligner.model.known_map.flat

    def measure(motion: Motion) -> float:
        return float(aligner.evaluate(motion, 0.0, aligner.who, share)[0][0])

    fits = sorted(((measure(one.motion), at) for at, one in enumerate(ranked)), reverse=True)
    if not fits or (len(fits) > 1 and fits[1][0] > fits[0][0] - how.ahead_log):
        return False
    fit, best = fits[0][0], ranked[fits[0][1]].motion
    truth, chance = foretold.expect(size, share, share), foretold.expect_strangers(size, share)
    if fit < max(truth.at_least(how.bad_luck_sd), chance.at_most(how.chance_sd)) or not is_decided(found, best):
        return False
    pivot = best(aligner.target_map.positions[aligner.who]).mean(axis=0)
    up = np.array([1.0, 0.0, 0.0]) if flat else pivot / max(float(np.linalg.norm(pivot)), 1e-300)
    for angle in 2 * np.pi * np.arange(1, how.turns) / how.turns:
        turned = follow_step(best, angle * up, pivot, flat)
        turned, _, _ = aligner.climb(turned, share, 0.0, aligner.who, how.turn_steps, fixed=True)
        if measure(turned) > fit - how.ahead_log:
            return False
    return True


def measure_gap(here: FloatArray, there: FloatArray) -> float:
    """Return the root mean square of the distances between places."""
    return float(np.sqrt(((here - there) ** 2).sum(axis=1).mean()))


def is_decided(found: Alignments, best: Motion) -> bool:
    """Return True if densities leave no room for alignments elsewhere: all others fit them far worse.

    Chance prefers one of several by about the square root of the targets, as in a square without a centre.
    """
    density, aligner, how = found.aligner.prior.density, found.aligner, found.aligner.how
    if density is None or not found.density_motions:
        return False
    positions = aligner.target_map.positions[aligner.who]
    laid = [motion(positions) for motion in found.density_motions]
    fits = [density.log_likelihood(places) for places in laid]
    far = [measure_gap(places, laid[0]) > how.elsewhere_cells * density.cell for places in laid]
    other = max((fit for fit, is_far in zip(fits, far, strict=True) if is_far), default=min(fits))
    near = measure_gap(best(positions), laid[0]) <= how.elsewhere_cells * density.cell
    return near and other < fits[0] - how.decided_log * np.sqrt(len(positions))
