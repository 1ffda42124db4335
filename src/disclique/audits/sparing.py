"""Attacks that need not be carried out on a release, because nothing could be gained or because cheaper ones suffice.

The oracle knows how the masked data lie, so that no attack is expected to find more people than it does. Where the
cheap attacks find about as many, the costly ones are spared. Where they do not, the costly ones are tried on the first
releases of a setting, and on all of them if they find more there. On large files they are left out: their work grows
with the product of both files or faster, and the decision rests on the oracle and on an attack that ran in full.
Nothing is spared where the oracle is not modelled, or only approximately: there every attack counts. A journalist
claims what is more probable than not, and an attack that is too sure of itself may rightly claim more people than the
oracle, though no more than the oracle would name: so that is the measure there, and size alone is no reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from disclique.attacks import Attack, Outcome
from disclique.attacks.knowledge import Knowledge
from disclique.audits.known_file import KnownFile
from disclique.audits.records import Records
from disclique.audits.yardsticks import find_chances
from disclique.masks.laws import ExchangeLaw, HalfWayLaw
from disclique.measures.risk import trials
from disclique.model import Candidates

GAIN = 0.01  # of the people: what could be found beyond that is not looked for
LARGE = 1_500_000  # pairs of a released and a known record, beyond which only attacks run whose work grows less fast
FIRST = 3  # releases of a setting on which costly attacks are tried before they are given up
PROSECUTOR, JOURNALIST = "prosecutor", "journalist"
CHEAP = 1  # the highest ``cost`` of attacks that always run


@dataclass(frozen=True, eq=False)
class Sparing:
    """What is known of a release before costly attacks: how many people the oracle finds, and by whom it is judged.

    ``oracle`` is None where nothing may be spared.
    """

    oracle: float | None
    known: KnownFile
    exact: Candidates
    scenario: str
    repetition: int

    def __call__(self, attack: Attack, tries: Sequence[Outcome]) -> str | None:
        """Say why an attack is not carried out after ``tries``; None if it is."""
        if self.oracle is None or attack.cost <= CHEAP:
            return None
        ran = [one for one in tries if one.claims is not None]
        if self.gap(ran) <= GAIN:
            return (
                f"nothing to gain: the attacks before it find all but {GAIN:.0%} of those whom any can be expected to"
            )
        full = [one.spec for one in ran if one.used_whole_map]
        if not full:
            return None
        sizes = len(self.known.released), len(self.known.data)
        if sizes[0] * sizes[1] > LARGE and self.scenario != JOURNALIST:
            return (
                f"{sizes[0]:,} records against {sizes[1]:,} are too many for it, and {full[0]} used the whole release"
            )
        if self.repetition >= FIRST:
            return f"it was tried on the first {FIRST} releases only, where it found no more than others"
        return None

    def gap(self, ran: Iterable[Outcome]) -> float:
        """Return the share of people whom the oracle finds and none of the attacks does."""
        if self.oracle is None:
            return 1.0
        found = [float(find_chances(one.claims, self.known, self.exact, self.scenario).sum()) for one in ran]
        of = trials(self.scenario, len(self.known.sought), len(self.known.released))
        return (self.oracle - max(found, default=0.0)) / max(of, 1)


def find_spared(
    oracle: Outcome, knowledge: Knowledge, known: KnownFile, exact: Candidates, *, scenario: str, repetition: int
) -> Sparing:
    """Return what may be spared on a release of which the oracle says this; nothing if it is only approximate."""
    law = knowledge.law
    rough = isinstance(law, ExchangeLaw | HalfWayLaw) or (law is not None and law.simulated)
    found = None
    if oracle.claims is not None and not rough:
        measure = PROSECUTOR if scenario == JOURNALIST else scenario
        found = float(find_chances(oracle.claims, known, exact, measure).sum())
    return Sparing(found, known, exact, scenario, repetition)


def find_promising(records: Records, scenario: str) -> bool:
    """Say whether an attack that was given up after the first releases of a setting had found more people there."""
    shares: dict[str, dict[int, float]] = {}
    for repetition, record in records.items():
        for one in record.attempts:
            if one.applies:
                of = trials(scenario, len(record.common), record.released)
                shares.setdefault(one.attack, {})[repetition] = one.hits.of(scenario) / max(of, 1)
    always = [found for found in shares.values() if len(found) == len(records)]
    for found in shares.values():
        if len(found) < len(records):
            best = max((np.mean([other[k] for k in found]) for other in always), default=0.0)
            if np.mean(list(found.values())) > best + GAIN:
                return True
    return False
