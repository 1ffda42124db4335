"""The likelihood of registration under the exact law of the mask, where that is not Gaussian.

Every law is told as *components*: places around which the masked point of a known record may lie, each with its
probability and a radial density, or exactly. The law is blurred by how far the map and its alignment may be off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from disclique.attacks.align.likelihood import CandidatePairs, LikelihoodModel
from disclique.attacks.thresholds import THRESHOLDS, Weighing
from disclique.engine.kernels.neighbours import RelatedClasses, build_index, find_near
from disclique.masks.laws import FINE, ExchangeLaw, GaussianLaw, HalfWay, HalfWayLaw, PlaceLaw, RadialLaw, ReplayLaw
from disclique.masks.surveys import SurveyLaw
from disclique.spaces import Points
from disclique.values import FloatArray

Ints = NDArray[np.int64]
UNLABELLED = RelatedClasses(np.array([0, 1], dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(1))


@dataclass(frozen=True, eq=False)
class Component:
    """One place for each of some known records, and the density of the masked point around it.

    ``law`` is in units of ``scale``; without one the point lies at the place itself. ``variance`` is that of the error
    of the place. ``area`` is that of the places that a rule gathers there: a stranger is gathered as well. A point
    does not leave the district of its place, whose number is ``region``.
    """

    centre: FloatArray  # (m, 3)
    owner: Ints  # (m,), known rows
    weight: FloatArray  # (m,), log of the probability
    law: RadialLaw | None = None
    scale: FloatArray | None = None  # (m,)
    variance: float = 0.0
    area: FloatArray | None = None  # (m,)
    region: Ints | None = None  # (m,)

    def find_reach(self, variance: float, tails_sd: float) -> float:
        """Return how far from its place a point may lie that is blurred by a further variance."""
        most = float(self.scale.max(initial=0.0)) if self.scale is not None else 1.0
        own = self.law.reach * most if self.law is not None else 0.0
        return own + tails_sd * float(np.sqrt(variance + self.variance))

    def log_density(self, r: FloatArray, variance: FloatArray, rows: Ints) -> tuple[FloatArray, FloatArray]:
        """Return the log density at distances ``r`` from the places ``rows``, and its slope."""
        total = variance + self.variance
        if self.law is None:
            room = 2 * np.pi * total
            if self.area is not None:  # what a rule gathers at one place, it gathers of strangers too
                room = np.maximum(room, self.area[rows])
            return -np.log(room) - r**2 / (2 * total), -r / total
        if self.scale is None:
            return _look_up(self.law, r, total)
        scale = self.scale[rows]
        found, slope = _look_up(self.law, r / scale, total / scale**2)
        return found - 2 * np.log(scale), slope / scale


def _look_up(law: RadialLaw, r: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log density and its slope of a law blurred by many variances, by few tables."""
    if len(variance) == 0:
        return np.zeros(0), np.zeros(0)
    level = np.round(2 * np.log2(np.maximum(variance, law.grain**2))).astype(np.int64)
    if level.min() == level.max():
        return law.blurred(float(variance.mean())).look_up(r)
    found, slope = np.empty(len(r)), np.empty(len(r))
    for one in np.unique(level):
        here = level == one
        found[here], slope[here] = law.blurred(float(np.exp2(one / 2))).look_up(r[here])
    return found, slope


@dataclass(frozen=True, eq=False)
class LawModel:
    """A model of likelihood with the exact law; ``labelled`` is False where labels do not say who lies where."""

    model: LikelihoodModel
    law: PlaceLaw
    components: tuple[Component, ...]
    labelled: bool = True
    apart: FloatArray | None = None  # (targets,), log density of several releases' places of one stranger, given one

    @property
    def gathers(self) -> bool:
        """True if strangers lie at the same few places as well, so that lying there is no evidence by itself."""
        return any(one.area is not None for one in self.components)

    @property
    def grain(self) -> float:
        """The finest blur worth telling; 0 where the law has exact places."""
        grains = [
            one.law.grain * (1.0 if one.scale is None else float(one.scale.min(initial=np.inf)))
            if one.law is not None
            else 0.0
            for one in self.components
        ]
        return min(grains, default=0.0)

    def measure(self, offset: FloatArray) -> FloatArray:
        """Return the distances that offsets in space stand for, along the Earth."""
        chord = np.sqrt((offset**2).sum(axis=1))
        radius = self.model.known_map.radius
        return chord if radius == 0 else np.asarray(2 * radius * np.arcsin(np.minimum(chord / (2 * radius), 1.0)))

    def expect_links(self, targets: int, variance: float, slack: float) -> float:
        """Return how many links so many targets have at the most, about, if they live as close as the known records."""
        shares = np.bincount(self.model.known_class[self.model.known_class >= 0]) / max(len(self.model.known_class), 1)
        alike = float((shares**2).sum()) if self.labelled else 1.0
        total, how = 0.0, self.model.thresholds.weigh
        for one in self.components:
            inside = np.pi * (one.find_reach(variance, how.tails_sd) + slack) ** 2 / max(self.model.area, 1e-300)
            total += targets * len(one.owner) * alike * min(how.crowding * inside, 1.0)
        return total

    def collect(
        self, component: Component, positions: FloatArray, who: Ints, variance: FloatArray, slack: float
    ) -> tuple[Ints, Ints, FloatArray]:
        """Return the links of a component with targets: places in ``who``, rows of it, and all but the law."""
        model = self.model
        reach = component.find_reach(float(variance.max(initial=0.0)), model.thresholds.weigh.tails_sd)
        radius = max(reach + slack, 1e-300)
        if self.labelled:
            classes, theirs, related = model.target_class[who], model.known_class[component.owner], model.related
        else:
            classes, theirs = np.zeros(len(who), dtype=np.int64), np.zeros(len(component.owner), dtype=np.int64)
            related = UNLABELLED
        index = build_index(component.centre, theirs, model.axes, 2 * radius)
        at, row, relation = find_near(index, positions, classes, related, radius)
        base = related.gain[relation] + np.log(model.rarity[component.owner[row]]) + component.weight[row]
        return at, row, base if self.apart is None else base - self.apart[who[at]]

    def of_series(self, copies: Sequence[FloatArray]) -> LawModel:
        """Return the model of several releases of the same targets.

        Their places lie together for a stranger as well, as the law tells: what counts is the density of the true place
        given all of them.
        """
        law = self.law.either if isinstance(self.law, SurveyLaw) else self.law
        if len(copies) < 2 or not isinstance(law, RadialLaw):
            return self
        return replace(
            self, apart=measure_scatter(law, copies, self.model.known_map.radius, self.model.thresholds.weigh)
        )

    def find_pairs(self, copies: Sequence[FloatArray], variance: FloatArray, who: Ints) -> CandidatePairs:
        """Find candidate pairs of the targets ``who``, whose positions in every release are in ``copies``."""
        targets, owners, ratios = [], [], []
        for component in self.components:
            at, row, base = self.collect(component, copies[0][who], who, variance[who], 0.0)
            total = base
            for positions in copies:
                r = self.measure(positions[who[at]] - component.centre[row])
                total = total + component.log_density(r, variance[who[at]], row)[0]
            kept = np.isfinite(total)
            for positions in copies:
                kept &= self._stay(component, positions, variance, (who[at], row))
            targets.append(who[at[kept]])
            owners.append(component.owner[row[kept]])
            ratios.append(total[kept])
        return gather_pairs(np.concatenate(targets), np.concatenate(owners), np.concatenate(ratios), self.model)

    def _stay(
        self, component: Component, positions: FloatArray, variance: FloatArray, pairs: tuple[Ints, Ints]
    ) -> NDArray[np.bool_]:
        """Return which pairs of a target and a place of the component are in one district, or may be."""
        target, row = pairs
        areas = self.law.survey.areas if isinstance(self.law, SurveyLaw) else None
        if component.region is None or areas is None:
            return np.ones(len(row), dtype=bool)
        region = component.region[row]
        _, once, which = np.unique(target * (len(areas) + 1) + region, return_index=True, return_inverse=True)
        who = target[once]
        slack = self.model.thresholds.weigh.tails_sd * np.sqrt(variance[who])
        places = self.model.known_map.unplace(positions[who])
        return np.asarray(areas.hold(places, region[once], slack)[which.ravel()])


def gather_pairs(target: Ints, known: Ints, ratio: FloatArray, model: LikelihoodModel) -> CandidatePairs:
    """Return each pair once, with the sum of its likelihood ratios, ordered by target."""
    many = len(model.known_class)
    key, where = np.unique(target * many + known, return_inverse=True)
    if len(key) == len(target):
        order = np.argsort(where, kind="stable")
        found = ratio[order]
    else:
        top = np.full(len(key), -np.inf)
        np.maximum.at(top, where, ratio)
        found = top + np.log(np.bincount(where, np.exp(ratio - top[where]), len(key)))
    nothing = np.zeros((len(key), 2))
    return CandidatePairs(key // many, key % many, found, nothing, nothing)


def measure_scatter(
    law: RadialLaw, copies: Sequence[FloatArray], radius: float, how: Weighing = THRESHOLDS.weigh
) -> FloatArray:
    """Return the log of the integral, over true places, of the product of the law in several releases.

    The sum over a grid of places around the mean of the releases, on a flat map of their surroundings, under a law
    that is blurred by half the width of the grid.
    """
    many, deviation = len(copies), law.deviation
    half = how.grid_sd * deviation / np.sqrt(many)
    step = max(min(law.grain / FINE / 2, deviation / np.sqrt(many) / 3), 2 * half / how.grid_nodes)
    line = np.arange(-half, half + step, step)
    east, north = (part.ravel() for part in np.meshgrid(line, line))
    table = law.blurred((step / 2) ** 2)
    offsets = _find_offsets(copies, radius)  # (copies, targets, 2)
    found = np.empty(len(copies[0]))
    chunk = max(2_000_000 // len(east), 1)
    for first in range(0, len(found), chunk):
        part = offsets[:, first : first + chunk]
        target, node = (rows.ravel() for rows in np.indices((part.shape[1], len(east))))
        total = np.zeros(len(target))
        for places in part:  # a law with an end leaves few places for the next release
            r = np.hypot(east[node] - places[target, 0], north[node] - places[target, 1])
            total = total + table.look_up(r)[0]
            alive = total > how.dark_log
            target, node, total = target[alive], node[alive], total[alive]
        top = np.full(part.shape[1], -np.inf)
        np.maximum.at(top, target, total)
        share = np.bincount(target, np.exp(total - top[target]), part.shape[1])
        with np.errstate(divide="ignore"):
            found[first : first + chunk] = np.where(share > 0, top + np.log(share), np.nan)
    typical = np.nanmedian(found) if np.isfinite(found).any() else 0.0
    return np.asarray(np.where(np.isnan(found), typical, found) + 2 * np.log(step))


def _find_offsets(copies: Sequence[FloatArray], radius: float) -> FloatArray:
    """Return where each release puts the targets on a flat map around the mean of all, shape (copies, targets, 2)."""
    places = np.asarray(copies)
    middle = places.mean(axis=0)
    if radius == 0:
        return np.asarray((places - middle)[:, :, :2])
    up = middle / np.linalg.norm(middle, axis=1, keepdims=True)
    pole = np.where(np.abs(up[:, 2:]) < 0.9, np.eye(3)[2], np.eye(3)[0])
    east = np.cross(pole, up)
    east /= np.linalg.norm(east, axis=1, keepdims=True)
    north = np.cross(up, east)
    return np.stack(((places * east).sum(axis=2), (places * north).sum(axis=2)), axis=2)


def is_gaussian(law: PlaceLaw | None) -> bool:
    """Return True where the second moment tells the whole law, or nothing else is known."""
    return law is None or isinstance(law, GaussianLaw)


def build_law_model(
    law: PlaceLaw, model: LikelihoodModel, points: Points, *, error: float, targets: int, common: float
) -> LawModel:
    """Build the model of the known ``points`` under a law.

    ``error`` is the standard deviation of the known coordinates, ``targets`` how many records are released, of which a
    share of ``common`` is known.
    """
    places, everybody = model.known_map.positions, np.arange(points.size)
    if isinstance(law, RadialLaw):
        return LawModel(model, law, (Component(places, everybody, np.zeros(points.size), law, variance=error**2),))
    if isinstance(law, SurveyLaw):
        return LawModel(model, law, _walk_from_centres(law, model, points, error))
    if isinstance(law, ReplayLaw):
        owner, images, weight = law.images(points, error)
        deviations = np.sqrt(model.known_map.variances(law.spread, 0.0))
        area = 12 * deviations.prod(axis=1)[owner]
        return LawModel(model, law, (Component(model.known_map.place(images), owner, np.log(weight), area=area),))
    if isinstance(law, HalfWayLaw):
        return LawModel(model, law, _halve_ways(model, error, targets, common))
    assert isinstance(law, ExchangeLaw), f"no likelihood for {type(law).__name__}"
    alone = Component(places, everybody, np.zeros(points.size), variance=error**2)
    return LawModel(model, law, (alone,), labelled=False)


def _walk_from_centres(law: SurveyLaw, model: LikelihoodModel, points: Points, error: float) -> tuple[Component, ...]:
    """Return the walks of the clusters in which known people live, urban and rural ones."""
    metric = str(points.metric)
    owner, located, left = law.spread(law.locate(points), error, metric)
    places = model.known_map.place(Points(located.centre, metric))
    weight = -np.log(law.find_shares(located, metric) * (len(owner) / max(points.size, 1)))
    return tuple(
        Component(places[rows], owner[rows], weight[rows], walk, variance=left**2, region=located.district[rows])
        for walk, rows in law.by_kind(located)
    )


def _halve_ways(model: LikelihoodModel, error: float, targets: int, common: float) -> tuple[Component, ...]:
    """Return where points lie that were moved half way to the nearest other place of the release.

    That place is one of the nearest known ones if this person is released and no stranger lives nearer.
    """
    positions = model.known_map.positions
    places, which = np.unique(positions, axis=0, return_inverse=True)
    which, size = which.ravel(), len(places)
    everybody, nothing = np.arange(len(positions)), np.zeros(len(positions))
    if size < 3:
        whole = np.full(len(positions), np.sqrt(max(model.area, 1e-300)))
        return (Component(positions, everybody, nothing, RadialLaw(((1.0, HalfWay()),)), whole, error**2),)
    how = model.thresholds.weigh
    counted = min(how.counted_places, size - 1)
    near = min(max(counted, how.partners) + 1, size)
    distance, neighbour = cKDTree(places).query(places, k=near)
    per_known = np.pi * distance[:, counted] ** 2 / counted  # area
    share = min(common * targets / len(positions), 1.0)  # of the known records that are released
    strangers = (1 - common) * targets / len(positions) / per_known
    components, left, skipped = [], np.ones(size), np.ones(size)
    for step in range(1, min(how.partners + 1, near)):
        weight = share * skipped * np.exp(-strangers * np.pi * distance[:, step] ** 2)
        skipped, left = skipped * (1 - share), left - weight
        middle = (places + places[neighbour[:, step]]) / 2
        if not model.known_map.flat:
            middle *= model.known_map.radius / np.linalg.norm(middle, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            components.append(Component(middle[which], everybody, np.log(weight)[which], variance=error**2 / 2))
    scale = np.sqrt(per_known * len(positions) / max(targets, 1))[which]
    rest = np.log(np.maximum(left, 1e-6))[which]
    law = RadialLaw(((1.0, HalfWay(counted)),))
    return (*components, Component(positions, everybody, rest, law, scale, error**2))
