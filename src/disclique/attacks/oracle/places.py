"""Released points on a map, or records placed there: who is whom, by the law of the mask, labels and strangers.

Every record is weighed against all known people in reach (``engine.kernels.oracle``), as one of them or as a stranger,
one-to-one. Gaussian noise and laws that depend on the distance alone are looked up in a table while people are gone
through, so that no list of pairs is needed. The few pairs that other laws allow are listed before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align import AttackInputs
from disclique.attacks.align.likelihood import relate_classes
from disclique.attacks.beliefs import find_odds
from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.answer import Answer
from disclique.attacks.oracle.joint import (
    ListedPairs,
    find_strangers_by_label,
    gaussian_density,
    radial_density,
)
from disclique.attacks.oracle.values import Masses, list_own, tell
from disclique.attacks.population import Population
from disclique.attacks.weigh.background import Background
from disclique.attacks.weigh.law import is_gaussian, measure_scatter
from disclique.attacks.weigh.pairs import find_law_pairs
from disclique.engine.kernels.grid import Cubes, Grid, add_strangers, build_grid
from disclique.engine.kernels.neighbours import RelatedClasses
from disclique.engine.kernels.oracle import (
    Best,
    Kept,
    Law,
    Masked,
    Question,
    Side,
    count_row,
    find_best,
    find_best_kept,
    keep_pairs,
    pass_messages,
    run_round,
    start_sides,
)
from disclique.engine.kernels.values import sum_values
from disclique.errors import InputError
from disclique.geodesy import Spread
from disclique.masks.laws import RadialLaw
from disclique.measures.risk import EQUAL, SCENARIOS, find_chances
from disclique.model import Candidates
from disclique.spaces import Points, spaced
from disclique.spaces.positions import KnownMap, average_places, find_east_north
from disclique.spaces.rebuild import find_different
from disclique.values import FloatArray

Ints = NDArray[np.int64]
FEWEST = 0.2  # strangers, in either file: of few people less would make belief too sure, and more too unsure


@dataclass(frozen=True)
class Matching:
    """How much is spent on one question."""

    # pairs that are kept; at 20,000 people and 7 km of noise the tenth part of this work changes a chance by .002
    kept: int = 5_000_000  # pairs, of some 60 bytes
    sifted: int = 4  # times as many are looked through for those that are worth keeping
    faint: float = 1e-6  # chance of a pair, by a first guess, that is not told from others as faint
    settled: float = 1e-3  # largest relative change in a turn
    gone_through: float = 3e7  # pairs, in all turns
    turns: int = 20  # at the least
    guesses: int = 60  # at the share of common records, where nobody knows it
    same_share: float = 1e-4

    # pairs that are looked up again in every round; at 50 km of noise five rounds are within .001 of forty
    rounds: int = 40
    least_rounds: int = 4
    calm: float = 2e-3  # mean change of a logarithm in a round
    looked: float = 1e8  # pairs, in all rounds

    listed: int = 12_000_000  # pairs that numbers leave, at the most: of more these tell little

    cells_across: float = 3.0  # of the grid, in a reach
    cells: int = 4  # for each person, at the most
    steps: int = 4096  # of a table
    finer: int = 4  # steps of a table in one of the law's
    probed: int = 200  # records by which pairs are counted beforehand
    heavy: float = 1e8  # pairs from which on those whose labels hardly fit are sought less far away
    slacks: tuple[float, ...] = (12.0, 10.0, 8.0, 6.0)  # logarithms by which a pair may fall short of the best one


MATCHING = Matching()


def weigh_points(masked: Sequence[Points], people: Population, holder: Holder, how: Matching = MATCHING) -> Answer:
    """Return the chance of every person sought, by scenario, from the masked points of one or several releases."""
    knowledge = holder.knowledge
    if knowledge.noise is None:
        raise InputError("ceiling_needs_spread")
    inputs = AttackInputs(people, holder.candidates, knowledge)
    copies = [people.known_map.place(one) for one in masked]
    copies = [copies[which] for which in find_different(copies, inputs.least_difference)]
    inputs = inputs.take_mean(copies)
    variances = np.maximum(inputs.known_map.variances(inputs.noise, knowledge.coordinate_error), inputs.finest**2)
    law = knowledge.law
    if not is_gaussian(law) and not isinstance(law, RadialLaw):
        return Weighing(inputs, holder, how).weigh_listed(copies)
    mean = average_places(copies, people.known_map.radius)
    if isinstance(law, RadialLaw):
        return Weighing(inputs, holder, how).weigh_radial(copies, mean, law, variances)
    return Weighing(inputs, holder, how).weigh_gaussian(mean, np.zeros(len(mean)), variances)


def weigh_placed(
    positions: FloatArray, variance: FloatArray, people: Population, holder: Holder, how: Matching = MATCHING
) -> Answer:
    """Return the chance of every person sought, by scenario, from records placed each with an error of its own."""
    inputs = AttackInputs(people, holder.candidates, holder.knowledge)
    exact = Spread(0.0, 0.0, "plane" if inputs.known_map.flat else "km")
    variances = np.maximum(inputs.known_map.variances(exact, holder.knowledge.coordinate_error), inputs.finest**2)
    return Weighing(inputs, holder, how).weigh_gaussian(positions, variance, variances)


@dataclass(frozen=True, eq=False)
class Weighing:
    """Two files and what is known of them; people who were told beforehand are left out on both sides."""

    inputs: AttackInputs
    holder: Holder
    how: Matching

    @property
    def related(self) -> RelatedClasses:
        """Which labels of records and of people may be one person's, and how likely."""
        return relate_classes(self.holder.candidates)

    @property
    def candidates(self) -> Candidates:
        """Those between records and people who are still sought."""
        told = np.array(self.holder.seeds, dtype=np.int64).reshape(-1, 2)
        target, known = (side.astype(np.int32).copy() for side in (self._given.target_class, self._given.known_class))
        target[told[:, 0]], known[told[:, 1]] = -1, -1
        return replace(self._given, target_class=target, known_class=known, evidence=self._given.label_odds())

    @property
    def _given(self) -> Candidates:
        return self.holder.candidates

    @property
    def by_numbers(self) -> bool:
        """True if numbers leave so few pairs that these are listed: each has evidence of its own."""
        return len(self.holder.exact.numbers) > 0 and self._given.count <= self.how.listed

    def _weigh_joint(self, pairs: ListedPairs, density: FloatArray, strangers: FloatArray) -> Answer:
        """Weigh the pairs that numbers leave by their places, too."""
        n, m = self._given.sizes
        return self._settle(None, pairs.weigh(density, strangers, self.holder), np.arange(n), np.arange(m))

    def weigh_gaussian(self, positions: FloatArray, variance: FloatArray, variances: FloatArray) -> Answer:
        """Weigh records by Gaussian noise around known places, each with a further variance."""
        blur = float(np.median(variances) + np.median(variance)) if len(variance) else 1.0
        if self.by_numbers:
            pairs = ListedPairs.of(self.candidates)
            density = pairs.measure(gaussian_density(self.inputs.known_map, positions, variance, variances))
            strangers = find_strangers_by_label(self.holder, self.inputs.population, positions, blur)
            return self._weigh_joint(pairs, density, strangers)
        reach = self.inputs.thresholds.weigh.reach_sd
        if variance.any():  # it is a mean of two directions, one of which may have all of it
            reach *= float(np.sqrt(2))
        table = np.exp(-np.linspace(0, reach**2, self.how.steps + 1) / 2) / (2 * np.pi)
        widest = float(variances.max(initial=0.0))
        even = bool(np.ptp(variances) <= 1e-12 * widest) if len(variances) else True
        people = self._lay_people(reach * float(np.sqrt(widest + np.median(variance))) if len(variance) else 1.0)
        axes, own = np.zeros((0, 2, 3)), np.zeros((0, 2))
        if not even:
            known_map, who = self.inputs.known_map, people.member
            axes, own = np.stack((known_map.east[who], known_map.north[who]), axis=1), variances[who]
        law = Law(table, reach**2 / self.how.steps, reach, True, widest, axes, own)
        return self._ask(positions[None], variance, people, law, self._find_strangers(positions, blur))

    def weigh_radial(
        self, copies: Sequence[FloatArray], mean: FloatArray, law: RadialLaw, variances: FloatArray
    ) -> Answer:
        """Weigh records by a density that depends on the distance from the true place."""
        radius = self.inputs.known_map.radius
        error = self.inputs.finest**2 + self.holder.knowledge.coordinate_error**2
        if self.by_numbers:
            pairs = ListedPairs.of(self.candidates)
            density = pairs.measure(radial_density(self.inputs.known_map, copies, law, error))
            around = find_strangers_by_label(self.holder, self.inputs.population, mean, float(np.median(variances)))
            if len(copies) > 1:
                around = around + measure_scatter(law, copies, radius, self.inputs.thresholds.weigh)
            return self._weigh_joint(pairs, density, around)
        found = law.blurred(error)
        end = found.end if radius == 0 else 2 * radius * np.sin(min(found.end / (2 * radius), np.pi / 2))
        chords = np.linspace(0.0, end, max(int(end / found.step * self.how.finer), self.how.steps) + 1)
        along = chords if radius == 0 else 2 * radius * np.arcsin(np.minimum(chords / (2 * radius), 1.0))
        table = np.exp(found.look_up(np.minimum(along, found.end))[0])
        people, step, none = self._lay_people(end), float(chords[1]), (np.zeros((0, 2, 3)), np.zeros((0, 2)))
        strangers = self._find_strangers(mean, float(np.median(variances)))
        if len(copies) > 1:  # their places lie together for a stranger as well
            strangers = strangers * np.exp(measure_scatter(law, copies, radius, self.inputs.thresholds.weigh))
        asked = Law(table, step, float(end), False, 0.0, *none)
        return self._ask(np.asarray(copies), np.zeros(len(mean)), people, asked, strangers)

    def weigh_listed(self, copies: Sequence[FloatArray]) -> Answer:
        """Weigh the pairs that another law allows, which are few."""
        inputs = replace(self.inputs, candidates=self.candidates)
        model = inputs.build_model(inputs.noise, inputs.finest)
        who, laws = np.flatnonzero(model.matchable), inputs.build_laws(model)
        assert laws is not None
        variance = np.full(len(copies[0]), inputs.finest**2)
        pairs = find_law_pairs(laws.of_series(copies), copies, variance, who, inputs.share)
        n, m = self.candidates.sizes
        if self.by_numbers:
            given = self.candidates
            gain = given.log_odds(pairs.target, pairs.known)
            rarity = np.log(model.rarity[pairs.known])
            odds = np.append(find_odds(self._given), -np.inf)[given.place_of(pairs.target, pairs.known)]
            listed = ListedPairs(pairs.target, pairs.known, odds)
            return self._weigh_joint(listed, pairs.ratio - gain - rarity, -rarity)
        start = np.searchsorted(pairs.target, np.arange(n + 1)).astype(np.int64)
        kept = Kept(start, pairs.known.astype(np.int32), np.exp(np.minimum(pairs.ratio, 180.0)))
        return self._settle(None, kept, np.arange(n), np.arange(m))

    def weigh_kept(self, kept: Kept) -> FloatArray:
        """Return the chance of every listed pair, one-to-one, by their weights alone."""
        n, m = self._given.sizes
        sides, share = (_new_side(n), _new_side(m)), _Share.of(self.holder, self.inputs.share)
        start_sides(_ask_nothing(), kept, share.odds, sides)
        return self._pass_messages(kept, share, sides)

    def _lay_people(self, reach: float) -> Grid:
        known_map, classes = self.inputs.known_map, self.candidates.known_class.astype(np.int64)
        axes = find_east_north(known_map, known_map.positions.mean(axis=0))
        most = self.how.cells * len(classes) + 1000
        return build_grid(known_map.positions, classes, axes, reach / self.how.cells_across, most)

    def _find_strangers(self, positions: FloatArray, variance: float) -> FloatArray:
        """Return the density of strangers at the place of every record, with its label."""
        population, classes = self.inputs.population, self._given.known_class.astype(np.int64)
        background, related = population.find_strangers(classes, variance), self.related
        told = classes.tobytes(), related.start.tobytes(), related.known.tobytes(), related.gain.tobytes()
        cubes = population.keep(
            ("cubes", background.sigma, *told), lambda: _lay_cubes(background, related, self.inputs.known_map, self.how)
        )
        total = np.full(len(positions), background.anywhere * len(classes) / background.area)
        for one in cubes:
            add_strangers(one, positions, self._given.target_class.astype(np.int64), total)
        return total

    def _ask(self, places: FloatArray, variance: FloatArray, people: Grid, law: Law, strangers: FloatArray) -> Answer:
        """Weigh records against people in reach; ``places`` are those of every release."""
        classes = self.candidates.target_class.astype(np.int64)
        order = build_grid(places[0], classes, people.axes, people.width, 4 * len(classes) + 1000).member
        masked = Masked(places[:, order].copy(), classes[order], 1 / strangers[order], variance[order].astype(float))
        related = self.related
        question = Question(masked, people, law, related, np.zeros(len(related.gain)))
        question = question._replace(least=self._bound(question))
        return self._settle(question, None, order, people.member)

    def _bound(self, asked: Question) -> FloatArray:
        """Return how near pairs must lie whose labels hardly fit: anywhere in reach, unless these are very many."""
        n, related = len(asked.masked.classes), asked.related
        if len(related.gain) < len(related.start):  # labels are sure
            return asked.least
        rows = spaced(n, self.how.probed) if n else np.zeros(0, np.int64)
        owner = np.repeat(np.arange(len(related.start) - 1), np.diff(related.start))
        top = np.full(len(related.start), -np.inf)
        np.maximum.at(top, owner, related.gain)
        short = top[owner] - related.gain
        least = asked.least
        for slack in (np.inf, *self.how.slacks):
            least = np.exp(np.minimum(short - slack, 0.0)) if np.isfinite(slack) else asked.least
            many = sum(count_row(asked._replace(least=least), int(t)) for t in rows)
            if many * n <= self.how.heavy * len(rows):
                break
        return np.asarray(least)

    def _settle(self, asked: Question | None, kept: Kept | None, records: Ints, people: Ints) -> Answer:
        """Find the chance of every pair one-to-one, and of everybody to be named."""
        how, sides = self.how, (_new_side(len(records)), _new_side(len(people)))
        share = _Share.of(self.holder, self.inputs.share)
        none = Kept(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        pairs = start_sides(asked or _ask_nothing(), kept or none, share.odds, sides)
        if kept is None and pairs <= how.sifted * how.kept:
            assert asked is not None
            kept = keep_pairs(asked, share.odds, sides, how.faint, how.kept)
        if kept is not None and len(kept.start) > 1:
            chances = self._pass_messages(kept, share, sides)
            return self.name(KeptPairs(kept, chances), records, people)
        assert asked is not None
        spent = 0.0
        for turn in range(how.rounds):
            mean, pairs = run_round(asked, share.odds, sides, turn > 0)
            spent += pairs
            if self.holder.knowledge.common is None:
                share = share.learn(float((1 - 1 / sides[0].total).sum()))
            if mean < how.calm or (turn + 1 >= how.least_rounds and spent + pairs > how.looked):
                break
        return self.name(LookedUp(asked, share.odds, sides), records, people)

    def _pass_messages(self, kept: Kept, share: _Share, sides: tuple[Side, Side]) -> FloatArray:
        """Return the chance of every kept pair; how many people are in common is learned where nobody knows it."""
        how = self.how
        work = max(how.gone_through, how.turns * len(kept.weight))
        chances = pass_messages(kept, share.odds, sides, how.settled, work)
        for _ in range(how.guesses if self.holder.knowledge.common is None else 0):
            again = share.learn(float(chances.sum()))
            if abs(again.common - share.common) < how.same_share:
                break
            share = again
            chances = pass_messages(kept, share.odds, sides, how.settled, work)
        return chances

    def name(self, pairs: KeptPairs | LookedUp, records: Ints, people: Ints) -> Answer:
        """Return the chance of everybody to be named, and what is told of them, from pairs whose chances are known."""
        holder, (n, m) = self.holder, self._given.sizes
        record, person = (np.full(size, -1) for size in (n, m))  # where each stands among those that were weighed
        record[records], person[people] = np.arange(len(records)), np.arange(len(people))
        target, known = holder.sought.pairs.T
        true, here = np.full(len(records), -1), record[target] >= 0
        true[record[target[here]]] = person[known[here]]
        ours, theirs, right = pairs.find_best(true, len(people))
        chance = np.append(right, 0.0)[record[target]]
        alike, found = holder.alike or holder.candidates, {}
        sides = ("prosecutor", theirs, person[known]), ("marketer", ours, record[target])
        for name, best, at in sides:
            top, many = np.append(best.chance, 0.0)[at], np.append(best.many, 1)[at]
            named = ((chance > 0) & (chance >= top * (1 - EQUAL))) / np.maximum(many, 1)
            found[name] = np.where(top > 0, named, find_chances(None, holder.sought, alike, holder.seeds, name))
        found["journalist"] = (chance > 0.5 * (1 + EQUAL)).astype(float)
        masses = []
        for values, own in zip(holder.values, list_own(holder), strict=True):
            mine, shown = np.full(len(people), -1), person[known] >= 0
            mine[person[known[shown]]] = own[shown]
            masses.append(pairs.sum_values(values[records].astype(np.int64), mine).select(person[known]))
        return Answer({name: found[name] for name in SCENARIOS}, told=tell(masses, holder))


@dataclass(frozen=True, eq=False)
class KeptPairs:
    """Pairs that are kept, and their chances."""

    kept: Kept
    chances: FloatArray

    def find_best(self, true: Ints, people: int) -> tuple[Best, Best, FloatArray]:
        """Return the best of every record and of every person, and the chance of each record's true partner."""
        return find_best_kept(self.kept, self.chances, people, true)

    def sum_values(self, values: Ints, own: Ints) -> Masses:
        """Return the mass of every person by the values of records."""
        record = np.repeat(np.arange(len(values)), np.diff(self.kept.start))
        return Masses.of_pairs(self.kept.person.astype(np.int64), values[record], self.chances, own)


@dataclass(frozen=True, eq=False)
class LookedUp:
    """Pairs that are too many to be kept: they are weighed whenever they are asked for."""

    asked: Question
    odds: float
    sides: tuple[Side, Side]

    def find_best(self, true: Ints, people: int) -> tuple[Best, Best, FloatArray]:
        """Return the best of every record and of every person, and the chance of each record's true partner."""
        return find_best(self.asked, self.odds, self.sides, true)

    def sum_values(self, values: Ints, own: Ints) -> Masses:
        """Return the mass of every person by the values of records."""
        return Masses(*sum_values(self.asked, self.odds, self.sides, values, own))


def _new_side(size: int) -> Side:
    return Side(np.ones(size), np.ones(size), np.full(size, -1), np.zeros(size))


def _ask_nothing() -> Question:
    """Return the question where all pairs are listed."""
    none, few = np.zeros(0), np.zeros(0, np.int64)
    grid = Grid(np.zeros((2, 3)), np.zeros(2), 1.0, 1, 1, np.zeros(2, np.int64), few, np.zeros((0, 3)))
    law = Law(np.zeros(2), 1.0, 1.0, False, 0.0, np.zeros((0, 2, 3)), np.zeros((0, 2)))
    masked = Masked(np.zeros((1, 0, 3)), few, none, none)
    return Question(masked, grid, law, RelatedClasses(np.zeros(1, np.int64), few, none), none)


@dataclass(frozen=True)
class _Share:
    """The share of records that are somebody known, among those not told beforehand."""

    common: float
    records: int
    people: int

    @classmethod
    def of(cls, holder: Holder, common: float) -> _Share:
        (n, m), told = holder.candidates.sizes, len(holder.seeds)
        left = max(n - told, 1)
        return cls(max((common * n - told) / left, 0.5 / left), left, max(m - told, 1))

    @property
    def odds(self) -> float:
        """The odds that a record is a person, but for what is known of both."""
        share = min(self.common, 1 - FEWEST / self.records)
        # the known records that are nobody's: without this the prior would expect too few matches in small files
        strangers = max(1 - share * self.records / self.people, FEWEST / self.people)
        return share / (1 - share) / strangers

    def learn(self, found: float) -> _Share:
        """Return the share if so many records were found."""
        return replace(self, common=float(np.clip(found / self.records, 1e-6, 1.0)))


def _lay_cubes(
    background: Background, related: RelatedClasses, known_map: KnownMap, how: Matching
) -> tuple[Cubes, ...]:
    """Return the density of strangers as it is summed up, scale by scale."""
    from scipy.sparse import csr_array

    copies, rest = background.spell(related)
    classes = background.known_class
    axes = find_east_north(known_map, known_map.positions.mean(axis=0))
    some, found = np.flatnonzero(classes >= 0), []
    for scale, bells in enumerate(background.bells):
        free, same = float(background.any_label[scale]), float(background.same_label[scale])
        home = background.at_home if scale == 0 else 0.0
        if free + same + home < background.how.nobody:
            continue
        many = len(bells.count)
        table = csr_array((np.ones(len(some)), (bells.cell[some], classes[some])), shape=(many, copies.shape[0]))
        width = bells.reach / how.cells_across
        grid = build_grid(bells.centre, np.zeros(many, np.int64), axes, width, how.cells * many + 1000)
        table = (table @ copies)[grid.member]
        table.sort_indices()
        plain = free * bells.count
        if home:
            plain = plain + home * len(classes) / background.homes.total * background.homes.count
        laid = plain[grid.member], bells.count[grid.member], same * np.asarray(rest)
        labels = table.indptr.astype(np.int64), table.indices.astype(np.int64), same * table.data
        found.append(Cubes(grid, float(bells.variance), float(bells.reach), *laid, *labels))
    return tuple(found)
