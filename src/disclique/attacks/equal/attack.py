"""The attack by equal distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from disclique.attacks.claims import FLOOR, Weighed, make_claims, no_claims
from disclique.attacks.equal.belief import (
    LabelTable,
    Pairs,
    Ties,
    find_probabilities,
    tie_pairs,
    weigh_labels,
    weigh_ties,
)
from disclique.attacks.equal.follow import follow
from disclique.attacks.equal.lookup import (
    MANY,
    WIDTHS,
    WINDOW,
    Entries,
    Tolerance,
    drop_shared,
    find_printed_unit,
    list_entries,
    look_up,
    measure_repeats,
)
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.registry import Attack
from disclique.model import Candidates, Claims, Distances, FloatArray, Microdata
from disclique.progress import tell

CROWDED = 4.0  # chance coincidences of each published distance from which on looking it up tells nothing
REPEATED = 0.5  # the same where distances repeat by their nature, as the rate differs from value to value
CHANCE = 1e-3  # probability below which so many coincidences are no chance
GROWS = 1.2  # times as many coincidences for which a wider tolerance is taken
ANCHOR = 0.99  # a pair as probable as that judges the others
JUDGES = 200  # anchors that judge at the most
DOUBTFUL = 0.49  # probability, at the most, where chance may explain everything


@dataclass(frozen=True)
class EqualAttack(Attack):
    """Published distances are looked up among the known ones.

    A distance that is published as it is occurs in the known file if both people are in it, and hardly otherwise. So
    it applies where a release leaves out distances or caps them but does not alter the rest.
    """

    name: ClassVar[str] = "equal"
    cost: ClassVar[int] = 2
    most: ClassVar[tuple[int, int] | None] = (10_000, 20_000)
    needs: ClassVar[str] = "any distances, some of them published exactly; directed or incomplete ones too"
    summary: ClassVar[str] = (
        "Published distances looked up among those of the known file: equal ones say who the two people are, and "
        "people who agree with many others are certain."
    )

    knowledge: Knowledge = Knowledge()  # noqa: RUF009 - a frozen value
    seed: int = 0

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack; it needs to know nothing of the mask."""
        return cls(knowledge, search.seed)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the records whose published distances occur in the known file."""
        sizes = len(target), len(known)
        files = Files(target.distances, known.distances, weigh_labels(candidates))
        rng = np.random.default_rng(self.seed)
        tell("listing the published distances")
        entries = list_entries(files.target, ordered=files.ordered, rng=rng)
        if not len(entries.value) or min(sizes) < 2:
            return no_claims("no distance above 0 is published between two records", attack=self.name)
        tell("looking up equal distances")
        sure, weak, doubt = _choose_evidence(entries, files, rng)
        if sure is not None:
            return self._claim(sure, files, "")
        if self.knowledge.bold and weak is not None:
            return self._claim(weak, files, doubt)
        return no_claims(doubt, attack=self.name)

    def _claim(self, evidence: Evidence, files: Files, doubt: str) -> Claims:
        """Weigh the pairs, without those that contradict the sure ones; then follow the paths to whoever is left."""
        sizes, bold, common = files.sizes, self.knowledge.bold, evidence.share
        if self.knowledge.common is not None:
            common = min(common, max(self.knowledge.common, 1 / sizes[0]))
        pairs, ties = evidence.pairs, evidence.ties
        for last in (False, False, True):
            ratio = weigh_ties(pairs, ties, chance=evidence.chance, common=common)
            probability = find_probabilities(pairs, ratio, sizes=sizes, common=common, bold=bold)
            possible = None if last else _find_possible(pairs, probability, files, evidence.tolerance)
            if possible is None or possible.all():
                break
            pairs, ties = _keep_pairs(pairs, ties, possible)
        details = {"equal": len(evidence.ties.a), "by_chance": evidence.expected, "common": common}
        if doubt:
            probability = probability * DOUBTFUL
        else:
            sure = pairs.some(probability > ANCHOR)
            more = follow(sure, evidence.entries, (files.target, files.known, files.labels), common=common)
            if more is not None:
                pairs = pairs.join(more[0])
                probability = np.concatenate((probability, more[1]))
                details["followed"] = float(more[1].sum())
        weighed = _merge(pairs, probability, sizes)
        return make_claims(weighed, attack=self.name, floor=0.0 if bold else FLOOR, doubt=doubt, details=details)


@dataclass(frozen=True, eq=False)
class Files:
    """The distances of both files, and how labels fit."""

    target: Distances
    known: Distances
    labels: LabelTable

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

    def explain(self) -> str:
        """Return why nothing is claimed."""
        return (
            f"published distances equal known ones of fitting labels {len(self.ties.a)} times, chance explains "
            f"{self.expected:.3g}: they are not published exactly, or nobody is in both files"
        )


def _choose_tolerances(entries: Entries, known: Distances) -> list[Tolerance]:
    """List what may count as equal, narrow ones first."""
    unit = find_printed_unit(entries.value)
    if (matrix := known.matrix()) is not None:
        printed = find_printed_unit(matrix.values[matrix.values > 0])
        unit = 0.0 if unit and unit == printed else unit + printed  # printed alike they are equal to the digit
    return [Tolerance(width, 0.5 * unit) for width in (WIDTHS[:1] if unit else WIDTHS)]


def _choose_evidence(
    entries: Entries, files: Files, rng: np.random.Generator
) -> tuple[Evidence | None, Evidence | None, str]:
    """Return the evidence of the narrowest tolerance that shows nearly all there is, or weak one and why it is weak."""
    sure: Evidence | None = None
    weak: Evidence | None = None
    doubt = ""
    for tolerance in _choose_tolerances(entries, files.known):
        evidence = gather(entries, files, tolerance, rng)
        if isinstance(evidence, str):
            doubt = doubt or evidence
        elif evidence.surprise >= CHANCE:
            weak, doubt = evidence, evidence.explain()
        elif sure is None or evidence.excess > GROWS * sure.excess:
            sure = evidence
        else:
            break
    return sure, weak, doubt


def gather(entries: Entries, files: Files, tolerance: Tolerance, rng: np.random.Generator) -> Evidence | str:
    """Look the entries up and count what chance explains; a text says why that is of no use."""
    telling = drop_shared(entries, tolerance)
    if not len(telling.value):
        return "every published distance is shared by many pairs of records: an equal one tells nothing"
    repeats = measure_repeats(files.known, tolerance, ordered=files.ordered, rng=rng)
    size = files.known.size
    if repeats * size * (size - 1) / 2 > REPEATED:
        return "distances repeat among the known records themselves: an equal one tells nothing"
    found = look_up(telling, files.known, tolerance, ordered=files.ordered, rng=rng)
    chance = max((found.near + 1 / WINDOW) / max(found.compared, 1.0), repeats, 1e-15)
    if chance * found.compared / len(telling.value) > CROWDED:
        return "so many known distances are as long as each published one that an equal one tells nothing"
    pairs, ties = tie_pairs(found.hits, files.labels, ordered=files.ordered, sizes=files.sizes)
    ways = 1 if files.ordered else 2
    expected = chance * found.compared * found.part * ways * _share_fitting(files.labels) ** 2
    true = max(len(ties.a) - expected, 0.5) / (found.part * len(telling.value))
    share = float(np.clip(np.sqrt(true), 1 / files.sizes[0], 1 - 0.5 / files.sizes[0]))
    return Evidence(telling, pairs, ties, tolerance, chance, expected, found.part, share)


def _share_fitting(labels: LabelTable) -> float:
    """Return the share of all pairs of records whose labels fit."""
    counts = [
        np.bincount(rows % classes, minlength=classes).astype(float)  # -1, no class, is counted last
        for rows, classes in ((labels.target_class, len(labels.odds)), (labels.known_class, labels.odds.shape[1]))
    ]
    return float(counts[0] @ np.isfinite(labels.odds) @ counts[1] / max(counts[0].sum() * counts[1].sum(), 1.0))


def _find_possible(pairs: Pairs, probability: FloatArray, files: Files, tolerance: Tolerance) -> NDArray[np.bool_]:
    """Return which pairs agree with the sure ones not much less often than these do with each other.

    A distance that is not published, or that many share, contradicts nothing: it may be left out or capped.
    """
    sure = np.flatnonzero(probability > ANCHOR)
    sure = sure[np.unique(np.linspace(0, len(sure) - 1, min(len(sure), JUDGES)).astype(int))] if len(sure) else sure
    agreed, told = np.zeros(len(pairs.target)), np.zeros(len(pairs.target), dtype=bool)
    if not len(sure):
        return ~told
    anchors = pairs.target[sure].astype(np.int32), pairs.known[sure].astype(np.int32)
    step = max(1_000_000 // len(sure), 1)
    rows, at = np.unique(pairs.target, return_inverse=True)
    columns, beside = np.unique(pairs.known, return_inverse=True)
    left = files.target.block(rows.astype(np.int32), anchors[0])
    right = files.known.block(columns.astype(np.int32), anchors[1])
    shared = _find_shared(left)
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


def _find_shared(block: FloatArray) -> FloatArray:
    """Return the values that occur so often that they are a cap."""
    values, many = np.unique(block[np.isfinite(block)], return_counts=True)
    return np.asarray(values[many > MANY])


def _merge(pairs: Pairs, probability: FloatArray, sizes: tuple[int, int]) -> Weighed:
    """Return each pair once, with its highest probability."""
    key = pairs.target * sizes[1] + pairs.known
    order = np.lexsort((-probability, key))
    first = order[np.r_[True, np.diff(key[order]) > 0]] if len(key) else order
    return pairs.target[first].astype(np.int32), pairs.known[first].astype(np.int32), probability[first]


def _keep_pairs(pairs: Pairs, ties: Ties, keep: NDArray[np.bool_]) -> tuple[Pairs, Ties]:
    number = np.cumsum(keep) - 1
    both = keep[ties.a] & keep[ties.b]
    return pairs.some(keep), Ties(number[ties.a[both]], number[ties.b[both]])
