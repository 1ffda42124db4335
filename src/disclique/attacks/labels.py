"""Labels: when they coincide, linkage by labels alone (the baseline of every attack), and guessing among equal ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from disclique.arguments import short_repr, show
from disclique.attacks.claims import make_claims
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.numbers import add_numbers
from disclique.attacks.registry import Attack
from disclique.errors import InputError
from disclique.messages import Message
from disclique.model import Candidates, Claims, Microdata
from disclique.records.labels import MISSING_POLICIES, Comparator, candidates


@dataclass(frozen=True)
class LabelRule:
    """When labels coincide: how missing values match (``any`` value or ``never``), and comparators that forgive errors.

    By default an empty cell excludes nobody, in an attack as in an audit: a person may be behind it.

    >>> import disclique as dq
    >>> target, known = dq.poets()
    >>> LabelRule(missing="any").candidates(target, known).relation.shape
    (4, 2)
    """

    missing: str = "any"
    comparators: Mapping[str, Comparator] = field(default_factory=dict)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if self.missing not in MISSING_POLICIES:
            raise InputError("missing_policy_unknown", missing=self.missing, known=MISSING_POLICIES)
        if not isinstance(self.comparators, Mapping):
            raise InputError("comparators_by_column", comparators=show(self.comparators))

    def candidates(self, target: Microdata, known: Microdata, *, alpha: float | None = None) -> Candidates:
        """Find the pairs of records that may match by labels and numbers, and how well.

        With ``alpha`` numbers agree or not: those of a true pair with that probability.
        """
        return add_numbers(self.candidates_by_labels(target, known), target.numbers, known.numbers, alpha=alpha)

    def candidates_by_labels(self, target: Microdata, known: Microdata) -> Candidates:
        """Find the pairs whose labels fit, whatever their numbers are."""
        return candidates(target.labels, known.labels, missing=self.missing, comparators=self.comparators)


@dataclass(frozen=True)
class LabelAttack(Attack):
    """Linkage by labels alone: records whose label occurs once in either file."""

    name: ClassVar[str] = "labels"
    needs: ClassVar[Message | str] = Message("attack_needs_labels")
    summary: ClassVar[Message | str] = Message("attack_does_labels")
    who: ClassVar[Message | str] = Message("attack_who_labels")
    cost: ClassVar[int] = 0
    without_distances: ClassVar[bool] = True

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack; it needs to know nothing."""
        return cls()

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the records that the label alone links."""
        rows, others = candidates.alone
        sure = make_claims((rows.astype(np.int32), others.astype(np.int32), np.ones(len(rows))), attack=self.name)
        many = candidates.fitting
        return replace(sure, expected=float((1 / many[many > 0]).sum()))


@dataclass(frozen=True)
class Guess(Attack):
    """For each target record one of the known records that share its label, at random."""

    name: ClassVar[str] = "guess"
    needs: ClassVar[Message | str] = Message("attack_needs_labels")
    summary: ClassVar[Message | str] = Message("attack_does_guess")
    who: ClassVar[Message | str] = Message("attack_who_guess")
    in_all: ClassVar[bool] = False
    cost: ClassVar[int] = 0
    without_distances: ClassVar[bool] = True

    seed: int = 0

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the yardstick from the seed of its draws."""
        return cls(search.seed)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Pick a known record for every target record that has a candidate."""
        rng = np.random.default_rng(self.seed)
        rows = np.flatnonzero(candidates.fitting > 0)
        fitting = (candidates.partners(int(row)) for row in rows)  # by class, so that coarser labels keep their draws
        chosen = [rng.choice(some[np.argsort(candidates.known_class[some], kind="stable")]) for some in fitting]
        pairs = (rows.astype(np.int32), np.array(chosen, dtype=np.int32), np.ones(len(rows)))
        return replace(make_claims(pairs, attack=self.name), expected=None)
