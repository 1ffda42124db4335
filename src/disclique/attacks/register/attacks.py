"""Registration as attacks: from all distances, from the small ones only, and from the masked points themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from disclique.attacks.claims import FLOOR
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.register import ceiling, isomap, register
from disclique.attacks.register.scaling import learn_scaled, scale_matrix
from disclique.attacks.registry import Attack
from disclique.errors import InputError
from disclique.model import Candidates, Claims, Microdata
from disclique.progress import tell
from disclique.spaces.distances import Points


@dataclass(frozen=True)
class MapAttack(Attack):
    """An attack that lays the target's map on the known one."""

    by_evidence: ClassVar[bool] = True

    knowledge: Knowledge

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from what the snooper knows of displacement and noise."""
        return cls(knowledge)

    def locate(self, known: Microdata) -> tuple[Points, Knowledge]:
        """Return the known places, from coordinates or scaled from a matrix, and what the snooper knows there."""
        if isinstance(known.distances, Points) and not callable(known.distances.metric):
            return known.distances, self.knowledge
        scaled = scale_matrix(known.distances)
        if scaled is None:
            raise InputError(
                f"{known.name}: the attack {self.name} needs coordinates of the known records, or distances that fit "
                "a map; profiles does not"
            )
        return scaled.places, learn_scaled(self.knowledge, scaled)


@dataclass(frozen=True)
class RegisterAttack(MapAttack):
    """The target's map rebuilt from its distances and laid on the known one by labels and density."""

    name: ClassVar[str] = "register"
    needs: ClassVar[str] = (
        "distances on the sphere or in the plane, and coordinates of the known records or such distances"
    )
    summary: ClassVar[str] = (
        "The map is rebuilt from the distances, laid on the snooper's map by labels and density, and pairs are judged "
        "by the probability that they belong together."
    )
    cost: ClassVar[int] = 1

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        points, knowledge = self.locate(known)
        return register(target.distances, points, candidates=candidates, knowledge=knowledge, progress=tell)


@dataclass(frozen=True)
class IsomapAttack(MapAttack):
    """Registration of a map made from small distances only, by shortest paths and a fit to the published lengths."""

    name: ClassVar[str] = "isomap"
    needs: ClassVar[str] = "small distances on the sphere or in the plane, and coordinates (or distances) of the known"
    summary: ClassVar[str] = "The same as register from small distances only, by shortest paths."
    cost: ClassVar[int] = 2
    most: ClassVar[tuple[int, int] | None] = (10_000, 100_000_000)

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        points, knowledge = self.locate(known)
        return isomap(target.distances, points, candidates=candidates, knowledge=knowledge, progress=tell)


@dataclass(frozen=True)
class Ceiling(MapAttack):
    """What a snooper could claim who is given the masked points themselves, truly aligned."""

    name: ClassVar[str] = "ceiling"
    needs: ClassVar[str] = "the masked coordinates themselves, which only the data holder has"
    summary: ClassVar[str] = "What a snooper could claim who is given the masked points themselves, truly aligned."
    in_all: ClassVar[bool] = False
    sees_points: ClassVar[bool] = True
    cost: ClassVar[int] = 1

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together; the target's distances must be its masked points."""
        if not isinstance(target.distances, Points):
            raise InputError(f"{target.name}: the ceiling needs the masked points themselves, not their distances")
        if not isinstance(known.distances, Points) or callable(known.distances.metric):
            raise InputError(f"{known.name}: the ceiling needs coordinates of the known records")
        claims = ceiling(target.distances, known.distances, candidates=candidates, knowledge=self.knowledge)
        kept = claims.probability >= (0.0 if self.knowledge.bold else FLOOR)
        return replace(
            claims, target=claims.target[kept], known=claims.known[kept], probability=claims.probability[kept]
        )
