"""From what labels and numbers say of pairs to probabilities: every pair weighed against all others, one-to-one.

Records of a class are alike, and so are their chances: what is worked out is that of pairs of classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.claims import FLOOR, make_claims
from disclique.attacks.luck import count_luck
from disclique.engine.kernels.likelihoods import marginalise_classes
from disclique.measures.risk import EQUAL
from disclique.model import Candidates, Claims
from disclique.values import FloatArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Believing:
    """How much is spent on it."""

    rounds: int = 60
    strangers: float = 0.2  # in either file, at the least: of few people less would make belief too sure
    guesses: int = 40  # at the share of common records, where nobody knows it
    same_share: float = 1e-3
    sure: float = 5.0  # log odds from which on files are believed to share people at all
    pairs: int = 12_000_000  # that are listed, of some 100 bytes
    faint: float = 1e-3  # of the best of its record and of its person: pairs less probable than that are not listed


BELIEVING = Believing()


def weigh_candidates(candidates: Candidates, common: float | None, name: str, by: Believing = BELIEVING) -> Claims:
    """Return the probability of every pair by what labels and numbers say of it, when nobody is twice in a file.

    Records of strangers fit by chance, too: where no more do than that, nobody is claimed.
    """
    beliefs = believe(candidates, common, by)
    if _find_evidence(candidates, beliefs.share) < by.sure:
        beliefs = believe(candidates, 0.5 / max(candidates.sizes[0], 1), by)
    shown = _show(beliefs, beliefs.keep(by.faint))
    if shown.count > by.pairs:  # nobody stands out among so many
        shown = _show(beliefs, beliefs.chance >= FLOOR)
    target, known = shown.pairs()
    chances = np.exp(shown.log_odds(target, known))
    return make_claims((target.astype(np.int32), known.astype(np.int32), chances), attack=name, floor=0.0)


def _show(beliefs: Beliefs, kept: NDArray[np.bool_]) -> Candidates:
    """Return some pairs of classes, with the logarithms of their chances in the place of evidence."""
    relation, chance = beliefs.candidates.relation[kept], beliefs.chance[kept]
    return replace(beliefs.candidates, relation=relation, evidence=np.log(np.maximum(chance, 1e-300)))


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The chance of every pair of a related released and known class: of any two of their records to be one person."""

    candidates: Candidates
    chance: FloatArray
    share: float  # of the released records that are in the known file

    def best(self, side: int) -> tuple[FloatArray, Ints]:
        """Return for each class of a side the best chance, and how many records of the other side have it."""
        own = self.candidates.relation[:, side].astype(np.int64)
        top = np.zeros(int(max(own.max(initial=-1), self._classes(side).max(initial=-1))) + 1)
        np.maximum.at(top, own, self.chance)
        best = (self.chance > 0) & (self.chance >= top[own] * (1 - EQUAL))
        members = count_members(self._classes(1 - side), self.candidates.relation[:, 1 - side])
        return top, np.bincount(own[best], members[best], len(top)).astype(np.int64)

    def keep(self, faint: float) -> NDArray[np.bool_]:
        """Return which pairs of classes are not far behind the best of both."""
        top = [self.best(side)[0][self.candidates.relation[:, side]] for side in (0, 1)]
        return np.asarray((self.chance > 0) & (self.chance >= faint * np.minimum(*top)))

    def _classes(self, side: int) -> NDArray[np.int32]:
        return self.candidates.known_class if side else self.candidates.target_class


def count_members(classes: NDArray[np.integer], of: NDArray[np.integer]) -> Ints:
    """Return how many records the classes ``of`` have."""
    return np.asarray(np.bincount(classes[classes >= 0], minlength=int(of.max(initial=-1)) + 1)[of])


def believe(candidates: Candidates, common: float | None, by: Believing = BELIEVING) -> Beliefs:
    """Return the chance of every pair when nobody is twice in a file; all records of a class are alike.

    ``common`` is the share of the released records that are in the known file; None is learned.
    """
    relation, (targets, knowns) = candidates.relation.astype(np.int64), candidates.sizes
    odds = find_odds(candidates) - np.log(max(knowns, 1))
    pairs = np.ascontiguousarray(relation[:, 0]), np.ascontiguousarray(relation[:, 1])
    sides = candidates.target_class, candidates.known_class
    members = count_members(sides[0], pairs[0]).astype(float), count_members(sides[1], pairs[1]).astype(float)
    classes = int(pairs[0].max(initial=-1)) + 1, int(pairs[1].max(initial=-1)) + 1
    share, chance = 0.5 if common is None else common, np.zeros(len(odds))
    for _ in range(1 if common is not None else by.guesses):
        used = min(share, 1 - by.strangers / max(targets, 1))
        # the known records that are nobody's: without this the prior would expect too few matches in small files
        strangers = max(1 - used * targets / max(knowns, 1), by.strangers / max(knowns, 1))
        prior = np.log(max(used, 1e-12)) - np.log1p(-used) - np.log(strangers)
        weight = np.where((members[0] > 0) & (members[1] > 0), np.exp(np.minimum(odds + prior, 200.0)), 0.0)
        chance = marginalise_classes(weight, pairs, members, classes, by.rounds)
        again = float((chance * members[0] * members[1]).sum() / max(targets, 1))
        if common is not None or abs(again - share) < by.same_share:
            break
        share = again
    for side in (0, 1):  # cycles may leave a little more than certainty
        total = np.bincount(pairs[side], chance * members[1 - side], classes[side])
        chance = chance / np.maximum(total, 1.0)[pairs[side]]
    return Beliefs(candidates, chance, share)


def _find_evidence(candidates: Candidates, share: float) -> float:
    """Return the log odds that a share of the released records are known people, against none of them."""
    own, people = candidates.relation[:, 0].astype(np.int64), max(candidates.sizes[1], 1)
    members = count_members(candidates.known_class, candidates.relation[:, 1])
    many = int(max(own.max(initial=-1), candidates.target_class.max(initial=-1))) + 1
    fits = np.bincount(own, members * np.exp(np.minimum(find_odds(candidates), 200.0)), many) / people
    some = candidates.target_class[candidates.target_class >= 0]
    used = min(share, 1 - 0.5 / max(len(some), 1))
    return float(np.log1p(used * (fits[some] - 1)).sum())


def find_odds(candidates: Candidates) -> FloatArray:
    """Return the log odds of pairs of classes: one person, or a stranger who fits by chance.

    Where classes are sure all of those who fit are alike; strangers are as frequent as known people are to each other.
    """
    if candidates.evidence is not None:
        return candidates.evidence
    own = candidates.relation[:, 0].astype(np.int64)
    fits = np.bincount(own, count_members(candidates.known_class, candidates.relation[:, 1]))
    with np.errstate(divide="ignore"):
        near = np.log(fits)
        anybody = near - np.log(max(len(candidates.known_class), 1)) + count_luck(candidates.known_class).of(near)
    return np.asarray(-anybody[own])
