"""What an alignment is worth: pairs with their probabilities, from the scores of a look at both files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from disclique.attacks.meaning import Meaning, learn_meaning
from disclique.attacks.posterior import estimated_share, matching_posterior
from disclique.attacks.profiles.anchors import NOBODY_PAIRED, Files, Pairs
from disclique.attacks.profiles.evidence import Ints, best_of_each, try_out, try_records
from disclique.attacks.profiles.sight import Sight
from disclique.values import FloatArray

Judged = Callable[[Meaning, FloatArray, FloatArray, int], Meaning]


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
    misspelled: float = 0.0  # share of wrong letters that is supposed in the known list

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


def rehearse_chances(found: Weighed, trial: Weighed, who: Ints, kept: float = 0.01) -> Weighed:
    """Return probabilities as they came true in a trial of the known records ``who``.

    A little of what they were is kept, so that of two records the likelier one stays it.
    """
    if not len(trial.target):
        return found
    means = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    means.fit(trial.probability, who[trial.target] == trial.known)
    chances = (1 - kept) * np.minimum(means.predict(found.probability), found.probability) + kept * found.probability
    return replace(found, probability=chances)


def weigh_sight(
    files: Files, look: Sight, common: float | None, chance: int, *, judged: Judged | None = None
) -> Weighed:
    """Give every pair its probability: scores by what they meant in the trial, labels, and nobody twice.

    ``judged`` makes something else of that meaning, by the sums of the records of the release.
    """
    allowed, sizes, scoring = files.allowed, (files.target.size, files.known.size), files.scoring
    meaning = try_out(look.trial, allowed, np.random.default_rng(chance), scoring, look.who)
    if meaning is None:
        return NOTHING
    rows, others, score = best_of_each(look.target, allowed.hard, scoring)
    if judged is not None:
        meaning = judged(meaning, *meaning.sums(rows, score.astype(float), files.target.size), scoring.few)
    ratio = meaning.ratio(rows, score.astype(float), files.target.size)
    if allowed.table is not None:
        ratio = ratio + allowed.table[allowed.target[rows], allowed.known[others]]
    share = estimated_share(rows, others, ratio, sizes=sizes) if common is None else common
    probability = matching_posterior(rows, others, ratio, sizes=sizes, common=share)
    return Weighed(rows, others, probability, share, excess=look.excess, look=look)


def claimed_in_trial(files: Files, found: Weighed, chance: int) -> Ints:
    """Return the known records of a trial that would be claimed in a release like the one that was weighed."""
    assert found.look is not None
    rng = np.random.default_rng(chance)
    who, own, strangers = try_records(found.look.trial, files.allowed, rng, files.scoring, found.look.who)
    meaning = learn_meaning(own, strangers)
    if meaning is None:
        return who
    without = np.logaddexp.reduce(meaning.slope * strangers, axis=1)
    total = np.logaddexp(without, meaning.slope * own)
    there = expit(meaning.shifted(total, without) + total + logit(np.clip(found.share, 1e-3, 1 - 1e-3)))
    return np.asarray(who[there * np.exp(meaning.slope * own - total) > 0.5])


def lead_astray(files: Files, found: Weighed, rng: np.random.Generator) -> Files:
    """Return files in whose trials as many anchors are wrong as are expected to be: the nearest other record instead.

    A stranger who is taken for somebody on the list lives next door to them.
    """
    known, claimed = files.known, found.probability > 0.5
    doubt = np.zeros(known.size)
    doubt[found.known[claimed]] = 1 - found.probability[claimed]
    doubt[files.seeds.known] = 0
    wrong = np.flatnonzero(rng.random(known.size) < doubt)
    near = known.near(None)
    near[known.landmarks, np.arange(len(known.landmarks))] = np.inf
    who = np.arange(known.size)
    who[wrong] = known.landmarks[near[wrong].argmin(axis=1)]
    return replace(files, astray=who)
