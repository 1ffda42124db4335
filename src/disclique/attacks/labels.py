"""Linkage by labels alone: the baseline of every attack, and guessing among the records that share a label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.registry import Attack
from disclique.measures.risk import Truth
from disclique.model import Candidates, Claims, Microdata


@dataclass(frozen=True)
class LabelAttack(Attack):
    """Linkage by labels alone: records whose label occurs once in either file."""

    name: ClassVar[str] = "labels"
    needs: ClassVar[str] = "labels"
    summary: ClassVar[str] = "Records whose label occurs once in either file."
    cost: ClassVar[int] = 0

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack; it needs to know nothing."""
        return cls()

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the records that the label alone links."""
        left, right = unique_label_pairs(candidates)
        sure = make_claims((left.astype(np.int32), right.astype(np.int32), np.ones(len(left))), attack=self.name)
        return replace(sure, expected=float((1 / label_pairs(candidates)["candidates"]).sum()))


@dataclass(frozen=True)
class Guess(Attack):
    """For each target record one of the known records that share its label, at random."""

    name: ClassVar[str] = "guess"
    needs: ClassVar[str] = "labels"
    summary: ClassVar[str] = "For each released record one of the known records that share its label, at random."
    in_all: ClassVar[bool] = False
    cost: ClassVar[int] = 0

    seed: int = 0

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the yardstick from the seed of its draws."""
        return cls(search.seed)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Pick a known record for every target record that has a candidate."""
        rng = np.random.default_rng(self.seed)
        members = {int(b): np.flatnonzero(candidates.known_class == b) for b in candidates.relation[:, 1]}
        related: dict[int, list[int]] = {}
        for a, b in candidates.relation.tolist():
            related.setdefault(a, []).append(b)
        rows = [v for v, own in enumerate(candidates.target_class.tolist()) if own in related]
        chosen = [
            rng.choice(np.concatenate([members[b] for b in related[int(candidates.target_class[v])]])) for v in rows
        ]
        pairs = (np.array(rows, dtype=np.int32), np.array(chosen, dtype=np.int32), np.ones(len(rows)))
        return replace(make_claims(pairs, attack=self.name), expected=None)


def expected_guesses(candidates: Candidates, truth: Truth) -> float:
    """Return the expected correct links of ``Guess``: what guessing among records that share a label gives."""
    pairs = label_pairs(candidates)
    choices = dict(zip(pairs["target_row"] - 1, pairs["candidates"], strict=True))
    related = {(int(a), int(b)) for a, b in candidates.relation}
    classes = candidates.target_class, candidates.known_class
    possible = [t for t, k in truth.pairs.tolist() if (int(classes[0][t]), int(classes[1][k])) in related]
    return float(sum(1 / choices[t] for t in possible))


def label_pairs(candidates: Candidates) -> pd.DataFrame:
    """Return how many known records share the label of each target record that has any: linkage without distances.

    A count of 1 that is mutual is a record that its label alone identifies; these are the common subgraphs of
    order 1.
    """
    of_known = np.bincount(candidates.known_class[candidates.known_class >= 0], minlength=_classes(candidates, 1))
    of_target = np.bincount(candidates.target_class[candidates.target_class >= 0], minlength=_classes(candidates, 0))
    a, b = candidates.relation[:, 0], candidates.relation[:, 1]
    fits = np.bincount(a, weights=of_known[b], minlength=len(of_target)).astype(int)  # known records for a class
    rivals = np.bincount(b, weights=of_target[a], minlength=len(of_known)).astype(int)  # target records for a class
    rows = np.flatnonzero(candidates.target_class >= 0)
    count = fits[candidates.target_class[rows]]
    partner = np.full(len(of_target), -1)
    partner[a] = b
    alone = (count == 1) & (rivals[partner[candidates.target_class[rows]]] == 1)
    return pd.DataFrame({"target_row": rows + 1, "candidates": count, "unique": alone})[count > 0]


def _classes(candidates: Candidates, side: int) -> int:
    of_row = candidates.target_class if side == 0 else candidates.known_class
    return int(of_row.max(initial=-1)) + 1


def unique_label_pairs(candidates: Candidates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return target and known rows, from 0, of the pairs that the label alone links: one record in either file."""
    alone = label_pairs(candidates)
    target = alone.loc[alone["unique"].astype(bool), "target_row"].to_numpy(dtype=np.int64) - 1
    relation = {int(a): int(b) for a, b in candidates.relation if (candidates.known_class == b).any()}
    known = [
        int(np.flatnonzero(candidates.known_class == relation[int(candidates.target_class[v])])[0]) for v in target
    ]
    return target, np.array(known, dtype=np.int64)
