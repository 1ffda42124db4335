"""The data of an audit: the holder's file, and the files from which the snooper's is made."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from disclique.audits.plan import GERMANY, Plan
from disclique.data.distances import Points
from disclique.errors import InputError
from disclique.geodesy import GEOGRAPHIC
from disclique.masks import Gaussian, parse_mask
from disclique.model import Microdata
from disclique.quantities import KM_IN


@dataclass(frozen=True, eq=False)
class Case:
    """A plan with its data; ``known`` is the snooper's file where it is given, ``others`` people outside the release.

    Ids tell who is who: the same id in two files is the same person.
    """

    plan: Plan
    target: Microdata
    known: Microdata | None = None
    others: Microdata | None = None

    def __post_init__(self) -> None:
        if len(self.target) < 2:
            raise InputError(f"{self.target.name}: {len(self.target)} record: distances need at least 2")
        self._check_known()
        self._check_drawn()
        self._check_errors()
        for spec in {family.settings[-1] for family in self.plan.families}:
            parse_mask(spec).apply(self.target.distances, self.plan.rng("trial"))  # a misfit is said before the run

    def _check_known(self) -> None:
        if (self.known is not None) != self.plan.snooper.given:
            raise InputError("the plan and the data differ in whether the known file is given")
        if self.known is None:
            return
        if list(self.known.labels.columns) != list(self.target.labels.columns):
            raise InputError(f"{self.known.name}: it needs the label columns of {self.target.name}")
        if not set(self.known.ids) & set(self.target.ids):
            raise InputError(
                f"{self.known.name}: no id in common with {self.target.name}: nobody could be re-identified, so there "
                "is nothing to measure"
            )

    def _check_drawn(self) -> None:
        snooper = self.plan.snooper
        if snooper.overlap is None:
            return
        if self.points is None:
            raise InputError(
                "an overlap needs coordinates, because other people must be placed on the map; with a distance matrix "
                "give the known file, or neither for the worst case, in which the snooper knows the whole file"
            )
        if snooper.others == GERMANY and self.points.metric not in GEOGRAPHIC:
            raise InputError("others from germany need coordinates in degrees of longitude and latitude")
        if (self.others is not None) != (snooper.others == "file"):
            raise InputError("the plan and the data differ in whether a file of other people is given")
        if self.others is not None and list(self.others.labels.columns) != list(self.target.labels.columns):
            raise InputError(f"{self.others.name}: it needs the label columns of {self.target.name}")

    def _check_errors(self) -> None:
        error = self.plan.snooper.coordinate_error
        if error is None:
            return
        known = self.known or self.target
        if not isinstance(known.distances, Points):
            raise InputError("a coordinate error of the snooper needs a known file with coordinates")
        Gaussian(error).apply(known.distances, self.plan.rng("trial"))

    @property
    def points(self) -> Points | None:
        """The holder's coordinates, None where there is only a matrix."""
        found = self.target.distances
        return found if isinstance(found, Points) and not callable(found.metric) else None

    @property
    def coordinate_error(self) -> float:
        """The snooper's coordinate error in the unit of the distances."""
        error = self.plan.snooper.coordinate_error
        return 0.0 if error is None else error.km if error.unit in KM_IN else error.value


def bare(data: Microdata) -> Microdata:
    """The same records without the columns that an audit does not need."""
    return replace(data, table=pd.DataFrame(index=range(len(data))))


def lean(case: Case) -> Case:
    """The same case as it is sent to other processes."""
    known, others = (None if data is None else bare(data) for data in (case.known, case.others))
    return Case(case.plan, bare(case.target), known, others)
