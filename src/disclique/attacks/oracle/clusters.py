"""Released clusters on a map: the records of a cluster have one place together, which is one draw of the mask.

Whoever sees a release sees which records share a place. So groups of records are weighed against the clusters in which
known people live, one-to-one: by the law of the one place, once, and by the labels of all members together. Within a
group the place tells nobody apart, labels alone do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align import AttackInputs
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer
from disclique.attacks.oracle.places import MATCHING, KeptPairs, Matching, Weighing
from disclique.attacks.population import Population
from disclique.attacks.weigh.law import LawModel
from disclique.engine.kernels.members import match_members
from disclique.engine.kernels.oracle import Kept
from disclique.errors import InputError
from disclique.masks.surveys import Located, SurveyLaw
from disclique.model import Candidates
from disclique.spaces import Points
from disclique.spaces.rebuild import find_different
from disclique.values import FloatArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Grouping:
    """How groups are weighed."""

    at_once: int = 2_000_000  # pairs of members
    rounds: int = 200
    settled: float = 1e-6
    faint: float = 1e-7  # chance of a pair of groups whose members are not looked at
    first: float = 0.9  # of the known people of a cluster that are first taken to be released, at the most
    most: float = 0.98  # of either side: a few of the people who live there are never released, or not known
    guesses: int = 5  # at how many of them are
    same: float = 0.01
    told: float = 60.0  # log odds of a pair of groups with a pair of members whom an insider knows


GROUPING = Grouping()


@dataclass(frozen=True, eq=False)
class Gathered:
    """Rows that belong together: ``first`` of each group, and all members group by group from ``start`` on."""

    which: Ints  # the group of each row
    first: Ints
    member: Ints
    start: Ints

    @classmethod
    def by(cls, keys: NDArray[np.generic]) -> Gathered:
        """Gather the rows with equal keys."""
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        which = which.ravel()
        member = np.argsort(which, kind="stable")
        return cls(which, first, member, np.searchsorted(which[member], np.arange(len(first) + 1)))

    @property
    def sizes(self) -> Ints:
        """How many members each group has."""
        return np.diff(self.start)


def weigh_clusters(
    masked: Sequence[Points], people: Population, holder: Holder, how: Matching = MATCHING, by: Grouping = GROUPING
) -> Answer:
    """Return the chance of every person sought, by scenario, from masked points that clusters share."""
    law = holder.knowledge.law
    assert isinstance(law, SurveyLaw)
    if holder.knowledge.noise is None:
        raise InputError("ceiling_needs_spread")
    places = [people.known_map.place(one) for one in masked]
    inputs = AttackInputs(people, holder.candidates, holder.knowledge)
    copies = [masked[which] for which in find_different(places, inputs.least_difference)]
    groups = Gathered.by(np.column_stack([one.coordinates for one in copies]))
    located = _locate_people(law, people.points, holder)
    asked = _Clusters(inputs, holder, groups, Gathered.by(located.cluster), how, by)
    return asked.weigh([one.select(groups.first) for one in copies], law, located)


def _locate_people(law: SurveyLaw, points: Points, holder: Holder) -> Located:
    """Return the clusters of known people; of those who are released it is theirs, even if their place is not exact."""
    found, own = law.locate(points), holder.exact.distances.places()
    if own is None or not len(holder.truth):
        return found
    target, known = holder.truth.pairs.T
    row = np.arange(points.size)
    row[known] = points.size + np.arange(len(known))
    return found.join(law.survey.locate(own.select(target))).select(row)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a group and a cluster, ordered by group: log likelihood ratios of their places, odds of members."""

    group: Ints
    cluster: Ints
    ratio: FloatArray
    odds: FloatArray
    chances: FloatArray

    def select(self, rows: Ints) -> _Pairs:
        """Return some of the pairs."""
        ratio, odds, chances = (one[rows] for one in (self.ratio, self.odds, self.chances))
        return _Pairs(self.group[rows], self.cluster[rows], ratio, odds, chances)


@dataclass(frozen=True, eq=False)
class _Clusters:
    """Groups of records, clusters of known people, and what is known of both."""

    inputs: AttackInputs
    holder: Holder
    groups: Gathered
    clusters: Gathered
    how: Matching
    by: Grouping

    def weigh(self, copies: Sequence[Points], law: SurveyLaw, located: Located) -> Answer:
        """Weigh groups against clusters, and their members within each pair."""
        knowledge, first = self.inputs.knowledge, self.clusters.first
        unknown = 1 - min(self.inputs.share, 1.0)
        known_share: FloatArray = 1 - np.power(unknown, self.groups.sizes.astype(float))  # of groups: somebody is known
        centres = replace(self.inputs.population.points, coordinates=located.centre[first])
        common = None if knowledge.common is None else float(known_share.mean())
        told = replace(knowledge, law=replace(law, located=located.select(first)), common=common)
        sizes = len(self.groups.first), len(first)
        none = [np.zeros(size, np.int32) for size in sizes]
        anybody = Candidates(none[0], none[1], np.zeros((1, 2), np.int32), np.zeros(1))
        inputs = AttackInputs(Population.of(centres), anybody, told)
        positions = [inputs.known_map.place(one) for one in copies]
        inputs = inputs.take_mean(positions)
        group, cluster, ratio = self._list_pairs(inputs, positions)
        ratio = ratio + self.by.told * self._find_told(group, cluster)
        weighing = Weighing(self.inputs, self.holder, self.how)
        reduced = Weighing(inputs, replace(self.holder, candidates=anybody, knowledge=told, seeds=()), self.how)
        pairs = _Pairs(group, cluster, ratio, np.zeros(0), np.zeros(0))
        return self._name(self._weigh_groups(pairs, known_share, (reduced, weighing.candidates)), weighing)

    def _weigh_groups(self, pairs: _Pairs, known_share: FloatArray, given: tuple[Weighing, Candidates]) -> _Pairs:
        """Return pairs of groups with their chances, by places and by the labels of all members.

        How many of those who live in a released cluster are released themselves is learned from how many are in all.
        """
        reduced, candidates = given
        a, b = self._count(pairs)
        # before anything is seen: as many as are known of a group of which somebody is
        met = np.minimum(a * self.inputs.share / np.maximum(known_share[pairs.group], 1e-300), self.by.first * b)
        released, part = self.inputs.share * len(self.groups.which), 0.0
        for _ in range(self.by.guesses):
            odds = _find_odds(np.minimum(met, self.by.most * np.minimum(a, b)), a, b)
            weight = pairs.ratio + self._weigh_labels(pairs.group, pairs.cluster, odds, candidates)
            start = np.searchsorted(pairs.group, np.arange(len(self.groups.first) + 1)).astype(np.int64)
            kept = Kept(start, pairs.cluster.astype(np.int32), np.exp(np.clip(weight, -180.0, 180.0)))
            chances = reduced.weigh_kept(kept)
            there = float((chances * np.minimum(a, b)).sum())
            before, part = part, min(released / max(there, 1e-300), self.by.most)
            pairs = replace(pairs, odds=odds, chances=chances).select(np.flatnonzero(chances > self.by.faint))
            if self.inputs.knowledge.common is None or abs(part - before) < self.by.same:
                break
            a, b = self._count(pairs)
            met = part * b
        return pairs

    def _count(self, pairs: _Pairs) -> tuple[FloatArray, FloatArray]:
        """Return how many members the groups and the clusters of pairs have."""
        return self.groups.sizes[pairs.group].astype(float), self.clusters.sizes[pairs.cluster].astype(float)

    def _list_pairs(self, inputs: AttackInputs, positions: Sequence[FloatArray]) -> tuple[Ints, Ints, FloatArray]:
        """Return the pairs of a group and a cluster that the law allows, ordered by group; of very many the likely."""
        model = inputs.build_model(inputs.noise, inputs.finest)
        laws = inputs.build_laws(model)
        assert laws is not None
        variance, everybody = np.full(len(positions[0]), inputs.finest**2), np.arange(len(positions[0]))
        laws = laws.of_series(positions)
        chunks = max(int(np.ceil(laws.expect_links(len(everybody), inputs.finest**2, 0.0) / self.how.kept)), 1)
        most = self.how.kept // chunks
        parts = [_find_likely(laws, positions, variance, who, most) for who in np.array_split(everybody, chunks)]
        group, cluster, ratio = (np.concatenate([part[side] for part in parts]) for side in range(3))
        return group.astype(np.int64), cluster.astype(np.int64), ratio

    def _weigh_labels(self, group: Ints, cluster: Ints, odds: FloatArray, candidates: Candidates) -> FloatArray:
        """Return how much likelier the labels of a group are if it is the cluster than if its people are strangers."""
        found = np.zeros(len(group))
        for part in self._cut(group, cluster):
            start, a, b, target, known = self._spell(group[part], cluster[part])
            weight = np.repeat(odds[part], a * b) * np.exp(np.minimum(candidates.log_odds(target, known), 180.0))
            found[part] = match_members(weight, start, a, b, self.by.rounds, self.by.settled)
        return found - self._sum_plain(odds, self.groups.sizes[group], self.clusters.sizes[cluster])

    def _sum_plain(self, odds: FloatArray, a: Ints, b: Ints) -> FloatArray:
        """Return what ``match_members`` does where all pairs of members are alike, as they are without labels."""
        up, down = np.ones(len(odds)), np.ones(len(odds))
        for _ in range(self.by.rounds):
            before, up = up, 1 / (1 + (b - 1) * odds * down)
            down = 1 / (1 + (a - 1) * odds * up)
            if np.abs(up / before - 1).max(initial=0.0) < self.by.settled:
                break
        both = a * np.log1p(b * odds * down) + b * np.log1p(a * odds * up)
        return np.asarray(both - a * b * np.log1p(odds * up * down))

    def _find_told(self, group: Ints, cluster: Ints) -> NDArray[np.bool_]:
        """Return which pairs hold one whom an insider knows beforehand."""
        told = np.array(self.holder.seeds, dtype=np.int64).reshape(-1, 2)
        many = len(self.clusters.first)
        keys = self.groups.which[told[:, 0]] * many + self.clusters.which[told[:, 1]]
        return np.isin(group * many + cluster, keys)

    def _name(self, pairs: _Pairs, weighing: Weighing) -> Answer:
        """Return the chance of everybody to be named, by that of their group and by labels within it."""
        group, cluster, chances, odds = pairs.group, pairs.cluster, pairs.chances, pairs.odds
        candidates, rows, columns, values = weighing.candidates, [], [], []
        for part in self._cut(group, cluster):
            start, a, b, target, known = self._spell(group[part], cluster[part])
            weight = np.repeat(odds[part], a * b) * np.exp(np.minimum(candidates.log_odds(target, known), 180.0))
            match_members(weight, start, a, b, self.by.rounds, self.by.settled)
            value = weight * np.repeat(chances[part], a * b)
            some = value > 0
            rows.append(target[some])
            columns.append(known[some])
            values.append(value[some])
        n, m = candidates.sizes
        none = np.zeros(0, np.int64)
        target, known = np.concatenate([none, *rows]), np.concatenate([none, *columns])
        order = np.argsort(target, kind="stable")
        value = np.concatenate([np.zeros(0), *values])[order]
        start = np.searchsorted(target[order], np.arange(n + 1)).astype(np.int64)
        kept = Kept(start, known[order].astype(np.int32), value)
        return weighing.name(KeptPairs(kept, value), np.arange(n), np.arange(m))

    def _cut(self, group: Ints, cluster: Ints) -> Iterator[slice]:
        """Cut pairs of groups into parts with so many pairs of members."""
        many = np.cumsum(self.groups.sizes[group] * self.clusters.sizes[cluster])
        first = 0
        while first < len(group):
            before = many[first - 1] if first else 0
            last = max(int(np.searchsorted(many, before + self.by.at_once, side="right")), first + 1)
            yield slice(first, last)
            first = last

    def _spell(self, group: Ints, cluster: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Return where the pairs of members of each pair of groups begin, how many rows and columns, and all pairs."""
        a, b = self.groups.sizes[group], self.clusters.sizes[cluster]
        many = a * b
        start = np.cumsum(many) - many
        pair = np.repeat(np.arange(len(group)), many)
        at = np.arange(int(many.sum())) - start[pair]
        target = self.groups.member[self.groups.start[group][pair] + at // b[pair]]
        known = self.clusters.member[self.clusters.start[cluster][pair] + at % b[pair]]
        return start, a, b, target, known


def _find_odds(met: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the odds of a pair of members by which so many of ``a`` and ``b`` are expected to be ``met``."""
    return np.asarray(met / ((a - met) * (b - met)))


def _find_likely(
    laws: LawModel, positions: Sequence[FloatArray], variance: FloatArray, who: Ints, most: int
) -> tuple[Ints, Ints, FloatArray]:
    """Return the pairs of some targets; of more than ``most`` the likelier ones, so that they seem surer, not less."""
    found = laws.find_pairs(positions, variance, who)
    target, known, ratio = found.target, found.known, found.ratio
    if len(ratio) > max(most, 1):
        top = np.full(len(variance), -np.inf)
        np.maximum.at(top, target, ratio)
        short = top[target] - ratio
        kept = short <= np.partition(short, most)[most]
        target, known, ratio = target[kept], known[kept], ratio[kept]
    return target, known, ratio
