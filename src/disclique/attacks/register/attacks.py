"""Registration as attacks: from all distances, from the small ones only, and from the masked points themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from disclique.attacks.claims import FLOOR
from disclique.attacks.knowledge import Knowledge, Search
from disclique.attacks.register import ceiling, isomap, register
from disclique.attacks.registry import Attack
from disclique.data.distances import Points
from disclique.errors import InputError
from disclique.model import Candidates, Claims, Microdata
from disclique.progress import tell


@dataclass(frozen=True)
class MapAttack(Attack):
    """An attack that lays the target's map on the known one."""

    by_evidence: ClassVar[bool] = True

    knowledge: Knowledge

    @classmethod
    def build(cls, knowledge: Knowledge, search: Search) -> Self:
        """Build the attack from what the snooper knows of displacement and noise."""
        return cls(knowledge)

    def known_points(self, known: Microdata) -> Points:
        """Return the known file's points, which attacks by a map cannot do without."""
        if not isinstance(known.distances, Points) or callable(known.distances.metric):
            raise InputError(
                f"{known.name}: the attack {self.name} needs coordinates of the known records; profiles does not"
            )
        return known.distances


@dataclass(frozen=True)
class RegisterAttack(MapAttack):
    """The target's map rebuilt from its distances and laid on the known one by labels and density."""

    name: ClassVar[str] = "register"
    needs: ClassVar[str] = "distances on the sphere or in the plane, and coordinates of the known records"
    summary: ClassVar[str] = (
        "The map is rebuilt from the distances, laid on the snooper's map by labels and density, and pairs are judged "
        "by the probability that they belong together."
    )

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        points = self.known_points(known)
        return register(target.distances, points, candidates=candidates, knowledge=self.knowledge, progress=tell)


@dataclass(frozen=True)
class IsomapAttack(MapAttack):
    """Registration of a map made from small distances only, by shortest paths and a fit to the published lengths."""

    name: ClassVar[str] = "isomap"
    needs: ClassVar[str] = "small distances on the sphere or in the plane, and coordinates of the known records"
    summary: ClassVar[str] = "The same as register from small distances only, by shortest paths."

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together on the map."""
        points = self.known_points(known)
        return isomap(target.distances, points, candidates=candidates, knowledge=self.knowledge, progress=tell)


@dataclass(frozen=True)
class Ceiling(MapAttack):
    """What a snooper could claim who is given the masked points themselves, truly aligned."""

    name: ClassVar[str] = "ceiling"
    needs: ClassVar[str] = "the masked coordinates themselves, which only the data holder has"
    summary: ClassVar[str] = "What a snooper could claim who is given the masked points themselves, truly aligned."
    in_all: ClassVar[bool] = False
    sees_points: ClassVar[bool] = True

    def run(self, target: Microdata, known: Microdata, candidates: Candidates) -> Claims:
        """Link the pairs that lie together; the target's distances must be its masked points."""
        if not isinstance(target.distances, Points):
            raise InputError(f"{target.name}: the ceiling needs the masked points themselves, not their distances")
        points = self.known_points(known)
        claims = ceiling(target.distances, points, candidates=candidates, knowledge=self.knowledge)
        kept = claims.probability >= (0.0 if self.knowledge.bold else FLOOR)
        return replace(
            claims, target=claims.target[kept], known=claims.known[kept], probability=claims.probability[kept]
        )
