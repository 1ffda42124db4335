"""Rough motions worth refining, from pairs of rare records.

Two targets whose labels few known records share are laid on every two of those at the same distance; each such motion
is scored by where it lays the other targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align.futility import foretell
from disclique.attacks.align.likelihood import LikelihoodModel, group_by_class, index_known
from disclique.attacks.align.refine import Aligner
from disclique.engine.kernels.alignment import AlignmentSearch, ClassMembers, try_pairs
from disclique.spaces.positions import Motion

Ints = NDArray[np.int64]
SCORED = 400  # targets on which a hypothesis is scored
RARE = 400  # targets from which pairs are taken
KEPT = 10  # motions of a batch worth refining
MOST_COMMON = 0.9
NEARLY = 1.25  # variance of a target under a motion from a true pair, of that of its displacement
LUCK = 1.5  # standard deviations by which some of the true pairs score more than expected
CHANCE = 3.5  # the same of the tenth best wrong pair in a batch
ENOUGH = 40  # pairs of common records among those tried, by expectation, after which the rest would show no more


class Batch(NamedTuple):
    """Motions worth refining, best first, the distances compared to find them, and the pairs not yet tried."""

    motions: list[Motion]
    compared: int
    untried: int


class RarePairSearch:
    """The search for motions that lay two targets of rare labels on two known records at the same distance."""

    def __init__(self, aligner: Aligner, rng: np.random.Generator) -> None:
        model = aligner.model
        self.aligner = aligner
        self.sigma = float(np.sqrt(np.median(model.variances) + np.median(aligner.target_map.variance)))
        self.members = group_by_class(model)
        many = _count_counterparts(model, self.members)[model.target_class[aligner.who]]
        rarest = aligner.who[np.lexsort((rng.random(len(many)), many))]
        pairs = self._order_pairs(rarest[:RARE], np.sort(many)[:RARE], rng)
        shown = self.scored = rng.permutation(rarest[:SCORED])
        self.shown = len(shown)
        order = np.concatenate((shown, np.setdiff1d(np.unique(pairs), shown)))
        place = np.full(len(model.target_class), -1)
        place[order] = np.arange(len(order))
        self.pairs = place[pairs]
        self.positions, self.classes = aligner.target_map.positions[order], model.target_class[order]
        self.index = index_known(model, 6 * self.sigma)

    def _order_pairs(self, rare: Ints, many: Ints, rng: np.random.Generator) -> Ints:
        """Return pairs of targets far apart, those with the fewest possible counterparts first."""
        i, j = np.triu_indices(len(rare), 1)
        positions = self.aligner.target_map.positions[rare]
        gap = np.linalg.norm(positions[i] - positions[j], axis=1)
        far = gap >= max(0.6 * float(np.quantile(gap, 0.9)) if len(gap) else 0.0, 4 * self.sigma)
        i, j = i[far], j[far]
        cost = np.log2(np.maximum(many[i].astype(float) * many[j], 1)).astype(int)
        return np.stack((rare[i], rare[j]), axis=1)[np.lexsort((rng.random(len(cost)), cost))]

    def can_succeed(self, share: float, *, noise: float, tilt: float) -> bool:
        """Return False if the true motion would not be among the best: its score would drown in those of chance.

        A motion made from two common targets is off by what displaced them; of many, some are off by little.
        """
        foretold = foretell(self.aligner, self.scored, noise=noise * NEARLY, blur=4.0, tilt=tilt)
        believed = min(share, MOST_COMMON)
        truth = foretold.expect(self.shown, share, believed)
        return truth.at_most(LUCK) > foretold.expect_strangers(self.shown, believed).at_most(CHANCE)

    def propose(
        self, common: float, *, budget: int, guess: Motion | None = None, slack: float = np.inf, sure: bool = False
    ) -> Iterator[Batch]:
        """Yield batches of motions until ``budget`` distances are compared: all, or those within ``slack`` of a guess.

        If the share of common records is ``sure``, stop once so many pairs were tried that many must have been true.
        """
        model, variance = self.aligner.model, (2 * self.sigma) ** 2
        expected = self.positions if guess is None else guess(self.positions)
        common = min(common, MOST_COMMON)  # leave room for a target that is not where it should be
        search = AlignmentSearch(
            self.index, model.related, model.rarity, variance, common, model.known_map.flat, self.shown, expected, slack
        )
        pairs, spent, batch = self.pairs, 0, max(budget // 16, 1)
        if sure:
            pairs = pairs[: int(np.ceil(ENOUGH / common**2))]
        while len(pairs) and spent < budget:
            limits = (2.5 * np.sqrt(2) * self.sigma, min(batch, budget - spent), KEPT)
            best, used, cost = try_pairs(search, self.members, pairs, self.positions, self.classes, limits)
            spent += cost
            pairs = pairs[used:]
            batch *= 2
            best = best[np.argsort(-best[:, 0], kind="stable")]
            motions = [Motion(row[1:10].reshape(3, 3), row[10:]) for row in best if np.isfinite(row[0])]
            yield Batch(motions, cost, len(pairs))


def _count_counterparts(model: LikelihoodModel, members: ClassMembers) -> Ints:
    """Count the known records that may be the counterpart of a target of each class."""
    counts = np.concatenate(([0], np.cumsum(np.diff(members.start)[model.related.known])))
    return np.asarray(np.diff(counts[model.related.start]))
