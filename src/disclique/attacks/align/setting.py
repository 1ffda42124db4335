"""What is given for a release and a register of millions: a sample, the labels of all, where streams run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from disclique.attacks.align.likelihood import weigh_labels
from disclique.attacks.knowledge import Knowledge
from disclique.attacks.population import PartModel, Population, model_part
from disclique.attacks.weigh.pairs import (
    AttackInputs,
)
from disclique.errors import InputError
from disclique.geodesy import Spread
from disclique.masks.laws import ExchangeLaw, HalfWayLaw
from disclique.model import Candidates, FloatArray
from disclique.progress import tell
from disclique.records.registers import Mapper, Records, Survey
from disclique.spaces.positions import KnownMap
from disclique.spaces.rebuild.landmarks import TargetMap

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StreamedInputs(AttackInputs):
    """All that is given besides the target's map, where the known file is a register: ``known_map`` is its sample's."""

    survey: Survey = field(kw_only=True)
    mapper: Mapper = field(kw_only=True)
    memory: int = field(kw_only=True)

    def announce(self, step: str) -> Announcer:
        """Tell a step, and return a function that hears how much of it is done."""
        self.tell(step)
        return Announcer(step)


@dataclass(frozen=True)
class Announcer:
    """Tells how far a stream is."""

    step: str

    def __call__(self, share: float) -> None:
        """Tell the share that is done."""
        tell(self.step, share)


@dataclass(frozen=True, eq=False)
class Setting:
    """A target's map and a register: what stays the same while the one is laid on the other."""

    target_map: TargetMap
    inputs: StreamedInputs
    population: Population
    floor: float
    noise: Spread  # known, or 0 as long as it is not

    @property
    def candidates(self) -> Candidates:
        """The pairs of targets and people of the sample that may match."""
        return self.inputs.candidates

    @property
    def classes(self) -> Ints:
        """The classes that known records and targets share."""
        return np.unique(self.candidates.relation[:, 1].astype(np.int64))

    def variances(self, known_map: KnownMap) -> FloatArray:
        """Return the variance of the displacement around known records, east and north."""
        found = known_map.variances(self.noise, self.inputs.knowledge.coordinate_error)
        return np.maximum(found, self.floor**2)

    def model(self, people: Records, classes: Ints) -> PartModel:
        """Build the model of the register with some of its people at hand."""
        return model_part(self.population, people, self.candidates, variances=self.variances, classes=classes)


def relate_register(candidates: Candidates, survey: Survey) -> Candidates:
    """Return candidates between targets and the *labels* of a register as those between targets and its sample.

    The evidence of a label is that of the whole register.
    """
    evidence = candidates.evidence
    if evidence is None:
        counts = np.where(candidates.known_class >= 0, survey.counts, 0)
        evidence = weigh_labels(candidates.relation.astype(np.int64), counts, len(survey))
    known = candidates.known_class[survey.sample.classes].astype(np.int32)
    return Candidates(candidates.target_class, known, candidates.relation, evidence)


def set_up(target_map: TargetMap, inputs: StreamedInputs) -> Setting:
    """Return the setting of a map and a register."""
    floor = max(inputs.finest, 0.0 if target_map.variance.any() else 2 * target_map.misfit)
    nothing = Spread(0.0, 0.0, "plane" if inputs.known_map.flat else "km")
    known_class = inputs.candidates.known_class.astype(np.int64)
    population = Population(inputs.survey, inputs.known_map, known_class, inputs.mapper)
    return Setting(target_map, inputs, population, floor, inputs.knowledge.noise or nothing)


def refuse_law(knowledge: Knowledge, records: int) -> None:
    """Refuse laws that depend on all known records at once."""
    if isinstance(knowledge.law, (HalfWayLaw, ExchangeLaw)):
        name = "the mask" if knowledge.mask is None else knowledge.mask.name
        raise InputError(
            f"left out: the register has {records:,} records, and what {name} does to a place depends on all others"
        )
