"""What an alignment is worth: pairs with their probabilities, from the scores of a look at both files."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.isotonic import IsotonicRegression

from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.profiles.anchors import NOBODY_PAIRED, Files, Pairs, Sight
from disclique.attacks.profiles.evidence import Ints, best_of_each, try_out
from disclique.values import FloatArray


@dataclass(frozen=True, eq=False)
class Weighed:
    """Candidate pairs with their probabilities, and the share of the target that is expected to be common."""

    target: Ints
    known: Ints
    probability: FloatArray
    share: float = 0.0
    confirmed: float = 0.0  # share of the claimed pairs that others confirm, by which they were not found
    excess: float = 1.0  # variance of their errors relative to what the mask explains
    look: Sight | None = None  # from which they were weighed

    @property
    def sure(self) -> float:
        """Right pairs that can be expected among the claimed ones."""
        return float(self.probability[self.probability > 0.5].sum())

    @property
    def claimed(self) -> Pairs:
        """The pairs that are more probable than not, the most probable first."""
        order = np.argsort(-self.probability, kind="stable")
        order = order[self.probability[order] > 0.5]
        return Pairs(self.target[order], self.known[order])


NOTHING = Weighed(*NOBODY_PAIRED, np.zeros(0))


def rehearse_chances(found: Weighed, trial: Weighed, kept: float = 0.01) -> Weighed:
    """Return probabilities as they came true in a trial in which every record is its own partner.

    A little of what they were is kept, so that of two records the likelier one stays it.
    """
    if not len(trial.target):
        return found
    means = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    means.fit(trial.probability, trial.target == trial.known)
    chances = (1 - kept) * np.minimum(means.predict(found.probability), found.probability) + kept * found.probability
    return replace(found, probability=chances)


def weigh_again(files: Files, found: Weighed, common: float | None, chance: int) -> Weighed:
    """Return the same pairs, whose scores mean no more than they do among the records of the release.

    That is so where pairs differ by more than the mask explains: the trial knows no errors but those of the mask.
    """
    if found.look is None or found.excess <= files.anchoring.explained:
        return found
    again = weigh_sight(files, found.look, common, chance, doubted=True)
    return replace(again, confirmed=found.confirmed)


def weigh_sight(files: Files, look: Sight, common: float | None, chance: int, *, doubted: bool = False) -> Weighed:
    """Give every pair its probability: scores by what they meant in the trial, labels, and nobody twice.

    Where the trial is ``doubted``, they mean no more than they do among the records of the release.
    """
    allowed, sizes, scoring = files.allowed, (files.target.size, files.known.size), files.scoring
    meaning = try_out(look.trial, allowed, np.random.default_rng(chance), scoring)
    if meaning is None:
        return NOTHING
    rows, others, score = best_of_each(look.target, allowed.hard, scoring)
    if doubted:
        meaning = meaning.doubted(*meaning.sums(rows, score.astype(float), files.target.size), scoring.few)
    ratio = meaning.ratio(rows, score.astype(float), files.target.size)
    if allowed.table is not None:
        ratio = ratio + allowed.table[allowed.target[rows], allowed.known[others]]
    share = estimated_share(rows, others, ratio, sizes=sizes) if common is None else common
    probability = matching_posterior(rows, others, ratio, sizes=sizes, common=share)
    return Weighed(rows, others, probability, share, excess=look.excess, look=look)
