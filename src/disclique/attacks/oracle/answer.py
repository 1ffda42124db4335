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


@dataclass(frozen=True)
class Everybody:
    """Of so many released ``records``, whether or not their people are on the list: who is named or read exactly.

    ``hits`` are those named or read, ``read`` those read against the dictionary, which has all that ``covered`` of
    them say; ``alike`` is the mean Dice coefficient of what is read and the truth.
    """

    hits: Hits
    records: int
    read: float
    covered: float
    alike: float


@dataclass(frozen=True, eq=False)
class Answer:
    """What the oracle says of every person sought (``holder.sought``, in that order).

    ``chances`` are those to be identified, by scenario; where nothing is known of a person, that of a guess by labels.
    ``learned`` says that the law of the mask was learned from draws of it. Where the secret of the mask is a key,
    ``curve`` says what people find who know some pairs beforehand, from none to all others; the chances are then those
    against somebody who knows the snooper's seeds, or some pairs where there are none. ``curve`` is by distances,
    ``code_curve`` by the code that these pairs show, ``everybody`` counts people on no list, too; the last two only
    where a dictionary was given. ``told`` says of every sensitive column what is told about these people.
    """

    chances: Mapping[str, FloatArray]
    learned: bool = False
    curve: tuple[KnownPairs, ...] = ()
    told: tuple[Told, ...] = ()
    code_curve: tuple[KnownPairs, ...] = ()
    everybody: Everybody | None = None

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
