"""From the target's map to where it lies on the known file (``lay``).

``search`` tries motions, those of settled places (``density``) and of pairs of rare records, and refines each under the
model of ``likelihood``; ``futility`` foretells whether a search can succeed. Where the mask's law is not Gaussian
``polish`` improves the alignment. On a register in pieces it is settled (``settle``) on the candidates of all pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align.likelihood import LikelihoodModel, build_model
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.population import Population
from disclique.attacks.thresholds import Thresholds
from disclique.attacks.weigh.law import LawModel, build_law_model, is_gaussian
from disclique.geodesy import Spread
from disclique.messages import Message
from disclique.model import Candidates
from disclique.progress import Step, tell
from disclique.spaces import Points
from disclique.spaces.positions import KnownMap
from disclique.spaces.rebuild import shrink_spread
from disclique.spaces.rebuild.landmarks import TargetMap
from disclique.values import FloatArray, IntArray

Ints = NDArray[np.int64]
StartPairs = tuple[IntArray, IntArray]
StepListener = Callable[[Step], None]


@dataclass(frozen=True, eq=False)
class AttackInputs:
    """All that is given besides the target's map.

    ``start`` are matches to begin with. ``effort`` is the part of the usual work to be spent on one map of several; of
    a map of few records even a bold snooper is not sure (``overlapping``) that some of them are in the known file. An
    ``exact`` law may tell alignments apart that the search cannot.
    """

    population: Population
    candidates: Candidates
    knowledge: Knowledge
    start: StartPairs | None = None
    progress: StepListener | None = None
    effort: float = 1.0
    overlapping: bool = True
    exact: bool = False

    @property
    def known_map(self) -> KnownMap:
        """The map of the people at hand."""
        return self.population.known_map

    @property
    def thresholds(self) -> Thresholds:
        """Those of registration."""
        return self.population.thresholds

    @property
    def bold(self) -> bool:
        """True if the snooper follows the best alignment even where it is doubtful."""
        return self.knowledge.bold and self.overlapping

    @property
    def share(self) -> float:
        """The share of common targets, or what it is first taken for."""
        return self.thresholds.align.unknown_share if self.knowledge.common is None else self.knowledge.common

    def tell(self, code: str) -> None:
        """Tell whoever listens which step begins."""
        if self.progress is not None:
            self.progress(Message(code))

    def announce(self, code: str) -> Callable[[float], None]:
        """Tell a step, and return a function that hears how much of it is done."""
        self.tell(code)
        return lambda share: tell(Message(code), share)

    @property
    def finest(self) -> float:
        """The displacement that counts as none."""
        return self.thresholds.weigh.finest_share * max(self.known_map.extent, 1e-300)

    def find_floor(self, target_map: TargetMap) -> float:
        """Return the least displacement of a map: what it does not tell."""
        return max(self.finest, 0.0 if target_map.variance.any() else 2 * target_map.misfit)

    @property
    def noise(self) -> Spread:
        """The displacement as far as it is known; none where it is not."""
        return self.knowledge.noise or Spread(0.0, 0.0, "plane" if self.known_map.flat else "km")

    def build_model(self, noise: Spread, floor: float) -> LikelihoodModel:
        """Build the model of the known file under a displacement of at least ``floor``."""
        variances = self.known_map.variances(noise, self.knowledge.coordinate_error)
        return build_model(self.population, self.candidates, np.maximum(variances, floor**2))

    @property
    def least_difference(self) -> float:
        """By how much two releases of the same records differ at the least if they are not one and the same."""
        if self.knowledge.noise is None:
            return self.finest
        deviation = float(np.sqrt(self.known_map.variances(self.knowledge.noise, 0.0).mean()))
        return max(self.thresholds.weigh.same_release_share * deviation, self.finest)

    def take_mean(self, copies: Sequence[FloatArray]) -> AttackInputs:
        """Return the same for the mean of several releases, which is displaced less than each."""
        if self.knowledge.noise is None:
            return self
        noise = shrink_spread(self.knowledge.noise, copies, self.known_map)
        return replace(self, knowledge=replace(self.knowledge, noise=noise))

    def build_laws(self, model: LikelihoodModel, points: Points | None = None) -> LawModel | None:
        """Build the model of the exact law of the mask around ``points``; None where it is Gaussian or not known."""
        law = self.knowledge.law
        if law is None or is_gaussian(law) or self.knowledge.noise is None:
            return None
        error, targets = self.knowledge.coordinate_error, len(model.target_class)
        there = self.population.points if points is None else points
        return build_law_model(law, model, there, error=error, targets=targets, common=self.share)
