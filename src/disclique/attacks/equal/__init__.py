"""The attack that looks up equal distances: what is published exactly says which two records it lies between.

``lookup`` finds the published distances that also occur in the known file and how many would by chance, ``belief``
weighs the pairs of records that these coincidences speak for, and places, by shortest paths, the people who have no
published distance in common with anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from disclique.attacks.claims import FLOOR, make_claims, no_claims
from disclique.attacks.equal.belief import (
    BELIEF,
    Belief,
    Pairs,
    Ties,
    find_probabilities,
    follow,
    tie_pairs,
    weigh_ties,
)
from disclique.attacks.equal.lookup import (
    LOOKUP,
    Entries,
    Lookup,
    Tolerance,
    drop_shared,
    list_entries,
    look_up,
    measure_repeats,
)
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.registry import Attack
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.progress import tell
from disclique.spaces import spaced
from disclique.spaces.base import Distances
from disclique.spaces.mapping import find_printed_unit
from disclique.values import FloatArray


@dataclass(frozen=True)
class Tuning:
    """When coincidences are believed; ``lookup`` and ``belief`` are those of the stages."""

    lookup: Lookup = LOOKUP
    belief: Belief = BELIEF
    crowded: float = 4.0  # chance coincidences of each published distance from which on looking it up tells nothing
    repeated: float = 0.5  # the same where distances repeat by their nature, as the rate differs from value to value
    by_chance: float = 1e-3  # probability below which so many coincidences are no chance
    grows: float = 1.2  # times as many coincidences for which a wider tolerance is taken
    anchor: float = 0.99  # a pair as probable as that judges the others
    judges: int = 200  # anchors that judge at the most
    doubtful: float = 0.49  # probability, at the most, where chance may explain everything


@dataclass(frozen=True)
class EqualAttack(Attack):
    """Published distances are looked up among the known ones.

    A distance that is published as it is occurs in the known file if both people are in it, and hardly otherwise. So
    it applies where a release leaves out distances or caps them but does not alter the rest.
    """

    name: ClassVar[str] = "equal"
    cost: ClassVar[int] = 2
    most: ClassVar[tuple[int, int] | None] = (10_000, 20_000)
    needs: ClassVar[Message | str] = Message("attack_needs_equal")
    summary: ClassVar[Message | str] = Message("attack_does_equal")
    who: ClassVar[Message | str] = Message("attack_who_equal")

    knowledge: Knowledge = Knowledge()  # noqa: RUF009 - a frozen value
    seed: int = 0
    tuning: Tuning = Tuning()

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack; it needs to know nothing of the mask."""
        return cls(knowledge, search.seed)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the records whose published distances occur in the known file."""
        sizes = len(target), len(known)
        files = Files(target.distances, known.distances, candidates, self.tuning)
        rng = np.random.default_rng(self.seed)
        tell(Message("step_listing_distances"))
        entries = list_entries(files.target, ordered=files.ordered, rng=rng, by=self.tuning.lookup)
        if not len(entries.value) or min(sizes) < 2:
            return no_claims(Message("no_distance_above_zero"), attack=self.name)
        tell(Message("step_looking_up_distances"))
        evidence, doubt = _choose_evidence(entries, files, rng)
        if evidence is None or (doubt is not None and not self.knowledge.bold):
            assert doubt is not None
            return no_claims(doubt, attack=self.name)
        return self._claim(evidence, files, doubt)

    def _claim(self, evidence: Evidence, files: Files, doubt: Message | None) -> Claims:
        """Weigh the pairs, without those that contradict the sure ones; then follow the paths to whoever is left."""
        sizes, bold, common, belief = files.sizes, self.knowledge.bold, evidence.share, self.tuning.belief
        if self.knowledge.common is not None:
            common = min(common, max(self.knowledge.common, 1 / sizes[0]))
        pairs, ties = evidence.pairs, evidence.ties
        for last in (False, False, True):
            ratio = weigh_ties(pairs, ties, chance=evidence.chance, common=common, by=belief)
            probability = find_probabilities(pairs, ratio, sizes=sizes, common=common, bold=bold, by=belief)
            possible = None if last else _find_possible(pairs, probability, files, evidence.tolerance)
            if possible is None or possible.all():
                break
            number, both = np.cumsum(possible) - 1, possible[ties.a] & possible[ties.b]
            pairs, ties = pairs.some(possible), Ties(number[ties.a[both]], number[ties.b[both]])
        details = {"equal": len(evidence.ties.a), "by_chance": evidence.expected, "common": common}
        if doubt is not None:
            probability = probability * self.tuning.doubtful
        else:
            sure = pairs.some(probability > self.tuning.anchor)
            three = files.target, files.known, files.candidates
            more = follow(sure, evidence.entries, three, common=common, by=belief)
            if more is not None:
                pairs = pairs.join(more[0])
                probability = np.concatenate((probability, more[1]))
                details["followed"] = float(more[1].sum())
        key = pairs.target * sizes[1] + pairs.known
        order = np.lexsort((-probability, key))
        best = order[np.diff(key[order], prepend=-1) > 0]  # each pair once, with its highest probability
        weighed = pairs.target[best].astype(np.int32), pairs.known[best].astype(np.int32), probability[best]
        return make_claims(weighed, attack=self.name, floor=0.0 if bold else FLOOR, doubt=doubt, details=details)


@dataclass(frozen=True, eq=False)
class Files:
    """The distances of both files, and how labels fit."""

    target: Distances
    known: Distances
    candidates: Candidates
    tuning: Tuning

    @property
    def sizes(self) -> tuple[int, int]:
        """Records of the target and of the known file."""
        return self.target.size, self.known.size

    @property
    def ordered(self) -> bool:
        """True if a distance may depend on its direction in either file."""
        return self.target.directed or self.known.directed


@dataclass(frozen=True, eq=False)
class Evidence:
    """The coincidences of one tolerance, as ties between pairs, and what chance explains of them."""

    entries: Entries
    pairs: Pairs
    ties: Ties
    tolerance: Tolerance
    chance: float  # that two distances of strangers are equal
    expected: float  # ties by chance
    part: float  # of the published distances that were looked up
    share: float  # of the target's records that are in the known file, as far as coincidences tell

    @property
    def surprise(self) -> float:
        """The probability of so many ties by chance."""
        return float(poisson.sf(len(self.ties.a) - 1, self.expected))

    @property
    def excess(self) -> float:
        """How many of all ties chance does not explain."""
        return (len(self.ties.a) - self.expected) / self.part

    def explain(self) -> Message:
        """Return why nothing is claimed."""
        return Message("equal_by_chance", count=len(self.ties.a), expected=self.expected)


def _choose_tolerances(entries: Entries, known: Distances, widths: tuple[float, ...]) -> list[Tolerance]:
    """List what may count as equal, narrow ones first."""
    unit = find_printed_unit(entries.value)
    if (matrix := known.matrix()) is not None:
        printed = find_printed_unit(matrix.values[matrix.values > 0])
        unit = 0.0 if unit and unit == printed else unit + printed  # printed alike they are equal to the digit
    return [Tolerance(width, 0.5 * unit) for width in (widths[:1] if unit else widths)]


def _choose_evidence(
    entries: Entries, files: Files, rng: np.random.Generator
) -> tuple[Evidence | None, Message | None]:
    """Return the evidence of the narrowest tolerance that shows nearly all there is, and why it is weak if it is."""
    sure: Evidence | None = None
    weak: Evidence | None = None
    doubt: Message | None = None
    for tolerance in _choose_tolerances(entries, files.known, files.tuning.lookup.widths):
        evidence = gather(entries, files, tolerance, rng)
        if isinstance(evidence, Message):
            doubt = doubt or evidence
        elif evidence.surprise >= files.tuning.by_chance:
            weak, doubt = evidence, evidence.explain()
        elif sure is None or evidence.excess > files.tuning.grows * sure.excess:
            sure = evidence
        else:
            break
    return (weak, doubt) if sure is None else (sure, None)


def gather(entries: Entries, files: Files, tolerance: Tolerance, rng: np.random.Generator) -> Evidence | Message:
    """Look the entries up and count what chance explains; a message says why that is of no use."""
    tuning, by = files.tuning, files.tuning.lookup
    telling = drop_shared(entries, tolerance, by.shared)
    if not len(telling.value):
        return Message("distances_shared_by_many")
    repeats = measure_repeats(files.known, tolerance, ordered=files.ordered, rng=rng, by=by)
    size = files.known.size
    if repeats * size * (size - 1) / 2 > tuning.repeated:
        return Message("known_distances_repeat")
    found = look_up(telling, files.known, tolerance, ordered=files.ordered, rng=rng, by=by)
    chance = max((found.near + 1 / by.window) / max(found.compared, 1.0), repeats, 1e-15)
    if chance * found.compared / len(telling.value) > tuning.crowded:
        return Message("known_distances_crowd")
    pairs, ties = tie_pairs(found.hits, files.candidates, ordered=files.ordered)
    ways = 1 if files.ordered else 2
    fitting = files.candidates.count / max(files.sizes[0] * files.sizes[1], 1)  # share of all pairs of records
    expected = chance * found.compared * found.part * ways * fitting**2
    true = max(len(ties.a) - expected, 0.5) / (found.part * len(telling.value))
    share = float(np.clip(np.sqrt(true), 1 / files.sizes[0], 1 - 0.5 / files.sizes[0]))
    return Evidence(telling, pairs, ties, tolerance, chance, expected, found.part, share)


def _find_possible(pairs: Pairs, probability: FloatArray, files: Files, tolerance: Tolerance) -> NDArray[np.bool_]:
    """Return which pairs agree with the sure ones not much less often than these do with each other.

    A distance that is not published, or that many share, contradicts nothing: it may be left out or capped.
    """
    sure = np.flatnonzero(probability > files.tuning.anchor)
    sure = sure[spaced(len(sure), files.tuning.judges)]
    agreed, told = np.zeros(len(pairs.target)), np.zeros(len(pairs.target), dtype=bool)
    if not len(sure):
        return ~told
    anchors = pairs.target[sure].astype(np.int32), pairs.known[sure].astype(np.int32)
    step = max(1_000_000 // len(sure), 1)
    rows, at = np.unique(pairs.target, return_inverse=True)
    columns, beside = np.unique(pairs.known, return_inverse=True)
    left = files.target.block(rows.astype(np.int32), anchors[0])
    right = files.known.block(columns.astype(np.int32), anchors[1])
    values, many = np.unique(left[np.isfinite(left)], return_counts=True)
    shared = values[many > files.tuning.lookup.shared]  # so often that they are a cap
    for begin in range(0, len(told), step):
        some = slice(begin, begin + step)
        a, b = left[at[some]], right[beside[some]]
        other = (pairs.target[some, None] != anchors[0]) & (pairs.known[some, None] != anchors[1])
        said = np.isfinite(a) & np.isfinite(b) & other & ~np.isin(a, shared)
        same = np.abs(a - b) <= tolerance.of(np.maximum(np.abs(a), np.abs(b)))
        agreed[some] = (said & same).sum(axis=1) / np.maximum(said.sum(axis=1), 1)
        told[some] = said.any(axis=1)
    usual = float(np.median(agreed[sure][told[sure]])) if told[sure].any() else 0.0  # some may carry noise
    return np.asarray(~told | (agreed >= usual / 4))
