"""What the oracle says of every person sought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from disclique.attacks.knowledge import Holder
from disclique.attacks.oracle.values import Told, tell_claims
from disclique.measures.risk import SCENARIOS, Hits, find_chances
from disclique.model import Claims
from disclique.values import FloatArray


@dataclass(frozen=True)
class KnownPairs:
    """What somebody finds who knows so many pairs beforehand: of how many people sought."""

    pairs: int
    hits: Hits
    sought: int


@dataclass(frozen=True, eq=False)
class Answer:
    """What the oracle says of every person sought (``holder.sought``, in that order).

    ``chances`` are those to be identified, by scenario; where nothing is known of a person, that of a guess by labels.
    ``learned`` says that the law of the mask was learned from draws of it. Where the secret of the mask is a key,
    ``curve`` says what people find who know some pairs beforehand, from none to all others; the chances are then those
    against somebody who knows the snooper's seeds, or some pairs where there are none. ``told`` says of every sensitive
    column what is told about these people.
    """

    chances: Mapping[str, FloatArray]
    learned: bool = False
    curve: tuple[KnownPairs, ...] = ()
    told: tuple[Told, ...] = ()

    def of(self, scenario: str) -> FloatArray:
        """Return the chance of each person in a scenario."""
        return self.chances[scenario]

    @property
    def hits(self) -> Hits:
        """How many people are expected to be found in each scenario."""
        return Hits(*(round(float(self.of(name).sum()), 6) for name in SCENARIOS))

    @staticmethod
    def of_claims(claims: Claims, holder: Holder, *, learned: bool = False) -> Answer:
        """Return what claims are worth for the people sought."""
        told = holder.sought, holder.alike or holder.candidates, holder.seeds
        chances = {name: find_chances(claims, *told, name) for name in SCENARIOS}
        return Answer(chances, learned, told=tell_claims(claims, holder))
